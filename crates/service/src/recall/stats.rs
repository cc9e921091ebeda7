//! Counting what there is.

use std::collections::BTreeMap;

use crate::{Recall, ServiceError, tasks::on_a_thread};
use cerebro_core::domain::{Event, Project};
use cerebro_store::{Counts, ProjectCount, Store};

/// The size of the store, and the state of the program.
#[derive(Debug, Clone)]
pub struct Stats {
    /// Rows by kind.
    pub counts: Counts,
    /// Projects that hold anything.
    pub projects: usize,
    pub schema_version: u32,
    /// Bytes of the lexical index.
    pub index_bytes: u64,
}

impl Recall {
    /// How many memories a search can find. Unlike [`Self::stats`] it walks no rows.
    pub fn memories_indexed(&self) -> u64 {
        self.index.memories_indexed()
    }

    /// Every project that has anything, with its counts. It walks all memories, unless the census is at hand.
    pub async fn projects(&self) -> Result<BTreeMap<Project, ProjectCount>, ServiceError> {
        let store = self.base.store.projects();
        Ok(match self.census.get() {
            Some(census) => store.beside(census.projects()).await?,
            None => store.all().await?,
        })
    }

    /// The log after a number, in order.
    pub async fn events(&self, after: u64, limit: usize) -> Result<Vec<Event>, ServiceError> {
        Ok(self.base.store.events().after(self.base.store.writer(), after, limit).await?)
    }

    /// Counts the rows of a project, or of all.
    pub async fn stats(&self, project: Option<&Project>) -> Result<Stats, ServiceError> {
        let index = self.index.index();
        Ok(Stats {
            counts: self.base.store.projects().counts(project).await?,
            projects: self.projects().await?.len(),
            schema_version: Store::schema_version(),
            index_bytes: on_a_thread("reading the size of the index", move || index.bytes_on_disk()).await?,
        })
    }
}
