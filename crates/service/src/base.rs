//! What every use case needs: the open store, the settings, the background tasks and the clock.

use std::sync::Arc;

use cerebro_core::domain::{Origin, Project, SessionId, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_store::Store;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::{settings::Settings, tasks::Tasks, traffic::Traffic};

/// Returns the present moment: the machine's clock ([`Timestamp::now`]), or one of a test.
pub type Clock = fn() -> Timestamp;

/// Who makes a call, and in which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The connection's own project.
    pub project: Project,
    /// The client's name, see [`crate::agent_name`].
    pub agent: RedactedText,
    /// A person at the command line, who may do more than agents.
    pub person: bool,
    /// The session that the call belongs to: the one that it names, otherwise its connection's.
    pub session: SessionId,
}

impl Caller {
    /// The same, in the project of a session that a write begins. What a person does in a named project is in a session of
    /// it, not of the folder's project.
    pub(crate) fn writing_to(&self, named: Option<&Project>) -> Self {
        let project = named.filter(|_| self.person).unwrap_or(&self.project).clone();
        Self { project, ..self.clone() }
    }

    /// The origin of a text that the caller writes.
    pub(crate) fn origin(&self) -> Origin {
        if self.person { Origin::Person } else { Origin::Agent }
    }
}

/// The open store and what belongs to it. Each capability has a clone, which is another handle to the same.
///
/// The store can close only when no handle is left. [`Tasks::ended`] waits for that by the token, so the token is the
/// last field: it is dropped after the store's handle.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) store: Arc<Store>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) tasks: Tasks,
    pub(crate) traffic: Arc<Traffic>,
    /// Whether the store has indexes. A database that is being restored has none; the next daemon builds them.
    pub(crate) is_indexed: bool,
    _open: Arc<TaskTrackerToken>,
}

impl Base {
    pub(crate) fn new(store: Store, settings: Settings) -> Self {
        let tasks = Tasks::default();
        let token = Arc::new(tasks.token());
        let (store, settings) = (Arc::new(store), Arc::new(settings));
        Self { store, settings, tasks, traffic: Arc::default(), is_indexed: true, _open: token }
    }

    /// As [`Self::new`], for a database without indexes.
    pub(crate) fn unindexed(store: Store, settings: Settings) -> Self {
        Self { is_indexed: false, ..Self::new(store, settings) }
    }

    /// The present moment, by the clock that was given at opening.
    pub(crate) fn now(&self) -> Timestamp {
        self.store.now()
    }
}
