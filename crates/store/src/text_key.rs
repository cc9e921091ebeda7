//! Keys of texts: made with the secret of the home, and which of them tombstones have.

use std::{collections::HashSet, convert::Infallible, str::FromStr, sync::Mutex};

use hmac::{Hmac, Mac};
use sha2::Sha256;
use surrealdb::types::RecordId;

use cerebro_core::domain::{Memory, Scope};
use cerebro_core::{
    sameness::{self, Place, keyed},
    sync::lock,
    text,
};

/// Bytes of a key, enough to rule out accidental collisions.
const KEY_BYTES: usize = 20;

/// The key of a text. Without the secret of the home, the text cannot be guessed from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextKey(pub(super) String);

/// A key as it was stored, whichever secret made it.
impl FromStr for TextKey {
    type Err = Infallible;

    fn from_str(key: &str) -> Result<Self, Infallible> {
        Ok(Self(key.to_owned()))
    }
}

impl TextKey {
    pub(super) fn record(&self) -> RecordId {
        RecordId::new("tombstone", self.0.as_str())
    }
}

/// The forms in which a text is looked up.
pub(super) struct ReadText {
    title: String,
    forms: Vec<String>,
    /// The content behind its title, as one text.
    with_title: Option<String>,
}

impl ReadText {
    pub fn of(title: &str, content: &str) -> Self {
        Self {
            title: sameness::normal(title),
            forms: sameness::readings(content),
            with_title: sameness::noted_with_title(title, content),
        }
    }
}

/// The places in which a text of a scope may be recorded.
fn places_of(scope: &Scope) -> impl Iterator<Item = Place<'_>> {
    std::iter::once(Place::In(scope)).chain((!scope.is_personal()).then_some(Place::SomeProject))
}

/// The places in which a text of a scope is looked up: the present and former names of its project, and the personal scope.
pub(super) fn places_among<'a>(names: &'a [Scope], scope: &Scope) -> impl Iterator<Item = Place<'a>> {
    let personal = (!scope.is_personal()).then_some(Place::In(&Scope::Personal));
    names.iter().map(Place::In).chain(personal)
}

/// Makes keys with the secret.
#[derive(Clone)]
pub(super) struct KeyMaker(Hmac<Sha256>);

impl Default for KeyMaker {
    fn default() -> Self {
        Self::new(b"")
    }
}

impl KeyMaker {
    pub fn new(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes a secret of any length"))
    }

    /// The keys by which a text is looked up in a place: for each form in which it is read, one with its title, and
    /// one for the content under any title; and one for the content behind its title.
    pub fn keys<'a>(&'a self, place: Place<'a>, read: &'a ReadText) -> impl Iterator<Item = TextKey> + 'a {
        let titles = [Some(&*read.title), None];
        let apart = read.forms.iter().flat_map(move |form| titles.map(|title| self.key(place, title, form)));
        apart.chain(read.with_title.iter().map(move |form| self.key(place, None, form)))
    }

    pub fn key(&self, place: Place<'_>, title: Option<&str>, form: &str) -> TextKey {
        TextKey(self.digest(&keyed(place, title, form)))
    }

    /// All keys under which a memory's text may be recorded.
    pub fn keys_of(&self, memory: &Memory) -> Vec<TextKey> {
        let read = ReadText::of(&memory.title, &memory.content);
        places_of(&memory.scope).flat_map(|place| self.keys(place, &read).collect::<Vec<_>>()).collect()
    }

    /// The key recorded for a memory's text in its scope, with the content in some form.
    pub fn noted_key(&self, memory: &Memory, form: &str) -> TextKey {
        self.key(Place::In(&memory.scope), Some(&sameness::normal(&memory.title)), form)
    }

    /// The key recorded for a memory's content alone, in some form, if it says the same under any title.
    pub fn noted_content(&self, memory: &Memory, form: &str) -> Option<TextKey> {
        let is_self_contained = sameness::is_self_contained(&memory.title, &memory.content);
        is_self_contained.then(|| self.key(Place::In(&memory.scope), None, form))
    }

    /// The key recorded for a project's text among those of all projects, with the content in some form.
    pub fn noted_anywhere(&self, memory: &Memory, form: &str) -> Option<TextKey> {
        let title = sameness::normal(&memory.title);
        let title = (!sameness::is_self_contained(&memory.title, &memory.content)).then_some(&*title);
        (!memory.scope.is_personal()).then(|| self.key(Place::SomeProject, title, form))
    }

    /// The keys recorded for a memory's content behind its title, as one text, in its scope and among those of all projects.
    pub fn noted_with_title(&self, memory: &Memory) -> Vec<TextKey> {
        let form = sameness::noted_with_title(&memory.title, &memory.content);
        form.iter()
            .flat_map(|form| places_of(&memory.scope).map(move |place| self.key(place, None, form)))
            .collect()
    }

    pub fn digest(&self, form: &str) -> String {
        text::hex(&self.0.clone().chain_update(form).finalize().into_bytes()[..KEY_BYTES])
    }

    /// A name of the secret, which records that tombstones were made with it by the present rules.
    pub fn name(&self) -> String {
        self.digest("the secret itself, by the rules of November 26th, 2026")
    }
}

/// The keys of a store's tombstones, by their first eight bytes: a superset. Nearly all texts have no tombstone, so nothing
/// need be read for them. Empty until the keys are read.
#[derive(Default)]
pub(super) struct HeldKeys(Mutex<Option<HashSet<u64>>>);

impl HeldKeys {
    /// Whether they were read.
    pub fn are_read(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Holds keys that were read while nobody wrote.
    pub fn hold<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        *lock(&self.0) = Some(keys.map(short).collect());
    }

    /// Adds keys that are about to be written.
    pub fn add<'k>(&self, keys: impl Iterator<Item = &'k str>) {
        if let Some(held) = lock(&self.0).as_mut() {
            held.extend(keys.map(short));
        }
    }

    /// Whether there may be tombstones.
    pub fn has_any(&self) -> bool {
        lock(&self.0).as_ref().is_none_or(|held| !held.is_empty())
    }

    /// Whether a tombstone may have the key.
    pub fn may_have(&self, key: &str) -> bool {
        lock(&self.0).as_ref().is_none_or(|held| held.contains(&short(key)))
    }
}

/// The first eight bytes of a key, which is hex. All keys that are not hex get the same number.
fn short(key: &str) -> u64 {
    key.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_missed_only_if_it_was_neither_read_nor_added() {
        let keys = HeldKeys::default();
        let [one, other, odd] = ["00112233445566778899", "ff112233445566778899", "odd"];
        assert!(
            keys.may_have(one) && keys.has_any() && !keys.are_read(),
            "before they are read, each may be there"
        );
        keys.add([one].into_iter());
        keys.hold([other, odd].into_iter());
        assert!(keys.are_read() && !keys.may_have(one) && keys.may_have(other) && keys.may_have(odd));
        keys.add([one].into_iter());
        assert!(keys.may_have(one));
    }
}
