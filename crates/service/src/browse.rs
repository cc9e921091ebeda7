//! Looking through everything: pages of memories in order of time, and how much was written each day.

use std::collections::BTreeMap;

use super::{Service, ServiceError};
use cerebro_core::domain::{Kind, Memory, MemoryId, Project, Scope, Timestamp};
use cerebro_core::recall::Weights;
use cerebro_core::redact::RedactedText;
use cerebro_search::lexical::{Projects, Query};
use cerebro_store::DeletedFilter;

/// Which page of which memories.
#[derive(Debug, Clone, Default)]
pub struct BrowseRequest {
    /// Of this project; of all when `None`.
    pub project: Option<Project>,
    /// Of this scope.
    pub scope: Option<Scope>,
    /// Of this type.
    pub kind: Option<Kind>,
    /// The deleted ones instead of the live ones.
    pub deleted: bool,
    /// How many come before the page.
    pub offset: usize,
    /// How many the page has at most.
    pub limit: usize,
}

/// A page of memories.
#[derive(Debug, Clone)]
pub struct Browsed {
    /// The page, newest first.
    pub memories: Vec<Memory>,
    /// How many memories there are on all pages.
    pub total: usize,
}

impl Service {
    /// A page of memories at any depth: the index knows the order, the store has the rows.
    ///
    /// # Errors
    /// A failing store or index.
    pub async fn browse(&self, request: BrowseRequest) -> Result<Browsed, ServiceError> {
        if request.deleted {
            let BrowseRequest { project, scope, kind, .. } = request;
            let filter = DeletedFilter { project, scope, kind };
            let (memories, total) = self.store().deleted_page(&filter, request.offset, request.limit).await?;
            return Ok(Browsed { memories, total });
        }
        let query = conditions(&request);
        let listing = self.ask(move |index| index.browse(&query)).await?;
        let ids: Vec<MemoryId> = listing.ids.into_iter().map(MemoryId::from).collect();
        let mut rows: BTreeMap<_, Memory> = BTreeMap::new();
        for memory in self.store().memories_by_id(&ids).await? {
            rows.insert(memory.id, memory);
        }
        let memories = ids.iter().filter_map(|id| rows.remove(id)).collect();
        Ok(Browsed { memories, total: listing.total })
    }

    /// How many texts were written on each day (UTC) from `since` to `until`; days without any are
    /// left out. Every revision counts on the day it was written; those of deleted memories do not.
    ///
    /// # Errors
    /// A failing store or index.
    pub async fn activity(
        &self,
        project: Option<&Project>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<BTreeMap<jiff::civil::Date, usize>, ServiceError> {
        let mut query = conditions(&BrowseRequest { project: project.cloned(), ..BrowseRequest::default() });
        (query.since, query.until) = (Some(since), Some(until));
        let (present, earlier) = tokio::try_join!(self.ask(move |index| index.moments(&query)), async {
            Ok(self.store().revision_moments(project, since).await?)
        })?;
        let mut days = BTreeMap::new();
        for at in present.into_iter().chain(earlier).filter(|at| *at <= until) {
            *days.entry(at.to_zoned(jiff::tz::TimeZone::UTC).date()).or_default() += 1;
        }
        Ok(days)
    }
}

fn conditions(request: &BrowseRequest) -> Query {
    let of = |project: Project| Projects::Of { project, with_personal: false };
    Query {
        text: RedactedText::default(),
        projects: request.project.clone().map_or(Projects::All, of),
        scope: request.scope,
        kind: request.kind.clone(),
        tags: Vec::new(),
        since: None,
        until: None,
        limit: request.limit,
        offset: request.offset,
        weights: Weights::default(),
    }
}
