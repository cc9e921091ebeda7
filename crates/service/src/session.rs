//! Sessions: start, end, summary, and the ones that calls bring into being.

use super::{Caller, Door, SaveOutcome, Service, ServiceError, fields::Fields, guard, lock};
use cerebro_core::domain::{
    Body, EndReason, Kind, Memory, MemoryId, Project, Scope, Session, SessionId, Timestamp, Validity,
    limits::DISCONNECT_GRACE,
};
use cerebro_core::hygiene::{Draft, summary_key, summary_title};
use cerebro_core::redact::RedactedText;
use cerebro_core::taint;
use cerebro_store::{Decision, Saying, Write};

/// Most sessions that are kept in mind as live; beyond it they are looked up.
const LIVE_MAX: usize = 10_000;

/// What to start.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The client's id for it, or one minted for the connection.
    pub id: SessionId,
    /// Where the work is; the caller's own project when `None`.
    pub project: Option<Project>,
    /// The folder the work is in.
    pub directory: Option<String>,
    /// Who works; the client's name when `None`.
    pub agent: Option<String>,
    /// The session that started this one as a sub-agent.
    pub parent: Option<SessionId>,
}

/// A session that is live now.
#[derive(Debug, Clone)]
pub struct Started {
    /// The session.
    pub session: Session,
    /// It had ended and goes on.
    pub resumed: bool,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

/// A request to start, redacted.
struct Start {
    id: SessionId,
    project: Option<Project>,
    directory: Option<RedactedText>,
    agent: RedactedText,
    parent: Option<SessionId>,
}

impl Start {
    fn read(fields: &mut Fields, caller: &Caller, request: StartRequest) -> Self {
        let agent = request.agent.map(|name| fields.agent(&name)).filter(|name| !name.is_empty());
        Self {
            id: request.id,
            project: request.project,
            directory: request.directory.map(|path| fields.directory(&path)),
            agent: agent.unwrap_or_else(|| caller.agent.clone()),
            parent: request.parent,
        }
    }
}

/// The answer to a summary.
#[derive(Debug, Clone)]
pub struct Summarised {
    /// The one memory that holds the session's summary.
    pub memory: MemoryId,
    /// What became of it.
    pub outcome: SaveOutcome,
    /// The project of the session.
    pub project: Project,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl Service {
    /// Starts a session, goes on with an ended one, or returns a live one as it is.
    ///
    /// # Errors
    /// A failing store.
    pub async fn start_session(
        &self,
        caller: &Caller,
        request: StartRequest,
    ) -> Result<Started, ServiceError> {
        let mut fields = Fields::default();
        let request = Start::read(&mut fields, caller, request);
        let elsewhere = self.leads_elsewhere(request.project.as_ref(), caller).await?;
        let (session, resumed) = self.store().transact(&StartSession { caller, request: &request }).await?;
        self.remember_live(&session.id);
        let new_project = if elsewhere { self.meet_project(&session.project, caller).await? } else { None };
        Ok(Started { session, resumed, new_project, redacted: fields.redacted() })
    }

    /// Ends a session; ending an ended one changes nothing. One that nobody began is begun for its caller, and
    /// ends at once.
    ///
    /// # Errors
    /// [`ServiceError::NoSession`] when it is unknown and no caller is named.
    pub async fn end_session(
        &self,
        caller: Option<&Caller>,
        id: &SessionId,
        reason: EndReason,
    ) -> Result<Session, ServiceError> {
        lock(&self.0.live).remove(id);
        self.store().transact(&EndSession { caller, id, reason }).await
    }

    /// Stores a summary on the session and as its one memory of type `session_summary`.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for the content, or a failing store.
    pub async fn summarise(
        &self,
        caller: &Caller,
        id: &SessionId,
        summary: &str,
    ) -> Result<Summarised, ServiceError> {
        let mut fields = Fields::default();
        let summary = fields.content(summary)?;
        let done = self.store().transact(&Summarise { service: self, caller, id, summary: &summary }).await?;
        if !caller.person {
            self.note_answer(id, &summary);
        }
        Ok(Summarised { redacted: fields.redacted(), ..done })
    }

    /// Puts a summary on the session and into its one memory, within a write's transaction.
    pub(super) async fn put_summary(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        id: &SessionId,
        summary: &RedactedText,
        tags: Vec<RedactedText>,
        door: Door,
    ) -> Result<Summarised, ServiceError> {
        let title = summary_title(summary);
        let stored = write.store().session(id).await?;
        // The session keeps the summary too, so a text that does not hold must be refused before either has it.
        if door.is_automatic() {
            let project = stored.as_ref().map_or(&caller.project, |session| &session.project);
            let saying = Saying { project, scope: Scope::Project, title: &title, content: summary };
            guard::admit(write, saying, None, door).await?;
        }
        let mut session = match stored {
            Some(session) => session,
            None => fresh(write, id, &caller.project, &caller.agent).await?,
        };
        let draft = Draft {
            taint: taint::of(&title, summary, door.origin(caller)),
            body: Body {
                project: session.project.clone(),
                scope: Scope::Project,
                kind: Kind::session_summary(),
                title,
                content: summary.clone(),
                topic_key: Some(summary_key(id)),
                tags,
            },
            agent: caller.agent.clone(),
            session: id.clone(),
            valid: Validity::default(),
            nature: None,
            trigger: None,
        };
        let before = session.summary.clone();
        if before.as_ref() != Some(summary) {
            session.summary = Some(summary.clone());
            session.seen_at = write.at();
            write.summarise_session(&session);
        }
        let project = session.project;
        let done =
            |memory, outcome| Ok(Summarised { memory, outcome, project: project.clone(), redacted: 0 });
        if let Some(moved) = moved_summary(write, &draft, before.as_deref()).await? {
            if moved.content == draft.content {
                return done(moved.id, SaveOutcome::Unchanged);
            }
            self.ensure_session(write, id, &project, caller).await?;
            let memory = self.revise(write, moved, |memory| {
                memory.title.clone_from(&draft.title);
                memory.content.clone_from(&draft.content);
                memory.taint.clone_from(&draft.taint);
                memory.agent.clone_from(&draft.agent);
                memory.session = Some(id.clone());
            });
            return done(memory.id, SaveOutcome::Updated);
        }
        // A draft with a topic key can only repeat the one that holds it.
        let written = self.put_draft(write, caller, &draft, Vec::new(), &project, door).await?;
        done(written.memory.id, written.outcome)
    }

    /// Sees to it that a write's session exists and is live, within the write's transaction.
    pub(super) async fn ensure_session(
        &self,
        write: &mut Write<'_>,
        id: &SessionId,
        project: &Project,
        caller: &Caller,
    ) -> Result<(), ServiceError> {
        if lock(&self.0.live).contains(id) || write.changed_session(id).is_some() {
            return Ok(());
        }
        match write.store().session(id).await? {
            None => drop(fresh(write, id, project, &caller.agent).await?),
            Some(mut session) if session.end_reason == Some(EndReason::Disconnected) => {
                resume(write, &mut session, None);
            }
            Some(session) if session.ended_at.is_none() => self.remember_live(id),
            Some(_) => {}
        }
        Ok(())
    }

    fn remember_live(&self, id: &SessionId) {
        let mut live = lock(&self.0.live);
        if live.len() >= LIVE_MAX {
            live.clear();
        }
        live.insert(id.clone());
    }

    /// Notes that a connection works in a session, until [`Service::disconnected`].
    pub fn connected(&self, id: &SessionId) {
        *lock(&self.0.connected).entry(id.clone()).or_default() += 1;
    }

    /// Notes that a connection left a session.
    pub fn disconnected(&self, id: &SessionId) {
        let mut connected = lock(&self.0.connected);
        if let Some(count) = connected.get_mut(id) {
            *count -= 1;
            if *count == 0 {
                connected.remove(id);
            }
        }
    }

    /// Whether a connection works in a session now.
    pub(super) fn is_connected(&self, id: &SessionId) -> bool {
        lock(&self.0.connected).contains_key(id)
    }

    /// Whether an agent works in a session that nobody has ended: one that is connected here, or that another home has
    /// which is at work. That one ends it when its agent is gone.
    pub(super) fn is_under_way(&self, session: &Session) -> bool {
        session.ended_at.is_none()
            && (self.is_connected(&session.id)
                || session.home.as_ref().is_some_and(|home| lock(&self.0.others).contains(home)))
    }

    /// Ends, as `disconnected`, the sessions whose connection has been gone for 30 minutes, but for those of other
    /// homes that are at work. `gone_since` tells when a session's connection went, or when this process began to
    /// watch.
    ///
    /// # Errors
    /// A failing store.
    pub async fn end_disconnected(
        &self,
        gone_since: impl Fn(&SessionId) -> Timestamp,
    ) -> Result<(), ServiceError> {
        const PAGE: usize = 1_000;
        let grace = jiff::SignedDuration::try_from(DISCONNECT_GRACE).unwrap_or_default();
        let others: Vec<String> = lock(&self.0.others).iter().cloned().collect();
        for session in self.store().live_sessions(&others, PAGE).await? {
            let gone = gone_since(&session.id).max(session.seen_at);
            if !self.is_connected(&session.id) && self.store().now().duration_since(gone) >= grace {
                self.end_session(None, &session.id, EndReason::Disconnected).await?;
            }
        }
        Ok(())
    }

    /// The sessions of a project, or of all, newest first.
    ///
    /// # Errors
    /// A failing store.
    pub async fn sessions(
        &self,
        project: Option<&Project>,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<Session>, ServiceError> {
        Ok(self.store().latest_sessions(project, before.unwrap_or(Timestamp::MAX), limit).await?)
    }
}

/// The memory of a session's summary, where somebody gave it another topic key, project or scope.
async fn moved_summary(
    write: &Write<'_>,
    draft: &Draft,
    summary: Option<&str>,
) -> Result<Option<Memory>, ServiceError> {
    let (Some(summary), Some(key)) = (summary, &draft.topic_key) else { return Ok(None) };
    if write.store().topic_holder(&draft.project, draft.scope, key).await?.is_some() {
        return Ok(None);
    }
    Ok(write.store().memory_with_content(&draft.session, summary).await?)
}

/// What a session says of itself goes with the memory that holds its summary: changed, taken back, brought
/// back or destroyed with it.
pub(super) async fn carry_summary(
    write: &mut Write<'_>,
    before: &Memory,
    now: &Memory,
) -> Result<(), ServiceError> {
    let comes_back = now.is_live() && !before.is_live();
    let summary = now.is_live().then(|| now.content.clone());
    if !comes_back && summary.as_ref() == Some(&before.content) {
        return Ok(());
    }
    let had = (!comes_back).then_some(before.content.as_str());
    for session in write.store().sessions_with_summary(&now.id, had).await? {
        let key = summary_key(&session.id);
        if comes_back && now.topic_key.as_ref() != Some(&key) {
            continue;
        }
        // Another session may have a summary of the same words in a memory of its own.
        let holder = write.store().topic_holder(&session.project, Scope::Project, &key).await?;
        if holder.is_some_and(|holder| holder.id != now.id) {
            continue;
        }
        // The write may have changed it for another reason.
        let mut session = write.changed_session(&session.id).cloned().unwrap_or(session);
        session.summary.clone_from(&summary);
        write.summarise_session(&session);
    }
    Ok(())
}

struct StartSession<'a> {
    caller: &'a Caller,
    request: &'a Start,
}

impl Decision for StartSession<'_> {
    /// The session, and whether it had ended before.
    type Output = (Session, bool);
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(Session, bool), ServiceError> {
        start(write, self.caller, self.request).await
    }
}

struct EndSession<'a> {
    /// Who ends it, and so begins one that is unknown.
    caller: Option<&'a Caller>,
    id: &'a SessionId,
    reason: EndReason,
}

impl Decision for EndSession<'_> {
    type Output = Session;
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Session, ServiceError> {
        let Self { caller, id, reason } = *self;
        let mut session = match (write.store().session(id).await?, caller) {
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
}

struct Summarise<'a> {
    service: &'a Service,
    caller: &'a Caller,
    id: &'a SessionId,
    summary: &'a RedactedText,
}

impl Decision for Summarise<'_> {
    type Output = Summarised;
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Summarised, ServiceError> {
        let Self { service, caller, id, summary } = *self;
        service.put_summary(write, caller, id, summary, Vec::new(), Door::SAID).await
    }
}

async fn start(
    write: &mut Write<'_>,
    caller: &Caller,
    request: &Start,
) -> Result<(Session, bool), ServiceError> {
    let project = request.project.as_ref().unwrap_or(&caller.project);
    let agent = &request.agent;
    let Some(before) = write.store().session(&request.id).await? else {
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

/// Fills what is not known of a session yet; what is known stays.
async fn fill_blanks(
    write: &mut Write<'_>,
    session: &mut Session,
    agent: &RedactedText,
    request: &Start,
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
        let known = write.store().session(parent).await?;
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
async fn fresh(
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
    const LOOK_BACK: usize = 20;
    session.follows = match parent.filter(|parent| **parent != session.id) {
        Some(parent) => {
            if write.store().session(parent).await?.is_none() {
                begin_unknown(write, parent, &session.project);
            }
            Some(parent.clone())
        }
        None => write
            .store()
            .latest_sessions(Some(&session.project), Timestamp::MAX, LOOK_BACK)
            .await?
            .into_iter()
            .find(|other| other.agent == session.agent && other.id != session.id)
            .map(|other| other.id),
    };
    write.start_session(&session, session.follows.as_ref());
    Ok(session)
}

/// Begins a session of which nothing is known but that another one names it as its parent.
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
