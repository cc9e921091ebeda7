//! Unfinished work of a session that is known from its transcript only: no hook or tool reported it.

use std::time::Duration;

use crate::{Recall, ServiceError, index::Evidence};
use cerebro_core::domain::{Exchange, PastSession, Project, Proven, SessionId, left_to_do};
use cerebro_core::redact::RedactedText;

/// How many of a project's latest past sessions are examined.
const SESSIONS_MAX: usize = 5;
/// How many of a session's last exchanges are examined.
const EXCHANGES_MAX: usize = 40;
/// A session that ended longer ago is not offered.
const STALE: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// A session that was written to more recently may still be under way.
const UNDER_WAY: Duration = Duration::from_secs(30 * 60);
/// Most things to do that are shown.
const TO_DO_MAX: usize = 5;

/// Unfinished work.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeftOff {
    pub session: PastSession,
    /// What it still had to do; empty if it was interrupted.
    pub to_do: Vec<RedactedText>,
    /// Its last exchange with a prompt.
    pub last: Exchange,
}

impl Recall {
    /// The last unfinished session of a project that is known from its transcript only: it had things to do, or the person
    /// interrupted it. Sessions without a person do not count, nor those whose agent has finished a later one.
    pub(crate) async fn left_off_in_history(
        &self,
        project: &Project,
        own: &SessionId,
    ) -> Result<Option<LeftOff>, ServiceError> {
        if !self.evidence.has(Evidence::History).await? {
            return Ok(None);
        }
        let now = self.base.now();
        let mut went_on: Vec<RedactedText> = Vec::new();
        for session in self.base.store.past_sessions().latest(Some(project), 0, SESSIONS_MAX).await? {
            let age = Duration::try_from(now.duration_since(session.ended_at)).unwrap_or_default();
            if session.is_hidden() || went_on.contains(&session.agent) || age >= STALE {
                continue;
            }
            went_on.push(session.agent.clone());
            let is_ours = session.id == *own || age < UNDER_WAY;
            // The hooks of a live session have reported it already.
            if is_ours || self.base.store.sessions().by_id(&session.id).await?.is_some() {
                continue;
            }
            if let Some(left) = self.left_off_in(session).await? {
                return Ok(Some(left));
            }
        }
        Ok(None)
    }

    async fn left_off_in(&self, session: PastSession) -> Result<Option<LeftOff>, ServiceError> {
        let mut last = self.base.store.exchanges().before(&session.id, u32::MAX, EXCHANGES_MAX).await?;
        last.reverse();
        last.retain(|exchange| !exchange.withdrawn);
        let proven: Vec<Proven> = self.base.store.exchanges().proven(&last).await?;
        let mut to_do = left_to_do(&proven);
        to_do.truncate(TO_DO_MAX);
        let is_interrupted = proven.last().is_some_and(|proven| proven.interrupted);
        let last = last.into_iter().rfind(|exchange| exchange.part == 0);
        Ok(last.filter(|_| is_interrupted || !to_do.is_empty()).map(|last| LeftOff { session, to_do, last }))
    }
}
