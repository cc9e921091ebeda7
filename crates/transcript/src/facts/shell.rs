//! The commands in a shell's text: quotes, substitutions, here-documents and comments are skipped, and neither expanded nor
//! checked.

/// A command in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// The command, without filters of its output. Where a quoted text or a here-document of several lines belongs to it, only
    /// what stands before that.
    pub(super) text: &'a str,
    /// Whether such a text was left out.
    pub(super) is_cut: bool,
    /// Whether a filter or an alternative follows it (`| tail`, `|| true`), which may give the exit status, or nothing waits
    /// for its end (`&`).
    pub(super) is_filtered: bool,
    /// Whether another chain of commands follows its own, and gives the exit status. A chain is joined by `&&`, and by
    /// anything behind `set -e`.
    pub(super) is_followed: bool,
}

/// The commands of a text, in order. Filters and alternatives are not among them.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut scanner = Scanner { text, ..Scanner::default() };
    let mut at = 0;
    while at < text.len() {
        at = scanner.step(at);
    }
    scanner.end_command(text.len(), text.len());
    let Scanner { mut parts, chain, .. } = scanner;
    let chain = parts.iter().position(|part| part.text.starts_with("set -e")).unwrap_or(chain).min(chain);
    for part in &mut parts[..chain] {
        part.is_followed = true;
    }
    parts
}

#[derive(Default)]
struct Scanner<'a> {
    text: &'a str,
    /// The commands that have ended.
    parts: Vec<Part<'a>>,
    /// The first of them that belongs to the chain at hand.
    chain: usize,
    /// Whether the next command begins a chain.
    is_new_chain: bool,
    /// Where the command at hand begins.
    from: usize,
    /// Where it ends, if the text goes on with what does not belong to it.
    to: Option<usize>,
    is_filtered: bool,
    /// Where the first text of several lines begins that belongs to it.
    cut: Option<usize>,
    /// The quotes and brackets that are open: what closes each, and where it begins.
    open: Vec<(u8, usize)>,
    /// The here-documents that begin with the next line: the line that ends each.
    documents: Vec<&'a str>,
}

impl Scanner<'_> {
    /// Takes the byte at a place, and what belongs to it. Returns the place behind it.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text.as_bytes()[at..];
        match (rest[0], self.open.last().map(|(closing, _)| *closing)) {
            (b'\n', _) => return self.end_line(at),
            (mark, Some(closing)) if mark == closing => {
                self.open.pop();
            }
            (_, Some(b'\'')) => {}
            (b'\\', _) => return at + 2,
            (b'$', _) if rest.starts_with(b"$(") => {
                self.open.push((b')', at));
                return at + 2;
            }
            (_, Some(b'"' | b'`')) => {}
            (mark @ (b'"' | b'\'' | b'`'), _) => self.open.push((mark, at)),
            (b'<', _) if rest.starts_with(b"<<<") => return at + 3,
            (b'<', _) if rest.starts_with(b"<<") => return self.announce(at),
            (b'#', _) if self.begins_word(at) => {
                self.to.get_or_insert(at);
                return at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            }
            // What stands in a group is run as if it stood outside.
            (b'(', None) if self.text[self.from..at].trim().is_empty() => self.from = at + 1,
            (b'(', _) => self.open.push((b')', at)),
            (b')', None) => {
                self.to.get_or_insert(at);
            }
            (b'&', None) if rest.starts_with(b"&&") => {
                self.end_command(at, at + 2);
                return at + 2;
            }
            (b'&', None) if !self.is_in_redirection(at) => {
                self.hide_chain();
                self.end_chain(at);
            }
            (b';', None) => self.end_chain(at),
            (b'|', None) => {
                let is_alternative = rest.starts_with(b"||");
                let is_behind_group = self.to.is_some_and(|to| self.text.as_bytes()[to] == b')');
                // An alternative is run if any command of the chain failed; a filter of a group filters all of it.
                if is_alternative || is_behind_group {
                    self.hide_chain();
                }
                self.to.get_or_insert(at);
                self.is_filtered = true;
                return at + 1 + usize::from(is_alternative);
            }
            _ => {}
        }
        at + 1
    }

    /// Whether the `&` at a place belongs to another mark: `2>&1`, `&>`, `|&`.
    fn is_in_redirection(&self, at: usize) -> bool {
        self.text[..at].ends_with(['<', '>', '|']) || self.text[at..].starts_with("&>")
    }

    /// The exit status says nothing of the commands of the chain at hand.
    fn hide_chain(&mut self) {
        self.is_filtered = true;
        let from = if self.is_new_chain { self.parts.len() } else { self.chain };
        self.parts[from..].iter_mut().for_each(|part| part.is_filtered = true);
    }

    fn begins_word(&self, at: usize) -> bool {
        self.text[..at]
            .chars()
            .next_back()
            .is_none_or(|before| before.is_whitespace() || ";&|(".contains(before))
    }

    /// Notes a here-document whose `<<` is at a place.
    fn announce(&mut self, at: usize) -> usize {
        let after = self.text[at + 2..].trim_start_matches(['-', ' ', '\t']);
        let length = after.find(|c: char| c.is_whitespace() || ";|&()<>".contains(c)).unwrap_or(after.len());
        let word = after[..length].trim_matches(['"', '\'', '\\']);
        // Otherwise it shifts bits.
        if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            self.documents.push(word);
            self.cut_at(at);
        }
        self.text.len() - after.len() + length
    }

    /// Ends a line at its line break. If here-documents begin there, the break at the end of the last one comes next.
    fn end_line(&mut self, at: usize) -> usize {
        if !self.open.is_empty() {
            self.cut_at(at);
        }
        if !self.documents.is_empty() {
            self.to.get_or_insert(at);
            let documents = std::mem::take(&mut self.documents);
            return documents.into_iter().fold(at, |at, last| end_of_document(self.text, at, last));
        }
        let before = self.text[..at].trim_end();
        if self.open.is_empty() && !before.ends_with('|') && !before.ends_with("&&") {
            self.end_chain(at);
        }
        at + 1
    }

    /// Leaves out what has several lines: all from a place, or from where what is open there begins.
    fn cut_at(&mut self, at: usize) {
        let begin = self.open.first().map_or(at, |(_, begin)| *begin);
        self.cut.get_or_insert(begin);
    }

    fn end_chain(&mut self, at: usize) {
        self.end_command(at, at + 1);
        self.is_new_chain = true;
    }

    /// Ends the command at hand, unless there is none. What follows begins at `next`.
    fn end_command(&mut self, at: usize, next: usize) {
        let to = self.to.take().unwrap_or(at);
        let cut = self.cut.take().filter(|cut| *cut < to);
        let is_filtered = std::mem::take(&mut self.is_filtered);
        let text = self.text[self.from..cut.unwrap_or(to)].trim().trim_end_matches("2>&1").trim_end();
        self.from = next;
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_new_chain) {
            self.chain = self.parts.len();
        }
        self.parts.push(Part { text, is_cut: cut.is_some(), is_filtered, is_followed: false });
    }
}

/// Where the line ends that ends a here-document, which begins behind a line break.
fn end_of_document(text: &str, at: usize, last: &str) -> usize {
    let Some(document) = text.get(at + 1..) else { return at };
    let mut end = at;
    for line in document.split('\n') {
        end += 1 + line.len();
        if line.trim() == last {
            break;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::parts;

    /// The commands of a text, each with `…` if it is cut, `|` if it is filtered and `;` if it is followed.
    fn shown(text: &str) -> Vec<String> {
        let shown = |part: super::Part<'_>| {
            let marks = [(part.is_cut, "…"), (part.is_filtered, "|"), (part.is_followed, ";")];
            let marks = marks.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark);
            std::iter::once(part.text).chain(marks).collect::<Vec<_>>().join(" ")
        };
        parts(text).into_iter().map(shown).collect()
    }

    #[test]
    fn commands_end_at_marks_outside_of_quotes() {
        for (text, want) in [
            ("a && b c", &["a", "b c"][..]),
            ("a; b", &["a ;", "b"]),
            ("a; b | tail -5", &["a ;", "b |"]),
            ("a && b; c", &["a ;", "b ;", "c"]),
            ("a | tail; b", &["a | ;", "b"]),
            ("a|tail && b", &["a |", "b"]),
            ("a 2>&1 | tail || true", &["a |"]),
            ("a && b || c && d", &["a |", "b |", "d"]),
            ("a; b || c", &["a ;", "b |"]),
            ("a;", &["a"]),
            ("gh api x --jq '.[] | .id; .n || 0' && b", &["gh api x --jq '.[] | .id; .n || 0'", "b"]),
            (r#"sqlite3 db "a; \" b; c" | head"#, &[r#"sqlite3 db "a; \" b; c" |"#]),
            (r"sed 's/\' && b", &[r"sed 's/\'", "b"]),
            (r"find . -exec rm {} \; && b", &[r"find . -exec rm {} \;", "b"]),
            ("x $(a | b; c) && d", &["x $(a | b; c)", "d"]),
            (r#"x "$(a "b; c" | d)" && e"#, &[r#"x "$(a "b; c" | d)""#, "e"]),
            ("x `a; b` && c", &["x `a; b`", "c"]),
            ("(a && b) 2>&1 | tail", &["a |", "b |"]),
            ("(a && b) && c | tail", &["a", "b", "c |"]),
            ("a &", &["a |"]),
            ("a && b > log 2>&1 & c", &["a | ;", "b > log | ;", "c"]),
            ("a &> log && b |& tail", &["a &> log", "b |"]),
            ("x\nset -eu\na\nb; c | tail", &["x ;", "set -eu", "a", "b", "c |"]),
            ("diff <(a; b) c && d", &["diff <(a; b) c", "d"]),
            ("grep x <<< \"a; b\" && c", &["grep x <<< \"a; b\"", "c"]),
            ("x $((1<<2)) && y", &["x $((1<<2))", "y"]),
            ("a # don't; b", &["a"]),
            ("a x#y; é 'ü; ü'", &["a x#y ;", "é 'ü; ü'"]),
            ("a 'open; b", &["a 'open; b"]),
            (r"a \", &[r"a \"]),
            (" ; && | ( ) \n", &[]),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn texts_of_several_lines_are_left_out() {
        for (text, want) in [
            ("a\nb", &["a ;", "b"][..]),
            ("a\n\n# don't\nb\n", &["a ;", "b"]),
            ("a &&\n  b", &["a", "b"]),
            ("a |\n  tail\nb", &["a | ;", "b"]),
            ("a \\\n  -x && b", &["a \\\n  -x", "b"]),
            ("a -m 'one\ntwo; three' && b", &["a -m …", "b"]),
            ("a -m \"$(cat <<'EOF'\nDon't \"x\"; y\nEOF\n)\" && b", &["a -m …", "b"]),
            ("a - <<E\nb; \"c\nE\nd", &["a - … ;", "d"]),
            ("a <<-\"E\" | tail\nb\n\tE\n", &["a … |"]),
            ("a <<E && b\n'\nE", &["a …", "b"]),
            ("a <<E <<F; b\n1\nE\n2\nF\nc", &["a … ;", "b ;", "c"]),
            ("a | b -c '\n'", &["a |"]),
            ("a <<E\nno end", &["a …"]),
            ("a <<E", &["a …"]),
            ("x=$(\n a; b\n) && c", &["x= …", "c"]),
        ] {
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn any_text_has_an_end() {
        const MARKS: [&str; 17] =
            ["a", "é", " ", "\n", "'", "\"", "`", "\\", "$(", "(", ")", "&&", "&", "|", ";", "#", "<<a"];
        for n in 0..MARKS.len().pow(4) {
            let mark = |place: u32| MARKS[n / MARKS.len().pow(place) % MARKS.len()];
            let text: String = (0..4).map(mark).collect();
            assert!(parts(&text).len() <= 4, "{text:?}");
        }
    }
}
