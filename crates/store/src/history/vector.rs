//! The vectors of exchanges: at most one each, of the model that searches ask. They are derived.

use std::collections::HashSet;

use surrealdb::types::RecordId;

use super::exchange::{self, exchange_id};
use crate::{
    Store, StoreError, StoredModel, packed,
    read::{Vars, one},
    row::size,
    statement::{self, Statement},
};
use cerebro_core::domain::{Exchange, ExchangeId};

const TABLE: &str = "exchange_vector";
/// How often a model is given the text of one exchange: a text that ends the process is left alone then.
const ATTEMPTS_MAX: i64 = 3;

pub(super) fn record(id: &ExchangeId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

noun! {
    /// The vectors of exchanges.
    exchange_vectors: ExchangeVectors
}

impl ExchangeVectors<'_> {
    /// Those of some exchanges that need no vector of a model: they have it, or were tried often enough.
    pub async fn embedded(
        self,
        model: &StoredModel,
        ids: &[ExchangeId],
    ) -> Result<HashSet<ExchangeId>, StoreError> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let vars = Vars::new()
            .list("ids", ids.iter().map(record))
            .with("model", model.table.as_str())
            .with("attempts", ATTEMPTS_MAX);
        let keys: Vec<String> = self.0.values(TABLE, statement::EXCHANGE_VECTOR_HAVE, vars).await?;
        keys.iter().map(|key| exchange_id(key)).collect()
    }

    /// Notes that a model is about to be given the text of an exchange. `false` if the exchange is gone or has another
    /// text.
    pub async fn begin(self, model: &StoredModel, exchange: &Exchange) -> Result<bool, StoreError> {
        let vars = of(model, exchange).at("at", exchange.at);
        self.change(statement::EXCHANGE_VECTOR_BEGIN, vars).await
    }

    /// Puts the vector of an exchange after [`Self::begin`]. `false` if the exchange is gone or has another
    /// text.
    pub async fn put(
        self,
        model: &StoredModel,
        exchange: &Exchange,
        vector: &[f32],
    ) -> Result<bool, StoreError> {
        let vars = of(model, exchange).with("numbers", packed::numbers(vector));
        self.change(statement::EXCHANGE_VECTOR_PUT, vars).await
    }

    async fn change(self, change: Statement, vars: Vars) -> Result<bool, StoreError> {
        self.0.check_space()?;
        // What goes with its exchange does not come back after it.
        let _order = self.0.vectors.lock().await;
        Ok(one(self.0.changed::<bool>(TABLE, change, vars).await?).unwrap_or(false))
    }

    /// A page of the vectors of exchanges that a model made, in order of id.
    pub async fn page(
        self,
        model: &StoredModel,
        after: Option<&ExchangeId>,
        limit: usize,
    ) -> Result<Vec<(ExchangeId, Vec<f32>)>, StoreError> {
        let after = after.map_or_else(|| RecordId::new(TABLE, ""), record);
        let vars = Vars::new().with("model", model.table.as_str()).with("after", after).limit(limit);
        self.0.pairs(TABLE, ["id", "numbers"], statement::EXCHANGE_VECTOR_PAGE, vars).await
    }

    /// Removes the vectors of exchanges.
    pub async fn remove(self, ids: &[ExchangeId]) -> Result<(), StoreError> {
        let vars = Vars::new().list("ids", ids.iter().map(record));
        self.0.execute(statement::EXCHANGE_VECTOR_REMOVE, vars).await
    }

    /// Removes the vectors of the oldest exchanges beyond `keep`. How many went.
    pub async fn trim(self, keep: usize) -> Result<usize, StoreError> {
        let vars = Vars::new().count("keep", keep);
        let gone = one(self.0.changed::<i64>(TABLE, statement::EXCHANGE_VECTOR_TRIM, vars).await?);
        Ok(gone.map_or(0, size))
    }
}

/// The parameters of a change to the vector of an exchange.
fn of(model: &StoredModel, exchange: &Exchange) -> Vars {
    Vars::new()
        .with("id", record(&exchange.id))
        .with("exchange", exchange::record(&exchange.id))
        .with("digest", exchange.digest.as_str())
        .with("model", model.table.as_str())
}
