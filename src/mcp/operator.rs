//! Operations for a person at the command line, in addition to the 13 tools.
//!
//! The commands are clients of the daemon, like agents, over the same protocol. The daemon answers these operations
//! only on a connection whose hello says that the client is a person's. The socket's permissions keep others out.

use super::prelude::*;
use super::{
    arguments::DayEdge,
    context::{Context, lock},
    distil_ops, http, maintenance,
    rows::{gone, memory_row, session_row},
    work_ops,
};
use crate::answer::{
    daemon, graph,
    memories::{Changed, Former, Listed, Misspelt, Named, Resolved, Spelling, Type, Types},
    portable,
    projects::{self, Kept, Merged, Projects},
    sessions::{self, Events, Prompts, Sessions},
};
use crate::daemon::VERSION;
use cerebro_core::domain::{
    Event, Kind, Memory, MemoryId, Project, Prompt,
    limits::{LIMIT_MAX, LISTING_MAX},
};
use cerebro_core::relate::Mention;
use cerebro_service::{GRAPH_DEPTH_MAX, GRAPH_NODES_MAX, GraphNode, Selection, Updated};
use cerebro_store::{ProjectCount, StoredRelation};

/// Most lines of an import in one call.
const IMPORT_LINES_MAX: usize = 500;
/// Most matches of a partial id that are named.
pub(super) const RESOLVED_MAX: usize = 10;
/// The conditions of a selection. Commands delete what they select.
const CONDITIONS: [&str; 8] = ["project", "scope", "type", "tags", "since", "until", "session", "agent"];

/// The state of the daemon. This works even while the store is opening, or if it cannot be opened.
pub(super) fn status(context: &Context) -> daemon::Status {
    let control = context.control();
    daemon::Status {
        pid: std::process::id(),
        version: VERSION.into(),
        uptime_s: control.uptime().as_secs(),
        clients: control.clients() as u64,
        started_at: moment(control.started_at()).into(),
        store: context.stage_name().into(),
        home: Text::of(context.home().root().display()),
        database: context.database().map(Text::from),
        http: http::address(context).map(Text::from),
        backup: maintenance::last_backup(context),
        journal: work_ops::journal(context),
    }
}

/// Makes the daemon end.
pub(super) fn stop(context: &Context) -> daemon::Stopping {
    context.control().stop();
    daemon::Stopping { pid: std::process::id() }
}

pub(super) async fn restore(call: &mut Call) -> AnswerTo<of::Restore> {
    let id = call.arguments.memory_id()?;
    Ok(changed(&call.service.memories.restore(&call.caller, &id).await?, "restored"))
}

/// Pins or unpins a memory.
pub(super) async fn pin(call: &mut Call, pinned: bool) -> AnswerTo<of::Pin> {
    let id = call.arguments.memory_id()?;
    let updated = call.service.memories.pin(&call.caller, &id, pinned).await?;
    Ok(changed(&updated, if pinned { "pinned" } else { "unpinned" }))
}

/// A change of one memory; `outcome` is what the change is called.
pub(super) fn changed(updated: &Updated, outcome: &str) -> Changed {
    let outcome = if updated.changed { outcome } else { "unchanged" };
    let (id, title) = (&updated.memory.id, &updated.memory.title);
    let noted = updated.noted.as_ref();
    Changed { id: Text::of(id), outcome: outcome.into(), title: Text::of(title), noted: noted.map(gone) }
}

pub(super) async fn resolve(call: &mut Call) -> AnswerTo<of::Resolve> {
    let prefix = call.arguments.needed("prefix")?;
    let prefix = prefix.trim().trim_start_matches("memory:").to_ascii_lowercase();
    if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(ArgumentError::new("prefix", Some(&prefix), "it is not part of a memory id").into());
    }
    if call.arguments.flag(&["proposals"])? {
        let ids = distil_ops::named_like(call, &prefix, RESOLVED_MAX).await?;
        return Ok(Resolved { ids });
    }
    let found = call.service.recall.resolve(&prefix, RESOLVED_MAX).await?;
    let mut ids: Vec<Named> =
        found.iter().map(|(id, title)| Named { id: Text::of(id), title: title.into() }).collect();
    if call.arguments.flag(&["evidence"])? {
        let exchanges = call.service.history.exchanges_like(&prefix, RESOLVED_MAX).await?;
        ids.extend(exchanges.iter().map(|one| Named { id: Text::of(one.id), title: Text::of(&one.title) }));
    }
    Ok(Resolved { ids })
}

pub(super) async fn list(call: &mut Call) -> AnswerTo<of::List> {
    let now = call.now();
    call.arguments.filled(&CONDITIONS)?;
    let project = call.project_or_all()?;
    let is_own = project.is_some() && call.arguments.named_project().is_none();
    let arguments = &mut call.arguments;
    let selection = Selection {
        project,
        scope: arguments.scope()?,
        kind: arguments.kind()?,
        tags: arguments.texts("tags")?.unwrap_or_default(),
        since: arguments.moment("since", now, DayEdge::Start)?,
        until: arguments.moment("until", now, DayEdge::End)?,
        session: arguments.session_id("session")?,
        agent: arguments.text("agent")?,
        deleted: arguments.flag(&["deleted"])?,
        archived: arguments.flag(&["archived"])?,
    };
    let limit = arguments.clamped("limit", 20, 1..=LISTING_MAX)?;
    let offset = arguments.count("cursor")?.unwrap_or(0);
    let found = call.service.recall.select(&selection, offset, limit).await?;
    let former = if found.memories.is_empty() && is_own { call.former().await? } else { Vec::new() };
    let former = former
        .iter()
        .map(|(project, count)| Former { project: Text::of(project), memories: count.unsigned_abs() });
    Ok(Listed {
        memories: found.memories.iter().map(memory_row).collect(),
        next_cursor: found.next.map(Text::of),
        total: found.total.map(|total| total as u64),
        project: Text::of(&call.caller.project),
        former: former.collect(),
    })
}

pub(super) async fn sessions(call: &mut Call) -> AnswerTo<of::Sessions> {
    let project = call.project_or_all()?;
    let limit = call.arguments.clamped("limit", 20, 1..=LIMIT_MAX)?;
    let before = call.arguments.moment("before", call.now(), DayEdge::Start)?;
    let after = call.arguments.session_id("after")?;
    let sessions = call.service.sessions.latest(project.as_ref(), before, after.as_ref(), limit).await?;
    Ok(Sessions { sessions: sessions.iter().map(session_row).collect() })
}

pub(super) async fn projects(call: &mut Call) -> AnswerTo<of::Projects> {
    let projects = call.service.recall.projects().await?;
    let row = |(project, count): (&Project, &ProjectCount)| projects::Project {
        project: Text::of(project),
        memories: count.memories.unsigned_abs(),
        sessions: count.sessions.unsigned_abs(),
        prompts: count.prompts.unsigned_abs(),
        past_sessions: Some(count.past_sessions.unsigned_abs()).filter(|count| *count > 0),
        last_at: count.last_at.map(|at| moment(at).into()),
    };
    Ok(Projects { projects: projects.iter().map(row).collect() })
}

/// The types that live memories have, the most frequent first.
pub(super) async fn types(call: &mut Call) -> AnswerTo<of::Types> {
    let types = call.service.recall.types().await?;
    let row = |(kind, count): &(Kind, usize)| Type { name: Text::of(kind), memories: *count as u64 };
    Ok(Types { types: types.iter().map(row).collect() })
}

/// Suggestions for the words of a question.
pub(super) async fn spelling(call: &mut Call) -> AnswerTo<of::Spelling> {
    let query = call.arguments.needed("query")?;
    let project = call.project_or_all()?;
    let spelled = call.service.recall.spelled(&query, project.as_ref()).await?;
    let words = spelled
        .into_iter()
        .map(|(word, near)| Misspelt { word: word.into(), near: near.into_iter().map(Text::from).collect() });
    Ok(Spelling { words: words.collect() })
}

pub(super) async fn merge_projects(call: &mut Call) -> AnswerTo<of::MergeProjects> {
    // The other name is of a project that is stored.
    call.arguments.redact_name("into");
    let mut name = |argument: &'static str| -> Result<Project, ArgumentError> {
        let given = call.arguments.needed(argument)?;
        Project::parse(&given)
            .ok_or_else(|| ArgumentError::new(argument, Some(&given), "it is not a project name"))
    };
    let (from, into) = (name("from")?, name("into")?);
    if into.is_reserved() {
        return Err(ArgumentError::new("into", Some(into.as_str()), Project::RESERVED_WHY).into());
    }
    let merged = call.service.journal.merge_projects(&from, &into).await?;
    let kept =
        |(id, holder): &(MemoryId, MemoryId)| Kept { id: Text::of(id), topic_held_by: Text::of(holder) };
    Ok(Merged {
        memories: merged.memories as u64,
        sessions: merged.sessions as u64,
        prompts: merged.prompts as u64,
        past_sessions: (merged.past_sessions > 0).then_some(merged.past_sessions as u64),
        kept: merged.kept.iter().map(kept).collect(),
        said_again: merged.said_again.iter().map(Text::of).collect(),
    })
}

pub(super) async fn prompts(call: &mut Call) -> AnswerTo<of::Prompts> {
    let project = call.project_or_all()?;
    let limit = call.arguments.clamped("limit", 20, 1..=LIMIT_MAX)?;
    let prompts = call.service.memories.prompts(project.as_ref(), limit).await?;
    Ok(Prompts { prompts: prompts.iter().map(prompt_row).collect() })
}

fn prompt_row(prompt: &Prompt) -> sessions::Prompt {
    sessions::Prompt {
        id: Text::of(prompt.id),
        session_id: Text::of(&prompt.session),
        project: Text::of(&prompt.project),
        agent: Text::of(&prompt.agent),
        content: Text::of(&prompt.content),
        created_at: Text::of(prompt.created_at),
    }
}

pub(super) async fn events(call: &mut Call) -> AnswerTo<of::Events> {
    let after = call.arguments.count("after")?.unwrap_or(0);
    let limit = call.arguments.clamped("limit", 100, 1..=LISTING_MAX)?;
    let events = call.service.recall.events(after as u64, limit).await?;
    let row = |event: &Event| sessions::Event {
        writer: Text::from(&event.writer),
        seq: event.seq,
        at: Text::of(event.at),
        kind: event.kind.as_str().into(),
        memory: event.memory.map(Text::of),
        session: event.session.as_ref().map(Text::of),
        project: event.project.as_ref().map(Text::of),
    };
    Ok(Events { events: events.iter().map(row).collect() })
}

/// The graph around a memory or, if a project is named, its latest memories.
pub(super) async fn graph(call: &mut Call) -> AnswerTo<of::Graph> {
    let project = call.arguments.project()?;
    let depth = call.arguments.clamped("depth", 2, 1..=GRAPH_DEPTH_MAX)?;
    let limit = call.arguments.clamped("limit", 50, 1..=GRAPH_NODES_MAX)?;
    let found = match project {
        Some(project) => call.service.recall.graph_of_project(&project, limit).await?,
        None => {
            let id = call.arguments.memory_id()?;
            call.service.recall.graph(&id, depth, limit).await?
        }
    };
    let node = |node: &GraphNode| graph::Node {
        id: Text::of(node.memory.id),
        title: Text::of(&node.memory.title),
        kind: Text::of(&node.memory.kind),
        project: node.memory.scope.project_name().into(),
        updated_at: Text::of(node.memory.updated_at),
        distance: node.distance as u64,
    };
    Ok(graph::Graph {
        nodes: found.nodes.iter().map(node).collect(),
        relations: found.relations.iter().map(relation).collect(),
        truncated: found.truncated,
    })
}

fn relation(one: &StoredRelation) -> graph::Relation {
    graph::Relation {
        from: Text::of(one.from),
        to: Text::of(one.to),
        kind: Text::from(&one.kind),
        weight: one.weight,
        evidence: one.evidence.as_ref().map(Text::from),
        method: Text::from(&one.method),
        model: one.model.as_ref().map(Text::from),
        at: Text::of(one.at),
    }
}

/// What is known about a name.
pub(super) async fn entity(call: &mut Call) -> AnswerTo<of::Entity> {
    let name = call.arguments.needed("name")?;
    let project = call.arguments.project()?;
    let limit = call.arguments.clamped("limit", 50, 1..=GRAPH_NODES_MAX)?;
    let found = call.service.recall.entity(&call.caller, &name, project, limit).await?;
    let about = |(memory, is_read): &(Memory, bool)| graph::About {
        row: memory_row(memory),
        by: if *is_read { "model" } else { "mention" }.into(),
    };
    let beside = |(mention, count): &(Mention, usize)| graph::Beside {
        name: Text::of(&mention.name),
        kind: mention.kind.as_str().into(),
        memories: *count as u64,
    };
    Ok(graph::Entity {
        project: Text::of(&found.project),
        memories: found.memories.iter().map(about).collect(),
        beside: found.beside.iter().map(beside).collect(),
        relations: found.relations.iter().map(relation).collect(),
        truncated: found.truncated,
    })
}

pub(super) async fn export(call: &mut Call) -> AnswerTo<of::Export> {
    let cursor = call.arguments.text("cursor")?;
    let page = call.service.export(cursor.as_deref()).await?;
    Ok(portable::Page { lines: page.lines, next_cursor: page.next, torn: page.is_torn })
}

pub(super) async fn import(call: &mut Call) -> AnswerTo<of::Import> {
    let lines = call.arguments.texts("lines")?.unwrap_or_default();
    if lines.len() > IMPORT_LINES_MAX {
        let problem = format!("{} lines, at most {IMPORT_LINES_MAX} can be imported at once", lines.len());
        return Err(ArgumentError::new("lines", None, problem).into());
    }
    let run = call.arguments.run()?;
    let is_end = call.arguments.flag(&["end"])?;
    if !run.is_dry() {
        let importing = call.service.importing().await;
        lock(call.connection.importing()).get_or_insert(importing);
    }
    let imported = call.service.import(&lines, run).await?;
    if is_end && !run.is_dry() {
        lock(call.connection.importing()).take();
        call.service.import_ended().await?;
    }
    let skipped = |(line, why): (usize, String)| portable::Skipped { line: line as u64, why: why.into() };
    Ok(portable::Imported {
        created: imported.created as u64,
        unchanged: imported.unchanged as u64,
        skipped: imported.skipped.into_iter().map(skipped).collect(),
    })
}
