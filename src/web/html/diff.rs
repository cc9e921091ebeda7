//! The differences between two texts, line by line.
//!
//! Uses the algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), as implemented by
//! `similar`.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::byte_budget::{self, ByteBudget};

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 3;
/// Most lines of a diff on one page.
pub const LINES_MAX: usize = 400;
/// Most bytes of a line; a longer one continues on the next.
const LINE_BYTES_MAX: usize = 1_000;
/// Size of the HTML around a line's text, in bytes.
const AROUND_BYTES: usize = 75;
/// How long to search for the shortest diff. After that a longer one is used.
const PATIENCE: Duration = Duration::from_millis(100);

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `same`, `added`, `removed`, or `gap` in place of unchanged lines that are left out.
    pub kind: &'static str,
    /// The sign before it; empty for the continuation of a long line.
    pub sign: &'static str,
    pub text: String,
}

/// A part of the diff of two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    pub lines: Vec<Line>,
    /// How many lines were added and removed in total.
    pub added: usize,
    pub removed: usize,
    /// The line at which the next part begins, if there is more.
    pub next: Option<usize>,
}

/// A part under construction.
struct Piece {
    diff: Diff,
    /// Lines before it, and all so far.
    from: usize,
    count: usize,
    room: ByteBudget,
}

impl Diff {
    /// The differences from `old` to `new`, beginning at line `from` of the diff, as far as there is room.
    pub fn between(old: &str, new: &str, from: usize, room: ByteBudget) -> Self {
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(old, new);
        let mut piece = Piece { diff: Self::default(), from, count: 0, room };
        for (n, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
            if n > 0 {
                piece.push("gap", "", "⋯");
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let text = change.value().trim_end_matches(['\n', '\r']);
                match change.tag() {
                    ChangeTag::Equal => piece.push("same", " ", text),
                    ChangeTag::Insert => {
                        piece.diff.added += 1;
                        piece.push("added", "+", text);
                    }
                    ChangeTag::Delete => {
                        piece.diff.removed += 1;
                        piece.push("removed", "−", text);
                    }
                }
            }
        }
        piece.diff
    }
}

impl Piece {
    /// Adds a line, a long one in parts.
    fn push(&mut self, kind: &'static str, sign: &'static str, text: &str) {
        let text = crate::view::clean(text);
        let (mut rest, mut sign) = (text.as_str(), sign);
        loop {
            let part = byte_budget::piece(rest, LINE_BYTES_MAX);
            self.add(kind, sign, part);
            rest = &rest[part.len()..];
            if rest.is_empty() {
                return;
            }
            sign = "";
        }
    }

    fn add(&mut self, kind: &'static str, sign: &'static str, text: &str) {
        let at = self.count;
        self.count += 1;
        if at < self.from || self.diff.next.is_some() {
            return;
        }
        let lines = &mut self.diff.lines;
        let fits = lines.len() < LINES_MAX && self.room.takes(byte_budget::weight(text) + AROUND_BYTES);
        if fits || lines.is_empty() {
            lines.push(Line { kind, sign, text: text.to_owned() });
        } else {
            self.diff.next = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: ByteBudget = ByteBudget(1_000_000);

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let old: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 5\n", "line five\n").replace("line 30\n", "");
        let diff = Diff::between(&old, &new, 0, WIDE);
        assert_eq!((diff.added, diff.removed, diff.next), (1, 2, None));
        let signs: String = diff.lines.iter().map(|line| line.sign).collect();
        assert_eq!(signs, "   −+      −   ");
        assert_eq!(diff.lines.iter().filter(|line| line.kind == "gap").count(), 1);
    }

    #[test]
    fn a_long_difference_is_shown_in_pieces() {
        let text = |lines: usize| (0..lines).map(|n| format!("{n}\n")).collect::<String>();
        assert_eq!(Diff::between("", &text(LINES_MAX), 0, WIDE).next, None);
        let diff = Diff::between("", &text(LINES_MAX + 1), 0, WIDE);
        assert_eq!((diff.lines.len(), diff.added, diff.next), (LINES_MAX, LINES_MAX + 1, Some(LINES_MAX)));
        let rest = Diff::between("", &text(LINES_MAX + 1), LINES_MAX, WIDE);
        assert_eq!((rest.lines.len(), rest.lines[0].text.as_str(), rest.next), (1, "400", None));
    }

    #[test]
    fn no_line_is_so_long_that_it_cannot_be_shown() {
        for line in ["x".repeat(5_000), "<".repeat(5_000), "日".repeat(5_000)] {
            let (mut shown, mut from, mut pieces) = (String::new(), Some(0), 0);
            while let Some(at) = from {
                let diff = Diff::between("", &line, at, ByteBudget(2_500));
                let bytes: usize =
                    diff.lines.iter().map(|line| byte_budget::weight(&line.text) + AROUND_BYTES).sum();
                assert!(bytes <= 2_500, "{bytes}");
                shown.extend(diff.lines.iter().map(|line| line.text.as_str()));
                (from, pieces) = (diff.next, pieces + 1);
            }
            assert_eq!(shown, line);
            assert!(pieces > 2, "{pieces}");
        }
    }

    #[test]
    fn equal_texts_differ_in_nothing() {
        assert_eq!(Diff::between("a\nb", "a\nb", 0, WIDE), Diff::default());
    }
}
