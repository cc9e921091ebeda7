//! Documents of people, read into passages with their headings.
//!
//! Readers are bytes in and data out: no file is opened, no clock is read; only [`files`] looks at folders. [`read`] makes sections of a file's
//! bytes, [`chunks`] cuts these into what is searched, and [`compare`] says which chunks of an earlier reading stay.
//! Every reader is bounded ([`limits`]), and what it cannot read is a [`DocumentError`].

mod chunk;
mod error;
mod files;
mod format;
pub mod limits;
mod read;
mod section;
#[cfg(test)]
mod tests;

pub use chunk::{Chunk, Compared, chunks, compare};
pub use error::DocumentError;
pub use files::files;
pub use format::Format;
pub use read::read;
pub use section::{Reading, Section};
