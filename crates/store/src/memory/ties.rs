//! A memory with what it is tied to, in one query.

use std::{cmp::Reverse, collections::BTreeSet};

use surrealdb::types::{RecordId, SurrealValue, Value};

use super::Memories;
use crate::{
    StoreError, Supersession,
    citation::CITATIONS_MAX,
    columns::{Column, RawRow},
    read::{Vars, one},
    row::{key, memory_id, memory_record, parse},
    statement, supersession,
};
use cerebro_core::domain::{ExchangeId, Memory, MemoryId, Timestamp, WorkId};

/// Most pieces of work of a memory that are read.
const WORKS_MAX: usize = 100;

/// A memory related to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The neighbour.
    pub id: MemoryId,
    pub title: String,
    /// The kind of the relation.
    pub kind: String,
    /// Its strength, up to 1.
    pub weight: f64,
}

/// What a memory is tied to.
#[derive(Debug, Clone)]
pub struct Ties {
    /// Its live neighbours from either end of a relation, the strongest first. Two memories related both ways are one
    /// neighbour, by the stronger relation.
    pub neighbours: Vec<Neighbour>,
    /// Its supersessions in both directions, the latest first.
    pub supersessions: Vec<Supersession>,
    /// The exchanges that it rests on, those that it cited first before others; at most [`CITATIONS_MAX`].
    pub citations: Vec<ExchangeId>,
    /// The pieces of work in which it was found out, the latest first; at most [`WORKS_MAX`].
    pub works: Vec<WorkId>,
}

#[derive(SurrealValue)]
struct Relation {
    #[surreal(rename = "in")]
    from: RecordId,
    #[surreal(rename = "out")]
    to: RecordId,
    kind: String,
    weight: f64,
}

#[derive(SurrealValue)]
struct Row {
    relates_to: Vec<Relation>,
    related_from: Vec<Relation>,
    supersedes: Vec<RawRow>,
    superseded_by: Vec<RawRow>,
    cites: Vec<RawRow>,
    worked_in: Vec<RawRow>,
}

impl Memories<'_> {
    /// A memory, deleted or not, with what it is tied to. It is one query, and a second one if there are neighbours, of
    /// which at most `neighbours` are read.
    pub async fn with_ties(
        self,
        id: &MemoryId,
        neighbours: usize,
    ) -> Result<Option<(Memory, Ties)>, StoreError> {
        let vars = Vars::new().with("ids", vec![memory_record(id)]);
        let Some(value) = one(self.0.values::<Value>("memory", statement::OBSERVATION, vars).await?) else {
            return Ok(None);
        };
        let row = Row::from_value(value.clone())
            .map_err(|error| StoreError::Row { table: "edge", reason: error.to_string() })?;
        let Some(memory) = one(parse::<RawRow, Memory>("memory", vec![value])?) else { return Ok(None) };
        let ties = Ties {
            neighbours: self.neighbours(row.relates_to, row.related_from, neighbours).await?,
            supersessions: supersessions(row.supersedes.into_iter().chain(row.superseded_by))?,
            citations: citations(row.cites)?,
            works: works(row.worked_in)?,
        };
        Ok(Some((memory, ties)))
    }

    async fn neighbours(
        self,
        relates_to: Vec<Relation>,
        related_from: Vec<Relation>,
        limit: usize,
    ) -> Result<Vec<Neighbour>, StoreError> {
        let forth = relates_to.into_iter().map(|edge| (edge.to, edge.kind, edge.weight));
        let back = related_from.into_iter().map(|edge| (edge.from, edge.kind, edge.weight));
        let mut found = forth
            .chain(back)
            .map(|(id, kind, weight)| Ok((memory_id("RELATES_TO", id)?, kind, weight)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        let mut met = BTreeSet::new();
        found.retain(|(id, kind, _)| met.insert((*id, kind.clone())));
        found.truncate(limit);
        let memories = self.map_of(found.iter().map(|(id, ..)| id)).await?;
        let near = found.into_iter().filter_map(|(id, kind, weight)| {
            let neighbour = memories.get(&id).filter(|memory| memory.is_live())?;
            Some(Neighbour { id, title: neighbour.title.to_string(), kind, weight })
        });
        Ok(near.collect())
    }
}

fn supersessions(rows: impl Iterator<Item = RawRow>) -> Result<Vec<Supersession>, StoreError> {
    let keyed = |row: RawRow| {
        let edge = Supersession::try_from(row)?;
        Ok((key("SUPERSEDES", supersession::record(&edge))?, edge))
    };
    let mut found = rows.map(keyed).collect::<Result<Vec<_>, StoreError>>()?;
    found.sort_by(|(a, one), (b, other)| other.at.cmp(&one.at).then_with(|| a.cmp(b)));
    Ok(found.into_iter().map(|(_, edge)| edge).collect())
}

/// Where edges end, and since when they are there.
fn ends<To: Column>(edges: Vec<RawRow>) -> Result<Vec<(Timestamp, To)>, StoreError> {
    let end = |edge| <(MemoryId, To, Timestamp)>::try_from(edge).map(|(_, to, at)| (at, to));
    edges.into_iter().map(end).collect()
}

fn citations(edges: Vec<RawRow>) -> Result<Vec<ExchangeId>, StoreError> {
    let mut ends = ends(edges)?;
    ends.sort_unstable();
    Ok(ends.into_iter().take(CITATIONS_MAX).map(|(_, exchange)| exchange).collect())
}

fn works(edges: Vec<RawRow>) -> Result<Vec<WorkId>, StoreError> {
    let mut ends = ends(edges)?;
    ends.sort_by_key(|(at, _)| Reverse(*at));
    Ok(ends.into_iter().take(WORKS_MAX).map(|(_, work)| work).collect())
}
