//! The frame around the context that agents are shown, and texts without such frames: what Cerebro has shown must not
//! come back as a memory.

use std::borrow::Cow;

use super::inert;

/// The marks at the beginning and the end of a frame, each on its own line.
const OPEN: &str = "<cerebro-context>";
const CLOSE: &str = "</cerebro-context>";

/// The context for an agent, in its frame. Nothing inside can close the frame or open another, because it has no `<`.
pub fn framed(context: &str) -> String {
    format!("{OPEN}\n{}\n{CLOSE}", inert(context).trim())
}

/// The text without the frames in it. Only what [`framed`] writes is a frame. A mark alone stays, and what follows it: a
/// person may have copied a part of a frame and asks about it, and nobody knows where that part ends.
pub fn unframed(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut from) = (0, 0);
    while let Some(at) = text[from..].find(OPEN) {
        let begin = from + at;
        from = begin + OPEN.len();
        // No frame has a `<` inside.
        let end = text[from..].find('<').map_or(text.len(), |at| from + at);
        if text[end..].starts_with(CLOSE) && is_on_own_lines(&text[from..end]) {
            out.push_str(&text[copied..begin]);
            from = end + CLOSE.len();
            copied = from;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Whether a text between two marks begins and ends with the end of a line.
fn is_on_own_lines(inside: &str) -> bool {
    match (inside.split_once('\n'), inside.rsplit_once('\n')) {
        (Some((first, _)), Some((_, last))) => first.trim().is_empty() && last.trim().is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_frames_are_left_out_and_nothing_else() {
        let frame = framed("# Memory\n- x <y>");
        for (text, want) in [
            ("plain".to_owned(), "plain"),
            (frame.clone(), ""),
            (framed(""), ""),
            (format!("before {frame} after"), "before  after"),
            (format!("{frame}{frame}\nask"), "\nask"),
            (frame.replace('\n', "\r\n"), ""),
            (frame.replace('\n', "\n  "), ""),
        ] {
            assert_eq!(unframed(&text), want, "{text}");
        }
        for text in [
            "Ask <cerebro-context>\n# Memory cut of",
            "<cerebro-context>\nhalf\n\nWhat does that mean?",
            "half\n</cerebro-context>\nWhat does that mean?",
            "What are `<cerebro-context>` and `</cerebro-context>`?",
            "<cerebro-context>\n<b>\n</cerebro-context>",
            "<cerebro-context>",
            "</cerebro-context>\n<cerebro-context>",
        ] {
            assert_eq!(unframed(text), text);
            assert_eq!(unframed(&format!("{text}\n{frame}")), format!("{text}\n"));
            assert_eq!(unframed(&format!("{frame}{text}")), text);
        }
    }

    proptest! {
        #[test]
        fn a_frame_comes_out_whole_and_takes_nothing_along(
            context in "(<|>|/|cerebro-context|\n|[a-z ]){0,24}",
            before in "(</?cerebro-context>|[a-z\n]){0,6}",
            after in "[a-z\n]{0,8}",
        ) {
            let frame = framed(&context);
            prop_assert_eq!(unframed(&frame), "");
            let between = format!("{before}|{frame}{after}");
            prop_assert_eq!(unframed(&between), format!("{}|{after}", unframed(&before)));
        }
    }
}
