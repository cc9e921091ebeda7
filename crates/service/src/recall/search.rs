//! Searching: one scored list, and a hint to other projects if its match is not strong.

use std::{collections::BTreeMap, sync::Arc};

use tokio::{runtime::Handle, sync::watch};
use tracing::debug_span;

use super::succession::HeldThen;
use crate::{
    Caller, Footing, Mark, MarkDetail, Marks, Recall, ServiceError, fields::Fields, index::blocking,
};
use cerebro_core::domain::{Kind, Project, ScopeName, Timestamp, limits::SEARCH_DEPTH_MAX};
use cerebro_core::recall::{Match, Weights};
use cerebro_core::truth::{self, Listed};
use cerebro_search::lexical::{Answer, Archived, Hit, Index, LexicalError, Projects, Query};
use cerebro_search::vector::Near;

/// Most other projects that an answer names.
const ELSEWHERE_MAX: usize = 3;
/// By how much of the query, by rarity, a memory elsewhere must hold more than the best one here.
const CLEARLY_MORE: f32 = 0.05;

/// How many of the nearest memories are looked at; more where conditions will leave most of them out.
const NEAR: usize = 1_000;
const NEAR_FILTERED: usize = 4_000;

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The words of the question: data, in any form.
    pub query: String,
    /// The project; the caller's own when `None`.
    pub project: Option<Project>,
    pub all_projects: bool,
    /// Only this scope.
    pub scope: Option<ScopeName>,
    /// Only this type.
    pub kind: Option<Kind>,
    /// Only with all of these.
    pub tags: Vec<String>,
    /// Written at or after.
    pub since: Option<Timestamp>,
    /// Written at or before.
    pub until: Option<Timestamp>,
    /// The most hits of the answer.
    pub limit: usize,
    /// How many hits were shown before.
    pub offset: usize,
    /// What each signal weighs.
    pub weights: Weights,
    /// Only memories that are valid at this moment.
    pub valid_at: Option<Timestamp>,
    /// What the store held at this moment.
    pub as_of: Option<Timestamp>,
    /// Whether archived memories are included.
    pub archived: bool,
}

/// Another project that has better hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its name.
    pub project: Project,
    /// How many of its memories, or of its evidence, match better.
    pub hits: usize,
}

/// The answer to a search.
#[derive(Debug, Clone)]
pub struct Found {
    /// The project that was searched; `None` when all were.
    pub project: Option<Project>,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How well the best hit answers.
    pub matched: Match,
    /// No hit holds every meaningful word.
    pub relaxed: bool,
    pub more: bool,
    /// Other projects with better hits.
    pub elsewhere: Vec<Elsewhere>,
    /// How many archived memories answer clearly better than all hits.
    pub archived: usize,
    /// The marks of the hits.
    pub marks: Marks,
    /// The hits were found by their words alone although there is a model, because the search is about an earlier moment.
    pub words_only: bool,
    /// How many secrets were taken out of the question.
    pub redacted: usize,
}

impl Recall {
    /// Searches the project and the personal memories, or everything.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for the query, or a failing index.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn search(&self, caller: &Caller, request: SearchRequest) -> Result<Found, ServiceError> {
        let mut fields = Fields::default();
        let text = fields.query(&request.query)?;
        let project = request.project.clone().unwrap_or_else(|| caller.project.clone());
        let projects = if request.all_projects {
            Projects::All
        } else {
            Projects::Of { project: project.clone(), with_personal: true }
        };
        let then = Box::pin(self.held_then(request.as_of)).await?;
        let query = Query {
            scope: request.scope,
            kind: request.kind.clone(),
            tags: fields.words(&request.tags),
            since: request.since,
            until: request.until,
            limit: request.limit,
            offset: request.offset.min(SEARCH_DEPTH_MAX),
            valid_at: request.valid_at,
            held_at: request.as_of,
            // What is archived now may not have been archived then.
            archived: if request.archived || request.as_of.is_some() {
                Archived::With
            } else {
                Archived::Without
            },
            weights: request.weights,
            successors: self.succession().await?.at(then.as_ref()),
            external: self.beside(&request.weights).await?,
            ..Query::of(text, projects)
        };
        let Looked { answer, archived, outside } = match then {
            Some(_) => Box::pin(self.search_past(query)).await?,
            None => self.search_now(query).await?,
        };
        let marks = self.marks_of_hits(&answer.hits, &request, then.as_ref()).await?;
        let shown = request.offset + request.limit;
        let more = answer.total > shown && shown < SEARCH_DEPTH_MAX;
        Ok(Found {
            project: (!request.all_projects).then_some(project),
            matched: answer.figures.label(),
            hits: answer.hits,
            relaxed: answer.relaxed,
            more,
            elsewhere: elsewhere(outside),
            archived,
            marks,
            words_only: request.as_of.is_some(),
            redacted: fields.redacted(),
        })
    }

    /// Answers by words and meaning. The first page also has the hints to what is not listed.
    async fn search_now(&self, query: Query) -> Result<Looked, ServiceError> {
        let _place = self.searches.acquire().await;
        let (send_near, near) = watch::channel(None);
        let query = Arc::new(query);
        let asked = Arc::clone(&query);
        let meaning = async {
            send_near.send_replace(Some(self.nearest(&asked).await?));
            Ok::<(), ServiceError>(())
        };
        // The words are looked for while the model reads the question.
        let words = self.index.ask(move |index| {
            let answer = index.search(&query, || awaited(near.clone()))?;
            Looked::beyond(index, &query, answer)
        });
        let ((), looked) = tokio::try_join!(meaning, words)?;
        Ok(looked)
    }

    /// Answers by the words of what the store held at the query's moment: the vectors are those of the present.
    async fn search_past(&self, query: Query) -> Result<Looked, ServiceError> {
        // Before a place is taken: building the index may take long.
        let index = self.past.past_index().await?;
        let _place = self.searches.acquire().await;
        let answer = blocking(&index, move |index| index.search(&query, Arc::default)).await?;
        Ok(Looked { answer, archived: 0, outside: BTreeMap::new() })
    }

    /// The marks of hits, as of the moment of the query.
    async fn marks_of_hits(
        &self,
        hits: &[Hit],
        request: &SearchRequest,
        then: Option<&HeldThen>,
    ) -> Result<Marks, ServiceError> {
        let footings: Vec<Footing> = hits.iter().map(Footing::from).collect();
        let mut marks = match then {
            Some(then) => self.past_marks(&footings, then).await?,
            None => self.marks(&footings).await?,
        };
        if then.is_none() {
            let listed: Vec<Listed<'_>> = hits.iter().map(listed).collect();
            for (id, newer) in truth::newer(&listed) {
                let marks = marks.entry(id).or_default();
                // A supersession that somebody stated comes before one that is guessed by titles.
                if marks.iter().all(|mark| mark.name != "old") {
                    marks.push(Mark::new("newer", MarkDetail::Id(newer)));
                }
            }
        }
        let at = request.valid_at.or(request.as_of).unwrap_or_else(|| self.base.now());
        for hit in hits.iter().filter(|hit| hit.valid_until.is_some_and(|until| until < at)) {
            marks.entry(hit.id.into()).or_default().push(Mark::new("expired", MarkDetail::Yes));
        }
        Ok(marks)
    }

    /// The memories nearest to the query in meaning; none without a model. Bounded in time.
    async fn nearest(&self, query: &Query) -> Result<Arc<Vec<Near>>, ServiceError> {
        let filtered = query.scope.is_some()
            || query.kind.is_some()
            || !query.tags.is_empty()
            || query.since.is_some()
            || query.valid_at.is_some()
            || query.until.is_some();
        let depth = if filtered { NEAR_FILTERED } else { NEAR };
        let leg = self.vectors.vector_candidates(&query.projects, &query.text, depth, None).await?;
        Ok(Arc::new(leg.map(|leg| leg.hits).unwrap_or_default()))
    }
}

/// What the index says about a question: the answer, and whether better ones are not listed.
struct Looked {
    answer: Answer,
    /// How many archived memories answer clearly better.
    archived: usize,
    /// The projects with memories that hold more of the query than the best hit here, if the match is not strong.
    outside: BTreeMap<Project, usize>,
}

impl Looked {
    /// Looks beyond an answer, if it is the first page.
    fn beyond(index: &Index, query: &Query, answer: Answer) -> Result<Self, LexicalError> {
        let is_first = query.offset == 0;
        let archived =
            if is_first && query.archived == Archived::Without { index.better_archived(query)? } else { 0 };
        let outside = outside(index, query, &answer, answer.figures.label(), |_| true)?;
        Ok(Self { answer, archived, outside })
    }
}

/// The projects with entries that hold more of a query than the best hit of its answer, if this is the first page of one
/// project and does not match strongly. `is_shown` is as in [`Index::outside`].
pub(super) fn outside(
    index: &Index,
    query: &Query,
    answer: &Answer,
    matched: Match,
    is_shown: impl Fn(&str) -> bool,
) -> Result<BTreeMap<Project, usize>, LexicalError> {
    let is_one_project = matches!(query.projects, Projects::Of { .. });
    if query.offset > 0 || !is_one_project || matched == Match::Strong {
        return Ok(BTreeMap::new());
    }
    let best = answer.hits.iter().map(|hit| hit.coverage).fold(0.0, f32::max);
    debug_span!("elsewhere").in_scope(|| index.outside(query, best + CLEARLY_MORE, is_shown))
}

/// The other projects that an answer names.
pub(super) fn elsewhere(outside: BTreeMap<Project, usize>) -> Vec<Elsewhere> {
    let mut elsewhere: Vec<Elsewhere> =
        outside.into_iter().map(|(project, hits)| Elsewhere { project, hits }).collect();
    elsewhere.sort_by_key(|other| std::cmp::Reverse(other.hits));
    elsewhere.truncate(ELSEWHERE_MAX);
    elsewhere
}

fn listed(hit: &Hit) -> Listed<'_> {
    Listed { id: hit.id.into(), scope: &hit.scope, kind: &hit.kind, title: &hit.title, at: hit.date }
}

/// Waits, on a thread for blocking work, for the nearest memories; there are none if the search was cancelled.
fn awaited(mut receiver: watch::Receiver<Option<Arc<Vec<Near>>>>) -> Arc<Vec<Near>> {
    let near = Handle::current().block_on(receiver.wait_for(Option::is_some));
    near.map(|near| near.clone().unwrap_or_default()).unwrap_or_default()
}
