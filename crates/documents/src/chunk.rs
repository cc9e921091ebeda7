//! Chunks: what is searched and shown of a document, and which of them survive another reading.

use std::collections::{HashMap, HashSet, VecDeque};

use sha2::{Digest, Sha256};

use crate::{
    Reading,
    limits::{CHUNK_BYTES_MAX, CHUNKS_MAX},
};

/// A stretch of a document that can be found by itself: a section, or a part of a long one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it, as one line; empty where there are none.
    pub heading: String,
    /// Its text: at most [`CHUNK_BYTES_MAX`].
    pub text: String,
    /// The page, slide or sheet that it is on, from 1.
    pub page: Option<u32>,
}

impl Chunk {
    /// The digest of its heading and text, in hex. The file and the position do not matter.
    pub fn digest(heading: &str, text: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(heading.as_bytes());
        hash.update([0]);
        hash.update(text.as_bytes());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Cuts a document into chunks. Also returns whether [`CHUNKS_MAX`] or an earlier bound cut it short. Each section
/// has chunks of its own, so that a change in one leaves the others as they are.
pub fn chunks(reading: &Reading) -> (Vec<Chunk>, bool) {
    let mut all = Vec::new();
    for section in &reading.sections {
        let heading = section.path.join(" › ");
        for text in parts(&section.text) {
            if all.len() == CHUNKS_MAX {
                return (all, true);
            }
            all.push(Chunk { heading: heading.clone(), text: text.to_owned(), page: section.page });
        }
    }
    (all, reading.cut)
}

/// The parts of a text: cut between paragraphs, else between lines, else between words, else anywhere.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > CHUNK_BYTES_MAX {
        let window = &rest[..rest.floor_char_boundary(CHUNK_BYTES_MAX)];
        // A cut in the first quarter would leave too small a part.
        let least = window.len() / 4;
        let cut = ["\n\n", "\n", " "]
            .iter()
            .filter_map(|between| window.rfind(between).map(|at| at + between.len()))
            .find(|at| *at > least)
            .unwrap_or(window.len());
        parts.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    parts.push(rest);
    let trimmed = parts.into_iter().map(|part| part.trim_matches('\n').trim_end());
    trimmed.filter(|part| !part.trim().is_empty()).collect()
}

/// Which chunks of an earlier reading survive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared<I> {
    /// For each new chunk, in order: the id of the equal earlier one, if there was one.
    pub kept: Vec<Option<I>>,
    /// Earlier chunks that no longer exist.
    pub gone: Vec<I>,
}

/// Compares chunks by digest: `before` has the id and digest of each earlier one, `now` the digests of the new
/// ones. Equal chunks are matched in order.
pub fn compare<I: Copy + Eq + std::hash::Hash>(before: &[(I, String)], now: &[String]) -> Compared<I> {
    let mut by_digest: HashMap<&str, VecDeque<I>> = HashMap::new();
    for (id, digest) in before {
        by_digest.entry(digest).or_default().push_back(*id);
    }
    let mut same = |digest: &String| by_digest.get_mut(digest.as_str()).and_then(VecDeque::pop_front);
    let kept: Vec<Option<I>> = now.iter().map(&mut same).collect();
    let stays: HashSet<I> = kept.iter().flatten().copied().collect();
    let gone = before.iter().map(|(id, _)| *id).filter(|id| !stays.contains(id)).collect();
    Compared { kept, gone }
}
