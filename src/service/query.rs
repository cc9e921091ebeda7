//! Looking into the store with its own language: single queries, and a live endpoint for other programs.

use super::{Service, ServiceError};
use crate::store::{Answer, Lease, Query, StudioAccess, StudioOptions};

impl Service {
    /// Runs a query that can only read.
    ///
    /// # Errors
    /// When it cannot be run at all; a statement that fails says so in its own answer.
    pub async fn query(&self, query: Query) -> Result<Vec<Answer>, ServiceError> {
        Ok(self.store().read(query).await?)
    }

    /// Opens the live endpoint, read-only and on this machine alone, until it is closed.
    ///
    /// # Errors
    /// When one is open, the port is taken, or an origin is none.
    pub async fn open_studio(&self, options: StudioOptions) -> Result<StudioAccess, ServiceError> {
        Ok(self.store().open_studio(options).await?)
    }

    /// Closes the live endpoint, or only if it is the given opening. Says whether it was open.
    pub async fn close_studio(&self, lease: Option<Lease>) -> bool {
        self.store().close_studio(lease).await
    }

    /// Whether the given opening of the live endpoint is still open.
    pub async fn has_studio(&self, lease: Lease) -> bool {
        self.store().has_studio(lease).await
    }
}
