//! Which session another one was copied from, and what of it is only a copy.
//!
//! Forks and some resumes begin with their parent's records: with the same native ids in Claude Code and Qwen
//! Code, with the same ids of turns in Codex. Nothing in them names the parent, so the ids themselves are the
//! evidence.

use crate::turn::{Exchange, Parent, ParentKind, Session};

/// Looks up native ids among the sessions that are stored already.
pub trait Known {
    /// The session that has an exchange which begins or ends with this native id, other than `than`.
    fn session_of(&self, id: &str, than: &str) -> Option<String>;
}

impl<F: Fn(&str, &str) -> Option<String>> Known for F {
    fn session_of(&self, id: &str, than: &str) -> Option<String> {
        self(id, than)
    }
}

/// What a session shares with one that is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lineage {
    /// The session that it was copied from; the agent's own word comes first.
    pub parent: Option<Parent>,
    /// The `seq` of exchanges that are copies from beginning to end. They are the parent's and are not kept
    /// twice.
    pub copies: Vec<u32>,
}

/// Looks for what a session copied. Only its beginning can be a copy: after the first exchange of its own,
/// none is. A parent that is not known leaves everything in place.
pub fn of(session: &Session, exchanges: &[Exchange], known: &impl Known) -> Lineage {
    let mut lineage = Lineage { parent: session.parent.clone(), copies: Vec::new() };
    for exchange in exchanges {
        let Some(first) = exchange.first_id.as_deref() else { break };
        let Some(owner) = known.session_of(first, &session.id) else { break };
        let parent = lineage.parent.get_or_insert_with(|| Parent {
            kind: ParentKind::Fork,
            session: Some(owner.clone()),
            turn: None,
        });
        let parent_session = parent.session.get_or_insert_with(|| owner.clone());
        parent.turn.clone_from(&exchange.last_id);
        // A copy that goes on differently ends with another turn: it is kept.
        let last = exchange.last_id.as_deref().unwrap_or(first);
        if known.session_of(last, &session.id).as_ref() != Some(parent_session) {
            parent.turn = Some(first.to_owned());
            break;
        }
        lineage.copies.push(exchange.seq);
    }
    lineage
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(seq: u32, first: &str, last: &str) -> Exchange {
        Exchange { seq, first_id: Some(first.into()), last_id: Some(last.into()), ..Exchange::default() }
    }

    fn known(id: &str, than: &str) -> Option<String> {
        (than != "parent" && ["p1", "a1", "p2", "a2"].contains(&id)).then(|| "parent".to_owned())
    }

    #[test]
    fn a_fork_keeps_only_what_is_its_own() {
        let fork = Session { id: "fork".into(), ..Session::default() };
        let exchanges = [exchange(0, "p1", "a1"), exchange(1, "p2", "a9"), exchange(2, "p1", "a1")];
        let lineage = of(&fork, &exchanges, &known);
        assert_eq!(lineage.copies, [0], "the second goes on differently, and no copy comes after it");
        let parent = lineage.parent.expect("a parent");
        assert_eq!((parent.kind, parent.session.as_deref()), (ParentKind::Fork, Some("parent")));
        assert_eq!(parent.turn.as_deref(), Some("p2"));
    }

    #[test]
    fn an_unknown_parent_leaves_all_in_place() {
        let told = Parent { kind: ParentKind::Resume, session: Some("gone".into()), turn: None };
        let resumed = Session { id: "new".into(), parent: Some(told.clone()), ..Session::default() };
        let lineage = of(&resumed, &[exchange(0, "x", "y")], &known);
        assert_eq!((lineage.copies, lineage.parent), (vec![], Some(told)));
        let own = Session { id: "parent".into(), ..Session::default() };
        assert_eq!(of(&own, &[exchange(0, "p1", "a1")], &known), Lineage::default());
    }
}
