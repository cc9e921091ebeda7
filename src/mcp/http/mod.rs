//! MCP over streamable HTTP, for agents that cannot start a program: other machines, containers, the web.
//!
//! There is one listener at a time. A person's command opens it, and it closes with that command. If the daemon was
//! started with it, it closes with the daemon. Each request passes these checks in order: host and origin
//! ([`Guard`]), the token and the rate ([`auth`]), size and headers ([`endpoint`]). Then it is served like any agent's
//! ([`sessions`]).
//! There is no TLS: on networks that are not trusted, put a proxy with TLS in front.

mod auth;
mod endpoint;
mod message;
mod rate;
mod sessions;
mod token;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio_util::sync::CancellationToken;

use self::{auth::Authenticator, sessions::SessionRegistry, token::Token};
use super::prelude::*;
use super::{
    context::{Context, Listening},
    metrics,
};
use crate::answer::listeners;
use cerebro_net::{BoundedListener, Guard};

const MCP: &str = "/mcp";
const HEALTH: &str = "/health";
const METRICS: &str = "/metrics";
const PATHS: [&str; 3] = [MCP, HEALTH, METRICS];

/// The default address.
pub const ADDRESS: &str = "127.0.0.1:8765";
/// The default rate: answered requests per second on average. Bursts may be four times as large.
pub const RATE: u32 = 50;
/// Highest rate that can be set.
pub const RATE_MAX: u32 = 10_000;
/// Most additional hosts, and most additional origins.
const NAMES_MAX: usize = 16;

/// How to listen. It is not printed by `Debug`.
#[derive(Clone, Default)]
pub struct HttpOptions {
    /// `address:port`; port 0 means a free one.
    pub address: String,
    /// The token, instead of the one in the home's file.
    pub token: Option<String>,
    /// Whether no token is required. This is allowed only if no other machine can reach the listener.
    pub no_token: bool,
    /// Host names under which clients reach it, in addition to loopback's names and its own address.
    pub hosts: Vec<String>,
    /// Origins of pages that may call it, in addition to pages from this machine.
    pub origins: Vec<String>,
    /// Requests per second on average; 0 means [`RATE`].
    pub rate: u32,
}

/// Closes the listener that a command opened.
pub(super) async fn close_for(call: &mut Call) -> AnswerTo<of::HttpClose> {
    Ok(listeners::Closed { closed: close(&call.context).await })
}

/// Whether the listener that this connection opened is open.
pub(super) async fn status_for(call: &mut Call) -> AnswerTo<of::HttpStatus> {
    let open = call.connection.listener().is_some_and(|stop| !stop.is_cancelled());
    Ok(listeners::Status { open })
}

/// Opens the listener for as long as the command runs.
pub(super) async fn open_for(call: &mut Call) -> AnswerTo<of::HttpOpen> {
    let arguments = &mut call.arguments;
    let rate = arguments.count("rate")?.unwrap_or_default();
    let options = HttpOptions {
        address: arguments.needed("address")?,
        token: arguments.text("token")?,
        no_token: arguments.flag(&["no_token"])?,
        hosts: arguments.texts("hosts")?.unwrap_or_default(),
        origins: arguments.texts("origins")?.unwrap_or_default(),
        rate: u32::try_from(rate).unwrap_or(u32::MAX),
    };
    let context = call.context.clone();
    let has_file = options.token.is_none() && !options.no_token;
    let (address, stop) = open(&context, options).await?;
    call.connection.hold_listener(stop);
    let at = |path: &str| format!("http://{address}{path}").into();
    Ok(listeners::Http {
        url: at(MCP),
        health: at(HEALTH),
        metrics: at(METRICS),
        token_file: has_file.then(|| Text::of(context.home().token_file().display())),
    })
}

/// Listens until the returned token is cancelled, [`close`] is called or the daemon ends.
pub(crate) async fn open(
    context: &Context,
    options: HttpOptions,
) -> Result<(SocketAddr, CancellationToken), ArgumentError> {
    let mut place = context.http().lock().await;
    match place.take() {
        Some(open) if open.is_open() => {
            let open = place.insert(open).address;
            let problem = format!("the daemon already listens on {open}; `cerebro serve --stop` closes it");
            return Err(ArgumentError::new("address", None, problem));
        }
        // It is closing, and its port may be the requested one.
        Some(closing) => {
            closing.close().await;
        }
        None => {}
    }
    let address = options.address.parse::<SocketAddr>().map_err(|_| {
        let problem = format!("it is not an address with a port, such as {ADDRESS} or [::1]:8765");
        ArgumentError::new("address", Some(&options.address), problem)
    })?;
    let token = token(context, &options, address)?;
    let guard = guard(&options, address)?;
    let rate = if options.rate == 0 { RATE } else { options.rate.min(RATE_MAX) };
    let auth = Authenticator::new(token, rate);

    let refused = |error: std::io::Error| {
        ArgumentError::new("address", Some(&options.address), format!("{error}; choose another"))
    };
    let listener = BoundedListener::bind(address).await.map_err(refused)?;
    let address = listener.address().map_err(refused)?;
    let (stop, end) = (CancellationToken::new(), CancellationToken::new());
    let sessions = SessionRegistry::new(context.clone(), stop.clone(), end.clone());
    let router = router(context, auth, guard, sessions);
    let leaving = context.control().stopping().cancelled_owned();
    let serving = cerebro_net::serve_until(listener, router, stop.clone(), leaving);
    let ended = tokio::spawn(async move {
        serving.await;
        end.cancel();
        tracing::info!("the HTTP listener is closed");
    });
    tracing::info!(%address, "MCP is served over HTTP");
    *place = Some(Listening { address, stop: stop.clone(), ended });
    Ok((address, stop))
}

/// Closes the listener. Returns whether one was open.
pub(crate) async fn close(context: &Context) -> bool {
    match context.http().lock().await.take() {
        Some(open) => open.close().await,
        None => false,
    }
}

/// The address of the open listener.
pub(super) fn address(context: &Context) -> Option<String> {
    let place = context.http().try_lock().ok()?;
    place.as_ref().filter(|open| !open.stop.is_cancelled()).map(|open| open.address.to_string())
}

fn token(
    context: &Context,
    options: &HttpOptions,
    address: SocketAddr,
) -> Result<Option<Token>, ArgumentError> {
    if options.no_token {
        if !address.ip().is_loopback() {
            let problem = "other machines could reach it; without a token it listens on loopback only";
            return Err(ArgumentError::new("no_token", Some(&options.address), problem));
        }
        return Ok(None);
    }
    let token = match &options.token {
        Some(token) => Token::new(token),
        None => Token::of_file(&context.home().token_file()),
    };
    token.map(Some).map_err(|error| ArgumentError::new("token", None, error.to_string()))
}

fn guard(options: &HttpOptions, address: SocketAddr) -> Result<Guard, ArgumentError> {
    for (name, given) in [("hosts", &options.hosts), ("origins", &options.origins)] {
        if given.len() > NAMES_MAX {
            let problem = format!("{} are given, at most {NAMES_MAX} can be", given.len());
            return Err(ArgumentError::new(name, None, problem));
        }
    }
    let own = match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    };
    let hosts = options.hosts.iter().cloned().chain([own]);
    Guard::new(&PATHS)
        .answering_to(hosts)
        .letting_in(options.origins.iter().cloned())
        .map_err(|odd| ArgumentError::new("origins", None, odd.to_string()))
}

/// The state of the health check and the metrics.
#[derive(Clone)]
struct Pages {
    context: Context,
    auth: Arc<Authenticator>,
}

fn router(
    context: &Context,
    auth: Arc<Authenticator>,
    guard: Guard,
    sessions: Arc<SessionRegistry>,
) -> Router {
    let pages = Pages { context: context.clone(), auth: Arc::clone(&auth) };
    let mcp = Router::new().route(MCP, post(endpoint::post).delete(endpoint::delete)).with_state(sessions);
    Router::new()
        .route(HEALTH, get(health))
        .route(METRICS, get(numbers))
        .with_state(pages)
        .merge(mcp)
        .layer(middleware::from_fn_with_state(Arc::clone(&auth), auth::authenticate))
        .layer(middleware::from_fn_with_state(guard, cerebro_net::guard))
        .layer(middleware::from_fn_with_state(auth, auth::count))
}

/// Says whether the store is open, for supervisors that restart unhealthy services, and nothing else.
async fn health(State(pages): State<Pages>) -> (StatusCode, &'static str) {
    match pages.context.opened() {
        Some(_) => (StatusCode::OK, "ok\n"),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the store is not open\n"),
    }
}

async fn numbers(State(pages): State<Pages>) -> Response {
    let context = &pages.context;
    let (uptime, clients) = (context.control().uptime().as_secs(), context.live().clients().len() as u64);
    let mut gauges = vec![
        ("cerebro_uptime_seconds", "Since the daemon started.", uptime),
        ("cerebro_clients", "Agents and commands that are connected.", clients),
    ];
    if let Some(service) = context.opened() {
        let memories = service.recall.memories_indexed();
        gauges.push(("cerebro_memories", "Memories that a search can find.", memories));
        if let Ok((jobs, _)) = service.worker.job_counts().await {
            gauges.push(("cerebro_queue_depth", "Jobs that wait for the worker.", jobs.depth() as u64));
            gauges.push(("cerebro_dead_jobs", "Jobs that were given up.", jobs.dead as u64));
        }
    }
    let mut text = String::new();
    for (name, help, value) in gauges {
        metrics::gauge(&mut text, name, help, value);
    }
    text.push_str(&context.metrics().text());
    text.push_str(&pages.auth.text());
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response()
}
