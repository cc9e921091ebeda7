//! SurrealDB for the tests: a server, its own client, and direct access to a store.
//!
//! A crate of its own for the same reason as `cerebro-engine`: the functions return boxed futures, so
//! that the engine is not compiled once more with every test binary.

// The engine's async functions are nested deeply.
#![recursion_limit = "512"]

mod client;
mod server;

pub use client::{Account, Client, Notifications};
pub use futures::future::BoxFuture;
pub use server::{alter, serve};

/// The result of a call; an error is the message of the engine or the client.
pub type Outcome<T> = Result<T, String>;

fn words(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}
