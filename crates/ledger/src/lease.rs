//! Leases of pieces of work, with fencing.
//!
//! Each lease of a new holder raises the fence. What an earlier holder writes after that is late until it takes the
//! lease again, even if the later holder has let go or its lease has ended. A writer that never had a lease has no
//! fence, and is late only while another one holds the piece of work. The caller passes in the time.

use cerebro_core::domain::Timestamp;

use crate::{Lease, State, Step, Work};

/// Takes the lease of a piece of work until a moment, or renews it. Returns the step to record for a new holder; a
/// renewal has none.
///
/// # Errors
/// The present holder, if it is somebody else and this one does not take over.
pub fn take(
    work: &mut Work,
    me: &str,
    (now, until): (Timestamp, Timestamp),
    takeover: bool,
) -> Result<Option<Step>, String> {
    let holder = work.holder(now).map(str::to_owned);
    match holder {
        Some(other) if other != me && !takeover => return Err(other),
        Some(holder) if holder == me => {
            work.lease = Some(Lease { holder, until });
            return Ok(None);
        }
        _ => {}
    }
    let from = work.lease.take().map(|lease| lease.holder).filter(|from| from != me);
    work.fence += 1;
    work.lease = Some(Lease { holder: me.to_owned(), until });
    Ok(Some(Step::Claimed { holder: me.to_owned(), fence: work.fence, until, from }))
}

/// Releases a piece of work. Returns no step if somebody else holds it.
pub fn release(work: &mut Work, me: &str) -> Option<Step> {
    work.lease.take_if(|lease| lease.holder == me)?;
    Some(Step::Released { holder: me.to_owned(), fence: work.fence })
}

/// Whether an event of this writer is late: another one holds the piece of work, or has taken its lease since.
pub fn is_late(work: &Work, state: &State, me: &str, now: Timestamp) -> bool {
    let fence = state.holders.iter().find(|one| one.holder == me).map(|one| one.fence);
    work.holder(now).is_some_and(|holder| holder != me) || fence.is_some_and(|fence| fence < work.fence)
}

/// Extends the lease of the present holder, at least until a moment. Any activity of the holder does this.
pub fn renew(work: &mut Work, me: &str, until: Timestamp) {
    if let Some(lease) = &mut work.lease
        && lease.holder == me
        && lease.until < until
    {
        lease.until = until;
    }
}
