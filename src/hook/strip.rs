//! Taking out of a text what agents, and hooks, put into it: it must not come back as memory.

/// What our own context stands between. The reader of a later text knows it by this.
const FRAME: &str = "cerebro-context";
/// Elements that agents put into prompts, none of them the user's words.
const FOREIGN: [&str; 9] = [
    "hook_context", "system-reminder", "environment_context", "user_instructions", "task-notification",
    "local-command-stdout", "local-command-caveat", "command-message", "untrusted_context",
];

/// The context as it is given to an agent. A note that quotes the frame cannot end it.
pub fn framed(context: &str) -> String {
    let inside = context.replace(&format!("{FRAME}>"), FRAME);
    format!("<{FRAME}>\n{}\n</{FRAME}>", inside.trim())
}

/// The text without injected elements. One of our own that was cut off reaches to the end of the text;
/// another's that is not closed may be what the user talks about, and stays.
pub fn strip(text: &str) -> String {
    let mut rest = without(text.to_owned(), FRAME, true);
    for name in FOREIGN {
        rest = without(rest, name, false);
    }
    rest.trim().to_owned()
}

/// The summary proper of what a compaction wrote, whose thinking aloud is no part of it.
pub fn summary(text: &str) -> String {
    let text = without(text.to_owned(), "analysis", false);
    let inner = element(&text, "summary", 0).map(|(_, start, end, _)| text[start..end].trim().to_owned());
    inner.filter(|inner| !inner.is_empty()).unwrap_or_else(|| text.trim().to_owned())
}

fn without(text: String, name: &str, to_the_end: bool) -> String {
    let mut kept = String::new();
    let mut from = 0;
    while let Some((begin, _, _, after)) = element(&text, name, from) {
        kept.push_str(&text[from..begin]);
        from = after;
    }
    if from == 0 && !to_the_end {
        return text;
    }
    let rest = &text[from..];
    let end = if to_the_end { rest.find(&format!("<{name}>")).unwrap_or(rest.len()) } else { rest.len() };
    kept.push_str(&rest[..end]);
    kept
}

/// The next element of that name: where it begins, its inside, and what follows it. Elements of one name
/// are not nested, save by ill will; then the outermost is taken.
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
    use super::*;

    #[test]
    fn injected_text_is_taken_out() {
        for (text, want) in [
            ("plain", "plain"),
            ("<hook_context>a\nb</hook_context>\nAsk", "Ask"),
            ("Ask<system-reminder>x</system-reminder> more", "Ask more"),
            ("a <system-reminder> is what?", "a <system-reminder> is what?"),
            ("Ask <cerebro-context>\n# Memory cut of", "Ask"),
            ("<hook_context>a<hook_context>b</hook_context>c</hook_context>d", "d"),
            ("<hook_context>a</hook_context>b<hook_context>c</hook_context>", "b"),
            ("<system-reminder></system-reminder>", ""),
        ] {
            assert_eq!(strip(text), want, "{text}");
        }
        assert_eq!(framed("a</cerebro-context>b").matches("cerebro-context>").count(), 2);
        assert_eq!(strip(&format!("before {} after", framed("# Memory\n- x"))), "before  after");
    }

    #[test]
    fn a_compactions_thinking_is_no_summary() {
        let text = "<analysis>\nhm\n</analysis>\n\n<summary>\n1. Done\n</summary>";
        assert_eq!(summary(text), "1. Done");
        assert_eq!(summary("1. Done"), "1. Done");
        assert_eq!(summary("<summary></summary>"), "<summary></summary>");
    }
}
