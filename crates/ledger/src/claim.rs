//! Who holds a piece of work: leases with fences.
//!
//! A claim is a lease. Each that goes to somebody else raises the fence, and what an earlier holder writes after that is
//! late, until it claims again: also when the later one has let go or its lease has ended. Somebody who never claimed has
//! no fence, and is late only while another one holds it. Whoever asks says what time it is.

use cerebro_core::domain::Timestamp;

use crate::{Lease, State, Step, Work};

/// Claims a piece of work until a moment, or renews the claim. What is told is the event of a claim that went to
/// somebody new; a renewal is none.
///
/// # Errors
/// Who holds it, where that is somebody else and it is not taken over.
pub fn claim(
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

/// Lets go of a piece of work; nothing is told where somebody else holds it.
pub fn release(work: &mut Work, me: &str) -> Option<Step> {
    work.lease.take_if(|lease| lease.holder == me)?;
    Some(Step::Released { holder: me.to_owned(), fence: work.fence })
}

/// Whether what somebody writes now is late: another one holds the work, or has claimed it since.
pub fn is_late(work: &Work, state: &State, me: &str, now: Timestamp) -> bool {
    let fence = state.claims.iter().find(|claim| claim.holder == me).map(|claim| claim.fence);
    work.holder(now).is_some_and(|holder| holder != me) || fence.is_some_and(|fence| fence < work.fence)
}

/// Any activity of its holder keeps a claim, at least until a moment.
pub fn renew(work: &mut Work, me: &str, until: Timestamp) {
    if let Some(lease) = &mut work.lease
        && lease.holder == me
        && lease.until < until
    {
        lease.until = until;
    }
}
