//! Texts that were forgotten in all sessions: each is recognised inside another text by a key and its length, made with the
//! secret of the home. The text itself is not kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use surrealdb::types::{Object, RecordId};

use super::History;
use crate::{
    StoreError, Write,
    changes::NewEvent,
    columns::{columns, row_of, with_id},
    read::Vars,
    statement,
    text_key::KeyMaker,
};
use cerebro_core::domain::{EventKind, Timestamp};
use cerebro_core::text::comparable;

/// Most forgotten texts that are looked for, the latest first: each length of them costs a pass over every text.
const TEXTS_MAX: usize = 1_000;
const TABLE: &str = "forgotten_text";

/// A forgotten text, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgottenText {
    key: String,
    /// Its length in characters.
    chars: usize,
    /// Its rolling sum, which finds the few places where the key is worth computing.
    sum: u32,
    /// When it was forgotten; `None` before it is recorded.
    at: Option<Timestamp>,
}

columns! { ForgottenText in "forgotten_text" { key: key(str::parse::<String>), chars, sum, at } }

impl ForgottenText {
    fn of(key_maker: &KeyMaker, text: &str) -> Self {
        let chars = folded(text);
        let sum = Rolling::new(key_maker, chars.len()).sum_of(&chars);
        Self { key: key_of(key_maker, &chars), chars: chars.len(), sum, at: None }
    }

    /// Its key, made with the secret of a home.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The row. Its moment is `now`, unless the text was recorded before.
    pub(super) fn row(&self, now: Timestamp) -> Object {
        let recorded = Self { at: self.at.or(Some(now)), ..self.clone() };
        with_id(RecordId::new(TABLE, self.key.as_str()), row_of(&recorded))
    }
}

/// The texts that were forgotten in all sessions.
#[derive(Default)]
pub struct ForgottenTexts {
    key_maker: KeyMaker,
    /// The keys by length and sum.
    by_length: BTreeMap<usize, BTreeMap<u32, BTreeSet<String>>>,
}

impl ForgottenTexts {
    fn of(key_maker: &KeyMaker, texts: Vec<ForgottenText>) -> Self {
        let mut by_length: BTreeMap<usize, BTreeMap<u32, BTreeSet<String>>> = BTreeMap::new();
        for ForgottenText { key, chars, sum, .. } in texts {
            by_length.entry(chars).or_default().entry(sum).or_default().insert(key);
        }
        Self { key_maker: key_maker.clone(), by_length }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_length.is_empty()
    }

    /// Whether one of them is in a text, as [`comparable`] reads both.
    pub fn are_in(&self, text: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let chars = folded(text);
        self.by_length.iter().any(|(length, sums)| {
            let is_one = |window: &[char], sum| {
                sums.get(&sum).is_some_and(|keys| keys.contains(&key_of(&self.key_maker, window)))
            };
            Rolling::new(&self.key_maker, *length).any_window(&chars, is_one)
        })
    }
}

/// The characters of a text that count when a part of it is looked for.
fn folded(text: &str) -> Vec<char> {
    comparable(text).chars().collect()
}

fn key_of(key_maker: &KeyMaker, chars: &[char]) -> String {
    key_maker.digest(&format!("forgotten\u{1f}{}", chars.iter().collect::<String>()))
}

/// Sums of all stretches of one length in a text, each computed from the one before. The base is a secret, so a sum tells
/// nothing of its text.
struct Rolling {
    length: usize,
    base: u64,
    /// The base to the power of the length less one.
    first: u64,
}

impl Rolling {
    fn new(key_maker: &KeyMaker, length: usize) -> Self {
        let base = u64::from_str_radix(&key_maker.digest("rolling")[..16], 16).unwrap_or_default() | 1;
        let first = (1..length).fold(1_u64, |power, _| power.wrapping_mul(base));
        Self { length, base, first }
    }

    fn sum_of(&self, chars: &[char]) -> u32 {
        Self::upper(chars.iter().fold(0, |sum, c| self.with(sum, *c)))
    }

    fn with(&self, sum: u64, c: char) -> u64 {
        sum.wrapping_mul(self.base).wrapping_add(u64::from(c))
    }

    /// The upper half, which depends on all characters.
    fn upper(sum: u64) -> u32 {
        u32::try_from(sum >> 32).unwrap_or_default()
    }

    /// Whether a stretch and its sum meet a condition.
    fn any_window(&self, chars: &[char], is_one: impl Fn(&[char], u32) -> bool) -> bool {
        let mut sum = 0_u64;
        for (at, c) in chars.iter().enumerate() {
            if at >= self.length {
                sum = sum.wrapping_sub(u64::from(chars[at - self.length]).wrapping_mul(self.first));
            }
            sum = self.with(sum, *c);
            let end = at + 1;
            if end >= self.length && is_one(&chars[end - self.length..end], Self::upper(sum)) {
                return true;
            }
        }
        false
    }
}

impl Write<'_> {
    /// No session that is read from now on brings this text.
    pub fn forget_text(&mut self, text: &str) {
        let forgotten = ForgottenText::of(&self.store().key_maker, text);
        self.take_over_forgotten_texts(vec![forgotten]);
    }

    /// Records texts that another database of this home has recorded; existing records stay.
    pub fn take_over_forgotten_texts(&mut self, texts: Vec<ForgottenText>) {
        self.record(NewEvent::about_nothing(EventKind::HistoryForgotten)).history.forgotten.extend(texts);
    }
}

impl History<'_> {
    /// The texts that were forgotten in all sessions.
    pub async fn forgotten_texts(self) -> Result<Arc<ForgottenTexts>, StoreError> {
        let ticket = match self.0.forgotten_texts.get() {
            Ok(texts) => return Ok(texts),
            Err(ticket) => ticket,
        };
        let texts = self.recognising(self.records_of_forgotten_texts().await?);
        // Another home may forget a text at any time.
        Ok(if self.0.is_shared() { Arc::new(texts) } else { self.0.forgotten_texts.keep(ticket, texts) })
    }

    /// The records of these texts, made with any secret, the latest first.
    pub async fn records_of_forgotten_texts(self) -> Result<Vec<ForgottenText>, StoreError> {
        let vars = Vars::new().limit(TEXTS_MAX);
        self.0.select(statement::FORGOTTEN_TEXT_LIST, vars).await
    }

    /// The texts among these that can be recognised with the secret of this home.
    pub fn recognising(self, texts: Vec<ForgottenText>) -> ForgottenTexts {
        ForgottenTexts::of(&self.0.key_maker, texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(forgotten: &[&str]) -> ForgottenTexts {
        let key_maker = KeyMaker::new(b"secret");
        let texts = forgotten.iter().map(|text| ForgottenText::of(&key_maker, text));
        ForgottenTexts::of(&key_maker, texts.collect())
    }

    #[test]
    fn a_forgotten_text_is_found_anywhere_and_in_any_case() {
        let forgotten = texts(&["Secret Quokka", "größe 5432"]);
        for text in [
            "secret quokka",
            "a SECRET QUOKKA b",
            "xsecret quokkax",
            "die GRÖSSE, größe 5432.",
            "\nGröße 5432",
            "the secret\n  **quokka**",
        ] {
            assert!(forgotten.are_in(text), "{text}");
        }
        for text in ["", "secret", "secretquokka", "secret quokk", "größe 543", "ecret quokka"] {
            assert!(!forgotten.are_in(text), "{text}");
        }
        assert!(!ForgottenTexts::default().are_in("secret quokka"));
        let other = ForgottenTexts { key_maker: KeyMaker::new(b"another"), ..texts(&["secret quokka"]) };
        assert!(!other.are_in("secret quokka"), "the secret is part of it");
    }
}
