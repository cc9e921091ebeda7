//! Entities: the names that a chat model found in memories. They are derived and replaced as a whole for each memory.

use surrealdb::types::{RecordId, object};

use super::{
    Store, StoreError,
    read::Vars,
    row::{datetime, memory_id, memory_record},
    statement,
};
use cerebro_core::domain::MemoryId;
use cerebro_core::relate::claim::Entity;

noun! {
    /// The entities that a chat model found in memories.
    entities: Entities
}

impl Entities<'_> {
    /// The live memories in which a model found a name, as given or in lower case.
    pub async fn memories_naming(self, name: &str, limit: usize) -> Result<Vec<MemoryId>, StoreError> {
        let vars = Vars::new().with("names", vec![name.to_owned(), name.to_lowercase()]).limit(limit);
        let found: Vec<RecordId> = self.0.values("entity", statement::ENTITY_NAMED, vars).await?;
        found.into_iter().map(|id| memory_id("entity", id)).collect()
    }

    /// Replaces the entities that a model found in a memory.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when other writes kept conflicting with this one; repeating the call is harmless.
    pub async fn put(self, memory: &MemoryId, model: &str, entities: &[Entity]) -> Result<(), StoreError> {
        let at = datetime(self.0.now());
        let row = |entity: &Entity| {
            object! {
                memory: memory_record(memory),
                name: entity.name.to_string(),
                kind: entity.kind.clone(),
                model: model.to_owned(),
                at: at,
            }
        };
        let vars =
            Vars::new().with("memory", memory_record(memory)).list("entities", entities.iter().map(row));
        self.0.execute(statement::ENTITY_PUT, vars).await
    }
}
