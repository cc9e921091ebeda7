//! One client's connection: its identity, the session of its calls, and everything that ends with it.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
};

use jiff::{civil::Date, tz::TimeZone};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::context::{Context, lock};
use crate::{
    checkout::Checkout,
    daemon::{
        VERSION,
        hello::{self, Hello, Role},
    },
};
use cerebro_core::domain::{EndReason, PERSON, Project, SessionId};
use cerebro_core::redact::{self, RedactedText};
use cerebro_core::text;
use cerebro_service::work::{Actor, LOCAL_OWNER};
use cerebro_service::{Importing, Lease, Service, ServiceError};

/// One client's connection. Clones are handles to the same connection.
#[derive(Clone)]
pub(super) struct Connection(Arc<State>);

struct State {
    context: Context,
    hello: Hello,
    project: Project,
    /// The folder in which it works, if it is on this machine.
    checkout: Option<Arc<Checkout>>,
    /// Its number among the clients of the context; `None` for a client that only watches.
    client: Option<u64>,
    /// The last session that was started on this connection.
    bound: Mutex<Option<SessionId>>,
    /// The session of calls that belong to no other session.
    minted: Mutex<Option<SessionId>>,
    /// The sessions of this connection's calls.
    used: Mutex<BTreeSet<SessionId>>,
    /// The live endpoint that was opened on this connection.
    lease: Mutex<Option<Lease>>,
    /// The token that ends the HTTP listener opened on this connection.
    listening: Mutex<Option<CancellationToken>>,
    /// The import that is under way on this connection.
    importing: Mutex<Option<Importing>>,
    /// Is cancelled when the connection ends.
    gone: CancellationToken,
}

impl Connection {
    pub(super) fn new(context: Context, hello: Hello, project: Project) -> Self {
        let client =
            (!hello.watches).then(|| context.live().joined(project.as_str(), hello.pid, context.now()));
        let folder = hello.folder().filter(|_| !hello.is_remote && !is_elsewhere(&hello)).cloned();
        let checkout = folder.map(Checkout::new);
        let bound = hello.bound_session.as_deref().and_then(|id| SessionId::parse(id).ok());
        let state = State {
            context,
            hello,
            project,
            checkout,
            client,
            bound: Mutex::new(bound),
            minted: Mutex::default(),
            used: Mutex::default(),
            lease: Mutex::default(),
            listening: Mutex::default(),
            importing: Mutex::default(),
            gone: CancellationToken::new(),
        };
        if let (Some(client), Some(agent)) = (state.client, state.unnaming_agent()) {
            state.context.presence().nameless_joined(client, agent);
        }
        Self(Arc::new(state))
    }

    /// The state shared by all connections.
    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    /// The project of calls that do not name one.
    pub(super) fn project(&self) -> &Project {
        &self.0.project
    }

    /// The folder in which it works on the project of [`Self::project`].
    pub(super) fn checkout(&self) -> Option<&Arc<Checkout>> {
        self.0.checkout.as_ref()
    }

    /// The hello for a program with which a person watches, in the same folder.
    pub(super) fn watching_hello(&self) -> Hello {
        let Hello { cwd, project, project_dir, folder_project, is_remote, .. } = self.0.hello.clone();
        Hello {
            protocol: hello::PROTOCOL,
            version: VERSION.to_owned(),
            role: Role::Operator,
            pid: std::process::id(),
            watches: true,
            cwd,
            project,
            project_dir,
            folder_project,
            is_remote,
            ..Hello::default()
        }
    }

    /// Former projects of the client's folder, the latest first.
    pub(super) fn former(&self) -> Vec<Project> {
        let names = self.0.hello.former.iter().map(|name| redact::redact_secrets(name));
        names.filter_map(|name| Project::parse(&name)).filter(|project| project != self.project()).collect()
    }

    /// Its number among the clients; `None` for a client that only watches.
    pub(super) fn client(&self) -> Option<u64> {
        self.0.client
    }

    /// The session of a call without a `session_id`: the first that exists of the one in the call's metadata, the
    /// last one started here, the one in the client's environment, and the pump's own. For a person, it is the session
    /// of the day in the project.
    pub(super) fn session(&self, meta: &Map<String, Value>, project: Option<&Project>) -> SessionId {
        let of_meta = ["sessionId", "session_id", "threadId"]
            .iter()
            .find_map(|key| meta.get(*key)?.as_str().and_then(clean_session));
        let named = |id: &Option<String>| id.as_deref().and_then(clean_session);
        of_meta
            .or_else(|| lock(&self.0.bound).clone())
            .or_else(|| named(&self.0.hello.client_session))
            .or_else(|| named(&self.0.hello.minted_session))
            .unwrap_or_else(|| self.minted(project.unwrap_or(self.project())))
    }

    /// The session of calls that belong to no other session.
    fn minted(&self, project: &Project) -> SessionId {
        let mut minted = lock(&self.0.minted);
        if self.is_person() {
            let today = self.0.context.now().to_zoned(TimeZone::system()).date();
            *minted = Some(day_of_person(self.0.context.home().root(), project, today));
        }
        minted.get_or_insert_with(SessionId::random).clone()
    }

    /// Makes a session the one of later calls on this connection.
    pub(super) fn bind(&self, session: &SessionId) {
        *lock(&self.0.bound) = Some(session.clone());
    }

    /// Records that this connection works in a session.
    pub(super) fn uses(&self, service: &Service, session: &SessionId) {
        if lock(&self.0.used).insert(session.clone()) {
            service.sessions.connected(session);
            let presence = self.0.context.presence();
            if !self.is_person() {
                presence.agent_joined(session);
            }
            if let Some(agent) = self.0.unnaming_agent() {
                presence.unnamed_began(session, agent);
            }
            presence.session_connected(session);
        }
    }

    /// The session in the agent's environment. The agent is in it even if it calls no tool.
    pub(super) fn own_session(&self) -> Option<SessionId> {
        let hello = &self.0.hello;
        hello.client_session.as_deref().and_then(clean_session).filter(|_| hello.role == Role::Agent)
    }

    /// Records that this connection's hook works for a session. The agent's server, which the same process started,
    /// then belongs to it, too.
    pub(super) fn hook_ran(&self, session: &SessionId) {
        let context = &self.0.context;
        context.presence().hook_ran(session, &self.0.hello.parents, context.now());
    }

    /// The session of the agent's server that the same process started as this hook, if there is exactly one. Hooks use
    /// the agent's names of sessions, which a server may not know.
    pub(super) fn session_of_server(&self) -> Option<SessionId> {
        self.0.context.presence().unnamed_session_of(&self.0.hello.parents)
    }

    /// Ties an opening of the live endpoint to this connection.
    pub(super) fn hold_studio(&self, lease: Lease) {
        *lock(&self.0.lease) = Some(lease);
    }

    /// The opening that is tied to this connection.
    pub(super) fn studio_lease(&self) -> Option<Lease> {
        *lock(&self.0.lease)
    }

    /// Ties the HTTP listener that this token stops to this connection.
    pub(super) fn hold_listener(&self, stop: CancellationToken) {
        *lock(&self.0.listening) = Some(stop);
    }

    /// The token of the HTTP listener that is tied to this connection.
    pub(super) fn listener(&self) -> Option<CancellationToken> {
        lock(&self.0.listening).clone()
    }

    /// Whether the client is a person's command or screen, or a hook.
    pub(super) fn is_person(&self) -> bool {
        self.0.hello.role == Role::Operator
    }

    /// Whether the client may be on another machine, so that its folders are not those of this one.
    pub(super) fn is_remote(&self) -> bool {
        self.0.hello.is_remote
    }

    /// Whether notifications reach the client. Over HTTP, that is only so for a request with its own stream, and not in
    /// a session.
    pub(super) fn gets_notifications(&self) -> bool {
        !self.is_remote() || self.0.hello.minted_session.is_some()
    }

    /// The token that is cancelled when the connection ends.
    pub(super) fn gone(&self) -> CancellationToken {
        self.0.gone.clone()
    }

    /// The import that is under way on this connection.
    pub(super) fn importing(&self) -> &Mutex<Option<Importing>> {
        &self.0.importing
    }

    /// Releases everything that belongs to the connection. Repeating it is harmless.
    pub(super) fn leave(&self) {
        self.0.leave();
    }
}

/// Whether a person named the project. It need not be that of the folder.
fn is_elsewhere(hello: &Hello) -> bool {
    hello.role == Role::Operator && hello.project.is_some()
}

/// The session of a person's commands in one project on one day. Its id includes the home, because several homes may
/// share a database.
fn day_of_person(home: &Path, project: &Project, day: Date) -> SessionId {
    let place = Sha256::new().chain_update(home.as_os_str().as_encoded_bytes()).chain_update([0]);
    let mark = text::hex(&place.chain_update(project.as_str()).finalize()[..4]);
    SessionId::parse(&format!("{PERSON}-{day}-{mark}")).unwrap_or_else(|_| SessionId::random())
}

/// Ends a session. If its commands only read, it does not exist, and nothing is done.
async fn end(service: Service, session: SessionId) {
    match service.sessions.end(None, &session, EndReason::Ended).await {
        Ok(_) | Err(ServiceError::NoSession(_)) => {}
        Err(error) => tracing::warn!(%error, "the session of a command could not be ended"),
    }
}

/// Records in the journal that a session's agent was lost, if the session has a piece of work.
async fn lost(service: Service, session: SessionId, project: Project) {
    let actor = Actor {
        owner: LOCAL_OWNER.to_owned(),
        agent: RedactedText::default(),
        session: Some(session.clone()),
        project,
        directory: None,
    };
    match service.journal.lost(&actor).await {
        // No hook reported the last turn.
        Ok(true) => service.intake.reread_transcript(&session),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "cannot record in the journal that a session was lost"),
    }
}

/// A session's id from the client or its environment, redacted like an argument.
fn clean_session(id: &str) -> Option<SessionId> {
    SessionId::parse(&redact::redact_secrets(id)).ok()
}

impl State {
    /// Whether the end of this connection means the end of the agent. If the agent ended properly, its hook reports
    /// that. A daemon that ends closes the connections of agents that go on.
    fn is_end_of_agent(&self) -> bool {
        self.hello.role == Role::Agent && !self.context.control().is_stopping()
    }

    /// The process of the agent that started this server, if the agent did not name its session.
    fn unnaming_agent(&self) -> Option<u32> {
        let is_nameless = self.hello.role == Role::Agent && self.hello.client_session.is_none();
        self.hello.parents.first().copied().filter(|_| is_nameless)
    }

    /// The sessions known only from hooks whose agent started this connection's server.
    fn sessions_of_hooks(&self) -> Vec<SessionId> {
        let agent = self.unnaming_agent();
        agent.map(|agent| self.context.presence().take_sessions_of_hooks(agent)).unwrap_or_default()
    }

    /// Records in the journal that the agent of a session is gone.
    fn record_loss(&self, service: &Service, session: &SessionId) {
        self.context.presence().forget_hooks(session);
        tokio::spawn(lost(service.clone(), session.clone(), self.project.clone()));
    }

    fn leave(&self) {
        // The second time, a call that was under way has ended. It may have used a session or opened a listener.
        let is_first = !self.gone.is_cancelled();
        self.gone.cancel();
        if let Some(client) = self.client {
            self.context.live().left(client);
            self.context.presence().nameless_left(client);
        }
        if let Some(stop) = lock(&self.listening).take() {
            stop.cancel();
        }
        lock(&self.importing).take();
        let Some(service) = self.context.opened() else { return };
        let is_loss = self.is_end_of_agent();
        // Later hooks of this agent belong to a server that it started since.
        if is_loss && is_first {
            self.sessions_of_hooks().iter().for_each(|session| self.record_loss(&service, session));
        }
        if let Some(lease) = lock(&self.lease).take() {
            let (context, service) = (self.context.clone(), service.clone());
            tokio::spawn(async move { context.close_studio(&service, Some(lease)).await });
        }
        let now = self.context.now();
        // The session of a person's command is not used again.
        let over = lock(&self.minted).clone().filter(|_| self.hello.role == Role::Operator);
        for session in std::mem::take(&mut *lock(&self.used)) {
            service.sessions.disconnected(&session);
            self.context.presence().unnamed_ended(&session);
            if self.hello.role == Role::Agent && self.context.presence().agent_left(&session) && is_loss {
                self.record_loss(&service, &session);
            }
            if over.as_ref() == Some(&session) {
                tokio::spawn(end(service.clone(), session));
            } else {
                self.context.presence().session_disconnected(session, now);
            }
        }
    }
}

impl Drop for State {
    /// Also runs if the client disconnects while one of its calls is under way.
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_one_session_a_day_and_project_and_home() {
        let project = |name: &str| Project::parse(name).unwrap();
        let day = jiff::civil::date(2026, 11, 22);
        let (home, demo) = (Path::new("/home/x/.cerebro"), project("demo"));
        let one = day_of_person(home, &demo, day);
        assert!(one.as_str().starts_with(&format!("{PERSON}-2026-11-22-")), "{one}");
        assert_eq!(one, day_of_person(home, &demo, day));
        for other in [
            day_of_person(home, &project("web"), day),
            day_of_person(Path::new("/home/y/.cerebro"), &demo, day),
            day_of_person(home, &demo, jiff::civil::date(2026, 11, 23)),
        ] {
            assert_ne!(one, other);
        }
    }
}
