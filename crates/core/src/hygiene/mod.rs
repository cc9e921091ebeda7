//! Keeping the store clean: which memory a save repeats or revises, what it is similar to, and which topic key
//! fits. Pure: the store looks things up, this module decides.

mod identity;
mod similar;
mod summary;
mod topic_key;

pub use identity::{identity, same_content, title_key};
pub use similar::{Shingles, jaccard, near_keys};
pub use summary::{summary_key, summary_title};
pub use topic_key::{NEAR_MIN, TopicKeyError, nearness, normalise, suggest};

use crate::{
    domain::{Body, Memory, MemoryId, Nature, SessionId, Taint, Trigger, Validity},
    redact::RedactedText,
};

/// A memory as a save would write it: validated, redacted and normalised, but not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub body: Body,
    pub taint: Taint,
    pub agent: RedactedText,
    pub session: SessionId,
    /// The period in which it is true. If unset, a topic's next revision holds without an end.
    pub valid: Validity,
    /// Its kind. If unset, a topic's next revision keeps the previous kind.
    pub nature: Option<Nature>,
    /// Where a prospective memory is shown. If unset, a topic's next revision keeps the previous trigger.
    pub trigger: Option<Trigger>,
}

crate::embeds_body!(Draft);

impl Draft {
    /// See [`identity()`].
    pub fn identity(&self) -> String {
        identity(&self.scope, &self.kind, &self.title)
    }

    /// Whether the memory already is what the draft asks for: type, title, content, tags (in any order) and what the draft
    /// sets of the rest. The author and the time do not matter.
    pub fn equals(&self, memory: &Memory) -> bool {
        self.kind == memory.kind
            && self.title == memory.title
            && self.content == memory.content
            && same_tags(&self.tags, &memory.tags)
            && self.holds_as(memory)
    }

    /// Whether the memory holds when, how and where the draft says, as far as it says so.
    fn holds_as(&self, memory: &Memory) -> bool {
        (self.valid == Validity::default() || self.valid == memory.valid)
            && (self.nature.is_none() || self.nature == memory.nature)
            && (self.trigger.is_none() || self.trigger == memory.trigger)
    }
}

fn same_tags(a: &[RedactedText], b: &[RedactedText]) -> bool {
    a.iter().all(|tag| b.contains(tag)) && b.iter().all(|tag| a.contains(tag))
}

/// The stored memories that a save depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Existing<'a> {
    /// The live memory with the draft's topic key and scope.
    pub topic_holder: Option<&'a Memory>,
    /// Live memories with the draft's identity, last seen within the window, newest first.
    pub recent_twins: &'a [Memory],
}

/// What a save does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the memory already is as asked.
    Unchanged { id: MemoryId },
    /// The memory gets a new revision.
    Revise { id: MemoryId },
    /// The same content was saved a moment ago: it is counted, not stored again.
    Repeat { id: MemoryId },
    /// It creates a new memory.
    Create,
}

/// Decides what a save does. The topic key comes first; then a recent twin with the same content is counted as a
/// repetition. Different content is never dropped, and neither are dates, a kind or a trigger that the twin does not have.
///
/// A draft with a topic key that no live memory holds does not repeat a twin without that key, because the twin's
/// id would not answer to the key. A memory is created.
pub fn decide(draft: &Draft, existing: &Existing<'_>) -> Decision {
    if let Some(holder) = existing.topic_holder {
        let id = holder.id;
        return if draft.equals(holder) { Decision::Unchanged { id } } else { Decision::Revise { id } };
    }
    let repeats = |twin: &&Memory| {
        let same_key = draft.topic_key.is_none() || draft.topic_key == twin.topic_key;
        let same_text = same_content(&draft.content, &twin.content);
        same_key && same_text && draft.holds_as(twin) && twin.done_at.is_none()
    };
    if let Some(twin) = existing.recent_twins.iter().find(repeats) {
        return Decision::Repeat { id: twin.id };
    }
    Decision::Create
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Kind, Timestamp};

    fn text(text: &str) -> RedactedText {
        RedactedText::derived(text)
    }

    fn draft(content: &str, topic_key: Option<&str>) -> Draft {
        Draft {
            body: Body {
                title: text("Title"),
                content: text(content),
                topic_key: topic_key.map(text),
                tags: vec![text("a"), text("b")],
                ..Body::sample()
            },
            taint: Taint::default(),
            agent: text("codex"),
            session: SessionId::random(),
            valid: Validity::default(),
            nature: None,
            trigger: None,
        }
    }

    fn stored(content: &str, topic_key: Option<&str>) -> Memory {
        let draft = draft(content, topic_key);
        Memory {
            body: Body { tags: vec![text("b"), text("a")], ..draft.body },
            agent: text("claude"),
            revision: 4,
            ..Memory::sample()
        }
    }

    #[test]
    fn the_topic_key_comes_first() {
        let holder = stored("text", Some("bug/x"));
        let twins = [stored("other", None)];
        let existing = Existing { topic_holder: Some(&holder), recent_twins: &twins };
        let id = holder.id;
        let keyed = draft("text", Some("bug/x"));
        assert_eq!(decide(&keyed, &existing), Decision::Unchanged { id });
        type Change = fn(&mut Draft);
        let changes: [(&str, Change); 6] = [
            ("title", |d| d.title = text("Title!")),
            ("content", |d| d.content = text("other")),
            ("type", |d| d.kind = Kind::session_summary()),
            ("tags", |d| d.tags.push(text("c"))),
            ("kind", |d| d.nature = Some(Nature::Episodic)),
            ("valid_until", |d| d.valid.until = Some(Timestamp::UNIX_EPOCH)),
        ];
        for (field, change) in changes {
            let mut changed = keyed.clone();
            change(&mut changed);
            assert_eq!(decide(&changed, &existing), Decision::Revise { id }, "{field}");
        }
    }

    #[test]
    fn twins_are_repeated_never_dropped() {
        let twins = [stored("first", None), stored("second", Some("bug/x")), stored("second", None)];
        let ids: Vec<_> = twins.iter().map(|twin| twin.id).collect();
        let existing = Existing { topic_holder: None, recent_twins: &twins };
        let repeat = |i: usize| Decision::Repeat { id: ids[i] };
        for (content, key, want) in [
            ("first", None, repeat(0)),
            ("first \n", None, repeat(0)),
            ("second", None, repeat(1)),
            ("third", None, Decision::Create),
            ("First", None, Decision::Create),
            ("first", Some("bug/new"), Decision::Create),
        ] {
            assert_eq!(decide(&draft(content, key), &existing), want, "{content} {key:?}");
        }
        assert_eq!(decide(&draft("x", Some("bug/x")), &Existing::default()), Decision::Create);
    }

    #[test]
    fn dates_kinds_and_triggers_are_never_dropped() {
        let twins = [stored("text", None)];
        let existing = Existing { topic_holder: None, recent_twins: &twins };
        type Change = fn(&mut Draft);
        let changes: [(&str, Change); 3] = [
            ("kind", |d| d.nature = Some(Nature::Prospective)),
            ("valid_from", |d| d.valid.from = Some(Timestamp::UNIX_EPOCH)),
            ("trigger", |d| d.trigger = Trigger::parse(&text("branch:x")).ok()),
        ];
        for (field, change) in changes {
            let mut changed = draft("text", None);
            change(&mut changed);
            assert_eq!(decide(&changed, &existing), Decision::Create, "{field}");
            let mut twin = twins[0].clone();
            (twin.nature, twin.valid, twin.trigger) =
                (changed.nature, changed.valid, changed.trigger.clone());
            let equal = Existing { topic_holder: None, recent_twins: std::slice::from_ref(&twin) };
            assert_eq!(decide(&changed, &equal), Decision::Repeat { id: twin.id }, "{field}");
        }
        let done = [Memory { done_at: Some(Timestamp::UNIX_EPOCH), ..twins[0].clone() }];
        let existing = Existing { topic_holder: None, recent_twins: &done };
        assert_eq!(decide(&draft("text", None), &existing), Decision::Create, "it is to be done again");
    }
}
