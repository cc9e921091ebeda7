//! People's documents, read into chunks with their headings.
//!
//! Readers take bytes and return data: they open no file and read no clock. Only [`files`] looks at folders.
//! [`read`] turns a file's bytes into sections and lists its images ([`image`] gives the bytes of one), [`chunks`]
//! cuts sections into what is searched, and [`compare`] says which chunks of an earlier reading survive. Every
//! reader is bounded ([`limits`]); a failure is a [`DocumentError`].

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
pub use image::{Image, ImageSource};
pub use read::{image, read};
pub use section::{Reading, Section};
