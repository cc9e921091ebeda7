//! What was spent on models, per day and model.

use surrealdb::types::{RecordId, Value, object};

use super::{
    Store, StoreError,
    columns::Column,
    read::{Vars, one},
    row::signed,
    statement,
};
use cerebro_core::pace::Spent;

noun! {
    /// What was spent on models.
    spending: Spending
}

impl Spending<'_> {
    /// Adds to what was spent with a model on a day (`2026-11-22`).
    pub async fn add(self, day: &str, model: &str, spent: Spent) -> Result<(), StoreError> {
        self.add_up(day, model, signed(spent.tokens), signed(spent.requests)).await
    }

    /// Corrects what was noted by [`Self::add`] before it was known what it costs.
    pub async fn correct(self, day: &str, model: &str, noted: Spent, cost: Spent) -> Result<(), StoreError> {
        let more = |noted, cost| signed(cost).saturating_sub(signed(noted));
        self.add_up(day, model, more(noted.tokens, cost.tokens), more(noted.requests, cost.requests)).await
    }

    async fn add_up(self, day: &str, model: &str, tokens: i64, requests: i64) -> Result<(), StoreError> {
        let row = object! {
            id: RecordId::new("spent", format!("{day}-{model}")),
            day: day.to_owned(),
            model: model.to_owned(),
            tokens: tokens,
            requests: requests,
        };
        self.0.execute(statement::SPENT_ADD, Vars::new().with("row", row)).await
    }

    /// What was spent on a day with all models together.
    pub async fn on_day(self, day: &str) -> Result<Spent, StoreError> {
        let vars = Vars::new().with("day", day);
        let rows = self.0.values::<Value>("spent", statement::SPENT_GET, vars).await?;
        one(rows).map_or(Ok(Spent::default()), |row| Spent::read("spent", row))
    }
}
