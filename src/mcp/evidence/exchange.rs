//! Past sessions in the tools: one exchange in parts, and the exchanges around it. Everything shown is a quotation.

use super::super::prelude::*;
use super::repeating;
use crate::mcp::reply::{NOTES, agent};
use cerebro_core::domain::{
    Exchange, ExchangeId, MemoryId, PastSession, Scope,
    limits::{GET_BYTES_DEFAULT, GET_BYTES_MAX, GET_BYTES_MIN, TIMELINE_MAX},
};
use cerebro_service::{Evidence, ExchangePart, ExchangeRequest};

/// The type of exchanges.
const KIND: &str = Evidence::History.type_name();

/// One exchange, in parts.
pub(in crate::mcp) async fn get(call: &mut Call, id: ExchangeId) -> Answer {
    let request = ExchangeRequest {
        id,
        offset: call.arguments.count("offset")?.unwrap_or(0),
        max_bytes: call.arguments.clamped("max_bytes", GET_BYTES_DEFAULT, GET_BYTES_MIN..=GET_BYTES_MAX)?,
    };
    let part = call.service.history.exchange(&request).await?;
    let scope = Scope::Project(part.session.project.clone());
    let outdated = call.service.memories.outdated_exchanges(&[(id, scope)]).await?;
    Ok(exchange_reply(&part, outdated.get(&id)))
}

fn exchange_reply(part: &ExchangePart, now: Option<&MemoryId>) -> Reply {
    let ExchangePart { exchange, session, .. } = part;
    let commands: Vec<Value> = exchange.commands.iter().map(command_json).collect();
    let mut reply = Reply::saying(format!("# {}", exchange.title))
        .line(format!(
            "`{}` · history · {} · {} by {} · session `{}`, exchange {}. {NOTES}",
            exchange.id,
            session.project,
            moment(exchange.at),
            agent(&session.agent),
            session.id,
            exchange.seq,
        ))
        .fact("id", exchange.id.to_string())
        .fact("title", exchange.title.as_str())
        .fact("content", part.text.as_str())
        .fact("type", KIND)
        .fact("project", session.project.as_str())
        .fact("session_id", session.id.as_str())
        .fact("seq", exchange.seq)
        .fact("agent", agent(&session.agent))
        .fact("date", moment(exchange.at))
        .fact("files", json!(exchange.files))
        .fact("commands", commands)
        .fact("errors", json!(exchange.errors))
        .fact("content_bytes", part.text_bytes)
        .flag("withdrawn", exchange.withdrawn, "a rewind took it back");
    if let Some(now) = now {
        reply = repeating(reply, now);
    }
    if !exchange.files.is_empty() {
        reply = reply.line(format!("files: {}", exchange.files.join(", ")));
    }
    reply = reply.line("").line(&part.text);
    reply.goes_on(part.next_offset)
}

fn command_json(command: &cerebro_core::domain::PastCommand) -> Value {
    match command.ok {
        Some(ok) => json!({ "line": command.line, "ok": ok }),
        None => json!({ "line": command.line }),
    }
}

/// An exchange and the exchanges around it in its session.
pub(in crate::mcp) async fn timeline(call: &mut Call, id: ExchangeId) -> Answer {
    let side = |call: &mut Call, name| -> Result<usize, ArgumentError> {
        call.arguments.clamped(name, 5, 0..=TIMELINE_MAX)
    };
    let (before, after) = (side(call, "before")?, side(call, "after")?);
    let timeline = call.service.history.timeline(id, before, after).await?;
    let session = &timeline.session;
    let entries = |exchanges: &[Exchange]| exchanges.iter().map(|one| entry_json(one, session)).collect();
    let heading = format!(
        "exchanges around `{id}` in past session `{}` of project {} ({}, {} exchanges). {NOTES}",
        session.id,
        session.project,
        agent(&session.agent),
        session.exchanges
    );
    Ok(Reply::saying(heading)
        .fact("project", session.project.as_str())
        .fact("session", session_json(session))
        .list("before", entries(&timeline.before))
        .fact("focus", entry_json(&timeline.focus, session))
        .list("after", entries(&timeline.after))
        .lines(timeline.before.iter().map(entry_line))
        .line(format!("> {}", entry_line(&timeline.focus)))
        .lines(timeline.after.iter().map(entry_line)))
}

fn session_json(session: &PastSession) -> Value {
    let mut facts = json!({
        "id": session.id.as_str(), "agent": agent(&session.agent), "project": session.project.as_str(),
        "started_at": moment(session.started_at), "ended_at": moment(session.ended_at),
    });
    if let Some(title) = &session.title {
        facts["title"] = json!(text::cut_chars(title, 120));
    }
    facts
}

fn entry_json(exchange: &Exchange, session: &PastSession) -> Value {
    json!({
        "kind": KIND, "id": exchange.id.to_string(), "date": moment(exchange.at), "agent": agent(&session.agent),
        "title": text::cut_chars(&exchange.title, 120),
    })
}

fn entry_line(exchange: &Exchange) -> String {
    let title = text::cut_chars(&exchange.title, 120);
    format!("{} {KIND} `{}` {title}", moment(exchange.at), exchange.id)
}
