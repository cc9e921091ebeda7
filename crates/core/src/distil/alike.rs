//! Whether two claims say the same, by their words and by what must not differ: numbers, literals and negations.

use std::collections::BTreeSet;

use crate::{sameness::denies, text};

/// Stems that frame a claim, such as `user` and `want`, and say nothing about its subject.
const FRAME: [&str; 8] = ["user", "want", "pref", "like", "this", "that", "with", "when"];
/// Function words too short to be known by their stems.
const FUNCTION: [&str; 30] = [
    "a", "an", "the", "of", "in", "to", "for", "and", "or", "is", "are", "be", "was", "it", "its", "by",
    "on", "at", "as", "all", "has", "use", "uses", "used", "they", "their", "them", "than", "then", "from",
];

/// Whether a claim tells what the user said: at least half of its words are theirs, and both or neither deny something.
pub(super) fn tells_of(claim: &str, users: &str) -> bool {
    is_worded_by(claim, users) && denies(claim) == denies(users)
}

/// Whether a claim says nothing but what the user said: all of its words, numbers and literals are theirs, and both or
/// neither deny something.
pub fn is_users_own(claim: &str, users: &str) -> bool {
    significant(claim).is_subset(&significant(users))
        && numbers(claim).is_subset(&numbers(users))
        && literals(claim).iter().all(|literal| users.contains(literal.as_str()))
        && denies(claim) == denies(users)
}

/// Whether at least half of the words of a claim are the user's. Words are compared by their stems.
pub(super) fn is_worded_by(claim: &str, users: &str) -> bool {
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

/// The pieces of a claim that somebody may run or open: text between backquotes, and URLs.
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

/// The words of a claim that contain a digit.
fn numbers(claim: &str) -> BTreeSet<String> {
    let folded = text::fold(claim);
    let words = folded.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().any(char::is_numeric)).map(str::to_owned).collect()
}

/// Whether one claim (title and text) may replace another: it contains the other's numbers and literals and half
/// of its words, and both or neither deny something. Whether they mean the same is left to the model and the
/// reviewer.
pub(super) fn carries(carrier: (&str, &str), claim: (&str, &str)) -> bool {
    let whole = |(title, text): (&str, &str)| format!("{title} {text}");
    let (carrier_whole, claim_whole) = (whole(carrier), whole(claim));
    literals(&claim_whole).iter().all(|literal| carrier_whole.contains(literal.as_str()))
        && numbers(claim.1).is_subset(&numbers(&carrier_whole))
        && denies(carrier.1) == denies(claim.1)
        && is_worded_by(claim.1, &carrier_whole)
}

/// Whether two claims certainly say the same: their numbers and literals are equal, both or neither deny something,
/// and the words of the shorter one (at least two) all occur in the longer one and make up at least half of it.
pub fn say_the_same(one: &str, other: &str) -> bool {
    const WORDS_MIN: usize = 2;
    let (ours, theirs) = (significant(one), significant(other));
    let (few, many) = if ours.len() <= theirs.len() { (&ours, &theirs) } else { (&theirs, &ours) };
    let set = |claim: &str| literals(claim).into_iter().collect::<BTreeSet<_>>();
    few.len() >= WORDS_MIN
        && few.is_subset(many)
        && few.len() * 2 >= many.len()
        && numbers(one) == numbers(other)
        && set(one) == set(other)
        && denies(one) == denies(other)
}

/// Whether one claim (title and text) certainly says all that another says: their texts say the same, and every word of
/// the other is in it, as it is spelled there.
pub(super) fn covers(carrier: (&str, &str), claim: (&str, &str)) -> bool {
    let words = |(title, text): (&str, &str)| -> BTreeSet<String> {
        let folded = text::fold(&format!("{title} {text}"));
        let words = folded.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty() && !FUNCTION.contains(word)).map(str::to_owned).collect()
    };
    say_the_same(carrier.1, claim.1) && words(claim).is_subset(&words(carrier))
}

/// Whether a text may be about a command: between backquotes it names a part of it, or nothing, or in its words it names all of
/// it. One word, such as `make`, may also be a verb, so it counts only between backquotes.
pub(super) fn may_name(text: &str, command: &str) -> bool {
    let literals = literals(text);
    literals.is_empty()
        || literals.iter().any(|literal| has_words(command, literal))
        || (command.contains(' ') && has_words(text, command))
}

/// Whether a text has these words, one after another. The punctuation around a word does not count.
pub(super) fn has_words(text: &str, words: &str) -> bool {
    let is_around = |c: char| ".,;:!?()'\"`“”".contains(c);
    let plain = |text: &str| {
        let words = text.split_whitespace().map(|word| word.trim_matches(is_around));
        format!(" {} ", words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    };
    plain(text).contains(&plain(words))
}

/// The significant words of a claim, cut to their stems.
fn significant(claim: &str) -> BTreeSet<String> {
    const STEM_CHARS: usize = 5;
    let folded = text::fold(claim);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_significant = |word: &&str| {
        let head: String = word.chars().take(4).collect();
        !FUNCTION.contains(word) && !FRAME.contains(&head.as_str())
    };
    words.filter(is_significant).map(|word| word.chars().take(STEM_CHARS).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_say_the_same_in_other_words_are_recognised() {
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
    fn a_claim_covers_another_only_if_no_word_of_it_is_lost() {
        let carrier =
            ("The Redis container", "The Redis container restarts because its memory limit is too small.");
        for same in [
            ("Redis", "The Redis container restarts because its memory limit is too small."),
            ("Redis", "The container of Redis restarts because the memory limit is too small."),
        ] {
            assert!(covers(carrier, same), "{same:?}");
        }
        for other in [
            ("Redis", "The Kafka container restarts because its memory limit is too small."),
            ("Kafka", "The container restarts because its memory limit is too small."),
            ("Redis", "The Redistribution container restarts because its memory limit is too small."),
            ("Redis", "The Redis container restarts because its memory limit is too small at night."),
            ("Redis", "The Redis container never restarts because its memory limit is too small."),
        ] {
            assert!(!covers(carrier, other), "{other:?}");
        }
    }

    #[test]
    fn a_claim_is_the_users_own_if_every_word_of_it_is_theirs() {
        let users = "Please use tabs in the Makefile, `make fmt` indents it by 4.";
        for own in
            ["The Makefile is indented with tabs.", "`make fmt` indents the Makefile.", "Indented by 4 tabs"]
        {
            assert!(is_users_own(own, users), "{own}");
        }
        for other in [
            "The Makefile is indented with spaces.",
            "The Makefile is not indented with tabs.",
            "`make` indents the Makefile with `tabs in`, and 8 of them.",
            "`fmt make` indents the Makefile.",
            "Kindly run the installer.",
        ] {
            assert!(!is_users_own(other, users), "{other}");
        }
        assert!(!is_users_own("The Makefile is indented with tabs.", ""), "nobody said anything");
    }

    #[test]
    fn a_text_may_be_about_a_command_unless_it_names_another() {
        let line = "cargo test -p store";
        for naming in [
            "`cargo test` runs the tests.",
            "`cd crates && cargo test -p store | tail` runs the tests.",
            "Running cargo test -p store, one tests `Store`.",
            "The tests of the store run.",
        ] {
            assert!(may_name(naming, line), "{naming}");
        }
        for other in ["`evil.sh` repairs the build.", "There are `stores` and `test -p s`."] {
            assert!(!may_name(other, line), "{other}");
        }
        assert!(may_name("`make` builds it.", "make") && !may_name("They make sure of `it`.", "make"));
    }

    #[test]
    fn a_claim_replaces_another_only_with_its_numbers_commands_and_negations() {
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
