//! Text as it is stored, shown and named: cleaning, cutting, folding. Nothing here cuts inside a
//! character, whatever the text.

mod alike;
mod comparable;
mod frame;
mod inert;
mod moment;
mod near;

use std::borrow::Cow;
use std::fmt::Display;
use std::time::Duration;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_segmentation::UnicodeSegmentation;

pub use alike::look_alike;
pub use comparable::comparable;
pub use frame::{framed, unframed};
pub use inert::{inert, strip_hidden};
pub use moment::{age, duration, parse_moment};
pub use near::nearest;

const ELLIPSIS: char = '…';

/// Bytes as lowercase hex.
pub fn hex(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * digest.len());
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(digits.map(|digit| char::from(DIGITS[usize::from(digit)])));
    text
}

/// The hash of nothing, from which [`fnv_step`] goes on.
pub(crate) const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// One step of FNV-1a.
pub(crate) fn fnv_step(hash: u64, unit: u64) -> u64 {
    (hash ^ unit).wrapping_mul(0x0000_0100_0000_01b3)
}

/// FNV-1a of 64 bits: the same on every machine and in every build, because it goes into files.
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(FNV_OFFSET, |hash, byte| fnv_step(hash, u64::from(byte)))
}

/// Reads bytes from hex; `None` unless it has two digits per byte.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks_exact(2).map(|pair| Some(digit(&pair[0])? << 4 | digit(&pair[1])?)).collect()
}

/// The default-ignorable code points of Unicode: nothing is shown for them, so they can hide what a text says.
pub fn is_ignorable(c: char) -> bool {
    // Shortcut: nearly all text is below the first of them.
    c >= '\u{ad}'
        && matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Removes NUL and every other control character (C0, DEL, C1) except newline and tab.
pub fn strip_control_chars(text: &str) -> Cow<'_, str> {
    let unwanted = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(unwanted) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|&c| !unwanted(c)).collect())
}

/// Replaces every run of white space by one blank, and trims the ends.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// At most `max` chars of the text. A cut is marked by `…`, which counts, and falls between grapheme clusters
/// unless the first cluster alone is too long.
pub fn cut_chars(text: &str, max: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return Cow::Borrowed(text);
    };
    let Some(room) = max.checked_sub(1) else {
        return Cow::Borrowed("");
    };
    let (mut bytes, mut chars) = (0, 0);
    // One char beyond the room shows whether a cluster ends there.
    for cluster in text[..end].graphemes(true) {
        chars += cluster.chars().count();
        if chars > room {
            break;
        }
        bytes += cluster.len();
    }
    if bytes == 0 {
        bytes = text.char_indices().nth(room).map_or(0, |(at, _)| at);
    }
    let mut out = String::with_capacity(bytes + ELLIPSIS.len_utf8());
    out.push_str(&text[..bytes]);
    out.push(ELLIPSIS);
    Cow::Owned(out)
}

/// What follows a folder in the path of something below it; `None` for the folder itself and for what is elsewhere. Both
/// kinds of separators count, because the path may be of another system.
pub fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    const SEPARATORS: [char; 2] = ['/', '\\'];
    if folder.is_empty() {
        return None;
    }
    let below = path.strip_prefix(folder.trim_end_matches(SEPARATORS))?.strip_prefix(SEPARATORS)?;
    (!below.is_empty()).then_some(below)
}

/// A count and its noun in agreement: `1 hit`, `2 hits`, `0 live memories`. Only the last word changes, by the
/// English rules for `-s`, `-es` and `-ies`.
pub fn counted(count: impl TryInto<u64> + Copy + Display, noun: &str) -> String {
    if matches!(count.try_into(), Ok(1)) {
        return format!("{count} {noun}");
    }
    let before_y = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']));
    let is_hissing = ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    match before_y {
        Some(stem) => format!("{count} {stem}ies"),
        None if is_hissing => format!("{count} {noun}es"),
        None => format!("{count} {noun}s"),
    }
}

/// A size in bytes for people, in powers of 1,000 with one decimal.
pub fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{}.{} {unit}", count / size, count % size / (size / 10)),
        None => format!("{count} B"),
    }
}

/// The longest prefix of at most `max` bytes that ends between two chars.
pub fn cut_bytes(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The piece of at most `max` bytes from the byte `offset` (rounded down to the beginning of a char), and the
/// offset of the next piece, if any. A piece has at least one char, so a reader who follows the offsets always
/// reaches the end; beyond the end it is empty.
pub fn slice_bytes(text: &str, offset: usize, max: usize) -> (&str, Option<usize>) {
    let rest = &text[text.floor_char_boundary(offset)..];
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let piece = cut_bytes(rest, max.max(first));
    let next = text.len() - rest.len() + piece.len();
    (piece, (next < text.len()).then_some(next))
}

/// A one-line excerpt of at most `max` chars around the bytes `start..end` of the text, cut
/// between words; `…` (counted) marks where text is left out. A word that is too long by itself is
/// cut between two of its chars. Offsets that are out of range or inside a char are moved down.
pub fn passage(text: &str, start: usize, end: usize, max: usize) -> String {
    let start = text.floor_char_boundary(start);
    let word_start = text[..start].rfind(char::is_whitespace).map_or(0, |at| text.ceil_char_boundary(at + 1));
    // Each word takes at least one char, so `max` + 1 words are always enough.
    let mut words: Vec<&str> = text[..word_start].split_whitespace().rev().take(max + 1).collect();
    words.reverse();
    let before = words.len();
    words.extend(text[word_start..].split_whitespace().take(max + 1));
    let Some(seed) = words.len().checked_sub(1).map(|last| last.min(before)) else {
        return String::new();
    };
    let offset = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();

    let room = Room::of(&words, max);
    let (mut from, mut to) = (seed, seed + 1);
    if !room.fits(from, to) {
        let at = start.saturating_sub(offset(words[seed]));
        return cut_word(words[seed], at, max, seed > 0, to < words.len());
    }
    while to < words.len() && offset(words[to]) < end && room.fits(from, to + 1) {
        to += 1;
    }
    let reach = to;
    loop {
        let left = from > 0 && room.fits(from - 1, to);
        let right = to < words.len() && room.fits(from, to + 1);
        match (left, right) {
            (false, false) => break,
            (true, true) if room.chars(from, seed) <= room.chars(reach, to) => from -= 1,
            (true, false) => from -= 1,
            (_, true) => to += 1,
        }
    }
    marked(from > 0, &words[from..to].join(" "), to < words.len())
}

/// How many chars a run of words takes on one line.
struct Room {
    /// For each place, the total chars of the words before it, each with a blank.
    sums: Vec<usize>,
    max: usize,
}

impl Room {
    fn of(words: &[&str], max: usize) -> Self {
        let mut sums = vec![0];
        let mut sum = 0;
        for word in words {
            sum += word.chars().take(max + 1).count() + 1;
            sums.push(sum);
        }
        Self { sums, max }
    }

    fn chars(&self, from: usize, to: usize) -> usize {
        self.sums[to] - self.sums[from]
    }

    /// Whether the words `from..to` fit, including the marks for what is left out.
    fn fits(&self, from: usize, to: usize) -> bool {
        let marks = usize::from(from > 0) + usize::from(to + 1 < self.sums.len());
        self.chars(from, to) - 1 + marks <= self.max
    }
}

/// A piece of a word that is too long: from its byte `at`, or earlier where its end is near.
fn cut_word(word: &str, at: usize, max: usize, before: bool, after: bool) -> String {
    // Leaves room for both marks, even if one turns out unnecessary.
    let room = max.saturating_sub(2);
    if room == 0 {
        return cut_chars(word, max.min(1)).into_owned();
    }
    let total = word.chars().count();
    let at = word[..word.floor_char_boundary(at)].chars().count();
    let from = at.min(total.saturating_sub(room));
    let piece: String = word.chars().skip(from).take(room).collect();
    marked(before || from > 0, &piece, after || from + room < total)
}

fn marked(before: bool, text: &str, after: bool) -> String {
    let mark = |left_out| if left_out { "…" } else { "" };
    format!("{}{text}{}", mark(before), mark(after))
}

/// A slug of a title: lower case, Latin letters without accents, other letters and digits unchanged, each run of
/// anything else as one `-`, none at the ends. May be empty.
pub fn slug(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut latin = false;
    for c in text.to_lowercase().nfkd().flat_map(char::to_lowercase) {
        if is_accent(c) && latin {
            continue;
        }
        if !is_combining_mark(c) {
            latin = is_latin(c);
        }
        match plain_latin(c) {
            Some(plain) => folded.push_str(plain),
            None => folded.push(c),
        }
    }
    let mut out = String::with_capacity(folded.len());
    let mut gap = false;
    for c in folded.nfc() {
        // A mark belongs to the letter it follows (vowel signs, tone marks).
        let is_part = c.is_alphanumeric() || (is_combining_mark(c) && !gap && !out.is_empty());
        if !is_part {
            gap = true;
            continue;
        }
        if gap && !out.is_empty() {
            out.push('-');
        }
        gap = false;
        out.push(c);
    }
    out
}

/// The form of a text in which words are compared: lower case, compatibility form, without the accents of Latin,
/// Greek and Cyrillic letters (U+0300–U+036F).
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let plain = text.nfkd().filter(|&c| !is_accent(c));
    // Composed again, so that Hangul and kana keep their usual form.
    plain.flat_map(char::to_lowercase).filter(|&c| !is_accent(c)).nfc().collect()
}

fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Latin letters that Unicode does not decompose into plain ones.
fn plain_latin(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ı' => "i",
        _ => return None,
    })
}

/// Makes one line of JSON acceptable to a strict parser: a lone surrogate escape inside a string (`\ud83d` without
/// its other half) becomes `\uFFFD`, and invalid UTF-8 becomes U+FFFD. A line without either is returned byte for
/// byte.
pub fn sanitize_surrogates(line: &[u8]) -> Cow<'_, [u8]> {
    let mut out = match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    let mut in_string = false;
    let mut at = 0;
    while at < out.len() {
        match out[at] {
            b'"' => in_string = !in_string,
            b'\\' if in_string => match escaped_unit(&out[at..]) {
                None => at += 1,
                Some(0xd800..=0xdbff) if matches!(escaped_unit(&out[at + 6..]), Some(0xdc00..=0xdfff)) => {
                    at += 11;
                }
                Some(0xd800..=0xdfff) => {
                    out.to_mut()[at..at + 6].copy_from_slice(b"\\uFFFD");
                    at += 5;
                }
                Some(_) => at += 5,
            },
            _ => {}
        }
        at += 1;
    }
    out
}

/// The UTF-16 unit of an escape `\uXXXX` at the beginning of the bytes.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| {
        let value = u16::try_from(char::from(digit).to_digit(16)?).ok()?;
        Some(unit << 4 | value)
    })
}

/// Deserialises a setting with [`duration`].
///
/// # Errors
/// A message that says how a duration is written.
pub fn setting_of_duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let written: String = serde::Deserialize::deserialize(deserializer)?;
    duration(&written).ok_or_else(|| {
        serde::de::Error::custom(format!(
            "`{written}` is not a duration; write for example \"30s\", \"15m\", \"2h\", or \"0\""
        ))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_below_a_folder_is_told_without_it() {
        for (folder, path, want) in [
            ("/w", "/w/src/a.rs", Some("src/a.rs")),
            ("/w/", "/w/a", Some("a")),
            ("C:\\w", "C:\\w\\a", Some("a")),
            ("/", "/etc/a", Some("etc/a")),
            ("/w", "/wide/a", None),
            ("/w", "/w", None),
            ("/w", "/w/", None),
            ("/w", "a", None),
            ("", "/a", None),
        ] {
            assert_eq!(below(folder, path), want, "{folder} {path}");
        }
    }

    #[test]
    fn control_characters_go_but_newline_and_tab() {
        assert_eq!(strip_control_chars("a\0b\u{1}\r\n\tc\u{7f}\u{9b}é"), "ab\n\tcé");
        assert!(matches!(strip_control_chars("plain\n\t…"), Cow::Borrowed(_)));
        assert_eq!(one_line(" a \n\t b\u{a0}c "), "a b c");
    }

    #[test]
    fn counts_agree_with_their_nouns() {
        for (count, noun, want) in [
            (0, "hit", "0 hits"),
            (1, "hit", "1 hit"),
            (2, "live memory", "2 live memories"),
            (1, "live memory", "1 live memory"),
            (3, "day", "3 days"),
            (2, "match", "2 matches"),
            (1_000, "box", "1000 boxes"),
        ] {
            assert_eq!(counted(count, noun), want);
        }
        assert_eq!(counted(1_usize, "project"), "1 project");
        assert_eq!(counted(1_u64, "project"), "1 project");
    }

    #[test]
    fn bytes_are_printed_in_powers_of_a_thousand() {
        for (count, want) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_050, "1.0 kB"),
            (12_345_678, "12.3 MB"),
            (5_000_000_000, "5.0 GB"),
        ] {
            assert_eq!(bytes(count), want);
        }
    }

    #[test]
    fn cuts_are_marked_and_keep_clusters_whole() {
        for (text, max, want) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("abcd", 0, ""),
            ("", 0, ""),
            ("ae\u{301}b", 3, "a…"),
            ("👨‍👩‍👧x", 4, "👨‍👩…"),
            ("e\u{301}x", 2, "e…"),
        ] {
            assert_eq!(cut_chars(text, max), want, "{text} {max}");
        }
        assert_eq!(cut_bytes("aé", 2), "a");
        assert_eq!(slice_bytes("aéb", 2, 2), ("é", Some(3)));
        assert_eq!(slice_bytes("aéb", 1, 1), ("é", Some(3)));
        assert_eq!(slice_bytes("aéb", 3, 9), ("b", None));
        assert_eq!(slice_bytes("aéb", 9, 9), ("", None));
    }

    #[test]
    fn passages_show_the_match_between_whole_words() {
        let text = "one two  three\nfour five six";
        let at = |word: &str| text.find(word).unwrap();
        for (start, end, max, want) in [
            (at("three"), at("three") + 5, 100, "one two three four five six"),
            (at("three"), at("three") + 5, 12, "…two three…"),
            (at("three"), at("three") + 5, 16, "…two three four…"),
            (at("six"), at("six") + 3, 9, "…five six"),
            (0, 3, 8, "one two…"),
            (at("three") + 2, at("four") + 1, 12, "…three four…"),
            (at("three"), at("three") + 5, 6, "…thre…"),
            (at("three") + 3, at("three") + 5, 5, "…ree…"),
            (900, 950, 8, "…six"),
            (0, 0, 1, "…"),
            (0, 0, 0, ""),
        ] {
            assert_eq!(passage(text, start, end, max), want, "{start} {max}");
        }
        assert_eq!(passage(" \n ", 1, 2, 10), "");
        assert_eq!(passage(&"x".repeat(50), 20, 25, 10), "…xxxxxxxx…");
    }

    #[test]
    fn slugs_fold_latin_and_keep_the_letters_of_other_scripts() {
        for (text, want) in [
            ("Fix: the N+1 query!", "fix-the-n-1-query"),
            ("Crème Brûlée – Straße", "creme-brulee-strasse"),
            ("İstanbul Łódź Ørsted", "istanbul-lodz-orsted"),
            ("Дай чай", "дай-чай"),
            ("修复登录错误", "修复登录错误"),
            ("ログインバグ", "ログインバグ"),
            ("한국어 제목", "한국어-제목"),
            ("हिन्दी", "हिन्दी"),
            ("ไม้ไต่คู้", "ไม้ไต่คู้"),
            ("Ｆｕｌｌ １", "full-1"),
            ("--🎉--", ""),
        ] {
            assert_eq!(slug(text), want, "{text}");
        }
    }

    #[test]
    fn folding_drops_case_and_accents() {
        for (text, want) in
            [("ÉTÉ", "ete"), ("Ά", "α"), ("Й", "и"), ("한글", "한글"), ("ガ", "ガ"), ("AbC", "abc")]
        {
            assert_eq!(fold(text), want);
        }
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_stay() {
        for (line, want) in [
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\uFFFD"}"#),
            (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
            (r#"{"a":"\uD83D\uD83D\uDE00\uDE00"}"#, r#"{"a":"\uFFFD\uD83D\uDE00\uFFFD"}"#),
            (r#"{"a":"\\ud83d"}"#, r#"{"a":"\\ud83d"}"#),
            (r#"{"a":"\\\ud83d\"\udc00"}"#, r#"{"a":"\\\uFFFD\"\uFFFD"}"#),
            (r#"{"a":"\ud8"#, r#"{"a":"\ud8"#),
            (r#"{"\udc00":1}"#, r#"{"\uFFFD":1}"#),
        ] {
            assert_eq!(sanitize_surrogates(line.as_bytes()), want.as_bytes(), "{line}");
        }
        assert_eq!(sanitize_surrogates(b"\"\xff\"").as_ref(), "\"\u{fffd}\"".as_bytes());
    }

    /// One line of JSON made of escapes, whole and broken.
    fn json_string() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            r"\ud83d", r"\ude00", r"\uDBFF", r"\uDC00", r"\\", r"\n", r#"\""#, r"\u0041", "u", "d800", "é",
            "x", " ",
        ]);
        prop::collection::vec(piece, 0..20).prop_map(|pieces| format!(r#"{{"k":"{}"}}"#, pieces.concat()))
    }

    proptest! {
        #[test]
        fn cuts_never_exceed_their_bound(text in ".*", max in 0usize..40) {
            let cut = cut_chars(&text, max);
            prop_assert!(cut.chars().count() <= max);
            let head = cut.strip_suffix('…').filter(|_| cut != text.as_str()).unwrap_or(&cut);
            prop_assert!(text.starts_with(head));
            prop_assert!(cut_bytes(&text, max).len() <= max);
            prop_assert!(max < cut_bytes(&text, max).len() + 4 || cut_bytes(&text, max) == text);
        }

        #[test]
        fn slices_join_to_the_text(text in ".*", max in 0usize..20) {
            let (mut all, mut next) = (String::new(), Some(0));
            while let Some(offset) = next {
                let (piece, following) = slice_bytes(&text, offset, max);
                prop_assert!(piece.len() <= max.max(4));
                all.push_str(piece);
                next = following;
            }
            prop_assert_eq!(all, text);
        }

        #[test]
        fn passages_are_short_lines_of_the_text(
            text in "(\\PC{0,9}[ \n\u{3000}]{0,2}){0,12}", start in 0usize..150, length in 0usize..60, max in 0usize..60,
        ) {
            let shown = passage(&text, start, start + length, max);
            prop_assert!(shown.chars().count() <= max);
            prop_assert!(!shown.contains('\n'));
            let line = one_line(&text);
            let bare = shown.strip_prefix('…').unwrap_or(&shown);
            let bare = bare.strip_suffix('…').unwrap_or(bare);
            prop_assert!(text.contains('…') || line.contains(bare), "{shown:?} of {line:?}");
            if line.chars().count() <= max {
                prop_assert_eq!(shown, line);
            }
        }

        #[test]
        fn slugs_and_folds_are_stable(text in ".*") {
            let name = slug(&text);
            prop_assert!(!name.starts_with('-') && !name.ends_with('-') && !name.contains("--"));
            prop_assert_eq!(slug(&name), name);
            let folded = fold(&text);
            prop_assert_eq!(fold(&folded), folded);
            let cleaned = strip_control_chars(&text).into_owned();
            prop_assert_eq!(strip_control_chars(&cleaned), cleaned.as_str());
        }

        #[test]
        fn sanitised_lines_parse(line in json_string()) {
            let valid = serde_json::from_str::<serde_json::Value>(&line).is_ok();
            let out = sanitize_surrogates(line.as_bytes());
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok());
            if valid {
                prop_assert_eq!(out.as_ref(), line.as_bytes());
            }
        }

        #[test]
        fn sanitised_bytes_are_utf8(line in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(std::str::from_utf8(&sanitize_surrogates(&line)).is_ok());
        }
    }
}
