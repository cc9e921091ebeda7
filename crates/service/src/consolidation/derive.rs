//! The job that asks a chat model for insights, for a plan that waits: one topic at a time, within the plan's bounds.

use std::collections::VecDeque;

use super::{Consolidating, insight::Asking};
use crate::{
    ServiceError,
    jobs::{
        asking,
        runner::{Blocked, Context, JobError, JobHandler, Leased, Readiness, Step},
    },
};
use cerebro_core::domain::CycleId;
use cerebro_models::llm::Llm;
use cerebro_store::{Job, JobKind, Subject};

/// The handler of [`JobKind::Derive`].
pub(crate) struct Derive {
    consolidating: Consolidating,
    /// Opened for each look, because the settings may have changed.
    llm: Option<Llm>,
}

impl Derive {
    pub(crate) fn new(consolidating: Consolidating) -> Self {
        Self { consolidating, llm: None }
    }
}

impl JobHandler for Derive {
    const KIND: JobKind = JobKind::Derive;
    const NAME: &'static str = "insights";
    type Task = Asking;

    async fn open(&mut self, _cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        let opened = asking::open(&self.consolidating.vectors.embedding().inference);
        Ok(opened.map(|llm| self.llm = Some(llm.knowing(self.llm.as_ref()))))
    }

    async fn readiness(&mut self, _cx: &Context) -> Result<Readiness, ServiceError> {
        let Some(llm) = &self.llm else { return Ok(Readiness::Again) };
        self.consolidating.payer(llm).readiness().await
    }

    async fn prepare(&mut self, jobs: &[Job], _cx: &Context) -> Result<Vec<Option<Asking>>, ServiceError> {
        let mut asking = Vec::with_capacity(jobs.len());
        for job in jobs {
            let plan = match &job.subject {
                Subject::Other { key, .. } => CycleId::parse(key).ok(),
                Subject::Memory(_) => None,
            };
            asking.push(match plan {
                Some(plan) => self.consolidating.asking(&plan).await?,
                None => None,
            });
        }
        Ok(asking)
    }

    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<Asking>>,
        cx: &mut Context,
    ) -> Result<Step, JobError> {
        let (Some(Leased { job, task }), Some(llm)) = (leased.front_mut(), &self.llm) else {
            return Ok(Step::Void);
        };
        if task.is_answered() {
            self.consolidating.keep_insights(task).await?;
            return Ok(Step::More);
        }
        if self.consolidating.ask_for_insights(task, llm).await? {
            cx.answered();
            return Ok(Step::More);
        }
        cx.end(job).await?;
        Ok(Step::Done)
    }
}
