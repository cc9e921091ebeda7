//! Keeps the lexical index of memories up to date with the log.
//!
//! The index is derived. Each commit is handed to it in order while the writer waits, so a search sees every save that was
//! acknowledged before it. Commits that it missed (because it was closed, damaged or failed) are read from the log, or from
//! all memories if it has no checkpoint.

use crate::base::Base;
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::evidence::{blocking, broke_off};
use crate::{ServiceError, tasks::on_a_thread};
use cerebro_core::domain::{Event, EventKind, Memory, MemoryId, Timestamp};
use cerebro_core::hygiene;
use cerebro_core::sync::{read, write};
use cerebro_search::lexical::{Change, Checkpoint, Doc, Index, LexicalError};
use cerebro_store::{Committed, LogPositions, Store};

/// How many rows are read at once when the index catches up.
const PAGE: usize = 500;

/// How long a search waits for the index to catch up.
const CATCH_UP_WAIT: Duration = Duration::from_secs(60);

/// The index, and whether it follows the log.
pub(crate) struct Follower {
    index: RwLock<Arc<Index>>,
    dir: PathBuf,
    /// Commits are not applied one by one: [`MemoryIndex::catch_up`] will read them from the log.
    behind: AtomicBool,
    /// The content of the index cannot be used.
    damaged: AtomicBool,
    catching_up: tokio::sync::Mutex<()>,
}

impl Follower {
    /// Begins with an index that was just opened and may lack the commits made while it was closed.
    pub(crate) fn new(index: Index, dir: &Path) -> Self {
        Self {
            index: RwLock::new(Arc::new(index)),
            dir: dir.to_path_buf(),
            behind: AtomicBool::new(true),
            damaged: AtomicBool::new(false),
            catching_up: tokio::sync::Mutex::new(()),
        }
    }

    pub(crate) fn index(&self) -> Arc<Index> {
        Arc::clone(&read(&self.index))
    }

    /// Applies one commit. A failure or a panic loses nothing: the next search catches up from the log first.
    #[tracing::instrument(level = "debug", skip_all)]
    pub(crate) fn follow(self: &Arc<Self>, committed: &Committed) {
        // The commit is done, and its caller must get the answer.
        if catch_unwind(AssertUnwindSafe(|| self.take_in(committed))).is_err() {
            tracing::error!("the lexical index broke off at a commit and will catch up from the log");
            self.behind.store(true, Ordering::SeqCst);
        }
    }

    fn take_in(self: &Arc<Self>, committed: &Committed) {
        if self.behind.load(Ordering::SeqCst) {
            return;
        }
        let erased = erased(&committed.events);
        let index = self.index();
        for memory in &committed.memories {
            if let Err(error) = index.push(change(memory, &erased)) {
                tracing::warn!(%error, "the lexical index missed a commit and will catch up from the log");
                self.behind.store(true, Ordering::SeqCst);
                return;
            }
        }
        reach(&index, &committed.events);
        if index.is_due() {
            // Nobody waits for the flush, because a search also sees queued changes.
            let follower = Arc::clone(self);
            tokio::task::spawn_blocking(move || follower.commit(&index));
        }
    }

    fn commit(&self, index: &Index) {
        let Err(error) = index.flush_if_due() else { return };
        tracing::warn!(%error, "the lexical index could not commit; it tries again after the next save");
        if matches!(error, LexicalError::Damaged(_)) {
            // The next search rebuilds it.
            self.damaged.store(true, Ordering::SeqCst);
            self.behind.store(true, Ordering::SeqCst);
        }
    }

    /// Replaces a broken index by an empty one. Closing may take long.
    async fn reopen(self: &Arc<Self>) -> Result<(), ServiceError> {
        let follower = Arc::clone(self);
        Ok(on_a_thread("opening the index again", move || follower.replace()).await??)
    }

    fn replace(&self) -> Result<(), LexicalError> {
        // The old one may be unusable; the store has everything that it held.
        if let Err(error) = self.index().close() {
            tracing::debug!(%error, "the broken index did not close");
        }
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            tracing::debug!(%error, "the broken index could not be removed");
        }
        *write(&self.index) = Arc::new(Index::open(&self.dir)?);
        self.damaged.store(false, Ordering::SeqCst);
        Ok(())
    }

    pub(crate) fn close(&self) {
        if let Err(error) = self.index().close() {
            tracing::warn!(%error, "the lexical index did not close cleanly and may be built anew");
        }
    }
}

/// How the content of an index compares with a store.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// It has no checkpoint: it is new, or was not filled completely.
    Empty,
    /// It holds the beginning of the store's log.
    Behind,
    /// It holds something that this store never had or no longer has; with the reason to think so.
    Other(&'static str),
}

/// Compares the checkpoint of an index with the store and the ends of its logs.
fn standing(held: &Checkpoint, store: &str, writer: &str, ends: &LogPositions) -> Standing {
    if held.places.is_empty() {
        return Standing::Empty;
    }
    if held.store != store {
        return Standing::Other("it is of another store");
    }
    if LogPositions(held.places.clone()).are_beyond(ends) {
        return Standing::Other("the store was put back to an earlier state");
    }
    if held.places.contains_key(writer) {
        Standing::Behind
    } else {
        Standing::Other("this home has a new name")
    }
}

/// How the content of the index compares with the store.
async fn standing_of(store: &Store, held: &Checkpoint) -> Result<Standing, ServiceError> {
    let writers: Vec<String> = held.places.keys().cloned().collect();
    Ok(standing(held, store.id(), store.writer(), &store.peers().ends(&writers).await?))
}

/// Whether an index with this content can follow the log from its checkpoint.
pub(super) async fn is_continued(store: &Store, held: &Checkpoint) -> Result<bool, ServiceError> {
    Ok(standing_of(store, held).await? == Standing::Behind)
}

fn erased(events: &[Event]) -> Vec<MemoryId> {
    events
        .iter()
        .filter(|event| event.kind == EventKind::MemoryPurged)
        .filter_map(|event| event.memory)
        .collect()
}

fn change(memory: &Memory, erased: &[MemoryId]) -> Change {
    if memory.purged || erased.contains(&memory.id) {
        return Change::Erase(memory.id.into());
    }
    if !memory.is_live() {
        return Change::Remove(memory.id.into());
    }
    Change::Put(Box::new(document(memory)))
}

/// The index's entry for a memory.
pub(crate) fn document(memory: &Memory) -> Doc {
    Doc {
        id: memory.id.into(),
        body: memory.body.clone(),
        agent: memory.agent.clone(),
        date: memory.updated_at,
        session: memory.session.clone(),
        near_keys: hygiene::near_keys(&hygiene::Shingles::of(&memory.content)),
        title_key: hygiene::title_key(&memory.title),
        valid: memory.valid,
        archived: memory.is_archived(),
        taint: memory.taint.clone(),
        held: (Timestamp::MIN, Timestamp::MAX),
    }
}

/// The index of memories, which follows each commit.
#[derive(Clone)]
pub(crate) struct MemoryIndex {
    base: Base,
    follower: Arc<Follower>,
}

impl MemoryIndex {
    pub(crate) fn new(base: &Base, follower: Arc<Follower>) -> Self {
        Self { base: base.clone(), follower }
    }

    /// Catches up in the background.
    pub(crate) fn begin_catching_up(&self) {
        let index = self.clone();
        self.base.tasks.spawn("catching the index up", async move {
            if let Err(error) = index.catch_up().await {
                tracing::warn!(%error, "the lexical index did not catch up; the next search tries again");
            }
        });
    }

    /// What closes the index. It blocks, and keeps no handle to the store.
    pub(crate) fn closing(&self) -> impl FnOnce() + Send + use<> {
        let follower = Arc::clone(&self.follower);
        move || follower.close()
    }

    /// How many memories it has.
    pub(crate) fn memories_indexed(&self) -> u64 {
        self.index().len()
    }

    pub(crate) fn index(&self) -> Arc<Index> {
        self.follower.index()
    }

    /// Whether the index has applied every commit so far.
    pub(crate) fn index_is_current(&self) -> bool {
        !self.follower.behind.load(Ordering::SeqCst)
    }

    /// Brings the index up to date with the log: from its checkpoint, or from all memories if it has none. Writers wait
    /// only for the last few steps, so that no commit is missed between the log and the live commits.
    pub(crate) async fn catch_up(&self) -> Result<(), ServiceError> {
        let follower = &self.follower;
        let _one_at_a_time = follower.catching_up.lock().await;
        if !follower.behind.load(Ordering::SeqCst) {
            return Ok(());
        }
        let begun = std::time::Instant::now();
        if follower.damaged.load(Ordering::SeqCst) {
            follower.reopen().await?;
        }
        let mut index = self.index();
        match standing_of(&self.base.store, &index.checkpoint()).await? {
            Standing::Behind => self.follow_logs(&index, index.checkpoint().places).await?,
            Standing::Empty if index.is_empty() => self.fill(&index).await?,
            Standing::Empty => index = self.refill("it was not filled to the end").await?,
            Standing::Other(why) => index = self.refill(why).await?,
        }
        let pause = self.base.store.pause().await;
        self.follow_logs(&index, index.checkpoint().places).await?;
        follower.behind.store(false, Ordering::SeqCst);
        drop(pause);
        tracing::info!(ms = begun.elapsed().as_millis(), "the lexical index is at the log's end");
        Ok(())
    }

    /// Applies the log of each writer from the event after that in `places`, which is the last one that the index has.
    async fn follow_logs(
        &self,
        index: &Arc<Index>,
        places: BTreeMap<String, u64>,
    ) -> Result<(), ServiceError> {
        let mut log = self.base.store.events().since(places, PAGE).await?;
        while let Some(events) = log.next().await? {
            let ids: BTreeSet<MemoryId> = events.iter().filter_map(|event| event.memory).collect();
            let erased = erased(&events);
            let memories = self.base.store.memories().by_ids(&ids).await?;
            pushed(index, memories.iter().map(|memory| change(memory, &erased)).collect()).await?;
            reach(index, &events);
        }
        Ok(())
    }

    /// Fills an empty index that replaces one with unusable content.
    async fn refill(&self, why: &str) -> Result<Arc<Index>, ServiceError> {
        tracing::warn!("the lexical index is built anew: {why}");
        self.follower.reopen().await?;
        let index = self.index();
        self.fill(&index).await?;
        Ok(index)
    }

    async fn fill(&self, index: &Arc<Index>) -> Result<(), ServiceError> {
        // The position is read first: changes made meanwhile are read again from the log, which is harmless.
        let places = self.base.store.peers().all_ends().await?.0;
        let mut count = 0;
        index.belong(self.base.store.id());
        // After a fill that was cut off, the index follows the log from its beginning.
        index.reach(self.base.store.writer(), 0);
        let mut pages = self.base.store.memories().walk();
        while let Some(page) = pages.next().await? {
            count += page.len();
            let live = page.iter().filter(|memory| memory.is_live());
            pushed(index, live.map(|memory| change(memory, &[])).collect()).await?;
            if count % (PAGE * 10) == 0 {
                tracing::info!(count, "building the lexical index anew");
            }
        }
        for (writer, seq) in &places {
            index.reach(writer, *seq);
        }
        self.follow_logs(index, places).await?;
        blocking(index, Index::flush).await
    }

    /// Drops the index and rebuilds it from the store.
    pub(crate) async fn rebuild_index(&self) -> Result<(), ServiceError> {
        self.start_over();
        self.at_the_end().await
    }

    /// Makes the next search rebuild the index.
    pub(crate) fn start_over(&self) {
        self.follower.damaged.store(true, Ordering::SeqCst);
        self.follower.behind.store(true, Ordering::SeqCst);
    }

    /// Queries the index, after it has caught up if it has fallen behind or turns out to be damaged.
    pub(crate) async fn ask<T, F>(&self, question: F) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: Fn(&Index) -> Result<T, LexicalError> + Send + Sync + Clone + 'static,
    {
        self.at_the_end().await?;
        match self.ask_once(question.clone()).await {
            Err(ServiceError::Index(LexicalError::Damaged(reason))) => {
                tracing::warn!(%reason, "the lexical index is damaged and is built anew");
                self.start_over();
                self.at_the_end().await?;
                self.ask_once(question).await
            }
            answer => answer,
        }
    }

    /// Waits until the index is up to date with the log. If the wait ends first, the work continues.
    async fn at_the_end(&self) -> Result<(), ServiceError> {
        if self.index_is_current() {
            return Ok(());
        }
        let index = self.clone();
        let work = self.base.tasks.spawn("catching the index up", async move { index.catch_up().await });
        match tokio::time::timeout(CATCH_UP_WAIT, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => Err(broke_off(error)),
            Err(_) => Err(ServiceError::IndexBusy),
        }
    }

    /// Queries the index as it is. It may have fallen behind, because this does not wait for a writer.
    pub(crate) async fn ask_once<T, F>(&self, question: F) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: Fn(&Index) -> Result<T, LexicalError> + Send + 'static,
    {
        blocking(&self.index(), question).await
    }
}

/// Notes that an index has applied some events of one writer.
pub(super) fn reach(index: &Index, events: &[Event]) {
    if let Some(last) = events.last() {
        index.reach(&last.writer, last.seq);
    }
}

/// Hands changes to the index. With many of them it commits, which takes long.
pub(super) async fn pushed(index: &Arc<Index>, changes: Vec<Change>) -> Result<(), ServiceError> {
    blocking(index, move |index| changes.into_iter().try_for_each(|change| index.push(change))).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::{Embedding, Service, Settings};

    /// An index that does not close holds up neither the end of the store nor that of the thread which waits for it.
    #[test]
    fn a_store_does_not_wait_for_an_index_that_does_not_close() {
        let folder = tempfile::tempdir().unwrap();
        let (store, index) = (folder.path().join("store"), folder.path().join("index"));
        let open = async |index: &Path| {
            let opened = Service::open(&store, index, Settings::default(), Embedding::none(), Timestamp::now);
            opened.await.unwrap()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_stack_size(16 << 20)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(Box::pin(async {
            let service = open(&index).await;
            service.recall.index.catch_up().await.unwrap();
            let follower = Arc::clone(&service.recall.index.follower);
            let (held, holds) = mpsc::channel::<()>();
            let (release, hangs) = mpsc::channel::<()>();
            let hanging = std::thread::spawn(move || {
                let _index = write(&follower.index);
                held.send(()).unwrap();
                hangs.recv().is_err()
            });
            holds.recv().unwrap();
            service.close().await.unwrap();
            // The store is free: another one may open it.
            let again = open(&folder.path().join("other")).await;
            drop(release);
            assert!(hanging.join().unwrap());
            again.close().await.unwrap();
        }));
    }

    #[test]
    fn an_index_is_followed_on_only_where_it_is_of_this_store_and_its_past() {
        let places = |all: &[(&str, u64)]| -> std::collections::BTreeMap<String, u64> {
            all.iter().map(|(writer, seq)| ((*writer).to_owned(), *seq)).collect()
        };
        let held = |store: &str, all| Checkpoint { store: store.to_owned(), places: places(all) };
        let is_other = |held: &Checkpoint, ends| {
            matches!(standing(held, "s", "me", &LogPositions(places(ends))), Standing::Other(_))
        };
        let mine = held("s", &[("me", 5), ("you", 7)]);
        assert_eq!(standing(&Checkpoint::default(), "s", "me", &LogPositions::default()), Standing::Empty);
        assert_eq!(
            standing(&mine, "s", "me", &LogPositions(places(&[("me", 5), ("you", 9)]))),
            Standing::Behind
        );
        assert!(is_other(&mine, &[("me", 4), ("you", 9)]), "our own log went back");
        assert!(is_other(&mine, &[("me", 5), ("you", 6)]), "another's log went back");
        assert!(is_other(&mine, &[("me", 5)]), "another's log is gone");
        assert!(is_other(&held("t", &[("me", 5)]), &[("me", 5)]), "another store");
        assert!(is_other(&held("s", &[("you", 7)]), &[("you", 7)]), "another name");
    }
}
