//! Checks memories about code against the client's checkout.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::prelude::*;
use crate::answer::health::Stale;
use crate::checkout::{Checkout, FILES_MAX, VERDICTS_WAIT, Verdicts};
use cerebro_anchors::{ANCHORS_MAX, Anchor, Verdict};
use cerebro_core::domain::{Memory, MemoryId, Scope};
use cerebro_service::{Gathered, Mark, MarkDetail, Marks, Service, ServiceError, Updated};
use cerebro_store::StoreError;

/// How long examining a client's folder may take if no caller waits for it.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// How long a context waits for the client's workplace.
const PLACE_WAIT: Duration = Duration::from_millis(100);
/// Longest mark of this kind, in characters.
const MARK_CHARS_MAX: usize = 100;
/// Most memories that wait for their anchors.
const WAITING_MAX: usize = 64;

/// How long checking all memories of a project may take, if a caller asks for that.
pub(super) const TALLY_MAX: Duration = Duration::from_secs(3);
/// Most stale memories that are named.
const NAMED_MAX: usize = 20;

static WAITING: Semaphore = Semaphore::const_new(WAITING_MAX);

/// The client's checkout, if the memory belongs to its project.
fn checkout_of(call: &Call, memory: &Memory) -> Option<Arc<Checkout>> {
    call.connection.checkout().filter(|_| memory.scope.is_of(call.connection.project())).cloned()
}

/// When a memory is tied to the code as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tying {
    /// In any case: its text is new, or verified.
    Anew,
    /// If it is not tied yet: its text is an earlier one, and nobody said that it still fits.
    IfLoose,
}

/// Ties a memory to the code to which it refers, in the background: saving does not wait for it.
pub(super) fn tie_later(call: &Call, memory: &Memory, tying: Tying) {
    let Some(checkout) = checkout_of(call, memory) else { return };
    let Ok(place) = WAITING.try_acquire() else {
        tracing::debug!(memory = %memory.id, "too many memories wait for their anchors");
        return;
    };
    let (service, memory) = (call.service.clone(), memory.clone());
    tokio::spawn(async move {
        let _place = place;
        match tie(&service, &checkout, &memory, tying).await {
            // The daemon is asked to end, which is no fault.
            Ok(_) | Err(ServiceError::Store(StoreError::Closed)) => {}
            Err(error) => {
                tracing::warn!(%error, memory = %memory.id, "cannot tie a memory to the code to which it refers");
            }
        }
    });
}

/// Ties a memory to the code to which it refers, as it is now. Returns the number of new anchors.
async fn tie(
    service: &Service,
    checkout: &Arc<Checkout>,
    memory: &Memory,
    tying: Tying,
) -> Result<usize, ServiceError> {
    if tying == Tying::IfLoose && !is_loose(service, memory).await? {
        return Ok(0);
    }
    let Some(anchors) = checkout.anchors(memory, LOOK_MAX).await else { return Ok(0) };
    // Without anchors before and after, there is nothing to write.
    if anchors.is_empty() && (tying == Tying::IfLoose || is_loose(service, memory).await?) {
        return Ok(0);
    }
    service.recall.anchor(&memory.id, memory.revision, &anchors).await?;
    Ok(anchors.len())
}

/// Whether a memory has no anchors.
async fn is_loose(service: &Service, memory: &Memory) -> Result<bool, ServiceError> {
    Ok(service.recall.anchors(&[memory.id]).await?.is_empty())
}

/// Ties an updated memory to the code again. If somebody verified it, at once, and the reply says the number of
/// anchors; if its text changed, in the background. Another change leaves its anchors as they were.
pub(super) async fn of_update(
    call: &Call,
    updated: &Updated,
    verified: bool,
    reply: Reply,
) -> Result<Reply, Fault> {
    if !verified {
        if updated.changed {
            let tying = if updated.rewritten { Tying::Anew } else { Tying::IfLoose };
            tie_later(call, &updated.memory, tying);
        }
        return Ok(reply);
    }
    let anchors = match checkout_of(call, &updated.memory) {
        Some(checkout) => tie(&call.service, &checkout, &updated.memory, Tying::Anew).await?,
        None => 0,
    };
    Ok(reply.fact("verified", anchors).line(format!("verified against {anchors} places in the code")))
}

/// Adds marks to the memories whose code has changed. Waits for at most [`VERDICTS_WAIT`].
pub(super) async fn mark(
    call: &Call,
    memories: &[(MemoryId, &Scope)],
    marks: &mut Marks,
) -> Result<(), Fault> {
    for (id, mark) in stale_marks(call, memories).await? {
        marks.entry(id).or_default().push(mark);
    }
    Ok(())
}

/// A context with the same marks, and with the prospective memories that are due where the client works.
pub(super) async fn marked(call: &Call, mut gathered: Gathered) -> Result<Gathered, Fault> {
    if gathered.depends_on_place()
        && let Some(checkout) = call.connection.checkout()
        && let Some(place) = checkout.workplace(PLACE_WAIT).await
    {
        gathered.at(&place);
    }
    let memories: Vec<_> = gathered.memories().map(|memory| (memory.id, &memory.scope)).collect();
    for (id, mark) in stale_marks(call, &memories).await? {
        gathered.mark(id, mark);
    }
    Ok(gathered)
}

async fn stale_marks(call: &Call, memories: &[(MemoryId, &Scope)]) -> Result<Vec<(MemoryId, Mark)>, Fault> {
    let verdicts = verdicts(call, memories, VERDICTS_WAIT).await?;
    let mark = |words| Mark::new("stale", MarkDetail::Words(words));
    Ok(verdicts.into_iter().filter_map(|(id, found)| Some((id, mark(stale(&found)?)))).collect())
}

/// Adds the verdicts on a memory's anchors to an answer about it.
pub(super) async fn add_verdicts(call: &Call, memory: &Memory, reply: Reply) -> Result<Reply, Fault> {
    let found = verdicts(call, &[(memory.id, &memory.scope)], LOOK_MAX).await?;
    let Some((_, found)) = found.into_iter().next() else { return Ok(reply) };
    let facts = found.iter().map(|(anchor, verdict)| fact(anchor, *verdict)).collect();
    let lines = found.iter().map(|(anchor, verdict)| format!("- {verdict} {anchor}"));
    Ok(reply
        .fact("stale", stale(&found))
        .line("")
        .line("code it speaks of, here and now:")
        .lines(lines)
        .list("anchors", facts))
}

/// Checks the memories of the caller's project against its checkout; `None` without a checkout or without anchors.
/// Takes at most `bound`.
pub(super) async fn tally(call: &Call, bound: Duration) -> Result<Option<Stale>, Fault> {
    let Some(checkout) = call.connection.checkout() else { return Ok(None) };
    let anchored = call.service.recall.anchored(call.connection.project()).await?;
    let begun = Instant::now();
    let mut tally = Stale::default();
    for some in anchored.chunks(FILES_MAX / ANCHORS_MAX) {
        let left = bound.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        for (id, found) in checkout.verdicts(some.to_vec(), left).await {
            tally.of += 1;
            if stale(&found).is_some() {
                tally.memories += 1;
                tally.ids.push(Text::of(id));
            }
        }
    }
    tally.ids.sort();
    tally.ids.truncate(NAMED_MAX);
    Ok((tally.of > 0).then_some(tally))
}

fn fact(anchor: &Anchor, verdict: Verdict) -> Value {
    let mut fact = json!({ "path": anchor.path, "verdict": verdict.as_str() });
    if let Some(symbol) = &anchor.symbol {
        fact["symbol"] = json!(symbol.name);
    }
    fact
}

/// The verdicts on the anchors of those among some memories that belong to the project of the client's checkout.
async fn verdicts(call: &Call, memories: &[(MemoryId, &Scope)], bound: Duration) -> Result<Verdicts, Fault> {
    let Some(checkout) = call.connection.checkout() else { return Ok(Verdicts::new()) };
    let is_here = |(_, scope): &&(MemoryId, &Scope)| scope.is_of(call.connection.project());
    let ids: Vec<MemoryId> = memories.iter().filter(is_here).map(|(id, _)| *id).collect();
    let anchored = call.service.recall.anchors(&ids).await?;
    Ok(if anchored.is_empty() { Verdicts::new() } else { checkout.verdicts(anchored, bound).await })
}

/// The description of the worst verdict: `changed src/a.rs:f`.
fn stale(found: &[(Anchor, Verdict)]) -> Option<String> {
    let stale = || found.iter().filter(|(_, verdict)| verdict.is_stale());
    let (anchor, verdict) = stale().min_by_key(|(_, verdict)| *verdict)?;
    let words = format!("{verdict} {anchor}");
    let words = text::cut_chars(&text::inert(&words), MARK_CHARS_MAX).into_owned();
    Some(match stale().count() {
        1 => words,
        more => format!("{words} +{}", more - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_anchors::anchors_in;

    #[test]
    fn the_worst_is_named_shortly() {
        let long = format!("src/{}.rs", "é".repeat(200));
        let anchors = |path: &str| anchors_in(path, b"fn one() {}", &["one".to_owned()], &mut || true);
        let [one] = anchors("src/<a>.rs").try_into().unwrap();
        let [other] = anchors(&long).try_into().unwrap();
        let mark =
            |verdicts: [Verdict; 2]| stale(&[(one.clone(), verdicts[0]), (other.clone(), verdicts[1])]);
        assert_eq!(mark([Verdict::Fresh, Verdict::Moved]), None);
        assert_eq!(mark([Verdict::Changed, Verdict::Unknown]).as_deref(), Some("changed src/‹a›.rs:one"));
        let gone = mark([Verdict::Changed, Verdict::Gone]).unwrap();
        assert!(gone.starts_with("gone src/é") && gone.ends_with(" +1"), "{gone}");
        assert!(gone.chars().count() <= MARK_CHARS_MAX + 3, "{gone}");
    }
}
