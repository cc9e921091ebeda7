//! Why a document could not be read.

use crate::limits::{DEPTH_MAX, ENTRIES_MAX, FILE_BYTES_MAX, RATIO_MAX, UNPACKED_BYTES_MAX};

/// Why a document could not be read. None of these stops the reading of other documents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the file is larger than {} MiB", FILE_BYTES_MAX >> 20)]
    TooLarge,
    #[error("the archive holds more than {ENTRIES_MAX} files")]
    TooManyFiles,
    /// An archive that unpacks beyond its bounds, such as a zip bomb.
    #[error("unpacked, it is larger than {} MiB or {RATIO_MAX} times itself", UNPACKED_BYTES_MAX >> 20)]
    TooMuchInside,
    #[error("elements are nested deeper than {DEPTH_MAX}")]
    TooDeep,
    /// Office's container for documents with a password and for those of old versions.
    #[error("it has a password or is of an old version of Office; save a copy without either")]
    Locked,
    /// Not text: bytes that are neither UTF-8 nor UTF-16, or contain zeros.
    #[error("it is not text in UTF-8 or UTF-16, and its format is not one that is read")]
    NotText,
    /// Not the format that its name says; with the reader's reason.
    #[error("it is not well-formed: {0}")]
    Malformed(String),
    #[error("there is no text in it")]
    Empty,
    #[error("there is no such image in it")]
    NoImage,
}

impl DocumentError {
    /// Malformed, with a reader's reason: its first line, shortened.
    pub(crate) fn malformed(reason: impl ToString) -> Self {
        let reason = reason.to_string();
        Self::Malformed(reason.lines().next().unwrap_or_default().chars().take(160).collect())
    }
}
