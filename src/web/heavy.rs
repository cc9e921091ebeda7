//! Runs work on long texts away from the threads that the daemon's clients share.

use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Semaphore;

use super::failure::Failure;

/// How many texts are processed at the same time.
const AT_ONCE: usize = 2;
/// How long a page waits for its turn.
const WAIT_MAX: Duration = Duration::from_secs(10);

static PLACES: Semaphore = Semaphore::const_new(AT_ONCE);

/// Runs slow work on a thread of its own, a few at a time. Fails if there is no turn in time, or the work fails.
pub(super) async fn done<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let busy = || {
        let words = "Other long texts are being processed. Try again in a minute.";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "Not yet.", words)
    };
    let place = tokio::time::timeout(WAIT_MAX, PLACES.acquire()).await;
    let _place = place.ok().and_then(Result::ok).ok_or_else(busy)?;
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        tracing::error!("cannot process a text");
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong.", "This text cannot be shown.")
    })
}
