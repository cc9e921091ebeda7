//! Reading: `get`, `timeline` and `context`.

use super::marks::print_marks;
use super::prelude::*;
use crate::answer::{
    observation::{Anchor, Observation},
    sessions::{Marked, Timeline},
};
use cerebro_core::domain::{
    ExchangeId,
    limits::{CONTEXT_BYTES_MAX, GET_BYTES_MAX, GET_BYTES_MIN, LIMIT_MAX, TIMELINE_MAX},
};

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

/// Show what happened around a memory or an exchange
#[derive(Debug, Args)]
pub struct TimelineArgs {
    /// The id of a memory or of an exchange, or its first characters
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
    /// Its session
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

const ENTRIES: &[(&str, Layout)] = &[
    ("", Layout::Fixed),
    ("date", Layout::Ago),
    ("what", Layout::Fixed),
    ("id", Layout::Id),
    ("agent", Layout::Spare),
    ("title", Layout::Flexible),
];

pub async fn get(context: &CommandContext, args: GetArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut all = Vec::new();
    for id in &args.ids {
        let request = Request::new(of::GetObservation).given(json!({
            "id": daemon.readable_id(id).await?, "history": args.history, "offset": args.offset,
            "max_bytes": args.max_bytes.unwrap_or(GET_BYTES_MAX), "as_of": args.as_of,
        }));
        all.push(daemon.read(request).await?);
    }
    // A single memory is an object, as in earlier versions; several are a list.
    let answer = match all.as_slice() {
        [one] => one.raw().clone(),
        several => json!({ "memories": several.iter().map(Received::raw).collect::<Vec<_>>() }),
    };
    context.output.json(&answer)?;
    for (number, memory) in all.iter().enumerate() {
        if number > 0 {
            context.output.text("")?;
        }
        show_whole(context, memory)?;
    }
    Ok(())
}

/// Shows a memory with its revisions, if they were requested.
fn show_whole(context: &CommandContext, found: &Observation) -> Result<()> {
    let output = &context.output;
    output.facts(&facts(found, |at| output.moment(at)))?;
    output.text("")?;
    output.text(found.content.raw())?;
    for revision in &found.revisions {
        output.text("")?;
        output.facts(&[
            ("revision", shown(&revision.revision)),
            ("title", shown(&revision.title)),
            ("type", shown(&revision.kind)),
            ("written", output.moment(&revision.at)),
            ("agent", shown(&revision.agent)),
        ])?;
        output.text("")?;
        output.text(revision.content.raw())?;
    }
    if let Some(next) = found.next_offset {
        output.note(&format!("more follows: add --offset {next}"));
    }
    Ok(())
}

/// The facts of a memory, an exchange or a passage, without its text.
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
        ("origin", shown(&found.origin)),
        ("rests on", shown(&found.evidence)),
        ("found out in", shown(&found.worked_in)),
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
        ("shown in", shown(&found.trigger)),
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

pub async fn timeline(context: &CommandContext, args: TimelineArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = daemon.readable_id(&args.id).await?;
    let is_whole = args.within == Within::Project;
    if is_whole && ExchangeId::parse(&id).is_ok() {
        let words = format!("`--within project` is for memories, and `{id}` is an exchange");
        return Err(Error::usage(words).hint("without it, the exchanges of its session are shown"));
    }
    let request = Request::new(of::Timeline).given(json!({
        "id": id, "before": args.before, "after": args.after,
        "within": is_whole.then(|| name_of(args.within)),
    }));
    let found = daemon.read(request).await?;
    context.output.json(found.raw())?;
    context.output.table(&timeline_table(&found), "nothing happened")?;
    let all = found.before.iter().chain([&found.focus]).chain(&found.after);
    print_marks(context, all.map(|one| (&one.entry.id, &one.marks)));
    Ok(())
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

pub async fn context(context: &CommandContext, args: ContextArgs) -> Result<()> {
    let request = Request::new(of::Context).given(json!({
        "project": args.project, "scope": args.scope, "limit": args.limit, "max_bytes": args.max_bytes,
    }));
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.read(request).await?;
    let suggestions = suggest::for_unknown(&daemon, args.project.as_deref(), None).await?;
    context.output.json(answer.raw())?;
    context.output.text(answer.text.raw())?;
    context.output.notes(&suggestions);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{memories::Marks, sessions::Entry};

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
