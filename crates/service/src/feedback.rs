//! Feedback: whether memories that searches showed to agents were useful. A watch over each session yields signs, which are
//! written to the store while the call is answered. People, their commands and hooks are not watched.
//!
//! What was shown is kept in the process's memory alone. When the daemon ends, it is lost, and no signs are derived
//! from it.

use crate::base::Base;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::{Caller, ServiceError, lock};
use cerebro_core::domain::{Memory, MemoryId, Project, SessionId};
use cerebro_core::feedback::{Sign, Signal, Source, Watch};
use cerebro_core::redact::redact_text;
use cerebro_store::FeedbackCounts;

/// Most sessions that are watched. The one that was idle for longest is dropped first.
const SESSIONS_MAX: usize = 256;
/// Most notes that wait for the store at once. Further ones are dropped.
const WAITING_MAX: usize = 32;

/// Most projects whose counts are kept.
const PROJECTS_MAX: usize = 256;

/// How many memories were shown in sessions since the daemon began, and for how many there was a sign; each counts at most
/// once per session and signal. The signs are a part of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Shown to agents.
    pub shown: u64,
    /// Useful.
    pub used: u64,
    /// Corrected, or rated wrong.
    pub corrected: u64,
    /// Ignored, or rated useless.
    pub ignored: u64,
}

impl Watched {
    fn take(&mut self, signs: &[Sign]) {
        for sign in signs.iter().filter(|sign| sign.is_first) {
            match sign.source.signal() {
                Signal::Used => self.used += 1,
                Signal::Corrected => self.corrected += 1,
                Signal::Ignored => self.ignored += 1,
            }
        }
    }

    fn and(self, other: &Self) -> Self {
        Self {
            shown: self.shown + other.shown,
            used: self.used + other.used,
            corrected: self.corrected + other.corrected,
            ignored: self.ignored + other.ignored,
        }
    }
}

/// The sessions that are watched.
pub(super) struct WatchedSessions {
    watches: Mutex<Watches>,
    /// By the project of the session.
    counts: Mutex<BTreeMap<Project, Watched>>,
    waiting: Arc<Semaphore>,
}

#[derive(Default)]
struct Watches {
    by_session: HashMap<SessionId, Watching>,
    turns: u64,
}

#[derive(Default)]
struct Watching {
    /// When it was active last.
    turn: u64,
    project: Option<Project>,
    watch: Watch,
}

impl Default for WatchedSessions {
    fn default() -> Self {
        let waiting = Arc::new(Semaphore::new(WAITING_MAX));
        Self { watches: Mutex::default(), counts: Mutex::default(), waiting }
    }
}

impl WatchedSessions {
    /// Reads or changes the watch of a session; `None` if the session was shown nothing.
    fn with<T>(&self, session: &SessionId, look: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        let mut watches = lock(&self.watches);
        watches.by_session.get_mut(session).map(|watching| look(&mut watching.watch))
    }

    /// The project in which a session was shown something last.
    fn project_of(&self, session: &SessionId) -> Option<Project> {
        lock(&self.watches).by_session.get(session)?.project.clone()
    }

    /// Changes the counts of a project. If there are too many projects, all counts begin again.
    fn count(&self, project: &Project, count: impl FnOnce(&mut Watched)) {
        let mut counts = lock(&self.counts);
        if counts.len() >= PROJECTS_MAX && !counts.contains_key(project) {
            counts.clear();
        }
        count(counts.entry(project.clone()).or_default());
    }

    /// Begins or continues to watch a session.
    fn watched<T>(&self, session: &SessionId, project: &Project, look: impl FnOnce(&mut Watch) -> T) -> T {
        let mut watches = lock(&self.watches);
        watches.turns += 1;
        let turn = watches.turns;
        if watches.by_session.len() >= SESSIONS_MAX && !watches.by_session.contains_key(session) {
            let oldest = watches.by_session.iter().min_by_key(|(_, watching)| watching.turn);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                watches.by_session.remove(&oldest);
            }
        }
        let watching = watches.by_session.entry(session.clone()).or_default();
        (watching.turn, watching.project) = (turn, Some(project.clone()));
        look(&mut watching.watch)
    }
}

/// The use cases of feedback.
#[derive(Clone)]
pub struct Feedback {
    base: Base,
    book: Arc<WatchedSessions>,
}

impl Feedback {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone(), book: Arc::default() }
    }

    /// Notes what a search showed in a session. Does nothing for a person.
    pub fn note_shown(&self, caller: &Caller, question: &str, hits: &[MemoryId]) {
        if caller.person || hits.is_empty() {
            return;
        }
        let (question, now) = (redact_text(question).value, self.base.now());
        let (new, signs) = self.book.watched(&caller.session, &caller.project, |watch| {
            let new = hits.iter().filter(|id| !watch.has_shown(id)).count();
            (new, watch.searched(now, &question, hits))
        });
        self.book.count(&caller.project, |counts| counts.shown += new as u64);
        self.store_signs(&caller.session, signs);
    }

    /// Notes that a memory was read in full in a session. Does nothing for a person.
    pub fn note_read(&self, caller: &Caller, id: &MemoryId) {
        if !caller.person {
            let sign = self.book.with(&caller.session, |watch| watch.read(id)).flatten();
            self.store_signs(&caller.session, sign.into_iter().collect());
        }
    }

    /// Notes that memories were updated, superseded or deleted in a session. Does nothing for a person.
    pub(super) fn note_corrected<'a>(&self, caller: &Caller, memories: impl IntoIterator<Item = &'a Memory>) {
        if !caller.person {
            let corrected = |watch: &mut Watch| {
                memories.into_iter().filter_map(|memory| watch.corrected(&memory.id)).collect()
            };
            self.store_signs(&caller.session, self.book.with(&caller.session, corrected).unwrap_or_default());
        }
    }

    /// Notes an agent's rating of a memory that was shown in its session. Does nothing for a person. Returns whether it
    /// is new.
    pub fn note_said(&self, caller: &Caller, id: &MemoryId, source: Source) -> bool {
        if caller.person {
            return false;
        }
        let sign = self.book.with(&caller.session, |watch| watch.rated(id, source)).flatten();
        self.store_signs(&caller.session, sign.into_iter().collect());
        sign.is_some()
    }

    /// Compares the last message of a session, or its summary, with what was shown in it. Returns whether anything was
    /// shown.
    pub fn note_answer(&self, session: &SessionId, message: &str) -> bool {
        let shown = self.book.with(session, |watch| watch.shown());
        let Some(shown) = shown else { return false };
        let (feedback, of, message) = (self.clone(), session.clone(), message.to_owned());
        self.note_later(async move {
            let found = feedback.base.store.memories().by_ids(&shown).await?;
            let text = |memory: Memory| (memory.id, format!("{}\n{}", memory.title, memory.content));
            let texts: Vec<_> = found.into_iter().filter(Memory::is_live).map(text).collect();
            let signs = feedback.book.with(&of, |watch| watch.answered(&message, &texts));
            feedback.put_signs(&of, &signs.unwrap_or_default()).await
        });
        true
    }

    /// How many signs each source gave, of a project's memories or of all.
    pub async fn counts(&self, project: Option<&Project>) -> Result<FeedbackCounts, ServiceError> {
        Ok(self.base.store.signs().count(project).await?)
    }

    /// The memories shown since the daemon began, in sessions of a project or of all, and whether they were used.
    pub(super) fn watched(&self, project: Option<&Project>) -> Watched {
        let counts = lock(&self.book.counts);
        let of = counts.iter().filter(|(of, _)| project.is_none_or(|project| *of == project));
        of.fold(Watched::default(), |all, (_, one)| all.and(one))
    }

    /// Writes signs in the background: the answer to the call does not wait for them.
    fn store_signs(&self, session: &SessionId, signs: Vec<Sign>) {
        if !signs.is_empty() {
            let (feedback, session) = (self.clone(), session.clone());
            self.note_later(async move { feedback.put_signs(&session, &signs).await });
        }
    }

    async fn put_signs(&self, session: &SessionId, signs: &[Sign]) -> Result<(), ServiceError> {
        if !signs.is_empty() {
            if let Some(project) = self.book.project_of(session) {
                self.book.count(&project, |counts| counts.take(signs));
            }
            self.base.store.signs().put(session, signs).await?;
        }
        Ok(())
    }

    fn note_later(&self, work: impl Future<Output = Result<(), ServiceError>> + Send + 'static) {
        let Ok(place) = Arc::clone(&self.book.waiting).try_acquire_owned() else {
            tracing::debug!("too many signs of use wait to be noted");
            return;
        };
        self.base.tasks.spawn("noting signs of use", async move {
            let _place = place;
            if let Err(error) = work.await {
                tracing::warn!(%error, "signs of use could not be noted");
            }
        });
    }
}
