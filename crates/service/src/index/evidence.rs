//! Keeps the indexes of evidence up to date with the log: exchanges of past sessions, and chunks of documents.
//!
//! Each is an index of its own, so that no order of memories depends on it. It is opened at the first change or search,
//! and follows the log in the background: a commit does not wait for it, a search does.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    Evidence, chunks, exchanges,
    memories::{is_continued, reach},
};
use crate::{
    ServiceError,
    base::Base,
    check::Check,
    lock,
    tasks::{in_the_background, on_a_thread, one_at_a_time},
};
use cerebro_core::{domain::SubjectId, pace, text};
use cerebro_search::lexical::{Index, LexicalError};

/// How many events are read at once.
const EVENTS: usize = 500;
/// How long changes are gathered before the index takes them in.
const GATHER: Duration = Duration::from_millis(500);
/// How long they are while somebody calls: indexing takes a processor, and saves wait while the index syncs its files.
const GATHER_MAX: Duration = Duration::from_secs(10);
/// How long it takes to index what was gathered.
const INDEXING: Duration = Duration::from_millis(200);

/// How long a search waits for the index to be at the log's end.
pub(crate) const WAIT: Duration = Duration::from_secs(60);
/// How long a hint waits for that, because a search of memories waits for the hint.
const HINT_WAIT: Duration = Duration::from_millis(200);

/// How many commits behind the log an index may be for which a hint waits.
const BEHIND_MAX: u64 = 20;

/// The indexes of all evidence.
#[derive(Clone)]
pub(crate) struct EvidenceIndexes {
    base: Base,
    history: Arc<EvidenceIndex>,
    documents: Arc<EvidenceIndex>,
}

/// An index, and how far it has followed the log.
struct EvidenceIndex {
    of: Evidence,
    dir: PathBuf,
    index: Mutex<Option<Arc<Index>>>,
    /// Whether the store has any evidence of this kind; `None` until that is read.
    has_any: Mutex<Option<bool>>,
    /// The number of commits that the index must apply, plus one at first.
    changes: AtomicU64,
    /// How many of these it has applied.
    taken: AtomicU64,
    following: tokio::sync::Mutex<()>,
    /// Whether a task is about to apply the changes so far.
    is_due: AtomicBool,
    /// Hints do not wait for the index.
    is_growing: AtomicBool,
    /// How many callers wait for it to be up to date.
    waiting: AtomicUsize,
}

/// A caller that waits for an index, as long as this lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl EvidenceIndex {
    fn beside(memories: &Path, of: Evidence) -> Self {
        let mut name = memories.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{}", of.name()));
        Self {
            of,
            dir: memories.with_file_name(name),
            index: Mutex::default(),
            has_any: Mutex::default(),
            changes: AtomicU64::new(1),
            taken: AtomicU64::new(0),
            following: tokio::sync::Mutex::default(),
            is_due: AtomicBool::new(false),
            is_growing: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Whether a wait for the index would be long, or is not worth it.
    fn is_far_behind(&self) -> bool {
        let commits = self.changes.load(Ordering::SeqCst).saturating_sub(self.taken.load(Ordering::SeqCst));
        self.is_growing.load(Ordering::SeqCst) || commits > BEHIND_MAX
    }

    /// What changes the index.
    fn filling<'a>(&'a self, index: &'a Arc<Index>) -> Filling<'a> {
        Filling { index, waiting: &self.waiting }
    }

    async fn open(&self) -> Result<Arc<Index>, ServiceError> {
        let dir = self.dir.clone();
        // The threads that merge its segments have the priority of the one that opens it.
        let opened = in_the_background("opening the index of evidence", move || Index::open(&dir)).await?;
        Ok(Arc::new(opened?))
    }

    fn close(&self) {
        let Some(index) = lock(&self.index).take() else { return };
        if let Err(error) = index.close() {
            tracing::warn!(%error, of = self.of.name(), "an index did not close cleanly and may be built anew");
        }
    }

    /// Drops the index. It is rebuilt at its next use. Closing may take long.
    async fn start_over(self: &Arc<Self>) -> Result<(), ServiceError> {
        let evidence = Arc::clone(self);
        let remove = move || {
            evidence.close();
            std::fs::remove_dir_all(&evidence.dir)
        };
        if let Err(error) = on_a_thread("removing an index", remove).await? {
            tracing::debug!(%error, of = self.of.name(), "an index could not be removed");
        }
        self.taken.store(0, Ordering::SeqCst);
        Ok(())
    }
}

impl EvidenceIndexes {
    /// Indexes that will be in folders beside that of the memories.
    pub(crate) fn beside(base: &Base, memories: &Path) -> Self {
        let index = |of| Arc::new(EvidenceIndex::beside(memories, of));
        Self { base: base.clone(), history: index(Evidence::History), documents: index(Evidence::Documents) }
    }

    /// Notes whether much evidence of this kind is coming, so that its index lags behind all the time.
    pub(crate) fn set_growing(&self, of: Evidence, is_growing: bool) {
        self.evidence(of).is_growing.store(is_growing, Ordering::SeqCst);
    }

    /// What closes them. It blocks, and keeps no handle to the store.
    pub(crate) fn closing(&self) -> impl FnOnce() + Send + use<> {
        let indexes = [Arc::clone(&self.history), Arc::clone(&self.documents)];
        move || indexes.iter().for_each(|index| index.close())
    }

    /// Whether there is any evidence of this kind. Read once; a commit sets it too.
    pub(crate) async fn has(&self, of: Evidence) -> Result<bool, ServiceError> {
        let known = *lock(&self.evidence(of).has_any);
        if let Some(has_any) = known {
            return Ok(has_any);
        }
        let has_any = match of {
            Evidence::History => self.base.store.history().any().await?,
            Evidence::Documents => self.base.store.documents().any().await?,
        };
        // A commit may have stored `true` meanwhile.
        Ok(*lock(&self.evidence(of).has_any).get_or_insert(has_any))
    }

    /// An import may have added evidence, so this is read again.
    pub(crate) async fn imported(&self) -> Result<(), ServiceError> {
        for of in Evidence::ALL {
            *lock(&self.evidence(of).has_any) = None;
            if self.has(of).await? {
                self.changed(of);
            }
        }
        Ok(())
    }

    /// Makes the index follow the log in the background, soon.
    pub(crate) fn changed(&self, of: Evidence) {
        if !self.base.is_indexed {
            return;
        }
        let evidence = self.evidence(of);
        *lock(&evidence.has_any) = Some(true);
        evidence.changes.fetch_add(1, Ordering::SeqCst);
        if evidence.is_due.swap(true, Ordering::SeqCst) {
            return;
        }
        let (indexes, stopping) = (self.clone(), self.base.tasks.stopping());
        self.base.tasks.spawn("indexing evidence", async move {
            let pause = async {
                indexes.gather().await;
                indexes.base.traffic.give_way_for(INDEXING).await;
            };
            tokio::select! {
                () = stopping.cancelled() => return,
                () = pause => {}
            }
            if let Err(error) = indexes.caught_up(of).await {
                tracing::warn!(%error, of = of.name(), "an index did not catch up; the next search tries again");
            }
        });
    }

    /// Waits until there is something to index and nobody calls, within bounds.
    async fn gather(&self) {
        let begun = Instant::now();
        loop {
            tokio::time::sleep(GATHER).await;
            if self.base.traffic.quiet() >= pace::CALM || begun.elapsed() >= GATHER_MAX {
                return;
            }
        }
    }

    /// The index, up to date with the log. If the wait ends first, the work continues in the background.
    ///
    /// # Errors
    /// [`ServiceError::IndexBusy`] when it is not up to date in time; a failing store or index.
    pub(crate) async fn index(&self, of: Evidence, wait: Duration) -> Result<Arc<Index>, ServiceError> {
        let _waiting = Waiting::begin(&self.evidence(of).waiting);
        let indexes = self.clone();
        let work = self.base.tasks.spawn("catching evidence up", async move { indexes.caught_up(of).await });
        match tokio::time::timeout(wait, work).await {
            Ok(Ok(index)) => index,
            Ok(Err(error)) => Err(broke_off(error)),
            Err(_) => Err(ServiceError::IndexBusy),
        }
    }

    /// The index for a hint, and whether it may lag behind the log; `None` if it is not up to date soon. While it grows, and
    /// until it has caught up, it is taken as it is, once it is open: to wait for it would hold up every search.
    ///
    /// # Errors
    /// A failing store or index.
    pub(crate) async fn for_hint(&self, of: Evidence) -> Result<Option<(Arc<Index>, bool)>, ServiceError> {
        let evidence = self.evidence(of);
        let opened = lock(&evidence.index).clone();
        if let Some(index) = opened.filter(|_| evidence.is_far_behind()) {
            return Ok(Some((index, true)));
        }
        match self.index(of, HINT_WAIT).await {
            Err(ServiceError::IndexBusy) => Ok(None),
            index => Ok(Some((index?, false))),
        }
    }

    async fn caught_up(&self, of: Evidence) -> Result<Arc<Index>, ServiceError> {
        let evidence = self.evidence(of);
        let _one_at_a_time = evidence.following.lock().await;
        evidence.is_due.store(false, Ordering::SeqCst);
        let changes = evidence.changes.load(Ordering::SeqCst);
        let opened = lock(&evidence.index).clone();
        let index = match opened {
            Some(index) => index,
            None => self.open_evidence(of).await?,
        };
        // Other homes write to the same server without notice.
        if evidence.taken.load(Ordering::SeqCst) < changes || self.base.store.is_shared() {
            self.follow_evidence(of, &index).await?;
            evidence.taken.store(changes, Ordering::SeqCst);
        }
        Ok(index)
    }

    async fn open_evidence(&self, of: Evidence) -> Result<Arc<Index>, ServiceError> {
        let mut index = self.evidence(of).open().await?;
        if !is_continued(&self.base.store, &index.checkpoint()).await? {
            // It is new, belongs to another store, or was not filled completely.
            if !index.is_empty() {
                blocking(&index, Index::close).await?;
                self.evidence(of).start_over().await?;
                index = self.evidence(of).open().await?;
            }
            self.fill_evidence(of, &index).await?;
        }
        *lock(&self.evidence(of).index) = Some(Arc::clone(&index));
        Ok(index)
    }

    async fn fill_evidence(&self, of: Evidence, index: &Arc<Index>) -> Result<(), ServiceError> {
        // The position is read first: changes made meanwhile are read again from the log, which is harmless.
        let places = self.base.store.peers().all_ends().await?;
        let filling = self.evidence(of).filling(index);
        match of {
            Evidence::History => exchanges::fill(&self.base.store, filling).await?,
            Evidence::Documents => chunks::fill(&self.base.store, filling).await?,
        }
        index.belong(self.base.store.id());
        index.reach(self.base.store.writer(), 0);
        for (writer, seq) in &places.0 {
            index.reach(writer, *seq);
        }
        blocking(index, Index::flush).await
    }

    /// Brings the index up to date with the log, and commits it.
    async fn follow_evidence(&self, of: Evidence, index: &Arc<Index>) -> Result<(), ServiceError> {
        let filling = self.evidence(of).filling(index);
        let mut log = self.base.store.events().since(index.checkpoint().places, EVENTS).await?;
        while let Some(events) = log.next().await? {
            match of {
                Evidence::History => exchanges::follow(&self.base.store, filling, &events).await?,
                Evidence::Documents => chunks::follow(&self.base.store, filling, &events).await?,
            }
            reach(index, &events);
        }
        filling.change(Index::flush).await
    }

    /// Queries an index that was just returned. If it turns out to be damaged, it is rebuilt.
    pub(crate) async fn ask<T, F>(
        &self,
        of: Evidence,
        index: Arc<Index>,
        question: F,
    ) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: Fn(&Index) -> Result<T, LexicalError> + Send + Sync + Clone + 'static,
    {
        match blocking(&index, question.clone()).await {
            Err(ServiceError::Index(LexicalError::Damaged(reason))) => {
                tracing::warn!(%reason, of = of.name(), "an index is damaged and is built anew");
                drop(index);
                self.rebuild(of).await?;
                blocking(&self.index(of, WAIT).await?, question).await
            }
            answer => answer,
        }
    }

    /// Drops the index and rebuilds it from the store, if there is any evidence for it.
    pub(crate) async fn rebuild(&self, of: Evidence) -> Result<(), ServiceError> {
        if !self.has(of).await? {
            return Ok(());
        }
        {
            let _one_at_a_time = self.evidence(of).following.lock().await;
            self.evidence(of).start_over().await?;
        }
        self.index(of, WAIT).await.map(drop)
    }

    /// Compares the index with what the store has, for `cerebro doctor`. One that differs is built anew if `fix` is set.
    pub(crate) async fn checked(
        &self,
        of: Evidence,
        kept: &HashSet<SubjectId>,
        fix: bool,
    ) -> Result<Check, ServiceError> {
        let name = of.name();
        let Some(words) = self.difference(of, kept).await? else {
            let words = format!("{} can be read and found", text::counted(kept.len(), of.noun()));
            return Ok(Check::sound(name, words));
        };
        if !fix {
            return Ok(Check::repairable(name, words));
        }
        self.rebuild(of).await?;
        Ok(match self.difference(of, kept).await? {
            None => Check::failed(name, words).repaired(),
            Some(still) => Check::failed(name, format!("{still}, even after its index was built anew")),
        })
    }

    /// How the index differs from what the store has.
    async fn difference(
        &self,
        of: Evidence,
        kept: &HashSet<SubjectId>,
    ) -> Result<Option<String>, ServiceError> {
        let held = self.ask(of, self.index(of, WAIT).await?, Index::held).await?;
        let missing = kept.iter().filter(|id| !held.contains_key(*id)).count();
        let mut ghosts = held.keys().filter(|id| !kept.contains(*id));
        Ok(match (missing, ghosts.next()) {
            (0, None) => None,
            (0, Some(first)) => {
                let (ghosts, id) = (text::counted(1 + ghosts.count(), of.noun()), of.id_of(*first));
                Some(format!("its index holds {ghosts} beyond those that are kept (as `{id}`)"))
            }
            (n, _) => Some(format!("its index lacks {}", text::counted(n, of.noun()))),
        })
    }

    /// Brings the indexes up to date with the log, so that no file of them holds forgotten text.
    pub(crate) async fn settle(&self) -> Result<(), ServiceError> {
        for of in Evidence::ALL {
            let index = self.evidence(of);
            let is_open = lock(&index.index).is_some();
            if is_open || index.dir.exists() {
                self.index(of, WAIT).await?;
            }
        }
        Ok(())
    }

    fn evidence(&self, of: Evidence) -> &Arc<EvidenceIndex> {
        match of {
            Evidence::History => &self.history,
            Evidence::Documents => &self.documents,
        }
    }
}

/// Changes an index of evidence.
#[derive(Clone, Copy)]
pub(super) struct Filling<'a> {
    index: &'a Arc<Index>,
    waiting: &'a AtomicUsize,
}

impl Filling<'_> {
    /// Changes the index: at low priority and beside no other such work, unless a caller waits for it.
    pub(super) async fn change<T, F>(self, change: F) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: FnOnce(&Index) -> Result<T, LexicalError> + Send + 'static,
    {
        const WORK: &str = "indexing evidence";
        let index = Arc::clone(self.index);
        let work = move || change(&index);
        let is_awaited = self.waiting.load(Ordering::SeqCst) > 0;
        let done = if is_awaited { on_a_thread(WORK, work).await } else { one_at_a_time(WORK, work).await };
        Ok(done??)
    }
}

/// Queries or changes an index on a thread for blocking work.
pub(crate) async fn blocking<T, F>(index: &Arc<Index>, question: F) -> Result<T, ServiceError>
where
    T: Send + 'static,
    F: FnOnce(&Index) -> Result<T, LexicalError> + Send + 'static,
{
    let (index, span) = (Arc::clone(index), tracing::Span::current());
    let answer = tokio::task::spawn_blocking(move || span.in_scope(|| question(&index))).await;
    Ok(answer.map_err(broke_off)??)
}

/// The error for a panic during work on an index, whose state is then unknown. It leaves out the panic's message, which may
/// quote a text.
pub(super) fn broke_off(_: tokio::task::JoinError) -> ServiceError {
    LexicalError::Damaged("work on it ended with an internal error".to_owned()).into()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_caller_waits_for_is_not_of_low_priority() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let evidence = EvidenceIndex::beside(&folder.path().join("index"), Evidence::History);
        let index = evidence.open().await.unwrap();
        let own = priority();
        let of_change = async || evidence.filling(&index).change(move |_| Ok(priority())).await.unwrap();
        assert!(own == 19 || of_change().await > own);
        let waiting = Waiting::begin(&evidence.waiting);
        assert_eq!(of_change().await, own);
        drop(waiting);
        assert!(own == 19 || of_change().await > own);
        index.close().unwrap();
    }
}
