//! Drawing what relates a memory to others: the worker's second task.

use super::{Service, ServiceError};
use crate::{
    domain::{Memory, MemoryId},
    relate::{self, HOLDERS_MAX, Mention},
    store::Provenance,
};

/// By what names and codes two texts share.
const MENTIONS: Provenance<'_> = Provenance { method: "mentions", model: None };

impl Service {
    /// Draws anew the relations that need no model: shared files, symbols, error codes and packages.
    /// Nothing is drawn for a memory that was revised meanwhile; its next job does it.
    ///
    /// # Errors
    /// A failing store or index.
    pub(super) async fn relate_by_mentions(&self, memory: &Memory) -> Result<(), ServiceError> {
        let mentions = relate::mentions(&format!("{}\n{}", memory.title, memory.content));
        let holders = self.holders(memory, mentions).await?;
        let relations = relate::by_mentions(&holders);
        self.store().put_relations(&memory.id, memory.revision, MENTIONS, &relations).await?;
        Ok(())
    }

    /// Which other memories of its place share each mention.
    async fn holders(
        &self,
        memory: &Memory,
        mentions: Vec<Mention>,
    ) -> Result<Vec<(Mention, Vec<MemoryId>)>, ServiceError> {
        if mentions.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = mentions.iter().map(|mention| mention.name.clone()).collect();
        let (project, scope) = (memory.project.clone(), memory.scope);
        let found =
            self.ask(move |index| index.holders(&project, scope, &names, HOLDERS_MAX + 1)).await?;
        let others = found
            .into_iter()
            .map(|holders| holders.into_iter().filter(|id| *id != memory.id).collect::<Vec<MemoryId>>());
        Ok(mentions.into_iter().zip(others).collect())
    }
}
