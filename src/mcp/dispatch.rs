//! The table of handlers: one line for each operation, with what its handler needs.

use std::pin::Pin;

use super::{
    agent_hooks,
    arguments::Arguments,
    call::{Answer, Call},
    context::Context,
    cycle, distil_ops, document_ops, document_tools, feedback, handbook_ops, health, history_ops, http,
    maintenance, observation, operator, studio, tombstone_ops, tools, tui_ops, web, work, work_tools, worker,
};
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

/// A [`Handler::Store`] of an async function.
macro_rules! store {
    ($answer:path) => {
        Handler::Store(|call| Box::pin($answer(call)))
    };
}

/// The handler of an operation.
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
        O::Stats => store!(tools::stats),
        O::Status => Handler::Daemon(|context, _| Box::pin(async { Ok(operator::status(context)) })),
        O::Stop => Handler::Daemon(|context, _| Box::pin(async { Ok(operator::stop(context)) })),
        O::Clients => Handler::Home(|context, _| Box::pin(async { Ok(tui_ops::clients(context)) })),
        O::Live => Handler::Home(|context, arguments| Box::pin(tui_ops::calls(context, arguments))),
        O::Resolve => store!(operator::resolve),
        O::List => store!(operator::list),
        O::Browse => store!(tui_ops::browse),
        O::Restore => store!(operator::restore),
        O::Pin => store!(operator::pin),
        O::Unpin => store!(operator::unpin),
        O::Archive => store!(cycle::archive),
        O::Unarchive => store!(cycle::unarchive),
        O::CyclePlan => store!(cycle::plan),
        O::CycleApply => store!(cycle::apply),
        O::CycleUndo => store!(cycle::undo),
        O::CycleLog => store!(cycle::log),
        O::Tombstones => store!(tombstone_ops::list),
        O::ForgetTombstones => store!(tombstone_ops::forget),
        O::Sessions => store!(operator::sessions),
        O::Story => store!(tui_ops::session_contents),
        O::Prompts => store!(operator::prompts),
        O::Projects => store!(operator::projects),
        O::Types => store!(operator::types),
        O::Spelling => store!(operator::spelling),
        O::MergeProjects => store!(operator::merge_projects),
        O::Events => store!(operator::events),
        O::Activity => store!(tui_ops::activity),
        O::Graph => store!(operator::graph),
        O::Pairs => store!(tui_ops::pairs),
        O::Settle => store!(tui_ops::settle),
        O::Entity => store!(operator::entity),
        O::Health => store!(health::health),
        O::Export => store!(operator::export),
        O::Import => store!(operator::import),
        O::Known => store!(maintenance::known),
        O::Note => store!(maintenance::note),
        O::Relations => store!(maintenance::relations),
        O::Backup => store!(maintenance::backup),
        O::BackupProgress => store!(maintenance::backup_progress),
        O::Compact => store!(maintenance::compact),
        O::Examine => store!(maintenance::examine),
        O::HistoryImport => store!(history_ops::import),
        O::HistoryPreview => store!(history_ops::preview),
        O::HistoryStatus => store!(history_ops::status),
        O::HistorySession => store!(history_ops::session),
        O::HistoryFacts => store!(history_ops::facts),
        O::HistoryForget => store!(history_ops::forget),
        O::DistilStatus => store!(distil_ops::status),
        O::DistilPlan => store!(distil_ops::plan),
        O::DistilRun => store!(distil_ops::run),
        O::DistilReview => store!(distil_ops::review),
        O::DistilShow => store!(distil_ops::show),
        O::DistilAccept => store!(distil_ops::accept),
        O::DistilReject => store!(distil_ops::reject),
        O::DistilArrangePlan => store!(handbook_ops::plan),
        O::DistilArrange => store!(handbook_ops::arrange),
        O::DistilUndo => store!(handbook_ops::undo),
        O::DistilHandbook => store!(handbook_ops::show),
        O::DistilRender => store!(handbook_ops::render),
        O::DistilSkills => store!(handbook_ops::skills),
        O::Ingest => store!(document_ops::ingest),
        O::Documents => store!(document_ops::list),
        O::DocumentShow => store!(document_ops::show),
        O::DocumentRemove => store!(document_ops::remove),
        O::DocumentForget => store!(document_ops::forget),
        O::Worker => store!(worker::status),
        O::WorkerPause => store!(worker::pause),
        O::WorkerResume => store!(worker::resume),
        O::Jobs => store!(worker::jobs),
        O::JobsRetry => store!(worker::retry_jobs),
        O::Reindex => store!(worker::reindex),
        O::WorkBegin => store!(work_tools::begin),
        O::WorkNote => store!(work_tools::note),
        O::WorkLook => store!(work_tools::list),
        O::WorkTake => store!(work_tools::resume),
        O::DocIngest => store!(document_tools::ingest),
        O::DocList => store!(document_tools::list),
        O::DocRemove => store!(document_tools::remove),
        O::Feedback => store!(feedback::say),
        O::WorkList => store!(work::list),
        O::WorkShow => store!(work::show),
        O::WorkTail => store!(work::tail),
        O::WorkResume => store!(work::resume),
        O::WorkClose => store!(work::close),
        O::WorkFork => store!(work::fork),
        O::WorkExport => store!(work::export),
        O::WorkPrune => store!(work::prune),
        O::WorkVerify => store!(work::verify),
        O::WorkHead => store!(work::head),
        O::WorkProve => store!(work::prove),
        O::WorkClaim => store!(work::claim),
        O::WorkRelease => store!(work::release),
        O::WorkArtifact => store!(work::artifact),
        O::WorkUnsettled => store!(work::unsettled),
        O::WhatIf => store!(studio::what_if),
        O::Sql => store!(studio::sql),
        O::StudioOpen => store!(studio::open),
        O::StudioClose => store!(studio::close),
        O::StudioStatus => store!(studio::status),
        O::HttpOpen => store!(http::open_for),
        O::HttpClose => store!(http::close_for),
        O::HttpStatus => store!(http::status_for),
        O::WebOpen => store!(web::open),
        O::WebClose => store!(web::close_for),
        // A command keeps each of these listeners open through its connection.
        O::WebStatus => store!(http::status_for),
        O::HookContext => store!(agent_hooks::context),
        O::HookPrompt => store!(agent_hooks::prompt),
        O::HookMessage => store!(agent_hooks::message),
        O::HookCompaction => store!(agent_hooks::compaction),
        O::HookEnd => store!(agent_hooks::end),
        O::HookStep => store!(agent_hooks::step),
        O::HookHint => store!(agent_hooks::hint),
        O::HookTranscript => store!(agent_hooks::transcript),
    }
}
