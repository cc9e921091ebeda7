//! Finding and reading: `search`, `get`, `timeline` and `context`.

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{CommandContext, Outcome, suggest, within};
use crate::answer::{
    Received, Text,
    memories::Marks,
    observation::{Anchor, Observation},
    of,
    search::{Found, Hint, Hit, Shares},
    sessions::{Marked, Timeline},
};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::hits;
use crate::cli::table::{Layout, Table, bytes, shown};
use cerebro_core::domain::ChunkId;
use cerebro_core::domain::limits::{
    CONTEXT_BYTES_MAX, GET_BYTES_MAX, GET_BYTES_MIN, LIMIT_MAX, TIMELINE_MAX,
};
use cerebro_core::text;

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
    /// Leave out this part of the score: words, meaning, neighbours, session or opening
    #[arg(long, value_name = "PART")]
    without: Option<String>,
}

/// Show whole memories, exchanges or passages of documents
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The ids, or their first characters
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Show the earlier revisions too
    #[arg(long)]
    history: bool,
    /// Skip N bytes of the content; with --history, N revisions [default: 0]
    #[arg(long, value_name = "N")]
    offset: Option<usize>,
    /// Show at most N bytes of text, 256 or more [default: all]
    #[arg(long, value_name = "N", value_parser = within(GET_BYTES_MIN..=GET_BYTES_MAX))]
    max_bytes: Option<usize>,
    /// Show the text of this date, or of so long ago, such as 7d
    #[arg(long, value_name = "DATE", conflicts_with = "history")]
    as_of: Option<String>,
}

/// Show what happened around a memory
#[derive(Debug, Args)]
pub struct TimelineArgs {
    /// The memory's id, or its first characters
    id: String,
    /// Show N entries before it, up to 50 [default: 5]
    #[arg(long, value_name = "N", value_parser = within(0..=TIMELINE_MAX))]
    before: Option<usize>,
    /// Show N entries after it, up to 50 [default: 5]
    #[arg(long, value_name = "N", value_parser = within(0..=TIMELINE_MAX))]
    after: Option<usize>,
    /// Take the entries from here
    #[arg(long, value_name = "WHERE", default_value = "session")]
    within: Within,
}

/// Where a timeline's neighbours come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Within {
    /// The memory's session
    Session,
    /// The memory's whole project
    Project,
}

/// Show what an agent reads when a session begins
///
/// This is unfinished work, pinned memories, recent memories, sessions and prompts.
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// Only this project [default: that of the working folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only memories of this scope: `project` or `personal`
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Show at most N memories, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
    /// Show at most N bytes, up to 65536 [default: 8192]
    #[arg(long, value_name = "N", value_parser = within(1..=CONTEXT_BYTES_MAX))]
    max_bytes: Option<usize>,
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

/// How many flagged memories are named below a list.
const FLAGGED_NAMED: usize = 5;

const ENTRIES: &[(&str, Layout)] = &[
    ("", Layout::Fixed),
    ("date", Layout::Ago),
    ("what", Layout::Fixed),
    ("id", Layout::Id),
    ("agent", Layout::Spare),
    ("title", Layout::Flexible),
];

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

pub async fn search(context: &CommandContext, args: SearchArgs) -> Result<Outcome> {
    let query = args.query.join(" ");
    let request = Request::new(of::Search)
        .with("query", query.as_str())
        .with("project", args.project.as_deref())
        .with("all_projects", args.all_projects)
        .with("scope", args.scope)
        .with("type", args.kind.as_deref())
        .with("tags", args.tags)
        .with("since", args.since)
        .with("until", args.until)
        .with("as_of", args.as_of)
        .with("valid_at", args.valid_at)
        .with("archived", args.archived)
        .with("limit", args.limit)
        .with("cursor", args.cursor.as_deref())
        .with("explain", args.explain)
        .with("without", args.without);
    let is_asked_for_more = args.limit.is_some() || args.cursor.is_some() || args.explain;
    let daemon = Daemon::reach(&context.home()?).await?;
    let found = daemon.read(request).await?;
    let is_empty = found.hits.is_empty();
    let mut meant = Vec::new();
    if is_empty && !context.output.is_json() {
        meant = suggest::instead(&daemon, args.project.as_deref(), args.kind.as_deref()).await?;
        let place = Request::new(of::Spelling)
            .with("project", args.project.as_deref())
            .with("all_projects", args.all_projects);
        meant.extend(suggest::words(&daemon, place.with("query", query.as_str())).await?);
    }
    daemon.close().await;
    if context.output.json(found.raw())? {
        return Ok(Outcome::Done);
    }
    let mut found = found.into_answer();
    if let Some(words) = nothing_fits(&mut found, is_asked_for_more) {
        context.output.note(&words);
    }
    if args.explain {
        let nothing = format!("nothing found for `{query}`{}", place(&found));
        context.output.table(&explained_table(&found), &nothing)?;
        context.output.note(&format!("match: {}", found.matched.raw()));
        return Ok(Outcome::Done);
    }
    match context.output.screen().filter(|_| !is_empty) {
        Some(screen) => context.output.write(&hits::drawn(&found.hits, &query, screen))?,
        None => {
            let table = Table::listing(HITS, &found.hits, |hit| {
                let Hit { id, date, kind, project, title, preview, .. } = hit;
                vec![shown(id), shown(date), shown(kind), shown(project), shown(title), shown(preview)]
            });
            context.output.table(&table, &format!("nothing found for `{query}`{}", place(&found)))?;
        }
    }
    for words in &meant {
        context.output.note(words);
    }
    print_details(context, &found);
    Ok(Outcome::Done)
}

/// The message when no hit fits. Keeps only the nearest hits unless more were requested.
fn nothing_fits(found: &mut Found, is_asked_for_more: bool) -> Option<String> {
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

fn place(found: &Found) -> String {
    found.project.as_ref().map_or(" in any project".to_owned(), |project| {
        format!(" in project {}; --all-projects searches all", project.raw())
    })
}

/// Prints how well the hits fit, and where more can be found.
fn print_details(context: &CommandContext, found: &Found) {
    // What fits nothing was said first.
    if !found.hits.is_empty() && (found.matched == "strong" || found.matched == "partial") {
        let missing = if found.relaxed { "; no hit has every word" } else { "" };
        context.output.note(&format!("match: {}{missing}", found.matched.raw()));
    }
    print_marks(context, found.hits.iter().map(|hit| (&hit.id, &hit.marks)));
    if let Some(count) = found.archived {
        let hits = text::counted(count, "better hit");
        context.output.note(&format!("archived: {hits}; --archived shows what was put aside"));
    }
    for (name, hint, unit, kind) in [
        ("documents", &found.documents, "passage", "document"),
        ("history", &found.history, "exchange", "history"),
    ] {
        if let Some(hint) = hint {
            context.output.note(&format!("{name}: {}", beside(hint, unit, kind)));
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
fn beside(hint: &Hint, unit: &str, kind: &str) -> String {
    let count = text::counted(hint.n, unit);
    let title = text::one_line(hint.title.raw());
    let best = if title.is_empty() { String::new() } else { format!(", best \"{title}\"") };
    format!("{count}{best}; add --type {kind}")
}

/// Names the listed memories that should not be trusted without a check.
fn print_marks<'a>(context: &CommandContext, listed: impl Iterator<Item = (&'a Text, &'a Marks)> + Clone) {
    if let Some(words) = flagged(listed.clone().map(|(id, marks)| (id, marks.flag.as_ref()))) {
        context.output.note(&words);
    }
    for (id, marks) in listed {
        let id = id.raw();
        if let Some(newer) = &marks.old {
            let is_passage = ChunkId::parse(id).is_ok();
            let why = if is_passage { "says what holds now" } else { "took its place" };
            context.output.note(&format!("{id} is old: {} {why}", newer.raw()));
        }
        if marks.archived {
            context.output.note(&format!("{id} is archived; `cerebro unarchive {id}` puts it back"));
        }
        if marks.expired {
            context.output.note(&format!("{id} has expired: it was so until an earlier date"));
        }
        if let Some(words) = &marks.stale {
            context.output.note(&format!("{id} is stale here: {}", words.raw()));
        }
        if let Some(newer) = &marks.newer {
            context.output.note(&format!("{id} may be out of date: {} is newer", newer.raw()));
        }
    }
}

/// A warning about the listed memories whose text reads like an instruction: the id and the flag of each.
pub fn flagged<'a>(listed: impl Iterator<Item = (&'a Text, Option<&'a Text>)>) -> Option<String> {
    let named = |(id, flag): (&Text, Option<&Text>)| Some(format!("{} ({})", id.raw(), flag?.raw()));
    let mut named: Vec<String> = listed.filter_map(named).collect();
    if named.is_empty() {
        return None;
    }
    if named.len() > FLAGGED_NAMED {
        let rest = named.split_off(FLAGGED_NAMED).len();
        named.push(format!("{rest} more"));
    }
    Some(format!("flagged, because the text reads like an instruction: {}", named.join(", ")))
}

pub async fn get(context: &CommandContext, args: GetArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut all = Vec::new();
    for id in &args.ids {
        let request = Request::new(of::GetObservation)
            .with("id", daemon.readable_id(id).await?)
            .with("history", args.history)
            .with("offset", args.offset)
            .with("max_bytes", args.max_bytes.unwrap_or(GET_BYTES_MAX))
            .with("as_of", args.as_of.as_deref());
        all.push(daemon.read(request).await?);
    }
    daemon.close().await;
    // A single memory is an object, as in earlier versions; several are a list.
    let answer = match all.as_slice() {
        [one] => one.raw().clone(),
        several => json!({ "memories": several.iter().map(Received::raw).collect::<Vec<_>>() }),
    };
    if context.output.json(&answer)? {
        return Ok(Outcome::Done);
    }
    for (number, memory) in all.iter().enumerate() {
        if number > 0 {
            context.output.write("\n")?;
        }
        show_whole(context, memory)?;
    }
    Ok(Outcome::Done)
}

/// Shows a memory with its revisions, if they were requested.
fn show_whole(context: &CommandContext, found: &Observation) -> Result<()> {
    let output = &context.output;
    output.facts(&facts(found, |at| output.moment(at)))?;
    output.write("\n")?;
    output.text(found.content.raw())?;
    for revision in &found.revisions {
        output.write("\n")?;
        output.facts(&[
            ("revision", shown(&revision.revision)),
            ("title", shown(&revision.title)),
            ("type", shown(&revision.kind)),
            ("written", output.moment(&revision.at)),
            ("agent", shown(&revision.agent)),
        ])?;
        output.write("\n")?;
        output.text(revision.content.raw())?;
    }
    if let Some(next) = found.next_offset {
        output.note(&format!("more follows: add --offset {next}"));
    }
    Ok(())
}

/// What a memory, an exchange or a passage is beside its text.
fn facts(found: &Observation, moment: impl Fn(&Option<Text>) -> String) -> Vec<(&'static str, String)> {
    let Observation { marks, valid, duplicate_count: again, .. } = found;
    let flag = marks.flag.as_ref();
    let mut facts = vec![
        ("id", shown(&found.id)),
        ("title", shown(&found.title)),
        ("type", shown(&found.kind)),
        ("project", shown(&found.project)),
        ("scope", shown(&found.scope)),
        ("topic key", shown(&found.topic_key)),
        ("tags", shown(&found.tags)),
        ("revision", shown(&found.revision)),
        ("written", moment(&found.updated_at)),
        ("at", moment(&found.date)),
        ("agent", shown(&found.agent)),
        ("session", shown(&found.session_id)),
        ("document", shown(&found.path)),
        ("page", shown(&found.page)),
        ("files", shown(&found.files)),
        ("created", moment(&found.created_at)),
        (
            "saved again",
            match again {
                0 => String::new(),
                1 => "once".to_owned(),
                count => text::counted(*count, "time"),
            },
        ),
        ("kind", shown(&found.nature)),
        ("done", moment(&found.done_at)),
        ("archived", moment(&found.archived_at)),
        ("valid from", moment(&valid.from)),
        ("valid until", moment(&valid.until)),
        ("superseded by", shown(&marks.superseded_by)),
        ("supersedes", shown(&found.supersedes)),
        ("stale", shown(&marks.stale)),
        (
            "flag",
            flag.map(|flag| format!("{} (it reads like an instruction)", flag.raw())).unwrap_or_default(),
        ),
        ("pinned", shown(&found.pinned)),
        ("deleted", moment(&found.deleted_at)),
        ("size", found.content_bytes.map(bytes).unwrap_or_default()),
    ];
    for Anchor { path, verdict, symbol } in &found.anchors {
        let symbol = symbol.as_ref().map(|name| format!(":{}", name.raw())).unwrap_or_default();
        facts.push(("code", format!("{} {}{symbol}", verdict.raw(), path.raw())));
    }
    for near in &found.related {
        facts.push(("related", format!("{} {} {}", near.relation.raw(), near.id.raw(), near.title.raw())));
    }
    facts
}

pub async fn timeline(context: &CommandContext, args: TimelineArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let within = match args.within {
        Within::Session => "session",
        Within::Project => "project",
    };
    let request = Request::new(of::Timeline)
        .with("id", daemon.memory_id(&args.id).await?)
        .with("before", args.before)
        .with("after", args.after)
        .with("within", within);
    let found = daemon.read(request).await?;
    daemon.close().await;
    if context.output.json(found.raw())? {
        return Ok(Outcome::Done);
    }
    context.output.table(&timeline_table(&found), "nothing happened")?;
    let all = found.before.iter().chain([&found.focus]).chain(&found.after);
    print_marks(context, all.map(|one| (&one.entry.id, &one.marks)));
    Ok(Outcome::Done)
}

fn timeline_table(found: &Timeline) -> Table {
    let mut table = Table::new(ENTRIES);
    let mut add = |mark: &str, Marked { entry, .. }: &Marked| {
        let what = entry.memory_type.as_ref().unwrap_or(&entry.kind);
        let fields = [&entry.date, what, &entry.id, &entry.agent].map(shown);
        table.add([mark.to_owned()].into_iter().chain(fields).chain([shown(&entry.title)]).collect());
    };
    found.before.iter().for_each(|entry| add("", entry));
    add(">", &found.focus);
    found.after.iter().for_each(|entry| add("", entry));
    table
}

pub async fn context(context: &CommandContext, args: ContextArgs) -> Result<Outcome> {
    let request = Request::new(of::Context)
        .with("project", args.project.as_deref())
        .with("scope", args.scope)
        .with("limit", args.limit)
        .with("max_bytes", args.max_bytes);
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.read(request).await?;
    let meant = suggest::instead(&daemon, args.project.as_deref(), None).await?;
    daemon.close().await;
    if !context.output.json(answer.raw())? {
        context.output.text(answer.text.raw())?;
        context.output.notes(&meant);
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::sessions::Entry;

    #[test]
    fn of_hits_that_do_not_fit_the_nearest_are_left() {
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

    #[test]
    fn flagged_memories_are_named_and_many_are_counted() {
        let row = |id: usize, flag: Option<&str>| (Text::from(format!("k{id}")), flag.map(Text::from));
        let said = |rows: &[(Text, Option<Text>)]| flagged(rows.iter().map(|(id, flag)| (id, flag.as_ref())));
        assert_eq!(said(&[row(1, None)]), None);
        let one = said(&[row(1, Some("override exec")), row(2, None)]).unwrap();
        assert_eq!(one, "flagged, because the text reads like an instruction: k1 (override exec)");
        let many: Vec<_> = (1..=8).map(|id| row(id, Some("exec"))).collect();
        assert!(said(&many).unwrap().ends_with("k4 (exec), k5 (exec), 3 more"), "{:?}", said(&many));
    }

    #[test]
    fn a_memory_is_readable_at_three_widths() {
        let memory = json!({
            "id": "kaaaaaaaaaaa", "title": "The writer waits for the lease of the queue before it takes the next job",
            "type": "decision", "project": "acme/payments", "scope": "project", "topic_key": "architecture/queue-lease",
            "tags": ["queue", "lease", "日本語"], "revision": 3, "updated_at": "2026-11-22T09:15:00Z",
            "agent": "claude-code", "session_id": "0199-sitting-of-a-morning", "created_at": "2026-11-02T09:15:00Z",
            "kind": "semantic", "flag": "override exec", "content_bytes": 1_200, "duplicate_count": 2, "superseded_by": ["kbbbbbbbbbbb"],
            "anchors": [{ "verdict": "changed", "path": "src/queue/mod.rs", "symbol": "Queue::lease" }],
            "related": [{ "relation": "similar", "id": "kccccccccccc", "title": "Leases end by themselves" }],
        });
        let memory: Observation = serde_json::from_value(memory).unwrap();
        let facts = facts(&memory, shown);
        super::super::list::tests::facts_at_three_widths("get", &facts);
    }

    #[test]
    fn a_timeline_marks_what_it_is_about() {
        let entry = |kind: &str, id: &str, title: Option<&str>| Marked {
            entry: Entry {
                kind: kind.into(),
                id: id.into(),
                date: "d".into(),
                agent: "x".into(),
                title: title.map(Text::from),
                memory_type: title.map(|_| "bugfix".into()),
                ..Entry::default()
            },
            marks: Marks::default(),
        };
        let found = Timeline {
            before: vec![entry("prompt", "p", None)],
            focus: entry("memory", "f", Some("T")),
            after: vec![entry("memory", "a", Some("T"))],
        };
        let want = "\td\tprompt\tp\tx\t\n>\td\tbugfix\tf\tx\tT\n\td\tbugfix\ta\tx\tT\n";
        assert_eq!(timeline_table(&found).plain(), want);
    }
}
