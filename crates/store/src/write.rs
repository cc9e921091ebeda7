//! Writing: one transaction at a time, in order, with its events.

use std::{future::Future, pin::Pin};

use surrealdb::types::{RecordId, SurrealValue, Value, Variables};
use tokio::sync::MutexGuard;

use super::{
    JobKind, Store, StoreError,
    attempts::Attempts,
    row::{
        EdgeRow, EventRow, Guarded, JobRow, MemoryRow, PromptRow, Put, RevisionRow, SessionRow, datetime,
        edge_id, memory_record, prompt_record, session_record, signed,
    },
    statement::{self, Statement},
};
use cerebro_core::domain::{
    Event, EventKind, Memory, MemoryId, Project, Prompt, Revision, Session, SessionId, Timestamp,
};

/// What one call changes. Everything in it is committed together or not at all.
#[derive(Debug, Default, Clone)]
pub struct Changes {
    /// Sessions, whole; `version` is the one that was read. Of one that is here twice, the last counts.
    pub sessions: Vec<Session>,
    /// Memories, whole; `version` is the one that was read.
    pub memories: Vec<Memory>,
    /// What revised memories were before.
    pub revisions: Vec<Revision>,
    /// Memories whose revisions and relations go for good.
    pub purged: Vec<MemoryId>,
    /// Memories whose revisions up to and with this one go, where the user limits their number.
    pub trimmed: Vec<(MemoryId, u32)>,
    /// Prompts, whole.
    pub prompts: Vec<Prompt>,
    /// Sessions that wrote a memory, and when.
    pub created_in: Vec<(MemoryId, SessionId, Timestamp)>,
    /// Sessions that continue another.
    pub follows: Vec<(SessionId, SessionId, Timestamp)>,
    /// Memories whose present revision the worker must look at.
    pub jobs: Vec<(MemoryId, u32)>,
    /// Memories that are no longer live: their jobs and vectors go.
    pub void_jobs: Vec<MemoryId>,
    /// Memories that belong to another project now.
    pub moved: Vec<(MemoryId, Project)>,
    /// What to tell the log, in order.
    pub events: Vec<Happened>,
}

/// An event before it has its number.
#[derive(Debug, Clone)]
pub struct Happened {
    /// What happened.
    pub kind: EventKind,
    /// The memory it is about.
    pub memory: Option<MemoryId>,
    /// The session it is about or was done in.
    pub session: Option<SessionId>,
    /// The project it belongs to.
    pub project: Option<Project>,
}

/// What was committed, for those who follow the log.
#[derive(Debug)]
pub struct Committed {
    /// The events, with their numbers.
    pub events: Vec<Event>,
    /// The memories that were put, as they are now.
    pub memories: Vec<Memory>,
}

/// The writer's place in the log.
pub(super) struct Position {
    /// The number of the last event, unless a failed commit left it in doubt.
    pub seq: Option<u64>,
    /// The last moment that was handed out.
    pub at: Timestamp,
    /// The number of the last event that followers heard of, once one is known.
    pub told: Option<u64>,
}

impl Position {
    /// Before the log was looked at.
    pub(super) fn unknown() -> Self {
        Self { seq: None, at: Timestamp::UNIX_EPOCH, told: None }
    }
}

/// The exclusive right to write, from the reads of a decision to its commit.
pub struct Write<'store> {
    store: &'store Store,
    position: MutexGuard<'store, Position>,
    seq: u64,
    at: Timestamp,
    /// What will be committed.
    pub changes: Changes,
}

/// A boxed step of [`Store::transact`].
pub type Step<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

impl Store {
    /// Runs a decision and commits what it left in [`Write::changes`]; makes it anew, a bounded number of
    /// times, when the state that it read is no longer the present one.
    ///
    /// Dropping the future between the two leaves nothing behind; while the commit is under way its
    /// outcome is open, so callers that may be cancelled run this in a task of its own.
    ///
    /// # Errors
    /// What the decision returned, or [`StoreError`].
    pub async fn transact<T, E, F>(&self, decide: F) -> Result<T, E>
    where
        E: From<StoreError>,
        F: for<'w> Fn(&'w mut Write<'_>) -> Step<'w, T, E>,
    {
        let mut attempts = Attempts::default();
        loop {
            let mut write = self.begin().await?;
            let output = decide(&mut write).await?;
            match write.commit().await {
                Ok(()) => return Ok(output),
                Err(error) if error.is_retryable() => attempts.again().await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn begin(&self) -> Result<Write<'_>, StoreError> {
        self.check_space()?;
        let mut position = self.position.lock().await;
        let seq = self.settle(&mut position).await?;
        let at = after(position.at, (self.clock)());
        Ok(Write { store: self, position, seq, at, changes: Changes::default() })
    }
}

/// The present moment in whole microseconds, but after the last one that was handed out: so a clock that
/// stands still or goes back cannot put a later save before an earlier one.
fn after(last: Timestamp, now: Timestamp) -> Timestamp {
    let micros = now.as_microsecond().max(last.as_microsecond() + 1);
    Timestamp::from_microsecond(micros).unwrap_or(last)
}

impl Write<'_> {
    /// The store, for the reads of the decision.
    pub fn store(&self) -> &Store {
        self.store
    }

    /// The moment of this write.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// A memory as it will be when this is committed.
    pub async fn memory(&self, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
        match self.changes.memories.iter().rev().find(|memory| memory.id == *id) {
            Some(memory) => Ok(Some(memory.clone())),
            None => self.store.memory(id).await,
        }
    }

    /// Whether a session will be there when this is committed.
    pub async fn has_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let new = self.changes.sessions.iter().any(|session| session.id == *id);
        Ok(new || self.store.session(id).await?.is_some())
    }

    /// Notes an event about a memory.
    pub fn tell(&mut self, kind: EventKind, memory: &Memory, session: Option<&SessionId>) {
        self.changes.events.push(Happened {
            kind,
            memory: Some(memory.id),
            session: session.cloned(),
            project: (!memory.project.is_none()).then(|| memory.project.clone()),
        });
    }

    /// Notes an event about a session.
    pub fn tell_session(&mut self, kind: EventKind, session: &Session) {
        self.changes.events.push(Happened {
            kind,
            memory: None,
            session: Some(session.id.clone()),
            project: Some(session.project.clone()),
        });
    }

    async fn commit(mut self) -> Result<(), StoreError> {
        if self.changes.events.is_empty() {
            return Ok(());
        }
        let changes = std::mem::take(&mut self.changes);
        let events = self.number(&changes.events);
        let (script, vars) = self.script(&changes, &events);
        // Followers hear of vectors that go or move in the order of the commits that did it.
        let touches_vectors = !changes.void_jobs.is_empty() || !changes.moved.is_empty();
        let _vectors = if touches_vectors { Some(self.store.vectors.lock().await) } else { None };
        // Until the commit is known to have succeeded, the log's end is in doubt.
        self.position.seq = None;
        if let Err(error) = self.store.engine()?.script("commit", &script, vars).await {
            self.store.resolve(error.into(), &events).await?;
        }
        self.position.seq = events.last().map(|event| event.seq);
        self.position.told = self.position.seq;
        self.position.at = self.at;
        let mut memories = changes.memories;
        for memory in &mut memories {
            memory.version += 1;
        }
        // Followers hear of commits in their order, because this still holds the writer.
        self.store.announce(&Committed { events, memories });
        Ok(())
    }

    fn number(&self, happened: &[Happened]) -> Vec<Event> {
        (self.seq + 1..)
            .zip(happened)
            .map(|(seq, happened)| Event {
                writer: self.store.writer.clone(),
                seq,
                at: self.at,
                kind: happened.kind,
                memory: happened.memory,
                session: happened.session.clone(),
                project: happened.project.clone(),
            })
            .collect()
    }

    /// The transaction: the parts that have anything to do, and their rows.
    fn script(&self, changes: &Changes, events: &[Event]) -> (String, Variables) {
        let at = datetime(self.at);
        let (new, changed): (Vec<&Memory>, Vec<&Memory>) =
            changes.memories.iter().partition(|memory| memory.version == 0);
        let (begun, gone_on): (Vec<&Session>, Vec<&Session>) =
            last_of_each(&changes.sessions).into_iter().partition(|session| session.version == 0);
        let mut script = Script::begin();
        script.part(statement::COMMIT_NEW_SESSIONS, "new_sessions", &begun, |session| {
            SessionRow::first(session)
        });
        script.part(statement::COMMIT_SESSIONS, "sessions", &gone_on, |session| Guarded {
            id: session_record(&session.id),
            expect: signed(session.version),
            row: SessionRow::next(session),
        });
        script.part(statement::COMMIT_NEW_MEMORIES, "new_memories", &new, |memory| MemoryRow::first(memory));
        script.part(statement::COMMIT_MEMORIES, "memories", &changed, |memory| Guarded {
            id: memory_record(&memory.id),
            expect: signed(memory.version),
            row: MemoryRow::next(memory),
        });
        script.part(statement::COMMIT_PURGED, "purged", &changes.purged, memory_record);
        script.part(statement::COMMIT_TRIMMED, "trimmed", &changes.trimmed, |(memory, upto)| Trim {
            memory: memory_record(memory),
            upto: i64::from(*upto),
        });
        script
            .part(statement::COMMIT_REVISIONS, "revisions", &changes.revisions, |old| RevisionRow::from(old));
        script.part(statement::COMMIT_PROMPTS, "prompts", &changes.prompts, |prompt| Put {
            id: prompt_record(&prompt.id),
            row: PromptRow::from(prompt),
        });
        script.part(
            statement::COMMIT_CREATED_IN,
            "created_in",
            &changes.created_in,
            |(memory, session, at)| EdgeRow {
                id: edge_id("CREATED_IN", memory.as_str(), session.as_str()),
                from: memory_record(memory),
                to: session_record(session),
                at: datetime(*at),
            },
        );
        script.part(statement::COMMIT_FOLLOWS, "follows", &changes.follows, |(later, earlier, at)| EdgeRow {
            id: edge_id("FOLLOWS", later.as_str(), earlier.as_str()),
            from: session_record(later),
            to: session_record(earlier),
            at: datetime(*at),
        });
        script.part(statement::COMMIT_JOBS, "jobs", &changes.jobs, |(memory, revision)| JobRow {
            queued_at: Some(at),
            ..JobRow::queued(JobKind::Embed, &(*memory).into(), *revision, self.at)
        });
        script.part(statement::COMMIT_VOID_JOBS, "void_jobs", &changes.void_jobs, |memory| {
            JobKind::ALL.map(|kind| kind.record(&(*memory).into())).to_vec()
        });
        script.part(statement::COMMIT_GONE_VECTORS, "gone", &changes.void_jobs, memory_record);
        script.part(statement::COMMIT_MOVED_VECTORS, "moved", &changes.moved, |(memory, project)| Move {
            memory: memory_record(memory),
            project: project.as_str().to_owned(),
        });
        script.part(statement::COMMIT_EVENTS, "events", events, |event| EventRow::from(event));
        script.commit()
    }
}

/// Each session once, as it was changed last: a decision may come back to one.
fn last_of_each(sessions: &[Session]) -> Vec<&Session> {
    let is_last =
        |(at, session): &(usize, &Session)| !sessions[at + 1..].iter().any(|later| later.id == session.id);
    sessions.iter().enumerate().filter(is_last).map(|(_, session)| session).collect()
}

/// A transaction under construction. Parts without rows are left out: each costs a tenth of a millisecond.
struct Script {
    text: String,
    vars: Variables,
}

impl Script {
    fn begin() -> Self {
        Self { text: "BEGIN;\n".to_owned(), vars: Variables::new() }
    }

    fn part<T, R: SurrealValue>(&mut self, part: Statement, name: &str, items: &[T], row: impl Fn(&T) -> R) {
        if items.is_empty() {
            return;
        }
        self.text.push_str(part.text);
        let rows: Vec<Value> = items.iter().map(|item| row(item).into_value()).collect();
        self.vars.insert(name, rows);
    }

    fn commit(mut self) -> (String, Variables) {
        self.text.push_str("COMMIT;");
        (self.text, self.vars)
    }
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Trim {
    memory: RecordId,
    upto: i64,
}

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Move {
    memory: RecordId,
    project: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_rise_when_the_clock_stands_still_or_goes_back() {
        let last = Timestamp::from_microsecond(1_000).unwrap();
        for now in [0, 999, 1_000] {
            let now = Timestamp::from_microsecond(now).unwrap();
            assert_eq!(after(last, now).as_microsecond(), 1_001);
        }
        let now = Timestamp::from_nanosecond(5_000_999).unwrap();
        assert_eq!(after(last, now).as_nanosecond(), 5_000_000);
    }
}
