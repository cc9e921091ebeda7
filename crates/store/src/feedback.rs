//! Signs that memories were of use, or were not. They are derived from what agents did, as anchors are from code: no event
//! tells of them, and a purge takes them along.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::{
    Store, StoreError,
    read::{Vars, take},
    row::{datetime, memory_id, memory_record, session_record, signed, unsigned},
    statement,
};
use cerebro_core::domain::{MemoryId, Project, SessionId};
use cerebro_core::feedback::{Sign, Source};
use cerebro_core::text;

/// Bytes of a session's digest in a row's key.
const SESSION_BYTES: usize = 12;

/// How many signs each source gave.
pub type FeedbackCounts = BTreeMap<Source, u64>;

#[derive(SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Row {
    id: RecordId,
    memory: RecordId,
    session: RecordId,
    source: String,
    rank: i64,
    at: Datetime,
}

impl Store {
    /// Notes the signs of a session. One that is noted already stays as it is, so to note them again is harmless.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when other writes kept meeting this one.
    pub async fn put_signs(&self, session: &SessionId, signs: &[Sign]) -> Result<(), StoreError> {
        let at = datetime(self.now());
        let place = text::hex(&Sha256::digest(session.as_str())[..SESSION_BYTES]);
        let row = |sign: &Sign| Row {
            id: RecordId::new("feedback", format!("{}-{}-{place}", sign.memory, sign.source.as_str())),
            memory: memory_record(&sign.memory),
            session: session_record(session),
            source: sign.source.as_str().to_owned(),
            rank: signed(sign.rank as u64),
            at,
        };
        let memories: Vec<RecordId> = signs.iter().map(|sign| memory_record(&sign.memory)).collect();
        let vars =
            Vars::new().with("signs", signs.iter().map(row).collect::<Vec<Row>>()).with("memories", memories);
        self.retry_on_conflict(statement::FEEDBACK_PUT, vars).await?;
        Ok(())
    }

    /// The signs of each memory, counted: of [`Self::put_signs`] up to `limit` memories and sources. It walks all signs.
    ///
    /// # Errors
    /// A failing store.
    pub async fn signs_of_memories(
        &self,
        limit: usize,
    ) -> Result<BTreeMap<MemoryId, FeedbackCounts>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Counted {
            memory: RecordId,
            source: String,
            count: i64,
        }
        let vars = Vars::new().limit(limit);
        let mut results = self.engine()?.run(statement::FEEDBACK_OF_MEMORIES, vars.0).await?;
        let mut signs: BTreeMap<MemoryId, FeedbackCounts> = BTreeMap::new();
        for one in take::<Counted>("feedback", &mut results, 0)? {
            let Some(source) = Source::parse(&one.source) else { continue };
            signs.entry(memory_id("feedback", one.memory)?).or_default().insert(source, unsigned(one.count));
        }
        Ok(signs)
    }

    /// Counts the signs, of a project's memories or of all. It walks all signs.
    ///
    /// # Errors
    /// A failing store.
    pub async fn count_signs(&self, project: Option<&Project>) -> Result<FeedbackCounts, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Counted {
            source: String,
            count: i64,
        }
        let vars = Vars::new().with("project", project.map(|project| project.as_str().to_owned()));
        let mut results = self.engine()?.run(statement::FEEDBACK_COUNTS, vars.0).await?;
        let counted = take::<Counted>("feedback", &mut results, 0)?;
        // What a later version counts is not known here.
        Ok(counted
            .into_iter()
            .filter_map(|one| Some((Source::parse(&one.source)?, unsigned(one.count))))
            .collect())
    }
}
