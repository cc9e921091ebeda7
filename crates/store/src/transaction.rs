//! Transactions: one at a time, in order. Each reads, decides, and commits its changes with their events.

use tokio::sync::MutexGuard;

use super::{
    Store, StoreError,
    changes::{Changes, NewEvent, Tables},
    retry::Attempts,
};
use cerebro_core::domain::{Event, Memory, Run, Timestamp};
use cerebro_engine::{BoxFuture, EngineError};

/// What was committed, for those who follow the log.
#[derive(Debug)]
pub struct Committed {
    /// The events, with their numbers.
    pub events: Vec<Event>,
    /// The memories that were written, in their new state.
    pub memories: Vec<Memory>,
}

/// The writer's position in the log.
pub(super) struct Position {
    /// The number of the last event, unless a failed commit left it in doubt.
    pub seq: Option<u64>,
    /// The last moment that was handed out.
    pub at: Timestamp,
    /// The number of the last event of which followers were notified, once one is known.
    pub announced: Option<u64>,
}

impl Position {
    /// The position before the log was read.
    pub(super) fn unknown() -> Self {
        Self { seq: None, at: Timestamp::UNIX_EPOCH, announced: None }
    }
}

/// The exclusive right to write, from the reads of a decision to its commit.
///
/// It has a method for each kind of change, in the file of its table, so that no change can be made without its
/// event or only in part.
pub struct Write<'store> {
    store: &'store Store,
    position: MutexGuard<'store, Position>,
    seq: u64,
    at: Timestamp,
    changes: Changes,
}

impl Store {
    /// Makes a decision, which reads what it needs and records its changes in the [`Write`], and commits these. If the
    /// state that it read is out of date, it is made again on the new one, a bounded number of times. So it must change
    /// nothing but the `Write`.
    ///
    /// Dropping the future before the commit leaves nothing behind. During the commit the outcome is open, so a
    /// caller that may be cancelled runs this in a task of its own.
    ///
    /// # Errors
    /// The error of the decision, or [`StoreError`].
    pub async fn transact<'store, T, E: From<StoreError>>(
        &'store self,
        decide: impl for<'a> Fn(&'a mut Write<'store>) -> BoxFuture<'a, Result<T, E>>,
    ) -> Result<T, E> {
        self.transact_as(Run::Real, decide).await
    }

    /// As [`Self::transact`]; a dry run makes the decision on the present state and changes nothing.
    ///
    /// # Errors
    /// The error of the decision, or [`StoreError`].
    pub async fn transact_as<'store, F, T, E: From<StoreError>>(
        &'store self,
        run: Run,
        decide: F,
    ) -> Result<T, E>
    where
        // Boxed, so that the callers' futures stay small; and because nothing can say yet that the future of any
        // `AsyncFn` may be sent to another thread.
        F: for<'a> Fn(&'a mut Write<'store>) -> BoxFuture<'a, Result<T, E>>,
    {
        let mut attempts = Attempts::of(name_of::<F>());
        loop {
            let mut write = self.begin().await?;
            let output = decide(&mut write).await?;
            if run == Run::Dry {
                return Ok(output);
            }
            let numbers = write.new_work_events();
            match write.commit().await {
                Ok(()) => return Ok(output),
                Err(error) if error.is_retryable() => {
                    Box::pin(self.works().check_free(&numbers)).await?;
                    attempts.again().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// As [`Self::transact`], for changes that need no look at what is there.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn change<'store, T: Send + 'store>(
        &'store self,
        change: impl Fn(&mut Write<'_>) -> T,
    ) -> Result<T, StoreError> {
        self.transact(|write| Box::pin(std::future::ready(Ok(change(write))))).await
    }

    async fn begin(&self) -> Result<Write<'_>, StoreError> {
        self.check_space()?;
        let mut position = self.position.lock().await;
        let seq = self.settle(&mut position).await?;
        let at = after(position.at, (self.clock)());
        Ok(Write { store: self, position, seq, at, changes: Changes::default() })
    }
}

/// The name, for messages, of the function that has a closure.
fn name_of<F>() -> &'static str {
    let path = std::any::type_name::<F>();
    let name = path.rsplit("::").find(|part| !part.starts_with("{{closure}}")).unwrap_or(path);
    name.split('<').next().unwrap_or(name)
}

/// The present moment in whole microseconds, but always after the last one handed out. So a clock that stands still
/// or goes back cannot put a later save before an earlier one.
///
/// It is never a whole millisecond: SurrealDB's indexes order moments by their text, which has as many digits as
/// needed, and `.123Z` comes after `.123001Z`.
fn after(last: Timestamp, now: Timestamp) -> Timestamp {
    let micros = now.as_microsecond().max(last.as_microsecond() + 1);
    let micros = if micros % 1_000 == 0 { micros + 1 } else { micros };
    Timestamp::from_microsecond(micros).unwrap_or(last)
}

impl<'a> Write<'a> {
    /// The store, for the reads of the decision.
    pub fn store(&self) -> &'a Store {
        self.store
    }
}

impl Write<'_> {
    /// The number of the last event before this write; no other event comes between them.
    pub fn last_seq(&self) -> u64 {
        self.seq
    }

    /// The moment of this write.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Records an event, and gives access to the tables that it changes. For the tables' files, whose methods use
    /// cases call.
    pub(super) fn record(&mut self, event: NewEvent) -> &mut Tables {
        self.changes.record(event)
    }

    /// Gives access to the tables for further changes: see [`Changes::tables_mut`].
    pub(super) fn tables_mut(&mut self) -> Option<&mut Tables> {
        self.changes.tables_mut()
    }

    /// The changes so far.
    pub(super) fn tables(&self) -> &Tables {
        self.changes.tables()
    }

    async fn commit(mut self) -> Result<(), StoreError> {
        let changes = std::mem::take(&mut self.changes);
        if changes.events().is_empty() {
            // Then nothing changes either: `Changes::record` is the only access to the tables.
            return Ok(());
        }
        let events = self.number(changes.events());
        let (script, vars) = changes.script(self.at, self.store.now(), &events);
        // Followers learn of removed and moved vectors in commit order.
        let tables = changes.tables();
        let touches_vectors = tables.vectors.has_any() || tables.history.touches_vectors();
        let _vectors = if touches_vectors { Some(self.store.vectors.lock().await) } else { None };
        self.store.held_keys.add(tables.tombstones.new_keys());
        // Until the commit is known to have succeeded, the log's end is in doubt.
        self.position.seq = None;
        self.store.held_works.doubt(&tables.works);
        if let Err(error) = self.store.engine()?.script("commit", &script, vars).await {
            if matches!(error, EngineError::DiskFailed(_)) && self.store.dir.is_some() {
                self.store.disk_failed.notify_one();
            }
            self.store.resolve(error.into(), &events).await?;
        }
        self.position.seq = events.last().map(|event| event.seq);
        self.position.announced = self.position.seq;
        self.position.at = self.at;
        if changes.tables().former.has_any() {
            self.store.former.forget();
        }
        if changes.tables().history.forgets_texts() {
            self.store.forgotten_texts.forget();
        }
        // Another process may write the rows of a shared store.
        if !self.store.is_shared() {
            self.store.held_works.keep(&changes.tables().works);
        }
        // This still holds the writer, so followers are notified in commit order.
        self.store.announce(&Committed { events, memories: changes.into_memories() });
        Ok(())
    }

    fn number(&self, new: &[NewEvent]) -> Vec<Event> {
        (self.seq + 1..)
            .zip(new)
            .map(|(seq, new)| Event {
                writer: self.store.writer.clone(),
                seq,
                at: self.at,
                kind: new.kind,
                memory: new.memory,
                session: new.session.clone(),
                project: new.project.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_named_after_the_function_that_made_it() {
        fn name<F>(_closure: F) -> &'static str {
            name_of::<F>()
        }
        fn within<F: Fn()>(inner: F) -> &'static str {
            name(|| {
                inner();
            })
        }
        let is_own = "a_write_is_named_after_the_function_that_made_it";
        assert_eq!((name(|| ()), within(|| ())), (is_own, is_own));
    }

    #[test]
    fn moments_rise_when_the_clock_stands_still_or_goes_back() {
        let last = Timestamp::from_microsecond(1_000).unwrap();
        for now in [0, 999, 1_000] {
            let now = Timestamp::from_microsecond(now).unwrap();
            assert_eq!(after(last, now).as_microsecond(), 1_001);
        }
        let now = Timestamp::from_nanosecond(5_001_999).unwrap();
        assert_eq!(after(last, now).as_nanosecond(), 5_001_000);
        for (last, now) in [(1_000, 7_000), (1_999, 0)] {
            let [last, now] = [last, now].map(|micros| Timestamp::from_microsecond(micros).unwrap());
            assert_ne!(after(last, now).as_microsecond() % 1_000, 0, "a whole millisecond");
        }
    }
}
