//! What the figures need of all memories: far less than their rows have.

use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::super::{
    StoreError,
    read::Vars,
    row::{BodyRow, memory_id, taint, timestamp, validity},
    statement,
};
use super::Memories;
use cerebro_core::domain::{Memory, MemoryId, Nature, Scope, Trigger};
use cerebro_core::redact::RedactedText;
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

#[derive(Debug, Clone, SurrealValue)]
struct VitalRow {
    id: RecordId,
    project: String,
    scope: String,
    #[surreal(rename = "type")]
    kind: String,
    topic_key: Option<String>,
    flags: Option<Vec<String>>,
    pinned: bool,
    updated_at: Datetime,
    last_seen_at: Datetime,
    deleted_at: Option<Datetime>,
    valid_from: Option<Datetime>,
    valid_until: Option<Datetime>,
    nature: Option<String>,
    trigger: Option<String>,
    done_at: Option<Datetime>,
    archived_at: Option<Datetime>,
}

impl TryFrom<VitalRow> for CountedMemory {
    type Error = StoreError;

    fn try_from(row: VitalRow) -> Result<Self, StoreError> {
        const TABLE: &str = "memory";
        let VitalRow { project, scope, kind, topic_key, .. } = row;
        let (title, content, tags) = (String::new(), String::new(), Vec::new());
        let updated_at = timestamp(row.updated_at);
        // No figure needs what is left empty here.
        let memory = Memory {
            id: memory_id(TABLE, row.id)?,
            body: BodyRow { project, scope, kind, title, content, topic_key, tags }.read(TABLE)?,
            taint: taint(None, row.flags.as_deref()),
            agent: RedactedText::default(),
            session: None,
            revision: 0,
            duplicate_count: 0,
            pinned: row.pinned,
            created_at: updated_at,
            updated_at,
            last_seen_at: timestamp(row.last_seen_at),
            deleted_at: row.deleted_at.map(timestamp),
            purged: false,
            version: 0,
            valid: validity(row.valid_from, row.valid_until),
            nature: row.nature.as_deref().and_then(Nature::parse),
            trigger: row.trigger.map(RedactedText::from_store).map(Trigger::stored),
            done_at: row.done_at.map(timestamp),
            archived_at: row.archived_at.map(timestamp),
        };
        Ok(Self::from(&memory))
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
        self.0.select::<VitalRow, _>("memory", statement::MEMORY_VITALS, vars).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{memory, put, text, with_store};
    use cerebro_core::domain::{Flag, Kind, Timestamp, Validity};

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
