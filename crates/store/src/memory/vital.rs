//! What the figures need of all memories: far less than their rows have.

use surrealdb::types::RecordId;

use super::super::{
    StoreError,
    columns::{Columns, RawRow, Row},
    read::Vars,
    statement,
};
use super::Memories;
use cerebro_core::domain::{Memory, MemoryId, Scope};
use cerebro_core::truth::Vital;

/// A memory as it is counted.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedMemory {
    pub id: MemoryId,
    pub scope: Scope,
    pub vital: Vital,
}

impl From<&Memory> for CountedMemory {
    fn from(memory: &Memory) -> Self {
        Self { id: memory.id, scope: memory.scope.clone(), vital: memory.into() }
    }
}

impl Row for CountedMemory {
    const TABLE: &'static str = "memory";

    fn from_row(row: RawRow) -> Result<Self, StoreError> {
        let mut row = row.columns(Self::TABLE)?;
        let at = row.get("updated_at").cloned();
        // No figure needs what is left empty here.
        row.insert("created_at", at);
        row.insert("tags", Vec::<String>::new());
        row.insert("purged", false);
        for text in ["title", "content", "agent"] {
            row.insert(text, "");
        }
        for count in ["revision", "duplicate_count", "version"] {
            row.insert(count, 0_i64);
        }
        Ok(Self::from(&Memory::take_from(&mut row, Self::TABLE)?))
    }
}

impl Memories<'_> {
    /// A page of all memories as they are counted, in order of id, deleted ones included. An empty page is the end.
    pub async fn counted_page(
        self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<CountedMemory>, StoreError> {
        // No id is empty, so every id comes after it.
        let after = RecordId::new("memory", after.map(MemoryId::as_str).unwrap_or_default());
        let vars = Vars::new().with("after", after).limit(limit);
        self.0.select(statement::MEMORY_VITALS, vars).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{memory, put, text, with_store};
    use cerebro_core::domain::{Flag, Kind, Nature, Timestamp, Trigger, Validity};

    #[test]
    fn a_memory_is_counted_as_its_whole_row_says() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut episode = memory(None);
        episode.body.kind = Kind::parse("session_summary").unwrap();
        let mut flagged = memory(Some("topic/key"));
        flagged.taint.flags = vec![Flag::Override];
        let mut todo = memory(None);
        todo.body.kind = Kind::parse("todo").unwrap();
        todo.body.scope = Scope::Personal;
        todo.trigger = Some(Trigger::stored(text("branch:main")));
        let valid = Validity { from: Some(at(5)), until: Some(at(9)) };
        let done = Memory { done_at: Some(at(8)), trigger: None, valid, ..todo.clone() };
        let mut all = vec![
            Memory { deleted_at: Some(at(7)), ..memory(None) },
            Memory { nature: Some(Nature::Episodic), pinned: true, ..memory(None) },
            Memory { id: MemoryId::random(), ..done },
            Memory { id: MemoryId::random(), archived_at: Some(at(6)), trigger: None, ..todo.clone() },
            episode,
            flagged,
            todo,
        ];
        all.sort_by_key(|memory| memory.id);
        with_store(async |store| {
            for memory in &all {
                put(store, memory.clone()).await.unwrap();
            }
            let want: Vec<CountedMemory> = all.iter().map(CountedMemory::from).collect();
            let first = store.memories().counted_page(None, 4).await.unwrap();
            let rest = store.memories().counted_page(Some(&all[3].id), all.len()).await.unwrap();
            assert_eq!([first, rest].concat(), want);
        });
    }
}
