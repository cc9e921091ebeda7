//! Authentication and throttling: the bearer token, and the rate of answered requests. Host and origin are checked
//! before, in [`cerebro_net`].

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{HEALTH, rate::Rate, token::Token};
use cerebro_core::sync::lock;

/// Requests without the token that are answered with a reason, per second. Further ones get no reason.
const UNAUTHENTICATED_PER_SECOND: u32 = 10;
/// Health checks that are answered, per second. They need no token.
const HEALTH_PER_SECOND: u32 = 10;
/// How long a request may take until its answer begins, including the wait for the store.
const REQUEST_MAX: Duration = Duration::from_secs(120);

/// Decides which requests to one listener are answered.
pub(super) struct Authenticator {
    /// `None` if no token is required.
    token: Option<Token>,
    authenticated: Rate,
    unauthenticated: Rate,
    health: Rate,
    /// The number of answers with each status.
    answers: Mutex<BTreeMap<u16, u64>>,
}

impl Authenticator {
    pub(super) fn new(token: Option<Token>, per_second: u32) -> Arc<Self> {
        Arc::new(Self {
            token,
            authenticated: Rate::new(per_second),
            unauthenticated: Rate::new(UNAUTHENTICATED_PER_SECOND),
            health: Rate::new(HEALTH_PER_SECOND),
            answers: Mutex::default(),
        })
    }

    fn is_authenticated(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        headers.get(header::AUTHORIZATION).is_some_and(|value| token.is_in(value.as_bytes()))
    }

    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let is_authenticated = self.is_authenticated(headers);
        let rate = if is_authenticated { &self.authenticated } else { &self.unauthenticated };
        if !rate.admits() {
            return Some(too_many());
        }
        let ask = [(header::WWW_AUTHENTICATE, "Bearer")];
        (!is_authenticated).then(|| {
            (StatusCode::UNAUTHORIZED, ask, "a token is needed: `Authorization: Bearer …`").into_response()
        })
    }

    /// The numbers of answers by status, for Prometheus.
    pub(super) fn text(&self) -> String {
        let mut text = String::from("# HELP cerebro_http_requests_total HTTP requests, by status.\n");
        text.push_str("# TYPE cerebro_http_requests_total counter\n");
        for (status, count) in lock(&self.answers).iter() {
            let _ = writeln!(text, "cerebro_http_requests_total{{status=\"{status}\"}} {count}");
        }
        text
    }
}

fn too_many() -> Response {
    let wait = [(header::RETRY_AFTER, "1")];
    (StatusCode::TOO_MANY_REQUESTS, wait, "too many requests; wait a second").into_response()
}

/// Counts the answers, including refusals of host and origin.
pub(super) async fn count(State(auth): State<Arc<Authenticator>>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let mut answers = lock(&auth.answers);
    *answers.entry(response.status().as_u16()).or_default() += 1;
    drop(answers);
    response
}

/// Passes a request on, or answers why it is refused.
pub(super) async fn authenticate(
    State(auth): State<Arc<Authenticator>>,
    mut request: Request,
    next: Next,
) -> Response {
    if request.uri().path() == HEALTH {
        return if auth.health.admits() { next.run(request).await } else { too_many() };
    }
    if let Some(refusal) = auth.refusal(request.headers()) {
        return refusal;
    }
    // No handler needs the header, and none should be able to leak it.
    request.headers_mut().remove(header::AUTHORIZATION);
    match tokio::time::timeout(REQUEST_MAX, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::REQUEST_TIMEOUT, "no answer within two minutes").into_response(),
    }
}
