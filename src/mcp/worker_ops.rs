//! A person's operations on the worker, and the worker's part of `mem_stats`.

use super::prelude::*;
use super::reply::millis;
use crate::answer::worker::{self, Worker};
use cerebro_core::domain::limits::LISTING_MAX;
use cerebro_service::{Service, ServiceError};
use cerebro_store::{JobState, ListedJob};

/// Pauses the worker, or lets it go on.
pub(super) async fn pause(call: &mut Call, paused: bool) -> AnswerTo<of::WorkerPause> {
    call.service.worker.pause(paused).await?;
    status(call).await
}

/// Retries the dead letters.
pub(super) async fn retry_jobs(call: &mut Call) -> AnswerTo<of::JobsRetry> {
    Ok(worker::Retried { revived: call.service.worker.retry().await? as u64 })
}

/// Computes all vectors again, with the model of the settings.
pub(super) async fn reindex(call: &mut Call) -> AnswerTo<of::Reindex> {
    let begun = call.service.worker.reindex().await?;
    Ok(worker::Reindexing { model: begun.model.into(), replaces: begun.replaces.map(Text::from) })
}

pub(super) async fn status(call: &mut Call) -> AnswerTo<of::Worker> {
    let mut worker = facts(&call.service).await?;
    match call.service.worker.inference_model() {
        Ok(model) => worker.relations = model.map(Text::of),
        Err(fault) => worker.relations_fault = Some(Text::of(fault)),
    }
    Ok(worker::Status { worker })
}

/// The state of the worker, for `mem_stats` and `cerebro worker status`.
pub(super) async fn facts(service: &Service) -> Result<Worker, ServiceError> {
    let report = service.worker.report();
    let (counts, filling) = service.worker.job_counts().await?;
    let spent = service.worker.spent_today().await?;
    let (provider, model) = report
        .model
        .as_deref()
        .map(|name| name.split_once('/').unwrap_or(("", name)))
        .map(|(provider, model)| (provider.into(), model.into()))
        .unzip();
    let searched = report.active.filter(|active| report.model.as_ref() != Some(active));
    let (half, most) = report.lag.map(|(half, most)| (millis(half), millis(most))).unzip();
    Ok(Worker {
        state: report.state.name().into(),
        queue_depth: counts.depth() as u64,
        failures: report.failures,
        dead: counts.dead as u64,
        embedded: report.done,
        detail: report.state.detail().map(Text::of),
        provider,
        model,
        searched_model: searched.map(Text::from),
        filling,
        lag_p50_ms: half,
        lag_p99_ms: most,
        tokens_today: (spent.tokens > 0).then_some(spent.tokens),
        requests_today: (spent.requests > 0).then_some(spent.requests),
        distil: super::distil_ops::meter(service).await?,
        relations: None,
        relations_fault: None,
    })
}

/// The facts in one line, for a text.
pub(super) fn line(worker: &Worker) -> String {
    let model = match &worker.model {
        Some(model) => {
            format!("model {}/{}", worker.provider.as_ref().map_or("", Text::raw), model.raw())
        }
        None => "no model".to_owned(),
    };
    let mut parts = vec![
        format!("worker: {}, {model}", worker.state.raw()),
        format!(
            "waiting: {}; failed: {}; given up: {}",
            text::counted(worker.queue_depth, "job"),
            text::counted(worker.failures, "attempt"),
            text::counted(worker.dead, "job")
        ),
    ];
    if let (Some(half), Some(most)) = (worker.lag_p50_ms, worker.lag_p99_ms) {
        parts.push(format!("save to vector p50 {half} ms, p99 {most} ms"));
    }
    if let Some(requests) = worker.requests_today {
        parts.push(format!(
            "spent today: {} in {}",
            text::counted(worker.tokens_today.unwrap_or_default(), "token"),
            text::counted(requests, "request")
        ));
    }
    if let Some(meter) = &worker.distil {
        parts.push(format!(
            "distilling: {} for review, {} in {} today",
            text::counted(meter.waiting, "candidate"),
            text::counted(meter.tokens_today, "token"),
            text::counted(meter.requests_today, "request")
        ));
    }
    parts.extend(worker.detail.as_ref().map(|detail| detail.raw().to_owned()));
    parts.join("; ")
}

pub(super) async fn jobs(call: &mut Call) -> AnswerTo<of::Jobs> {
    let limit = call.arguments.clamped("limit", 50, 1..=LISTING_MAX)?;
    let states = JobState::ALL.map(|state| (state.as_str(), state));
    let state = call.arguments.choice("state", &states)?.unwrap_or(JobState::Dead);
    let (counts, _) = call.service.worker.job_counts().await?;
    let jobs = call.service.worker.jobs(state, limit).await?;
    Ok(worker::Jobs {
        queued: counts.queued as u64,
        leased: counts.leased as u64,
        dead: counts.dead as u64,
        jobs: jobs.into_iter().map(row).collect(),
    })
}

fn row(job: ListedJob) -> worker::Job {
    worker::Job {
        memory: Text::of(job.subject),
        title: job.title.into(),
        state: job.state.as_str().into(),
        attempts: job.attempts,
        due_at: Text::of(job.due_at),
        error: job.error.map(Text::from),
    }
}
