//! A person's operations on the worker, and the worker's part of `mem_stats`.

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    reply::Reply,
};
use cerebro_core::domain::limits::LISTING_MAX;
use cerebro_core::text;
use cerebro_service::{Service, ServiceError};
use cerebro_store::{JobState, ListedJob};

pub(super) async fn pause(call: &mut Call) -> Answer {
    call.service.worker.pause(true).await?;
    status(call).await
}

pub(super) async fn resume(call: &mut Call) -> Answer {
    call.service.worker.pause(false).await?;
    status(call).await
}

/// Retries the dead letters.
pub(super) async fn retry_jobs(call: &mut Call) -> Answer {
    let revived = call.service.worker.retry().await?;
    Ok(Reply::saying(format!("retried: {}", text::counted(revived, "job"))).fact("revived", revived))
}

/// Computes all vectors again, with the model of the settings.
pub(super) async fn reindex(call: &mut Call) -> Answer {
    let begun = call.service.worker.reindex().await?;
    Ok(Reply::saying(format!("the vectors of {} are being computed", begun.model))
        .fact("model", begun.model)
        .fact("replaces", begun.replaces))
}

pub(super) async fn status(call: &mut Call) -> Answer {
    let mut facts = facts(&call.service).await?;
    match call.service.worker.inference_model() {
        Ok(Some(model)) => facts["relations"] = json!(model),
        Ok(None) => {}
        Err(fault) => facts["relations_fault"] = json!(fault),
    }
    let line = facts["state"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::saying(format!("worker: {line}")).fact("worker", facts))
}

/// The state of the worker, for `mem_stats` and `cerebro worker status`.
pub(super) async fn facts(service: &Service) -> Result<Value, ServiceError> {
    let report = service.worker.report();
    let (counts, filling) = service.worker.job_counts().await?;
    let spent = service.worker.spent_today().await?;
    let (provider, model) =
        match report.model.as_deref().map(|name| name.split_once('/').unwrap_or(("", name))) {
            Some((provider, model)) => (Some(provider), Some(model)),
            None => (None, None),
        };
    let mut facts = json!({
        "state": report.state.name(), "queue_depth": counts.depth(), "failures": report.failures,
        "dead": counts.dead, "embedded": report.done,
    });
    let searched = report.active.as_deref().filter(|active| Some(*active) != report.model.as_deref());
    let optional = [
        ("detail", json!(report.state.detail())),
        ("provider", json!(provider)),
        ("model", json!(model)),
        ("searched_model", json!(searched)),
        ("filling", json!(filling.then_some(true))),
        ("lag_p50_ms", json!(report.lag.map(|(half, _)| half.as_millis()))),
        ("lag_p99_ms", json!(report.lag.map(|(_, most)| most.as_millis()))),
        ("tokens_today", json!((spent.tokens > 0).then_some(spent.tokens))),
        ("requests_today", json!((spent.requests > 0).then_some(spent.requests))),
    ];
    for (name, value) in optional {
        if !value.is_null() {
            facts[name] = value;
        }
    }
    if let Some(meter) = super::distil_ops::meter(service).await? {
        facts["distil"] = meter;
    }
    Ok(facts)
}

/// The facts in one line, for a text.
pub(super) fn line(facts: &Value) -> String {
    let number = |name: &str| facts[name].as_u64().unwrap_or_default();
    let word = |name: &str| facts[name].as_str().unwrap_or_default();
    let model = match facts["model"].as_str() {
        Some(model) => format!("model {}/{model}", word("provider")),
        None => "no model".to_owned(),
    };
    let mut parts = vec![
        format!("worker: {}, {model}", word("state")),
        format!(
            "waiting: {}; failed: {}; given up: {}",
            text::counted(number("queue_depth"), "job"),
            text::counted(number("failures"), "attempt"),
            text::counted(number("dead"), "job")
        ),
    ];
    if facts["lag_p50_ms"].is_u64() {
        let (half, most) = (number("lag_p50_ms"), number("lag_p99_ms"));
        parts.push(format!("save to vector p50 {half} ms, p99 {most} ms"));
    }
    if facts["requests_today"].is_u64() {
        let (tokens, requests) = (number("tokens_today"), number("requests_today"));
        parts.push(format!(
            "spent today: {} in {}",
            text::counted(tokens, "token"),
            text::counted(requests, "request")
        ));
    }
    if let Some(meter) = facts["distil"].as_object() {
        let number = |name: &str| meter.get(name).and_then(Value::as_u64).unwrap_or_default();
        parts.push(format!(
            "distilling: {} for review, {} in {} today",
            text::counted(number("waiting"), "candidate"),
            text::counted(number("tokens_today"), "token"),
            text::counted(number("requests_today"), "request")
        ));
    }
    parts.extend(facts["detail"].as_str().map(str::to_owned));
    parts.join("; ")
}

pub(super) async fn jobs(call: &mut Call) -> Answer {
    let limit = call.arguments.clamped("limit", 50, 1..=LISTING_MAX)?;
    let state = match call.arguments.text("state")?.as_deref() {
        None | Some("dead") => JobState::Dead,
        Some("queued") => JobState::Queued,
        Some("leased") => JobState::Leased,
        Some(other) => {
            let problem = "a job is `queued`, `leased` or `dead`";
            return Err(ArgumentError::new("state", Some(other), problem).into());
        }
    };
    let (counts, _) = call.service.worker.job_counts().await?;
    let jobs = call.service.worker.jobs(state, limit).await?;
    Ok(Reply::saying(format!(
        "waiting: {}; given up: {}",
        text::counted(counts.depth(), "job"),
        text::counted(counts.dead, "job")
    ))
    .fact("queued", counts.queued)
    .fact("leased", counts.leased)
    .fact("dead", counts.dead)
    .list("jobs", jobs.iter().map(row).collect()))
}

fn row(job: &ListedJob) -> Value {
    json!({
        "memory": job.subject.to_string(), "title": job.title, "state": job.state.as_str(), "attempts": job.attempts,
        "due_at": job.due_at.to_string(), "error": job.error,
    })
}
