//! Which listed memories have a later one on the same subject beside them. This only sets a mark; only an explicit
//! supersession changes the order.

use std::collections::BTreeMap;

use crate::{
    domain::{Kind, MemoryId, Scope, Timestamp},
    text::fold,
};

/// Shorter titles are too general.
const WORDS_MIN: usize = 2;

/// A memory of a list.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    pub id: MemoryId,
    /// Who it is for.
    pub scope: &'a Scope,
    /// Its type.
    pub kind: &'a Kind,
    pub title: &'a str,
    /// When it was written last.
    pub at: Timestamp,
}

/// Each memory of a list beside which a later one has the same title (case, accents and punctuation ignored), with
/// the latest such one. Titles that differ in a number name different subjects, and summaries of sessions are about
/// none.
///
/// Likeness of the texts is no better reason: `docs/truth.md` has the measurements.
pub fn newer(listed: &[Listed<'_>]) -> Vec<(MemoryId, MemoryId)> {
    // By place and type, and the words of the title in order.
    let mut subjects: BTreeMap<(&Scope, &str, String), Vec<&Listed<'_>>> = BTreeMap::new();
    for one in listed.iter().filter(|one| *one.kind != Kind::session_summary()) {
        let folded = fold(one.title);
        let words: Vec<&str> = folded
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .collect();
        if words.len() >= WORDS_MIN {
            let subject = (one.scope, one.kind.as_str(), words.join(" "));
            subjects.entry(subject).or_default().push(one);
        }
    }
    let mut found = Vec::new();
    for alike in subjects.values() {
        let Some(last) = alike.iter().max_by_key(|one| (one.at, one.id)) else { continue };
        found.extend(alike.iter().filter(|one| one.at < last.at).map(|one| (one.id, last.id)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Project;

    #[test]
    fn the_last_one_of_a_title_is_newer_than_the_others() {
        let [demo, web] = ["demo", "web"].map(|name| Scope::Project(Project::parse(name).unwrap()));
        let (fact, summary) = (Kind::manual(), Kind::session_summary());
        let ids: Vec<MemoryId> = (0..9).map(|_| MemoryId::random()).collect();
        let listed = |n: usize, scope, kind, title, second| Listed {
            id: ids[n],
            scope,
            kind,
            title,
            at: Timestamp::from_second(second).unwrap(),
        };
        let list = [
            listed(0, &demo, &fact, "The port of the daemon", 5),
            listed(1, &demo, &fact, "the PORT of the daemon!", 9),
            listed(2, &demo, &fact, "The port of the daemon", 1),
            listed(3, &web, &fact, "The port of the daemon", 1),
            listed(4, &demo, &summary, "Mended the port of the daemon", 2),
            listed(5, &demo, &summary, "Mended the port of the daemon", 3),
            listed(6, &demo, &fact, "Sprint 1", 1),
            listed(7, &demo, &fact, "Sprint 2", 2),
            listed(8, &demo, &fact, "Port", 1),
        ];
        assert_eq!(newer(&list), [(ids[0], ids[1]), (ids[2], ids[1])]);
        let same = [listed(0, &demo, &fact, "Two words", 4), listed(1, &demo, &fact, "Two words", 4)];
        assert_eq!(newer(&same), [], "of one moment none is newer");
    }
}
