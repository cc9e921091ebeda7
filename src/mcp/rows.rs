//! Rows that several answers share: a memory, a session, an entry of a timeline, the next steps.

use serde_json::{Value, json};

use super::reply::{agent, moment};
use cerebro_core::domain::{EndReason, Memory, Project, Scope, Session};
use cerebro_core::operation::Operation;
use cerebro_core::text;
use cerebro_service::{Entry, FollowUps, Mark};

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

/// A memory in a list, without its content.
pub(super) fn memory_row(memory: &Memory) -> Value {
    json!({
        "id": memory.id.as_str(), "title": memory.title, "type": memory.kind.as_str(), "project": memory.scope.project_name(),
        "scope": memory.scope.name().as_str(), "revision": memory.revision, "pinned": memory.pinned, "agent": memory.agent,
        "topic_key": memory.topic_key, "updated_at": memory.updated_at.to_string(),
        "deleted_at": memory.deleted_at.map(moment), "archived_at": memory.archived_at.map(moment),
        "flag": (!memory.taint.flags.is_empty()).then(|| memory.taint.names()),
    })
}

/// A session in a list.
pub(super) fn session_row(session: &Session) -> Value {
    json!({
        "id": session.id.as_str(), "project": session.project.as_str(), "agent": session.agent,
        "directory": session.directory, "started_at": session.started_at.to_string(),
        "ended_at": session.ended_at.map(|at| at.to_string()), "end_reason": session.end_reason.map(EndReason::as_str),
        "summary": session.summary, "follows": session.follows.as_ref().map(|id| id.as_str().to_owned()),
    })
}

/// An entry of a timeline.
pub(super) fn entry_json(entry: &Entry, marks: &[Mark]) -> Value {
    let title = text::cut_chars(&entry.title, 120);
    let mut facts = json!({ "kind": entry.kind.as_str(), "id": entry.id, "date": moment(entry.at), "agent": agent(&entry.agent) });
    if !title.is_empty() {
        facts["title"] = json!(title);
    }
    if let Some(kind) = &entry.memory_kind {
        facts["type"] = json!(kind);
    }
    for mark in marks {
        facts[mark.name] = mark.json();
    }
    facts
}
