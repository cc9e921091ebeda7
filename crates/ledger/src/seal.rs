//! Seals: signed heads of a tree over the heads of all pieces of work.
//!
//! The tree is that of RFC 6962, by `ct-merkle`; a leaf records how far a piece of work had got. A seal is a signed
//! note whose text begins like C2SP's `tlog-checkpoint`: origin, size, root. A signing key is used for one epoch.
//! The last seal of an epoch names the next public key, and then the secret key is destroyed. So nobody can sign
//! for a closed epoch again, not even somebody who has the whole home.

use cerebro_core::domain::WorkId;
use cerebro_core::text;
use ct_merkle::{RootHash, mem_backed_tree::MemoryBackedTree};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::mac::Mac;

type Tree = MemoryBackedTree<sha2_tree::Sha256, String>;

/// How far a piece of work had got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    pub work: WorkId,
    pub seq: u64,
    pub head: Mac,
    /// Whether it was pruned: its row and events are gone, by the user's own setting.
    pub pruned: bool,
}

impl Leaf {
    /// The text that is hashed.
    pub fn text(&self) -> String {
        let word = if self.pruned { "pruned" } else { "at" };
        format!("{} {word} {} {}", self.work, self.seq, self.head.hex())
    }

    /// Reads its text.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let work = WorkId::parse(words.next()?).ok()?;
        let pruned = match words.next()? {
            "pruned" => true,
            "at" => false,
            _ => return None,
        };
        let seq = words.next()?.parse().ok()?;
        let head = Mac::parse(words.next()?)?;
        words.next().is_none().then_some(Self { work, seq, head, pruned })
    }
}

/// A signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The name of the journal, which is the first line of the note.
    pub origin: String,
    /// Counted from 0.
    pub number: u64,
    /// The leaves that it adds, as texts.
    pub leaves: Vec<String>,
    /// The number of leaves including these.
    pub size: u64,
    pub root: [u8; 32],
    /// The epoch of the key that signed it.
    pub epoch: u64,
    /// The public key of the next epoch, if this seal is the last of its epoch.
    pub next: Option<[u8; 32]>,
    pub signature: Vec<u8>,
}

impl Seal {
    /// The text that is signed.
    pub fn text(&self) -> String {
        let Self { origin, number, size, epoch, .. } = self;
        let root = base64(&self.root);
        let next = self.next.map_or(String::new(), |key| format!("next {}\n", base64(&key)));
        format!("{origin}\n{size}\n{root}\nseal {number} epoch {epoch}\n{next}")
    }

    /// The signed note, in the format of the Go project's `note` and C2SP's `signed-note`.
    pub fn note(&self, public: &[u8; 32]) -> String {
        let mut signature = key_hash(&self.origin, public).to_vec();
        signature.extend_from_slice(&self.signature);
        format!("{}\n— {} {}\n", self.text(), self.origin, base64(&signature))
    }

    /// Whether a key signed it.
    pub fn is_signed_by(&self, public: &[u8; 32]) -> bool {
        let Ok(key) = VerifyingKey::from_bytes(public) else { return false };
        let Ok(signature) = Signature::from_slice(&self.signature) else { return false };
        key.verify_strict(self.text().as_bytes(), &signature).is_ok()
    }
}

/// A public key in the format of Go's `note`: name, hash, and the key after its algorithm.
pub fn verifier(name: &str, public: &[u8; 32]) -> String {
    let mut key = vec![1];
    key.extend_from_slice(public);
    format!("{name}+{}+{}", text::hex(&key_hash(name, public)), base64(&key))
}

/// The hash that identifies a key in a note: of its name, its algorithm (1 is Ed25519) and the key.
fn key_hash(name: &str, public: &[u8; 32]) -> [u8; 4] {
    let digest = Sha256::new().chain_update(name).chain_update(b"\n\x01").chain_update(public).finalize();
    [digest[0], digest[1], digest[2], digest[3]]
}

pub struct EpochKey(SigningKey);

impl EpochKey {
    /// Takes 32 bytes that were drawn at random.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// Its public half.
    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }
}

/// The tree of all leaves.
#[derive(Default)]
pub struct Log {
    tree: Tree,
    seals: u64,
}

/// The path from a leaf to the root of a tree of `size` leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inclusion {
    pub index: u64,
    pub size: u64,
    pub path: Vec<[u8; 32]>,
}

impl Log {
    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.tree.len()
    }

    /// The number of seals.
    pub fn seals(&self) -> u64 {
        self.seals
    }

    pub fn root(&self) -> [u8; 32] {
        bytes(self.tree.root().as_bytes())
    }

    /// Adds a stored seal. Returns whether its leaves lead to its root.
    pub fn take_in(&mut self, seal: &Seal) -> bool {
        for leaf in &seal.leaves {
            self.tree.push(leaf.clone());
        }
        self.seals = seal.number + 1;
        self.size() == seal.size && self.root() == seal.root
    }

    /// Seals further leaves. `next` is the public key of the next epoch, if this one ends.
    pub fn seal(
        &mut self,
        origin: &str,
        leaves: Vec<String>,
        epoch: u64,
        key: &EpochKey,
        next: Option<[u8; 32]>,
    ) -> Seal {
        for leaf in &leaves {
            self.tree.push(leaf.clone());
        }
        let (size, root) = (self.size(), self.root());
        let (origin, signature) = (origin.to_owned(), Vec::new());
        let mut seal = Seal { origin, number: self.seals, leaves, size, root, epoch, next, signature };
        seal.signature = key.0.sign(seal.text().as_bytes()).to_bytes().to_vec();
        self.seals += 1;
        seal
    }

    /// The pieces of work that were pruned.
    pub fn pruned(&self) -> impl Iterator<Item = WorkId> {
        let leaves = self.tree.items().iter().filter_map(|leaf| Leaf::parse(leaf));
        leaves.filter(|leaf| leaf.pruned).map(|leaf| leaf.work)
    }

    /// The newest leaf of a piece of work.
    pub fn newest(&self, work: &WorkId) -> Option<Leaf> {
        Leaf::parse(self.tree.get(self.newest_index(work)?)?)
    }

    fn newest_index(&self, work: &WorkId) -> Option<usize> {
        let start = format!("{work} ");
        self.tree.items().iter().rposition(|leaf| leaf.starts_with(&start))
    }

    /// The path of the newest leaf of a piece of work.
    pub fn prove(&self, work: &WorkId) -> Option<(Leaf, Inclusion)> {
        let index = self.newest_index(work)?;
        let leaf = Leaf::parse(self.tree.get(index)?)?;
        let path = self.tree.prove_inclusion(index).as_bytes().chunks_exact(32).map(bytes).collect();
        Some((leaf, Inclusion { index: index as u64, size: self.size(), path }))
    }
}

impl Inclusion {
    /// Whether the leaf is in the tree with this root, as an outsider can check.
    pub fn holds(&self, leaf: &str, root: &[u8; 32]) -> bool {
        let root = RootHash::<sha2_tree::Sha256>::new((*root).into(), self.size);
        let Ok(proof) = ct_merkle::InclusionProof::try_from_bytes(self.path.concat()) else { return false };
        root.verify_inclusion(&leaf, self.index, &proof).is_ok()
    }
}

fn bytes(slice: impl AsRef<[u8]>) -> [u8; 32] {
    slice.as_ref().try_into().unwrap_or_default()
}

/// Reads 32 bytes in hex.
pub fn unhex(text: &str) -> Option<[u8; 32]> {
    text::unhex(text)?.try_into().ok()
}

/// Reads the 64 bytes of a signature in hex.
pub fn unhex_signature(text: &str) -> Option<Vec<u8>> {
    text::unhex(text).filter(|bytes| bytes.len() == Signature::BYTE_SIZE)
}

/// The digits of base64 in RFC 4648.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Reads 32 bytes in base64 with padding.
pub(crate) fn unbase64(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_suffix('=').filter(|digits| digits.len() == 43)?;
    let (mut word, mut bits, mut bytes) = (0_u32, 0, Vec::with_capacity(33));
    for byte in digits.bytes() {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        word = word << 6 | u32::try_from(digit).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(word >> bits & 0xff).ok()?);
        }
    }
    bytes.try_into().ok()
}

/// Base64 of RFC 4648 with padding, as signed notes have it.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * index) & 63) as usize];
            out.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}
