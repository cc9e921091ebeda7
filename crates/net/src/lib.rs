//! Network listeners: they accept a bounded number of connections, and check the host and origin of every request
//! before anything else.

mod guard;
mod listener;
mod serve;

pub use guard::{Guard, OddOrigin, guard, is_loopback};
pub use listener::BoundedListener;
pub use serve::{serve, serve_until};
