//! The protocol: answers each message of a connection.

use std::time::Instant;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        ArgumentInfo, CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult,
        CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, PromptMessage, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, ResourceContents, Role, ServerCapabilities, ServerConfig,
        SubscriptionFilter, Tool,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Map;
use tokio::io::{AsyncRead, AsyncWrite};
use tracing::Instrument as _;

use super::prelude::*;
use super::{
    arguments::{Arguments, Names},
    connection::Connection,
    context::{Context, Counted},
    definition::{self, INSTRUCTIONS, TOOLS},
    dispatch::{self, Handler},
    library::{self, Address, Completion, PROMPTS, Question, TEMPLATES, Task},
    live::{self, Seen},
    wire::Wire,
};
use crate::{answer::Unreadable, daemon::hello::Hello, home::user_home, project_dir};
use cerebro_core::code::Code;
use cerebro_core::domain::{PERSON, Project, ScopeName, SessionId, limits::ECHO_CHARS_MAX};
use cerebro_core::operation::{Attention, Audience, Operation};
use cerebro_core::redact::{self, RedactedText};
use cerebro_service::{Caller, agent_name};

/// How long a client may cache a list that never changes while the program runs.
const LISTS_TTL_MS: u64 = 3_600_000;

/// Serves one connection until it closes.
pub async fn serve<S>(context: Context, hello: Hello, stream: S)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let project = project_of(&hello).await;
    let (reader, writer) = tokio::io::split(stream);
    let wire = Wire::new(reader, writer, hello.wants_receipts);
    let connection = Connection::new(context, hello, project);
    tokio::spawn(record_agent(connection.clone()));
    match Server(connection.clone()).serve(wire).await {
        Ok(running) => {
            if let Err(error) = running.waiting().await {
                tracing::debug!(%error, "a connection ended abnormally");
            }
        }
        Err(error) => tracing::debug!(%error, "a connection ended before its handshake"),
    }
    connection.leave();
}

/// Records, as soon as the store is open, that an agent is in its session. So an agent that calls no tool is recorded,
/// too, and so is its end.
async fn record_agent(connection: Connection) {
    let Some(session) = connection.own_session() else { return };
    if let Ok(service) = connection.context().service().await {
        connection.uses(&service, &session);
    }
}

/// The project of a client: the one that its user named, or that of its folder.
async fn project_of(hello: &Hello) -> Project {
    let named = [&hello.project, &hello.folder_project].into_iter().flatten();
    if let Some(project) =
        named.map(|name| redact::redact_secrets(name)).find_map(|name| Project::parse(&name))
    {
        return project;
    }
    // A client of an earlier version does not determine its project itself.
    match hello.folder() {
        Some(dir) => project_dir::look_or_guess(dir.clone(), user_home(), project_dir::LOOK_MAX).await,
        None => Project::general(),
    }
}

/// Speaks the protocol on one connection.
#[derive(Clone)]
struct Server(Connection);

impl Server {
    /// The tools that this client gets.
    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        let groups = self.0.context().groups().iter();
        TOOLS.iter().chain(groups.flat_map(|group| definition::of_group(*group)))
    }

    /// Whether the client may call an operation.
    fn offers(&self, operation: Operation) -> bool {
        match operation.audience() {
            Audience::Agent => true,
            Audience::Group(group) => self.0.context().groups().contains(&group),
            Audience::Person | Audience::Hook => self.0.is_person(),
        }
    }

    /// The entry of a call in the stream of calls; `None` for a client that only watches.
    fn seen(
        &self,
        operation: Operation,
        agent: &str,
        session: &SessionId,
        arguments: &Arguments,
    ) -> Option<Seen> {
        let is_shown = !matches!(operation.attention(), Attention::Watching | Attention::Held);
        self.0.client().filter(|_| is_shown)?;
        let named = arguments.named_project();
        Some(Seen {
            tool: operation.name().to_owned(),
            agent: agent.to_owned(),
            project: named.as_ref().unwrap_or(self.0.project()).as_str().to_owned(),
            session: session.as_str().to_owned(),
            preview: live::preview(arguments.all(), operation.is_tool()),
        })
    }

    async fn answer(
        self,
        operation: Operation,
        mut arguments: Arguments,
        session: SessionId,
        agent: RedactedText,
    ) -> CallToolResult {
        let context = self.0.context().clone();
        let handler = dispatch::handler(operation);
        if let Handler::Daemon(answer) = handler {
            return plain(answer(&context, &mut arguments).await);
        }
        if let Err(gone) = context.control().check_home() {
            return self.failed(Fault::new(Code::HomeGone, gone.to_string()), &[]);
        }
        let answer = match handler {
            Handler::Daemon(answer) | Handler::Home(answer) => {
                return plain(answer(&context, &mut arguments).await);
            }
            Handler::Store(answer) => answer,
        };
        let service = match context.service().await {
            Ok(service) => service,
            Err(fault) => return self.failed(fault, &[]),
        };
        self.0.uses(&service, &session);
        // The worker pauses for clients that work, not for those that watch.
        let _busy = (operation.attention() == Attention::Full).then(|| service.busy());
        let (project, person) = (self.0.project().clone(), self.0.is_person());
        let caller = Caller { project, agent, person, session };
        let mut call = Call { service, caller, arguments, connection: self.0.clone(), context, redacted: 0 };
        let answer = answer(&mut call).await;
        // A write to a home that is gone must not be acknowledged.
        if let Err(gone) = call.context.control().check_home() {
            return self.failed(Fault::new(Code::HomeGone, gone.to_string()), &[]);
        }
        match answer {
            Ok(reply) => {
                let reply = reply
                    .redacted(call.redacted + call.arguments.redacted())
                    .ignored(&call.arguments.ignored());
                if self.0.is_person() { reply.finish() } else { reply.framed().finish() }
            }
            Err(fault) => {
                // One of them may be a misspelling.
                let unknown = call.arguments.unknown(|argument| definition::is_known(operation, argument));
                self.failed(fault, &unknown)
            }
        }
    }

    fn failed(&self, fault: Fault, ignored: &[String]) -> CallToolResult {
        if self.0.is_person() { fault.for_person(ignored) } else { fault.for_agent(ignored) }
    }
}

/// The answer of an operation, for a prompt or a resource.
struct OperationAnswer {
    text: String,
    facts: Value,
}

/// Why an operation gave no answer.
struct CallFailure {
    words: String,
    /// Whether the reason is that the given id does not exist.
    is_of_the_id: bool,
}

impl CallFailure {
    fn internal(self) -> ErrorData {
        ErrorData::internal_error(self.words, None)
    }
}

impl Server {
    /// Runs the call of a prompt or resource like a tool, with the same redaction. The answer is made inert for agents.
    async fn ask(
        &self,
        question: Question,
        context: &RequestContext<RoleServer>,
    ) -> Result<OperationAnswer, CallFailure> {
        let result = self.execute(question.operation, question.arguments, context).await;
        let text = result.content.first().and_then(|block| block.as_text()).map(|text| text.text.clone());
        let text = text.unwrap_or_default();
        let facts = result.structured_content.unwrap_or_default();
        if result.is_error != Some(true) {
            return Ok(OperationAnswer { text, facts });
        }
        let code = facts["code"].as_str().and_then(Code::parse);
        let of_the_id = [
            Code::BadMemoryId,
            Code::NoMemory,
            Code::MemoryDeleted,
            Code::MemoryPurged,
            Code::NoSession,
            Code::InvalidArgument,
        ];
        Err(CallFailure { words: text, is_of_the_id: code.is_some_and(|code| of_the_id.contains(&code)) })
    }
}

/// The daemon's own answer is not what its struct says: a defect of this program.
fn unreadable(error: Unreadable) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Refuses a cursor: each list is one page, so none was given out.
fn check_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor).filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => {
            let problem = format!("unknown cursor `{}`; list again without it", echo(&cursor));
            Err(ErrorData::invalid_params(problem, None))
        }
        None => Ok(()),
    }
}

/// A name from the client for a message: redacted and short.
fn echo(name: &str) -> String {
    text::cut_chars(&redact::redact(name).text, ECHO_CHARS_MAX).into_owned()
}

/// The project in whose session a call is, if it names one. What is personal belongs to no project, whichever is named.
fn project_of_session(arguments: &Arguments) -> Option<Project> {
    let scope = arguments.all().get("scope").and_then(Value::as_str).map(ScopeName::parse);
    arguments.named_project().filter(|_| scope != Some(Ok(ScopeName::Personal)))
}

/// The result of a call that quotes nothing, for a person.
fn plain(answer: Answer) -> CallToolResult {
    answer.map_or_else(|fault| fault.for_person(&[]), Reply::finish)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources();
        let capabilities = capabilities.enable_completions();
        let capabilities = if self.0.gets_notifications() {
            capabilities.enable_resources_list_changed().build()
        } else {
            capabilities.build()
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cerebro", env!("CARGO_PKG_VERSION")).with_title("Cerebro"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_cursor(request)?;
        Ok(ListToolsResult::with_all_items(self.tools().cloned().collect())
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        check_cursor(request)?;
        Ok(ListPromptsResult::with_all_items(PROMPTS.clone())
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(task) = Task::parse(&request.name) else {
            return Err(ErrorData::invalid_params(format!("unknown prompt `{}`", echo(&request.name)), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let given = task.given(&arguments);
        let notes = match task.question(given) {
            Some(question) => Some(self.ask(question, &context).await.map_err(CallFailure::internal)?.text),
            None => None,
        };
        let message = PromptMessage::new_text(Role::User, task.text(given, notes.as_deref()));
        Ok(GetPromptResult::new(vec![message]).with_description(task.description()).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_cursor(request)?;
        // Lists do not wait for the store: while it opens the list has no memories, and the client is notified of the
        // change later.
        let listed = match self.0.context().opened() {
            Some(_) => self.ask(library::listing(), &context).await.ok(),
            None => None,
        };
        let resources = match listed {
            Some(answer) => library::resources(&answer.facts).map_err(unreadable)?,
            None => library::with_context(&[]),
        };
        Ok(ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_cursor(request)?;
        Ok(ListResourceTemplatesResult::with_all_items(TEMPLATES.clone())
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let missing =
            |words: String| ErrorData::resource_not_found(words, Some(json!({ "uri": echo(&uri) })));
        let nothing = || missing(format!("there is no resource `{}`", echo(&uri)));
        let address = Address::parse(&uri).ok_or_else(nothing)?;
        let answer = self.ask(address.question(), &context).await;
        let answer = answer
            .map_err(|error| if error.is_of_the_id { missing(error.words) } else { error.internal() })?;
        let text = address.content(answer.text, &answer.facts).map_err(unreadable)?.ok_or_else(nothing)?;
        let contents = ResourceContents::text(text, uri.as_str()).with_mime_type("text/markdown");
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private)
            .into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let ArgumentInfo { name, value, .. } = &request.argument;
        let Some(completion) = Completion::of(&request.r#ref, name, value) else {
            return Ok(CompleteResult::default());
        };
        let values = match self.ask(completion.question(), &context).await {
            Ok(answer) => completion.values(&answer.facts).map_err(unreadable)?,
            Err(_) => Vec::new(),
        };
        let is_cut = completion.is_cut(values.len());
        let values = CompletionInfo::with_pagination(values, None, is_cut);
        Ok(values.map(CompleteResult::new).unwrap_or_default())
    }

    /// Only changes of the list of resources are supported.
    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.gets_notifications().then(|| SubscriptionFilter::builder().resources_list_changed().build())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        if subscription.accepted().resources_list_changed != Some(true) {
            subscription.cancelled().await;
            return Ok(());
        }
        let mut news = self.0.context().news();
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = news.next() => {
                    if subscription.sink().notify_resource_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// A client of the older protocol needs no subscription for notifications, only the end of the handshake.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.0.is_remote() || self.0.is_person() {
            return;
        }
        let (mut news, gone, peer) = (self.0.context().news(), self.0.gone(), context.peer);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = gone.cancelled() => return,
                    () = news.next() => {
                        if peer.notify_resource_list_changed().await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known = Operation::named(&request.name).filter(|known| self.offers(*known));
        let Some(operation) = known else {
            return Err(ErrorData::invalid_params(format!("unknown tool `{}`", echo(&request.name)), None));
        };
        let given = request.arguments.unwrap_or_default();
        Ok(self.execute(operation, given, &context).await.into())
    }
}

impl Server {
    /// Runs an operation for a request in a task of its own, and adds it to the stream of calls.
    async fn execute(
        &self,
        operation: Operation,
        given: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let agent = if self.0.is_person() {
            agent_name(PERSON)
        } else {
            context.client_info().map(|client| agent_name(&client.name)).unwrap_or_default()
        };
        let tool = tracing::debug_span!("tool", name = %operation);
        let names = match operation.audience() {
            Audience::Person => Names::OfPerson,
            Audience::Agent | Audience::Group(_) | Audience::Hook => Names::OfAgent,
        };
        let arguments = Arguments::new(given, names);
        let session = self.0.session(&context.meta, project_of_session(&arguments).as_ref());
        // A client that only watches must not keep an idle daemon running.
        let is_work = operation.attention() != Attention::Watching;
        let counted = is_work.then(|| Counted::new(self.0.context()));
        let begun = Instant::now();
        let seen = self.seen(operation, &agent, &session, &arguments);
        // In a task of its own, so that a client that disconnects cannot interrupt a write, and a panic becomes an
        // error instead of the end of the connection.
        let answer =
            tokio::spawn(self.clone().answer(operation, arguments, session, agent).instrument(tool)).await;
        let result = answer.unwrap_or_else(|_| {
            let incident = SessionId::random();
            tracing::error!(%incident, tool = %operation, "a call failed unexpectedly");
            let fault = Fault::new(Code::Internal, format!("an internal error (incident {incident})"));
            self.failed(fault, &[])
        });
        drop(counted);
        if let (Some(client), Some(seen)) = (self.0.client(), seen) {
            self.0.context().live().note(client, seen, self.0.context().now(), begun.elapsed(), &result);
        }
        self.0.context().metrics().note(operation, begun.elapsed(), result.is_error == Some(true));
        if operation.changes_memories() && result.is_error != Some(true) {
            self.0.context().memories_changed();
        }
        tracing::debug!(tool = %operation, ms = begun.elapsed().as_millis(), error = result.is_error, "call");
        result
    }
}
