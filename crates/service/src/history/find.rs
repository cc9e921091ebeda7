//! Reading exchanges.

use crate::{History, ServiceError};
use cerebro_core::domain::{Exchange, ExchangeId, FullExchange, PastSession, SessionId};
use cerebro_core::redact::RedactedText;
use cerebro_core::text;
use cerebro_store::Table;

/// Which part of which exchange.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeRequest {
    pub id: ExchangeId,
    /// From this byte of its text.
    pub offset: usize,
    /// At most this much text.
    pub max_bytes: usize,
}

/// An exchange, or a part of a long one.
#[derive(Debug, Clone)]
pub struct ExchangePart {
    pub exchange: Exchange,
    pub session: PastSession,
    /// The part of its text that was asked for.
    pub text: RedactedText,
    /// The size of the whole text.
    pub text_bytes: usize,
    /// Where more follows.
    pub next_offset: Option<usize>,
}

/// An exchange with those around it in its session, in order.
#[derive(Debug, Clone)]
pub struct HistoryTimeline {
    pub session: PastSession,
    /// Oldest first.
    pub before: Vec<Exchange>,
    /// The one in the middle.
    pub focus: Exchange,
    /// Oldest first.
    pub after: Vec<Exchange>,
}

/// Most sessions with the same beginning of their ids that are read.
const LIKE_MAX: usize = 256;

/// The sessions that are not sub-agents of another one in the list. The id of a sub-agent begins with its parent's.
fn without_sub_agents(ids: Vec<SessionId>) -> Vec<SessionId> {
    let is_own = |id: &SessionId| !ids.iter().any(|other| other != id && id.is_part_of(other));
    ids.iter().filter(|id| is_own(id)).cloned().collect()
}

impl History {
    /// The past sessions whose id begins so, without sub-agents of these; if there is none, those of the exchanges whose id
    /// begins so.
    pub async fn sessions_like(&self, given: &str, limit: usize) -> Result<Vec<PastSession>, ServiceError> {
        let store = &self.base.store;
        let own = store.keys_by_prefix(Table::PastSession, given, LIKE_MAX).await?;
        let mut ids: Vec<SessionId> = own.iter().filter_map(|key| SessionId::parse(key).ok()).collect();
        // If the list was cut, the parent of a listed sub-agent may be missing from it.
        if own.len() < LIKE_MAX {
            ids = without_sub_agents(ids);
        }
        ids.truncate(limit);
        if ids.is_empty() {
            let exchanges = self.exchanges_like(given, limit).await?;
            ids = exchanges.into_iter().map(|exchange| exchange.session).collect();
            ids.sort_unstable();
            ids.dedup();
        }
        Ok(store.past_sessions().by_ids(&ids).await?)
    }

    /// The exchanges whose id begins so.
    pub async fn exchanges_like(&self, given: &str, limit: usize) -> Result<Vec<Exchange>, ServiceError> {
        let Some(key) = ExchangeId::key_of_part(given) else { return Ok(Vec::new()) };
        let keys = self.base.store.keys_by_prefix(Table::Exchange, &key, limit).await?;
        let ids: Vec<ExchangeId> = keys.iter().filter_map(|key| ExchangeId::of_key(key).ok()).collect();
        let exchanges = self.base.store.exchanges().by_ids(&ids).await?;
        Ok(exchanges.into_iter().map(|full| full.exchange).collect())
    }

    /// What a session was asked first.
    pub async fn opening(&self, session: &SessionId) -> Result<Option<RedactedText>, ServiceError> {
        let first = self.base.store.exchanges().since(session, 0, 1).await?;
        Ok(first.into_iter().next().map(|exchange| exchange.title))
    }

    /// Reads an exchange, or a part of a long one.
    ///
    /// # Errors
    /// [`ServiceError::NoExchange`]; [`ServiceError::Invalid`] for an offset beyond the end.
    pub async fn exchange(&self, request: &ExchangeRequest) -> Result<ExchangePart, ServiceError> {
        let none = || ServiceError::NoExchange(request.id);
        let FullExchange { exchange, text, .. } =
            self.base.store.exchanges().by_id(&request.id).await?.ok_or_else(none)?;
        let session = self.base.store.past_sessions().by_id(&exchange.session).await?.ok_or_else(none)?;
        let text_bytes = text.len();
        if request.offset > 0 && request.offset >= text_bytes {
            return Err(ServiceError::beyond(request.offset, &text::counted(text_bytes, "byte")));
        }
        let (text, next_offset) = text.slice_bytes(request.offset, request.max_bytes);
        Ok(ExchangePart { exchange, session, text, text_bytes, next_offset })
    }

    /// An exchange with those before and after it in its session.
    ///
    /// # Errors
    /// [`ServiceError::NoExchange`]
    pub async fn timeline(
        &self,
        id: ExchangeId,
        before: usize,
        after: usize,
    ) -> Result<HistoryTimeline, ServiceError> {
        let none = || ServiceError::NoExchange(id);
        let focus = self.base.store.exchanges().by_id(&id).await?.ok_or_else(none)?.exchange;
        let session = self.base.store.past_sessions().by_id(&focus.session).await?.ok_or_else(none)?;
        let mut earlier = self.base.store.exchanges().before(&focus.session, focus.seq, before).await?;
        earlier.reverse();
        let after =
            self.base.store.exchanges().since(&focus.session, focus.seq.saturating_add(1), after).await?;
        Ok(HistoryTimeline { session, before: earlier, focus, after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sub_agents_of_a_listed_session_are_left_out() {
        let left = |ids: &[&str]| {
            let ids = ids.iter().map(|id| SessionId::parse(id).unwrap()).collect();
            let left = without_sub_agents(ids);
            left.iter().map(SessionId::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(left(&["a1", "a1-b", "a1/x", "a1/x/y"]), ["a1", "a1-b"]);
        assert_eq!(left(&["a1/x", "a1/y"]), ["a1/x", "a1/y"], "without it, each is one of several");
        assert_eq!(left(&[]), [""; 0]);
    }
}
