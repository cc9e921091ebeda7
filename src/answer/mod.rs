//! What the daemon answers: one struct for each operation. `mcp` makes it; commands, screens, pages and hooks read it.
//!
//! An operation that has a row in [`of`] is asked by its type, so the asker gets the answer that belongs to it; and
//! `mcp::dispatch` routes it only to a function that answers with its struct. The names and the order of the fields are
//! what `--json` prints. At the top of an answer, a field without a value is left out (`mcp::reply::Reply::answering`);
//! further in, it is null unless its struct leaves it out.
//!
//! `mem_save`, `mem_update`, `mem_search`, `mem_get_observation` and `mem_timeline` are answered fact by fact beside the text
//! for agents; of these, the struct is what a reader needs.
//!
//! The two ends may be of different versions. A reader ignores fields that it does not know. A field that an earlier
//! version does not send is an `Option` or has `#[serde(default)]`.

#![expect(clippy::struct_field_names, reason = "fields are called as in the answers")]

pub mod backup;
pub mod consolidation;
pub mod daemon;
pub mod distil;
pub mod documents;
pub mod graph;
pub mod health;
pub mod history;
pub mod hooks;
pub mod listeners;
pub mod memories;
pub mod observation;
pub mod portable;
pub mod projects;
pub mod search;
pub mod sessions;
pub mod sql;
pub mod stats;
mod text;
pub mod tombstones;
pub mod upkeep;
pub mod work;
pub mod worker;

use std::ops::Deref;

use cerebro_core::operation::Operation;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use text::{Text, clean, clean_line, line, name};

/// An operation as a type.
pub trait Ask {
    /// Which operation it is.
    const OPERATION: Operation;
    /// How it is answered.
    type Answer: Serialize + DeserializeOwned;
}

/// Builds a type from one row per operation: its variant and the struct of its answer.
macro_rules! answers {
    ($($operation:ident => $answer:ty;)+) => {
        /// The operations whose answers have a struct, as types: [`of::WorkList`] is [`Operation::WorkList`].
        pub mod of {
            $(
                #[doc = concat!("[`Operation::", stringify!($operation), "`](super::Operation::", stringify!($operation), ")")]
                #[derive(Debug, Clone, Copy)]
                pub struct $operation;
            )+
        }

        $(
            impl Ask for of::$operation {
                const OPERATION: Operation = Operation::$operation;
                type Answer = $answer;
            }
        )+
    };
}

answers! {
    Context => memories::Context;
    Save => memories::Saved;
    Update => memories::Saved;
    Delete => memories::Deleted;
    Search => search::Found;
    GetObservation => observation::Observation;
    Timeline => sessions::Timeline;

    Resolve => memories::Resolved;
    List => memories::Listed;
    Browse => memories::Page;
    Restore => memories::Changed;
    Pin => memories::Changed;
    Unpin => memories::Changed;
    Archive => memories::Changed;
    Unarchive => memories::Changed;
    Types => memories::Types;
    Spelling => memories::Spelling;
    Activity => memories::Activity;
    Pairs => memories::Pairs;
    Settle => Outcome;
    Known => memories::Known;
    Note => memories::Noted;
    Sessions => sessions::Sessions;
    Story => sessions::Story;
    Prompts => sessions::Prompts;
    Events => sessions::Events;
    Projects => projects::Projects;
    MergeProjects => projects::Merged;
    Graph => graph::Graph;
    Entity => graph::Entity;
    Relations => graph::Page;

    CyclePlan => consolidation::Report;
    CycleApply => consolidation::Report;
    CycleUndo => consolidation::Report;
    CycleLog => consolidation::Log;

    HistoryImport => Outcome;
    HistoryPreview => history::Preview;
    HistoryStatus => history::Status;
    HistorySession => history::History;
    HistoryFacts => history::Facts;
    HistoryForget => history::Forgotten;

    DistilStatus => distil::Status;
    DistilPlan => distil::Plan;
    DistilRun => distil::Queued;
    DistilReview => distil::Proposals;
    DistilShow => distil::Proposal;
    DistilAccept => distil::Decided;
    DistilReject => distil::Decided;
    DistilArrangePlan => distil::ArrangePlan;
    DistilArrange => distil::Arranging;
    DistilUndo => distil::Decided;
    DistilHandbook => distil::Handbook;
    DistilRender => distil::Saved;
    DistilSkills => distil::Skills;

    DocIngest => documents::Ingested;
    Ingest => documents::Ingested;
    Documents => documents::Listed;
    DocumentShow => documents::Shown;
    DocumentRemove => documents::Removed;
    DocumentForget => documents::Forgotten;

    WorkList => work::Listed;
    WorkShow => work::Shown;
    WorkTail => work::Events;
    WorkResume => work::Resumed;
    WorkClose => work::Closed;
    WorkFork => work::Forked;
    WorkExport => work::Exported;
    WorkPrune => work::PrunedWork;
    WorkVerify => work::Verified;
    WorkHead => work::WorkHead;
    WorkProve => work::Proved;
    WorkClaim => work::Claimed;
    WorkRelease => work::Released;
    WorkArtifact => work::Artifact;
    WorkUnsettled => work::Unsettled;

    Status => daemon::Status;
    Stop => daemon::Stopping;
    Clients => daemon::Clients;
    Live => daemon::Calls;
    Stats => stats::Stats;
    Health => health::Report;

    Worker => worker::Status;
    WorkerPause => worker::Status;
    WorkerResume => worker::Status;
    Jobs => worker::Jobs;
    JobsRetry => worker::Retried;
    Reindex => worker::Reindexing;

    Tombstones => tombstones::Listed;
    ForgetTombstones => tombstones::Forgotten;
    Export => portable::Page;
    Import => portable::Imported;
    Backup => backup::Made;
    BackupProgress => backup::Progress;
    Compact => Outcome;
    Examine => upkeep::Examined;

    Sql => sql::Results;
    WhatIf => sql::Trial;
    StudioOpen => listeners::Studio;
    StudioClose => listeners::Closed;
    StudioStatus => listeners::Status;
    HttpOpen => listeners::Http;
    HttpClose => listeners::Closed;
    HttpStatus => listeners::Status;
    WebOpen => listeners::Web;
    WebClose => listeners::Closed;
    WebStatus => listeners::Status;

    Feedback => memories::Verdict;
    HookContext => hooks::Context;
    HookPrompt => hooks::Prompt;
    HookMessage => hooks::Kept;
    HookCompaction => hooks::Kept;
    HookEnd => hooks::Nothing;
    HookStep => hooks::Recorded;
    HookHint => hooks::Hint;
    HookTranscript => hooks::Nothing;
}

/// An answer that only says, in a word, what was done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    pub outcome: Text,
}

/// An answer as it was received, and what it says.
#[derive(Debug, Clone)]
pub struct Received<A> {
    raw: Value,
    answer: A,
}

impl<A> Received<A> {
    /// The answer as it was received, for `--json`: with the fields that this version does not know.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// What it says.
    pub fn into_answer(self) -> A {
        self.answer
    }
}

impl<A> Deref for Received<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.answer
    }
}

/// An answer that is not what the operation answers: the daemon is of another version.
#[derive(Debug, thiserror::Error)]
#[error("the answer of `{}` cannot be read: {problem}", .operation.name())]
pub struct Unreadable {
    operation: Operation,
    problem: serde_json::Error,
}

/// Reads the answer of an operation.
pub fn read<O: Ask>(value: &Value) -> Result<O::Answer, Unreadable> {
    O::Answer::deserialize(value).map_err(|problem| Unreadable { operation: O::OPERATION, problem })
}

/// The same, with the answer as it was received.
pub fn received<O: Ask>(raw: Value) -> Result<Received<O::Answer>, Unreadable> {
    let answer = read::<O>(&raw)?;
    Ok(Received { raw, answer })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_cannot_be_read_names_its_operation() {
        let error = read::<of::WorkList>(&json!({ "works": 1 })).unwrap_err().to_string();
        assert!(error.contains("`op_work_list`"), "{error}");
    }

    #[test]
    fn what_came_is_kept_with_fields_of_a_later_version() {
        let raw = json!({ "enabled": true, "later": 1, "works": [] });
        let answer = received::<of::WorkList>(raw.clone()).unwrap();
        assert!(answer.enabled && answer.raw() == &raw);
    }
}
