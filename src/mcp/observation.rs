//! Drilling in: one memory whole, with its neighbours and its earlier revisions.

use serde_json::{Value, json};

use super::{
    call::{Answer, Call},
    reply::{NOTES, Reply, agent, moment},
    rows::shown_project,
};
use cerebro_core::domain::{
    Memory, Revision,
    limits::{GET_BYTES_DEFAULT, GET_BYTES_MAX, GET_BYTES_MIN},
};
use cerebro_service::{Earlier, Observation, ObservationRequest};

pub(super) async fn get(call: &mut Call) -> Answer {
    let request = ObservationRequest {
        id: call.arguments.memory_id()?,
        history: call.arguments.flag(&["history"])?,
        offset: call.arguments.count("offset")?.unwrap_or(0),
        max_bytes: call.arguments.clamped("max_bytes", GET_BYTES_DEFAULT, GET_BYTES_MIN..=GET_BYTES_MAX)?,
    };
    let found = call.service.observation(&request, call.caller.person).await?;
    Ok(reply_of(&found).exact())
}

fn reply_of(found: &Observation) -> Reply {
    let memory = &found.memory;
    let project = shown_project(&memory.project);
    let session = memory.session.as_ref().map(|id| id.as_str().to_owned());
    let related: Vec<Value> = found
        .related
        .iter()
        .map(|near| json!({ "id": near.id.as_str(), "title": near.title, "relation": near.kind }))
        .collect();
    let mut reply = Reply::saying(format!("# {}", memory.title))
        .line(format!(
            "`{}` · {} · {project} · revision {} · {} by {}. {NOTES}",
            memory.id,
            memory.kind,
            memory.revision,
            moment(memory.updated_at),
            agent(&memory.agent)
        ))
        .fact("id", memory.id.as_str())
        .fact("title", memory.title.as_str())
        .fact("content", memory.content.as_str())
        .fact("type", memory.kind.as_str())
        .fact("project", project)
        .fact("scope", memory.scope.as_str())
        .fact("topic_key", memory.topic_key.as_deref())
        .fact("tags", json!(memory.tags))
        .fact("agent", agent(&memory.agent))
        .fact("session_id", session.clone())
        .fact("revision", memory.revision)
        .fact("duplicate_count", memory.duplicate_count)
        .fact("created_at", moment(memory.created_at))
        .fact("updated_at", moment(memory.updated_at))
        .fact("last_seen_at", moment(memory.last_seen_at))
        .fact("content_bytes", found.content_bytes)
        .fact("related", related);
    let facts = [
        ("scope", Some(memory.scope.as_str().to_owned())),
        ("topic_key", memory.topic_key.clone().map(String::from)),
        ("tags", (!memory.tags.is_empty()).then(|| memory.tags.join(", "))),
        ("session", session),
        ("created", Some(moment(memory.created_at))),
        (
            "seen again",
            (memory.duplicate_count > 0)
                .then(|| format!("{} times, last {}", memory.duplicate_count, moment(memory.last_seen_at))),
        ),
    ];
    reply = reply.lines(facts.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?))));
    if memory.pinned {
        reply = reply.fact("pinned", true).line("pinned");
    }
    if let Some(at) = memory.deleted_at {
        reply = reply.fact("deleted_at", moment(at)).line(format!("deleted at {}", moment(at)));
    }
    reply = reply.line("").line(&memory.content);
    if !found.related.is_empty() {
        let lines = found.related.iter().map(|near| format!("- {} `{}` {}", near.kind, near.id, near.title));
        reply = reply.line("").line("related:").lines(lines);
    }
    if let Some(revisions) = &found.revisions {
        if memory.content.len() < found.content_bytes {
            reply = reply.line(cut_text(memory.content.len(), found.content_bytes));
        }
        let list = revisions.iter().map(|earlier| revision_json(earlier, memory)).collect();
        let texts = revisions.iter().map(|earlier| revision_text(earlier, memory));
        reply = reply.list("revisions", list).lines(texts);
    }
    match found.next_offset {
        Some(next) => reply.fact("next_offset", next).line(format!("more follows: next_offset {next}")),
        None => reply,
    }
}

/// What is missing of a text, and how to get it.
fn cut_text(shown: usize, whole: usize) -> String {
    format!("(the first {shown} of {whole} bytes; ask with max_bytes {GET_BYTES_MAX} for all of it)")
}

/// What a revision says of itself beside its text; its place only where the memory has another one now.
fn revision_facts(revision: &Revision, now: &Memory) -> Vec<(&'static str, Value)> {
    let mut facts = vec![("type", json!(revision.kind.as_str()))];
    if let Some(key) = &revision.topic_key {
        facts.push(("topic_key", json!(key.as_str())));
    }
    if !revision.tags.is_empty() {
        facts.push(("tags", json!(revision.tags)));
    }
    if (&revision.project, revision.scope) != (&now.project, now.scope) {
        facts.push(("project", json!(shown_project(&revision.project))));
        facts.push(("scope", json!(revision.scope.as_str())));
    }
    facts
}

fn revision_json(Earlier { revision, content_bytes }: &Earlier, now: &Memory) -> Value {
    let mut facts = json!({
        "revision": revision.revision, "title": revision.title, "content": revision.content,
        "agent": agent(&revision.agent), "at": moment(revision.at),
    });
    for (name, value) in revision_facts(revision, now) {
        facts[name] = value;
    }
    if revision.content.len() < *content_bytes {
        facts["content_bytes"] = json!(content_bytes);
    }
    facts
}

fn revision_text(Earlier { revision, content_bytes }: &Earlier, now: &Memory) -> String {
    let facts = revision_facts(revision, now).into_iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        Value::Array(items) => {
            format!("{name}: {}", items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
        }
        other => format!("{name}: {other}"),
    });
    let mut text = format!(
        "\n## Revision {} ({}, {}): {}\n{}\n\n{}",
        revision.revision,
        moment(revision.at),
        agent(&revision.agent),
        revision.title,
        facts.collect::<Vec<_>>().join("\n"),
        revision.content
    );
    if revision.content.len() < *content_bytes {
        text.push('\n');
        text.push_str(&cut_text(revision.content.len(), *content_bytes));
    }
    text
}
