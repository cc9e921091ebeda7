//! The index itself: opening, queueing changes, committing, closing.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tantivy::{
    IndexBuilder, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher,
    indexer::{AddOperation, IndexWriterOptions, SegmentWriter, UserOperation},
    schema::IndexRecordOption,
};

use super::{
    Answer, Change, Checkpoint, Doc, LexicalError, Listing, Query, Result, browse,
    directory::LazyDirectory,
    mark::{self, State},
    merge::Doubling,
    scan,
    schema::{Fields, Key, register_analyzer, schema, session_hash},
    search,
    segment_table::SegmentTables,
    view::{Queued, View},
};
use crate::vector::Near;
use cerebro_core::domain::{Project, Scope, SessionId, SubjectId, Timestamp, limits::INDEX_PENDING_MAX};
use cerebro_core::sync::lock;

/// Bytes of one block of stored passages; each hit unpacks one block.
const STORE_BLOCK_BYTES: usize = 4 * 1024;
/// Unpacked blocks kept for each segment.
const STORE_BLOCKS_CACHED: usize = 8;
/// Memory set aside for a new segment at first.
const SEGMENT_BYTES_MIN: usize = 1024 * 1024;
/// Memory use at which a new segment accepts no further memory's passages.
const SEGMENT_BYTES_MAX: usize = 12 * 1024 * 1024;
/// Queued changes that are worth a commit: a search after a save rebuilds their segment in memory.
const DUE: usize = 128;
/// Events after which the checkpoint is committed even if nothing is queued.
const EVENTS_DUE: u64 = 1_024;
/// How often an erasure looks again for files that running searches or merges still hold.
const ERASE_ATTEMPTS_MAX: u32 = 100;
const ERASE_PAUSE: Duration = Duration::from_millis(20);

/// The index of one data folder. Every method blocks; callers in async code use a blocking thread.
pub struct Index {
    dir: PathBuf,
    fields: Fields,
    tantivy: tantivy::Index,
    reader: IndexReader,
    queue: Mutex<Queue>,
    /// `None` once closed. Held during a flush; taken before the others.
    writer: Mutex<Option<IndexWriter>>,
    /// A commit may not be visible to the reader yet. Read only while holding `writer`.
    unseen: AtomicBool,
    /// What the last search read. Taken before `queue`, never after it.
    view: Mutex<Option<Arc<View>>>,
    tables: SegmentTables,
}

/// Changes that are not in the reader's view yet.
#[derive(Default)]
struct Queue {
    /// The last change of each memory, with the number of its push.
    changes: HashMap<SubjectId, (u64, Arc<Queued>)>,
    pushes: u64,
    checkpoint: Checkpoint,
    committed: Checkpoint,
}

/// Runs code that reads index files. Tantivy trusts their content, so a flipped bit may make it panic; that
/// counts as damage.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(LexicalError::Damaged("reading it panicked".to_owned())))
}

impl Index {
    /// Opens the index of `dir`. One that is missing, damaged or of another format is created anew: it is empty and
    /// has no checkpoint, and the caller fills it again.
    ///
    /// # Errors
    /// [`LexicalError::Locked`] and [`LexicalError::Io`].
    pub fn open(dir: &Path) -> Result<Self> {
        match guarded(|| Self::open_existing(dir)) {
            Ok(index) => return Ok(index),
            Err(error @ (LexicalError::Locked | LexicalError::Io(_))) => return Err(error),
            Err(_) if !dir.exists() => tracing::info!("a new search index"),
            Err(error) => tracing::warn!(%error, "the search index is built anew"),
        }
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir)?;
        mark::set_open(dir)?;
        Self::build(dir)
    }

    fn open_existing(dir: &Path) -> Result<Self> {
        let damaged = |what: &str| Err(LexicalError::Damaged(what.to_owned()));
        let state = mark::read(dir);
        match state {
            State::Clean | State::Killed => mark::set_open(dir)?,
            State::PowerLost => return damaged("the machine went down while it was open"),
            State::Unknown => return damaged("it is missing or of another format"),
        }
        let index = Self::build(dir)?;
        if state == State::Killed && !index.tantivy.validate_checksum()?.is_empty() {
            return damaged("a file does not match its checksum");
        }
        let Some(checkpoint) = index.tantivy.load_metas()?.payload.as_deref().and_then(Checkpoint::from_json)
        else {
            return damaged("it holds no checkpoint");
        };
        let mut queue = lock(&index.queue);
        queue.checkpoint = checkpoint.clone();
        queue.committed = checkpoint;
        drop(queue);
        Ok(index)
    }

    fn build(dir: &Path) -> Result<Self> {
        let (schema, fields) = schema();
        let directory = LazyDirectory::open(dir).map_err(tantivy::TantivyError::from)?;
        let settings = IndexSettings {
            docstore_blocksize: STORE_BLOCK_BYTES,
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let tantivy = IndexBuilder::new().schema(schema).settings(settings).open_or_create(directory)?;
        register_analyzer(&tantivy);
        let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1).build();
        let writer: IndexWriter = tantivy.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(Doubling));
        let reader = tantivy
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(STORE_BLOCKS_CACHED)
            .try_into()?;
        Ok(Self {
            dir: dir.to_owned(),
            fields,
            tantivy,
            reader,
            queue: Mutex::default(),
            writer: Mutex::new(Some(writer)),
            unseen: AtomicBool::new(false),
            view: Mutex::default(),
            tables: SegmentTables::default(),
        })
    }

    /// Queues a change. Does no I/O, unless that makes [`INDEX_PENDING_MAX`] queued memories: then all are
    /// flushed.
    ///
    /// # Errors
    /// Those of [`Index::flush`]; the change is queued even then.
    pub fn push(&self, change: Change) -> Result<()> {
        let full = {
            let mut queue = lock(&self.queue);
            queue.pushes += 1;
            let pushes = queue.pushes;
            let erased =
                queue.changes.get(change.id()).is_some_and(|(_, c)| matches!(c.change, Change::Erase(_)));
            let change = match change {
                // Once a memory is to be erased, later changes do not undo that.
                Change::Remove(id) if erased => Change::Erase(id),
                change => change,
            };
            queue.changes.insert(*change.id(), (pushes, Arc::new(Queued::new(change))));
            queue.changes.len() >= INDEX_PENDING_MAX
        };
        if full { self.flush() } else { Ok(()) }
    }

    /// Moves the checkpoint: all changes of `writer`'s events up to `seq` are queued. Call it after the last change
    /// of a commit, not with each: otherwise a flush in between would claim changes that are still to come.
    pub fn reach(&self, writer: &str, seq: u64) {
        let mut queue = lock(&self.queue);
        let last = queue.checkpoint.places.entry(writer.to_owned()).or_default();
        *last = seq.max(*last);
    }

    /// Sets the store whose log the index follows.
    pub fn belong(&self, store: &str) {
        store.clone_into(&mut lock(&self.queue).checkpoint.store);
    }

    /// Whether to commit soon: enough is queued, a text must be erased, or so many events have passed without
    /// changes here that the next opening would have to read many.
    pub fn is_due(&self) -> bool {
        let queue = lock(&self.queue);
        queue.changes.len() >= DUE
            || queue.checkpoint.is_beyond(&queue.committed, EVENTS_DUE)
            || queue.changes.values().any(|(_, queued)| matches!(queued.change, Change::Erase(_)))
    }

    /// Flushes if a flush is due and no other thread is flushing.
    pub fn flush_if_due(&self) -> Result<()> {
        let Ok(mut writer) = self.writer.try_lock() else { return Ok(()) };
        match writer.as_mut() {
            Some(writer) if self.is_due() => self.flush_with(writer),
            _ => Ok(()),
        }
    }

    /// Commits the queue and makes it visible; releases files that merges replaced.
    ///
    /// # Errors
    /// Any; the changes stay queued.
    pub fn flush(&self) -> Result<()> {
        let mut writer = lock(&self.writer);
        let writer = writer.as_mut().ok_or(LexicalError::Closed)?;
        self.flush_with(writer)
    }

    fn flush_with(&self, writer: &mut IndexWriter) -> Result<()> {
        let (changes, checkpoint, pushes) = {
            let queue = lock(&self.queue);
            let changes: Vec<Arc<Queued>> =
                queue.changes.values().map(|(_, queued)| queued.clone()).collect();
            (changes, queue.checkpoint.clone(), queue.pushes)
        };
        if changes.is_empty() && checkpoint == lock(&self.queue).committed {
            return self.reload();
        }
        guarded(|| {
            let outcome = self.commit(writer, &changes, &checkpoint);
            if outcome.is_err() {
                writer.rollback()?;
            }
            outcome
        })?;
        let mut queue = lock(&self.queue);
        queue.changes.retain(|_, (push, _)| *push > pushes);
        queue.committed = checkpoint;
        Ok(())
    }

    fn commit(
        &self,
        writer: &mut IndexWriter,
        changes: &[Arc<Queued>],
        checkpoint: &Checkpoint,
    ) -> Result<()> {
        if self.unseen.load(Ordering::SeqCst) {
            // The last commit may have succeeded although it reported an error; without this, its memories would
            // count as new again.
            self.reload()?;
        }
        let searcher = self.reader.searcher();
        let mut new = Vec::new();
        for Queued { change, .. } in changes.iter().map(|queued| &**queued) {
            let memory = self.fields.term(Key::Memory(change.id()));
            // A deletion makes the commit look into every segment, so new memories are spared one.
            let known = searcher.doc_freq(&memory)? > 0;
            if known {
                writer.delete_term(memory);
                // These go through the writer, which knows that they come after the deletion.
                for doc in change.docs() {
                    writer.run(self.fields.documents(doc).into_iter().map(UserOperation::Add))?;
                }
            } else {
                new.extend(change.docs());
            }
        }
        drop(searcher);
        self.write_new(writer, &new)?;
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&checkpoint.to_json());
        self.unseen.store(true, Ordering::SeqCst);
        commit.commit()?;
        self.reload()?;
        if changes.iter().any(|queued| matches!(queued.change, Change::Erase(_))) {
            self.erase(writer)?;
        }
        Ok(())
    }

    /// Writes memories that the index does not hold yet into new segments, to be committed. (Deletions of this
    /// commit may affect these segments too, so only new memories may go this way.)
    ///
    /// The writer's own thread would allocate and clear its whole memory budget, at least 15 MB, for every commit,
    /// however small.
    fn write_new(&self, writer: &IndexWriter, docs: &[&Doc]) -> Result<()> {
        let mut memories = docs.iter().map(|doc| self.fields.documents(doc)).peekable();
        while memories.peek().is_some() {
            let segment = writer.new_segment();
            let mut out = SegmentWriter::for_segment(SEGMENT_BYTES_MIN, segment.clone())?;
            while out.mem_usage() < SEGMENT_BYTES_MAX
                && let Some(passages) = memories.next()
            {
                for document in passages {
                    out.add_document(AddOperation { opstamp: 0, document })?;
                }
            }
            let count = out.max_doc();
            out.finalize()?;
            writer.add_segment(segment.meta().clone().with_max_doc(count))?;
        }
        Ok(())
    }

    /// Makes the last commit visible, and releases the files that it or a merge replaced.
    fn reload(&self) -> Result<()> {
        self.reader.reload()?;
        self.unseen.store(false, Ordering::SeqCst);
        *lock(&self.view) = None;
        Ok(())
    }

    /// Rewrites every segment with deleted passages, then waits until the old files are gone.
    fn erase(&self, writer: &mut IndexWriter) -> Result<()> {
        for _ in 0..ERASE_ATTEMPTS_MAX {
            let worn: Vec<_> = self
                .tantivy
                .searchable_segment_metas()?
                .into_iter()
                .filter(tantivy::SegmentMeta::has_deletes)
                .collect();
            let mut waiting = !worn.is_empty();
            for segment in worn {
                // Fails while a background merge has the segment; the next round finds the result of that merge.
                if let Err(error) = writer.merge(&[segment.id()]).wait() {
                    tracing::debug!(%error, "a segment is still being merged");
                }
            }
            self.reload()?;
            writer.garbage_collect_files().wait()?;
            waiting |= self.has_old_files()?;
            if !waiting {
                return Ok(());
            }
            std::thread::sleep(ERASE_PAUSE);
        }
        Err(LexicalError::Damaged("files with erased text stay in use".to_owned()))
    }

    /// Whether the folder holds files of segments that are no longer part of the index.
    fn has_old_files(&self) -> Result<bool> {
        let live: HashSet<String> = self
            .tantivy
            .searchable_segment_ids()?
            .iter()
            .map(tantivy::index::SegmentId::uuid_string)
            .collect();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let stem = name.split('.').next().unwrap_or_default();
            if stem.len() == 32 && !live.contains(stem) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A view that holds every change pushed before this call.
    pub(super) fn view(&self) -> Result<Arc<View>> {
        self.view_of(true)
    }

    /// A view, with or without the queued changes.
    fn view_of(&self, queued: bool) -> Result<Arc<View>> {
        let mut last = lock(&self.view);
        // Under the queue's lock: a flush forgets changes only after they are visible to the reader.
        let (committed, pushes, changes) = {
            let queue = lock(&self.queue);
            let committed = self.reader.searcher();
            // Before the first push, nothing is queued.
            let pushes = if queued { queue.pushes } else { 0 };
            if let Some(view) = last.as_ref().filter(|view| view.is_current(&committed, pushes)) {
                return Ok(Arc::clone(view));
            }
            let changes = queue.changes.values().filter(|_| queued).map(|(_, queued)| queued.clone());
            (committed, pushes, changes.collect::<Vec<_>>())
        };
        let view = guarded(|| View::new(committed, &self.fields, &changes, pushes))?;
        Ok(Arc::clone(last.insert(Arc::new(view))))
    }

    /// Answers a query; sees every change pushed before, or only what is committed ([`Query::queued`]). `near` returns the
    /// memories nearest by vector, nearest first, and is called after the words were found. Memories that fail the filters
    /// are skipped.
    pub fn search(&self, query: &Query, near: impl FnOnce() -> Arc<Vec<Near>>) -> Result<Answer> {
        let view = self.view_of(query.queued)?;
        guarded(|| {
            let tables = self.tables.of(&view)?;
            search::search(&view, &tables, &self.fields, query, near)
        })
    }

    /// The number of memories of other projects that contain more of a query than `beyond`, by project. `is_shown` says by the
    /// agent of a memory whether it counts.
    pub fn outside(
        &self,
        query: &Query,
        beyond: f32,
        is_shown: impl Fn(&str) -> bool,
    ) -> Result<BTreeMap<Project, usize>> {
        let view = self.view_of(query.queued)?;
        guarded(|| {
            let tables = self.tables.of(&view)?;
            search::outside(&view, &tables, &self.fields, query, beyond, is_shown)
        })
    }

    /// How many archived memories answer a query clearly better, by its words, than all others.
    pub fn better_archived(&self, query: &Query) -> Result<usize> {
        let view = self.view_of(query.queued)?;
        guarded(|| {
            let tables = self.tables.of(&view)?;
            search::better_archived(&view, &tables, &self.fields, query)
        })
    }

    /// The subjects of a session that the index holds; sees every change pushed before.
    pub fn of_session(&self, session: &SessionId) -> Result<Vec<SubjectId>> {
        // The queue first: a flush forgets changes only after they are visible to the reader.
        let mut found: Vec<SubjectId> = {
            let queue = lock(&self.queue);
            let docs = queue.changes.values().flat_map(|(_, queued)| queued.change.docs());
            docs.filter(|doc| doc.session.as_ref() == Some(session)).map(|doc| doc.id).collect()
        };
        // What is queued is not cut into passages for this.
        let view = self.view_of(false)?;
        let session = session_hash(Some(session));
        guarded(|| {
            let tables = self.tables.of(&view)?;
            let entries = tables.iter().flat_map(|table| table.of_session(session));
            found.extend(entries.filter_map(|entry| SubjectId::from_number(entry.memory)));
            found.sort_unstable();
            found.dedup();
            Ok(found)
        })
    }

    /// A page of the memories that pass a query's filters, the newest first; sees every change pushed before. The
    /// query's text is ignored.
    pub fn browse(&self, query: &Query) -> Result<Listing> {
        guarded(|| browse::browse(&*self.view()?, &self.fields, query))
    }

    /// When each memory that passes a query's filters was written, in no order.
    pub fn moments(&self, query: &Query) -> Result<Vec<Timestamp>> {
        guarded(|| browse::moments(&*self.view()?, &self.fields, query))
    }

    /// Live memories of the same scope that share a near key or the title key, at most `limit`.
    /// Includes queued changes, which come first, and needs no commit.
    pub fn near(
        &self,
        scope: &Scope,
        near_keys: &[u64],
        title_key: u64,
        limit: usize,
    ) -> Result<Vec<SubjectId>> {
        let mut keys: Vec<u64> = near_keys.iter().chain([&title_key]).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let shares = |doc: &Doc| {
            doc.scope == *scope
                && doc.near_keys.iter().chain([&doc.title_key]).any(|key| keys.binary_search(key).is_ok())
        };
        // Under the queue's lock: a flush forgets changes only after they are visible to the reader.
        let (mut found, committed) = {
            let queue = lock(&self.queue);
            let found = queue.changes.values().filter_map(|(_, queued)| match &queued.change {
                Change::Put(doc) if shares(doc) => Some(doc.id),
                _ => None,
            });
            (found.collect::<Vec<_>>(), self.reader.searcher())
        };
        found.sort_unstable();
        let committed = guarded(|| self.near_committed(&committed, scope, &keys))?;
        let queue = lock(&self.queue);
        // Changes that were flushed meanwhile may be in both.
        let unchanged = |id: &SubjectId| !queue.changes.contains_key(id) && !found.contains(id);
        let committed: Vec<SubjectId> = committed.into_iter().filter(unchanged).collect();
        found.extend(committed);
        found.truncate(limit);
        Ok(found)
    }

    fn near_committed(&self, searcher: &Searcher, scope: &Scope, keys: &[u64]) -> Result<Vec<SubjectId>> {
        let mut found = Vec::new();
        for segment in searcher.segment_readers() {
            let ids = segment.fast_fields().u64("memory")?;
            let inverted = segment.inverted_index(self.fields.keys)?;
            for key in keys {
                let term = self.fields.term(Key::Near(scope, *key));
                let Some(mut postings) = inverted.read_block_postings(&term, IndexRecordOption::Basic)?
                else {
                    continue;
                };
                while !postings.docs().is_empty() {
                    let live = postings.docs().iter().filter(|doc| !segment.is_deleted(**doc));
                    found.extend(live.filter_map(|doc| SubjectId::from_number(ids.first(*doc)?)));
                    postings.advance();
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Every memory that the index holds and when it was last changed, including queued ones.
    pub fn held(&self) -> Result<BTreeMap<SubjectId, Timestamp>> {
        guarded(|| scan::memories(&*self.view()?, &self.fields.term(Key::First)))
    }

    /// How many memories the index holds, including queued ones.
    pub fn len(&self) -> u64 {
        let count = || scan::count(&*self.view()?, &self.fields.term(Key::First));
        guarded(count).unwrap_or(0)
    }

    /// Whether the index holds no memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all files of the index.
    pub fn bytes_on_disk(&self) -> u64 {
        let Ok(entries) = fs::read_dir(&self.dir) else { return 0 };
        entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
    }

    /// How far the committed index follows the log.
    pub fn checkpoint(&self) -> Checkpoint {
        lock(&self.queue).committed.clone()
    }

    /// Commits the queue, waits for merges, syncs everything to disk and marks the index clean. Later pushes fail
    /// with [`LexicalError::Closed`] at their flush.
    ///
    /// # Errors
    /// Any; without the mark, the next opening checks every file.
    pub fn close(&self) -> Result<()> {
        let mut slot = lock(&self.writer);
        let Some(mut writer) = slot.take() else { return Ok(()) };
        self.flush_with(&mut writer)?;
        writer.wait_merging_threads()?;
        Ok(mark::set_clean(&self.dir)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::tests::doc;

    #[test]
    fn a_commit_that_did_not_become_visible_is_not_written_twice() {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open(dir.path()).unwrap();
        let doc = doc("aaaaaaaaaaaa", "walrus", "One walrus.");
        index.push(Change::Put(Box::new(doc.clone()))).unwrap();
        // What a flush does up to the reload, which failed.
        let mut slot = lock(&index.writer);
        let writer = slot.as_mut().unwrap();
        index.write_new(writer, &[&doc]).unwrap();
        index.unseen.store(true, Ordering::SeqCst);
        writer.commit().unwrap();
        drop(slot);
        assert_eq!(index.len(), 1, "it is found in the queue");
        index.flush().unwrap();
        assert_eq!(index.len(), 1, "its passages are there once");
        assert!(!index.unseen.load(Ordering::SeqCst));
    }

    #[test]
    fn the_subjects_of_a_session_are_those_committed_and_those_queued() {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open(dir.path()).unwrap();
        let session = SessionId::parse("one").unwrap();
        let put = |id: &str, session: Option<&SessionId>| {
            let doc = Doc { session: session.cloned(), ..doc(id, "walrus", "One walrus.") };
            index.push(Change::Put(Box::new(doc.clone()))).unwrap();
            doc.id
        };
        let first = put("aaaaaaaaaaaa", Some(&session));
        index.flush().unwrap();
        let want = [first, put("bbbbbbbbbbbb", Some(&session))];
        put("cccccccccccc", None);
        assert_eq!(index.of_session(&session).unwrap(), want);
        index.flush().unwrap();
        assert_eq!(index.of_session(&session).unwrap(), want);
    }
}
