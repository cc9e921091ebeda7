//! The database engine behind a narrow interface: SurrealDB on RocksDB in this process, or a SurrealDB server.
//!
//! This crate is the only one that drives SurrealDB. The reason is build time: async functions of the engine are
//! compiled where they are polled, and they are half of the program's machine code. So every function here that
//! polls one returns a [`BoxFuture`]: the engine is compiled once, with this crate, and changes elsewhere do not
//! recompile it. This crate knows nothing of memories; `cerebro-store` does.

// The engine's async functions are nested deeply.
#![recursion_limit = "512"]

mod access;
mod dump;
mod engine;
mod error;
mod link;
mod live;
mod remote;
mod studio;
mod trial;
mod viewer;

pub use access::{DATABASE, NAMESPACE, secret};
pub use dump::{Dump, Pieces, Script, script};
pub use engine::{Engine, Statement};
pub use error::EngineError;
pub use futures::future::BoxFuture;
pub use remote::{Remote, Secret};
pub use studio::{Endpoint, Visitor};
pub use trial::Trial;
pub use viewer::{Answer, Query};
