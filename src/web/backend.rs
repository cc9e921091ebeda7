//! The pages' access to the daemon, and the figures that several of them show.
//!
//! Counting reads the whole store. So pages show the last figures, however old, and a new count runs in the background.
//! Only the health page waits for it. Cheap figures are requested each time.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use jiff::{Timestamp, civil::Date};
use serde_json::{Value, json};
use tokio::sync::Mutex as Turn;

use super::failure::Failure;
use crate::{
    answer::{
        Ask,
        daemon::{Call, Client, Status},
        of,
        projects::Project,
        stats::Stats,
    },
    daemon::client::Client as Daemon,
    view::{self, Row},
};
use cerebro_core::operation::Operation;
use cerebro_core::sync::lock;

/// Age after which figures are counted again even without a call, because the worker changes them, too.
const COUNTED_MAX: Duration = Duration::from_secs(5);
/// How long opening the page waits for the first figures.
const FIRST_MAX: Duration = Duration::from_secs(3);
/// How many memories the first page shows.
const LATEST: usize = 6;
/// Calls that are examined for the chart of calls.
const CALLS_MAX: usize = 1_000;

/// The figures counted at one moment; empty before the first count.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub at: Option<Timestamp>,
    pub stats: Option<Stats>,
    pub days: Vec<(Date, u64)>,
    /// The largest first.
    pub projects: Vec<Project>,
}

/// The figures of the first page.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub counts: Arc<Counts>,
    pub status: Status,
    pub clients: Vec<Client>,
    /// The last calls, oldest first.
    pub calls: Vec<Call>,
    pub latest: Vec<Row>,
}

struct Counted {
    counts: Arc<Counts>,
    /// The number of the last call before the count.
    last_call: u64,
    at: Instant,
}

/// The connection to the daemon. Clones are handles to the same backend.
#[derive(Clone)]
pub(super) struct Backend(Arc<Inner>);

struct Inner {
    daemon: Daemon,
    counted: Mutex<Option<Counted>>,
    /// Is held while a count runs.
    turn: Turn<()>,
}

impl Backend {
    pub(super) fn new(daemon: Daemon) -> Self {
        Self(Arc::new(Inner { daemon, counted: Mutex::default(), turn: Turn::default() }))
    }

    /// Calls an operation of the daemon and reads its answer.
    pub(super) async fn read<O: Ask>(&self, operation: O, arguments: Value) -> Result<O::Answer, Failure> {
        Ok(self.0.daemon.ask(operation, arguments).await?.into_answer())
    }

    /// Calls an operation that changes something, and counts again in the background.
    pub(super) async fn change(&self, operation: Operation, arguments: Value) -> Result<Value, Failure> {
        let changed = self.0.daemon.call(operation, arguments).await;
        self.count_soon();
        Ok(changed?)
    }

    /// Like [`Self::change`], and reads the answer.
    pub(super) async fn change_and_read<O: Ask>(
        &self,
        operation: O,
        arguments: Value,
    ) -> Result<O::Answer, Failure> {
        let changed = self.read(operation, arguments).await;
        self.count_soon();
        changed
    }

    /// The figures of the first page.
    pub(super) async fn figures(&self) -> Result<Figures, Failure> {
        let asked = Box::pin(async {
            tokio::try_join!(
                async { Ok::<_, Failure>(self.counts().await) },
                self.read(of::Status, json!({})),
                self.read(of::Clients, json!({})),
                self.read(of::Live, json!({ "after": 0, "limit": CALLS_MAX })),
                self.read(of::Browse, json!({ "limit": LATEST })),
            )
        });
        let (counts, status, clients, calls, latest) = asked.await?;
        Ok(Figures {
            counts,
            status,
            clients: clients.clients,
            calls: calls.calls,
            latest: latest.memories.iter().map(Row::browsed).collect(),
        })
    }

    /// The last figures; empty before the first count. Counts again in the background if there was a call after that
    /// count, or if it is old.
    pub(super) async fn counts(&self) -> Arc<Counts> {
        let last_call = self.last_call().await;
        let known = self.known();
        let is_fresh = known.as_ref().is_some_and(|(counted, call, at)| {
            counted.at.is_some() && *call == last_call && at.elapsed() < COUNTED_MAX
        });
        if !is_fresh {
            self.count_soon();
        }
        known.map(|(counts, ..)| counts).unwrap_or_default()
    }

    /// Counts now, and waits for the result.
    pub(super) async fn count_now(&self) -> Result<Arc<Counts>, Failure> {
        let _turn = self.0.turn.lock().await;
        Box::pin(self.count()).await
    }

    /// Counts for the first time, before the first request. For a slow store, the count goes on in the background.
    pub(super) async fn count_first(&self) {
        let backend = self.clone();
        let counting = tokio::spawn(async move { backend.count_now().await.is_ok() });
        if tokio::time::timeout(FIRST_MAX, counting).await.is_err() {
            tracing::info!("the first page is shown before everything is counted");
        }
    }

    /// Counts in the background, unless a count is running.
    fn count_soon(&self) {
        let backend = self.clone();
        tokio::spawn(async move {
            let Ok(_turn) = backend.0.turn.try_lock() else { return };
            // After a failure, the next request counts again.
            let _ = Box::pin(backend.count()).await;
        });
    }

    fn known(&self) -> Option<(Arc<Counts>, u64, Instant)> {
        let counted = lock(&self.0.counted);
        counted.as_ref().map(|known| (Arc::clone(&known.counts), known.last_call, known.at))
    }

    async fn last_call(&self) -> u64 {
        let answer = self.read(of::Live, json!({ "after": u32::MAX, "limit": 1 })).await;
        answer.map_or(0, |answer| answer.last)
    }

    async fn count(&self) -> Result<Arc<Counts>, Failure> {
        let (at, begun, last_call) = (Timestamp::now(), Instant::now(), self.last_call().await);
        let (stats, saves, projects) = tokio::try_join!(
            self.read(of::Stats, json!({})),
            self.read(of::Activity, view::saves(None, at)),
            self.read(of::Projects, json!({})),
        )?;
        let projects = projects.largest_first();
        let counts =
            Arc::new(Counts { at: Some(at), stats: Some(stats), days: view::days_of(&saves), projects });
        let counted = Counted { counts: Arc::clone(&counts), last_call, at: begun };
        *lock(&self.0.counted) = Some(counted);
        Ok(counts)
    }
}
