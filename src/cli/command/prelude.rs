//! What nearly every command uses: its context, the daemon's operations, the forms of its results, and errors.

pub(super) use clap::{Args, Subcommand, ValueEnum};
pub(super) use serde_json::{Value, json};

pub(super) use super::{name_of, suggest, within};
pub(super) use crate::answer::{Ask, Received, Text, of};
pub(super) use crate::cli::CommandContext;
pub(super) use crate::cli::daemon_client::{Daemon, Request};
pub(super) use crate::cli::error::{Error, Result, done_if};
pub(super) use crate::cli::table::{Column, Layout, Table, bytes, shown};
pub(super) use cerebro_core::text;
