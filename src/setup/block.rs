//! Cerebro's block in a user's text file, between two marks.

/// The line before the block, and the line after it.
const BEGIN: &str = "<!-- cerebro:begin -->";
const END: &str = "<!-- cerebro:end -->";
/// The mark near the beginning of every file that Cerebro wrote whole. The command that wrote it follows.
pub const WRITTEN_BY: &str = "written by `cerebro ";
/// How far into a file the mark is searched for, in bytes.
const MARK_WITHIN: usize = 400;

/// Whether Cerebro wrote the whole file.
pub fn is_written_by_cerebro(text: &str) -> bool {
    text.find(WRITTEN_BY).is_some_and(|at| at < MARK_WITHIN)
}

/// The text with the block: in place of the existing one, otherwise at the end after an empty line.
pub fn put(text: &str, block: &str) -> String {
    let block = format!("{BEGIN}\n{}\n{END}\n", block.trim());
    if let Some((before, after)) = around(text) {
        return format!("{before}{block}{after}");
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{block}")
}

/// The text without the block, and without the empty line that was added before it.
pub fn take(text: &str) -> String {
    let Some((before, after)) = around(text) else { return text.to_owned() };
    let before = if before.ends_with("\n\n") { &before[..before.len() - 1] } else { before };
    format!("{before}{after}")
}

/// The text before the block, and the text after the end of its last line.
fn around(text: &str) -> Option<(&str, &str)> {
    let begin = text.find(BEGIN)?;
    let end = begin + text[begin..].find(END)? + END.len();
    let after = &text[end..];
    Some((&text[..begin], after.strip_prefix('\n').unwrap_or(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_once_and_goes_without_a_trace() {
        for text in ["", "# Mine\n", "# Mine\n\nWords.\n", "é\n", "# Mine\n\n\n", "\n\n"] {
            let with = put(text, "Block\n");
            assert!(with.contains("\nBlock\n"), "{with}");
            assert_eq!(put(&with, "Block\n"), with);
            assert_eq!(take(&with), text);
            let changed = put(&with, "Other");
            assert!(changed.contains("Other") && !changed.contains("Block"), "{changed}");
            let more = format!("{with}More\n");
            assert_eq!(put(&more, "Block"), more);
            assert_eq!(take(&more), format!("{text}More\n"));
        }
        assert_eq!(take("nothing"), "nothing");
        assert_eq!(take(BEGIN), BEGIN);
    }
}
