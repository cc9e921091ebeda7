//! Memories in order of time instead of score: what a person scrolls through.

use super::{Query, Result, scan::Allowed, schema::Fields, view::View};
use cerebro_core::domain::{SubjectId, Timestamp};

/// A page of a list of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The page, the memory written last first; equal moments in order of id.
    pub ids: Vec<SubjectId>,
    /// How many memories the whole list has.
    pub total: usize,
}

/// The memories that meet the query's conditions; its text is not looked at. Takes time in
/// proportion to the passages that meet them, and 16 bytes for each memory.
pub fn browse(view: &View, fields: &Fields, query: &Query) -> Result<Listing> {
    let mut all = written(view, fields, query)?;
    let total = all.len();
    all.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let page = all.into_iter().skip(query.offset).take(query.limit);
    let ids = page.filter_map(|(_, number)| SubjectId::from_number(number)).collect();
    Ok(Listing { ids, total })
}

/// When each of the memories was written that meet the query's conditions, in no order.
pub fn moments(view: &View, fields: &Fields, query: &Query) -> Result<Vec<Timestamp>> {
    let all = written(view, fields, query)?;
    Ok(all.into_iter().filter_map(|(micros, _)| Timestamp::from_microsecond(micros).ok()).collect())
}

/// Moment and number of each memory, from the column of its first passage.
fn written(view: &View, fields: &Fields, query: &Query) -> Result<Vec<(i64, u64)>> {
    let mut all = Vec::new();
    for segment in view.segments() {
        let allowed = Allowed::new(segment, fields, query)?;
        let (numbers, dates) = (segment.numbers()?, segment.dates()?);
        let firsts = (0u32..)
            .zip(numbers.iter().zip(&dates))
            .filter(|(doc, (number, _))| **number == 0 && allowed.has(*doc));
        for (doc, (_, date)) in firsts {
            all.push((*date, segment.memory(doc)?));
        }
    }
    Ok(all)
}
