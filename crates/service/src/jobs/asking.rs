//! Asking a chat model until its answer fits the schema, within the budget.

use std::{iter, sync::Mutex};

use serde_json::Value;

use super::{
    WorkerState,
    runner::{Blocked, JobError, Readiness, SPENT},
};
use crate::{
    ServiceError, lock,
    settings::{DistilSettings, InferenceSettings},
    spending::{Account, Charge, Spending},
};
use cerebro_core::pace::{Budget, Spent, tokens_of};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_core::relate::claim::{MalformedAnswer, json_in};
use cerebro_models::llm::{ANSWER_TOKENS_MAX, Ask, End, Llm};
use cerebro_models::provider::ProviderError;

/// How often a model may correct an answer that does not fit.
const REPAIRS_MAX: usize = 1;
/// Most requests of one question: the first, one more if the model takes no temperature, one more if its answer was cut
/// off, and corrections.
pub(crate) const REQUESTS_MAX: u64 = 3 + REPAIRS_MAX as u64;

/// Opens the model of the settings, for questions about memories.
pub(crate) fn open(settings: &InferenceSettings) -> Result<Llm, Blocked> {
    match (settings.open)() {
        Ok(Some(llm)) => Ok(llm),
        Ok(None) => Err(Blocked::until_woken(WorkerState::Off)),
        Err(error) => Err(Blocked::until_woken(WorkerState::Unusable(error.to_string()))),
    }
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
    spending: Spending<'a>,
    model: String,
    /// Each with the budget of its day.
    accounts: Vec<(Account, Budget)>,
    /// Most tokens of one request without its answer.
    tokens_max: u64,
    /// What its questions have cost so far.
    spent: Mutex<Spent>,
}

impl<'a> Payer<'a> {
    /// For questions about how memories relate, with the budget of metered providers.
    pub(crate) fn of_relations(spending: Spending<'a>, llm: &Llm, paid: Budget) -> Self {
        let accounts = llm.is_metered().then_some((Account::Metered, paid)).into_iter().collect();
        Self { spending, model: llm.name(), accounts, tokens_max: u64::MAX, spent: Mutex::default() }
    }

    /// For distilling, which also has a budget of its own, whether the provider is metered or not.
    pub(crate) fn of_distilling(spending: Spending<'a>, llm: &Llm, settings: &DistilSettings) -> Self {
        let mut payer = Self::of_relations(spending, llm, settings.paid_budget());
        payer.accounts.push((Account::Distilling, settings.budget()));
        payer.tokens_max = settings.question_tokens();
        payer
    }

    /// What its questions have cost so far, whether the provider is metered or not.
    pub(crate) fn spent(&self) -> Spent {
        *lock(&self.spent)
    }

    /// Whether to take a job: the budgets have room for some question. What a question costs is known when it is asked.
    pub(crate) async fn readiness(&self) -> Result<Readiness, ServiceError> {
        if self.room(self.spent_today().await?, 0, ANSWER_TOKENS_MAX).is_some() {
            return Ok(Readiness::Ready { at_once: 1 });
        }
        Ok(Readiness::Blocked(Blocked::until_woken(WorkerState::Waiting(SPENT.to_owned()))))
    }

    /// What was spent today, by account.
    async fn spent_today(&self) -> Result<Vec<Spent>, ServiceError> {
        let mut spent = Vec::with_capacity(self.accounts.len());
        for (account, _) in &self.accounts {
            spent.push(self.spending.today(*account).await?);
        }
        Ok(spent)
    }

    /// Called before a request of about so many tokens whose answer may have `answer` more. All that it may cost is charged at
    /// once, so that it counts for those who ask meanwhile, and if the daemon is killed. Returns the charges, and how many
    /// tokens the answer may have within the budgets.
    async fn open(&self, tokens: u64, answer: u32) -> Result<(Vec<Charge>, u32), JobError> {
        let granted = self.room(self.spent_today().await?, tokens, answer).ok_or(JobError::Spent)?;
        let most = Spent { requests: 1, tokens: tokens + u64::from(granted) };
        let mut charges = Vec::with_capacity(self.accounts.len());
        for (account, budget) in &self.accounts {
            match self.spending.charge(*account, &self.model, most, *budget).await {
                Ok(Some(charge)) => charges.push(charge),
                refused => {
                    for charge in charges {
                        self.spending.settle(charge, &self.model, Spent::default()).await;
                    }
                    return Err(refused.err().map_or(JobError::Spent, JobError::Store));
                }
            }
        }
        lock(&self.spent).requests += 1;
        Ok((charges, granted))
    }

    /// How many tokens the answer to a question of about `tokens` may have, at most `answer`, if so much is spent on each
    /// account. `None` if not even a short answer fits.
    fn room(&self, spent: impl IntoIterator<Item = Spent>, tokens: u64, answer: u32) -> Option<u32> {
        let wanted = tokens + u64::from(ANSWER_TOKENS_MAX)..=tokens + u64::from(answer);
        let mut all = *wanted.end();
        for ((_, budget), spent) in self.accounts.iter().zip(spent) {
            all = all.min(budget.grants(spent, wanted.clone())?);
        }
        Some(u32::try_from(all - tokens).unwrap_or(answer))
    }

    /// Called after a request of about so many tokens, with its cost. Without one the provider failed; it may have read the
    /// question, and distilling pays for that.
    async fn pay(&self, charges: Vec<Charge>, tokens: u64, cost: Option<u64>) {
        lock(&self.spent).tokens += cost.unwrap_or(0);
        for charge in charges {
            let failed = if charge.account == Account::Distilling { tokens } else { 0 };
            let cost = Spent { requests: 1, tokens: cost.unwrap_or(failed) };
            self.spending.settle(charge, &self.model, cost).await;
        }
    }
}

/// Asks a question. Asks once more if the model does not take the form of the request; with room for a longer answer if that
/// was cut off, which happens to models that reason first; and for a correction if it does not fit and the bound of a question
/// has room for that. Each request is charged.
///
/// # Errors
/// The provider's, a spent budget, or a failing store. An answer that does not fit is a refusal: after its correction, or if no
/// day has room for one.
pub(crate) async fn ask<T>(
    llm: &Llm,
    question: Question<'_>,
    payer: &Payer<'_>,
    read: impl Fn(&Value) -> Result<T, MalformedAnswer>,
) -> Result<T, JobError> {
    let Question { instructions, text, schema } = question;
    let refused =
        |reason: String| -> JobError { ProviderError::Refused { provider: llm.name(), reason }.into() };
    let mut turns = vec![text];
    let mut repairs = 0;
    loop {
        let said: u64 = turns.iter().map(|turn| tokens_of(turn)).sum();
        let tokens = said + tokens_of(instructions) + tokens_of(&schema.to_string());
        let wanted = llm.answer_tokens();
        let (charges, answer_tokens) = match payer.open(tokens, wanted).await {
            // On another day it would come to the same end.
            Err(JobError::Spent)
                if repairs > 0 && payer.room(iter::repeat(payer.spent()), tokens, wanted).is_none() =>
            {
                let reason = "the answer does not fit, and no day has room for its correction";
                return Err(refused(reason.to_owned()));
            }
            opened => opened?,
        };
        let reply = llm.ask(&Ask { instructions, turns: turns.clone(), schema, answer_tokens }).await;
        let cost = match &reply {
            Ok(reply) if reply.tokens == 0 => Some(tokens + tokens_of(&reply.text)),
            Ok(reply) => Some(reply.tokens),
            Err(ProviderError::FormRefused { .. }) => Some(0),
            Err(_) => None,
        };
        payer.pay(charges, tokens, cost).await;
        let reply = match reply {
            Err(ProviderError::FormRefused { .. }) => continue,
            reply => reply?,
        };
        let is_empty = reply.text.trim().is_empty();
        match json_in(&reply.text).and_then(|answer| read(&answer)) {
            Ok(fitting) => return Ok(fitting),
            Err(_) if reply.end == End::Declined => {
                return Err(refused("the model declines to answer".to_owned()));
            }
            // From now on, the model has more room.
            Err(_) if reply.end == End::CutOff && wanted < llm.answer_tokens() => {}
            // The day had too little left for it.
            Err(_)
                if reply.end == End::CutOff
                    && payer.room(iter::repeat(Spent::default()), tokens, wanted) > Some(answer_tokens) =>
            {
                return Err(JobError::Spent);
            }
            Err(_) if is_empty => {
                let reason =
                    format!("the answer was cut off after {answer_tokens} tokens, before its text began");
                return Err(refused(reason));
            }
            Err(misfit) if repairs >= REPAIRS_MAX => return Err(refused(misfit.to_string())),
            Err(misfit) => {
                let again = format!("{misfit}. Answer once more, with JSON of that schema and nothing else.");
                let again = redact_text(&again).value;
                // The answer may be longer than it was allowed to be.
                let room = payer.tokens_max.saturating_sub(tokens + tokens_of(&again));
                let Some(answer) = quoted(&reply.text, room.min(u64::from(answer_tokens))) else {
                    return Err(refused(misfit.to_string()));
                };
                turns.extend([answer, again]);
                repairs += 1;
            }
        }
    }
}

/// The head and the tail of an answer within so many tokens; `None` if these are too few to show any of it.
fn quoted(answer: &str, tokens: u64) -> Option<RedactedText> {
    /// Fewer show nothing but that much was left out.
    const LEAST: u64 = 100;
    let answer = redact_text(answer).value;
    let bytes = usize::try_from(tokens.saturating_mul(3)).unwrap_or(usize::MAX);
    (tokens >= LEAST || answer.len() <= bytes).then(|| answer.clipped(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::use_cases::with_service;
    use cerebro_core::domain::Timestamp;
    use cerebro_models::llm::{self, Dialect};

    #[test]
    fn an_answer_is_quoted_within_its_room() {
        let long = "lorem ipsum ".repeat(18_000);
        for room in [100, 2_000] {
            assert!(quoted(&long, room).is_some_and(|quoted| tokens_of(&quoted) <= room), "{room}");
        }
        assert!(quoted(&long, 99).is_none());
        assert!(quoted("{}", 1).is_some_and(|quoted| quoted.as_str() == "{}"));
    }

    #[test]
    fn jobs_are_taken_while_some_question_fits_the_budget() {
        with_service(crate::Settings::default(), Timestamp::now, async |service| {
            let settings = llm::Settings {
                provider: Some(Dialect::OpenAi),
                model: "m".to_owned(),
                base_url: "https://models.example".to_owned(),
                ..llm::Settings::default()
            };
            let llm = llm::open(&settings, "relations").unwrap().unwrap();
            let spending = service.base.spending();
            let payer = Payer::of_relations(spending, &llm, Budget::of_settings(5_000, 0));
            for (tokens, is_ready) in [(0, true), (3_000, true), (1, false)] {
                spending.note_spent("openai/m", Spent { tokens, requests: 1 }).await;
                let found = matches!(payer.readiness().await.unwrap(), Readiness::Ready { .. });
                assert_eq!(found, is_ready, "{tokens}");
            }
            // A longer one is refused when it is asked.
            assert!(matches!(payer.open(1, ANSWER_TOKENS_MAX).await, Err(JobError::Spent)));
        });
    }
}
