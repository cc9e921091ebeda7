//! Sessions of OpenCode before 1.2: a file for the session, one for each message, and one for each part of it, in three
//! folders side by side. Everything here blocks.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    reading::{Fault, WHOLE_BYTES_MAX},
    walk,
};
use cerebro_transcript::{
    Batch,
    opencode::{MessageRow, PartRow, SessionRow, read_v1},
};

/// Most files of one session.
const FILES_MAX: usize = 50_000;

/// Reads the session of a file `storage/session/<project>/<id>.json`; `None` if it is no such file.
///
/// # Errors
/// [`Fault`]: the session is too large.
pub fn read(file: &Path, bytes: &[u8]) -> Result<Option<Batch>, Fault> {
    let session: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |name: &str| session[name].as_str().map(str::to_owned);
    let id = text("id").filter(|id| is_name(id));
    let (Some(id), Some(storage)) = (id, file.ancestors().nth(3)) else { return Ok(None) };
    let mut files = Files { left: FILES_MAX, bytes: WHOLE_BYTES_MAX };
    let (mut messages, mut parts) = (Vec::new(), Vec::new());
    for (message, data) in files.of(&storage.join("message").join(&id))? {
        let value: Value = serde_json::from_str(&data).unwrap_or_default();
        for (_, data) in files.of(&storage.join("part").join(&message))? {
            parts.push(PartRow { message: message.clone(), data });
        }
        messages.push(MessageRow { id: message, created_ms: value["time"]["created"].as_i64(), data });
    }
    messages.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
    let row = SessionRow {
        id,
        parent: text("parentID"),
        forked_from: None,
        directory: text("directory"),
        title: text("title"),
        version: text("version"),
        revert: session.get("revert").filter(|revert| revert.is_object()).map(ToString::to_string),
        created_ms: session["time"]["created"].as_i64(),
        updated_ms: session["time"]["updated"].as_i64(),
    };
    let mut batch = read_v1(&row, &messages, &parts);
    // The session's own file is a record, too.
    batch.counts.records += 1;
    Ok(Some(batch))
}

/// Whether an id names a file and not a way to another folder.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// What may still be read.
struct Files {
    left: usize,
    bytes: u64,
}

impl Files {
    /// The JSON files of a folder by their names, in order of these; none where the folder is not there.
    fn of(&mut self, folder: &Path) -> Result<Vec<(String, String)>, Fault> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                let too_many = || Fault::Unknown(format!("its session has more than {FILES_MAX} files"));
                self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
                paths.push(path);
            }
        }
        paths.sort();
        let mut found = Vec::new();
        for path in paths {
            let Some(name) = path.file_stem().and_then(|name| name.to_str()).filter(|name| is_name(name))
            else {
                continue;
            };
            let mut bytes = Vec::new();
            // A file that is removed at this moment is gone at the next scan.
            let read = walk::open(&path).and_then(|file| file.take(self.bytes + 1).read_to_end(&mut bytes));
            if read.is_err() {
                continue;
            }
            let size = bytes.len() as u64;
            self.bytes =
                self.bytes.checked_sub(size).ok_or(Fault::TooLarge(WHOLE_BYTES_MAX + 1, WHOLE_BYTES_MAX))?;
            found.push((name.to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_put_together_from_its_files() {
        let temp = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = temp.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let session = r#"{"id":"ses_1","directory":"/w","title":"Mend it","time":{"created":1768307088294,"updated":2}}"#;
        write("session/p/ses_1.json", session);
        write("message/ses_1/msg_2.json", r#"{"role":"assistant","time":{"created":20}}"#);
        write("message/ses_1/msg_1.json", r#"{"role":"user","time":{"created":10}}"#);
        write("part/msg_1/prt_1.json", r#"{"type":"text","text":"Mend the skua"}"#);
        write("part/msg_2/prt_2.json", r#"{"type":"text","text":"It is mended."}"#);
        write("part/msg_2/prt_3.json", "not json");
        fs::write(temp.path().join("message/ses_1/msg_3.json"), b"\xff\xfe").unwrap();
        let file = temp.path().join("session/p/ses_1.json");
        let batch = read(&file, session.as_bytes()).unwrap().unwrap();
        assert_eq!((batch.session.id.as_str(), batch.session.cwd.as_deref()), ("ses_1", Some("/w")));
        let prompts: Vec<_> = batch.exchanges.iter().map(|one| one.prompt.clone().unwrap().text).collect();
        assert_eq!(prompts, ["Mend the skua"]);
        assert_eq!(batch.exchanges[0].turns.len(), 1);
        assert_eq!(
            (batch.counts.records, batch.counts.malformed),
            (7, 2),
            "the session, its messages and parts"
        );
        for other in [br#"{"id":"../x"}"#.as_slice(), b"[]", b"not json", b""] {
            assert!(read(&file, other).unwrap().is_none());
        }
    }
}
