//! Arranging a handbook: the question to a model, the part of its answer that is kept, and a person's decision on that.

use std::time::Duration;

use super::{DistilSettings, Prepared, Review, job::Task};
use crate::{
    Caller, Distilling, ServiceError,
    jobs::{JobError, Payer, ask},
    memories::handbook::{HandbookSources, distiller},
};
use cerebro_core::distil::arrange::{self, Arranged};
use cerebro_core::distil::operations::{Handbook, Position, conserves};
use cerebro_core::distil::{
    Reason,
    handbook::{HANDBOOK_KEY, SUMMARY_KEY, owner},
};
use cerebro_core::domain::{
    Arrangement, ArrangementId, ArrangementState, ItemOperation, MemoryId, Project, Timestamp,
};
use cerebro_core::redact::redact_text;
use cerebro_models::llm::{ANSWER_TOKENS_MAX, Llm};
use cerebro_store::{JobKind, Write};

/// The number of new items at which a handbook is arranged without being asked for.
const NEW_MIN: usize = 5;
/// Most arrangements of a state that are read.
const LOOKED_MAX: usize = 2_000;
/// What is rendered of a handbook.
const BOTH: [&str; 2] = [HANDBOOK_KEY, SUMMARY_KEY];

/// The question that would be asked about a handbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandbookPlan {
    /// The project of the handbook; `None` for that of all projects.
    pub project: Option<Project>,
    /// How many items it shows.
    pub items: usize,
    /// How many of them are in no arrangement.
    pub new: usize,
    /// How many would be shown to the model.
    pub shown: usize,
    /// An estimate of the cost in tokens; 0 if nothing would be sent.
    pub tokens: u64,
}

/// The question about a handbook, within its bound; `None` if it shows no item.
fn prepared(handbook: &Handbook, project: Option<&Project>, tokens: u64) -> Option<Prepared<MemoryId>> {
    Prepared::within(tokens, |bytes| {
        let shown = arrange::shown(handbook, bytes);
        Prepared {
            instructions: arrange::instructions(project.is_none()).into(),
            question: arrange::question(handbook, &shown, &owner(project)),
            schema: arrange::schema(),
            shown,
        }
    })
}

fn is_new(handbook: &Handbook, id: &MemoryId) -> bool {
    handbook.get(id).is_some_and(|(_, place)| *place == Position::New)
}

impl Distilling {
    /// The question that would be asked about a handbook. Nothing is sent, and no model is needed.
    pub async fn arrange_plan(&self, project: Option<&Project>) -> Result<HandbookPlan, ServiceError> {
        let handbook = HandbookSources::of(&self.base.store).await?.handbook(project);
        let prepared = prepared(&handbook, project, self.settings().question_tokens());
        let items: Vec<MemoryId> = handbook.shown().map(|(item, _)| item.memory).collect();
        Ok(HandbookPlan {
            project: project.cloned(),
            items: items.len(),
            new: items.iter().filter(|id| is_new(&handbook, id)).count(),
            shown: prepared.as_ref().map_or(0, |prepared| prepared.shown.len()),
            tokens: prepared.map_or(0, |prepared| prepared.tokens() + u64::from(ANSWER_TOKENS_MAX)),
        })
    }

    /// Queues the arranging of a handbook, however few new items it has. Returns whether it is queued: it is not if the
    /// question about the handbook was given up before.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if distilling is off, its model cannot be asked, an arrangement of the handbook waits, or it
    /// has no item that may be sent.
    pub async fn arrange_now(&self, project: Option<&Project>) -> Result<bool, ServiceError> {
        self.needs_model()?;
        if let Some(waiting) = self.waiting_arrangement(project).await? {
            let problem = "an arrangement of that handbook waits; accept or reject it first";
            return Err(ServiceError::invalid("id", &waiting.id.to_string(), problem));
        }
        let handbook = HandbookSources::of(&self.base.store).await?.handbook(project);
        if prepared(&handbook, project, self.settings().question_tokens()).is_none() {
            let problem = "that handbook has no accepted claim that may be sent";
            return Err(ServiceError::invalid("project", &owner(project), problem));
        }
        let task = Task::Handbook(project.cloned());
        if self.given_up().await?.contains(&task) {
            return Ok(false);
        }
        self.hasten(std::slice::from_ref(&task)).await?;
        self.owe([task]).await?;
        self.jobs.queue(JobKind::Distil).unblock();
        Ok(true)
    }

    async fn waiting_arrangement(
        &self,
        project: Option<&Project>,
    ) -> Result<Option<Arrangement>, ServiceError> {
        let waiting = self.base.store.arrangements().in_state(ArrangementState::Waiting, LOOKED_MAX).await?;
        Ok(waiting.into_iter().find(|arrangement| arrangement.project.as_ref() == project))
    }

    /// The handbooks with so many new items that they are arranged without being asked for. Left out are handbooks with an
    /// arrangement that waits, and those whose claims were accepted within `idle`, because somebody is accepting claims
    /// now.
    pub(crate) async fn arranging_due(&self, idle: Duration) -> Result<Vec<Option<Project>>, ServiceError> {
        let over = self.base.now().checked_sub(idle).unwrap_or_default();
        let sources = HandbookSources::of(&self.base.store).await?;
        let mut latest: Vec<Arrangement> = Vec::new();
        for state in ArrangementState::ALL {
            latest.extend(self.base.store.arrangements().in_state(state, LOOKED_MAX).await?);
        }
        let handbooks = sources.projects().cloned().map(Some).chain([None]);
        let mut due = Vec::new();
        for project in handbooks {
            let of = |arrangement: &&Arrangement| arrangement.project == project;
            let is_waiting = latest.iter().filter(of).any(|one| one.state == ArrangementState::Waiting);
            let asked = latest.iter().filter(of).map(|one| one.at).max().unwrap_or(Timestamp::UNIX_EPOCH);
            let handbook = sources.handbook(project.as_ref());
            let ids: Vec<MemoryId> = handbook.shown().map(|(item, _)| item.memory).collect();
            let new: Vec<MemoryId> = ids.into_iter().filter(|id| is_new(&handbook, id)).collect();
            if is_waiting || new.len() < NEW_MIN {
                continue;
            }
            let memories = self.base.store.memories().by_ids(&new).await?;
            let since = memories.iter().filter(|memory| memory.created_at > asked).count();
            if since >= NEW_MIN && memories.iter().all(|memory| memory.created_at <= over) {
                due.push(project);
            }
        }
        Ok(due)
    }

    /// Asks a model how to arrange a handbook. Returns what passes the check; `None` if nothing was sent.
    pub(super) async fn arrange(
        &self,
        project: Option<&Project>,
        llm: &Llm,
        settings: &DistilSettings,
    ) -> Result<Option<Arrangement>, JobError> {
        if self.waiting_arrangement(project).await?.is_some() {
            return Ok(None);
        }
        let handbook = HandbookSources::of(&self.base.store).await?.handbook(project);
        let Some(prepared) = prepared(&handbook, project, settings.question_tokens()) else {
            return Ok(None);
        };
        let payer = Payer::of_distilling(self.base.spending(), llm, settings);
        let read = |answer: &serde_json::Value| arrange::read(answer, &handbook, &prepared.shown);
        let arranged = ask(llm, prepared.question(), &payer, read).await?;
        Ok(Some(proposed(project, arranged, &llm.name(), settings.review)))
    }

    /// Keeps the operations of an arrangement that still fit. It waits for a person if something may be lost by them; one
    /// that changes nothing needs no decision. Keeping it again changes nothing.
    pub(super) async fn store_arrangement(
        &self,
        arrangement: &Arrangement,
    ) -> Result<Arrangement, ServiceError> {
        let by = distiller(&self.memories);
        let store = &self.base.store;
        let kept = store.transact(|write| Box::pin(self.put_fitting(write, &by, arrangement))).await?;
        if kept.project.is_some() && kept.state == ArrangementState::Accepted {
            self.memories.render_all_again().await;
        }
        Ok(kept)
    }

    /// The arrangements of a state, the latest first.
    pub async fn arrangements(
        &self,
        state: ArrangementState,
        limit: usize,
    ) -> Result<Vec<Arrangement>, ServiceError> {
        Ok(self.base.store.arrangements().in_state(state, limit).await?)
    }

    /// An arrangement, with the handbook as it is without that arrangement.
    ///
    /// # Errors
    /// [`ServiceError::NoArrangement`]
    pub async fn arrangement(&self, id: &ArrangementId) -> Result<(Arrangement, Handbook), ServiceError> {
        let arrangement =
            self.base.store.arrangements().by_id(id).await?.ok_or(ServiceError::NoArrangement(*id))?;
        let mut sources = HandbookSources::of(&self.base.store).await?;
        sources.arrangements.retain(|other| other.id != *id);
        let handbook = sources.handbook(arrangement.project.as_ref());
        Ok((arrangement, handbook))
    }

    /// Decides on an arrangement: a proposed one is accepted or rejected, an accepted one undone, as if it had never been
    /// accepted. Renders the handbook in the same transaction; operations that no longer fit are left out. Returns whether
    /// that is a change.
    ///
    /// # Errors
    /// [`ServiceError::NoArrangement`]; [`ServiceError::Invalid`] if it was decided otherwise, or none of its operations fits
    /// any more.
    pub async fn decide_arrangement(
        &self,
        id: &ArrangementId,
        wanted: ArrangementState,
    ) -> Result<(Arrangement, bool), ServiceError> {
        let by = distiller(&self.memories);
        let store = &self.base.store;
        let decided = store.transact(|write| Box::pin(self.put_decided(write, &by, id, wanted))).await?;
        if decided.1 && decided.0.project.is_some() {
            self.memories.render_all_again().await;
        }
        Ok(decided)
    }

    async fn put_fitting(
        &self,
        write: &mut Write<'_>,
        by: &Caller,
        passed: &Arrangement,
    ) -> Result<Arrangement, ServiceError> {
        if let Some(stored) = write.store().arrangements().by_id(&passed.id).await? {
            return Ok(stored);
        }
        let project = passed.project.as_ref();
        let before = HandbookSources::of(write.store()).await?.handbook(project);
        // Claims may have been forgotten while the model thought.
        let (operations, after) = fitted(&before, &passed.operations)?;
        let mut arrangement = Arrangement { operations, at: write.at(), ..passed.clone() };
        if arrangement.operations.is_empty() {
            arrangement.state = ArrangementState::Accepted;
        } else if !arrangement.operations.iter().all(|operation| before.is_lossless(operation)) {
            arrangement.state = ArrangementState::Waiting;
        }
        if arrangement.state == ArrangementState::Accepted {
            arrangement.decided_at = Some(write.at());
        }
        write.put_arrangement(&arrangement);
        if arrangement.state == ArrangementState::Accepted && !arrangement.operations.is_empty() {
            self.memories.put_rendered(write, by, project, &after, &BOTH).await?;
        }
        Ok(arrangement)
    }

    /// Writes a person's decision. Returns the arrangement as it is then, and whether that is a change.
    async fn put_decided(
        &self,
        write: &mut Write<'_>,
        by: &Caller,
        id: &ArrangementId,
        wanted: ArrangementState,
    ) -> Result<(Arrangement, bool), ServiceError> {
        use ArrangementState as State;
        let mut arrangement =
            write.store().arrangements().by_id(id).await?.ok_or(ServiceError::NoArrangement(*id))?;
        let invalid = |problem: &str| Err(ServiceError::invalid("id", &id.to_string(), problem));
        match (arrangement.state, wanted) {
            (now, wanted) if now == wanted => return Ok((arrangement, false)),
            (State::Accepted, State::Rejected) => {
                return invalid("it was accepted; undo it instead");
            }
            (State::Waiting | State::Rejected, State::Undone) => return invalid("it was not accepted"),
            _ => {}
        }
        let project = arrangement.project.clone();
        let mut sources = HandbookSources::of(write.store()).await?;
        sources.arrangements.retain(|other| other.id != *id);
        let without = sources.handbook(project.as_ref());
        let handbook = if wanted == State::Accepted {
            let (operations, after) = fitted(&without, &arrangement.operations)?;
            if operations.is_empty() {
                return invalid("nothing of it fits the handbook any more; reject it");
            }
            arrangement.operations = operations;
            after
        } else {
            without
        };
        arrangement.state = wanted;
        arrangement.decided_at = Some(write.at());
        write.put_arrangement(&arrangement);
        if wanted != State::Rejected {
            self.memories.put_rendered(write, by, project.as_ref(), &handbook, &BOTH).await?;
        }
        Ok((arrangement, true))
    }
}

/// What a model proposes. If the settings say so, it is to be accepted without a person.
pub(super) fn proposed(
    project: Option<&Project>,
    arranged: Arranged,
    model: &str,
    review: Review,
) -> Arrangement {
    let dropped = |(why, count): (Reason, u32)| (why.as_str().to_owned(), count);
    Arrangement {
        id: ArrangementId::random(),
        project: project.cloned(),
        state: match review {
            Review::Corroborated => ArrangementState::Accepted,
            Review::Inbox => ArrangementState::Waiting,
        },
        operations: arranged.operations,
        dropped: arranged.dropped.into_iter().map(dropped).collect(),
        generation: arrange::generation(model),
        model: redact_text(model).value,
        at: Timestamp::UNIX_EPOCH,
        decided_at: None,
    }
}

/// The operations that fit a handbook, and the handbook after them. They must lose no item that they do not name.
fn fitted(
    before: &Handbook,
    operations: &[ItemOperation],
) -> Result<(Vec<ItemOperation>, Handbook), ServiceError> {
    let mut after = before.clone();
    let fits = |operation: &&ItemOperation| after.apply(operation).is_ok();
    let fitting: Vec<ItemOperation> = operations.iter().filter(fits).cloned().collect();
    if conserves(before, &after, &fitting) {
        return Ok((fitting, after));
    }
    let problem = "items would be lost that it does not name; reject it";
    Err(ServiceError::invalid("operations", "", problem))
}
