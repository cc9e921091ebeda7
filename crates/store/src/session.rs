//! Sessions: queries, changes, and what follows from a change.

use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part, Tables},
    read::{Vars, Walk, one},
    row::{
        Guarded, datetime, held, malformed, memory_record, project, session_id, session_record, signed,
        timestamp, unsigned,
    },
    statement::{self, Statement},
};
use cerebro_core::domain::{EndReason, EventKind, MemoryId, Project, Session, SessionId, Timestamp};

#[derive(Debug, Clone, SurrealValue)]
pub(super) struct SessionRow {
    id: Option<RecordId>,
    project: String,
    agent: String,
    directory: Option<String>,
    started_at: Datetime,
    seen_at: Datetime,
    ended_at: Option<Datetime>,
    end_reason: Option<String>,
    live: bool,
    summary: Option<String>,
    follows: Option<RecordId>,
    writer: Option<String>,
    version: Option<i64>,
}

impl SessionRow {
    /// The row and its id, as `INSERT` takes it.
    pub(super) fn first(session: &Session) -> Self {
        Self { id: Some(session_record(&session.id)), ..Self::next(session) }
    }

    /// The row for the next write: one version on.
    pub(super) fn next(session: &Session) -> Self {
        Self {
            id: None,
            project: session.project.as_str().to_owned(),
            agent: session.agent.to_string(),
            directory: session.directory.clone().map(String::from),
            started_at: datetime(session.started_at),
            seen_at: datetime(session.seen_at),
            ended_at: session.ended_at.map(datetime),
            end_reason: session.end_reason.map(|reason| reason.as_str().to_owned()),
            live: session.ended_at.is_none(),
            summary: session.summary.clone().map(String::from),
            follows: session.follows.as_ref().map(session_record),
            writer: session.home.clone(),
            version: Some(signed(session.version) + 1),
        }
    }
}

impl TryFrom<SessionRow> for Session {
    type Error = StoreError;

    fn try_from(row: SessionRow) -> Result<Self, StoreError> {
        const TABLE: &str = "session";
        let id = row.id.ok_or_else(|| malformed(TABLE, "missing", "id"))?;
        Ok(Self {
            id: session_id(TABLE, id)?,
            project: project(TABLE, &row.project)?,
            agent: held(row.agent),
            directory: row.directory.map(held),
            started_at: timestamp(row.started_at),
            seen_at: timestamp(row.seen_at),
            ended_at: row.ended_at.map(timestamp),
            end_reason: row.end_reason.as_deref().and_then(EndReason::parse),
            summary: row.summary.map(held),
            follows: row.follows.map(|id| session_id(TABLE, id)).transpose()?,
            home: row.writer,
            // Rows of older programs have none.
            version: row.version.map_or(1, unsigned),
        })
    }
}

/// The changes of the table of sessions.
#[derive(Default)]
pub(super) struct SessionChanges {
    /// Whole rows; `version` is the one that was read, 0 for a new session. If a session is listed twice, the last
    /// one counts.
    pub put: Vec<Session>,
}

impl Part for SessionChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let (begun, gone_on): (Vec<&Session>, Vec<&Session>) =
            last_of_each(&self.put).into_iter().partition(|session| session.version == 0);
        commit.add(statement::COMMIT_NEW_SESSIONS, "new_sessions", &begun, |session| {
            SessionRow::first(session)
        });
        commit.add(statement::COMMIT_SESSIONS, "sessions", &gone_on, |session| Guarded {
            id: session_record(&session.id),
            expect: signed(session.version),
            row: SessionRow::next(session),
        });
    }
}

/// Each session once, in its last state: a decision may change one more than once.
fn last_of_each(sessions: &[Session]) -> Vec<&Session> {
    let is_last =
        |(at, session): &(usize, &Session)| !sessions[at + 1..].iter().any(|later| later.id == session.id);
    sessions.iter().enumerate().filter(is_last).map(|(_, session)| session).collect()
}

/// The changes of a session.
impl Write<'_> {
    /// The session begins, or more is known of its beginning. `follows` is the session that it is now known to
    /// continue.
    pub fn start_session(&mut self, session: &Session, follows: Option<&SessionId>) {
        self.put_following(EventKind::SessionStarted, session, follows);
    }

    /// The session had ended and goes on. `follows` is the session that it is now known to continue.
    pub fn resume_session(&mut self, session: &Session, follows: Option<&SessionId>) {
        self.put_following(EventKind::SessionResumed, session, follows);
    }

    pub fn end_session(&mut self, session: &Session) {
        self.put_session(EventKind::SessionEnded, session);
    }

    /// The session has another summary, or none any more.
    pub fn summarise_session(&mut self, session: &Session) {
        self.put_session(EventKind::SessionSummarised, session);
    }

    /// The session moves to another project, because its own was merged.
    pub fn merge_session(&mut self, session: &Session) {
        self.put_session(EventKind::ProjectMerged, session);
    }

    /// The session came with an export; its edges have lines of their own.
    pub fn import_session(&mut self, session: &Session) {
        self.put_session(EventKind::SessionImported, session);
    }

    fn put_following(&mut self, kind: EventKind, session: &Session, follows: Option<&SessionId>) {
        let at = self.at();
        let tables = self.put_session(kind, session);
        if let Some(earlier) = follows {
            tables.edges.follows.push((session.id.clone(), earlier.clone(), at));
        }
    }

    /// Common to all of these: records the event and writes the row.
    fn put_session(&mut self, kind: EventKind, session: &Session) -> &mut Tables {
        let tables = self.record(NewEvent::about_session(kind, session));
        tables.sessions.put.push(session.clone());
        tables
    }

    /// The session with the changes so far, if there are any.
    pub fn changed_session(&self, id: &SessionId) -> Option<&Session> {
        self.tables().sessions.put.iter().rfind(|session| session.id == *id)
    }

    /// The session as it will be after this commit.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        match self.changed_session(id) {
            Some(session) => Ok(Some(session.clone())),
            None => self.store().sessions().by_id(id).await,
        }
    }
}

noun! {
    /// The sessions.
    sessions: Sessions
}

impl<'a> Sessions<'a> {
    pub async fn by_id(self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        Ok(one(self.by_ids(std::slice::from_ref(id)).await?))
    }

    /// Several sessions, in no order.
    pub async fn by_ids(self, ids: &[SessionId]) -> Result<Vec<Session>, StoreError> {
        self.select(statement::SESSION_GET, Vars::new().list("ids", ids.iter().map(session_record))).await
    }

    /// The sessions of a project (of all, when `None`) begun last before a moment, newest first. Of those that began at that
    /// very moment, the ones that are listed after the session `after`: so pages neither skip nor repeat any.
    pub async fn latest(
        self,
        project: Option<&Project>,
        before: Timestamp,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().at("before", before).with("after", after.map(session_record)).limit(limit);
        let (statement, vars) =
            vars.about(project, statement::SESSION_LATEST, statement::SESSION_LATEST_EVERYWHERE);
        self.select(statement, vars).await
    }

    /// Sessions that have not ended, except those of some other homes.
    pub async fn live(self, others: &[String], limit: usize) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().with("others", others.to_vec()).limit(limit);
        self.select(statement::SESSION_LIVE, vars).await
    }

    /// The sessions of a project begun after a moment, oldest first.
    pub async fn begun_since(
        self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.select(statement::SESSION_SINCE, vars).await
    }

    /// All sessions in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, Session> {
        Walk::over::<SessionRow>(self.0, "session", limit)
    }

    /// The sessions that wrote a memory and have this summary, or none.
    pub async fn with_summary(
        self,
        memory: &MemoryId,
        summary: Option<&str>,
    ) -> Result<Vec<Session>, StoreError> {
        let vars =
            Vars::new().with("memory", memory_record(memory)).with("summary", summary.map(str::to_owned));
        self.select(statement::SESSION_WITH_SUMMARY, vars).await
    }

    pub(super) async fn select(self, statement: Statement, vars: Vars) -> Result<Vec<Session>, StoreError> {
        self.0.select::<SessionRow, _>("session", statement, vars).await
    }
}
