//! The sources of past sessions.

use surrealdb::types::{Bytes, RecordId, SurrealValue};

use super::session::session_key;
use crate::{
    Store, StoreError,
    read::{Vars, one},
    row::{Put, held, malformed, own_key, signed, small, unsigned},
    statement,
};
use cerebro_core::domain::{Source, SourceState};

const TABLE: &str = "source";

#[derive(Debug, Clone, SurrealValue)]
pub(super) struct SourceRow {
    id: Option<RecordId>,
    agent: String,
    key: String,
    session: Option<String>,
    size: i64,
    mtime: i64,
    inode: i64,
    read_to: i64,
    cursor: Option<Bytes>,
    head: Option<String>,
    edge: Option<String>,
    reader: i64,
    state: String,
    unknown: i64,
    malformed: i64,
    error: Option<String>,
}

pub(super) fn put(source: &Source) -> Put<SourceRow> {
    let row = SourceRow {
        id: None,
        agent: source.agent.to_string(),
        key: source.key.to_string(),
        session: source.session.as_ref().map(|id| id.as_str().to_owned()),
        size: signed(source.size),
        mtime: source.mtime,
        // Some file systems use all 64 bits of an inode number; only equality matters.
        inode: source.inode.cast_signed(),
        read_to: signed(source.offset),
        cursor: source.cursor.clone().map(Bytes::from),
        head: source.head.clone(),
        edge: source.edge.clone(),
        reader: i64::from(source.reader),
        state: source.state.as_str().to_owned(),
        unknown: signed(source.unknown),
        malformed: signed(source.malformed),
        error: source.error.clone().map(String::from),
    };
    Put { id: RecordId::new(TABLE, source.id.as_str()), row }
}

fn state(name: &str) -> Result<SourceState, StoreError> {
    SourceState::parse(name).ok_or_else(|| malformed(TABLE, "state", name))
}

impl TryFrom<SourceRow> for Source {
    type Error = StoreError;

    fn try_from(row: SourceRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: own_key(TABLE, row.id)?,
            agent: held(row.agent),
            key: held(row.key),
            session: row.session.as_deref().map(session_key).transpose()?,
            size: unsigned(row.size),
            mtime: row.mtime,
            inode: row.inode.cast_unsigned(),
            offset: unsigned(row.read_to),
            cursor: row.cursor.map(|bytes| bytes.into_inner().to_vec()),
            head: row.head,
            edge: row.edge,
            reader: small(row.reader),
            state: state(&row.state)?,
            unknown: unsigned(row.unknown),
            malformed: unsigned(row.malformed),
            error: row.error.map(held),
        })
    }
}

noun! {
    /// The sources of history.
    sources: Sources
}

impl Sources<'_> {
    /// Every source of an agent.
    pub async fn of_agent(self, agent: &str) -> Result<Vec<Source>, StoreError> {
        let vars = Vars::new().with("agent", agent);
        self.0.select::<SourceRow, _>(TABLE, statement::SOURCE_OF_AGENT, vars).await
    }

    pub async fn by_id(self, id: &str) -> Result<Option<Source>, StoreError> {
        let vars = Vars::new().with("ids", vec![RecordId::new(TABLE, id)]);
        Ok(one(self.0.select::<SourceRow, _>(TABLE, statement::SOURCE_GET, vars).await?))
    }

    /// Writes the state of a source when no exchange changes with it. This is bookkeeping: it needs no writer and
    /// has no event.
    pub async fn put(self, source: &Source) -> Result<(), StoreError> {
        self.0.check_space()?;
        let Put { id, row } = put(source);
        let vars = Vars::new().with("id", id).with("row", row);
        self.0.execute(statement::SOURCE_PUT, vars).await
    }
}
