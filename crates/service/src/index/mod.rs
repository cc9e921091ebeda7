//! What is derived from the store so that things are found: the index of memories, an index for each kind of evidence,
//! one of the past, and vectors in memory. Deleting any of them costs time, nothing else.
//!
//! Evidence is what lies beside the memories: exchanges of past sessions, and chunks of documents. Each kind has an index
//! of its own, so that no order of memories depends on it.

mod chunks;
mod evidence;
mod exchange_vectors;
mod exchanges;
mod memories;
mod past;
mod vectors;

pub(crate) use chunks::{scope as document_scope, title as chunk_title};
pub(crate) use evidence::{EvidenceIndexes, WAIT, blocking};
pub(crate) use exchange_vectors::exchanges_max;
pub(crate) use memories::{Follower, MemoryIndex};
pub(crate) use past::{Past, PastIndex};
pub use vectors::{EXACT_BYTES_MAX, VectorLeg};
pub(crate) use vectors::{VectorSearch, Vectors};

use cerebro_core::domain::{ChunkId, ExchangeId, Kind, SubjectId};

/// A kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Exchanges of past sessions.
    History,
    /// Chunks of documents.
    Documents,
}

impl Evidence {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::History, Self::Documents];

    /// The type by which a search asks for it.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Documents => "document",
        }
    }

    /// The same as the index's type.
    pub(crate) fn kind(self) -> Kind {
        Kind::parse(self.type_name()).unwrap_or_else(Kind::manual)
    }

    /// Its name, as its folder, the log and the doctor's check use it.
    fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Documents => "documents",
        }
    }

    /// The noun for one of them.
    fn noun(self) -> &'static str {
        match self {
            Self::History => "exchange",
            Self::Documents => "chunk",
        }
    }

    /// The id of one of them, as it is shown and asked for.
    pub fn id_of(self, id: SubjectId) -> String {
        match self {
            Self::History => ExchangeId::from(id).to_string(),
            Self::Documents => ChunkId::from(id).to_string(),
        }
    }
}
