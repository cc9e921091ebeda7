//! Strings of data: of JSON, YAML, TOML, CSV, SQL, attributes and calls, without the value or the name around them.
//!
//! Prose quotes, too: `nobody says "so" any more`. A string of data has signs of data on both sides.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::{NAMING_WORDS_MIN, compiled, containment::NEGATIONS};

/// Names of values, elements and calls that say that a text does not hold, or holds only in some place; negations do, too.
const DENYING: &[&str] = &[
    "before", "old", "was", "former", "previous", "previously", "earlier", "until", "replaced", "superseded",
    "corrected", "incorrect", "outdated", "stale", "production", "prod", "staging", "test", "dev", "windows",
    "linux", "macos", "forget", "forgotten", "del", "delete", "deleted", "remove", "reject", "rejected",
    "drop", "dropped", "discard", "discarded", "retract", "retracted", "revoke", "revoked", "replace",
    "replaces", "supersedes", "invalid", "undo", "undone", "nope", "if", "avoid", "bad", "legacy", "expired",
    "archived", "cancelled", "canceled", "withdrawn", "retired", "fixed", "solved", "resolved", "wontfix",
    "myth", "question", "monday", "mondays", "tuesday", "tuesdays", "wednesday", "wednesdays", "thursday",
    "thursdays", "friday", "fridays", "saturday", "saturdays", "sunday", "sundays",
];
/// Names of values that say whether the others hold: by a word of [`DENYING`], or by `false`.
const STATES: [&str; 2] = ["state", "status"];
const HOLDING: [&str; 4] = ["valid", "current", "active", "holds"];
/// Words with which a line begins that compares, searches or deletes its strings.
const COMPARING: [&str; 9] = ["if", "elif", "while", "unless", "assert", "test", "delete", "grep", "rg"];
/// Names of values that say what the others are about.
const TITLES: [&str; 5] = ["title", "name", "key", "subject", "topic"];
/// Most strings of JSON inside each other that are read.
const DEPTH_MAX: usize = 4;
/// Most quotes inside one string that are looked at.
const QUOTES_MAX: usize = 32;
/// The signs that enclose strings.
const QUOTES: [char; 3] = ['"', '\'', '`'];

/// A line with one string as JSON, YAML and TOML write it, with or without its name. Between single quotes, YAML doubles those
/// of the string.
static STRING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r#"^\s*(?:-\s+)?(?:["']?(?P<name>[\w.-]{1,60})["']?\s*[:=]\s*)?"#,
        r#"(?:(?P<string>"(?:[^"\\]|\\.)*")|'(?P<plain>(?:[^']|'')*)')\s*,?\s*$"#,
    ))
});

/// The condition of a statement of SQL, whose strings are compared: `UPDATE … SET … WHERE text = '…'`.
static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)(?:^|\s)where\s+[\w.]+\s*(?:=|!=|<>|~|\slike\s|\sin\s)"));

/// Whether a name says that its value does not hold, or holds only in some place: `old`, `old_rule`, `forgetRule`. Every wrapper
/// with a name asks this: a text inside it is only mentioned.
pub(super) fn is_denying(name: &str) -> bool {
    let is_one = |word: &str| {
        let word = word.to_ascii_lowercase();
        DENYING.contains(&&*word) || NEGATIONS.contains(&&*word)
    };
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(|word| is_one(word) || camel(word).any(is_one))
}

/// Where the condition of a statement of SQL begins in a line.
pub(super) fn condition(line: &str) -> Option<usize> {
    CONDITION.find(line).map(|found| found.start())
}

/// Whether the name of a value is a text rather than a name.
fn is_text(name: &str) -> bool {
    name.split_whitespace().nth(NAMING_WORDS_MIN - 1).is_some()
}

/// The words of a name that are told apart by capitals: `forgetRule`.
fn camel(name: &str) -> impl Iterator<Item = &str> {
    let starts = name.char_indices().filter(|(at, c)| *at > 0 && c.is_uppercase()).map(|(at, _)| at);
    let starts: Vec<usize> = std::iter::once(0).chain(starts).chain([name.len()]).collect();
    (1..starts.len()).map(move |n| &name[starts[n - 1]..starts[n]])
}

/// The string of a text that has no other one: `"…"`, `{"text": "…"}`.
pub(super) fn sole_string(text: &str) -> Option<String> {
    let mut strings = strings(text)?;
    let is_sole = strings.len() == 1;
    strings.pop().filter(|_| is_sole)
}

/// The strings of a text that is an object or a list of JSON. `None` if it is none.
pub(super) fn document(text: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    collect_json(text.trim(), DEPTH_MAX, &mut found).then_some(found)
}

/// The strings of a line, or of a text, that is a value of JSON or names one. `None` if it is neither.
pub(super) fn strings(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if !text.contains(['"', '\'']) {
        return None;
    }
    if let Some(found) = STRING.captures(text) {
        if found.name("name").is_some_and(|name| is_denying(name.as_str())) {
            return Some(Vec::new());
        }
        let string = match found.name("plain") {
            Some(plain) => Some(plain.as_str().replace("''", "'")),
            None => serde_json::from_str(&found["string"]).ok(),
        };
        return string.map(|string| vec![string]);
    }
    document(text.trim_end_matches(','))
}

/// Adds the strings of a text that is an object or a list of JSON. Returns whether it is one.
fn collect_json(text: &str, depth: usize, found: &mut Vec<String>) -> bool {
    let value = text.starts_with(['{', '[']).then(|| serde_json::from_str(text).ok()).flatten();
    value.map(|value| collect(value, depth, found)).is_some()
}

/// The strings of a value, in order, after those that say what it is about. The parser bounds the depth of a value.
fn collect(value: Value, depth: usize, found: &mut Vec<String>) {
    match value {
        // A string may be JSON in turn.
        Value::String(text) => {
            let is_json = depth > 0 && collect_json(text.trim(), depth - 1, found);
            if !is_json {
                found.push(text);
            }
        }
        Value::Array(values) => values.into_iter().for_each(|value| collect(value, depth, found)),
        Value::Object(values) if values.iter().any(|(name, value)| says_otherwise(name, value)) => {}
        Value::Object(values) => {
            let mut values: Vec<(String, Value)> =
                values.into_iter().filter(|(name, _)| is_text(name) || !is_denying(name)).collect();
            values.sort_by_key(|(name, _)| !TITLES.contains(&&*name.to_ascii_lowercase()));
            for (name, value) in values {
                // A whole text as a name says itself, unless its value denies it.
                let is_denied = value.is_null() || value == false;
                if !is_denied && is_text(&name) {
                    found.push(name);
                }
                collect(value, depth, found);
            }
        }
        _ => {}
    }
}

/// Whether a member of an object says that the others do not hold: `"status": "expired"`, `"deleted": true`, `"valid": false`.
fn says_otherwise(name: &str, value: &Value) -> bool {
    let is_among = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match value {
        Value::Bool(true) => !is_text(name) && is_denying(name),
        Value::Bool(false) => is_among(&HOLDING),
        Value::String(state) => is_among(&STATES) && is_denying(state),
        _ => false,
    }
}

/// The strings of data in a line, each with its place: a value with its name, a cell, an argument. Those in brackets whose name
/// denies are left out: `replaced = [ … ]`, `forget( … )`.
pub(super) fn fields(line: &str) -> Vec<(Range<usize>, String)> {
    // Each quote would count the blanks at the beginning anew.
    let begin = line.len() - line.trim_start().len();
    let mut words = line[begin..].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    if words.next().is_some_and(|first| COMPARING.iter().any(|word| word.eq_ignore_ascii_case(first))) {
        return Vec::new();
    }
    let line = condition(line).map_or(line, |at| &line[..at.max(begin)]);
    let (mut found, mut from) = (Vec::new(), begin);
    // The open brackets: whether what is inside is denied.
    let mut brackets: Vec<bool> = Vec::new();
    let mut last_end = None;
    while let Some(at) = line[from..].find(QUOTES).map(|at| from + at) {
        for (sign_at, sign) in line[from..at].bytes().enumerate() {
            match sign {
                b'(' | b'[' | b'{' => {
                    let is_inside = brackets.last() == Some(&true);
                    brackets.push(is_inside || is_denying(name_before(&line[begin..from + sign_at])));
                }
                b')' | b']' | b'}' => drop(brackets.pop()),
                _ => {}
            }
        }
        let follows_string = last_end.take().is_some_and(|end: usize| line[end..at].trim().len() == 1);
        from = at + 1;
        if opens(&line[begin..at], !brackets.is_empty() || follows_string)
            && let Some(end) = closing(line, at)
        {
            from = end + 1;
            last_end = Some(from);
            if brackets.last() != Some(&true) && !names(&line[at..=end], &line[from..]) {
                found.push((at..from, unescaped(&line[at..=end])));
            }
        }
    }
    found
}

/// Whether a string of data may begin behind this beginning of a line, in brackets or directly behind another one
/// (`is_listed`) or elsewhere.
fn opens(before: &str, is_listed: bool) -> bool {
    // Python, Rust and SQL put a letter before some strings.
    let is_prefix = |c: char| matches!(c, 'r' | 'R' | 'f' | 'F' | 'b' | 'u' | 'E' | 'N' | '@' | '$');
    let without = before.strip_suffix(is_prefix).filter(|rest| !rest.ends_with(char::is_alphanumeric));
    let before = without.unwrap_or(before);
    if before.ends_with('\t') || begins_value(before, is_listed) {
        return true;
    }
    let bare = before.trim_end();
    if bare.ends_with('(') || begins_argument(before) {
        return true;
    }
    let Some((named, is_assigned)) = assigned(bare) else { return false };
    let (beyond, name) = split_name(named);
    // In prose, only the last word of what is said before a colon would be the name.
    !name.is_empty() && !is_denying(name) && (is_assigned || begins_value(beyond, is_listed))
}

/// Whether a value, or its name, may begin behind this beginning of a line. Prose has a comma and a blank before a quotation,
/// too: `the old rule, "so", holds no more`.
fn begins_value(before: &str, is_listed: bool) -> bool {
    let bare = before.trim();
    let is_separated = bare.ends_with([',', ';']) && (is_listed || before.ends_with([',', ';']));
    is_separated || matches!(bare, "" | "-" | "*" | "+") || bare.ends_with(['{', '[', '|'])
}

/// Whether an argument of a command may begin behind this beginning of a line: after an option, or after `echo`.
fn begins_argument(before: &str) -> bool {
    let mut words = before.split_whitespace();
    before.ends_with(' ')
        && (before.trim_end().rsplit(' ').next().is_some_and(|word| word.len() > 1 && word.starts_with('-'))
            || words.next() == Some("echo") && words.next().is_none())
}

/// The text before the sign between a name and its value, and whether that sign assigns.
fn assigned(text: &str) -> Option<(&str, bool)> {
    let signs = ["=>", ":=", "=", ":"];
    signs.into_iter().find_map(|sign| Some((text.strip_suffix(sign)?.trim_end(), sign.contains('='))))
}

/// The name of what a bracket behind this beginning of a line encloses: of a value or of a call.
fn name_before(before: &str) -> &str {
    let bare = before.trim_end();
    split_name(assigned(bare).map_or(bare, |(named, _)| named)).1
}

/// The text before a name at the end of a text, and that name without its quotes.
fn split_name(text: &str) -> (&str, &str) {
    let bare = text.trim_end_matches(QUOTES);
    let rest = bare.trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (rest.trim_end_matches(QUOTES), &bare[rest.len()..])
}

/// The place of the quote that closes the string which begins at a place of a line.
fn closing(line: &str, start: usize) -> Option<usize> {
    let quote = line[start..].chars().next()?;
    let mut from = start + 1;
    for _ in 0..QUOTES_MAX {
        let at = from + line[from..].find(quote)?;
        let escapes = line[start + 1..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        let is_doubled = line[at + 1..].starts_with(quote);
        let after = &line[at + 1..];
        if escapes % 2 == 0 && !is_doubled && (closes(after) || names(&line[start..at], after)) {
            return Some(at);
        }
        from = at + if is_doubled { 2 } else { 1 };
    }
    None
}

/// Whether a string before this end of a line is the name of a value: no prose quotes one word and goes on with a colon. A whole
/// text is such a name only if its value denies it.
fn names(string: &str, after: &str) -> bool {
    let value = after.trim_start().strip_prefix([':', '=']).map(str::trim_start);
    let first =
        |value: &str| is_denying(value.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default());
    value.is_some_and(|value| !string.contains(' ') && after.trim_start().starts_with(':') || first(value))
}

/// Whether a string of data may end before this end of a line.
fn closes(after: &str) -> bool {
    let rest = after.trim_start();
    let is_attribute = || {
        let name =
            rest.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
        rest.len() < after.len() && name.len() < rest.len() && name.starts_with('=')
    };
    rest.is_empty()
        || after.starts_with('\t')
        || rest.starts_with([',', ';', ')', ']', '}', '|', '/', '>', '#', ':', '='])
        || is_attribute()
}

/// What a string with its quotes says.
fn unescaped(string: &str) -> String {
    if let Ok(text) = serde_json::from_str(string) {
        return text;
    }
    let quote = &string[..1];
    let text = string[1..string.len() - 1].replace(&quote.repeat(2), quote);
    text.replace(&format!("\\{quote}"), quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "The heron is fed";

    fn found(line: &str) -> Vec<String> {
        fields(line).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn strings_of_data_are_found_with_and_without_names() {
        for line in [
            "1,\"The heron is fed\",done",
            "where = \"The heron is fed\"",
            "UPDATE notes SET text = 'The heron is fed' WHERE id = '7'",
            "rule = \"The heron is fed\" # so it is",
            "rule = '''The heron is fed'''",
            "INSERT INTO notes VALUES (1, 'The heron is fed', NULL);",
            "remember(\"The heron is fed\")",
            "memory.save(text=\"The heron is fed\", tags=[])",
            "level=info msg=\"The heron is fed\" at=noon",
            "<note id=\"7\" text=\"The heron is fed\"/>",
            "{ text: 'The heron is fed', id: 7 },",
            "{'text': 'The heron is fed'}",
            "  - note: \"The heron is fed\"",
            "\"The heron is fed\": true",
            "\"The heron is fed\" = rule",
            "echo 'The heron is fed' >> notes",
            "git commit -m \"The heron is fed\"",
            "print(f'The heron is fed')",
            "7\t\"The heron is fed\"\tx",
            "key => `The heron is fed`,",
            "\"one\", \"The heron is fed\",",
            "\"id\": \"7\", \"text\": \"The heron is fed\",",
        ] {
            let texts: Vec<String> =
                found(line).iter().map(|text| text.trim_matches('\'').to_owned()).collect();
            assert!(texts.iter().any(|text| text == TEXT), "{line}: {texts:?}");
        }
        assert_eq!(found(r#"3,"He said ""no"" to it",x"#), [r#"He said "no" to it"#]);
        assert_eq!(found(r#"a = "He said \"no\" to it""#), [r#"He said "no" to it"#]);
        assert_eq!(found(r#"a = "He said "no" to it";"#), [r#"He said "no" to it"#]);
    }

    #[test]
    fn quotations_of_prose_and_values_that_do_not_hold_are_none() {
        for line in [
            "Nobody says \"The heron is fed\" any more",
            "The old rule, \"The heron is fed\", holds no more",
            "It was so (in May); \"The heron is fed\"; now it is not",
            "It is not so: \"The heron is fed\"",
            "It is not so that \"The heron is fed\"",
            "old = \"The heron is fed\"",
            "old_rule: \"The heron is fed\"",
            "{ before: 'The heron is fed' }",
            "assert rule != \"The heron is fed\"",
            "if rule == \"The heron is fed\" then",
            "if [ \"$rule\" = \"The heron is fed\" ]; then",
            "DELETE FROM notes WHERE text = 'The heron is fed';",
            "UPDATE notes SET n = 1 WHERE text = 'The heron is fed';",
            "  where n.text LIKE 'The heron is fed'",
            "$ rg -F \"The heron is fed\"",
            "not(\"The heron is fed\")",
            "replaced = ['The heron is fed']",
            "{\"old\":{\"text\":\"The heron is fed\"}}",
            "forget(\"The heron is fed\")",
            "memory.deleteFact({ text: 'The heron is fed' })",
            "\"The heron is fed\": false",
            "say \"The heron is fed\" = rule",
            "the heron's food isn't the keeper's",
        ] {
            assert_eq!(found(line), [""; 0], "{line}");
        }
    }

    #[test]
    fn quotes_behind_many_blanks_are_read_in_linear_time() {
        // Counting the blanks for each of them would take minutes.
        let line = format!("{}{}", " ".repeat(128 * 1024), "x\"".repeat(64 * 1024));
        assert_eq!(found(&line), [""; 0]);
    }

    #[test]
    fn json_inside_json_is_read_and_what_it_is_about_comes_first() {
        let inner =
            serde_json::json!({ "content": "It is fed.", "title": "Heron", "old": "It is not." }).to_string();
        let text = serde_json::json!({ "id": 7, "payload": inner }).to_string();
        assert_eq!(strings(&text).unwrap_or_default(), ["Heron", "It is fed."]);
    }
}
