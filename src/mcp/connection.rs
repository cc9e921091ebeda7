//! One client's connection: who it is, which session its calls belong to, and what ends with it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::context::{Context, lock};
use crate::daemon::hello::{Hello, Role};
use cerebro_core::domain::{EndReason, Project, SessionId, Timestamp};
use cerebro_core::redact;
use cerebro_service::{Lease, Service, ServiceError};

/// One client's connection. A clone is another handle to the same.
#[derive(Clone)]
pub(super) struct Connection(Arc<State>);

struct State {
    context: Context,
    hello: Hello,
    project: Project,
    /// Its number among the clients of the context; none of a client that only looks on.
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

impl Connection {
    pub(super) fn new(context: Context, hello: Hello, project: Project) -> Self {
        let client = (!hello.watches).then(|| context.live().joined(project.as_str(), hello.pid));
        let bound = hello.bound_session.as_deref().and_then(|id| SessionId::parse(id).ok());
        Self(Arc::new(State {
            context,
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

    /// What it shares with all others.
    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    /// The project of calls that do not name one.
    pub(super) fn project(&self) -> &Project {
        &self.0.project
    }

    /// Its number among the clients; none of a client that only looks on.
    pub(super) fn client(&self) -> Option<u64> {
        self.0.client
    }

    /// Which session a call without a `session_id` belongs to: the client's word with the call, the last
    /// one started here, the client's environment, the pump's own.
    pub(super) fn session(&self, meta: &Map<String, Value>) -> SessionId {
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
            self.0.context.session_back(session);
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

    /// Whether a person's command or screen is at the other end, or a hook.
    pub(super) fn is_person(&self) -> bool {
        self.0.hello.role == Role::Operator
    }

    /// Whether the client may be on another machine, where a folder is another one.
    pub(super) fn is_remote(&self) -> bool {
        self.0.hello.is_remote
    }

    /// Gives back all that the connection held; a second time does no harm.
    pub(super) fn leave(&self) {
        self.0.leave();
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

impl State {
    fn leave(&self) {
        if let Some(client) = self.client {
            self.context.live().left(client);
        }
        if let Some(stop) = lock(&self.listening).take() {
            stop.cancel();
        }
        let Some(service) = self.context.opened() else { return };
        if let Some(lease) = lock(&self.lease).take() {
            let (context, service) = (self.context.clone(), service.clone());
            tokio::spawn(async move { context.close_studio(&service, Some(lease)).await });
        }
        let now = Timestamp::now();
        // Nobody comes back to the session that a person's command was.
        let over = lock(&self.minted).clone().filter(|_| self.hello.role == Role::Operator);
        for session in std::mem::take(&mut *lock(&self.used)) {
            service.disconnected(&session);
            if over.as_ref() == Some(&session) {
                tokio::spawn(end(service.clone(), session));
            } else {
                self.context.session_gone(session, now);
            }
        }
    }
}

impl Drop for State {
    /// Also after a client that left while one of its calls was under way.
    fn drop(&mut self) {
        self.leave();
    }
}
