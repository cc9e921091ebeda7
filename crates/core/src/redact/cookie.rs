//! Cookies that a header sends or sets.

use std::ops::Range;

use super::{
    name::Named,
    value::{Form, is_secret},
};

pub(super) const ANCHOR: &str = "cookie";

/// The longest header, in bytes, that is looked at.
const HEADER_BYTES_MAX: usize = 4096;

/// The values of the cookies in the header whose name ends here, and where the header ends.
pub(super) fn secrets(text: &str, anchor: Range<usize>) -> (Vec<Range<usize>>, usize) {
    let line = &text[anchor.end..text.floor_char_boundary(anchor.end + HEADER_BYTES_MAX)];
    let line = line.split(['\n', '\r']).next().unwrap_or_default();
    let is_flag = text[..anchor.start].ends_with("--");
    let rest = line.trim_start_matches(['"', '\'', '`', '\\']);
    let list = match rest.trim_start_matches([' ', '\t']).strip_prefix([':', '=']) {
        Some(list) => list,
        None if is_flag && rest.starts_with(' ') => rest,
        None => return (Vec::new(), anchor.end),
    };
    let list = list.trim_start_matches([' ', '\t', '"', '\'', '`', '\\']);
    let start = anchor.end + (line.len() - list.len());
    let list = list.split(['"', '\'', '`', '\\']).next().unwrap_or_default();
    let end = start + list.len();
    (values(text, start..end), end)
}

/// The values that are secrets in a list of cookies: `theme=dark; sid=…`.
pub(super) fn values(text: &str, list: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut at) = (Vec::new(), list.start);
    for pair in text[list].split(';') {
        let value = pair.split_once('=').map(|(_, value)| value).unwrap_or_default();
        // A value has no blanks: what follows one is prose about the header.
        let value = value.split(char::is_whitespace).next().unwrap_or_default();
        if is_secret(Named::Token, value, Form::Data) {
            let start = at + pair.find('=').map_or(0, |sign| sign + 1);
            found.push(start..start + value.len());
        }
        at += pair.len() + 1;
    }
    found
}
