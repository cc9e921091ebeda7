//! Documents and their chunks.

use surrealdb::types::{RecordId, Value, object};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{Column, columns, flags, put_row, row_of, with_id},
    read::{Vars, Walk, one},
    row::{key, malformed},
    statement,
};
use cerebro_core::domain::{ChunkId, Document, DocumentChunk, DocumentId, DocumentImage, EventKind, Project};

const TABLE: &str = "document";
const CHUNKS: &str = "chunk";

/// The changes of the tables of documents.
#[derive(Default)]
pub(super) struct DocumentChanges {
    put: Vec<Document>,
    gone: Vec<DocumentId>,
    chunks: Vec<DocumentChunk>,
    gone_chunks: Vec<ChunkId>,
}

impl Part for DocumentChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_DOCUMENTS, "documents", &self.put, |document| {
            put_row(record(&document.id), document)
        });
        commit.add(statement::COMMIT_CHUNKS, "chunks", &self.chunks, |chunk| {
            with_id(chunk_record(&chunk.id), row_of(chunk))
        });
        commit.add(statement::COMMIT_GONE_CHUNKS, "gone_chunks", &self.gone_chunks, chunk_record);
        commit.add(statement::COMMIT_GONE_DOCUMENTS, "gone_documents", &self.gone, |id| {
            object! { id: record(id), document: id.key().to_owned() }
        });
    }
}

columns! {
    Document in "document" {
        id: key(DocumentId::of_key), project, path, format, title, hash, bytes, chunks, images: or_default, cut, removed,
        at,
        // None rather than an empty list.
        loaded_by: by(
            |agents| Some(agents.clone()).filter(|agents| !agents.is_empty()),
            |agents: Option<Vec<String>>| agents.unwrap_or_default()
        ),
    }
}

columns! { DocumentImage { caption, page, place, beside, mime, hash, bytes } }

columns! {
    DocumentChunk in "chunk" {
        id: key(ChunkId::of_key), document, heading, page, digest, flags: by(Column::put, flags), text,
    }
}

fn record(id: &DocumentId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

fn chunk_record(id: &ChunkId) -> RecordId {
    RecordId::new(CHUNKS, id.key())
}

fn chunk_id(key: &str) -> Result<ChunkId, StoreError> {
    ChunkId::of_key(key).map_err(|_| malformed(CHUNKS, "id", key))
}

fn event(kind: EventKind, document: &Document) -> NewEvent {
    NewEvent {
        kind,
        memory: None,
        session: Some(document.id.into()),
        project: Some(document.project.clone()),
    }
}

/// The changes of documents.
impl Write<'_> {
    /// A document was read: writes its present state and the new chunks, and removes the chunks that it no longer
    /// has.
    pub fn ingest_document(&mut self, document: &Document, new: Vec<DocumentChunk>, gone: Vec<ChunkId>) {
        let at = self.at();
        let documents = &mut self.record(event(EventKind::DocumentIngested, document)).documents;
        documents.put.push(Document { at, ..document.clone() });
        documents.chunks.extend(new);
        documents.gone_chunks.extend(gone);
    }

    /// The file of a document is gone: the document keeps its text, but no search finds it.
    pub fn remove_document(&mut self, document: &Document) {
        let removed = Document { removed: true, at: self.at(), ..document.clone() };
        self.record(event(EventKind::DocumentRemoved, document)).documents.put.push(removed);
    }

    /// A document and all its chunks are purged.
    pub fn forget_document(&mut self, document: &Document) {
        self.record(event(EventKind::DocumentForgotten, document)).documents.gone.push(document.id);
    }

    /// A document moves to another project, because its own was merged.
    pub fn merge_document(&mut self, document: &Document) {
        let document = Document { at: self.at(), ..document.clone() };
        self.record(event(EventKind::ProjectMerged, &document)).documents.put.push(document);
    }

    /// A document came with an export; its chunks follow.
    pub fn import_document(&mut self, document: &Document) {
        let tables = self.record(event(EventKind::DocumentIngested, document));
        tables.documents.put.push(document.clone());
    }

    /// A chunk came with an export. The log records each document only once.
    pub fn import_chunk(&mut self, document: &Document, chunk: DocumentChunk) {
        let here = &self.tables().documents;
        let has_event = here.put.iter().any(|put| put.id == document.id)
            || here.chunks.iter().any(|other| other.document == document.id);
        let tables = match self.tables_mut() {
            Some(tables) if has_event => tables,
            _ => self.record(event(EventKind::DocumentIngested, document)),
        };
        tables.documents.chunks.push(chunk);
    }

    /// The document as it will be after this commit.
    pub async fn document(&self, id: &DocumentId) -> Result<Option<Document>, StoreError> {
        match self.tables().documents.put.iter().rev().find(|put| put.id == *id) {
            Some(put) => Ok(Some(put.clone())),
            None => Ok(one(self.store().documents().by_ids(&[*id]).await?)),
        }
    }

    /// Whether the chunk will exist after this commit.
    pub async fn has_chunk(&self, id: &ChunkId) -> Result<bool, StoreError> {
        let is_put = self.tables().documents.chunks.iter().any(|put| put.id == *id);
        Ok(is_put || !self.store().chunks().by_ids(&[*id]).await?.is_empty())
    }
}

noun! {
    /// The documents.
    documents: Documents
}

impl<'a> Documents<'a> {
    /// Whether there is any document.
    pub async fn any(self) -> Result<bool, StoreError> {
        let any: Vec<Value> = self.0.values(TABLE, statement::DOCUMENT_ANY, Vars::new()).await?;
        Ok(!any.is_empty())
    }

    /// Documents by id; missing ones are left out.
    pub async fn by_ids(self, ids: &[DocumentId]) -> Result<Vec<Document>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(record));
        self.0.select(statement::DOCUMENT_GET, vars).await
    }

    /// The document with this path.
    pub async fn by_path(self, project: &Project, path: &str) -> Result<Option<Document>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).with("path", path);
        Ok(one(self.0.select(statement::DOCUMENT_AT, vars).await?))
    }

    /// A document with the same bytes whose file is gone.
    pub async fn removed(self, project: &Project, hash: &str) -> Result<Option<Document>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).with("hash", hash);
        Ok(one(self.0.select(statement::DOCUMENT_REMOVED, vars).await?))
    }

    /// A page of the documents of a project (of all, when `None`), ordered by path.
    pub async fn list(
        self,
        project: Option<&Project>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let vars = Vars::new().count("offset", offset).limit(limit);
        let (statement, vars) =
            vars.about(project, statement::DOCUMENT_LIST, statement::DOCUMENT_LIST_EVERYWHERE);
        self.0.select(statement, vars).await
    }

    /// All documents in order of id.
    pub fn walk(self) -> Walk<'a, Document> {
        Walk::over(self.0)
    }
}

noun! {
    /// The chunks of documents.
    chunks: Chunks
}

impl<'a> Chunks<'a> {
    /// All chunks in order of id.
    pub fn walk(self) -> Walk<'a, DocumentChunk> {
        Walk::over(self.0)
    }

    /// Chunks by id, in no order; missing ones are left out.
    pub async fn by_ids(self, ids: &[ChunkId]) -> Result<Vec<DocumentChunk>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(chunk_record));
        self.0.select(statement::CHUNK_GET, vars).await
    }

    /// The digest of each chunk of a document.
    pub async fn digests(self, document: &DocumentId) -> Result<Vec<(ChunkId, String)>, StoreError> {
        let vars = Vars::new().with("document", document.key());
        let rows: Vec<(RecordId, String)> =
            self.0.pairs(CHUNKS, ["id", "digest"], statement::CHUNK_DIGESTS, vars).await?;
        rows.into_iter().map(|(id, digest)| Ok((chunk_id(&key(CHUNKS, id)?)?, digest))).collect()
    }
}
