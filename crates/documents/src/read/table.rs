//! CSV, JSON and notebooks.

use serde_json::Value;

use super::markup::{self, unpacked};
use crate::{DocumentError, section::Outline};

/// A row as a self-contained line: each value follows the name of its column.
pub(super) fn row<'a>(names: &[String], values: impl Iterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (at, value) in values.enumerate() {
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push_str("; ");
        }
        if let Some(name) = names.get(at).filter(|name| !name.is_empty()) {
            line.push_str(name);
            line.push_str(": ");
        }
        line.push_str(&value.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    line
}

/// The rows of CSV under the names in its first line.
pub(super) fn csv(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let first = source.lines().next().unwrap_or_default();
    let count = |separator: char| first.matches(separator).count();
    let separator = [b',', b';', b'\t'].into_iter().max_by_key(|separator| count(char::from(*separator)));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator.unwrap_or(b','))
        .flexible(true)
        .from_reader(source.as_bytes());
    let names: Vec<String> = reader
        .headers()
        .map_err(DocumentError::malformed)?
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let mut lines = Vec::new();
    for record in reader.records() {
        lines.push(row(&names, record.map_err(DocumentError::malformed)?.iter()));
    }
    if lines.is_empty() {
        outline.text(&names.join("; "), None);
    }
    outline.text(&lines.join("\n"), None);
    Ok(())
}

/// JSON, or one value per line: each leaf is a line with its path; the members of an object are sections.
pub(super) fn json(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    match serde_json::from_str::<Value>(source) {
        Ok(Value::Object(members)) => {
            for (name, value) in &members {
                outline.heading(2, name);
                outline.text(&leaves(value), None);
            }
        }
        Ok(value) => outline.text(&leaves(&value), None),
        Err(whole) => {
            let values: Result<Vec<Value>, _> =
                source.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
            // The error reported is the one for the text as a single value.
            for value in values.map_err(|_| DocumentError::malformed(whole))? {
                outline.text(&leaves(&value), None);
            }
        }
    }
    Ok(())
}

/// The leaves of a value, one per line, with their paths. `serde_json` bounds the depth.
fn leaves(value: &Value) -> String {
    let mut text = String::new();
    add_leaves(&mut text, &mut String::new(), value);
    text
}

fn add_leaves(text: &mut String, way: &mut String, value: &Value) {
    let length = way.len();
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if !way.is_empty() {
                    way.push('.');
                }
                way.push_str(name);
                add_leaves(text, way, value);
                way.truncate(length);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_leaves(text, way, item)),
        Value::Null => {}
        Value::String(leaf) => add_leaf(text, way, leaf),
        leaf => add_leaf(text, way, &leaf.to_string()),
    }
}

fn add_leaf(text: &mut String, way: &str, leaf: &str) {
    if !way.is_empty() {
        text.push_str(way);
        text.push_str(": ");
    }
    text.push_str(leaf);
    text.push('\n');
}

/// The cells of a notebook: Markdown, and code in blocks. Of their outputs, only images are kept.
pub(super) fn notebook(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let notebook: Value = serde_json::from_str(source).map_err(DocumentError::malformed)?;
    let Some(cells) = notebook["cells"].as_array() else {
        return Err(DocumentError::malformed("it has no cells"));
    };
    let mut text = String::new();
    for (number, cell) in cells.iter().enumerate() {
        add_images(number, cell, outline);
        let source = text_of(&cell["source"]);
        if source.is_empty() {
            continue;
        }
        if cell["cell_type"] == "code" {
            text.extend(["```\n", &source, "\n```\n\n"]);
        } else {
            text.push_str(&source);
            text.push_str("\n\n");
        }
    }
    markup::markdown(&text, outline);
    Ok(())
}

/// A string, or a list of lines.
fn text_of(value: &Value) -> String {
    match value {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}

/// The images attached to a cell and those in its outputs. Both are bundles of one image in several formats.
fn add_images(number: usize, cell: &Value, outline: &mut Outline) {
    let attached = cell["attachments"].as_object().into_iter().flatten();
    let given = cell["outputs"].as_array().into_iter().flatten().enumerate();
    let bundles = attached
        .map(|(name, bundle)| (name.clone(), format!("cell {number} attachment {name}"), bundle))
        .chain(
            given.map(|(at, output)| (String::new(), format!("cell {number} output {at}"), &output["data"])),
        );
    for (caption, name, bundle) in bundles {
        let formats = bundle.as_object().into_iter().flatten();
        for (_, data) in formats.filter(|(mime, _)| mime.starts_with("image/")) {
            let text = text_of(data);
            let bytes =
                if text.trim_start().starts_with('<') { Some(text.into_bytes()) } else { unpacked(&text) };
            if let Some(bytes) = bytes.filter(|_| !outline.has_all_images()) {
                outline.image(&caption, None, &name, &bytes);
            }
        }
    }
}
