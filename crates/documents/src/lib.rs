//! Documents of people, read into passages with their headings.
//!
//! Readers are bytes in and data out: no file is opened, no clock is read; only [`files`] looks at folders. [`read`] makes sections of a file's
//! bytes, with its images ([`image`] gives the bytes of one), [`chunks`] cuts these into what is searched, and [`compare`] says which chunks of an earlier reading stay.
//! Every reader is bounded ([`limits`]), and what it cannot read is a [`DocumentError`].

mod chunk;
mod error;
mod files;
mod format;
mod image;
pub mod limits;
mod read;
mod section;
#[cfg(test)]
mod tests;

pub use chunk::{Chunk, Compared, chunks, compare};
pub use error::DocumentError;
pub use files::files;
pub use format::Format;
pub use image::{Image, Place};
pub use read::{image, read};
pub use section::{Reading, Section};
