//! Markdown and HTML.

use pulldown_cmark::{Event, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use crate::{DocumentError, Reading, limits::DEPTH_MAX, section::Outline};

/// How wide lines of HTML are: none is broken.
const WIDTH: usize = 10_000;

/// The sections of Markdown under its headings. Their text is the source as it stands.
pub(super) fn markdown(source: &str) -> Reading {
    let mut outline = Outline::default();
    add_markdown(&mut outline, source, 0, None);
    outline.finish()
}

/// Adds Markdown whose headings stand `below` others.
pub(super) fn add_markdown(outline: &mut Outline, source: &str, below: usize, page: Option<u32>) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut begin = 0;
    let mut heading: Option<String> = None;
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                outline.text(&source[begin..range.start.max(begin)], page);
                heading = Some(String::new());
            }
            Event::End(TagEnd::Heading(level)) => {
                outline.heading(below + level as usize, &heading.take().unwrap_or_default());
                begin = range.end;
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            // What stands above a text for programs.
            Event::End(TagEnd::MetadataBlock(MetadataBlockKind::YamlStyle)) => begin = range.end,
            _ => {}
        }
        if outline.is_full() {
            break;
        }
    }
    outline.text(&source[begin..], page);
}

/// The sections of HTML, by way of the Markdown that it is written as.
pub(super) fn html(source: &str) -> Result<Reading, DocumentError> {
    let mut outline = Outline::default();
    add_html(&mut outline, source, None)?;
    Ok(outline.finish())
}

/// Adds HTML.
pub(super) fn add_html(outline: &mut Outline, source: &str, page: Option<u32>) -> Result<(), DocumentError> {
    // The library works through elements by recursion in places.
    if depth(source) > DEPTH_MAX {
        return Err(DocumentError::TooDeep);
    }
    if let Some(title) = title(source) {
        outline.title(&title);
    }
    let config = html2text::config::plain().no_table_borders().link_footnotes(false);
    let text = config.string_from_read(source.as_bytes(), WIDTH).map_err(DocumentError::malformed)?;
    add_markdown(outline, &text, 0, page);
    Ok(())
}

/// Elements that need no end.
const OPEN: [&str; 23] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option",
    "p", "source", "tbody", "td", "th", "thead", "tr", "track", "wbr",
];
/// Elements whose text is none of the document's, and may hold what looks like tags.
const OPAQUE: [&str; 2] = ["script", "style"];

/// The deepest nesting that tags may come to.
fn depth(source: &str) -> usize {
    let (mut deepest, mut depth, mut within) = (0_usize, 0_usize, None);
    for tag in source.split('<').skip(1) {
        let is_end = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default();
        let is_one_of = |names: &[&str]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
        if let Some(opaque) = within {
            if is_end && name.eq_ignore_ascii_case(opaque) {
                within = None;
            }
        } else if is_one_of(&OPAQUE) {
            within = (!is_end).then_some(name);
        } else if !name.is_empty() && !is_one_of(&OPEN) {
            if is_end {
                depth = depth.saturating_sub(1);
            } else if !tag.split('>').next().unwrap_or_default().ends_with('/') {
                depth += 1;
                deepest = deepest.max(depth);
            }
        }
    }
    deepest
}

fn title(source: &str) -> Option<String> {
    let folded = source.to_ascii_lowercase();
    let begin = folded.find("<title")?;
    let begin = begin + folded[begin..].find('>')? + 1;
    let end = begin + folded[begin..].find("</title")?;
    let text = quick_xml::escape::unescape(&source[begin..end]).ok()?;
    Some(text.into_owned())
}
