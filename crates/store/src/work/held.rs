//! The rows of the pieces of work that were written last, so that the next event need not read them first.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use super::{StoredWork, WorkChanges};
use cerebro_core::{domain::WorkId, sync::lock};

/// Most rows that are kept, some 500 bytes each.
const HELD_MAX: usize = 64;

/// Rows as the last commit left them. Only the writer uses them, and each change of a row passes here.
#[derive(Default)]
pub(crate) struct HeldWorks(Mutex<BTreeMap<WorkId, StoredWork>>);

impl HeldWorks {
    fn held(&self) -> MutexGuard<'_, BTreeMap<WorkId, StoredWork>> {
        lock(&self.0)
    }

    pub(super) fn by_id(&self, id: &WorkId) -> Option<StoredWork> {
        self.held().get(id).cloned()
    }

    pub(super) fn by_name(&self, name: &str) -> Option<StoredWork> {
        self.held().values().find(|stored| stored.work.name.as_deref() == Some(name)).cloned()
    }

    /// Drops all rows.
    pub(super) fn clear(&self) {
        self.held().clear();
    }

    /// Drops the rows that a commit is about to write: until it has succeeded, they are in doubt.
    pub(crate) fn doubt(&self, changes: &WorkChanges) {
        let mut held = self.held();
        for id in changes.put.iter().map(|stored| &stored.work.id).chain(&changes.gone) {
            held.remove(id);
        }
    }

    /// Keeps the rows that a commit has written.
    pub(crate) fn keep(&self, changes: &WorkChanges) {
        let mut held = self.held();
        for stored in changes.put.iter().filter(|stored| !changes.gone.contains(&stored.work.id)) {
            if held.len() >= HELD_MAX && !held.contains_key(&stored.work.id) {
                held.clear();
            }
            let mut stored = stored.clone();
            stored.work.version += 1;
            held.insert(stored.work.id, stored);
        }
    }
}
