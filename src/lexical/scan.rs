//! Reading postings, and what the filters let through.

use std::collections::BTreeMap;

use tantivy::{
    DocId, Searcher, SegmentReader, Term,
    postings::BlockSegmentPostings,
    schema::{Field, IndexRecordOption},
};

use super::{
    Query, Result,
    schema::{Fields, number_to_id},
};
use crate::domain::{MemoryId, Timestamp};

/// The passages of one segment that the filters let through.
pub struct Allowed {
    /// One bit a passage; `None` when all are.
    bits: Option<Vec<u64>>,
    /// How many they are.
    pub count: u64,
}

/// Calls `each` with every document and frequency of a term.
pub fn scan(segment: &SegmentReader, term: &Term, mut each: impl FnMut(DocId, u32)) -> Result<()> {
    let inverted = segment.inverted_index(term.field())?;
    let Some(mut postings) = inverted.read_block_postings(term, IndexRecordOption::WithFreqs)? else {
        return Ok(());
    };
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

/// Every memory of the index, with the moment that it was last changed.
pub fn memories(searcher: &Searcher, first: &Term) -> Result<BTreeMap<MemoryId, Timestamp>> {
    let mut found = BTreeMap::new();
    for segment in searcher.segment_readers() {
        let numbers = segment.fast_fields().u64("memory")?;
        let dates = segment.fast_fields().i64("date")?;
        scan(segment, first, |doc, _| {
            let id = numbers.first(doc).and_then(number_to_id);
            let date = dates.first(doc).and_then(|micros| Timestamp::from_microsecond(micros).ok());
            if let (false, Some(id), Some(date)) = (segment.is_deleted(doc), id, date) {
                found.insert(id, date);
            }
        })?;
    }
    Ok(found)
}

/// One bit for each passage of a segment.
fn bits(segment: &SegmentReader, docs: impl Iterator<Item = DocId>) -> Vec<u64> {
    let mut bits = vec![0; segment.max_doc().div_ceil(64) as usize];
    docs.for_each(|doc| bits[doc as usize / 64] |= 1 << (doc % 64));
    bits
}

impl Allowed {
    /// What of a segment is live and meets the query's conditions.
    pub fn new(segment: &SegmentReader, fields: &Fields, query: &Query) -> Result<Self> {
        let mut sets = Vec::new();
        for terms in query.conditions(fields) {
            let keys = segment.inverted_index(fields.keys)?;
            if let [term] = terms.as_slice()
                && keys.doc_freq(term)? == segment.max_doc()
            {
                continue;
            }
            let mut docs = Vec::new();
            for term in &terms {
                scan(segment, term, |doc, _| docs.push(doc))?;
            }
            sets.push(bits(segment, docs.into_iter()));
        }
        if query.since.is_some() || query.until.is_some() {
            let since = query.since.map_or(i64::MIN, Timestamp::as_microsecond);
            let until = query.until.map_or(i64::MAX, Timestamp::as_microsecond);
            let dates = segment.fast_fields().i64("date")?;
            let within = |doc: &DocId| dates.first(*doc).is_some_and(|date| since <= date && date <= until);
            sets.push(bits(segment, (0..segment.max_doc()).filter(within)));
        }
        if segment.has_deletes() {
            sets.push(bits(segment, segment.doc_ids_alive()));
        }
        let bits = sets.into_iter().reduce(|a, b| a.iter().zip(b).map(|(a, b)| a & b).collect());
        let ones = |bits: &Vec<u64>| bits.iter().map(|b| u64::from(b.count_ones())).sum();
        let count = bits.as_ref().map_or(u64::from(segment.max_doc()), ones);
        Ok(Self { bits, count })
    }

    /// Whether a passage is among them.
    pub fn has(&self, doc: DocId) -> bool {
        self.bits.as_ref().is_none_or(|bits| bits[doc as usize / 64] >> (doc % 64) & 1 == 1)
    }
}

/// A field's mean length in tokens, over the whole index.
pub fn mean_length(searcher: &Searcher, field: Field) -> Result<f32> {
    let (mut tokens, mut docs) = (0, 0);
    for segment in searcher.segment_readers() {
        tokens += segment.inverted_index(field)?.total_num_tokens();
        docs += u64::from(segment.max_doc());
    }
    Ok((tokens as f32 / docs.max(1) as f32).max(1.0))
}
