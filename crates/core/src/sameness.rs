//! When two texts say the same: case, accents, blanks and the punctuation of prose are ignored, but never a difference in a
//! number, a version, a sign, a negation or an identifier.
//!
//! A text is brought into a form ([`form`]) by rules on its signs ([`signs`]). It is read with and without what may wrap it
//! ([`wrappers`], [`quoted`]) and as it may be encoded ([`decoded`]), whole and in parts ([`reading`]); what is read
//! is compared with what is noted of texts that no longer hold.

mod containment;
mod decoded;
mod form;
mod quoted;
mod reading;
mod signs;
#[cfg(test)]
mod spellings_tests;
mod wrappers;

pub use containment::{denies, says_all};
pub use form::normal;
pub use reading::{
    Part, noted, noted_as_written, noted_exactly, noted_with_title, parts, parts_with_title, readings, says,
    says_nothing,
};
pub use wrappers::set_apart;

use std::collections::BTreeSet;

use regex::Regex;

use crate::domain::Scope;

/// Length in words from which a content identifies a memory by itself.
const CONTENT_WORDS_MIN: usize = 8;
/// The same length for a content that repeats the subject of its title.
const NAMING_WORDS_MIN: usize = 5;

/// Where a text no longer holds.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    In(&'a Scope),
    /// In some project, whichever it is.
    SomeProject,
}

/// What the key of a text is made from: the place, and the forms of the title and the content; without a title, it is the
/// content under any title.
pub fn keyed(place: Place<'_>, title: Option<&str>, content: &str) -> String {
    let place = match place {
        Place::In(scope) => format!("{}\u{1f}{}", scope.name().as_str(), scope.project_name()),
        Place::SomeProject => "some project\u{1f}".to_owned(),
    };
    match title {
        Some(title) => format!("{place}\u{1f}whole\u{1f}{title}\u{1f}{content}"),
        None => format!("{place}\u{1f}content\u{1f}{content}"),
    }
}

/// Whether a content says the same under any title: it is long, or repeats what the title says it is about. "It is
/// 5432." means something else under each title.
pub fn is_self_contained(title: &str, content: &str) -> bool {
    let (title, content) = (normal(title), reading::statement(content));
    let words: BTreeSet<&str> = content.split(' ').collect();
    let count: usize = content.split(' ').map(length).sum();
    let named = title.split(' ').filter(|word| words.contains(word)).count();
    count >= CONTENT_WORDS_MIN || (count >= NAMING_WORDS_MIN && 2 * named >= title.split(' ').count())
}

/// How many words a run of letters is. Chinese and Japanese put no blanks between words, of about two letters; nor do Thai,
/// Burmese and Khmer, of about four.
fn length(word: &str) -> usize {
    let east =
        |c: &char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}');
    let south =
        |c: &char| matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    (word.chars().filter(east).count() / 2 + word.chars().filter(south).count() / 4).max(1)
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is part of the program, and a test compiles it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Project;

    #[test]
    fn case_blanks_and_punctuation_make_no_difference() {
        let text = "The store's port is 5432, since v1.2.3 (see src/main.rs): don't use `cache_size`!";
        let same = [
            "the STORE'S port is 5432, since V1.2.3 (see SRC/MAIN.RS): don't use `CACHE_SIZE`!",
            "  The store’s port\n\nis 5432,\tsince v1.2.3 (see src/main.rs): don’t use `cache_size`!  ",
            "The store's port is 5432 since v1.2.3; see src/main.rs. Don't use cache_size",
            "**The store's port** is 5432 — since v1.2.3 [see \"src/main.rs\"] … don't use “cache_size”?",
            "The store's port is ５４３２, since v1.2.3 (see src/main.rs): don't\u{200b} use `cache_size`!",
            "The st\u{34f}ore's port is 5432, since v1.2.3 (see src/main.rs):\u{e0041} don't use `cache\u{3164}_size`!",
        ];
        for other in same {
            assert_eq!(normal(other), normal(text));
        }
        assert_eq!(normal(text), "the stores port is 5432 since v1.2.3 see src/main.rs dont use cache_size");
        assert_eq!(normal(" … "), "");
        for (one, other) in [
            ("on cdn\u{2011}7", "on cdn-7"),
            ("10–20 MB", "10-20 MB"),
            ("the cache – if on", "the cache if on"),
        ] {
            assert_eq!(normal(one), normal(other), "{one}");
        }
    }

    #[test]
    fn blanks_make_no_difference_whatever_stands_between_them() {
        let text = "If p95 > 5 ms + 2 % of $ 30 or 7 € at -3 °C, then a = b && c; see --all and x >= y";
        for between in ["  ", "\n", " \n ", "\n\n", "\t\r\n", "\u{a0}", "\u{200b} "] {
            assert_eq!(normal(&text.replace(' ', between)), normal(text), "{between:?}");
        }
        assert_eq!(normal("5 % of 10 €, $ 3"), normal("5% of 10€, $3"));
        assert_eq!(normal("Since 2026 $HOME is 5 %s"), normal("Since 2026, $HOME is 5: %s"));
        // As quoted, and as an item, in Markdown.
        for mark in [">", "> >", "+", "-", "*", "●", "▪"] {
            assert_eq!(
                normal(&format!("{mark} One\n{mark} two > 1\n\n{mark} three")),
                "one two > 1 three",
                "{mark}"
            );
        }
    }

    #[test]
    fn long_runs_of_one_character_are_compared_in_linear_time() {
        // Looking back for each of them would take minutes.
        for sign in [">", "-", "+", "$ ", "> ", "+\n", "%"] {
            let text = sign.repeat(256 * 1024 / sign.len());
            assert!(normal(&text).len() <= text.len(), "{sign}");
        }
    }

    #[test]
    fn letters_with_unusual_capitals_are_folded() {
        for text in ["Die Straße führt vorbei", "ο λόγος", "the ﬁle", "istanbul ve ISPARTA"] {
            assert_eq!(normal(&text.to_uppercase()), normal(text), "{text}");
        }
    }

    #[test]
    fn the_exact_form_differs_in_case_and_accents_alone() {
        assert_eq!(normal("at 10 MB/s für é"), normal("at 10 mb/s fur e"));
        for (one, other) in [("at 10 MB/s", "at 10 mb/s"), ("für", "fur"), ("getUserById", "getUserByID")] {
            assert_ne!(noted_exactly(one), noted_exactly(other));
        }
        assert_eq!(noted_exactly("At 10 MB, by “getUserById”."), noted_exactly("At 10  MB by getUserById"));
        assert_ne!(noted_exactly("at 10"), noted("at 10"));
    }

    #[test]
    fn two_hundred_pairs_that_differ_in_one_significant_word_differ() {
        let subjects = ["the cache", "Redis", "the worker", "src/store.rs", "`max_size`"];
        for n in 0..40_u32 {
            let subject = subjects[n as usize % subjects.len()];
            let base = format!("{subject} keeps {n} entries since v2.{n}.0 and is enabled on node-{n}.");
            for other in [
                base.replace(&format!("keeps {n} "), &format!("keeps {} ", n + 1)),
                base.replace(&format!("v2.{n}.0"), &format!("v2.{n}.1")),
                base.replace("is enabled", "is not enabled"),
                base.replace(&format!("node-{n}"), &format!("node-{}", n + 100)),
                base.replace("is enabled", "isn't enabled"),
            ] {
                assert_ne!(base, other);
                assert_ne!(normal(&base), normal(&other));
            }
        }
    }

    #[test]
    fn the_key_of_a_text_has_its_place_and_its_title() {
        let scope = Scope::Project(Project::general());
        let places = [Place::In(&scope), Place::In(&Scope::Personal), Place::SomeProject];
        let all: BTreeSet<String> = places
            .into_iter()
            .flat_map(|place| {
                [Some("port"), Some("another title"), None].map(|title| keyed(place, title, "it is 5432"))
            })
            .collect();
        assert_eq!(all.len(), 9, "{all:?}");
        assert!(all.contains("project\u{1f}general\u{1f}whole\u{1f}port\u{1f}it is 5432"));
        assert!(all.contains("personal\u{1f}\u{1f}content\u{1f}it is 5432"));
    }

    #[test]
    fn a_content_is_self_contained_if_it_is_long_or_names_its_subject() {
        for (title, content, want) in [
            ("Port", "The database listens on port 5432 of the first host.", true),
            ("Ledger port", "The ledger listens on port 5432.", true),
            ("Mascot", "The mascot is an ibis.", true),
            ("Ledger port", "It is 5432.", false),
            ("Ledger port", "It listens on number 5432.", false),
            ("Where the gateway service listens", "The ledger has port 5432.", false),
            ("Port", "Port 5432.", false),
            ("缓存策略", "我们决定使用内存缓存来存储用户会话，因为数据库太慢了。", true),
            ("端口", "它是五四三二。", false),
            ("Port", "What: It has port 5432.", false),
            ("Port", "", false),
        ] {
            assert_eq!(is_self_contained(title, content), want, "{title}: {content}");
        }
    }
}
