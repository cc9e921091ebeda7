//! Detects that Gemini CLI has compacted a conversation. No hook reports it, because `PreCompress` is sent with
//! every request. The CLI's record of the session shows it: a summary replaces what came before.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use cerebro_core::text::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::platform;

/// How much of a record's end is read, in bytes. A compaction rewrites the record as one line.
const TAIL_BYTES: u64 = 2 * 1024 * 1024;
/// The text that every summary contains.
const MARK: &str = "<state_snapshot>";

/// The identity of the last compaction in a record; `None` if its end has none.
pub fn last(record: &Path) -> Option<String> {
    let mut file = platform::open_without_waiting(record).ok()?;
    let facts = file.metadata().ok()?;
    if !facts.is_file() {
        return None;
    }
    let skipped = facts.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(skipped)).ok()?;
    summary(&tail(&file)?).map(|summary| hex(&Sha256::digest(summary)[..16]))
}

fn tail(file: &File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).ok()?;
    // The first line may be incomplete. Then it is not JSON and is skipped.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The newest summary. It is a user message that the CLI wrote. The output of a tool is not a summary.
fn summary(lines: &str) -> Option<String> {
    let line = lines.lines().rev().find(|line| line.starts_with(r#"{"$set""#) && line.contains(MARK))?;
    let line: Value = serde_json::from_str(line).ok()?;
    let of_user =
        line["$set"]["messages"].as_array()?.iter().rev().filter(|message| message["type"] == "user");
    let parts = of_user.filter_map(|message| message["content"].as_array()).flatten();
    let mut texts = parts.filter_map(|part| part["text"].as_str());
    texts.find(|text| text.contains(MARK)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The line with which a compaction replaces a record.
    fn shortened(summary: &str, id: &str) -> String {
        let messages = json!([
            { "id": id, "type": "user", "content": [{ "text": summary }] },
            { "id": "m", "type": "gemini", "content": [{ "text": "Got it." }] },
            { "id": "u", "type": "user", "content": [{ "text": "Go on" }] },
        ]);
        format!("{}\n", json!({ "$set": { "messages": messages } }))
    }

    #[test]
    fn the_newest_summary_is_distinguished_from_the_one_before() {
        let first = shortened("<state_snapshot>half</state_snapshot>", "a");
        let again = shortened("<state_snapshot>half</state_snapshot>", "b");
        let second = shortened("<state_snapshot>whole</state_snapshot>", "c");
        let plain = "{\"id\":\"x\",\"type\":\"user\",\"content\":[{\"text\":\"<state_snapshot>\"}]}\n";
        let printed = json!({ "$set": { "messages": [
            { "type": "user", "content": [{ "functionResponse": { "output": MARK } }] },
            { "type": "gemini", "content": [{ "text": MARK }] },
        ] } });
        assert_eq!(summary(plain), None, "a user may speak of it");
        assert_eq!(summary(&printed.to_string()), None, "a tool may print it");
        assert_eq!(summary("{\"$set\": <state_snapshot>"), None);
        assert!(summary(&first).is_some());
        assert_eq!(
            summary(&first),
            summary(&format!("{first}{again}{plain}")),
            "written again, it is the same"
        );
        assert_ne!(summary(&first), summary(&format!("{first}{second}")));
    }

    #[test]
    fn only_the_end_of_a_record_is_looked_at() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("session.jsonl");
        assert_eq!(last(&path), None);
        assert_eq!(last(temp.path()), None, "a folder");
        let shortened = shortened("<state_snapshot>half</state_snapshot>", "a");
        std::fs::write(&path, &shortened).unwrap();
        assert!(last(&path).is_some());
        let rest = "x".repeat(usize::try_from(TAIL_BYTES).unwrap());
        std::fs::write(&path, format!("{shortened}{rest}\n")).unwrap();
        assert_eq!(last(&path), None);
    }
}
