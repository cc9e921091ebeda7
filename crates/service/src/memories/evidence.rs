//! The exchanges of past sessions that a memory rests on.

use std::collections::BTreeSet;

use crate::ServiceError;
use cerebro_core::domain::{ExchangeId, Memory, SessionId, limits::EVIDENCE_MAX};
use cerebro_store::Write;

/// Makes a memory rest on these exchanges and on no others, within its transaction. Returns whether that is a change.
pub(super) async fn rest_on(
    write: &mut Write<'_>,
    session: &SessionId,
    memory: &Memory,
    exchanges: &[ExchangeId],
) -> Result<bool, ServiceError> {
    let wanted = known(write, exchanges).await?;
    let before = present(write, memory).await?;
    let is_changed = before != wanted;
    if is_changed {
        write.cite_alone(memory, &wanted, &before, session);
    }
    Ok(is_changed)
}

/// Makes a memory rest on these exchanges, too, within its transaction.
pub(super) async fn also_rest_on(
    write: &mut Write<'_>,
    session: &SessionId,
    memory: &Memory,
    exchanges: &[ExchangeId],
) -> Result<(), ServiceError> {
    let mut added = known(write, exchanges).await?;
    let present = present(write, memory).await?;
    added.retain(|id| !present.contains(id));
    if !added.is_empty() {
        write.cite(memory, &Vec::from_iter(added), session);
    }
    Ok(())
}

/// These exchanges, each once.
///
/// # Errors
/// [`ServiceError::Invalid`] for more than [`EVIDENCE_MAX`]; [`ServiceError::NoExchange`] names one that is unknown or forgotten.
async fn known(write: &Write<'_>, exchanges: &[ExchangeId]) -> Result<BTreeSet<ExchangeId>, ServiceError> {
    let given: BTreeSet<ExchangeId> = exchanges.iter().copied().collect();
    if let Some(beyond) = given.iter().nth(EVIDENCE_MAX) {
        let problem = format!("{} exchanges are given, at most {EVIDENCE_MAX} are kept", given.len());
        return Err(ServiceError::invalid("evidence", &beyond.to_string(), problem));
    }
    for id in &given {
        if write.exchange_digest(id).await?.is_none() {
            return Err(ServiceError::NoExchange(*id));
        }
    }
    Ok(given)
}

/// What a memory rests on before this commit.
async fn present(write: &Write<'_>, memory: &Memory) -> Result<BTreeSet<ExchangeId>, ServiceError> {
    Ok(write.store().citations().of_memory(&memory.id).await?.into_iter().collect())
}
