//! What keeps memories true, measured on evaluation sets through the real server: `make truth DATA="folder folder …"`.
//!
//! - **Updates** (a set with questions of the category `knowledge_update`, whose first and last answers are the old and the
//!   new fact): how often the old one is listed with a `newer` that names the new one, how many marks name anything else,
//!   and, once `supersedes` is given, whether the new one is listed before the old.
//! - **Blocks**: 500 texts of the sets are corrected; then each of them is saved again in four forms, which must be refused,
//!   and every other text of the sets is saved, which must succeed. So are 200 pairs that differ in one number, version or
//!   negation.
//! - **Anchors**: searches from the folder that memories name, compared with searches from another one: of memories that
//!   no search has shown before, of the same again, after files have changed, and again.
//! - **Order** (`ORDER=file`): what is found for each question, with its score, is written to a file, or compared with it
//!   if it exists, so that two programs or settings can be compared to the last digit.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use cerebro_core::sameness;
use harness::client::{Client, Home, Reply};
use harness::set::{read_lines, save_arguments, text_of};
use harness::stats::percentile;

const LISTED: usize = 10;
/// Texts that are corrected.
const CORRECTED: usize = 500;
const PAIRS: usize = 200;
/// Memories that name code, the files that they name, and the hits of each search, each about another file.
const ANCHORED: usize = 2_000;
const FILES: usize = 200;
const HITS: usize = 10;

/// A text of a set.
struct Text {
    id: String,
    scope: String,
    title: String,
    content: String,
}

struct Question {
    scope: String,
    query: String,
    category: String,
    gold: Vec<String>,
}

struct Set {
    name: String,
    texts: Vec<Text>,
    questions: Vec<Question>,
}

fn main() -> Result<()> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut order = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--order" => order = Some(PathBuf::from(arguments.next().context("--order FILE")?)),
            _ => folders.push(argument.into()),
        }
    }
    ensure!(!folders.is_empty(), "say which sets: make truth DATA='path/to/one path/to/another'");
    let sets: Vec<Set> = folders.iter().map(|folder| read(folder)).collect::<Result<_>>()?;
    if let Some(file) = order {
        return compare_order(&sets, &file);
    }
    for set in &sets {
        updates(set)?;
    }
    blocks(&sets)?;
    anchors()
}

fn read(folder: &Path) -> Result<Set> {
    let part = |record: &Value, name: &str| text_of(record, name).unwrap_or_default();
    let text = |memory: &Value| {
        let saved = save_arguments(memory);
        let [scope, title, content] = ["project", "title", "content"].map(|name| part(&saved, name));
        Text { id: part(memory, "id"), scope, title, content }
    };
    let question = |line: &Value| {
        let gold = line["gold"].as_array().into_iter().flatten();
        Question {
            scope: part(line, "scope"),
            query: part(line, "query"),
            category: part(line, "category"),
            gold: gold.filter_map(|id| text_of(&json!({ "id": id }), "id")).collect(),
        }
    };
    Ok(Set {
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        texts: read_lines(&folder.join("memories.jsonl"))?.iter().map(text).collect(),
        questions: read_lines(&folder.join("queries.jsonl"))?.iter().map(question).collect(),
    })
}

/// Saves a set, each scope as a project; returns the ids by the set's ids.
fn save_all(client: &mut Client, set: &Set) -> Result<BTreeMap<String, String>> {
    let mut ids = BTreeMap::new();
    for text in &set.texts {
        let call = json!({ "project": text.scope, "title": text.title, "content": text.content });
        match client.try_call("mem_save", &call)? {
            Reply::Done(saved) => {
                ids.insert(text.id.clone(), saved["id"].as_str().context("a save without id")?.to_owned());
            }
            Reply::Refused(reason) => eprintln!("{} was refused: {reason}", text.id),
        }
    }
    Ok(ids)
}

fn hits(client: &mut Client, question: &Question) -> Result<Vec<Value>> {
    let call = json!({ "project": question.scope, "query": question.query, "limit": LISTED });
    let mut found = client.call("mem_search", &call)?;
    Ok(found["hits"].as_array_mut().map(std::mem::take).unwrap_or_default())
}

fn position(hits: &[Value], id: &str) -> Option<usize> {
    hits.iter().position(|hit| hit["id"] == id)
}

fn updates(set: &Set) -> Result<()> {
    let asked: Vec<&Question> = set
        .questions
        .iter()
        .filter(|question| question.category == "knowledge_update" && question.gold.len() > 1)
        .collect();
    let home = Home::new()?;
    let mut client = home.connect()?;
    let ids = save_all(&mut client, set)?;
    let (mut listed, mut marks) = (0_usize, 0_usize);
    for question in &set.questions {
        for hit in hits(&mut client, question)? {
            listed += 1;
            marks += usize::from(hit["newer"].is_string());
        }
    }
    println!(
        "{}: `newer` beside {marks} of {listed} hits ({:.2} %)",
        set.name,
        100.0 * marks as f64 / listed.max(1) as f64
    );
    if asked.is_empty() {
        drop(client);
        return home.stop();
    }
    let ends = |question: &Question| -> Result<(String, String)> {
        let id = |id: Option<&String>| {
            id.and_then(|id| ids.get(id)).cloned().context("an answer that was not saved")
        };
        Ok((id(question.gold.first())?, id(question.gold.last())?))
    };
    let (mut both, mut right) = (0, 0);
    for question in &asked {
        let (old, new) = ends(question)?;
        let hits = hits(&mut client, question)?;
        if let (Some(older), Some(_)) = (position(&hits, &old), position(&hits, &new)) {
            both += 1;
            right += usize::from(hits[older]["newer"] == json!(new));
        }
    }
    println!("{}: {} updates; both listed {both}, `newer` right on {right}", set.name, asked.len());
    for question in &asked {
        let (old, new) = ends(question)?;
        client.call("mem_update", &json!({ "id": new, "supersedes": [old] }))?;
    }
    let (mut first, mut only_stale) = (0, 0);
    for question in &asked {
        let (old, new) = ends(question)?;
        let hits = hits(&mut client, question)?;
        match (position(&hits, &old), position(&hits, &new)) {
            (Some(older), Some(newer)) => first += usize::from(newer < older),
            (Some(_), None) => only_stale += 1,
            (None, _) => first += 1,
        }
    }
    println!(
        "{}: with `supersedes` the old fact is not before the new one on {first} of {}; the old one alone is listed on {only_stale}",
        set.name,
        asked.len()
    );
    drop(client);
    home.stop()
}

/// Another way to write the same text.
type Form = fn(&str) -> String;

const FORMS: [(&str, Form); 4] = [
    ("same", str::to_owned),
    ("case", str::to_uppercase),
    ("blanks", |text| format!("  {}\n", text.replace(' ', "  \t"))),
    ("punctuation", |text| format!("«{}»", text.trim_end_matches(['.', '!', '?']))),
];

/// Says whether a text is refused as a corrected one.
fn is_refused(client: &mut Client, title: &str, content: &str) -> Result<bool> {
    let call = json!({ "project": "blocks", "title": title, "content": content });
    match client.try_call("mem_save", &call)? {
        Reply::Done(_) => Ok(false),
        Reply::Refused(reason) if reason.contains("corrected on") => Ok(true),
        Reply::Refused(reason) => bail!("refused for another reason: {reason}"),
    }
}

fn correct(client: &mut Client, title: &str, content: &str, n: usize) -> Result<()> {
    let call = json!({ "project": "blocks", "title": title, "content": content });
    let saved = client.call("mem_save", &call)?;
    client.call("mem_update", &json!({ "id": saved["id"], "content": format!("Corrected, number {n}.") }))?;
    Ok(())
}

fn blocks(sets: &[Set]) -> Result<()> {
    let home = Home::new()?;
    let mut client = home.connect()?;
    let mut seen = BTreeSet::new();
    let texts: Vec<&Text> = sets.iter().flat_map(|set| &set.texts).collect();
    let count = texts.len();
    let texts: Vec<&Text> = texts
        .into_iter()
        .filter(|text| !text.content.trim().is_empty() && seen.insert(sameness::normal(&text.content)))
        .collect();
    let step = (texts.len() / CORRECTED).max(1);
    let is_stone = |n: usize| n.is_multiple_of(step) && n / step < CORRECTED;
    for (n, text) in texts.iter().enumerate().filter(|(n, _)| is_stone(*n)) {
        correct(&mut client, &text.title, &text.content, n)?;
    }
    for (name, form) in FORMS {
        let mut let_in = 0;
        for (_, text) in texts.iter().enumerate().filter(|(n, _)| is_stone(*n)) {
            let_in += usize::from(!is_refused(&mut client, &text.title, &form(&text.content))?);
        }
        println!("blocks: {let_in} corrected texts came back, {name}");
    }
    let (mut others, mut blocked) = (0, 0);
    for (_, text) in texts.iter().enumerate().filter(|(n, _)| !is_stone(*n)) {
        others += 1;
        blocked += usize::from(is_refused(&mut client, &text.title, &text.content)?);
    }
    println!(
        "blocks: {blocked} of {others} other texts refused beside {CORRECTED} corrected ones ({count} texts, each once)"
    );
    let mut blocked = 0;
    for (n, (one, other)) in pairs().into_iter().enumerate() {
        correct(&mut client, &format!("Pair {n}"), &one, n)?;
        blocked += usize::from(is_refused(&mut client, &format!("Pair {n}"), &other)?);
    }
    println!("blocks: {blocked} of {PAIRS} texts refused that differ in one number, version or negation");
    drop(client);
    home.stop()
}

/// Pairs of texts that differ in what distinguishes them.
fn pairs() -> Vec<(String, String)> {
    let text = |n: usize, entries: usize, version: &str, is: &str| {
        format!(
            "Service {n} keeps {entries} entries of its cache since v2.{version} and {is} enabled on node {n}."
        )
    };
    let pair = |n: usize| {
        let base = text(n, 100, "1.0", "is");
        let other = match n % 4 {
            0 => text(n, 101, "1.0", "is"),
            1 => text(n, 100, "1.1", "is"),
            2 => text(n, 100, "1.0", "is not"),
            _ => text(n, 100, "1.0", "isn't"),
        };
        (base, other)
    };
    (0..PAIRS).map(pair).collect()
}

fn anchors() -> Result<()> {
    let home = Home::new()?;
    let folder = home.path().join("anchored");
    std::fs::create_dir_all(folder.join(".git"))?;
    std::fs::create_dir_all(folder.join("src"))?;
    for n in 0..FILES {
        let functions: String =
            (0..10).map(|f| format!("fn work_{n}_{f}() {{\n    step({f});\n}}\n\n")).collect();
        std::fs::write(folder.join(format!("src/part_{n}.rs")), functions)?;
    }
    let mut here = home.connect_in(&folder)?;
    let project = here.call("mem_context", &json!({}))?["project"].clone();
    for n in 0..ANCHORED {
        let (file, function) = (n % FILES, n / FILES);
        let content =
            format!("`work_{file}_{function}` in src/part_{file}.rs retries step {n} and logs why.");
        here.call("mem_save", &json!({ "title": format!("Work {n}"), "content": content }))?;
    }
    let mut elsewhere = home.connect()?;
    let mut marked = 0;
    for part in ["shown first", "shown again", "one file in ten has changed", "shown again after that"] {
        if part.starts_with("one") {
            for n in (0..FILES).step_by(HITS) {
                std::fs::write(folder.join(format!("src/part_{n}.rs")), "fn other() {}\n")?;
            }
        }
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for n in 0..ANCHORED / HITS {
            // Every memory has one of the words. Were the questions alike, each would say that the one before had failed.
            let numbers: Vec<String> = (n * HITS..(n + 1) * HITS).map(|number| number.to_string()).collect();
            let query = format!("retries step {}", numbers.join(" "));
            let call = json!({ "query": query, "project": project, "limit": HITS });
            // The second to ask finds everything cached, so they take turns.
            if n % 2 == 1 {
                without.push(elsewhere.timed("mem_search", &call)?.1);
            }
            let (found, ms) = here.timed("mem_search", &call)?;
            with.push(ms);
            marked += found["hits"]
                .as_array()
                .map_or(0, |hits| hits.iter().filter(|hit| hit["stale"].is_string()).count());
            if n % 2 == 0 {
                without.push(elsewhere.timed("mem_search", &call)?.1);
            }
        }
        for percent in [50.0, 95.0] {
            let (with, without) = (percentile(&with, percent), percentile(&without, percent));
            let more = with - without;
            println!("anchors, {part}: p{percent:.0} {with:.2} ms, {without:.2} ms elsewhere, {more:+.2} ms");
        }
    }
    println!(
        "anchors: {ANCHORED} memories of {FILES} files; {marked} hits were stale after one file in ten changed"
    );
    drop((here, elsewhere));
    home.stop()
}

fn compare_order(sets: &[Set], file: &Path) -> Result<()> {
    let mut lists = Vec::new();
    for set in sets {
        let home = Home::new()?;
        let mut client = home.connect()?;
        let ids = save_all(&mut client, set)?;
        // Of equal texts, which are one memory, the last name counts, in each run.
        let names: BTreeMap<&str, &str> = ids.iter().map(|(name, id)| (id.as_str(), name.as_str())).collect();
        for (n, question) in set.questions.iter().enumerate() {
            let described = |hit: &Value| {
                let name = hit["id"].as_str().and_then(|id| names.get(id)).copied().unwrap_or_default();
                json!([name, hit["score"]])
            };
            let found: Vec<Value> = hits(&mut client, question)?.iter().map(described).collect();
            lists.push(json!({ "set": set.name, "question": n, "found": found }));
        }
        drop(client);
        home.stop()?;
    }
    if !file.exists() {
        std::fs::write(file, serde_json::to_vec(&lists)?)?;
        println!("order: {} lists written to {}", lists.len(), file.display());
        return Ok(());
    }
    let before: Vec<Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    let differing = lists.iter().zip(&before).filter(|(now, then)| now != then).count();
    println!("order: {differing} of {} lists differ from {}", lists.len(), file.display());
    ensure!(differing == 0 && lists.len() == before.len(), "the order is another one");
    Ok(())
}
