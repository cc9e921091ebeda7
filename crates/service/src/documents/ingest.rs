//! Ingesting what was read of a file.

use super::{PATH_BYTES_MAX, chunk_of};
use crate::{Documents, ServiceError, index::Evidence, tasks::on_a_thread};
use cerebro_core::domain::{
    ChunkId, Document, DocumentChunk, DocumentId, DocumentImage, HistoryTombstone, Project, Run, Timestamp,
    limits::TITLE_CHARS_MAX,
};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_documents::{Compared, Format, Image, ImageSource, Reading, chunks, compare};
use cerebro_store::{StoreError, Write};

/// A file as it was read.
#[derive(Debug, Clone)]
pub struct DocumentRead {
    pub project: Project,
    /// Its absolute path.
    pub path: String,
    pub format: Format,
    /// SHA-256 of its bytes, in hex.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
    /// The agents that load it at their start, if it is a memory file of theirs.
    pub loaded_by: Vec<String>,
    /// Its content.
    pub reading: Reading,
}

/// What ingesting a document changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ingested {
    pub id: DocumentId,
    /// Chunks that are new.
    pub added: usize,
    /// Chunks that were there already.
    pub kept: usize,
    /// Chunks that are gone.
    pub gone: usize,
    /// Whether anything was written.
    pub changed: bool,
    /// Whether it is a document that was removed before, at a new path.
    pub renamed: bool,
    /// Whether it was cut at a bound.
    pub cut: bool,
    /// How many places were redacted.
    pub redacted: usize,
}

impl Ingested {
    /// Of a file that is left out.
    fn nothing(id: DocumentId) -> Self {
        Self { id, added: 0, kept: 0, gone: 0, changed: false, renamed: false, cut: false, redacted: 0 }
    }
}

/// A document as a new one would be written: redacted and cut into chunks.
struct Draft {
    document: Document,
    chunks: Vec<DocumentChunk>,
    redacted: usize,
}

impl Draft {
    fn of(read: DocumentRead) -> Self {
        let mut redacted = 0;
        let mut clean = |text: &str| {
            let cleaned = redact_text(text);
            redacted += cleaned.count;
            cleaned.value
        };
        let mut reading = read.reading;
        // Redacted before it is cut, because a part of a secret is not recognised.
        for section in &mut reading.sections {
            section.text = clean(&section.text).into();
            section.path.iter_mut().for_each(|heading| *heading = clean(heading).into());
        }
        let file = read.path.rsplit(['/', '\\']).next().unwrap_or_default();
        let title = clean(reading.title.as_deref().unwrap_or(file)).one_line().cut_chars(TITLE_CHARS_MAX);
        // Blank for blank: it is how the file is found again.
        let path = clean(&read.path).cut_bytes(PATH_BYTES_MAX);
        let (id, (cut_up, cut)) = (DocumentId::random(), chunks(&reading));
        let chunks = cut_up.into_iter().map(|chunk| {
            let said = (clean(&chunk.heading).one_line(), clean(&chunk.text));
            chunk_of(id, ChunkId::random(), chunk.page, said)
        });
        let chunks: Vec<DocumentChunk> = chunks.collect();
        // An image without a hash is left out: its file was not there to be read.
        let seen = reading.images.iter().filter(|image| !image.hash.is_empty());
        let images = seen.map(|image| draft_image(image, &mut clean)).collect();
        let document = Document {
            id,
            project: read.project,
            path,
            format: read.format.as_str().to_owned(),
            title,
            hash: read.hash,
            bytes: read.bytes,
            chunks: Vec::new(),
            images,
            cut,
            loaded_by: read.loaded_by,
            removed: false,
            at: Timestamp::UNIX_EPOCH,
        };
        Self { document, chunks, redacted }
    }

    /// The document at this path, or one of the same bytes that was removed.
    async fn before(&self, write: &Write<'_>) -> Result<Option<Document>, StoreError> {
        let Document { project, path, hash, .. } = &self.document;
        match write.store().documents().by_path(project, path).await? {
            Some(here) => Ok(Some(here)),
            None => write.store().documents().removed(project, hash).await,
        }
    }
}

fn draft_image(image: &Image, clean: &mut impl FnMut(&str) -> RedactedText) -> DocumentImage {
    let (place, beside) = match &image.place {
        ImageSource::Within(name) => (name, false),
        ImageSource::Beside(path) => (path, true),
    };
    DocumentImage {
        caption: clean(&image.caption).one_line(),
        page: image.page,
        place: clean(place).one_line().cut_bytes(PATH_BYTES_MAX),
        beside,
        mime: image.mime.clone(),
        hash: image.hash.clone(),
        bytes: image.bytes,
    }
}

impl Draft {
    async fn decide(&self, write: &mut Write<'_>) -> Result<Ingested, ServiceError> {
        let before = self.before(write).await?;
        let id = before.as_ref().map_or(self.document.id, |before| before.id);
        // A memory file that a person had forgotten stays forgotten.
        let tombstone = HistoryTombstone::of_memory_file(&self.document.path);
        if !self.document.loaded_by.is_empty() && write.has_history_tombstone(&[tombstone]).await? {
            return Ok(Ingested::nothing(id));
        }
        let held = match &before {
            Some(before) => in_order(before, write.store().chunks().digests(&id).await?),
            None => Vec::new(),
        };
        let digests: Vec<String> = self.chunks.iter().map(|chunk| chunk.digest.clone()).collect();
        let Compared { kept, gone } = compare(&held, &digests);
        let mut new = Vec::new();
        let ids = self.chunks.iter().zip(&kept).map(|(chunk, kept)| {
            kept.unwrap_or_else(|| {
                new.push(DocumentChunk { document: id, ..chunk.clone() });
                chunk.id
            })
        });
        let document = Document {
            id,
            chunks: ids.collect(),
            at: before.as_ref().map_or(self.document.at, |before| before.at),
            ..self.document.clone()
        };
        let ingested = Ingested {
            id,
            added: new.len(),
            kept: document.chunks.len() - new.len(),
            gone: gone.len(),
            changed: before.as_ref() != Some(&document),
            renamed: before.as_ref().is_some_and(|before| before.path != document.path),
            cut: document.cut,
            redacted: self.redacted,
        };
        if ingested.changed {
            write.ingest_document(&document, new, gone);
        }
        Ok(ingested)
    }
}

/// The digests of chunks, in the order in which the document has them.
fn in_order(document: &Document, digests: Vec<(ChunkId, String)>) -> Vec<(ChunkId, String)> {
    let place = |id: &ChunkId| document.chunks.iter().position(|held| held == id);
    let mut digests: Vec<_> = digests.into_iter().map(|entry| (place(&entry.0), entry)).collect();
    digests.sort_by_key(|(place, _)| *place);
    digests.into_iter().map(|(_, entry)| entry).collect()
}

impl Documents {
    /// Stores the content of a file: new chunks are written, chunks that it no longer has are removed, the rest stays
    /// untouched; all of it or nothing. Nothing of an agent's memory file that a person had forgotten.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a path with control characters, or a failing store.
    pub async fn ingest(&self, read: DocumentRead, run: Run) -> Result<Ingested, ServiceError> {
        if read.path.contains(char::is_control) {
            return Err(ServiceError::invalid(
                "path",
                &read.path,
                "it has a line break or another control character",
            ));
        }
        let draft = on_a_thread("preparing a document", move || Draft::of(read)).await?;
        let ingested = self.base.store.transact_as(run, |write| Box::pin(draft.decide(write))).await?;
        if ingested.changed && run == Run::Real {
            self.evidence.changed(Evidence::Documents);
        }
        Ok(ingested)
    }
}
