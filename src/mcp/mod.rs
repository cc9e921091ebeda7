//! The public contract over MCP: the tools, their arguments and their answers.
//!
//! The groups of files below build on each other, and no two files use each other: arguments and answers; the live
//! calls, the metrics and the presence of agents; the shared [`Context`], a connection, a call; the handlers (`…_tools`
//! for agents, `…_ops` for a person's commands and screens); `dispatch`, the table of handlers; `library`, the prompts and
//! resources; and `server`, which speaks the protocol.
//! `server` answers the handshake and the tool list at once; only calls wait for the store.

mod argument_error;
mod arguments;
mod fault;
mod reply;
mod rows;

mod live;
mod metrics;
mod presence;

mod context;

mod connection;

mod call;
mod prelude;

mod freshness;

mod evidence;

mod cursor;

mod agent_hooks;
mod consolidation_ops;
mod distil_ops;
mod document_ops;
mod document_tools;
mod feedback;
mod handbook_ops;
mod health;
mod history_ops;
pub mod http;
mod maintenance;
mod observation;
mod operator;
mod screen_ops;
mod stats;
mod studio;
mod tombstone_ops;
mod tools;
pub mod web;
mod work_ops;
mod work_tools;
mod worker_ops;

mod definition;
mod dispatch;
mod explain;
mod library;
mod server;
mod wire;

pub use context::Context;
pub use definition::TOOLS;
pub use http::{ADDRESS as HTTP_ADDRESS, HttpOptions, RATE as HTTP_RATE, RATE_MAX as HTTP_RATE_MAX};
pub use server::serve;
