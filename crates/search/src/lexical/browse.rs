//! Lists memories by time instead of score, for people who scroll through them.

use super::{Query, Result, scan::Allowed, schema::Fields, view::View};
use cerebro_core::domain::{SubjectId, Timestamp};

/// A page of a list of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The page, the memory written last first; equal moments are ordered by id.
    pub ids: Vec<SubjectId>,
    /// How many memories the whole list has.
    pub total: usize,
}

/// The memories that pass the query's filters; its text is ignored. Takes time in proportion to the passages that
/// pass them, and 16 bytes per memory.
pub fn browse(view: &View, fields: &Fields, query: &Query) -> Result<Listing> {
    let mut all = written(view, fields, query)?;
    let total = all.len();
    all.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let page = all.into_iter().skip(query.offset).take(query.limit);
    let ids = page.filter_map(|(_, number)| SubjectId::from_number(number)).collect();
    Ok(Listing { ids, total })
}

/// When each memory that passes the query's filters was written, in no order.
pub fn moments(view: &View, fields: &Fields, query: &Query) -> Result<Vec<Timestamp>> {
    let all = written(view, fields, query)?;
    Ok(all.into_iter().filter_map(|(micros, _)| Timestamp::from_microsecond(micros).ok()).collect())
}

/// The moment and number of each memory, from the column of its first passage.
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
