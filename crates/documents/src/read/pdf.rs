//! PDF.

use crate::{DocumentError, Reading, section::Outline};

/// The text of each page.
pub(super) fn pdf(bytes: &[u8]) -> Result<Reading, DocumentError> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes).map_err(DocumentError::malformed)?;
    let mut outline = Outline::default();
    for (number, page) in (1..).zip(pages) {
        outline.heading(2, &format!("Page {number}"));
        outline.text(&page, Some(number));
    }
    Ok(outline.finish())
}
