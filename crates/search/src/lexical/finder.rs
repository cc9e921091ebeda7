//! Finds words and scores passages by them.
//!
//! The score is BM25F (Robertson, Zaragoza & Taylor, "Simple BM25 extension to multiple weighted fields", 2004)
//! over passages, computed one query term after the other into an array, segment after segment. Document
//! frequencies are counted only within what passes the filters, so a project's ranking does not depend on other
//! projects.

use std::{collections::HashMap, ops::Range};

use tantivy::{
    DocAddress, DocId, Term,
    fieldnorm::FieldNormReader,
    tokenizer::{TextAnalyzer, TokenStream},
};

use super::{
    Query, Result,
    fold::normal_name,
    opening::persons,
    query::{QueryTerm, TermKind},
    scan::{Allowed, has, mean_length},
    schema::{Fields, Key},
    segment_table::SegmentTable,
    tokenizer::runs,
    view::{Segment, View, bits, ones},
};
use cerebro_core::recall::{self, MatchFigures};

/// How fast further occurrences of a word stop counting (BM25's k1).
const SATURATION: f32 = 1.2;
/// How much a long passage, and a long head, is penalised (BM25's b).
const BODY_LENGTH: f32 = 0.9;
const HEAD_LENGTH: f32 = 0.5;
/// The weight of a word in title, topic key or tags, relative to one in the passage. A higher weight helps
/// where titles are written with care and hurts where they repeat the content.
const HEAD_WEIGHT: f32 = 1.0;
/// The weight of a part of a name when the whole name is found somewhere.
const PART_WEIGHT: f32 = 0.5;
/// The most a passage gains by containing the whole query.
const COVERAGE_LIFT: f32 = 0.5;
/// Below this many passages, document frequencies are noise: coverage is computed as if the corpus had this
/// size.
const COVERAGE_DOCS_MIN: u64 = 100;
/// Letters at the start of a word that stemming almost never changes.
const START_BYTES: usize = 2;

/// Where a query term occurs in one segment, in order, each with its frequency, weighted by field and length.
type Found = Vec<(DocId, f32)>;
/// For how many occurrences there is room at first.
const FOUND_AT_FIRST: usize = 128;

/// The matches of a query in a view, by query term.
pub struct Finder<'a> {
    pub view: &'a View,
    pub fields: &'a Fields,
    query_terms: Vec<QueryTerm>,
    /// For each term, the first query term that looks for it.
    term_of: HashMap<Term, usize>,
    /// The first letters of the query terms' words.
    starts: Vec<Vec<u8>>,
    pub allowed: Vec<Allowed>,
    /// For each segment and query term.
    found: Vec<Vec<Found>>,
    /// For each segment, a bit set of first passages whose opening names a person of the query.
    opened: Vec<Vec<u64>>,
}

/// The weight of one occurrence of a word in a field, by the field's length in its one-byte form.
fn occurrence_weights(weight: f32, length_share: f32, mean_length: f32) -> [f32; 256] {
    std::array::from_fn(|id| {
        let length = FieldNormReader::id_to_fieldnorm(u8::try_from(id).unwrap_or(u8::MAX)) as f32;
        weight / (1.0 - length_share + length_share * length / mean_length)
    })
}

impl<'a> Finder<'a> {
    pub fn new(view: &'a View, fields: &'a Fields, query: &Query) -> Result<Self> {
        let query_terms = query.query_terms(fields);
        let heads = occurrence_weights(HEAD_WEIGHT, HEAD_LENGTH, mean_length(view, fields.head)?);
        let bodies = occurrence_weights(1.0, BODY_LENGTH, mean_length(view, fields.body)?);
        let words = query_terms
            .iter()
            .flat_map(|query_term| &query_term.terms)
            .filter(|term| term.field() == fields.body);
        let start = |term: &Term| term.serialized_value_bytes().iter().copied().take(START_BYTES).collect();
        let starts = words.map(start).collect();
        let mut term_of = HashMap::new();
        for (i, term) in query_terms
            .iter()
            .enumerate()
            .flat_map(|(i, query_term)| query_term.terms.iter().map(move |t| (i, t)))
        {
            term_of.entry(term.clone()).or_insert(i);
        }
        let mut finder = Self {
            view,
            fields,
            query_terms,
            term_of,
            starts,
            allowed: Vec::new(),
            found: Vec::new(),
            opened: Vec::new(),
        };
        let persons = persons(query.bounded_text());
        for ord in 0..view.len() {
            finder.find(ord, query, [&heads, &bodies])?;
            let mut docs = Vec::new();
            for person in &persons {
                view.segment(ord).scan(&fields.term(Key::Opening(person)), |doc, _| docs.push(doc))?;
            }
            finder.opened.push(bits(view.segment(ord).max_doc(), docs.into_iter()));
        }
        Ok(finder)
    }

    /// Finds every query term in one segment.
    fn find(&mut self, ord: usize, query: &Query, [heads, bodies]: [&[f32; 256]; 2]) -> Result<()> {
        let segment = self.view.segment(ord);
        let allowed = Allowed::new(segment, self.fields, query)?;
        let head_lengths = segment.lengths(self.fields.head)?;
        let body_lengths = segment.lengths(self.fields.body)?;
        let mut found = Vec::with_capacity(self.query_terms.len());
        for query_term in &self.query_terms {
            let mut sums = Found::new();
            for term in &query_term.terms {
                let by_length = match term.field() {
                    field if field == self.fields.head => Some((heads, &head_lengths)),
                    field if field == self.fields.body => Some((bodies, &body_lengths)),
                    _ => None,
                };
                // Both are in order of the passages.
                let mut earlier = std::mem::take(&mut sums).into_iter().peekable();
                segment.scan(term, |doc, freq| {
                    if !allowed.has(doc) {
                        return;
                    }
                    let weight = by_length.map_or(1.0, |(weights, of)| weights[usize::from(of.id(doc))]);
                    while let Some(other) = earlier.next_if(|(other, _)| *other < doc) {
                        sums.push(other);
                    }
                    let sum = earlier.next_if(|(other, _)| *other == doc).map_or(0.0, |(_, sum)| sum);
                    if sums.is_empty() {
                        sums.reserve(FOUND_AT_FIRST);
                    }
                    sums.push((doc, sum + freq as f32 * weight));
                })?;
                sums.extend(earlier);
            }
            found.push(sums);
        }
        self.allowed.push(allowed);
        self.found.push(found);
        Ok(())
    }

    /// Whether the memory with this first passage opens with a person of the query.
    pub fn is_opened(&self, ord: usize, first: DocId) -> bool {
        has(&self.opened[ord], first)
    }

    /// The document frequency of each query term.
    fn counts(&self) -> Vec<usize> {
        (0..self.query_terms.len())
            .map(|query_term| self.found.iter().map(|found| found[query_term].len()).sum())
            .collect()
    }

    /// Rarity of a query term that `n` passages have, with at least `docs_min` passages assumed: BM25's idf, never
    /// negative.
    fn rarity(&self, n: usize, docs_min: u64) -> f32 {
        let docs = self.allowed.iter().map(|a| a.count).sum::<u64>().max(docs_min);
        (1.0 + (docs as f32 - n as f32 + 0.5).max(0.5) / (n as f32 + 0.5)).ln()
    }
}

/// The weights of the query's concepts.
pub struct Concepts {
    /// For each query term: how rare it is.
    pub rarities: Vec<f32>,
    /// For each query term: the most that it adds to a score.
    weights: Vec<f32>,
    /// For each concept, its share of the coverage; 0 if it is optional.
    shares: Vec<f32>,
    /// The same, with each name that does not occur beside its parts.
    named_shares: Vec<f32>,
}

impl Concepts {
    pub fn new(finder: &Finder<'_>) -> Self {
        let (query_terms, counts) = (&finder.query_terms, finder.counts());
        let count = query_terms.iter().map(|query_term| query_term.concept + 1).max().unwrap_or(0);
        let mut there = vec![false; count];
        for (query_term, count) in query_terms.iter().zip(&counts) {
            there[query_term.concept] |= *count > 0;
        }
        let (mut shares, mut named_shares) = (vec![0.0f32; count], vec![0.0f32; count]);
        let mut weights = vec![0.0; query_terms.len()];
        let rarities: Vec<f32> = counts.iter().map(|n| finder.rarity(*n, 0)).collect();
        let has_parts: Vec<bool> =
            (0..count).map(|m| query_terms.iter().any(|c| c.part_of == Some(m))).collect();
        for (i, query_term) in query_terms.iter().enumerate() {
            let part = query_term.part_of.is_some_and(|whole| there[whole]);
            // A name that does not occur is searched by its parts, if it has any.
            let absent = query_term.kind == TermKind::Name
                && !there[query_term.concept]
                && has_parts[query_term.concept];
            let (concept, share) = (query_term.concept, finder.rarity(counts[i], COVERAGE_DOCS_MIN));
            if !part {
                named_shares[concept] = named_shares[concept].max(share);
            }
            if !part && !absent {
                shares[concept] = shares[concept].max(share);
            }
            weights[i] = rarities[i] * if part { PART_WEIGHT } else { 1.0 };
        }
        Self { rarities, weights, shares, named_shares }
    }

    pub fn coverage(&self, mask: u64) -> f32 {
        covered(&self.shares, mask)
    }

    /// The figures for the label of an answer whose first hit contains these concepts; the caller adds the meaning.
    pub fn figures(&self, mask: u64) -> MatchFigures {
        let counted = |shares: &[f32]| shares.iter().filter(|share| **share > 0.0).count();
        MatchFigures {
            coverage: self.coverage(mask),
            words: counted(&self.shares),
            named_coverage: covered(&self.named_shares, mask),
            named_words: counted(&self.named_shares),
            ..MatchFigures::default()
        }
    }

    pub fn is_full(&self, mask: u64) -> bool {
        self.shares.iter().enumerate().all(|(m, share)| *share == 0.0 || mask >> m & 1 == 1)
    }
}

/// The shares of the concepts in `mask`, as a part of all shares: 0 to 1.
fn covered(shares: &[f32], mask: u64) -> f32 {
    let total: f32 = shares.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    let held = shares.iter().enumerate().filter(|(m, _)| mask >> m & 1 == 1).map(|(_, share)| share);
    held.sum::<f32>() / total
}

/// A passage's match with the query: its score, and a bit set of the concepts it contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassageMatch {
    score: f32,
    mask: u64,
}

/// A memory that contains a word of the query, or whose title or topic key is the query.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Its best passage.
    pub best: DocAddress,
    pub score: f32,
    /// A bit set of the concepts that it contains.
    pub mask: u64,
    /// The same for its best passage alone.
    pub passage_mask: u64,
    /// The query is its title or topic key.
    pub exact: bool,
}

impl Finder<'_> {
    /// Scores one segment's passages and merges them into memories by its table. `held` is scratch space for the matches
    /// of passages; it holds none before the call and none after it. All segments share it, because fresh memory costs a
    /// page fault per page.
    pub fn collect(
        &self,
        ord: usize,
        table: &SegmentTable,
        query: &Query,
        concepts: &Concepts,
        held: &mut Vec<PassageMatch>,
        out: &mut Vec<Candidate>,
    ) -> Result<()> {
        let segment = self.view.segment(ord);
        held.resize(held.len().max(segment.max_doc() as usize), PassageMatch::default());
        let mut matched = vec![0; segment.max_doc().div_ceil(64) as usize];
        for ((query_term, weight), found) in
            self.query_terms.iter().zip(&concepts.weights).zip(&self.found[ord])
        {
            for (doc, frequency) in found {
                matched[*doc as usize / 64] |= 1 << (doc % 64);
                let held = &mut held[*doc as usize];
                held.score += weight * frequency * (SATURATION + 1.0) / (frequency + SATURATION);
                held.mask |= 1 << query_term.concept;
            }
        }
        let exact = self.exact(segment, &self.allowed[ord], query)?;
        for doc in &exact {
            matched[*doc as usize / 64] |= 1 << (doc % 64);
            let held = &mut held[*doc as usize];
            held.score = held.score.max(f32::MIN_POSITIVE);
        }
        out.reserve(matched.iter().map(|word: &u64| word.count_ones() as usize).sum());
        let mut next = 0;
        for doc in ones(&matched) {
            // A memory is looked at once, at its first passage that matches.
            if doc < next {
                continue;
            }
            let Range { start: first, end } = table.passages_of(doc);
            next = end;
            let passages = &mut held[first as usize..end as usize];
            let (mut best, mut top, mut mask) = (first, passages[0], 0);
            for (doc, passage) in (first..).zip(passages.iter()) {
                mask |= passage.mask;
                if passage.score > top.score {
                    (best, top) = (doc, *passage);
                }
            }
            passages.fill(PassageMatch::default());
            if top.score > 0.0 {
                let lift = 1.0 + COVERAGE_LIFT * concepts.coverage(top.mask);
                let score = recall::of_best(top.score * lift, end - first);
                let best = DocAddress::new(u32::try_from(ord).unwrap_or(u32::MAX), best);
                let (passage_mask, exact) = (top.mask, exact.contains(&first));
                out.push(Candidate { best, score, mask, passage_mask, exact });
            }
        }
        Ok(())
    }

    /// First passages of memories whose title or topic key is the whole query.
    fn exact(&self, segment: Segment<'_>, allowed: &Allowed, query: &Query) -> Result<Vec<DocId>> {
        let name = normal_name(query.bounded_text());
        let mut docs = Vec::new();
        if !name.is_empty() {
            let term = self.fields.term(Key::Called(&name));
            segment.scan(&term, |doc, _| {
                if allowed.has(doc) {
                    docs.push(doc);
                }
            })?;
        }
        Ok(docs)
    }

    /// The occurrences of query terms in a passage: position, concept, rarity.
    pub fn occurrences(
        &self,
        passage: &str,
        rarities: &[f32],
        words: &mut TextAnalyzer,
    ) -> Vec<(usize, usize, f32)> {
        let mut occurrences = Vec::new();
        for run in runs(passage).filter(|run| self.may_hold(run.text)) {
            let mut note = |term: &Term| {
                if let Some(i) = self.term_of.get(term) {
                    occurrences.push((run.start, self.query_terms[*i].concept, rarities[*i]));
                }
            };
            run.names().iter().for_each(|name| note(&self.fields.term(Key::Name(name))));
            words
                .token_stream(run.text)
                .process(&mut |token| note(&Term::from_field_text(self.fields.body, &token.text)));
        }
        occurrences
    }

    /// Whether a run of letters may begin a query term. Most words of a passage are skipped without analysis.
    fn may_hold(&self, run: &str) -> bool {
        let run = run.as_bytes();
        let begins =
            |at: usize| at == 0 || run[at].is_ascii_uppercase() || !run[at - 1].is_ascii_alphabetic();
        !run.is_ascii()
            || (0..run.len()).filter(|at| begins(*at)).any(|at| {
                let here = |start: &Vec<u8>| {
                    run[at..].get(..start.len()).is_some_and(|w| w.eq_ignore_ascii_case(start))
                };
                self.starts.iter().any(here)
            })
    }
}
