//! Past sessions.

use surrealdb::types::{Object, RecordId};

use crate::{
    Store, StoreError,
    columns::{columns, put_next, row_of},
    read::{Vars, Walk, one},
    row::malformed,
    statement,
};
use cerebro_core::domain::{Ancestor, AncestorKind, PastSession, Project, SessionId};

const TABLE: &str = "past_session";

columns! {
    PastSession in "past_session" {
        id: key(SessionId::parse), agent, project, title, directory, branch, model, parent: flat("parent_kind"),
        automated, started_at, ended_at, exchanges,
    }
}

columns! {
    Ancestor { kind: "parent_kind", session: text_if_any("parent", SessionId::as_str, SessionId::parse) }
}

pub(super) fn record(id: &SessionId) -> RecordId {
    RecordId::new(TABLE, id.as_str())
}

/// The row; `before` is the number of exchanges that the stored one must have.
pub(super) fn put(session: &PastSession, before: u32) -> Object {
    put_next(record(&session.id), u64::from(before), row_of(session))
}

pub(super) fn session_key(text: &str) -> Result<SessionId, StoreError> {
    SessionId::parse(text).map_err(|_| malformed(TABLE, "session id", text))
}

noun! {
    /// The past sessions.
    past_sessions: PastSessions
}

impl<'a> PastSessions<'a> {
    pub async fn by_id(self, id: &SessionId) -> Result<Option<PastSession>, StoreError> {
        Ok(one(self.by_ids(std::slice::from_ref(id)).await?))
    }

    /// Past sessions by id; missing ones are left out.
    pub async fn by_ids(self, ids: &[SessionId]) -> Result<Vec<PastSession>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(record));
        self.0.select(statement::PAST_SESSION_GET, vars).await
    }

    /// The past sessions of a project (of all, when `None`) that began last, newest first.
    pub async fn latest(
        self,
        project: Option<&Project>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<PastSession>, StoreError> {
        let vars = Vars::new().count("offset", offset).limit(limit);
        let (statement, vars) =
            vars.about(project, statement::PAST_SESSION_LATEST, statement::PAST_SESSION_LATEST_EVERYWHERE);
        self.0.select(statement, vars).await
    }

    /// At most `limit` past sessions that name one of these as their ancestor of a kind, such as their forks.
    pub async fn children(
        self,
        parents: &[SessionId],
        kind: AncestorKind,
        limit: usize,
    ) -> Result<Vec<PastSession>, StoreError> {
        let parents = parents.iter().map(|id| id.as_str().to_owned());
        let vars = Vars::new().list("parents", parents).with("kind", kind.as_str()).limit(limit);
        self.0.select(statement::PAST_SESSION_CHILDREN, vars).await
    }

    /// All past sessions in order of id.
    pub fn walk(self) -> Walk<'a, PastSession> {
        Walk::over(self.0)
    }
}
