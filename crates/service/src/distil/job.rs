//! The job that asks a language model what is worth keeping of a past session that has been over for a while; and how to
//! arrange a handbook.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{Distilling, arrange::Task};
use crate::{
    ServiceError, WorkerState,
    jobs::runner::{Blocked, Context, JobError, JobHandler, Leased, Readiness, SPENT, Step},
    settings::{DistilSettings, MODEL_TABLE},
};
use cerebro_core::domain::SessionId;
use cerebro_models::llm::{self, Llm};
use cerebro_store::{Job, JobKind};

/// How often the loop searches for sessions that are over.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);
/// How many sessions are queued at once.
const QUEUED_MAX: usize = 20;
/// The assumed least cost of a question, in tokens.
const TOKENS_LEAST: u64 = 1;

/// The handler of [`JobKind::Distil`].
pub(crate) struct Distil {
    distilling: Distilling,
    /// Opened for each look, because the settings may have changed.
    asked: Option<(Llm, DistilSettings)>,
    /// When the loop last searched for sessions.
    looked: Option<Instant>,
}

impl Distil {
    pub(crate) fn new(distilling: Distilling) -> Self {
        Self { distilling, asked: None, looked: None }
    }
}

impl JobHandler for Distil {
    const KIND: JobKind = JobKind::Distil;
    const NAME: &'static str = "distilling";
    type Task = Task;

    async fn open(&mut self, _cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        self.asked = None;
        let unusable = |reason: String| Ok(Err(Blocked::until_woken(WorkerState::Unusable(reason))));
        let settings = match (self.distilling.options.settings)() {
            Ok(settings) => settings,
            Err(error) => return unusable(error.to_string()),
        };
        if !settings.enabled {
            return Ok(Err(Blocked::until_woken(WorkerState::Off)));
        }
        match llm::open(&settings.model, MODEL_TABLE) {
            Ok(Some(llm)) => self.asked = Some((llm, settings)),
            Ok(None) => return unusable("`[distil.model]` of config.toml names no `provider`".to_owned()),
            Err(error) => return unusable(error.to_string()),
        }
        Ok(Ok(()))
    }

    async fn readiness(&mut self, _cx: &Context) -> Result<Readiness, ServiceError> {
        let Some((llm, settings)) = &self.asked else { return Ok(Readiness::Ready { at_once: 1 }) };
        let spent = self.distilling.spending.distil_spent_today().await?;
        let paid = !llm.is_metered()
            || self.distilling.spending.fits_budget(settings.paid_budget(), settings.question_tokens()).await;
        if !paid || !settings.budget().allows(spent, TOKENS_LEAST) {
            return Ok(Readiness::Blocked(Blocked::until_woken(WorkerState::Waiting(SPENT.to_owned()))));
        }
        Ok(Readiness::Ready { at_once: 1 })
    }

    async fn prepare(&mut self, jobs: &[Job], cx: &Context) -> Result<Vec<Option<Task>>, ServiceError> {
        let named: Vec<Option<Task>> = jobs.iter().map(|job| Task::of(&job.subject)).collect();
        let session = |task: &Task| match task {
            Task::Session(id) => Some(id.clone()),
            Task::Handbook(_) => None,
        };
        let ids: Vec<SessionId> = named.iter().flatten().filter_map(session).collect();
        let here = cx.base.store.past_sessions().by_ids(&ids).await?;
        let is_there = |task: &Task| match task {
            Task::Session(id) => here.iter().any(|session| session.id == *id),
            Task::Handbook(_) => true,
        };
        Ok(named.into_iter().map(|task| task.filter(is_there)).collect())
    }

    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<Task>>,
        cx: &mut Context,
    ) -> Result<Step, JobError> {
        let (Some(Leased { job, task }), Some((llm, settings))) = (leased.front(), &self.asked) else {
            return Ok(Step::Void);
        };
        let answered = match task {
            Task::Session(session) => self.distilling.ask_about(session, llm, settings).await?,
            Task::Handbook(project) => self.distilling.arrange(project.as_ref(), llm, settings).await?,
        };
        if answered {
            cx.answered();
        }
        cx.end(job).await?;
        Ok(Step::Done)
    }

    async fn drained(&mut self, _cx: &Context) -> Result<bool, ServiceError> {
        let Some((_, settings)) = &self.asked else { return Ok(false) };
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return Ok(false);
        }
        self.looked = Some(Instant::now());
        let due = self.distilling.due(settings, None, settings.idle, QUEUED_MAX).await?;
        self.distilling.owe(&due).await?;
        let handbooks =
            if settings.arrange { self.distilling.arranging_due(settings.idle).await? } else { Vec::new() };
        self.distilling.owe_arranging(&handbooks).await?;
        Ok(!due.is_empty() || !handbooks.is_empty())
    }
}
