//! The keys (`once`) by which a repetition of an event is recognised within its piece of work.
//!
//! The keys of pieces that are being written are kept in memory, so that the table of events needs no index for them.

use std::collections::BTreeSet;

use cerebro_core::{domain::WorkId, text};
use cerebro_ledger::Work;
use sha2::{Digest, Sha256};

use super::STATES_MAX;
use crate::{Journal, ServiceError, lock};

/// The keys of the events of a piece of work up to one of them: at most 10,000, of some 30 bytes each.
#[derive(Default)]
pub(super) struct Onces {
    upto: u64,
    keys: BTreeSet<u128>,
}

/// The key of an event in its stored form: 32 digits.
pub(super) fn kept_once(work: &WorkId, once: &str) -> String {
    text::hex(&Sha256::digest(format!("{work}\n{once}"))[..16])
}

/// A stored key as a number. Any other text was not written by this program, so no event that it writes has that key.
fn number(once: &str) -> Option<u128> {
    u128::from_str_radix(once, 16).ok()
}

impl Journal {
    /// Which of the asked keys, in their stored form, belong to events up to the one that the row counts last.
    pub(super) async fn known_onces(
        &self,
        work: &Work,
        asked: Vec<String>,
    ) -> Result<BTreeSet<String>, ServiceError> {
        if asked.is_empty() || work.seq == 0 {
            return Ok(BTreeSet::new());
        }
        // It is taken out while its keys are read, so that no other caller sees it incomplete.
        let mut onces = lock(&self.held.onces).remove(&work.id).unwrap_or_default();
        let later = self.base.store.works().onces(&work.id, onces.upto + 1..=work.seq).await?;
        onces.keys.extend(later.iter().filter_map(|once| number(once)));
        onces.upto = onces.upto.max(work.seq);
        let is_known = |once: &String| number(once).is_some_and(|number| onces.keys.contains(&number));
        let known = asked.into_iter().filter(is_known).collect();
        let mut held = lock(&self.held.onces);
        if held.len() >= STATES_MAX {
            held.clear();
        }
        held.insert(work.id, onces);
        Ok(known)
    }
}
