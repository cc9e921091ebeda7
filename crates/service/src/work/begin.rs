//! How a piece of work begins, forks from another one, and ends.

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_ledger::{
    State, Step, Work, limits,
    work::{TASK, key_name},
};
use cerebro_store::{StoredWork, Write};

use super::{
    Actor, Appended, BeginWork, CloseWork, Happening, Target,
    append::new_work,
    draft::{Draft, Prepared, line},
};
use crate::{Journal, ServiceError};

impl Journal {
    /// Begins a piece of work, or returns the one that the owner began before with the same key in this project.
    /// Returns also whether it is new.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bound, or where the journal is off; [`ServiceError::JournalBusy`];
    /// [`ServiceError::NoWork`] for the parent.
    pub async fn begin(&self, actor: &Actor, begin: BeginWork) -> Result<(Work, bool), ServiceError> {
        self.needs_journal()?;
        check_chars("title", &begin.title, limits::TITLE_CHARS_MAX)?;
        if let Some(key) = &begin.key {
            check_chars("key", key, limits::KEY_CHARS_MAX)?;
        }
        if begin.steps.len() > limits::STEPS_MAX {
            let problem = format!("at most {} steps", limits::STEPS_MAX);
            return Err(ServiceError::invalid("steps", &begin.steps.len().to_string(), problem));
        }
        if let Some(parent) = &begin.parent {
            self.stored_work(&actor.owner, parent).await?;
        }
        let first = Prepared::step(Step::Begun {
            title: begin.title.clone(),
            goal: begin.goal.clone(),
            agent: actor.agent.to_string(),
            directory: actor.directory.clone(),
            commit: None,
            steps: begin.steps.clone(),
        })?;
        let (journal, actor) = (self.clone(), actor.clone());
        let begun = self.in_time_or_not(
            "beginning work",
            Box::pin(async move {
                let store = &journal.base.store;
                let begun =
                    store.transact(|write| Box::pin(journal.put_begun(write, &actor, &begin, &first)));
                let (work, state) = begun.await?;
                let is_new = state.is_some();
                if let Some(state) = state {
                    journal.held.wrote(work.id, state, 1);
                }
                Ok((work, is_new))
            }),
        );
        begun.await
    }

    /// Writes a new piece of work, unless there is one of that key. Returns it, and its state if it is new.
    async fn put_begun(
        &self,
        write: &mut Write<'_>,
        actor: &Actor,
        begin: &BeginWork,
        first: &Prepared,
    ) -> Result<(Work, Option<State>), ServiceError> {
        let project = begin.project.as_ref().unwrap_or(&actor.project);
        let key = begin.key.as_deref().map(|key| line(key, limits::KEY_CHARS_MAX).to_string());
        let name = key.as_ref().map(|key| key_name(&actor.owner, project, key));
        if let Some(name) = &name
            && let Some(stored) = write.store().works().by_name(name).await?
        {
            return Ok((stored.work, None));
        }
        let mut work = new_work(self, actor, TASK, &begin.title, write.at());
        work.project = project.clone();
        work.key = key;
        work.parent = begin.parent;
        work.name = name;
        let (work, state) = made(self, (work, State::default()), first, write);
        Ok((work, Some(state)))
    }

    /// Forks a piece of work at an event of another one: it begins with the state after that event.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`]; [`ServiceError::Invalid`] for a number that it does not have.
    pub async fn fork(&self, actor: &Actor, id: &WorkId, at: Option<u64>) -> Result<Work, ServiceError> {
        self.needs_journal()?;
        let from = self.stored_work(&actor.owner, id).await?;
        let at = at.unwrap_or(from.work.seq);
        if at == 0 || at > from.work.seq {
            let problem = format!("it has the events 1 to {}", from.work.seq);
            return Err(ServiceError::invalid("at", &at.to_string(), problem));
        }
        let state = self.state_at(&from, at).await?;
        let first = Prepared::step(Step::Forked { from: id.to_string(), at })?;
        let (journal, actor) = (self.clone(), actor.clone());
        let forked = self.in_time_or_not(
            "forking work",
            Box::pin(async move {
                let fork = |write: &mut Write<'_>| {
                    let work = fork_of(&journal, &actor, (&from.work, at), write.at());
                    made(&journal, (work, state.clone()), &first, write)
                };
                let (work, state) = journal.base.store.change(fork).await?;
                journal.held.wrote(work.id, state, 1);
                Ok(work)
            }),
        );
        forked.await
    }

    /// Ends a piece of work. Returns also whether it had not ended in this way before.
    ///
    /// # Errors
    /// As [`Self::append`]; [`ServiceError::Invalid`] where another one holds it.
    pub async fn close(
        &self,
        actor: &Actor,
        id: &WorkId,
        close: CloseWork,
    ) -> Result<(Work, bool), ServiceError> {
        self.needs_journal()?;
        let stored = self.stored_work(&actor.owner, id).await?;
        if stored.work.outcome == Some(close.outcome) {
            return Ok((stored.work, false));
        }
        let step = Step::Closed { outcome: close.outcome, text: close.text };
        self.work_must_append(actor, id, step.into()).await?;
        Ok((self.stored_work(&actor.owner, id).await?.work, true))
    }

    /// Appends an event to a piece of work, and waits until it is written. If the caller is late, nothing is written.
    pub(super) async fn work_must_append(
        &self,
        actor: &Actor,
        id: &WorkId,
        happening: Happening,
    ) -> Result<Appended, ServiceError> {
        let appended = self.append_if(actor, Target::Work(*id), vec![happening], true).await?;
        if appended.degraded {
            return Err(ServiceError::JournalBusy);
        }
        Ok(appended)
    }
}

/// Why somebody cannot change a piece of work.
pub(super) fn held_by_another(id: &WorkId) -> ServiceError {
    let problem = "another session holds it, or has claimed it since; claim it first";
    ServiceError::invalid("work", id.as_str(), problem)
}

/// Refuses a text that is empty or too long.
pub(super) fn check_chars(field: &'static str, text: &str, max: usize) -> Result<(), ServiceError> {
    let chars = text.chars().count();
    if text.trim().is_empty() || chars > max {
        let problem = format!("it must have 1 to {max} characters");
        return Err(ServiceError::invalid(field, text, problem));
    }
    Ok(())
}

/// Writes a new piece of work, with the state that it begins with and its first event.
fn made(
    journal: &Journal,
    (work, state): (Work, State),
    first: &Prepared,
    write: &mut Write<'_>,
) -> (Work, State) {
    let mut draft = Draft::of(&journal.held, StoredWork { work, sealed: 0 }, state);
    draft.add(write.at(), first, false);
    let (stored, state) = draft.finish(write);
    (stored.work, state)
}

/// The piece of work that a fork begins, from an event of another one.
fn fork_of(journal: &Journal, actor: &Actor, (from, at): (&Work, u64), now: Timestamp) -> Work {
    // A session's piece of work is found by its session; a fork is not, so it is a task.
    let kind = if from.is_session() { TASK } else { &from.kind };
    // One whose texts were purged has no title; a piece of work with texts has one.
    let title = if from.title.is_empty() { "a fork" } else { from.title.as_str() };
    let mut work = new_work(journal, actor, kind, title, now);
    work.project = from.project.clone();
    work.forked_from = Some((from.id, at));
    work
}
