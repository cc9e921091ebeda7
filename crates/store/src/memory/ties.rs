//! A memory with what it is tied to, in one query.

use std::{cmp::Reverse, collections::BTreeSet};

use super::Memories;
use crate::{
    StoreError, StoredRelation, Supersession,
    citation::{CITATIONS_MAX, Cites},
    columns::{Columns, RawRow, columns},
    edge::WorkedIn,
    read::{Vars, one},
    row::memory_record,
    statement, supersession,
};
use cerebro_core::domain::{ExchangeId, Memory, MemoryId, WorkId};

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

/// The edges of a memory.
struct AllEdges {
    relates_to: Vec<StoredRelation>,
    related_from: Vec<StoredRelation>,
    supersedes: Vec<Supersession>,
    superseded_by: Vec<Supersession>,
    cites: Vec<Cites>,
    worked_in: Vec<WorkedIn>,
}

columns! { AllEdges { relates_to, related_from, supersedes, superseded_by, cites, worked_in } }

impl Memories<'_> {
    /// A memory, deleted or not, with what it is tied to. It is one query, and a second one if there are neighbours, of
    /// which at most `neighbours` are read.
    pub async fn with_ties(
        self,
        id: &MemoryId,
        neighbours: usize,
    ) -> Result<Option<(Memory, Ties)>, StoreError> {
        let vars = Vars::new().with("ids", vec![memory_record(id)]);
        let rows = self.0.values::<RawRow>("memory", statement::OBSERVATION, vars).await?;
        let Some(row) = one(rows) else { return Ok(None) };
        let mut row = row.columns("memory")?;
        let edges = AllEdges::take_from(&mut row, "edge")?;
        let memory = Memory::take_from(&mut row, "memory")?;
        let ties = Ties {
            neighbours: self.neighbours(edges.relates_to, edges.related_from, neighbours).await?,
            supersessions: supersessions([edges.supersedes, edges.superseded_by].concat()),
            citations: citations(edges.cites),
            works: works(edges.worked_in),
        };
        Ok(Some((memory, ties)))
    }

    async fn neighbours(
        self,
        relates_to: Vec<StoredRelation>,
        related_from: Vec<StoredRelation>,
        limit: usize,
    ) -> Result<Vec<Neighbour>, StoreError> {
        let forth = relates_to.into_iter().map(|edge| (edge.to, edge.kind, edge.weight));
        let back = related_from.into_iter().map(|edge| (edge.from, edge.kind, edge.weight));
        let mut found: Vec<(MemoryId, String, f64)> = forth.chain(back).collect();
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

fn supersessions(mut edges: Vec<Supersession>) -> Vec<Supersession> {
    edges.sort_by_cached_key(|edge| (Reverse(edge.at), supersession::record(edge)));
    edges
}

fn citations(mut edges: Vec<Cites>) -> Vec<ExchangeId> {
    edges.sort_unstable_by_key(|(_, exchange, at)| (*at, *exchange));
    edges.into_iter().take(CITATIONS_MAX).map(|(_, exchange, _)| exchange).collect()
}

fn works(mut edges: Vec<WorkedIn>) -> Vec<WorkId> {
    edges.sort_by_key(|(.., at)| Reverse(*at));
    edges.into_iter().take(WORKS_MAX).map(|(_, work, _)| work).collect()
}
