//! The table of handlers: one line for each operation, with what its handler needs.

use std::pin::Pin;

use super::{
    agent_hooks,
    arguments::Arguments,
    call::{Answer, Call},
    consolidation_ops,
    context::Context,
    distil_ops, document_ops, document_tools, feedback, handbook_ops, health, history_ops, http, maintenance,
    observation, operator,
    reply::Reply,
    screen_ops, stats, studio, tombstone_ops, tools, web, work_ops, work_tools, worker_ops,
};
use crate::answer::of;
use cerebro_core::domain::ArrangementState::{Accepted, Rejected};
use cerebro_core::operation::Operation;

type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
/// A handler that needs no store.
type OfDaemon = for<'a> fn(&'a Context, &'a mut Arguments) -> Answering<'a>;
/// A handler that needs the use cases.
type OfStore = for<'a> fn(&'a mut Call) -> Answering<'a>;

/// A handler, by what it needs.
#[derive(Clone, Copy)]
pub(super) enum Handler {
    /// Always, even if the home is gone.
    Daemon(OfDaemon),
    /// While the home exists, whether its store is open or not.
    Home(OfDaemon),
    /// Once the store is open.
    Store(OfStore),
}

/// A [`Handler::Store`] of an async function: of a tool, which makes its reply, or of an operation, which returns its
/// answer and may take further arguments.
macro_rules! store {
    ($answer:path) => {
        Handler::Store(|call| Box::pin($answer(call)))
    };
    ($operation:ident, $answer:path $(, $given:expr)*) => {
        Handler::Store(|call| {
            Box::pin(async { $answer(call $(, $given)*).await.map(Reply::of::<of::$operation>) })
        })
    };
}

/// The same of a tool of the journal, for which an agent should neither wait nor fail.
macro_rules! journal {
    ($answer:path) => {
        Handler::Store(|call| {
            Box::pin(async move {
                let answer = $answer(call).await;
                work_tools::or_degraded(call, answer)
            })
        })
    };
}

#[expect(clippy::too_many_lines, reason = "a table: one line for each operation")]
pub(super) fn handler(operation: Operation) -> Handler {
    use Operation as O;
    match operation {
        O::SessionStart => store!(tools::session_start),
        O::SessionEnd => store!(tools::session_end),
        O::SessionSummary => store!(tools::session_summary),
        O::Context => store!(tools::context),
        O::Save => store!(tools::save),
        O::Update => store!(tools::update),
        O::Delete => store!(tools::delete),
        O::SuggestTopicKey => store!(tools::suggest_topic_key),
        O::Search => store!(tools::search),
        O::GetObservation => store!(observation::get),
        O::Timeline => store!(tools::timeline),
        O::SavePrompt => store!(tools::save_prompt),
        O::Stats => store!(stats::stats),
        O::Status => Handler::Daemon(|context, _| {
            Box::pin(async { Ok(Reply::of::<of::Status>(operator::status(context))) })
        }),
        O::Stop => Handler::Daemon(|context, _| {
            Box::pin(async { Ok(Reply::of::<of::Stop>(operator::stop(context))) })
        }),
        O::Clients => Handler::Home(|context, _| {
            Box::pin(async { Ok(Reply::of::<of::Clients>(screen_ops::clients(context))) })
        }),
        O::Live => Handler::Home(|context, arguments| {
            Box::pin(async { screen_ops::calls(context, arguments).await.map(Reply::of::<of::Live>) })
        }),
        O::Resolve => store!(Resolve, operator::resolve),
        O::List => store!(List, operator::list),
        O::Browse => store!(Browse, screen_ops::browse),
        O::Restore => store!(Restore, operator::restore),
        O::Pin => store!(Pin, operator::pin, true),
        O::Unpin => store!(Unpin, operator::pin, false),
        O::Archive => store!(Archive, consolidation_ops::archive, true),
        O::Unarchive => store!(Unarchive, consolidation_ops::archive, false),
        O::CyclePlan => store!(CyclePlan, consolidation_ops::plan),
        O::CycleApply => store!(CycleApply, consolidation_ops::apply),
        O::CycleUndo => store!(CycleUndo, consolidation_ops::undo),
        O::CycleLog => store!(CycleLog, consolidation_ops::log),
        O::Tombstones => store!(Tombstones, tombstone_ops::list),
        O::ForgetTombstones => store!(ForgetTombstones, tombstone_ops::forget),
        O::Sessions => store!(Sessions, operator::sessions),
        O::Story => store!(Story, screen_ops::session_contents),
        O::Prompts => store!(Prompts, operator::prompts),
        O::Projects => store!(Projects, operator::projects),
        O::Types => store!(Types, operator::types),
        O::Spelling => store!(Spelling, operator::spelling),
        O::MergeProjects => store!(MergeProjects, operator::merge_projects),
        O::Events => store!(Events, operator::events),
        O::Activity => store!(Activity, screen_ops::activity),
        O::Graph => store!(Graph, operator::graph),
        O::Pairs => store!(Pairs, screen_ops::pairs),
        O::Settle => store!(Settle, screen_ops::settle),
        O::Entity => store!(Entity, operator::entity),
        O::Health => store!(Health, health::health),
        O::Export => store!(Export, operator::export),
        O::Import => store!(Import, operator::import),
        O::Known => store!(Known, maintenance::known),
        O::Note => store!(Note, maintenance::note),
        O::Relations => store!(Relations, maintenance::relations),
        O::Backup => store!(Backup, maintenance::backup),
        O::BackupProgress => store!(BackupProgress, maintenance::backup_progress),
        O::Compact => store!(Compact, maintenance::compact),
        O::Examine => store!(Examine, maintenance::examine),
        O::HistoryImport => store!(HistoryImport, history_ops::import),
        O::HistoryPreview => store!(HistoryPreview, history_ops::preview),
        O::HistoryStatus => store!(HistoryStatus, history_ops::status),
        O::HistorySession => store!(HistorySession, history_ops::session),
        O::HistoryFacts => store!(HistoryFacts, history_ops::facts),
        O::HistoryForget => store!(HistoryForget, history_ops::forget),
        O::DistilStatus => store!(DistilStatus, distil_ops::status),
        O::DistilPlan => store!(DistilPlan, distil_ops::plan),
        O::DistilRun => store!(DistilRun, distil_ops::run),
        O::DistilReview => store!(DistilReview, distil_ops::review),
        O::DistilShow => store!(DistilShow, distil_ops::show),
        O::DistilAccept => store!(DistilAccept, distil_ops::decide, Accepted),
        O::DistilReject => store!(DistilReject, distil_ops::decide, Rejected),
        O::DistilArrangePlan => store!(DistilArrangePlan, handbook_ops::plan),
        O::DistilArrange => store!(DistilArrange, handbook_ops::arrange),
        O::DistilUndo => store!(DistilUndo, handbook_ops::undo),
        O::DistilHandbook => store!(DistilHandbook, handbook_ops::show),
        O::DistilRender => store!(DistilRender, handbook_ops::render),
        O::DistilSkills => store!(DistilSkills, handbook_ops::skills),
        O::Ingest => store!(Ingest, document_ops::ingest),
        O::Documents => store!(Documents, document_ops::list),
        O::DocumentShow => store!(DocumentShow, document_ops::show),
        O::DocumentRemove => store!(DocumentRemove, document_ops::remove),
        O::DocumentForget => store!(DocumentForget, document_ops::forget),
        O::Worker => store!(Worker, worker_ops::status),
        O::WorkerPause => store!(WorkerPause, worker_ops::pause, true),
        O::WorkerResume => store!(WorkerResume, worker_ops::pause, false),
        O::Jobs => store!(Jobs, worker_ops::jobs),
        O::JobsRetry => store!(JobsRetry, worker_ops::retry_jobs),
        O::Reindex => store!(Reindex, worker_ops::reindex),
        O::WorkBegin => journal!(work_tools::begin),
        O::WorkNote => journal!(work_tools::note),
        O::WorkLook => journal!(work_tools::list),
        O::WorkTake => journal!(work_tools::resume),
        O::DocIngest => store!(document_tools::ingest),
        O::DocList => store!(document_tools::list),
        O::DocRemove => store!(document_tools::remove),
        O::Feedback => store!(feedback::say),
        O::WorkList => store!(WorkList, work_ops::list),
        O::WorkShow => store!(WorkShow, work_ops::show),
        O::WorkTail => store!(WorkTail, work_ops::tail),
        O::WorkResume => store!(WorkResume, work_ops::resume),
        O::WorkClose => store!(WorkClose, work_ops::close),
        O::WorkFork => store!(WorkFork, work_ops::fork),
        O::WorkExport => store!(WorkExport, work_ops::export),
        O::WorkPrune => store!(WorkPrune, work_ops::prune),
        O::WorkVerify => store!(WorkVerify, work_ops::verify),
        O::WorkHead => store!(WorkHead, work_ops::head),
        O::WorkProve => store!(WorkProve, work_ops::prove),
        O::WorkClaim => store!(WorkClaim, work_ops::claim),
        O::WorkRelease => store!(WorkRelease, work_ops::release),
        O::WorkArtifact => store!(WorkArtifact, work_ops::artifact),
        O::WorkUnsettled => store!(WorkUnsettled, work_ops::unsettled),
        O::WhatIf => store!(WhatIf, studio::what_if),
        O::Sql => store!(Sql, studio::sql),
        O::StudioOpen => store!(StudioOpen, studio::open),
        O::StudioClose => store!(StudioClose, studio::close),
        O::StudioStatus => store!(StudioStatus, studio::status),
        O::HttpOpen => store!(HttpOpen, http::open_for),
        O::HttpClose => store!(HttpClose, http::close_for),
        O::HttpStatus => store!(HttpStatus, http::status_for),
        O::WebOpen => store!(WebOpen, web::open),
        O::WebClose => store!(WebClose, web::close_for),
        // A command keeps each of these listeners open through its connection.
        O::WebStatus => store!(WebStatus, http::status_for),
        O::HookContext => store!(HookContext, agent_hooks::context),
        O::HookPrompt => store!(HookPrompt, agent_hooks::prompt),
        O::HookMessage => store!(HookMessage, agent_hooks::message),
        O::HookCompaction => store!(HookCompaction, agent_hooks::compaction),
        O::HookEnd => store!(HookEnd, agent_hooks::end),
        O::HookStep => store!(HookStep, agent_hooks::step),
        O::HookHint => store!(HookHint, agent_hooks::hint),
        O::HookTranscript => store!(HookTranscript, agent_hooks::transcript),
    }
}
