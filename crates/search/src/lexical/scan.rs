//! What the filters let through, and counts over a whole view.

use std::collections::BTreeMap;

use tantivy::{DocId, Term, schema::Field};

use super::{
    Query, Result,
    schema::Fields,
    view::{Segment, View, bits},
};
use cerebro_core::domain::{SubjectId, Timestamp};

/// The passages of one segment that the filters let through.
pub struct Allowed {
    /// One bit a passage; `None` when all are.
    bits: Option<Vec<u64>>,
    /// How many they are.
    pub count: u64,
}

fn has(bits: &[u64], doc: DocId) -> bool {
    bits[doc as usize / 64] >> (doc % 64) & 1 == 1
}

/// How many live passages have a term.
pub fn count(view: &View, term: &Term) -> Result<u64> {
    let mut count = 0;
    for segment in view.segments() {
        let alive = segment.alive()?;
        segment
            .scan(term, |doc, _| count += u64::from(alive.as_ref().is_none_or(|alive| has(alive, doc))))?;
    }
    Ok(count)
}

/// Every live memory of a view, with the moment that it was last changed.
pub fn memories(view: &View, first: &Term) -> Result<BTreeMap<SubjectId, Timestamp>> {
    let mut found = BTreeMap::new();
    for segment in view.segments() {
        let alive = segment.alive()?;
        let mut docs = Vec::new();
        segment.scan(first, |doc, _| docs.push(doc))?;
        for doc in docs.into_iter().filter(|doc| alive.as_ref().is_none_or(|alive| has(alive, *doc))) {
            let id = SubjectId::from_number(segment.memory(doc)?);
            let date = Timestamp::from_microsecond(segment.date(doc)?).ok();
            found.extend(id.zip(date));
        }
    }
    Ok(found)
}

impl Allowed {
    /// What of a segment is live and meets the query's conditions.
    pub fn new(segment: Segment<'_>, fields: &Fields, query: &Query) -> Result<Self> {
        let all = segment.max_doc();
        let mut sets = Vec::new();
        for terms in query.conditions(fields) {
            let mut all_have_one = false;
            for term in &terms {
                all_have_one |= segment.doc_freq(term)? == all;
            }
            if all_have_one {
                continue;
            }
            let mut docs = Vec::new();
            for term in &terms {
                segment.scan(term, |doc, _| docs.push(doc))?;
            }
            sets.push(bits(all, docs.into_iter()));
        }
        if query.since.is_some() || query.until.is_some() {
            let since = query.since.map_or(i64::MIN, Timestamp::as_microsecond);
            let until = query.until.map_or(i64::MAX, Timestamp::as_microsecond);
            let dates = segment.dates()?;
            let within = (0..).zip(&dates).filter(|(_, date)| since <= **date && **date <= until);
            sets.push(bits(all, within.map(|(doc, _)| doc)));
        }
        sets.extend(segment.alive()?);
        let bits = sets.into_iter().reduce(|a, b| a.iter().zip(b).map(|(a, b)| a & b).collect());
        let ones = |bits: &Vec<u64>| bits.iter().map(|b| u64::from(b.count_ones())).sum();
        let count = bits.as_ref().map_or(u64::from(all), ones);
        Ok(Self { bits, count })
    }

    /// Whether a passage is among them.
    pub fn has(&self, doc: DocId) -> bool {
        self.bits.as_ref().is_none_or(|bits| has(bits, doc))
    }
}

/// A field's mean length in tokens, over the whole index.
pub fn mean_length(view: &View, field: Field) -> Result<f32> {
    let (mut words, mut docs) = (0, 0);
    for segment in view.segments() {
        words += segment.words(field)?;
        docs += u64::from(segment.max_doc());
    }
    Ok((words as f32 / docs.max(1) as f32).max(1.0))
}
