//! From which session another one was copied, and which part of it is only a copy.
//!
//! Forks and some resumes begin with their parent's records: with the same native ids in Claude Code and Qwen
//! Code, with the same ids of turns in Codex. Nothing in them names the parent, so the ids themselves are the
//! evidence. That needs ids which no other session has: [`bind`] makes them of those that others may have.

use jiff::Timestamp;

use crate::assemble::hash;
use crate::turn::{Agent, Exchange, Parent, ParentKind, Session};

/// Stands between the id that the agent gave a turn and what binds it.
const BOUND: char = '\u{1f}';

/// Binds ids that other sessions may have too to what they stand for: to the prompt and its time, which a copy has too.
///
/// Codex gives copies other times, and Codex Desktop numbers the turns of each session that it imports from 1 on. There they are
/// bound to the session that they come from (`origin`, or else the parent that a fork names) instead of the time.
pub(crate) fn bind(session: &Session, origin: Option<&str>, exchanges: &mut [Exchange]) {
    let parent = session.parent.as_ref().filter(|parent| parent.kind == ParentKind::Fork);
    let owner = origin.or(parent.and_then(|parent| parent.session.as_deref())).unwrap_or(&session.id);
    for exchange in exchanges {
        let words = exchange.prompt.as_ref().map_or(0, |prompt| hash(&prompt.text));
        let source = match session.agent {
            Agent::Codex => owner.to_owned(),
            _ => exchange.at.map(|at| at.to_string()).unwrap_or_default(),
        };
        for id in [&mut exchange.first_id, &mut exchange.last_id].into_iter().flatten() {
            if !is_unique(id) {
                *id = format!("{id}{BOUND}{source}{BOUND}{words:016x}");
            }
        }
    }
}

/// The id that the agent gave a turn, if it is bound.
pub fn bare(id: &str) -> Option<&str> {
    id.split_once(BOUND).map(|(bare, _)| bare)
}

/// Whether no other session has an id, by its form. Agents give turns UUIDs; OpenCode gives them 26 random letters and digits.
/// An id such as `u1` numbers the turns of its session, or comes from somebody who wrote or shortened a transcript: others have
/// it too, and they are no copies.
fn is_unique(id: &str) -> bool {
    let random = id.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let has = |kind: fn(&u8) -> bool| random.as_bytes().iter().any(kind);
    let is_random = random.len() >= RANDOM_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    is_random || ends_with_uuid(id)
}

/// Fewer letters and digits may be a number, a time or a word. Those of a nanoid are 21.
const RANDOM_BYTES: usize = 20;

fn ends_with_uuid(id: &str) -> bool {
    id.len().checked_sub(UUID_BYTES).is_some_and(|from| id.get(from..).is_some_and(is_uuid))
}

const UUID_BYTES: usize = 36;

/// Whether an id is a UUID.
pub fn is_uuid(id: &str) -> bool {
    let is_part = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    id.len() == UUID_BYTES && id.as_bytes().iter().enumerate().all(is_part)
}

/// What a session shares with those that are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage {
    /// The session that it was copied from; the agent's own word comes first.
    pub parent: Option<Parent>,
    /// The `seq` of exchanges that are copies from beginning to end. They are another's and are not kept
    /// twice.
    pub copies: Vec<u32>,
}

/// Looks for what a session copied. After the exchange in which it goes on differently, nothing is a copy. An exchange that no
/// other session has is kept, and says nothing of those behind it: it may be one that was forgotten there. A parent that is not
/// known leaves everything in place; one that is a copy itself has its own parent's exchanges before its own.
///
/// `known` names the other sessions that have an exchange which begins with the first native id, and whether it ends with the
/// second one, too. An original comes before its copies ([`is_original`]): of two that have as much in common with the session,
/// it is the parent.
pub fn of(
    session: &Session,
    exchanges: &[Exchange],
    known: &impl Fn(&str, &str) -> Vec<(String, bool)>,
) -> Lineage {
    let has_recorded_parent = session.parent.as_ref().is_some_and(|parent| parent.session.is_some());
    let mut lineage = Lineage { parent: session.parent.clone(), copies: Vec::new() };
    for exchange in exchanges {
        let Some(first) = exchange.first_id.as_deref() else { continue };
        let owners = known(first, exchange.last_id.as_deref().unwrap_or(first));
        let owner = owners.iter().find(|(_, is_whole)| *is_whole).or(owners.first());
        let Some((owner, is_whole)) = owner else { continue };
        let fresh = || Parent { kind: ParentKind::Fork, session: None, turn: None };
        let parent = lineage.parent.get_or_insert_with(fresh);
        if !has_recorded_parent {
            parent.session = Some(owner.clone());
        }
        parent.turn.clone_from(&exchange.last_id);
        // A copy that goes on differently ends with another turn: it is kept.
        if !is_whole {
            parent.turn = Some(first.to_owned());
            break;
        }
        lineage.copies.push(exchange.seq);
    }
    lineage
}

/// One of two sessions with a common beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch<'a> {
    pub id: &'a str,
    /// The session that it names as its parent.
    pub parent: Option<&'a str>,
    /// When the first exchange began that is not the other's too.
    pub own_since: Option<Timestamp>,
}

/// Whether the first of two sessions with a common beginning is the original, and the other one its copy: the same
/// whichever is read first. What they say of each other comes first; else that which went on by itself earlier, or ended
/// where the other went on, is older.
pub fn is_original(one: Branch<'_>, other: Branch<'_>) -> bool {
    if other.parent == Some(one.id) || one.parent == Some(other.id) {
        return other.parent == Some(one.id);
    }
    match (one.own_since, other.own_since) {
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (one_since, other_since) => (one_since, one.id) < (other_since, other.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Prompt;

    fn exchange(seq: u32, first: &str, last: &str) -> Exchange {
        Exchange { seq, first_id: Some(first.into()), last_id: Some(last.into()), ..Exchange::default() }
    }

    fn known(first: &str, last: &str) -> Vec<(String, bool)> {
        let turns = [("p1", "a1"), ("p2", "a2")].into_iter().filter(|(begin, _)| *begin == first);
        turns.map(|(_, end)| ("parent".to_owned(), end == last)).collect()
    }

    #[test]
    fn a_fork_keeps_only_its_own_exchanges() {
        let fork = Session { id: "fork".into(), ..Session::default() };
        let exchanges = [exchange(0, "p1", "a1"), exchange(1, "p2", "p2"), exchange(2, "p1", "a1")];
        let lineage = of(&fork, &exchanges, &known);
        assert_eq!(lineage.copies, [0], "the second goes on differently, and no copy comes after it");
        let parent = lineage.parent.expect("a parent");
        assert_eq!((parent.kind, parent.session.as_deref()), (ParentKind::Fork, Some("parent")));
        assert_eq!(parent.turn.as_deref(), Some("p2"));
    }

    #[test]
    fn copies_behind_an_exchange_that_the_parent_lost_are_copies() {
        let fork = Session { id: "fork".into(), ..Session::default() };
        let nameless = Exchange { seq: 2, ..Exchange::default() };
        let exchanges = [
            exchange(0, "p1", "a1"),
            exchange(1, "forgotten", "f1"),
            nameless,
            exchange(3, "p2", "a2"),
            exchange(4, "own", "o1"),
        ];
        let lineage = of(&fork, &exchanges, &known);
        assert_eq!(lineage.copies, [0, 3]);
        assert_eq!(lineage.parent.and_then(|parent| parent.turn).as_deref(), Some("a2"));
    }

    #[test]
    fn an_id_of_codex_that_is_not_unique_is_bound_to_its_session() {
        let bound_by = |session: &str, parent: Option<&str>, origin: Option<&str>, id: &str, words: &str| {
            let parent =
                parent.map(|id| Parent { kind: ParentKind::Fork, session: Some(id.to_owned()), turn: None });
            let session =
                Session { agent: Agent::Codex, id: session.to_owned(), parent, ..Session::default() };
            let prompt = Some(Prompt { text: words.to_owned(), ..Prompt::default() });
            let mut exchanges = [Exchange { prompt, ..exchange(0, id, id) }];
            bind(&session, origin, &mut exchanges);
            exchanges[0].first_id.clone().expect("an id")
        };
        let bound = |session, parent, id, words| bound_by(session, parent, None, id, words);
        let unique = "019a1f2e-7c1d-7a10-8f00-0123456789ab";
        assert_eq!(bound("s1", None, unique, "go"), unique);
        let first = bound("s1", None, "external-import-turn-1", "go");
        assert_eq!(bare(&first), Some("external-import-turn-1"));
        assert_ne!(bound("s2", None, "external-import-turn-1", "go"), first, "another session");
        assert_eq!(bound("s2", Some("s1"), "external-import-turn-1", "go"), first, "a fork of it");
        assert_ne!(bound("s2", Some("s1"), "external-import-turn-1", "stop"), first, "the fork's own");
        let of_fork = bound_by("s3", Some("s2"), Some("s1"), "external-import-turn-1", "go");
        assert_eq!(of_fork, first, "a fork of the fork");
        assert_eq!(bare(unique), None);
    }

    #[test]
    fn a_short_id_is_bound_to_the_prompt_and_its_time() {
        let bound = |agent: Agent, session: &str, id: &str, words: &str, second: i64| {
            let session = Session { agent, id: session.to_owned(), ..Session::default() };
            let prompt = Some(Prompt { text: words.to_owned(), ..Prompt::default() });
            let at = Timestamp::from_second(second).ok();
            let mut exchanges = [Exchange { prompt, at, ..exchange(0, id, id) }];
            bind(&session, None, &mut exchanges);
            assert_eq!(exchanges[0].first_id, exchanges[0].last_id);
            exchanges[0].first_id.clone().expect("an id")
        };
        for agent in [Agent::ClaudeCode, Agent::Copilot, Agent::GeminiCli, Agent::OpenCode, Agent::Qwen] {
            let first = bound(agent, "s1", "u1", "go", 1);
            assert_eq!(bare(&first), Some("u1"));
            assert_eq!(bound(agent, "s2", "u1", "go", 1), first, "a copy");
            assert_ne!(bound(agent, "s2", "u1", "stop", 1), first, "other words");
            assert_ne!(bound(agent, "s2", "u1", "go", 2), first, "another time");
            for unique in [
                "019a1f2e-7c1d-7a10-8f00-0123456789ab",
                "msg_9a1f2e7c1d001AbCdEfGhIjKlMn",
                "V1StGXR8Z5jdHi6BmyTx9",
            ] {
                assert_eq!(bound(agent, "s1", unique, "go", 1), unique);
            }
        }
        for other in ["m12", "message-assistant", "17642640000000000000", "turn-0123456789abcde"] {
            assert_eq!(
                bare(&bound(Agent::Qwen, "s1", other, "go", 1)),
                Some(other),
                "it may be another's too"
            );
        }
        let of_codex = |session, second| bound(Agent::Codex, session, "turn-1", "go", second);
        assert_eq!(of_codex("s1", 1), of_codex("s1", 2), "a copy has another time");
        assert_ne!(of_codex("s1", 1), of_codex("s2", 1));
    }

    #[test]
    fn of_two_that_have_begun_an_exchange_the_original_is_the_parent() {
        let fork = Session { id: "fork".into(), ..Session::default() };
        let owner = |first: &str, _: &str| match first {
            "p1" => vec![("z".to_owned(), true)],
            _ => vec![("z".to_owned(), false), ("a".to_owned(), false)],
        };
        let lineage = of(&fork, &[exchange(0, "p1", "a1"), exchange(1, "p2", "a2")], &owner);
        assert_eq!(lineage.copies, [0]);
        assert_eq!(lineage.parent.and_then(|parent| parent.session).as_deref(), Some("z"));
    }

    #[test]
    fn an_unknown_parent_leaves_all_in_place() {
        let recorded = Parent { kind: ParentKind::Resume, session: Some("gone".into()), turn: None };
        let resumed = Session { id: "new".into(), parent: Some(recorded.clone()), ..Session::default() };
        let lineage = of(&resumed, &[exchange(0, "x", "y")], &known);
        assert_eq!((lineage.copies, lineage.parent), (vec![], Some(recorded)));
    }

    #[test]
    fn a_fork_of_a_fork_copies_from_both() {
        let fork = Session { id: "third".into(), ..Session::default() };
        let owner = |first: &str, _: &str| match first {
            "p1" => vec![("first".to_owned(), true)],
            // The second went on differently within this exchange.
            "p2" => vec![("first".to_owned(), false), ("second".to_owned(), true)],
            _ => Vec::new(),
        };
        let exchanges = [exchange(0, "p1", "a1"), exchange(1, "p2", "a2"), exchange(2, "p3", "a3")];
        let lineage = of(&fork, &exchanges, &owner);
        assert_eq!(lineage.copies, [0, 1]);
        assert_eq!(lineage.parent.and_then(|parent| parent.session).as_deref(), Some("second"));
    }

    #[test]
    fn of_two_sessions_one_is_the_original_in_either_order() {
        let at = |second| Timestamp::from_second(second).ok();
        let branch = |id, parent, own_since| Branch { id, parent, own_since };
        for (original, copy) in [
            (branch("z", None, at(9)), branch("a", Some("z"), at(1))),
            (branch("z", None, None), branch("a", None, at(1))),
            (branch("z", None, at(1)), branch("a", None, at(2))),
            (branch("a", None, at(1)), branch("z", None, at(1))),
            (branch("a", None, None), branch("z", None, None)),
        ] {
            assert!(is_original(original, copy) && !is_original(copy, original), "{original:?} {copy:?}");
        }
    }
}
