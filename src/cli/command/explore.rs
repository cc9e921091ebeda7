//! Finding and reading: `search`, `get`, `timeline` and `context`.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{CommandContext, Outcome, suggest, within};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::Result;
use crate::cli::hits;
use crate::cli::table::{Layout, Table, bytes, shown};
use cerebro_core::domain::limits::{
    CONTEXT_BYTES_MAX, GET_BYTES_MAX, GET_BYTES_MIN, LIMIT_MAX, TIMELINE_MAX,
};
use cerebro_core::operation::Operation;
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

/// The other sources that may answer a query: the name in the reply, the unit, and the type that searches it.
const EVIDENCE: [(&str, &str, &str); 2] =
    [("documents", "passage", "document"), ("history", "exchange", "history")];

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
    let request = Request::new(Operation::Search)
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
    let mut found = daemon.ask(request).await?;
    let is_empty = found["hits"].as_array().is_none_or(Vec::is_empty);
    let mut meant = Vec::new();
    if is_empty && !context.output.is_json() {
        meant = suggest::instead(&daemon, args.project.as_deref(), args.kind.as_deref()).await?;
        let place = Request::new(Operation::Spelling)
            .with("project", args.project.as_deref())
            .with("all_projects", args.all_projects);
        meant.extend(suggest::words(&daemon, place.with("query", query.as_str())).await?);
    }
    daemon.close().await;
    if context.output.json(&found)? {
        return Ok(Outcome::Done);
    }
    if let Some(words) = nothing_fits(&mut found, is_asked_for_more) {
        context.output.note(&words);
    }
    if args.explain {
        let table = Table::of(&EXPLAINED, &EXPLAINED.map(|(name, _)| name), &titled(&found));
        context.output.table(&table, &format!("nothing found for `{query}`{}", place(&found)))?;
        context.output.note(&format!("match: {}", shown(&found["match"])));
        return Ok(Outcome::Done);
    }
    match context.output.screen().filter(|_| !is_empty) {
        Some(screen) => context.output.write(&hits::drawn(&found["hits"], &query, screen))?,
        None => {
            let fields = ["id", "date", "type", "project", "title", "preview"];
            let table = Table::of(HITS, &fields, &found["hits"]);
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
fn nothing_fits(found: &mut Value, is_asked_for_more: bool) -> Option<String> {
    if found["match"] != "none" {
        return None;
    }
    let hits = found["hits"].as_array_mut().filter(|hits| !hits.is_empty())?;
    if !is_asked_for_more && hits.len() > NEAREST {
        hits.truncate(NEAREST);
        found["next_cursor"] = Value::Null;
        return Some(format!("nothing fits (match: none); the nearest {NEAREST}, more with --limit N:"));
    }
    Some(format!("nothing fits (match: none); the nearest {}:", hits.len()))
}

/// The parts of the scores, with the titles of the hits.
fn titled(found: &Value) -> Value {
    let mut rows = found["explained"].clone();
    for row in rows.as_array_mut().into_iter().flatten() {
        let hit = found["hits"].as_array().into_iter().flatten().find(|hit| hit["id"] == row["id"]);
        row["title"] = hit.map(|hit| hit["title"].clone()).unwrap_or_default();
    }
    rows
}

fn place(found: &Value) -> String {
    found["project"].as_str().map_or(" in any project".to_owned(), |project| {
        format!(" in project {project}; --all-projects searches all")
    })
}

/// Prints how well the hits fit, and where more can be found.
fn print_details(context: &CommandContext, found: &Value) {
    let has_hits = found["hits"].as_array().is_some_and(|hits| !hits.is_empty());
    match found["match"].as_str() {
        Some(label @ ("strong" | "partial")) if has_hits => {
            let missing = if found["relaxed"] == true { "; no hit has every word" } else { "" };
            context.output.note(&format!("match: {label}{missing}"));
        }
        // What fits nothing was said first.
        _ => {}
    }
    print_marks(context, found["hits"].as_array().into_iter().flatten());
    if let Some(count) = found["archived"].as_u64() {
        let hits = text::counted(count, "better hit");
        context.output.note(&format!("archived: {hits}; --archived shows what was put aside"));
    }
    for (name, unit, kind) in EVIDENCE {
        if let Some(words) = beside(&found[name], unit, kind) {
            context.output.note(&format!("{name}: {words}"));
        }
    }
    for other in found["elsewhere"].as_array().into_iter().flatten() {
        let count = other["hits"].as_u64().unwrap_or_default();
        let hits = text::counted(count, "better hit");
        context.output.note(&format!("project {}: {hits}", shown(&other["project"])));
    }
    if let Some(cursor) = found["next_cursor"].as_str() {
        context.output.note(&format!("more: add --cursor {cursor}"));
    }
}

/// One line about matches in documents or past sessions: their number, the best title, and how to see them.
fn beside(hint: &Value, unit: &str, kind: &str) -> Option<String> {
    let count = text::counted(hint["n"].as_u64()?, unit);
    let title = text::one_line(&shown(&hint["title"]));
    let best = if title.is_empty() { String::new() } else { format!(", best \"{title}\"") };
    Some(format!("{count}{best}; add --type {kind}"))
}

/// Names the listed memories that should not be trusted without a check.
fn print_marks<'a>(context: &CommandContext, listed: impl Iterator<Item = &'a Value> + Clone) {
    if let Some(words) = flagged(listed.clone()) {
        context.output.note(&words);
    }
    for one in listed {
        if let Some(newer) = one["old"].as_str() {
            context.output.note(&format!("{} is old: {newer} took its place", shown(&one["id"])));
        }
        if one["archived"] == true {
            let id = shown(&one["id"]);
            context.output.note(&format!("{id} is archived; `cerebro unarchive {id}` puts it back"));
        }
        if one["expired"] == true {
            context
                .output
                .note(&format!("{} has expired: it was so until an earlier date", shown(&one["id"])));
        }
        if let Some(words) = one["stale"].as_str() {
            context.output.note(&format!("{} is stale here: {words}", shown(&one["id"])));
        }
        if let Some(newer) = one["newer"].as_str() {
            context.output.note(&format!("{} may be out of date: {newer} is newer", shown(&one["id"])));
        }
    }
}

/// A warning about the listed memories whose text reads like an instruction.
pub fn flagged<'a>(listed: impl Iterator<Item = &'a Value>) -> Option<String> {
    let named = |one: &Value| Some(format!("{} ({})", shown(&one["id"]), one["flag"].as_str()?));
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
        let request = Request::new(Operation::GetObservation)
            .with("id", daemon.readable_id(id).await?)
            .with("history", args.history)
            .with("offset", args.offset)
            .with("max_bytes", args.max_bytes.unwrap_or(GET_BYTES_MAX))
            .with("as_of", args.as_of.as_deref());
        all.push(daemon.ask(request).await?);
    }
    daemon.close().await;
    // A single memory is an object, as in earlier versions; several are a list.
    let answer = if let [one] = all.as_slice() { one.clone() } else { json!({ "memories": all }) };
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
fn show_whole(context: &CommandContext, found: &Value) -> Result<()> {
    show_memory(context, found)?;
    for revision in found["revisions"].as_array().into_iter().flatten() {
        context.output.write("\n")?;
        context.output.facts(&[
            ("revision", shown(&revision["revision"])),
            ("title", shown(&revision["title"])),
            ("type", shown(&revision["type"])),
            ("written", context.output.moment(&revision["at"])),
            ("agent", shown(&revision["agent"])),
        ])?;
        context.output.write("\n")?;
        context.output.text(&shown(&revision["content"]))?;
    }
    if let Some(next) = found["next_offset"].as_u64() {
        context.output.note(&format!("more follows: add --offset {next}"));
    }
    Ok(())
}

fn show_memory(context: &CommandContext, memory: &Value) -> Result<()> {
    let output = &context.output;
    output.facts(&memory_facts(memory, |value| output.moment(value)))?;
    output.write("\n")?;
    output.text(&shown(&memory["content"]))
}

/// What a memory is beside its text.
fn memory_facts(memory: &Value, moment: impl Fn(&Value) -> String) -> Vec<(&'static str, String)> {
    let size = memory["content_bytes"].as_u64().map(bytes).unwrap_or_default();
    let again = memory["duplicate_count"].as_u64().filter(|count| *count > 0);
    let flag = memory["flag"].as_str();
    let mut facts = vec![
        ("id", shown(&memory["id"])),
        ("title", shown(&memory["title"])),
        ("type", shown(&memory["type"])),
        ("project", shown(&memory["project"])),
        ("scope", shown(&memory["scope"])),
        ("topic key", shown(&memory["topic_key"])),
        ("tags", shown(&memory["tags"])),
        ("revision", shown(&memory["revision"])),
        ("written", moment(&memory["updated_at"])),
        ("at", moment(&memory["date"])),
        ("agent", shown(&memory["agent"])),
        ("session", shown(&memory["session_id"])),
        ("document", shown(&memory["path"])),
        ("page", shown(&memory["page"])),
        ("files", shown(&memory["files"])),
        ("created", moment(&memory["created_at"])),
        (
            "saved again",
            again
                .map(|count| if count == 1 { "once".to_owned() } else { text::counted(count, "time") })
                .unwrap_or_default(),
        ),
        ("kind", shown(&memory["kind"])),
        ("done", moment(&memory["done_at"])),
        ("archived", moment(&memory["archived_at"])),
        ("valid from", moment(&memory["valid"]["from"])),
        ("valid until", moment(&memory["valid"]["until"])),
        ("superseded by", shown(&memory["superseded_by"])),
        ("supersedes", shown(&memory["supersedes"])),
        ("stale", shown(&memory["stale"])),
        ("flag", flag.map(|flag| format!("{flag} (it reads like an instruction)")).unwrap_or_default()),
        ("pinned", shown(&memory["pinned"])),
        ("deleted", moment(&memory["deleted_at"])),
        ("size", size),
    ];
    for anchor in memory["anchors"].as_array().into_iter().flatten() {
        let symbol = anchor["symbol"].as_str().map(|name| format!(":{name}")).unwrap_or_default();
        facts.push(("code", format!("{} {}{symbol}", shown(&anchor["verdict"]), shown(&anchor["path"]))));
    }
    for near in memory["related"].as_array().into_iter().flatten() {
        facts.push((
            "related",
            format!("{} {} {}", shown(&near["relation"]), shown(&near["id"]), shown(&near["title"])),
        ));
    }
    facts
}

pub async fn timeline(context: &CommandContext, args: TimelineArgs) -> Result<Outcome> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let within = match args.within {
        Within::Session => "session",
        Within::Project => "project",
    };
    let request = Request::new(Operation::Timeline)
        .with("id", daemon.memory_id(&args.id).await?)
        .with("before", args.before)
        .with("after", args.after)
        .with("within", within);
    let found = daemon.ask(request).await?;
    daemon.close().await;
    if context.output.json(&found)? {
        return Ok(Outcome::Done);
    }
    context.output.table(&timeline_table(&found), "nothing happened")?;
    let side = |name: &str| found[name].as_array().into_iter().flatten();
    print_marks(context, side("before").chain([&found["focus"]]).chain(side("after")));
    Ok(Outcome::Done)
}

fn timeline_table(found: &Value) -> Table {
    let mut table = Table::new(ENTRIES);
    let mut add = |mark: &str, entry: &Value| {
        let what = if entry["type"].is_null() { &entry["kind"] } else { &entry["type"] };
        let fields = [&entry["date"], what, &entry["id"], &entry["agent"], &entry["title"]];
        table.add(std::iter::once(mark.to_owned()).chain(fields.into_iter().map(shown)).collect());
    };
    let side = |name: &str| found[name].as_array().into_iter().flatten();
    side("before").for_each(|entry| add("", entry));
    add(">", &found["focus"]);
    side("after").for_each(|entry| add("", entry));
    table
}

pub async fn context(context: &CommandContext, args: ContextArgs) -> Result<Outcome> {
    let request = Request::new(Operation::Context)
        .with("project", args.project.as_deref())
        .with("scope", args.scope)
        .with("limit", args.limit)
        .with("max_bytes", args.max_bytes);
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.ask(request).await?;
    let meant = suggest::instead(&daemon, args.project.as_deref(), None).await?;
    daemon.close().await;
    if !context.output.json(&answer)? {
        context.output.text(&shown(&answer["text"]))?;
        context.output.notes(&meant);
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_hits_that_do_not_fit_the_nearest_are_left() {
        let found = |label: &str, hits: usize| {
            let hits: Vec<Value> = (0..hits).map(|n| json!({ "id": n.to_string() })).collect();
            json!({ "match": label, "hits": hits, "next_cursor": "10-x" })
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
            assert_eq!(found["hits"].as_array().map(Vec::len), Some(left), "{label} {hits}");
            assert_eq!(words.is_some(), said.is_some(), "{label} {hits}: {words:?}");
            assert!(words.unwrap_or_default().contains(said.unwrap_or_default()), "{label} {hits}");
        }
    }

    #[test]
    fn flagged_memories_are_named_and_many_are_counted() {
        let row = |id: usize, flag: Value| json!({ "id": format!("k{id}"), "flag": flag });
        let said = |rows: &[Value]| flagged(rows.iter());
        assert_eq!(said(&[row(1, Value::Null)]), None);
        let one = said(&[row(1, json!("override exec")), row(2, Value::Null)]).unwrap();
        assert_eq!(one, "flagged, because the text reads like an instruction: k1 (override exec)");
        let many: Vec<Value> = (1..=8).map(|id| row(id, json!("exec"))).collect();
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
        let facts = memory_facts(&memory, shown);
        super::super::list::tests::facts_at_three_widths("get", &facts);
    }

    #[test]
    fn a_timeline_marks_what_it_is_about() {
        let entry = |id: &str| json!({ "type": "bugfix", "id": id, "date": "d", "agent": "x", "title": "T" });
        let prompt = json!({ "kind": "prompt", "id": "p", "date": "d", "agent": "x" });
        let found = json!({ "before": [prompt], "focus": entry("f"), "after": [entry("a")] });
        let want = "\td\tprompt\tp\tx\t\n>\td\tbugfix\tf\tx\tT\n\td\tbugfix\ta\tx\tT\n";
        assert_eq!(timeline_table(&found).plain(), want);
    }
}
