//! Memories in order of time instead of score: what a person scrolls through.

use tantivy::Searcher;

use super::{
    Query, Result,
    scan::Allowed,
    schema::{Fields, number_to_id},
};
use crate::domain::{MemoryId, Timestamp};

/// A page of a list of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The page, the memory written last first; equal moments in order of id.
    pub ids: Vec<MemoryId>,
    /// How many memories the whole list has.
    pub total: usize,
}

/// The memories that meet the query's conditions; its text is not looked at. Takes time in
/// proportion to the passages that meet them, and 16 bytes for each memory.
pub fn browse(searcher: &Searcher, fields: &Fields, query: &Query) -> Result<Listing> {
    let mut all = written(searcher, fields, query)?;
    let total = all.len();
    all.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let page = all.into_iter().skip(query.offset).take(query.limit);
    let ids = page.filter_map(|(_, number)| number_to_id(number)).collect();
    Ok(Listing { ids, total })
}

/// When each of the memories was written that meet the query's conditions, in no order.
pub fn moments(searcher: &Searcher, fields: &Fields, query: &Query) -> Result<Vec<Timestamp>> {
    let all = written(searcher, fields, query)?;
    Ok(all.into_iter().filter_map(|(micros, _)| Timestamp::from_microsecond(micros).ok()).collect())
}

/// Moment and number of each memory, from the column of its first passage.
fn written(searcher: &Searcher, fields: &Fields, query: &Query) -> Result<Vec<(i64, u64)>> {
    let mut all = Vec::new();
    for segment in searcher.segment_readers() {
        let allowed = Allowed::new(segment, fields, query)?;
        let columns = segment.fast_fields();
        let (memories, dates) = (columns.u64("memory")?, columns.i64("date")?);
        let passages = columns.u64("passage")?;
        let first = |doc: &u32| allowed.has(*doc) && passages.first(*doc) == Some(0);
        all.extend(
            (0..segment.max_doc())
                .filter(first)
                .filter_map(|doc| Some((dates.first(doc)?, memories.first(doc)?))),
        );
    }
    Ok(all)
}
