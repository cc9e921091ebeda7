//! Why a document could not be read.

use crate::limits::{DEPTH_MAX, ENTRIES_MAX, FILE_BYTES_MAX, RATIO_MAX, UNPACKED_BYTES_MAX};

/// Why a document could not be read. None of these stops the reading of others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Larger than [`FILE_BYTES_MAX`].
    #[error("the file is larger than {} MiB", FILE_BYTES_MAX >> 20)]
    TooLarge,
    /// An archive with more than [`ENTRIES_MAX`] files.
    #[error("the archive holds more than {ENTRIES_MAX} files")]
    TooManyFiles,
    /// An archive that becomes larger than its bounds: a zip bomb, or as bad as one.
    #[error("unpacked, it is larger than {} MiB or {RATIO_MAX} times itself", UNPACKED_BYTES_MAX >> 20)]
    TooMuchInside,
    /// Elements nested deeper than [`DEPTH_MAX`].
    #[error("elements are nested deeper than {DEPTH_MAX}")]
    TooDeep,
    /// No text: bytes that are no UTF-8 or UTF-16, or hold zeros.
    #[error("it is no text, and of no format that is read")]
    NotText,
    /// Not what its name says; the reason is its reader's.
    #[error("it is not well-formed: {0}")]
    Malformed(String),
    /// It was read, and says nothing.
    #[error("there is no text in it")]
    Empty,
    /// It holds no image of that name.
    #[error("there is no such image in it")]
    NoImage,
}

impl DocumentError {
    /// Not well-formed, for a reader's reason; its first line, shortened.
    pub(crate) fn malformed(reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Malformed(reason.lines().next().unwrap_or_default().chars().take(160).collect())
    }
}
