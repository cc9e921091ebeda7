//! Handing exchanges over: a copy was read before its original, and the copied exchanges belong to the original.

use std::collections::BTreeSet;

use crate::{History, ServiceError, index::Evidence};
use cerebro_core::domain::{Ancestor, AncestorKind, Exchange, ExchangeId, SessionId};
use cerebro_store::Write;

/// Most forks of one session that get another parent.
const FORKS_MAX: usize = 1_000;

impl History {
    /// All exchanges of a session, in no order.
    pub(crate) async fn exchanges_of_session(
        &self,
        session: &SessionId,
    ) -> Result<Vec<Exchange>, ServiceError> {
        Ok(self.base.store.exchanges().of_sessions(std::slice::from_ref(session)).await?)
    }

    /// Removes from a copy the exchanges at its beginning that its original has too, by the digests of their first and last
    /// turns, and names the original as its parent, and as that of the copy's own forks which have nothing else of the copy.
    /// Returns whether it did: exchanges that candidates or memories cite stay.
    pub(crate) async fn hand_over(
        &self,
        copy: &SessionId,
        original: &SessionId,
        turns: &BTreeSet<(String, String)>,
    ) -> Result<bool, ServiceError> {
        let hand_over = HandOver { copy, original, turns };
        let is_done = self.base.store.transact(|write| Box::pin(hand_over.decide(write))).await?;
        if is_done {
            self.evidence.changed(Evidence::History);
        }
        Ok(is_done)
    }
}

struct HandOver<'a> {
    copy: &'a SessionId,
    original: &'a SessionId,
    turns: &'a BTreeSet<(String, String)>,
}

impl HandOver<'_> {
    fn is_copied(&self, exchange: &Exchange) -> bool {
        let turns = exchange.first.clone().zip(exchange.last.clone().or(exchange.first.clone()));
        turns.is_some_and(|turns| self.turns.contains(&turns))
    }

    /// Makes the original the parent of the copy's forks that copied only exchanges of the original: their own exchanges
    /// begin at `end` or before, and not with one that the copy (`exchanges`) has begun and the original has not.
    async fn adopt(
        &self,
        write: &mut Write<'_>,
        exchanges: &[Exchange],
        end: u32,
    ) -> Result<(), ServiceError> {
        let is_of_original = |first: &String| {
            self.turns.iter().any(|(begin, _)| begin == first)
                || !exchanges.iter().any(|exchange| exchange.first.as_ref() == Some(first))
        };
        let copy = std::slice::from_ref(self.copy);
        let forks = write.store().past_sessions().children(copy, AncestorKind::Fork, FORKS_MAX).await?;
        for mut fork in forks.into_iter().filter(|fork| fork.id != *self.original) {
            let own = write.store().exchanges().of_sessions(std::slice::from_ref(&fork.id)).await?;
            let first = own.iter().min_by_key(|exchange| exchange.seq);
            if first.is_some_and(|first| first.seq <= end && first.first.as_ref().is_none_or(is_of_original))
            {
                fork.parent = Some(self.original());
                write.place_past_session(&fork);
            }
        }
        Ok(())
    }

    fn original(&self) -> Ancestor {
        Ancestor { kind: AncestorKind::Fork, session: Some(self.original.clone()) }
    }

    async fn decide(&self, write: &mut Write<'_>) -> Result<bool, ServiceError> {
        let Some(mut session) = write.store().past_sessions().by_id(self.copy).await? else {
            return Ok(false);
        };
        if !write.store().candidates().of_session(self.copy).await?.is_empty() {
            return Ok(false);
        }
        let mut exchanges = write.store().exchanges().of_sessions(std::slice::from_ref(self.copy)).await?;
        exchanges.sort_by_key(|exchange| exchange.seq);
        let copied: Vec<&Exchange> =
            exchanges.iter().take_while(|exchange| self.is_copied(exchange)).collect();
        let ids: Vec<ExchangeId> = copied.iter().map(|exchange| exchange.id).collect();
        if write.store().citations().is_any_cited(&ids).await? {
            return Ok(false);
        }
        let (before, parent) = (session.exchanges, session.parent.clone());
        session.exchanges = u32::try_from(exchanges.len() - copied.len()).unwrap_or(u32::MAX);
        // Of several originals, the nearest is its parent: the caller hands over to no other one.
        if parent.as_ref().is_none_or(|parent| parent.kind == AncestorKind::Fork) {
            session.parent = Some(self.original());
        }
        let Some(last) = copied.last() else {
            if session.parent != parent {
                write.place_past_session(&session);
            }
            return Ok(true);
        };
        self.adopt(write, &exchanges, last.seq.saturating_add(1)).await?;
        write.forget_history(&session, before, ids, Vec::new());
        Ok(true)
    }
}
