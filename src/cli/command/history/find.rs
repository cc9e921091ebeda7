//! Looking into past sessions: `search`, `show`, `files`, `blame`, `how` and `fix`.

use std::path::{Component, Path};

use super::super::marks::repeating;
use super::super::prelude::*;
use super::super::search::{nothing_fits, print_details};
use super::super::selection::ProjectArgs;
use crate::answer::{
    history::{Distilled, Exchange, Fact, Facts, Row, Status, Whole},
    observation::Observation,
};
use crate::daemon::hello::{Hello, Role};
use crate::home::user_home;
use crate::{platform, project_dir};
use cerebro_core::domain::{
    Project, Proven,
    limits::{LIMIT_MAX, LISTING_MAX},
};

/// Exchanges of a session that are asked for at once.
const PAGE: usize = 50;
/// How many answers are shown if no limit was given.
const ANSWERS: usize = 20;
/// Most sessions that `--limit` can name.
const SESSIONS_MAX: usize = 1_000_000;
/// Smallest part of an exchange that can be requested, in bytes.
const PART_BYTES: usize = 256;
/// Largest file in which a line is looked up, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Search what was said and done in past sessions
///
/// If nothing fits, only the nearest 3 are shown, unless `--limit` is given.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Words to search for
    #[arg(required = true)]
    text: Vec<String>,
    /// Search sessions of sub-agents and sessions without a person too
    #[arg(long)]
    all: bool,
    /// Continue an earlier search; its last line names the cursor
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show a past session; without an id, list them
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The id that the agent gave the session, or the id of an exchange; the first characters are enough
    session: Option<String>,
    /// Show everything that was said
    #[arg(long, requires = "session")]
    full: bool,
    /// List only sessions of this project [default: of all projects]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["session", "all_projects"])]
    project: Option<String>,
    /// List sessions of all projects, which is the default
    #[arg(long, conflicts_with = "session")]
    all_projects: bool,
    /// List at most N, the latest [default: all]
    #[arg(long, value_name = "N", conflicts_with = "session", value_parser = within(1..=SESSIONS_MAX))]
    limit: Option<usize>,
}

/// Show which sessions changed a file, the latest first
#[derive(Debug, Args)]
pub struct FilesArgs {
    /// The file's name, or the end of its path
    file: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show which session wrote a file, or one line of it, and what it was asked
#[derive(Debug, Args)]
pub struct BlameArgs {
    /// The file, with or without the number of a line: src/main.rs:12
    #[arg(value_name = "FILE[:LINE]")]
    file: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show how a command was run before, and whether it succeeded
#[derive(Debug, Args)]
pub struct HowArgs {
    /// Words of the command
    command: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Show where an error occurred before, and what fixed it
#[derive(Debug, Args)]
pub struct FixArgs {
    /// Words of the error, or the output with it; numbers are ignored
    error: String,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Debug, Args)]
struct ScopeArgs {
    #[command(flatten)]
    of: ProjectArgs,
    /// Show at most N, 1 to 50 [default: 20]
    #[arg(long, value_name = "N", value_parser = within(1..=LIMIT_MAX))]
    limit: Option<usize>,
}

impl ScopeArgs {
    fn limit(&self) -> usize {
        self.limit.unwrap_or(ANSWERS)
    }

    fn request<O>(&self, operation: O) -> Request<O> {
        self.of.request(operation).with("limit", self.limit())
    }

    /// Asks for facts. If there are none, says whether anything was imported, and which project may have been meant.
    async fn facts(
        &self,
        context: &CommandContext,
        request: Request<of::HistoryFacts>,
    ) -> Result<Received<Facts>> {
        let daemon = Daemon::reach(&context.home()?).await?;
        let answer = daemon.read(request).await?;
        if answer.facts.is_empty() {
            let status = daemon.read(Request::new(of::HistoryStatus)).await?;
            if let Some(words) = nothing_imported(&status) {
                context.output.note(words);
            }
            context.output.notes(&suggest::for_unknown_past(&daemon, self.of.project.as_deref()).await?);
        }
        Ok(answer)
    }
}

const SESSIONS: &[Column<Row>] = &[
    ("session", Layout::Id, |row| shown(&row.session.session)),
    ("began", Layout::Moment, |row| shown(&row.session.started_at)),
    ("agent", Layout::Spare, |row| shown(&row.session.agent)),
    ("project", Layout::Spare, |row| shown(&row.session.project)),
    ("exchanges", Layout::Count, |row| shown(&row.exchanges)),
    ("title", Layout::Flexible, |row| shown(&row.title())),
];

const EXCHANGES: &[Column<Exchange>] = &[
    ("id", Layout::Id, |exchange| shown(&exchange.id)),
    ("at", Layout::Moment, |exchange| shown(&exchange.at)),
    ("files", Layout::Count, |exchange| exchange.files.len().to_string()),
    ("commands", Layout::Count, |exchange| exchange.commands.len().to_string()),
    ("errors", Layout::Count, |exchange| exchange.errors.len().to_string()),
    ("title", Layout::Flexible, |exchange| shown(&exchange.title)),
];

const HITS: &[(&str, Layout)] = &[
    ("id", Layout::Id),
    ("at", Layout::Moment),
    ("agent", Layout::Spare),
    ("session", Layout::Id),
    ("title", Layout::Flexible),
];

const FILES: &[Column<Fact>] = &[
    ("id", Layout::Id, |fact| shown(&fact.id)),
    ("at", Layout::Moment, |fact| shown(&fact.at)),
    ("agent", Layout::Spare, |fact| shown(&fact.agent)),
    ("session", Layout::Id, |fact| shown(&fact.session)),
    ("file", Layout::Fixed, |fact| shown(&fact.what)),
    ("asked", Layout::Flexible, |fact| shown(&fact.title)),
];

/// Of a command, a few characters say nothing. So where they have no room in a table, each row is a list.
const COMMANDS: &[Column<Fact>] = &[
    ("last run", Layout::Moment, |fact| shown(&fact.at)),
    ("succeeded", Layout::Count, |fact| shown(&fact.succeeded)),
    ("failed", Layout::Count, |fact| shown(&fact.failed)),
    ("session", Layout::Id, |fact| shown(&fact.session)),
    ("command", Layout::Fixed, |fact| shown(&fact.what)),
];

/// As for commands, an error and its fix are never cut.
const ERRORS: &[Column<Fact>] = &[
    ("at", Layout::Moment, |fact| shown(&fact.at)),
    ("id", Layout::Id, |fact| shown(&fact.id)),
    ("session", Layout::Id, |fact| shown(&fact.session)),
    ("error", Layout::Fixed, |fact| shown(&fact.what)),
    ("then succeeded", Layout::Fixed, |fact| shown(&fact.then)),
    ("after a change of", Layout::Fixed, |fact| {
        fact.fix.as_ref().map(|fix| shown(&fix.changed)).unwrap_or_default()
    }),
];

const PROVEN: &[(&str, Layout)] = &[("id", Layout::Id), ("fact", Layout::Fixed), ("what", Layout::Flexible)];

pub async fn search(context: &CommandContext, args: SearchArgs) -> Result<()> {
    let asked = |all: bool| {
        let request = args.scope.request(of::Search).with("query", args.text.join(" "));
        request.with("type", "history").with("hidden", all).with("cursor", args.cursor.as_deref())
    };
    let daemon = Daemon::reach(&context.home()?).await?;
    let answer = daemon.read(asked(args.all)).await?;
    if answer.hits.is_empty() {
        let status = daemon.read(Request::new(of::HistoryStatus)).await?;
        let is_hidden = !args.all && !daemon.read(asked(true)).await?.hits.is_empty();
        let words = nothing_imported(&status).unwrap_or_else(|| nothing_found(&args, is_hidden));
        context.output.note(words);
        context.output.notes(&suggest::for_unknown_past(&daemon, args.scope.of.project.as_deref()).await?);
    }
    let (mut raw, mut answer) = (answer.raw().clone(), answer.into_answer());
    // A program gets all.
    let is_asked_for_more = args.scope.limit.is_some() || args.cursor.is_some() || context.output.is_json();
    if let Some(words) = nothing_fits(&mut answer, is_asked_for_more) {
        context.output.note(&words);
    }
    let mut found = Vec::with_capacity(answer.hits.len());
    for hit in &answer.hits {
        // A list for agents has no room for it.
        let part = Request::new(of::GetObservation).with("id", hit.id.raw()).with("max_bytes", PART_BYTES);
        let Observation { session_id, agent, .. } = daemon.read(part).await?.into_answer();
        found.push((hit, session_id, agent));
    }
    for (row, (_, session, agent)) in raw["hits"].as_array_mut().into_iter().flatten().zip(&found) {
        row["session"] = json!(session);
        row["agent"] = json!(agent);
    }
    context.output.json(&raw)?;
    let table = Table::listing(HITS, &found, |(hit, session, agent)| {
        vec![shown(&hit.id), shown(&hit.date), shown(agent), shown(session), shown(&hit.title)]
    });
    context.output.table(&table, "no past session mentions it")?;
    print_details(context, &answer);
    Ok(())
}

/// Why nothing can be found, if nothing was imported.
fn nothing_imported(status: &Status) -> Option<&'static str> {
    match status.exchanges {
        0 if !status.enabled => {
            Some("past sessions are not imported; `cerebro history import` asks and imports them")
        }
        0 => Some("nothing was imported yet; `cerebro history status` shows the progress"),
        _ => None,
    }
}

/// What to try next after a search that found nothing.
fn nothing_found(args: &SearchArgs, is_hidden: bool) -> &'static str {
    if is_hidden {
        "`--all` finds it, in sessions of sub-agents or those without a person"
    } else if !args.scope.of.all_projects {
        "`--all-projects` searches past sessions of every project"
    } else if !args.all {
        "`--all` also searches sessions of sub-agents and those without a person"
    } else {
        "other words may find it; `cerebro history show` lists the sessions"
    }
}

/// Says that there may be more than a list shows, if it is as long as its limit, which is `most` at the highest.
fn print_limit(context: &CommandContext, shown: usize, limit: usize, most: usize) {
    if shown >= limit {
        let why = if limit < most { "see `--limit`".to_owned() } else { format!("at most {most} are shown") };
        context.output.note(&format!("there may be more; {why}"));
    }
}

pub async fn show(context: &CommandContext, args: ShowArgs) -> Result<()> {
    let Some(session) = args.session else {
        let limit = args.limit.unwrap_or(usize::MAX);
        return list(context, args.project.filter(|_| !args.all_projects), limit).await;
    };
    let daemon = Daemon::reach(&context.home()?).await?;
    let mut exchanges: Vec<Exchange> = Vec::new();
    let (whole, mut raw) = loop {
        let from = exchanges.last().map_or(0, |last| last.seq + 1);
        let request = Request::new(of::HistorySession).given(json!({
            "session": session, "from": from, "limit": PAGE, "full": args.full,
        }));
        let page = daemon.read(request).await?;
        let raw = page.raw().clone();
        let whole = page.into_answer().one;
        let mut whole = whole.ok_or_else(|| Error::internal("the answer of the daemon has no session"))?;
        let is_last = whole.exchanges.len() < PAGE;
        exchanges.append(&mut whole.exchanges);
        if is_last {
            break (Whole { exchanges, ..whole }, raw);
        }
    };
    raw["exchanges"] = json!(whole.exchanges);
    context.output.json(&raw)?;
    let session = &whole.session;
    context.output.facts(&[
        ("session", shown(&session.session)),
        ("title", shown(&session.title)),
        ("asked", shown(&whole.asked)),
        ("agent", shown(&session.agent)),
        ("project", shown(&session.project)),
        ("folder", shown(&session.directory)),
        ("branch", shown(&session.branch)),
        ("follows", shown(&session.parent)),
        ("began", context.output.moment(&session.started_at)),
        ("ended", context.output.moment(&session.ended_at)),
        ("distilled", whole.distilled.as_ref().map(distilled).unwrap_or_default()),
    ])?;
    if args.full {
        for exchange in &whole.exchanges {
            let (id, text) = (exchange.id.raw(), shown(&exchange.text));
            context.output.text(&format!("\n--- {id} ---\n{text}"))?;
        }
    } else {
        show_exchanges(context, &whole.exchanges)?;
    }
    for exchange in &whole.exchanges {
        if let Some(now) = &exchange.old {
            context.output.note(&repeating(exchange.id.raw(), now));
        }
    }
    Ok(())
}

/// What a model said of a session, in words: `partial: Tests of the store (2 claims)`.
fn distilled(distilled: &Distilled) -> String {
    let ending = distilled.outcome.as_ref().unwrap_or(&distilled.state);
    let title = distilled.title.as_ref().map(|title| format!(": {}", shown(title))).unwrap_or_default();
    format!("{}{title} ({})", ending.raw(), text::counted(distilled.claims, "claim"))
}

/// Shows a session's exchanges in one table and what they prove in another.
fn show_exchanges(context: &CommandContext, exchanges: &[Exchange]) -> Result<()> {
    context.output.table(&Table::of(EXCHANGES, exchanges), "nothing of it is stored")?;
    let mut table = Table::new(PROVEN);
    for exchange in exchanges {
        for (fact, what) in exchange.proven.iter().flat_map(proven) {
            table.add(vec![shown(&exchange.id), fact.to_owned(), what]);
        }
    }
    context.output.table(&table, "")
}

/// What an exchange proves, in words.
fn proven(proven: &Proven<Text>) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for failure in &proven.failures {
        let fix = failure.fix.as_ref().map(|fix| format!(" · then succeeded: {}", fix.command.raw()));
        // The error comes first, because commands are long and a narrow terminal cuts the end.
        let (command, error) = (failure.command.raw(), failure.error.raw());
        rows.push(("failed", format!("{error} · by {command}{}", fix.unwrap_or_default())));
    }
    let pair = |first: &str, second: &str| format!("{first} {second}");
    rows.extend(proven.refusals.iter().map(|one| ("refused", pair(one.what.raw(), one.said.raw()))));
    if proven.interrupted {
        rows.push(("interrupted", String::new()));
    }
    rows.extend(proven.commits.iter().map(|one| ("commit", pair(&shown(&one.id), one.subject.raw()))));
    rows.extend(proven.pull_requests.iter().map(|url| ("pull request", shown(url))));
    for plan in &proven.plans {
        let name = if plan.accepted == Some(true) { "plan, accepted" } else { "plan" };
        rows.push((name, shown(&plan.text)));
    }
    for answer in &proven.answers {
        rows.push(("answer", format!("{}: {}", answer.asked.raw(), answer.answer.raw())));
    }
    let tasks = proven.to_do.iter().flat_map(|to_do| &to_do.items);
    rows.extend(tasks.map(|task| ("to do", format!("[{}] {}", task.status.raw(), task.text.raw()))));
    rows.extend(proven.summary.iter().map(|text| ("summary", shown(text))));
    rows.extend(proven.reply.iter().map(|text| ("last words", shown(text))));
    if !proven.read.is_empty() {
        rows.push(("read", shown(&proven.read)));
    }
    rows.into_iter().map(|(name, what)| (name, what.trim().to_owned())).collect()
}

async fn list(context: &CommandContext, project: Option<String>, limit: usize) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let (mut sessions, mut rows): (Vec<Row>, Vec<Value>) = (Vec::new(), Vec::new());
    let mut raw = loop {
        let wanted = LISTING_MAX.min(limit - sessions.len());
        let request = Request::new(of::HistorySession).with("project", project.as_deref());
        let page = daemon.read(request.with("from", sessions.len()).with("limit", wanted)).await?;
        let raw = page.raw().clone();
        rows.extend(raw["sessions"].as_array().into_iter().flatten().cloned());
        let page = page.into_answer().sessions.unwrap_or_default();
        let is_last = page.len() < wanted;
        sessions.extend(page);
        if is_last || sessions.len() >= limit {
            break raw;
        }
    };
    let suggestions =
        suggest::for_unknown_past(&daemon, project.as_deref().filter(|_| sessions.is_empty())).await?;
    (raw["from"], raw["sessions"]) = (json!(0), Value::Array(rows));
    context.output.json(&raw)?;
    let nothing = match project {
        Some(_) => "no past session of this project",
        None => "no past sessions yet; `cerebro history import` imports them, after asking",
    };
    context.output.table(&Table::of(SESSIONS, &sessions), nothing)?;
    print_limit(context, sessions.len(), limit, SESSIONS_MAX);
    context.output.notes(&suggestions);
    Ok(())
}

/// Asks for facts about a kind of thing, and shows them, or `nothing`.
async fn print_facts(
    context: &CommandContext,
    scope: &ScopeArgs,
    (about, asked): (&str, String),
    columns: &[Column<Fact>],
    nothing: &str,
) -> Result<()> {
    let request = scope.request(of::HistoryFacts).with("about", about).with("query", asked);
    let answer = scope.facts(context, request).await?;
    context.output.json(answer.raw())?;
    let nothing = if answer.unrecorded { UNRECORDED } else { nothing };
    context.output.table(&Table::of(columns, &answer.facts), nothing)?;
    print_limit(context, answer.facts.len(), scope.limit(), LIMIT_MAX);
    Ok(())
}

/// The message if no similar command is found and the command itself would not be recorded.
const UNRECORDED: &str = "no recorded command has these words: commands that only show or move files (`ls`, `git diff`) \
                          are not recorded";

pub async fn files(context: &CommandContext, args: FilesArgs) -> Result<()> {
    print_facts(context, &args.scope, ("file", args.file), FILES, "no past session changed it").await
}

pub async fn how(context: &CommandContext, args: HowArgs) -> Result<()> {
    print_facts(
        context,
        &args.scope,
        ("command", args.command),
        COMMANDS,
        "no recorded command has these words",
    )
    .await
}

pub async fn fix(context: &CommandContext, args: FixArgs) -> Result<()> {
    print_facts(context, &args.scope, ("error", args.error), ERRORS, "no past session had this error").await
}

/// For a line, finds the exchange that wrote a similar line; otherwise those that changed the file.
pub async fn blame(context: &CommandContext, args: BlameArgs) -> Result<()> {
    let (file, line) = place(&args.file)?;
    let path = Path::new(&file);
    if path.is_dir() {
        return Err(Error::user(format!("{file} is a folder")).hint("name a file in it"));
    }
    let ProjectArgs { project, all_projects } = &args.scope.of;
    if project.is_none()
        && !all_projects
        && let Some(theirs) = project_elsewhere(path).await
    {
        let words = format!("{file} is not in the project of the working folder, but in `{theirs}`");
        let hint = format!("add `--project {theirs}`, or `--all-projects`");
        return Err(Error::user(words).hint(hint));
    }
    let written = line.map(|number| text_of(path, number)).transpose()?;
    let request = args.scope.request(of::HistoryFacts).with("about", "file").with("query", file);
    let request = request.with("line", written);
    let answer = args.scope.facts(context, request).await?;
    context.output.json(answer.raw())?;
    if answer.line_found == Some(false) && !answer.facts.is_empty() {
        context.output.note("no past session wrote that line; these changed the file");
    }
    context.output.table(&Table::of(FILES, &answer.facts), "no past session changed it")?;
    // One session wrote a line.
    if answer.line_found != Some(true) {
        print_limit(context, answer.facts.len(), args.scope.limit(), LIMIT_MAX);
    }
    Ok(())
}

/// The project of the folder that a file is in, or was. `None` if that is below the working folder, or if the daemon looks
/// into that project anyway. A link is where its name is, wherever it leads.
async fn project_elsewhere(file: &Path) -> Option<Project> {
    // The system names the working folder without links.
    let here = std::env::current_dir().ok()?;
    let whole = here.join(file);
    let goes_up = file.components().any(|part| part == Component::ParentDir);
    let folder = whole.parent()?.canonicalize().ok()?;
    if whole.starts_with(&here) && !goes_up || folder.starts_with(&here) {
        return None;
    }
    let theirs = project_dir::look(folder, user_home(), project_dir::LOOK_MAX).await?;
    let asked = Hello::of_this_process(Role::Operator).located().await.folder_project?;
    (asked != theirs.as_str()).then_some(theirs)
}

/// A file and, behind a colon, the number of a line. A file's own name may contain a colon, too, even with a number.
fn place(given: &str) -> Result<(String, Option<usize>)> {
    let whole = || (given.to_owned(), None);
    let Some((file, number)) = given.rsplit_once(':') else { return Ok(whole()) };
    let is_here = |name: &str| Path::new(name).exists();
    let line = number.parse::<usize>().ok().filter(|number| *number > 0);
    match line {
        _ if is_here(given) && (line.is_none() || !is_here(file)) => Ok(whole()),
        None if number.contains(['/', '\\']) => Ok(whole()),
        _ if file.is_empty() => {
            let words = format!("`{given}` names no file before the line");
            Err(Error::usage(words).hint("such as `cerebro history blame src/main.rs:12`"))
        }
        Some(line) => Ok((file.to_owned(), Some(line))),
        None => {
            let words = format!("`{number}` in `{given}` is not the number of a line: these begin with 1");
            let hint = "without a line: `cerebro history blame FILE`, or `history files FILE` for a name with a colon";
            Err(Error::usage(words).hint(hint))
        }
    }
}

/// The text of a line, by its number.
fn text_of(file: &Path, number: usize) -> Result<String> {
    let bytes =
        platform::read_file(file, FILE_BYTES_MAX).map_err(|error| Error::file("read", file, &error))?;
    let refused = |what: String| Err(Error::user(format!("{} {what}", file.display())));
    if bytes.contains(&0) {
        return refused("is a binary file, without lines".to_owned());
    }
    let mut lines = bytes.strip_suffix(b"\n").unwrap_or(&bytes).split(|byte| *byte == b'\n');
    let count = lines.clone().count();
    let Some(line) = lines.nth(number - 1) else {
        return refused(format!("has no line {number}: it has {}", text::counted(count, "line")));
    };
    let text = String::from_utf8_lossy(line).trim().to_owned();
    if text.is_empty() {
        return refused(format!("has nothing in line {number}"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::screen::tests::screen;

    #[test]
    fn sessions_paths_commands_errors_and_fixes_can_be_read_on_terminals() {
        let file = "crates/service/src/intake/settings.rs";
        let error = "error[E0502]: cannot borrow `self.settings` as mutable because it is also borrowed";
        let command = "cargo clippy --workspace --all-targets";
        let fact = |session: &str, what: &str| -> Fact {
            let fact = json!({
                "id": "xn3eeffrranml", "at": "2026-11-20T10:00:00Z", "agent": "codex", "session": session,
                "project": "acme/app", "title": "Mend it", "what": what, "ok": null, "succeeded": 0, "failed": 0,
                "then": [command], "mended_in": "xn3eeffrranml", "same_command": true, "changed": [file],
            });
            serde_json::from_value(fact).unwrap()
        };
        let sessions = ["4f0c2b1e-8a57-4d31-9b0e-5c1f6a7d8e90", "7a9d0c3f-8a57-4d31-9b0e-5c1f6a7d8e90"];
        for width in [80, 120, 160] {
            // What is too long for a line goes on in the next one.
            let words = |columns: &[Column<Fact>], what: &str| {
                let table = Table::of(columns, &sessions.map(|session| fact(session, what)));
                table.drawn(&screen(width)).split_whitespace().collect::<Vec<_>>().join(" ")
            };
            for (shown, wanted) in [
                (words(FILES, file), &[file, "Mend it"][..]),
                (words(COMMANDS, command), &[command]),
                (words(ERRORS, error), &[error, command, file]),
            ] {
                let begins = sessions.iter().map(|session| &session[..7]);
                for part in wanted.iter().copied().chain(begins) {
                    assert!(shown.contains(part), "{width}: `{part}` is not in {shown}");
                }
            }
        }
    }

    #[test]
    fn a_place_is_a_file_and_perhaps_a_line() {
        let own = |file: &str, line| Ok((file.to_owned(), line));
        assert_eq!(place("a.rs"), own("a.rs", None));
        assert_eq!(place("src/a:b.rs:12"), own("src/a:b.rs", Some(12)));
        assert_eq!(place("C:\\a.rs"), own("C:\\a.rs", None));
        let bad = ["a.rs:x", "a.rs:0", "a.rs:-1", "a.rs:", "a.rs:99999999999999999999999", ":5", ":"];
        for bad in bad {
            assert!(place(bad).is_err_and(|error| error.to_string().contains("line")), "{bad}");
        }
    }
}
