//! Answering: the candidates of both legs, ranked, and the page asked for.

use std::{collections::BTreeMap, sync::Arc};

use tantivy::{Term, schema::Value, tokenizer::TextAnalyzer};
use tracing::debug_span;

use super::{
    LexicalError, Projects, Query, Result,
    finder::{Candidate, Finder, Meanings},
    pool::{Gathering, Place, Pool},
    preview::preview,
    roster::Roster,
    schema::Fields,
    tokenizer::words_analyzer,
    view::View,
};
use crate::vector::Near;
use cerebro_core::domain::{Kind, Project, Scope, SubjectId, Timestamp};
use cerebro_core::recall::{self, Match, Parts, Ranked, Signs};

/// How many matches in other projects are counted.
const OUTSIDE_MAX: usize = 50;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The best first.
    pub hits: Vec<Hit>,
    /// How long the whole list is.
    pub total: usize,
    /// No hit contains every meaningful word.
    pub relaxed: bool,
    pub matched: Match,
}

/// One memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub id: SubjectId,
    pub title: String,
    pub kind: Kind,
    pub project: Project,
    pub scope: Scope,
    pub agent: String,
    pub date: Timestamp,
    /// The best matching part of its best passage.
    pub preview: String,
    /// Comparable within one answer only.
    pub score: f32,
    /// The query is its title or topic key.
    pub exact: bool,
    /// How much of the query it contains, weighted by rarity: 0 to 1.
    pub coverage: f32,
    /// It contains every meaningful word.
    pub full: bool,
    /// What its score is made of.
    pub parts: Parts,
    /// The similarity of its nearest passage, if it was among the nearest.
    pub similarity: Option<f32>,
}

/// Answers a query from one view of the index. `near` gives the nearest vectors; it is called after the words
/// were found.
pub fn search(
    view: &View,
    rosters: &[Arc<Roster>],
    fields: &Fields,
    query: &Query,
    near: impl FnOnce() -> Arc<Vec<Near>>,
) -> Result<Answer> {
    let (finder, meanings, found) = find(view, rosters, fields, query)?;
    let relaxed = !found.iter().any(|candidate| meanings.is_full(candidate.mask));
    let gathering = debug_span!("gather").in_scope(|| Gathering::new(&finder, rosters, found));
    let near = debug_span!("awaited").in_scope(near);
    let pool = debug_span!("join").in_scope(|| gathering.join(&near));
    let ranked = debug_span!("rank")
        .in_scope(|| recall::rank(&pool.candidates, &pool.links, pool.usual, &query.weights));
    let matched = signs(ranked.first(), &pool, &meanings).label();
    let _shown = debug_span!("show").entered();
    let mut words = words_analyzer();
    let page = ranked.iter().skip(query.offset).take(query.limit);
    let hits = page.map(|ranked| finder.hit(ranked, &pool, &meanings, &mut words)).collect::<Result<_>>()?;
    Ok(Answer { hits, total: ranked.len(), relaxed, matched })
}

/// The matches of a query's words in every segment, and the weights of those words.
#[tracing::instrument(name = "words", level = "debug", skip_all)]
fn find<'a>(
    view: &'a View,
    rosters: &[Arc<Roster>],
    fields: &'a Fields,
    query: &Query,
) -> Result<(Finder<'a>, Meanings, Vec<Candidate>)> {
    let finder = Finder::new(view, fields, query)?;
    let meanings = Meanings::new(&finder);
    let (mut found, mut held) = (Vec::new(), Vec::new());
    for (segment, roster) in rosters.iter().enumerate() {
        finder.collect(segment, roster, query, &meanings, &mut held, &mut found)?;
    }
    Ok((finder, meanings, found))
}

/// How many memories of other projects contain more of a query than `beyond`, by project.
///
/// Only the best [`OUTSIDE_MAX`] are counted.
pub fn outside(
    view: &View,
    rosters: &[Arc<Roster>],
    fields: &Fields,
    query: &Query,
    beyond: f32,
) -> Result<BTreeMap<Project, usize>> {
    let mut counts = BTreeMap::new();
    let Projects::Of { project: searched, .. } = &query.projects else { return Ok(counts) };
    if !has_others(view, &query.places(fields).unwrap_or_default())? {
        return Ok(counts);
    }
    let everywhere = Query { projects: Projects::All, ..query.clone() };
    let (_, meanings, mut found) = find(view, rosters, fields, &everywhere)?;
    found.retain(|candidate| meanings.coverage(candidate.mask) > beyond);
    found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.best.cmp(&b.best)));
    for candidate in found.iter().take(OUTSIDE_MAX) {
        let stored = view.doc(candidate.best)?;
        let project = stored.get_first(fields.project).and_then(|value| value.as_str());
        let project = project.and_then(Project::parse);
        if let Some(project) = project.filter(|project| project != searched) {
            *counts.entry(project).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Whether there are memories outside these places.
fn has_others(view: &View, places: &[Term]) -> Result<bool> {
    let (mut here, mut all) = (0, 0);
    for segment in view.segments() {
        all += u64::from(segment.max_doc());
        for place in places {
            here += u64::from(segment.doc_freq(place)?);
        }
    }
    Ok(here < all)
}

fn signs(first: Option<&Ranked>, pool: &Pool, meanings: &Meanings) -> Signs {
    let Some(first) = first else { return Signs::default() };
    let nearest = pool.candidates.iter().filter_map(|candidate| candidate.meaning).reduce(f32::max);
    Signs {
        exact: pool.candidates[first.at].exact,
        coverage: meanings.coverage(pool.places[first.at].mask),
        words: meanings.count(),
        meaning: pool.usual.zip(nearest).map(|(usual, nearest)| usual.share(nearest)),
    }
}

impl Finder<'_> {
    /// What is shown of a candidate.
    fn hit(
        &self,
        ranked: &Ranked,
        pool: &Pool,
        meanings: &Meanings,
        words: &mut TextAnalyzer,
    ) -> Result<Hit> {
        let damaged = || LexicalError::Damaged("a stored passage lacks a field".to_owned());
        let (candidate, Place { passage, mask }) = (&pool.candidates[ranked.at], pool.places[ranked.at]);
        let stored = self.view.doc(passage)?;
        let text = |field| stored.get_first(field).and_then(|value| value.as_str());
        let passage = text(self.fields.body).ok_or_else(damaged)?;
        Ok(Hit {
            id: SubjectId::from_number(candidate.memory).ok_or_else(damaged)?,
            title: text(self.fields.title).ok_or_else(damaged)?.to_owned(),
            kind: text(self.fields.kind).and_then(Kind::parse).ok_or_else(damaged)?,
            project: text(self.fields.project).and_then(Project::parse).unwrap_or_else(Project::none),
            scope: text(self.fields.scope).and_then(|s| Scope::parse(s).ok()).ok_or_else(damaged)?,
            agent: text(self.fields.agent).unwrap_or_default().to_owned(),
            date: Timestamp::from_microsecond(candidate.date).map_err(|_| damaged())?,
            preview: preview(passage, &self.places(passage, &meanings.rarities, words)),
            score: ranked.score,
            exact: candidate.exact,
            coverage: meanings.coverage(mask),
            full: meanings.is_full(mask),
            parts: ranked.parts,
            similarity: candidate.meaning,
        })
    }
}
