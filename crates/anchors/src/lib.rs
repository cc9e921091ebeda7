//! What a memory says about code, tied to the bytes of files and symbols.
//!
//! A memory that names `parse_line` of `src/a.rs` is true as long as those lines are what they were. An [`Anchor`]
//! keeps the SHA-256 of the symbol's exact bytes, and [`Anchor::verdict`] compares it with the bytes of today. A
//! reformatted symbol has changed: a false alarm costs a look, a false "fresh" misleads.
//!
//! Everything here is pure: bytes in, facts out. Who reads the files decides where, how many and for how long.

mod anchor;
mod language;
mod name;
mod symbol;

pub use anchor::{ANCHORS_MAX, Anchor, Digest, Pinned, Verdict, anchors_in};
pub use language::Language;
pub use name::{NAMES_MAX, names};
pub use symbol::{FILE_BYTES_MAX, SYMBOLS_MAX, Symbol, symbols};
