//! Documents and their chunks.

use surrealdb::types::{Datetime, RecordId, SurrealValue, Value};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    read::{Vars, Walk, one},
    row::{
        Put, datetime, held, key, malformed, named_flags, own_key, project as project_of, signed, small,
        timestamp, unsigned,
    },
    statement::{self, Statement},
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
        commit.add(statement::COMMIT_DOCUMENTS, "documents", &self.put, put);
        commit.add(statement::COMMIT_CHUNKS, "chunks", &self.chunks, chunk_row);
        commit.add(statement::COMMIT_GONE_CHUNKS, "gone_chunks", &self.gone_chunks, chunk_record);
        commit.add(statement::COMMIT_GONE_DOCUMENTS, "gone_documents", &self.gone, |id| GoneDocument {
            id: record(id),
            document: id.key().to_owned(),
        });
    }
}

#[derive(SurrealValue)]
struct GoneDocument {
    id: RecordId,
    document: String,
}

#[derive(Debug, Clone, SurrealValue)]
struct DocumentRow {
    id: Option<RecordId>,
    project: String,
    path: String,
    format: String,
    title: String,
    hash: String,
    bytes: i64,
    chunks: Vec<String>,
    images: Option<Vec<ImageRow>>,
    cut: bool,
    loaded_by: Option<Vec<String>>,
    removed: bool,
    at: Datetime,
}

#[derive(Debug, Clone, SurrealValue)]
struct ImageRow {
    caption: String,
    page: Option<i64>,
    place: String,
    beside: bool,
    mime: String,
    hash: String,
    bytes: i64,
}

impl From<&DocumentImage> for ImageRow {
    fn from(image: &DocumentImage) -> Self {
        Self {
            caption: image.caption.to_string(),
            page: image.page.map(i64::from),
            place: image.place.to_string(),
            beside: image.beside,
            mime: image.mime.clone(),
            hash: image.hash.clone(),
            bytes: signed(image.bytes),
        }
    }
}

impl From<ImageRow> for DocumentImage {
    fn from(row: ImageRow) -> Self {
        Self {
            caption: held(row.caption),
            page: row.page.map(small),
            place: held(row.place),
            beside: row.beside,
            mime: row.mime,
            hash: row.hash,
            bytes: unsigned(row.bytes),
        }
    }
}

#[derive(Debug, Clone, SurrealValue)]
struct ChunkRow {
    id: Option<RecordId>,
    document: String,
    heading: String,
    page: Option<i64>,
    digest: String,
    flags: Vec<String>,
    text: String,
}

fn record(id: &DocumentId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

fn chunk_record(id: &ChunkId) -> RecordId {
    RecordId::new(CHUNKS, id.key())
}

fn put(document: &Document) -> Put<DocumentRow> {
    let row = DocumentRow {
        id: None,
        project: document.project.as_str().to_owned(),
        path: document.path.to_string(),
        format: document.format.clone(),
        title: document.title.to_string(),
        hash: document.hash.clone(),
        bytes: signed(document.bytes),
        chunks: document.chunks.iter().map(|id| id.key().to_owned()).collect(),
        images: Some(document.images.iter().map(ImageRow::from).collect()),
        cut: document.cut,
        loaded_by: (!document.loaded_by.is_empty()).then(|| document.loaded_by.clone()),
        removed: document.removed,
        at: datetime(document.at),
    };
    Put { id: record(&document.id), row }
}

fn chunk_row(chunk: &DocumentChunk) -> ChunkRow {
    ChunkRow {
        id: Some(chunk_record(&chunk.id)),
        document: chunk.document.key().to_owned(),
        heading: chunk.heading.to_string(),
        page: chunk.page.map(i64::from),
        digest: chunk.digest.clone(),
        flags: chunk.flags.iter().map(|flag| flag.as_str().to_owned()).collect(),
        text: chunk.text.to_string(),
    }
}

fn document_id(key: &str) -> Result<DocumentId, StoreError> {
    DocumentId::of_key(key).map_err(|_| malformed(TABLE, "id", key))
}

fn chunk_id(key: &str) -> Result<ChunkId, StoreError> {
    ChunkId::of_key(key).map_err(|_| malformed(CHUNKS, "id", key))
}

impl TryFrom<DocumentRow> for Document {
    type Error = StoreError;

    fn try_from(row: DocumentRow) -> Result<Self, StoreError> {
        let id = own_key(TABLE, row.id)?;
        Ok(Self {
            id: document_id(&id)?,
            project: project_of(TABLE, &row.project)?,
            path: held(row.path),
            format: row.format,
            title: held(row.title),
            hash: row.hash,
            bytes: unsigned(row.bytes),
            chunks: row.chunks.iter().map(|key| chunk_id(key)).collect::<Result<_, _>>()?,
            images: row.images.unwrap_or_default().into_iter().map(DocumentImage::from).collect(),
            cut: row.cut,
            loaded_by: row.loaded_by.unwrap_or_default(),
            removed: row.removed,
            at: timestamp(row.at),
        })
    }
}

impl TryFrom<ChunkRow> for DocumentChunk {
    type Error = StoreError;

    fn try_from(row: ChunkRow) -> Result<Self, StoreError> {
        let id = own_key(CHUNKS, row.id)?;
        Ok(Self {
            id: chunk_id(&id)?,
            document: document_id(&row.document)?,
            heading: held(row.heading),
            page: row.page.map(small),
            digest: row.digest,
            flags: named_flags(Some(&row.flags)),
            text: held(row.text),
        })
    }
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
        self.select(statement::DOCUMENT_GET, vars).await
    }

    /// The document with this path.
    pub async fn by_path(self, project: &Project, path: &str) -> Result<Option<Document>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).with("path", path);
        Ok(one(self.select(statement::DOCUMENT_AT, vars).await?))
    }

    /// A document with the same bytes whose file is gone.
    pub async fn removed(self, project: &Project, hash: &str) -> Result<Option<Document>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).with("hash", hash);
        Ok(one(self.select(statement::DOCUMENT_REMOVED, vars).await?))
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
        self.select(statement, vars).await
    }

    /// All documents in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, Document> {
        Walk::over::<DocumentRow>(self.0, TABLE, limit)
    }

    async fn select(self, statement: Statement, vars: Vars) -> Result<Vec<Document>, StoreError> {
        self.0.select::<DocumentRow, _>(TABLE, statement, vars).await
    }
}

noun! {
    /// The chunks of documents.
    chunks: Chunks
}

impl<'a> Chunks<'a> {
    /// All chunks in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, DocumentChunk> {
        Walk::over::<ChunkRow>(self.0, CHUNKS, limit)
    }

    /// Chunks by id, in no order; missing ones are left out.
    pub async fn by_ids(self, ids: &[ChunkId]) -> Result<Vec<DocumentChunk>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(chunk_record));
        self.0.select::<ChunkRow, _>(CHUNKS, statement::CHUNK_GET, vars).await
    }

    /// The digest of each chunk of a document.
    pub async fn digests(self, document: &DocumentId) -> Result<Vec<(ChunkId, String)>, StoreError> {
        #[derive(SurrealValue)]
        struct Row {
            id: RecordId,
            digest: String,
        }
        let vars = Vars::new().with("document", document.key());
        let rows: Vec<Row> = self.0.values(CHUNKS, statement::CHUNK_DIGESTS, vars).await?;
        rows.into_iter().map(|row| Ok((chunk_id(&key(CHUNKS, row.id)?)?, row.digest))).collect()
    }
}
