//! What people browse: deleted memories, the types in use, and a memory with its session.

use surrealdb::types::{SurrealValue, Value};

use super::Memories;
use crate::{
    StoreError,
    columns::{Column, Columns, RawRow},
    read::{Vars, one, take},
    row::{memory_record, parse, size},
    statement,
};
use cerebro_core::domain::{Kind, Memory, MemoryId, Project, ScopeName, Session};

/// Which deleted memories to read.
#[derive(Debug, Clone, Default)]
pub struct DeletedFilter {
    /// Of this project; of all when `None`.
    pub project: Option<Project>,
    /// Of this scope.
    pub scope: Option<ScopeName>,
    /// Of this type.
    pub kind: Option<Kind>,
}

impl Memories<'_> {
    /// A page of the deleted memories that can be restored, the latest deletion first, and their total number.
    pub async fn restorable(
        self,
        filter: &DeletedFilter,
        start: usize,
        limit: usize,
    ) -> Result<(Vec<Memory>, usize), StoreError> {
        #[derive(SurrealValue)]
        struct Counted {
            count: i64,
        }
        let vars = Vars::new()
            .with("project", filter.project.as_ref().map(|project| project.as_str().to_owned()))
            .with("scope", filter.scope.map(|scope| scope.as_str().to_owned()))
            .with("type", filter.kind.as_ref().map(|kind| kind.as_str().to_owned()))
            .count("start", start)
            .limit(limit);
        let mut results = self.0.engine()?.run(statement::MEMORY_DELETED_PAGE, vars.0).await?;
        let memories = parse(take("memory", &mut results, 0)?)?;
        let counted = one(take::<Counted>("memory", &mut results, 1)?);
        let total = counted.map_or(0, |row| size(row.count));
        Ok((memories, total))
    }

    /// The number of live memories of each type, in no order.
    pub async fn count_by_type(self) -> Result<Vec<(Kind, usize)>, StoreError> {
        let counts =
            self.0.pairs("memory", ["type", "memories"], statement::MEMORY_TYPES, Vars::new()).await?;
        let known = |(kind, count): (String, usize)| Some((Kind::parse(&kind)?, count));
        Ok(counts.into_iter().filter_map(known).collect())
    }

    /// A memory, deleted or not, with the session of its present revision.
    pub async fn with_session(self, id: &MemoryId) -> Result<Option<(Memory, Option<Session>)>, StoreError> {
        let vars = Vars::new().with("ids", vec![memory_record(id)]);
        let rows = self.0.values::<RawRow>("memory", statement::MEMORY_SITTING, vars).await?;
        let Some(row) = one(rows) else { return Ok(None) };
        let mut row = row.columns("memory")?;
        let sitting = row.remove("sitting").filter(|sitting| matches!(sitting, Value::Object(_)));
        let session = sitting.map(|sitting| Session::read("session", sitting)).transpose()?;
        Ok(Some((Memory::take_from(&mut row, "memory")?, session)))
    }
}
