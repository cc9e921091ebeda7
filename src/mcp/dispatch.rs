//! Which function answers which operation: one line each, and what that function needs.

use std::pin::Pin;

use super::{
    agent_hooks,
    arguments::Arguments,
    call::{Answer, Call},
    context::Context,
    http, maintenance, observation, operator, studio, tools, tui_ops, worker,
};
use cerebro_core::operation::Operation;

type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
/// Answers from what the daemon knows without its store.
type OfDaemon = for<'a> fn(&'a Context, &'a mut Arguments) -> Answering<'a>;
/// Answers with the use cases.
type OfStore = for<'a> fn(&'a mut Call) -> Answering<'a>;

/// How an operation is answered.
#[derive(Clone, Copy)]
pub(super) enum Handler {
    /// Always, even when the home is gone.
    Daemon(OfDaemon),
    /// While the home is there, whether its store is open or not.
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

/// How an operation is answered.
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
        O::Sessions => store!(operator::sessions),
        O::Story => store!(tui_ops::story),
        O::Prompts => store!(operator::prompts),
        O::Projects => store!(operator::projects),
        O::MergeProjects => store!(operator::merge_projects),
        O::Events => store!(operator::events),
        O::Activity => store!(tui_ops::activity),
        O::Graph => store!(operator::graph),
        O::Export => store!(operator::export),
        O::Import => store!(operator::import),
        O::Known => store!(maintenance::known),
        O::Note => store!(maintenance::note),
        O::Relations => store!(maintenance::relations),
        O::Backup => store!(maintenance::backup),
        O::BackupProgress => store!(maintenance::backup_progress),
        O::Compact => store!(maintenance::compact),
        O::Examine => store!(maintenance::examine),
        O::Worker => store!(worker::status),
        O::WorkerPause => store!(worker::pause),
        O::WorkerResume => store!(worker::resume),
        O::Jobs => store!(worker::jobs),
        O::JobsRetry => store!(worker::retry_jobs),
        O::Reindex => store!(worker::reindex),
        O::Sql => store!(studio::sql),
        O::StudioOpen => store!(studio::open),
        O::StudioClose => store!(studio::close),
        O::StudioStatus => store!(studio::status),
        O::HttpOpen => store!(http::open_for),
        O::HttpClose => store!(http::close_for),
        O::HttpStatus => store!(http::status_for),
        O::HookContext => store!(agent_hooks::context),
        O::HookPrompt => store!(agent_hooks::prompt),
        O::HookMessage => store!(agent_hooks::message),
        O::HookCompaction => store!(agent_hooks::compaction),
        O::HookEnd => store!(agent_hooks::end),
    }
}
