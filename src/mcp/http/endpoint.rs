//! The one path of the protocol: POST sends a message, DELETE ends a session. Answers are JSON; an event stream is
//! sent only if there is more than the answer, and GET is not supported.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    message::{Era, Message, Refusal, SESSION_HEADER, answered, status_of},
    sessions::{Pipe, SessionRegistry, Unanswered},
};
use cerebro_core::domain::{
    Project,
    limits::{ECHO_CHARS_MAX, LINE_BYTES_MAX},
};
use cerebro_core::redact;
use cerebro_core::text;

/// Names the project of calls that do not name one themselves.
const PROJECT_HEADER: &str = "x-cerebro-project";
/// How long the body of a message may take to arrive.
const BODY_MAX: Duration = Duration::from_secs(30);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        json(self.status, &self.body)
    }
}

fn json(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Handles a message.
pub(super) async fn post(State(sessions): State<Arc<SessionRegistry>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    match take(&sessions, &parts.headers, body).await {
        Ok(response) | Err(response) => response,
    }
}

async fn take(
    sessions: &Arc<SessionRegistry>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    if !is_json(headers) {
        return Err(
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json").into_response()
        );
    }
    let project = project(headers).map_err(|refusal| *refusal)?;
    let late = |_| (StatusCode::REQUEST_TIMEOUT, "the body took too long").into_response();
    let body = timeout(BODY_MAX, to_bytes(body, LINE_BYTES_MAX)).await.map_err(late)?.map_err(|_| {
        let words = format!("the body is longer than {LINE_BYTES_MAX} bytes, or is incomplete");
        (StatusCode::PAYLOAD_TOO_LARGE, words).into_response()
    })?;
    let message = Message::read(&body).map_err(IntoResponse::into_response)?;
    drop(body);
    match message.era(headers) {
        Era::Stateless => {
            message.check_alone(headers).map_err(IntoResponse::into_response)?;
            Ok(alone(sessions, &message, &project).await)
        }
        Era::Sessions => {
            message.check_version(headers).map_err(IntoResponse::into_response)?;
            in_session(sessions, headers, &message, &project).await
        }
    }
}

/// Answers a stateless message.
async fn alone(sessions: &SessionRegistry, message: &Message, project: &Project) -> Response {
    // A notification refers to another request, which has ended with its connection.
    let Some(id) = message.id().map(Value::to_string) else { return StatusCode::ACCEPTED.into_response() };
    let mut pipe = sessions.open_stateless(message.client(), project);
    if pipe.send(message).await.is_err() {
        return gone();
    }
    match pipe.next().await {
        None => gone(),
        Some(first) if answered(&first).as_ref() == Some(&id) => json(status_of(&first), &first),
        Some(first) => stream(sessions, pipe, id, first),
    }
}

/// Streams events until the answer is sent, the client leaves or the listener closes.
fn stream(sessions: &SessionRegistry, pipe: Pipe, id: String, first: Value) -> Response {
    let end = sessions.closing();
    let events = futures::stream::unfold((pipe, Some(first), false), move |(mut pipe, first, done)| {
        let (end, id) = (end.clone(), id.clone());
        async move {
            if done {
                return None;
            }
            let message = match first {
                Some(first) => first,
                None => tokio::select! {
                    next = pipe.next() => next?,
                    () = end.cancelled() => return None,
                },
            };
            let is_last = answered(&message).is_some_and(|answered| answered == id);
            let event = Event::default().event("message").data(message.to_string());
            Some((Ok::<_, Infallible>(event), (pipe, None, is_last)))
        }
    });
    // The keep-alive detects a client that is gone even when there is nothing to send.
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Answers a message of a session, or begins one.
async fn in_session(
    sessions: &Arc<SessionRegistry>,
    headers: &HeaderMap,
    message: &Message,
    project: &Project,
) -> Result<Response, Response> {
    let named = headers.get(SESSION_HEADER).map(|id| id.to_str().unwrap_or_default());
    let (id, session) = match named {
        Some(id) => (None, sessions.session(id).ok_or_else(unknown)?),
        None if message.is_initialize() && message.id().is_some() => {
            let full =
                (StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open; close some").into_response();
            let (id, session) = sessions.begin(project).ok_or(full)?;
            (Some(id), session)
        }
        None => {
            return Err(message.invalid("begin with initialize, then send Mcp-Session-Id").into_response());
        }
    };
    let answer = session.exchange(message).await.map_err(|reason| match reason {
        Unanswered::SameId => message.invalid("another request with this id is under way").into_response(),
        Unanswered::Full => {
            (StatusCode::TOO_MANY_REQUESTS, "too many requests are under way").into_response()
        }
        Unanswered::Gone => unknown(),
    })?;
    let Some(answer) = answer else { return Ok(StatusCode::ACCEPTED.into_response()) };
    let mut response = json(StatusCode::OK, &answer);
    if let Some(value) = id.as_deref().and_then(|id| id.parse().ok()) {
        response.headers_mut().insert(HeaderName::from_static(SESSION_HEADER), value);
    }
    Ok(response)
}

/// Ends a session.
pub(super) async fn delete(State(sessions): State<Arc<SessionRegistry>>, headers: HeaderMap) -> Response {
    match headers.get(SESSION_HEADER).and_then(|id| id.to_str().ok()) {
        None => (StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing").into_response(),
        Some(id) if sessions.finish(id) => StatusCode::NO_CONTENT.into_response(),
        Some(_) => unknown(),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

fn project(headers: &HeaderMap) -> Result<Project, Box<Response>> {
    let Some(value) = headers.get(PROJECT_HEADER) else { return Ok(Project::general()) };
    // Redacted before it is lowercased, because then a secret would not be recognised.
    let name = redact::redact_secrets(&String::from_utf8_lossy(value.as_bytes()));
    let problem = match Project::parse(&name) {
        Some(project) if !project.is_reserved() => return Ok(project),
        Some(_) => Project::RESERVED_WHY,
        None => "it is not a project name",
    };
    let words = format!("{PROJECT_HEADER} `{}`: {problem}", text::cut_chars(&name, ECHO_CHARS_MAX));
    Err(Box::new((StatusCode::BAD_REQUEST, words).into_response()))
}

fn unknown() -> Response {
    (StatusCode::NOT_FOUND, "there is no such session; begin with initialize").into_response()
}

fn gone() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the daemon is ending; call again").into_response()
}
