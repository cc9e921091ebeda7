//! Finds every place where a secret may be, in one search through the text.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::{command, cookie, name, rules::MATCHERS};

/// What a found literal indicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A secret of a known form: the index of its rule.
    Rule(usize),
    /// A name that suggests a secret.
    Name,
    /// A header with cookies.
    Cookie,
    /// A program that takes a password as an argument.
    Command,
    /// A tag of a private block.
    Private,
    /// A mark of an earlier redaction.
    Mark,
}

/// Where an anchor is in a text.
pub(super) struct Hit {
    pub range: Range<usize>,
    pub anchor: Anchor,
}

struct Anchors {
    automaton: AhoCorasick,
    /// What each pattern of the automaton leads to.
    targets: Vec<Anchor>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let rules = MATCHERS.iter().enumerate();
    let mut literals: Vec<(&str, Anchor)> = rules
        .flat_map(|(i, matcher)| matcher.anchors().into_iter().map(move |text| (text, Anchor::Rule(i))))
        .collect();
    literals.extend(name::ANCHORS.iter().map(|text| (*text, Anchor::Name)));
    literals.extend(command::ANCHORS.iter().map(|text| (*text, Anchor::Command)));
    literals.extend([
        (cookie::ANCHOR, Anchor::Cookie),
        ("private", Anchor::Private),
        ("[REDACTED:", Anchor::Mark),
    ]);
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(literals.iter().map(|(text, _)| *text))
        .expect("the anchors are constants, and few");
    Anchors { automaton, targets: literals.into_iter().map(|(_, anchor)| anchor).collect() }
});

/// The anchors in a text, in the order of their ends; those of rules in the order of the rules.
pub(super) fn hits(text: &str) -> Vec<Hit> {
    let Anchors { automaton, targets } = &*ANCHORS;
    let found = automaton.find_overlapping_iter(text);
    found.map(|found| Hit { range: found.range(), anchor: targets[found.pattern().as_usize()] }).collect()
}
