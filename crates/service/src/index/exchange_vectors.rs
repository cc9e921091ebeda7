//! The vectors of exchanges in memory: which of them are near to a question in meaning.
//!
//! They are read when the first question asks for them and freed with the model of the questions. There is one for each
//! exchange and a bound on their number, so all are compared, whatever their project.

use std::sync::Arc;

use super::vectors::{EXACT_BYTES_MAX, LOAD_WAIT, PAGE, Ready, VectorSearch, Vectors};
use crate::ServiceError;
use cerebro_core::domain::{EventKind, ExchangeId};
use cerebro_core::redact::RedactedText;
use cerebro_core::sync::{read, write};
use cerebro_search::vector::{Near, Packed, Space};
use cerebro_store::{Committed, StoredModel};

/// Most exchanges that have vectors: the newest.
const EXCHANGES_MAX: usize = 20_000;

/// Most exchanges that have vectors of so many numbers.
pub(crate) fn exchanges_max(dimension: usize) -> usize {
    EXCHANGES_MAX.min(EXACT_BYTES_MAX / dimension.max(1))
}

impl Vectors {
    fn change_exchanges(&self, act: impl FnOnce(&mut Space<()>)) {
        if let Some(space) = write(&self.exchanges).as_mut() {
            act(space);
        }
    }

    /// Whether there are any; `None` while they are not in memory.
    fn has_exchanges(&self) -> Option<bool> {
        let exchanges = read(&self.exchanges);
        exchanges.as_ref().filter(|space| space.holds(&())).map(|space| space.bytes() > 0)
    }

    /// Adds the vector of an exchange to those in memory, if they are of the same model.
    pub(crate) fn put_exchange(&self, model: &StoredModel, exchange: ExchangeId, vector: &[f32]) {
        if self.asks(model) {
            let packed = vec![Packed::new(vector)];
            self.change_exchanges(|space| space.put(&(), &exchange.into(), packed));
        }
    }

    /// Frees them; the next question reads them again.
    pub(crate) fn forget_exchanges(&self) {
        self.change_exchanges(|space| space.forget(&()));
    }

    /// Frees the vectors after a commit that forgot exchanges, because theirs must not stay in memory.
    pub(super) fn follow_exchanges(&self, committed: &Committed) {
        if committed.events.iter().any(|event| event.kind == EventKind::HistoryForgotten) {
            self.forget_exchanges();
        }
    }
}

impl VectorSearch {
    /// The `k` exchanges nearest in meaning to a question. None of them when there is no model, when it does not answer in
    /// time, and when no exchange has a vector: the search goes on without.
    pub(crate) async fn near_exchanges(
        &self,
        question: &RedactedText,
        k: usize,
    ) -> Result<Arc<Vec<Near>>, ServiceError> {
        let none = Arc::default();
        let Some(ready) = self.ready().await? else { return Ok(none) };
        if !self.load_exchanges(&ready).await? {
            return Ok(none);
        }
        let Some(vector) = self.question(&ready, question).await else { return Ok(none) };
        let packed = Packed::new(&vector);
        let near =
            read(&self.held.exchanges).as_ref().and_then(|space| space.nearest(&[()], &packed, k, &|_| true));
        Ok(near.map_or(none, Arc::new))
    }

    /// Reads them, unless they are in memory. Returns whether there are any. Reading continues after the wait is over.
    async fn load_exchanges(&self, ready: &Arc<Ready>) -> Result<bool, ServiceError> {
        // On a server another process puts them, and the log does not tell.
        if self.base.store.is_shared() {
            return Ok(false);
        }
        if self.held.has_exchanges().is_none() {
            let (search, ready) = (self.clone(), Arc::clone(ready));
            let work = self
                .base
                .tasks
                .spawn("reading vectors of exchanges", async move { search.read_exchanges(&ready).await });
            match tokio::time::timeout(LOAD_WAIT, work).await {
                Ok(Ok(done)) => done?,
                Ok(Err(_)) | Err(_) => return Ok(false),
            }
        }
        Ok(self.held.has_exchanges() == Some(true))
    }

    async fn read_exchanges(&self, ready: &Ready) -> Result<(), ServiceError> {
        let vectors = &self.held;
        let _one = vectors.loading.lock().await;
        if vectors.has_exchanges().is_some() {
            return Ok(());
        }
        vectors.change_exchanges(|space| space.begin(&()));
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let page = self.base.store.exchange_vectors().page(&ready.model, after.as_ref(), PAGE).await;
            let page = page.inspect_err(|_| vectors.forget_exchanges())?;
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            rows.extend(page.iter().map(|(id, vector)| ((*id).into(), 0, Packed::new(vector))));
        }
        // Another model may have been chosen while they were read.
        if vectors.asks(&ready.model) {
            vectors.change_exchanges(|space| space.fill(&(), rows));
        }
        Ok(())
    }
}
