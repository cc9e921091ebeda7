//! Distilling a past session: the questions to a chat model, and the checks of its answers.
//!
//! The model gets the transcript as JSON that is declared to be data. None of its claims is taken on trust:
//! [`check`] compares each with the exchanges that it cites and drops what is not found there. The claims that
//! remain wait for a person.
//!
//! Accepted claims are the items of a handbook ([`operations`]). A model may propose, by their numbers, where they
//! stand ([`arrange`]); [`handbook`] renders them.

mod alike;
pub mod arrange;
mod ask;
mod check;
pub mod handbook;
#[cfg(test)]
mod handbook_tests;
pub mod operations;
mod orders;
pub mod skill;
#[cfg(test)]
mod tests;

pub use alike::{is_users_own, say_the_same};
pub use ask::{Excerpt, INSTRUCTIONS, excerpts, generation, holds_secret, question, schema};
pub use check::{Claim, Distilled, Reason, has_quote, is_supported, quoted_of_user, read};
pub(crate) use check::{clean, own_words};
pub(crate) use orders::gives_orders;

/// Most claims that are kept of one answer; it must fit into the model's output limit.
pub const CLAIMS_MAX: usize = 8;
/// Longest claim, in characters.
pub const CLAIM_CHARS_MAX: usize = 500;
/// Longest title of a claim or session, in characters.
pub const TITLE_CHARS_MAX: usize = 120;
/// Shortest and longest quote, in characters.
pub const QUOTE_CHARS: std::ops::RangeInclusive<usize> = 8..=300;
