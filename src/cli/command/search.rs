//! `cerebro search`: finds memories by words, names or questions.

use super::marks::print_marks;
use super::prelude::*;
use crate::answer::search::{Found, Hint, Hit, Shares};
use crate::cli::hits;
use cerebro_core::domain::limits::LIMIT_MAX;

/// Find memories by words, names or questions
///
/// A hit need not have every word. A DATE is a day such as 2026-11-21, a moment in RFC 3339, `yesterday`, or an age
/// such as 7d or 12h. Write words that begin with `-` after `--`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The words or the question; quotes are not needed
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Search only this project [default: that of the working folder]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    project: Option<String>,
    /// Search all projects
    #[arg(long)]
    all_projects: bool,
    /// Only memories of this scope: `project` or `personal`
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Only memories of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only memories with this tag; can be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only memories from this date on
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only memories until the end of this date
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Search what was stored on this date
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
    /// Only memories that are valid on this date
    #[arg(long, value_name = "DATE")]
    valid_at: Option<String>,
    /// Search archived memories too
    #[arg(long)]
    archived: bool,
    /// Show at most N hits, 1 to 50 [default: 10, or the nearest 3 if nothing fits]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
    /// Continue an earlier search; its last line names the cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Show the parts of each hit's score
    #[arg(long)]
    explain: bool,
    /// Leave out this part of the score: words, meaning, neighbours, session, opening, used or
    /// related
    #[arg(long, value_name = "PART")]
    without: Option<String>,
}

/// The columns of hits in output that is not for a terminal.
const HITS: &[(&str, Layout)] = &[
    ("id", Layout::Id),
    ("date", Layout::Moment),
    ("type", Layout::Fixed),
    ("project", Layout::Fixed),
    ("title", Layout::Flexible),
    ("preview", Layout::Flexible),
];

/// How many hits are shown when none fits and no limit was given.
const NEAREST: usize = 3;

/// The parts of a score, which add up to it, and the share of the query's words that the hit contains.
const EXPLAINED: [(&str, Layout); 10] = [
    ("id", Layout::Fixed),
    ("score", Layout::Count),
    ("words", Layout::Count),
    ("meaning", Layout::Count),
    ("neighbours", Layout::Count),
    ("session", Layout::Count),
    ("opening", Layout::Count),
    ("coverage", Layout::Count),
    ("exact", Layout::Fixed),
    ("title", Layout::Flexible),
];

pub async fn run(context: &CommandContext, args: SearchArgs) -> Result<()> {
    let query = args.query.join(" ");
    let request = Request::new(of::Search).given(json!({
        "query": query, "project": args.project, "all_projects": args.all_projects, "scope": args.scope,
        "type": args.kind, "tags": args.tags, "since": args.since, "until": args.until, "as_of": args.as_of,
        "valid_at": args.valid_at, "archived": args.archived, "limit": args.limit, "cursor": args.cursor,
        "explain": args.explain, "without": args.without,
    }));
    let is_asked_for_more = args.limit.is_some() || args.cursor.is_some() || args.explain;
    let daemon = Daemon::reach(&context.home()?).await?;
    let found = daemon.read(request).await?;
    let is_empty = found.hits.is_empty();
    let mut suggestions = Vec::new();
    if is_empty && !context.output.is_json() {
        // Passages and exchanges are no memories, so no memory has these types.
        let kind = args.kind.as_deref().filter(|kind| !["document", "history"].contains(kind));
        suggestions = suggest::for_unknown(&daemon, args.project.as_deref(), kind).await?;
        let request = Request::new(of::Spelling)
            .with("project", args.project.as_deref())
            .with("all_projects", args.all_projects);
        suggestions.extend(suggest::words(&daemon, request.with("query", query.as_str())).await?);
    }
    if context.output.json(found.raw())? {
        return Ok(());
    }
    let mut found = found.into_answer();
    if let Some(words) = nothing_fits(&mut found, is_asked_for_more) {
        context.output.note(&words);
    }
    if args.explain {
        let nothing = format!("nothing found for `{query}`{}", searched(&found));
        context.output.table(&explained_table(&found), &nothing)?;
        context.output.note(&format!("match: {}", found.matched.raw()));
        return Ok(());
    }
    match context.output.screen().filter(|_| !is_empty) {
        Some(screen) => context.output.write(&hits::drawn(&found.hits, &query, screen))?,
        None => {
            let table = Table::listing(HITS, &found.hits, |hit| {
                let Hit { id, date, kind, project, title, preview, .. } = hit;
                vec![shown(id), shown(date), shown(kind), shown(project), shown(title), shown(preview)]
            });
            context.output.table(&table, &format!("nothing found for `{query}`{}", searched(&found)))?;
        }
    }
    context.output.notes(&suggestions);
    print_details(context, &found);
    Ok(())
}

/// The message when no hit fits. Keeps only the nearest hits unless more were requested.
pub(super) fn nothing_fits(found: &mut Found, is_asked_for_more: bool) -> Option<String> {
    if found.matched != "none" || found.hits.is_empty() {
        return None;
    }
    if !is_asked_for_more && found.hits.len() > NEAREST {
        found.hits.truncate(NEAREST);
        found.next_cursor = None;
        return Some(format!("nothing fits (match: none); the nearest {NEAREST}, more with --limit N:"));
    }
    Some(format!("nothing fits (match: none); the nearest {}:", found.hits.len()))
}

/// The parts of the scores, with the titles of the hits.
fn explained_table(found: &Found) -> Table {
    Table::listing(&EXPLAINED, &found.explained, |row| {
        let hit = found.hits.iter().find(|hit| hit.id == row.id);
        let Shares { words, meaning, neighbours, session, opening, .. } = &row.shares;
        vec![
            shown(&row.id),
            shown(&row.score),
            shown(words),
            shown(meaning),
            shown(neighbours),
            shown(session),
            shown(opening),
            shown(&row.coverage),
            shown(&row.exact),
            shown(&hit.map(|hit| &hit.title)),
        ]
    })
}

/// Which projects were searched, for a message that nothing was found.
fn searched(found: &Found) -> String {
    found.project.as_ref().map_or(" in any project".to_owned(), |project| {
        format!(" in project {}; --all-projects searches all", project.raw())
    })
}

/// Prints how well the hits fit, and where more can be found.
pub(super) fn print_details(context: &CommandContext, found: &Found) {
    // What fits nothing was said first.
    if !found.hits.is_empty() && (found.matched == "strong" || found.matched == "partial") {
        let missing = if found.relaxed { "; no hit has every word" } else { "" };
        context.output.note(&format!("match: {}{missing}", found.matched.raw()));
    }
    print_marks(context, found.hits.iter().map(|hit| (&hit.id, &hit.marks)));
    if let Some(count) = found.archived {
        let hits = text::counted(count, "better hit");
        context.output.note(&format!("archived: {hits}; --archived searches archived memories too"));
    }
    for (name, hint, unit, kind) in [
        ("documents", &found.documents, "passage", "document"),
        ("history", &found.history, "exchange", "history"),
    ] {
        if let Some(hint) = hint {
            context.output.note(&format!("{name}: {}", evidence_note(hint, unit, kind)));
        }
    }
    for other in &found.elsewhere {
        let hits = text::counted(other.hits, "better hit");
        context.output.note(&format!("project {}: {hits}", other.project.raw()));
    }
    if let Some(cursor) = &found.next_cursor {
        context.output.note(&format!("more: add --cursor {}", cursor.raw()));
    }
}

/// One line about matches in documents or past sessions: their number, the best title, and how to see them.
fn evidence_note(hint: &Hint, unit: &str, kind: &str) -> String {
    let count = text::counted(hint.n, unit);
    let title = text::one_line(hint.title.raw());
    let best = if title.is_empty() { String::new() } else { format!(", best \"{title}\"") };
    format!("{count}{best}; add --type {kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_of_hits_that_do_not_fit_are_kept() {
        let found = |label: &str, hits: usize| Found {
            matched: label.into(),
            hits: vec![Hit::default(); hits],
            next_cursor: Some("10-x".into()),
            ..Found::default()
        };
        for (label, hits, more, left, said) in [
            ("strong", 10, false, 10, None),
            ("partial", 10, false, 10, None),
            ("none", 0, false, 0, None),
            ("none", 10, false, 3, Some("the nearest 3, more with --limit")),
            ("none", 10, true, 10, Some("the nearest 10:")),
            ("none", 2, false, 2, Some("the nearest 2:")),
        ] {
            let mut found = found(label, hits);
            let words = nothing_fits(&mut found, more);
            assert_eq!(found.hits.len(), left, "{label} {hits}");
            assert_eq!(words.is_some(), said.is_some(), "{label} {hits}: {words:?}");
            assert!(words.unwrap_or_default().contains(said.unwrap_or_default()), "{label} {hits}");
        }
    }
}
