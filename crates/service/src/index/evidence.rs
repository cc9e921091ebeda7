//! Keeps the indexes of evidence up to date with the log: exchanges of past sessions, and chunks of documents.
//!
//! Each is an index of its own, so that no order of memories depends on it. It is opened at the first change or search,
//! and follows the log in the background: a commit does not wait for it, a search does.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{Evidence, chunks, exchanges, memories::is_continued};
use crate::{ServiceError, base::Base, lock};
use cerebro_search::lexical::{Index, LexicalError};

/// How many events are read at once.
const EVENTS: usize = 500;
/// How long changes are gathered before the index takes them in.
const GATHER: Duration = Duration::from_millis(500);

/// How long a search waits for the index to be at the log's end.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

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
    /// Whether the store has any evidence of this kind, once that was read.
    has_any: AtomicBool,
    was_asked: AtomicBool,
    /// The number of commits that the index must apply, plus one at first.
    changes: AtomicU64,
    /// How many of these it has applied.
    taken: AtomicU64,
    following: tokio::sync::Mutex<()>,
    changed: Arc<Notify>,
    is_followed: AtomicBool,
}

impl EvidenceIndex {
    fn beside(memories: &Path, of: Evidence) -> Self {
        let mut name = memories.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{}", of.name()));
        Self {
            of,
            dir: memories.with_file_name(name),
            index: Mutex::default(),
            has_any: AtomicBool::new(false),
            was_asked: AtomicBool::new(false),
            changes: AtomicU64::new(1),
            taken: AtomicU64::new(0),
            following: tokio::sync::Mutex::default(),
            changed: Arc::default(),
            is_followed: AtomicBool::new(false),
        }
    }

    async fn open(&self) -> Result<Arc<Index>, ServiceError> {
        let dir = self.dir.clone();
        let opening = tokio::task::spawn_blocking(move || Index::open(&dir));
        let (index, _) = opening.await.map_err(broke_off)??;
        Ok(Arc::new(index))
    }

    fn close(&self) {
        let Some(index) = lock(&self.index).take() else { return };
        if let Err(error) = index.close() {
            tracing::warn!(%error, of = self.of.name(), "an index did not close cleanly and may be built anew");
        }
    }

    /// Drops the index. It is rebuilt at its next use.
    fn start_over(&self) {
        self.close();
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            tracing::debug!(%error, of = self.of.name(), "an index could not be removed");
        }
        self.taken.store(0, Ordering::SeqCst);
    }
}

impl EvidenceIndexes {
    /// Indexes that will be in folders beside that of the memories.
    pub(crate) fn beside(base: &Base, memories: &Path) -> Self {
        let index = |of| Arc::new(EvidenceIndex::beside(memories, of));
        Self { base: base.clone(), history: index(Evidence::History), documents: index(Evidence::Documents) }
    }

    /// What closes them. It blocks, and keeps no handle to the store.
    pub(crate) fn closing(&self) -> impl FnOnce() + Send + use<> {
        let indexes = [Arc::clone(&self.history), Arc::clone(&self.documents)];
        move || indexes.iter().for_each(|index| index.close())
    }

    /// Whether there is any evidence of this kind. Read once; a commit sets it too.
    pub(crate) async fn has(&self, of: Evidence) -> Result<bool, ServiceError> {
        let evidence = self.evidence(of);
        if !evidence.was_asked.load(Ordering::SeqCst) {
            let has_any = match of {
                Evidence::History => self.base.store.history().any().await?,
                Evidence::Documents => self.base.store.documents().any().await?,
            };
            if has_any {
                evidence.has_any.store(true, Ordering::SeqCst);
            }
            evidence.was_asked.store(true, Ordering::SeqCst);
        }
        Ok(evidence.has_any.load(Ordering::SeqCst))
    }

    /// An import may have added evidence, so this is read again.
    pub(crate) async fn imported(&self) -> Result<(), ServiceError> {
        for of in Evidence::ALL {
            self.evidence(of).was_asked.store(false, Ordering::SeqCst);
            if self.has(of).await? {
                self.changed(of);
            }
        }
        Ok(())
    }

    /// Makes the index follow the log in the background, soon.
    pub(crate) fn changed(&self, of: Evidence) {
        let evidence = self.evidence(of);
        evidence.has_any.store(true, Ordering::SeqCst);
        evidence.changes.fetch_add(1, Ordering::SeqCst);
        evidence.changed.notify_one();
        if evidence.is_followed.swap(true, Ordering::SeqCst) {
            return;
        }
        let (changed, stopping) = (Arc::clone(&evidence.changed), self.base.tasks.stopping());
        let indexes = self.clone();
        self.base.tasks.spawn("indexing evidence", async move {
            loop {
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = changed.notified() => {}
                }
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = tokio::time::sleep(GATHER) => {}
                }
                if let Err(error) = indexes.caught_up(of).await {
                    tracing::warn!(%error, of = of.name(), "an index did not catch up; the next search tries again");
                }
            }
        });
    }

    /// The index, up to date with the log. If the wait ends first, the work continues in the background.
    ///
    /// # Errors
    /// [`ServiceError::IndexBusy`] when it is not up to date in time; a failing store or index.
    pub(crate) async fn index(&self, of: Evidence, wait: Duration) -> Result<Arc<Index>, ServiceError> {
        let indexes = self.clone();
        let work = self.base.tasks.spawn("catching evidence up", async move { indexes.caught_up(of).await });
        match tokio::time::timeout(wait, work).await {
            Ok(Ok(index)) => index,
            Ok(Err(error)) => Err(broke_off(error)),
            Err(_) => Err(ServiceError::IndexBusy),
        }
    }

    async fn caught_up(&self, of: Evidence) -> Result<Arc<Index>, ServiceError> {
        let evidence = self.evidence(of);
        let _one_at_a_time = evidence.following.lock().await;
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
                self.evidence(of).start_over();
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
        match of {
            Evidence::History => exchanges::fill(&self.base.store, index).await?,
            Evidence::Documents => chunks::fill(&self.base.store, index).await?,
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
        let held = index.checkpoint();
        for writer in self.base.store.peers().writers().await? {
            let mut seq = held.places.get(&writer).copied().unwrap_or(0);
            loop {
                let events = self.base.store.events().after(&writer, seq, EVENTS).await?;
                let Some(last) = events.last() else { break };
                seq = last.seq;
                match of {
                    Evidence::History => exchanges::follow(&self.base.store, index, &events).await?,
                    Evidence::Documents => chunks::follow(&self.base.store, index, &events).await?,
                }
                index.reach(&writer, seq);
            }
        }
        blocking(index, Index::flush).await
    }

    /// Queries the index. If it turns out to be damaged, it is rebuilt.
    pub(crate) async fn ask<T, F>(&self, of: Evidence, question: F) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: Fn(&Index) -> Result<T, LexicalError> + Send + Sync + Clone + 'static,
    {
        let index = self.index(of, WAIT).await?;
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
            self.evidence(of).start_over();
        }
        self.index(of, WAIT).await.map(drop)
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

    fn evidence(&self, of: Evidence) -> &EvidenceIndex {
        match of {
            Evidence::History => &self.history,
            Evidence::Documents => &self.documents,
        }
    }
}

/// Queries on a thread for blocking work.
pub(crate) async fn blocking<T, F>(index: &Arc<Index>, question: F) -> Result<T, ServiceError>
where
    T: Send + 'static,
    F: FnOnce(&Index) -> Result<T, LexicalError> + Send + 'static,
{
    let index = Arc::clone(index);
    let answer = tokio::task::spawn_blocking(move || question(&index)).await;
    Ok(answer.map_err(broke_off)??)
}

fn broke_off(_: tokio::task::JoinError) -> ServiceError {
    LexicalError::Damaged("a question to it broke off".to_owned()).into()
}
