//! Operations for a person at the command line, in addition to the 13 tools.
//!
//! The commands are clients of the daemon, like agents, over the same protocol. The daemon answers these operations
//! only on a connection whose hello says that the client is a person's. The socket's permissions keep others out.

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, AnswerTo, Call},
    context::Context,
    http, maintenance,
    reply::{Reply, moment},
    rows::{memory_row, session_row},
    work,
};
use crate::answer::{Text, daemon, of, portable};
use cerebro_core::domain::{
    Memory, MemoryId, Project, Prompt,
    limits::{LIMIT_MAX, LISTING_MAX},
};
use cerebro_core::relate::Mention;
use cerebro_core::text;
use cerebro_service::{GRAPH_DEPTH_MAX, GRAPH_NODES_MAX, Selection, Updated};
use cerebro_store::StoredRelation;

/// Most lines of an import in one call.
const IMPORT_LINES_MAX: usize = 500;
/// Most matches of a partial id that are named.
const RESOLVED_MAX: usize = 10;

/// The state of the daemon. This works even while the store is opening, or if it cannot be opened.
pub(super) fn status(context: &Context) -> Reply<daemon::Status> {
    let control = context.control();
    let answer = daemon::Status {
        pid: control.pid(),
        version: control.version().into(),
        uptime_s: control.uptime().as_secs(),
        clients: control.clients() as u64,
        started_at: moment(control.started_at()).into(),
        store: context.stage_name().into(),
        home: Text::of(context.home().root().display()),
        database: context.database().map(Text::from),
        http: http::address(context).map(Text::from),
        backup: maintenance::last_backup(context),
        journal: work::journal(context),
    };
    Reply::saying("serving").answering(answer)
}

/// Makes the daemon end.
pub(super) fn stop(context: &Context) -> Reply<daemon::Stopping> {
    let control = context.control();
    control.stop();
    Reply::saying("ending").answering(daemon::Stopping { pid: control.pid() })
}

pub(super) async fn restore(call: &mut Call) -> Answer {
    let id = call.arguments.memory_id()?;
    Ok(changed(&call.service.memories.restore(&call.caller, &call.session, &id).await?, "restored"))
}

pub(super) async fn pin(call: &mut Call) -> Answer {
    set_pin(call, true).await
}

pub(super) async fn unpin(call: &mut Call) -> Answer {
    set_pin(call, false).await
}

pub(super) fn changed(updated: &Updated, outcome: &str) -> Reply {
    let outcome = if updated.changed { outcome } else { "unchanged" };
    Reply::saying(format!("{outcome} `{}` {}", updated.memory.id, updated.memory.title))
        .fact("id", updated.memory.id.as_str())
        .fact("outcome", outcome)
        .fact("title", updated.memory.title.as_str())
}

async fn set_pin(call: &mut Call, pinned: bool) -> Answer {
    let id = call.arguments.memory_id()?;
    let updated = call.service.memories.pin(&call.caller, &call.session, &id, pinned).await?;
    Ok(changed(&updated, if pinned { "pinned" } else { "unpinned" }))
}

pub(super) async fn resolve(call: &mut Call) -> Answer {
    let prefix = call.arguments.needed("prefix")?;
    let prefix = prefix.trim().trim_start_matches("memory:").to_ascii_lowercase();
    if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(ArgumentError::new("prefix", Some(&prefix), "it is not part of a memory id").into());
    }
    let found = call.service.recall.resolve(&prefix, RESOLVED_MAX).await?;
    let mut ids: Vec<Value> =
        found.iter().map(|(id, title)| json!({ "id": id.as_str(), "title": title })).collect();
    if call.arguments.flag(&["evidence"])? {
        let exchanges = call.service.history.exchanges_like(&prefix, RESOLVED_MAX).await?;
        ids.extend(exchanges.iter().map(|one| json!({ "id": one.id.to_string(), "title": one.title })));
    }
    Ok(Reply::saying(text::counted(ids.len(), "id")).list("ids", ids))
}

pub(super) async fn list(call: &mut Call) -> Answer {
    let now = call.now();
    let arguments = &mut call.arguments;
    let all = arguments.flag(&["all_projects"])?;
    let project = arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let selection = Selection {
        project: (!all).then_some(project),
        scope: arguments.scope()?,
        kind: arguments.kind()?,
        tags: arguments.texts("tags")?.unwrap_or_default(),
        since: arguments.moment("since", now, false)?,
        until: arguments.moment("until", now, true)?,
        session: arguments.session_id("session")?,
        agent: arguments.text("agent")?,
        deleted: arguments.flag(&["deleted"])?,
        archived: arguments.flag(&["archived"])?,
    };
    let limit = arguments.clamped("limit", 20, 1..=LISTING_MAX)?;
    let offset = arguments.count("cursor")?.unwrap_or(0);
    let found = call.service.recall.select(&selection, offset, limit).await?;
    let is_own = !all && call.arguments.named_project().is_none();
    let former = if found.memories.is_empty() && is_own { call.former().await? } else { Vec::new() };
    let former: Vec<Value> = former
        .iter()
        .map(|(project, count)| json!({ "project": project.as_str(), "memories": count }))
        .collect();
    let rows = found.memories.iter().map(memory_row).collect();
    Ok(Reply::saying(text::counted(found.memories.len(), "memory"))
        .list("memories", rows)
        .fact("next_cursor", found.next.map(|next| next.to_string()))
        .fact("total", found.total)
        .fact("project", call.caller.project.as_str())
        .fact("former", former))
}

pub(super) async fn sessions(call: &mut Call) -> Answer {
    let all = call.arguments.flag(&["all_projects"])?;
    let project = call.arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let limit = call.arguments.clamped("limit", 20, 1..=LIMIT_MAX)?;
    let before = call.arguments.moment("before", call.now(), false)?;
    let sessions = call.service.sessions.latest((!all).then_some(&project), before, limit).await?;
    let rows = sessions.iter().map(session_row).collect();
    Ok(Reply::saying(text::counted(sessions.len(), "session")).list("sessions", rows))
}

pub(super) async fn projects(call: &mut Call) -> Answer {
    let projects = call.service.recall.projects().await?;
    let rows = projects
        .iter()
        .map(|(project, count)| {
            json!({
                "project": project.as_str(), "memories": count.memories, "sessions": count.sessions,
                "prompts": count.prompts, "last_at": count.last_at.map(moment),
            })
        })
        .collect();
    Ok(Reply::saying(text::counted(projects.len(), "project")).list("projects", rows))
}

/// The types that live memories have, the most frequent first.
pub(super) async fn types(call: &mut Call) -> Answer {
    let types = call.service.recall.types().await?;
    let rows =
        types.iter().map(|(kind, count)| json!({ "type": kind.as_str(), "memories": count })).collect();
    Ok(Reply::saying(text::counted(types.len(), "type")).list("types", rows))
}

/// Suggestions for the words of a question.
pub(super) async fn spelling(call: &mut Call) -> Answer {
    let query = call.arguments.needed("query")?;
    let all = call.arguments.flag(&["all_projects"])?;
    let project = call.arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let spelled = call.service.recall.spelled(&query, (!all).then_some(&project)).await?;
    let rows = spelled.iter().map(|(word, near)| json!({ "word": word, "near": near })).collect();
    Ok(Reply::saying(text::counted(spelled.len(), "word")).list("words", rows))
}

pub(super) async fn merge_projects(call: &mut Call) -> Answer {
    let mut name = |argument: &'static str| -> Result<Project, ArgumentError> {
        let given = call.arguments.needed(argument)?;
        Project::parse(&given)
            .ok_or_else(|| ArgumentError::new(argument, Some(&given), "it is not a project name"))
    };
    let (from, into) = (name("from")?, name("into")?);
    let merged = call.service.memories.merge_projects(&from, &into).await?;
    let kept: Vec<Value> = merged
        .kept
        .iter()
        .map(|(id, holder)| json!({ "id": id.as_str(), "topic_held_by": holder.as_str() }))
        .collect();
    let again: Vec<&str> = merged.said_again.iter().map(MemoryId::as_str).collect();
    Ok(Reply::saying(format!(
        "now of {into}, from {from}: {}, {}, {}",
        text::counted(merged.memories, "memory"),
        text::counted(merged.sessions, "session"),
        text::counted(merged.prompts, "prompt")
    ))
    .fact("memories", merged.memories)
    .fact("sessions", merged.sessions)
    .fact("prompts", merged.prompts)
    .fact("past_sessions", (merged.past_sessions > 0).then_some(merged.past_sessions))
    .fact("kept", kept)
    .fact("said_again", again))
}

pub(super) async fn prompts(call: &mut Call) -> Answer {
    let all = call.arguments.flag(&["all_projects"])?;
    let project = call.arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let limit = call.arguments.clamped("limit", 20, 1..=LIMIT_MAX)?;
    let prompts = call.service.memories.prompts((!all).then_some(&project), limit).await?;
    let rows = prompts.iter().map(prompt_row).collect();
    Ok(Reply::saying(text::counted(prompts.len(), "prompt")).list("prompts", rows))
}

fn prompt_row(prompt: &Prompt) -> Value {
    json!({
        "id": prompt.id.as_str(), "session_id": prompt.session.as_str(), "project": prompt.project.as_str(),
        "agent": prompt.agent, "content": prompt.content, "created_at": prompt.created_at.to_string(),
    })
}

pub(super) async fn events(call: &mut Call) -> Answer {
    let after = call.arguments.count("after")?.unwrap_or(0);
    let limit = call.arguments.clamped("limit", 100, 1..=LISTING_MAX)?;
    let events = call.service.recall.events(after as u64, limit).await?;
    let rows = events
        .iter()
        .map(|event| {
            json!({
                "writer": event.writer, "seq": event.seq, "at": event.at.to_string(), "kind": event.kind.as_str(),
                "memory": event.memory.as_ref().map(|id| id.as_str().to_owned()),
                "session": event.session.as_ref().map(|id| id.as_str().to_owned()),
                "project": event.project.as_ref().map(|project| project.as_str().to_owned()),
            })
        })
        .collect();
    Ok(Reply::saying(text::counted(events.len(), "event")).list("events", rows))
}

/// The graph around a memory or, if a project is named, its latest memories.
pub(super) async fn graph(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    let depth = call.arguments.clamped("depth", 2, 1..=GRAPH_DEPTH_MAX)?;
    let limit = call.arguments.clamped("limit", 50, 1..=GRAPH_NODES_MAX)?;
    let graph = match project {
        Some(project) => call.service.recall.graph_of_project(&project, limit).await?,
        None => {
            let id = call.arguments.memory_id()?;
            call.service.recall.graph(&id, depth, limit).await?
        }
    };
    let nodes: Vec<Value> = graph
        .nodes
        .iter()
        .map(|node| {
            json!({
                "id": node.memory.id.as_str(), "title": node.memory.title, "type": node.memory.kind.as_str(),
                "project": node.memory.scope.project_name(), "updated_at": node.memory.updated_at.to_string(),
                "distance": node.distance,
            })
        })
        .collect();
    let relations: Vec<Value> = graph.relations.iter().map(relation_json).collect();
    Ok(Reply::saying(format!(
        "{}, {}",
        text::counted(nodes.len(), "memory"),
        text::counted(relations.len(), "relation")
    ))
    .list("nodes", nodes)
    .list("relations", relations)
    .fact("truncated", graph.truncated))
}

fn relation_json(one: &StoredRelation) -> Value {
    json!({
        "from": one.from.as_str(), "to": one.to.as_str(), "kind": one.kind, "weight": one.weight,
        "evidence": one.evidence, "method": one.method, "model": one.model, "at": one.at.to_string(),
    })
}

/// What is known about a name.
pub(super) async fn entity(call: &mut Call) -> Answer {
    let name = call.arguments.needed("name")?;
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", 50, 1..=GRAPH_NODES_MAX)?;
    let found = call.service.recall.entity(&call.caller, &name, project, limit).await?;
    let memory = |(memory, is_read): &(Memory, bool)| {
        let mut row = memory_row(memory);
        row["by"] = json!(if *is_read { "model" } else { "mention" });
        row
    };
    let beside = |(mention, count): &(Mention, usize)| json!({ "name": mention.name, "kind": mention.kind.as_str(), "memories": count });
    let memories: Vec<Value> = found.memories.iter().map(memory).collect();
    Ok(Reply::saying(format!(
        "{} about it in project {}",
        text::counted(memories.len(), "memory"),
        found.project
    ))
    .fact("project", found.project.as_str())
    .list("memories", memories)
    .list("beside", found.beside.iter().map(beside).collect())
    .list("relations", found.relations.iter().map(relation_json).collect())
    .fact("truncated", found.truncated))
}

pub(super) async fn export(call: &mut Call) -> AnswerTo<of::Export> {
    let cursor = call.arguments.text("cursor")?;
    let page = call.service.export(cursor.as_deref()).await?;
    let answer = portable::Page { lines: page.lines, next_cursor: page.next, torn: page.is_torn };
    Ok(Reply::saying("a page of the export").answering(answer))
}

pub(super) async fn import(call: &mut Call) -> AnswerTo<of::Import> {
    let lines = call.arguments.texts("lines")?.unwrap_or_default();
    if lines.len() > IMPORT_LINES_MAX {
        let problem = format!("{} lines, at most {IMPORT_LINES_MAX} can be imported at once", lines.len());
        return Err(ArgumentError::new("lines", None, problem).into());
    }
    let dry_run = call.arguments.flag(&["dry_run"])?;
    let imported = call.service.import(&lines, dry_run).await?;
    let skipped = |(line, why): (usize, String)| portable::Skipped { line: line as u64, why: why.into() };
    let answer = portable::Imported {
        created: imported.created as u64,
        unchanged: imported.unchanged as u64,
        skipped: imported.skipped.into_iter().map(skipped).collect(),
    };
    Ok(Reply::saying(format!("{} imported, {} exist already", imported.created, imported.unchanged))
        .answering(answer))
}
