//! Documents: files that a person had ingested, kept as evidence beside the memories.
//!
//! A caller that reads files hands their content to [`Documents::ingest`]. There it is redacted, cut into chunks and compared
//! with the stored chunks: equal ones stay, under the same ids.

mod check;
mod export;
mod find;
mod forget;
mod ingest;

pub(super) use export::{ChunkLine, DocumentLine, chunk, document};
pub use find::{ChunkPart, DocumentChunks};
pub use ingest::{DocumentRead, Ingested};

use crate::{ServiceError, base::Base, index::EvidenceIndexes};
use cerebro_core::domain::{Document, DocumentId, Project};

/// The use cases of documents.
#[derive(Clone)]
pub struct Documents {
    base: Base,
    evidence: EvidenceIndexes,
}

impl Documents {
    pub(crate) fn new(base: &Base, evidence: &EvidenceIndexes) -> Self {
        Self { base: base.clone(), evidence: evidence.clone() }
    }

    /// A document, by its id.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn get(&self, id: DocumentId) -> Result<Document, ServiceError> {
        let found = self.base.store.documents().by_ids(&[id]).await?;
        found.into_iter().next().ok_or(ServiceError::NoDocument(id))
    }

    /// A page of the documents of a project (of all, when `None`), by their paths; removed ones too.
    pub async fn list(
        &self,
        project: Option<&Project>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Document>, ServiceError> {
        Ok(self.base.store.documents().list(project, offset, limit).await?)
    }
}
