//! Suggests projects or types with similar names when a command finds nothing.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::answer::memories::{Misspelt, Types};
use cerebro_core::domain::{Kind, Project};

/// A name and how many memories, or past sessions, have it.
type Count<'a> = (&'a str, u64);

/// Suggestions for a requested project or type that has no memories; none for one that has.
pub async fn for_unknown(daemon: &Daemon, project: Option<&str>, kind: Option<&str>) -> Result<Vec<String>> {
    let mut said = Vec::new();
    if let Some(project) = project {
        let answer = daemon.read(Request::new(of::Projects)).await?;
        let known: Vec<Count> = answer.projects.iter().map(|one| (one.project.raw(), one.memories)).collect();
        let wanted = Project::stored(project);
        said.extend(unknown(
            "memory",
            "project",
            (project, &wanted),
            &known,
            "`cerebro projects` lists them",
        ));
    }
    if let Some(kind) = kind {
        let answer = daemon.read(Request::new(of::Types)).await?;
        said.extend(unknown("memory", "type", (kind, &Kind::stored(kind)), &counts(&answer), ""));
    }
    Ok(said)
}

/// The suggestion for a requested project that has no past sessions, from the projects of the latest ones; none for a project
/// that has some.
pub async fn for_unknown_past(daemon: &Daemon, project: Option<&str>) -> Result<Vec<String>> {
    let Some(project) = project else { return Ok(Vec::new()) };
    let asked = Request::new(of::HistorySession).with("project", project).with("limit", 1);
    if daemon.read(asked).await?.sessions.iter().any(|own| !own.is_empty()) {
        return Ok(Vec::new());
    }
    let latest = daemon.read(Request::new(of::HistorySession)).await?;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for row in latest.sessions.iter().flatten() {
        *counts.entry(row.session.project.raw()).or_default() += 1;
    }
    let known: Vec<Count> = counts.into_iter().collect();
    let wanted = Project::stored(project);
    let otherwise = "`cerebro history show` lists the sessions";
    Ok(unknown("past session", "project", (project, &wanted), &known, otherwise).into_iter().collect())
}

fn counts(types: &Types) -> Vec<Count<'_>> {
    types.types.iter().map(|one| (one.name.raw(), one.memories)).collect()
}

/// Suggestions for words that are in no title but similar to words that are.
pub async fn words(daemon: &Daemon, request: Request<of::Spelling>) -> Result<Vec<String>> {
    let answer = daemon.read(request).await?;
    let near = |row: &Misspelt| {
        let near: Vec<String> = row.near.iter().map(|word| format!("`{}`", word.raw())).collect();
        format!("no title has `{}`; did you mean {}?", row.word.raw(), near.join(" or "))
    };
    Ok(answer.words.iter().map(near).collect())
}

/// A suggestion for a new type that is similar to a known or customary one.
pub fn new_type(kind: &str, types: &Types) -> Option<String> {
    let mut known = counts(types);
    for customary in Kind::KNOWN {
        if !known.iter().any(|(name, _)| *name == customary) {
            known.push((customary, 0));
        }
    }
    let unknown = unknown("memory", "type", (kind, &Kind::stored(kind)), &known, "")?;
    let (_, near) = unknown.split_once("; did you mean ")?;
    Some(format!("the type `{}` is new; others near it: {}", kind.trim(), near.trim_end_matches('?')))
}

/// The known names that are similar to the given one, with their number of memories.
fn named(name: &str, known: &[Count]) -> Vec<String> {
    let near = text::nearest(name, known.iter().map(|(name, _)| *name));
    let with_count = |name: &str| match known.iter().find(|(known, count)| *known == name && *count > 0) {
        Some((_, count)) => format!("`{name}` ({count})"),
        None => format!("`{name}`"),
    };
    near.into_iter().map(with_count).collect()
}

/// The suggestion for a name that nothing of a kind has, as it was given and as it would be stored.
fn unknown(
    of: &str,
    what: &str,
    (name, stored): (&str, &str),
    known: &[Count],
    otherwise: &str,
) -> Option<String> {
    if known.iter().any(|(name, _)| *name == stored) {
        return None;
    }
    let near = named(name, known);
    let then = match (near.is_empty(), otherwise) {
        (false, _) => format!("; did you mean {}?", near.join(" or ")),
        (true, "") => String::new(),
        (true, otherwise) => format!("; {otherwise}"),
    };
    Some(format!("no {of} has the {what} `{name}`{then}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::memories::Type;

    #[test]
    fn what_is_there_is_not_corrected_and_what_is_near_is_offered() {
        let count = |name: &str, memories| Type { name: name.into(), memories };
        let types = Types { types: vec![count("bugfix", 7), count("decision", 1)] };
        for (given, want) in [
            ("bugfix", None),
            (" BugFix ", None),
            ("Bug Fix", Some("no memory has the type `Bug Fix`; did you mean `bugfix` (7)?")),
            ("bug", Some("no memory has the type `bug`; did you mean `bugfix` (7)?")),
            ("quux", Some("no memory has the type `quux`")),
        ] {
            let unknown = unknown("memory", "type", (given, &Kind::stored(given)), &counts(&types), "");
            assert_eq!(unknown.as_deref(), want, "{given}");
        }
        let none = unknown("memory", "project", ("quux", "quux"), &[], "`cerebro projects` lists them");
        let past = unknown("past session", "project", ("otter", "otter"), &[("otters", 2)], "");
        assert_eq!(past.unwrap(), "no past session has the project `otter`; did you mean `otters` (2)?");
        assert_eq!(none.unwrap(), "no memory has the project `quux`; `cerebro projects` lists them");
        assert_eq!(new_type("bug", &types).unwrap(), "the type `bug` is new; others near it: `bugfix` (7)");
        assert_eq!((new_type("quux", &types), new_type("bugfix", &types)), (None, None));
        assert_eq!(new_type("preference", &types), None, "a customary type is no misspelling");
        assert_eq!(
            new_type("decison", &Types::default()).unwrap(),
            "the type `decison` is new; others near it: `decision`"
        );
    }
}
