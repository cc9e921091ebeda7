//! `cerebro web`: a local web page over the live memory, for people who do not work in terminals.
//!
//! It is a client of the daemon. It uses the operations of the commands and screens and their models ([`crate::view`]),
//! and renders HTML from templates (`templates/`) that are checked at compile time. `html` computes what is shown and
//! does no I/O. `pages` has one file per page. `access` decides who is admitted. Pages work without scripts; the only
//! script adds convenience.

mod access;
mod backend;
mod background;
mod failure;
mod heavy;
mod html;
mod pages;
mod shell;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts},
    http::{header, request::Parts},
    middleware,
    routing::{get, post},
};
use jiff::tz::TimeZone;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::{
    access::Access,
    backend::Backend,
    background::Background,
    html::locale::{Language, Locale},
};
use crate::daemon::client::Client;
use cerebro_net::{BoundedListener, Guard};

/// How long an answer of the daemon may take.
pub const CALL_MAX: Duration = Duration::from_secs(120);
/// Longest body of a form, in bytes: a memory's text with each byte percent-encoded, and the other fields.
const FORM_BYTES_MAX: usize = 1024 * 1024;

/// An open page.
pub struct Opened {
    pub address: SocketAddr,
    /// Admits browsers.
    pub entrance: Entrance,
    /// Closes it.
    pub stop: CancellationToken,
    /// Completes when it is closed.
    pub ended: JoinHandle<()>,
}

/// Admits browsers to an open page.
pub struct Entrance {
    address: SocketAddr,
    access: Arc<Access>,
}

impl Entrance {
    /// A link that admits one browser, once. It replaces an earlier link that was not used.
    pub fn link(&self) -> String {
        format!("http://{}/?key={}", self.address, self.access.new_key())
    }
}

/// The state that the pages share.
pub(crate) struct Inside {
    backend: Backend,
    access: Arc<Access>,
    /// The making of a consolidation plan.
    planning: Background,
    zone: TimeZone,
    stop: CancellationToken,
}

/// A handle to the shared state.
pub(crate) type Shared = Arc<Inside>;

/// Opens the page on loopback, until it is stopped or `leaving` completes. Port 0 means a free port.
pub async fn open(
    client: Client,
    port: u16,
    leaving: impl Future<Output = ()> + Send + 'static,
) -> io::Result<Opened> {
    let listener = BoundedListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    let address = listener.address()?;
    let stop = CancellationToken::new();
    let access = Arc::new(Access::new(address.port()));
    let entrance = Entrance { address, access: Arc::clone(&access) };
    let shared = Arc::new(Inside {
        backend: Backend::new(client),
        access,
        planning: Background::new(),
        zone: TimeZone::system(),
        stop: stop.clone(),
    });
    // So that the first page has its figures.
    shared.backend.count_first().await;
    let router = router(shared, Guard::of_pages(address.port()));
    let serving = cerebro_net::serve_until(listener, router, stop.clone(), leaving);
    let ended = tokio::spawn(async move {
        serving.await;
        tracing::info!("the page is closed");
    });
    tracing::info!(%address, "the page is open");
    Ok(Opened { address, entrance, stop, ended })
}

fn router(shared: Shared, guard: Guard) -> Router {
    let pages = Router::new()
        .route("/", get(pages::overview::show))
        .route("/health", get(pages::health::show).post(pages::health::examine))
        .route("/worker", post(pages::health::worker))
        .route("/memories", get(pages::memories::show))
        .route("/memories/{id}", get(pages::memory::show))
        .route("/memories/{id}/history", get(pages::history::show))
        .route("/memories/{id}/edit", get(pages::edit::show).post(pages::edit::save))
        .route("/memories/{id}/{change}", post(pages::change::change))
        .route("/sessions", get(pages::sessions::list))
        .route("/sessions/{id}", get(pages::sessions::show))
        .route("/history", get(pages::past::list))
        .route("/history/{id}", get(pages::past::session))
        .route("/exchanges/{id}", get(pages::past::exchange))
        .route("/work", get(pages::work::list))
        .route("/work/{id}", get(pages::work::show))
        .route("/graph", get(pages::graph::start))
        .route("/graph/project", get(pages::graph::project))
        .route("/graph/entity", get(pages::graph::entity))
        .route("/graph/{id}", get(pages::graph::show))
        .route("/live", get(pages::live::show))
        .route("/live/stream", get(pages::live::stream))
        .route("/documents", get(pages::documents::list))
        .route("/documents/{id}", get(pages::documents::show))
        .route("/documents/{id}/forget", get(pages::documents::ask).post(pages::documents::forget))
        .route("/pairs", get(pages::pairs::show))
        .route("/pairs/settle", post(pages::pairs::settle))
        .route("/pairs/replace", post(pages::pairs::replace))
        .route("/pairs/merge", get(pages::join::show).post(pages::join::save))
        .route("/inbox", get(pages::inbox::list))
        .route("/inbox/{id}", post(pages::inbox::decide))
        .route("/tidy", get(pages::tidy::list).post(pages::tidy::plan))
        .route("/tidy/{id}", get(pages::tidy::show).post(pages::tidy::carry_out))
        .route("/projects", get(pages::projects::show))
        .route("/projects/merge", get(pages::projects::ask).post(pages::projects::merge))
        .fallback(|| async { failure::Failure::nothing() })
        .method_not_allowed_fallback(|| async { failure::Failure::no_form() })
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), access::admit))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .with_state(shared);
    Router::new()
        .route("/assets/{name}", get(shell::asset))
        .merge(pages)
        .layer(middleware::from_fn_with_state(guard, cerebro_net::guard))
        .layer(middleware::from_fn(access::seal))
}

impl FromRequestParts<Shared> for Locale {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Infallible> {
        let header = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Ok(Self { language: Language::preferred(header.unwrap_or_default()), zone: shared.zone.clone() })
    }
}
