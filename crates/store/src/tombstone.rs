//! Tombstones: a text that no longer holds is recognised by a key made with a secret. The text itself is not kept.
//!
//! The methods of `memory` that remove or replace a text make its tombstones, so that none can be forgotten.

use std::collections::{BTreeMap, BTreeSet};

use surrealdb::types::{RecordId, RecordIdKey};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part, Tables},
    columns::{columns, put_row, row_of, with_id},
    read::{Vars, Walk, one},
    row::{memory_record, size},
    statement,
    text_key::{KeyMaker, ReadText, TextKey, places_among},
};
use cerebro_core::domain::{Body, EventKind, Kind, Memory, MemoryId, Scope, SessionId, Timestamp};
use cerebro_core::named;
use cerebro_core::sameness::{self, Part as TextPart, Place};

/// Most tombstones of some memories that are read for the moments when they were made.
const SINCE_MAX: usize = 10_000;
/// How many keys are read at once.
const KEYS_PAGE: usize = 10_000;

named! {
    /// Why a text no longer holds.
    pub enum Why {
        /// An update replaced it.
        Corrected = "corrected",
        /// Another memory superseded its memory.
        Superseded = "superseded",
        /// Its memory was deleted.
        Deleted = "deleted",
        /// Its memory was purged.
        Purged = "purged",
    }
}

impl Why {
    /// Whether something else holds in its place. A caller that saves the text again must learn of it.
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

columns! { Tombstone in "tombstone" { key: key(str::parse::<TextKey>), memory, why, replaced_by, at } }

/// The changes of the table, by key: each text that no longer holds, or that holds again.
#[derive(Default)]
pub(super) struct TombstoneChanges {
    by_key: BTreeMap<TextKey, Option<Tombstone>>,
}

impl TombstoneChanges {
    /// The keys that tombstones get.
    pub fn new_keys(&self) -> impl Iterator<Item = &str> {
        self.by_key.iter().filter(|(_, tombstone)| tombstone.is_some()).map(|(key, _)| &*key.0)
    }
}

impl Part for TombstoneChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let put: Vec<&Tombstone> = self.by_key.values().flatten().collect();
        let (strong, weak): (Vec<&Tombstone>, Vec<&Tombstone>) =
            put.into_iter().partition(|tombstone| tombstone.why.is_correction());
        let lifted: Vec<&TextKey> =
            self.by_key.iter().filter(|(_, tombstone)| tombstone.is_none()).map(|(key, _)| key).collect();
        commit.add(statement::COMMIT_LIFTED, "lifted", &lifted, |key| key.record());
        commit.add(statement::COMMIT_WEAK_TOMBSTONES, "weak_tombstones", &weak, |tombstone| {
            with_id(tombstone.key.record(), row_of(*tombstone))
        });
        commit.add(statement::COMMIT_TOMBSTONES, "tombstones", &strong, |tombstone| {
            put_row(tombstone.key.record(), *tombstone)
        });
    }
}

impl Tables {
    /// Records that a memory's text no longer holds, except for what `now` says, too. Returns whether there was
    /// anything to record.
    pub(super) fn add_tombstones(
        &mut self,
        key_maker: &KeyMaker,
        was: &Memory,
        now: Option<&Memory>,
        (why, at): (Why, Timestamp),
    ) -> bool {
        // What a session did is not a fact that another summary corrects.
        if was.purged || (why == Why::Corrected && was.kind == Kind::session_summary()) {
            return false;
        }
        let kept = now.map(|now| key_maker.keys_of(now));
        let is_kept = |key: &TextKey| kept.as_ref().is_some_and(|kept| kept.contains(key));
        let replaced_by = now.map(|now| now.id).filter(|id| *id != was.id);
        let with_title = key_maker.noted_with_title(was);
        let mut note = |form: &str| {
            let content = key_maker.noted_content(was, form);
            let is_still_said = content.as_ref().is_some_and(is_kept);
            // The key of a content under any title recognises it under its own, too. What only got another title is still
            // said, behind the old title as well.
            let titled = (content.is_none() || is_still_said).then(|| key_maker.noted_key(was, form));
            let behind = with_title.iter().filter(|_| !is_still_said).cloned();
            let keys = [titled, content, key_maker.noted_anywhere(was, form)].into_iter().flatten();
            let keys: Vec<TextKey> = keys.chain(behind).filter(|key| !is_kept(key)).collect();
            let has_any = !keys.is_empty();
            let tombstone =
                |key: TextKey| (key.clone(), Some(Tombstone { key, memory: was.id, why, replaced_by, at }));
            self.tombstones.by_key.extend(keys.into_iter().map(tombstone));
            has_any
        };
        let noted = sameness::noted(&was.content);
        if note(&noted) {
            let as_written = sameness::noted_as_written(&was.content);
            if as_written != noted {
                note(&as_written);
            }
            return true;
        }
        // The new text has the same normal form, so only case or accents differ. Then the exact form is recorded.
        note(&sameness::noted_exactly(&was.content))
    }

    /// Records that a memory has a different text now, in its present place and in the one before a move. A memory
    /// that only moves still says what it said.
    pub(super) fn correct(&mut self, key_maker: &KeyMaker, was: &Memory, now: &Memory, at: Timestamp) {
        let body = Body { scope: now.scope.clone(), ..was.body.clone() };
        let moved = Memory { body, ..was.clone() };
        let is_corrected = self.add_tombstones(key_maker, &moved, Some(now), (Why::Corrected, at));
        if is_corrected && was.scope != now.scope {
            self.add_tombstones(key_maker, was, Some(now), (Why::Corrected, at));
        }
    }

    /// Forgets tombstones, because their texts hold again.
    pub(super) fn remove_tombstones(&mut self, tombstones: &[Tombstone]) {
        self.tombstones.by_key.extend(tombstones.iter().map(|tombstone| (tombstone.key.clone(), None)));
    }
}

/// A text that somebody says.
#[derive(Debug, Clone, Copy)]
pub struct SaidText<'a> {
    pub scope: &'a Scope,
    pub title: &'a str,
    pub content: &'a str,
}

impl<'a> From<&'a Memory> for SaidText<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self { scope: &memory.scope, title: &memory.title, content: &memory.content }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextTombstones {
    /// Those that hold in its scope: of its project, of the former names of that, and of what is personal, since that is
    /// found in every project.
    pub here: Vec<Tombstone>,
    /// Those that were made in some project.
    in_some_project: Vec<Tombstone>,
    is_personal: bool,
}

impl TextTombstones {
    /// Those that hold against the text if nobody decided on it. What some project corrected is the same person's: it does
    /// not become a personal text by itself.
    pub fn against_unasked(&self) -> impl Iterator<Item = &Tombstone> {
        self.here.iter().chain(self.in_some_project.iter().filter(|_| self.is_personal))
    }

    /// All of them, those of other projects too.
    pub fn all(&self) -> impl Iterator<Item = &Tombstone> {
        self.here.iter().chain(&self.in_some_project)
    }

    /// Those that do not meet a condition.
    #[must_use]
    pub fn without(mut self, is_meant: impl Fn(&Tombstone) -> bool) -> Self {
        self.here.retain(|tombstone| !is_meant(tombstone));
        self.in_some_project.retain(|tombstone| !is_meant(tombstone));
        self
    }

    /// Those that go when somebody says the text.
    pub fn into_lifted(self) -> Vec<Tombstone> {
        // What one project says lifts nothing of another.
        let is_lifted = self.is_personal || !self.here.is_empty();
        let beyond = self.in_some_project.into_iter().filter(|_| is_lifted);
        self.here.into_iter().chain(beyond).collect()
    }
}

/// A text that no longer holds, as derived from the rows.
#[derive(Debug, Clone)]
pub struct OutdatedText {
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
    /// The tombstones that a text will have after this commit. `own` is the memory that says the text from now on: what
    /// that memory says already is not looked up.
    pub async fn tombstones(
        &self,
        text: SaidText<'_>,
        own: Option<&Memory>,
    ) -> Result<TextTombstones, StoreError> {
        let key_maker = &self.store().key_maker;
        let SaidText { scope, title, content } = text;
        // Reading a text takes long, and the writer waits.
        if !self.has_tombstones().await? {
            return Ok(TextTombstones { is_personal: scope.is_personal(), ..TextTombstones::default() });
        }
        let read = ReadText::of(title, content);
        let names = self.store().projects().under_former_names(scope).await?;
        // What the memory says in its own project, it also says under each former name of that.
        let said: BTreeSet<TextKey> = own
            .filter(|own| own.scope == *scope)
            .map(|own| ReadText::of(&own.title, &own.content))
            .iter()
            .flat_map(|own| {
                let places = names.iter().map(Place::In).chain([Place::SomeProject]);
                places.flat_map(move |place| key_maker.keys(place, own).collect::<Vec<_>>())
            })
            .collect();
        let keys = |place| -> BTreeSet<TextKey> {
            key_maker.keys(place, &read).filter(|key| !said.contains(key)).collect()
        };
        let here: BTreeSet<TextKey> = places_among(&names, scope).flat_map(keys).collect();
        let in_some_project = keys(Place::SomeProject);
        let found = self.tombstones_by_key(here.iter().chain(&in_some_project)).await?;
        let of = |keys: &BTreeSet<TextKey>| keys.iter().filter_map(|key| found.get(key).cloned()).collect();
        Ok(TextTombstones {
            here: of(&here),
            in_some_project: of(&in_some_project),
            is_personal: scope.is_personal(),
        })
    }

    /// The tombstones that the parts of a text that nobody decided on will have after this commit, for each part. They
    /// are read in one query.
    pub async fn tombstones_of_parts(
        &self,
        scope: &Scope,
        parts: &[TextPart],
    ) -> Result<Vec<Vec<Tombstone>>, StoreError> {
        let keys = self.store().keys_of_parts(scope, parts).await?;
        let found = self.tombstones_by_key(keys.iter().flatten()).await?;
        Ok(of_each(&keys, &found))
    }

    /// Whether any text may have a tombstone after this commit.
    pub async fn has_tombstones(&self) -> Result<bool, StoreError> {
        self.store().hold_tombstone_keys().await?;
        Ok(!self.tables().tombstones.by_key.is_empty() || self.store().held_keys.has_any())
    }

    async fn tombstones_by_key<'k>(
        &self,
        keys: impl Iterator<Item = &'k TextKey>,
    ) -> Result<BTreeMap<TextKey, Tombstone>, StoreError> {
        let mut found = BTreeMap::new();
        let mut stored: BTreeSet<&TextKey> = BTreeSet::new();
        for key in keys {
            match self.tables().tombstones.by_key.get(key) {
                Some(changed) => found.extend(changed.clone().map(|tombstone| (key.clone(), tombstone))),
                None => drop(stored.insert(key)),
            }
        }
        // This code holds the writer, so nobody else writes meanwhile.
        self.store().hold_tombstone_keys().await?;
        found.extend(self.store().tombstones().by_key(stored).await?);
        Ok(found)
    }

    /// Forgets tombstones whose texts hold again, because somebody said them in a memory.
    pub fn revive_memory(&mut self, memory: &Memory, tombstones: &[Tombstone], session: &SessionId) {
        self.record(NewEvent::about_memory(EventKind::MemoryRevived, memory, Some(session)))
            .remove_tombstones(tombstones);
    }

    /// Forgets tombstones for good, although nobody said their texts again: those of a memory, which are then not derived
    /// again, or those that are too many.
    pub fn forget_tombstones(&mut self, tombstones: &[Tombstone], memory: Option<MemoryId>) {
        self.record(NewEvent { memory, ..NewEvent::about_nothing(EventKind::TombstonesForgotten) })
            .remove_tombstones(tombstones);
    }
}

/// The tombstones of each set of keys.
fn of_each(keys: &[BTreeSet<TextKey>], found: &BTreeMap<TextKey, Tombstone>) -> Vec<Vec<Tombstone>> {
    let of = |keys: &BTreeSet<TextKey>| keys.iter().filter_map(|key| found.get(key).cloned()).collect();
    keys.iter().map(of).collect()
}

impl Store {
    /// The keys by which each part of a text is looked up.
    async fn keys_of_parts(
        &self,
        scope: &Scope,
        parts: &[TextPart],
    ) -> Result<Vec<BTreeSet<TextKey>>, StoreError> {
        let names = self.projects().under_former_names(scope).await?;
        let beyond = scope.is_personal().then_some(Place::SomeProject);
        let places: Vec<Place<'_>> = places_among(&names, scope).chain(beyond).collect();
        let keys = |part: &TextPart| -> BTreeSet<TextKey> {
            part.forms
                .iter()
                .flat_map(|form| places.iter().map(|place| self.key_maker.key(*place, None, form)))
                .collect()
        };
        Ok(parts.iter().map(keys).collect())
    }

    /// Reads the keys of all tombstones into memory, unless they are held already. The caller makes sure that nobody writes
    /// meanwhile. Those of a shared database are not held, because another process may write at any time.
    async fn hold_tombstone_keys(&self) -> Result<(), StoreError> {
        if self.held_keys.are_read() || self.is_shared() {
            return Ok(());
        }
        let mut keys: Vec<String> = Vec::new();
        loop {
            let after = RecordId::new("tombstone", keys.last().map(String::as_str).unwrap_or_default());
            let vars = Vars::new().with("after", after).limit(KEYS_PAGE);
            let page: Vec<RecordId> = self.values("tombstone", statement::TOMBSTONE_KEYS, vars).await?;
            let before = keys.len();
            keys.extend(page.into_iter().filter_map(|id| match id.key {
                RecordIdKey::String(key) => Some(key),
                _ => None,
            }));
            if keys.len() < before + KEYS_PAGE {
                self.held_keys.hold(keys.iter().map(String::as_str));
                return Ok(());
            }
        }
    }
}

noun! {
    /// The tombstones.
    tombstones: Tombstones
}

impl<'a> Tombstones<'a> {
    /// The present tombstones of the parts of a text, for each part.
    pub async fn of_parts(
        self,
        scope: &Scope,
        parts: &[TextPart],
    ) -> Result<Vec<Vec<Tombstone>>, StoreError> {
        let keys = self.0.keys_of_parts(scope, parts).await?;
        self.hold_keys().await?;
        let found = self.by_key(keys.iter().flatten().collect()).await?;
        Ok(of_each(&keys, &found))
    }

    /// Whether any text may have a tombstone.
    pub async fn has_any(self) -> Result<bool, StoreError> {
        self.hold_keys().await?;
        Ok(self.0.held_keys.has_any())
    }

    async fn hold_keys(self) -> Result<(), StoreError> {
        // Those of a shared database are never held, so no reader waits for the writer.
        if self.0.held_keys.are_read() || self.0.is_shared() {
            return Ok(());
        }
        let _alone = self.0.pause().await;
        self.0.hold_tombstone_keys().await
    }

    async fn by_key(self, keys: BTreeSet<&TextKey>) -> Result<BTreeMap<TextKey, Tombstone>, StoreError> {
        let ids: Vec<RecordId> =
            keys.into_iter().filter(|key| self.0.held_keys.may_have(&key.0)).map(TextKey::record).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let found: Vec<Tombstone> =
            self.0.select(statement::TOMBSTONE_GET, Vars::new().with("ids", ids)).await?;
        Ok(found.into_iter().map(|tombstone| (tombstone.key.clone(), tombstone)).collect())
    }

    /// Derives the tombstones again from the rows, with the secret of this home. Their causes are in the log, so
    /// there is no event.
    pub async fn rebuild(self, texts: &[OutdatedText]) -> Result<(), StoreError> {
        let mut tables = Tables::default();
        for OutdatedText { was, now, why, at } in texts {
            match now {
                Some(now) if *why == Why::Corrected => tables.correct(&self.0.key_maker, was, now, *at),
                _ => drop(tables.add_tombstones(&self.0.key_maker, was, now.as_ref(), (*why, *at))),
            }
        }
        self.put_derived(&tables.tombstones).await
    }

    /// Removes tombstones that [`Self::rebuild`] made of texts which memories say.
    pub async fn remove_said_by(self, memories: &[Memory]) -> Result<(), StoreError> {
        // Nearly all memories say nothing that has one. Without any, no text need be read.
        if !self.has_any().await? {
            return Ok(());
        }
        let keys = memories.iter().flat_map(|memory| self.0.key_maker.keys_of(memory));
        let keys = keys.filter(|key| self.0.held_keys.may_have(&key.0));
        self.put_derived(&TombstoneChanges { by_key: keys.map(|key| (key, None)).collect() }).await
    }

    /// Removes tombstones that [`Self::rebuild`] made of a memory's texts that had ceased to hold by some moment.
    pub async fn remove_until(self, memory: &MemoryId, until: Timestamp) -> Result<(), StoreError> {
        let made = self.latest(Some(memory), SINCE_MAX).await?.into_iter();
        let gone = made.filter(|tombstone| tombstone.at <= until).map(|tombstone| (tombstone.key, None));
        self.put_derived(&TombstoneChanges { by_key: gone.collect() }).await
    }

    /// All tombstones in order of key, whichever secret made them.
    pub fn walk(self) -> Walk<'a, Tombstone> {
        Walk::over(self.0)
    }

    /// Takes over tombstones from another database of this home; existing ones stay.
    pub async fn take_over(self, tombstones: &[Tombstone]) -> Result<(), StoreError> {
        let by_key =
            tombstones.iter().map(|tombstone| (tombstone.key.clone(), Some(tombstone.clone()))).collect();
        self.put_derived(&TombstoneChanges { by_key }).await
    }

    /// Those among some memories that say a text of these tombstones.
    pub fn said_by(self, memories: &[Memory], tombstones: &[Tombstone]) -> Vec<MemoryId> {
        let keys: BTreeSet<&TextKey> = tombstones.iter().map(|tombstone| &tombstone.key).collect();
        let says = |memory: &&Memory| self.0.key_maker.keys_of(memory).iter().any(|key| keys.contains(key));
        memories.iter().filter(says).map(|memory| memory.id).collect()
    }

    /// Those among some memories that, in this scope, would say what another memory no longer says there.
    pub async fn said_in(self, scope: &Scope, memories: &[Memory]) -> Result<Vec<MemoryId>, StoreError> {
        let key_maker = &self.0.key_maker;
        let names = self.0.projects().under_former_names(scope).await?;
        let keys = |memory: &Memory| -> BTreeSet<TextKey> {
            let read = ReadText::of(&memory.title, &memory.content);
            names.iter().flat_map(|name| key_maker.keys(Place::In(name), &read).collect::<Vec<_>>()).collect()
        };
        let keyed: Vec<(MemoryId, BTreeSet<TextKey>)> =
            memories.iter().map(|memory| (memory.id, keys(memory))).collect();
        let ids: BTreeSet<&TextKey> = keyed.iter().flat_map(|(_, keys)| keys).collect();
        let vars = Vars::new().list("ids", ids.into_iter().map(TextKey::record));
        let found: Vec<Tombstone> = self.0.select(statement::TOMBSTONE_GET, vars).await?;
        let is_said = |(id, keys): &(MemoryId, BTreeSet<TextKey>)| {
            found.iter().any(|tombstone| tombstone.memory != *id && keys.contains(&tombstone.key))
        };
        Ok(keyed.iter().filter(|one| is_said(one)).map(|(id, _)| *id).collect())
    }

    async fn put_derived(self, changes: &TombstoneChanges) -> Result<(), StoreError> {
        if changes.by_key.is_empty() {
            return Ok(());
        }
        let (script, vars) = CommitScript::derived(changes, self.0.now());
        let _alone = self.0.pause().await;
        self.0.held_keys.add(changes.new_keys());
        self.0.execute_script("tombstones", &script, Vars(vars)).await.map(drop)
    }

    /// The latest tombstones of all memories or of one, newest first.
    pub async fn latest(self, memory: Option<&MemoryId>, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        let vars = Vars::new().limit(limit);
        match memory {
            Some(memory) => {
                self.0.select(statement::TOMBSTONE_OF, vars.with("memory", memory_record(memory))).await
            }
            None => self.0.select(statement::TOMBSTONE_LATEST, vars).await,
        }
    }

    /// When a text of each of some memories last ceased to hold; memories without such a text are left out.
    pub async fn last_of(self, memories: &[MemoryId]) -> Result<BTreeMap<MemoryId, Timestamp>, StoreError> {
        if memories.is_empty() {
            return Ok(BTreeMap::new());
        }
        let vars = Vars::new().list("memories", memories.iter().map(memory_record)).limit(SINCE_MAX);
        let mut last = BTreeMap::new();
        let moments: Vec<(MemoryId, Timestamp)> =
            self.0.pairs("tombstone", ["memory", "at"], statement::TOMBSTONE_SINCE, vars).await?;
        for (memory, at) in moments {
            let latest = last.entry(memory).or_insert(at);
            *latest = at.max(*latest);
        }
        Ok(last)
    }

    /// The number of tombstones.
    pub async fn count(self) -> Result<usize, StoreError> {
        let counts: Vec<i64> = self.0.values("tombstone", statement::TOMBSTONE_COUNT, Vars::new()).await?;
        Ok(one(counts).map_or(0, size))
    }

    /// The tombstones to forget first: those of deleted memories before those of corrected texts, and the oldest of
    /// either.
    pub async fn oldest(self, limit: usize) -> Result<Vec<Tombstone>, StoreError> {
        let mut oldest = Vec::new();
        for whys in [[Why::Deleted, Why::Purged], [Why::Corrected, Why::Superseded]] {
            let whys = whys.map(|why| why.as_str().to_owned()).to_vec();
            let vars = Vars::new().with("whys", whys).limit(limit.saturating_sub(oldest.len()));
            oldest.extend(self.0.select::<Tombstone>(statement::TOMBSTONE_OLDEST, vars).await?);
        }
        oldest.truncate(limit);
        Ok(oldest)
    }

    /// Whether it is recorded that tombstones were made with the secret of this home, by the present rules.
    pub async fn knows_secret(self) -> Result<bool, StoreError> {
        let names: Vec<String> =
            self.0.values("tombstone_secret", statement::TOMBSTONE_SECRETS, Vars::new()).await?;
        Ok(names.contains(&self.0.key_maker.name()))
    }

    /// Records that tombstones are made with the secret of this home. It is about no memory, so there is no event.
    pub async fn note_secret(self) -> Result<(), StoreError> {
        let vars = Vars::new().with("id", RecordId::new("tombstone_secret", self.0.key_maker.name()));
        self.0.execute(statement::TOMBSTONE_SECRET_PUT, vars.at("at", self.0.now())).await
    }
}

impl Store {
    /// Sets the secret for keys. Other secrets make other keys, which recognise none of these.
    #[must_use]
    pub fn with_secret(mut self, secret: &[u8]) -> Self {
        self.key_maker = KeyMaker::new(secret);
        self
    }
}

/// What is noted of a memory's text when it is deleted, for tests.
#[cfg(test)]
pub(super) fn tombstone_of(key_maker: &KeyMaker, memory: &Memory) -> Tombstone {
    let key = key_maker.noted_key(memory, &sameness::noted(&memory.content));
    Tombstone { key, memory: memory.id, why: Why::Deleted, replaced_by: None, at: Timestamp::UNIX_EPOCH }
}
