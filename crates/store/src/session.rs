//! Sessions: queries, changes, and what follows from a change.

use surrealdb::types::Object;

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part, Tables},
    columns::{columns, put_next, row_of, with_id},
    read::{Vars, Walk, one},
    row::{memory_record, session_record, signed, unsigned},
    statement,
};
use cerebro_core::domain::{EventKind, MemoryId, Project, Session, SessionId, Timestamp};

columns! {
    Session in "session" {
        id: key(SessionId::parse), project, agent, directory, started_at, seen_at, ended_at, end_reason, summary,
        follows, home: "writer",
        // One version on with each write. Rows of older programs have none.
        version: by(|version| signed(*version) + 1, |version: Option<i64>| version.map_or(1, unsigned)),
    }
}

/// The row for the next write.
fn row(session: &Session) -> Object {
    let mut row = row_of(session);
    row.insert("live", session.ended_at.is_none());
    row
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
            with_id(session_record(&session.id), row(session))
        });
        commit.add(statement::COMMIT_SESSIONS, "sessions", &gone_on, |session| {
            put_next(session_record(&session.id), session.version, row(session))
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
        self.0.select(statement::SESSION_GET, Vars::new().list("ids", ids.iter().map(session_record))).await
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
        self.0.select(statement, vars).await
    }

    /// Sessions that have not ended, except those of some other homes.
    pub async fn live(self, others: &[String], limit: usize) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().with("others", others.to_vec()).limit(limit);
        self.0.select(statement::SESSION_LIVE, vars).await
    }

    /// The sessions of a project begun after a moment, oldest first.
    pub async fn begun_since(
        self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.0.select(statement::SESSION_SINCE, vars).await
    }

    /// All sessions in order of id.
    pub fn walk(self) -> Walk<'a, Session> {
        Walk::over(self.0)
    }

    /// The sessions that wrote a memory and have this summary, or none.
    pub async fn with_summary(
        self,
        memory: &MemoryId,
        summary: Option<&str>,
    ) -> Result<Vec<Session>, StoreError> {
        let vars =
            Vars::new().with("memory", memory_record(memory)).with("summary", summary.map(str::to_owned));
        self.0.select(statement::SESSION_WITH_SUMMARY, vars).await
    }
}
