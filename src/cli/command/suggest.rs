//! Suggests projects or types with similar names when a command finds nothing.

use serde_json::{Value, json};

use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::table::shown;
use cerebro_core::domain::Kind;
use cerebro_core::operation::Operation;
use cerebro_core::text;

/// Suggestions for a requested project or type that has no memories; none for one that has.
pub async fn instead(daemon: &Daemon, project: Option<&str>, kind: Option<&str>) -> Result<Vec<String>> {
    let mut said = Vec::new();
    if let Some(project) = project {
        let answer = daemon.ask(Request::new(Operation::Projects)).await?;
        said.extend(unknown("project", project, &answer["projects"], "`cerebro projects` lists them"));
    }
    if let Some(kind) = kind {
        let answer = daemon.ask(Request::new(Operation::Types)).await?;
        said.extend(unknown("type", kind, &answer["types"], ""));
    }
    Ok(said)
}

/// Suggestions for words that are in no title but similar to words that are.
pub async fn words(daemon: &Daemon, request: Request) -> Result<Vec<String>> {
    let answer = daemon.ask(request).await?;
    let rows = answer["words"].as_array().into_iter().flatten();
    let near = |row: &Value| {
        let near: Vec<String> =
            row["near"].as_array()?.iter().map(|word| format!("`{}`", shown(word))).collect();
        Some(format!("no title has `{}`; did you mean {}?", shown(&row["word"]), near.join(" or ")))
    };
    Ok(rows.filter_map(near).collect())
}

/// A suggestion for a new type that is similar to a known or customary one.
pub fn new_type(kind: &str, types: &Value) -> Option<String> {
    let mut rows = types.as_array().cloned().unwrap_or_default();
    for known in Kind::KNOWN {
        if !rows.iter().any(|row| row["type"] == known) {
            rows.push(json!({ "type": known, "memories": 0 }));
        }
    }
    let unknown = unknown("type", kind, &Value::Array(rows), "")?;
    let (_, near) = unknown.split_once("; did you mean ")?;
    Some(format!("the type `{}` is new; others near it: {}", kind.trim(), near.trim_end_matches('?')))
}

/// The names in a list's rows that are similar to the given one, with their number of memories.
fn named(field: &str, name: &str, rows: &Value) -> Vec<String> {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let near = text::nearest(name, rows.iter().filter_map(|row| row[field].as_str()));
    let count = |name: &str| rows.iter().find(|row| row[field] == name).map(|row| shown(&row["memories"]));
    let with_count = |name: &str| match count(name).filter(|count| count != "0") {
        Some(count) => format!("`{name}` ({count})"),
        None => format!("`{name}`"),
    };
    near.into_iter().map(with_count).collect()
}

fn unknown(field: &str, name: &str, rows: &Value, otherwise: &str) -> Option<String> {
    let wanted = name.trim().to_lowercase();
    if rows.as_array().into_iter().flatten().any(|row| row[field] == wanted.as_str()) {
        return None;
    }
    let near = named(field, name, rows);
    let then = match (near.is_empty(), otherwise) {
        (false, _) => format!("; did you mean {}?", near.join(" or ")),
        (true, "") => String::new(),
        (true, otherwise) => format!("; {otherwise}"),
    };
    Some(format!("no memory has the {field} `{name}`{then}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_corrected_and_what_is_near_is_offered() {
        let types = json!([{ "type": "bugfix", "memories": 7 }, { "type": "decision", "memories": 1 }]);
        for (given, want) in [
            ("bugfix", None),
            (" BugFix ", None),
            ("bug", Some("no memory has the type `bug`; did you mean `bugfix` (7)?")),
            ("quux", Some("no memory has the type `quux`")),
        ] {
            assert_eq!(unknown("type", given, &types, "").as_deref(), want, "{given}");
        }
        let none = unknown("project", "quux", &json!([]), "`cerebro projects` lists them");
        assert_eq!(none.unwrap(), "no memory has the project `quux`; `cerebro projects` lists them");
        assert_eq!(new_type("bug", &types).unwrap(), "the type `bug` is new; others near it: `bugfix` (7)");
        assert_eq!((new_type("quux", &types), new_type("bugfix", &types)), (None, None));
        assert_eq!(new_type("preference", &types), None, "a customary type is no misspelling");
        assert_eq!(
            new_type("decison", &json!([])).unwrap(),
            "the type `decison` is new; others near it: `decision`"
        );
    }
}
