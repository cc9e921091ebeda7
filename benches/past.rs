//! What a search of an earlier moment costs beside one of now: `make bench-past`.
//!
//! `SIZE` (default 20,000) is the number of memories, each of which is revised once, so that there are as many earlier
//! texts. The index of the past is built by the first such search, whose time is shown separately.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for a person")]

mod harness;

use anyhow::{Context, Result};
use serde_json::json;

use harness::client::{Client, Home};
use harness::corpus::{Corpus, Note};
use harness::number;
use harness::stats::percentile;

const PROJECT: &str = "bench";
/// Searches of each sort.
const SEARCHES: usize = 400;
/// Searches before those that count.
const WARM: usize = 50;

fn main() -> Result<()> {
    let size = number("SIZE", 20_000)?;
    let home = Home::new()?;
    let mut client = home.connect()?;
    let mut corpus = Corpus::new(3);
    let notes: Vec<Note> = (0..size).map(|_| corpus.note()).collect();
    let mut ids = Vec::with_capacity(size);
    for (n, note) in notes.iter().enumerate() {
        let arguments = json!({ "title": note.title, "content": note.content, "project": PROJECT });
        let saved = client.call("mem_save", &arguments)?;
        ids.push(saved["id"].as_str().context("a save without id")?.to_owned());
        if (n + 1) % 5_000 == 0 {
            eprintln!("saved {} of {size}", n + 1);
        }
    }
    let then = jiff::Timestamp::now().to_string();
    for (n, id) in ids.iter().enumerate() {
        client.call("mem_update", &json!({ "id": id, "content": corpus.note().content }))?;
        if (n + 1) % 5_000 == 0 {
            eprintln!("revised {} of {size}", n + 1);
        }
    }
    let (_, first) = client.timed("mem_search", &question(&notes[0], Some(&then)))?;
    println!("{size} memories and as many earlier texts; the first search of the past {first:.0} ms");
    let now = searches(&mut client, &notes, None)?;
    let past = searches(&mut client, &notes, Some(&then))?;
    for percent in [50.0, 95.0, 99.0] {
        let (now, past) = (percentile(&now, percent), percentile(&past, percent));
        println!("p{percent:.0}: now {now:.2} ms, then {past:.2} ms, {:.2} times", past / now);
    }
    drop(client);
    home.stop()
}

fn question(note: &Note, as_of: Option<&str>) -> serde_json::Value {
    let mut arguments = json!({ "query": note.query, "project": PROJECT });
    if let Some(as_of) = as_of {
        arguments["as_of"] = json!(as_of);
    }
    arguments
}

/// The time of each search, in milliseconds.
fn searches(client: &mut Client, notes: &[Note], as_of: Option<&str>) -> Result<Vec<f64>> {
    let step = (notes.len() / SEARCHES).max(1);
    let asked: Vec<&Note> = notes.iter().step_by(step).take(SEARCHES).collect();
    for note in asked.iter().rev().take(WARM) {
        client.timed("mem_search", &question(note, as_of))?;
    }
    asked.iter().map(|note| Ok(client.timed("mem_search", &question(note, as_of))?.1)).collect()
}
