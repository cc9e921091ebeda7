//! The readers, one file per family of formats.

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
/// [`DocumentError`]. It also covers a library that panics on a broken file.
pub fn read(format: Format, bytes: &[u8]) -> Result<Reading, DocumentError> {
    let reading = outline(format, bytes, Outline::default())?.finish();
    if reading.sections.is_empty() { Err(DocumentError::Empty) } else { Ok(reading) }
}

/// The bytes of an image inside a document, by the name that [`read`] gave it.
///
/// # Errors
/// Those of [`read`], and [`DocumentError::NoImage`].
pub fn image(format: Format, bytes: &[u8], name: &str) -> Result<Vec<u8>, DocumentError> {
    outline(format, bytes, Outline::wanting(name))?.found().ok_or(DocumentError::NoImage)
}

fn outline(format: Format, bytes: &[u8], outline: Outline) -> Result<Outline, DocumentError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(DocumentError::TooLarge);
    }
    // Readers of binary formats trust what a file claims, and panic where it lies.
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
