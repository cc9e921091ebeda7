//! Asking a chat model until its answer fits the schema, within the budget.

use std::sync::Mutex;

use serde_json::Value;

use super::{
    WorkerState,
    runner::{Blocked, JobError, Readiness, SPENT},
};
use crate::{ServiceError, lock, settings::InferenceSettings, spending::Spending};
use cerebro_core::pace::{Budget, Spent, tokens_of};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_core::relate::claim::{MalformedAnswer, json_in};
use cerebro_models::llm::{ANSWER_TOKENS_MAX, Ask, Llm};
use cerebro_models::provider::ProviderError;

/// How often a model may correct an answer that does not fit.
pub(crate) const REPAIRS_MAX: usize = 1;

/// The assumed cost of a question about memories, in tokens, before it is known.
const TOKENS_GUESSED: u64 = 4_000;

/// Opens the model of the settings, for questions about memories.
pub(crate) fn open(settings: &InferenceSettings) -> Result<Llm, Blocked> {
    match (settings.open)() {
        Ok(Some(llm)) => Ok(llm),
        Ok(None) => Err(Blocked::until_woken(WorkerState::Off)),
        Err(error) => Err(Blocked::until_woken(WorkerState::Unusable(error.to_string()))),
    }
}

/// Whether the budget has room for one more question about memories.
pub(crate) async fn paid_for(
    settings: &InferenceSettings,
    spending: &Spending,
    llm: Option<&Llm>,
) -> Result<Readiness, ServiceError> {
    let metered = llm.is_some_and(Llm::is_metered);
    if metered && !spending.fits_budget(settings.budget, TOKENS_GUESSED).await {
        return Ok(Readiness::Blocked(Blocked::until_woken(WorkerState::Waiting(SPENT.to_owned()))));
    }
    Ok(Readiness::Ready { at_once: 1 })
}

/// A question to a model.
pub(crate) struct Question<'a> {
    pub(crate) instructions: &'a str,
    pub(crate) text: RedactedText,
    /// JSON schema of the answer.
    pub(crate) schema: &'a Value,
}

/// The accounts that a question is charged to.
pub(crate) struct Payer<'a> {
    spending: &'a Spending,
    model: String,
    is_metered: bool,
    /// The daily budget of distilling, for questions of distilling.
    distilling: Option<Budget>,
    /// What its questions have cost so far.
    spent: Mutex<Spent>,
}

impl<'a> Payer<'a> {
    /// For questions about how memories relate.
    pub(crate) fn of_relations(spending: &'a Spending, llm: &Llm) -> Self {
        let spent = Mutex::default();
        Self { spending, model: llm.name(), is_metered: llm.is_metered(), distilling: None, spent }
    }

    /// For distilling, which has a budget of its own, whether the provider is metered or not.
    pub(crate) fn of_distilling(spending: &'a Spending, llm: &Llm, budget: Budget) -> Self {
        Self { distilling: Some(budget), ..Self::of_relations(spending, llm) }
    }

    /// What its questions have cost so far, whether the provider is metered or not.
    pub(crate) fn spent(&self) -> Spent {
        *lock(&self.spent)
    }

    /// Called before a request of about so many tokens. A question of distilling is charged at once, so that it counts even
    /// if the daemon is killed meanwhile. Returns the account that was charged.
    async fn open(&self, tokens: u64) -> Result<Option<String>, JobError> {
        lock(&self.spent).requests += 1;
        let Some(budget) = self.distilling else { return Ok(None) };
        let spent = self.spending.distil_spent_today().await?;
        if !budget.allows(spent, tokens + u64::from(ANSWER_TOKENS_MAX)) {
            return Err(JobError::Spent);
        }
        Ok(Some(self.spending.note_distilled(&self.model, tokens).await?))
    }

    /// Called after a request for which `tokens` were charged to an account; corrects the charge to `cost`. Without a
    /// `cost` the provider failed, and the charge is left as it is.
    async fn pay(&self, charged: Option<String>, tokens: u64, cost: Option<u64>) {
        lock(&self.spent).tokens += cost.unwrap_or(0);
        if self.is_metered {
            let spent = Spent { requests: 1, tokens: cost.unwrap_or(0) };
            self.spending.note_spent(&self.model, spent).await;
        }
        if let (Some(account), Some(cost)) = (charged, cost) {
            self.spending.correct(&account, &self.model, tokens, cost).await;
        }
    }
}

/// Asks a question, and asks for a correction if the answer does not fit.
///
/// # Errors
/// The provider's, a spent budget, or a failing store. An answer that does not fit, even after its correction, is a
/// refusal.
pub(crate) async fn ask<T>(
    llm: &Llm,
    question: Question<'_>,
    payer: &Payer<'_>,
    read: impl Fn(&Value) -> Result<T, MalformedAnswer>,
) -> Result<T, JobError> {
    let Question { instructions, text, schema } = question;
    let mut turns = vec![text];
    let mut repairs = 0;
    loop {
        let ask = Ask { instructions, turns: turns.clone(), schema };
        let said: u64 = turns.iter().map(|turn| tokens_of(turn)).sum();
        let tokens = said + tokens_of(instructions) + tokens_of(&schema.to_string());
        let charged = payer.open(tokens).await?;
        let reply = llm.ask(&ask).await;
        let cost = reply.as_ref().ok().map(|reply| match reply.tokens {
            0 => tokens + tokens_of(&reply.text),
            counted => counted,
        });
        payer.pay(charged, tokens, cost).await;
        let reply = reply?;
        match json_in(&reply.text).and_then(|answer| read(&answer)) {
            Ok(fitting) => return Ok(fitting),
            Err(misfit) if repairs >= REPAIRS_MAX => {
                let reason = misfit.to_string();
                return Err(ProviderError::Refused { provider: llm.name(), reason }.into());
            }
            Err(misfit) => {
                let again = format!("{misfit}. Answer once more, with JSON of that schema and nothing else.");
                turns.extend([&reply.text, &again].map(|turn| redact_text(turn).value));
                repairs += 1;
            }
        }
    }
}
