//! Health: figures about all memories, computed on demand. They are not stored and do not affect any order.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::{Pairs, Recall, ServiceError, feedback::Watched, lock};
use cerebro_core::domain::{Memory, Project, Timestamp};
use cerebro_core::truth::{Superseding, Vitals};
use cerebro_store::{Anchored, FeedbackCounts, HealthCounts};

/// Most pairs that are counted of each sort.
pub const PAIRS_COUNTED_MAX: usize = 1_000;
/// Most memories whose anchors are examined.
const ANCHORED_MAX: usize = 1_000;
/// Figures are reused for this many times as long as it took to gather them. So repeated calls keep one processor busy for
/// a twentieth of the time at most, however large the store is.
const KEPT_TIMES: u32 = 20;
/// Most projects whose figures are kept.
const KEPT_MAX: usize = 64;

/// The figures of a project, or of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// When they were gathered.
    pub at: Timestamp,
    /// Figures of live memories.
    pub vitals: Vitals,
    /// Memories that are not live, purged ones too.
    pub deleted: u64,
    /// Counts of everything that is not a memory.
    pub beside: HealthCounts,
    /// Pairs that mean nearly the same, among the [`PAIRS_COUNTED_MAX`] strongest of the store.
    pub twins: usize,
    /// Pairs that a model found to be at odds, among the [`PAIRS_COUNTED_MAX`] strongest of the store.
    pub claims: usize,
    /// The signs that memories shown by searches were useful or not.
    pub feedback: FeedbackCounts,
    /// The memories shown since the daemon began, and whether they were used.
    pub watched: Watched,
}

impl Health {
    /// Nodes of the graph: live memories, and the names that a model found in them.
    pub fn nodes(&self) -> u64 {
        self.vitals.live + self.beside.names
    }
}

/// Figures that were gathered.
struct Kept {
    health: Arc<Health>,
    /// Until when they are reused.
    until: Instant,
}

/// The latest figures of projects, and of all projects together.
#[derive(Default)]
pub(crate) struct HealthCache(Mutex<BTreeMap<Option<Project>, Kept>>);

impl HealthCache {
    fn get(&self, project: Option<&Project>) -> Option<Arc<Health>> {
        let held = lock(&self.0);
        let kept = held.get(&project.cloned())?;
        (Instant::now() < kept.until).then(|| Arc::clone(&kept.health))
    }

    fn keep(&self, project: Option<&Project>, took: Duration, health: &Arc<Health>) {
        let mut held = lock(&self.0);
        if held.len() >= KEPT_MAX {
            held.clear();
        }
        let until = Instant::now() + KEPT_TIMES * took;
        held.insert(project.cloned(), Kept { health: Arc::clone(health), until });
    }
}

impl Recall {
    /// The figures of a project, or of all. They may be reused from a moment ago: see [`Self::examine_health`].
    pub async fn health(&self, project: Option<&Project>) -> Result<Arc<Health>, ServiceError> {
        match self.health.get(project) {
            Some(health) => Ok(health),
            None => self.examine_health(project).await,
        }
    }

    /// Gathers new figures of a project, or of all. It walks all relations and signs, and all memories if it is the first
    /// to ask.
    pub async fn examine_health(&self, project: Option<&Project>) -> Result<Arc<Health>, ServiceError> {
        let begun = Instant::now();
        let (now, store) = (self.base.now(), &self.base.store);
        let (succession, census) = (self.succession().await?, self.census().await?);
        let successors = succession.successors();
        let (mut vitals, mut deleted) = (Vitals::default(), 0);
        for (id, vital) in census.of(project) {
            let (another, by_another) = (successors.contains(id), succession.successor(id, None).is_some());
            vitals.take(vital, Superseding { another, by_another }, now);
            deleted += u64::from(!vital.is_live);
        }
        let health = Arc::new(Health {
            at: now,
            vitals,
            deleted,
            beside: store.projects().health_counts(project).await?,
            twins: self.count_pairs(Pairs::Twins, project).await?,
            claims: self.count_pairs(Pairs::Claims, project).await?,
            feedback: self.feedback.counts(project).await?,
            watched: self.feedback.watched(project),
        });
        self.health.keep(project, begun.elapsed(), &health);
        Ok(health)
    }

    async fn count_pairs(&self, which: Pairs, project: Option<&Project>) -> Result<usize, ServiceError> {
        let pairs = self.pairs(which, 0, PAIRS_COUNTED_MAX).await?;
        let is_of = |memory: &Memory| project.is_none_or(|project| memory.scope.is_of(project));
        Ok(pairs.iter().filter(|pair| is_of(&pair.from) || is_of(&pair.to)).count())
    }

    /// The anchors of a project's memories, up to a bound.
    pub async fn anchored(&self, project: &Project) -> Result<Vec<Anchored>, ServiceError> {
        Ok(self.base.store.anchors().of_project(project, ANCHORED_MAX).await?)
    }
}
