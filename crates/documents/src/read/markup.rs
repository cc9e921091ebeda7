//! Markdown and HTML.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pulldown_cmark::{Event, MetadataBlockKind, Options, Parser, Tag, TagEnd};

use crate::{
    DocumentError,
    limits::{DEPTH_MAX, TAGS_MAX},
    section::Outline,
};

/// The line width for HTML, wide enough that no line is broken.
const WIDTH: usize = 10_000;

/// How far before the Base64 of a `data:` URL its beginning is looked for, in bytes: between them is a type such as
/// `image/svg+xml;charset=utf-8`.
const INLINE_TYPE_MAX: usize = 128;

/// Data that is written into a text as Base64 is left out of what is searched from this length on, in bytes.
const INLINE_DATA_MIN: usize = 64;

/// The sections of Markdown under its headings. Their text is the source unchanged, without inline data.
pub(super) fn markdown(source: &str, outline: &mut Outline) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut begin = 0;
    let mut heading: Option<String> = None;
    let mut image: Option<(String, String)> = None;
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                outline.text(&without_inline_data(&source[begin..range.start.max(begin)]), None);
                heading = Some(String::new());
            }
            Event::End(TagEnd::Heading(level)) => {
                outline.heading(level as usize, &heading.take().unwrap_or_default());
                begin = range.end;
            }
            Event::Text(text) | Event::Code(text) => {
                for words in image.iter_mut().map(|(_, caption)| caption).chain(&mut heading) {
                    words.push_str(&text);
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                image = Some((dest_url.into_string(), String::new()));
            }
            Event::End(TagEnd::Image) => {
                if let Some((target, caption)) = image.take() {
                    add_image(outline, &target, &caption);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => add_images_of_html(outline, &html),
            // Front matter for programs.
            Event::End(TagEnd::MetadataBlock(MetadataBlockKind::YamlStyle)) => begin = range.end,
            _ => {}
        }
        if outline.is_full() {
            break;
        }
    }
    outline.text(&without_inline_data(&source[begin..]), None);
}

/// A text without the Base64 of its `data:` URLs, which nobody searches for. The image itself is kept as an image.
fn without_inline_data(source: &str) -> Cow<'_, str> {
    const MARK: &str = ";base64,";
    let mut out = String::new();
    let mut begin = 0;
    for (at, _) in source.match_indices(MARK) {
        let data = at + MARK.len();
        let near = &source[source.ceil_char_boundary(at.saturating_sub(INLINE_TYPE_MAX))..at];
        let mut words = near.rsplit(|c: char| c.is_whitespace() || "(<\"'".contains(c));
        let is_url = words.next().is_some_and(|word| word.starts_with("data:"));
        let is_data = |c: char| c.is_ascii_alphanumeric() || "+/=-_%".contains(c);
        let end = source[data..].find(|c| !is_data(c)).map_or(source.len(), |length| data + length);
        if is_url && end - data >= INLINE_DATA_MIN {
            out.push_str(&source[begin..data]);
            begin = end;
        }
    }
    if begin == 0 {
        return Cow::Borrowed(source);
    }
    out.push_str(&source[begin..]);
    Cow::Owned(out)
}

/// The sections of HTML, converted to Markdown first.
pub(super) fn html(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    html_text(source, outline)?;
    add_images_of_html(outline, source);
    Ok(())
}

/// An image that a text refers to: a file beside the document, or a `data:` URL.
fn add_image(outline: &mut Outline, target: &str, caption: &str) {
    let Some(written) = target.strip_prefix("data:") else {
        outline.image_beside(caption, &unescaped(target));
        return;
    };
    let bytes = written.split_once(";base64,").and_then(|(_, data)| unpacked(data));
    if let Some(bytes) = bytes.filter(|_| !outline.has_all_images()) {
        let name = format!("inline {}", crate::image::digest(&bytes));
        outline.image(caption, None, &name, &bytes);
    }
}

/// Decodes Base64, ignoring blanks.
pub(super) fn unpacked(data: &str) -> Option<Vec<u8>> {
    let data: Vec<u8> = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(data).ok()
}

/// A path as on the disk: `%20` becomes a blank.
pub(super) fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|code| str::from_utf8(code).ok());
        let byte = code.filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

fn add_images_of_html(outline: &mut Outline, source: &str) {
    for (target, caption) in images(source) {
        if outline.has_all_images() {
            return;
        }
        add_image(outline, &target, &caption);
    }
}

/// The images in HTML, with their captions.
pub(super) fn images(source: &str) -> Vec<(String, String)> {
    let folded = source.to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, _) in folded.match_indices("<img") {
        let attributes = attributes(&source[at + "<img".len()..]);
        let of = |name: &str| {
            let value =
                attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value)?;
            Some(quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), Into::into))
        };
        if let Some(target) = of("src") {
            found.push((target, of("alt").unwrap_or_default()));
        }
    }
    found
}

/// The attributes of a tag after its name, as far as they are quoted.
fn attributes(tag: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = tag;
    loop {
        rest = rest.trim_start();
        let name = &rest[..rest.find(['=', '>', '<', ' ', '\n']).unwrap_or(rest.len())];
        let after = rest[name.len()..].trim_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else {
            // An attribute without a value, or the end.
            if name.is_empty() || after.starts_with(['>', '<']) || after.is_empty() {
                return found;
            }
            rest = after;
            continue;
        };
        let Some(quote) = value.chars().next().filter(|quote| ['"', '\''].contains(quote)) else {
            return found;
        };
        let Some(end) = value[1..].find(quote) else { return found };
        found.push((name, &value[1..=end]));
        rest = &value[end + 2..];
    }
}

/// The sections of HTML, without its images.
pub(super) fn html_text(source: &str, outline: &mut Outline) -> Result<(), DocumentError> {
    let end = source.match_indices('<').nth(TAGS_MAX).map(|(at, _)| at);
    let source = &source[..end.unwrap_or(source.len())];
    // The library recurses through elements in places.
    if depth(source) > DEPTH_MAX {
        return Err(DocumentError::TooDeep);
    }
    if let Some(title) = title(source) {
        outline.title(&title);
    }
    let config = html2text::config::plain().no_table_borders().link_footnotes(false);
    let source = with_known_blocks(source);
    let text = config.string_from_read(source.as_bytes(), WIDTH).map_err(DocumentError::malformed)?;
    markdown(&text, outline);
    if end.is_some() {
        outline.cut();
    }
    Ok(())
}

/// Elements that begin and end a line, with an end tag that is not optional. The library does not know them, and would
/// join the words before and after their tags.
const BLOCKS: [&str; 18] = [
    "address", "article", "aside", "center", "details", "dialog", "fieldset", "figcaption", "figure",
    "footer", "form", "header", "hgroup", "legend", "main", "nav", "section", "summary",
];

/// HTML with elements that the library knows instead of those that it does not, and with the lines of `<pre>` indented like
/// code of Markdown, so that a comment in them is no heading.
fn with_known_blocks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut pieces = source.split('<');
    let mut in_code = false;
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (begin, tag) = piece.strip_prefix('/').map_or(("<", piece), |tag| ("</", tag));
        let name_end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(tag.len());
        let (name, rest) = tag.split_at(name_end);
        let known = match name {
            name if BLOCKS.iter().any(|block| block.eq_ignore_ascii_case(name)) => "div",
            name if name.eq_ignore_ascii_case("hr") => "br",
            name => name,
        };
        out.extend([begin, known]);
        let is_pre = name.eq_ignore_ascii_case("pre");
        in_code = if is_pre { begin == "<" } else { in_code };
        if in_code {
            let rest = rest.replacen('>', ">    ", usize::from(is_pre));
            out.push_str(&rest.replace('\n', "\n    "));
        } else {
            out.push_str(rest);
        }
    }
    out
}

/// Elements without an end tag, or with an optional one.
const WITHOUT_END_TAG: [&str; 23] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option",
    "p", "source", "tbody", "td", "th", "thead", "tr", "track", "wbr",
];
/// Elements whose content does not belong to the text and may look like tags.
const RAW_TEXT_ELEMENTS: [&str; 2] = ["script", "style"];

/// The deepest nesting that the tags may reach.
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
        } else if is_one_of(&RAW_TEXT_ELEMENTS) {
            within = (!is_end).then_some(name);
        } else if !name.is_empty() && !is_one_of(&WITHOUT_END_TAG) {
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
