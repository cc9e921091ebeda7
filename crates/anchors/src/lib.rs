//! Ties what a memory says about code to the bytes of files and symbols.
//!
//! What a memory says about `parse_line` of `src/a.rs` holds as long as those lines are unchanged. An [`Anchor`]
//! keeps the SHA-256 of the symbol's exact bytes, and [`Anchor::verdict`] compares it with the present bytes. A
//! reformatted symbol counts as changed: a false alarm costs a look, a false "fresh" misleads.
//!
//! Everything here is pure: bytes in, facts out. The caller decides which files to read, how many and for how long.

mod anchor;
mod language;
mod name;
mod symbol;

pub use anchor::{ANCHORS_MAX, Anchor, Digest, Pinned, Source, Verdict, anchors_in};
pub use language::Language;
pub use name::{NAMES_MAX, names};
pub use symbol::{FILE_BYTES_MAX, SYMBOLS_MAX, Symbol, symbols};
