//! The bounds of every reader.

/// The largest file that is read, in bytes.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// Most text of one document that is kept, in bytes; the rest is cut, and the cut is reported.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Most chunks of a document; the rest is cut, and the cut is reported.
pub const CHUNKS_MAX: usize = 2_000;
/// Longest chunk, in bytes.
pub const CHUNK_BYTES_MAX: usize = 1_600;
/// Most bytes that all files of an archive may unpack to.
pub const UNPACKED_BYTES_MAX: u64 = 128 << 20;
/// Largest ratio of unpacked to packed size of an archive.
pub const RATIO_MAX: u64 = 200;
/// Most files in an archive.
pub const ENTRIES_MAX: usize = 10_000;
/// Most images of a document that are kept; the first ones count.
pub const IMAGES_MAX: usize = 200;
/// Longest caption of an image, in bytes; longer ones are cut.
pub const CAPTION_BYTES_MAX: usize = 300;
/// Deepest nesting of elements.
pub const DEPTH_MAX: usize = 256;
/// Deepest level of headings that is followed.
pub const HEADINGS_MAX: usize = 6;
/// Longest heading, in bytes; longer ones are cut.
pub const HEADING_BYTES_MAX: usize = 160;
/// Most tags of HTML that are read, or of a chapter of a book; the rest is cut, and the cut is reported. The library
/// holds all elements at once, each in some kilobytes.
pub const TAGS_MAX: usize = 100_000;
