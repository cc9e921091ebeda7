//! The neighbourhood of a memory in the graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Recall, Selection, ServiceError};
use cerebro_core::domain::{Memory, MemoryId, Project};
use cerebro_store::StoredRelation;

/// Farthest that a neighbourhood reaches.
pub const DEPTH_MAX: usize = 4;
/// Most memories of a neighbourhood.
pub const NODES_MAX: usize = 200;
/// Most relations that are read for one step outward.
const STEP_RELATIONS_MAX: usize = 1_000;

/// A memory in a neighbourhood.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphNode {
    pub memory: Memory,
    /// How many relations it is away from the middle.
    pub distance: usize,
}

/// What is around a memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    /// The live memories, the middle first, then by distance and strength.
    pub nodes: Vec<GraphNode>,
    /// The relations between them.
    pub relations: Vec<StoredRelation>,
    /// There is more around it than is shown.
    pub truncated: bool,
}

impl Recall {
    /// The live memories within some relations of a memory, `limit` at most, and what relates them.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], or a failing store.
    pub async fn graph(&self, middle: &MemoryId, depth: usize, limit: usize) -> Result<Graph, ServiceError> {
        let (depth, limit) = (depth.clamp(1, DEPTH_MAX), limit.clamp(1, NODES_MAX));
        let memory = self.base.store.memories().by_id(middle).await?;
        let memory = memory.ok_or(ServiceError::NoMemory(*middle))?;
        let mut graph = Graph { nodes: vec![GraphNode { memory, distance: 0 }], ..Graph::default() };
        let mut relations = BTreeMap::new();
        let mut border = vec![*middle];
        for distance in 1..=depth {
            let step = self.base.store.relations().of(&border, STEP_RELATIONS_MAX).await?;
            graph.truncated |= step.len() == STEP_RELATIONS_MAX;
            border = graph.unknown_ends(&step);
            for relation in step {
                let key = (relation.from, relation.to, relation.kind.clone());
                relations.insert(key, relation);
            }
            let room = limit.saturating_sub(graph.nodes.len());
            graph.truncated |= border.len() > room;
            border.truncate(room);
            if border.is_empty() {
                break;
            }
            // In the order of strength in which the ends were met.
            let mut found = self.base.store.memories().in_order(&border).await?;
            found.retain(Memory::is_live);
            border = found.iter().map(|memory| memory.id).collect();
            graph.nodes.extend(found.into_iter().map(|memory| GraphNode { memory, distance }));
        }
        let known = |id: &MemoryId| graph.nodes.iter().any(|node| node.memory.id == *id);
        let mut kept: Vec<StoredRelation> =
            relations.into_values().filter(|one| known(&one.from) && known(&one.to)).collect();
        kept.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        graph.relations = kept;
        Ok(graph)
    }
}

impl Recall {
    /// The live memories of a project that were written last, `limit` at most, and what relates them to each other.
    pub async fn graph_of_project(&self, project: &Project, limit: usize) -> Result<Graph, ServiceError> {
        let limit = limit.clamp(1, NODES_MAX);
        let selection = Selection { project: Some(project.clone()), ..Selection::default() };
        let found = self.select(&selection, 0, limit).await?;
        let ids: BTreeSet<MemoryId> = found.memories.iter().map(|memory| memory.id).collect();
        let among: Vec<MemoryId> = ids.iter().copied().collect();
        let mut relations = self.base.store.relations().of(&among, STEP_RELATIONS_MAX).await?;
        let truncated = found.next.is_some() || relations.len() == STEP_RELATIONS_MAX;
        relations.retain(|one| ids.contains(&one.from) && ids.contains(&one.to));
        let node = |memory| GraphNode { memory, distance: 0 };
        Ok(Graph { nodes: found.memories.into_iter().map(node).collect(), relations, truncated })
    }
}

impl Graph {
    /// The ends of the relations that are not in the graph yet, each once, in order.
    fn unknown_ends(&self, relations: &[StoredRelation]) -> Vec<MemoryId> {
        let mut ends: Vec<MemoryId> = Vec::new();
        for id in relations.iter().flat_map(|relation| [&relation.from, &relation.to]) {
            if !ends.contains(id) && !self.nodes.iter().any(|node| node.memory.id == *id) {
                ends.push(*id);
            }
        }
        ends
    }
}
