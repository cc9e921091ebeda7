//! `cerebro model compare`: measures how well and how fast the installed models find the answers to a set of
//! questions.
//!
//! A set is a folder in the format of retrieval benchmarks (BEIR): `corpus.jsonl` with `_id`, `title` and `text`
//! per line, `queries.jsonl` with `_id` and `text`, and `qrels.tsv` or `qrels/test.tsv` with question, passage and
//! grade, separated by tabs. Models are measured alone, without words and other ranking signals.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::super::prelude::*;
use super::{folder, settings};
use crate::cli::table::ms;
use crate::home::Home;
use cerebro_core::redact::redact_text;
use cerebro_models::embed::{self, Embedder, Provider, Purpose, Settings};

/// Most passages and questions of a set.
const PASSAGES_MAX: usize = 20_000;
const QUESTIONS_MAX: usize = 2_000;
/// Most bytes of a file of a set.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How many of the nearest passages are scored.
const PLACES: usize = 10;

/// Measure the installed models on a set of questions and passages of your own
///
/// The folder contains corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels.tsv or qrels/test.tsv
/// (question, passage, grade), as retrieval benchmarks do, with at most 20,000 passages and 2,000 questions.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The folder of the set
    #[arg(long, value_name = "FOLDER")]
    data: PathBuf,
    /// Only these models [default: all that are installed]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

const COLUMNS: &[(&str, Layout)] = &[
    ("model", Layout::Fixed),
    ("dimension", Layout::Count),
    ("found in 10", Layout::Count),
    ("first place", Layout::Count),
    ("a question", Layout::Count),
    ("a passage", Layout::Count),
];

/// Questions, passages, and which answer which.
#[derive(Debug, Default)]
struct Set {
    passages: Vec<String>,
    /// Each with the places of the passages that answer it.
    questions: Vec<(String, HashSet<usize>)>,
}

impl Set {
    fn read(folder: &Path) -> Result<Self> {
        let passages = lines(&folder.join("corpus.jsonl"), PASSAGES_MAX)?;
        let ids: HashMap<String, usize> =
            passages.iter().enumerate().map(|(at, passage)| (id(passage), at)).collect();
        let mut answers: HashMap<String, HashSet<usize>> = HashMap::new();
        for line in read(&judgements(folder))?.lines() {
            let mut fields = line.split('\t');
            let (Some(question), Some(passage), Some(grade)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            // The heading has no grade, and a grade of 0 says that it is no answer.
            let is_answer = grade.trim().parse::<f64>().is_ok_and(|grade| grade > 0.0);
            if let Some(at) = ids.get(passage).filter(|_| is_answer) {
                answers.entry(question.to_owned()).or_default().insert(*at);
            }
        }
        let questions = lines(&folder.join("queries.jsonl"), usize::MAX)?;
        let questions = questions.iter().filter_map(|question| {
            Some((question["text"].as_str()?.to_owned(), answers.remove(&id(question))?))
        });
        let questions: Vec<_> = questions.take(QUESTIONS_MAX).collect();
        if questions.is_empty() {
            return Err(Error::user("no question of this set has an answer among its passages"));
        }
        Ok(Self { passages: passages.iter().map(text).collect(), questions })
    }
}

fn id(line: &Value) -> String {
    line["_id"].as_str().map_or_else(|| line["_id"].to_string(), str::to_owned)
}

/// A passage with its title before it.
fn text(passage: &Value) -> String {
    let part = |name: &str| passage[name].as_str().unwrap_or_default();
    format!("{}\n{}", part("title"), part("text")).trim().to_owned()
}

fn judgements(folder: &Path) -> PathBuf {
    let plain = folder.join("qrels.tsv");
    if plain.is_file() { plain } else { folder.join("qrels").join("test.tsv") }
}

fn read(path: &Path) -> Result<String> {
    let length = fs::metadata(path).map_err(|error| Error::file("read", path, &error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(Error::user(format!("{} is longer than {FILE_BYTES_MAX} bytes", path.display())));
    }
    fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))
}

fn lines(path: &Path, most: usize) -> Result<Vec<Value>> {
    let text = read(path)?;
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value = serde_json::from_str(line)
            .map_err(|error| Error::user(format!("{}:{}: {error}", path.display(), number + 1)))?;
        values.push(value);
        if values.len() > most {
            return Err(Error::user(format!("{} has more than {most} lines", path.display())));
        }
    }
    Ok(values)
}

pub async fn run(context: &CommandContext, home: &Home, args: CompareArgs) -> Result<()> {
    let set = Set::read(&args.data)?;
    let folder = folder(home);
    let names = if args.names.is_empty() { folder.names()? } else { args.names };
    if names.is_empty() {
        return Err(Error::user("no model is installed").hint("`cerebro model list` shows what there is"));
    }
    let usual = settings(home)?;
    let mut rows = Vec::new();
    for name in names {
        let settings = Settings { provider: Provider::Local, model: name.clone(), ..usual.clone() };
        let embedder = embed::open(&settings, &folder)?
            .ok_or_else(|| Error::user(format!("the model `{name}` is not installed")))?;
        let progress =
            context.output.progress(Some(set.passages.len() as u64), "{msg} {bar:30} {pos} of {len}");
        progress.set_message(name.clone());
        let measured = measure(embedder.as_ref(), &set, |count| progress.inc(count)).await;
        progress.finish_and_clear();
        let Measured { found, first, question, passage } = measured?;
        rows.push(json!({
            "model": name, "dimension": embedder.model().dimension, "recall_at_10": found, "mrr_at_10": first,
            "query_ms": ms(question), "passage_ms": ms(passage),
        }));
    }
    let (passages, questions) = (set.passages.len(), set.questions.len());
    context.output.json(&json!({ "passages": passages, "questions": questions, "models": rows }))?;
    let mut table = Table::new(COLUMNS);
    for row in &rows {
        let number = |name: &str| row[name].as_f64().unwrap_or_default();
        table.add(vec![
            row["model"].as_str().unwrap_or_default().to_owned(),
            row["dimension"].to_string(),
            format!("{:.1} %", number("recall_at_10") * 100.0),
            format!("{:.3}", number("mrr_at_10")),
            format!("{:.1} ms", number("query_ms")),
            format!("{:.1} ms", number("passage_ms")),
        ]);
    }
    context.output.table(&table, "no model is installed")?;
    context.output.note(&format!("{questions} questions, {passages} passages"));
    Ok(())
}

/// What a model is worth on a set.
struct Measured {
    /// The share of a question's answers that are in the first places, in the mean.
    found: f64,
    /// One divided by the place of the first answer, in the mean.
    first: f64,
    /// How long a question took, and a passage, in the mean.
    question: Duration,
    passage: Duration,
}

async fn measure(embedder: &dyn Embedder, set: &Set, done: impl Fn(u64)) -> Result<Measured> {
    let begun = Instant::now();
    let mut passages = Vec::with_capacity(set.passages.len());
    for batch in set.passages.chunks(embedder.batch_max().max(1)) {
        let texts = batch.iter().map(|text| redact_text(text).value).collect();
        passages.extend(embedder.embed(Purpose::Passage, texts).await?.vectors);
        done(batch.len() as u64);
    }
    let passage = share(begun.elapsed(), set.passages.len());
    let (mut found, mut first, mut asked) = (0.0, 0.0, Duration::ZERO);
    for (question, answers) in &set.questions {
        let begun = Instant::now();
        let made = embedder.embed(Purpose::Query, vec![redact_text(question).value]).await?;
        asked += begun.elapsed();
        let places = nearest(made.vectors.first().map_or(&[], Vec::as_slice), &passages);
        let (share, reciprocal) = worth(&places, answers);
        found += share;
        first += reciprocal;
    }
    let count = set.questions.len() as f64;
    let question = share(asked, set.questions.len());
    Ok(Measured { found: found / count, first: first / count, question, passage })
}

fn share(time: Duration, count: usize) -> Duration {
    time / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

/// The nearest passages, by the cosine of vectors of unit length; of equal ones the earlier.
fn nearest(question: &[f32], passages: &[Vec<f32>]) -> Vec<usize> {
    let likeness = |passage: &Vec<f32>| passage.iter().zip(question).map(|(a, b)| a * b).sum::<f32>();
    let mut all: Vec<(f32, usize)> = passages.iter().map(likeness).zip(0..).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(PLACES).map(|(_, at)| at).collect()
}

/// The share of the answers that are among these places, and one divided by the place of the first.
fn worth(places: &[usize], answers: &HashSet<usize>) -> (f64, f64) {
    let found = places.iter().filter(|at| answers.contains(at)).count();
    let first = places.iter().position(|at| answers.contains(at));
    // No answer of ten places can hold more than ten.
    let best = answers.len().clamp(1, PLACES);
    (found as f64 / best as f64, first.map_or(0.0, |place| 1.0 / (place + 1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_worth_its_place() {
        let answers = HashSet::from([3, 7]);
        assert_eq!(worth(&[1, 3, 5], &answers), (0.5, 0.5));
        assert_eq!(worth(&[7, 3], &answers), (1.0, 1.0));
        assert_eq!(worth(&[1], &answers), (0.0, 0.0));
        let many: HashSet<usize> = (0..50).collect();
        assert_eq!(worth(&(0..10).collect::<Vec<_>>(), &many), (1.0, 1.0));
    }

    #[test]
    fn the_nearest_come_first_and_of_equal_ones_the_earlier() {
        let passages = vec![vec![0.0, 1.0], vec![1.0, 0.0], vec![1.0, 0.0]];
        assert_eq!(nearest(&[1.0, 0.0], &passages), [1, 2, 0]);
    }

    #[test]
    fn a_set_is_read_and_what_is_no_answer_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put("corpus.jsonl", "{\"_id\":\"a\",\"title\":\"T\",\"text\":\"x\"}\n\n{\"_id\":7,\"text\":\"y\"}\n");
        put("queries.jsonl", "{\"_id\":\"q\",\"text\":\"why\"}\n{\"_id\":\"none\",\"text\":\"?\"}\n");
        put("qrels.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\nq\t7\t0\nnone\tgone\t1\n");
        let set = Set::read(folder.path()).unwrap();
        assert_eq!(set.passages, ["T\nx", "y"]);
        assert_eq!(set.questions, [("why".to_owned(), HashSet::from([0]))]);
        put("qrels.tsv", "q\tgone\t1\n");
        assert!(Set::read(folder.path()).is_err());
    }
}
