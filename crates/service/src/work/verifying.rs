//! Reading the whole journal again: is it what was written?

use std::collections::{BTreeMap, BTreeSet};

use cerebro_core::domain::WorkId;
use cerebro_core::text;
use cerebro_ledger::{
    Finding, Mac, Verified,
    seal::{Leaf, Log},
    verify,
};
use cerebro_store::StoredWork;

use super::{FINDINGS_MAX, VerifiedWork, WorkFinding, draft::unpacked};
use crate::{Service, ServiceError, doctor::Check, lock};

/// How many pieces of work are read at once.
const PAGE: usize = 100;
/// How often a piece of work is read again that changed while it was read.
const ATTEMPTS_MAX: usize = 5;

/// What seals say of one piece of work: the heads that it had, by number, and the seals that say so.
#[derive(Default)]
struct Claims {
    heads: BTreeMap<u64, (Mac, u64)>,
    pruned: bool,
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

impl Service {
    /// Reads every event, artifact and seal again and names what is wrong. `anchors` are heads that were written down
    /// outside: size and root in hex.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] where the journal is off, or a failing store. What is wrong is no error.
    pub async fn work_verify(&self, anchors: &[(u64, String)]) -> Result<VerifiedWork, ServiceError> {
        self.needs_journal()?;
        let mut report = VerifiedWork::default();
        let mut claims = self.verify_seals(anchors, &mut report).await?;
        let mut after: Option<String> = None;
        loop {
            let page = self.store().page_of_works(after.as_deref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|(id, _)| id.clone());
            for (_, stored) in page {
                let claims = claims.remove(&stored.work.id).unwrap_or_default();
                self.verify_work(stored, &claims, &mut report).await?;
            }
            if is_last {
                break;
            }
        }
        for (id, _) in claims.into_iter().filter(|(_, claims)| !claims.pruned) {
            report.find(Some(id), Finding::WorkMissing);
        }
        Ok(report)
    }

    /// The check of `doctor`.
    pub(crate) async fn journal_checked(&self) -> Result<Check, ServiceError> {
        const NAME: &str = "journal";
        if self.journal().retention.is_none() {
            return Ok(Check::sound(NAME, "off"));
        }
        let report = self.work_verify(&[]).await?;
        let VerifiedWork { works, events, seals, .. } = report;
        let Some(first) = report.findings.first() else {
            return Ok(Check::sound(
                NAME,
                format!("{events} events of {works} works and {seals} seals verify"),
            ));
        };
        let place = first.work.map_or_else(|| "a seal".to_owned(), |id| format!("work {id}"));
        let name = first.finding.name();
        let words = format!(
            "{} faults, the first: {place} {name}. `cerebro work verify` names all; restore a backup from before",
            report.findings.len()
        );
        Ok(Check::fault(NAME, words))
    }

    async fn verify_work(
        &self,
        stored: StoredWork,
        claims: &Claims,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        report.works += 1;
        let id = stored.work.id;
        if stored.work.key_id != self.journal().key_id {
            report.foreign += 1;
            return Ok(());
        }
        let sealed: BTreeSet<u64> = claims.heads.keys().copied().collect();
        let (stored, verified) = self.verified(stored, &sealed).await?;
        report.events += stored.work.seq;
        report.purged += verified.purged;
        if claims.pruned {
            report.find(Some(id), Finding::WorkReturned);
        }
        let is_sound = verified.findings.is_empty();
        for finding in verified.findings {
            report.find(Some(id), finding);
        }
        if !is_sound {
            return Ok(());
        }
        for (seq, (head, seal)) in &claims.heads {
            if *seq > stored.work.seq {
                report.find(Some(id), Finding::RolledBack { row: stored.work.seq, found: *seq });
            } else if verified.heads.get(seq) != Some(head) {
                report.find(Some(id), Finding::SealDiffers { seal: *seal, seq: *seq });
            }
        }
        self.verify_artifacts(&id, stored.work.seq, report).await
    }

    /// A piece of work and what its events turned out to be, both as of one moment.
    pub(super) async fn verified(
        &self,
        mut stored: StoredWork,
        sealed: &BTreeSet<u64>,
    ) -> Result<(StoredWork, Verified), ServiceError> {
        let key = self.journal().key.of(&stored.work.id);
        for attempt in 1_usize.. {
            // The last time, nobody writes.
            let pause = if attempt == ATTEMPTS_MAX { Some(self.store().pause().await) } else { None };
            if attempt > 1 {
                match self.store().work(&stored.work.id).await? {
                    Some(present) => stored = present,
                    None => break,
                }
            }
            let rows = self.all_events(&stored.work.id, u64::MAX).await?;
            let present = self.store().work(&stored.work.id).await?;
            let is_same = present.is_some_and(|present| present.work.version == stored.work.version);
            if is_same || attempt >= ATTEMPTS_MAX {
                drop(pause);
                return Ok((stored.clone(), verify(&key, &stored.work, &rows, sealed)));
            }
        }
        // It was pruned meanwhile.
        Ok((stored, Verified::default()))
    }

    async fn verify_artifacts(
        &self,
        id: &WorkId,
        upto: u64,
        report: &mut VerifiedWork,
    ) -> Result<(), ServiceError> {
        for kept in self.all_events(id, upto).await? {
            // What was purged names an artifact that may be gone with it.
            let Some(name) = kept.artifact.filter(|_| kept.body.is_some()) else { continue };
            report.artifacts += 1;
            match self.store().artifact(&name).await? {
                None => report.find(Some(*id), Finding::ArtifactMissing { seq: kept.seq }),
                Some(artifact) if artifact.id != name || unpacked(&artifact).is_none() => {
                    report.find(Some(*id), Finding::ArtifactChanged { seq: kept.seq });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Checks the seals of the present journal one after the other, and gathers what they say of pieces of work.
    async fn verify_seals(
        &self,
        anchors: &[(u64, String)],
        report: &mut VerifiedWork,
    ) -> Result<BTreeMap<WorkId, Claims>, ServiceError> {
        // No seal is made meanwhile.
        let _slot = self.journal().sealed.lock().await;
        let (origin, first, count) = {
            let keyring = lock(&self.journal().keyring);
            (keyring.origin().to_owned(), keyring.first_public(), keyring.seals())
        };
        let seals = self.all_seals(&origin).await?;
        report.seals = seals.len() as u64;
        let mut public = first.unwrap_or_default();
        let (mut log, mut next) = (Log::default(), 0);
        let mut claims: BTreeMap<WorkId, Claims> = BTreeMap::new();
        let mut roots = BTreeMap::from([(0, text::hex(&log.root()))]);
        for seal in &seals {
            for missing in next..seal.number {
                report.find(None, Finding::SealMissing { seal: missing });
            }
            // Behind one that is missing, no root can be right.
            let is_whole = next == seal.number && log.seals() == seal.number;
            let has_root = log.take_in(seal);
            if !seal.is_signed_by(&public) || (is_whole && !has_root) {
                report.find(None, Finding::SealEdited { seal: seal.number });
            }
            next = seal.number + 1;
            public = seal.next.unwrap_or(public);
            roots.insert(log.size(), text::hex(&log.root()));
            for leaf in seal.leaves.iter().filter_map(|leaf| Leaf::parse(leaf)) {
                let claims = claims.entry(leaf.work).or_default();
                claims.heads.insert(leaf.seq, (leaf.head, seal.number));
                claims.pruned = leaf.pruned;
            }
        }
        for missing in next..count {
            report.find(None, Finding::SealMissing { seal: missing });
        }
        for (size, root) in anchors {
            if roots.get(size) != Some(root) {
                report.find(None, Finding::AnchorDiffers { size: *size });
            }
        }
        Ok(claims)
    }
}
