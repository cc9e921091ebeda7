//! Identifiers: short ids that are drawn or derived, and session ids that clients choose.

use std::fmt;

use rand::Rng;
use sha2::{Digest, Sha256};

use super::limits::SESSION_ID_CHARS_MAX;

const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const LENGTH: usize = 12;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not of the form of such ids, which is said.
    #[error("not {0} 12 characters of a-z and 2-7, the first a letter")]
    Short(&'static str),
    /// Empty, too long or with control characters.
    #[error("not a session id: 1 to {SESSION_ID_CHARS_MAX} printable characters")]
    Session,
}

/// Twelve lowercase base32 characters, the first a letter. Their order is that of their text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Short([u8; LENGTH]);

impl Short {
    fn random() -> Self {
        let mut rng = rand::rng();
        // The first of them is a letter, so that an id is never read as a number.
        let letters = |i| if i == 0 { 26 } else { ALPHABET.len() };
        Self(std::array::from_fn(|i| ALPHABET[rng.random_range(0..letters(i))]))
    }

    /// The id derived from some parts.
    fn following(parts: &[&str]) -> Self {
        Self::of_digest(&hash(parts))
    }

    fn of_digest(digest: &[u8; 32]) -> Self {
        let letters = |i| if i == 0 { 26 } else { ALPHABET.len() };
        Self(std::array::from_fn(|i| ALPHABET[usize::from(digest[i]) % letters(i)]))
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = <[u8; LENGTH]>::try_from(text.as_bytes()).ok()?;
        let well_formed = bytes[0].is_ascii_lowercase() && bytes.iter().all(|b| ALPHABET.contains(b));
        well_formed.then_some(Self(bytes))
    }

    fn as_str(&self) -> &str {
        // They are letters and digits.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that nothing else has, such as a writer's. It is drawn like an id, so no two homes draw the same.
pub fn random_name() -> String {
    Short::random().as_str().to_owned()
}

/// Defines an id whose text is the key of its row. `table` is the name that may stand before it, `form` what its error says.
macro_rules! plain_id {
    ($(#[$doc:meta])* $name:ident, $table:literal, $form:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Short);

        impl $name {
            #[doc = concat!("Reads an id as people and agents write it: with or without `", $table, ":`, in any case,")]
            /// surrounding blanks ignored.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let text = text.trim();
                let text = text.strip_prefix(concat!($table, ":")).unwrap_or(text);
                Short::parse(&text.to_ascii_lowercase()).map(Self).ok_or(IdError::Short($form))
            }

            /// The bare id, without the table's name.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

/// Defines an id that begins with a prefix, so that it differs from a memory's. The rest is the key of its row.
macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Short);

        impl $name {
            /// Reads an id as people and agents write it, in any case, surrounding blanks ignored.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let text = text.trim().to_ascii_lowercase();
                Self::of_key(text.strip_prefix($prefix).unwrap_or_default())
            }

            /// The part after the prefix: the key of the row.
            pub fn key(&self) -> &str {
                self.0.as_str()
            }

            /// The inverse of [`Self::key`].
            pub fn of_key(key: &str) -> Result<Self, IdError> {
                let form = concat!($what, ": these are ", $prefix, " and");
                Short::parse(key).map(Self).ok_or(IdError::Short(form))
            }

            /// The beginning of a row's key, for the beginning of an id as people write it. `None` if no such id begins
            /// so.
            pub fn key_of_part(text: &str) -> Option<String> {
                let text = text.trim().trim_end_matches('…').to_ascii_lowercase();
                let part = text.strip_prefix($prefix).filter(|part| !part.is_empty() && part.len() <= LENGTH)?;
                part.bytes().all(|byte| ALPHABET.contains(&byte)).then(|| part.to_owned())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.key())
            }
        }
    };
}

/// Ids that are drawn at random.
macro_rules! drawn {
    ($($name:ident),+) => {
        $(impl $name {
            /// Draws a new id: 26 · 32¹¹ ≈ 9·10¹⁷ possible values.
            pub fn random() -> Self {
                Self(Short::random())
            }
        })+
    };
}

/// Ids of what can be found.
macro_rules! subjects {
    ($($name:ident),+) => {
        $(impl From<$name> for SubjectId {
            fn from(id: $name) -> Self {
                Self(id.0)
            }
        }

        impl From<SubjectId> for $name {
            fn from(id: SubjectId) -> Self {
                Self(id.0)
            }
        })+
    };
}

plain_id! {
    /// The id of a memory: 12 lowercase base32 characters, the first a letter.
    MemoryId, "memory", "a memory id: ids are"
}

plain_id! {
    /// The id of a prompt: of the same form as a memory's.
    PromptId, "prompt", "the id of a prompt: these are"
}

plain_id! {
    /// The id of a piece of work: of the same form as a memory's.
    WorkId, "work", "an id of work: ids are"
}

plain_id! {
    /// The id of a consolidation, planned or done: of the same form as a memory's.
    CycleId, "cycle", "an id of a plan: ids are"
}

prefixed_id! {
    /// The id of an exchange: `x` and twelve characters. It is derived from the exchange's place, so the same transcript
    /// gives the same ids everywhere.
    ExchangeId, "x", "the id of an exchange"
}

prefixed_id! {
    /// The id of a chunk of a document: `d` and twelve characters.
    ChunkId, "d", "the id of a passage of a document"
}

prefixed_id! {
    /// The id of a document: `doc-` and twelve characters.
    DocumentId, "doc-", "the id of a document"
}

prefixed_id! {
    /// The id of a candidate: `q` and twelve characters. It is derived from the session and the claim, so the same
    /// claim is proposed only once.
    CandidateId, "q", "the id of a candidate"
}

prefixed_id! {
    /// The id of an arrangement: `a` and twelve characters.
    ArrangementId, "a", "the id of an arrangement"
}

drawn!(MemoryId, PromptId, WorkId, CycleId, ChunkId, DocumentId, ArrangementId);
subjects!(MemoryId, ExchangeId, ChunkId);

impl MemoryId {
    /// The id derived from a digest: equal digests give equal ids.
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        Self(Short::of_digest(digest))
    }
}

/// The id of anything that can be found: a memory, a chunk or an exchange. Indexes and vectors are keyed by it, and
/// the index that holds it knows its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubjectId(Short);

impl SubjectId {
    /// The bare id.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The id as a number of 60 bits, five for each character.
    pub fn as_number(&self) -> u64 {
        self.0.0.iter().fold(0, |number, byte| {
            let digit = if byte.is_ascii_lowercase() { byte - b'a' } else { byte - b'2' + 26 };
            number << 5 | u64::from(digit)
        })
    }

    /// The inverse of [`Self::as_number`]; `None` for a number that no id has.
    pub fn from_number(number: u64) -> Option<Self> {
        let short =
            Short(std::array::from_fn(|i| ALPHABET[(number >> (5 * (LENGTH - 1 - i)) & 31) as usize]));
        let id = Self(short);
        (short.0[0].is_ascii_lowercase() && id.as_number() == number).then_some(id)
    }
}

impl fmt::Display for SubjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ExchangeId {
    /// The id of the exchange at a place of an agent's session. It has 60 bits: among a million exchanges, two
    /// collide with a probability of one in a million.
    pub fn of(agent: &str, session: &SessionId, seq: u32) -> Self {
        Self(Short::following(&["exchange", agent, session.as_str(), &seq.to_string()]))
    }
}

impl CandidateId {
    /// The id for a claim of this kind about a session.
    pub fn of(session: &SessionId, kind: &str, claim: &str) -> Self {
        Self(Short::following(&["candidate", session.as_str(), kind, claim]))
    }
}

impl From<DocumentId> for SessionId {
    /// Events and the index hold a document's id in the place of a session's.
    fn from(id: DocumentId) -> Self {
        Self(id.to_string())
    }
}

/// SHA-256 over parts. Each part ends with its length, so different lists of parts cannot run together.
pub(super) fn hash(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update((part.len() as u64).to_le_bytes());
    }
    hasher.finalize().into()
}

/// The id of a session: any name that the client chose, 1 to 128 printable characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Makes an id for a client that names none.
    pub fn random() -> Self {
        Self(format!("s-{}", Short::random().as_str()))
    }

    /// Reads an id, surrounding blanks ignored.
    ///
    /// # Errors
    /// [`IdError::Session`] when it is empty, too long or holds control characters.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let text = text.trim();
        let printable = !text.chars().any(char::is_control);
        if printable && (1..=SESSION_ID_CHARS_MAX).contains(&text.chars().count()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::Session)
        }
    }

    /// The id as the client wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is this session's own, or that of a sub-agent of it (`parent/agent`).
    pub fn is_part_of(&self, session: &Self) -> bool {
        self.0.strip_prefix(&session.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_are_well_formed_and_differ() {
        let ids: std::collections::HashSet<_> = (0..1_000).map(|_| MemoryId::random()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in &ids {
            assert_eq!(MemoryId::parse(id.as_str()).as_ref(), Ok(id));
        }
    }

    #[test]
    fn memory_ids_are_read_in_any_case_and_malformed_ones_refused() {
        let id = MemoryId::parse("abcdefghij27").unwrap();
        assert_eq!(MemoryId::parse(" memory:ABCDEFGHIJ27\n"), Ok(id));
        for bad in [
            "", "abcdefghij2", "abcdefghij271", "2bcdefghij27", "abcdefghij10", "session:abcdefghij27",
            "äbcdefghij2",
        ] {
            assert!(MemoryId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ids_of_documents_and_their_chunks_differ() {
        let (chunk, document) = (ChunkId::random(), DocumentId::random());
        assert_eq!(ChunkId::parse(&format!(" {} ", chunk.to_string().to_uppercase())), Ok(chunk));
        assert_eq!(DocumentId::parse(&document.to_string()), Ok(document));
        assert_eq!(ChunkId::parse(chunk.key()).ok().filter(|id| *id == chunk), None, "without its prefix");
        assert!(ChunkId::parse(&document.to_string()).is_err());
        assert!(DocumentId::parse(&chunk.to_string()).is_err());
        assert_eq!(ChunkId::from(SubjectId::from(chunk)), chunk);
    }

    #[test]
    fn a_subject_id_is_a_number_and_back() {
        for text in ["aaaaaaaaaaaa", "abcdefghij27", "z77777777777"] {
            let id = SubjectId::from(MemoryId::parse(text).unwrap());
            assert_eq!(SubjectId::from_number(id.as_number()), Some(id));
        }
        // One that would begin with a digit, and one with more than 60 bits.
        for number in [26 << 55, 1 << 60, u64::MAX] {
            assert_eq!(SubjectId::from_number(number), None, "{number}");
        }
    }

    #[test]
    fn an_exchange_id_follows_from_its_number_and_is_no_memory_id() {
        let session = SessionId::parse("s").unwrap();
        let id = ExchangeId::of("codex", &session, 1);
        assert_eq!(id, ExchangeId::of("codex", &session, 1));
        assert_ne!(id, ExchangeId::of("codex", &session, 2));
        let part = &id.to_string()[..5];
        assert_eq!(ExchangeId::key_of_part(&format!("{}…", part.to_uppercase())), Some(part[1..].to_owned()));
        for other in ["", "x", "k3f", "x-1", "xaaaaaaaaaaaaa"] {
            assert_eq!(ExchangeId::key_of_part(other), None, "{other}");
        }
        assert_eq!(ExchangeId::parse(&format!(" {} ", id.to_string().to_uppercase())), Ok(id));
        assert_eq!(ExchangeId::of_key(id.key()), Ok(id));
        assert!(MemoryId::parse(&id.to_string()).is_err());
        let error = ExchangeId::parse(MemoryId::random().as_str()).unwrap_err().to_string();
        assert!(error.starts_with("not the id of an exchange: these are x and 12"), "{error}");
    }

    #[test]
    fn session_ids_hold_any_printable_text_up_to_the_bound() {
        assert!(SessionId::parse("2026-11-21 / café ⟩`").is_ok());
        assert!(SessionId::parse(&"é".repeat(128)).is_ok());
        for bad in ["", "  ", "a\u{0}b", &"é".repeat(129)] {
            assert_eq!(SessionId::parse(bad), Err(IdError::Session), "{bad}");
        }
    }
}
