//! Where the pages ask the daemon, and the numbers that several of them show.
//!
//! Counting walks the whole store, so what was counted serves again: for as long as nobody has called the daemon since,
//! and for a while after that, until it is counted anew in the background. What is quick is asked each time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::{Timestamp, civil::Date};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::failure::Failure;
use crate::{
    daemon::client::Client as Daemon,
    view::{self, Call, Client, Row, items},
};
use cerebro_core::operation::Operation;

/// After which time numbers are counted again though nobody has called: the worker goes on by itself.
const COUNTED_MAX: Duration = Duration::from_secs(5);
/// How long numbers serve though somebody called since: a page waits for none that are not older.
const STALE_MAX: Duration = Duration::from_secs(60);
/// Memories on the first page.
const LATEST: usize = 6;
/// Calls that are looked at for the chart of calls.
const CALLS_MAX: usize = 1_000;

/// A project and how much belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Project {
    /// Empty for what is personal.
    pub name: String,
    pub memories: u64,
    pub sessions: u64,
    pub prompts: u64,
    pub last_at: Option<Timestamp>,
}

impl Project {
    fn read(value: &Value) -> Self {
        let number = |name: &str| value[name].as_u64().unwrap_or(0);
        Self {
            name: view::text(value, "project"),
            memories: number("memories"),
            sessions: number("sessions"),
            prompts: number("prompts"),
            last_at: view::moment(value, "last_at"),
        }
    }
}

/// What was counted at one moment.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    pub at: Timestamp,
    pub stats: Value,
    pub days: Vec<(Date, u64)>,
    /// The largest first.
    pub projects: Vec<Project>,
}

/// The numbers of the first page.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub counts: Arc<Counts>,
    pub status: Value,
    pub clients: Vec<Client>,
    /// The last calls, oldest first.
    pub calls: Vec<Call>,
    pub latest: Vec<Row>,
}

struct Counted {
    counts: Arc<Counts>,
    /// The number of the last call that anybody made before.
    last_call: u64,
    at: Instant,
}

/// The way to the daemon. A clone is another handle to the same.
#[derive(Clone)]
pub(super) struct Desk(Arc<Inner>);

struct Inner {
    daemon: Daemon,
    counted: Mutex<Option<Counted>>,
    /// Held by who counts again in the background.
    recount: Mutex<()>,
}

impl Desk {
    pub(super) fn new(daemon: Daemon) -> Self {
        Self(Arc::new(Inner { daemon, counted: Mutex::default(), recount: Mutex::default() }))
    }

    /// Asks the daemon.
    ///
    /// # Errors
    /// What it says against it.
    pub(super) async fn ask(&self, operation: Operation, arguments: Value) -> Result<Value, Failure> {
        Ok(self.0.daemon.call(operation, arguments).await?)
    }

    /// Asks the daemon to change something; what was counted before is void.
    ///
    /// # Errors
    /// What it says against it.
    pub(super) async fn change(&self, operation: Operation, arguments: Value) -> Result<Value, Failure> {
        let changed = self.ask(operation, arguments).await;
        self.count_anew().await;
        changed
    }

    /// The numbers of the first page.
    ///
    /// # Errors
    /// When the daemon cannot tell them.
    pub(super) async fn figures(&self) -> Result<Figures, Failure> {
        let asked = Box::pin(async {
            tokio::try_join!(
                self.counts(),
                self.ask(Operation::Status, json!({})),
                self.ask(Operation::Clients, json!({})),
                self.ask(Operation::Live, json!({ "after": 0, "limit": CALLS_MAX })),
                self.ask(Operation::Browse, json!({ "limit": LATEST })),
            )
        });
        let (counts, status, clients, calls, latest) = asked.await?;
        Ok(Figures {
            counts,
            status,
            clients: items(&clients, "clients").map(Client::read).collect(),
            calls: items(&calls, "calls").map(Call::read).collect(),
            latest: items(&latest, "memories").map(Row::read).collect(),
        })
    }

    /// Lets go of what was counted: who asks next hears what is so now.
    pub(super) async fn count_anew(&self) {
        *self.0.counted.lock().await = None;
    }

    /// What was counted last; it is counted once, however many ask for it.
    ///
    /// # Errors
    /// When the daemon cannot count.
    pub(super) async fn counts(&self) -> Result<Arc<Counts>, Failure> {
        let last_call = self.last_call().await?;
        let mut counted = self.0.counted.lock().await;
        if let Some(known) = counted.as_ref().filter(|known| known.at.elapsed() < STALE_MAX) {
            if known.last_call != last_call || known.at.elapsed() >= COUNTED_MAX {
                tokio::spawn(self.clone().count_again(last_call));
            }
            return Ok(Arc::clone(&known.counts));
        }
        let at = Instant::now();
        let counts = Box::pin(self.count()).await?;
        *counted = Some(Counted { counts: Arc::clone(&counts), last_call, at });
        Ok(counts)
    }

    /// Counts while the numbers before still serve; one at a time.
    async fn count_again(self, last_call: u64) {
        let Ok(_alone) = self.0.recount.try_lock() else { return };
        let at = Instant::now();
        let Ok(counts) = Box::pin(self.count()).await else { return };
        let mut counted = self.0.counted.lock().await;
        // A change meanwhile has made them void, and they may have been counted since.
        if let Some(known) = counted.as_mut().filter(|known| known.at < at) {
            *known = Counted { counts, last_call, at };
        }
    }

    async fn last_call(&self) -> Result<u64, Failure> {
        let answer = self.ask(Operation::Live, json!({ "after": u32::MAX, "limit": 1 })).await?;
        Ok(answer["last"].as_u64().unwrap_or(0))
    }

    async fn count(&self) -> Result<Arc<Counts>, Failure> {
        let at = Timestamp::now();
        let (stats, saves, projects) = tokio::try_join!(
            self.ask(Operation::Stats, json!({})),
            self.ask(Operation::Activity, view::saves(None, at)),
            self.ask(Operation::Projects, json!({})),
        )?;
        let mut projects: Vec<Project> = items(&projects, "projects").map(Project::read).collect();
        projects.sort_by(|a, b| b.memories.cmp(&a.memories).then_with(|| a.name.cmp(&b.name)));
        Ok(Arc::new(Counts { at, stats, days: view::days_of(&saves), projects }))
    }
}
