//! Applies the filters, and counts over a whole view.

use std::collections::BTreeMap;

use tantivy::{DocId, Term, schema::Field};

use super::{
    Query, Result,
    query::Archived,
    schema::{Fields, HELD, Key, VALID},
    view::{Segment, View, bits},
};
use cerebro_core::domain::{SubjectId, Timestamp};

/// The passages of one segment that pass the filters.
pub struct Allowed {
    /// One bit per passage; `None` when all pass.
    bits: Option<Vec<u64>>,
    /// Their number.
    pub count: u64,
}

/// Whether a bit set contains a passage.
pub fn has(bits: &[u64], doc: DocId) -> bool {
    bits[doc as usize / 64] >> (doc % 64) & 1 == 1
}

/// The number of live passages with a term.
pub fn count(view: &View, term: &Term) -> Result<u64> {
    let mut count = 0;
    for segment in view.segments() {
        let alive = segment.alive()?;
        segment.scan(term, |doc, _| count += u64::from(alive.is_none_or(|alive| has(alive, doc))))?;
    }
    Ok(count)
}

/// Every live memory of a view, with the moment of its last change.
pub fn memories(view: &View, first: &Term) -> Result<BTreeMap<SubjectId, Timestamp>> {
    let mut found = BTreeMap::new();
    for segment in view.segments() {
        let alive = segment.alive()?;
        let mut docs = Vec::new();
        segment.scan(first, |doc, _| docs.push(doc))?;
        for doc in docs.into_iter().filter(|doc| alive.is_none_or(|alive| has(alive, *doc))) {
            let id = SubjectId::from_number(segment.memory(doc)?);
            let date = Timestamp::from_microsecond(segment.date(doc)?).ok();
            found.extend(id.zip(date));
        }
    }
    Ok(found)
}

impl Allowed {
    /// The passages of a segment that are live and pass the query's filters.
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
        let mut around = |names: [&str; 2], [from, to]: [Field; 2], at: i64| -> Result<()> {
            let (from, to) = (segment.moments(names[0], from)?, segment.moments(names[1], to)?);
            let around = (0..).zip(from.iter().zip(&to)).filter(|(_, (from, to))| **from <= at && at <= **to);
            sets.push(bits(all, around.map(|(doc, _)| doc)));
            Ok(())
        };
        if let Some(at) = query.valid_at {
            around(VALID, fields.valid, at.as_microsecond())?;
        }
        if let Some(at) = query.held_at {
            around(HELD, fields.held, at.as_microsecond())?;
        }
        sets.extend(shelf(segment, fields, query.archived)?);
        sets.extend(segment.alive()?.map(<[u64]>::to_vec));
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

/// The passages of a segment that pass the filter on archived memories; `None` where all do.
fn shelf(segment: Segment<'_>, fields: &Fields, archived: Archived) -> Result<Option<Vec<u64>>> {
    let term = fields.term(Key::Archived);
    let is_all = match archived {
        Archived::With => true,
        Archived::Without => segment.doc_freq(&term)? == 0,
        Archived::Only => false,
    };
    if is_all {
        return Ok(None);
    }
    let all = segment.max_doc();
    let archived_docs = archived_docs(segment, fields)?;
    let wanted = |doc: &DocId| has(&archived_docs, *doc) == (archived == Archived::Only);
    Ok(Some(bits(all, (0..all).filter(wanted))))
}

/// The passages of a segment whose memories are archived, as a bit set.
pub fn archived_docs(segment: Segment<'_>, fields: &Fields) -> Result<Vec<u64>> {
    let mut docs = Vec::new();
    segment.scan(&fields.term(Key::Archived), |doc, _| docs.push(doc))?;
    Ok(bits(segment.max_doc(), docs.into_iter()))
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
