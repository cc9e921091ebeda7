//! `[distil]` in the settings: whether past sessions are distilled, by which model, and what that may cost.

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use serde::Deserialize;

use cerebro_core::pace::Budget;
use cerebro_core::text;
use cerebro_models::{
    llm::{self, ANSWER_TOKENS_MAX},
    provider::ProviderError,
};

/// The table of the model in the configuration.
pub(crate) const MODEL_TABLE: &str = "distil.model";

/// The bounds of `tokens_per_session`.
const QUESTION_TOKENS_MIN: u64 = 2_000;
const QUESTION_TOKENS_MAX: u64 = 200_000;

/// Who accepts what was distilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    /// A person accepts each claim and each arrangement.
    #[default]
    Inbox,
    /// A claim that two sessions make in the user's own words is accepted without a person, and so is an arrangement by
    /// which certainly nothing is lost. The rest waits for a person.
    Corroborated,
}

/// `[distil]`: whether past sessions are distilled, and what that may cost.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistilSettings {
    /// `enabled = false`: whether past sessions are distilled. While it is off, nothing is sent.
    pub enabled: bool,
    /// `idle = "3h"`: how long a session must have been over before it is distilled without being asked for.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub idle: Duration,
    /// `min_prompts = 3`: sessions with fewer prompts are not distilled.
    pub min_prompts: u32,
    /// `tokens_per_session = 40000`: most tokens of one question, 2,000 to 200,000; fewer if a day has no room for so many.
    pub tokens_per_session: u64,
    /// `tokens_per_day = 200000`: most tokens of a day, with any provider; 0 is no bound.
    pub tokens_per_day: u64,
    /// `requests_per_day = 50`: most requests of a day, with any provider; 0 is no bound.
    pub requests_per_day: u64,
    /// `arrange = false`: whether handbooks with much that is new are arranged without being asked for.
    pub arrange: bool,
    /// `review = "inbox"`: who accepts what was distilled; or `corroborated`.
    pub review: Review,
    /// `[distil.model]`: the chat model that is asked, with the keys of `[relations]`.
    pub model: llm::Settings,
}

impl Default for DistilSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            idle: Duration::from_secs(3 * 60 * 60),
            min_prompts: 3,
            tokens_per_session: 40_000,
            tokens_per_day: 200_000,
            requests_per_day: 50,
            arrange: false,
            review: Review::Inbox,
            model: llm::Settings::default(),
        }
    }
}

impl DistilSettings {
    /// What distilling may cost in a day.
    pub fn budget(&self) -> Budget {
        Budget::of_settings(self.tokens_per_day, self.requests_per_day)
    }

    /// The daily budget of all metered providers, by the table of the model.
    pub(crate) fn paid_budget(&self) -> Budget {
        Budget::of_settings(self.model.tokens_per_day, self.model.requests_per_day)
    }

    /// Most tokens of one question. A day in which nothing was spent has room for it and a short answer.
    pub(crate) fn question_tokens(&self) -> u64 {
        let of_days = [self.budget(), self.paid_budget()].into_iter().filter_map(|budget| budget.tokens);
        let of_day = of_days.min().map_or(u64::MAX, NonZeroU64::get);
        let wanted = self.tokens_per_session.clamp(QUESTION_TOKENS_MIN, QUESTION_TOKENS_MAX);
        wanted.min(of_day.saturating_sub(ANSWER_TOKENS_MAX.into()))
    }

    /// Whether a day has room for any question.
    pub(crate) fn has_room(&self) -> bool {
        self.question_tokens() >= QUESTION_TOKENS_MIN
    }
}

/// Reads the settings of distilling, which may have changed.
pub type DistilReader = Arc<dyn Fn() -> Result<DistilSettings, ProviderError> + Send + Sync>;
