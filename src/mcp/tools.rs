//! The 13 tools. Each reads arguments, runs a use case and writes an answer.

use std::fmt::Write as _;

use super::prelude::*;
use super::{
    arguments::{Arguments, DayEdge, bullets},
    cursor::SearchMark,
    evidence::{self, exchange},
    explain, freshness,
    reply::{HitParts, NOTES, agent, day},
    rows::{follow_ups, gone, gone_line, marked_entry, shown_project},
};
use crate::answer::memories;
use crate::edits;
use crate::{home::user_home, project_dir};
use cerebro_core::domain::{
    EndReason, Kind, Memory, MemoryId, Project, PromptId, Validity,
    limits::{CONTEXT_BYTES_DEFAULT, CONTEXT_BYTES_MAX, DIRECTORY_BYTES_MAX, LIMIT_MAX, TIMELINE_MAX},
};
use cerebro_core::recall::{Match, Weights};
use cerebro_search::lexical::Hit;
use cerebro_service::{
    ContextRequest, Door, Elsewhere, Entry, Evidence, Found, Mark, Marks, Patch, SaveOutcome, SaveRequest,
    Saved, SearchRequest, StartRequest, TimelineRequest, Within, is_directory,
};
use cerebro_store::Tombstone;

/// The note on a write to a new project.
fn new_project(reply: Reply, project: &str, near: Option<&[Project]>) -> Reply {
    let Some(near) = near else { return reply };
    let names: Vec<&str> = near.iter().map(Project::as_str).collect();
    let hint = if names.is_empty() { String::new() } else { format!("; near: {}", names.join(", ")) };
    reply
        .fact("new_project", true)
        .fact("near", json!(names))
        .line(format!("new project `{project}`, never seen before{hint}"))
}

pub(super) async fn session_start(call: &mut Call) -> Answer {
    let directory = call.arguments.text("directory")?;
    if let Some(path) = directory.as_deref().filter(|path| !is_directory(&text::strip_control_chars(path))) {
        let problem = format!("it must be a path: one line of at most {DIRECTORY_BYTES_MAX} bytes");
        return Err(ArgumentError::new("directory", Some(path), problem).into());
    }
    let named = call.arguments.target_project()?;
    // A folder of a remote client is not on this machine.
    let folder = directory.as_deref().filter(|_| named.is_none() && !call.connection.is_remote());
    let found = match folder {
        Some(dir) => project_dir::look(dir.into(), user_home(), project_dir::LOOK_MAX).await,
        None => None,
    };
    let is_silent = folder.is_some() && found.is_none();
    let project = named.or(found);
    let request = StartRequest {
        id: call.arguments.session_id("id")?.unwrap_or_else(|| call.caller.session.clone()),
        project,
        directory,
        agent: call.arguments.text("agent")?,
        parent: call.arguments.session_id("parent_id")?,
    };
    let started = call.service.sessions.start(&call.caller, request).await?;
    call.redacted += started.redacted;
    let session = started.session;
    call.connection.bind(&session.id);
    call.connection.uses(&call.service, &session.id);
    let verb = if started.resumed { "resumed" } else { "started" };
    let mut reply = Reply::saying(format!(
        "session `{}` {verb} in project {} (since {})",
        session.id,
        session.project,
        moment(session.started_at)
    ))
    .fact("session_id", session.id.as_str())
    .fact("project", session.project.as_str())
    .fact("started_at", moment(session.started_at))
    .fact("resumed", started.resumed);
    if let Some(earlier) = &session.follows {
        reply = reply.fact("follows", earlier.as_str()).line(format!("follows session `{earlier}`"));
    }
    if is_silent {
        let problem = "directory: its file system does not answer, so the project is unknown; give project";
        reply = reply.line(problem).fact("problem", problem);
    }
    let reply = new_project(reply, session.project.as_str(), started.new_project.as_deref());
    Ok(reply.line("next: mem_context for what is known"))
}

pub(super) async fn session_end(call: &mut Call) -> Answer {
    call.arguments.unframe();
    call.take_session()?;
    let id = call.caller.session.clone();
    let summary = call.arguments.nonblank("summary")?;
    let summarised = match &summary {
        Some(summary) => {
            let done = call.service.memories.summarise(&call.caller, summary).await;
            Some(done.map_err(|error| error.about("summary"))?)
        }
        None => None,
    };
    let session = call.service.sessions.end(Some(&call.caller), &id, EndReason::Ended).await?;
    let ended_at = moment(session.ended_at.unwrap_or(session.seen_at));
    let mut reply = Reply::saying(format!("session `{id}` ended at {ended_at}"))
        .fact("session_id", id.as_str())
        .fact("ended_at", ended_at);
    if let Some(done) = summarised {
        call.redacted += done.redacted;
        reply = reply
            .fact("memory_id", done.memory.as_str())
            .line(format!("its summary is memory `{}`", done.memory));
    }
    Ok(reply)
}

pub(super) async fn session_summary(call: &mut Call) -> Answer {
    call.arguments.unframe();
    call.take_session()?;
    let id = call.caller.session.clone();
    let content = call.arguments.content()?;
    let mut parts: Vec<String> = content.into_iter().filter(|part| !part.trim().is_empty()).collect();
    if let Some(goal) = call.arguments.nonblank("goal")? {
        parts.push(format!("## Goal\n{}", goal.trim()));
    }
    let lists = [
        ("discoveries", "Discoveries"),
        ("accomplished", "Accomplished"),
        ("next_steps", "Next steps"),
        ("files", "Files"),
    ];
    for (name, heading) in lists {
        if let Some(items) = call.arguments.texts(name)?.filter(|items| !items.is_empty()) {
            parts.push(format!("## {heading}\n{}", bullets(&items)));
        }
    }
    if parts.is_empty() {
        let problem =
            "there is nothing to store; give content, or goal, discoveries, accomplished, next_steps, files";
        return Err(ArgumentError::new("content", None, problem).into());
    }
    let done = call.service.memories.summarise(&call.caller, &parts.join("\n\n")).await?;
    call.redacted += done.redacted;
    Ok(Reply::saying(format!(
        "summary of session `{id}` is memory `{}` ({}) in project {}",
        done.memory,
        done.outcome.as_str(),
        done.project
    ))
    .fact("project", done.project.as_str())
    .fact("session_id", id.as_str())
    .fact("memory_id", done.memory.as_str())
    .fact("outcome", done.outcome.as_str()))
}

pub(super) async fn context(call: &mut Call) -> Answer {
    let request = ContextRequest {
        project: call.arguments.project()?,
        scope: call.arguments.scope()?,
        limit: call.arguments.clamped("limit", 20, 1..=LIMIT_MAX)?,
        max_bytes: call.arguments.clamped("max_bytes", CONTEXT_BYTES_DEFAULT, 1..=CONTEXT_BYTES_MAX)?,
        follow_ups: follow_ups(call.caller.person),
    };
    let gathered = call.service.recall.context(&call.caller, &request).await?;
    let mut context = freshness::marked(call, gathered).await?.written(&request);
    if request.project.is_none() {
        for (former, count) in call.former().await? {
            let hint = former_project(&former, count, &context.project, call.caller.person);
            if context.text.len() + hint.len() < request.max_bytes {
                context.text += &hint;
            }
        }
    }
    let answer = memories::Context {
        project: Text::of(context.project),
        text: Text::from(&context.text),
        sessions: context.sessions as u64,
        prompts: context.prompts as u64,
        memories: context.memories as u64,
        truncated: context.truncated,
    };
    Ok(Reply::saying(context.text).answering::<of::Context>(answer))
}

/// The note that the folder's project had another name before, under which there are memories.
fn former_project(former: &Project, count: i64, now: &Project, is_person: bool) -> String {
    let who = if is_person { "to move them here, run" } else { "to move them here, ask the user to run" };
    format!(
        "\nThis folder was project `{former}` before, which has {}; {who} `cerebro projects merge {former} {now}`.\n",
        text::counted(count, "memory")
    )
}

pub(super) async fn save(call: &mut Call) -> Answer {
    let arguments = &mut call.arguments;
    arguments.unframe();
    let title = arguments.needed("title")?;
    let content = arguments.needed_content()?;
    let supersedes = arguments.memory_ids("supersedes")?;
    let evidence = arguments.exchange_ids("evidence")?;
    let revive = arguments.flag(&["revive"])?;
    let (nature, trigger) = (arguments.nature()?, arguments.text("trigger")?);
    let valid = Validity::new(
        arguments.date("valid_from", DayEdge::Start)?,
        arguments.date("valid_until", DayEdge::End)?,
    );
    let request = SaveRequest {
        title,
        content,
        kind: arguments.kind()?.unwrap_or_else(Kind::manual),
        scope: {
            let scope = arguments.scope()?;
            let project = arguments.project_in(scope)?.unwrap_or_else(|| call.caller.project.clone());
            scope.unwrap_or_default().of(project)
        },
        topic_key: arguments.text("topic_key")?,
        tags: arguments.texts("tags")?.unwrap_or_default(),
        supersedes,
        evidence,
        valid,
        nature,
        trigger,
        door: Door::Explicit { revive },
    };
    call.take_session()?;
    let saved = call.service.memories.save(&call.caller, request).await?;
    call.redacted += saved.redacted;
    if matches!(saved.outcome, SaveOutcome::Created | SaveOutcome::Updated) {
        freshness::tie_later(call, &saved.memory, freshness::Tying::Anew);
    }
    Ok(saved_reply(&saved))
}

fn saved_reply(saved: &Saved) -> Reply {
    let memory = &saved.memory;
    let project = shown_project(&memory.scope);
    let mut reply = Reply::saying(format!(
        "{} `{}` (revision {}) in project {project}",
        saved.outcome.as_str(),
        memory.id,
        memory.revision
    ))
    .fact("id", memory.id.as_str())
    .fact("outcome", saved.outcome.as_str())
    .fact("revision", memory.revision)
    .fact("project", project);
    if let Some(key) = &memory.topic_key {
        reply = reply.fact("topic_key", key.as_str()).line(format!("topic_key: {key}"));
    }
    if !memory.taint.flags.is_empty() {
        let flags: Vec<&str> = memory.taint.flags.iter().map(|flag| flag.as_str()).collect();
        reply = reply
            .line(format!(
                "flags: {} (it reads like an instruction; it is saved and marked)",
                flags.join(" ")
            ))
            .fact("flags", json!(flags));
    }
    if let Some(key) = &saved.suggested_topic_key {
        reply = reply.fact("suggested_topic_key", key.as_str()).line(format!("suggested topic_key: {key}"));
    }
    if let Some(replaced) = &saved.replaced {
        let (title, by, at) = (&replaced.title, agent(&replaced.agent), moment(replaced.at));
        reply = reply
            .line(format!(
                "replaced: {title} ({by}, {at}); it stays as revision {}. {NOTES}",
                memory.revision - 1
            ))
            .fact("replaced", json!({ "title": title, "agent": by, "at": at }));
    }
    reply = superseded(noted(reply, saved.noted.as_ref()), &saved.superseded);
    if !saved.similar.is_empty() {
        let similar = saved.similar.iter().map(|near| {
            let (by, date) = (agent(&near.agent), day(near.at));
            json!({ "id": near.id.as_str(), "title": near.title, "date": date, "agent": by })
        });
        reply = reply
            .list("similar", similar.collect())
            .line(format!(
                "similar live memories (mem_update one of them if it is the same subject). {NOTES}"
            ))
            .lines(saved.similar.iter().map(|near| {
                format!("- `{}` {} ({}, {})", near.id, near.title, day(near.at), agent(&near.agent))
            }));
    }
    new_project(reply, memory.scope.project_name(), saved.new_project.as_deref())
}

/// Adds the notice of another memory that no longer says the same, if there is one.
fn noted(reply: Reply, tombstone: Option<&Tombstone>) -> Reply {
    let Some(tombstone) = tombstone else { return reply };
    reply.line(gone_line(tombstone)).fact("noted", json!(gone(tombstone)))
}

/// Adds the memories that a memory superseded.
fn superseded(reply: Reply, superseded: &[Memory]) -> Reply {
    let ids: Vec<&str> = superseded.iter().map(|memory| memory.id.as_str()).collect();
    let lines = superseded.iter().map(|memory| format!("superseded: `{}` {}", memory.id, memory.title));
    reply.fact("superseded", json!(ids)).lines(lines)
}

pub(super) async fn update(call: &mut Call) -> Answer {
    let arguments = &mut call.arguments;
    arguments.unframe();
    let id = arguments.memory_id()?;
    let scope = arguments.scope()?;
    let patch = Patch {
        title: arguments.text("title")?,
        content: arguments.content()?,
        kind: arguments.kind()?,
        project: arguments.project_in(scope)?,
        scope,
        topic_key: arguments.change("topic_key")?,
        tags: arguments.texts("tags")?,
        expected_revision: arguments.revision("expected_revision")?,
        supersedes: arguments.memory_ids("supersedes")?,
        evidence: arguments.exchange_ids("evidence")?,
        valid_from: arguments.reset("valid_from", DayEdge::Start)?,
        valid_until: arguments.reset("valid_until", DayEdge::End)?,
        nature: arguments.nature()?,
        trigger: arguments.change("trigger")?,
        done: arguments.text("done")?.map(|_| arguments.flag(&["done"])).transpose()?,
        door: Door::Explicit { revive: arguments.flag(&["revive"])? },
    };
    let verified = arguments.flag(&["verified"])?;
    if !verified && changes_nothing(&patch) {
        let problem = "give at least one of title, content, type, project, scope, topic_key, tags, supersedes, evidence, valid_from, valid_until, kind, trigger, done, verified";
        return Err(ArgumentError::new("id", Some(id.as_str()), problem).into());
    }
    let updated = call.service.memories.update(&call.caller, &id, patch).await?;
    call.redacted += updated.redacted;
    let outcome = if updated.changed { "updated" } else { "unchanged" };
    let project = shown_project(&updated.memory.scope);
    let reply = Reply::saying(format!(
        "{outcome} `{id}` (revision {}) in project {project}",
        updated.memory.revision
    ))
    .fact("id", id.as_str())
    .fact("outcome", outcome)
    .fact("revision", updated.memory.revision)
    .fact("project", project);
    let reply = superseded(noted(reply, updated.noted.as_ref()), &updated.superseded);
    let reply = freshness::of_update(call, &updated, verified, reply).await?;
    Ok(new_project(reply, updated.memory.scope.project_name(), updated.new_project.as_deref()))
}

/// Whether a patch changes nothing: arguments that only guard or permit a change do not count.
fn changes_nothing(patch: &Patch) -> bool {
    *patch == Patch { expected_revision: patch.expected_revision, door: patch.door, ..Patch::default() }
}

pub(super) async fn delete(call: &mut Call) -> Answer {
    let id = call.arguments.memory_id()?;
    let hard = call.arguments.flag(&["hard", "hard_delete"])?;
    // Before the purge, which removes these edges.
    let merged = if hard { call.service.memories.merged_into(&id).await? } else { Vec::new() };
    let copies = if hard { Vec::new() } else { call.service.memories.archived_copies(&id).await? };
    let prompts = if hard { call.service.memories.prompts_with(&id).await? } else { Vec::new() };
    let outcome = if hard {
        call.service.journal.purge_memory(&call.caller, &id).await?
    } else {
        call.service.memories.delete(&call.caller, &id).await?
    };
    let outcome = outcome.as_str();
    if hard {
        forget_edits(call, id);
    }
    let lines = merged.iter().map(|id| format!("`{id}` was merged into it and still says so, archived"));
    let lines = lines.chain(copies.iter().map(|id| format!("`{id}` still says so, archived")));
    let quoted = (!prompts.is_empty()).then(|| {
        let ids: Vec<&str> = prompts.iter().map(PromptId::as_str).collect();
        format!("prompts still say it: {}", ids.join(", "))
    });
    let reply = Reply::saying(format!("{outcome} `{id}`")).lines(lines).lines(quoted);
    let answer = memories::Deleted {
        id: Text::of(id),
        outcome: outcome.into(),
        merged: merged.iter().map(Text::of).collect(),
        copies: copies.iter().map(Text::of).collect(),
        prompts: prompts.iter().map(Text::of).collect(),
    };
    Ok(reply.answering::<of::Delete>(answer))
}

/// Removes the texts of a purged memory's edits from the home.
fn forget_edits(call: &Call, id: MemoryId) {
    match edits::remove_of(call.context.home().root(), &id) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => {
            tracing::warn!(memory = %id, files = left.len(), "cannot remove all texts of a purged memory's edits");
        }
        Err(error) => {
            tracing::warn!(%error, memory = %id, "cannot search for texts of a purged memory's edits");
        }
    }
}

pub(super) async fn suggest_topic_key(call: &mut Call) -> Answer {
    let kind = call.arguments.kind()?;
    let title = call.arguments.text("title")?;
    let content = call.arguments.content()?;
    let kind = kind.as_ref().map(Kind::as_str);
    let suggestion =
        call.service.memories.suggest_topic(&call.caller, kind, title.as_deref(), content.as_deref()).await?;
    call.redacted += suggestion.redacted;
    let existing: Vec<Value> = suggestion
        .existing
        .iter()
        .map(|near| json!({ "key": near.key, "id": near.memory.as_str(), "title": near.title }))
        .collect();
    let (key, project) = (&suggestion.topic_key, &suggestion.project);
    let mut reply = Reply::saying(format!("suggested topic_key: {key} (project {project})"))
        .fact("topic_key", suggestion.topic_key.as_str())
        .fact("project", suggestion.project.as_str())
        .list("existing", existing);
    if !suggestion.existing.is_empty() {
        reply = reply.line(format!("existing keys near it. {NOTES}")).lines(suggestion.existing.iter().map(
            |near| {
                let (date, by) = (day(near.at), agent(&near.agent));
                format!("- {} `{}` {} ({date}, {by})", near.key, near.memory, near.title)
            },
        ));
    }
    Ok(reply)
}

pub(super) async fn search(call: &mut Call) -> Answer {
    let now = call.now();
    let arguments = &mut call.arguments;
    let query = arguments.needed("query")?;
    // Only a person may request explanations and other weights. For an agent these arguments do not exist.
    let explain = call.caller.person && arguments.flag(&["explain"])?;
    let weights = if call.caller.person { explain::weights(arguments)? } else { Weights::default() };
    let mut request = SearchRequest {
        project: arguments.project()?,
        all_projects: arguments.flag(&["all_projects"])?,
        scope: arguments.scope()?,
        kind: arguments.kind()?,
        tags: arguments.texts("tags")?.unwrap_or_default(),
        since: arguments.moment("since", now, DayEdge::Start)?,
        until: arguments.moment("until", now, DayEdge::End)?,
        limit: arguments.clamped("limit", 10, 1..=LIMIT_MAX)?,
        offset: 0,
        weights,
        valid_at: arguments.date("valid_at", DayEdge::Start)?,
        as_of: arguments.moment("as_of", now, DayEdge::End)?,
        archived: arguments.flag(&["archived"])?,
        query,
    };
    let mark = SearchMark::of(call, &request)?;
    request.offset = mark.offset(&mut call.arguments)?;
    let is_framed = !call.caller.person;
    if let Some(of) = evidence::asked(&request)
        && let Some((found, project)) = evidence::search(call, of, &request).await?
    {
        call.arguments.pass_over(&evidence::UNUSED);
        let marks = evidence::marks(call, of, &found).await?;
        let reply = evidence::found_reply(of, &found, &marks, project.as_ref(), is_framed);
        let reply = with_elsewhere(reply, &found.elsewhere);
        return Ok(if found.more { with_cursor(reply, &request, mark) } else { reply });
    }
    let mut found = call.service.recall.search(&call.caller, request.clone()).await?;
    call.redacted += found.redacted;
    if request.as_of.is_none() {
        let memories: Vec<_> = found.hits.iter().map(|hit| (MemoryId::from(hit.id), &hit.scope)).collect();
        freshness::mark(call, &memories, &mut found.marks).await?;
        let ids: Vec<MemoryId> = found.hits.iter().map(|hit| hit.id.into()).collect();
        call.service.feedback.note_shown(&call.caller, &request.query, &ids);
    }
    let mut reply = found_reply(&found, &request, mark, is_framed);
    if found.matched != Match::Strong && evidence::is_wide(&request) {
        let asked = evidence::of_search(call, &request);
        for of in Evidence::ALL {
            if let Some(hint) = call.service.recall.evidence_hint(of, &asked).await? {
                reply = evidence::with_hint(reply, of, &hint, is_framed);
            }
        }
    }
    Ok(if explain {
        reply.list("explained", found.hits.iter().map(|hit| json!(explain::explained(hit))).collect())
    } else {
        reply
    })
}

fn found_reply(found: &Found, request: &SearchRequest, mark: SearchMark, is_framed: bool) -> Reply {
    let label = found.matched.as_str();
    let parts: Vec<HitParts<'_>> = found.hits.iter().map(|hit| hit_parts(hit, found, is_framed)).collect();
    let searched = found.project.as_ref().map_or("all projects", Project::as_str);
    let heading = match parts.len() {
        0 => format!("no hits in {searched} (match: {label})"),
        n => {
            let fit = match found.matched {
                Match::None => format!("Nothing in {searched} fits (match: none); the nearest {n} follow."),
                _ => format!("{} in {searched} (match: {label}).", text::counted(n, "hit")),
            };
            format!("{fit} {NOTES} Read one whole with mem_get_observation.")
        }
    };
    let mut reply = Reply::saying(heading)
        .fact("match", label)
        .list("hits", parts.iter().map(HitParts::json).collect())
        .fact("project", found.project.as_ref().map(|project| project.as_str().to_owned()))
        .lines(parts.iter().map(HitParts::line));
    if let Some(at) = request.as_of {
        let words = format!("as of {}: what was stored then", moment(at));
        reply = reply.fact("as_of", moment(at)).line(words);
    }
    reply = reply.flag("words_only", found.words_only, "found by its words, not by meaning");
    reply = reply.flag("relaxed", found.relaxed, "no hit holds every word of the query");
    if found.more {
        reply = with_cursor(reply, request, mark);
    }
    with_better(reply, found)
}

fn hit_parts<'a>(hit: &'a Hit, found: &'a Found, is_framed: bool) -> HitParts<'a> {
    let shows_project = found.project.is_none() || hit.scope.is_personal();
    HitParts {
        id: hit.id.as_str(),
        title: &hit.title,
        kind: hit.kind.as_str(),
        at: hit.date,
        agent: &hit.agent,
        preview: &hit.preview,
        score: hit.score,
        project: shows_project.then(|| shown_project(&hit.scope)),
        marks: found.marks.get(&hit.id.into()).map_or(&[], Vec::as_slice),
        is_framed,
    }
}

/// Adds the places with better hits: the archive and other projects.
fn with_better(mut reply: Reply, found: &Found) -> Reply {
    if found.archived > 0 {
        let words = format!("archived: {} better; archived: true shows archived memories", found.archived);
        reply = reply.fact("archived", found.archived).line(words);
    }
    with_elsewhere(reply, &found.elsewhere)
}

/// Adds the other projects with better hits.
fn with_elsewhere(reply: Reply, elsewhere: &[Elsewhere]) -> Reply {
    let fact = |other: &Elsewhere| json!({ "project": other.project.as_str(), "hits": other.hits });
    let line = |other: &Elsewhere| format!("elsewhere: {} better in project {}", other.hits, other.project);
    let facts: Vec<Value> = elsewhere.iter().map(fact).collect();
    reply.fact("elsewhere", facts).lines(elsewhere.iter().map(line))
}

/// Adds how to get the next page.
fn with_cursor(reply: Reply, request: &SearchRequest, mark: SearchMark) -> Reply {
    let cursor = mark.cursor(request.offset + request.limit);
    reply.line(format!("more: next_cursor {cursor}")).fact("next_cursor", cursor)
}

pub(super) async fn timeline(call: &mut Call) -> Answer {
    if let Some(id) = call.arguments.exchange_id() {
        return exchange::timeline(call, id).await;
    }
    let arguments = &mut call.arguments;
    let request = TimelineRequest {
        id: arguments.memory_id()?,
        before: arguments.clamped("before", 5, 0..=TIMELINE_MAX)?,
        after: arguments.clamped("after", 5, 0..=TIMELINE_MAX)?,
        within: within(arguments)?,
    };
    let timeline = call.service.recall.timeline(&request).await?;
    let marks = call.service.recall.marks(&timeline.footings()).await?;
    let entry_json = |entry: &Entry| marked_entry(entry, marks_of(&marks, entry));
    let entry_line = |entry: &Entry| entry_line(entry, marks_of(&marks, entry));
    let mut heading = format!("timeline of `{}` in project {}", request.id, shown_project(&timeline.scope));
    if let Some(session) = &timeline.session {
        let _ = write!(heading, ", session `{}`", session.id);
        if !timeline.scope.is_of(&session.project) {
            let _ = write!(heading, " of project {}", session.project);
        }
    }
    let _ = write!(heading, ". {NOTES}");
    let session = timeline.session.as_ref().map(|session| {
        let mut facts = json!({
            "id": session.id.as_str(), "agent": agent(&session.agent), "project": session.project.as_str(),
            "started_at": moment(session.started_at),
        });
        if let Some(at) = session.ended_at {
            facts["ended_at"] = json!(moment(at));
        }
        facts
    });
    Ok(Reply::saying(heading)
        .fact("project", shown_project(&timeline.scope))
        .fact("session", session.unwrap_or(Value::Null))
        .list("before", timeline.before.iter().map(entry_json).collect())
        .fact("focus", entry_json(&timeline.focus))
        .list("after", timeline.after.iter().map(entry_json).collect())
        .lines(timeline.before.iter().map(entry_line))
        .line(format!("> {}", entry_line(&timeline.focus)))
        .lines(timeline.after.iter().map(entry_line)))
}

fn within(arguments: &mut Arguments) -> Result<Within, ArgumentError> {
    let given = arguments.text("within")?.unwrap_or_default();
    match given.trim().to_ascii_lowercase().as_str() {
        "" | "session" => Ok(Within::Session),
        "project" => Ok(Within::Project),
        // The given text, because in a lowercased one a secret would not be recognised.
        _ => Err(ArgumentError::new("within", Some(&given), "it must be `session` or `project`")),
    }
}

fn marks_of<'a>(marks: &'a Marks, entry: &Entry) -> &'a [Mark] {
    let id = entry.memory_kind.as_ref().and_then(|_| MemoryId::parse(&entry.id).ok());
    id.and_then(|id| marks.get(&id)).map_or(&[], Vec::as_slice)
}

fn entry_line(entry: &Entry, marks: &[Mark]) -> String {
    let kind = entry.memory_kind.as_deref().unwrap_or(entry.kind.as_str());
    let title = text::cut_chars(&entry.title, 120);
    let marks: String = marks.iter().map(|mark| format!(", {}", mark.text())).collect();
    format!("{} {kind} `{}` {title} ({}{marks})", moment(entry.at), entry.id, agent(&entry.agent))
}

pub(super) async fn save_prompt(call: &mut Call) -> Answer {
    call.arguments.unframe();
    let content = call.arguments.needed_content()?;
    let project = call.arguments.target_project()?;
    call.take_session()?;
    let saved = call.service.memories.save_prompt(&call.caller, project, &content).await?;
    call.redacted += saved.redacted;
    let outcome = if saved.created { "created" } else { "unchanged" };
    let prompt = &saved.prompt;
    let reply = Reply::saying(format!("prompt {outcome} `{}` in project {}", prompt.id, prompt.project))
        .fact("id", prompt.id.as_str())
        .fact("outcome", outcome)
        .fact("project", prompt.project.as_str());
    Ok(new_project(reply, prompt.project.as_str(), saved.new_project.as_deref()))
}
