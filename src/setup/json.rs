//! Edits JSON. Comments, order and blanks of everything else stay as they are.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::piece::{Content, Mark, Piece, PieceError};

const OBJECT: &str = "an object";
const LIST: &str = "a list";
/// Accepts comments and trailing commas, as agents do, and no other extension.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The text with the pieces.
pub fn put(text: &str, pieces: &[&Piece]) -> Result<String, PieceError> {
    let (tree, root) = parse(text)?;
    check_once(&root, pieces)?;
    for piece in pieces {
        match &piece.content {
            Content::Entry { path, value } => put_entry(&root, path, value)?,
            Content::Default { path, value } if at(&root, path).is_none() => put_entry(&root, path, value)?,
            Content::Default { .. } | Content::Text(_) => {}
            Content::Element { path, value, mark } => put_element(&root, path, value, mark)?,
        }
    }
    Ok(shown(text, &tree))
}

/// The text without the pieces. Restores the values that `base` had in their place.
pub fn take(text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, PieceError> {
    if text.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let (tree, root) = parse(text)?;
    check_once(&root, pieces)?;
    let base = base.and_then(|base| parse(base).ok()?.1.to_serde_value()).unwrap_or(Value::Null);
    for piece in pieces {
        match &piece.content {
            Content::Entry { path, .. } => take_entry(&root, path, &base)?,
            Content::Element { path, value, mark } => take_element(&root, path, value, mark, &base),
            Content::Default { .. } | Content::Text(_) => {}
        }
    }
    for piece in pieces {
        if let Content::Default { path, value } = &piece.content
            && base_at(&base, path).is_none()
            && root.properties().len() == 1
            && at(&root, path).and_then(|node| node.to_serde_value()).as_ref() == Some(value)
        {
            remove(&root, path);
        }
    }
    Ok(shown(text, &tree))
}

/// Whether a text is an object without members and without a comment.
pub fn is_blank(text: &str) -> bool {
    text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).is_some_and(|rest| rest.trim().is_empty())
}

/// The value at a path of keys.
pub fn value_at(text: &str, path: &[String]) -> Option<Value> {
    at(&parse(text).ok()?.1, path)?.to_serde_value()
}

fn parse(text: &str) -> Result<(CstRootNode, CstObject), PieceError> {
    let source = if text.trim().is_empty() { "{}\n" } else { text };
    let tree = CstRootNode::parse(source, &OPTIONS).map_err(|error| PieceError::Malformed {
        line: error.line_display(),
        column: error.column_display(),
        reason: error.kind().to_string(),
    })?;
    let root = tree.object_value().ok_or(PieceError::NoObject)?;
    Ok((tree, root))
}

/// Refuses a key on the path of a piece that its object has more than once.
fn check_once(root: &CstObject, pieces: &[&Piece]) -> Result<(), PieceError> {
    for path in pieces.iter().filter_map(|piece| piece.content.path()) {
        let mut object = Some(root.clone());
        for (depth, key) in path.iter().enumerate() {
            let Some(present) = object else { break };
            let is_key = |name: Option<String>| name.as_ref() == Some(key);
            let count =
                present.properties().iter().filter(|property| is_key(property.decoded_name())).count();
            if count > 1 {
                return Err(PieceError::Repeated { location: path[..=depth].join(".") });
            }
            object = present.object_value(key);
        }
    }
    Ok(())
}

/// The text of the tree; the original text if nothing was changed.
fn shown(text: &str, tree: &CstRootNode) -> String {
    let shown = tree.to_string();
    if text.trim().is_empty() && is_blank(shown.trim()) { text.to_owned() } else { shown }
}

fn at(root: &CstObject, path: &[String]) -> Option<CstNode> {
    let (last, way) = path.split_last()?;
    way.iter().try_fold(root.clone(), |object, key| object.object_value(key))?.get(last)?.value()
}

fn base_at<'a>(base: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(base, |value, key| value.get(key))
}

/// The object at a path of keys. Creates the missing objects on the path.
fn object_at(root: &CstObject, path: &[String]) -> Result<CstObject, PieceError> {
    let mut object = root.clone();
    for (depth, key) in path.iter().enumerate() {
        object = object
            .object_value_or_create(key)
            .ok_or_else(|| PieceError::Occupied { location: path[..=depth].join("."), expected: OBJECT })?;
    }
    Ok(object)
}

fn put_entry(root: &CstObject, path: &[String], value: &Value) -> Result<(), PieceError> {
    let Some((last, way)) = path.split_last() else { return Ok(()) };
    let object = object_at(root, way)?;
    if let (Value::Object(members), Some(_)) = (value, object.get(last)) {
        for (name, member) in members {
            let below: Vec<String> = path.iter().chain([name]).cloned().collect();
            put_entry(root, &below, member)?;
        }
        return Ok(());
    }
    match object.get(last) {
        Some(property) if property.to_serde_value().as_ref() == Some(value) => {}
        Some(property) => property.set_value(input(value)),
        None => drop(object.append(last, input(value))),
    }
    Ok(())
}

fn put_element(root: &CstObject, path: &[String], value: &Value, mark: &Mark) -> Result<(), PieceError> {
    let Some((last, way)) = path.split_last() else { return Ok(()) };
    let object = object_at(root, way)?;
    let list = object
        .array_value_or_create(last)
        .ok_or_else(|| PieceError::Occupied { location: path.join("."), expected: LIST })?;
    let present = marked(list.elements(), value, mark);
    if present.len() == 1 && present[0].to_serde_value().as_ref() == Some(value) {
        return Ok(());
    }
    for element in present {
        remove_marked(element, value, mark);
    }
    list.append(input(value));
    Ok(())
}

/// Those of some elements that have the mark.
fn marked(mut elements: Vec<CstNode>, value: &Value, mark: &Mark) -> Vec<CstNode> {
    elements.retain(|node| node.to_serde_value().is_some_and(|element| mark.is_on(&element, value)));
    elements
}

/// Removes a marked element. Of a group that also has commands of somebody else, removes only the marked ones.
fn remove_marked(element: CstNode, value: &Value, mark: &Mark) {
    let group = element.as_object().and_then(|object| object.array_value("hooks"));
    let commands = group.map(|group| group.elements()).unwrap_or_default();
    let count = commands.len();
    let ours = marked(commands, value, mark);
    if ours.len() == count { element.remove() } else { ours.into_iter().for_each(CstNode::remove) }
}

/// Removes the value at a path, or restores that of the base. What somebody else has removed is not put back.
fn take_entry(root: &CstObject, path: &[String], base: &Value) -> Result<(), PieceError> {
    let before = base_at(base, path).filter(|_| at(root, path).is_some());
    remove(root, path);
    match before {
        Some(value) => put_entry(root, path, value)?,
        None => prune(root, path, base),
    }
    Ok(())
}

fn take_element(root: &CstObject, path: &[String], value: &Value, mark: &Mark, base: &Value) {
    let Some(list) = at(root, path).and_then(|node| node.as_array()) else { return };
    let before = base_at(base, path).and_then(Value::as_array).cloned().unwrap_or_default();
    let is_old = |node: &CstNode| node.to_serde_value().is_some_and(|value| before.contains(&value));
    let mut ours = marked(list.elements(), value, mark);
    ours.retain(|node| !is_old(node));
    // A list that was empty before belongs to the user.
    let is_any = !ours.is_empty();
    for element in ours {
        remove_marked(element, value, mark);
    }
    if is_any && list.elements().is_empty() && base_at(base, path).is_none() {
        remove(root, path);
        prune(root, path, base);
    }
}

fn remove(root: &CstObject, path: &[String]) {
    let Some((last, way)) = path.split_last() else { return };
    let object = way.iter().try_fold(root.clone(), |object, key| object.object_value(key));
    if let Some(property) = object.and_then(|object| object.get(last)) {
        property.remove();
    }
}

/// Removes the objects along a path that are empty now and did not exist before.
fn prune(root: &CstObject, path: &[String], base: &Value) {
    for depth in (1..path.len()).rev() {
        let way = &path[..depth];
        let is_empty =
            at(root, way).and_then(|node| node.as_object()).is_some_and(|o| o.properties().is_empty());
        if !is_empty || base_at(base, way).is_some() {
            return;
        }
        remove(root, way);
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(bool) => CstInputValue::Bool(*bool),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
