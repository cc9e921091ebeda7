//! What several answers share: the row of a memory, a session and an entry of a timeline, labels, the next steps.

use serde_json::{Value, json};

use super::reply::{agent, moment};
use crate::answer::{Text, memories, sessions};
use cerebro_core::domain::{Memory, Project, Scope, Session};
use cerebro_core::operation::Operation;
use cerebro_core::text;
use cerebro_service::{Entry, FollowUps, Mark};
use cerebro_store::Tombstone;

/// The name of a memory's project in replies.
pub(super) fn shown_project(scope: &Scope) -> &str {
    scope.project().map_or("personal", Project::as_str)
}

/// The next steps for the reader of a context: commands for a person, tools for an agent.
pub(super) fn follow_ups(is_person: bool) -> FollowUps {
    let way = |operation: Operation| match operation.command() {
        Some(command) if is_person => format!("`cerebro {command}`"),
        _ => operation.name().to_owned(),
    };
    FollowUps {
        search: way(Operation::Search),
        read: way(Operation::GetObservation),
        save: way(Operation::Save),
    }
}

/// A memory in a list.
pub(super) fn memory_row(memory: &Memory) -> memories::Row {
    memories::Row {
        id: Text::of(memory.id),
        title: Text::of(&memory.title),
        kind: Text::of(&memory.kind),
        project: memory.scope.project_name().into(),
        scope: memory.scope.name().as_str().into(),
        revision: memory.revision,
        pinned: memory.pinned,
        agent: Text::of(&memory.agent),
        topic_key: memory.topic_key.as_ref().map(Text::of),
        updated_at: Text::of(memory.updated_at),
        deleted_at: memory.deleted_at.map(|at| moment(at).into()),
        archived_at: memory.archived_at.map(|at| moment(at).into()),
        flag: (!memory.taint.flags.is_empty()).then(|| memory.taint.names().into()),
    }
}

/// The notice of another memory that no longer says a text.
pub(super) fn gone(tombstone: &Tombstone) -> memories::Gone {
    memories::Gone {
        id: Text::of(tombstone.memory),
        why: tombstone.why.as_str().into(),
        at: moment(tombstone.at).into(),
    }
}

/// The same as a line.
pub(super) fn gone_line(tombstone: &Tombstone) -> String {
    let (id, why, at) = (tombstone.memory, tombstone.why.as_str(), moment(tombstone.at));
    format!("note: memory `{id}` with this text was {why} at {at}")
}

/// The marks of a memory, without its flag, which its row has.
pub(super) fn marks_beside(marks: &[Mark]) -> memories::Marks {
    let marks = marks.iter().filter(|mark| mark.name != "flag");
    let marks: Value = marks.map(|mark| (mark.name.to_owned(), mark.json())).collect();
    serde_json::from_value(marks).expect("each mark has the type of its field")
}

/// A session in a list.
pub(super) fn session_row(session: &Session) -> sessions::Session {
    sessions::Session {
        id: Text::of(&session.id),
        project: Text::of(&session.project),
        agent: Text::of(&session.agent),
        directory: session.directory.as_ref().map(Text::of),
        started_at: Text::of(session.started_at),
        ended_at: session.ended_at.map(Text::of),
        end_reason: session.end_reason.map(|reason| reason.as_str().into()),
        summary: session.summary.as_ref().map(Text::of),
        follows: session.follows.as_ref().map(Text::of),
    }
}

/// An entry of a timeline.
pub(super) fn entry_row(entry: &Entry) -> sessions::Entry {
    let title = text::cut_chars(&entry.title, 120);
    sessions::Entry {
        kind: entry.kind.as_str().into(),
        id: Text::from(&entry.id),
        date: moment(entry.at).into(),
        agent: agent(&entry.agent).into(),
        title: (!title.is_empty()).then(|| title.into()),
        memory_type: entry.memory_kind.as_ref().map(Text::from),
        content: None,
        content_bytes: None,
    }
}

/// The same with the marks of its memory.
pub(super) fn marked_entry(entry: &Entry, marks: &[Mark]) -> Value {
    let mut facts = json!(entry_row(entry));
    for mark in marks {
        facts[mark.name] = mark.json();
    }
    facts
}
