//! What all providers share, whether they give vectors or text: one HTTP client, one error, one rule for keys, one
//! rule for retries, one bound on answers.
//!
//! A provider is asked only if the configuration names it. Its key goes only to the server for which it was given
//! ([`key`]), redirections are not followed, and an answer is read up to a bound. The store records what was spent
//! in a day, and [`cerebro_core::pace::Budget`] limits it.

mod address;
mod error;
mod http;
mod key;
mod retry;
mod server;
mod words;

pub use address::Address;
pub use error::ProviderError;
pub use http::{Connection, KeyHeader, Reply};
pub use key::{Key, KeyError, key_of_file};
pub use server::Server;
pub use words::causes;
