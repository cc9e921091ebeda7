//! Decodes bytes to text.

use crate::DocumentError;

/// The text of bytes: UTF-8, or UTF-16 with a byte order mark.
pub(super) fn decode(bytes: &[u8]) -> Result<String, DocumentError> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            str::from_utf8(rest).map_err(|_| DocumentError::NotText)?.to_owned()
        }
    };
    if text.contains('\0') {
        return Err(DocumentError::NotText);
    }
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text })
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DocumentError> {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16(&units).map_err(|_| DocumentError::NotText)
}
