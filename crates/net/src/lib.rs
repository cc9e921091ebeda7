//! The doors to the network: listeners that let in a bounded number, and the look at host and origin that
//! every request gets before anything else.

mod guard;
mod listener;
mod serve;

pub use guard::{Guard, OddOrigin, guard, is_loopback};
pub use listener::Bounded;
pub use serve::serve;
