//! Tombstones: a text that no longer holds is recognised by a key made with a secret. The text itself is not kept.
//!
//! The methods of `memory` that remove or replace a text make its tombstones, so that none can be forgotten.

use std::collections::{BTreeMap, BTreeSet};

use hmac::{Hmac, Mac};
use sha2::Sha256;
use surrealdb::types::{Datetime, RecordId, RecordIdKey, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, Happened, Part, Tables},
    read::{Page, Vars, take},
    retry::Attempts,
    row::{Put, datetime, malformed, memory_id, memory_record, timestamp},
    statement::{self, Statement},
};
use cerebro_core::domain::{Body, EventKind, Kind, Memory, MemoryId, Scope, SessionId, Timestamp};
use cerebro_core::{sameness, text};

/// Bytes of a key, enough to rule out accidental collisions.
const KEY_BYTES: usize = 20;

/// Why a text no longer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// An update replaced it.
    Corrected,
    /// Another memory superseded its memory.
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

    /// Whether something else holds in its place, of which a caller who says the text again must be told.
    pub fn is_correction(self) -> bool {
        matches!(self, Self::Corrected | Self::Superseded)
    }
}

/// The record of a text that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The key that recognises the text.
    pub key: TextKey,
    /// The memory that had the text.
    pub memory: MemoryId,
    /// Why it no longer holds.
    pub why: Why,
    /// The memory that took its place.
    pub replaced_by: Option<MemoryId>,
    /// Since when.
    pub at: Timestamp,
}

/// The key of a text. Without the secret of the home, the text cannot be guessed from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextKey(String);

impl TextKey {
    fn record(&self) -> RecordId {
        RecordId::new("tombstone", self.0.as_str())
    }
}

/// Makes keys with the secret.
#[derive(Clone)]
pub(super) struct Stonemason(Vec<u8>);

impl Stonemason {
    pub fn new(secret: &[u8]) -> Self {
        Self(secret.to_vec())
    }

    /// The keys by which a text is looked up: one with its title, and one for its content under any title.
    fn keys(&self, scope: &Scope, title: &str, content: &str) -> [TextKey; 2] {
        sameness::forms(scope, title, content).map(|form| TextKey(self.digest(&form)))
    }

    fn keys_of(&self, memory: &Memory) -> [TextKey; 2] {
        self.keys(&memory.scope, &memory.title, &memory.content)
    }

    /// The keys recorded for a memory's text. The one for its content alone is included only if the content says
    /// the same under any title.
    fn noted_keys(&self, memory: &Memory) -> impl Iterator<Item = TextKey> {
        let count = if sameness::is_self_contained(&memory.title, &memory.content) { 2 } else { 1 };
        self.keys_of(memory).into_iter().take(count)
    }

    fn digest(&self, form: &str) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a secret of any length");
        text::hex(&mac.chain_update(form).finalize().into_bytes()[..KEY_BYTES])
    }

    /// A name of the secret, which records that tombstones were made with it.
    fn name(&self) -> String {
        self.digest("the secret itself")
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

/// The changes of the table, by key: each text that no longer holds, or that holds again.
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
    /// Records that a memory's text no longer holds, except for what `now` says, too. Returns whether there was
    /// anything to record.
    pub(super) fn bury(
        &mut self,
        mason: &Stonemason,
        was: &Memory,
        now: Option<&Memory>,
        stone: (Why, Timestamp),
    ) -> bool {
        let (why, at) = stone;
        // What a session did is not a fact that another summary corrects.
        if was.purged || (why == Why::Corrected && was.kind == Kind::session_summary()) {
            return false;
        }
        let kept = now.map(|now| mason.keys_of(now));
        let is_kept = |key: &TextKey| kept.as_ref().is_some_and(|kept| kept.contains(key));
        let replaced_by = now.map(|now| now.id).filter(|id| *id != was.id);
        let mut has_any = false;
        for key in mason.noted_keys(was).filter(|key| !is_kept(key)) {
            let stone = Tombstone { key: key.clone(), memory: was.id, why, replaced_by, at };
            self.tombstones.stones.insert(key, Some(stone));
            has_any = true;
        }
        has_any
    }

    /// Records that a memory has a different text now, in its present place and in the one before a move. A memory
    /// that only moves still says what it said.
    pub(super) fn correct(&mut self, mason: &Stonemason, was: &Memory, now: &Memory, at: Timestamp) {
        let body = Body { scope: now.scope.clone(), ..was.body.clone() };
        let moved = Memory { body, ..was.clone() };
        let is_corrected = self.bury(mason, &moved, Some(now), (Why::Corrected, at));
        if is_corrected && was.scope != now.scope {
            self.bury(mason, was, Some(now), (Why::Corrected, at));
        }
    }

    /// Forgets tombstones, because their texts hold again.
    pub(super) fn unbury(&mut self, stones: &[Tombstone]) {
        self.tombstones.stones.extend(stones.iter().map(|stone| (stone.key.clone(), None)));
    }
}

/// A text that somebody says.
#[derive(Debug, Clone, Copy)]
pub struct Saying<'a> {
    /// Its scope.
    pub scope: &'a Scope,
    /// Its title.
    pub title: &'a str,
    /// Its content.
    pub content: &'a str,
}

impl<'a> From<&'a Memory> for Saying<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self { scope: &memory.scope, title: &memory.title, content: &memory.content }
    }
}

/// A text that no longer holds, as derived from the rows.
#[derive(Debug, Clone)]
pub struct Fallen {
    /// The memory with that text.
    pub was: Memory,
    /// What holds in its place.
    pub now: Option<Memory>,
    /// Why it no longer holds.
    pub why: Why,
    /// Since when.
    pub at: Timestamp,
}

impl Write<'_> {
    /// The tombstones that a text will have after this commit: in its project, under the former names of that, and
    /// among personal texts, since what is personal is found in every project. `own` is the memory that says the text
    /// from now on: what that memory says already is not looked up.
    ///
    /// # Errors
    /// A failing store.
    pub async fn tombstones(
        &self,
        saying: Saying<'_>,
        own: Option<&Memory>,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let mason = &self.store().mason;
        let Saying { scope, title, content } = saying;
        let places = self.store().under_former_names(scope).await?;
        let is_here = |own: &&Memory| own.scope == *scope;
        // What the memory says in its own project, it also says under each former name of that.
        let said = own.filter(is_here).map(|own| (&own.title, &own.content));
        let said: Vec<TextKey> = said
            .into_iter()
            .flat_map(|(title, content)| places.iter().map(move |place| (place, title, content)))
            .flat_map(|(place, title, content)| mason.keys(place, title, content))
            .collect();
        let mut keys: Vec<TextKey> =
            places.iter().flat_map(|place| mason.keys(place, title, content)).collect();
        if !scope.is_personal() {
            keys.extend(mason.keys(&Scope::Personal, title, content));
        }
        keys.retain(|key| !said.contains(key));
        let mut found = Vec::new();
        keys.retain(|key| {
            let Some(stone) = self.tables().tombstones.stones.get(key) else { return true };
            found.extend(stone.clone());
            false
        });
        if !keys.is_empty() {
            let ids: Vec<RecordId> = keys.iter().map(TextKey::record).collect();
            found.extend(self.store().stones(statement::TOMBSTONE_GET, Vars::new().with("ids", ids)).await?);
        }
        Ok(found)
    }

    /// Forgets tombstones whose texts hold again, because somebody said them in a memory.
    pub fn revive_memory(&mut self, memory: &Memory, stones: &[Tombstone], session: &SessionId) {
        self.record(Happened::to_memory(EventKind::MemoryRevived, memory, Some(session))).unbury(stones);
    }

    /// Forgets tombstones for good, although nobody said their texts again.
    pub fn forget_tombstones(&mut self, stones: &[Tombstone]) {
        let memory = stones.first().map(|stone| stone.memory);
        let memory = memory.filter(|memory| stones.iter().all(|stone| stone.memory == *memory));
        self.record(Happened { memory, ..Happened::to_none(EventKind::TombstonesForgotten) }).unbury(stones);
    }
}

impl Store {
    /// Derives the tombstones again from the rows, with the secret of this home. Their causes are in the log, so
    /// there is no event.
    ///
    /// # Errors
    /// A failing store.
    pub async fn remake_tombstones(&self, fallen: &[Fallen]) -> Result<(), StoreError> {
        let mut tables = Tables::default();
        for Fallen { was, now, why, at } in fallen {
            match now {
                Some(now) if *why == Why::Corrected => tables.correct(&self.mason, was, now, *at),
                _ => drop(tables.bury(&self.mason, was, now.as_ref(), (*why, *at))),
            }
        }
        self.put_derived(&tables.tombstones).await
    }

    /// Removes tombstones that [`Self::remake_tombstones`] made of texts which memories say.
    ///
    /// # Errors
    /// A failing store.
    pub async fn keep_holding(&self, memories: &[Memory]) -> Result<(), StoreError> {
        let keys = memories.iter().flat_map(|memory| self.mason.keys_of(memory));
        self.put_derived(&TombstoneChanges { stones: keys.map(|key| (key, None)).collect() }).await
    }

    /// A page of all tombstones in order of key, whichever secret made them.
    ///
    /// # Errors
    /// A failing store.
    pub async fn page_of_tombstones(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Tombstone>, StoreError> {
        self.page_of::<Row, _>("tombstone", after, limit).await
    }

    /// Takes over tombstones from another database of this home; existing ones stay.
    ///
    /// # Errors
    /// A failing store.
    pub async fn carry_tombstones(&self, stones: &[Tombstone]) -> Result<(), StoreError> {
        let stones = stones.iter().map(|stone| (stone.key.clone(), Some(stone.clone()))).collect();
        self.put_derived(&TombstoneChanges { stones }).await
    }

    /// Those among some memories that say a text of these tombstones.
    pub fn saying(&self, memories: &[Memory], stones: &[Tombstone]) -> Vec<MemoryId> {
        let keys: BTreeSet<&TextKey> = stones.iter().map(|stone| &stone.key).collect();
        let says = |memory: &&Memory| self.mason.noted_keys(memory).any(|key| keys.contains(&key));
        memories.iter().filter(says).map(|memory| memory.id).collect()
    }

    async fn put_derived(&self, changes: &TombstoneChanges) -> Result<(), StoreError> {
        if changes.stones.is_empty() {
            return Ok(());
        }
        let (script, vars) = CommitScript::derived(changes, self.now());
        let mut attempts = Attempts::default();
        loop {
            let _alone = self.pause().await;
            match self.engine()?.script("tombstones", &script, vars.clone()).await.map_err(StoreError::from) {
                Ok(_) => return Ok(()),
                Err(error) if error.is_retryable() => attempts.again().await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn stones(&self, statement: Statement, vars: Vars) -> Result<Vec<Tombstone>, StoreError> {
        let mut results = self.engine()?.run(statement, vars.0).await?;
        take::<Row>("tombstone", &mut results, 0)?.into_iter().map(Tombstone::try_from).collect()
    }

    /// The latest tombstones of all memories or of one, newest first.
    ///
    /// # Errors
    /// A failing store.
    pub async fn latest_tombstones(
        &self,
        memory: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let vars = Vars::new().limit(limit);
        match memory {
            Some(memory) => {
                self.stones(statement::TOMBSTONE_OF, vars.with("memory", memory_record(memory))).await
            }
            None => self.stones(statement::TOMBSTONE_LATEST, vars).await,
        }
    }

    /// The number of tombstones.
    ///
    /// # Errors
    /// A failing store.
    pub async fn tombstone_count(&self) -> Result<usize, StoreError> {
        let mut results = self.engine()?.run(statement::TOMBSTONE_COUNT, Vars::new().0).await?;
        let counts: Vec<i64> = take("tombstone", &mut results, 0)?;
        Ok(counts.first().and_then(|count| usize::try_from(*count).ok()).unwrap_or(0))
    }

    /// The tombstones to forget first: those of deleted memories before those of corrected texts, and the oldest of
    /// either.
    ///
    /// # Errors
    /// A failing store.
    pub async fn oldest_tombstones(&self, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        let mut oldest = Vec::new();
        for whys in [[Why::Deleted, Why::Purged], [Why::Corrected, Why::Superseded]] {
            let whys = whys.map(|why| why.as_str().to_owned()).to_vec();
            let vars = Vars::new().with("whys", whys).limit(limit.saturating_sub(oldest.len()));
            oldest.extend(self.stones(statement::TOMBSTONE_OLDEST, vars).await?);
        }
        oldest.truncate(limit);
        Ok(oldest)
    }

    /// Whether it is recorded that tombstones were made with the secret of this home, and with any secret at all.
    ///
    /// # Errors
    /// A failing store.
    pub async fn knows_secret(&self) -> Result<(bool, bool), StoreError> {
        let mut results = self.engine()?.run(statement::TOMBSTONE_SECRETS, Vars::new().0).await?;
        let names: Vec<String> = take("tombstone_secret", &mut results, 0)?;
        Ok((names.contains(&self.mason.name()), !names.is_empty()))
    }

    /// Records that tombstones are made with the secret of this home. It is about no memory, so there is no event.
    ///
    /// # Errors
    /// A failing store.
    pub async fn note_secret(&self) -> Result<(), StoreError> {
        let vars = Vars::new().with("id", RecordId::new("tombstone_secret", self.mason.name()));
        Ok(self
            .engine()?
            .run(statement::TOMBSTONE_SECRET_PUT, vars.at("at", self.now()).0)
            .await
            .map(drop)?)
    }

    /// Sets the secret for keys. Other secrets make other keys, which recognise none of these.
    #[must_use]
    pub fn with_secret(mut self, secret: &[u8]) -> Self {
        self.mason = Stonemason::new(secret);
        self
    }
}

/// What is noted of a memory's text when it is deleted, for tests.
#[cfg(test)]
pub(super) fn stone(mason: &Stonemason, memory: &Memory) -> Tombstone {
    let key = mason.keys_of(memory)[0].clone();
    Tombstone { key, memory: memory.id, why: Why::Deleted, replaced_by: None, at: Timestamp::UNIX_EPOCH }
}
