//! Edits TOML. Comments, order and blanks of everything else stay as they are.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::piece::{Content, Piece, PieceError};

const TABLE: &str = "a table";

/// The text with the pieces. TOML can hold only entries.
pub fn put(text: &str, pieces: &[&Piece]) -> Result<String, PieceError> {
    edited(text, |document| {
        for piece in pieces {
            if let Content::Entry { path, value } = &piece.content {
                put_entry(document.as_table_mut(), path, value, path)?;
            }
        }
        Ok(())
    })
}

/// The text without the pieces. Restores the values that `base` had in their place.
pub fn take(text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, PieceError> {
    let base = base.and_then(|base| parse(base).ok()).unwrap_or_default();
    edited(text, |document| {
        for piece in pieces {
            if let Content::Entry { path, .. } = &piece.content {
                take_entry(document.as_table_mut(), path, Some(base.as_table()));
            }
        }
        Ok(())
    })
}

/// The text after an edit of its document. The parser writes `\n` at the end of every line: lines that ended with
/// `\r\n` do so again, and an unchanged text is returned byte for byte.
fn edited(
    text: &str,
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), PieceError>,
) -> Result<String, PieceError> {
    let mut document = parse(text)?;
    let before = document.to_string();
    edit(&mut document)?;
    let after = document.to_string();
    let is_crlf = text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
    Ok(if after == before {
        text.to_owned()
    } else if is_crlf {
        after.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        after
    })
}

/// The value at a path of keys.
pub fn value_at(text: &str, path: &[String]) -> Option<Value> {
    let document: toml::Value = toml::from_str(text).ok()?;
    let value = path.iter().try_fold(&document, |value, key| value.get(key))?;
    serde_json::to_value(value).ok()
}

fn parse(text: &str) -> Result<DocumentMut, PieceError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let before = &text[..error.span().map_or(0, |span| span.start).min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        PieceError::Malformed {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            reason: error.message().trim().to_owned(),
        }
    })
}

fn put_entry(
    table: &mut dyn TableLike,
    path: &[String],
    value: &Value,
    whole: &[String],
) -> Result<(), PieceError> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    let occupied =
        || PieceError::Occupied { location: whole[..=whole.len() - path.len()].join("."), expected: TABLE };
    if !rest.is_empty() {
        let inner = table.entry(first).or_insert_with(implicit).as_table_like_mut().ok_or_else(occupied)?;
        return put_entry(inner, rest, value, whole);
    }
    match value {
        Value::Object(members) => {
            let item = table.entry(first).or_insert_with(|| Item::Table(Table::new()));
            let inner = item.as_table_like_mut().ok_or_else(occupied)?;
            for (name, member) in members {
                let below: Vec<String> = whole.iter().chain([name]).cloned().collect();
                put_entry(inner, std::slice::from_ref(name), member, &below)?;
            }
        }
        value => {
            let item = item(value);
            let same = table.get(first).is_some_and(|old| plain(old) == plain(&item));
            if !same {
                table.insert(first, item);
            }
        }
    }
    Ok(())
}

/// A table whose header is not written while it contains only tables.
fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Removes the value at a path, or restores that of the base. What somebody else has removed is not put back. Tables on
/// the path are removed if they are empty and the base did not have them.
fn take_entry(table: &mut dyn TableLike, path: &[String], base: Option<&dyn TableLike>) {
    let Some((first, rest)) = path.split_first() else { return };
    let before = base.and_then(|base| base.get(first));
    if rest.is_empty() {
        match before.filter(|_| table.contains_key(first)) {
            Some(item) => drop(table.insert(first, item.clone())),
            None => drop(table.remove(first)),
        }
        return;
    }
    let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else { return };
    take_entry(inner, rest, before.and_then(Item::as_table_like));
    if inner.is_empty() && before.is_none() {
        table.remove(first);
    }
}

/// A value without surrounding blanks, for comparison.
fn plain(item: &Item) -> String {
    item.to_string().trim().to_owned()
}

fn item(value: &Value) -> Item {
    toml_value(value).map_or(Item::None, Item::Value)
}

/// TOML has no null, so none is written.
fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(bool) => (*bool).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items.iter().filter_map(toml_value).collect::<Array>().into(),
        Value::Object(members) => inline(members).into(),
    })
}

fn inline(members: &Map<String, Value>) -> InlineTable {
    members.iter().filter_map(|(name, value)| Some((name.as_str(), toml_value(value)?))).collect()
}
