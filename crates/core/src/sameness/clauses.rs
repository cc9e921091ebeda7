//! Clauses of a sentence: `The queue was empty, and X, as agreed.` says X.
//!
//! A sentence that joins a text to others says it, too, unless what it joins denies or restricts it, as in `X, but only on Mondays` or
//! `If it is on, X`. No clause is cut behind a colon, because a name before a colon may be that of a place.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{compiled, containment::is_decisive, quoted::is_denying};

/// Most clauses of a sentence that is cut, and most of them that are left out on one side.
const CLAUSES_MAX: usize = 12;
const LEFT_OUT_MAX: usize = 3;
/// Fewest words of a clause that is left out: a shorter one may be an item of a list.
const WORDS_MIN: usize = 3;

/// Words with which a clause restricts what is said beside it, or asks, doubts or wishes. Those that deny are
/// [`super::containment`]'s and [`super::quoted`]'s.
const RESTRICTING: &[&str] = &[
    "if", "when", "whenever", "while", "whether", "since", "on", "in", "at", "for", "with", "within", "from",
    "under", "above", "below", "over", "during", "after", "where", "wherever", "than", "or", "either",
    "though", "although", "despite", "perhaps", "maybe", "probably", "possibly", "sometimes", "often",
    "usually", "mostly", "partly", "nearly", "almost", "roughly", "about", "theory", "ideally", "planned",
    "proposed", "draft", "legacy", "optional", "experimental", "should", "could", "might", "may", "would",
    "used", "once", "suppose", "assuming", "claims", "claim", "believed", "thought", "think", "doubt",
    "myth", "stop", "stopped", "reverted", "please", "check", "ask", "asked", "wenn", "falls", "bei", "auf",
    "im", "am", "für", "mit", "während", "nach", "vor", "seit", "bis", "ob", "oder", "vielleicht", "sollte",
    "könnte", "hypothetically", "per", "provided", "given", "long", "soon", "far", "had", "were", "most",
    "some", "every", "each", "twice", "till", "it", "its", "this", "that", "these", "those", "they", "them",
    "which", "who", "then", "following", "idea", "plan", "goal", "option", "alternative", "proposal", "hope",
    "wish", "guess", "imagine", "pretend", "according", "discussed", "considered", "tried", "wanted",
    "change", "changed", "fix", "moved", "raised", "lowered", "reduced", "increased", "renamed", "migrated",
    "switched", "reworked", "adjusted", "updated", "gone", "gave", "opposite", "mistake", "error", "bug",
    "problem", "assumption", "will", "must", "need", "let", "decide", "verify",
];

/// What separates clauses: commas, dashes, brackets, and words that join.
static BORDER: LazyLock<Regex> = LazyLock::new(|| {
    let sign = r"[,;]\s+|\s+[-–—]{1,2}\s+|—\s*|\s*[()\[\]]\s*";
    compiled(&format!(r"(?i)(?:{sign}|\s+)(?:and|so|because)\s+|{sign}"))
});

/// What a sentence says without some clauses at its beginning and its end that neither deny nor restrict the others. A
/// question says nothing.
pub(super) fn clauses(sentence: &str) -> Vec<&str> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for border in BORDER.find_iter(sentence).take(CLAUSES_MAX) {
        places.push(start..border.start());
        start = border.end();
    }
    places.push(start..sentence.len());
    if places.len() == 1 || places.len() > CLAUSES_MAX || sentence.trim_end().ends_with('?') {
        return Vec::new();
    }
    let is_plain = |at: usize| !restricts(&sentence[places[at].clone()]);
    let is_joined =
        |at: usize| joins(&sentence[places[at - 1].end..places[at].start], &sentence[places[at].clone()]);
    let before = (0..places.len()).take(LEFT_OUT_MAX).take_while(|at| is_plain(*at)).count();
    let behind =
        (1..places.len()).rev().take(LEFT_OUT_MAX).take_while(|at| is_joined(*at) && is_plain(*at)).count();
    let pairs = (0..=before).flat_map(|first| (0..=behind).map(move |last| (first, last)));
    pairs
        .filter(|(first, last)| first + last > 0 && first + last < places.len())
        .map(|(first, last)| &sentence[places[first].start..places[places.len() - 1 - last].end])
        .collect()
}

/// Whether a clause behind another one only joins it: `…, and the queue was empty`, `…, as everybody knows`. Any other is an item
/// of a list or a remark on the other: `… (the docs disagree)`.
fn joins(border: &str, clause: &str) -> bool {
    let (border, clause) = (border.to_lowercase(), clause.to_lowercase());
    let is_joining = ["and", "because"].iter().any(|word| border.contains(word)) || clause.starts_with("as ");
    is_joining && !border.contains(['(', '[']) || !clause.contains(char::is_alphanumeric)
}

/// Whether a clause may change the meaning of what is said beside it.
fn restricts(clause: &str) -> bool {
    let clause = clause.trim();
    // As a name, `was` denies; as a verb, it does not.
    let is_restricting = |word: &str| {
        let denies = !word.eq_ignore_ascii_case("was") && is_denying(word);
        denies || RESTRICTING.contains(&word.to_lowercase().as_str())
    };
    let words = || clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    clause.contains([':', '?'])
        || (1..WORDS_MIN).contains(&words().count())
        || words().any(is_restricting)
        || is_decisive(clause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_said() {
        for sentence in [
            "The queue was empty, and the heron is fed at noon.",
            "The queue was empty and the heron is fed at noon, as we all know.",
            "We all looked again, the heron is fed at noon - as everybody knows.",
            "The queue was empty (the heron is fed at noon).",
            "We looked again, because the heron is fed at noon, and the otter slept.",
        ] {
            let found = clauses(sentence);
            let is_said = found.iter().any(|one| one.trim_end_matches('.') == "the heron is fed at noon");
            assert!(is_said, "{sentence}: {found:?}");
        }
    }

    #[test]
    fn what_is_denied_restricted_or_asked_is_not() {
        for sentence in [
            "The heron is fed at noon",
            "the heron is fed at noon, at dawn, and late",
            "the heron is fed at noon, dusk and dawn",
            "If the flag is set, the heron is fed at noon.",
            "On Windows, the heron is fed at noon.",
            "The old way was easy, and the heron is fed at noon.",
            "the heron is fed at noon, but only on Mondays.",
            "the heron is fed at noon (since v3).",
            "the heron is fed at noon (wrong)",
            "Nobody says so, and the heron is fed at noon.",
            "staging: it is off, and the heron is fed at noon.",
            "We asked, and the heron is fed at noon?",
            "the heron is fed at noon, and we lowered the pace.",
            "the heron is fed at noon, and then the keeper left.",
            "the heron is fed at noon, which has changed.",
            "the heron is fed at noon, as long as the keeper lives.",
            "the heron is fed at noon, provided the keeper lives.",
            "the heron is fed at noon, the early dusk and the late dawn.",
            "the heron is fed at noon (the docs disagree).",
            "the heron is fed at noon (does anybody know?).",
            "Provided the keeper lives, the heron is fed at noon.",
            "Every second week, the heron is fed at noon.",
            "The idea was, the heron is fed at noon.",
            "Had the keeper lived, the heron is fed at noon.",
        ] {
            let found = clauses(sentence);
            let is_said = found.iter().any(|one| one.trim_end_matches('.') == "the heron is fed at noon");
            assert!(!is_said, "{sentence}: {found:?}");
        }
    }
}
