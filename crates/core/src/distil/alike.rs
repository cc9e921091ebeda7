//! When one claim says what another one says: its words, and all that may not differ between them.

use std::collections::BTreeSet;

use crate::{text, truth};

/// Words with which a claim says that it is one.
const FRAME: [&str; 8] = ["user", "want", "pref", "like", "this", "that", "with", "when"];
/// Words that carry nothing; longer ones are told by their beginnings.
const FUNCTION: [&str; 30] = [
    "a", "an", "the", "of", "in", "to", "for", "and", "or", "is", "are", "be", "was", "it", "its", "by",
    "on", "at", "as", "all", "has", "use", "uses", "used", "they", "their", "them", "than", "then", "from",
];

/// Whether half of the words of a claim, or more, are the user's; by their beginnings, since they are inflected.
pub(super) fn is_told_by(claim: &str, users: &str) -> bool {
    let claimed = stems(claim);
    let shared = claimed.intersection(&stems(users)).count();
    shared > 0 && shared * 2 >= claimed.len()
}

fn stems(words: &str) -> BTreeSet<String> {
    const STEM_CHARS: usize = 4;
    let folded = text::fold(words);
    let words = folded.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().count() >= STEM_CHARS);
    let mut stems: BTreeSet<String> = long.map(|word| word.chars().take(STEM_CHARS).collect()).collect();
    stems.retain(|stem| !FRAME.contains(&stem.as_str()));
    stems
}

/// The pieces of a claim that somebody may run or open: what stands between backquotes, and addresses.
pub(super) fn literals(words: &str) -> Vec<String> {
    let quoted = words.split('`').skip(1).step_by(2);
    let addresses = words.split_whitespace().filter(|word| word.contains("://"));
    let bare = |word: &str| {
        word.trim_matches(|c: char| c == '`' || (c.is_ascii_punctuation() && c != '/')).to_owned()
    };
    quoted
        .map(|piece| piece.trim().to_owned())
        .chain(addresses.map(bare))
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// The words of a claim that have a digit.
fn numbers(claim: &str) -> BTreeSet<String> {
    let folded = text::fold(claim);
    let words = folded.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().any(char::is_numeric)).map(str::to_owned).collect()
}

/// Whether a claim (title and text) may carry another one: it has the numbers, commands and paths of that, denies as
/// much, and has half of its words. Whether both mean the same is left to the model, and to whoever reviews it.
pub(super) fn carries(carrier: (&str, &str), claim: (&str, &str)) -> bool {
    let whole = |(title, text): (&str, &str)| format!("{title} {text}");
    let (carrier_whole, claim_whole) = (whole(carrier), whole(claim));
    literals(&claim_whole).iter().all(|literal| carrier_whole.contains(literal.as_str()))
        && numbers(claim.1).is_subset(&numbers(&carrier_whole))
        && truth::denies(carrier.1) == truth::denies(claim.1)
        && is_told_by(claim.1, &carrier_whole)
}

/// Whether two claims say the same, so surely that nobody need look: their numbers, commands and paths are the same, both
/// deny or neither does, and all words of the shorter one, at least two, are half or more of those of the other.
pub fn say_the_same(one: &str, other: &str) -> bool {
    const WORDS_MIN: usize = 2;
    let (ours, theirs) = (telling(one), telling(other));
    let (few, many) = if ours.len() <= theirs.len() { (&ours, &theirs) } else { (&theirs, &ours) };
    let set = |claim: &str| literals(claim).into_iter().collect::<BTreeSet<_>>();
    few.len() >= WORDS_MIN
        && few.is_subset(many)
        && few.len() * 2 >= many.len()
        && numbers(one) == numbers(other)
        && set(one) == set(other)
        && truth::denies(one) == truth::denies(other)
}

/// The words of a claim that tell something, short ones whole and long ones by their beginnings.
fn telling(claim: &str) -> BTreeSet<String> {
    const STEM_CHARS: usize = 5;
    let folded = text::fold(claim);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_telling = |word: &&str| {
        let head: String = word.chars().take(4).collect();
        !FUNCTION.contains(word) && !FRAME.contains(&head.as_str())
    };
    words.filter(is_telling).map(|word| word.chars().take(STEM_CHARS).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_say_the_same_are_known_in_other_words() {
        for (one, other) in [
            ("The Makefile is indented with tabs.", "The user wants the Makefile to be indented with tabs."),
            ("Indent the Makefile by tabs", "Makefiles are indented with tabs"),
            (
                "`make test-store` runs the tests of the store.",
                "The tests of the store: `make test-store` runs them.",
            ),
        ] {
            assert!(say_the_same(one, other) && say_the_same(other, one), "{one} / {other}");
        }
    }

    #[test]
    fn claims_that_differ_in_one_word_that_matters_do_not() {
        for (one, other) in [
            ("The Makefile is indented with tabs.", "The Makefile is indented with spaces."),
            ("The Makefile is indented with tabs.", "The Makefile is not indented with tabs."),
            ("Packages are installed with apt.", "Packages are installed with yum."),
            ("The cache keeps 10 entries.", "The cache keeps 20 entries."),
            ("`make test` runs the tests.", "`make check` runs the tests."),
            ("Tabs.", "Tabs."),
            (
                "The store is tested.",
                "The store is tested on two machines, by hand, before each release, with old data.",
            ),
        ] {
            assert!(!say_the_same(one, other) && !say_the_same(other, one), "{one} / {other}");
        }
    }

    #[test]
    fn a_claim_carries_another_only_with_its_numbers_commands_and_denials() {
        let carrier = ("The cache", "The cache keeps 10 entries in `/var/cache/demo`.");
        assert!(carries(carrier, ("Cache", "The cache keeps entries in `/var/cache/demo`.")));
        for other in [
            "The cache keeps 20 entries.",
            "The cache lies in `/tmp`.",
            "The cache does not keep entries.",
            "Releases are cut on Fridays.",
        ] {
            assert!(!carries(carrier, ("Cache", other)), "{other}");
        }
    }
}
