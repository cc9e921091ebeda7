//! The answers about documents.

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_ingest` and `doc_ingest`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ingested {
    /// `new`, `changed`, `renamed` or `unchanged`.
    pub outcome: Text,
    pub id: Text,
    /// Passages that came, stayed and went.
    pub added: u64,
    pub kept: u64,
    pub gone: u64,
    /// Whether it is longer than is kept.
    pub cut: bool,
}

/// `op_documents`: a page of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Listed {
    pub documents: Vec<Document>,
    /// Whether there is another page.
    pub more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Document {
    pub id: Text,
    pub project: Text,
    pub path: Text,
    pub format: Text,
    pub title: Text,
    /// The SHA-256 of its file, in hex.
    pub hash: Text,
    pub bytes: u64,
    /// How many passages are kept.
    pub chunks: u64,
    pub images: u64,
    /// Whether it shows images that are files of their own.
    pub beside: bool,
    /// Whether it is longer than is kept.
    pub cut: bool,
    /// Whether its file is gone.
    pub removed: bool,
    /// The agents that load it at their start.
    pub loaded_by: Vec<Text>,
    pub at: Text,
}

/// `op_document_show`: a document with a page of its passages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    pub document: Document,
    pub passages: Vec<Passage>,
    pub images: Vec<Image>,
    /// Where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// A passage of a document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Passage {
    pub id: Text,
    pub heading: Text,
    pub page: Option<u32>,
    pub flags: Vec<Text>,
    pub text: Text,
}

/// An image of a document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Image {
    pub caption: Text,
    pub page: Option<u32>,
    /// Where it is: in the file, or beside it.
    pub place: Text,
    pub beside: bool,
    pub mime: Text,
    pub hash: Text,
    pub bytes: u64,
}

/// `op_document_remove`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Removed {
    pub id: Text,
    pub path: Text,
}

/// `op_document_forget`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forgotten {
    pub id: Text,
    pub path: Text,
    /// How many passages are gone.
    pub passages: u64,
}
