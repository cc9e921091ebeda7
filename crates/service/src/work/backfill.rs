//! The second source: what hooks did not report of a session comes from its transcript. What both report is one event.

use std::time::Duration;

use cerebro_core::domain::{SessionId, Timestamp};
use cerebro_core::redact::redact_text;
use cerebro_ledger::{Ending, Entry, Step, limits, work::session_name};
use cerebro_store::StoredWork;

use super::{
    Actor, Happening, LOCAL_OWNER, Target,
    draft::says,
    once::kept_once,
    reported::{self, Reported},
    words::Reporter,
};
use crate::{Caller, Journal, ServiceError};
use cerebro_transcript::{Batch, Counts, State};

/// How long a hook's report may still be under way.
const UNDER_WAY: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);
/// How far a prompt's time in the journal may be from that in the transcript.
const SAME_TIME: jiff::SignedDuration = jiff::SignedDuration::from_secs(10);
/// How many of the last events are looked at for a prompt's words.
const LOOKED_AT: u64 = 500;
/// Most events that one reading of a transcript adds. The rest is recorded as a gap.
const ADDED_MAX: usize = 512;

/// What a reading of a transcript reports about a session.
pub(crate) struct Reading {
    session: String,
    reports: Vec<Reported>,
    /// Records that could not be read since the reading before, and all of them.
    unread: (u64, u64),
}

impl Reading {
    /// What a batch reports, if its agent gives its calls ids. `before` is how far its source was read until then.
    pub fn of(batch: &Batch, before: Option<&State>) -> Option<Self> {
        if !reported::names_its_calls(batch.session.agent) || batch.exchanges.is_empty() {
            return None;
        }
        let lost = |counts: &Counts| counts.malformed + counts.oversized;
        let all = lost(&batch.counts);
        // A sub-agent's calls belong to its parent's session, as the hooks report them.
        let session = batch.session.id.split('/').next().unwrap_or_default().to_owned();
        let unread = (all.saturating_sub(before.map_or(0, |before| lost(&before.counts))), all);
        Some(Self { session, reports: reported::of_exchanges(batch.session.agent, &batch.exchanges), unread })
    }
}

impl Journal {
    /// Adds to a session's piece of work what its hooks did not report, as far as its transcript has it. If hooks
    /// should have reported it, a gap records that. A session without any report of a hook has no piece of work and
    /// gets none, and a session that a person forgot gets nothing back.
    pub(crate) async fn fill(&self, reading: Reading) -> Result<(), ServiceError> {
        let Reading { session, mut reports, unread } = reading;
        if self.held.retention.is_none() {
            return Ok(());
        }
        let Ok(id) = SessionId::parse(&session) else { return Ok(()) };
        let Some(stored) = self.base.store.works().by_name(&session_name(LOCAL_OWNER, id.as_str())).await?
        else {
            return Ok(());
        };
        let work = &stored.work;
        if work.key_id != self.held.key_id || work.seq + 2 * limits::BATCH_MAX as u64 > limits::EVENTS_MAX {
            return Ok(());
        }
        // What was forgotten is not missing: of a prompt that a hook reported, only its time may be left.
        let forgotten = self.base.store.history().forgotten_texts().await?;
        reports.retain(|report| !says(&report.step, &forgotten));
        let (since, until) = (work.created_at, self.base.now());
        reports.retain(|report| report.at.is_some_and(|at| at >= since && at <= until));
        // The hook's report of what has just happened may still be under way.
        let settled = until.checked_sub(UNDER_WAY).unwrap_or(Timestamp::MIN);
        if reports.iter().any(|report| report.at.is_some_and(|at| at > settled)) {
            tokio::time::sleep(UNDER_WAY.unsigned_abs()).await;
        }
        let mut missing = self.unreported(&stored, reports).await?;
        let beyond = missing.split_off(missing.len().min(ADDED_MAX)).len() as u64;
        let mut happenings = with_gaps(missing, (unread.0 + beyond, unread.1), self.base.now());
        let actor = Actor {
            owner: work.owner.clone(),
            agent: work.agent.clone(),
            session: Some(id.clone()),
            project: work.project.clone(),
            directory: None,
        };
        for one in &mut happenings {
            one.by = Reporter::Transcript;
        }
        for batch in happenings.chunks(limits::BATCH_MAX) {
            match self.append(&actor, Target::Work(work.id), batch.to_vec()).await {
                // A person had the session forgotten.
                Ok(appended) if appended.work.is_none() && !appended.degraded => return Ok(()),
                Ok(_) => {}
                // The piece of work is full by now, or gone.
                Err(ServiceError::Invalid { .. } | ServiceError::NoWork(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if happenings.is_empty() {
            return Ok(());
        }
        // What a session had begun at its end may have been the last that was open.
        let caller =
            Caller { project: actor.project.clone(), agent: actor.agent.clone(), person: false, session: id };
        Box::pin(self.close_if_over(&caller, &actor)).await
    }

    /// What is not in the journal yet, and whether no hook reported any of it.
    async fn unreported(
        &self,
        stored: &StoredWork,
        reports: Vec<Reported>,
    ) -> Result<Vec<(Reported, bool)>, ServiceError> {
        let work = &stored.work;
        let names = |report: &Reported| -> Vec<String> {
            // The key under which the same call is recorded before its outcome is known.
            let open = report.once.as_deref().and_then(|once| match &report.step {
                Step::Called { .. } => Some(format!("started:{}", once.strip_prefix("called:")?)),
                _ => Some(format!("ran?:{}", once.strip_prefix("ran:")?)),
            });
            report.once.iter().chain(&open).map(|once| kept_once(&work.id, once)).collect()
        };
        let known = self.known_onces(work, reports.iter().flat_map(names).collect()).await?;
        let after = work.seq.saturating_sub(LOOKED_AT);
        let last = self.base.store.works().events(&work.id, after + 1..=work.seq).await?;
        let asked: Vec<(Timestamp, String)> = last.iter().map(Entry::from).filter_map(asked).collect();
        let newest = reports.iter().rposition(|report| is_asked(&asked, report));
        let missing = reports.into_iter().enumerate().filter_map(|(n, report)| match &report.step {
            // A prompt before one that is in the journal is left out: it would pass for the latest request.
            Step::Prompt { .. } => {
                let is_news = newest.is_none_or(|newest| n > newest) && work.outcome.is_none();
                is_news.then_some((report, true))
            }
            _ => {
                let names = names(&report);
                let is_known = names.first().is_some_and(|once| known.contains(once));
                let is_open = names.get(1).is_some_and(|once| known.contains(once));
                // No hook reports a call that was refused, or one of another server.
                let by_hooks = match &report.step {
                    Step::TurnFailed { .. } | Step::Called { .. } => false,
                    Step::Started { tool, .. } => tool != reported::SERVER_TOOL,
                    _ => true,
                };
                // Of a call of another server that has ended, only an end of what is recorded as begun matters.
                let is_due = match &report.step {
                    Step::Called { ending, .. } => is_open || *ending == Ending::Interrupted,
                    _ => true,
                };
                (is_due && !is_known).then_some((report, by_hooks && !is_open))
            }
        });
        Ok(missing.collect())
    }
}

/// A prompt of the journal.
fn asked(entry: Entry) -> Option<(Timestamp, String)> {
    match entry.step {
        Some(Step::Prompt { text }) => Some((entry.happened, text)),
        _ => None,
    }
}

/// Whether a prompt was reported: with the same text, or at the same time with the hook's form of the text.
fn is_asked(asked: &[(Timestamp, String)], report: &Reported) -> bool {
    let Step::Prompt { text } = &report.step else { return false };
    let words = redact_text(text).value;
    let is_near =
        |at: Timestamp| report.at.is_some_and(|report| report.duration_since(at).abs() <= SAME_TIME);
    asked.iter().any(|(at, known)| known == words.as_str() || is_near(*at))
}

/// The steps to add, after those about gaps.
fn with_gaps(missing: Vec<(Reported, bool)>, (unread, all): (u64, u64), now: Timestamp) -> Vec<Happening> {
    let mut happenings = Vec::new();
    let unreported: Vec<&Reported> =
        missing.iter().filter(|(_, is_unreported)| *is_unreported).map(|(report, _)| report).collect();
    if let (Some(first), Some(last)) = (unreported.first(), unreported.last()) {
        let reason = "hooks did not tell of these; they come from the transcript".to_owned();
        let (from, to) = (first.at.unwrap_or(now), last.at.unwrap_or(now));
        let step = Step::Gap { from, to, count: Some(unreported.len() as u64), reason, filled: true };
        let once = first.once.as_ref().map(|once| format!("gap:{once}"));
        happenings.push(Happening { once, ..Happening::from(step) });
    }
    if unread > 0 {
        let reason = "records of the transcript could not be taken in".to_owned();
        let step = Step::Gap { from: now, to: now, count: Some(unread), reason, filled: false };
        happenings
            .push(Happening { once: Some(format!("gap:unread:{all}:{unread}")), ..Happening::from(step) });
    }
    happenings.extend(missing.into_iter().map(|(Reported { at, step, once }, _)| {
        let ago = at.and_then(|at| Duration::try_from(now.duration_since(at)).ok()).unwrap_or_default();
        Happening { once, ago, ..Happening::from(step) }
    }));
    happenings
}
