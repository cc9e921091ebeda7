//! A place in a text that moves on over signs, quotes and values.

use std::ops::Range;

use super::value::is_drawn_word;

/// The longest value that is considered, in bytes.
pub(super) const VALUE_BYTES_MAX: usize = 1024;
/// Blanks between a name, its sign and its value, as in tables of settings.
pub(super) const BLANKS_MAX: usize = 32;
/// The longest type between a name and its value, as in `password: &'static str = "…"`.
const TYPE_BYTES_MAX: usize = 48;
/// The shortest argument of a call that may be a secret because it looks drawn.
const DRAWN_BYTES_MIN: usize = 16;
pub(super) const QUOTES: [char; 3] = ['"', '\'', '`'];

/// A place in a text that moves on.
pub(super) struct Cursor<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn eat(&mut self, sign: &str) -> bool {
        let is_here = self.rest().starts_with(sign);
        self.at += if is_here { sign.len() } else { 0 };
        is_here
    }

    /// Skips blanks in the line. Returns whether there were any.
    pub fn blanks(&mut self) -> bool {
        let count = self.rest().bytes().take(BLANKS_MAX).take_while(|b| matches!(b, b' ' | b'\t')).count();
        self.at += count;
        count > 0
    }

    /// Skips the signs of bold text in Markdown.
    pub fn emphasis(&mut self) {
        let count = self.rest().bytes().take(2).take_while(|b| *b == b'*').count();
        self.at += count;
    }

    /// Skips the dimension of an array: `char password[64] = "…"`.
    pub fn dimension(&mut self) {
        let Some(inner) = self.rest().strip_prefix('[') else { return };
        let digits = inner.bytes().take(BLANKS_MAX).take_while(u8::is_ascii_digit).count();
        self.at += if inner[digits..].starts_with(']') { digits + 2 } else { 0 };
    }

    /// Skips a remark in a sentence, if a colon follows it: ` (staging)`.
    pub fn remark(&mut self) {
        let Some(rest) = self.rest().strip_prefix('(') else { return };
        let rest = &rest[..rest.floor_char_boundary(TYPE_BYTES_MAX)];
        let end = rest.find("): ").filter(|end| !rest[..*end].contains(['(', '\n', ':']));
        self.at += end.map_or(0, |end| end + 2);
    }

    /// Skips the end of the tag that names an element, and the tag that follows a key: `</key><string>`.
    pub fn element(&mut self) -> bool {
        if self.eat("</key>") {
            let rest = self.rest();
            let gap = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += gap.min(BLANKS_MAX);
            return self.eat("<string>");
        }
        self.eat(">")
    }

    /// The text in quotes that is used where what is named is not set: `process.env.TOKEN || "x"`.
    pub fn alternative(&self) -> Option<Range<usize>> {
        let mut cursor = Self { text: self.text, at: self.at };
        let calls = cursor.eat(")");
        cursor.blanks();
        if !(["||", "??"].iter().any(|sign| cursor.eat(sign)) || calls && cursor.eat("or ")) {
            return None;
        }
        cursor.blanks();
        cursor.quoted()
    }

    /// Skips a quote, escaped or not, and returns it as it is there.
    pub fn quote(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let slashes = rest.bytes().take(4).take_while(|b| *b == b'\\').count();
        if !rest[slashes..].starts_with(QUOTES) {
            return None;
        }
        self.at += slashes + 1;
        Some(&rest[..=slashes])
    }

    /// The text between the quotes that begin here, on one line; a prefix such as `r` or `f` may come before them.
    pub fn quoted(&self) -> Option<Range<usize>> {
        let mut cursor = Cursor { text: self.text, at: self.at };
        let rest = cursor.rest();
        let is_sign =
            |b: &u8| matches!(b, b'r' | b'b' | b'f' | b'u' | b'R' | b'B' | b'F' | b'U' | b'@' | b'$');
        cursor.at += rest.bytes().take(2).take_while(is_sign).count();
        let quote = cursor.quote()?;
        let start = cursor.at;
        let inner = &self.text[start..self.text.floor_char_boundary(start + VALUE_BYTES_MAX)];
        let mut escaped = false;
        for (i, c) in inner.char_indices() {
            let closes = inner[i..].starts_with(quote) && (quote.len() > 1 || !escaped);
            if closes {
                return Some(start..start + i);
            }
            if c == '\n' || c == '\r' {
                return None;
            }
            escaped = c == '\\' && !escaped;
        }
        None
    }

    /// The place behind an anchor or a tag of YAML: `&db x`, `!!str x`.
    pub fn behind_property(&self) -> Option<Self> {
        let word = self.run(&[' ', '\t', '\n', '\r']);
        let property = &self.text[word.clone()];
        let name = property.strip_prefix("!!").or_else(|| property.strip_prefix('&'))?;
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let is_name = !name.is_empty() && name != "mut" && name.bytes().all(is_part);
        let mut behind = Self { text: self.text, at: word.end };
        (is_name && behind.blanks()).then_some(behind)
    }

    /// The text between quotes after a type and `=`.
    pub fn behind_type(&self) -> Option<Range<usize>> {
        let rest = &self.rest()[..self.rest().floor_char_boundary(TYPE_BYTES_MAX)];
        let sign = rest.find('=')?;
        let kind = &rest[..sign];
        let is_type = kind.chars().all(|c| {
            c.is_ascii_alphanumeric()
                || matches!(c, '_' | '&' | '\'' | '<' | '>' | '[' | ']' | '.' | '?' | ' ' | '|' | ':')
        });
        let mut behind = Cursor { text: self.text, at: self.at + sign + 1 };
        behind.blanks();
        if is_type { behind.quoted() } else { None }
    }

    /// The text of which a call makes another type, `String::from("x")`, or that is long and looks drawn, `decode("x")`.
    pub fn only_argument(&self) -> Option<Range<usize>> {
        let is_path = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.' | b'&');
        let path = self.rest().bytes().take(TYPE_BYTES_MAX).take_while(is_path).count();
        let mut behind = Self { text: self.text, at: self.at + path };
        if path == 0 || !behind.eat("(") {
            return None;
        }
        let value = behind.quoted()?;
        let called = self.rest()[..path].rsplit([':', '.']).next().unwrap_or_default();
        // `getString("x")` reads what is called so.
        let makes = matches!(called, "from" | "new" | "Some")
            || called.ends_with("String") && called.starts_with(|c: char| c.is_ascii_uppercase());
        let is_drawn = || value.len() >= DRAWN_BYTES_MIN && is_drawn_word(&self.text[value.clone()]);
        let is_only = self.text[value.end..].trim_start_matches(QUOTES).starts_with([')', '.']);
        (is_only && (makes || is_drawn())).then_some(value)
    }

    /// The only word in the next cell of a table in Markdown, without quotes.
    pub fn cell(&self) -> Range<usize> {
        let cell = self.run(&['|', '│', '\n', '\r']);
        let text = &self.text[cell.clone()];
        let signs = |c: char| c.is_whitespace() || c == '*' || QUOTES.contains(&c);
        let start = cell.start + text.len() - text.trim_start_matches(signs).len();
        let word = text.trim_matches(signs);
        start..start + if word.contains(char::is_whitespace) { 0 } else { word.len() }
    }

    /// The second of two texts in quotes: `'bob', 'x'`.
    pub fn second_of_pair(&self) -> Option<Range<usize>> {
        let mut cursor = Cursor { text: self.text, at: self.at };
        cursor.blanks();
        cursor.at = cursor.quoted()?.end;
        cursor.quote()?;
        cursor.blanks();
        if !cursor.eat(",") {
            return None;
        }
        cursor.blanks();
        cursor.quoted()
    }

    /// The only word of the next line, and whether the sign of a YAML block is before it.
    pub fn next_line(&self) -> Option<(Range<usize>, bool)> {
        let mut cursor = Cursor { text: self.text, at: self.at };
        let is_block = cursor.eat("|") || cursor.eat(">");
        if is_block && !cursor.eat("-") {
            cursor.eat("+");
        }
        cursor.blanks();
        if !(cursor.eat("\n") || cursor.eat("\r\n")) || !cursor.blanks() {
            return None;
        }
        let word = cursor.run(&[' ', '\t', '\n', '\r']);
        let behind = self.text[word.end..].trim_start_matches([' ', '\t']);
        (behind.is_empty() || behind.starts_with(['\n', '\r'])).then_some((word, is_block))
    }

    /// The password behind a user's name: `bob / x`, `bob:x`. Without blanks it must look drawn, as a path does not.
    pub fn behind_user(&self) -> Option<Range<usize>> {
        let line = self.run(&['\n', '\r', ',', ';', '"', '\'', '`', ')']);
        let text = &self.text[line.clone()];
        let (sign, (user, rest)) =
            [" / ", ":", "/"].iter().find_map(|sign| Some((*sign, text.split_once(sign)?)))?;
        if user.is_empty() || user.contains([' ', '\t', '(', '{']) {
            return None;
        }
        let word = rest.split([' ', '\t']).next().unwrap_or_default();
        let start = line.start + user.len() + sign.len();
        (sign == " / " || (is_drawn_word(word) && !word.contains('/'))).then(|| start..start + word.len())
    }

    /// The bytes up to one of these signs, or to an escaped line end or quote.
    pub fn run(&self, ends: &[char]) -> Range<usize> {
        let rest = &self.text[self.at..self.text.floor_char_boundary(self.at + VALUE_BYTES_MAX)];
        let mut chars = rest.char_indices().peekable();
        while let Some((i, c)) = chars.next() {
            let escape = c == '\\'
                && chars
                    .peek()
                    .is_some_and(|(_, next)| matches!(next, 'n' | 'r' | 't' | '"' | '\'' | '\n' | '\r'));
            if escape || ends.contains(&c) {
                return self.at..self.at + i;
            }
        }
        self.at..self.at + rest.len()
    }
}
