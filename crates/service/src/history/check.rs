//! The check of `cerebro doctor`: every row of history can be read, sessions count their exchanges, candidates cite
//! exchanges that exist, no vector belongs to an exchange that is gone, and the index has exactly these.

use std::collections::{BTreeMap, HashSet};

use crate::{History, ServiceError, check::Check, index::Evidence};
use cerebro_core::domain::{CandidateState, ExchangeId, SessionId, SubjectId};
use cerebro_core::text;
use cerebro_store::PAGE;

const NAME: &str = "history";

impl History {
    /// Checks history, and rebuilds its index if `fix` is set.
    pub(crate) async fn checked(&self, fix: bool) -> Result<Check, ServiceError> {
        if !self.evidence.has(Evidence::History).await? {
            return Ok(Check::sound(NAME, "there is none"));
        }
        let kept = match self.history_roll().await? {
            Ok(kept) => kept,
            Err(words) => return Ok(Check::failed(NAME, words)),
        };
        if let Some(words) = self.candidates_differ(&kept).await? {
            return Ok(Check::failed(NAME, words));
        }
        let ghosts = self.ghost_vectors(&kept).await?;
        if !ghosts.is_empty() {
            let vectors = text::counted(ghosts.len(), "vector");
            let check = Check::repairable(NAME, format!("{vectors} of exchanges that are not there"));
            if !fix {
                return Ok(check);
            }
            self.base.store.exchange_vectors().remove(&ghosts).await?;
            return Ok(check.repaired());
        }
        self.evidence.checked(Evidence::History, &kept, fix).await
    }

    /// The exchanges that have a vector and do not exist.
    async fn ghost_vectors(&self, kept: &HashSet<SubjectId>) -> Result<Vec<ExchangeId>, ServiceError> {
        let mut ghosts = Vec::new();
        for model in self.base.store.models().all().await? {
            let mut after = None;
            loop {
                let page = self.base.store.exchange_vectors().page(&model, after.as_ref(), PAGE).await?;
                let Some((last, _)) = page.last() else { break };
                after = Some(*last);
                let ids = page.into_iter().map(|(id, _)| id);
                ghosts.extend(ids.filter(|id| !kept.contains(&SubjectId::from(*id))));
            }
        }
        Ok(ghosts)
    }

    /// Reads each row and text. Returns the id of every exchange, or the fault.
    async fn history_roll(&self) -> Result<Result<HashSet<SubjectId>, String>, ServiceError> {
        let mut kept: HashSet<SubjectId> = HashSet::new();
        let mut counted: BTreeMap<SessionId, u32> = BTreeMap::new();
        let mut pages = self.base.store.exchanges().walk();
        while let Some(page) = pages.next().await? {
            for full in self.base.store.exchanges().with_texts(page).await? {
                let sealed = full.clone().sealed().exchange.digest;
                if sealed != full.exchange.digest {
                    let words = format!("the text of exchange `{}` is not what was kept", full.exchange.id);
                    return Ok(Err(format!("{words}. Restore a backup from before")));
                }
                kept.insert(full.exchange.id.into());
                *counted.entry(full.exchange.session).or_default() += 1;
            }
        }
        let mut pages = self.base.store.past_sessions().walk();
        while let Some(page) = pages.next().await? {
            for session in page {
                let found = counted.remove(&session.id).unwrap_or(0);
                if found != session.exchanges {
                    let full = session.exchanges;
                    return Ok(Err(format!(
                        "session `{}` has {found} exchanges, and its row counts {full}",
                        session.id
                    )));
                }
            }
        }
        Ok(match counted.keys().next() {
            None => Ok(kept),
            Some(session) => Err(format!("session `{session}` of exchanges is not there")),
        })
    }

    /// A fault of the candidates: each must cite exchanges that exist, and name the memory that it became.
    async fn candidates_differ(&self, kept: &HashSet<SubjectId>) -> Result<Option<String>, ServiceError> {
        let mut pages = self.base.store.candidates().walk();
        while let Some(page) = pages.next().await? {
            for candidate in page {
                let is_missing = |id: &ExchangeId| !kept.contains(&SubjectId::from(*id));
                let mut cited = candidate.evidence.iter().map(|evidence| evidence.exchange);
                if let Some(missing) = cited.find(is_missing) {
                    let id = candidate.id;
                    return Ok(Some(format!(
                        "candidate `{id}` cites exchange `{missing}`, which is not there"
                    )));
                }
                let has_memory = candidate.memory.is_some();
                if has_memory != (candidate.state == CandidateState::Accepted) {
                    let (id, state) = (candidate.id, candidate.state.as_str());
                    return Ok(Some(format!("candidate `{id}` is {state}, and its memory says otherwise")));
                }
            }
        }
        Ok(None)
    }
}
