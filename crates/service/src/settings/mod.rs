//! The settings of the user, in the form in which the capabilities get them. Those of `[history]` are in `intake`.

mod distil;
mod models;

pub(crate) use distil::MODEL_TABLE;
pub use distil::{DistilReader, DistilSettings, Review};
pub use models::{Embedding, InferenceSettings, Opener};

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;

use cerebro_core::domain::limits;
use cerebro_core::operation::Group;
use cerebro_store::Remote;

/// What the user can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Window in which an equal save or prompt counts as a repetition.
    pub dedup_window: Duration,
    /// Whether agents may purge; people always may.
    pub agent_hard_delete: bool,
    /// How many earlier revisions of a memory are kept; without it all are.
    pub revisions_keep: Option<NonZeroU32>,
    /// Scheduled backups.
    pub backup: BackupPlan,
    /// Scheduled consolidation.
    pub consolidate: Consolidate,
    /// How long the journal of work is kept; none where it is off.
    pub journal: Option<Retention>,
    /// The groups of tools that agents get beside the 13.
    pub groups: Vec<Group>,
    /// The server that has the database; none where it is embedded.
    pub remote: Option<Remote>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dedup_window: limits::DEDUP_WINDOW,
            agent_hard_delete: false,
            revisions_keep: None,
            backup: BackupPlan::default(),
            consolidate: Consolidate::default(),
            journal: Some(Retention::default()),
            groups: Vec::new(),
            remote: None,
        }
    }
}

/// When backups are made by themselves, and where they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupPlan {
    /// How often; without it, never.
    pub every: Option<Duration>,
    /// How many are kept; without it all are.
    pub keep: Option<NonZeroUsize>,
    /// The folder, from the home's own if it is relative.
    pub dir: PathBuf,
}

impl Default for BackupPlan {
    fn default() -> Self {
        Self { every: None, keep: NonZeroUsize::new(7), dir: PathBuf::from("backups") }
    }
}

impl BackupPlan {
    /// The folder of a home's backups.
    pub fn dir_in(&self, home: &Path) -> PathBuf {
        home.join(&self.dir)
    }
}

/// What happens every night about consolidation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consolidate {
    /// Nothing.
    Off,
    /// A plan is made, which changes nothing.
    #[default]
    Plan,
    /// The plan is made and carried out.
    Apply,
}

/// How long the journal of work keeps what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Texts of work that is closed.
    pub texts: Duration,
    /// Closed work and its events.
    pub works: Duration,
}

impl Default for Retention {
    /// Texts for 90 days, work for a year.
    fn default() -> Self {
        let day = 24 * 60 * 60;
        Self { texts: Duration::from_secs(90 * day), works: Duration::from_secs(365 * day) }
    }
}
