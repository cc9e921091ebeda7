//! Reading exchanges.

use crate::{History, ServiceError};
use cerebro_core::domain::{Exchange, ExchangeId, PastSession, ToldExchange};
use cerebro_core::redact::RedactedText;

/// Which part of which exchange.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeRequest {
    /// The exchange.
    pub id: ExchangeId,
    /// From this byte of its text.
    pub offset: usize,
    /// At most this much text.
    pub max_bytes: usize,
}

/// An exchange, or a part of a long one.
#[derive(Debug, Clone)]
pub struct ExchangePart {
    /// The exchange.
    pub exchange: Exchange,
    /// Its session.
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
    /// The session.
    pub session: PastSession,
    /// Oldest first.
    pub before: Vec<Exchange>,
    /// The one in the middle.
    pub focus: Exchange,
    /// Oldest first.
    pub after: Vec<Exchange>,
}

impl History {
    /// Reads an exchange, or a part of a long one.
    ///
    /// # Errors
    /// [`ServiceError::NoExchange`]
    pub async fn exchange(&self, request: &ExchangeRequest) -> Result<ExchangePart, ServiceError> {
        let none = || ServiceError::NoExchange(request.id);
        let ToldExchange { exchange, text, .. } =
            self.base.store.told_exchange(&request.id).await?.ok_or_else(none)?;
        let session = self.base.store.past_session(&exchange.session).await?.ok_or_else(none)?;
        let text_bytes = text.len();
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
        let focus = self.base.store.told_exchange(&id).await?.ok_or_else(none)?.exchange;
        let session = self.base.store.past_session(&focus.session).await?.ok_or_else(none)?;
        let mut earlier = self.base.store.exchanges_before(&focus.session, focus.seq, before).await?;
        earlier.reverse();
        let after =
            self.base.store.exchanges_since(&focus.session, focus.seq.saturating_add(1), after).await?;
        Ok(HistoryTimeline { session, before: earlier, focus, after })
    }
}
