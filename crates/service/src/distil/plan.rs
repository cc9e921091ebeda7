//! Which sessions are due, and what it would cost to ask about them.

use std::{collections::BTreeSet, time::Duration};

use super::{DistilSettings, job::Task};
use crate::{Distilling, ServiceError};
use cerebro_core::domain::{PastSession, Project, SessionId};
use cerebro_core::pace::Spent;
use cerebro_store::{JobKind, PAGE};

/// Sessions that are due, and what asking about them is estimated to cost.
#[derive(Debug, Clone, Default)]
pub struct DistilPlan {
    /// The sessions, the newest first.
    pub sessions: Vec<PlannedSession>,
    /// What they cost together, at most one request each if every answer fits.
    pub cost: Spent,
    /// How many newer ones are left out, because their job was given up before.
    pub given_up: usize,
}

/// A session that is due.
#[derive(Debug, Clone)]
pub struct PlannedSession {
    pub session: PastSession,
    /// An estimate of its cost in tokens; `None` if it will not be sent, because redaction found a secret in it or it
    /// is too long or too short.
    pub tokens: Option<u64>,
}

/// Sessions that were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queued {
    /// Those that are or were queued.
    pub queued: usize,
    /// Newer ones that were left out, because their job was given up before.
    pub given_up: usize,
}

/// The sessions that are due, the newest first.
#[derive(Debug, Default)]
pub(super) struct Due {
    pub(super) sessions: Vec<PastSession>,
    /// How many were left out on the way, because their job was given up.
    pub(super) given_up: usize,
}

impl Distilling {
    /// The sessions of a project (of all, when `None`) that have grown since they were distilled, at most `limit`, the
    /// newest first, with an estimate. Nothing is sent, and no model is needed.
    pub async fn distil_plan(
        &self,
        project: Option<&Project>,
        limit: usize,
    ) -> Result<DistilPlan, ServiceError> {
        let settings = self.settings();
        let due = self.due(&settings, project, Duration::ZERO, limit).await?;
        let mut plan = DistilPlan { given_up: due.given_up, ..DistilPlan::default() };
        for session in due.sessions {
            let tokens = self.distil_estimate(&session, &settings).await?;
            plan.cost.tokens += tokens.unwrap_or(0);
            plan.cost.requests += u64::from(tokens.is_some());
            plan.sessions.push(PlannedSession { session, tokens });
        }
        Ok(plan)
    }

    /// Queues the sessions that are due, however short they were idle. One whose job was given up is not asked about again
    /// until somebody retries the job.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] where distilling is off or its model cannot be asked.
    pub async fn distil_now(&self, project: Option<&Project>, limit: usize) -> Result<Queued, ServiceError> {
        let settings = self.needs_model()?;
        let due = self.due(&settings, project, Duration::ZERO, limit).await?;
        let tasks: Vec<Task> = due.sessions.into_iter().map(|session| Task::Session(session.id)).collect();
        self.hasten(&tasks).await?;
        let queued = Queued { queued: tasks.len(), given_up: due.given_up };
        self.owe(tasks).await?;
        self.jobs.queue(JobKind::Distil).unblock();
        Ok(queued)
    }

    /// The sessions that are due, as far as that is known without their texts. Those whose job was given up take no place.
    pub(super) async fn due(
        &self,
        settings: &DistilSettings,
        project: Option<&Project>,
        idle: Duration,
        limit: usize,
    ) -> Result<Due, ServiceError> {
        let over = self.base.now().checked_sub(idle).unwrap_or_default();
        let given_up = self.given_up().await?.into_iter();
        let given_up: BTreeSet<SessionId> = given_up.filter_map(Task::session).collect();
        let (mut due, mut offset) = (Due::default(), 0);
        loop {
            let page = self.base.store.past_sessions().latest(project, offset, PAGE).await?;
            let whole = page.len() < PAGE;
            offset += page.len();
            let ids: Vec<SessionId> = page.iter().map(|session| session.id.clone()).collect();
            let runs = self.base.store.distil_runs().of(&ids).await?;
            let is_done = |session: &PastSession| {
                runs.iter().any(|run| run.session == session.id && run.ended_at >= session.ended_at)
            };
            let is_due = |session: &PastSession| {
                !session.is_hidden()
                    && session.exchanges >= settings.min_prompts
                    && session.ended_at <= over
                    && !is_done(session)
            };
            for session in page.into_iter().filter(is_due) {
                if due.sessions.len() >= limit {
                    return Ok(due);
                }
                if given_up.contains(&session.id) {
                    due.given_up += 1;
                } else {
                    due.sessions.push(session);
                }
            }
            if whole {
                return Ok(due);
            }
        }
    }
}
