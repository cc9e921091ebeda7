//! How background jobs are done: one loop for each kind of work, whose handler is elsewhere.
//!
//! The queue is in the store; a commit only wakes the loops. [`runner`] has the loop, which every kind of work
//! shares. A handler does one kind of job, and the capability that the work belongs to has it: this module knows none of
//! them. What the loop decides is in [`cerebro_core::pace`].

pub(crate) mod asking;
mod queue;
pub(crate) mod runner;

pub(crate) use asking::{Payer, Question, REQUESTS_MAX, ask};
pub(crate) use runner::{JobError, Runner};

use cerebro_store::JobKind;
use queue::Queue;

/// What the worker is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerState {
    /// There is no model: jobs wait.
    Off,
    /// It has not looked since the settings turned it on.
    Starting,
    /// A person paused it.
    Paused,
    /// Nothing to do.
    Idle,
    /// It is executing jobs.
    Working,
    /// The provider failed, or the day's budget is spent. It continues by itself.
    Waiting(String),
    /// The settings name another model than the one that made the store's vectors.
    Disagrees {
        /// The model of the store.
        stored: String,
        /// The model of the settings.
        configured: String,
    },
    /// The model cannot be used until a person changes something.
    Unusable(String),
}

impl WorkerState {
    /// Its published name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Starting => "starting",
            Self::Paused => "paused",
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Waiting(_) => "waiting",
            Self::Disagrees { .. } => "disagrees",
            Self::Unusable(_) => "unusable",
        }
    }

    /// What a person should know beside the name.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Waiting(why) | Self::Unusable(why) => Some(why.clone()),
            Self::Disagrees { stored, configured } => Some(format!(
                "the store holds vectors of {stored}, the settings say {configured}: run `cerebro reindex`, or set the model back"
            )),
            _ => None,
        }
    }
}

/// The handles of the loops, one for each kind of job.
pub(crate) struct Jobs([Queue; JobKind::ALL.len()]);

impl Jobs {
    pub(crate) fn new() -> Self {
        Self(JobKind::ALL.map(|_| Queue::new()))
    }

    /// The handle of the loop over one kind of job.
    pub(crate) fn queue(&self, kind: JobKind) -> &Queue {
        &self.0[kind as usize]
    }

    /// Makes all loops look again at once, because a person changed something.
    pub(crate) fn unblock(&self) {
        self.0.iter().for_each(Queue::unblock);
    }
}
