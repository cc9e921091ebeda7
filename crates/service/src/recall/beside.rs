//! Signals beside the texts of memories that a search can weigh: how useful they were, and their relations.

use std::{collections::HashMap, sync::Arc};

use crate::{Recall, ServiceError};
use cerebro_core::domain::SubjectId;
use cerebro_core::feedback;
use cerebro_core::recall::{ExternalSignals, Weights};

/// Most relations that are read.
const RELATIONS_MAX: usize = 200_000;
/// Most memories whose signs are read.
const USES_MAX: usize = 100_000;

impl Recall {
    /// The signals that these weights ask for. A signal with weight zero is not read.
    pub(crate) async fn beside(&self, weights: &Weights) -> Result<Arc<ExternalSignals>, ServiceError> {
        let mut beside = ExternalSignals::default();
        if weights.used > 0.0 {
            let signs = self.base.store.signs().by_memory(USES_MAX).await?;
            let use_of = |(memory, counts)| {
                Some((SubjectId::from(memory).as_number(), feedback::usefulness(&counts)?))
            };
            beside.uses = signs.into_iter().filter_map(use_of).collect();
        }
        if weights.related > 0.0 {
            beside.relations = self.all_relations().await?;
        }
        Ok(Arc::new(beside))
    }

    async fn all_relations(&self) -> Result<HashMap<u64, Vec<(u64, f32)>>, ServiceError> {
        let mut relations: HashMap<u64, Vec<(u64, f32)>> = HashMap::new();
        let mut pages = self.base.store.relations().walk();
        let mut count = 0;
        while count < RELATIONS_MAX
            && let Some(page) = pages.next().await?
        {
            count += page.len();
            for relation in page {
                let [from, to] = [relation.from, relation.to].map(|id| SubjectId::from(id).as_number());
                #[expect(clippy::cast_possible_truncation, reason = "it is at most 1")]
                let strength = relation.weight as f32;
                for (one, other) in [(from, to), (to, from)] {
                    let known = relations.entry(one).or_default();
                    // Drawn both ways, or by several methods, it is one relation, as strong as the strongest.
                    match known.iter_mut().find(|(id, _)| *id == other) {
                        Some((_, known)) => *known = known.max(strength),
                        None => known.push((other, strength)),
                    }
                }
            }
        }
        Ok(relations)
    }
}
