//! The past: an index of every text that the store still has, each with the time in which the store held it.
//!
//! The index is separate from that of the present, so that replaced texts do not change today's order. It is built at the
//! first question about the past, follows the log from then on, and is removed when the daemon ends: it costs nothing
//! until it is used. A purge also removes the text here.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    evidence::{blocking, broke_off},
    memories::{document, pushed},
};
use crate::{ServiceError, base::Base};
use cerebro_core::domain::{Event, EventKind, Memory, MemoryId, Revision, Timestamp};
use cerebro_core::truth::{self, Period};
use cerebro_durable::remove_folder;
use cerebro_search::lexical::{Change, Doc, Index, LexicalError};
use cerebro_store::{Store, Walk};

/// How many rows are read at once.
const PAGE: usize = 500;
/// Most memories that are brought up to date one by one. For more, the index is rebuilt.
const ONE_BY_ONE_MAX: usize = 2_000;
/// Most earlier texts of one memory that are read.
pub(crate) const REVISIONS_MAX: usize = 100_000;

/// The past, as far as it was needed.
pub(crate) struct PastIndex {
    dir: PathBuf,
    known: tokio::sync::Mutex<Option<Known>>,
}

/// The past up to a position in each writer's log.
struct Known {
    places: BTreeMap<String, u64>,
    /// When memories were deleted (`true`) and restored, in order of time.
    deletions: HashMap<MemoryId, Vec<(Timestamp, bool)>>,
    /// The index of every text; `None` until the first search.
    index: Option<Arc<Index>>,
}

impl PastIndex {
    /// In a folder beside the index of the present. Files of an earlier process are removed.
    pub(crate) fn new(index_dir: &Path) -> io::Result<Self> {
        let dir = index_dir.with_extension("past");
        remove_folder(&dir)?;
        Ok(Self { dir, known: tokio::sync::Mutex::default() })
    }

    /// Closes and removes the index. The next daemon rebuilds it when it is needed.
    pub(crate) async fn close(&self) {
        let Some(Known { index: Some(index), .. }) = self.known.lock().await.take() else { return };
        let dir = self.dir.clone();
        let closed = tokio::task::spawn_blocking(move || -> Result<(), LexicalError> {
            let closed = index.close();
            drop(index);
            remove_folder(&dir)?;
            closed
        });
        if let Ok(Err(error)) = closed.await {
            tracing::debug!(%error, "the index of the past was not removed; the next daemon does it");
        }
    }
}

impl Known {
    async fn begin(store: &Store) -> Result<Self, ServiceError> {
        // The positions are read first: events written meanwhile are read again, which is harmless.
        let places = store.peers().all_ends().await?.0;
        let mut known = Self { places, deletions: HashMap::new(), index: None };
        let kinds = [EventKind::MemoryDeleted, EventKind::MemoryRestored];
        store.events().of_kinds(&kinds).await?.iter().for_each(|event| known.note(event));
        Ok(known)
    }

    fn note(&mut self, event: &Event) {
        let is_deleted = event.kind == EventKind::MemoryDeleted;
        let (Some(memory), true) = (event.memory, is_deleted || event.kind == EventKind::MemoryRestored)
        else {
            return;
        };
        let log = self.deletions.entry(memory).or_default();
        if !log.contains(&(event.at, is_deleted)) {
            log.push((event.at, is_deleted));
            log.sort_unstable();
        }
    }

    /// Reads the events since the last time and returns the memories that they are about.
    async fn follow(&mut self, store: &Store) -> Result<BTreeSet<MemoryId>, ServiceError> {
        let mut changed = BTreeSet::new();
        let mut log = store.events().since(self.places.clone(), PAGE).await?;
        while let Some(events) = log.next().await? {
            for event in events {
                self.note(&event);
                changed.extend(event.memory);
                self.places.insert(event.writer, event.seq);
            }
        }
        Ok(changed)
    }

    /// The periods in which a memory was deleted.
    fn gaps(&self, memory: &Memory) -> Vec<Period> {
        let log = self.deletions.get(&memory.id).map_or(&[][..], Vec::as_slice);
        truth::gaps(log, memory.deleted_at)
    }

    /// The entry of the index of the past for a memory.
    fn change(&self, memory: &Memory, revisions: &[Revision]) -> Change {
        let subject = memory.id.into();
        if memory.purged {
            return Change::Erase(subject);
        }
        let texts: Vec<Memory> = texts(memory, revisions);
        let written: Vec<Timestamp> = texts.iter().map(|text| text.updated_at).collect();
        let held = truth::held_periods(&written, &self.gaps(memory)).into_iter().map(|(text, period)| Doc {
            held: (period.from, period.to.map_or(Timestamp::MAX, just_before)),
            ..document(&texts[text])
        });
        Change::Past(subject, held.collect())
    }
}

/// The last moment before another.
fn just_before(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond() - 1).unwrap_or(at)
}

/// A memory as it was with each of its texts, oldest first, and as it is.
fn texts(memory: &Memory, revisions: &[Revision]) -> Vec<Memory> {
    let mut texts: Vec<Memory> = revisions.iter().map(|revision| revision.of(memory)).collect();
    texts.push(memory.clone());
    texts.sort_by_key(|text| text.revision);
    texts
}

/// The revisions of all memories, read beside a walk over the memories: both are in order of the memories' ids.
struct Earlier<'a> {
    pages: Walk<'a, Revision>,
    /// What is left of the page that was read last.
    page: VecDeque<Revision>,
}

impl Earlier<'_> {
    /// The earlier texts of the next memory in the walk.
    async fn of(&mut self, memory: &MemoryId) -> Result<Vec<Revision>, ServiceError> {
        let mut found = Vec::new();
        loop {
            while let Some(revision) = self.page.pop_front_if(|front| front.memory <= *memory) {
                found.extend(Some(revision).filter(|revision| revision.memory == *memory));
            }
            if !self.page.is_empty() {
                return Ok(found);
            }
            let Some(page) = self.pages.next().await? else { return Ok(found) };
            self.page = page.into();
        }
    }
}

/// Finding what the store held at an earlier moment.
#[derive(Clone)]
pub(crate) struct Past {
    base: Base,
    held: Arc<PastIndex>,
}

impl Past {
    pub(crate) fn new(base: &Base, held: PastIndex) -> Self {
        Self { base: base.clone(), held: Arc::new(held) }
    }

    /// See [`PastIndex::close`].
    pub(crate) async fn close(&self) {
        self.held.close().await;
    }

    /// The index of the past, at the log's end.
    pub(crate) async fn past_index(&self) -> Result<Arc<Index>, ServiceError> {
        let mut held = self.held.known.lock().await;
        let known = self.followed(&mut held).await?;
        if let Some(index) = &known.index {
            return Ok(Arc::clone(index));
        }
        let begun = std::time::Instant::now();
        let dir = self.held.dir.clone();
        let opened = tokio::task::spawn_blocking(move || -> Result<Arc<Index>, LexicalError> {
            remove_folder(&dir)?;
            Ok(Arc::new(Index::open(&dir)?))
        });
        let index = opened.await.map_err(broke_off)??;
        let mut earlier = Earlier { pages: self.base.store.revisions().walk(), page: VecDeque::new() };
        let mut memories = self.base.store.memories().walk();
        while let Some(page) = memories.next().await? {
            let mut changes = Vec::with_capacity(page.len());
            for memory in &page {
                let revisions = earlier.of(&memory.id).await?;
                changes.push(known.change(memory, &revisions));
            }
            pushed(&index, changes).await?;
        }
        blocking(&index, Index::flush).await?;
        tracing::info!(ms = begun.elapsed().as_millis(), "the index of the past is made");
        known.index = Some(Arc::clone(&index));
        Ok(index)
    }

    /// The past, brought up to date with the log.
    async fn followed<'a>(&self, held: &'a mut Option<Known>) -> Result<&'a mut Known, ServiceError> {
        if held.is_none() {
            *held = Some(Known::begin(&self.base.store).await?);
        }
        // It is taken out meanwhile, so that it is dropped if an error ends this half-way.
        let Some(mut known) = held.take() else {
            return Err(LexicalError::Damaged("it went away".to_owned()).into());
        };
        let changed = known.follow(&self.base.store).await?;
        if changed.len() > ONE_BY_ONE_MAX && known.index.take().is_some() {
            self.remove_files().await?;
        }
        if let Some(index) = &known.index {
            let ids: Vec<MemoryId> = changed.into_iter().collect();
            let mut changes = Vec::with_capacity(ids.len());
            for memory in self.base.store.memories().by_ids(&ids).await? {
                let revisions =
                    self.base.store.revisions().before(&memory.id, memory.revision, REVISIONS_MAX).await?;
                changes.push(known.change(&memory, &revisions));
            }
            pushed(index, changes).await?;
        }
        Ok(held.insert(known))
    }

    /// Removes purged texts from the files of the index of the past.
    pub(crate) async fn purge_past(&self) -> Result<(), ServiceError> {
        let mut held = self.held.known.lock().await;
        if held.as_ref().is_none_or(|known| known.index.is_none()) {
            // One that broke off half-way left its files.
            return self.remove_files().await;
        }
        let index = self.followed(&mut held).await?.index.clone();
        match index {
            Some(index) => blocking(&index, Index::flush).await,
            None => Ok(()),
        }
    }

    async fn remove_files(&self) -> Result<(), ServiceError> {
        let dir = self.held.dir.clone();
        let removed = tokio::task::spawn_blocking(move || remove_folder(&dir));
        Ok(removed.await.map_err(broke_off)?.map_err(LexicalError::Io)?)
    }

    /// A memory as the store held it at a moment.
    ///
    /// # Errors
    /// [`ServiceError::Purged`]; [`ServiceError::Invalid`] if it was not there then, or its text is no longer kept.
    pub(crate) async fn as_it_was(&self, memory: Memory, at: Timestamp) -> Result<Memory, ServiceError> {
        let refuse = |problem: String| Err(ServiceError::invalid("as_of", &at.to_string(), problem));
        if memory.purged {
            return Err(ServiceError::Purged(memory.id));
        }
        if at < memory.created_at {
            return refuse(format!("memory `{}` was first saved at {}", memory.id, memory.created_at));
        }
        let mut held = self.held.known.lock().await;
        let gaps = self.followed(&mut held).await?.gaps(&memory);
        drop(held);
        if gaps.iter().any(|gap| gap.has(at)) {
            return refuse(format!("memory `{}` was deleted then", memory.id));
        }
        let id = memory.id;
        match self.text_at(memory, at).await? {
            Some(text) => {
                let by_then = |moment: Option<Timestamp>| moment.filter(|moment| *moment <= at);
                let (archived_at, done_at) = (by_then(text.archived_at), by_then(text.done_at));
                Ok(Memory { deleted_at: None, archived_at, done_at, ..text })
            }
            None => refuse(format!("what memory `{id}` said then is no longer kept")),
        }
    }

    /// Which of these memories the store held at a moment. `are_live` says of each whether it is live now.
    pub(crate) async fn held_at(
        &self,
        are_live: &BTreeMap<MemoryId, bool>,
        at: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, ServiceError> {
        let mut found = BTreeSet::new();
        let mut doubtful = BTreeMap::new();
        {
            let mut held = self.held.known.lock().await;
            let known = self.followed(&mut held).await?;
            for (id, is_live) in are_live {
                match known.deletions.get(id) {
                    // Nearly all were never deleted, and nothing is read of these.
                    None if *is_live => drop(found.insert(*id)),
                    log => drop(doubtful.insert(*id, log.cloned().unwrap_or_default())),
                }
            }
        }
        // The past is not held during the query, so other questions about it do not wait.
        let memories = self.base.store.memories().by_ids(doubtful.keys()).await?;
        let was_there = |memory: &&Memory| {
            let gaps = truth::gaps(&doubtful[&memory.id], memory.deleted_at);
            !memory.purged && !gaps.iter().any(|gap| gap.has(at))
        };
        found.extend(memories.iter().filter(was_there).map(|memory| memory.id));
        Ok(found)
    }

    /// A memory with the text that it had at a moment; `None` if that text is no longer kept.
    async fn text_at(&self, memory: Memory, at: Timestamp) -> Result<Option<Memory>, ServiceError> {
        if memory.updated_at <= at {
            return Ok(Some(memory));
        }
        let revisions =
            self.base.store.revisions().before(&memory.id, memory.revision, REVISIONS_MAX).await?;
        Ok(texts(&memory, &revisions).into_iter().rfind(|text| text.updated_at <= at))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{Settings, use_cases::with_service};
    use cerebro_core::domain::Timestamp;

    #[test]
    fn a_purge_takes_files_too_that_an_index_left_which_broke_off() {
        with_service(Settings::default(), Timestamp::now, async |service| {
            let past = &service.recall.past;
            fs::create_dir_all(&past.held.dir).unwrap();
            fs::write(past.held.dir.join("half"), "a purged text").unwrap();
            past.purge_past().await.unwrap();
            assert!(!past.held.dir.exists());
            past.purge_past().await.unwrap();
        });
    }
}
