//! What changed between two texts, line by line.
//!
//! By the algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), as `similar` has it.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 3;
/// Most lines of a difference that are shown.
pub const LINES_MAX: usize = 400;
/// How long the best difference is looked for; after that a good one is taken.
const PATIENCE: Duration = Duration::from_millis(100);

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `same`, `added`, `removed`, or `gap` where unchanged lines are left out.
    pub kind: &'static str,
    /// The sign before it.
    pub sign: &'static str,
    pub text: String,
}

/// The difference of two texts, at most [`LINES_MAX`] lines of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    pub lines: Vec<Line>,
    pub added: usize,
    pub removed: usize,
    /// There are more lines than are shown.
    pub cut: bool,
}

impl Diff {
    /// What became of `old` in `new`.
    pub fn between(old: &str, new: &str) -> Self {
        let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(old, new);
        let mut shown = Self::default();
        for (n, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
            if n > 0 {
                shown.push("gap", "", "⋯");
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let text = change.value().trim_end_matches(['\n', '\r']);
                match change.tag() {
                    ChangeTag::Equal => shown.push("same", " ", text),
                    ChangeTag::Insert => {
                        shown.added += 1;
                        shown.push("added", "+", text);
                    }
                    ChangeTag::Delete => {
                        shown.removed += 1;
                        shown.push("removed", "−", text);
                    }
                }
            }
        }
        shown
    }

    fn push(&mut self, kind: &'static str, sign: &'static str, text: &str) {
        if self.lines.len() < LINES_MAX {
            self.lines.push(Line { kind, sign, text: crate::view::clean(text) });
        } else {
            self.cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let old: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 5\n", "line five\n").replace("line 30\n", "");
        let diff = Diff::between(&old, &new);
        assert_eq!((diff.added, diff.removed, diff.cut), (1, 2, false));
        let signs: String = diff.lines.iter().map(|line| line.sign).collect();
        assert_eq!(signs, "   −+      −   ");
        assert_eq!(diff.lines.iter().filter(|line| line.kind == "gap").count(), 1);
    }

    #[test]
    fn a_long_difference_is_cut_at_its_bound() {
        let text = |lines: usize| (0..lines).map(|n| format!("{n}\n")).collect::<String>();
        assert!(!Diff::between("", &text(LINES_MAX)).cut);
        let diff = Diff::between("", &text(LINES_MAX + 1));
        assert_eq!((diff.lines.len(), diff.added, diff.cut), (LINES_MAX, LINES_MAX + 1, true));
    }

    #[test]
    fn equal_texts_differ_in_nothing() {
        assert_eq!(Diff::between("a\nb", "a\nb"), Diff::default());
    }
}
