//! How well an answer that quotes a hit is known, over sets of queries: `cargo run --release --example feedback -- SET…`
//!
//! A set is a folder with `memories.jsonl` (`id`, `text`) and `queries.jsonl` (`query`, `gold`). Each query is shown one of
//! the memories that answer it among the nine that follow it in the file, which are of the same conversation where it is
//! one. The answer quotes one sentence of it among other words; a shuffled one is the answer to the next query.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it reads, measures and prints; the rules do not"
)]

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use cerebro_core::domain::MemoryId;
use cerebro_core::feedback::quoted;
use serde_json::Value;

type BoxError = Box<dyn std::error::Error>;

/// Memories that are shown at once.
const SHOWN: usize = 10;
const BEFORE: &str = "I looked at this, and here is what I found so far. ";
const AFTER: &str =
    " The tests pass; please tell me whether this is what you wanted before anything depends on it.";

/// What was shown for a query, which of it the answer quotes, and the answer.
struct Case {
    asked: BTreeSet<String>,
    texts: Vec<(MemoryId, String)>,
    quoted: String,
    answer: String,
}

fn lines(path: &Path) -> Result<Vec<Value>, BoxError> {
    std::fs::read_to_string(path)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn cases(folder: &Path) -> Result<Vec<Case>, BoxError> {
    let memories = lines(&folder.join("memories.jsonl"))?;
    let text = |memory: &Value| memory["text"].as_str().unwrap_or_default().to_owned();
    let positions: HashMap<&str, usize> =
        memories.iter().enumerate().filter_map(|(n, memory)| Some((memory["id"].as_str()?, n))).collect();
    let mut cases = Vec::new();
    for (n, query) in lines(&folder.join("queries.jsonl"))?.iter().enumerate() {
        let gold = query["gold"].as_array().and_then(|gold| gold.first()).and_then(Value::as_str);
        let Some(position) = gold.and_then(|id| positions.get(id)).copied() else { continue };
        let quoted = text(&memories[position]);
        let sentences: Vec<&str> = quoted
            .split(['.', '!', '?', '\n'])
            .filter(|sentence| sentence.split_whitespace().count() >= 7)
            .collect();
        if sentences.is_empty() {
            continue;
        }
        let answer = format!("{BEFORE}{}.{AFTER}", sentences[n % sentences.len()]);
        let shown = (0..SHOWN.min(memories.len())).map(|step| &memories[(position + step) % memories.len()]);
        let texts = shown.map(|memory| (MemoryId::random(), text(memory))).collect();
        let words = query["query"].as_str().unwrap_or_default().to_lowercase();
        let asked = words.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect();
        cases.push(Case { asked, texts, quoted, answer });
    }
    Ok(cases)
}

fn main() -> Result<(), BoxError> {
    for folder in std::env::args().skip(1) {
        let cases = cases(Path::new(&folder))?;
        let (mut used, mut shuffled, mut mistaken) = (0_u32, 0_u32, 0_u32);
        for (n, case) in cases.iter().enumerate() {
            used += u32::from(quoted(&case.answer, &case.texts, &case.asked).contains(&case.texts[0].0));
            let other = &cases[(n + 1) % cases.len()];
            // What the other answer quotes is shown here too: no mistake.
            if case.texts.iter().all(|(_, text)| *text != other.quoted) {
                shuffled += 1;
                mistaken += u32::from(!quoted(&other.answer, &case.texts, &case.asked).is_empty());
            }
        }
        let share = |part: u32, whole: u32| 100.0 * f64::from(part) / f64::from(whole.max(1));
        let all = u32::try_from(cases.len())?;
        println!(
            "{folder}: {all} answers, {:.1} % known; {shuffled} shuffled, {:.1} % taken for a use",
            share(used, all),
            share(mistaken, shuffled)
        );
    }
    Ok(())
}
