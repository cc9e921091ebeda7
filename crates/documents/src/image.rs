//! Images of documents: what is stored of each. The bytes stay in the file.

use sha2::{Digest, Sha256};

use crate::limits::CAPTION_BYTES_MAX;

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// Inside the document, under a name that [`image`](crate::image) understands.
    Within(String),
    /// In a separate file: its path relative to the document's folder, as the document writes it.
    Beside(String),
}

/// An image of a document, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Image {
    /// The document's caption for it; empty without one.
    pub caption: String,
    /// The page or slide that it is on, from 1.
    pub page: Option<u32>,
    /// Its location.
    pub place: ImageSource,
    /// Its format, such as `image/png`. Empty, like its hash, until [`Self::seen`] was given its bytes.
    pub mime: String,
    /// SHA-256 of its bytes, in hex.
    pub hash: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Image {
    /// An image whose bytes were not seen yet.
    pub(crate) fn new(caption: &str, page: Option<u32>, place: ImageSource) -> Self {
        let caption = caption.split_whitespace().collect::<Vec<_>>().join(" ");
        let caption = caption[..caption.floor_char_boundary(CAPTION_BYTES_MAX)].trim_end().to_owned();
        Self { caption, page, place, mime: String::new(), hash: String::new(), bytes: 0 }
    }

    /// Adds what the bytes show; `None` if they are not an image.
    #[must_use]
    pub fn seen(self, bytes: &[u8]) -> Option<Self> {
        let mime = mime(bytes)?.to_owned();
        Some(Self { mime, hash: digest(bytes), bytes: bytes.len() as u64, ..self })
    }
}

/// SHA-256 in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The format of an image, by its first bytes.
fn mime(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'B', b'M', ..] => "image/bmp",
        [b'I', b'I', 0x2a, 0, ..] | [b'M', b'M', 0, 0x2a, ..] => "image/tiff",
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => "image/avif",
        [1, 0, 0, 0, rest @ ..] if rest.get(36..40) == Some(b" EMF") => "image/x-emf",
        _ => {
            let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]).to_ascii_lowercase();
            let begin = begin.trim_start_matches('\u{feff}').trim_start();
            (begin.starts_with("<svg") || begin.starts_with("<?xml") && begin.contains("<svg"))
                .then_some("image/svg+xml")?
        }
    })
}
