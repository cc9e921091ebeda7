//! Texts that no longer hold: each is known again by a key made with a secret, and nothing of it is kept.
//!
//! The methods of `memory` that take a text away note it here, so that none can forget to.

use std::collections::BTreeMap;

use hmac::{Hmac, Mac};
use sha2::Sha256;
use surrealdb::types::{Datetime, RecordId, RecordIdKey, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, Part, Tables},
    read::{Vars, take},
    row::{Put, datetime, malformed, memory_id, memory_record, timestamp},
    statement,
};
use cerebro_core::domain::{Kind, Memory, MemoryId, Project, Scope, Timestamp};
use cerebro_core::{text, truth};

/// Bytes of a key: as many as make a chance meeting of two texts impossible.
const KEY_BYTES: usize = 20;

/// Why a text no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// An update replaced it.
    Corrected,
    /// Another memory took the place of its memory.
    Superseded,
    /// Its memory was deleted.
    Deleted,
    /// Its memory was purged.
    Purged,
}

impl Why {
    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Corrected => "corrected",
            Self::Superseded => "superseded",
            Self::Deleted => "deleted",
            Self::Purged => "purged",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Corrected, Self::Superseded, Self::Deleted, Self::Purged]
            .into_iter()
            .find(|why| why.as_str() == name)
    }

    /// Whether something else holds in its place: whoever says it again must be told.
    pub fn is_correction(self) -> bool {
        matches!(self, Self::Corrected | Self::Superseded)
    }
}

/// The note of a text that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// By which the text is known again.
    pub key: TextKey,
    /// Whose text it was.
    pub memory: MemoryId,
    /// Why it holds no longer.
    pub why: Why,
    /// What took the memory's place.
    pub replaced_by: Option<MemoryId>,
    /// Since when.
    pub at: Timestamp,
}

/// A key of a text: it cannot be read back without the secret of the home.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextKey(String);

impl TextKey {
    fn record(&self) -> RecordId {
        RecordId::new("tombstone", self.0.as_str())
    }
}

/// The secret with which keys are made.
#[derive(Clone)]
pub(super) struct Stonemason(Vec<u8>);

impl Stonemason {
    pub fn new(secret: &[u8]) -> Self {
        Self(secret.to_vec())
    }

    fn keys(&self, project: &Project, scope: Scope, title: &str, content: &str) -> Vec<TextKey> {
        let key = |form: String| {
            let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a secret of any length");
            let digest = mac.chain_update(form).finalize().into_bytes();
            TextKey(text::hex(&digest[..KEY_BYTES]))
        };
        truth::forms(project, scope, title, content).into_iter().map(key).collect()
    }

    fn keys_of(&self, memory: &Memory) -> Vec<TextKey> {
        self.keys(&memory.project, memory.scope, &memory.title, &memory.content)
    }
}

#[derive(Debug, Clone, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
struct Row {
    #[surreal(default)]
    id: Option<RecordId>,
    memory: RecordId,
    why: String,
    replaced_by: Option<RecordId>,
    at: Datetime,
}

impl Row {
    fn of(stone: &Tombstone) -> Self {
        Self {
            id: None,
            memory: memory_record(&stone.memory),
            why: stone.why.as_str().to_owned(),
            replaced_by: stone.replaced_by.as_ref().map(memory_record),
            at: datetime(stone.at),
        }
    }
}

impl TryFrom<Row> for Tombstone {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        const TABLE: &str = "tombstone";
        let Some(RecordIdKey::String(key)) = row.id.map(|id| id.key) else {
            return Err(malformed(TABLE, "missing", "id"));
        };
        Ok(Self {
            key: TextKey(key),
            memory: memory_id(TABLE, row.memory)?,
            why: Why::parse(&row.why).ok_or_else(|| malformed(TABLE, "why", &row.why))?,
            replaced_by: row.replaced_by.map(|id| memory_id(TABLE, id)).transpose()?,
            at: timestamp(row.at),
        })
    }
}

/// What changes in the table: by its key, each text that holds no longer, or holds again.
#[derive(Default)]
pub(super) struct TombstoneChanges {
    stones: BTreeMap<TextKey, Option<Tombstone>>,
}

impl Part for TombstoneChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let put: Vec<&Tombstone> = self.stones.values().flatten().collect();
        let (strong, weak): (Vec<&Tombstone>, Vec<&Tombstone>) =
            put.into_iter().partition(|stone| stone.why.is_correction());
        let lifted: Vec<&TextKey> =
            self.stones.iter().filter(|(_, stone)| stone.is_none()).map(|(key, _)| key).collect();
        commit.add(statement::COMMIT_LIFTED, "lifted", &lifted, |key| key.record());
        commit.add(statement::COMMIT_WEAK_TOMBSTONES, "weak_tombstones", &weak, |stone| Row {
            id: Some(stone.key.record()),
            ..Row::of(stone)
        });
        commit.add(statement::COMMIT_TOMBSTONES, "tombstones", &strong, |stone| Put {
            id: stone.key.record(),
            row: Row::of(stone),
        });
    }
}

impl Tables {
    /// Notes that a memory's text no longer holds, but for what `now` says too.
    pub(super) fn bury(
        &mut self,
        mason: &Stonemason,
        was: &Memory,
        now: Option<&Memory>,
        stone: (Why, Timestamp),
    ) {
        let (why, at) = stone;
        // What a session did is no fact that another one corrects.
        if was.purged || (why == Why::Corrected && was.kind == Kind::session_summary()) {
            return;
        }
        let kept = now.map(|now| mason.keys_of(now)).unwrap_or_default();
        let replaced_by = now.map(|now| now.id).filter(|id| *id != was.id);
        for key in mason.keys_of(was).into_iter().filter(|key| !kept.contains(key)) {
            let stone = Tombstone { key: key.clone(), memory: was.id, why, replaced_by, at };
            self.tombstones.stones.insert(key, Some(stone));
        }
    }

    /// Forgets what is noted of a memory's text, which holds again.
    pub(super) fn unbury(&mut self, mason: &Stonemason, memory: &Memory) {
        for key in mason.keys_of(memory) {
            self.tombstones.stones.insert(key, None);
        }
    }
}

/// A text that somebody says.
#[derive(Debug, Clone, Copy)]
pub struct Saying<'a> {
    /// Where.
    pub project: &'a Project,
    /// For whom.
    pub scope: Scope,
    /// Under which title.
    pub title: &'a str,
    /// What.
    pub content: &'a str,
}

impl<'a> From<&'a Memory> for Saying<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self { project: &memory.project, scope: memory.scope, title: &memory.title, content: &memory.content }
    }
}

impl Write<'_> {
    /// What will be noted of a text when this is committed; `own` is the memory that says it from now on, as it is: what
    /// that one says already is not looked for.
    ///
    /// # Errors
    /// A failing store.
    pub async fn tombstones(
        &self,
        saying: Saying<'_>,
        own: Option<&Memory>,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let mason = &self.store().mason;
        let said = own.map(|own| mason.keys_of(own)).unwrap_or_default();
        let Saying { project, scope, title, content } = saying;
        let mut keys = mason.keys(project, scope, title, content);
        keys.retain(|key| !said.contains(key));
        let mut found = Vec::new();
        keys.retain(|key| {
            let Some(stone) = self.tables().tombstones.stones.get(key) else { return true };
            found.extend(stone.clone());
            false
        });
        if !keys.is_empty() {
            let ids: Vec<RecordId> = keys.iter().map(TextKey::record).collect();
            let vars = Vars::new().with("ids", ids);
            let mut results = self.store().engine()?.run(statement::TOMBSTONE_GET, vars.0).await?;
            for row in take::<Row>("tombstone", &mut results, 0)? {
                found.push(Tombstone::try_from(row)?);
            }
        }
        Ok(found)
    }

    /// Forgets what is noted of texts, which hold again with what else this writes.
    pub fn lift(&mut self, stones: &[Tombstone]) {
        let noted = &mut self.beside().tombstones.stones;
        noted.extend(stones.iter().map(|stone| (stone.key.clone(), None)));
    }
}

impl Store {
    /// Makes the keys of texts with a secret: other secrets make other keys, and know none of these.
    #[must_use]
    pub fn with_secret(mut self, secret: &[u8]) -> Self {
        self.mason = Stonemason::new(secret);
        self
    }
}
