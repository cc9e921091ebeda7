//! The lines of memories in an export; lines that are made by hand, and their import.

use super::{Finished, Home, Value, json};

/// The line of a memory of project `demo` that another agent wrote.
pub fn memory_line(id: &str, title: &str, content: &str) -> Value {
    let at = "2026-01-01T00:00:00Z";
    json!({
        "kind": "memory", "id": id, "project": "demo", "scope": "project", "type": "manual", "title": title,
        "content": content, "agent": "other", "revision": 1, "duplicate_count": 0, "created_at": at, "updated_at": at,
        "last_seen_at": at,
    })
}

impl Home {
    /// The memories of a full export, by their lines.
    pub fn memories(&self) -> Vec<Value> {
        self.export().into_iter().filter(|line| line["kind"] == "memory").collect()
    }

    /// Imports these lines like those of another home's export. The output is JSON.
    pub fn import(&self, lines: &[Value]) -> Finished {
        let header = json!({ "kind": "header", "format": "cerebro", "version": 1 });
        let text: String = std::iter::once(&header).chain(lines).map(|line| format!("{line}\n")).collect();
        self.import_with(&text, &["--json"])
    }

    /// Imports the text of an export.
    pub fn import_text(&self, text: &str) -> Finished {
        self.import_with(text, &[])
    }

    fn import_with(&self, text: &str, more: &[&str]) -> Finished {
        let file = self.work().join("import.jsonl");
        std::fs::write(&file, text).unwrap();
        self.run(&[&["import", &file.to_string_lossy()], more].concat())
    }
}
