//! The public contract over MCP: the tools, their arguments and their answers.
//!
//! The groups below build on each other, and no two files use each other: arguments and answers; what is watched and
//! counted; what connections share ([`Context`]), a connection, a call; the handlers; `dispatch`, which names the
//! handler of each operation, and `server`, which speaks the protocol. It answers the handshake and the tool list at
//! once; only calls wait for the store.

mod arguments;
mod fault;
mod reply;
mod rows;

mod live;
mod metrics;

mod context;

mod connection;

mod call;

mod agent_hooks;
pub mod http;
mod maintenance;
mod observation;
mod operator;
mod studio;
mod tools;
mod tui_ops;
mod worker;

mod definition;
mod dispatch;
mod server;
mod wire;

pub use context::Context;
pub use definition::{INSTRUCTIONS, TOOLS};
pub use http::{ADDRESS as HTTP_ADDRESS, HttpOptions, RATE as HTTP_RATE, RATE_MAX as HTTP_RATE_MAX};
pub use server::serve;
