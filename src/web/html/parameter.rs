//! The parameters in an address. What cannot be read is refused on every page: a page that ignored it would show
//! something else than its address says.

use std::{collections::HashMap, str::FromStr};

use cerebro_core::text;

/// A parameter that a page does not have, or whose value cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unread {
    pub name: String,
    pub value: String,
}

impl Unread {
    pub fn new(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), value: value.to_owned() }
    }
}

/// A text without blanks around it; empty if it is missing. It has no control characters: an HTML page must not contain
/// them, and forms show these values.
pub fn part(parts: &HashMap<String, String>, name: &str) -> String {
    let shown = |value: &String| text::strip_control_chars(value.trim()).into_owned();
    parts.get(name).map(shown).unwrap_or_default()
}

/// A value; `None` if it is not given.
pub fn value<T: FromStr>(parts: &HashMap<String, String>, name: &str) -> Result<Option<T>, Unread> {
    let given = part(parts, name);
    if given.is_empty() {
        return Ok(None);
    }
    given.parse().map(Some).map_err(|_| Unread::new(name, &given))
}

/// Whether a switch is on: `1` is on, `0` and a missing one are off.
pub fn is_on(parts: &HashMap<String, String>, name: &str) -> Result<bool, Unread> {
    match part(parts, name).as_str() {
        "" | "0" => Ok(false),
        "1" => Ok(true),
        other => Err(Unread::new(name, other)),
    }
}

/// The position in a list at which a page begins.
pub fn from<T: FromStr + Default>(parts: &HashMap<String, String>) -> Result<T, Unread> {
    Ok(value(parts, "from")?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_read_or_refused() {
        let parts = [("project", " \0a\u{1b}[m "), ("from", "x"), ("whole", "1"), ("all", "2"), ("old", "")];
        let parts: HashMap<_, _> =
            parts.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!((part(&parts, "project").as_str(), part(&parts, "type").as_str()), ("a[m", ""));
        assert_eq!(from::<usize>(&parts), Err(Unread::new("from", "x")));
        assert_eq!(value::<u8>(&parts, "whole"), Ok(Some(1)));
        let on = |name| is_on(&parts, name);
        assert_eq!((on("whole"), on("old"), on("none")), (Ok(true), Ok(false), Ok(false)));
        assert_eq!(on("all"), Err(Unread::new("all", "2")));
    }
}
