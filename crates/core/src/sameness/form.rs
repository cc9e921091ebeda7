//! The form of a text: texts that say the same have the same form.
//!
//! Tombstones hold keys of forms and no texts. When the rules change, they are made again from the rows, and [`MARK`] must
//! change too, so that keys by earlier rules recognise nothing.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::signs::{is_currency, spelled};
use crate::text::is_ignorable;

/// The first character of a stored form. It tells the form from those by earlier rules, by which texts were equal that
/// differ today.
const MARK: char = '\u{1d}';
/// The first character of a stored form that keeps case and accents.
const CASED_MARK: char = '\u{1e}';

/// The normal form of a text: texts that say the same have the same one. Compatibility forms, case and accents are folded,
/// words are separated by one blank, and the punctuation of prose is removed. Significant signs stay: digits with
/// their points, signs and units, names with their joiners, comparisons and negations.
pub fn normal(text: &str) -> String {
    spelled(&in_one_case(&shown(text)))
}

/// The form with case and accents as they are written. It differs between texts with the same normal form, such as `10 MB`
/// and `10 Mb`.
pub(super) fn exact(text: &str) -> String {
    let chars = with_powers(text);
    let composed = chars.chars().map(plain_sign).nfkc();
    spelled(&with_plain_minus(composed.filter(|c| is_shown(*c)).map(plain_hyphen).collect()))
}

/// A normal form as it is stored. No stored form is empty.
pub(super) fn stored(normal: &str) -> String {
    format!("{MARK}{normal}")
}

/// An exact form as it is stored.
pub(super) fn stored_exact(exact: &str) -> String {
    stored(&format!("{CASED_MARK}{exact}"))
}

/// The characters of a text that are read, without accents.
fn shown(text: &str) -> Vec<char> {
    if text.is_ascii() {
        return text.chars().filter(|c| is_shown(*c)).collect();
    }
    let chars = with_powers(text);
    let plain = chars.chars().map(plain_sign).nfkd().filter(|c| !is_accent(*c)).nfc();
    with_plain_minus(plain.filter(|c| is_shown(*c)).map(plain_hyphen).collect())
}

fn is_shown(c: char) -> bool {
    c.is_whitespace() || !c.is_control() && !is_ignorable(c)
}

/// Whether a character is a mark above or below a letter. A mark through a letter is none: `≠` is `=` with such a mark.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{333}' | '\u{339}'..='\u{36f}')
}

/// Replaces characters that the compatibility form would mangle: the accent that stands for an apostrophe, and the blank
/// of Braille.
fn plain_sign(c: char) -> char {
    match c {
        '´' | '\u{201b}' => '\'',
        '\u{2800}' => ' ',
        _ => c,
    }
}

/// Replaces the hyphens of Unicode and the dash of ranges by the hyphen of ASCII: all of them join names and numbers.
fn plain_hyphen(c: char) -> char {
    if matches!(c, '\u{2010}'..='\u{2013}') { '-' } else { c }
}

/// Replaces the minus of mathematics before a number by a hyphen. Any other stays, because it is no dash.
fn with_plain_minus(mut chars: Vec<char>) -> Vec<char> {
    for at in 0..chars.len() {
        if chars[at] == '−'
            && chars.get(at + 1).is_some_and(|c| c.is_numeric() || *c == '.' || is_currency(*c))
        {
            chars[at] = '-';
        }
    }
    chars
}

/// The characters in one case, by way of upper case, which unites more letters: ß, final sigma. A letter keeps its case
/// where the case has a meaning: `-d` and `-D` are two options, and `Mb` are not `MB`.
fn in_one_case(chars: &[char]) -> Vec<char> {
    let mut folded = Vec::with_capacity(chars.len());
    for (at, c) in chars.iter().enumerate() {
        if at > 0 && is_short_option(chars, at - 1) || is_of_bits(chars, at) {
            folded.push(*c);
        } else if c.is_ascii() {
            folded.push(c.to_ascii_lowercase());
        } else {
            folded.extend(c.to_uppercase().flat_map(char::to_lowercase));
        }
    }
    folded
}

/// Whether a dash and the one letter after it stand alone, as an option of a command.
fn is_short_option(chars: &[char], dash: usize) -> bool {
    let is_apart = |c: Option<&char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_'));
    chars[dash] == '-'
        && chars.get(dash + 1).is_some_and(|c| c.is_alphabetic())
        && is_apart(chars.get(dash + 2))
        && (dash == 0 || is_apart(chars.get(dash - 1)))
}

/// Whether a character is the prefix of a unit of bits after a number: `10 Mb`, `10 Gbps`.
fn is_of_bits(chars: &[char], at: usize) -> bool {
    let is_end = |from: usize| chars.get(from).is_none_or(|c| !c.is_alphanumeric());
    let number = || chars[..at].iter().rev().find(|c| !c.is_whitespace());
    matches!(chars[at], 'K' | 'M' | 'G' | 'T' | 'P')
        && chars.get(at + 1) == Some(&'b')
        && number().is_some_and(|c| c.is_numeric())
        && (is_end(at + 2) || chars.get(at + 2..at + 4) == Some(&['p', 's']) && is_end(at + 4))
}

/// A text whose raised digits are powers and whose fractions stay apart: `2³²` is not `232`, and `1½` not `11/2`.
fn with_powers(text: &str) -> Cow<'_, str> {
    let is_raised = |c: char| matches!(c, '²' | '³' | '¹' | '\u{2070}'..='\u{207e}');
    let is_fraction = |c: char| matches!(c, '¼'..='¾' | '\u{2150}'..='\u{215e}' | '\u{2189}');
    if text.is_ascii() || !text.contains(|c| is_raised(c) || is_fraction(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = None;
    for c in text.chars() {
        if is_raised(c) && !before.is_some_and(is_raised) || is_fraction(c) {
            out.push('^');
        }
        out.push(c);
        before = Some(c);
    }
    Cow::Owned(out)
}
