//! Drilling in: one memory, whole.

use super::{Service, ServiceError};
use cerebro_core::domain::{Memory, MemoryId, Revision};
use cerebro_store::Near;

/// Most neighbours that are shown.
const RELATED_MAX: usize = 20;
/// How many revisions a page holds.
const REVISIONS_PAGE: usize = 20;

/// Which part of which memory.
#[derive(Debug, Clone)]
pub struct ObservationRequest {
    /// The memory.
    pub id: MemoryId,
    /// With its revisions.
    pub history: bool,
    /// From this byte of the content (with `history`: past this many revisions).
    pub offset: usize,
    /// At most this much content.
    pub max_bytes: usize,
}

/// A memory, or a part of a long one.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The memory, with the requested part of its content.
    pub memory: Memory,
    /// The size of the whole content.
    pub content_bytes: usize,
    /// Where more content (with `history`: more revisions) follows.
    pub next_offset: Option<usize>,
    /// Its neighbours in the graph.
    pub related: Vec<Near>,
    /// Earlier revisions, newest first, when asked for.
    pub revisions: Option<Vec<Earlier>>,
}

/// An earlier revision.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The revision; of one that is too long for the answer, the beginning of its content.
    pub revision: Revision,
    /// The size of its whole content.
    pub content_bytes: usize,
}

impl Service {
    /// Reads a live memory; a person sees deleted ones too.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`]
    pub async fn observation(
        &self,
        request: &ObservationRequest,
        person: bool,
    ) -> Result<Observation, ServiceError> {
        let found = self.store().observation(&request.id, RELATED_MAX).await?;
        let (mut memory, related) = found.ok_or(ServiceError::NoMemory(request.id))?;
        if !memory.is_live() && !person {
            return Err(ServiceError::gone(&memory));
        }
        let content_bytes = memory.content.len();
        let content_offset = if request.history { 0 } else { request.offset };
        let (piece, mut next_offset) = memory.content.slice_bytes(content_offset, request.max_bytes);
        memory.content = piece;
        let revisions = if request.history {
            let (page, next) = self.revisions(&memory, request).await?;
            next_offset = next;
            Some(page)
        } else {
            None
        };
        Ok(Observation { memory, content_bytes, next_offset, related, revisions })
    }

    /// A page of revisions whose texts fit into what the request allows; at least one, cut if need be.
    async fn revisions(
        &self,
        memory: &Memory,
        request: &ObservationRequest,
    ) -> Result<(Vec<Earlier>, Option<usize>), ServiceError> {
        let skipped = u32::try_from(request.offset).unwrap_or(u32::MAX);
        let before = memory.revision.saturating_sub(skipped);
        let mut page = self.store().revisions(&memory.id, before, REVISIONS_PAGE + 1).await?;
        let mut room = request.max_bytes;
        let mut fitting = 0;
        for revision in page.iter().take(REVISIONS_PAGE) {
            if fitting > 0 && revision.content.len() > room {
                break;
            }
            room = room.saturating_sub(revision.content.len());
            fitting += 1;
        }
        let more = page.len() > fitting;
        page.truncate(fitting);
        let next = page.last().filter(|_| more).map(|last| (memory.revision - last.revision) as usize);
        let earlier = |mut revision: Revision| {
            let content_bytes = revision.content.len();
            revision.content = revision.content.cut_bytes(request.max_bytes);
            Earlier { revision, content_bytes }
        };
        Ok((page.into_iter().map(earlier).collect(), next))
    }

    /// Ids and titles of the memories whose id begins with a part of one.
    ///
    /// # Errors
    /// A failing store.
    pub async fn resolve(&self, prefix: &str, limit: usize) -> Result<Vec<(MemoryId, String)>, ServiceError> {
        Ok(self.store().memories_by_prefix(prefix, limit).await?)
    }
}
