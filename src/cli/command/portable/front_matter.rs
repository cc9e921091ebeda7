//! The front matter of a note: the part of YAML that editors write as properties.
//!
//! A property is a name, a colon, and a text (plain, in quotes, or as a block below) or a list (in brackets or as
//! lines below). Only the requested properties are read, so properties of other forms do no harm.
//!
//! This does not use a YAML library on purpose. A library refuses the whole block because of one line that people
//! write and that is clear enough (`title: Redis: why not`), where this reads what is requested and ignores the
//! rest. And a library turns `1.10` into a number, where the written text is wanted.

use std::collections::BTreeMap;

/// Properties by name, not yet read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Front<'a>(BTreeMap<&'a str, Raw<'a>>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Raw<'a> {
    /// The text after the colon.
    value: &'a str,
    /// The lines below it that belong to it.
    below: Vec<&'a str>,
}

impl<'a> Front<'a> {
    /// Takes the lines apart. Fails on the first line that is no property.
    pub fn split(text: &'a str) -> Result<Self, String> {
        let mut properties = BTreeMap::<&str, Raw<'_>>::new();
        let mut present = None;
        for (number, line) in text.lines().enumerate() {
            let belongs = line.starts_with([' ', '\t']) || line.trim().is_empty() || line.starts_with("- ");
            let belongs = belongs || line == "-";
            if let (true, Some(name)) = (belongs, present) {
                properties.entry(name).or_default().below.push(line);
                continue;
            }
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let property = line.split_once(':').filter(|(name, value)| {
                !name.trim().is_empty() && (value.is_empty() || value.starts_with([' ', '\t']))
            });
            let Some((name, value)) = property else {
                return Err(format!("line {} of its front matter is not `name: value`", number + 2));
            };
            let name = name.trim().trim_matches(['"', '\'']);
            properties.insert(name, Raw { value: value.trim(), below: Vec::new() });
            present = Some(name);
        }
        Ok(Self(properties))
    }

    /// A text; `None` when it is not there or empty.
    pub fn text(&self, name: &str) -> Result<Option<String>, String> {
        let Some(raw) = self.0.get(name) else { return Ok(None) };
        let lines = || raw.below.iter().map(|line| line.trim());
        let text = match raw.value {
            "|" | "|-" | "|+" => indented(&raw.below).join("\n").trim_end().to_owned(),
            ">" | ">-" | ">+" => lines().collect::<Vec<_>>().join(" ").trim().to_owned(),
            value if raw.below.iter().all(|line| line.trim().is_empty()) => scalar(value, name)?,
            // A plain text that continues on the lines below.
            value if !value.starts_with(['"', '\'']) => {
                std::iter::once(value).chain(lines()).collect::<Vec<_>>().join(" ").trim().to_owned()
            }
            value => scalar(&std::iter::once(value).chain(lines()).collect::<Vec<_>>().join(" "), name)?,
        };
        Ok((!text.is_empty()).then_some(text))
    }

    /// A list of texts; `None` when the property is missing, empty when it has no value. A text with commas or blanks
    /// is a list too.
    pub fn list(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        let Some(raw) = self.0.get(name) else { return Ok(None) };
        let below: Vec<&str> =
            raw.below.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let items = if let Some(inner) = raw.value.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or_else(|| odd(name, raw.value))?;
            pieces(inner).into_iter().map(|item| scalar(item, name)).collect::<Result<Vec<_>, _>>()?
        } else if raw.value.is_empty() {
            let item = |line: &&str| {
                let item = line.strip_prefix('-').ok_or_else(|| odd(name, line))?;
                scalar(item.trim(), name)
            };
            below.iter().map(item).collect::<Result<Vec<_>, _>>()?
        } else {
            scalar(raw.value, name)?.split([',', ' ']).map(|item| item.trim().to_owned()).collect()
        };
        let plain = |item: String| item.strip_prefix('#').map_or_else(|| item.clone(), str::to_owned);
        Ok(Some(items.into_iter().map(plain).filter(|item| !item.is_empty()).collect()))
    }
}

fn odd(name: &str, value: &str) -> String {
    format!("`{name}: {value}` of its front matter is not understood; write it as text in quotes")
}

/// One text, plain or in quotes.
fn scalar(value: &str, name: &str) -> Result<String, String> {
    let value = value.trim();
    if value.starts_with('"') {
        // JSON's quoting is YAML's, except for some escapes that people do not write by hand.
        return serde_json::from_str(value).map_err(|_| odd(name, value));
    }
    if let Some(rest) = value.strip_prefix('\'') {
        let inner = rest.strip_suffix('\'').ok_or_else(|| odd(name, value))?;
        return Ok(inner.replace("''", "'"));
    }
    if value.starts_with(['[', '{', '&', '*', '!', '|', '>', '%', '@', '`']) {
        return Err(odd(name, value));
    }
    let plain = if value.starts_with('#') { "" } else { value.split(" #").next().unwrap_or_default() };
    Ok(if matches!(plain, "~" | "null") { String::new() } else { plain.trim().to_owned() })
}

/// The items between brackets. Commas inside quotes do not separate.
fn pieces(inner: &str) -> Vec<&str> {
    let (mut found, mut start, mut quote, mut escaped) = (Vec::new(), 0, None, false);
    for (at, c) in inner.char_indices() {
        match (quote, c) {
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(open), c) if c == open && !escaped => quote = None,
            (None, '"' | '\'') if inner[start..at].trim().is_empty() => quote = Some(c),
            (None, ',') => {
                found.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        escaped = false;
    }
    found.push(&inner[start..]);
    found.into_iter().filter(|item| !item.trim().is_empty()).collect()
}

/// The lines of a block without the indent that they have in common.
fn indented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(front: &str) -> Result<Option<String>, String> {
        Front::split(front)?.text("x")
    }

    fn list(front: &str) -> Result<Option<Vec<String>>, String> {
        Front::split(front)?.list("x")
    }

    #[test]
    fn texts_are_read_in_every_form() {
        for (front, want) in [
            ("x: plain text", "plain text"),
            ("x: with: colon", "with: colon"),
            ("x: plain # a comment", "plain"),
            ("x: \"quoted: \\\"text\\\" \\u00e9\"", "quoted: \"text\" é"),
            ("x: 'it''s'", "it's"),
            ("# comment\n\ny: 1\nx: 2", "2"),
            ("x: >-\n  folded\n  text\ny: 1", "folded text"),
            ("x: |\n  two\n    lines\n", "two\n  lines"),
            ("x: goes on\n  below", "goes on below"),
            ("\"x\": named in quotes", "named in quotes"),
        ] {
            assert_eq!(text(front).unwrap().as_deref(), Some(want), "{front}");
        }
        for empty in ["y: 1", "x:", "x: ~", "x: null", "x: \"\"", ""] {
            assert_eq!(text(empty).unwrap(), None, "{empty}");
        }
        for bad in ["x: \"open", "x: {a: 1}", "x: [a]", "no property", "x:no blank", ": y"] {
            assert!(text(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_are_read_in_every_form() {
        for (front, want) in [
            ("x: [a, \"b, c\", 'd', 2]", vec!["a", "b, c", "d", "2"]),
            ("x:\n  - a\n  - \"b # c\"\n- d\ny: 1", vec!["a", "b # c", "d"]),
            ("x: a, b", vec!["a", "b"]),
            ("x:", vec![]),
            ("x: []", vec![]),
        ] {
            assert_eq!(list(front).unwrap().unwrap(), want, "{front}");
        }
        assert_eq!(list("y: 1").unwrap(), None);
        for bad in ["x: [a", "x:\n  a: b", "x: {a}"] {
            assert!(list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_properties_do_no_harm() {
        let front = Front::split("odd: {a: [1]}\nnested:\n  deep:\n    - 1\nx: fine").unwrap();
        assert_eq!(front.text("x").unwrap().as_deref(), Some("fine"));
    }
}
