//! The operations that `cerebro hook` calls for an agent.
//!
//! The connection's hello names the session and the folder. An argument names the agent's own MCP client, so that
//! hooks and agent write under the same name.

use std::{path::PathBuf, time::Duration};

use super::prelude::*;
use super::{freshness, rows::follow_ups, work_ops};
use crate::answer::hooks::{self, Kept, Nothing, Recorded};
use cerebro_core::domain::{EndReason, SessionId, WorkId, limits::HOOK_OUTPUT_BYTES_MAX};
use cerebro_core::taint;
use cerebro_ledger::{SeenFile, Step, Unfinished, Work, World};
use cerebro_ledger::{limits::HINT_BYTES, work::UNTITLED};
use cerebro_service::work::{Actor, Happening, Reporter, ShownWork, Target, WorkQuery, reported};
use cerebro_service::{ContextRequest, ServiceError, StartRequest, agent_name};

/// Smallest context for a hook's output, in bytes.
const CONTEXT_BYTES_MIN: usize = 256;
/// Most recent memories in the context.
const CONTEXT_MEMORIES: usize = 20;

/// Makes the agent for which the hook acts the call's caller.
fn act_for_agent(call: &mut Call) -> Result<(), ArgumentError> {
    let agent = call.arguments.needed("agent")?;
    (call.caller.agent, call.caller.person) = (agent_name(&agent), false);
    Ok(())
}

/// Saves the last message of a session as its summary, if there is no better one.
pub(super) async fn message(call: &mut Call) -> AnswerTo<of::HookMessage> {
    act_for_agent(call)?;
    let message = call.arguments.needed("content")?;
    // The watch is recorded under the session of the agent's server, which may have another id.
    if !call.service.feedback.note_answer(&call.caller.session, &message)
        && let Some(session) = call.connection.session_of_server()
    {
        call.service.feedback.note_answer(&session, &message);
    }
    let kept = call.service.memories.note_last_message(&call.caller, &message).await?;
    Ok(Kept { kept })
}

/// Saves the summary of a session that a compaction wrote.
pub(super) async fn compaction(call: &mut Call) -> AnswerTo<of::HookCompaction> {
    act_for_agent(call)?;
    let summary = call.arguments.needed("content")?;
    let kept = call.service.memories.note_compaction(&call.caller, &summary).await?;
    Ok(Kept { kept })
}

/// The context for the beginning of a session; `null` when nothing is stored yet.
pub(super) async fn context(call: &mut Call) -> AnswerTo<of::HookContext> {
    act_for_agent(call)?;
    let request = ContextRequest {
        project: None,
        scope: None,
        limit: CONTEXT_MEMORIES,
        max_bytes: call.arguments.clamped(
            "max_bytes",
            HOOK_OUTPUT_BYTES_MAX,
            CONTEXT_BYTES_MIN..=HOOK_OUTPUT_BYTES_MAX,
        )?,
        follow_ups: follow_ups(call.caller.person),
    };
    let in_hand = match call.arguments.text("transcript")? {
        Some(transcript) => call.service.intake.in_hand(PathBuf::from(transcript)).await,
        None => None,
    };
    let in_hand = in_hand.map(|text| taint::screened(&text).into_owned());
    // Unfinished work comes first, and leaves less room for the rest.
    let taken = in_hand.as_ref().map_or(0, |text| text.len() + 2);
    let max_bytes = request.max_bytes.saturating_sub(taken).max(CONTEXT_BYTES_MIN);
    let request = ContextRequest { max_bytes, ..request };
    let mut gathered = call.service.recall.context(&call.caller, &request).await?;
    if let Some(work) = call.arguments.work_id("work")?
        && let Ok(hinted) = call.service.journal.show(&work_ops::actor(call, None), &work).await
        && let (Some(session), Some(request)) = (&hinted.work.session, &hinted.state.request)
    {
        gathered.without_request(session, &request.text);
    }
    let context = freshness::marked(call, gathered).await?.written(&request);
    let is_empty = context.sessions + context.prompts + context.memories == 0;
    let parts: Vec<String> = in_hand.into_iter().chain((!is_empty).then_some(context.text)).collect();
    let text = (!parts.is_empty()).then(|| parts.join("\n\n").into());
    Ok(hooks::Context { text })
}

/// Records that the agent wrote to the session's transcript file, or to its database if it names no file.
pub(super) async fn transcript(call: &mut Call) -> AnswerTo<of::HookTranscript> {
    act_for_agent(call)?;
    let (intake, caller) = (&call.service.intake, &call.caller);
    let path = call.arguments.text("transcript")?.map(PathBuf::from);
    intake.note_transcript(path.or_else(|| intake.in_database(caller.agent.as_str(), &caller.session)));
    Ok(Nothing {})
}

/// A prompt shows that its session is live, so it also starts or resumes the session.
pub(super) async fn prompt(call: &mut Call) -> AnswerTo<of::HookPrompt> {
    act_for_agent(call)?;
    let content = call.arguments.needed("content")?;
    let request = StartRequest {
        id: call.caller.session.clone(),
        project: None,
        directory: call.arguments.text("directory")?,
        agent: None,
        parent: None,
    };
    call.service.sessions.start(&call.caller, request).await?;
    let Some(saved) = call.service.memories.note_prompt(&call.caller, &content).await? else {
        return Ok(hooks::Prompt { id: Text::default() });
    };
    call.redacted += saved.redacted;
    Ok(hooks::Prompt { id: Text::of(saved.prompt.id) })
}

/// Ends the session. If it does not exist because it wrote nothing, that is not an error.
pub(super) async fn end(call: &mut Call) -> AnswerTo<of::HookEnd> {
    // Checks the argument, as all calls of a hook do, although the session already has its agent.
    act_for_agent(call)?;
    match call.service.sessions.end(None, &call.caller.session, EndReason::Ended).await {
        Ok(_) | Err(ServiceError::NoSession(_)) => Ok(Nothing {}),
        Err(error) => Err(error.into()),
    }
}

/// Most steps of one call of a hook.
const STEPS_MAX: usize = 64;

/// Adds steps to the journal. Malformed ones are ignored, because nobody reads the errors of an agent's hook.
pub(super) async fn step(call: &mut Call) -> AnswerTo<of::HookStep> {
    act_for_agent(call)?;
    let directory = call.arguments.text("directory")?;
    let commit = call.arguments.text("commit")?;
    let once = call.arguments.text("once")?;
    let ago = Duration::from_millis(call.arguments.count("ago_ms")?.unwrap_or_default() as u64);
    let reported = call.arguments.objects("steps")?.into_iter().take(STEPS_MAX);
    let steps = reported.filter_map(|step| serde_json::from_value::<Step>(step).ok()).filter(is_of_hooks);
    let mut happened: Vec<Happening> = steps
        .enumerate()
        .map(|(n, step)| {
            let once = once.as_ref().map(|once| reported::nth(once, n));
            Happening { step, once, ago, by: Reporter::Hook }
        })
        .collect();
    if let Some(transcript) = call.arguments.text("transcript")? {
        call.service.intake.remember_transcript(&call.caller.session, PathBuf::from(transcript));
    }
    call.connection.hook_ran(&call.caller.session);
    let actor = work_ops::actor(call, directory);
    let own = call.service.journal.of_session(&actor).await?;
    if own.is_none() {
        let Some(begun) = begun(&actor, commit, &happened) else {
            return Ok(Recorded { recorded: None });
        };
        happened.insert(0, begun);
    }
    let had_ended = own.is_some_and(|(_, state)| state.ended);
    let is_over = happened.iter().fold(had_ended, |is_over, happening| match happening.step {
        Step::Ended { .. } => true,
        Step::Connected | Step::Prompt { .. } => false,
        // A report that arrives after that of the end.
        _ => is_over,
    });
    let appended = call.service.journal.append(&actor, Target::Session, happened).await?;
    if is_over {
        call.service.journal.close_if_over(&call.caller, &actor).await?;
        // Nobody is at work in it any more.
        call.context.presence().forget_hooks(&call.caller.session);
    }
    let recorded = Some(appended.recorded as u64);
    Ok(Recorded { recorded })
}

/// The first step of a session's piece of work, if the reported steps justify one. If concurrent hooks report it
/// twice, it counts once.
fn begun(actor: &Actor, commit: Option<String>, happened: &[Happening]) -> Option<Happening> {
    // Whatever is reported first: the report of the request may come later, or never. But a session in which nothing is done
    // has no piece of work.
    let does_something = |step: &Step| {
        !matches!(
            step,
            Step::Connected | Step::TurnEnded { .. } | Step::Compacted { .. } | Step::Ended { .. }
        )
    };
    if !happened.iter().any(|happening| does_something(&happening.step)) {
        return None;
    }
    let asked = happened.iter().find_map(|happening| match &happening.step {
        Step::Prompt { text } => Some(text.clone()),
        _ => None,
    });
    let step = Step::Begun {
        title: asked.unwrap_or_else(|| UNTITLED.to_owned()),
        goal: None,
        agent: actor.agent.to_string(),
        directory: actor.directory.clone(),
        commit,
        steps: Vec::new(),
    };
    Some(Happening { once: Some("begun".to_owned()), by: Reporter::Hook, ..Happening::from(step) })
}

/// Whether a hook may report this step. A step that the journal derives is not accepted from outside.
fn is_of_hooks(step: &Step) -> bool {
    matches!(
        step,
        Step::Connected
            | Step::Prompt { .. }
            | Step::TurnEnded { .. }
            | Step::TurnFailed { .. }
            | Step::Started { .. }
            | Step::Ran { .. }
            | Step::Edited { .. }
            | Step::Planned { .. }
            | Step::Compacted { .. }
            | Step::Ended { .. }
            | Step::StepAdded { task: Some(_), .. }
            | Step::StepSet { task: Some(_), .. }
            | Step::Gap { filled: false, .. }
    )
}

/// The unfinished work: of this session after a compaction, otherwise of an abandoned session. The first answer names
/// the files to examine; with their contents, the second one says what has changed since.
pub(super) async fn hint(call: &mut Call) -> AnswerTo<of::HookHint> {
    act_for_agent(call)?;
    let source = call.arguments.text("source")?.unwrap_or_default();
    let named = call.arguments.work_id("work")?;
    let commit = call.arguments.text("commit")?;
    let files = call.arguments.objects("files")?.into_iter().filter_map(seen_file).collect();
    let actor = work_ops::actor(call, None);
    let mut left = Vec::new();
    for id in unfinished(call, &actor, &source).await? {
        let shown = call.service.journal.show(&actor, &id).await?;
        if is_worth_showing(&shown) {
            left.push((id, Unfinished::of(&shown.work, &shown.state)));
        }
    }
    if let Some(id) = named.or_else(|| left.first().map(|(id, _)| *id)) {
        let others = left.into_iter().filter(|(other, _)| *other != id).map(|(_, other)| other).collect();
        let world = World { commit, files, others, ..work_ops::world(call) };
        if let Some(resumed) = call.service.journal.resume(&actor, Some(&id), &world, HINT_BYTES).await? {
            let files = resumed.state.files.iter().rev().take(FILES_LOOKED_AT_MAX);
            return Ok(hooks::Hint {
                work: Some(resumed.work.id.to_string()),
                directory: resumed.state.directory.clone(),
                files: files.map(|file| file.path.clone()).collect(),
                text: Some(taint::screened(&resumed.text).into()),
            });
        }
    }
    Ok(hooks::Hint::default())
}

/// Most files of the work that a hook examines.
const FILES_LOOKED_AT_MAX: usize = 32;

/// The state of a file, as the hook found it.
fn seen_file(file: Value) -> Option<SeenFile> {
    let path = file["path"].as_str()?.to_owned();
    Some(SeenFile { path, digest: file["digest"].as_str().map(str::to_owned) })
}

/// The pieces of work about which a starting session may get a hint, the most important first.
async fn unfinished(call: &Call, actor: &Actor, source: &str) -> Result<Vec<WorkId>, ServiceError> {
    // A session's own conversation contains its work, except after a compaction or a crash.
    let own = call.service.journal.of_session(actor).await?.map(|(own, _)| own.id);
    let is_over = if own.is_some() { !matches!(source, "compact" | "resume") } else { source == "clear" };
    if is_over {
        return Ok(Vec::new());
    }
    let query =
        WorkQuery { project: Some(actor.project.clone()), limit: CANDIDATES_MAX, ..WorkQuery::default() };
    let listed = call.service.journal.list(actor, query).await?;
    let (presence, now, began) = (call.context.presence(), call.now(), call.context.control().started_at());
    let is_left = |work: &Work| {
        let is_over = |session: SessionId| !presence.is_at_work(&session, work.active_at, now, began);
        work.lost || work.keeper(now).is_none_or(is_over)
    };
    // After its own work, the tasks that it works on.
    let is_own_task = |work: &Work| Some(work.id) != own && work.keeper(now) == actor.session;
    let works = listed.iter().map(|listed| &listed.work);
    let wanted = works.filter(|&work| if own.is_some() { is_own_task(work) } else { is_left(work) });
    Ok(own.into_iter().chain(wanted.map(|work| work.id)).collect())
}

/// Most pieces of work that are examined to find an abandoned one.
const CANDIDATES_MAX: usize = 20;

/// Whether work was left unfinished. If a session stopped between two turns, or its user ended it, only effects of
/// unknown outcome count, and a last turn that failed.
fn is_worth_showing(shown: &ShownWork) -> bool {
    let (work, state) = (&shown.work, &shown.state);
    // A task has no turns.
    let is_lost_task = !work.is_session() && work.lost;
    state.open_intents().next().is_some() || is_lost_task || state.is_broken_off()
}
