//! Gives exchanges of past sessions their vectors while no memory waits for its own, those of the newest sessions first.
//!
//! There are no jobs for them: an import would queue thousands, which nobody waits for. What lacks a vector is looked for
//! once after the start, and afterwards in the sessions of which something was taken in. Only a model in this process is
//! given their texts: a person who lets a provider read memories has not let it read past sessions.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
    time::Instant,
};

use super::{Context, Embed, Provider};
use crate::{ServiceError, index::exchanges_max, jobs::WorkerState, lock};
use cerebro_core::domain::{EventKind, ExchangeId, SessionId, Timestamp};
use cerebro_core::passage;
use cerebro_store::{Committed, PAGE, Store, StoredModel};

/// Most sessions that are noted one by one; beyond that, all are looked through.
const SESSIONS_MAX: usize = 1_000;

/// What may lack vectors.
#[derive(Default)]
pub(crate) struct ExchangeBacklog(Mutex<Todo>);

#[derive(Default)]
struct Todo {
    /// The model for which it holds.
    table: String,
    /// How many of all sessions were looked through, and how many exchanges these have, if all have to be.
    all: Option<(usize, usize)>,
    /// Sessions to look through, each from what was stored at a moment on.
    sessions: VecDeque<(SessionId, Timestamp)>,
    /// Exchanges that lack a vector, the newest first.
    lacking: VecDeque<ExchangeId>,
}

/// How far a look came.
enum Look {
    /// This one lacks a vector.
    Lacks(ExchangeId),
    /// A session was looked through, and there may be more.
    More,
    /// Nothing is left to look through.
    Done,
}

impl ExchangeBacklog {
    /// Begins to look through all sessions.
    pub(crate) fn begin(&self) {
        let mut todo = lock(&self.0);
        *todo = Todo { table: std::mem::take(&mut todo.table), all: Some((0, 0)), ..Todo::default() };
    }

    /// The same, unless it was done for this model before.
    fn begin_with(&self, model: &StoredModel) {
        let is_new = lock(&self.0).table != model.table;
        if is_new {
            lock(&self.0).table.clone_from(&model.table);
            self.begin();
        }
    }

    /// Notes the sessions to which a commit added exchanges.
    pub(crate) fn follow(&self, committed: &Committed) {
        for event in committed.events.iter().filter(|event| event.kind == EventKind::HistoryImported) {
            let Some(session) = &event.session else { continue };
            let mut todo = lock(&self.0);
            if todo.sessions.len() >= SESSIONS_MAX {
                todo.all = Some((0, 0));
                todo.sessions.clear();
            }
            // It is noted with the earliest moment.
            if !todo.sessions.iter().any(|(noted, _)| noted == session) {
                todo.sessions.push_front((session.clone(), event.at));
            }
        }
    }

    /// Gives up what is noted, after the model failed.
    fn give_up(&self) {
        let mut todo = lock(&self.0);
        *todo = Todo { table: std::mem::take(&mut todo.table), ..Todo::default() };
    }

    async fn look(&self, store: &Store, model: &StoredModel) -> Result<Look, ServiceError> {
        let session = {
            let mut todo = lock(&self.0);
            if let Some(exchange) = todo.lacking.pop_front() {
                return Ok(Look::Lacks(exchange));
            }
            todo.sessions.pop_front()
        };
        match session {
            Some((session, since)) => {
                self.look_through(store, model, &session, since).await?;
                Ok(Look::More)
            }
            None => self.look_on(store, model).await,
        }
    }

    /// Goes on looking through all sessions, up to the bound.
    async fn look_on(&self, store: &Store, model: &StoredModel) -> Result<Look, ServiceError> {
        let Some((from, seen)) = lock(&self.0).all else { return Ok(Look::Done) };
        let most = exchanges_max(model.dimension);
        let page =
            if seen < most { store.past_sessions().latest(None, from, PAGE).await? } else { Vec::new() };
        if page.is_empty() {
            lock(&self.0).all = None;
            let gone = store.exchange_vectors().trim(most).await?;
            tracing::debug!(seen, gone, "looked through past sessions for missing vectors");
            return Ok(Look::More);
        }
        let visible = page.iter().filter(|session| !session.is_hidden());
        let count: usize = visible.clone().map(|session| session.exchanges as usize).sum();
        let mut todo = lock(&self.0);
        todo.sessions.extend(visible.map(|session| (session.id.clone(), Timestamp::UNIX_EPOCH)));
        // If the walk was restarted meanwhile, its new position stays.
        if todo.all == Some((from, seen)) {
            todo.all = Some((from + page.len(), seen + count));
        }
        Ok(Look::More)
    }

    /// Notes what was stored of a session since a moment and lacks a vector.
    async fn look_through(
        &self,
        store: &Store,
        model: &StoredModel,
        session: &SessionId,
        since: Timestamp,
    ) -> Result<(), ServiceError> {
        if store.past_sessions().by_id(session).await?.is_none_or(|session| session.is_hidden()) {
            return Ok(());
        }
        let (mut seq, mut lacking) = (0, BTreeMap::new());
        loop {
            let page = store.exchanges().stored_since(session, seq, since, PAGE).await?;
            let Some(last) = page.last() else { break };
            seq = last.seq.saturating_add(1);
            let ids: Vec<ExchangeId> = page.iter().map(|exchange| exchange.id).collect();
            let done = store.exchange_vectors().embedded(model, &ids).await?;
            let missing = page.iter().filter(|exchange| !done.contains(&exchange.id));
            lacking.extend(missing.map(|exchange| (exchange.seq, exchange.id)));
        }
        lock(&self.0).lacking.extend(lacking.into_values().rev());
        Ok(())
    }
}

impl Embed {
    /// Gives one exchange its vector, or looks for one that lacks it. `false` when nothing is left.
    pub(super) async fn embed_exchange(&mut self, cx: &Context) -> Result<bool, ServiceError> {
        let Some(Provider { embedder, target }) = &self.provider else { return Ok(false) };
        let (store, backlog) = (&self.worker.base.store, &self.worker.exchanges);
        if !embedder.is_in_process() || store.is_shared() {
            return Ok(false);
        }
        backlog.begin_with(target);
        let looked = backlog.look(store, target).await?;
        if !matches!(looked, Look::Done) {
            cx.set(WorkerState::Working);
        }
        let id = match looked {
            Look::Lacks(id) => id,
            Look::More => return Ok(true),
            Look::Done => return Ok(false),
        };
        cx.base.traffic.give_way().await;
        let Some(full) = store.exchanges().by_id(&id).await? else { return Ok(true) };
        let words = embedder.model().passage_words;
        let beginning = passage::of_text(&full.exchange.title, &full.text, words).into_iter().next();
        let Some(text) = beginning else { return Ok(true) };
        if !store.exchange_vectors().begin(target, &full.exchange).await? {
            return Ok(true);
        }
        self.asked = Some(Instant::now());
        let embedded = match super::embedded(embedder.clone(), vec![text]).await {
            Ok(embedded) => embedded,
            Err(error) => {
                tracing::warn!(%error, "past sessions get no vectors until something is taken in again");
                backlog.give_up();
                return Ok(false);
            }
        };
        let vector = embedded.vectors.into_iter().next().filter(|vector| vector.len() == target.dimension);
        if let Some(vector) = vector
            && store.exchange_vectors().put(target, &full.exchange, &vector).await?
        {
            self.worker.vectors.held.put_exchange(target, id, &vector);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
