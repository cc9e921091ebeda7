//! Reading documents and their chunks.

use super::Documents;
use crate::{
    ServiceError,
    index::{chunk_title, document_scope},
};
use cerebro_core::domain::{ChunkId, Document, DocumentChunk, DocumentId, Scope};
use cerebro_core::redact::RedactedText;

/// A chunk with its surroundings.
#[derive(Debug, Clone)]
pub struct ChunkPart {
    pub chunk: DocumentChunk,
    pub document: Document,
    /// The title under which it is found.
    pub title: RedactedText,
    /// Where it is found.
    pub scope: Scope,
    /// The chunks before and after it.
    pub before: Option<ChunkId>,
    /// See `before`.
    pub after: Option<ChunkId>,
}

/// A document with a page of its chunks.
#[derive(Debug, Clone)]
pub struct DocumentChunks {
    pub document: Document,
    /// Some of its chunks, in order.
    pub chunks: Vec<DocumentChunk>,
}

impl Documents {
    /// Reads a chunk.
    ///
    /// # Errors
    /// [`ServiceError::NoChunk`], and [`ServiceError::NoDocument`] when its document is forgotten meanwhile.
    pub async fn chunk(&self, id: ChunkId) -> Result<ChunkPart, ServiceError> {
        let chunk = self.base.store.chunks().by_ids(&[id]).await?.into_iter().next();
        let chunk = chunk.ok_or(ServiceError::NoChunk(id))?;
        let document = self.get(chunk.document).await?;
        let title = chunk_title(&document, &chunk.heading);
        let scope = document_scope(&document);
        let place = document.chunks.iter().position(|held| *held == id);
        let before = place.and_then(|at| document.chunks.get(at.checked_sub(1)?)).copied();
        let after = place.and_then(|at| document.chunks.get(at + 1)).copied();
        Ok(ChunkPart { chunk, document, title, scope, before, after })
    }

    /// A document with a page of its chunks, in order.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn chunks(
        &self,
        id: DocumentId,
        offset: usize,
        limit: usize,
    ) -> Result<DocumentChunks, ServiceError> {
        let document = self.get(id).await?;
        let wanted: Vec<ChunkId> = document.chunks.iter().skip(offset).take(limit).copied().collect();
        let mut chunks = self.base.store.chunks().by_ids(&wanted).await?;
        chunks.sort_by_key(|chunk| wanted.iter().position(|id| *id == chunk.id));
        Ok(DocumentChunks { document, chunks })
    }
}
