//! The few facts of every memory that statistics count. They are read from the store when somebody first asks, and follow
//! each commit from then on.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use crate::{Recall, ServiceError, lock};
use cerebro_core::domain::{MemoryId, Project, Scope};
use cerebro_core::truth::Vital;
use cerebro_store::{Committed, CountedMemory, ProjectCount};

/// Memories that are read at once, some 2 kB each: a page first passes over all that come before it.
const PAGE: usize = 5_000;
/// Most memories that are kept in mind, some 100 bytes each; of a larger store they are read each time.
const HELD_MAX: usize = 200_000;

/// What is known of every memory of a store, deleted and purged ones too.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Census {
    /// Scopes, by their number here.
    scopes: HashMap<Scope, usize>,
    /// Memories, each with the number of its scope.
    memories: HashMap<MemoryId, (usize, Vital)>,
}

impl Census {
    fn take(&mut self, entry: CountedMemory) {
        let next = self.scopes.len();
        let scope = *self.scopes.entry(entry.scope).or_insert(next);
        self.memories.insert(entry.id, (scope, entry.vital));
    }

    /// The memories of a project, or of all.
    pub fn of(&self, project: Option<&Project>) -> impl Iterator<Item = (&MemoryId, &Vital)> {
        let wanted = project.map(|project| self.scopes.get(&Scope::Project(project.clone())).copied());
        let is_of = move |scope: usize| wanted.is_none_or(|wanted| wanted == Some(scope));
        let found = self.memories.iter().filter(move |(_, (scope, _))| is_of(*scope));
        found.map(|(id, (_, vital))| (id, vital))
    }

    /// The live memories of every project that has any.
    pub fn projects(&self) -> BTreeMap<Project, ProjectCount> {
        let mut counts: Vec<ProjectCount> = vec![ProjectCount::default(); self.scopes.len()];
        for (scope, vital) in self.memories.values().filter(|(_, vital)| vital.is_live) {
            let one =
                ProjectCount { memories: 1, last_at: Some(vital.updated_at), ..ProjectCount::default() };
            counts[*scope].add(&one);
        }
        let own = |(scope, at): (&Scope, &usize)| Some((scope.project()?.clone(), counts[*at].clone()));
        self.scopes.iter().filter_map(own).filter(|(_, count)| count.memories > 0).collect()
    }
}

/// The census, as far as it was taken.
#[derive(Default)]
enum Taken {
    #[default]
    No,
    /// It is being read; here is what is committed meanwhile.
    Reading(Vec<CountedMemory>),
    Yes(Arc<Census>),
}

/// The census as it was last taken.
#[derive(Default)]
pub(crate) struct CensusCache {
    taken: Mutex<Taken>,
    /// Held by the caller that reads, so that the store is walked once for all that wait.
    reading: tokio::sync::Mutex<()>,
}

impl CensusCache {
    /// Takes the memories of a commit into the census.
    pub(crate) fn follow(&self, committed: &Committed) {
        let entries = committed.memories.iter().map(CountedMemory::from);
        match &mut *lock(&self.taken) {
            Taken::No => {}
            Taken::Reading(meanwhile) => meanwhile.extend(entries),
            Taken::Yes(census) => {
                let census = Arc::make_mut(census);
                entries.for_each(|entry| census.take(entry));
            }
        }
    }

    /// Forgets what was read.
    pub(crate) fn forget(&self) {
        *lock(&self.taken) = Taken::No;
    }

    /// The census, if it is at hand.
    pub(super) fn get(&self) -> Option<Arc<Census>> {
        match &*lock(&self.taken) {
            Taken::Yes(census) => Some(Arc::clone(census)),
            _ => None,
        }
    }
}

impl Recall {
    /// What is known of every memory. It walks all of them when it is first asked.
    pub(super) async fn census(&self) -> Result<Arc<Census>, ServiceError> {
        if let Some(census) = self.census.get() {
            return Ok(census);
        }
        let _reading = self.census.reading.lock().await;
        if let Some(census) = self.census.get() {
            return Ok(census);
        }
        *lock(&self.census.taken) = Taken::Reading(Vec::new());
        let read = self.read_census().await;
        let mut taken = lock(&self.census.taken);
        let Taken::Reading(meanwhile) = std::mem::take(&mut *taken) else {
            // A follower panicked meanwhile, so the commit of its notice is missing here.
            return read.map(Arc::new);
        };
        let mut census = read?;
        for entry in meanwhile {
            census.take(entry);
        }
        let census = Arc::new(census);
        // What other homes commit to a shared store arrives here late, so a kept census would be out of date.
        if census.memories.len() <= HELD_MAX && !self.base.store.is_shared() {
            *taken = Taken::Yes(Arc::clone(&census));
        }
        Ok(census)
    }

    async fn read_census(&self) -> Result<Census, ServiceError> {
        let mut census = Census::default();
        let mut after: Option<MemoryId> = None;
        loop {
            let page = self.base.store.memories().counted_page(after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(census) };
            after = Some(last.id);
            for memory in page {
                census.take(memory);
            }
        }
    }
}
