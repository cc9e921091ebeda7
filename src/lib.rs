//! Cerebro: the lasting memory of AI coding agents.
//!
//! The modules are in the order in which they build on each other; `ARCHITECTURE.md` is the map.
//! Public are the program, [`cli::main`], and what tests, measurements and the pictures of the screens use.

#![recursion_limit = "512"]

mod edits;
pub mod home;
mod platform;
mod project_dir;
mod reading;
mod worktree;

mod checkout;

mod answer;

pub mod daemon;
mod folders;
mod view;
mod web;

mod mcp;

mod app;
mod pump;

mod config;
mod hook;
mod setup;

pub mod tui;

pub mod cli;
