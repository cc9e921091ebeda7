//! People's documents: files that were ingested, kept as evidence beside the memories.

use super::{ChunkId, DocumentId, Flag, Project, Timestamp};
use crate::redact::RedactedText;

/// A file that was ingested. Its text is in its chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Kept when the file is renamed.
    pub id: DocumentId,
    /// Where it belongs.
    pub project: Project,
    /// The absolute path at which it was read last.
    pub path: RedactedText,
    /// The name of its format, such as `markdown`.
    pub format: String,
    /// Its own title, else the name of its file.
    pub title: RedactedText,
    /// SHA-256 of its bytes, in hex.
    pub hash: String,
    /// The size of the file.
    pub bytes: u64,
    /// Its chunks, in order.
    pub chunks: Vec<ChunkId>,
    /// Its images, in order.
    pub images: Vec<DocumentImage>,
    /// Whether it was cut short at a bound.
    pub cut: bool,
    /// The names of the agents that load it at their start, if it is a memory file. Empty for what a person
    /// ingested.
    pub loaded_by: Vec<String>,
    /// Whether the file is gone. Its text is kept, but no search finds it.
    pub removed: bool,
    /// When its text last changed.
    pub at: Timestamp,
}

/// An image of a document. Its bytes stay in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentImage {
    /// The document's caption for it; empty without one.
    pub caption: RedactedText,
    /// The page or slide that it is on, from 1.
    pub page: Option<u32>,
    /// Its name within the document, or its path relative to the document's folder.
    pub place: RedactedText,
    /// Whether it is a separate file beside the document.
    pub beside: bool,
    /// Its format, such as `image/png`.
    pub mime: String,
    /// SHA-256 of its bytes, in hex.
    pub hash: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// A stretch of a document. It never changes: a changed text is another chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentChunk {
    /// Drawn at random when it was first read.
    pub id: ChunkId,
    /// The document it belongs to.
    pub document: DocumentId,
    /// The headings above it, as one line; empty where there are none.
    pub heading: RedactedText,
    /// The page, slide or sheet that it is on, from 1.
    pub page: Option<u32>,
    /// The digest of its text, in hex.
    pub digest: String,
    /// The flags of its text.
    pub flags: Vec<Flag>,
    pub text: RedactedText,
}
