//! What all providers have in common, whether they are asked for vectors or for text: one HTTP client, one
//! error, one rule for keys, one rule for trying again, one bound on answers.
//!
//! A provider is asked only when the configuration names it. Its key goes to the server it was given for and to
//! no other ([`key`]), redirections are not followed, and an answer is read up to a bound. What was spent
//! in a day is kept by the store and held against [`cerebro_core::pace::Budget`].

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
