//! Importing past sessions, and searching them: `make history DATA=folder`.
//!
//! The folder has transcripts of Claude Code (`*.jsonl`) and, for the second table, `facts.jsonl`: what another program
//! recorded about each (`session`, `prompts`, `files_touched`). They are put into a temporary home and imported by
//! the real daemon. Each first prompt is then asked as a search that sees only earlier sessions; the files that the
//! exchanges found changed are compared with those that the session went on to touch. Also measured: planted secrets
//! that are stored nevertheless, questions of other projects that find something, commands that are handed back after a
//! compaction, and what is stored after `kill -9` at fifty places. With `--model`, only the questions, with the vectors of
//! the model that `make model` set up. Further folders are evaluation sets: the labels of their questions, of which the
//! sessions know nothing, are shown too. Linux only.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use cerebro_core::{operation::Operation, text};
use harness::client::{Client, Home};
use harness::operator::Operator;
use harness::process::resident_bytes;
use harness::stats::{self, percentile};
use harness::table::{self, Row, Target};
use harness::{kills, secrets};

/// How many unchanged files are looked through.
const FILES: usize = 10_000;
/// How much is added to a file.
const TAIL_BYTES: usize = 100_000;
/// How many tails are read, one after another; the median counts.
const TAILS: usize = 9;
/// Calls of each kind that warm a daemon up, and most that are timed before each import.
const CALLS_BEFORE: usize = 60;
/// How many calls of each kind there are between looks whether the import is still under way.
const CALLS_BETWEEN_LOOKS: usize = 10;
/// Most imports beside which calls with a pause are timed.
const HOMES_MAX: usize = 20;
/// The pauses before these calls; how many of each kind are timed, so that the p99 is not the worst one; and the names of what
/// is measured with each.
const PACES: [(Duration, usize, [&str; 3]); 2] = [
    (
        Duration::ZERO,
        900,
        [
            "p99 of saves during the import",
            "p99 of searches during the import",
            "p99 of searches that no memory answers, during the import",
        ],
    ),
    (
        Duration::from_millis(50),
        300,
        [
            "p99 of saves during the import, calls 50 ms apart",
            "p99 of searches during the import, calls 50 ms apart",
            "p99 of searches that no memory answers, during the import, calls 50 ms apart",
        ],
    ),
];
/// Longest wait for an import.
const IMPORT_WAIT: Duration = Duration::from_mins(30);
/// Sessions of the data that are taken in between kills.
const KILLED_SESSIONS: usize = 30;
/// The last commands of a session that are looked for after a compaction.
const LAST_COMMANDS: usize = 20;
/// How much of one has to be there, in bytes.
const COMMAND_BYTES: usize = 100;
/// Questions about other things than the data.
const FOREIGN: [&str; 24] = [
    "how long does the sourdough rise before it is baked",
    "which tyres fit the touring bicycle in winter",
    "the invoice template prints the tax number twice",
    "why does the thermostat of the greenhouse restart at night",
    "add a dark theme to the pharmacy's booking page",
    "the OCR of receipts confuses commas with dots",
    "migrate the choir's mailing list to the new provider",
    "unit tests for the chess engine's castling rule",
    "resize photographs before the gallery uploads them",
    "the satellite's telemetry decoder drops the last frame",
    "speed up the shader that draws the water",
    "translate the onboarding emails into Portuguese",
    "the payroll export rounds half cents the wrong way",
    "which port does the aquarium controller listen on",
    "fix the race in the elevator simulation",
    "make the podcast player remember its position",
    "parse GPX tracks with missing elevations",
    "the barcode scanner reads the same parcel twice",
    "rotate the certificates of the weather stations",
    "cache tiles of the hiking map offline",
    "the quiz shows the answer before the countdown ends",
    "calibrate the colour of the museum's projector",
    "reduce the memory of the bird song classifier",
    "send a text message when the ferry is late",
];
/// Questions of an evaluation set that are asked.
const SET_QUESTIONS: usize = 150;
/// Exchanges that a first prompt is answered with, and files that are taken from them.
const HITS: usize = 20;
const ANSWERS: usize = 10;
/// Longest question.
const QUERY_CHARS: usize = 2_000;

/// What another program recorded about a session.
#[derive(Deserialize)]
struct Noted {
    session: String,
    prompts: Option<String>,
    files_touched: Option<Vec<String>>,
}

fn main() -> Result<()> {
    stats::self_check();
    let has_model = std::env::args().any(|argument| argument == "--model");
    let mut folders =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).map(PathBuf::from);
    let data = folders.next().context("say which folder: make history DATA=path")?;
    let sets: Vec<PathBuf> = folders.collect();
    if has_model {
        return asked_by_meaning(&data, &sets);
    }
    let mut rows = imported(&data, &sets)?;
    rows.extend(followed()?);
    rows.extend(leaked()?);
    rows.push(kills::row(&data, KILLED_SESSIONS)?);
    println!();
    table::print(&rows, "memories");
    Ok(())
}

/// Copies the transcripts to the folder of the agent; returns their bytes.
fn furnish(home: &Home, data: &Path) -> Result<u64> {
    let folder = home.path().join(".claude/projects/-data");
    fs::create_dir_all(&folder)?;
    let mut bytes = 0;
    for entry in fs::read_dir(data)? {
        let path = entry?.path();
        let is_transcript = path.extension().is_some_and(|extension| extension == "jsonl");
        let name = path.file_name().context("a file has a name")?;
        if is_transcript && name != "facts.jsonl" {
            bytes += fs::copy(&path, folder.join(name))?;
        }
    }
    ensure!(bytes > 0, "{} holds no transcripts", data.display());
    Ok(bytes)
}

fn enable(home: &Home) -> Result<()> {
    home.run(&["history", "import", "--agent", "codex", "--yes"])
}

/// Requests the sessions of Claude Code, whichever agents are kept current.
fn import(operator: &Operator) -> Result<Value> {
    operator.call(Operation::HistoryImport, json!({ "since": "0", "agents": ["claude-code"] }))
}

fn status(operator: &Operator) -> Result<Value> {
    operator.call(Operation::HistoryStatus, json!({}))
}

/// Waits until nothing is being read; returns the highest resident memory seen, and when the first exchanges were there.
fn finished(home: &Home, operator: &Operator, begun: Instant) -> Result<(u64, f64)> {
    let (mut most, mut first) = (0, f64::NAN);
    while begun.elapsed() < IMPORT_WAIT {
        let status = status(operator)?;
        most = most.max(resident_bytes(home)?);
        if first.is_nan() && status["exchanges"].as_u64().unwrap_or_default() > 0 {
            first = begun.elapsed().as_secs_f64();
        }
        if status["state"] != "reading" {
            return Ok((most, first));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    bail!("the import did not end within {IMPORT_WAIT:?}")
}

fn imported(data: &Path, sets: &[PathBuf]) -> Result<Vec<Row>> {
    let home = Home::new()?;
    let bytes = furnish(&home, data)?;
    let mut client = home.connect()?;
    enable(&home)?;
    let operator = Operator::connect(home.path())?;
    pace(&mut client, Duration::ZERO, CALLS_BEFORE, || Ok(true))?;
    let (before, disk_before) = (resident_bytes(&home)?, disk(&home));
    let begun = Instant::now();
    import(&operator)?;
    let (most, first) = finished(&home, &operator, begun)?;
    let seconds = begun.elapsed().as_secs_f64();
    let status = status(&operator)?;
    println!("{} sessions, {} exchanges of {bytes} bytes", status["sessions"], status["exchanges"]);
    let facts = data.join("facts.jsonl");
    if facts.exists() {
        predictions(&operator, &mut client, &facts)?;
    }
    let foreign = foreign(&mut client, sets)?;
    // Only sessions of agents that are kept current are handed back.
    home.run(&["history", "import", "--agent", "claude-code", "--yes"])?;
    let handed = handed_back(&home, data)?;
    let megabytes = bytes as f64 / 1e6;
    let grown = disk(&home).saturating_sub(disk_before) as f64 / 1e6;
    let row = |name, measured, unit, target| Row::new(name, 0, measured, unit, target);
    let rows = vec![
        row(
            "import, milliseconds a megabyte (30 MB/s)",
            seconds * 1e3 / megabytes,
            "ms",
            Target::AtMost(33.3),
        ),
        row("import, all", seconds, "s", Target::None),
        row("first exchanges searchable", first, "s", Target::AtMost(2.0)),
        row("resident beyond before", most.saturating_sub(before) as f64 / 1e6, "MB", Target::AtMost(120.0)),
        row("disk for 1 GB of source", grown * 1e3 / megabytes, "MB", Target::AtMost(120.0)),
        row("exchanges with a redaction", marked(&operator)?, "%", Target::None),
        row("foreign questions that find something", foreign, "%", Target::AtMost(50.0)),
        row(
            "of the last 20 commands, not handed back (100 bytes of each)",
            handed,
            "%",
            Target::AtMost(50.0),
        ),
    ];
    drop(client);
    Ok(rows.into_iter().chain(meanwhile(data)?).collect())
}

/// What is answered once every exchange has its vector.
fn asked_by_meaning(data: &Path, sets: &[PathBuf]) -> Result<()> {
    let home = Home::new()?;
    home.give_model()?;
    furnish(&home, data)?;
    let mut client = home.connect()?;
    enable(&home)?;
    let operator = Operator::connect(home.path())?;
    let begun = Instant::now();
    import(&operator)?;
    finished(&home, &operator, begun)?;
    println!("imported after {:.1} s", begun.elapsed().as_secs_f64());
    home.run(&["worker", "status", "--wait"])?;
    let exchanges = &status(&operator)?["exchanges"];
    println!("{exchanges} exchanges had vectors after {:.1} s", begun.elapsed().as_secs_f64());
    let facts = data.join("facts.jsonl");
    if facts.exists() {
        predictions(&operator, &mut client, &facts)?;
    }
    foreign(&mut client, sets)?;
    println!("{:.0} MB resident", resident_bytes(&home)? as f64 / 1e6);
    Ok(())
}

/// Every text of the past sessions, as a person is shown them.
fn texts(operator: &Operator) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let (mut from, page) = (0, 50);
    loop {
        let listed = operator.call(Operation::HistorySession, json!({ "from": from, "limit": page }))?;
        let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
        for session in &sessions {
            let mut at = 0;
            loop {
                let asked = json!({ "session": session["session"], "from": at, "limit": page, "full": true });
                let shown = operator.call(Operation::HistorySession, asked)?;
                let exchanges = shown["exchanges"].as_array().cloned().unwrap_or_default();
                texts.extend(exchanges.iter().map(ToString::to_string));
                let Some(last) = exchanges.last().and_then(|last| last["seq"].as_u64()) else { break };
                at = last + 1;
            }
        }
        from += sessions.len();
        if sessions.is_empty() {
            return Ok(texts);
        }
    }
}

/// The share of exchanges in which something was redacted: at least as many as those that hold no secret.
fn marked(operator: &Operator) -> Result<f64> {
    let texts = texts(operator)?;
    let marked = texts.iter().filter(|text| text.contains("[REDACTED:")).count();
    Ok(100.0 * marked as f64 / texts.len().max(1) as f64)
}

/// How many questions were labelled how, and how long each took.
#[derive(Default)]
struct Labels {
    none: usize,
    strong: usize,
    times: Vec<f64>,
}

impl Labels {
    /// Asks in all projects.
    fn of<'a>(client: &mut Client, questions: impl Iterator<Item = &'a str>) -> Result<Self> {
        let mut labels = Self::default();
        for query in questions {
            let asked = json!({ "query": query, "type": "history", "all_projects": true });
            let (found, ms) = client.timed("mem_search", &asked)?;
            labels.times.push(ms);
            labels.none += usize::from(found["match"] == "none");
            labels.strong += usize::from(found["match"] == "strong");
        }
        Ok(labels)
    }

    fn percent(&self, part: usize) -> f64 {
        100.0 * part as f64 / self.times.len().max(1) as f64
    }
}

/// The share of questions about other things that find something nevertheless. Also prints the labels of the questions of
/// evaluation sets.
fn foreign(client: &mut Client, sets: &[PathBuf]) -> Result<f64> {
    let labels = Labels::of(client, FOREIGN.into_iter())?;
    let some = FOREIGN.len() - labels.none;
    let (half, most) = (percentile(&labels.times, 50.0), percentile(&labels.times, 99.0));
    println!("{some} of {} foreign questions find something, {} strongly", FOREIGN.len(), labels.strong);
    println!("a search of past sessions takes {half:.1} ms (p50), {most:.1} ms (p99)");
    let found = 100.0 - labels.percent(labels.none);
    if !sets.is_empty() {
        println!("\n| foreign questions of | asked | none | strong |\n|---|---:|---:|---:|");
    }
    for set in sets {
        let text = fs::read_to_string(set.join("queries.jsonl"))?;
        let questions: Vec<Value> =
            text.lines().take(SET_QUESTIONS).map(serde_json::from_str).collect::<Result<_, _>>()?;
        let labels = Labels::of(client, questions.iter().filter_map(|question| question["query"].as_str()))?;
        let (none, strong) = (labels.percent(labels.none), labels.percent(labels.strong));
        let name = set.file_name().unwrap_or_default().to_string_lossy();
        println!("| {name} | {} | {none:.0} % | {strong:.0} % |", labels.times.len());
    }
    Ok(found)
}

/// The share of the last commands of sessions that is not handed back after a compaction.
fn handed_back(home: &Home, data: &Path) -> Result<f64> {
    let (mut asked, mut missing) = (0, 0);
    for entry in fs::read_dir(data)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let commands = last_commands(&text);
        let Some(name) = path.file_name().filter(|_| commands.len() >= 5) else { continue };
        let there = home.path().join(".claude/projects/-data").join(name);
        let input = json!({
            "session_id": "s", "cwd": home.path(), "hook_event_name": "SessionStart", "source": "compact",
            "transcript_path": there,
        });
        let (output, _) = home.hook("SessionStart", &input)?;
        let output: Value = serde_json::from_str(&output).unwrap_or(Value::Null);
        let context = output["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
        asked += commands.len();
        // As it is shown to an agent: without brackets of tags, and cut where it is long.
        let shown = |command: &str| text::inert(text::cut_bytes(command, COMMAND_BYTES)).into_owned();
        missing +=
            commands.iter().filter(|command| !context.contains(&format!("- {}", shown(command)))).count();
    }
    ensure!(asked > 0, "no session of the data ran commands");
    Ok(100.0 * missing as f64 / asked as f64)
}

/// The last commands of a transcript, each once, on one line.
fn last_commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for line in text.lines().rev() {
        let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
        for block in record["message"]["content"].as_array().into_iter().flatten() {
            let command = block["input"]["command"].as_str().filter(|_| block["name"] == "Bash");
            let command = command.map(|command| command.split_whitespace().collect::<Vec<_>>().join(" "));
            if let Some(command) = command.filter(|command| !commands.contains(command)) {
                commands.push(command);
            }
        }
        if commands.len() >= LAST_COMMANDS {
            commands.truncate(LAST_COMMANDS);
            break;
        }
    }
    commands
}

/// Planted secrets that are found in what is shown, in an export, or in any file of the home.
fn leaked() -> Result<Vec<Row>> {
    let home = Home::new()?;
    let folder = home.path().join(".claude/projects/-planted");
    fs::create_dir_all(&folder)?;
    let planted = secrets::plant(&folder.join("planted.jsonl"))?;
    enable(&home)?;
    let operator = Operator::connect(home.path())?;
    import(&operator)?;
    finished(&home, &operator, Instant::now())?;
    let mut stored = texts(&operator)?.join("\n").into_bytes();
    home.run(&["export", &home.path().join("all.jsonl").to_string_lossy()])?;
    home.stop()?;
    stored.extend(fs::read(home.path().join("all.jsonl"))?);
    stored.extend(bytes_below(&home.path().join(".cerebro"))?);
    let stored = String::from_utf8_lossy(&stored);
    let leaked: Vec<_> = planted.iter().filter(|planted| planted.is_in(&stored)).collect();
    for planted in &leaked {
        println!("kept: {} in {}", planted.kind, planted.place);
    }
    let kept = leaked.len() as f64;
    Ok(vec![Row::new("planted secrets that are kept", planted.len(), kept, "", Target::AtMost(0.0))])
}

fn bytes_below(folder: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            bytes.extend(bytes_below(&entry.path())?);
        } else if kind.is_file() {
            bytes.extend(fs::read(entry.path())?);
        }
    }
    Ok(bytes)
}

/// The times of saves, of searches, and of searches that no memory answers, in milliseconds.
type Times = [Vec<f64>; 3];

/// Calls with a pause before each, as long as something goes on. Each save is of a new note.
fn pace(
    client: &mut Client,
    pause: Duration,
    calls: usize,
    mut goes_on: impl FnMut() -> Result<bool>,
) -> Result<Times> {
    static NOTES: AtomicUsize = AtomicUsize::new(0);
    let mut times = Times::default();
    for at in 0..calls {
        if at.is_multiple_of(CALLS_BETWEEN_LOOKS) && !goes_on()? {
            break;
        }
        let n = NOTES.fetch_add(1, Ordering::Relaxed);
        let (title, content) = (format!("Note {n} on the gannet"), format!("What: it nests, {n}."));
        for (times, (tool, arguments)) in times.iter_mut().zip([
            ("mem_save", json!({ "title": title, "content": content })),
            ("mem_search", json!({ "query": format!("gannet {n}") })),
            ("mem_search", json!({ "query": format!("xylophone{n}") })),
        ]) {
            std::thread::sleep(pause);
            times.push(client.timed(tool, &arguments)?.1);
        }
    }
    Ok(times)
}

/// The times of as many calls of each kind before imports of the data as while these are under way: in as many homes as it takes.
fn beside_imports(data: &Path, pause: Duration, calls: usize) -> Result<[Times; 2]> {
    let mut all: [Times; 2] = Default::default();
    for _ in 0..HOMES_MAX {
        let home = Home::new()?;
        furnish(&home, data)?;
        let mut client = home.connect()?;
        enable(&home)?;
        let operator = Operator::connect(home.path())?;
        pace(&mut client, Duration::ZERO, CALLS_BEFORE, || Ok(true))?;
        let [missing_before, missing] = [0, 1].map(|part| calls - all[part][0].len());
        let share = if pause.is_zero() { missing_before } else { missing_before.min(CALLS_BEFORE) };
        let before = pace(&mut client, pause, share, || Ok(true))?;
        import(&operator)?;
        let during = pace(&mut client, pause, missing, || Ok(status(&operator)?["state"] == "reading"))?;
        for (all, more) in all.iter_mut().flatten().zip(before.into_iter().chain(during)) {
            all.extend(more);
        }
        if all.iter().all(|times| times[0].len() >= calls) {
            break;
        }
    }
    println!("{} calls of each kind during imports, {pause:?} apart", all[1][0].len());
    Ok(all)
}

fn meanwhile(data: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (pause, calls, names) in PACES {
        let [before, during] = beside_imports(data, pause, calls)?;
        for (name, (before, during)) in names.into_iter().zip(before.iter().zip(&during)) {
            let (before, measured) = (percentile(before, 99.0), percentile(during, 99.0));
            rows.push(Row {
                reference: Some(("before", before)),
                ..Row::new(name, 0, measured, "ms", Target::AtMost(before * 1.5))
            });
        }
    }
    Ok(rows)
}

fn disk(home: &Home) -> u64 {
    cerebro::home::bytes_below(&home.path().join(".cerebro"))
}

/// A scan of many unchanged files, and the tails of some.
fn followed() -> Result<Vec<Row>> {
    let home = Home::new()?;
    let folder = home.path().join(".claude/projects/-many");
    fs::create_dir_all(&folder)?;
    let line = |session: usize, n: usize, text: &str| {
        let kind = if n.is_multiple_of(2) { "user" } else { "assistant" };
        json!({
            "type": kind, "uuid": format!("{session}-{n}"), "sessionId": format!("s-{session}"), "cwd": "/many",
            "timestamp": "2026-10-01T00:00:00.001Z", "message": { "role": kind, "content": text },
        })
    };
    for session in 0..FILES {
        let text = format!("{}\n{}\n", line(session, 0, "ask"), line(session, 1, "answer"));
        fs::write(folder.join(format!("s-{session}.jsonl")), text)?;
    }
    enable(&home)?;
    let operator = Operator::connect(home.path())?;
    import(&operator)?;
    finished(&home, &operator, Instant::now())?;
    import(&operator)?;
    finished(&home, &operator, Instant::now())?;
    let scan = status(&operator)?["scan_ms"].as_f64().unwrap_or(f64::NAN);

    let mut tails = Vec::new();
    for session in 0..TAILS {
        let path = folder.join(format!("s-{session}.jsonl"));
        let mut file = fs::OpenOptions::new().append(true).open(path)?;
        let (mut n, mut written) = (2, 0);
        while written < TAIL_BYTES {
            let text = format!("{}\n", line(session, n, &"said ".repeat(100)));
            file.write_all(text.as_bytes())?;
            written += text.len();
            n += 1;
        }
        import(&operator)?;
        finished(&home, &operator, Instant::now())?;
        tails.push(status(&operator)?["read_ms"].as_f64().unwrap_or(f64::NAN));
    }
    let tail = percentile(&tails, 50.0);
    let row = |name, measured, most| Row::new(name, FILES, measured, "ms", Target::AtMost(most));
    Ok(vec![row("scan of 10,000 unchanged files", scan, 300.0), row("tail of 100 KB", tail, 50.0)])
}

/// The first prompt of each session against the files that it touched, from earlier sessions only.
fn predictions(operator: &Operator, client: &mut Client, facts: &Path) -> Result<()> {
    let noted = fs::read_to_string(facts)?;
    let noted: Vec<Noted> = noted.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let (mut asked, mut hit, mut recall) = (0, 0, 0.0);
    for noted in &noted {
        let touched: BTreeSet<String> = noted.files_touched.iter().flatten().map(|path| base(path)).collect();
        let first = noted.prompts.as_deref().and_then(|prompts| prompts.split("\n\n---\n\n").next());
        let Some(first) = first.map(str::trim).filter(|first| !first.is_empty()) else { continue };
        if touched.is_empty() {
            continue;
        }
        let shown = operator.call(Operation::HistorySession, json!({ "session": noted.session, "limit": 1 }));
        let Ok(session) = shown else { continue };
        let answers = answers(client, first, session["started_at"].as_str().unwrap_or_default())?;
        let found = answers.iter().filter(|file| touched.contains(*file)).count();
        asked += 1;
        hit += usize::from(found > 0);
        recall += found as f64 / touched.len() as f64;
    }
    let share = |part: f64| part / f64::from(u32::try_from(asked.max(1)).unwrap_or(u32::MAX));
    println!(
        "\n| first prompt → files edited later, first {ANSWERS} | measured | wanted | BM25 |\n|---|---:|---:|---:|"
    );
    println!("| recall, {asked} sessions | {:.3} | 0.30 | 0.227 |", share(recall));
    println!("| hit | {:.3} | 0.50 | 0.425 |", share(hit as f64));
    Ok(())
}

/// The files that earlier exchanges like this prompt changed, each weighed by the places of its exchanges.
fn answers(client: &mut Client, prompt: &str, before: &str) -> Result<Vec<String>> {
    let query: String = prompt.chars().take(QUERY_CHARS).collect();
    let search = json!({
        "query": query, "type": "history", "all_projects": true, "until": before, "limit": HITS,
    });
    let found = client.call("mem_search", &search)?;
    let mut weights: BTreeMap<String, f64> = BTreeMap::new();
    for (rank, hit) in found["hits"].as_array().into_iter().flatten().enumerate() {
        let exchange = client.call("mem_get_observation", &json!({ "id": hit["id"], "max_bytes": 256 }))?;
        for file in exchange["files"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            *weights.entry(base(file)).or_default() += 1.0 / (rank as f64 + 1.0);
        }
    }
    // What the prompt names itself comes first.
    for word in prompt.split(|c: char| c.is_whitespace() || "`\"'(),:".contains(c)) {
        let name = base(word);
        if Path::new(&name).extension().is_some_and(|extension| extension.len() <= 4) && name.len() > 4 {
            *weights.entry(name).or_default() += 1.0;
        }
    }
    let mut files: Vec<(String, f64)> = weights.into_iter().collect();
    files.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(files.into_iter().take(ANSWERS).map(|(file, _)| file).collect())
}

fn base(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
