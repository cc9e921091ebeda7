//! Prompts of sessions whose transcripts are gone, from `~/.claude/history.jsonl` and `~/.codex/history.jsonl`. The
//! agents delete transcripts after weeks and keep these files.

use jiff::Timestamp;
use serde::Deserialize;

use crate::clip::clipped;
use crate::envelope::{UserText, classify, controls_the_host};
use crate::json::{Fields, Number, Raw, Text, is_object, without_bom};
use crate::limits::{LINE_BYTES_MAX, TEXT_BYTES_MAX};
use crate::line::NO_TYPE;
use crate::state::Counts;
use crate::tool::name;
use crate::turn::{Agent, Prompt, PromptKind};

/// A prompt and where it was typed. Texts: the prompt's and `project`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The session's id.
    pub session: String,
    /// The folder; Codex does not record it.
    pub project: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
    /// What was typed. Pasted text is put back where the file has it.
    pub prompt: Prompt,
    /// Where the line begins.
    pub offset: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    display: Text<'a>,
    text: Text<'a>,
    timestamp: Number,
    ts: Number,
    project: Text<'a>,
    #[serde(rename = "sessionId")]
    session: Text<'a>,
    session_id: Text<'a>,
    #[serde(rename = "pastedContents")]
    pasted: Raw<'a>,
}

/// The result of reading such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedPrompts {
    /// In the order of the file.
    pub prompts: Vec<Typed>,
    /// What was counted.
    pub counts: Counts,
    /// The offset to continue from: after the last whole line.
    pub end: u64,
}

/// The name under which prompts without a session are counted, as old versions of Claude Code wrote them. They are not read:
/// nothing tells them from prompts of transcripts that were imported, or of sessions that were forgotten.
const NO_SESSION: &str = "(prompt without a session)";

/// Reads the bytes of such a file from `offset` on. Malformed lines are skipped. A last line without a line break counts if
/// it is a whole object.
pub fn read(bytes: &[u8], offset: u64) -> TypedPrompts {
    let (mut prompts, mut counts) = (Vec::new(), Counts::default());
    let mut at = if offset == 0 { bytes.len() - without_bom(bytes).len() } else { 0 };
    while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
        let line = bytes[at..at + length].trim_ascii();
        if line.len() <= LINE_BYTES_MAX {
            prompts.extend(one(line, offset + at as u64, &mut counts));
        } else {
            counts.oversized += 1;
        }
        at += length + 1;
    }
    if bytes.len() - at <= LINE_BYTES_MAX && is_object(&bytes[at..]) {
        prompts.extend(one(bytes[at..].trim_ascii(), offset + at as u64, &mut counts));
        at = bytes.len();
    }
    TypedPrompts { prompts, counts, end: offset + at as u64 }
}

fn one(line: &[u8], offset: u64, counts: &mut Counts) -> Option<Typed> {
    if line.is_empty() {
        return None;
    }
    counts.records += 1;
    let Ok(record) = serde_json::from_slice::<Record<'_>>(line) else {
        counts.malformed += 1;
        return None;
    };
    if record.display.0.is_none() && record.text.0.is_none() {
        counts.unknown(NO_TYPE, line.len());
    }
    let text = with_pasted(record.display.some().or(record.text.some())?, record.pasted);
    let agent = if record.display.0.is_some() { Agent::ClaudeCode } else { Agent::Codex };
    let prompt = match classify(&text) {
        UserText::Words(words) if words.starts_with('/') && controls_the_host(agent, &words) => return None,
        UserText::Words(words) => {
            let kind = if words.starts_with('/') { PromptKind::Command } else { PromptKind::Typed };
            Prompt { text: clipped(&words, TEXT_BYTES_MAX), kind }
        }
        _ => return None,
    };
    let Some(session) = record.session.some().or(record.session_id.some()) else {
        counts.unknown(NO_SESSION, line.len());
        return None;
    };
    // Claude Code counts milliseconds, Codex seconds.
    let millis = record.timestamp.0.or(record.ts.0.and_then(|seconds| seconds.checked_mul(1000)));
    Some(Typed {
        session: name(session),
        project: record.project.some().map(name),
        at: millis.and_then(|millis| Timestamp::from_millisecond(millis).ok()),
        prompt,
        offset,
    })
}

/// `[Pasted text #1 +20 lines]` stands for a text that is stored beside it.
fn with_pasted(display: &str, pasted: Raw<'_>) -> String {
    let contents = pasted.map(|raw| Fields::of(raw.get())).unwrap_or_default();
    let mut text = display.to_owned();
    for number in contents.names() {
        let content = contents.raw(&[number]).map(|raw| Fields::of(raw.get()).text(&["content"]));
        let Some(content) = content.filter(|content| !content.is_empty()) else { continue };
        let Some(begin) = text.find(&format!("[Pasted text #{number}")) else { continue };
        let Some(end) = text[begin..].find(']') else { continue };
        text.replace_range(begin..=begin + end, &content);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_deleted_sessions_are_read() {
        let lines = concat!(
            r#"{"display":"fix it [Pasted text #1 +2 lines]","pastedContents":{"1":{"content":"trace"}},"timestamp":1700000000000,"project":"/w","sessionId":"s1"}"#,
            "\n",
            r#"{"display":"/model","timestamp":1700000000000,"project":"/w"}"#,
            "\n",
            r#"{"session_id":"s2","ts":1700000000,"text":"go on"}"#,
            "\nnot json\n\n",
            r#"{"display":"","project":"/w"}"#,
            "\n",
            r#"{"said":"something"}"#,
            "\n",
            r#"{"display":"of an old version","timestamp":1700000000000,"project":"/w"}"#,
            "\n",
            r#"{"display":"unfinished"#,
        );
        let TypedPrompts { prompts, counts, end } = read(lines.as_bytes(), 100);
        assert_eq!((counts.records, counts.malformed), (7, 1));
        let unknown: Vec<(String, u64)> = counts.unknown.into_iter().collect();
        let want = [NO_TYPE, NO_SESSION].map(|name| (name.to_owned(), 1));
        assert_eq!(unknown, want, "an empty prompt is a prompt, and a command of the host is none");
        let texts: Vec<&str> = prompts.iter().map(|typed| typed.prompt.text.as_str()).collect();
        assert_eq!(texts, ["fix it trace", "go on"]);
        assert_eq!(prompts[0].at, prompts[1].at);
        assert_eq!((prompts[0].session.as_str(), prompts[1].session.as_str()), ("s1", "s2"));
        assert_eq!((prompts[0].offset, end), (100, 100 + lines.rfind('\n').expect("lines") as u64 + 1));
        let last = "\u{feff}{\"text\":\"a\",\"session_id\":\"s\"}\r\n{\"text\":\"b\",\"session_id\":\"s\"}";
        let TypedPrompts { prompts, end, .. } = read(last.as_bytes(), 0);
        assert_eq!(
            (prompts.len(), end),
            (2, last.len() as u64),
            "a mark at its beginning, no line break at its end"
        );
    }
}
