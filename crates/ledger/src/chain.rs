//! The keyed chain over the events of a piece of work.
//!
//! The text of each event is bound by a salted commitment, so it can be purged while the rest still verifies. The
//! event has a MAC over everything else in its row, its number and its piece of work. The row of the piece of work
//! has the head: a MAC over the previous head and the event's MAC. The MACs show which row was changed, and the
//! head shows that none is missing. All are HMAC-SHA-256 (RFC 2104) under a key of the piece of work, which
//! HKDF-Expand (RFC 5869) derives from the key of the home.
//!
//! The chain exposes changes by anybody who does not use the key. A process of the same user can read the key;
//! seals and witnesses guard against that.

use std::fmt;

use cerebro_core::domain::{Timestamp, WorkId};
use cerebro_core::redact::RedactedText;
use cerebro_core::text;
use hmac::{Hmac, Mac as _};
use sha2::{Digest, Sha256};

use crate::{Outcome, Work, mac::Mac};

/// The length of a salt.
pub const SALT_BYTES: usize = 16;

/// The key of a home. It is never shown.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Key({})", self.id())
    }
}

impl Key {
    /// Takes 32 bytes that were drawn at random.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// An identifier of the key that reveals nothing about it.
    pub fn id(&self) -> String {
        text::hex(&CanonicalFields::new("cerebro/journal/key-id").mac(&self.0).0[..8])
    }

    /// The key of a piece of work.
    pub fn of(&self, work: &WorkId) -> WorkKey {
        WorkKey(
            CanonicalFields::new("cerebro/journal/work")
                .field(work.as_str().as_bytes())
                .byte(1)
                .mac(&self.0)
                .0,
        )
    }
}

/// The key of one piece of work.
pub struct WorkKey([u8; 32]);

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainedEvent {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    /// The key by which a repetition of the event is recognised.
    pub once: Option<String>,
    pub late: bool,
    /// The length of the whole body in bytes. Longer than `body` if there is an artifact.
    pub full: u64,
    /// The SHA-256 of the whole body in hex, if it is in an artifact.
    pub artifact: Option<String>,
    /// JSON. `None`, like the salt, if the text was purged.
    pub body: Option<RedactedText>,
    pub salt: Option<Vec<u8>>,
    pub commitment: Mac,
    pub mac: Mac,
}

/// The commitment to a body.
pub fn commitment(salt: &[u8], body: &str) -> Mac {
    CanonicalFields::new("cerebro/journal/text").field(body.as_bytes()).mac(salt)
}

impl WorkKey {
    /// The head before the first event.
    pub fn origin(&self, work: &Work) -> Mac {
        CanonicalFields::new("cerebro/journal/origin")
            .field(work.id.as_str().as_bytes())
            .field(work.owner.as_bytes())
            .field(work.kind.as_bytes())
            .moment(work.created_at)
            .mac(&self.0)
    }

    /// The MAC of an event with its commitment, as number `seq` of the piece of work.
    pub fn event(&self, work: &WorkId, seq: u64, kept: &ChainedEvent) -> Mac {
        CanonicalFields::new("cerebro/journal/event")
            .field(work.as_str().as_bytes())
            .number(seq)
            .moment(kept.at)
            .field(kept.kind.as_bytes())
            .option(kept.once.as_deref())
            .byte(u8::from(kept.late))
            .number(kept.full)
            .option(kept.artifact.as_deref())
            .field(&kept.commitment.0)
            .mac(&self.0)
    }

    /// The head after an event.
    pub fn head(&self, before: &Mac, event: &Mac) -> Mac {
        CanonicalFields::new("cerebro/journal/head").field(&before.0).field(&event.0).mac(&self.0)
    }

    /// The MAC of the piece of work's row, over everything that must not change without an event, and its project. Title
    /// and name are left out, because a purge and a merge of projects change them. A merge makes the MAC anew:
    /// [`crate::move_to`].
    pub fn row(&self, work: &Work) -> Mac {
        Self::row_fields("cerebro/journal/row/2", work).field(work.project.as_str().as_bytes()).mac(&self.0)
    }

    /// The MAC of a row as earlier versions made it.
    pub(crate) fn row_without_project(&self, work: &Work) -> Mac {
        Self::row_fields("cerebro/journal/row", work).mac(&self.0)
    }

    fn row_fields(domain: &str, work: &Work) -> CanonicalFields {
        let lease = work.lease.as_ref();
        let parent = work.parent.map(|id| id.to_string());
        let forked = work.forked_from.map(|(id, at)| format!("{id} {at}"));
        CanonicalFields::new(domain)
            .field(work.id.as_str().as_bytes())
            .field(work.owner.as_bytes())
            .field(work.kind.as_bytes())
            .option(work.key.as_deref())
            .field(work.agent.as_bytes())
            .option(work.session.as_ref().map(cerebro_core::domain::SessionId::as_str))
            .option(parent.as_deref())
            .option(forked.as_deref())
            .field(work.status.as_str().as_bytes())
            .option(work.outcome.map(Outcome::as_str))
            .byte(u8::from(work.lost))
            .number(work.unknown)
            .moment(work.created_at)
            .moment(work.active_at)
            .number(work.seq)
            .field(&work.head.0)
            .option(lease.map(|lease| lease.holder.as_str()))
            .moment(lease.map_or(Timestamp::UNIX_EPOCH, |lease| lease.until))
            .number(work.fence)
            .field(work.key_id.as_bytes())
    }

    /// The MAC of a checkpoint: the state after an event, as JSON.
    pub fn checkpoint(&self, work: &WorkId, seq: u64, state: &str) -> Mac {
        CanonicalFields::new("cerebro/journal/checkpoint")
            .field(work.as_str().as_bytes())
            .number(seq)
            .field(state.as_bytes())
            .mac(&self.0)
    }

    /// Commits to an event's body and appends it to the chain of a piece of work: the event gets its MACs, the
    /// piece of work its new number and head. The MAC of the row is computed by [`Self::row`], once the row is
    /// complete.
    pub fn append(&self, work: &mut Work, kept: &mut ChainedEvent) {
        if work.seq == 0 {
            work.head = self.origin(work);
        }
        work.seq += 1;
        kept.seq = work.seq;
        if let (Some(salt), Some(body)) = (&kept.salt, &kept.body) {
            kept.commitment = commitment(salt, body);
        }
        kept.mac = self.event(&work.id, kept.seq, kept);
        work.head = self.head(&work.head, &kept.mac);
    }
}

/// Reads a salt in hex. Malformed text gives an empty salt, with which no commitment verifies.
pub fn salt_of(text: &str) -> Vec<u8> {
    text::unhex(text).filter(|salt| salt.len() == SALT_BYTES).unwrap_or_default()
}

/// The SHA-256 of an artifact, in hex: its address.
pub fn artifact_id(bytes: &[u8]) -> String {
    text::hex(&Sha256::digest(bytes))
}

/// A canonical, injective encoding of a list of fields: each field follows its length.
struct CanonicalFields(Vec<u8>);

impl CanonicalFields {
    fn new(domain: &str) -> Self {
        Self(Vec::with_capacity(256)).field(domain.as_bytes())
    }

    fn field(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    fn option(self, text: Option<&str>) -> Self {
        match text {
            None => self.byte(0),
            Some(text) => self.byte(1).field(text.as_bytes()),
        }
    }

    fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    fn moment(mut self, at: Timestamp) -> Self {
        self.0.extend_from_slice(&at.as_microsecond().to_be_bytes());
        self
    }

    fn mac(self, key: &[u8]) -> Mac {
        // HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Mac::default() };
        mac.update(&self.0);
        Mac(mac.finalize().into_bytes().into())
    }
}
