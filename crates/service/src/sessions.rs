//! Sessions: start, end, summary, and the ones that calls bring into being.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use crate::{Caller, ServiceError, base::Base, fields::Fields, lock, projects::KnownProjects};
use cerebro_core::domain::{EndReason, Project, Session, SessionId, Timestamp, limits::DISCONNECT_GRACE};
use cerebro_core::redact::RedactedText;
use cerebro_store::Write;

/// Most sessions that are remembered as live. Others are looked up.
const LIVE_MAX: usize = 10_000;

/// What to start. Its texts are as the caller gave them, or redacted.
#[derive(Debug, Clone)]
pub struct StartRequest<Text = String> {
    /// The client's id for it, or one minted for the connection.
    pub id: SessionId,
    /// Where the work is; the caller's own project when `None`.
    pub project: Option<Project>,
    /// The folder the work is in.
    pub directory: Option<Text>,
    /// Who works; the client's name when `None`.
    pub agent: Option<Text>,
    /// The session that started this one as a sub-agent.
    pub parent: Option<SessionId>,
}

/// A session that is live now.
#[derive(Debug, Clone)]
pub struct Started {
    pub session: Session,
    /// It had ended and was resumed.
    pub resumed: bool,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl StartRequest {
    fn clean(self, fields: &mut Fields) -> StartRequest<RedactedText> {
        StartRequest {
            id: self.id,
            project: self.project,
            directory: self.directory.map(|path| fields.directory(&path)),
            agent: self.agent.map(|name| fields.agent(&name)).filter(|name| !name.is_empty()),
            parent: self.parent,
        }
    }
}

/// Sessions as they go on: who is connected, and which ones are known to be live.
#[derive(Clone)]
pub struct Sessions {
    pub(crate) base: Base,
    pub(crate) projects: KnownProjects,
    pub(crate) held: Arc<Held>,
}

/// What is held of sessions in memory.
#[derive(Default)]
pub(crate) struct Held {
    /// Sessions known to be live in the store, so that a save need not look. They are added, and taken out at their end, by who
    /// holds the writer: otherwise one that just ended could be remembered as live for good.
    pub(crate) live: Mutex<BTreeSet<SessionId>>,
    /// The other homes that are at work on the same database.
    pub(crate) others: Mutex<BTreeSet<String>>,
    /// How many connections each session has now.
    connected: Mutex<HashMap<SessionId, usize>>,
}

impl Sessions {
    /// Starts a session, resumes an ended one, or returns a live one as it is.
    pub async fn start(&self, caller: &Caller, request: StartRequest) -> Result<Started, ServiceError> {
        let mut fields = Fields::default();
        let request = request.clean(&mut fields);
        let known = self.projects.before_write(request.project.as_ref(), caller).await?;
        let (session, resumed) =
            self.base.store.transact(|write| Box::pin(start(write, caller, &request))).await?;
        let new_project = known.and_then(|known| known.meet(Some(&session.project)));
        Ok(Started { session, resumed, new_project, redacted: fields.redacted() })
    }

    /// Ends a session; ending an ended one changes nothing. A session that nobody began is begun for the caller and
    /// ended at once.
    ///
    /// # Errors
    /// [`ServiceError::NoSession`] when it is unknown and no caller is named.
    pub async fn end(
        &self,
        caller: Option<&Caller>,
        id: &SessionId,
        reason: EndReason,
    ) -> Result<Session, ServiceError> {
        self.base.store.transact(|write| Box::pin(self.put_end(write, caller, id, reason))).await
    }

    async fn put_end(
        &self,
        write: &mut Write<'_>,
        caller: Option<&Caller>,
        id: &SessionId,
        reason: EndReason,
    ) -> Result<Session, ServiceError> {
        lock(&self.held.live).remove(id);
        let mut session = match (write.store().sessions().by_id(id).await?, caller) {
            (Some(session), _) => session,
            (None, Some(caller)) => fresh(write, id, &caller.project, &caller.agent).await?,
            (None, None) => return Err(ServiceError::NoSession(id.to_string())),
        };
        if session.ended_at.is_none() {
            session.ended_at = Some(write.at());
            session.end_reason = Some(reason);
            write.end_session(&session);
        }
        Ok(session)
    }

    /// Begins or resumes the caller's session if needed, within the write's transaction.
    pub(super) async fn ensure_session(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
    ) -> Result<(), ServiceError> {
        let id = &caller.session;
        if lock(&self.held.live).contains(id) || write.changed_session(id).is_some() {
            return Ok(());
        }
        match write.store().sessions().by_id(id).await? {
            None => drop(fresh(write, id, &caller.project, &caller.agent).await?),
            Some(mut session) if session.end_reason == Some(EndReason::Disconnected) => {
                resume(write, &mut session, None);
            }
            Some(session) if session.ended_at.is_none() => self.remember_live(id),
            Some(_) => {}
        }
        Ok(())
    }

    fn remember_live(&self, id: &SessionId) {
        let mut live = lock(&self.held.live);
        if live.len() >= LIVE_MAX {
            live.clear();
        }
        live.insert(id.clone());
    }

    /// Notes that a connection works in a session, until [`Sessions::disconnected`].
    pub fn connected(&self, id: &SessionId) {
        *lock(&self.held.connected).entry(id.clone()).or_default() += 1;
    }

    /// Notes that a connection left a session.
    pub fn disconnected(&self, id: &SessionId) {
        let mut connected = lock(&self.held.connected);
        if let Some(count) = connected.get_mut(id) {
            *count -= 1;
            if *count == 0 {
                connected.remove(id);
            }
        }
    }

    /// Whether a connection works in a session now.
    pub(super) fn is_connected(&self, id: &SessionId) -> bool {
        lock(&self.held.connected).contains_key(id)
    }

    /// Whether a connection works in any session but this one now.
    pub(super) fn is_any_connected_but(&self, id: Option<&SessionId>) -> bool {
        lock(&self.held.connected).keys().any(|connected| Some(connected) != id)
    }

    /// Whether an agent works in a session that was not ended: it is connected here, or belongs to another home that is
    /// at work. That home ends it when the agent is gone.
    pub(super) fn is_under_way(&self, session: &Session) -> bool {
        session.ended_at.is_none()
            && (self.is_connected(&session.id)
                || session.home.as_ref().is_some_and(|home| lock(&self.held.others).contains(home)))
    }

    /// Ends, as `disconnected`, the sessions whose connection has been gone for 30 minutes, except those of other homes
    /// that are at work. `gone_since` returns when a session's connection went, or when this process began to watch.
    pub async fn end_disconnected(
        &self,
        gone_since: impl Fn(&SessionId) -> Timestamp,
    ) -> Result<(), ServiceError> {
        /// Most live sessions that are looked at: far fewer agents are at work at once.
        const LIVE_MAX: usize = 1_000;
        let grace = jiff::SignedDuration::try_from(DISCONNECT_GRACE).unwrap_or_default();
        let others: Vec<String> = lock(&self.held.others).iter().cloned().collect();
        for session in self.base.store.sessions().live(&others, LIVE_MAX).await? {
            let gone = gone_since(&session.id).max(session.seen_at);
            if !self.is_connected(&session.id) && self.base.store.now().duration_since(gone) >= grace {
                self.end(None, &session.id, EndReason::Disconnected).await?;
            }
        }
        Ok(())
    }

    /// Whether there is a session of this id.
    pub async fn is_known(&self, id: &SessionId) -> Result<bool, ServiceError> {
        Ok(self.base.store.sessions().by_id(id).await?.is_some())
    }

    /// Those of some sessions that are stored.
    pub async fn stored(&self, ids: &[SessionId]) -> Result<Vec<SessionId>, ServiceError> {
        let found = self.base.store.sessions().by_ids(ids).await?;
        Ok(found.into_iter().map(|session| session.id).collect())
    }

    /// The sessions of a project, or of all, newest first: those that began before a moment, and those that began at it and
    /// come after the session `after`.
    pub async fn latest(
        &self,
        project: Option<&Project>,
        before: Option<Timestamp>,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, ServiceError> {
        Ok(self.base.store.sessions().latest(project, before.unwrap_or(Timestamp::MAX), after, limit).await?)
    }
}

/// Starts or resumes a session. Returns it, and whether it had ended before.
async fn start(
    write: &mut Write<'_>,
    caller: &Caller,
    request: &StartRequest<RedactedText>,
) -> Result<(Session, bool), ServiceError> {
    let project = request.project.as_ref().unwrap_or(&caller.project);
    let agent = request.agent.as_ref().unwrap_or(&caller.agent);
    let Some(before) = write.store().sessions().by_id(&request.id).await? else {
        let mut session = beginning(write, &request.id, project, agent);
        session.directory.clone_from(&request.directory);
        return Ok((begin(write, session, request.parent.as_ref()).await?, false));
    };
    let mut session = before.clone();
    fill_blanks(write, &mut session, agent, request).await?;
    let follows = session.follows.clone().filter(|_| before.follows.is_none());
    if session.ended_at.is_some() {
        resume(write, &mut session, follows.as_ref());
        return Ok((session, true));
    }
    if session != before {
        write.start_session(&session, follows.as_ref());
    }
    Ok((session, false))
}

/// Fills in the unknown fields of a session; known ones stay.
async fn fill_blanks(
    write: &mut Write<'_>,
    session: &mut Session,
    agent: &RedactedText,
    request: &StartRequest<RedactedText>,
) -> Result<(), ServiceError> {
    if let Some(home) = write.store().home_of_sessions() {
        // Its agent works here now.
        session.home = Some(home.to_owned());
    }
    if session.directory.is_none() {
        session.directory.clone_from(&request.directory);
    }
    if session.agent.is_empty() {
        session.agent.clone_from(agent);
    }
    if let (None, Some(parent)) = (&session.follows, &request.parent)
        && *parent != session.id
    {
        let known = write.store().sessions().by_id(parent).await?;
        // Two sessions that follow each other would have no beginning.
        if known.as_ref().is_none_or(|known| known.follows.as_ref() != Some(&session.id)) {
            if known.is_none() {
                begin_unknown(write, parent, &session.project);
            }
            session.follows = Some(parent.clone());
        }
    }
    Ok(())
}

fn resume(write: &mut Write<'_>, session: &mut Session, follows: Option<&SessionId>) {
    session.ended_at = None;
    session.end_reason = None;
    session.seen_at = write.at();
    session.home = write.store().home_of_sessions().map(str::to_owned);
    write.resume_session(session, follows);
}

/// Begins a session that nobody began by name.
pub(crate) async fn fresh(
    write: &mut Write<'_>,
    id: &SessionId,
    project: &Project,
    agent: &RedactedText,
) -> Result<Session, ServiceError> {
    let session = beginning(write, id, project, agent);
    begin(write, session, None).await
}

/// Begins a session, which follows the parent, or else the last one of the same project and agent. A parent that
/// nobody began is begun, for its agent to be known later.
async fn begin(
    write: &mut Write<'_>,
    mut session: Session,
    parent: Option<&SessionId>,
) -> Result<Session, ServiceError> {
    /// Most earlier sessions among which the previous one of the same agent is searched: agents are few.
    const LOOK_BACK: usize = 20;
    session.follows = match parent.filter(|parent| **parent != session.id) {
        Some(parent) => {
            if write.store().sessions().by_id(parent).await?.is_none() {
                begin_unknown(write, parent, &session.project);
            }
            Some(parent.clone())
        }
        None => write
            .store()
            .sessions()
            .latest(Some(&session.project), Timestamp::MAX, None, LOOK_BACK)
            .await?
            .into_iter()
            .find(|other| other.agent == session.agent && other.id != session.id)
            .map(|other| other.id),
    };
    write.start_session(&session, session.follows.as_ref());
    Ok(session)
}

/// Begins a session that is known only because another one names it as its parent.
fn begin_unknown(write: &mut Write<'_>, id: &SessionId, project: &Project) {
    let session = beginning(write, id, project, &RedactedText::default());
    write.start_session(&session, None);
}

/// A session that begins now.
fn beginning(write: &Write<'_>, id: &SessionId, project: &Project, agent: &RedactedText) -> Session {
    let at = write.at();
    Session {
        id: id.clone(),
        project: project.clone(),
        agent: agent.clone(),
        directory: None,
        started_at: at,
        seen_at: at,
        ended_at: None,
        end_reason: None,
        summary: None,
        follows: None,
        home: write.store().home_of_sessions().map(str::to_owned),
        version: 0,
    }
}
