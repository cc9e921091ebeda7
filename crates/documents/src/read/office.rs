//! Word documents, PowerPoint slides and EPUB books: archives of XML.

use std::collections::HashMap;

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{archive::Archive, markup, text};
use crate::{DocumentError, limits::DEPTH_MAX, section::Outline};

/// An event for a reader of XML.
enum XmlEvent<'a> {
    Begin(&'a str, &'a BytesStart<'a>),
    End(&'a str),
    Text(&'a str),
}

/// Walks through XML by local names. Only the predefined entities are resolved, so none can expand.
fn walk(xml: &str, mut handle: impl FnMut(XmlEvent<'_>)) -> Result<(), DocumentError> {
    let mut reader = Reader::from_str(xml);
    let mut depth = 0_usize;
    loop {
        match reader.read_event().map_err(DocumentError::malformed)? {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(DocumentError::TooDeep);
                }
                handle(XmlEvent::Begin(local(tag.name().as_ref()), &tag));
            }
            Event::Empty(tag) => {
                handle(XmlEvent::Begin(local(tag.name().as_ref()), &tag));
                handle(XmlEvent::End(local(tag.name().as_ref())));
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                handle(XmlEvent::End(local(tag.name().as_ref())));
            }
            Event::Text(text) => handle(XmlEvent::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::CData(text) => handle(XmlEvent::Text(&text.xml_content(XmlVersion::Implicit1_0))),
            Event::GeneralRef(reference) => {
                let name = reference.xml_content(XmlVersion::Implicit1_0);
                if let Ok(Some(character)) = reference.resolve_char_ref() {
                    handle(XmlEvent::Text(character.encode_utf8(&mut [0; 4])));
                } else if let Some(text) = quick_xml::escape::resolve_predefined_entity(&name) {
                    handle(XmlEvent::Text(text));
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// An attribute by its local name.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.attributes().flatten().find(|attribute| local(attribute.key.as_ref()) == name)?;
    Some(found.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
}

/// A part of the archive as text.
fn part(archive: &mut Archive<'_>, name: &str) -> Result<Option<String>, DocumentError> {
    archive.bytes(name)?.map(|bytes| text::decode(&bytes)).transpose()
}

fn needed(archive: &mut Archive<'_>, name: &str) -> Result<String, DocumentError> {
    part(archive, name)?.ok_or_else(|| DocumentError::malformed(format!("there is no {name} in it")))
}

/// Paragraphs of Word under its heading styles; a row of a table is a line.
pub(super) fn docx(bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    let mut archive = Archive::open(bytes)?;
    let xml = needed(&mut archive, "word/document.xml")?;
    // Without them, the ids of the styles say what is a heading.
    let styles = heading_styles(&mut archive).unwrap_or_default();
    let mut pictures = Pictures::default();
    let (mut gathered, mut paragraph, mut level) = (String::new(), String::new(), None);
    let (mut in_text, mut cells, mut repeated) = (false, 0_usize, 0_usize);
    walk(&xml, |event| {
        pictures.read_event(&event);
        match event {
            XmlEvent::Begin("t", _) => in_text = true,
            XmlEvent::End("t") => in_text = false,
            // A box of text is written twice: for new programs, and for old ones.
            XmlEvent::Begin("Fallback", _) => repeated += 1,
            XmlEvent::End("Fallback") => repeated = repeated.saturating_sub(1),
            XmlEvent::Text(text) if in_text && repeated == 0 => paragraph.push_str(text),
            XmlEvent::Begin("tab" | "br" | "cr", _) => paragraph.push(' '),
            XmlEvent::Begin("pStyle", tag) => {
                level = attribute(tag, "val")
                    .and_then(|style| styles.get(&style).copied().or_else(|| heading_level(&style)));
            }
            XmlEvent::Begin("tc", _) => cells += 1,
            XmlEvent::End("tc") => {
                cells = cells.saturating_sub(1);
                gathered.push_str(" | ");
            }
            XmlEvent::End("tr") => gathered.push('\n'),
            // Properties of a picture, with its caption.
            XmlEvent::Begin("docPr", tag) => {
                if let Some(caption) = attribute(tag, "descr").filter(|caption| !caption.is_empty()) {
                    paragraph.extend(["[image: ", &caption, "]"]);
                }
            }
            XmlEvent::End("p") => {
                let text = std::mem::take(&mut paragraph);
                match level.take() {
                    Some(level) => {
                        outline.text(&std::mem::take(&mut gathered), None);
                        outline.heading(level, &text);
                    }
                    None => {
                        gathered.push_str(&text);
                        gathered.push_str(if cells > 0 { " " } else { "\n\n" });
                    }
                }
            }
            _ => {}
        }
    })?;
    outline.text(&gathered, None);
    pictures.add_to(outline, &mut archive, "word/document.xml", None)
}

/// The pictures that a part of an archive shows.
#[derive(Default)]
struct Pictures {
    /// The caption of the next picture.
    caption: String,
    /// The names under which the part refers to them, with their captions.
    found: Vec<(String, String)>,
}

impl Pictures {
    fn read_event(&mut self, event: &XmlEvent<'_>) {
        let XmlEvent::Begin(name, tag) = event else { return };
        match *name {
            "docPr" | "cNvPr" => self.caption = attribute(tag, "descr").unwrap_or_default(),
            "blip" => {
                if let Some(name) = attribute(tag, "embed") {
                    self.found.push((name, std::mem::take(&mut self.caption)));
                }
            }
            _ => {}
        }
    }

    /// Finds the files of the pictures and adds those that exist.
    fn add_to(
        self,
        outline: &mut Outline,
        archive: &mut Archive<'_>,
        of: &str,
        page: Option<u32>,
    ) -> Result<(), DocumentError> {
        if self.found.is_empty() || outline.has_all_images() {
            return Ok(());
        }
        let (folder, file) = of.rsplit_once('/').unwrap_or_default();
        let Some(xml) = part(archive, &format!("{folder}/_rels/{file}.rels"))? else { return Ok(()) };
        let mut targets = HashMap::new();
        walk(&xml, |event| {
            if let XmlEvent::Begin("Relationship", tag) = event
                && let (Some(id), Some(target)) = (attribute(tag, "Id"), attribute(tag, "Target"))
            {
                targets.insert(id, target);
            }
        })?;
        for (name, caption) in self.found {
            if let Some(target) = targets.get(&name) {
                add_picture(outline, archive, &resolved(folder, target), &caption, page);
            }
        }
        Ok(())
    }
}

/// Adds a picture of an archive, unless it exceeds what is left of the archive's bounds.
fn add_picture(
    outline: &mut Outline,
    archive: &mut Archive<'_>,
    path: &str,
    caption: &str,
    page: Option<u32>,
) {
    if !outline.has_all_images()
        && !outline.has_image(path)
        && let Ok(Some(bytes)) = archive.bytes(path)
    {
        outline.image(caption, page, path, &bytes);
    }
}

/// Resolves a path in an archive relative to one of its folders.
fn resolved(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("/")
}

/// The levels of heading styles by their ids. Word writes the id in its own language, such as `Titre1`, and the name in
/// English.
fn heading_styles(archive: &mut Archive<'_>) -> Result<HashMap<String, usize>, DocumentError> {
    let (mut levels, mut id) = (HashMap::new(), String::new());
    let xml = part(archive, "word/styles.xml")?.unwrap_or_default();
    walk(&xml, |event| match event {
        XmlEvent::Begin("style", tag) => id = attribute(tag, "styleId").unwrap_or_default(),
        XmlEvent::Begin("name", tag) => {
            if let Some(level) = attribute(tag, "val").and_then(|name| heading_level(&name)) {
                levels.insert(std::mem::take(&mut id), level);
            }
        }
        _ => {}
    })?;
    Ok(levels)
}

/// The level of a heading style: `Heading2`, `heading 2`, `Title`.
fn heading_level(style: &str) -> Option<usize> {
    let style = style.to_ascii_lowercase();
    if style == "title" {
        return Some(1);
    }
    let number = style.strip_prefix("heading").or_else(|| style.strip_prefix("berschrift"))?;
    number.trim().parse().ok().filter(|level| (1..=9).contains(level))
}

/// Slides in the order of their numbers, each under its title.
pub(super) fn pptx(bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    let mut archive = Archive::open(bytes)?;
    let number = |name: &str| -> Option<u32> {
        name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse().ok()
    };
    let mut slides: Vec<u32> = archive.names().iter().filter_map(|name| number(name)).collect();
    slides.sort_unstable();
    // After the text of all slides, so that pictures do not use up its share of the bounds.
    let mut shown = Vec::new();
    for slide in slides {
        let name = format!("ppt/slides/slide{slide}.xml");
        let xml = needed(&mut archive, &name)?;
        let mut pictures = Pictures::default();
        let (mut title, mut body) = (String::new(), String::new());
        let (mut in_text, mut in_title) = (false, false);
        walk(&xml, |event| {
            pictures.read_event(&event);
            match event {
                // A table or chart may follow the title: it is no part of it.
                XmlEvent::Begin("sp", _) | XmlEvent::End("sp") => in_title = false,
                XmlEvent::Begin("ph", tag) => {
                    in_title = attribute(tag, "type")
                        .is_some_and(|kind| matches!(kind.as_str(), "title" | "ctrTitle"));
                }
                XmlEvent::Begin("t", _) => in_text = true,
                XmlEvent::End("t") => in_text = false,
                XmlEvent::Text(text) if in_text => {
                    (if in_title { &mut title } else { &mut body }).push_str(text);
                }
                XmlEvent::End("p") => (if in_title { &mut title } else { &mut body }).push('\n'),
                _ => {}
            }
        })?;
        outline.title(&title);
        outline.heading(2, if title.trim().is_empty() { "Slide" } else { &title });
        let text = if body.trim().is_empty() { &title } else { &body };
        outline.text(text, Some(slide));
        shown.push((pictures, name, slide));
    }
    for (pictures, name, slide) in shown {
        pictures.add_to(outline, &mut archive, &name, Some(slide))?;
    }
    Ok(())
}

/// The chapters of a book in the order of its spine.
pub(super) fn epub(bytes: &[u8], outline: &mut Outline) -> Result<(), DocumentError> {
    let mut archive = Archive::open(bytes)?;
    let mut root = None;
    walk(&needed(&mut archive, "META-INF/container.xml")?, |event| {
        if let XmlEvent::Begin("rootfile", tag) = event {
            root = root.take().or_else(|| attribute(tag, "full-path"));
        }
    })?;
    let root = root.ok_or_else(|| DocumentError::malformed("its container names no package"))?;
    let (mut items, mut spine) = (HashMap::new(), Vec::new());
    let (mut title, mut in_title) = (String::new(), false);
    walk(&needed(&mut archive, &root)?, |event| match event {
        XmlEvent::Begin("item", tag) => {
            if let (Some(id), Some(href)) = (attribute(tag, "id"), attribute(tag, "href")) {
                items.insert(id, href);
            }
        }
        XmlEvent::Begin("itemref", tag) => spine.extend(attribute(tag, "idref")),
        XmlEvent::Begin("title", _) => in_title = title.is_empty(),
        XmlEvent::End("title") => in_title = false,
        XmlEvent::Text(text) if in_title => title.push_str(text),
        _ => {}
    })?;
    let (folder, _) = root.rsplit_once('/').unwrap_or_default();
    outline.title(&title);
    let mut shown = Vec::new();
    for href in spine.iter().filter_map(|id| items.get(id)) {
        let name = resolved(folder, &markup::unescaped(href));
        let Some(chapter) = part(&mut archive, &name)? else { continue };
        markup::html_text(&chapter, outline)?;
        let (folder, _) = name.rsplit_once('/').unwrap_or_default();
        let images = markup::images(&chapter).into_iter();
        shown
            .extend(images.map(|(target, caption)| (resolved(folder, &markup::unescaped(&target)), caption)));
        if outline.is_full() {
            break;
        }
    }
    for (path, caption) in shown {
        add_picture(outline, &mut archive, &path, &caption, None);
    }
    Ok(())
}
