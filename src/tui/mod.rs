//! The screens for people: memories, sessions and agents, and live calls.
//!
//! Data flows in one direction. An event (a key, an answer of the daemon, a tick) is a [`Message`]. [`update`] changes
//! the [`state`] accordingly and returns commands (a request to the daemon, an edit, the end). [`draw`] shows the
//! state. These are pure. [`app`] connects them with the terminal, and [`link`] with the daemon, over the same protocol
//! as commands. No code waits for an answer: requests are numbered, and late answers are dropped.

mod app;
mod asks;
mod dashboard;
mod detail;
mod distil;
mod draw;
mod editor;
pub(crate) mod fit;
mod graph;
mod input;
mod lanes;
mod link;
mod live;
mod markdown;
mod memories;
mod pages;
mod paint;
mod prelude;
mod scrolled;
mod sessions;
mod state;
mod terminal;
mod theme;
mod update;
mod works;

pub use app::{App, Next, Options, message_of, run};
pub use state::{Draft, Message};
pub use terminal::obstacle;
