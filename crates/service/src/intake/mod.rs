//! The intake: reads agents' transcripts and imports their sessions.
//!
//! One task does it, [`Intake::keep`], for as long as the daemon runs. It scans the agents' folders when it begins, at each
//! interval and when somebody asks, and reads the files that hooks name. Data flows one way:
//!
//! | file | step |
//! | --- | --- |
//! | [`sources`] | what lies in the agents' folders, and reading it |
//! | [`preview`] | how much of that is wanted, before it is read |
//! | [`settings`], [`choice`] | which sessions a person wants |
//! | [`slug`] | the folder of a session, for agents that do not record it |
//! | [`forks`] | which part of a session is a copy of another one |
//! | [`apart`] | what only the shorter one of two files of a session has |
//! | [`take`], [`many`] | the project of a session; exchanges and cursor go to the store in one transaction |
//! | [`memory_files`] | memory files of agents, which are documents |
//! | [`journal_only`] | the same for the journal of work alone, if past sessions are not kept |
//! | [`in_hand`] | beside all that: what the end of one transcript says, for an agent whose conversation was compacted |
//! | [`drift`] | records that no reader knows |
//! | [`run`] | the task, its bounds and its pauses |
//! | [`state`] | requests to it, and its progress |

mod apart;
mod choice;
mod drift;
mod forks;
mod in_hand;
mod journal_only;
mod many;
mod memory_files;
mod preview;
mod run;
mod settings;
mod slug;
mod sources;
mod state;
mod take;

pub use choice::Choice;
pub use folders::{TranscriptFolder, agent_named, agents, places};
pub use preview::{AgentPreview, Preview, PreviewedFile, glance};
pub use rows::check_companions;
pub use settings::HistorySettings;
pub use state::{AgentProgress, HistoryOptions, ImportRequest, Progress, ProjectOf};

use std::sync::Arc;

use crate::{base::Base, documents::Documents, history::History, index::EvidenceIndexes, work::Journal};
use sources::{folders, reading, rows, walk};
use state::IntakeState;

/// The use cases of importing past sessions.
#[derive(Clone)]
pub struct Intake {
    base: Base,
    evidence: EvidenceIndexes,
    documents: Documents,
    history: History,
    journal: Journal,
    state: Arc<IntakeState>,
}

impl Intake {
    pub(crate) fn new(history: &History, documents: &Documents, journal: &Journal) -> Self {
        Self {
            base: history.base.clone(),
            evidence: history.evidence.clone(),
            documents: documents.clone(),
            history: history.clone(),
            journal: journal.clone(),
            state: Arc::new(IntakeState::new(journal.retention().is_some())),
        }
    }
}
