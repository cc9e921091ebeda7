//! The bounds of every reader.

/// The largest file that is read, in bytes.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// How much text of one document is kept, in bytes; the rest is cut off, and said to be.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// How many chunks a document has at most; the rest is cut off, and said to be.
pub const CHUNKS_MAX: usize = 2_000;
/// A chunk is cut where it would be longer, in bytes.
pub const CHUNK_BYTES_MAX: usize = 1_600;
/// How much all files of an archive may come to, in bytes.
pub const UNPACKED_BYTES_MAX: u64 = 128 << 20;
/// How many times larger than itself an archive may become.
pub const RATIO_MAX: u64 = 200;
/// How many files an archive may hold.
pub const ENTRIES_MAX: usize = 10_000;
/// How many images of a document are kept; of more, the first ones.
pub const IMAGES_MAX: usize = 200;
/// How long the caption of an image is, in bytes; what is longer is cut.
pub const CAPTION_BYTES_MAX: usize = 300;
/// How deep elements may be nested.
pub const DEPTH_MAX: usize = 256;
/// How deep headings are followed.
pub const HEADINGS_MAX: usize = 6;
/// How long one heading is, in bytes; what is longer is cut.
pub const HEADING_BYTES_MAX: usize = 160;
