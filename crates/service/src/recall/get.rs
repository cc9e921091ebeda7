//! Reading one memory in full.

use super::succession::Beside;
use crate::{Mark, Recall, ServiceError};
use cerebro_core::domain::{ExchangeId, Memory, MemoryId, Nature, Revision, Timestamp, WorkId};
use cerebro_core::{text, truth};
use cerebro_store::{Neighbour, Supersession, Ties};

/// Most neighbours that are shown.
const RELATED_MAX: usize = 20;
/// How many revisions a page holds.
const REVISIONS_PAGE: usize = 20;

/// Which part of which memory.
#[derive(Debug, Clone)]
pub struct ObservationRequest {
    pub id: MemoryId,
    /// With its revisions.
    pub history: bool,
    /// From this byte of the content (with `history`: past this many revisions).
    pub offset: usize,
    /// At most this much content.
    pub max_bytes: usize,
    /// As the store held it at this moment, without revisions and ties.
    pub as_of: Option<Timestamp>,
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
    pub related: Vec<Neighbour>,
    /// The exchanges that it rests on: those that somebody named, and those that the claims cite from which it was made.
    pub evidence: Vec<ExchangeId>,
    /// The pieces of work in which it was found out, whoever owns them, the latest first.
    pub works: Vec<WorkId>,
    /// If it is an insight: the mark that a source of it no longer holds.
    pub mark: Option<Mark>,
    /// The memories whose place it took, the latest first.
    pub supersedes: Vec<MemoryId>,
    /// The memories that took its place, the latest first.
    pub superseded_by: Vec<MemoryId>,
    /// What kind of memory it is.
    pub nature: Nature,
    /// Its strength now, as a share of the full strength, up to 1.
    pub strength: f64,
    /// Earlier revisions, newest first, when asked for.
    pub revisions: Option<Vec<Earlier>>,
}

/// An earlier revision.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The revision. If its content is too long for the answer, the beginning of it.
    pub revision: Revision,
    /// The size of its whole content.
    pub content_bytes: usize,
}

impl Recall {
    /// Reads a live memory; a person sees deleted ones too.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`]; [`ServiceError::Invalid`] for an offset beyond the end.
    pub async fn observation(
        &self,
        request: &ObservationRequest,
        person: bool,
    ) -> Result<Observation, ServiceError> {
        let found = self.base.store.memories().with_ties(&request.id, RELATED_MAX).await?;
        let (mut memory, mut ties) = found.ok_or(ServiceError::NoMemory(request.id))?;
        let mut mark = None;
        if let Some(at) = request.as_of {
            memory = Box::pin(self.past.as_it_was(memory, at)).await?;
            ties.supersessions.retain(|edge| edge.at <= at);
            ties = Ties { neighbours: Vec::new(), citations: Vec::new(), works: Vec::new(), ..ties };
        } else if memory.is_live() {
            mark = self.source_mark(&memory).await?;
        } else if !person {
            return Err(ServiceError::gone(&memory));
        }
        let content_bytes = memory.content.len();
        let has_history = request.history && request.as_of.is_none();
        let content_offset = if has_history { 0 } else { request.offset };
        if content_offset > 0 && content_offset >= content_bytes {
            return Err(ServiceError::beyond(content_offset, &text::counted(content_bytes, "byte")));
        }
        let (piece, mut next_offset) = memory.content.slice_bytes(content_offset, request.max_bytes);
        memory.content = piece;
        let revisions = if has_history {
            let (page, next) = self.revisions(&memory, request).await?;
            if page.is_empty() && request.offset > 0 {
                return Err(ServiceError::beyond(request.offset, "its earlier revisions"));
            }
            next_offset = next;
            Some(page)
        } else {
            None
        };
        let Ties { neighbours: related, supersessions, citations: evidence, works } = ties;
        let then = Box::pin(self.held_then(request.as_of)).await?;
        let Beside { supersedes, superseded_by } =
            self.succession().await?.beside(&memory.id, &supersessions, then.as_ref());
        let nature = truth::nature(&memory);
        let has_superseded =
            supersessions.iter().any(|edge| edge.newer == memory.id && edge.by != Supersession::CYCLE);
        let strength =
            truth::strength(&memory, has_superseded, request.as_of.unwrap_or_else(|| self.base.now()));
        Ok(Observation {
            memory,
            content_bytes,
            next_offset,
            related,
            evidence,
            works,
            mark,
            supersedes,
            superseded_by,
            nature,
            strength,
            revisions,
        })
    }

    /// A page of revisions whose texts fit into what the request allows; at least one, cut if need be.
    async fn revisions(
        &self,
        memory: &Memory,
        request: &ObservationRequest,
    ) -> Result<(Vec<Earlier>, Option<usize>), ServiceError> {
        let skipped = u32::try_from(request.offset).unwrap_or(u32::MAX);
        let before = memory.revision.saturating_sub(skipped);
        let mut page = self.base.store.revisions().before(&memory.id, before, REVISIONS_PAGE + 1).await?;
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
    pub async fn resolve(&self, prefix: &str, limit: usize) -> Result<Vec<(MemoryId, String)>, ServiceError> {
        Ok(self.base.store.memories().by_prefix(prefix, limit).await?)
    }
}
