//! What changes memories: saving, updating, deleting, summaries, prompts, projects and handbooks.
//!
//! One file for each use case. All text is redacted here ([`crate::fields`]), before the store, the index or a log sees
//! it; every write goes through [`cerebro_store::Store::transact`], and no text that no longer holds passes [`guard`].

mod agent_hooks;
mod evidence;
mod forget;
pub(crate) mod guard;
pub(crate) mod handbook;
mod note;
mod projects;
mod prompt;
mod repeated;
pub(crate) mod save;
mod summary;
pub(crate) mod supersede;
mod tombstones;
mod topic;
pub(crate) mod update;

pub use guard::{Door, SECRET_FILE as TOMBSTONE_SECRET_FILE};
pub use note::{NoteRequest, Noted};
pub use projects::Merged;
pub use prompt::PromptSaved;
pub use save::{Replaced, SaveOutcome, SaveRequest, Saved, Similar};
pub use summary::Summarised;
pub use tombstones::{ListedTombstone, TOMBSTONES_LISTED_MAX, TOMBSTONES_MAX};
pub use topic::Suggestion;
pub(crate) use update::Findings;
pub use update::{Change, DeleteOutcome, Patch, Updated};

use crate::{
    base::Base,
    feedback::Feedback,
    index::{EvidenceIndexes, MemoryIndex, Past},
    projects::KnownProjects,
    sessions::Sessions,
};

/// The use cases that write memories.
#[derive(Clone)]
pub struct Memories {
    pub(crate) base: Base,
    pub(crate) index: MemoryIndex,
    pub(crate) evidence: EvidenceIndexes,
    pub(crate) past: Past,
    pub(crate) sessions: Sessions,
    pub(crate) projects: KnownProjects,
    pub(crate) feedback: Feedback,
}
