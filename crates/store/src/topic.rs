//! Topic keys: who holds one, and which are in use.

use super::{
    Store, StoreError,
    columns::columns,
    memory::topic_slot,
    read::{Vars, one},
    statement,
};
use cerebro_core::domain::{Memory, MemoryId, Project, Scope, Timestamp};

/// A topic key in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub key: String,
    /// The memory that holds it.
    pub memory: MemoryId,
    pub title: String,
    /// The agent that wrote it.
    pub agent: String,
    /// When it was written.
    pub at: Timestamp,
}

columns! { Topic in "memory" { key: "topic_key", memory: "id", title, agent, at: "updated_at" } }

noun! {
    /// The topic keys.
    topics: Topics
}

impl Topics<'_> {
    /// The live memory that holds a topic key.
    pub async fn holder(self, scope: &Scope, key: &str) -> Result<Option<Memory>, StoreError> {
        let vars = Vars::new().with("topic", topic_slot(scope, key));
        Ok(one(self.0.select(statement::MEMORY_TOPIC_HOLDER, vars).await?))
    }

    /// The topic keys in use in a project, with the memories that hold them, newest first.
    pub async fn of_project(self, project: &Project, limit: usize) -> Result<Vec<Topic>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).limit(limit);
        self.0.select(statement::MEMORY_TOPICS, vars).await
    }
}
