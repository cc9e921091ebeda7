//! PDF.

use crate::{DocumentError, section::Outline};

/// The text of each page, and the images stored as JPEG; the library decodes no others.
pub(super) fn pdf(bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes).map_err(DocumentError::malformed)?;
    for (number, page) in (1..).zip(pages) {
        outline.heading(2, &format!("Page {number}"));
        outline.text(&page, Some(number));
    }
    // If the images cannot be read, the text still can.
    if let Ok(document) = pdf_extract::Document::load_mem(bytes) {
        add_images(&document, outline);
    }
    Ok(())
}

fn add_images(document: &pdf_extract::Document, outline: &mut Outline) {
    for (number, page) in document.get_pages() {
        let images = document.get_page_images(page).unwrap_or_default();
        let is_jpeg =
            |filters: &Option<Vec<String>>| matches!(filters.as_deref(), Some([one]) if one == "DCTDecode");
        for image in images.iter().filter(|image| is_jpeg(&image.filters)) {
            if outline.has_all_images() {
                return;
            }
            let name = format!("object {} {}", image.id.0, image.id.1);
            outline.image("", Some(number), &name, image.content);
        }
    }
}
