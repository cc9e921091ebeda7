//! The readers, one file for each family of formats.

mod archive;
mod markup;
mod office;
mod pdf;
mod sheet;
mod table;
mod text;

use crate::{DocumentError, Format, Reading, limits::FILE_BYTES_MAX};

/// Reads a document.
///
/// # Errors
/// Why it cannot be read: [`DocumentError`]. A library that gives up on a broken file is such an error too.
pub fn read(format: Format, bytes: &[u8]) -> Result<Reading, DocumentError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(DocumentError::TooLarge);
    }
    // Readers of binary formats trust what a file says of itself, and panic where it lies.
    let reading = std::panic::catch_unwind(|| read_as(format, bytes))
        .unwrap_or_else(|_| Err(DocumentError::malformed("its reader gave up")))?;
    if reading.sections.is_empty() { Err(DocumentError::Empty) } else { Ok(reading) }
}

fn read_as(format: Format, bytes: &[u8]) -> Result<Reading, DocumentError> {
    match format {
        Format::Markdown => Ok(markup::markdown(&text::decode(bytes)?)),
        Format::Text | Format::Code => Ok(text::plain(&text::decode(bytes)?)),
        Format::Csv => table::csv(&text::decode(bytes)?),
        Format::Json => table::json(&text::decode(bytes)?),
        Format::Notebook => table::notebook(&text::decode(bytes)?),
        Format::Html => markup::html(&text::decode(bytes)?),
        Format::Docx => office::docx(bytes),
        Format::Pptx => office::pptx(bytes),
        Format::Xlsx => sheet::xlsx(bytes),
        Format::Epub => office::epub(bytes),
        Format::Pdf => pdf::pdf(bytes),
    }
}
