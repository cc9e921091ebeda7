//! The answers about projects.

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_projects`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Projects {
    pub projects: Vec<Project>,
}

impl Projects {
    /// The projects, the largest first.
    pub fn largest_first(&self) -> Vec<Project> {
        let mut projects = self.projects.clone();
        let size = |one: &Project| (one.memories, one.past_sessions);
        projects.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.project.cmp(&b.project)));
        projects
    }
}

/// A project and how much belongs to it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Project {
    /// Its name; empty for what is personal.
    pub project: Text,
    /// Live ones.
    pub memories: u64,
    pub sessions: u64,
    pub prompts: u64,
    /// `None` if there are none.
    pub past_sessions: Option<u64>,
    /// When something of it was last written, as far as a memory or a session records it.
    pub last_at: Option<Text>,
}

/// `op_merge_projects`: how much was moved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Merged {
    /// Deleted ones too.
    pub memories: u64,
    pub sessions: u64,
    pub prompts: u64,
    /// `None` if there were none.
    pub past_sessions: Option<u64>,
    /// Memories that lost their topic key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Kept>,
    /// Live memories that say what the other project corrected or deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said_again: Vec<Text>,
}

/// A memory without the topic key that it had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kept {
    pub id: Text,
    /// The memory of the other project that holds the key.
    pub topic_held_by: Text,
}
