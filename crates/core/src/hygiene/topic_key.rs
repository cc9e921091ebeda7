//! Topic keys: the stable name of a subject, `family/segment`.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use crate::{
    domain::limits::TOPIC_KEY_CHARS_MAX,
    redact::RedactedText,
    text::{cut_bytes, slug},
};

/// [`nearness`] from which two keys may be about the same subject.
pub const NEAR_MIN: f64 = 0.5;

/// Longest segment that is suggested.
const SEGMENT_CHARS_MAX: usize = 100;
/// How many words of the content make a segment when the title gives none.
const SEGMENT_WORDS: usize = 8;
/// How much of the content is read; a text names its subject at its beginning.
const CONTENT_BYTES: usize = 4_096;
/// Similarity of spelling from which keys of different families are near.
const SPELLING_MIN: f64 = 0.8;

/// Why a text is not a topic key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicKeyError {
    #[error("the topic key is empty: give one such as `bug/login-loop`, or none")]
    Empty,
    #[error("the topic key has {chars} characters and may have {TOPIC_KEY_CHARS_MAX}: shorten it")]
    TooLong {
        /// Its length in characters.
        chars: usize,
    },
}

/// Normalises a key: composed (NFC), lowercase, trimmed, every run of blanks a `-`, no control characters.
///
/// # Errors
/// [`TopicKeyError`] when nothing is left or more than 120 characters are.
pub fn normalise(key: &RedactedText) -> Result<RedactedText, TopicKeyError> {
    normal(key).map(RedactedText::derived)
}

fn normal(key: &str) -> Result<String, TopicKeyError> {
    let visible: String = key.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
    let small: String = visible.to_lowercase().nfc().collect();
    let key = small.split_whitespace().collect::<Vec<_>>().join("-");
    match key.chars().count() {
        0 => Err(TopicKeyError::Empty),
        chars if chars > TOPIC_KEY_CHARS_MAX => Err(TopicKeyError::TooLong { chars }),
        _ => Ok(key),
    }
}

/// A family of subjects.
struct Family {
    name: &'static str,
    /// The types that belong to the family.
    kinds: &'static [&'static str],
    /// Other words that indicate the family in a title or content.
    words: &'static [&'static str],
}

/// In the order in which a text is searched for their words. What went wrong is a better subject than where it went
/// wrong.
const FAMILIES: [Family; 9] = [
    Family {
        name: "bug",
        kinds: &["bug", "bugfix", "fix", "incident", "hotfix"],
        words: &[
            "bugs", "bugfixes", "fixes", "fixed", "fixing", "incidents", "crash", "crashes", "panic",
            "regression",
        ],
    },
    Family {
        name: "architecture",
        kinds: &["architecture", "design", "adr", "refactor"],
        words: &["architectural", "designs", "refactoring", "refactored"],
    },
    Family {
        name: "decision",
        kinds: &["decision"],
        words: &["decisions", "decide", "decided", "chose", "chosen", "tradeoff", "trade-off"],
    },
    Family {
        name: "pattern",
        kinds: &["pattern", "convention", "guideline"],
        words: &["patterns", "conventions", "guidelines"],
    },
    Family {
        name: "config",
        kinds: &["config", "setup", "infra", "ci"],
        words: &["configuration", "configure", "configured", "infrastructure"],
    },
    Family {
        name: "discovery",
        kinds: &["discovery", "investigation", "root-cause"],
        words: &["discoveries", "discovered", "investigate", "investigated"],
    },
    Family { name: "learning", kinds: &["learning"], words: &["learnings", "learned", "learnt", "lesson"] },
    Family {
        name: "preference",
        kinds: &["preference"],
        words: &["preferences", "prefer", "prefers", "preferred"],
    },
    Family { name: "session", kinds: &["session", "session-summary"], words: &["sessions"] },
];

/// Suggests the key for a memory: `family/segment`.
///
/// The family is that of the type. A type without a family (`manual`, an unknown one, none at all) is general: then
/// the title, and after it the beginning of the content, are searched for whole words of each family, in the order
/// of the table: bug, architecture, decision, pattern, config, discovery, learning, preference, session. Otherwise
/// it is `topic`.
///
/// The segment is the slug of the title, at most 100 characters, without the family's name at its beginning;
/// otherwise that of the first eight words of the content; otherwise `general`.
pub fn suggest(kind: Option<&str>, title: Option<&str>, content: Option<&str>) -> String {
    let title = slug(title.unwrap_or_default());
    let content = slug(cut_bytes(content.unwrap_or_default().trim_start(), CONTENT_BYTES));
    let family = family_of(&slug(kind.unwrap_or_default()))
        .or_else(|| family_in(&title))
        .or_else(|| family_in(&content))
        .unwrap_or("topic");
    let first_words = content.split('-').take(SEGMENT_WORDS).collect::<Vec<_>>().join("-");
    let segment = [title, first_words]
        .iter()
        .map(|slug| segment(family, slug))
        .find(|segment| !segment.is_empty())
        .unwrap_or_else(|| "general".to_owned());
    format!("{family}/{segment}")
}

fn family_of(kind: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|family| family.kinds.contains(&kind)).map(|family| family.name)
}

/// The first family one of whose words is in the slug.
fn family_in(slug: &str) -> Option<&'static str> {
    let words: BTreeSet<&str> = slug.split('-').collect();
    // The set rules out absent words quickly.
    let has = |word: &&str| word.split('-').all(|part| words.contains(part)) && has_word(slug, word);
    let named = |family: &&Family| family.kinds.iter().chain(family.words).any(has);
    FAMILIES.iter().find(named).map(|family| family.name)
}

/// Whether a word, or several with hyphens between them, is in the slug as a whole.
fn has_word(slug: &str, word: &str) -> bool {
    slug.match_indices(word).any(|(at, _)| {
        let (before, after) = (&slug[..at], &slug[at + word.len()..]);
        (before.is_empty() || before.ends_with('-')) && (after.is_empty() || after.starts_with('-'))
    })
}

fn segment(family: &str, slug: &str) -> String {
    let words = slug.split('-').skip_while(|word| *word == family);
    let rest = words.collect::<Vec<_>>().join("-");
    let cut: String = rest.chars().take(SEGMENT_CHARS_MAX).collect();
    cut.trim_end_matches('-').to_owned()
}

/// How near two normalised keys are, in 0..=1: the share of common words in their segments (Dice),
/// a little less across families, or the likeness of their spelling where that is high.
pub fn nearness(a: &str, b: &str) -> f64 {
    if a == b {
        return 1.0;
    }
    let spelling = spelling(a, b);
    let (family_a, segment_a) = a.split_once('/').unwrap_or(("", a));
    let (family_b, segment_b) = b.split_once('/').unwrap_or(("", b));
    let factor = if family_a == family_b { 0.95 } else { 0.6 };
    let words = factor * common_words(segment_a, segment_b);
    if spelling >= SPELLING_MIN { spelling.max(words) } else { words }
}

fn common_words(a: &str, b: &str) -> f64 {
    let words = |text: &'_ str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    let all = a.len() + b.len();
    if all == 0 {
        return 0.0;
    }
    2.0 * a.intersection(&b).count() as f64 / all as f64
}

/// One less the Levenshtein distance, as a share of the longer key.
fn spelling(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1.0;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    1.0 - row[b.len()] as f64 / longer as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_are_normalised_and_bounded() {
        for (key, want) in [
            (" Bug/Login  Loop\n", Ok("bug/login-loop")),
            ("a\0b\u{7}", Ok("ab")),
            ("Ошибка/вход", Ok("ошибка/вход")),
            ("Cafe\u{301}/MENU\u{308}", Ok("café/menü")),
            (" \t", Err(TopicKeyError::Empty)),
            ("\0", Err(TopicKeyError::Empty)),
        ] {
            assert_eq!(normal(key), want.map(str::to_owned), "{key:?}");
        }
        assert!(normal(&"é".repeat(120)).is_ok());
        assert_eq!(normal(&"é".repeat(121)), Err(TopicKeyError::TooLong { chars: 121 }));
    }

    #[test]
    fn each_type_has_its_family() {
        for (family, kinds) in [
            ("architecture", &["architecture", "design", "adr", "refactor"][..]),
            ("bug", &["bug", "bugfix", "fix", "incident", "hotfix"]),
            ("decision", &["decision"]),
            ("pattern", &["pattern", "convention", "guideline"]),
            ("config", &["config", "setup", "infra", "ci"]),
            ("discovery", &["discovery", "investigation", "root-cause"]),
            ("learning", &["learning"]),
            ("preference", &["preference"]),
            ("session", &["session_summary"]),
        ] {
            for kind in kinds {
                let key = suggest(Some(*kind), Some("Green Tea, twice!"), None);
                assert_eq!(key, format!("{family}/green-tea-twice"), "type {kind}");
            }
        }
    }

    #[test]
    fn suggestions() {
        let long = "word ".repeat(60);
        let long_key = format!("topic/{}", &slug(&long)[..99]);
        for (kind, title, content, want) in [
            ("architecture", "JWT auth model", "", "architecture/jwt-auth-model"),
            ("adr", "Use Kafka", "", "architecture/use-kafka"),
            ("bugfix", "Fix login", "", "bug/fix-login"),
            ("bugfix", "Bug: bug fix for login", "", "bug/fix-for-login"),
            ("Root_Cause", "Slow query", "", "discovery/slow-query"),
            ("session_summary", "Session 3", "", "session/3"),
            ("preference", "Tabs", "", "preference/tabs"),
            (
                "decision",
                "Decision",
                "we use tokio and not async std at all here",
                "decision/we-use-tokio-and-not-async-std-at",
            ),
            ("decision", "Decision", "", "decision/general"),
            ("manual", "Fixed the N+1 query", "", "bug/fixed-the-n-1-query"),
            ("manual", "Setup of CI", "fix", "config/setup-of-ci"),
            ("manual", "Prefix tables", "", "topic/prefix-tables"),
            ("manual", "We decided on Postgres", "The decision fell.", "decision/we-decided-on-postgres"),
            ("manual", "Naming convention of the modules", "", "pattern/naming-convention-of-the-modules"),
            ("decision", "  Use   Rust_2024 / Tokio?  ", "", "decision/use-rust-2024-tokio"),
            ("config", "config/ci cache", "", "config/ci-cache"),
            ("decision", "Архитектура кэша", "", "decision/архитектура-кэша"),
            ("manual", "Login loop", "The root cause was a cookie", "discovery/login-loop"),
            ("concept", "Event design", "", "architecture/event-design"),
            ("whatever", "Notes", "plain", "topic/notes"),
            ("", "", "", "topic/general"),
            ("bug", "!!!", "🎉", "bug/general"),
            ("bug", "修复登录错误", "", "bug/修复登录错误"),
            ("config", "Crème Brûlée", "", "config/creme-brulee"),
            ("", long.as_str(), "", long_key.as_str()),
        ] {
            assert_eq!(suggest(Some(kind), Some(title), Some(content)), want, "{kind} | {title}");
        }
        assert_eq!(suggest(None, None, Some("a b c d e f g h i j")), "topic/a-b-c-d-e-f-g-h");
        assert_eq!(suggest(None, None, None), "topic/general");
    }

    #[test]
    fn nearness_follows_family_words_and_spelling() {
        for (a, b, near) in [
            ("bug/login-loop", "bug/login-loop", true),
            ("bug/login-loop", "bug/login-redirect-loop", true),
            ("bug/login-loop", "bug/login-lop", true),
            ("bug/login-loop", "config/login-loop", true),
            ("auth", "auths", true),
            ("bug/login-loop", "bug/slow-query", false),
            ("bug/login-loop", "config/slow-query", false),
            ("bug/a", "bug/b", true),
            ("", "x", false),
        ] {
            let got = nearness(a, b);
            assert!((0.0..=1.0).contains(&got));
            assert_eq!(got >= NEAR_MIN, near, "{a} {b}: {got}");
            assert!((got - nearness(b, a)).abs() < 1e-9);
        }
        assert!(
            nearness("bug/login-loop", "bug/login-redirect-loop")
                < nearness("bug/login-loop", "bug/login-loop")
        );
    }

    proptest! {
        #[test]
        fn suggestions_are_valid_keys(kind in proptest::option::of(".{0,40}"), title in ".{0,150}", content in ".{0,150}") {
            let key = suggest(kind.as_deref(), Some(&title), Some(&content));
            let once = normal(&key);
            prop_assert_eq!(once.as_deref(), Ok(key.as_str()));
            let (family, segment) = key.split_once('/').unwrap();
            prop_assert!(!family.is_empty() && !segment.is_empty());
            prop_assert!(segment.chars().count() <= SEGMENT_CHARS_MAX);
        }

        #[test]
        fn normal_keys_stay(key in ".{0,130}") {
            if let Ok(once) = normal(&key) {
                prop_assert_eq!(normal(&once), Ok(once.clone()));
            }
        }
    }
}
