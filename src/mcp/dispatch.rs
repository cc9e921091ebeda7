//! Which function answers which operation: one line each, and what that function needs.

use std::pin::Pin;

use super::{
    agent_hooks,
    arguments::Arguments,
    http, keep, observation, operator,
    server::Server,
    studio,
    tools::{self, Answer, Call},
    view, worker,
};
use cerebro_core::operation::Operation;

type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;
/// Answers from what the daemon knows without its store.
type OfDaemon = for<'a> fn(&'a Server, &'a mut Arguments) -> Answering<'a>;
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
        O::Status => Handler::Daemon(|server, _| Box::pin(async { Ok(operator::status(server)) })),
        O::Stop => Handler::Daemon(|server, _| Box::pin(async { Ok(operator::stop(server)) })),
        O::Clients => Handler::Home(|server, _| Box::pin(async { Ok(view::clients(server)) })),
        O::Live => Handler::Home(|server, arguments| Box::pin(view::calls(server, arguments))),
        O::Resolve => store!(operator::resolve),
        O::List => store!(operator::list),
        O::Browse => store!(view::browse),
        O::Restore => store!(operator::restore),
        O::Pin => store!(operator::pin),
        O::Unpin => store!(operator::unpin),
        O::Sessions => store!(operator::sessions),
        O::Story => store!(view::story),
        O::Prompts => store!(operator::prompts),
        O::Projects => store!(operator::projects),
        O::MergeProjects => store!(operator::merge_projects),
        O::Events => store!(operator::events),
        O::Activity => store!(view::activity),
        O::Graph => store!(operator::graph),
        O::Export => store!(operator::export),
        O::Import => store!(operator::import),
        O::Known => store!(keep::known),
        O::Note => store!(keep::note),
        O::Relations => store!(keep::relations),
        O::Backup => store!(keep::backup),
        O::BackupProgress => store!(keep::backup_progress),
        O::Compact => store!(keep::compact),
        O::Examine => store!(keep::examine),
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
