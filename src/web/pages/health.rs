//! The health page: good and bad facts with advice, and the doctor's checks on demand.

use super::prelude::*;
use super::{
    FACT_BYTES_MAX,
    overview::{FactLine, facts, spend},
};
use crate::answer;
use crate::view::{self, Fact};
use cerebro_core::operation::Operation;

/// Most jobs that are named.
const JOBS_MAX: usize = 20;

struct Job {
    title: String,
    attempts: u32,
    error: String,
}

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    shell: Shell,
    facts: Vec<FactLine>,
    is_paused: bool,
    dead: String,
    jobs: Vec<Job>,
    checks: Vec<FactLine>,
    /// Whether the checks also repaired.
    is_mended: bool,
}

pub(in crate::web) async fn show(Asked { shared, locale, parts }: Asked) -> Page {
    let mut page = health(&shared, &locale).await?;
    page.shell = page.shell.done(parts.get("done"));
    Ok(shell::ok(&page))
}

async fn health(shared: &Shared, locale: &Locale) -> Result<HealthPage, Failure> {
    let backend = &shared.backend;
    backend.count_now().await?;
    let figures = backend.figures().await?;
    let stats = figures.counts.stats.as_ref();
    let dead = stats.map_or(0, |stats| stats.worker.dead);
    let jobs = backend.read(of::Jobs, json!({ "state": "dead", "limit": JOBS_MAX })).await?;
    let job = |job: &answer::worker::Job| Job {
        title: super::titled(&job.title.line()),
        attempts: job.attempts,
        error: byte_budget::cut(&answer::line(job.error.as_ref()), FACT_BYTES_MAX).into_owned(),
    };
    Ok(HealthPage {
        shell: Shell::titled("Health", "/").token(shared.access.token()),
        facts: facts(&figures)
            .into_iter()
            .chain(stats.and_then(spend))
            .chain(stats.map(|stats| view::vitals(&stats.health)).unwrap_or_default())
            .map(FactLine::of)
            .collect(),
        is_paused: stats.is_some_and(|stats| stats.worker.state == "paused"),
        dead: if dead > 0 { locale.count(dead) } else { String::new() },
        jobs: jobs.jobs.iter().map(job).collect(),
        checks: Vec::new(),
        is_mended: false,
    })
}

/// Runs the doctor's checks and, if the form says so, repairs what can be repaired.
pub(in crate::web) async fn examine(Asked { shared, locale, .. }: Asked, form: Posted) -> Page {
    let is_mended = form.field("fix") == "1";
    let examined = shared.backend.change_and_read(of::Examine, json!({ "fix": is_mended })).await?;
    let mut page = health(&shared, &locale).await?;
    let check = |found: &answer::upkeep::Check| {
        let well = match found.state.raw() {
            "ok" | "fixed" => Some(true),
            "unknown" => None,
            _ => Some(false),
        };
        let words = format!("{}: {}", found.check.line(), found.words.line());
        FactLine::of(Fact::new(well, "", words))
    };
    page.checks = examined.checks.iter().map(check).collect();
    page.is_mended = is_mended;
    Ok(shell::ok(&page))
}

/// Pauses or resumes the worker, or retries dead letters.
pub(in crate::web) async fn worker(State(shared): State<Shared>, form: Posted) -> Page {
    let (operation, done) = match form.field("do").as_str() {
        "pause" => (Operation::WorkerPause, "worker"),
        "resume" => (Operation::WorkerResume, "worker"),
        "retry" => (Operation::JobsRetry, "retried"),
        _ => return Err(Failure::nothing()),
    };
    shared.backend.change(operation, json!({})).await?;
    Ok(returned("/health", done))
}
