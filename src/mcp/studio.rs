//! Access to the store in its own language: the operations behind `cerebro sql` and `cerebro studio`.
//!
//! The live endpoint belongs to the connection that opened it and closes with it. So it never outlives its command, no
//! matter how that ended. The answer says how to connect. So does a file in the home that only its owner can read and
//! that exists only while the endpoint is open.

use std::time::Duration;

use super::prelude::*;
use crate::answer::{
    listeners::{self, Access},
    sql,
};
use cerebro_core::domain::limits::{SQL_ROWS_MAX, SQL_SECONDS_MAX};
use cerebro_durable as durable;
use cerebro_service::{StudioAccess, StudioOptions};
use cerebro_store::Query;

/// Longest text of a query, in bytes.
const QUERY_BYTES_MAX: usize = 256 * 1024;
/// Default for the rows of one statement's answer.
const ROWS_DEFAULT: usize = 1_000;
/// Size of all answers of one query together, in bytes.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Default for the seconds that a query may take.
const SECONDS_DEFAULT: usize = 10;
/// Most additional origins.
const ORIGINS_MAX: usize = 16;

/// The query of a call, within the bounds of its answer.
fn query(call: &mut Call, rows: usize) -> Result<Query, ArgumentError> {
    let arguments = &mut call.arguments;
    let text = arguments.needed("query")?;
    if text.len() > QUERY_BYTES_MAX {
        let problem = format!("it has {} bytes, at most {QUERY_BYTES_MAX} are allowed", text.len());
        return Err(ArgumentError::new("query", None, problem));
    }
    let params = arguments.object("params")?;
    let rows_max = arguments.clamped("rows", rows, 1..=SQL_ROWS_MAX)?;
    let seconds = arguments.clamped("seconds", SECONDS_DEFAULT, 1..=SQL_SECONDS_MAX)?;
    let timeout = Duration::from_secs(seconds as u64);
    Ok(Query { text, params, rows_max, bytes_max: ANSWER_BYTES_MAX, timeout })
}

pub(super) async fn sql(call: &mut Call) -> AnswerTo<of::Sql> {
    let query = query(call, ROWS_DEFAULT)?;
    let answers = call.service.studio.query(query).await?;
    Ok(sql::Results { results: answers.into_iter().map(statement).collect() })
}

/// Default for the rows of a trial that are reported.
const CHANGES_DEFAULT: usize = 100;

/// Runs statements in a transaction that is cancelled, and reports what they would have changed.
pub(super) async fn what_if(call: &mut Call) -> AnswerTo<of::WhatIf> {
    let query = query(call, CHANGES_DEFAULT)?;
    let trial = call.service.studio.try_out(query).await?;
    Ok(sql::Trial { tables: trial.counts, changes: trial.changes, more: trial.more })
}

fn statement(answer: cerebro_store::Answer) -> sql::Statement {
    sql::Statement {
        result: answer.value,
        ms: answer.took.as_secs_f64() * 1_000.0,
        cut: answer.cut,
        wrote_nothing: answer.wrote_nothing,
        error: answer.error,
    }
}

pub(super) async fn open(call: &mut Call) -> AnswerTo<of::StudioOpen> {
    let port = call.arguments.port()?;
    let origins = call.arguments.texts("origins")?.unwrap_or_default();
    if origins.len() > ORIGINS_MAX {
        let problem = format!("{} origins, at most {ORIGINS_MAX} can be added", origins.len());
        return Err(ArgumentError::new("origins", None, problem).into());
    }
    let context = call.context.clone();
    let _order = context.studio().lock().await;
    let access = call.service.studio.open(StudioOptions { port, origins }).await?;
    call.connection.hold_studio(access.lease);
    let lease = access.lease;
    let access = described(access);
    let file = context.home().studio_file();
    let content = format!("{:#}\n", json!(access));
    if let Err(error) = durable::write(&file, durable::Kind::Own, content.as_bytes()) {
        call.service.studio.close(Some(lease)).await;
        let problem = format!("cannot write {}: {error}", file.display());
        return Err(ArgumentError::new("home", None, problem).into());
    }
    Ok(listeners::Studio { access, file: Text::of(file.display()) })
}

fn described(StudioAccess { address, visitor, .. }: StudioAccess) -> Access {
    Access {
        endpoint: format!("ws://{address}").into(),
        rpc: format!("ws://{address}/rpc").into(),
        namespace: visitor.namespace.into(),
        database: visitor.database.into(),
        user: visitor.user.into(),
        password: visitor.password.into(),
    }
}

pub(super) async fn close(call: &mut Call) -> AnswerTo<of::StudioClose> {
    let closed = call.context.close_studio(&call.service, None).await;
    Ok(listeners::Closed { closed })
}

/// Whether the endpoint that this connection opened is open.
pub(super) async fn status(call: &mut Call) -> AnswerTo<of::StudioStatus> {
    let open = match call.connection.studio_lease() {
        Some(lease) => call.service.studio.is_open(lease).await,
        None => false,
    };
    Ok(listeners::Status { open })
}
