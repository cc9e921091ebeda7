//! Lists: pages of memories in order of time, the memories that meet conditions, and how many texts were written each
//! day.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Recall, ServiceError, fields::Fields};
use cerebro_core::domain::{Kind, Memory, MemoryId, Project, ScopeName, SessionId, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_core::text;
use cerebro_search::lexical::{Archived, Projects, Query};
use cerebro_store::DeletedFilter;

/// Most memories that are read at once to check conditions that the index does not know.
const STEP: usize = 500;

/// Most titles that are searched for words of a similar spelling.
const TITLES_MAX: usize = 2_000;
/// Most words of a question whose spelling is checked, and the fewest characters of such a word.
const QUERY_WORDS_MAX: usize = 16;
const WORD_CHARS_MIN: usize = 4;

/// Which memories; each condition that is given must be met.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Of this project; of all when `None`. What is personal belongs to none.
    pub project: Option<Project>,
    /// Of this scope.
    pub scope: Option<ScopeName>,
    /// Of this type.
    pub kind: Option<Kind>,
    /// With all of these tags.
    pub tags: Vec<String>,
    /// Written at or after.
    pub since: Option<Timestamp>,
    /// Written at or before.
    pub until: Option<Timestamp>,
    /// Saved first in this session.
    pub session: Option<SessionId>,
    /// Written last by this agent.
    pub agent: Option<String>,
    /// The deleted ones instead of the live ones.
    pub deleted: bool,
    /// Only those that are archived.
    pub archived: bool,
}

/// What a selection found.
#[derive(Debug, Clone)]
pub struct Selected {
    /// Newest first; of deleted ones, deleted last first.
    pub memories: Vec<Memory>,
    /// The position from which more may follow.
    pub next: Option<usize>,
    /// The number of all of them, if the index or the store knows it without reading them.
    pub total: Option<usize>,
}

impl Recall {
    /// A page of memories at any depth, newest first, and how many there are on all pages. Of the conditions, those count that
    /// the index knows; it has the order, the store has the rows.
    pub async fn browse(
        &self,
        selection: &Selection,
        offset: usize,
        limit: usize,
    ) -> Result<(Vec<Memory>, usize), ServiceError> {
        let (page, total) = self.page_of(selection, offset, limit).await?;
        Ok((page.into_iter().flatten().collect(), total))
    }

    /// Up to `limit` memories that meet the conditions, from the place `offset` in the list of all on.
    pub async fn select(
        &self,
        selection: &Selection,
        offset: usize,
        limit: usize,
    ) -> Result<Selected, ServiceError> {
        let step = if selection.is_known_to_the_index() { limit + 1 } else { STEP };
        let (mut memories, mut at) = (Vec::new(), offset);
        loop {
            let (page, total) = self.page_of(selection, at, step).await?;
            let counted = selection.is_counted().then_some(total);
            let count = page.len();
            for (place, memory) in (at..).zip(page) {
                let Some(memory) = memory.filter(|memory| selection.takes(memory)) else { continue };
                if memories.len() == limit {
                    return Ok(Selected { memories, next: Some(place), total: counted });
                }
                memories.push(memory);
            }
            at += count;
            if count == 0 || at >= total {
                return Ok(Selected { memories, next: None, total: counted });
            }
        }
    }

    /// A page of the ids that the index (for deleted memories, the store) has for a selection, and the number of ids on all
    /// pages. A memory that was purged since is `None`.
    async fn page_of(
        &self,
        selection: &Selection,
        offset: usize,
        limit: usize,
    ) -> Result<(Vec<Option<Memory>>, usize), ServiceError> {
        if selection.deleted {
            let filter = DeletedFilter {
                project: selection.project.clone().filter(|_| selection.scope != Some(ScopeName::Personal)),
                scope: selection.scope,
                kind: selection.kind.clone(),
            };
            let (memories, total) = self.base.store.memories().restorable(&filter, offset, limit).await?;
            return Ok((memories.into_iter().map(Some).collect(), total));
        }
        let query = Query { offset, limit, ..selection.conditions() };
        let listing = self.index.ask(move |index| index.browse(&query)).await?;
        let ids: Vec<MemoryId> = listing.ids.into_iter().map(MemoryId::from).collect();
        let mut rows = self.base.store.memories().map_of(&ids).await?;
        Ok((ids.iter().map(|id| rows.remove(id)).collect(), listing.total))
    }

    /// The words of a question that no title has, each with words of titles that are spelt nearly like it. It searches the
    /// newest [`TITLES_MAX`] titles of the project and of the personal memories, or of all projects.
    pub async fn spelled(
        &self,
        query: &str,
        project: Option<&Project>,
    ) -> Result<Vec<(String, Vec<String>)>, ServiceError> {
        let personal =
            project.map(|_| Selection { scope: Some(ScopeName::Personal), ..Selection::default() });
        let own = Selection { project: project.cloned(), ..Selection::default() };
        let mut known = BTreeSet::new();
        for selection in std::iter::once(own).chain(personal) {
            let found = self.select(&selection, 0, TITLES_MAX).await?;
            known.extend(found.memories.iter().flat_map(|memory| words(&memory.title)));
        }
        let asked: BTreeSet<String> = words(query).take(QUERY_WORDS_MAX).collect();
        let unknown = asked.into_iter().filter(|word| !known.contains(word));
        let near = unknown.map(|word| {
            let near = text::nearest(&word, known.iter().map(String::as_str));
            let near = near.into_iter().map(str::to_owned).collect::<Vec<_>>();
            (word, near)
        });
        Ok(near.filter(|(_, near)| !near.is_empty()).collect())
    }

    /// How many live memories there are of each type, the most frequent first.
    pub async fn types(&self) -> Result<Vec<(Kind, usize)>, ServiceError> {
        let mut types = self.base.store.memories().count_by_type().await?;
        types.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.as_str().cmp(b.0.as_str())));
        Ok(types)
    }

    /// How many texts were written on each day (UTC) from `since` to `until`; days without any are
    /// left out. Every revision counts on the day it was written; those of deleted memories do not.
    pub async fn activity(
        &self,
        project: Option<&Project>,
        since: Timestamp,
        until: Timestamp,
    ) -> Result<BTreeMap<jiff::civil::Date, usize>, ServiceError> {
        let (since_then, until_then) = (Some(since), Some(until));
        let selection = Selection {
            project: project.cloned(),
            since: since_then,
            until: until_then,
            ..Selection::default()
        };
        let query = selection.conditions();
        let (present, earlier) =
            tokio::try_join!(self.index.ask(move |index| index.moments(&query)), async {
                Ok(self.base.store.revisions().moments(project, since).await?)
            })?;
        let mut days = BTreeMap::new();
        for at in present.into_iter().chain(earlier).filter(|at| *at <= until) {
            *days.entry(at.to_zoned(jiff::tz::TimeZone::UTC).date()).or_default() += 1;
        }
        Ok(days)
    }
}

/// The words of a text that are long enough to be misspelt, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= WORD_CHARS_MIN)
        .map(str::to_lowercase)
}

impl Selection {
    /// Whether the index alone can decide which memories meet the conditions.
    fn is_known_to_the_index(&self) -> bool {
        !self.deleted && self.session.is_none() && self.agent.is_none()
    }

    /// Whether the number of all of them is known: the index (for deleted memories, the store) has checked every condition.
    fn is_counted(&self) -> bool {
        let beyond_the_store = self.since.or(self.until).is_some() || !self.tags.is_empty();
        self.session.is_none() && self.agent.is_none() && !(self.deleted && beyond_the_store)
    }

    /// Whether a memory meets the conditions that the query for its page did not contain.
    fn takes(&self, memory: &Memory) -> bool {
        let has_tag = |tag: &String| memory.tags.iter().any(|had| had.as_str() == tag);
        self.since.is_none_or(|since| memory.updated_at >= since)
            && self.until.is_none_or(|until| memory.updated_at <= until)
            && self.tags.iter().all(has_tag)
            && self.session.as_ref().is_none_or(|session| memory.session.as_ref() == Some(session))
            && self.agent.as_ref().is_none_or(|agent| memory.agent.as_str() == agent)
    }

    /// The conditions that the index can check, without a page.
    fn conditions(&self) -> Query {
        let of = |project: Project| Projects::Of { project, with_personal: false };
        let project = self.project.clone().filter(|_| self.scope != Some(ScopeName::Personal));
        Query {
            scope: self.scope,
            kind: self.kind.clone(),
            tags: Fields::default().words(&self.tags),
            since: self.since,
            until: self.until,
            archived: if self.archived { Archived::Only } else { Archived::With },
            ..Query::of(RedactedText::default(), project.map_or(Projects::All, of))
        }
    }
}
