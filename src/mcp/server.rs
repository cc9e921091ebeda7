//! One server for the process, one handler for each connection.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    agent_hooks,
    arguments::{Arguments, Names},
    definition::{self, INSTRUCTIONS, TOOLS},
    http::{self, HttpOptions},
    live::{self, Live, Seen},
    metrics::Metrics,
    operator, reply, studio,
    tools::{self, Call},
    view,
    wire::Wire,
};
use crate::{
    daemon::{
        Activity, Control, Serve,
        hello::{Hello, Role},
    },
    home::{Home, user_home},
    project_dir,
};
use cerebro_core::domain::{
    EndReason, PERSON, Project, SessionId, Timestamp,
    limits::{DISCONNECT_GRACE, ECHO_CHARS_MAX},
};
use cerebro_core::redact::{self, RedactedText};
use cerebro_core::text;
use cerebro_service::{Caller, Embedding, Lease, Service, ServiceError, Settings, agent_name};
use cerebro_store::Remote;

/// How long a call waits for the store to open.
const OPEN_WAIT: Duration = Duration::from_secs(60);
/// How long a daemon whose store did not open stays to say why.
const FAILED_LINGER: Duration = Duration::from_secs(5);
/// How long a store is waited for that another process has open although the home is ours: that one is about to
/// end. Longer than a daemon of an earlier version takes for that when it has released the home.
const HELD_MAX: Duration = Duration::from_secs(8);
const HELD_PAUSE: Duration = Duration::from_millis(100);
/// How often sessions without a connection are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// How long a client may hold on to the tool list, which never changes while the program runs.
const TOOLS_TTL_MS: u64 = 3_600_000;

/// Where the store stands.
#[derive(Clone)]
enum Stage {
    Opening,
    Ready(Service),
    Failed(String),
    Closed,
}

/// What the daemon serves. A clone is another handle to the same.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    home: Home,
    /// The server that has the database, without credentials; none where it is in the home.
    database: Option<String>,
    control: Control,
    stage: watch::Sender<Stage>,
    calls: AtomicUsize,
    last_call: Mutex<Instant>,
    /// When sessions lost their last connection.
    gone: Mutex<HashMap<SessionId, Timestamp>>,
    live: Live,
    /// Orders the openings and closings of the live endpoint.
    studio: tokio::sync::Mutex<()>,
    http: http::Place,
    /// Whether it listens on HTTP for as long as it runs, and so does not leave as idle.
    stays: AtomicBool,
    metrics: Metrics,
}

impl Server {
    /// Where the database is, if it is on a server.
    pub(super) fn database(&self) -> Option<&str> {
        self.0.database.as_deref()
    }

    /// Begins to open the store and returns at once.
    pub fn open(home: Home, settings: Settings, embedding: Embedding, control: Control) -> Self {
        let server = Self(Arc::new(Shared {
            home,
            database: settings.remote.as_ref().map(Remote::place),
            control,
            stage: watch::channel(Stage::Opening).0,
            calls: AtomicUsize::new(0),
            last_call: Mutex::new(Instant::now()),
            gone: Mutex::default(),
            live: Live::new(),
            studio: tokio::sync::Mutex::default(),
            http: http::Place::default(),
            stays: AtomicBool::new(false),
            metrics: Metrics::default(),
        }));
        studio::forget(&server);
        tokio::spawn(server.clone().bring_up(settings, embedding));
        server
    }

    /// Serves HTTP too, from now until the daemon leaves. Agents on the socket do not suffer if it cannot.
    pub fn serve_http(&self, options: HttpOptions) {
        let server = self.clone();
        tokio::spawn(async move {
            match http::open(&server, options).await {
                Ok(_) => server.0.stays.store(true, Ordering::SeqCst),
                Err(error) => tracing::error!(%error, "HTTP is not served"),
            }
        });
    }

    async fn bring_up(self, settings: Settings, embedding: Embedding) {
        let begun = Instant::now();
        let is_embedded = settings.remote.is_none();
        let stage = match self.open_store(settings, embedding).await {
            Ok(service) => {
                if is_embedded {
                    self.0.control.store_is_open();
                }
                tracing::info!(ms = begun.elapsed().as_millis(), "the store is open");
                Stage::Ready(service)
            }
            Err(error) => {
                tracing::error!(%error, "the store cannot be opened");
                Stage::Failed(error.to_string())
            }
        };
        let failed = matches!(stage, Stage::Failed(_));
        if let Stage::Ready(service) = &stage {
            self.keep_backups(service.clone());
        }
        self.0.stage.send_replace(stage);
        if failed {
            // Those who wait hear why; the next daemon tries again.
            tokio::time::sleep(FAILED_LINGER).await;
            self.0.control.stop();
        }
        self.sweep().await;
    }

    /// Opens the store, with patience for a process that is about to let go of it.
    async fn open_store(&self, settings: Settings, embedding: Embedding) -> Result<Service, ServiceError> {
        let home = &self.0.home;
        let begun = Instant::now();
        let mut is_told = false;
        loop {
            let (settings, embedding) = (settings.clone(), embedding.clone());
            match Service::open(&home.store_dir(), &home.index_dir(), settings, embedding).await {
                Err(error)
                    if error.is_held() && begun.elapsed() < HELD_MAX && !self.0.control.is_stopping() =>
                {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::info!(%error, "waits for the store");
                    }
                    tokio::time::sleep(HELD_PAUSE).await;
                }
                opened => return opened,
            }
        }
    }

    /// Makes backups by the clock, in a task of its own.
    fn keep_backups(&self, service: Service) {
        let server = self.clone();
        tokio::spawn(async move {
            service.keep_backups(server.0.home.root(), server.0.control.stopping()).await;
        });
    }

    /// The use cases, if the store is open now.
    pub(super) fn opened(&self) -> Option<Service> {
        match &*self.0.stage.borrow() {
            Stage::Ready(service) => Some(service.clone()),
            _ => None,
        }
    }

    /// Ends the sessions whose connections are gone for good, until the store closes.
    async fn sweep(&self) {
        let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.0.control.stopping() => return,
            }
            let Stage::Ready(service) = self.0.stage.borrow().clone() else { return };
            let gone = lock(&self.0.gone).clone();
            let began = self.0.control.started_at();
            let since = |id: &SessionId| gone.get(id).copied().unwrap_or(began);
            if let Err(error) = service.end_disconnected(since).await {
                tracing::warn!(%error, "sessions that lost their connection could not be ended");
            }
            // What went before that is as good as gone when the daemon began.
            let long = (DISCONNECT_GRACE * 2).as_secs_f64();
            lock(&self.0.gone).retain(|_, at| Timestamp::now().duration_since(*at).as_secs_f64() < long);
        }
    }

    /// The use cases, as soon as the store is open.
    async fn service(&self) -> Result<Service, String> {
        let mut stage = self.0.stage.subscribe();
        let opened =
            tokio::time::timeout(OPEN_WAIT, stage.wait_for(|stage| !matches!(stage, Stage::Opening)));
        match opened.await {
            Err(_) => Err("the store is still opening (a large index may be under construction); call again in a minute".to_owned()),
            Ok(Err(_)) => Err("the daemon is leaving; call again".to_owned()),
            Ok(Ok(stage)) => match &*stage {
                Stage::Ready(service) => Ok(service.clone()),
                Stage::Failed(reason) => Err(reason.clone()),
                Stage::Opening | Stage::Closed => Err("the daemon is leaving; call again".to_owned()),
            },
        }
    }

    pub(super) fn control(&self) -> &Control {
        &self.0.control
    }

    pub(super) fn live(&self) -> &Live {
        &self.0.live
    }

    pub(super) fn home(&self) -> &Home {
        &self.0.home
    }

    pub(super) fn studio(&self) -> &tokio::sync::Mutex<()> {
        &self.0.studio
    }

    pub(super) fn http(&self) -> &http::Place {
        &self.0.http
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(super) fn stage_name(&self) -> String {
        match &*self.0.stage.borrow() {
            Stage::Opening => "opening".to_owned(),
            Stage::Ready(_) => "ready".to_owned(),
            Stage::Failed(reason) => format!("failed: {reason}"),
            Stage::Closed => "closed".to_owned(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Serve for Server {
    async fn serve<S>(&self, hello: Hello, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let project = project_of(&hello).await;
        let (reader, writer) = tokio::io::split(stream);
        let wire = Wire::new(reader, writer, hello.wants_receipts);
        let connection = Connection::new(self.clone(), hello, project);
        match connection.clone().serve(wire).await {
            Ok(running) => {
                if let Err(error) = running.waiting().await {
                    tracing::debug!(%error, "a connection ended abnormally");
                }
            }
            Err(error) => tracing::debug!(%error, "a connection ended before its handshake"),
        }
        connection.0.leave();
    }

    fn activity(&self) -> Activity {
        Activity {
            last_call: if self.0.stays.load(Ordering::SeqCst) {
                Instant::now()
            } else {
                *lock(&self.0.last_call)
            },
            calls_under_way: self.0.calls.load(Ordering::SeqCst),
            runnable_jobs: self.opened().map_or(0, |service| {
                service.runnable_jobs() + usize::from(service.backup_progress().is_some())
            }),
        }
    }

    async fn close(&self) {
        http::close(self).await;
        // An opening cannot be cut off half-way, and what it opens has to be closed. The caller bounds the wait.
        let mut stage = self.0.stage.subscribe();
        let _ = stage.wait_for(|stage| !matches!(stage, Stage::Opening)).await;
        let stage = self.0.stage.send_replace(Stage::Closed);
        if let Stage::Ready(service) = stage
            && let Err(error) = service.close().await
        {
            tracing::warn!(%error, "the store did not close cleanly");
        }
        studio::forget(self);
    }
}

/// Counts a call as under way while it lives.
struct Counted(Server);

impl Counted {
    fn new(server: &Server) -> Self {
        server.0.calls.fetch_add(1, Ordering::SeqCst);
        *lock(&server.0.last_call) = Instant::now();
        Self(server.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        *lock(&self.0.0.last_call) = Instant::now();
        self.0.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One client's connection.
#[derive(Clone)]
pub(super) struct Connection(Arc<ConnectionState>);

struct ConnectionState {
    server: Server,
    hello: Hello,
    project: Project,
    /// Its number among the clients of [`Live`]; none of a client that only looks on.
    client: Option<u64>,
    /// The last session that was started on this connection.
    bound: Mutex<Option<SessionId>>,
    /// The session of calls that nothing names one for.
    minted: Mutex<Option<SessionId>>,
    /// The sessions that calls of this connection belonged to.
    used: Mutex<BTreeSet<SessionId>>,
    /// The live endpoint that was opened on this connection.
    lease: Mutex<Option<Lease>>,
    /// What ends the HTTP listener that was opened on this connection.
    listening: Mutex<Option<CancellationToken>>,
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

impl Connection {
    fn new(server: Server, hello: Hello, project: Project) -> Self {
        let client = (!hello.watches).then(|| server.0.live.joined(project.as_str(), hello.pid));
        let bound = hello.bound_session.as_deref().and_then(|id| SessionId::parse(id).ok());
        Self(Arc::new(ConnectionState {
            server,
            hello,
            project,
            client,
            bound: Mutex::new(bound),
            minted: Mutex::default(),
            used: Mutex::default(),
            lease: Mutex::default(),
            listening: Mutex::default(),
        }))
    }

    /// Which session a call without a `session_id` belongs to: the client's word with the call, the last
    /// one started here, the client's environment, the pump's own.
    fn session(&self, meta: &serde_json::Map<String, Value>) -> SessionId {
        let told = ["sessionId", "session_id", "threadId"]
            .iter()
            .find_map(|key| meta.get(*key)?.as_str().and_then(clean_session));
        let named = |id: &Option<String>| id.as_deref().and_then(clean_session);
        told.or_else(|| lock(&self.0.bound).clone())
            .or_else(|| named(&self.0.hello.client_session))
            .or_else(|| named(&self.0.hello.minted_session))
            .unwrap_or_else(|| lock(&self.0.minted).get_or_insert_with(SessionId::random).clone())
    }

    /// Makes a session the one that later calls of this connection belong to.
    pub(super) fn bind(&self, session: &SessionId) {
        *lock(&self.0.bound) = Some(session.clone());
    }

    /// Notes that this connection works in a session.
    pub(super) fn uses(&self, service: &Service, session: &SessionId) {
        if lock(&self.0.used).insert(session.clone()) {
            service.connected(session);
            lock(&self.0.server.0.gone).remove(session);
        }
    }

    /// Makes an opening of the live endpoint end with this connection.
    pub(super) fn holds(&self, lease: Lease) {
        *lock(&self.0.lease) = Some(lease);
    }

    /// The opening that ends with this connection.
    pub(super) fn held(&self) -> Option<Lease> {
        *lock(&self.0.lease)
    }

    /// Makes the HTTP listener that this token stops end with this connection.
    pub(super) fn listens(&self, stop: CancellationToken) {
        *lock(&self.0.listening) = Some(stop);
    }

    /// What stops the HTTP listener that ends with this connection.
    pub(super) fn listening(&self) -> Option<CancellationToken> {
        lock(&self.0.listening).clone()
    }

    fn is_person(&self) -> bool {
        self.0.hello.role == Role::Operator
    }

    /// Whether the client may be on another machine, where a folder is another one.
    pub(super) fn is_remote(&self) -> bool {
        self.0.hello.is_remote
    }

    /// What the stream of calls shows of a call; nothing of a client that only looks on.
    fn seen(&self, tool: &str, agent: &str, session: &SessionId, arguments: &Arguments) -> Option<Seen> {
        self.0.client.filter(|_| !view::only_watches(tool))?;
        let named = arguments.named_project();
        Some(Seen {
            tool: tool.to_owned(),
            agent: agent.to_owned(),
            project: named.as_ref().unwrap_or(&self.0.project).as_str().to_owned(),
            session: session.as_str().to_owned(),
            preview: live::preview(arguments.all(), !tool.starts_with(operator::PREFIX)),
        })
    }

    async fn answer(
        self,
        name: String,
        mut arguments: Arguments,
        session: SessionId,
        agent: RedactedText,
    ) -> CallToolResult {
        let server = self.0.server.clone();
        if self.is_person()
            && let Some(result) = operator::control(&server, &name)
        {
            return result;
        }
        if let Err(gone) = server.control().check_home() {
            return reply::failure(&gone.to_string());
        }
        if self.is_person()
            && let Some(result) = view::watch(&server, &name, &mut arguments).await
        {
            return result;
        }
        let service = match server.service().await {
            Ok(service) => service,
            Err(reason) => return reply::failure(&reason),
        };
        self.uses(&service, &session);
        // The worker gives way to who works, not to who looks on.
        let _busy = (!operator::watches(&name)).then(|| service.busy());
        let caller = Caller { project: self.0.project.clone(), agent, person: self.is_person() };
        let mut call =
            Call { service, caller, session, arguments, connection: self.clone(), server, redacted: 0 };
        let answer = if self.is_person() && name.starts_with(operator::PREFIX) {
            operator::answer(&name, &mut call).await
        } else {
            tools::answer(&name, &mut call).await
        };
        // What was written to a home that is gone is not acknowledged.
        if let Err(gone) = call.server.control().check_home() {
            return reply::failure(&gone.to_string());
        }
        match answer {
            Ok(reply) => {
                let reply = reply
                    .redacted(call.redacted + call.arguments.redacted())
                    .ignored(&call.arguments.ignored());
                if self.is_person() { reply.finish() } else { reply.framed().finish() }
            }
            Err(error) => {
                let strangers = call.arguments.strangers(|argument| definition::is_known(&name, argument));
                let message = reply::with_ignored(error.to_string(), &strangers);
                // An error may quote a stored title.
                if self.is_person() {
                    reply::failure(&message)
                } else {
                    reply::failure(&text::inert(&message))
                }
            }
        }
    }
}

/// Ends a session; one of commands that only looked was never begun.
async fn end(service: Service, session: SessionId) {
    match service.end_session(None, &session, EndReason::Ended).await {
        Ok(_) | Err(ServiceError::NoSession(_)) => {}
        Err(error) => tracing::warn!(%error, "the session of a command could not be ended"),
    }
}

/// A session's id that the client or its environment tells: like an argument, without secrets.
fn clean_session(id: &str) -> Option<SessionId> {
    SessionId::parse(&redact::redact_secrets(id)).ok()
}

impl ConnectionState {
    /// Gives back all that the connection held; a second time does no harm.
    fn leave(&self) {
        if let Some(client) = self.client {
            self.server.0.live.left(client);
        }
        if let Some(stop) = lock(&self.listening).take() {
            stop.cancel();
        }
        let Stage::Ready(service) = self.server.0.stage.borrow().clone() else { return };
        if let Some(lease) = lock(&self.lease).take() {
            let (server, service) = (self.server.clone(), service.clone());
            tokio::spawn(async move { studio::close_now(&server, &service, Some(lease)).await });
        }
        let now = Timestamp::now();
        // Nobody comes back to the session that a person's command was.
        let over = lock(&self.minted).clone().filter(|_| self.hello.role == Role::Operator);
        for session in std::mem::take(&mut *lock(&self.used)) {
            service.disconnected(&session);
            if over.as_ref() == Some(&session) {
                tokio::spawn(end(service.clone(), session));
            } else {
                lock(&self.server.0.gone).insert(session, now);
            }
        }
    }
}

impl Drop for ConnectionState {
    /// Also after a client that left while one of its calls was under way.
    fn drop(&mut self) {
        self.leave();
    }
}

impl ServerHandler for Connection {
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
        let known = self.get_tool(&request.name).is_some()
            || (self.is_person() && request.name.starts_with(operator::PREFIX));
        if !known {
            let name = redact::redact(&request.name);
            let name = text::cut_chars(&name.text, ECHO_CHARS_MAX);
            return Err(ErrorData::invalid_params(format!("unknown tool `{name}`"), None));
        }
        let agent = if self.is_person() {
            agent_name(PERSON)
        } else {
            context.client_info().map(|client| agent_name(&client.name)).unwrap_or_default()
        };
        let session = self.session(&context.meta);
        let given = request.arguments.unwrap_or_default();
        let is_operation =
            request.name.starts_with(operator::PREFIX) && !request.name.starts_with(agent_hooks::PREFIX);
        let tool = tracing::debug_span!("tool", name = %request.name);
        let names = if is_operation { Names::OfPerson } else { Names::OfAgent };
        let arguments = Arguments::new(given, names);
        // To look on must not keep the daemon from leaving.
        let counted = (!view::only_watches(&request.name)).then(|| Counted::new(&self.0.server));
        let begun = Instant::now();
        let name = request.name.into_owned();
        let seen = self.seen(&name, &agent, &session, &arguments);
        // In a task of its own, so that a client that goes away cannot stop a write half-way, and a panic
        // is an answer instead of the end of the connection.
        let answer =
            tokio::spawn(self.clone().answer(name.clone(), arguments, session, agent).instrument(tool)).await;
        let result = answer.unwrap_or_else(|error| {
            let incident = SessionId::random();
            tracing::error!(%incident, %error, tool = name, "a call failed unexpectedly");
            reply::failure(&format!("an internal error (incident {incident}; see `cerebro daemon logs`); nothing was acknowledged, call again"))
        });
        drop(counted);
        if let (Some(client), Some(seen)) = (self.0.client, seen) {
            self.0.server.0.live.note(client, seen, begun.elapsed(), &result);
        }
        self.0.server.0.metrics.note(&name, begun.elapsed(), result.is_error == Some(true));
        tracing::debug!(tool = name, ms = begun.elapsed().as_millis(), error = result.is_error, "call");
        Ok(result.into())
    }
}
