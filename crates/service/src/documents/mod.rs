//! Documents: files that a person had read, kept as evidence beside the memories.
//!
//! Whoever reads files hands what they say to [`Service::ingest`]. There it is redacted, cut into chunks and compared
//! with what is kept: what says the same stays as it is, under the same ids.

mod check;
mod export;
mod find;
mod forget;
mod index;
mod ingest;

pub(super) use export::{ChunkLine, DocumentLine, chunk, document};
pub use find::{ChunkPart, DocumentChunks};
pub use ingest::{DocumentRead, Ingested};

use super::{Service, ServiceError};
use cerebro_core::domain::{Document, DocumentId, Project};

impl Service {
    /// A document, by its id.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn document(&self, id: DocumentId) -> Result<Document, ServiceError> {
        let found = self.store().documents_by_id(&[id]).await?;
        found.into_iter().next().ok_or(ServiceError::NoDocument(id))
    }

    /// A page of the documents of a project (of all, when `None`), by their paths; removed ones too.
    ///
    /// # Errors
    /// A failing store.
    pub async fn documents(
        &self,
        project: Option<&Project>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Document>, ServiceError> {
        Ok(self.store().documents(project, offset, limit).await?)
    }
}
