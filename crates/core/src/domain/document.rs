//! Documents of people: files that somebody had read, kept as evidence beside the memories.

use super::{ChunkId, DocumentId, Flag, Project, Timestamp};
use crate::redact::RedactedText;

/// A file that was read. What it says is in its chunks.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// It stays when the file is renamed.
    pub id: DocumentId,
    /// Where it belongs.
    pub project: Project,
    /// Where it lay when it was read last: an absolute path.
    pub path: RedactedText,
    /// The name of its format, as `markdown`.
    pub format: String,
    /// What it calls itself, else the name of its file.
    pub title: RedactedText,
    /// SHA-256 of its bytes, in hex.
    pub hash: String,
    /// The size of the file.
    pub bytes: u64,
    /// Its chunks, in order.
    pub chunks: Vec<ChunkId>,
    /// Its images, in order.
    pub images: Vec<DocumentImage>,
    /// Whether a bound cut it short.
    pub cut: bool,
    /// The agents that load it at their start, by name: it is a memory file of theirs, and for the others. Empty for what a
    /// person had read.
    pub loaded_by: Vec<String>,
    /// Whether the file is gone: the text is kept, and no search finds it.
    pub removed: bool,
    /// When what it says last changed.
    pub at: Timestamp,
}

/// An image of a document. Its bytes stay in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentImage {
    /// What the document says that it shows; empty where it says nothing.
    pub caption: RedactedText,
    /// The page or slide that it is on, from 1.
    pub page: Option<u32>,
    /// Its name in the document, or its path from the folder of that.
    pub place: RedactedText,
    /// Whether it is a file of its own.
    pub beside: bool,
    /// Its format, such as `image/png`.
    pub mime: String,
    /// SHA-256 of its bytes, in hex.
    pub hash: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// A stretch of a document. It never changes: what says something else is another chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentChunk {
    /// Drawn when it was first read.
    pub id: ChunkId,
    /// Whose it is.
    pub document: DocumentId,
    /// The headings above it, as one line; empty where there are none.
    pub heading: RedactedText,
    /// The page, slide or sheet that it is on, from 1.
    pub page: Option<u32>,
    /// What it says, as a digest in hex.
    pub digest: String,
    /// What its text seems to try.
    pub flags: Vec<Flag>,
    /// What it says.
    pub text: RedactedText,
}
