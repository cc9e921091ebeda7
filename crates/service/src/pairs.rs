//! Pairs of memories that a person may want to settle: what the worker found to be at odds, or nearly the same.

use std::collections::{BTreeMap, BTreeSet};

use super::{Service, ServiceError};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::relate::RelationKind;
use cerebro_store::StoredRelation;

/// Likeness from which on two memories may say the same. It only proposes: near texts can differ in the one number that
/// matters, so a person looks at both.
const TWINS_MIN: f64 = 0.92;

/// Which pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// One is said to take the other's place, or both cannot be true.
    Claims,
    /// Both mean nearly the same.
    Twins,
}

/// Two live memories and what relates them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What the worker found.
    pub relation: StoredRelation,
    /// The memory that it leaves.
    pub from: Memory,
    /// The memory that it goes to.
    pub to: Memory,
}

impl Service {
    /// At most `limit` pairs, the strongest first, each once. It walks all relations of the store.
    ///
    /// # Errors
    /// A failing store.
    pub async fn pairs(&self, which: Pairs, limit: usize) -> Result<Vec<Pair>, ServiceError> {
        let (kinds, least): (&[RelationKind], f64) = match which {
            Pairs::Claims => (&[RelationKind::Supersedes, RelationKind::Contradicts], 0.0),
            Pairs::Twins => (&[RelationKind::Similar], TWINS_MIN),
        };
        // Both directions may be drawn.
        let mut relations = self.store().relations_of(kinds, least, 2 * limit).await?;
        let mut seen = BTreeSet::new();
        relations.retain(|one| seen.insert((one.from.min(one.to), one.from.max(one.to))));
        relations.truncate(limit);
        let ends: BTreeSet<MemoryId> = relations.iter().flat_map(|one| [one.from, one.to]).collect();
        let ends: Vec<MemoryId> = ends.into_iter().collect();
        let found = self.store().memories_by_id(&ends).await?;
        let shown = |memory: &Memory| memory.is_live() && !memory.is_archived();
        let live: BTreeMap<MemoryId, Memory> =
            found.into_iter().filter(shown).map(|memory| (memory.id, memory)).collect();
        let pair = |relation: StoredRelation| {
            let (from, to) = (live.get(&relation.from)?.clone(), live.get(&relation.to)?.clone());
            Some(Pair { relation, from, to })
        };
        Ok(relations.into_iter().filter_map(pair).collect())
    }
}
