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
use cerebro_core::domain::{ChunkId, Document, DocumentChunk, DocumentId, Origin, Project};
use cerebro_core::{redact::RedactedText, taint};
use cerebro_documents::Chunk;

/// Longest path, and longest heading with those above it, in bytes.
const PATH_BYTES_MAX: usize = 4_096;

/// A chunk with a heading and a text, and with what follows from these.
fn chunk_of(
    document: DocumentId,
    id: ChunkId,
    page: Option<u32>,
    (heading, text): (RedactedText, RedactedText),
) -> DocumentChunk {
    let digest = Chunk::digest(&heading, &text);
    let flags = taint::of(&heading, &text, Origin::Document).flags;
    DocumentChunk { id, document, heading, page, digest, flags, text }
}

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
