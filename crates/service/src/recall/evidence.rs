//! Finding evidence.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Recall,
    search::{Elsewhere, elsewhere, outside},
};
use crate::{
    ServiceError,
    fields::Fields,
    index::{Evidence, WAIT},
};
use cerebro_core::domain::{
    Project, Timestamp,
    limits::{LIMIT_MAX, SEARCH_DEPTH_MAX},
};
use cerebro_core::recall::{Match, MatchFigures, Signal, Weights};
use cerebro_search::lexical::{Answer, Archived, Hit, Index, Projects, Query};

/// How many of the nearest exchanges are considered, of all projects.
const NEAR: usize = 50;
/// How many passages of files that the asking agent loads anyway are skipped in one list.
const OWN_MAX: usize = 20;

/// What to search a kind of evidence for.
#[derive(Debug, Clone, Default)]
pub struct EvidenceRequest {
    /// The words of the question: data, in any form.
    pub query: String,
    /// Where; everywhere when `None`.
    pub project: Option<Project>,
    /// Whether exchanges of sessions without a person and of sub-agents are included.
    pub hidden: bool,
    /// The name of the agent that asks. Documents that it loads anyway are left out.
    pub reader: Option<String>,
    /// The exchange began, or the document was last read, at this moment or later.
    pub since: Option<Timestamp>,
    /// The exchange began, or the document was last read, at this moment or earlier.
    pub until: Option<Timestamp>,
    /// How many hits.
    pub limit: usize,
    /// How many hits were shown before.
    pub offset: usize,
}

/// The answer to a search of evidence.
#[derive(Debug, Clone)]
pub struct EvidenceFound {
    /// The hits, best first; [`Evidence::id_of`] has their ids.
    pub hits: Vec<Hit>,
    /// How well the best hit answers.
    pub matched: Match,
    /// No hit holds every meaningful word.
    pub relaxed: bool,
    /// How long the whole list is.
    pub total: usize,
    /// There are more.
    pub more: bool,
    /// Other projects with better hits.
    pub elsewhere: Vec<Elsewhere>,
    /// How many secrets were taken out of the question.
    pub redacted: usize,
}

/// A hint that evidence answers a question which no memory answers.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceHint {
    /// How many exchanges or chunks hold words of the question.
    pub n: usize,
    /// The best one.
    pub id: String,
    /// Its title.
    pub title: String,
}

impl Recall {
    /// Searches one kind of evidence, of a project or of all. `None` if there is no such evidence at all: then nothing is
    /// opened or written.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for the query, or a failing index.
    pub async fn search_evidence(
        &self,
        of: Evidence,
        request: &EvidenceRequest,
    ) -> Result<Option<EvidenceFound>, ServiceError> {
        if !self.evidence.has(of).await? {
            return Ok(None);
        }
        // Before the semaphore's permit is taken: building the index may take long.
        let index = self.evidence.index(of, WAIT).await?;
        self.found_in_evidence(of, index, request, NEAR).await.map(Some)
    }

    async fn found_in_evidence(
        &self,
        of: Evidence,
        index: Arc<Index>,
        request: &EvidenceRequest,
        near: usize,
    ) -> Result<EvidenceFound, ServiceError> {
        let mut fields = Fields::default();
        // Of past sessions, nothing is left out.
        let reader = request.reader.clone().filter(|_| of == Evidence::Documents);
        let own = if reader.is_some() { OWN_MAX } else { 0 };
        let is_shown = move |agents: &str| agents.split(' ').all(|agent| reader.as_deref() != Some(agent));
        // Memory files of a person are documents of every project.
        let with_personal = of == Evidence::Documents;
        let within = |project: &Project| Projects::Of { project: project.clone(), with_personal };
        let projects = request.project.as_ref().map_or(Projects::All, within);
        let query = Query {
            kind: (!request.hidden).then(|| of.kind()),
            since: request.since,
            until: request.until,
            limit: request.limit.min(LIMIT_MAX) + own,
            offset: request.offset.min(SEARCH_DEPTH_MAX),
            archived: Archived::With,
            // Nearness adds exchanges that the words miss. Whether it may also change the order of the others is not
            // measured yet (`make history MODEL=1`).
            weights: Weights::default().without(Signal::Meaning),
            queued: false,
            ..Query::of(fields.query(&request.query)?, projects)
        };
        let _place = self.searches.acquire().await;
        let is_hint = near == 0;
        let near = match of {
            Evidence::History if !is_hint => self.vectors.near_exchanges(&query.text, near).await?,
            _ => Arc::default(),
        };
        let is_counted = is_shown.clone();
        let ask = move |index: &Index| {
            let answer = index.search(&query, || Arc::clone(&near))?;
            let matched = match of {
                Evidence::History => answer.figures.past_label(),
                Evidence::Documents => answer.figures.label(),
            };
            let outside = if is_hint {
                BTreeMap::new()
            } else {
                outside(index, &query, &answer, matched, &is_counted)?
            };
            Ok((answer, matched, outside))
        };
        let (answer, mut matched, outside) = self.evidence.ask(of, index, ask).await?;
        let Answer { mut hits, mut total, relaxed, figures } = answer;
        if own > 0 {
            let (before, best) = (hits.len(), hits.first().map(|hit| hit.id));
            hits.retain(|hit| is_shown(&hit.agent));
            total -= before - hits.len();
            hits.truncate(request.limit);
            // The label is that of the best hit. If it is left out, it is that of the next one.
            matched = match hits.first() {
                None => Match::None,
                Some(next) if request.offset == 0 && Some(next.id) != best => {
                    MatchFigures { exact: next.exact, coverage: next.coverage, ..figures }.label()
                }
                Some(_) => matched,
            };
        }
        let shown = request.offset + request.limit;
        let more = total > shown && shown < SEARCH_DEPTH_MAX;
        let elsewhere = elsewhere(outside);
        Ok(EvidenceFound { hits, matched, relaxed, total, more, elsewhere, redacted: fields.redacted() })
    }

    /// The best evidence of a kind for a question that no memory answers, if one matches strongly, whatever the page; sessions
    /// without a person do not count. `None` while the index is being built, because a search of memories does not wait for it.
    /// During an import of past sessions, what has just been imported may be missing.
    ///
    /// # Errors
    /// As [`Self::search_evidence`].
    pub async fn evidence_hint(
        &self,
        of: Evidence,
        asked: &EvidenceRequest,
    ) -> Result<Option<EvidenceHint>, ServiceError> {
        let request = EvidenceRequest { hidden: false, limit: 1, offset: 0, ..asked.clone() };
        if !self.evidence.has(of).await? {
            return Ok(None);
        }
        let Some((index, lags)) = self.evidence.for_hint(of).await? else { return Ok(None) };
        let found = self.found_in_evidence(of, index, &request, 0).await?;
        let best = found.hits.first().filter(|_| found.matched == Match::Strong);
        let Some(best) = best else { return Ok(None) };
        // An index that lags behind may hold what was forgotten meanwhile.
        if lags
            && of == Evidence::History
            && self.base.store.exchanges().by_id(&best.id.into()).await?.is_none()
        {
            return Ok(None);
        }
        Ok(Some(EvidenceHint { n: found.total, id: of.id_of(best.id), title: best.title.clone() }))
    }
}
