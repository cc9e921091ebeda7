//! The protocol: what each message of a connection is answered with.

use std::{pin::Pin, time::Instant};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tracing::Instrument as _;

use super::{
    arguments::{Arguments, Names},
    call::{Answer, Call},
    connection::Connection,
    context::{Context, Counted},
    definition::{self, INSTRUCTIONS, TOOLS},
    dispatch::{self, Handler},
    fault::Fault,
    live::{self, Seen},
    reply::Reply,
    wire::Wire,
};
use crate::{
    daemon::{Control, hello::Hello},
    home::{Home, user_home},
    project_dir,
};
use cerebro_core::code::Code;
use cerebro_core::domain::{PERSON, Project, SessionId, limits::ECHO_CHARS_MAX};
use cerebro_core::operation::{Attention, Audience, Operation};
use cerebro_core::redact::{self, RedactedText};
use cerebro_core::text;
use cerebro_service::{Caller, agent_name};

/// How long a client may hold on to the tool list, which never changes while the program runs.
const TOOLS_TTL_MS: u64 = 3_600_000;

impl Context {
    /// What the connections of one process share, while its store is being opened. `database` is the server that has
    /// the database, in words and without credentials.
    pub fn opening(home: Home, database: Option<String>, control: Control) -> Self {
        Self::new(home, database, control, serve_pipe)
    }
}

/// Serves one connection until it closes.
pub async fn serve<S>(context: Context, hello: Hello, stream: S)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let project = project_of(&hello).await;
    let (reader, writer) = tokio::io::split(stream);
    let wire = Wire::new(reader, writer, hello.wants_receipts);
    let connection = Connection::new(context, hello, project);
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

fn serve_pipe(
    context: Context,
    hello: Hello,
    pipe: DuplexStream,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(serve(context, hello, pipe))
}

/// The project of a client: the one that its user named, or that of its folder.
async fn project_of(hello: &Hello) -> Project {
    let named = [&hello.project, &hello.folder_project].into_iter().flatten();
    if let Some(project) =
        named.map(|name| redact::redact_secrets(name)).find_map(|name| Project::parse(&name))
    {
        return project;
    }
    // A client of an earlier version leaves the look to the daemon.
    match hello.folder() {
        Some(dir) => project_dir::look_or_guess(dir.clone(), user_home(), project_dir::LOOK_MAX).await,
        None => Project::general(),
    }
}

/// Speaks the protocol on one connection.
#[derive(Clone)]
struct Server(Connection);

impl Server {
    /// What the stream of calls shows of a call; nothing of a client that only looks on.
    fn seen(
        &self,
        operation: Operation,
        agent: &str,
        session: &SessionId,
        arguments: &Arguments,
    ) -> Option<Seen> {
        self.0.client().filter(|_| operation.attention() != Attention::Watching)?;
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
        // The worker gives way to who works, not to who looks on.
        let _busy = (operation.attention() == Attention::Full).then(|| service.busy());
        let caller = Caller { project: self.0.project().clone(), agent, person: self.0.is_person() };
        let mut call =
            Call { service, caller, session, arguments, connection: self.0.clone(), context, redacted: 0 };
        let answer = answer(&mut call).await;
        // What was written to a home that is gone is not acknowledged.
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
                // One of them may be what was meant.
                let strangers =
                    call.arguments.strangers(|argument| definition::is_known(operation, argument));
                self.failed(fault, &strangers)
            }
        }
    }

    fn failed(&self, fault: Fault, ignored: &[String]) -> CallToolResult {
        if self.0.is_person() { fault.for_person(ignored) } else { fault.for_agent(ignored) }
    }
}

/// The result of an answer to a person that quotes nothing.
fn plain(answer: Answer) -> CallToolResult {
    answer.map_or_else(|fault| fault.for_person(&[]), Reply::finish)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("cerebro", env!("CARGO_PKG_VERSION")).with_title("Cerebro"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone())
            .with_ttl_ms(TOOLS_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known = Operation::named(&request.name).filter(|known| known.is_tool() || self.0.is_person());
        let Some(operation) = known else {
            let name = redact::redact(&request.name);
            let name = text::cut_chars(&name.text, ECHO_CHARS_MAX);
            return Err(ErrorData::invalid_params(format!("unknown tool `{name}`"), None));
        };
        let agent = if self.0.is_person() {
            agent_name(PERSON)
        } else {
            context.client_info().map(|client| agent_name(&client.name)).unwrap_or_default()
        };
        let session = self.0.session(&context.meta);
        let given = request.arguments.unwrap_or_default();
        let tool = tracing::debug_span!("tool", name = %operation);
        let names = match operation.audience() {
            Audience::Person => Names::OfPerson,
            Audience::Agent | Audience::Hook => Names::OfAgent,
        };
        let arguments = Arguments::new(given, names);
        // To look on must not keep the daemon from leaving.
        let is_work = operation.attention() != Attention::Watching;
        let counted = is_work.then(|| Counted::new(self.0.context()));
        let begun = Instant::now();
        let seen = self.seen(operation, &agent, &session, &arguments);
        // In a task of its own, so that a client that goes away cannot stop a write half-way, and a panic
        // is an answer instead of the end of the connection.
        let answer =
            tokio::spawn(self.clone().answer(operation, arguments, session, agent).instrument(tool)).await;
        let result = answer.unwrap_or_else(|error| {
            let incident = SessionId::random();
            tracing::error!(%incident, %error, tool = %operation, "a call failed unexpectedly");
            let fault = Fault::new(Code::Internal, format!("an internal error (incident {incident})"));
            self.failed(fault, &[])
        });
        drop(counted);
        if let (Some(client), Some(seen)) = (self.0.client(), seen) {
            self.0.context().live().note(client, seen, begun.elapsed(), &result);
        }
        self.0.context().metrics().note(operation, begun.elapsed(), result.is_error == Some(true));
        tracing::debug!(tool = %operation, ms = begun.elapsed().as_millis(), error = result.is_error, "call");
        Ok(result.into())
    }
}
