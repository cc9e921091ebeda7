//! Finding and ranking.
//!
//! The score is BM25F (Robertson, Zaragoza & Taylor, "Simple BM25 extension to multiple weighted
//! fields", 2004) over passages, computed clue by clue into one array for each segment. Document
//! frequencies are counted within what the filters let through: a project's ranking does not depend
//! on its neighbours.

use tantivy::{
    DocAddress, DocId, Searcher, SegmentReader, TantivyDocument, Term,
    postings::BlockSegmentPostings,
    schema::{Field, IndexRecordOption, Value},
    tokenizer::TokenStream,
};

use super::{
    LexicalError, Query, Result,
    fold::normal_name,
    preview::preview,
    query::{Clue, Form},
    schema::{Fields, Key, number_to_id},
    tokenizer::{runs, words_analyzer},
};
use crate::domain::{Kind, MemoryId, Project, Scope, Timestamp};

/// Term saturation.
fn w(name: &str, default: f32) -> f32 {
    use std::sync::{OnceLock, Mutex};
    static M: OnceLock<Mutex<std::collections::HashMap<String, f32>>> = OnceLock::new();
    let m = M.get_or_init(Default::default);
    *m.lock().unwrap().entry(name.to_owned()).or_insert_with(|| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default))
}

/// Letters at the start of a word that stemming leaves alone, nearly always.
const START_BYTES: usize = 2;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The best first.
    pub hits: Vec<Hit>,
    /// Memories that hold at least one word.
    pub total: usize,
    /// No hit holds every meaningful word.
    pub relaxed: bool,
    pub matched: Match,
}

/// How well the best hit fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Strong,
    Partial,
    None,
}

/// One memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub id: MemoryId,
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
    /// The share of the query's meaning, by rarity, that it holds: 0 to 1.
    pub coverage: f32,
    /// It holds every meaningful word.
    pub full: bool,
}

/// The passages of one segment that the filters let through.
struct Allowed {
    /// One bit a passage; `None` when all are.
    bits: Option<Vec<u64>>,
    count: u64,
}

impl Allowed {
    fn has(&self, doc: DocId) -> bool {
        self.bits.as_ref().is_none_or(|bits| bits[doc as usize / 64] >> (doc % 64) & 1 == 1)
    }
}

/// Calls `each` with every document and frequency of a term.
fn scan(segment: &SegmentReader, term: &Term, mut each: impl FnMut(DocId, u32)) -> Result<()> {
    let inverted = segment.inverted_index(term.field())?;
    let Some(mut postings) = inverted.read_block_postings(term, IndexRecordOption::WithFreqs)? else { return Ok(()) };
    while !postings.docs().is_empty() {
        for (doc, freq) in postings.docs().iter().zip(freqs(&postings)) {
            each(*doc, freq);
        }
        postings.advance();
    }
    Ok(())
}

/// A field without frequencies leaves the slice empty.
fn freqs(postings: &BlockSegmentPostings) -> impl Iterator<Item = u32> {
    postings.freqs().iter().copied().chain(std::iter::repeat(1))
}

/// How many live documents have a term.
pub fn count(searcher: &Searcher, term: &Term) -> Result<u64> {
    let mut count = 0;
    for segment in searcher.segment_readers() {
        scan(segment, term, |doc, _| count += u64::from(!segment.is_deleted(doc)))?;
    }
    Ok(count)
}

fn allowed(segment: &SegmentReader, fields: &Fields, query: &Query) -> Result<Allowed> {
    let max = segment.max_doc();
    let mut bits: Option<Vec<u64>> = None;
    let mut restrict = |found: Vec<u64>| match &mut bits {
        None => bits = Some(found),
        Some(bits) => bits.iter_mut().zip(found).for_each(|(bits, found)| *bits &= found),
    };
    let empty = || vec![0u64; max.div_ceil(64) as usize];
    for terms in query.conditions(fields) {
        let mut found = empty();
        for term in &terms {
            scan(segment, term, |doc, _| found[doc as usize / 64] |= 1 << (doc % 64))?;
        }
        restrict(found);
    }
    if query.since.is_some() || query.until.is_some() {
        let since = query.since.map_or(i64::MIN, |t| t.as_microsecond());
        let until = query.until.map_or(i64::MAX, |t| t.as_microsecond());
        let dates = segment.fast_fields().i64("date")?;
        let mut found = empty();
        for doc in (0..max).filter(|doc| dates.first(*doc).is_some_and(|d| since <= d && d <= until)) {
            found[doc as usize / 64] |= 1 << (doc % 64);
        }
        restrict(found);
    }
    if segment.has_deletes() {
        let mut found = empty();
        segment.doc_ids_alive().for_each(|doc| found[doc as usize / 64] |= 1 << (doc % 64));
        restrict(found);
    }
    let count = bits.as_ref().map_or(u64::from(max), |bits| bits.iter().map(|b| u64::from(b.count_ones())).sum());
    Ok(Allowed { bits, count })
}

/// A field's mean length in tokens, over the whole index.
fn mean_length(searcher: &Searcher, field: Field) -> Result<f32> {
    let (mut tokens, mut docs) = (0, 0);
    for segment in searcher.segment_readers() {
        tokens += segment.inverted_index(field)?.total_num_tokens();
        docs += u64::from(segment.max_doc());
    }
    Ok((tokens as f32 / docs.max(1) as f32).max(1.0))
}

/// Where a clue was found in one segment, each with its frequency, weighed by field and length.
type Found = Vec<(DocId, f32)>;

struct Finder<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    clues: Vec<Clue>,
    /// The first letters of the clues' words.
    starts: Vec<Vec<u8>>,
    allowed: Vec<Allowed>,
    /// For each segment and clue.
    found: Vec<Vec<Found>>,
}

impl<'a> Finder<'a> {
    fn new(searcher: &'a Searcher, fields: &'a Fields, query: &Query) -> Result<Self> {
        let clues = query.clues(fields);
        let (head, body) = (mean_length(searcher, fields.head)?, mean_length(searcher, fields.body)?);
        let norm = |weight: f32, b: f32, mean: f32| {
            std::array::from_fn::<f32, 256, _>(|id| {
                let length = tantivy::fieldnorm::FieldNormReader::id_to_fieldnorm(id as u8) as f32;
                weight / (1.0 - b + b * length / mean)
            })
        };
        let heads = norm(w("HEAD", 1.0), w("BH", 0.5), head);
        let bodies = norm(1.0, w("B", 0.75), body);
        let mut allowed_all = Vec::new();
        let mut found_all = Vec::new();
        for segment in searcher.segment_readers() {
            let allowed = allowed(segment, fields, query)?;
            let head_lengths = segment.get_fieldnorms_reader(fields.head)?;
            let body_lengths = segment.get_fieldnorms_reader(fields.body)?;
            let mut sums = vec![0.0f32; segment.max_doc() as usize];
            let mut found = Vec::with_capacity(clues.len());
            for clue in &clues {
                let mut touched = Vec::new();
                for term in &clue.terms {
                    let field = term.field();
                    scan(segment, term, |doc, freq| {
                        if !allowed.has(doc) {
                            return;
                        }
                        let sum = &mut sums[doc as usize];
                        if *sum == 0.0 {
                            touched.push(doc);
                        }
                        *sum += freq as f32
                            * if field == fields.head {
                                heads[head_lengths.fieldnorm_id(doc) as usize]
                            } else if field == fields.body {
                                bodies[body_lengths.fieldnorm_id(doc) as usize]
                            } else {
                                1.0
                            };
                    })?;
                }
                let take = |doc: DocId| (doc, std::mem::take(&mut sums[doc as usize]));
                found.push(touched.into_iter().map(take).collect::<Found>());
            }
            allowed_all.push(allowed);
            found_all.push(found);
        }
        let words = clues.iter().flat_map(|clue| &clue.terms).filter(|term| term.field() == fields.body);
        let starts = words.map(|term| term.serialized_value_bytes().iter().copied().take(START_BYTES).collect()).collect();
        Ok(Self { searcher, fields, clues, starts, allowed: allowed_all, found: found_all })
    }

    /// Rarity of each clue: BM25's idf, never negative.
    fn rarities(&self) -> (Vec<f32>, Vec<bool>) {
        let docs: u64 = self.allowed.iter().map(|a| a.count).sum();
        let count = |clue: usize| self.found.iter().map(|found| found[clue].len()).sum::<usize>();
        let idf = |n: usize| (1.0 + (docs as f32 - n as f32 + 0.5).max(0.5) / (n as f32 + 0.5)).ln();
        (0..self.clues.len()).map(|c| (idf(count(c)), count(c) > 0)).unzip()
    }
}

/// What the query's meanings weigh.
struct Meanings {
    /// For each clue: what it adds to a score at most.
    weights: Vec<f32>,
    /// For each meaning: its share in coverage; 0 for one that need not be there.
    shares: Vec<f32>,
}

impl Meanings {
    fn new(clues: &[Clue], rarities: &[f32], present: &[bool]) -> Self {
        let count = clues.iter().map(|clue| clue.meaning + 1).max().unwrap_or(0);
        let mut there = vec![false; count];
        for (clue, present) in clues.iter().zip(present) {
            there[clue.meaning] |= present;
        }
        let mut shares = vec![0.0f32; count];
        let mut weights = vec![0.0; clues.len()];
        let has_parts: Vec<bool> = (0..count).map(|m| clues.iter().any(|c| c.part_of == Some(m))).collect();
        for (i, clue) in clues.iter().enumerate() {
            let part = clue.part_of.is_some_and(|whole| there[whole]);
            // A name that is nowhere is looked for by its parts, if it has any.
            let absent = clue.form == Form::Name && !there[clue.meaning] && has_parts[clue.meaning];
            if !part && !absent {
                shares[clue.meaning] = shares[clue.meaning].max(rarities[i]);
            }
            weights[i] = rarities[i] * match (clue.form, part) {
                (Form::Name, _) => w("NAME", 1.0),
                (Form::Word, true) => w("PART", 0.5),
                (Form::Word, false) => 1.0,
            };
        }
        Self { weights, shares }
    }

    fn coverage(&self, mask: u64) -> f32 {
        let total: f32 = self.shares.iter().sum();
        if total <= 0.0 {
            return 0.0;
        }
        let held = self.shares.iter().enumerate().filter(|(m, _)| mask >> m & 1 == 1).map(|(_, share)| share);
        held.sum::<f32>() / total
    }

    fn is_full(&self, mask: u64) -> bool {
        self.shares.iter().enumerate().all(|(m, share)| *share == 0.0 || mask >> m & 1 == 1)
    }
}

/// A memory on its way into the answer.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    best: DocAddress,
    score: f32,
    mask: u64,
    exact: bool,
}

/// Answers a query from one view of the index.
pub fn search(searcher: &Searcher, fields: &Fields, query: &Query) -> Result<Answer> {
    let finder = Finder::new(searcher, fields, query)?;
    let (rarities, present) = finder.rarities();
    let meanings = Meanings::new(&finder.clues, &rarities, &present);
    let mut candidates = Vec::new();
    for segment in 0..searcher.segment_readers().len() {
        finder.collect(segment, query, &meanings, &mut candidates)?;
    }
    let total = candidates.len();
    let relaxed = !candidates.iter().any(|c| meanings.is_full(c.mask));
    let ranked = rank(searcher, candidates, query.offset + query.limit)?;
    let matched = judge(ranked.first(), &meanings);
    let page = ranked.iter().skip(query.offset).take(query.limit);
    let hits = page.map(|candidate| finder.hit(candidate, &meanings, &rarities)).collect::<Result<_>>()?;
    Ok(Answer { hits, total, relaxed, matched })
}

impl Finder<'_> {
    /// Scores one segment's passages and folds them into memories.
    fn collect(&self, ord: usize, query: &Query, meanings: &Meanings, out: &mut Vec<Candidate>) -> Result<()> {
        let segment = &self.searcher.segment_readers()[ord];
        let k1 = w("K1", 1.2);
        let mut scores = vec![0.0f32; segment.max_doc() as usize];
        let mut masks = vec![0u64; segment.max_doc() as usize];
        for ((clue, weight), found) in self.clues.iter().zip(&meanings.weights).zip(&self.found[ord]) {
            for (doc, frequency) in found {
                scores[*doc as usize] += weight * frequency * (k1 + 1.0) / (frequency + k1);
                masks[*doc as usize] |= 1 << clue.meaning;
            }
        }
        let exact = self.exact(segment, &self.allowed[ord], query)?;
        for doc in &exact {
            scores[*doc as usize] = scores[*doc as usize].max(f32::MIN_POSITIVE);
        }
        let numbers = segment.fast_fields().u64("passage")?;
        let tail_share = w("TAIL", 0.1);
        let lift = w("COVER", 0.5);
        let mut doc = 0;
        while (doc as usize) < scores.len() {
            let first = doc;
            let (mut best, mut sum, mut mask) = (first, 0.0f32, 0u64);
            loop {
                let score = scores[doc as usize];
                sum += score;
                mask |= masks[doc as usize];
                if score > scores[best as usize] {
                    best = doc;
                }
                doc += 1;
                if doc as usize >= scores.len() || numbers.values.get_val(doc) == 0 {
                    break;
                }
            }
            let top = scores[best as usize];
            if top > 0.0 {
                let tail = (sum - top).min(top) * tail_share;
                let cm = if w("CB", 0.0) > 0.0 { masks[best as usize] } else { mask };
                let score = (top + tail) * (1.0 + lift * meanings.coverage(cm)) / (1.0 + w("PRIOR", 0.0) * ((doc - first) as f32).ln());
                let best = DocAddress::new(ord as u32, best);
                out.push(Candidate { best, score, mask, exact: exact.contains(&first) });
            }
        }
        Ok(())
    }

    /// First passages of memories whose title or topic key is the whole query.
    fn exact(&self, segment: &SegmentReader, allowed: &Allowed, query: &Query) -> Result<Vec<DocId>> {
        let name = normal_name(query.bounded_text());
        let mut docs = Vec::new();
        if !name.is_empty() {
            let term = self.fields.term(Key::Called(&name));
            scan(segment, &term, |doc, _| if allowed.has(doc) { docs.push(doc) })?;
        }
        Ok(docs)
    }

    fn hit(&self, candidate: &Candidate, meanings: &Meanings, rarities: &[f32]) -> Result<Hit> {
        let damaged = || LexicalError::Damaged("a stored passage lacks a field".to_owned());
        let stored: TantivyDocument = self.searcher.doc(candidate.best)?;
        let text = |field| stored.get_first(field).and_then(|value| value.as_str());
        let (number, micros) = number_and_date(self.searcher, candidate.best)?;
        let passage = text(self.fields.body).ok_or_else(damaged)?;
        Ok(Hit {
            id: number_to_id(number).ok_or_else(damaged)?,
            title: text(self.fields.title).ok_or_else(damaged)?.to_owned(),
            kind: text(self.fields.kind).and_then(Kind::parse).ok_or_else(damaged)?,
            project: text(self.fields.project).and_then(Project::parse).unwrap_or_else(Project::none),
            scope: text(self.fields.scope).and_then(|s| Scope::parse(s).ok()).ok_or_else(damaged)?,
            agent: text(self.fields.agent).unwrap_or_default().to_owned(),
            date: Timestamp::from_microsecond(micros).map_err(|_| damaged())?,
            preview: preview(passage, &self.places(passage, rarities)),
            score: candidate.score,
            exact: candidate.exact,
            coverage: meanings.coverage(candidate.mask),
            full: meanings.is_full(candidate.mask),
        })
    }

    /// Where a passage holds clues: place, meaning, rarity.
    fn places(&self, passage: &str, rarities: &[f32]) -> Vec<(usize, usize, f32)> {
        let mut words = words_analyzer();
        let mut places = Vec::new();
        for run in runs(passage).filter(|run| self.may_hold(run.text)) {
            let mut note = |term: &Term| {
                if let Some(i) = self.clues.iter().position(|clue| clue.terms.contains(term)) {
                    places.push((run.start, self.clues[i].meaning, rarities[i]));
                }
            };
            run.names().iter().for_each(|name| note(&self.fields.term(Key::Name(name))));
            words
                .token_stream(run.text)
                .process(&mut |token| note(&Term::from_field_text(self.fields.body, &token.text)));
        }
        places
    }

    /// Whether a run holds the start of any clue: spares most words of a passage their analysis.
    fn may_hold(&self, run: &str) -> bool {
        !run.is_ascii() || self.starts.iter().any(|start| {
            run.as_bytes().windows(start.len()).any(|window| window.eq_ignore_ascii_case(start))
        })
    }
}

fn number_and_date(searcher: &Searcher, at: DocAddress) -> Result<(u64, i64)> {
    let fast = searcher.segment_reader(at.segment_ord).fast_fields();
    let number = fast.u64("memory")?.first(at.doc_id).unwrap_or_default();
    Ok((number, fast.i64("date")?.first(at.doc_id).unwrap_or_default()))
}

/// The first `depth` candidates in order: exact before others, then by score, the newer first, then
/// by id.
fn rank(searcher: &Searcher, mut candidates: Vec<Candidate>, depth: usize) -> Result<Vec<Candidate>> {
    let by_score = |a: &Candidate, b: &Candidate| b.exact.cmp(&a.exact).then(b.score.total_cmp(&a.score));
    if depth == 0 {
        return Ok(Vec::new());
    }
    if candidates.len() > depth {
        // Everything as good as the last place that counts stays, for ties are not settled yet.
        let (_, last, _) = candidates.select_nth_unstable_by(depth - 1, by_score);
        let last = *last;
        candidates.retain(|candidate| by_score(candidate, &last).is_le());
    }
    let mut keyed = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let (number, date) = number_and_date(searcher, candidate.best)?;
        keyed.push((candidate, date, number));
    }
    keyed.sort_unstable_by(|(a, a_date, a_id), (b, b_date, b_id)| {
        by_score(a, b).then(b_date.cmp(a_date)).then(a_id.cmp(b_id))
    });
    keyed.truncate(depth);
    Ok(keyed.into_iter().map(|(candidate, ..)| candidate).collect())
}

/// Label of an answer, by how much of the query its best hit holds.
fn judge(best: Option<&Candidate>, meanings: &Meanings) -> Match {
    let Some(best) = best else { return Match::None };
    let coverage = meanings.coverage(best.mask);
    if best.exact || coverage >= 0.7 {
        Match::Strong
    } else if coverage >= 0.35 {
        Match::Partial
    } else {
        Match::None
    }
}
