//! Sets up agents for Cerebro: adds the server's entry, permissions, hooks and instructions to their files, and
//! removes them again without changing anything else.
//!
//! An agent is a description ([`Agent`]): its files, and the pieces that go into each. First a plan says what will
//! change. Then each file is written as a whole, with a backup next to it and a record in the home.

mod agent;
mod block;
mod connection;
mod file;
mod json;
pub mod machine;
mod piece;
mod plan;
pub mod plugin;
mod record;
pub mod skill;
mod table;
mod user_folders;

use std::io;
use std::path::{Path, PathBuf};

pub use agent::{AGENTS, Agent, GUIDE, INSTRUCTIONS};
pub use connection::{command_in, tools_of};
pub use piece::{Part, PieceError, Target};
pub use plan::{
    Change, Left, apply_setup, apply_unsetup, is_set_up, left_alone, plan_setup, plan_unsetup, taken_along,
};
pub use record::Record;
pub use user_folders::{Invocation, UserFolders, quoted, short};

/// Why an agent's files were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; correct that or move the file away, and run this again", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// A file cannot be written.
    #[error("cannot write {}: {source}; correct that, and run this again", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    /// A record of setup's changes is damaged.
    #[error(
        "the record {} is damaged: {reason}; remove it; without it, only what is known to be Cerebro's is taken out",
        .path.display()
    )]
    Record { path: PathBuf, reason: String },
    /// A file does not have the form that its agent needs.
    #[error("{} was left unchanged: {error}; fix it and run this again", .path.display())]
    Piece { path: PathBuf, error: PieceError },
    /// Another program has just changed a file.
    #[error("another program has just changed {}; run this again", .path.display())]
    Changed { path: PathBuf },
}

impl SetupError {
    fn piece(path: &Path, error: PieceError) -> Self {
        Self::Piece { path: path.to_owned(), error }
    }
}

/// The text of a file; `None` if it does not exist.
pub fn text_of(target: &Target) -> Result<Option<String>, SetupError> {
    file::read(&target.path)
}
