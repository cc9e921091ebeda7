//! The doctor: checks the invariants of the data, and repairs what is derived.
//!
//! Every check has a name and reads a whole table, which no call of an agent does. A repair never touches what was
//! saved: it removes or rebuilds rows and files that are derived from it.

use std::{collections::BTreeMap, time::Duration};

pub use crate::check::{Check, Health};

use super::{Service, ServiceError};
use cerebro_core::domain::{Memory, MemoryId, SubjectId, Timestamp};
use cerebro_core::text;
use cerebro_search::lexical::Index;
use cerebro_store::{CycleState, Faulty, LogExtent, RevisionExtent, Store, StoreError, Table, Walk};

/// The checks of this module, in the order in which they are shown.
pub const CHECKS: [&str; 16] = [
    "rows", "events", "edges", "links", "revisions", "anchors", "feedback", "tombstones", "jobs", "cycles",
    "vectors", "index", "history", "documents", "transcripts", "journal",
];
/// How many rows are read at once.
const PAGE: usize = 500;
/// How long after its end a lease counts as lost: the worker looks far more often.
const LEASE_GRACE: Duration = Duration::from_secs(5 * 60);

type Found = Result<Check, ServiceError>;

/// The rows of all memories, without their texts.
type Roll = BTreeMap<MemoryId, Entry>;

struct Entry {
    revision: i64,
    live: bool,
    purged: bool,
    updated_at: Timestamp,
}

impl Service {
    /// Makes every check, and repairs what can be repaired if `fix` is set.
    pub async fn examine(&self, fix: bool) -> Vec<Check> {
        let roll = self.roll().await;
        let mut checks = vec![self.rows(&roll).await];
        let check = |name, found: Found| {
            found.unwrap_or_else(|error| Check::unknown(name, format!("could not be looked at: {error}")))
        };
        checks.push(check("events", self.events_checked().await));
        checks.push(check("edges", self.edges(fix).await));
        checks.push(check("links", self.links().await));
        checks.push(check("jobs", self.queue(fix).await));
        checks.push(check("cycles", self.cycles_checked().await));
        checks.extend(self.beside_checked(fix).await);
        checks.push(check("journal", self.journal.journal_checked().await));
        checks.push(check("transcripts", self.transcripts_checked().await));
        checks.push(check("history", self.history.checked(fix).await));
        checks.push(check("documents", self.documents.checked(fix).await));
        let Ok(roll) = roll else {
            let words = "needs readable rows of memories";
            checks.extend(["revisions", "vectors", "index"].map(|name| Check::unknown(name, words)));
            return in_order(checks);
        };
        checks.push(check("revisions", self.kept_revisions(&roll).await));
        checks.push(check("vectors", self.vectors(&roll, fix).await));
        checks.push(check("index", self.index_checked(fix).await));
        in_order(checks)
    }

    /// Whether agents write records that are not known. They are reported, but are no fault: the other records are read.
    async fn transcripts_checked(&self) -> Found {
        let drift = self.intake.drift().await?;
        if drift.is_empty() {
            return Ok(Check::sound("transcripts", "all records of past sessions that were read are known"));
        }
        let of_agent = |(agent, records): (&&str, &BTreeMap<String, u64>)| {
            let named: Vec<String> =
                records.iter().take(5).map(|(name, count)| format!("{name} ×{count}")).collect();
            format!("{agent} writes records that are not known: {}", named.join(", "))
        };
        let words: Vec<String> = drift.iter().map(of_agent).collect();
        Ok(Check::sound("transcripts", words.join("; ")))
    }

    async fn roll(&self) -> Result<Roll, StoreError> {
        let mut roll = Roll::new();
        let mut pages = self.base.store.memories().walk();
        while let Some(page) = pages.next().await? {
            roll.extend(page.iter().map(|memory| (memory.id, Entry::of(memory))));
        }
        Ok(roll)
    }

    /// Every row can be read back as what it was written as.
    async fn rows(&self, roll: &Result<Roll, StoreError>) -> Check {
        let failed = |error: &StoreError| Check::failed("rows", error.to_string());
        match (roll, self.other_rows().await) {
            (Err(error), _) => failed(error),
            (Ok(_), Err(error)) => failed(&error),
            (Ok(_), Ok(rows)) => Check::sound("rows", format!("all {rows} can be read")),
        }
    }

    async fn other_rows(&self) -> Result<u64, StoreError> {
        let store = &self.base.store;
        readable(store.revisions().walk()).await?;
        readable(store.sessions().walk()).await?;
        readable(store.prompts().walk()).await?;
        readable(store.supersessions().walk()).await?;
        for table in [Table::CreatedIn, Table::Follows] {
            let mut after: Option<String> = None;
            while let Some((last, _)) = store.edges().page(table, after.as_deref(), PAGE).await?.pop() {
                after = Some(last);
            }
        }
        Ok(store.row_counts().await?.values().sum())
    }

    /// The numbers of a writer's events have no gaps.
    async fn events_checked(&self) -> Found {
        let mut total = 0;
        for counted in self.base.store.integrity().log_extents().await? {
            total += counted.rows;
            if let Some(words) = gap(&counted) {
                let at = self.first_gap(&counted.writer).await?;
                let words = format!("{words}; the first one missing is {at}. Restore a backup from before");
                return Ok(Check::failed("events", words));
            }
        }
        Ok(Check::sound("events", format!("{total} without a gap")))
    }

    async fn first_gap(&self, writer: &str) -> Result<u64, ServiceError> {
        let mut seq = 0;
        loop {
            let events = self.base.store.events().after(writer, seq, PAGE).await?;
            if events.is_empty() {
                return Ok(seq + 1);
            }
            for event in events {
                if event.seq != seq + 1 {
                    return Ok(seq + 1);
                }
                seq = event.seq;
            }
        }
    }

    /// Every edge has both its ends.
    async fn edges(&self, fix: bool) -> Found {
        let loose = self.base.store.integrity().dangling_edges().await?;
        if loose.is_empty() {
            return Ok(Check::sound("edges", "all have both ends"));
        }
        let check = Check::repairable("edges", many(&loose, "edge", "without an end"));
        if !fix {
            return Ok(check);
        }
        self.base.store.integrity().remove(&loose).await?;
        Ok(check.repaired())
    }

    /// Rows beside memories belong to memories that exist: anchors, signs and tombstones.
    async fn beside_checked(&self, fix: bool) -> Vec<Check> {
        const OF_MEMORIES: [&str; 2] =
            ["of memories that are not there", "all are of memories that are there"];
        /// The checks, each with what is wrong with a row and what is said if nothing is.
        const NAMES: [(&str, [&str; 2]); 3] = [
            ("anchors", OF_MEMORIES),
            ("feedback", OF_MEMORIES),
            ("tombstones", ["without a key", "all have a key"]),
        ];
        let found = match self.base.store.integrity().dangling_rows().await {
            Ok(found) => found,
            Err(error) => {
                let words = format!("could not be looked at: {error}");
                return NAMES.map(|(name, _)| Check::unknown(name, words.clone())).into();
            }
        };
        let mut checks = Vec::new();
        for ((name, [wrong, sound]), loose) in NAMES.into_iter().zip(&found) {
            if loose.is_empty() {
                checks.push(Check::sound(name, sound));
                continue;
            }
            let check = Check::repairable(name, many(loose, "row", wrong));
            let is_repaired = fix && self.base.store.integrity().remove(loose).await.is_ok();
            checks.push(if is_repaired { check.repaired() } else { check });
        }
        checks
    }

    /// Consolidations can be read, at most one waits, and those that were carried out have a moment and hold no text.
    async fn cycles_checked(&self) -> Found {
        let (mut all, mut waiting) = (0_usize, 0_usize);
        let mut pages = self.base.store.cycles().walk();
        while let Some(page) = pages.next().await? {
            all += page.len();
            for cycle in &page {
                let is_planned = cycle.state == CycleState::Planned;
                waiting += usize::from(is_planned);
                let has_text = cycle
                    .steps
                    .iter()
                    .filter_map(|step| step.insight.as_ref())
                    .any(|one| !one.text.is_empty());
                if !is_planned && (cycle.applied_at.is_none() || has_text) {
                    let words = format!("`{}` was carried out, and its row does not say so whole", cycle.id);
                    return Ok(Check::failed("cycles", words));
                }
            }
        }
        if waiting > 1 {
            return Ok(Check::failed("cycles", format!("{waiting} plans wait; one may")));
        }
        Ok(Check::sound("cycles", format!("{} can be read", text::counted(all, "consolidation"))))
    }

    /// Every session that a row names exists.
    async fn links(&self) -> Found {
        let loose = self.base.store.integrity().dangling_links().await?;
        if loose.is_empty() {
            return Ok(Check::sound("links", "every session that is named is there"));
        }
        Ok(Check::failed("links", many(&loose, "row", "with a session that is not there")))
    }

    /// The revisions of a memory run without a gap up to the present one.
    async fn kept_revisions(&self, roll: &Roll) -> Found {
        let spans = self.base.store.integrity().revision_extents().await?;
        let limited = self.base.settings.revisions_keep.is_some();
        let mut faults = spans
            .keys()
            .filter(|id| !roll.contains_key(id))
            .map(|id| format!("the memory `{id}` of revisions is not there"))
            .chain(roll.iter().filter_map(|(id, entry)| {
                let words = entry.lost_revision(spans.get(id), limited)?;
                Some(format!("memory `{id}`: {words}"))
            }));
        let Some(first) = faults.next() else {
            return Ok(Check::sound("revisions", "every memory has all of its own"));
        };
        let others = faults.count();
        Ok(Check::failed("revisions", format!("{first}{}. Restore a backup from before", and_more(others))))
    }

    /// No job is stuck, given up, or about something that does not exist.
    async fn queue(&self, fix: bool) -> Found {
        let before = self.base.store.now() - LEASE_GRACE;
        let faulty = self.base.store.integrity().faulty_jobs(before).await?;
        let mut words = Vec::new();
        for (rows, what) in [
            (&faulty.orphans, "about memories that are not live"),
            (&faulty.stuck, "begun and left"),
            (&faulty.dead, "given up"),
        ] {
            if !rows.is_empty() {
                words.push(many(rows, "job", what));
            }
        }
        if words.is_empty() {
            return Ok(Check::sound("jobs", "none is stuck or given up"));
        }
        let words = words.join("; ");
        // A person has to find out why jobs were given up.
        let check = if faulty.dead.is_empty() {
            Check::repairable("jobs", words)
        } else {
            Check::failed("jobs", words)
        };
        if !fix {
            return Ok(check);
        }
        self.base.store.integrity().remove(&faulty.orphans).await?;
        self.base.store.integrity().requeue(&faulty.stuck).await?;
        Ok(if check.is_repairable { check.repaired() } else { check })
    }

    /// Every vector belongs to a live memory, and every live memory has its vectors or a job that will
    /// make them, once there is a model.
    async fn vectors(&self, roll: &Roll, fix: bool) -> Found {
        let store = &self.base.store;
        let tables = store.integrity().vector_tables().await?;
        if tables.is_empty() {
            return Ok(Check::sound("vectors", "there are none"));
        }
        let owed = store.integrity().queued().await?;
        let (mut words, mut count) = (Vec::new(), 0);
        for (table, active) in &tables {
            let held = store.integrity().vectors_in(table).await?;
            count += held.revisions.len();
            if !held.orphans.is_empty() {
                words.push(many(&held.orphans, "vector", "of memories that are not live"));
                if fix {
                    store.integrity().remove(&held.orphans).await?;
                }
            }
            let lacks = |(id, entry): &(&MemoryId, &Entry)| {
                entry.live
                    && held.revisions.get(*id) != Some(&entry.revision)
                    && owed.binary_search(id).is_err()
            };
            let missing: Vec<MemoryId> =
                if *active { roll.iter().filter(lacks).map(|(id, _)| *id).collect() } else { Vec::new() };
            if let Some(first) = missing.first() {
                words.push(format!(
                    "without vector and job: {} (as `{first}`)",
                    text::counted(missing.len(), "memory")
                ));
                if fix {
                    store.integrity().queue(&missing).await?;
                }
            }
        }
        if words.is_empty() {
            return Ok(Check::sound("vectors", format!("complete for {}", text::counted(count, "memory"))));
        }
        let check = Check::repairable("vectors", words.join("; "));
        Ok(if fix { check.repaired() } else { check })
    }

    /// The index has exactly the live memories, as they are.
    async fn index_checked(&self, fix: bool) -> Found {
        let mut differs = self.index_differs(&self.held().await?).await?;
        if differs.is_some() {
            // There may have been a write in between, so compare again while nobody writes. The index is queried as it
            // is: to catch up it would wait for the writer, which is held here.
            let pause = self.base.store.pause().await;
            match self.recall.index.ask_once(Index::held).await {
                Ok(held) if self.recall.index.index_is_current() => {
                    differs = self.index_differs(&held).await?;
                }
                Ok(_) => tracing::debug!("the index fell behind while it was examined"),
                Err(error) => tracing::debug!(%error, "the index could not be asked while nobody writes"),
            }
            drop(pause);
        }
        let Some(words) = differs else {
            return Ok(Check::sound("index", "holds every live memory and no other"));
        };
        if !fix {
            return Ok(Check::repairable("index", words));
        }
        self.recall.index.rebuild_index().await?;
        match self.index_differs(&self.held().await?).await? {
            None => Ok(Check::failed("index", words).repaired()),
            Some(still) => Ok(Check::failed("index", format!("{still}, even after it was built anew"))),
        }
    }

    async fn held(&self) -> Result<BTreeMap<SubjectId, Timestamp>, ServiceError> {
        self.recall.index.ask(Index::held).await
    }

    async fn index_differs(
        &self,
        held: &BTreeMap<SubjectId, Timestamp>,
    ) -> Result<Option<String>, ServiceError> {
        let roll = self.roll().await?;
        let live = || roll.iter().filter(|(_, entry)| entry.live);
        let missing = live().filter(|(id, _)| !held.contains_key(&SubjectId::from(**id))).count();
        let is_stale = |held: &Timestamp, entry: &Entry| *held != entry.updated_at;
        let stale = live()
            .filter(|(id, entry)| held.get(&SubjectId::from(**id)).is_some_and(|at| is_stale(at, entry)))
            .count();
        let is_live = |id: &MemoryId| roll.get(id).is_some_and(|entry| entry.live);
        let ghosts = held.keys().filter(|id| !is_live(&MemoryId::from(**id))).count();
        let words = [
            (missing, "live memories are not in it"),
            (stale, "memories are in it as they were before"),
            (ghosts, "memories are in it that are not live"),
        ];
        let differences: Vec<String> =
            words.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
        Ok((!differences.is_empty()).then(|| differences.join("; ")))
    }

    /// The version of the open store's schema.
    pub fn schema_version(&self) -> u32 {
        Store::schema_version()
    }
}

impl Entry {
    fn of(memory: &Memory) -> Self {
        Self {
            revision: i64::from(memory.revision),
            live: memory.is_live(),
            purged: memory.purged,
            updated_at: memory.updated_at,
        }
    }

    /// The fault of its stored revisions, if any. With a limit on their number, the oldest may be gone.
    fn lost_revision(&self, span: Option<&RevisionExtent>, limited: bool) -> Option<String> {
        if self.purged {
            return span.map(|span| {
                format!("it was purged and {} of it left", text::counted(span.rows, "revision"))
            });
        }
        let before = self.revision - 1;
        let Some(span) = span else {
            return (before > 0 && !limited).then(|| format!("none of its {before} revisions is there"));
        };
        if span.last != before || span.last - span.first + 1 != span.rows {
            let RevisionExtent { rows, first, last } = span;
            return Some(format!("of {before} revisions there are {rows}, from {first} to {last}"));
        }
        (span.first > 1 && !limited).then(|| format!("the revisions before {} are not there", span.first))
    }
}

/// Reads all rows, to see that each can be.
async fn readable<T>(mut rows: Walk<'_, T>) -> Result<(), StoreError> {
    while rows.next().await?.is_some() {}
    Ok(())
}

fn gap(counted: &LogExtent) -> Option<String> {
    let LogExtent { writer, rows, first, last } = counted;
    (*first != 1 || *last != *rows).then(|| {
        format!("writer `{writer}`: {}, numbered from {first} to {last}", text::counted(*rows, "event"))
    })
}

fn many(rows: &Faulty, noun: &str, what: &str) -> String {
    format!("{} {what} (as {})", text::counted(rows.len(), noun), rows.example())
}

fn and_more(others: usize) -> String {
    match others {
        0 => String::new(),
        n => format!(", and {n} more"),
    }
}

fn in_order(mut checks: Vec<Check>) -> Vec<Check> {
    checks.sort_by_key(|check| CHECKS.iter().position(|name| *name == check.name));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_revisions_are_seen() {
        let entry =
            |revision, purged| Entry { revision, live: true, purged, updated_at: Timestamp::UNIX_EPOCH };
        let span = |rows, first, last| Some(RevisionExtent { rows, first, last });
        for (revision, purged, span, limited, faulty) in [
            (1, false, None, false, false),
            (3, false, span(2, 1, 2), false, false),
            (3, false, None, false, true),
            (3, false, None, true, false),
            (3, false, span(1, 1, 1), false, true),
            (4, false, span(2, 1, 3), false, true),
            (4, false, span(2, 2, 3), false, true),
            (4, false, span(2, 2, 3), true, false),
            (4, true, None, false, false),
            (4, true, span(1, 3, 3), false, true),
        ] {
            let found = entry(revision, purged).lost_revision(span.as_ref(), limited);
            assert_eq!(found.is_some(), faulty, "{revision} {span:?} {limited}: {found:?}");
        }
    }

    #[test]
    fn gaps_in_numbers_are_seen() {
        let counted = |rows, first, last| LogExtent { writer: "w".to_owned(), rows, first, last };
        assert_eq!(gap(&counted(5, 1, 5)), None);
        for odd in [counted(4, 1, 5), counted(4, 2, 5), counted(5, 0, 4)] {
            assert!(gap(&odd).is_some(), "{odd:?}");
        }
    }
}
