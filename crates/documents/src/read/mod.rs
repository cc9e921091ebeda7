//! The readers, one file for each family of formats.

mod archive;
mod markup;
mod office;
mod pdf;
mod sheet;
mod table;
mod text;

use crate::{DocumentError, Format, Reading, limits::FILE_BYTES_MAX, section::Outline};

/// Reads a document.
///
/// # Errors
/// Why it cannot be read: [`DocumentError`]. A library that gives up on a broken file is such an error too.
pub fn read(format: Format, bytes: &[u8]) -> Result<Reading, DocumentError> {
    let reading = outline(format, bytes, Outline::default())?.finish();
    if reading.sections.is_empty() { Err(DocumentError::Empty) } else { Ok(reading) }
}

/// The bytes of an image that is in a document, by the name that [`read`] gave it.
///
/// # Errors
/// As [`read`]; [`DocumentError::NoImage`].
pub fn image(format: Format, bytes: &[u8], name: &str) -> Result<Vec<u8>, DocumentError> {
    outline(format, bytes, Outline::wanting(name))?.found().ok_or(DocumentError::NoImage)
}

fn outline(format: Format, bytes: &[u8], outline: Outline) -> Result<Outline, DocumentError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(DocumentError::TooLarge);
    }
    // Readers of binary formats trust what a file says of itself, and panic where it lies.
    std::panic::catch_unwind(move || {
        let mut outline = outline;
        add(format, bytes, &mut outline).map(|()| outline)
    })
    .unwrap_or_else(|_| Err(DocumentError::malformed("its reader gave up")))
}

fn add(format: Format, bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    match format {
        Format::Markdown => markup::markdown(&text::decode(bytes)?, outline),
        Format::Text | Format::Code => outline.text(&text::decode(bytes)?, None),
        Format::Csv => table::csv(&text::decode(bytes)?, outline)?,
        Format::Json => table::json(&text::decode(bytes)?, outline)?,
        Format::Notebook => table::notebook(&text::decode(bytes)?, outline)?,
        Format::Html => markup::html(&text::decode(bytes)?, outline)?,
        Format::Docx => office::docx(bytes, outline)?,
        Format::Pptx => office::pptx(bytes, outline)?,
        Format::Xlsx => sheet::xlsx(bytes, outline)?,
        Format::Epub => office::epub(bytes, outline)?,
        Format::Pdf => pdf::pdf(bytes, outline)?,
    }
    Ok(())
}
