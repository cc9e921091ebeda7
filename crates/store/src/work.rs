//! The journal of work: queries and changes. Its chain belongs to `cerebro_ledger`.

mod held;
mod taken;

use std::ops::RangeInclusive;

use cerebro_ledger::{ChainedEvent, Lease, Status, Work, chain::salt_of};
use surrealdb::types::{Object, RecordId, RecordIdKeyRange, SurrealValue, object};

use super::{
    Store, StoreError, Write,
    artifact::{self, Artifact},
    changes::{CommitScript, NewEvent, Part},
    checkpoint::{Checkpoint, CheckpointChanges},
    columns::{Columns, RawRow, Row, columns, put, put_next, row_of, take, with_id},
    read::{Page, Vars, Walk, one},
    row::{key, malformed, signed, unsigned},
    statement,
};
use cerebro_core::domain::{EventKind, Project, Timestamp, WorkId};
use cerebro_core::text;
pub(super) use held::HeldWorks;

const WORK: &str = "work";
const EVENT: &str = "work_event";
/// The largest number for which the id of an event has room, far above the bound of a piece of work.
const NUMBER_MAX: u64 = 99_999_999;

pub(super) fn work_record(id: &WorkId) -> RecordId {
    RecordId::new(WORK, id.as_str())
}

/// The id of an event: in order of ids, the events of a piece of work are together and in order of their numbers. So the
/// table needs no index, whose entries would cost more than the row.
fn event_key(id: &WorkId, seq: u64) -> String {
    format!("{id}-{:08}", seq.min(NUMBER_MAX))
}

fn event_record(id: &WorkId, seq: u64) -> RecordId {
    RecordId::new(EVENT, event_key(id, seq))
}

/// The events of a piece of work with some numbers, as a range of ids.
fn event_range(id: &WorkId, numbers: &RangeInclusive<u64>) -> RecordId {
    let keys = event_key(id, *numbers.start())..=event_key(id, *numbers.end());
    RecordId::new(EVENT, RecordIdKeyRange::from(keys))
}

pub(super) fn work_id(table: &'static str, id: RecordId) -> Result<WorkId, StoreError> {
    work_of_key(table, &key(table, id)?)
}

pub(super) fn work_of_key(table: &'static str, key: &str) -> Result<WorkId, StoreError> {
    WorkId::parse(key).map_err(|_| malformed(table, "id", key))
}

/// A piece of work, with what the store keeps beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredWork {
    pub work: Work,
    /// The number of the last sealed event.
    pub sealed: u64,
}

/// A place in the list of work, the latest activity first: before a moment, or at that moment and after the piece of
/// work listed there. So pages neither skip nor repeat any.
pub type WorkPlace = (Timestamp, Option<WorkId>);

/// The pieces of work of one answer whose rows can be read. An unreadable row does not hold up the others;
/// verifying the journal reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkList {
    pub readable: Vec<StoredWork>,
    /// Whether this is the end of the list.
    pub is_last: bool,
}

impl WorkList {
    fn of(rows: Vec<RawRow>, limit: usize) -> Self {
        let is_last = rows.len() < limit;
        let found = rows.len();
        let readable: Vec<StoredWork> = rows.into_iter().filter_map(|row| Row::from_row(row).ok()).collect();
        if readable.len() < found {
            tracing::error!(
                rows = found - readable.len(),
                "rows of work cannot be read; `cerebro work verify`"
            );
        }
        Self { readable, is_last }
    }
}

/// Any row of the table, with its piece of work if it can be read.
struct AnyWork(Option<StoredWork>);

impl Row for AnyWork {
    const TABLE: &'static str = WORK;

    fn from_row(row: RawRow) -> Result<Self, StoreError> {
        Ok(Self(StoredWork::from_row(row).ok()))
    }
}

columns! {
    Work {
        id: key(WorkId::parse), owner, project, kind, title, key, name, session, agent, parent,
        forked_from: flat("forked_from"), status, outcome, lost, unknown, created_at, active_at, seq, head,
        lease: flat("holder"), fence, key_id, row_mac: "mac",
        // One version on with each write.
        version: by(|version| signed(*version) + 1, unsigned),
    }
}

columns! { Lease { holder, until } }

columns! { StoredWork { work: flat, sealed } }

/// The event from which a piece of work was forked.
impl Columns for (WorkId, u64) {
    fn put_into(&self, row: &mut Object) {
        put(row, "forked_from", &self.0);
        put(row, "forked_at", &self.1);
    }

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError> {
        let at: Option<u64> = take(table, row, "forked_at")?;
        Ok((take(table, row, "forked_from")?, at.unwrap_or(0)))
    }
}

impl Row for StoredWork {
    const TABLE: &'static str = WORK;

    fn from_row(row: RawRow) -> Result<Self, StoreError> {
        let mut row = row.columns(WORK)?;
        let live: bool = take(WORK, &mut row, "live")?;
        let stored = Self::take_from(&mut row, WORK)?;
        // A lookup by this field must not be wrong: nothing open may be pruned.
        if live != stored.is_live() {
            return Err(malformed(WORK, "live", &live.to_string()));
        }
        Ok(stored)
    }
}

impl StoredWork {
    fn is_live(&self) -> bool {
        self.work.status != Status::Closed
    }

    /// The row for the next write, with the column by which statements find it.
    fn row(&self) -> Object {
        let mut row = row_of(self);
        row.insert("live", self.is_live());
        row
    }
}

columns! {
    ChainedEvent {
        seq, at, kind, once, late, full, body, commitment, mac,
        // An event whose artifact has no name gets an empty one.
        artifact: by(
            |id| id.as_deref().map(artifact::record),
            |id: Option<RecordId>| id.map(|id| key("artifact", id).unwrap_or_default())
        ),
        // Text that is not hex was not written by us: the commitment does not verify.
        salt: by(|salt| salt.as_deref().map(text::hex), |salt: Option<String>| salt.as_deref().map(salt_of)),
    }
}

/// An event and its piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub work: WorkId,
    pub kept: ChainedEvent,
}

columns! { StoredEvent in "work_event" { work, kept: flat } }

/// Events that belong to no piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stray {
    /// The piece of work that they name.
    pub work: WorkId,
    /// Whether that piece of work is missing. If not, their ids are not those of its events.
    pub is_lost: bool,
    /// The first of their numbers.
    pub seq: u64,
}

#[derive(Debug, Clone, SurrealValue)]
struct StrayRow {
    work: RecordId,
    lost: bool,
    seq: i64,
}

/// The changes of the journal.
#[derive(Default)]
pub(super) struct WorkChanges {
    /// Whole rows; the version is the one that was read, 0 for a new one. If a piece of work is listed twice, the
    /// last one counts.
    pub put: Vec<StoredWork>,
    pub events: Vec<(WorkId, ChainedEvent)>,
    pub artifacts: Vec<Artifact>,
    pub purged: Vec<(WorkId, u64)>,
    pub gone: Vec<WorkId>,
    pub gone_artifacts: Vec<String>,
    pub checkpoints: CheckpointChanges,
}

impl Part for WorkChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let is_last = |(at, stored): &(usize, &StoredWork)| {
            !self.put[at + 1..].iter().any(|later| later.work.id == stored.work.id)
        };
        let last = self.put.iter().enumerate().filter(is_last).map(|(_, stored)| stored);
        let (begun, gone_on): (Vec<&StoredWork>, Vec<&StoredWork>) =
            last.partition(|stored| stored.work.version == 0);
        let at = commit.at;
        commit.add(statement::COMMIT_NEW_WORKS, "new_works", &begun, |stored| {
            with_id(work_record(&stored.work.id), stored.row())
        });
        commit.add(statement::COMMIT_WORKS, "works", &gone_on, |stored| {
            put_next(work_record(&stored.work.id), stored.work.version, stored.row())
        });
        commit.add(statement::COMMIT_ARTIFACTS, "artifacts", &self.artifacts, |artifact| {
            let mut row = row_of(artifact);
            put(&mut row, "at", &at);
            object! { id: artifact::record(&artifact.id), row: row }
        });
        commit.add(statement::COMMIT_WORK_EVENTS, "work_events", &self.events, |(work, kept)| {
            let mut row = row_of(kept);
            put(&mut row, "work", work);
            with_id(event_record(work, kept.seq), row)
        });
        commit.add(statement::COMMIT_PURGED_TEXTS, "purged_texts", &self.purged, |(work, seq)| {
            event_record(work, *seq)
        });
        commit.add(statement::COMMIT_GONE_WORKS, "gone_works", &self.gone, |id| {
            object! { work: work_record(id), events: event_range(id, &(0..=NUMBER_MAX)) }
        });
        commit.add(statement::COMMIT_GONE_ARTIFACTS, "gone_artifacts", &self.gone_artifacts, |id| {
            artifact::record(id)
        });
        self.checkpoints.add_to(commit);
    }
}

/// The changes of a piece of work.
impl Write<'_> {
    /// Something happened in a piece of work: its row as it is then, and the events that make it so, with what is too
    /// long for their rows, and what they come to where that is kept. It may be new.
    pub fn note_work(
        &mut self,
        stored: &StoredWork,
        events: Vec<ChainedEvent>,
        artifacts: Vec<Artifact>,
        checkpoint: Option<Checkpoint>,
    ) {
        let kind = match (stored.work.version, stored.work.status) {
            (0, _) => EventKind::WorkBegun,
            (_, Status::Closed) => EventKind::WorkClosed,
            _ => EventKind::WorkNoted,
        };
        let id = stored.work.id;
        let works = self.record_work(kind, Some(stored));
        works.put.push(stored.clone());
        works.events.extend(events.into_iter().map(|kept| (id, kept)));
        works.artifacts.extend(artifacts);
        works.checkpoints.put.extend(checkpoint);
    }

    /// The piece of work moves to another project, because its own was merged.
    pub fn merge_work(&mut self, stored: &StoredWork) {
        self.record_work(EventKind::ProjectMerged, Some(stored)).put.push(stored.clone());
    }

    /// Texts of its events are purged, and its own title where `stored` says so. The checkpoints of `forks` go with its own,
    /// see [`Checkpoints::forks`].
    pub fn purge_texts(&mut self, stored: &StoredWork, numbers: &[u64], forks: &[WorkId]) {
        let id = stored.work.id;
        let works = self.record_work(EventKind::WorkPurged, Some(stored));
        works.put.push(stored.clone());
        works.purged.extend(numbers.iter().map(|seq| (id, *seq)));
        // A checkpoint contains texts, too.
        forks.iter().chain([&id]).for_each(|work| works.checkpoints.drop(*work));
    }

    /// The piece of work is removed for good, and with it the checkpoints of `forks`.
    pub fn prune_work(&mut self, stored: &StoredWork, forks: &[WorkId]) {
        let works = self.record_work(EventKind::WorkPruned, Some(stored));
        works.gone.push(stored.work.id);
        forks.iter().chain([&stored.work.id]).for_each(|work| works.checkpoints.drop(*work));
    }

    /// A piece of work came with an export, without its events.
    pub fn import_work(&mut self, stored: &StoredWork) {
        self.record_work(EventKind::WorkImported, Some(stored)).put.push(stored.clone());
    }

    /// An event came with an export, as it was written there.
    pub fn import_work_event(&mut self, owner: &StoredWork, kept: ChainedEvent) {
        self.record_work(EventKind::WorkImported, Some(owner)).events.push((owner.work.id, kept));
    }

    /// An artifact came with an export. It stays only if an event that has its text refers to it, because that text may have
    /// been purged here.
    pub fn import_artifact(&mut self, artifact: Artifact) {
        let works = self.record_work(EventKind::WorkImported, None);
        works.gone_artifacts.push(artifact.id.clone());
        works.artifacts.push(artifact);
    }

    /// The piece of work as it will be after this commit.
    pub async fn work(&self, id: &WorkId) -> Result<Option<StoredWork>, StoreError> {
        let here = self.tables().works.put.iter().rfind(|stored| stored.work.id == *id).cloned();
        match here.or_else(|| self.store().held_works.by_id(id)) {
            Some(stored) => Ok(Some(stored)),
            None => self.store().works().by_id(id).await,
        }
    }

    /// The piece of work with a name, as it was before this commit.
    pub async fn named_work(&self, name: &str) -> Result<Option<StoredWork>, StoreError> {
        match self.store().held_works.by_name(name) {
            Some(stored) => Ok(Some(stored)),
            None => self.store().works().by_name(name).await,
        }
    }

    /// The event of a piece of work as it will be after this commit.
    pub async fn work_event(&self, id: &WorkId, seq: u64) -> Result<Option<ChainedEvent>, StoreError> {
        let mut here = self.tables().works.events.iter();
        if let Some((_, kept)) = here.find(|(work, kept)| (work, kept.seq) == (id, seq)) {
            return Ok(Some(kept.clone()));
        }
        Ok(one(self.store().works().events(id, seq..=seq).await?))
    }

    /// Whether the artifact will exist after this commit.
    pub async fn has_artifact(&self, id: &str) -> Result<bool, StoreError> {
        let here = self.tables().works.artifacts.iter().any(|artifact| artifact.id == id);
        Ok(here || self.store().artifacts().by_id(id).await?.is_some())
    }

    /// Whether a name of a piece of work is free.
    pub async fn is_free_work_name(&self, name: &str) -> Result<bool, StoreError> {
        let here = self.tables().works.put.iter().any(|stored| stored.work.name.as_deref() == Some(name));
        Ok(!here && self.store().works().by_name(name).await?.is_none())
    }

    /// Removes artifacts to which no event refers.
    pub fn drop_artifacts(&mut self, ids: Vec<String>) {
        if !ids.is_empty() {
            self.record_work(EventKind::WorkPruned, None).gone_artifacts.extend(ids);
        }
    }

    fn record_work(&mut self, kind: EventKind, stored: Option<&StoredWork>) -> &mut WorkChanges {
        let work = stored.map(|stored| &stored.work);
        let event = NewEvent {
            kind,
            memory: None,
            session: work.and_then(|work| work.session.clone()),
            project: work.map(|work| work.project.clone()),
        };
        &mut self.record(event).works
    }
}

noun! {
    /// The pieces of work.
    works: Works
}

impl<'a> Works<'a> {
    /// Pieces of work by id; missing ones are left out.
    pub async fn by_ids(self, ids: &[WorkId]) -> Result<Vec<StoredWork>, StoreError> {
        let ids: Vec<RecordId> = ids.iter().map(work_record).collect();
        self.0.select(statement::WORK_GET, Vars::new().with("ids", ids)).await
    }

    /// A piece of work.
    pub async fn by_id(self, id: &WorkId) -> Result<Option<StoredWork>, StoreError> {
        Ok(one(self.by_ids(&[*id]).await?))
    }

    /// The piece of work with a name as the last commit left it, if it was written lately.
    pub fn held(self, name: &str) -> Option<StoredWork> {
        self.0.held_works.by_name(name)
    }

    /// The piece of work with a name.
    pub async fn by_name(self, name: &str) -> Result<Option<StoredWork>, StoreError> {
        Ok(one(self.0.select(statement::WORK_NAMED, Vars::new().with("name", name)).await?))
    }

    /// The pieces of work of a project (of all, when `None`) that were active last, newest first: either the closed ones or
    /// the open ones.
    pub async fn latest(
        self,
        live: bool,
        project: Option<&Project>,
        limit: usize,
    ) -> Result<WorkList, StoreError> {
        self.latest_from(live, project, (Timestamp::MAX, None), limit).await
    }

    /// The same from a place in the list on.
    async fn latest_from(
        self,
        live: bool,
        project: Option<&Project>,
        (before, after): WorkPlace,
        limit: usize,
    ) -> Result<WorkList, StoreError> {
        let vars = Vars::new().with("live", live).at("before", before).limit(limit);
        let vars = vars.with("after", after.as_ref().map(work_record));
        let (statement, vars) =
            vars.about(project, statement::WORK_LATEST, statement::WORK_LATEST_EVERYWHERE);
        Ok(WorkList::of(self.0.values(WORK, statement, vars).await?, limit))
    }

    /// The same by pages, each of at most `limit`: the place moves on with each, and is `None` after the last one.
    pub async fn latest_page(
        self,
        live: bool,
        project: Option<&Project>,
        place: &mut Option<WorkPlace>,
        limit: usize,
    ) -> Result<Option<Vec<StoredWork>>, StoreError> {
        let Some(from) = *place else { return Ok(None) };
        let page = self.latest_from(live, project, from, limit).await?;
        let last = page.readable.last().filter(|_| !page.is_last);
        *place = last.map(|last| (last.work.active_at, Some(last.work.id)));
        Ok(Some(page.readable))
    }

    /// All pieces of work of a project, in any state.
    pub async fn of_project(self, project: &Project, limit: usize) -> Result<WorkList, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).limit(limit);
        Ok(WorkList::of(self.0.values(WORK, statement::WORK_OF_PROJECT, vars).await?, limit))
    }

    /// Pieces of work with events since their last seal.
    pub async fn unsealed(self, limit: usize) -> Result<WorkList, StoreError> {
        Ok(WorkList::of(
            self.0.values(WORK, statement::WORK_UNSEALED, Vars::new().limit(limit)).await?,
            limit,
        ))
    }

    /// Open pieces of work that somebody holds or held and whose lease ends before a moment.
    pub async fn held_by(self, holder: &str, until: Timestamp, limit: usize) -> Result<WorkList, StoreError> {
        let vars = Vars::new().with("holder", holder).at("until", until).limit(limit);
        Ok(WorkList::of(self.0.values(WORK, statement::WORK_HELD, vars).await?, limit))
    }

    /// Marks everything that was made with a key as unsealed: the journal begins anew.
    pub async fn unseal(self, key_id: &str) -> Result<(), StoreError> {
        let done = self.0.execute(statement::WORK_UNSEAL, Vars::new().with("key_id", key_id)).await;
        self.0.held_works.clear();
        done
    }

    /// The number of all events.
    pub async fn count_events(self) -> Result<u64, StoreError> {
        let counts = self.0.values::<i64>(EVENT, statement::WORK_EVENT_COUNT, Vars::new()).await?;
        Ok(unsigned(counts.into_iter().sum()))
    }

    /// Events that belong to no piece of work, one entry for each piece that they name.
    pub async fn strays(self, limit: usize) -> Result<Vec<Stray>, StoreError> {
        let vars = Vars::new().limit(limit);
        let rows = self.0.values::<StrayRow>(EVENT, statement::WORK_STRAYS, vars).await?;
        let stray = |StrayRow { work, lost, seq }| {
            // No piece of work can have such an id, so none is missing.
            let work = work_id(EVENT, work).ok()?;
            Some(Stray { work, is_lost: lost, seq: unsigned(seq) })
        };
        Ok(rows.into_iter().filter_map(stray).collect())
    }

    /// A page of all rows of the table in order of id, each with its id and, if it can be read, its piece of work.
    pub async fn page_of_rows(
        self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Option<StoredWork>>, StoreError> {
        let page: Page<AnyWork> = self.0.page(WORK, after, limit).await?;
        Ok(page.into_iter().map(|(id, row)| (id, row.0)).collect())
    }

    /// All pieces of work in order of id.
    pub fn walk(self) -> Walk<'a, StoredWork> {
        Walk::over(self.0)
    }

    /// All events, ordered by piece of work and number.
    pub fn walk_of_events(self) -> Walk<'a, StoredEvent> {
        Walk::over(self.0)
    }

    /// The events of a piece of work with these numbers, as far as they exist, in order.
    pub async fn events(
        self,
        work: &WorkId,
        numbers: RangeInclusive<u64>,
    ) -> Result<Vec<ChainedEvent>, StoreError> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().with("events", event_range(work, &numbers));
        let mut found: Vec<StoredEvent> = self.0.select(statement::WORK_EVENTS, vars).await?;
        // A row that names another piece of work than its id was changed by somebody.
        found.retain(|event| event.work == *work);
        found.sort_by_key(|event| event.kept.seq);
        Ok(found.into_iter().map(|event| event.kept).collect())
    }

    /// The `once` keys of the events of a piece of work with these numbers.
    pub async fn onces(self, work: &WorkId, numbers: RangeInclusive<u64>) -> Result<Vec<String>, StoreError> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().with("events", event_range(work, &numbers));
        self.0.values(EVENT, statement::WORK_ONCES, vars).await
    }
}
