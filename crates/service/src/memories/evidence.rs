//! The exchanges of past sessions that a memory rests on.

use std::collections::BTreeSet;

use crate::{Memories, ServiceError};
use cerebro_core::domain::{ExchangeId, Memory, MemoryId, SessionId, limits::EVIDENCE_MAX};
use cerebro_store::Write;

impl Memories {
    /// The exchanges that a memory rests on: those that somebody named, and those that the claims cite from which it was made.
    ///
    /// # Errors
    /// A failing store.
    pub async fn evidence_of(&self, memory: &MemoryId) -> Result<Vec<ExchangeId>, ServiceError> {
        Ok(self.base.store.citations().of_memory(memory).await?)
    }
}

/// Makes a memory rest on these exchanges and on no others, within its transaction. Returns whether that is a change.
///
/// # Errors
/// [`ServiceError::Invalid`] for more than [`EVIDENCE_MAX`]; [`ServiceError::NoExchange`] names one that is unknown or forgotten.
pub(super) async fn rest_on(
    write: &mut Write<'_>,
    session: &SessionId,
    memory: &Memory,
    exchanges: &[ExchangeId],
) -> Result<bool, ServiceError> {
    let mut wanted = exchanges.to_vec();
    wanted.sort_unstable();
    wanted.dedup();
    if let Some(beyond) = wanted.get(EVIDENCE_MAX) {
        let problem = format!("{} exchanges are given, at most {EVIDENCE_MAX} are kept", wanted.len());
        return Err(ServiceError::invalid("evidence", &beyond.to_string(), problem));
    }
    for id in &wanted {
        if write.exchange_digest(id).await?.is_none() {
            return Err(ServiceError::NoExchange(*id));
        }
    }
    let present: BTreeSet<ExchangeId> =
        write.store().citations().of_memory(&memory.id).await?.into_iter().collect();
    let is_changed = !present.iter().eq(&wanted);
    if is_changed {
        write.cite(memory, &wanted, session);
    }
    Ok(is_changed)
}
