//! Retrieval quality of one set through the real server: `make eval DATA=folder`.
//!
//! A set is a folder with `memories.jsonl` (`id`, `scope`, `text`, and where known `session`, `date`,
//! `author`) and `queries.jsonl` (`id`, `scope`, `query`, `category`, `gold`). Each scope becomes a
//! project; memories are saved in file order by `mem_save`, one call each; each query is asked by
//! `mem_search` in its project with `limit` 10. Nothing else of the set is handed over.
//!
//! With several sets and `--folds`, each is asked under many weights, and the weights that are best on some
//! questions are judged on others: `make eval-folds DATA="folder folder …"`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use cerebro_core::operation::Operation;
use cerebro_core::recall::{Signal, Weights};
use harness::client::{Client, Home, Reply};
use harness::metrics::{self, Estimate, Judgement};
use harness::set::{TITLE_CHARS, read_lines, save_arguments, text_of};
use harness::{folds, operator, stats};

/// The category of questions without an answer: left out of the main figures.
const ADVERSARIAL: &str = "adversarial";

#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Options {
    data: Vec<PathBuf>,
    /// Ask only this many of the first queries; all memories are saved nevertheless.
    limit: usize,
    json: Option<PathBuf>,
    /// With the model of `make model`.
    model: bool,
    /// Ask again with each signal left out.
    ablate: bool,
    /// Ask again under other weights, chosen and judged by folds.
    folds: bool,
    /// Consolidate before asking, until nothing is left to do.
    consolidate: bool,
    /// Exchanges of past sessions with the texts of the memories, added beside them: they must not change any order.
    beside: usize,
}

fn options() -> Result<Options> {
    let mut options = Options {
        data: Vec::new(),
        limit: usize::MAX,
        json: None,
        model: false,
        ablate: false,
        folds: false,
        consolidate: false,
        beside: 0,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            // Cargo passes this to every benchmark.
            "--bench" => {}
            "--model" => options.model = true,
            "--ablate" => options.ablate = true,
            "--folds" => options.folds = true,
            "--consolidate" => options.consolidate = true,
            "--beside" => options.beside = value()?.parse().context("--beside is a number")?,
            "--limit" => options.limit = value()?.parse().context("--limit is a number")?,
            "--json" => options.json = Some(value()?.into()),
            flag if flag.starts_with('-') => bail!("unknown option {flag}"),
            folder => options.data.push(folder.into()),
        }
    }
    match options.data.len() {
        0 => bail!("say which set: make eval DATA=folder"),
        1 if options.folds => bail!("weights are chosen on one set and judged on another: give several"),
        2.. if !options.folds => bail!("give one set, or --folds"),
        _ => {}
    }
    Ok(options)
}

/// The result of the saves.
struct Saved {
    /// The server's id of each of the set's ids; a text saved twice has one.
    ids: HashMap<String, String>,
    outcomes: BTreeMap<String, usize>,
    seconds: f64,
}

fn save_all(client: &mut Client, memories: &[Value]) -> Result<Saved> {
    let mut saved = Saved { ids: HashMap::new(), outcomes: BTreeMap::new(), seconds: 0.0 };
    let start = Instant::now();
    for (i, memory) in memories.iter().enumerate() {
        let id = text_of(memory, "id").context("a memory without id")?;
        let outcome = match client.try_call("mem_save", &save_arguments(memory))? {
            Reply::Done(reply) => {
                let stored = reply["id"].as_str().context("a save without id")?;
                saved.ids.insert(id, stored.to_owned());
                reply["outcome"].as_str().unwrap_or("unnamed").to_owned()
            }
            Reply::Refused(reason) => {
                eprintln!("memory {id} was refused: {reason}");
                "refused".to_owned()
            }
        };
        *saved.outcomes.entry(outcome).or_default() += 1;
        if (i + 1) % 1_000 == 0 {
            eprintln!("saved {} of {}", i + 1, memories.len());
        }
    }
    saved.seconds = start.elapsed().as_secs_f64();
    Ok(saved)
}

/// Adds exchanges of past sessions with the projects and texts of the memories.
fn put_beside(home: &Home, memories: &[Value], exchanges: usize) -> Result<()> {
    const OF_A_SESSION: usize = 100;
    let at = "2026-01-01T00:00:00.000001Z";
    let mut lines = vec![json!({ "kind": "header", "format": "cerebro", "version": 1 }).to_string()];
    for (n, memory) in memories.iter().cycle().take(exchanges).enumerate() {
        let session = format!("beside-{}", n / OF_A_SESSION);
        if n % OF_A_SESSION == 0 {
            let scope = text_of(memory, "scope");
            let line = json!({
                "kind": "past_session", "id": session, "agent": "codex", "project": scope, "started_at": at, "ended_at": at,
            });
            lines.push(line.to_string());
        }
        let text = text_of(memory, "text").unwrap_or_default();
        let title: String = text.chars().take(TITLE_CHARS).collect();
        let line = json!({
            "kind": "exchange", "id": "", "session": session, "seq": n % OF_A_SESSION, "at": at, "title": title,
            "text": format!("> {text}\n\n{n}"),
        });
        lines.push(line.to_string());
    }
    let file = home.path().join("beside.jsonl");
    std::fs::write(&file, lines.join("\n") + "\n")?;
    home.run(&["import", &file.to_string_lossy()])
}

/// Makes plans and carries them out until there is nothing left to do, as over many nights.
fn consolidate(home: &Home) -> Result<()> {
    let operator = operator::Operator::connect(home.path())?;
    let mut archived = 0;
    for night in 1.. {
        let planned = operator.call(Operation::CyclePlan, json!({}))?;
        if planned["steps"].as_array().is_none_or(Vec::is_empty) {
            eprintln!("{archived} memories were put aside in {} nights", night - 1);
            return Ok(());
        }
        let done = operator.call(Operation::CycleApply, json!({ "id": planned["cycle"]["id"] }))?;
        let steps = done["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count =
            steps.iter().filter(|step| step["outcome"] == "done" && step["action"] != "unite").count();
        if count == 0 {
            bail!("a plan of {} steps came to nothing", steps.len());
        }
        archived += count;
    }
    Ok(())
}

/// One query and its result.
struct Asked {
    category: String,
    judgement: Judgement,
    answer: Answer,
    /// The same query in a project that does not have the answer.
    elsewhere: Option<Answer>,
}

struct Answer {
    ranking: Vec<String>,
    label: String,
    top_score: f64,
    ms: f64,
}

/// The ids of the hits, best first.
fn ranking(reply: &Value) -> Vec<String> {
    let hits = reply["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    hits.iter().filter_map(|hit| hit["id"].as_str().map(str::to_owned)).collect()
}

fn ask(client: &mut Client, query: &str, scope: &str) -> Result<Answer> {
    let arguments = json!({ "query": query, "project": scope, "limit": metrics::DEPTH });
    let (reply, ms) = client.timed("mem_search", &arguments)?;
    let hits = reply["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(Answer {
        ranking: ranking(&reply),
        label: reply["match"].as_str().unwrap_or("unnamed").to_owned(),
        top_score: hits.first().and_then(|hit| hit["score"].as_f64()).unwrap_or(0.0),
        ms,
    })
}

/// The server's ids of the right answers to a query, and how many of them the server does not have.
fn gold<'a>(record: &Value, saved: &'a Saved) -> (HashSet<&'a str>, usize) {
    let wanted = record["gold"].as_array().map(Vec::as_slice).unwrap_or_default();
    let wanted: Vec<&str> = wanted.iter().filter_map(Value::as_str).collect();
    let found = wanted.iter().filter_map(|id| saved.ids.get(*id)).map(String::as_str).collect();
    let lost = wanted.iter().filter(|id| !saved.ids.contains_key(**id)).count();
    (found, lost)
}

fn ask_all(client: &mut Client, queries: &[Value], scopes: &[String], saved: &Saved) -> Result<Vec<Asked>> {
    let mut asked = Vec::with_capacity(queries.len());
    for (i, record) in queries.iter().enumerate() {
        let query = text_of(record, "query").context("a query without text")?;
        let scope = text_of(record, "scope").unwrap_or_default();
        let (found, lost) = gold(record, saved);
        let answer = ask(client, &query, &scope)?;
        let here = scopes.iter().position(|s| *s == scope).unwrap_or(0);
        let elsewhere = match scopes.len() {
            0 | 1 => None,
            n => Some(ask(client, &query, &scopes[(here + 1) % n])?),
        };
        asked.push(Asked {
            category: text_of(record, "category").unwrap_or_else(|| "none".to_owned()),
            judgement: metrics::judge(&answer.ranking, &found, lost),
            answer,
            elsewhere,
        });
        if (i + 1) % 200 == 0 {
            eprintln!("asked {} of {}", i + 1, queries.len());
        }
    }
    Ok(asked)
}

/// The result with one signal left out, or with one turned on: the change, and the means of recall and reciprocal
/// rank.
struct Ablation {
    change: String,
    measures: Vec<(&'static str, f64)>,
}

/// The columns of an ablation, of those that are measured.
const ABLATED: [&str; 2] = ["R@10", "MRR"];

/// The same queries, once for each signal that is left out, except those without an answer.
fn ablate(home: &Home, queries: &[Value], saved: &Saved, model: bool) -> Result<Vec<Ablation>> {
    let operator = operator::Operator::connect(home.path())?;
    let signals = Signal::ALL.iter().filter(|(_, signal)| {
        // Without a model there is no meaning to leave out, and only the words remain.
        model || !matches!(signal, Signal::Words | Signal::Meaning)
    });
    let mut lessons = Vec::new();
    for (name, signal) in signals {
        let (word, weights) = if signal.is_on() {
            ("without", Weights::default().without(*signal))
        } else {
            ("with", Weights::default().with(*signal))
        };
        let change = format!("{word} {name}");
        let mut judged = Vec::new();
        for record in queries.iter().filter(|r| text_of(r, "category").is_none_or(|c| c != ADVERSARIAL)) {
            let (query, scope) = (text_of(record, "query"), text_of(record, "scope").unwrap_or_default());
            let arguments = json!({
                "query": query, "project": scope, "limit": metrics::DEPTH, "weights": weights,
            });
            let reply = operator.call(Operation::Search, arguments)?;
            let (found, lost) = gold(record, saved);
            judged.push(metrics::judge(&ranking(&reply), &found, lost));
        }
        let mean = |name: &str| {
            let at = metrics::NAMES.iter().position(|known| *known == name).unwrap_or(0);
            stats::mean(&judged.iter().map(|judgement| judgement.values[at]).collect::<Vec<_>>())
        };
        eprintln!("asked {change}");
        lessons.push(Ablation { change, measures: ABLATED.iter().map(|name| (*name, mean(name))).collect() });
    }
    Ok(lessons)
}

fn print_ablation(lessons: &[Ablation]) {
    println!("\n| change | {} |\n|---|{}", ABLATED.join(" | "), "---:|".repeat(ABLATED.len()));
    for lesson in lessons {
        let cells: Vec<String> =
            lesson.measures.iter().map(|(_, mean)| format!("{:.1}", mean * 100.0)).collect();
        println!("| {} | {} |", lesson.change, cells.join(" | "));
    }
}

/// One line of the table of quality.
struct Row {
    name: String,
    queries: usize,
    estimates: Vec<Estimate>,
}

fn row(name: &str, asked: &[&Asked]) -> Row {
    let column = |i: usize| -> Vec<f64> { asked.iter().map(|a| a.judgement.values[i]).collect() };
    let estimates = (0..metrics::NAMES.len()).map(|i| metrics::estimate(&column(i))).collect();
    Row { name: name.to_owned(), queries: asked.len(), estimates }
}

fn quality(asked: &[Asked]) -> Vec<Row> {
    let mut categories: BTreeMap<&str, Vec<&Asked>> = BTreeMap::new();
    for one in asked {
        categories.entry(&one.category).or_default().push(one);
    }
    let mut rows: Vec<Row> = categories.iter().map(|(name, some)| row(name, some)).collect();
    if categories.contains_key(ADVERSARIAL) {
        let headline: Vec<&Asked> = asked.iter().filter(|a| a.category != ADVERSARIAL).collect();
        rows.push(row("all without adversarial", &headline));
    }
    rows.push(row("all", &asked.iter().collect::<Vec<_>>()));
    rows
}

fn print_quality(rows: &[Row]) {
    println!("\n| category | queries | {} |", metrics::NAMES.join(" | "));
    println!("|---|---:|{}", "---:|".repeat(metrics::NAMES.len()));
    for row in rows {
        let cells: Vec<String> = row
            .estimates
            .iter()
            .map(|e| format!("{:.1} ({:.1}–{:.1})", e.mean * 100.0, e.low * 100.0, e.high * 100.0))
            .collect();
        println!("| {} | {} | {} |", row.name, row.queries, cells.join(" | "));
    }
    println!("\nPer cent, with bootstrap 95 % intervals.");
}

/// How far the label `match` and the first hit's score distinguish queries that the project can answer
/// from the same ones where it cannot.
fn calibration(asked: &[Asked]) -> Value {
    let share = |answers: &[&Answer], label: &str| {
        answers.iter().filter(|a| a.label == label).count() as f64 / answers.len() as f64
    };
    let rank = |answer: &Answer| match answer.label.as_str() {
        "strong" => 2.0,
        "partial" => 1.0,
        _ => 0.0,
    };
    let here = |hit: bool| -> Vec<&Answer> {
        let chosen =
            asked.iter().filter(|a| a.category != ADVERSARIAL && (a.judgement.values[1] > 0.0) == hit);
        chosen.map(|a| &a.answer).collect()
    };
    let adversarial = asked.iter().filter(|a| a.category == ADVERSARIAL).map(|a| &a.answer).collect();
    let elsewhere: Vec<&Answer> = asked.iter().filter_map(|a| a.elsewhere.as_ref()).collect();
    let groups: [(&str, Vec<&Answer>); 4] = [
        ("own project, answer in the first 10", here(true)),
        ("own project, answer not found", here(false)),
        ("own project, adversarial", adversarial),
        ("another project", elsewhere),
    ];
    let own: Vec<&Answer> = groups[0].1.iter().chain(&groups[1].1).copied().collect();

    let mut result = json!({ "groups": [] });
    println!("\n| asked | queries | strong | partial | none | AUC of match | AUC of score |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (i, (name, answers)) in groups.iter().enumerate().filter(|(_, (_, answers))| !answers.is_empty()) {
        let [strong, partial, none] = ["strong", "partial", "none"].map(|label| share(answers, label));
        // Against answered queries; other projects against all queries of the own one.
        let positive = if i == 3 { &own } else { &groups[0].1 };
        let area = |score: &dyn Fn(&Answer) -> f64| {
            let of = |list: &[&Answer]| list.iter().map(|a| score(a)).collect::<Vec<_>>();
            metrics::area_under_curve(&of(positive), &of(answers))
        };
        let (by_label, by_score) = (area(&rank), area(&|a: &Answer| a.top_score));
        let areas = if i == 0 { " | ".to_owned() } else { format!("{by_label:.3} | {by_score:.3}") };
        let shares = [strong, partial, none].map(|s| format!("{:.1} %", s * 100.0)).join(" | ");
        println!("| {name} | {} | {shares} | {areas} |", answers.len());
        if let Some(list) = result["groups"].as_array_mut() {
            list.push(json!({
                "asked": name, "queries": answers.len(), "strong": strong, "partial": partial, "none": none,
                "auc_match": (i > 0).then_some(by_label), "auc_score": (i > 0).then_some(by_score),
            }));
        }
    }
    println!("\nAUC: the chance that an answered query scores above one of the row, ties counting half.");
    result
}

fn latency(asked: &[Asked]) -> Value {
    let times: Vec<f64> = asked.iter().map(|a| a.answer.ms).collect();
    let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|p| stats::percentile(&times, p));
    println!("search: p50 {p50:.2} ms, p95 {p95:.2} ms, p99 {p99:.2} ms, through the stdio client");
    json!({ "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "mean_ms": stats::mean(&times) })
}

fn rows_as_json(rows: &[Row]) -> Value {
    let one = |row: &Row| {
        let measures: serde_json::Map<String, Value> = metrics::NAMES
            .iter()
            .zip(&row.estimates)
            .map(|(name, e)| ((*name).to_owned(), json!({ "mean": e.mean, "low": e.low, "high": e.high })))
            .collect();
        json!({ "category": row.name, "queries": row.queries, "measures": measures })
    };
    Value::Array(rows.iter().map(one).collect())
}

/// A set in a home of its own, asked under every candidate, except questions without an answer.
fn trials_of(number: usize, set: &Set, options: &Options) -> Result<Vec<folds::Trial>> {
    let (home, client, saved) = set.stored(options)?;
    let operator = operator::Operator::connect(home.path())?;
    let mut trials = Vec::new();
    for record in set.queries.iter().filter(|r| text_of(r, "category").is_none_or(|c| c != ADVERSARIAL)) {
        let (query, scope) = (text_of(record, "query"), text_of(record, "scope").unwrap_or_default());
        let (found, lost) = gold(record, &saved);
        let mut values = Vec::new();
        for weights in folds::candidates() {
            let arguments = json!({
                "query": query, "project": scope, "limit": metrics::DEPTH, "weights": weights,
            });
            let reply = operator.call(Operation::Search, arguments)?;
            let judged = metrics::judge(&ranking(&reply), &found, lost);
            values.push([judged.values[1], judged.values[2]]);
        }
        let conversation = set.scopes.iter().position(|s| *s == scope).unwrap_or(0);
        trials.push(folds::Trial { set: number, conversation, values });
        if trials.len() % 100 == 0 {
            eprintln!("asked {} of {}", trials.len(), set.queries.len());
        }
    }
    drop(client);
    Ok(trials)
}

/// Chooses weights on some questions and judges them on others, over several sets.
fn compare_by_folds(options: &Options) -> Result<()> {
    let sets = options.data.iter().map(|folder| Set::read(folder, options)).collect::<Result<Vec<_>>>()?;
    let mut trials = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        trials.extend(trials_of(number, set, options)?);
    }
    let candidates = folds::candidates();
    let cell = |[recall, rank]: [f64; 2]| format!("{:.1} / {:.1}", recall * 100.0, rank * 100.0);
    println!("| R@10 / MRR | default | best of the other sets | best of other conversations | best of all |");
    println!("|---|---:|---:|---:|---:|");
    let judged = folds::judge(&trials, sets.len(), candidates.len());
    for (set, held) in sets.iter().zip(&judged) {
        let (others, _) = held.other_sets;
        let parts = held.other_conversations.map_or_else(|| "–".to_owned(), cell);
        println!("| {} | {} | {} | {parts} | {} |", set.name, cell(held.usual), cell(others), cell(held.all));
    }
    println!();
    for (set, held) in sets.iter().zip(&judged) {
        println!("without {}: {:?}", set.name, candidates[held.other_sets.1]);
    }
    Ok(())
}

/// A set of memories and questions.
struct Set {
    name: String,
    memories: Vec<Value>,
    queries: Vec<Value>,
    /// The projects, in order of the first memory of each.
    scopes: Vec<String>,
}

impl Set {
    fn read(folder: &Path, options: &Options) -> Result<Self> {
        let memories = read_lines(&folder.join("memories.jsonl"))?;
        let mut queries = read_lines(&folder.join("queries.jsonl"))?;
        queries.truncate(options.limit);
        let mut scopes: Vec<String> = Vec::new();
        for scope in memories.iter().filter_map(|m| text_of(m, "scope")) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let counts = (memories.len(), scopes.len(), queries.len());
        eprintln!("{name}: {} memories in {} projects, {} queries", counts.0, counts.1, counts.2);
        Ok(Self { name, memories, queries, scopes })
    }

    /// A home with all its memories, and with their vectors where the model is asked for.
    fn stored(&self, options: &Options) -> Result<(Home, Client, Saved)> {
        let home = Home::new()?;
        if options.model {
            home.give_model()?;
        }
        let mut client = home.connect()?;
        let saved = save_all(&mut client, &self.memories)?;
        if options.beside > 0 {
            put_beside(&home, &self.memories, options.beside)?;
        }
        if options.model {
            client.drain()?;
        }
        if options.consolidate {
            consolidate(&home)?;
        }
        Ok((home, client, saved))
    }
}

fn main() -> Result<()> {
    metrics::self_check();
    stats::self_check();
    let options = options()?;
    if options.folds {
        return compare_by_folds(&options);
    }
    let set = Set::read(&options.data[0], &options)?;
    let (home, mut client, saved) = set.stored(&options)?;
    let asked = ask_all(&mut client, &set.queries, &set.scopes, &saved)?;
    let lessons =
        if options.ablate { ablate(&home, &set.queries, &saved, options.model)? } else { Vec::new() };
    drop(client);

    println!("# {}\n", set.name);
    let saves_per_s = set.memories.len() as f64 / saved.seconds;
    println!(
        "saves: {} ({:?}), {saves_per_s:.0} a second, one after another",
        set.memories.len(),
        saved.outcomes
    );
    let latency = latency(&asked);
    let rows = quality(&asked);
    print_quality(&rows);
    if options.ablate {
        print_ablation(&lessons);
    }
    let calibration = calibration(&asked);
    if let Some(path) = options.json {
        let report = json!({
            "set": set.name, "memories": set.memories.len(), "outcomes": saved.outcomes, "saves_per_s": saves_per_s,
            "search": latency, "quality": rows_as_json(&rows), "match": calibration,
        });
        std::fs::write(&path, serde_json::to_vec_pretty(&report)?)
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
