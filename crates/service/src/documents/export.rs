//! Documents in exports and imports: their lines, and how an import reads them.

use serde::{Deserialize, Serialize};

use super::{PATH_BYTES_MAX, chunk_of};
use crate::{error::Taking, fields::project, moment::storable};
use cerebro_core::domain::{
    ChunkId, Document, DocumentChunk, DocumentId, DocumentImage, HistoryTombstone, Timestamp,
    limits::TITLE_CHARS_MAX,
};
use cerebro_core::redact::{RedactedText, redact_name, redact_text};
use cerebro_documents::limits::{CHUNK_BYTES_MAX, CHUNKS_MAX, IMAGES_MAX};
use cerebro_store::Write;

/// Longest name of a format, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// A document, without its chunks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DocumentLine {
    id: String,
    project: String,
    path: String,
    format: String,
    title: String,
    hash: String,
    bytes: u64,
    chunks: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImageLine>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    /// The agents that load it by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    loaded_by: Vec<String>,
    #[serde(deserialize_with = "storable")]
    at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ImageLine {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    caption: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u32>,
    place: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    beside: bool,
    mime: String,
    hash: String,
    bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkLine {
    id: String,
    document: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    heading: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<u32>,
    text: String,
}

/// Imports a document. Its chunks have lines of their own.
pub(crate) async fn document(write: &mut Write<'_>, line: DocumentLine) -> Taking {
    let document = line.document()?;
    if write.document(&document.id).await?.is_some() {
        return Ok(false);
    }
    if let Some(here) = write.store().documents().by_path(&document.project, &document.path).await? {
        return Err(format!("a document was read from its path already: `{}`", here.id).into());
    }
    let tombstone = HistoryTombstone::of_memory_file(&document.path);
    if !document.loaded_by.is_empty() && write.has_history_tombstone(&[tombstone]).await? {
        return Err(format!("document `{}` was forgotten here", document.id).into());
    }
    write.import_document(&document);
    Ok(true)
}

/// Imports a chunk of a document that is in the store.
pub(crate) async fn chunk(write: &mut Write<'_>, line: ChunkLine) -> Taking {
    let chunk = line.chunk()?;
    let found = write.document(&chunk.document).await?;
    let Some(document) = found.filter(|document| document.chunks.contains(&chunk.id)) else {
        return Err(format!("no document here has the passage `{}`", chunk.id).into());
    };
    if write.has_chunk(&chunk.id).await? {
        return Ok(false);
    }
    write.import_chunk(&document, chunk);
    Ok(true)
}

fn clean(text: &str, bytes_max: usize) -> RedactedText {
    redact_text(text).value.one_line().cut_bytes(bytes_max)
}

/// A path as the file has it, blank for blank.
fn path(text: &str) -> Result<RedactedText, String> {
    if text.contains(char::is_control) {
        return Err("its path has control characters".to_owned());
    }
    Ok(redact_text(text).value.cut_bytes(PATH_BYTES_MAX))
}

/// A digest in hex.
fn hash(text: &str) -> Result<String, String> {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then(|| text.to_ascii_lowercase()).ok_or_else(|| "a hash is 64 hexadecimal digits".to_owned())
}

fn chunk_id(text: &str) -> Result<ChunkId, String> {
    ChunkId::parse(text).map_err(|error| error.to_string())
}

fn document_id(text: &str) -> Result<DocumentId, String> {
    DocumentId::parse(text).map_err(|error| error.to_string())
}

impl From<&Document> for DocumentLine {
    fn from(document: &Document) -> Self {
        Self {
            id: document.id.to_string(),
            project: document.project.to_string(),
            path: document.path.to_string(),
            format: document.format.clone(),
            title: document.title.to_string(),
            hash: document.hash.clone(),
            bytes: document.bytes,
            chunks: document.chunks.iter().map(ToString::to_string).collect(),
            images: document.images.iter().map(ImageLine::from).collect(),
            cut: document.cut,
            removed: document.removed,
            loaded_by: document.loaded_by.clone(),
            at: document.at,
        }
    }
}

impl DocumentLine {
    /// The document, redacted and within its bounds.
    fn document(self) -> Result<Document, String> {
        if self.chunks.len() > CHUNKS_MAX || self.images.len() > IMAGES_MAX {
            return Err(format!("a document has at most {CHUNKS_MAX} passages and {IMAGES_MAX} images"));
        }
        Ok(Document {
            id: document_id(&self.id)?,
            project: project(&self.project)?,
            path: path(&self.path)?,
            format: clean(&self.format, NAME_BYTES_MAX).into(),
            title: redact_text(&self.title).value.one_line().cut_chars(TITLE_CHARS_MAX),
            hash: hash(&self.hash)?,
            bytes: self.bytes,
            chunks: self.chunks.iter().map(|id| chunk_id(id)).collect::<Result<_, _>>()?,
            images: self.images.into_iter().map(ImageLine::image).collect::<Result<_, _>>()?,
            cut: self.cut,
            removed: self.removed,
            loaded_by: self.loaded_by.iter().map(|agent| redact_name(agent)).collect(),
            at: self.at,
        })
    }
}

impl From<&DocumentImage> for ImageLine {
    fn from(image: &DocumentImage) -> Self {
        Self {
            caption: image.caption.to_string(),
            page: image.page,
            place: image.place.to_string(),
            beside: image.beside,
            mime: image.mime.clone(),
            hash: image.hash.clone(),
            bytes: image.bytes,
        }
    }
}

impl ImageLine {
    fn image(self) -> Result<DocumentImage, String> {
        Ok(DocumentImage {
            caption: clean(&self.caption, PATH_BYTES_MAX),
            page: self.page,
            place: clean(&self.place, PATH_BYTES_MAX),
            beside: self.beside,
            mime: clean(&self.mime, NAME_BYTES_MAX).into(),
            hash: hash(&self.hash)?,
            bytes: self.bytes,
        })
    }
}

impl From<&DocumentChunk> for ChunkLine {
    fn from(chunk: &DocumentChunk) -> Self {
        Self {
            id: chunk.id.to_string(),
            document: chunk.document.to_string(),
            heading: chunk.heading.to_string(),
            page: chunk.page,
            text: chunk.text.to_string(),
        }
    }
}

impl ChunkLine {
    /// The chunk, redacted, with the fields that follow from its text.
    fn chunk(self) -> Result<DocumentChunk, String> {
        if self.text.len() > 2 * CHUNK_BYTES_MAX {
            return Err(format!("a passage has at most {CHUNK_BYTES_MAX} bytes"));
        }
        let said = (clean(&self.heading, PATH_BYTES_MAX), redact_text(&self.text).value);
        Ok(chunk_of(document_id(&self.document)?, chunk_id(&self.id)?, self.page, said))
    }
}
