//! Removes from texts what Cerebro or the agent's program has shown: it must not come back as a memory.

use cerebro_core::text;
use cerebro_transcript::{HOST_ELEMENTS, is_of_host};

/// The text without injected frames and elements. One that is not closed stays, because the user may be writing about it.
pub fn strip(text: &str) -> String {
    let mut rest = text::unframed(text).into_owned();
    for name in HOST_ELEMENTS {
        rest = without(rest, name);
    }
    rest.trim().to_owned()
}

/// What a person asked in a prompt; `None` if the agent's host wrote it all, such as a notice that a task is over.
pub fn asked(prompt: &str) -> Option<String> {
    Some(strip(prompt)).filter(|words| !words.is_empty() && !is_of_host(prompt))
}

/// The summary in the output of a compaction, without the model's analysis.
pub fn summary(text: &str) -> String {
    let text = without(text.to_owned(), "analysis");
    let inner = element(&text, "summary", 0).map(|(_, start, end, _)| text[start..end].trim().to_owned());
    inner.filter(|inner| !inner.is_empty()).unwrap_or_else(|| text.trim().to_owned())
}

fn without(text: String, name: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    while let Some((begin, _, _, after)) = element(&text, name, from) {
        out.push_str(&text[from..begin]);
        from = after;
    }
    if from == 0 {
        return text;
    }
    out.push_str(&text[from..]);
    out
}

/// The next element with that name: the positions of its start, of its content and of the text after it. Only an attack
/// nests elements of one name. Then the outermost counts.
fn element(text: &str, name: &str, from: usize) -> Option<(usize, usize, usize, usize)> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let begin = from + text[from..].find(&open)?;
    let mut end = begin + text[begin..].find(&close)?;
    let mut depth = text[begin + open.len()..end].matches(&open).count();
    while depth > 0 {
        let next = end + close.len();
        let Some(further) = text[next..].find(&close) else { break };
        depth += text[next..next + further].matches(&open).count();
        end = next + further;
        depth -= 1;
    }
    Some((begin, begin + open.len(), end, end + close.len()))
}

#[cfg(test)]
mod tests {
    use cerebro_transcript::HOST_ELEMENTS_AT_EDGES;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn injected_text_is_taken_out() {
        for (text, want) in [
            ("plain", "plain"),
            ("<hook_context>a\nb</hook_context>\nAsk", "Ask"),
            ("Ask<system-reminder>x</system-reminder> more", "Ask more"),
            ("a <system-reminder> is what?", "a <system-reminder> is what?"),
            ("Ask <cerebro-context>\n# Memory cut of", "Ask <cerebro-context>\n# Memory cut of"),
            ("<hook_context>a <cerebro-context>\nhalf</hook_context>\nAsk", "Ask"),
            (
                "<cerebro-context>\nhalf\nWhat? <cerebro-context>\n- x\n</cerebro-context>",
                "<cerebro-context>\nhalf\nWhat?",
            ),
            ("<hook_context>a<hook_context>b</hook_context>c</hook_context>d", "d"),
            ("<hook_context>a</hook_context>b<hook_context>c</hook_context>", "b"),
            ("<system-reminder></system-reminder>", ""),
            ("Mend <ide_selection>x</ide_selection>it", "Mend it"),
            ("Add <permissions>x</permissions> to it", "Add <permissions>x</permissions> to it"),
        ] {
            assert_eq!(strip(text), want, "{text}");
        }
        let frame = text::framed("# Memory\n- x");
        assert_eq!(strip(&format!("before {frame} after")), "before  after");
        assert_eq!(strip(&format!("<system-reminder>{frame}</system-reminder>\nAsk")), "Ask");
    }

    #[test]
    fn what_the_host_wrote_is_no_prompt() {
        for text in [
            "<system-reminder>x</system-reminder>",
            "[SYSTEM NOTIFICATION - NOT USER INPUT]\nAn event.\n<task-notification>x</task-notification>",
            "Another Claude session sent a message:\n<agent-message from=\"a\">x</agent-message>\n\nIt is no user's.",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
        assert_eq!(asked("fix it\n<system-reminder>x</system-reminder>").as_deref(), Some("fix it"));
        assert_eq!(asked("/review 12").as_deref(), Some("/review 12"));
    }

    #[test]
    fn a_compactions_thinking_is_no_summary() {
        let text = "<analysis>\nhm\n</analysis>\n\n<summary>\n1. Done\n</summary>";
        assert_eq!(summary(text), "1. Done");
        assert_eq!(summary("1. Done"), "1. Done");
        assert_eq!(summary("<summary></summary>"), "<summary></summary>");
    }

    /// A tag of Cerebro or of an agent's program: opening or closing, each letter in any case, with extra blanks,
    /// attributes and brackets.
    fn tag() -> impl Strategy<Value = String> {
        let ours = ["cerebro-context", "|im_start|", "|im_end|", "system"];
        let names: Vec<&str> = HOST_ELEMENTS.into_iter().chain(HOST_ELEMENTS_AT_EDGES).chain(ours).collect();
        let open = ("[<＜﹤]{1,3}[ \t\n]{0,2}", "/?[ ]?");
        let close = "[ \u{200b}]{0,2}( a=\"[b<>]?\")?/?[>＞﹥]{0,3}";
        let name = (prop::sample::select(names), any::<u64>());
        (open, name, close).prop_map(|((open, slash), (name, loud), close)| {
            let cased = |(at, c): (usize, char)| {
                if loud >> (at % 64) & 1 == 1 { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            };
            let name: String = name.chars().enumerate().map(cased).collect();
            format!("{open}{slash}{name}{close}")
        })
    }

    /// Tags and words, with tags inside tags at any depth, and some of them twice.
    fn spliced() -> impl Strategy<Value = String> {
        let piece = prop_oneof![tag(), "[a-z<>/ \n]{0,8}"];
        let nested = piece.prop_recursive(4, 24, 3, |inner| {
            let splice = (inner.clone(), inner.clone(), 0usize..24).prop_map(|(a, b, at)| {
                let (before, after) = a.split_at(a.floor_char_boundary(at));
                format!("{before}{b}{after}")
            });
            let doubled = inner.prop_map(|one| format!("{one}{one}"));
            prop_oneof![splice, doubled]
        });
        prop::collection::vec(nested, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_inside_ends_the_frame_or_opens_another(context in spliced()) {
            let text = text::framed(&context);
            let inside = text.strip_prefix("<cerebro-context>\n").unwrap();
            let inside = inside.strip_suffix("\n</cerebro-context>").unwrap();
            prop_assert!(!inside.contains(['<', '＜', '﹤']), "{text}");
            prop_assert_eq!(strip(&text), "");
        }
    }
}
