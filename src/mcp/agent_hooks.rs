//! The operations that `cerebro hook` calls for an agent.
//!
//! The connection's hello names the session and the folder. The agent is an argument: the name of the agent's
//! own MCP client, so that both write under one name.

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    reply::Reply,
    rows::ways,
};
use cerebro_core::domain::{EndReason, limits::HOOK_OUTPUT_BYTES_MAX};
use cerebro_service::{Caller, ContextRequest, ServiceError, StartRequest, agent_name};

/// The smallest context that is worth a hook's output.
const CONTEXT_BYTES_MIN: usize = 256;
/// Most recent memories in the context.
const CONTEXT_MEMORIES: usize = 20;

/// The agent that the hook speaks for.
fn caller(call: &mut Call) -> Result<Caller, ArgumentError> {
    let agent = call.arguments.needed("agent")?;
    Ok(Caller { agent: agent_name(&agent), person: false, ..call.caller.clone() })
}

/// Keeps the last message of a session while there is no better summary.
pub(super) async fn message(call: &mut Call) -> Answer {
    let caller = caller(call)?;
    let message = call.arguments.needed("content")?;
    Ok(noted(call.service.note_last_message(&caller, &call.session, &message).await?))
}

/// Keeps the summary that a compaction made of a session.
pub(super) async fn compaction(call: &mut Call) -> Answer {
    let caller = caller(call)?;
    let summary = call.arguments.needed("content")?;
    Ok(noted(call.service.note_compaction(&caller, &call.session, &summary).await?))
}

fn noted(kept: bool) -> Reply {
    Reply::saying(if kept { "kept" } else { "there is a better one" }).fact("kept", kept)
}

/// The context that a session begins with; `null` when nothing is stored yet.
pub(super) async fn context(call: &mut Call) -> Answer {
    let caller = caller(call)?;
    let request = ContextRequest {
        project: None,
        scope: None,
        limit: CONTEXT_MEMORIES,
        max_bytes: call.arguments.clamped(
            "max_bytes",
            HOOK_OUTPUT_BYTES_MAX,
            CONTEXT_BYTES_MIN..=HOOK_OUTPUT_BYTES_MAX,
        )?,
        session: call.session.clone(),
        ways: ways(caller.person),
    };
    let context = call.service.context(&caller, &request).await?;
    let is_empty = context.sessions + context.prompts + context.memories == 0;
    Ok(Reply::saying("context").fact("text", (!is_empty).then_some(context.text)))
}

/// A prompt shows that its session is live, so the session is started, or goes on, with it.
pub(super) async fn prompt(call: &mut Call) -> Answer {
    let caller = caller(call)?;
    let content = call.arguments.needed("content")?;
    let request = StartRequest {
        id: call.session.clone(),
        project: None,
        directory: call.arguments.text("directory")?,
        agent: None,
        parent: None,
    };
    call.service.start_session(&caller, request).await?;
    let saved = call.service.save_prompt(&caller, &call.session, None, &content).await?;
    call.redacted += saved.redacted;
    Ok(Reply::saying("prompt kept").fact("id", saved.prompt.id.as_str()))
}

/// Ends the session; one that never wrote anything was never begun, and that is no fault.
pub(super) async fn end(call: &mut Call) -> Answer {
    // Named like all that a hook calls, though the session knows its agent.
    caller(call)?;
    match call.service.end_session(None, &call.session, EndReason::Ended).await {
        Ok(_) => Ok(Reply::saying("session ended")),
        Err(ServiceError::NoSession(_)) => Ok(Reply::saying("no such session")),
        Err(error) => Err(error.into()),
    }
}
