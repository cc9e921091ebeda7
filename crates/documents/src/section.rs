//! The result of a reader: sections under their headings.

use crate::{
    Image, ImageSource,
    limits::{CHUNKS_MAX, HEADING_BYTES_MAX, HEADINGS_MAX, IMAGES_MAX, TEXT_BYTES_MAX},
};

/// A stretch of a document under one heading.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Section {
    /// The headings above it, the outermost first.
    pub path: Vec<String>,
    /// Its text, without the sections below it.
    pub text: String,
    /// The page, slide or sheet that it is on, from 1.
    pub page: Option<u32>,
}

/// The result of reading a document.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Reading {
    /// The document's own title.
    pub title: Option<String>,
    /// Its sections, in order; none is blank.
    pub sections: Vec<Section>,
    /// Its images, without repetitions, in order.
    #[serde(default)]
    pub images: Vec<Image>,
    /// Whether it was cut short at a bound.
    pub cut: bool,
}

/// Collects sections within the bounds.
#[derive(Default)]
pub(crate) struct Outline {
    headings: Vec<(usize, String)>,
    reading: Reading,
    bytes: usize,
    /// The name of the image whose bytes are wanted, and the bytes once they are found.
    wanted: Option<String>,
    found: Option<Vec<u8>>,
}

impl Outline {
    /// An outline that looks for the bytes of one image.
    pub fn wanting(name: &str) -> Self {
        Self { wanted: Some(name.to_owned()), ..Self::default() }
    }

    /// The bytes of the wanted image.
    pub fn found(self) -> Option<Vec<u8>> {
        self.found
    }

    /// Adds an image of the document, under a name that finds it again.
    pub fn image(&mut self, caption: &str, page: Option<u32>, name: &str, bytes: &[u8]) {
        if self.wanted.as_deref() == Some(name) {
            self.found = Some(bytes.to_owned());
        }
        self.add(Image::new(caption, page, ImageSource::Within(name.to_owned())).seen(bytes));
    }

    /// Adds an image in a separate file. Remote images do not belong to the document.
    pub fn image_beside(&mut self, caption: &str, path: &str) {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        if !path.is_empty() && !path.contains(':') && !path.starts_with(['/', '\\']) {
            self.add(Some(Image::new(caption, None, ImageSource::Beside(path.to_owned()))));
        }
    }

    /// Whether an image with this name was added, so that a repeated image is unpacked once.
    pub fn has_image(&self, name: &str) -> bool {
        let is_it = |image: &Image| matches!(&image.place, ImageSource::Within(place) if place == name);
        self.reading.images.iter().any(is_it)
    }

    /// Whether no more images are accepted.
    pub fn has_all_images(&self) -> bool {
        self.reading.images.len() >= IMAGES_MAX
    }

    fn add(&mut self, image: Option<Image>) {
        let Some(image) = image.filter(|_| !self.has_all_images()) else { return };
        if self.reading.images.iter().all(|one| one.place != image.place) {
            self.reading.images.push(image);
        }
    }

    /// Begins a section under a heading of a level (from 1).
    pub fn heading(&mut self, level: usize, text: &str) {
        let text = short(text);
        if text.is_empty() {
            return;
        }
        if level == 1 {
            self.title(&text);
        }
        self.headings.retain(|(above, _)| *above < level);
        if self.headings.len() < HEADINGS_MAX {
            self.headings.push((level, text));
        }
    }

    /// Sets the title; only the first one counts.
    pub fn title(&mut self, text: &str) {
        let text = short(text);
        if self.reading.title.is_none() && !text.is_empty() {
            self.reading.title = Some(text);
        }
    }

    /// Adds text under the present headings.
    pub fn text(&mut self, text: &str, page: Option<u32>) {
        let room = TEXT_BYTES_MAX - self.bytes;
        let part = &text[..text.floor_char_boundary(room)];
        self.reading.cut |= part.len() < text.len();
        // Control characters show nothing, and each becomes six bytes when escaped, which could burst a message.
        let hidden = |c: char| c.is_control() && c != '\n' && c != '\t';
        let part = part.replace(hidden, "");
        let part = part.trim_matches('\n').trim_end();
        if part.trim().is_empty() {
            return;
        }
        // Each section gives at least one chunk.
        if self.reading.sections.len() == CHUNKS_MAX {
            self.reading.cut = true;
            return;
        }
        self.bytes += part.len();
        let path = self.headings.iter().map(|(_, heading)| heading.clone()).collect();
        self.reading.sections.push(Section { path, text: part.to_owned(), page });
    }

    /// Notes that a reader left out the rest.
    pub fn cut(&mut self) {
        self.reading.cut = true;
    }

    /// Whether no more text is accepted.
    pub fn is_full(&self) -> bool {
        self.bytes >= TEXT_BYTES_MAX || self.reading.cut
    }

    pub fn finish(self) -> Reading {
        self.reading
    }
}

/// Shortens to one line of a bounded length.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(HEADING_BYTES_MAX)].trim_end().to_owned()
}
