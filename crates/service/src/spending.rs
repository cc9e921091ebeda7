//! The daily budgets of metered providers. The store keeps what was spent, so it survives restarts and is shared by all
//! that ask a provider, for vectors or for text.

use crate::ServiceError;
use crate::base::Base;
use cerebro_core::pace::{Budget, Spent};

/// What was spent, and what may be spent.
#[derive(Clone, Copy)]
pub(crate) struct Spending<'a>(&'a Base);

impl Base {
    /// What was spent, and what may be spent.
    pub(crate) fn spending(&self) -> Spending<'_> {
        Spending(self)
    }
}

/// Where requests are charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    /// All requests to metered providers.
    Metered,
    /// Those of distilling, to any provider.
    Distilling,
}

/// What an account was charged for a request that is under way.
pub(crate) struct Charge {
    pub(crate) account: Account,
    day: String,
    most: Spent,
}

impl Spending<'_> {
    /// Whether a day's budget has room for one more request of about `tokens`. When what was spent cannot be
    /// read, nothing more is spent.
    pub(crate) async fn fits_budget(self, budget: Budget, tokens: u64) -> bool {
        if budget == Budget::default() {
            return true;
        }
        match self.today(Account::Metered).await {
            Ok(spent) => budget.allows(spent, tokens),
            Err(error) => {
                tracing::warn!(%error, "what was spent today cannot be read; nothing more is spent");
                false
            }
        }
    }

    /// Adds to what was spent today with a model of a metered provider, `provider/name`.
    pub(crate) async fn note_spent(self, model: &str, spent: Spent) {
        if let Err(error) = self.0.store.spending().add(&self.day_of(Account::Metered), model, spent).await {
            tracing::warn!(%error, "what was spent could not be noted");
        }
    }

    /// What was spent today on an account.
    pub(crate) async fn today(self, account: Account) -> Result<Spent, ServiceError> {
        Ok(self.0.store.spending().on_day(&self.day_of(account)).await?)
    }

    /// Charges today's account the most that a request may cost, before it is made. `None`, and no charge, if that is beyond the
    /// budget: what others charged in the meantime counts.
    ///
    /// # Errors
    /// A failing store: then nothing may be asked, and nothing stays charged.
    pub(crate) async fn charge(
        self,
        account: Account,
        model: &str,
        most: Spent,
        budget: Budget,
    ) -> Result<Option<Charge>, ServiceError> {
        let charge = Charge { account, day: self.day_of(account), most };
        self.0.store.spending().add(&charge.day, model, most).await?;
        let fits = self.0.store.spending().on_day(&charge.day).await.map(|all| {
            let others = Spent {
                tokens: all.tokens.saturating_sub(most.tokens),
                requests: all.requests.saturating_sub(most.requests),
            };
            budget.allows(others, most.tokens)
        });
        if matches!(fits, Ok(true)) {
            return Ok(Some(charge));
        }
        self.settle(charge, model, Spent::default()).await;
        fits?;
        Ok(None)
    }

    /// Replaces a charge by what was spent.
    pub(crate) async fn settle(self, Charge { day, most, .. }: Charge, model: &str, cost: Spent) {
        if let Err(error) = self.0.store.spending().correct(&day, model, most, cost).await {
            tracing::warn!(%error, "what was spent could not be noted");
        }
    }

    /// The name of today's account. A day is one in UTC.
    fn day_of(self, account: Account) -> String {
        let day = self.0.now().strftime("%Y-%m-%d").to_string();
        match account {
            Account::Metered => day,
            Account::Distilling => format!("distil {day}"),
        }
    }
}
