//! Signs that memories were useful or not. They are derived from agents' actions, as anchors are from code: they
//! have no events, and a purge removes them.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use surrealdb::types::{RecordId, object};

use super::{
    Store, StoreError,
    columns::{RawRow, take},
    read::Vars,
    row::{datetime, memory_record, session_record, signed},
    statement,
};
use cerebro_core::domain::{MemoryId, Project, SessionId};
use cerebro_core::feedback::{Sign, Source};
use cerebro_core::text;

/// Bytes of a session's digest in the key of a row.
const SESSION_BYTES: usize = 12;

/// The number of signs per source.
pub type FeedbackCounts = BTreeMap<Source, u64>;

const TABLE: &str = "feedback";

noun! {
    /// The signs that memories were useful or not.
    signs: Signs
}

impl Signs<'_> {
    /// Stores the signs of a session. A sign that is stored already stays, so repeating the call is harmless.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when other writes kept conflicting with this one.
    pub async fn put(self, session: &SessionId, signs: &[Sign]) -> Result<(), StoreError> {
        let at = datetime(self.0.now());
        let place = text::hex(&Sha256::digest(session.as_str())[..SESSION_BYTES]);
        let row = |sign: &Sign| {
            object! {
                id: RecordId::new(TABLE, format!("{}-{}-{place}", sign.memory, sign.source.as_str())),
                memory: memory_record(&sign.memory),
                session: session_record(session),
                source: sign.source.as_str().to_owned(),
                rank: signed(sign.rank as u64),
                at: at,
            }
        };
        let memories = signs.iter().map(|sign| memory_record(&sign.memory));
        let vars = Vars::new().list("signs", signs.iter().map(row)).list("memories", memories);
        self.0.execute(statement::FEEDBACK_PUT, vars).await
    }

    /// Counts the signs of each memory and source, up to `limit` of them. It walks all signs.
    pub async fn by_memory(self, limit: usize) -> Result<BTreeMap<MemoryId, FeedbackCounts>, StoreError> {
        let vars = Vars::new().limit(limit);
        let mut signs: BTreeMap<MemoryId, FeedbackCounts> = BTreeMap::new();
        for row in self.0.values::<RawRow>(TABLE, statement::FEEDBACK_OF_MEMORIES, vars).await? {
            let mut row = row.columns(TABLE)?;
            let source: String = take(TABLE, &mut row, "source")?;
            let Some(source) = Source::parse(&source) else { continue };
            let counts = signs.entry(take(TABLE, &mut row, "memory")?).or_default();
            counts.insert(source, take(TABLE, &mut row, "count")?);
        }
        Ok(signs)
    }

    /// Counts the signs of the memories of a project or of all. It walks all signs.
    pub async fn count(self, project: Option<&Project>) -> Result<FeedbackCounts, StoreError> {
        let vars = Vars::new().with("project", project.map(|project| project.as_str().to_owned()));
        let counts: Vec<(String, u64)> =
            self.0.pairs(TABLE, ["source", "count"], statement::FEEDBACK_COUNTS, vars).await?;
        // Sources of a later version are unknown here.
        Ok(counts.into_iter().filter_map(|(source, count)| Some((Source::parse(&source)?, count))).collect())
    }
}
