//! The sources of past sessions.

use surrealdb::types::{Object, RecordId};

use crate::{
    Store, StoreError,
    columns::{columns, put_row, row_of},
    read::{Vars, one},
    statement,
};
use cerebro_core::domain::{SessionId, Source};

const TABLE: &str = "source";

columns! {
    Source in "source" {
        id: key(str::parse::<String>), agent, key,
        session: text_if_any("session", SessionId::as_str, SessionId::parse), size, mtime,
        // Some file systems use all 64 bits of an inode number; only equality matters.
        inode: by(|inode| inode.cast_signed(), i64::cast_unsigned),
        offset: "read_to", cursor, head, edge, reader, state, unknown, malformed, error,
    }
}

fn record(id: &str) -> RecordId {
    RecordId::new(TABLE, id)
}

pub(super) fn put(source: &Source) -> Object {
    put_row(record(&source.id), source)
}

noun! {
    /// The sources of history.
    sources: Sources
}

impl Sources<'_> {
    /// Every source of an agent.
    pub async fn of_agent(self, agent: &str) -> Result<Vec<Source>, StoreError> {
        let vars = Vars::new().with("agent", agent);
        self.0.select(statement::SOURCE_OF_AGENT, vars).await
    }

    pub async fn by_id(self, id: &str) -> Result<Option<Source>, StoreError> {
        let vars = Vars::new().with("ids", vec![record(id)]);
        Ok(one(self.0.select(statement::SOURCE_GET, vars).await?))
    }

    /// Writes the state of a source when no exchange changes with it. This is bookkeeping: it needs no writer and
    /// has no event.
    pub async fn put(self, source: &Source) -> Result<(), StoreError> {
        self.0.check_space()?;
        let vars = Vars::new().with("id", record(&source.id)).with("row", row_of(source));
        self.0.execute(statement::SOURCE_PUT, vars).await
    }
}
