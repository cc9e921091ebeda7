//! The forms of a text: texts that say the same have the same form.
//!
//! Tombstones hold keys of forms and no texts, so a form cannot be made anew when its rules change. Each change makes the
//! next [`Form`]; the earlier ones are still looked up.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use super::signs::{is_currency, spelled};
use crate::text::is_ignorable;

/// The version of the rules by which a text was brought into its form. Each rule of [`super::signs`] holds since one of
/// these versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Until November 25th, 2026: hyphens beyond ASCII were other dashes, and fewer signs counted.
    First,
    /// Until November 26th, 2026: short options, variables, patterns and powers count.
    Second,
    /// Today: all signs of paths and operators count, and accents do not.
    Third,
}

/// The first character of a stored form of today. It tells the form from those of earlier versions, by which texts were
/// equal that differ today.
const MARK: char = '\u{1d}';
/// The first character of a stored form that keeps case and accents.
const CASED_MARK: char = '\u{1e}';

/// The normal form of a text: texts that say the same have the same one. Compatibility forms, case and accents are folded,
/// words are separated by one blank, and the punctuation of prose is removed. Significant signs stay: digits with
/// their points, signs and units, names with their joiners, comparisons and negations.
pub fn normal(text: &str) -> String {
    normal_by(Form::Third, text)
}

/// The normal form by some rules.
pub(super) fn normal_by(form: Form, text: &str) -> String {
    spelled(&in_one_case(&shown(text, form), form), form)
}

/// The form by some rules with case and accents as they are written. It differs between texts with the same normal form,
/// such as `10 MB` and `10 Mb`.
pub(super) fn exact_by(form: Form, text: &str) -> String {
    let chars = if form < Form::Third { shown(text, form) } else { with_plain_minus(with_accents(text)) };
    spelled(&chars, form)
}

/// A normal form as it is stored. No stored form is empty.
pub(super) fn stored(form: Form, normal: &str) -> String {
    if form < Form::Third { normal.to_owned() } else { format!("{MARK}{normal}") }
}

/// An exact form as it is stored.
pub(super) fn stored_exact(form: Form, exact: &str) -> String {
    stored(form, &format!("{CASED_MARK}{exact}"))
}

/// Whether the first form of a text is looked up: only if the text has hyphens or hidden characters that the first rules
/// read in another way. Otherwise a text that was equal by the first rules may differ by the second.
pub(super) fn has_first(text: &str) -> bool {
    let is_read_otherwise = |c: char| plain_hyphen(c) != c || is_ignorable(c) && !was_hidden(c);
    !text.is_ascii() && text.nfkc().any(is_read_otherwise)
}

/// The hidden characters that the first form left out.
fn was_hidden(c: char) -> bool {
    let is_of_plane =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    is_of_plane || matches!(c, '\u{ad}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// The characters of a text that are read.
fn shown(text: &str, form: Form) -> Vec<char> {
    if text.is_ascii() {
        return text.chars().filter(|c| is_shown(*c, is_ignorable)).collect();
    }
    match form {
        Form::First => text.nfkc().filter(|c| is_shown(*c, was_hidden)).collect(),
        Form::Second => {
            let powered = with_powers(text);
            powered.nfkc().filter(|c| is_shown(*c, is_ignorable)).map(plain_hyphen).collect()
        }
        Form::Third => {
            let chars = with_powers(text);
            let plain = chars.chars().map(plain_sign).nfkd().filter(|c| !is_accent(*c)).nfc();
            with_plain_minus(plain.filter(|c| is_shown(*c, is_ignorable)).map(plain_hyphen).collect())
        }
    }
}

fn with_accents(text: &str) -> Vec<char> {
    let chars = with_powers(text);
    let composed = chars.chars().map(plain_sign).nfkc();
    composed.filter(|c| is_shown(*c, is_ignorable)).map(plain_hyphen).collect()
}

fn is_shown(c: char, is_hidden: fn(char) -> bool) -> bool {
    c.is_whitespace() || !c.is_control() && !is_hidden(c)
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
fn in_one_case(chars: &[char], form: Form) -> Vec<char> {
    let mut folded = Vec::with_capacity(chars.len());
    for (at, c) in chars.iter().enumerate() {
        let is_option = form >= Form::Second && at > 0 && is_short_option(chars, at - 1);
        if is_option || form >= Form::Third && is_of_bits(chars, at) {
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
pub(super) fn is_short_option(chars: &[char], dash: usize) -> bool {
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
