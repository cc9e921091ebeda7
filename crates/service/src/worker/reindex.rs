//! Making the vectors anew with another model, and looking over the queue.

use super::Worker;
use crate::ServiceError;
use cerebro_store::{JobCounts, JobState, ListedJob, ModelState, StoredModel};

/// What a call for new vectors began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reindexing {
    /// The model that makes them.
    pub model: String,
    /// The model that searches ask meanwhile, where it is another one.
    pub replaces: Option<String>,
}

impl Worker {
    /// Has the worker make the vectors of the model of the settings: all of them when it is a new one, else
    /// those that are missing. Searches ask the old model until all are there. A call that was cut short goes
    /// on by itself when a daemon runs again.
    ///
    /// # Errors
    /// [`ServiceError::NoModel`], or [`ServiceError::Invalid`] when the one of the settings cannot be used.
    pub async fn reindex(&self) -> Result<Reindexing, ServiceError> {
        let problem = |problem: String| ServiceError::invalid("model", "", problem);
        let embedder = (self.vectors.embedding().open)(None)
            .map_err(|error| problem(error.to_string()))?
            .ok_or(ServiceError::NoModel)?;
        let model = embedder.model();
        let stored = self.base.store.models().await?;
        let is_it = |one: &StoredModel| one.name == model.name && one.dimension == model.dimension;
        let active = stored.iter().find(|one| one.state == ModelState::Active);
        // What was begun with a model that is not wanted any more.
        for other in stored.iter().filter(|one| one.state == ModelState::Building && !is_it(one)) {
            self.base.store.drop_model(other).await?;
        }
        if !stored.iter().any(is_it) {
            let state = if active.is_some() { ModelState::Building } else { ModelState::Active };
            self.base.store.add_model(&StoredModel::new(&model.name, model.dimension, state)).await?;
        }
        self.base.store.retry_jobs().await?;
        self.fill();
        let replaces = active.filter(|one| !is_it(one)).map(|one| one.name.clone());
        Ok(Reindexing { model: model.name.clone(), replaces })
    }

    /// How much work there is, and whether all memories were looked through.
    ///
    /// # Errors
    /// A failing store.
    pub async fn job_counts(&self) -> Result<(JobCounts, bool), ServiceError> {
        Ok((self.base.store.job_counts().await?, self.backfill.is_under_way()))
    }

    /// The jobs of one state.
    ///
    /// # Errors
    /// A failing store.
    pub async fn jobs(&self, state: JobState, limit: usize) -> Result<Vec<ListedJob>, ServiceError> {
        Ok(self.base.store.jobs(state, limit).await?)
    }

    /// Revives the jobs that were given up; says how many.
    ///
    /// # Errors
    /// A failing store.
    pub async fn retry(&self) -> Result<usize, ServiceError> {
        let count = self.base.store.retry_jobs().await?;
        self.jobs.poke();
        Ok(count)
    }
}
