//! Operations for the screens of `cerebro tui` and the pages of `cerebro web`, in addition to those of the commands.

use std::time::Duration;

use super::prelude::*;
use super::{
    arguments::{Arguments, DayEdge},
    context::Context,
    freshness,
    rows::{entry_row, marks_beside, memory_row, session_row},
};
use crate::answer::{
    Outcome, daemon,
    memories::{self, Activity, Browsed, Day, Marks, Page},
    sessions,
};
use cerebro_core::domain::{Memory, MemoryId, SessionId, Timestamp, limits::CONTENT_BYTES_MAX};
use cerebro_service::{Entry, Footing, Pair, Pairs, Selection, Service, SessionContents};

/// Most memories of a page.
const PAGE_MAX: usize = 500;
/// Most entries of a session in one answer.
const SESSION_ENTRIES_MAX: usize = 500;
/// Most calls in one answer.
const CALLS_MAX: usize = 1_000;
/// Most pairs in one answer, and the highest position in their list.
const PAIRS_MAX: usize = 200;
const PAIRS_OFFSET_MAX: usize = 1_000;
/// Longest part of a text in a pair, in bytes.
const PAIR_BYTES: usize = 1_200;
/// Longest wait for a call, in milliseconds.
const WAIT_MS_MAX: usize = 20_000;

/// The connected clients.
pub(super) fn clients(context: &Context) -> daemon::Clients {
    daemon::Clients { clients: context.live().clients() }
}

/// The calls after a number. If there is none yet, waits for one.
pub(super) async fn calls(context: &Context, arguments: &mut Arguments) -> AnswerTo<of::Live> {
    let after = arguments.count("after")?.unwrap_or(0) as u64;
    let limit = arguments.clamped("limit", 100, 1..=CALLS_MAX)?;
    let wait = arguments.clamped("wait_ms", 0, 0..=WAIT_MS_MAX)?;
    let stop = context.control().stopping();
    tokio::select! {
        () = context.live().wait(after) => {}
        () = tokio::time::sleep(Duration::from_millis(wait as u64)) => {}
        () = stop.cancelled() => {}
    }
    let mut answer = context.live().after(after, limit);
    if let Some(service) = context.opened() {
        name_stored(&service, &mut answer.calls).await;
    }
    Ok(answer)
}

/// Removes the ids of sessions that are not stored, because nothing was written in them. They have no page.
async fn name_stored(service: &Service, calls: &mut [daemon::Call]) {
    let id = |call: &daemon::Call| SessionId::parse(call.session_id.raw()).ok();
    let mut ids: Vec<SessionId> = calls.iter().filter_map(id).collect();
    ids.sort_unstable();
    ids.dedup();
    // If the store fails, no session can be shown either.
    let stored = service.sessions.stored(&ids).await.unwrap_or_default();
    for call in calls {
        if id(call).is_none_or(|id| !stored.contains(&id)) {
            call.session_id = Text::default();
        }
    }
}

pub(super) async fn browse(call: &mut Call) -> AnswerTo<of::Browse> {
    let arguments = &mut call.arguments;
    let selection = Selection {
        project: arguments.project()?,
        scope: arguments.scope()?,
        kind: arguments.kind()?,
        deleted: arguments.flag(&["deleted"])?,
        ..Selection::default()
    };
    let offset = arguments.count("offset")?.unwrap_or(0);
    let limit = arguments.clamped("limit", 100, 1..=PAGE_MAX)?;
    let (memories, total) = call.service.recall.browse(&selection, offset, limit).await?;
    let footings: Vec<Footing> = memories.iter().map(Footing::from).collect();
    let mut marks = call.service.recall.marks(&footings).await?;
    let places: Vec<_> = memories.iter().map(|memory| (memory.id, &memory.scope)).collect();
    freshness::mark(call, &places, &mut marks).await?;
    let now = call.now();
    let row = |memory: &Memory| Browsed {
        row: memory_row(memory),
        origin: memory.taint.origin.as_str().into(),
        marks: Marks {
            expired: memory.valid.is_over(now),
            ..marks_beside(marks.get(&memory.id).map_or(&[], Vec::as_slice))
        },
    };
    Ok(Page { memories: memories.iter().map(row).collect(), total: total as u64 })
}

pub(super) async fn activity(call: &mut Call) -> AnswerTo<of::Activity> {
    let now = call.now();
    let project = call.arguments.project()?;
    let until = call.arguments.moment("until", now, DayEdge::End)?.unwrap_or(now);
    let month = jiff::SignedDuration::from_hours(30 * 24);
    let since = call.arguments.moment("since", now, DayEdge::Start)?;
    let since = since.unwrap_or_else(|| until.saturating_sub(month).unwrap_or(Timestamp::MIN));
    let days = call.service.recall.activity(project.as_ref(), since, until).await?;
    let days = days.iter().map(|(day, saves)| Day { date: Text::of(day), saves: *saves as u64 });
    Ok(Activity { days: days.collect() })
}

pub(super) async fn session_contents(call: &mut Call) -> AnswerTo<of::Story> {
    let Some(id) = call.arguments.session_id("session_id")? else {
        return Err(
            ArgumentError::new("session_id", None, "it is missing; `cerebro sessions` shows ids").into()
        );
    };
    let after = call.arguments.moment("after", call.now(), DayEdge::Start)?.unwrap_or(Timestamp::MIN);
    let limit = call.arguments.clamped("limit", 100, 1..=SESSION_ENTRIES_MAX)?;
    let bytes = call.arguments.clamped("prompt_bytes", 0, 0..=CONTENT_BYTES_MAX)?;
    let SessionContents { session, entries, prompts, more } =
        call.service.recall.session_contents(&id, after, limit).await?;
    // At full precision, because one second may have many entries.
    let next = entries.last().filter(|_| more).map(|last| Text::of(last.at));
    let row_of = |entry: &Entry| {
        let prompt = prompts.get(&entry.id).filter(|_| bytes > 0);
        sessions::Entry {
            content: prompt.map(|prompt| text::cut_bytes(prompt, bytes).into()),
            content_bytes: prompt.map(|prompt| prompt.len() as u64),
            ..entry_row(entry)
        }
    };
    Ok(sessions::Story {
        session: session.as_ref().map(session_row),
        entries: entries.iter().map(row_of).collect(),
        more,
        next,
    })
}

/// Pairs of memories that the worker found: one with a claim about the other, or two with nearly the same text.
pub(super) async fn pairs(call: &mut Call) -> AnswerTo<of::Pairs> {
    let which = [("claims", Pairs::Claims), ("twins", Pairs::Twins)];
    let which = call.arguments.choice("which", &which)?.unwrap_or(Pairs::Claims);
    let limit = call.arguments.clamped("limit", 50, 1..=PAIRS_MAX)?;
    let offset = call.arguments.clamped("offset", 0, 0..=PAIRS_OFFSET_MAX)?;
    let pairs = call.service.recall.pairs(which, offset, limit + 1).await?;
    Ok(memories::Pairs {
        pairs: pairs.iter().take(limit).map(pair_row).collect(),
        more: (pairs.len() > limit).then_some(true),
    })
}

/// Records that both memories of a pair hold, in the revisions that the person read.
pub(super) async fn settle(call: &mut Call) -> AnswerTo<of::Settle> {
    let first = end(&mut call.arguments, "first", "first_revision")?;
    let second = end(&mut call.arguments, "second", "second_revision")?;
    call.service.recall.settle_pair([first, second]).await?;
    Ok(Outcome { outcome: "settled".into() })
}

/// One memory of a pair, with the revision that was read.
fn end(
    arguments: &mut Arguments,
    id: &'static str,
    revision: &'static str,
) -> Result<(MemoryId, u32), ArgumentError> {
    let given = arguments.needed(id)?;
    let memory = MemoryId::parse(&given).map_err(ArgumentError::unread(id, &given))?;
    let read = arguments.revision(revision)?;
    let missing = || ArgumentError::new(revision, None, "it is missing: name the revision that was read");
    Ok((memory, read.ok_or_else(missing)?))
}

fn pair_row(pair: &Pair) -> memories::Pair {
    let side = |memory: &Memory| memories::Side {
        row: memory_row(memory),
        content: text::cut_bytes(&memory.content, PAIR_BYTES).into(),
    };
    let relation = &pair.relation;
    memories::Pair {
        kind: Text::from(&relation.kind),
        weight: relation.weight,
        evidence: relation.evidence.as_ref().map(Text::from),
        model: relation.model.as_ref().map(Text::from),
        from: side(&pair.from),
        to: side(&pair.to),
    }
}
