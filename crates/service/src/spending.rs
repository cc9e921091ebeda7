//! The daily budgets of metered providers. The store keeps what was spent, so it survives restarts and is shared by all
//! that ask a provider, for vectors or for text.

use crate::ServiceError;
use crate::base::Base;
use cerebro_core::pace::{Budget, Spent};

/// What was spent, and what may be spent.
#[derive(Clone)]
pub(crate) struct Spending {
    base: Base,
}

impl Spending {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone() }
    }

    /// Whether a day's budget has room for one more request of about `tokens`. When what was spent cannot be
    /// read, nothing more is spent.
    pub(crate) async fn fits_budget(&self, budget: Budget, tokens: u64) -> bool {
        if budget == Budget::default() {
            return true;
        }
        match self.spent_today().await {
            Ok(spent) => budget.allows(spent, tokens),
            Err(error) => {
                tracing::warn!(%error, "what was spent today cannot be read; nothing more is spent");
                false
            }
        }
    }

    /// Adds to what was spent today with a model, `provider/name`.
    pub(crate) async fn note_spent(&self, model: &str, spent: Spent) {
        if let Err(error) = self.base.store.spending().add(&self.today(), model, spent).await {
            tracing::warn!(%error, "what was spent could not be noted");
        }
    }

    /// What was spent today with all metered providers.
    pub(crate) async fn spent_today(&self) -> Result<Spent, ServiceError> {
        Ok(self.base.store.spending().on_day(&self.today()).await?)
    }

    /// What distilling cost today, with all providers. It has a budget of its own.
    pub(crate) async fn distil_spent_today(&self) -> Result<Spent, ServiceError> {
        Ok(self.base.store.spending().on_day(&self.distil_ledger()).await?)
    }

    /// Charges a request that is about to be made to today's account of distilling. Returns the account, for
    /// [`Self::correct`].
    ///
    /// # Errors
    /// A failing store: then nothing may be asked.
    pub(crate) async fn note_distilled(&self, model: &str, tokens: u64) -> Result<String, ServiceError> {
        let account = self.distil_ledger();
        self.base.store.spending().add(&account, model, Spent { requests: 1, tokens }).await?;
        Ok(account)
    }

    /// Corrects an account once the cost of a request is known. `noted` tokens were charged before.
    pub(crate) async fn correct(&self, account: &str, model: &str, noted: u64, cost: u64) {
        let more = i64::try_from(i128::from(cost) - i128::from(noted)).unwrap_or(i64::MAX);
        if let Err(error) = self.base.store.spending().correct(account, model, more).await {
            tracing::warn!(%error, "what was spent could not be noted");
        }
    }

    /// The account of distilling for the day.
    fn distil_ledger(&self) -> String {
        format!("distil {}", self.today())
    }

    /// The day whose budget counts, in UTC.
    fn today(&self) -> String {
        self.base.now().strftime("%Y-%m-%d").to_string()
    }
}
