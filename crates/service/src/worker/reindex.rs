//! Making new vectors with another model, and listing the queue.

use super::Worker;
use crate::ServiceError;
use cerebro_store::{JobCounts, JobState, ListedJob, ModelState, StoredModel};

/// The reindexing that a call began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reindexing {
    /// The model that makes them.
    pub model: String,
    /// The model that searches ask meanwhile, if it is another one.
    pub replaces: Option<String>,
}

impl Worker {
    /// Makes the worker compute the vectors of the model in the settings: all of them if it is a new model, else the
    /// missing ones. Searches ask the old model until all are there. If the process ends in between, the next daemon
    /// continues.
    ///
    /// # Errors
    /// [`ServiceError::NoModel`], or [`ServiceError::Invalid`] when the model of the settings cannot be used.
    pub async fn reindex(&self) -> Result<Reindexing, ServiceError> {
        let problem = |problem: String| ServiceError::invalid("model", "", problem);
        let embedder = (self.vectors.embedding().open)(None)
            .map_err(|error| problem(error.to_string()))?
            .ok_or(ServiceError::NoModel)?;
        let model = embedder.model();
        let stored = self.base.store.models().all().await?;
        let is_it = |one: &StoredModel| one.is(&model.name, model.dimension);
        let active = stored.iter().find(|one| one.state == ModelState::Active);
        // A model whose vectors were begun and that the settings no longer name.
        for other in stored.iter().filter(|one| one.state == ModelState::Building && !is_it(one)) {
            self.base.store.models().drop_with_vectors(other).await?;
        }
        if !stored.iter().any(is_it) {
            let state = if active.is_some() { ModelState::Building } else { ModelState::Active };
            self.base.store.models().add(&StoredModel::new(&model.name, model.dimension, state)).await?;
        }
        self.base.store.jobs().retry_dead().await?;
        self.fill();
        let replaces = active.filter(|one| !is_it(one)).map(|one| one.name.clone());
        Ok(Reindexing { model: model.name.clone(), replaces })
    }

    /// The counts of jobs, and whether memories are still being searched for missing vectors.
    pub async fn job_counts(&self) -> Result<(JobCounts, bool), ServiceError> {
        Ok((self.base.store.jobs().counts().await?, self.backfill.is_under_way()))
    }

    /// The jobs of one state.
    pub async fn jobs(&self, state: JobState, limit: usize) -> Result<Vec<ListedJob>, ServiceError> {
        Ok(self.base.store.jobs().in_state(state, limit).await?)
    }

    /// Queues the dead letters again and returns their number.
    pub async fn retry(&self) -> Result<usize, ServiceError> {
        let count = self.base.store.jobs().retry_dead().await?;
        self.jobs.unblock();
        Ok(count)
    }
}
