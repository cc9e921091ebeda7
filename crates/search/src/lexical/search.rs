//! Answers a query: collects the candidates of both legs, ranks them, and returns the page asked for.

use std::{collections::BTreeMap, sync::Arc};

use tantivy::{Term, schema::Value, tokenizer::TextAnalyzer};
use tracing::debug_span;

use super::{
    LexicalError, Projects, Query, Result,
    candidates::{Candidates, Collector, HitLocation},
    finder::{Candidate, Concepts, Finder},
    preview::preview,
    query::Archived,
    scan,
    schema::{Fields, Key, taint_of},
    segment_table::SegmentTable,
    tokenizer::words_analyzer,
    view::View,
};
use crate::vector::Near;
use cerebro_core::domain::{Kind, Project, Scope, ScopeName, SubjectId, Taint, Timestamp};
use cerebro_core::recall::{self, MatchFigures, Parts, Ranked};
use cerebro_core::truth;

/// How many matches in other projects are counted.
const OUTSIDE_MAX: usize = 50;
/// By how much of its score an archived memory must exceed the others.
const CLEARLY_BETTER: f32 = 1.1;

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The best first.
    pub hits: Vec<Hit>,
    /// The length of the whole list.
    pub total: usize,
    /// Whether no hit contains every significant word.
    pub relaxed: bool,
    /// From which the label `match` is computed.
    pub figures: MatchFigures,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub id: SubjectId,
    pub title: String,
    pub kind: Kind,
    pub scope: Scope,
    pub agent: String,
    pub date: Timestamp,
    /// The best matching part of its best passage.
    pub preview: String,
    /// Comparable within one answer only.
    pub score: f32,
    /// Whether the query is its title or topic key.
    pub exact: bool,
    /// How much of the query it contains, weighted by rarity: 0 to 1.
    pub coverage: f32,
    /// Whether it contains every significant word.
    pub full: bool,
    /// The parts of its score.
    pub parts: Parts,
    /// The similarity of its nearest passage, if it was among the nearest.
    pub similarity: Option<f32>,
    /// When it is no longer true, if somebody said so.
    pub valid_until: Option<Timestamp>,
    /// The origin and flags of its text.
    pub taint: Taint,
    /// Whether it is archived.
    pub archived: bool,
}

/// Answers a query from one view of the index. `near` returns the nearest vectors; it is called after the words
/// were found.
pub fn search(
    view: &View,
    tables: &[Arc<SegmentTable>],
    fields: &Fields,
    query: &Query,
    near: impl FnOnce() -> Arc<Vec<Near>>,
) -> Result<Answer> {
    let (finder, concepts, found) = find(view, tables, fields, query)?;
    let relaxed = !found.iter().any(|candidate| concepts.is_full(candidate.mask));
    let collector = debug_span!("gather").in_scope(|| Collector::new(&finder, tables, &found));
    let near = debug_span!("awaited").in_scope(near);
    let candidates = debug_span!("join").in_scope(|| collector.join(&near, &query.successors));
    let Candidates { list, links, usual, .. } = &candidates;
    // What comes after the page has no order, unless a supersession may move it there.
    let ordered = if query.successors.is_empty() { (query.offset + query.limit).max(1) } else { list.len() };
    let ranked = debug_span!("rank")
        .in_scope(|| recall::rank(list, links, *usual, &query.weights, &query.external, ordered));
    let figures = signs(ranked.first(), &candidates, &concepts);
    let ranked = truth::newest_first(ranked, |ranked| candidates.list[ranked.at].memory, &query.successors);
    let _shown = debug_span!("show").entered();
    let mut words = words_analyzer();
    let page = ranked.iter().skip(query.offset).take(query.limit);
    let hits =
        page.map(|ranked| finder.hit(ranked, &candidates, &concepts, &mut words)).collect::<Result<_>>()?;
    Ok(Answer { hits, total: ranked.len(), relaxed, figures })
}

/// The matches of a query's words in every segment, and the weights of those words.
#[tracing::instrument(name = "words", level = "debug", skip_all)]
fn find<'a>(
    view: &'a View,
    tables: &[Arc<SegmentTable>],
    fields: &'a Fields,
    query: &Query,
) -> Result<(Finder<'a>, Concepts, Vec<Candidate>)> {
    let finder = Finder::new(view, fields, query)?;
    let concepts = Concepts::new(&finder);
    let (mut found, mut held) = (Vec::new(), Vec::new());
    for (segment, table) in tables.iter().enumerate() {
        finder.collect(segment, table, query, &concepts, &mut held, &mut found)?;
    }
    Ok((finder, concepts, found))
}

/// The number of memories of other projects that contain more of a query than `beyond`, by project. `is_shown` says by the
/// agent of a memory whether it counts.
///
/// Only the best [`OUTSIDE_MAX`] are counted.
pub fn outside(
    view: &View,
    tables: &[Arc<SegmentTable>],
    fields: &Fields,
    query: &Query,
    beyond: f32,
    is_shown: impl Fn(&str) -> bool,
) -> Result<BTreeMap<Project, usize>> {
    let mut counts = BTreeMap::new();
    let Projects::Of { project: searched, .. } = &query.projects else { return Ok(counts) };
    if !has_others(view, &query.places(fields).unwrap_or_default())? {
        return Ok(counts);
    }
    let everywhere = Query { projects: Projects::All, ..query.clone() };
    let (_, concepts, mut found) = find(view, tables, fields, &everywhere)?;
    found.retain(|candidate| concepts.coverage(candidate.mask) > beyond);
    found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.best.cmp(&b.best)));
    for candidate in found.iter().take(OUTSIDE_MAX) {
        let stored = view.doc(candidate.best)?;
        let text = |field| stored.get_first(field).and_then(|value| value.as_str());
        let project = text(fields.project).and_then(Project::parse);
        let project = project.filter(|project| project != searched);
        if let Some(project) = project.filter(|_| is_shown(text(fields.agent).unwrap_or_default())) {
            *counts.entry(project).or_default() += 1;
        }
    }
    Ok(counts)
}

/// How many archived memories answer a query clearly better, by its words, than all others.
pub fn better_archived(
    view: &View,
    tables: &[Arc<SegmentTable>],
    fields: &Fields,
    query: &Query,
) -> Result<usize> {
    if scan::count(view, &fields.term(Key::Archived))? == 0 {
        return Ok(0);
    }
    let both = Query { archived: Archived::With, ..query.clone() };
    let (.., found) = find(view, tables, fields, &both)?;
    let shelves =
        view.segments().map(|segment| scan::archived_docs(segment, fields)).collect::<Result<Vec<_>>>()?;
    let is_archived = |one: &Candidate| scan::has(&shelves[one.best.segment_ord as usize], one.best.doc_id);
    let (archived, here): (Vec<Candidate>, Vec<Candidate>) = found.into_iter().partition(is_archived);
    let best = here.iter().map(|one| one.score).fold(0.0, f32::max);
    let is_named = here.iter().any(|one| one.exact);
    let is_better = |one: &&Candidate| one.exact && !is_named || one.score > best * CLEARLY_BETTER;
    Ok(archived.iter().filter(is_better).count())
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

fn signs(first: Option<&Ranked>, candidates: &Candidates, concepts: &Concepts) -> MatchFigures {
    let Some(first) = first else { return MatchFigures::default() };
    let nearest = candidates.list.iter().filter_map(|candidate| candidate.meaning).reduce(f32::max);
    MatchFigures {
        exact: candidates.list[first.at].exact,
        meaning: candidates.usual.zip(nearest).map(|(usual, nearest)| usual.share(nearest)),
        // Coverage by the best passage: a long memory contains many words of any question, scattered.
        ..concepts.figures(candidates.locations[first.at].passage_mask)
    }
}

impl Finder<'_> {
    /// The displayed fields of a candidate.
    fn hit(
        &self,
        ranked: &Ranked,
        candidates: &Candidates,
        concepts: &Concepts,
        words: &mut TextAnalyzer,
    ) -> Result<Hit> {
        let damaged = || LexicalError::Damaged("a stored passage lacks a field".to_owned());
        let (candidate, HitLocation { passage, mask, .. }) =
            (&candidates.list[ranked.at], candidates.locations[ranked.at]);
        let stored = self.view.doc(passage)?;
        let segment = self.view.segment(passage.segment_ord as usize);
        let valid_until = segment.valid_until(passage.doc_id)?;
        let text = |field| stored.get_first(field).and_then(|value| value.as_str());
        let project = text(self.fields.project).and_then(Project::parse).unwrap_or_else(Project::general);
        let scope = text(self.fields.scope).and_then(|name| ScopeName::parse(name).ok());
        let passage = text(self.fields.body).ok_or_else(damaged)?;
        Ok(Hit {
            id: SubjectId::from_number(candidate.memory).ok_or_else(damaged)?,
            title: text(self.fields.title).ok_or_else(damaged)?.to_owned(),
            kind: text(self.fields.kind).and_then(Kind::parse).ok_or_else(damaged)?,
            scope: scope.ok_or_else(damaged)?.of(project),
            agent: text(self.fields.agent).unwrap_or_default().to_owned(),
            date: Timestamp::from_microsecond(candidate.date).map_err(|_| damaged())?,
            preview: preview(passage, &self.occurrences(passage, &concepts.rarities, words)),
            score: ranked.score,
            exact: candidate.exact,
            coverage: concepts.coverage(mask),
            full: concepts.is_full(mask),
            parts: ranked.parts,
            similarity: candidate.meaning,
            valid_until: Some(valid_until)
                .filter(|until| *until < i64::MAX)
                .and_then(|until| Timestamp::from_microsecond(until).ok()),
            taint: text(self.fields.taint).and_then(taint_of).ok_or_else(damaged)?,
            archived: stored.get_first(self.fields.archived).is_some(),
        })
    }
}
