//! Distilling a past session: what a language model is asked about it, and which of its claims are believed.
//!
//! The transcript is handed over as JSON and called data. Nothing that the model says is taken by its word: [`check`]
//! holds each claim against the exchanges that it cites, and drops what it cannot find there. What is left still only
//! waits for a person.
//!
//! Accepted claims are the items of a handbook ([`operations`]). A model may say where they stand ([`arrange`]), by their
//! numbers; [`handbook`] renders them.

mod alike;
pub mod arrange;
mod ask;
mod check;
pub mod handbook;
#[cfg(test)]
mod handbook_tests;
pub mod operations;
pub mod skill;
#[cfg(test)]
mod tests;

pub use alike::say_the_same;
pub use ask::{Excerpt, INSTRUCTIONS, excerpts, generation, holds_secret, question, schema};
pub use check::{Claim, Distilled, Reason, quotes_user, read, stands};
pub(crate) use check::{clean, gives_orders, own_words};

/// Most claims that are kept of one answer; it must fit into what a model may write.
pub const CLAIMS_MAX: usize = 8;
/// Most places that a claim cites.
pub const EVIDENCE_MAX: usize = 8;
/// Longest claim, in characters.
pub const CLAIM_CHARS_MAX: usize = 500;
/// Longest title of a claim or session, in characters.
pub const TITLE_CHARS_MAX: usize = 120;
/// Shortest and longest quote, in characters.
pub const QUOTE_CHARS: std::ops::RangeInclusive<usize> = 8..=300;
