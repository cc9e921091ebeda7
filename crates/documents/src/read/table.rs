//! CSV, JSON and notebooks.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::markup::{self, unpacked};
use crate::{DocumentError, limits::TEXT_BYTES_MAX, section::Outline};

/// Most rows above the names of the columns.
const TITLE_ROWS_MAX: usize = 3;

/// Collects the rows of a table as self-contained lines: each value follows the name of its column. The names are the first
/// row, or the first one with several values below a title.
#[derive(Default)]
pub(super) struct Rows {
    names: Vec<String>,
    count: usize,
    /// The lines so far.
    pub text: String,
}

impl Rows {
    pub fn add<'a>(&mut self, values: impl Iterator<Item = &'a str>) {
        let one_line = |value: &str| value.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut values: Vec<String> = values.map(one_line).collect();
        values.truncate(values.iter().rposition(|value| !value.is_empty()).map_or(0, |last| last + 1));
        if values.is_empty() {
            return;
        }
        let below_title = self.names.len() == 1 && values.len() > 1 && self.count <= TITLE_ROWS_MAX;
        let names: &[String] = if below_title { &[] } else { &self.names };
        let mut between = if self.count > 0 { "\n" } else { "" };
        for (at, value) in values.iter().enumerate().filter(|(_, value)| !value.is_empty()) {
            self.text.push_str(between);
            if let Some(name) = names.get(at).filter(|name| !name.is_empty()) {
                self.text.extend([name.as_str(), ": "]);
            }
            self.text.push_str(value);
            between = "; ";
        }
        if self.count == 0 || below_title {
            self.names = values;
        }
        self.count += 1;
    }

    /// Whether no more text is kept; the outline cuts what is beyond the bound, and says so.
    pub fn is_full(&self) -> bool {
        self.text.len() > TEXT_BYTES_MAX
    }
}

/// The rows of CSV. The first line with a separator says which it is.
pub(super) fn csv(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let first = source.lines().find(|line| line.contains([',', ';', '\t'])).unwrap_or_default();
    let count = |separator: char| first.matches(separator).count();
    let separator = [b',', b';', b'\t'].into_iter().max_by_key(|separator| count(char::from(*separator)));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator.unwrap_or(b','))
        .flexible(true)
        .has_headers(false)
        .from_reader(source.as_bytes());
    let mut rows = Rows::default();
    for record in reader.records() {
        rows.add(record.map_err(DocumentError::malformed)?.iter());
        if rows.is_full() {
            break;
        }
    }
    outline.text(&rows.text, None);
    Ok(())
}

/// JSON, or one value per line: each leaf is a line with its path; the members of an object are sections. Values are not
/// held as a whole, and nothing is read beyond the bounds of the outline: many short values would take many times the
/// size of their file.
pub(super) fn json(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let Err(whole) = serde_json::from_str::<IgnoredAny>(source) else {
        return if source.trim_start().starts_with('{') {
            add_members(source, outline)
        } else {
            add_value(source, outline)
        };
    };
    for line in source.lines().filter(|line| !line.trim().is_empty()) {
        if outline.is_full() {
            break;
        }
        // The error reported is the one for the text as a single value.
        add_value(line, outline).map_err(|_| DocumentError::malformed(&whole))?;
    }
    Ok(())
}

fn add_value(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let mut leaves = Leaves::default();
    let read = parse(source, &mut leaves);
    outline.text(&leaves.text, None);
    unless_full(read, outline)
}

fn add_members(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let read = parse(source, Members(outline));
    unless_full(read, outline)
}

/// Reads one value; `serde_json` bounds the depth.
fn parse<'de>(source: &'de str, seed: impl DeserializeSeed<'de, Value = ()>) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_str(source);
    seed.deserialize(&mut reader)?;
    reader.end()
}

/// A fault, unless reading broke off because no more is kept.
fn unless_full(read: serde_json::Result<()>, outline: &Outline) -> Result<(), DocumentError> {
    match read {
        Err(error) if !outline.is_full() => Err(DocumentError::malformed(error)),
        _ => Ok(()),
    }
}

/// Breaks off reading. No person sees it.
fn enough<E: de::Error>() -> E {
    E::custom("enough")
}

/// Adds the members of an object to an outline, each as a section.
struct Members<'a>(&'a mut Outline);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.0.heading(2, &name);
            let mut leaves = Leaves::default();
            let read = members.next_value_seed(&mut leaves);
            self.0.text(&leaves.text, None);
            read?;
            if self.0.is_full() {
                return Err(enough());
            }
        }
        Ok(())
    }
}

/// Collects the leaves of a value while it is read: one per line, with their paths.
#[derive(Default)]
struct Leaves {
    text: String,
    way: String,
}

impl Leaves {
    fn add<E: de::Error>(&mut self, leaf: &str) -> Result<(), E> {
        if !self.way.is_empty() {
            self.text.push_str(&self.way);
            self.text.push_str(": ");
        }
        self.text.push_str(leaf);
        self.text.push('\n');
        // The outline cuts what is beyond the bound, and says so.
        if self.text.len() > TEXT_BYTES_MAX { Err(enough()) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Leaves {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Leaves {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let length = self.way.len();
        while let Some(name) = members.next_key::<String>()? {
            if length > 0 {
                self.way.push('.');
            }
            self.way.push_str(&name);
            members.next_value_seed(&mut *self)?;
            self.way.truncate(length);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, leaf: bool) -> Result<(), E> {
        self.add(if leaf { "true" } else { "false" })
    }

    fn visit_i64<E: de::Error>(self, leaf: i64) -> Result<(), E> {
        self.add(&leaf.to_string())
    }

    fn visit_u64<E: de::Error>(self, leaf: u64) -> Result<(), E> {
        self.add(&leaf.to_string())
    }

    fn visit_f64<E: de::Error>(self, leaf: f64) -> Result<(), E> {
        self.add(&Value::from(leaf).to_string())
    }

    fn visit_str<E: de::Error>(self, leaf: &str) -> Result<(), E> {
        self.add(leaf)
    }
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
