//! The screens for people: memories, sessions and agents, and the calls as they happen.
//!
//! Everything goes one way. What happens (a key, an answer of the daemon, a tick) is a [`Message`];
//! [`update`] changes the [`state`] by it and gives commands (a question to the daemon, an edit, the end);
//! [`draw`] shows the state. Those are pure; [`app`] joins them with the terminal, [`link`] with the
//! daemon, over the connection that the commands use. Nothing waits for an answer: a question has a
//! number, and what comes too late is dropped.

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
mod link;
mod live;
mod markdown;
mod memories;
mod pages;
mod paint;
mod paper;
mod sessions;
mod state;
mod terminal;
mod theme;
mod update;
mod works;

pub use app::{App, Next, Options, message_of, run};
pub use state::{Draft, Message};
pub use terminal::obstacle;
