//! Distilling: asking a chat model what a past session is worth. Its claims are checked against the evidence and left
//! to a person.
//!
//! A job asks about one session ([`session`]); a claim that passes the check waits as a candidate. A person accepts or
//! rejects it ([`decide`]), or another session corroborates it ([`corroborate`]). When its evidence is forgotten, it is
//! purged too ([`mod@retract`]). Accepted claims make handbooks ([`crate::memories::handbook`]); another job asks how to
//! arrange one ([`arrange`]). Distilling is off unless the settings turn it on.

mod arrange;
mod corroborate;
mod decide;
mod export;
mod job;
mod plan;
mod retract;
mod session;
#[cfg(test)]
pub(super) mod tests;

pub use arrange::HandbookPlan;
pub use decide::Decided;
pub(super) use export::{CandidateLine, candidate};
pub(crate) use job::Distil;
pub use plan::{DistilPlan, PlannedSession, Queued};
pub(super) use retract::{Lost, Retracted, Why, retract};

use std::{borrow::Cow, iter, sync::Arc};

use crate::{
    ServiceError, WorkerState,
    base::Base,
    jobs::{Jobs, Question},
    memories::Memories,
    settings::{DistilReader, DistilSettings, MODEL_TABLE, Review},
    spending::Account,
};
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, Candidate, CandidateId, CandidateState, DistilRun,
    PastSession, Project, SessionId,
};
use cerebro_core::pace::{Budget, Spent, tokens_of};
use cerebro_core::redact::RedactedText;
use cerebro_models::llm::{self, Llm};
use cerebro_store::{DistilCounts, JobKind, Table};

/// Most arrangements of a state that are searched for the beginning of an id.
const ARRANGEMENTS_MAX: usize = 500;

/// The state of distilling.
#[derive(Debug, Clone)]
pub struct DistilReport {
    /// The state of its loop.
    pub state: WorkerState,
    /// Whether the settings turn it on.
    pub enabled: bool,
    /// Who accepts what was distilled.
    pub review: Review,
    /// The counts of what was distilled so far.
    pub counts: DistilCounts,
    /// The questions that wait for their first or next attempt, or are under way.
    pub queued: usize,
    /// Why the last attempt failed, if none has succeeded since.
    pub failure: Option<String>,
    /// The questions that were given up, because no answer had the form that was asked for or the model failed too often.
    pub given_up: usize,
    /// What it cost today.
    pub spent: Spent,
    /// What it may cost in a day.
    pub budget: Budget,
}

/// The use cases of distilling.
#[derive(Clone)]
pub struct Distilling {
    pub(crate) base: Base,
    pub(crate) memories: Memories,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) reader: DistilReader,
}

/// A question that is ready to be sent, and what it shows.
struct Prepared<T> {
    shown: Vec<T>,
    instructions: Cow<'static, str>,
    question: RedactedText,
    schema: serde_json::Value,
}

impl<T> Prepared<T> {
    /// A question of at most so many tokens. It is made for fewer bytes, and shows less, until it fits. `None` if it has
    /// nothing to show, or does not fit however little it shows.
    fn within(tokens: u64, of: impl Fn(usize) -> Self) -> Option<Self> {
        let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(2);
        iter::successors(Some(bytes), |bytes| (*bytes > 0).then_some(bytes / 4 * 3))
            .map(of)
            .find(|prepared| prepared.tokens() <= tokens)
            .filter(|prepared| !prepared.shown.is_empty())
    }

    fn tokens(&self) -> u64 {
        tokens_of(&self.instructions) + tokens_of(&self.question) + tokens_of(&self.schema.to_string())
    }

    fn question(&self) -> Question<'_> {
        let text = self.question.clone();
        Question { instructions: &self.instructions, text, schema: &self.schema }
    }
}

/// The model of the settings.
///
/// # Errors
/// The reason why it cannot be asked, in words for a person.
fn opened(settings: &DistilSettings) -> Result<Llm, String> {
    if !settings.has_room() {
        let reason = "a day has no room for one question, 4,000 tokens; raise `tokens_per_day`";
        return Err(reason.to_owned());
    }
    match llm::open(&settings.model, MODEL_TABLE) {
        Ok(Some(llm)) => Ok(llm),
        Ok(None) => Err("`[distil.model]` of config.toml names no `provider`".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Distilling {
    pub(crate) fn new(memories: &Memories, jobs: &Arc<Jobs>, reader: DistilReader) -> Self {
        Self { base: memories.base.clone(), memories: memories.clone(), jobs: Arc::clone(jobs), reader }
    }

    /// The settings of distilling; the default if they cannot be read.
    fn settings(&self) -> DistilSettings {
        (self.reader)().unwrap_or_default()
    }

    /// The settings, if a model may be asked.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if distilling is off or its model cannot be asked.
    fn needs_model(&self) -> Result<DistilSettings, ServiceError> {
        let refused = |state: &str, problem: &str| ServiceError::invalid("distil", state, problem);
        let settings = (self.reader)().map_err(|error| refused("unusable", &error.to_string()))?;
        if !settings.enabled {
            let problem = "distilling is off: set `enabled = true` under `[distil]` and a `provider` and `model` \
                           under `[distil.model]` of config.toml";
            return Err(refused("off", problem));
        }
        opened(&settings).map_err(|reason| refused("unusable", &reason))?;
        Ok(settings)
    }

    /// The state of the loop, as the settings are now. If it has not looked since they turned distilling on, it looks at once.
    fn state(&self, enabled: bool) -> WorkerState {
        let queue = self.jobs.queue(JobKind::Distil);
        match queue.state() {
            _ if !enabled => WorkerState::Off,
            WorkerState::Off => {
                queue.unblock();
                WorkerState::Starting
            }
            state => state,
        }
    }

    /// The state of distilling.
    pub async fn report(&self) -> Result<DistilReport, ServiceError> {
        let (state, settings) = match (self.reader)() {
            Ok(settings) => (self.state(settings.enabled), settings),
            Err(error) => (WorkerState::Unusable(error.to_string()), DistilSettings::default()),
        };
        Ok(DistilReport {
            state,
            enabled: settings.enabled,
            review: settings.review,
            counts: self.base.store.distil_runs().counts().await?,
            queued: self.queued().await?,
            failure: self.jobs.queue(JobKind::Distil).record(|record| record.failure.clone()),
            given_up: self.given_up().await?.len(),
            spent: self.base.spending().today(Account::Distilling).await?,
            budget: settings.budget(),
        })
    }

    /// What became of a session that was distilled.
    pub async fn run_of(&self, session: &SessionId) -> Result<Option<DistilRun>, ServiceError> {
        Ok(self.base.store.distil_runs().of(std::slice::from_ref(session)).await?.pop())
    }

    /// The candidates of a state, of a project or of all, the latest first, each with its session.
    pub async fn candidates(
        &self,
        state: CandidateState,
        project: Option<&Project>,
        limit: usize,
    ) -> Result<Vec<(Candidate, PastSession)>, ServiceError> {
        /// Most that are looked at for those of one project.
        const LOOKED_MAX: usize = 5_000;
        let found = self.base.store.candidates().in_state(state, LOOKED_MAX).await?;
        let ids: std::collections::BTreeSet<SessionId> =
            found.iter().map(|candidate| candidate.session.clone()).collect();
        let sessions = self.base.store.past_sessions().by_ids(&Vec::from_iter(ids)).await?;
        let with_session = |candidate: Candidate| {
            let session = sessions.iter().find(|session| session.id == candidate.session)?;
            project.is_none_or(|project| *project == session.project).then(|| (candidate, session.clone()))
        };
        Ok(found.into_iter().filter_map(with_session).take(limit).collect())
    }

    /// The candidates and the arrangements whose ids begin so, at most so many of each.
    pub async fn proposals_like(
        &self,
        given: &str,
        limit: usize,
    ) -> Result<(Vec<Candidate>, Vec<Arrangement>), ServiceError> {
        let mut candidates = Vec::new();
        if let Some(key) = CandidateId::key_of_part(given) {
            let keys = self.base.store.keys_by_prefix(Table::Candidate, &key, limit).await?;
            let ids: Vec<CandidateId> = keys.iter().filter_map(|key| CandidateId::of_key(key).ok()).collect();
            candidates = self.base.store.candidates().by_ids(&ids).await?;
        }
        let mut arrangements = Vec::new();
        if ArrangementId::key_of_part(given).is_some() {
            for state in ArrangementState::ALL {
                arrangements.extend(self.arrangements(state, ARRANGEMENTS_MAX).await?);
            }
            arrangements.retain(|one| one.id.to_string().starts_with(given));
            arrangements.truncate(limit);
        }
        Ok((candidates, arrangements))
    }

    /// A candidate with its session.
    ///
    /// # Errors
    /// [`ServiceError::NoCandidate`]
    pub async fn candidate(&self, id: &CandidateId) -> Result<(Candidate, PastSession), ServiceError> {
        decide::with_session(&self.base.store, id).await
    }
}
