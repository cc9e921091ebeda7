//! Which memories a message repeats, by words and runs of words that belong to one memory only.
//!
//! Words that occur in the question or in several memories are evidence for none of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use crate::{domain::MemoryId, text};

/// Share of a memory's own words that a message must hold.
const SHARE_MIN: f64 = 0.3;
/// Fewest such words, so that a common word alone does not count for a short memory.
const WORDS_MIN: usize = 4;
/// Length of a run that is a quotation whatever its words are, if at least `RUN_SIGNIFICANT_MIN` of them are
/// significant. Shorter runs are turns of speech.
const RUN_WORDS: usize = 10;
const RUN_SIGNIFICANT_MIN: usize = 2;
/// Length of a run that is a quotation because one of its words is the memory's own.
const OWN_RUN_WORDS: usize = 7;
/// Length from which a word is significant, in characters; shorter ones are mostly articles and the like.
const SIGNIFICANT_CHARS: usize = 5;
/// Most bytes of each text that are looked at.
const BYTES_MAX: usize = 32 * 1024;

/// The memories among `texts` that a message repeats; `asked` are the words of the questions.
pub fn quoted(message: &str, texts: &[(MemoryId, String)], asked: &BTreeSet<String>) -> Vec<MemoryId> {
    let read = |text: &str| text::fold(text::cut_bytes(text, BYTES_MAX));
    let folded = read(message);
    let message = words(&folded);
    let folded: Vec<String> = texts.iter().map(|(_, text)| read(text)).collect();
    let texts_words: Vec<Vec<&str>> = folded.iter().map(|text| words(text)).collect();
    let (message_words, message_runs, message_short_runs) =
        (words_of(&message), runs(&message, RUN_WORDS), runs(&message, OWN_RUN_WORDS));
    let in_one = |count: Option<&usize>| count == Some(&1);
    let counted = counts(texts_words.iter().map(|text| words_of(text)));
    let counted_runs = counts(texts_words.iter().map(|text| runs(text, RUN_WORDS)));
    let is_own = |word: &str| is_significant(word) && in_one(counted.get(word)) && !asked.contains(word);
    let is_quoted = |text: &[&str]| {
        let own: HashSet<&str> = words_of(text).into_iter().filter(|word| is_own(word)).collect();
        let common = own.intersection(&message_words).count();
        let by_words = common >= WORDS_MIN && common as f64 >= SHARE_MIN * own.len() as f64;
        let is_run = |run: &&[&str]| {
            in_one(counted_runs.get(*run))
                && run.iter().filter(|word| is_significant(word)).count() >= RUN_SIGNIFICANT_MIN
                && !run.iter().all(|word| asked.contains(*word))
        };
        let has_own = |run: &&[&str]| run.iter().any(|word| own.contains(word));
        by_words
            || runs(text, RUN_WORDS).intersection(&message_runs).any(is_run)
            || runs(text, OWN_RUN_WORDS).intersection(&message_short_runs).any(has_own)
    };
    let found = texts.iter().zip(&texts_words).filter(|(_, text)| is_quoted(text));
    found.map(|((id, _), _)| *id).collect()
}

/// In how many of the sets each item occurs.
fn counts<T: Hash + Eq>(sets: impl Iterator<Item = HashSet<T>>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for one in sets.flatten() {
        *counts.entry(one).or_default() += 1;
    }
    counts
}

/// The distinct words of a text.
fn words_of<'t>(text: &[&'t str]) -> HashSet<&'t str> {
    text.iter().copied().collect()
}

/// The distinct runs of `length` words.
fn runs<'a, 't>(text: &'a [&'t str], length: usize) -> HashSet<&'a [&'t str]> {
    text.windows(length).collect()
}

/// Whether a word is significant: it is long, or contains a digit.
fn is_significant(word: &str) -> bool {
    let chars = word.chars().count();
    chars >= SIGNIFICANT_CHARS || (chars > 1 && word.chars().any(|c| c.is_ascii_digit()))
}

/// The words of a folded text, in order.
pub(super) fn words(folded: &str) -> Vec<&str> {
    folded.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}
