//! What may come before the anchor of a rule, and where its pattern begins.

use super::{guard::is_letter_or_digit, wrapped::lines_of_base64};

/// What may come before an anchor. Only ASCII counts: a token may follow a letter of another script.
pub(super) enum Before {
    Anything,
    /// No letter or digit.
    NoWord,
    /// No letter, digit, `+` or `/`, so that the anchor is not the middle of base64. The `/` of a path may.
    NoBase64,
    /// As `NoBase64`. The pattern begins with a run of any length, so a failed match is not tried again inside that
    /// run.
    NoBase64OncePerRun,
    /// Lines of base64, at least one of them long, up to the line of the anchor. The pattern begins with the first.
    LinesOfBase64,
    /// `least` to `most` bytes that belong to the secret. A longer run is refused if these must be the `whole` run.
    Run {
        of: fn(u8) -> bool,
        least: usize,
        most: usize,
        whole: bool,
    },
}

impl Before {
    /// Where the pattern begins, if the text before the anchor at `at` is allowed.
    pub fn start(&self, text: &str, at: usize) -> Option<usize> {
        let last = text.as_bytes()[..at].last();
        match self {
            Self::Anything => Some(at),
            Self::NoWord | Self::NoBase64 | Self::NoBase64OncePerRun if ends_with_escape(&text[..at]) => {
                Some(at)
            }
            Self::NoWord => (!last.is_some_and(u8::is_ascii_alphanumeric)).then_some(at),
            Self::NoBase64 | Self::NoBase64OncePerRun => {
                let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
                // The `+` of a diff is no base64.
                let is_added = || {
                    text[..at].strip_suffix('+').is_some_and(|head| head.is_empty() || head.ends_with('\n'))
                };
                (!last.is_some_and(is_base64) || is_added() || ends_a_path(&text[..at])).then_some(at)
            }
            Self::LinesOfBase64 => lines_of_base64(text, at),
            Self::Run { of, least, most, whole } => {
                let bytes = text.as_bytes()[..at].iter().rev();
                let count = bytes.take(most + 1).take_while(|b| of(**b)).count();
                let is_escape = count > 0 && ends_with_escape(&text[..=at - count]);
                let count = count - usize::from(is_escape);
                (count >= *least && !(*whole && count > *most)).then(|| at - count.min(*most))
            }
        }
    }
}

/// The longest numbers of a terminal's colour, in bytes: `38;2;255;255;255`.
const COLOUR_BYTES_MAX: usize = 16;

/// Whether a text ends with a line end or a tab that is written as an escape, with a sign as an address (`%3D`) or JSON
/// (`\u003d`) writes it, or with a colour of a terminal (`ESC[32m`): their letters belong to no word.
fn ends_with_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let is_colour = |head: &[u8]| {
        let count =
            head.iter().rev().take(COLOUR_BYTES_MAX).take_while(|b| matches!(b, b'0'..=b'9' | b';')).count();
        head[..head.len() - count].ends_with(b"[")
    };
    [r"\n", r"\r", r"\t"].iter().any(|escape| text.ends_with(escape))
        || bytes.last_chunk::<3>().is_some_and(|end| end[0] == b'%' && is_hex(&end[1..]))
        || bytes.last_chunk::<6>().is_some_and(|end| end.starts_with(br"\u") && is_hex(&end[2..]))
        || bytes.strip_suffix(b"m").is_some_and(is_colour)
}

/// Most bytes before an anchor that are read to distinguish a path from base64.
const PATH_BYTES_MAX: usize = 64;

/// Whether a text ends with the `/` of a path, as in `/srv/demo/`, and not with one of base64: each of its names is a word,
/// not a mixture of capitals, small letters and digits.
fn ends_a_path(text: &str) -> bool {
    let Some(before) = text.strip_suffix('/') else { return false };
    let before = before.as_bytes();
    let before = &before[before.len().saturating_sub(PATH_BYTES_MAX)..];
    let begin = before.iter().rposition(|b| !is_letter_or_digit(*b) && *b != b'/').map_or(0, |at| at + 1);
    before[begin..].split(|b| *b == b'/').all(|name| {
        let has = |of: fn(&u8) -> bool| name.iter().any(of);
        !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit))
    })
}
