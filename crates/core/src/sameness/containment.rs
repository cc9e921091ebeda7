//! When one memory may replace another without loss: it contains every sentence of the other, and what it says
//! beyond that has no number, version, name or negation.
//!
//! Likeness cannot decide this: texts that differ in one decisive word are as alike as texts that say the same.

use super::normal;

/// Words that do not change a statement.
const ARTICLES: [&str; 3] = ["a", "an", "the"];

/// Words that negate or restrict a statement, in the form that [`normal`] gives them.
pub(super) const NEGATIONS: [&str; 54] = [
    "not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot", "cant", "dont",
    "doesnt", "didnt", "isnt", "arent", "aint", "wasnt", "werent", "wont", "wouldnt", "shouldnt", "couldnt",
    "mustnt", "neednt", "hasnt", "havent", "hadnt", "except", "unless", "only", "instead", "but", "however",
    "formerly", "deprecated", "disabled", "removed", "obsolete", "wrong", "false", "nicht", "nichts", "kein",
    "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "niemand", "weder", "ohne",
];

/// Whether `kept` (title and content) says everything that `other` says, and nothing decisive beyond it. Case,
/// blanks, articles and the punctuation of prose do not matter; the order of the sentences does.
pub fn says_all(kept: (&str, &str), other: (&str, &str)) -> bool {
    let (kept_title, other_title) = (words(kept.0), words(other.0));
    let (kept_text, other_text) = (sentences(kept.1), sentences(other.1));
    let mut extra: Vec<&Sentence<'_>> = Vec::new();
    let mut wanted = other_text.iter().peekable();
    for sentence in &kept_text {
        match wanted.next_if(|next| next.words == sentence.words) {
            Some(_) => {}
            None => extra.push(sentence),
        }
    }
    let holds_title = other_title == kept_title || kept_text.iter().any(|one| one.words == other_title);
    let title = Sentence { raw: kept.0, words: kept_title };
    let titles_differ = title.words != other_title && !other_text.iter().any(|one| one.words == title.words);
    wanted.peek().is_none()
        && holds_title
        && extra.into_iter().chain(titles_differ.then_some(&title)).all(|one| !one.is_significant())
}

/// Whether a text negates or restricts a statement.
pub fn denies(text: &str) -> bool {
    words(text).iter().any(|word| NEGATIONS.contains(&word.as_str()))
}

/// A sentence, or a line of its own such as an item of a list.
struct Sentence<'a> {
    raw: &'a str,
    /// Its words in the form of [`normal`], without articles.
    words: Vec<String>,
}

impl Sentence<'_> {
    /// Whether it has something in which statements may differ: a number, a version, a sign, a name or a negation.
    fn is_significant(&self) -> bool {
        let is_plain =
            |word: &String| word.chars().all(char::is_alphabetic) && !NEGATIONS.contains(&word.as_str());
        self.raw.contains('`') || !self.words.iter().all(is_plain) || has_name(self.raw)
    }
}

/// Whether a word looks like a name: it has a capital where no sentence begins.
fn has_name(sentence: &str) -> bool {
    let mut words = sentence.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let inner =
        |word: &str| word.chars().skip_while(|c| !c.is_alphanumeric()).skip(1).any(char::is_uppercase);
    words.next().is_some_and(inner) || words.any(|word| word.chars().any(char::is_uppercase))
}

fn words(text: &str) -> Vec<String> {
    let normal = normal(text);
    normal.split(' ').filter(|word| !word.is_empty() && !ARTICLES.contains(word)).map(str::to_owned).collect()
}

/// The sentences of a text that have words.
fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let sentence = |raw| Sentence { raw, words: words(raw) };
    pieces(text).into_iter().map(sentence).filter(|one| !one.words.is_empty()).collect()
}

/// A text cut behind each sentence and before each item. A line that continues on the next one is joined with it.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if end <= start {
            continue;
        }
        let rest = &text[end..];
        let beyond = match c {
            // What closes a sentence belongs to it: `“So.” Then`, `**So.** Then`.
            '.' | '!' | '?' | ';' => {
                let beyond = rest.trim_start_matches(['"', '\'', ')', ']', '*', '_', '`', '”', '’', '»']);
                beyond.chars().next().is_none_or(char::is_whitespace).then_some(beyond)
            }
            '。' | '！' | '？' => Some(rest),
            '\n' => begins_item(rest).then_some(rest),
            _ => None,
        };
        if let Some(beyond) = beyond {
            let end = text.len() - beyond.len();
            found.push(&text[start..end]);
            start = end;
        }
    }
    found.push(&text[start..]);
    found
}

/// Whether a line begins a block of its own: it is empty, indented like code, or has the mark of a list, table or
/// heading.
fn begins_item(line: &str) -> bool {
    let line = line.split('\n').next().unwrap_or_default();
    let text = line.trim_start();
    let is_numbered = text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')']);
    line.starts_with("    ")
        || text.is_empty()
        || text.starts_with(['-', '*', '+', '#', '>', '|', '`'])
        || text.starts_with(|c: char| c.is_ascii_digit()) && is_numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(kept: &str, other: &str) -> bool {
        says_all(("Title", kept), ("Title", other))
    }

    #[test]
    fn the_same_in_another_form_is_contained() {
        let text =
            "The cache keeps 10 entries. It is never flushed by hand; see `src/cache.rs`.\n- first\n- second";
        for other in [
            "the cache keeps 10 entries. It is never flushed by hand; see src/cache.rs.\n* First\n* Second",
            "Cache keeps 10\nentries.\nIt is never flushed by hand; see src/cache.rs\n\n- first.\n- second!",
        ] {
            assert!(all(text, other) && all(other, text), "{other}");
        }
        assert!(!all("The cache keeps 10 entries.", text), "a part of it is not the whole");
    }

    #[test]
    fn what_is_added_may_not_be_significant() {
        let text = "The cache keeps ten entries.";
        assert!(all(&format!("{text} That was good enough so far."), text));
        for beyond in [
            "That is not so any more.",
            "It was 20 before.",
            "Since v2 too.",
            "So does Redis.",
            "See `cache`.",
            "It is set by cache_size.",
            "Only on Sundays.",
            "The old one is disabled.",
        ] {
            assert!(!all(&format!("{text} {beyond}"), text), "{beyond}");
        }
    }

    #[test]
    fn titles_count_and_so_does_the_order() {
        let text = "It listens on port 5432.";
        assert!(says_all(("The port", text), ("Port", text)));
        assert!(!says_all(("Port of staging", text), ("Port of production", text)));
        assert!(
            !says_all(("Port in Berlin", text), ("It listens on port 5432", text)),
            "its own title is telling"
        );
        assert!(says_all(("Where it listens", text), ("It listens on port 5432", text)));
        assert!(!all("Close it. Then open it.", "Then open it. Close it."));
    }

    #[test]
    fn two_hundred_pairs_that_differ_in_one_token_are_not_the_same() {
        let subjects = ["the cache", "Redis", "the worker", "src/store.rs", "`max_size`"];
        let tail = "and nobody has to look at it again because the whole of it is written down here for good in one \
                    place that all of them know and read at the beginning of a day";
        let mut pairs = 0;
        for n in 0..40_u32 {
            let subject = subjects[n as usize % subjects.len()];
            let base = format!(
                "{subject} keeps {n} entries since v2.{n}.0 and is enabled before lunch on node-{n} {tail}"
            );
            for other in [
                base.replace(&format!("keeps {n} "), &format!("keeps {} ", n + 1)),
                base.replace(&format!("v2.{n}.0"), &format!("v2.{n}.1")),
                base.replace("is enabled", "is not enabled"),
                base.replace(&format!("node-{n}"), &format!("node-{}", n + 100)),
                base.replace("before lunch", "after lunch"),
            ] {
                assert_ne!(base, other);
                assert!(!all(&base, &other) && !all(&other, &base), "{other}");
                pairs += 1;
            }
        }
        assert_eq!(pairs, 200);
    }
}
