//! Cerebro: the lasting memory of AI coding agents.
//!
//! The modules, in the order in which they build on each other; `ARCHITECTURE.md` is the map.

#![recursion_limit = "512"]

pub mod domain;

pub mod hygiene;
pub mod pace;
pub mod passage;
pub mod recall;
pub mod redact;
pub mod relate;
pub mod text;

pub mod door;
pub mod embed;
pub mod lexical;
pub mod llm;
pub mod store;
pub mod vector;

pub mod service;

pub mod home;
pub mod project_dir;

pub mod daemon;
pub mod mcp;
pub mod pump;

pub mod config;
pub mod hook;
pub mod setup;

pub mod tui;

pub mod cli;
