//! Verification: reads the whole journal again and checks that it is as it was written.

use std::collections::{BTreeMap, BTreeSet};

use cerebro_core::domain::WorkId;
use cerebro_core::text;
use cerebro_ledger::{
    Anchor, ChainedEvent, Finding, Mac, Status, Verified, Work, is_of_key, is_row_genuine,
    limits::EVENTS_MAX,
    seal::{Leaf, Log},
    verify,
};
use cerebro_store::{StoredWork, Stray};

use super::{FINDINGS_MAX, KEYS_FILE, VerifiedWork, WorkFinding, draft::unpacked};
use crate::{Journal, ServiceError, check::Check, lock};

/// How many pieces of work are read at once.
const PAGE: usize = 100;
/// Most journals of which a store has seals.
const ORIGINS_MAX: usize = 100;

/// The seals' record of one piece of work: the heads that it had, by number, and the seals with them.
#[derive(Default)]
struct SealRecord {
    heads: BTreeMap<u64, (Mac, u64)>,
    pruned: bool,
}

/// Where a piece of work, up to its last event, differs from its seals.
fn unlike_seals(last: u64, heads: &BTreeMap<u64, Mac>, record: &SealRecord) -> Vec<Finding> {
    let differs = record.heads.iter().filter(|(seq, (head, _))| heads.get(seq) != Some(head));
    let named = differs.map(|(seq, (_, seal))| {
        let (seq, seal) = (*seq, *seal);
        if seq > last {
            Finding::RolledBack { row: last, found: seq }
        } else {
            Finding::SealDiffers { seal, seq }
        }
    });
    named.collect()
}

/// What was read; `None` if a row among it cannot be read.
pub(super) fn readable<T>(read: Result<T, ServiceError>) -> Result<Option<T>, ServiceError> {
    match read {
        Err(ServiceError::Store(error)) if error.is_unreadable() => Ok(None),
        read => read.map(Some),
    }
}

impl VerifiedWork {
    fn find(&mut self, work: Option<WorkId>, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(WorkFinding { work, finding });
        } else {
            self.more = true;
        }
    }
}

impl Journal {
    /// Reads every event, artifact and seal again and lists the faults. `anchors` are heads that were written down outside.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if the journal is off, or a failing store. A fault is not an error.
    pub async fn verify(&self, anchors: &[Anchor]) -> Result<VerifiedWork, ServiceError> {
        self.needs_journal()?;
        let mut report = VerifiedWork::default();
        // Nothing is sealed or pruned meanwhile.
        let _slot = self.held.sealed.lock().await;
        let events = self.base.store.works().count_events().await?;
        let mut records = self.verify_seals(anchors, &mut report).await?;
        self.verify_keys(&mut report).await?;
        let mut after: Option<String> = None;
        loop {
            let page = match self.base.store.works().page_of_rows(after.as_deref(), PAGE).await {
                Err(error) if error.is_unreadable() => {
                    self.verify_sealed(after.as_deref(), &mut records, &mut report).await?;
                    break;
                }
                page => page?,
            };
            let is_last = page.len() < PAGE;
            after = page.last().map(|(id, _)| id.clone());
            for (id, stored) in page {
                let Some(stored) = stored else {
                    // Its row cannot be read, so this program did not write it so, whatever its events say.
                    let id = WorkId::parse(&id).ok();
                    id.and_then(|id| records.remove(&id));
                    report.find(id, Finding::RowEdited);
                    continue;
                };
                let record = records.remove(&stored.work.id).unwrap_or_default();
                self.verify_work(&stored, &record, &mut report).await?;
            }
            if is_last {
                break;
            }
        }
        let lost = records.into_iter().filter(|(_, record)| !record.pruned).map(|(id, _)| id).collect();
        self.verify_strays(events, lost, &mut report).await?;
        Ok(report)
    }

    /// Finds the events that belong to no piece of work, if the store has more events than were read. Reports the missing
    /// pieces of work: `lost`, and those that such events name.
    async fn verify_strays(
        &self,
        events: u64,
        mut lost: BTreeSet<WorkId>,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        if events > report.events {
            let strays = match self.base.store.works().strays(FINDINGS_MAX).await {
                // The report already names the row that cannot be read.
                Err(error) if error.is_unreadable() && !report.findings.is_empty() => Vec::new(),
                strays => strays?,
            };
            for Stray { work, is_lost, seq } in strays {
                if is_lost {
                    lost.insert(work);
                } else {
                    report.find(Some(work), Finding::Inserted { seq });
                }
            }
        }
        for id in lost {
            report.find(Some(id), Finding::WorkMissing);
        }
        Ok(())
    }

    /// Verifies the pieces of work after an id one by one, because a row among them cannot be decoded. Only those that the
    /// seals name can be found in this way.
    async fn verify_sealed(
        &self,
        after: Option<&str>,
        records: &mut BTreeMap<WorkId, SealRecord>,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        let ids: Vec<WorkId> =
            records.keys().filter(|id| after.is_none_or(|after| id.as_str() > after)).copied().collect();
        let mut is_named = false;
        for id in ids {
            match self.base.store.works().by_id(&id).await {
                Ok(None) => {}
                Ok(Some(stored)) => {
                    let record = records.remove(&id).unwrap_or_default();
                    self.verify_work(&stored, &record, report).await?;
                }
                Err(error) if error.is_unreadable() => {
                    is_named = true;
                    records.remove(&id);
                    report.find(Some(id), Finding::RowEdited);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if !is_named {
            report.find(None, Finding::RowEdited);
        }
        Ok(())
    }

    /// Names the events of a piece of work that cannot be read, each read by itself.
    async fn verify_unreadable(&self, work: &Work, report: &mut VerifiedWork) -> Result<(), ServiceError> {
        let mut is_named = false;
        for seq in 1..=work.seq.min(EVENTS_MAX) {
            match self.base.store.works().events(&work.id, seq..=seq).await {
                Ok(found) => report.events += found.len() as u64,
                Err(error) if error.is_unreadable() => {
                    is_named = true;
                    report.events += 1;
                    report.find(Some(work.id), Finding::Edited { seq });
                }
                Err(error) => return Err(error.into()),
            }
        }
        if !is_named {
            report.find(Some(work.id), Finding::Inserted { seq: work.seq + 1 });
        }
        Ok(())
    }

    /// Whether the seals of this store were made with this home's key. With another key, all of it would look as if another
    /// home had made it.
    async fn verify_keys(&self, report: &mut VerifiedWork) -> Result<(), ServiceError> {
        // The homes that share a database have keys of their own.
        if self.base.store.is_shared() {
            return Ok(());
        }
        let own = lock(&self.held.keyring).origin().to_owned();
        let store = own.strip_suffix(&self.held.key_id).unwrap_or(&own);
        let origins = self.base.store.seals().origins(ORIGINS_MAX).await?;
        if origins.iter().any(|origin| origin.starts_with(store) && *origin != own) {
            report.find(None, Finding::KeyMissing);
        }
        Ok(())
    }

    /// The check of `doctor`.
    pub(crate) async fn journal_checked(&self) -> Result<Check, ServiceError> {
        const NAME: &str = "journal";
        if self.held.retention.is_none() {
            return Ok(Check::sound(NAME, "off"));
        }
        let report = self.verify(&[]).await?;
        let VerifiedWork { works, events, seals, .. } = report;
        let Some(first) = report.findings.first() else {
            let slow = self.report();
            let degraded =
                slow.degraded_until.map_or("", |_| "; it answers too slowly or cannot be written at present");
            let missed = match slow.missed {
                0 => String::new(),
                missed => format!("; {} missing, which a gap will record", text::counted(missed, "event")),
            };
            let counts = [(events, "event"), (works, "work"), (seals, "seal")];
            let [events, works, seals] = counts.map(|(count, noun)| text::counted(count, noun));
            let words = format!("{events}, {works} and {seals} verify{degraded}{missed}{}", self.key_words());
            return Ok(Check::sound(NAME, words));
        };
        let place = first.work.map_or_else(|| "a seal".to_owned(), |id| format!("work {id}"));
        let name = first.finding.name();
        let words = format!(
            "{}, the first: {place} {name}. Restore a backup from before{}",
            text::counted(report.findings.len(), "fault"),
            self.key_words()
        );
        Ok(Check::failed(NAME, words))
    }

    /// What a person can do about damaged keys.
    fn key_words(&self) -> String {
        let damaged = self.damaged_keys();
        if damaged.is_empty() {
            return String::new();
        }
        format!(
            "; damaged keys were put aside as {}, and work from before counts as of another key. If you have a copy of \
             {KEYS_FILE}, put it in its place while no daemon runs; else delete what was put aside",
            damaged.join(", ")
        )
    }

    async fn verify_work(
        &self,
        stored: &StoredWork,
        record: &SealRecord,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        report.works += 1;
        let (id, work) = (stored.work.id, &stored.work);
        if record.pruned {
            report.find(Some(id), Finding::WorkReturned);
        }
        if work.key_id != self.held.key_id {
            return self.verify_foreign(stored, record, report).await;
        }
        let sealed: BTreeSet<u64> = record.heads.keys().copied().collect();
        let Some((verified, rows)) = readable(self.verified(stored, &sealed).await)? else {
            return self.verify_unreadable(work, report).await;
        };
        let Verified { events, purged, mut findings, heads } = verified;
        report.events += events;
        report.purged += purged;
        if findings.is_empty() {
            findings = unlike_seals(work.seq, &heads, record);
        }
        if findings.is_empty() && !self.is_derived_well(stored, record, report).await? {
            findings.push(Finding::RowEdited);
        }
        let is_sound = findings.is_empty();
        for finding in findings {
            report.find(Some(id), finding);
        }
        if is_sound { self.verify_artifacts(&id, rows, report).await } else { Ok(()) }
    }

    /// The work of another home cannot be verified. But a row that merely names another home does not make it that home's.
    async fn verify_foreign(
        &self,
        stored: &StoredWork,
        record: &SealRecord,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        let Some(rows) = readable(self.all_events(&stored.work).await)? else {
            return self.verify_unreadable(&stored.work, report).await;
        };
        report.events += rows.len() as u64;
        if !record.heads.is_empty() || is_of_key(&self.held.key, &stored.work, &rows) {
            report.find(Some(stored.work.id), Finding::RowEdited);
        } else {
            report.foreign += 1;
        }
        Ok(())
    }

    /// Whether the columns outside the row's MAC follow from the rest: its name, and how much of it is sealed.
    async fn is_derived_well(
        &self,
        stored: &StoredWork,
        record: &SealRecord,
        report: &VerifiedWork,
    ) -> Result<bool, ServiceError> {
        let (work, last) = (&stored.work, record.heads.keys().next_back().copied());
        // In a restored store, a new journal begins, and rows still have the numbers that the earlier journal had
        // sealed. If seals are missing, that fault is reported instead.
        let is_named_by_seals = report.seals > 0 && report.findings.iter().all(|found| found.work.is_some());
        if is_named_by_seals && stored.sealed != last.unwrap_or(0) {
            return Ok(false);
        }
        // A merge of projects may have left the former name of this one in the name of the work.
        if let Some(named) = work.named_project().filter(|named| *named != work.project)
            && !self.base.store.projects().had_name(&work.project, &named).await?
        {
            return Ok(false);
        }
        let is_former = work.key.is_none() && work.status == Status::Closed;
        match work.proper_name().filter(|_| work.name.is_none() && !is_former) {
            Some(name) => Ok(self.base.store.works().by_name(&name).await?.is_some()),
            None => Ok(true),
        }
    }

    /// A piece of work as its row was written. Another home that shares the database may have merged the project, and cannot
    /// make the MAC of this home.
    pub(super) async fn as_written(&self, work: &Work) -> Result<Work, ServiceError> {
        let key = self.held.key.of(&work.id);
        if self.base.store.is_shared() && !is_row_genuine(&key, work) {
            for project in self.base.store.projects().former_names(&work.project).await? {
                let before = Work { project, ..work.clone() };
                if is_row_genuine(&key, &before) {
                    return Ok(before);
                }
            }
        }
        Ok(work.clone())
    }

    /// The result of verifying a piece of work's events, as of when its row was read, and these events.
    pub(super) async fn verified(
        &self,
        stored: &StoredWork,
        sealed: &BTreeSet<u64>,
    ) -> Result<(Verified, Vec<ChainedEvent>), ServiceError> {
        let work = &stored.work;
        let mut rows = self.all_events(work).await?;
        if rows.last().is_some_and(|last| last.seq > work.seq) {
            let present = self.base.store.works().by_id(&work.id).await;
            // Later events are for the next time; but events beyond the present row were not written by this program.
            if let Ok(Some(present)) = present {
                rows.retain(|kept| kept.seq <= work.seq || kept.seq > present.work.seq);
            }
        }
        let work = self.as_written(work).await?;
        Ok((verify(&self.held.key.of(&work.id), &work, &rows, sealed), rows))
    }

    async fn verify_artifacts(
        &self,
        id: &WorkId,
        events: Vec<ChainedEvent>,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        for kept in events {
            // A purged event names an artifact that may be gone too.
            let Some(name) = kept.artifact.filter(|_| kept.body.is_some()) else { continue };
            report.artifacts += 1;
            match self.base.store.artifacts().by_id(&name).await? {
                None => report.find(Some(*id), Finding::ArtifactMissing { seq: kept.seq }),
                Some(artifact) if artifact.id != name || unpacked(&artifact).is_none() => {
                    report.find(Some(*id), Finding::ArtifactChanged { seq: kept.seq });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Checks the seals of the present journal one after the other, and collects their heads of pieces of work.
    async fn verify_seals(
        &self,
        anchors: &[Anchor],
        report: &mut VerifiedWork,
    ) -> Result<BTreeMap<WorkId, SealRecord>, ServiceError> {
        let (origin, first, count) = {
            let keyring = lock(&self.held.keyring);
            (keyring.origin().to_owned(), keyring.first_public(), keyring.seals())
        };
        let seals = self.all_seals(&origin).await?;
        report.seals = seals.len() as u64;
        let mut public = first.unwrap_or_default();
        let (mut log, mut next, mut is_whole) = (Log::default(), 0, true);
        let mut records: BTreeMap<WorkId, SealRecord> = BTreeMap::new();
        let mut roots = BTreeMap::from([(0, log.root())]);
        for seal in &seals {
            for missing in next..seal.number {
                report.find(None, Finding::SealMissing { seal: missing });
            }
            // After a missing or changed seal, no root can be right.
            is_whole &= next == seal.number;
            let has_root = log.take_in(seal);
            if !seal.is_signed_by(&public) || (is_whole && !has_root) {
                report.find(None, Finding::SealEdited { seal: seal.number });
            }
            is_whole &= has_root;
            next = seal.number + 1;
            public = seal.next.unwrap_or(public);
            roots.insert(log.size(), log.root());
            for leaf in seal.leaves.iter().filter_map(|leaf| Leaf::parse(leaf)) {
                let record = records.entry(leaf.work).or_default();
                record.heads.insert(leaf.seq, (leaf.head, seal.number));
                record.pruned = leaf.pruned;
            }
        }
        for missing in next..count {
            report.find(None, Finding::SealMissing { seal: missing });
        }
        for anchor in anchors {
            if !roots.get(&anchor.size).is_some_and(|root| anchor.is_of(root)) {
                report.find(None, Finding::AnchorDiffers { size: anchor.size });
            }
        }
        Ok(records)
    }
}
