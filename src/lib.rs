//! Cerebro: the lasting memory of AI coding agents.
//!
//! The modules are in the order in which they build on each other; `ARCHITECTURE.md` is the map.

#![recursion_limit = "512"]

pub mod edits;
pub mod home;
pub mod platform;
pub mod project_dir;
pub mod reading;
pub mod worktree;

pub mod checkout;

pub mod answer;

pub mod daemon;
pub mod folders;
pub mod view;
pub mod web;

pub mod mcp;

pub mod app;
pub mod pump;

pub mod config;
pub mod hook;
pub mod setup;

pub mod tui;

pub mod cli;
