//! Evaluation sets, as `benches/eval.rs` describes them.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Longest title of a memory that has none of its own.
pub const TITLE_CHARS: usize = 80;

/// The lines of a file, as JSON.
pub fn read_lines(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .enumerate()
        .map(|(i, line)| {
            serde_json::from_str(line).with_context(|| format!("{}, line {}", path.display(), i + 1))
        })
        .collect()
}

/// A field as text: a string as it is, a number by its digits, absent or empty as nothing.
pub fn text_of(record: &Value, field: &str) -> Option<String> {
    match &record[field] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The arguments of the save: the same for all servers, so that their figures can be compared.
pub fn save_arguments(memory: &Value) -> Value {
    let text = text_of(memory, "text").unwrap_or_default();
    let scope = text_of(memory, "scope").unwrap_or_default();
    let before: Vec<String> = ["date", "author"].iter().filter_map(|field| text_of(memory, field)).collect();
    let content = if before.is_empty() { text.clone() } else { format!("{}: {text}", before.join(" ")) };
    let title: String = text.chars().take(TITLE_CHARS).collect();
    let mut arguments = json!({ "project": scope, "title": title, "content": content });
    if let Some(session) = text_of(memory, "session") {
        arguments["session_id"] = json!(format!("{scope}/{session}"));
    }
    arguments
}
