//! Pairs of memories that a person may want to settle: those that contradict each other by a claim, or nearly say the same.

use std::collections::BTreeSet;

use crate::{Recall, ServiceError};
use cerebro_core::domain::{Memory, MemoryId};
use cerebro_core::relate::RelationKind;
use cerebro_store::StoredRelation;

/// Likeness from which on two memories may say the same. It only proposes: near texts can differ in the one number that
/// matters, so a person looks at both.
const TWINS_MIN: f64 = 0.92;

/// Which pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// By a claim, one supersedes or contradicts the other.
    Claims,
    /// Both mean nearly the same.
    Twins,
}

/// Two live memories and what relates them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What the worker found.
    pub relation: StoredRelation,
    /// The memory at which the relation begins.
    pub from: Memory,
    /// The memory at which it ends.
    pub to: Memory,
}

impl Recall {
    /// At most `limit` pairs that are not settled, the strongest first, each once, after the first `offset`. It walks all
    /// relations of the store.
    pub async fn pairs(&self, which: Pairs, offset: usize, limit: usize) -> Result<Vec<Pair>, ServiceError> {
        let (kinds, least): (&[RelationKind], f64) = match which {
            Pairs::Claims => (&[RelationKind::Supersedes, RelationKind::Contradicts], 0.0),
            Pairs::Twins => (&[RelationKind::Similar], TWINS_MIN),
        };
        // Each kind may be drawn in both directions.
        let most = 2 * kinds.len() * (offset + limit);
        let mut relations = self.base.store.relations().unsettled(kinds, least, most).await?;
        let mut seen = BTreeSet::new();
        relations.retain(|one| seen.insert((one.from.min(one.to), one.from.max(one.to))));
        relations.truncate(offset + limit);
        relations.drain(..offset.min(relations.len()));
        let ends: BTreeSet<MemoryId> = relations.iter().flat_map(|one| [one.from, one.to]).collect();
        let found = self.base.store.memories().map_of(&ends).await?;
        let pair = |relation: StoredRelation| {
            let (from, to) = (found.get(&relation.from)?.clone(), found.get(&relation.to)?.clone());
            Some(Pair { relation, from, to })
        };
        Ok(relations.into_iter().filter_map(pair).collect())
    }

    /// Settles a pair: a person lets both memories stand. Each is given with the revision that the person read. The two
    /// are no longer a pair until one of them is revised.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for one memory twice, [`ServiceError::NoMemory`], [`ServiceError::Deleted`],
    /// [`ServiceError::RevisionMismatch`], or a failing store.
    pub async fn settle_pair(&self, pair: [(MemoryId, u32); 2]) -> Result<(), ServiceError> {
        let [(first, _), (second, _)] = pair;
        if first == second {
            return Err(ServiceError::invalid(
                "second",
                second.as_str(),
                "it is the first; name another memory",
            ));
        }
        for (id, expected) in pair {
            let memory = self.base.store.memories().by_id(&id).await?.ok_or(ServiceError::NoMemory(id))?;
            if !memory.is_live() {
                return Err(ServiceError::gone(&memory));
            }
            if memory.revision != expected {
                return Err(ServiceError::RevisionMismatch { id, expected, present: memory.revision });
            }
        }
        self.base.store.relations().settle(pair).await?;
        self.claims.forget();
        Ok(())
    }
}
