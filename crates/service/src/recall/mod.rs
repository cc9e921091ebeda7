//! What finds and shows memories: search, context, timelines, lists, graphs and figures. Nothing here changes a memory.
//! The only writes are the anchors of a memory, and that a pair is settled.

mod anchors;
mod beside;
mod browse;
mod census;
mod claims;
mod context;
mod entity;
mod evidence;
mod get;
mod graph;
mod health;
mod marks;
mod pairs;
mod search;
mod session_contents;
mod stats;
mod succession;
mod timeline;
mod unfinished;

pub(crate) use anchors::AnchorCache;
pub use browse::{Selected, Selection};
pub(crate) use census::CensusCache;
pub(crate) use claims::ClaimCache;
pub use context::{Context, ContextRequest, FollowUps, Gathered};
pub use entity::EntityGraph;
pub use evidence::{EvidenceFound, EvidenceHint, EvidenceRequest};
pub use get::{Earlier, Observation, ObservationRequest};
pub use graph::{DEPTH_MAX as GRAPH_DEPTH_MAX, Graph, GraphNode, NODES_MAX as GRAPH_NODES_MAX};
pub(crate) use health::HealthCache;
pub use health::{Health, PAIRS_COUNTED_MAX};
pub use marks::{Footing, Mark, MarkDetail, Marks, flag_mark};
pub use pairs::{Pair, Pairs};
pub use search::{Elsewhere, Found, SearchRequest};
pub use session_contents::SessionContents;
pub use stats::Stats;
pub(crate) use succession::SuccessionCache;
pub use timeline::{Entry, EntryKind, Timeline, TimelineRequest, Within};

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::{
    base::Base,
    feedback::Feedback,
    index::{EvidenceIndexes, MemoryIndex, Past, VectorSearch},
    sessions::Sessions,
};

/// The use cases that find and show memories.
#[derive(Clone)]
pub struct Recall {
    pub(crate) base: Base,
    pub(crate) index: MemoryIndex,
    pub(crate) evidence: EvidenceIndexes,
    pub(crate) vectors: VectorSearch,
    pub(crate) past: Past,
    pub(crate) sessions: Sessions,
    pub(crate) feedback: Feedback,
    pub(crate) claims: Arc<ClaimCache>,
    pub(crate) anchors: Arc<AnchorCache>,
    pub(crate) succession: Arc<SuccessionCache>,
    pub(crate) census: Arc<CensusCache>,
    pub(crate) health: Arc<HealthCache>,
    /// Bounds the searches that compute at once: each holds a thread while it waits for the model.
    pub(crate) searches: Arc<Semaphore>,
}
