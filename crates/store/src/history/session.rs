//! Past sessions.

use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::project_of;
use crate::{
    Store, StoreError,
    read::{Vars, Walk, one},
    row::{datetime, held, malformed, own_key, small, timestamp},
    statement,
};
use cerebro_core::domain::{Ancestor, AncestorKind, PastSession, Project, SessionId};

const TABLE: &str = "past_session";

#[derive(Debug, Clone, SurrealValue)]
pub(super) struct PastSessionRow {
    id: Option<RecordId>,
    agent: String,
    project: String,
    title: Option<String>,
    directory: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    parent: Option<String>,
    parent_kind: Option<String>,
    automated: bool,
    started_at: Datetime,
    ended_at: Datetime,
    exchanges: i64,
}

pub(super) fn record(id: &SessionId) -> RecordId {
    RecordId::new(TABLE, id.as_str())
}

#[derive(SurrealValue)]
pub(super) struct PutSession {
    id: RecordId,
    row: PastSessionRow,
    /// The number of exchanges that the stored row must have.
    expect: i64,
}

pub(super) fn put(session: &PastSession, before: u32) -> PutSession {
    let parent = session.parent.as_ref();
    let text = |text: &Option<_>| text.clone().map(String::from);
    let row = PastSessionRow {
        id: None,
        agent: session.agent.to_string(),
        project: session.project.as_str().to_owned(),
        title: text(&session.title),
        directory: text(&session.directory),
        branch: text(&session.branch),
        model: text(&session.model),
        parent: parent.and_then(|parent| parent.session.as_ref()).map(|id| id.as_str().to_owned()),
        parent_kind: parent.map(|parent| parent.kind.as_str().to_owned()),
        automated: session.automated,
        started_at: datetime(session.started_at),
        ended_at: datetime(session.ended_at),
        exchanges: i64::from(session.exchanges),
    };
    PutSession { id: record(&session.id), row, expect: i64::from(before) }
}

pub(super) fn session_key(text: &str) -> Result<SessionId, StoreError> {
    SessionId::parse(text).map_err(|_| malformed(TABLE, "session id", text))
}

impl TryFrom<PastSessionRow> for PastSession {
    type Error = StoreError;

    fn try_from(row: PastSessionRow) -> Result<Self, StoreError> {
        let id = own_key(TABLE, row.id)?;
        let ancestor = |name: String| {
            let kind = AncestorKind::parse(&name).ok_or_else(|| malformed(TABLE, "parent_kind", &name))?;
            let session = row.parent.as_deref().map(session_key).transpose()?;
            Ok::<_, StoreError>(Ancestor { kind, session })
        };
        Ok(Self {
            id: session_key(&id)?,
            agent: held(row.agent),
            project: project_of(&row.project)?,
            title: row.title.map(held),
            directory: row.directory.map(held),
            branch: row.branch.map(held),
            model: row.model.map(held),
            parent: row.parent_kind.map(ancestor).transpose()?,
            automated: row.automated,
            started_at: timestamp(row.started_at),
            ended_at: timestamp(row.ended_at),
            exchanges: small(row.exchanges),
        })
    }
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
        self.0.select::<PastSessionRow, _>(TABLE, statement::PAST_SESSION_GET, vars).await
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
        self.0.select::<PastSessionRow, _>(TABLE, statement, vars).await
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
        self.0.select::<PastSessionRow, _>(TABLE, statement::PAST_SESSION_CHILDREN, vars).await
    }

    /// All past sessions in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, PastSession> {
        Walk::over::<PastSessionRow>(self.0, TABLE, limit)
    }
}
