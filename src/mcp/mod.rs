//! The public contract over MCP: the tools, their arguments and their answers.
//!
//! [`Server`] is what the daemon serves. It answers the handshake and the tool list at once, while the
//! store opens behind it; only calls wait for the store.

mod agent_hooks;
mod arguments;
mod definition;
mod dispatch;
mod fault;
mod http;
mod keep;
mod live;
mod metrics;
mod observation;
mod operator;
mod reply;
mod server;
mod studio;
mod tools;
mod view;
mod wire;
mod worker;

pub use definition::{INSTRUCTIONS, TOOLS};
pub use http::{ADDRESS as HTTP_ADDRESS, HttpOptions, RATE as HTTP_RATE, RATE_MAX as HTTP_RATE_MAX};
pub use server::Server;
