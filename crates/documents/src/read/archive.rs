//! Zip archives, read within bounds that do not depend on what the archive claims.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use crate::{
    DocumentError,
    limits::{ENTRIES_MAX, RATIO_MAX, UNPACKED_BYTES_MAX},
};

/// The size to which any archive may unpack, however small it is.
const ROOM: u64 = 4 << 20;

/// The first bytes of a compound file: Office wraps a document with a password in one, and used it before 2007.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// An archive, and how many bytes may still be unpacked from it.
pub(super) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    room: u64,
}

impl<'a> Archive<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, DocumentError> {
        if bytes.starts_with(COMPOUND) {
            return Err(DocumentError::Locked);
        }
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|_| DocumentError::malformed("it is no archive, or its end is missing"))?;
        if zip.len() > ENTRIES_MAX {
            return Err(DocumentError::TooManyFiles);
        }
        let room = (bytes.len() as u64).saturating_mul(RATIO_MAX).clamp(ROOM, UNPACKED_BYTES_MAX);
        Ok(Self { zip, room })
    }

    /// The names of its files.
    pub fn names(&self) -> Vec<String> {
        self.zip.file_names().filter_map(|name| Some(name.ok()?.into_owned())).collect()
    }

    /// The bytes of a file in it; `None` if there is no file with this name.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, DocumentError> {
        let file = match self.zip.by_name(name) {
            Err(zip::result::ZipError::FileNotFound) => return Ok(None),
            file => file.map_err(DocumentError::malformed)?,
        };
        let mut bytes = Vec::new();
        // The declared size may be a lie, so the unpacked bytes are counted.
        file.take(self.room + 1).read_to_end(&mut bytes).map_err(DocumentError::malformed)?;
        let left = self.room.checked_sub(bytes.len() as u64);
        self.room = left.ok_or(DocumentError::TooMuchInside)?;
        Ok(Some(bytes))
    }

    /// Unpacks everything once, on behalf of a library that has no bounds of its own.
    pub fn prove(&mut self) -> Result<(), DocumentError> {
        for name in self.names() {
            self.bytes(&name)?;
        }
        Ok(())
    }
}
