//! The worker's setting: whether a person paused it.

use super::{
    Store, StoreError,
    read::{Vars, one},
    statement,
};

noun! {
    /// The worker's setting.
    worker: Worker
}

impl Worker<'_> {
    /// Whether a person paused the worker.
    pub async fn paused(self) -> Result<bool, StoreError> {
        Ok(one(self.0.values::<bool>("worker", statement::WORKER_GET, Vars::new()).await?).unwrap_or(false))
    }

    /// Pauses the worker or lets it go on. The setting outlives restarts.
    pub async fn pause(self, paused: bool) -> Result<(), StoreError> {
        self.0.execute(statement::WORKER_PUT, Vars::new().with("paused", paused)).await
    }
}
