//! Invisible characters and look-alike letters.

use crate::text::look_alike;

/// The first character behind the letters of Latin and of phonetic alphabets.
const FOREIGN_FIRST: char = '\u{370}';

/// How much a text hides: 0 nothing, 1 something that may be accidental, 2 something deliberate.
pub(super) fn unseen(text: &str) -> u32 {
    if text.is_ascii() {
        return 0;
    }
    let (mut tags, mut turns, mut gaps) = (0_u32, 0_u32, 0_u32);
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // The flags of England, Scotland and Wales are a black flag followed by tags.
            '\u{e0001}'..='\u{e007f}' if before != '\u{1f3f4}' && !is_tag(before) => tags += 1,
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                turns += u32::from(c != '\u{202c}' && c != '\u{2069}');
            }
            // Between Latin letters none of these has a meaning.
            _ if is_gap(c) => {
                let behind = chars.peek().copied().unwrap_or(' ');
                gaps += u32::from(
                    before.is_ascii_alphabetic() && (behind.is_ascii_alphabetic() || is_gap(behind)),
                );
            }
            _ => {}
        }
        before = c;
    }
    let mixed = text.split(|c: char| !c.is_alphabetic()).filter(|word| is_mixed(word)).take(3).count();
    let score = |count: usize, accident: usize| u32::from(count > 0) + u32::from(count > accident);
    let overrides = text.contains(['\u{202d}', '\u{202e}']);
    [
        2 * u32::from(tags > 0),
        score(gaps as usize, 2),
        score(mixed, 2),
        u32::from(turns > 0) + u32::from(overrides),
    ]
    .into_iter()
    .max()
    .unwrap_or(0)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0001}'..='\u{e007f}')
}

fn is_gap(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}')
}

/// Whether a word has Latin letters and, among them, letters of another script, each of which looks like a Latin one.
fn is_mixed(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    let chars: Vec<char> = word.chars().collect();
    let is_upper = |at: usize| chars.get(at).is_some_and(char::is_ascii_uppercase);
    // As in `TNFα` and `NFκB`: at the end of a word or beside a capital, a letter of Greek is a sign. Omicron never is.
    let is_sign = |at: usize| at + 1 == chars.len() || is_upper(at + 1) || at > 0 && is_upper(at - 1);
    let is_disguise = |(at, c): (usize, &char)| {
        look_alike(*c).is_some() && !(matches!(c, 'α'..='ξ' | 'π'..='ω') && is_sign(at))
    };
    let is_foreign = |(_, c): &(usize, &char)| **c >= FOREIGN_FIRST;
    let mut foreign = chars.iter().enumerate().filter(is_foreign).peekable();
    let latin = chars.iter().filter(|c| c.is_ascii_alphabetic()).count();
    latin >= 2 && foreign.peek().is_some() && foreign.all(is_disguise)
}

/// The text as the rules read it: lower case, one blank between words, nothing invisible, look-alikes as Latin
/// letters, tags as the letters they encode. Line ends stay, at most two in a row.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '\u{e0020}'..='\u{e007e}' => char::from_u32(u32::from(c) - 0xe0000).unwrap_or(' '),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{ad}'
            | '\u{e0001}'
            | '\u{e007f}' => continue,
            '’' | '‘' | '`' | '´' => '\'',
            '“' | '”' => '"',
            '–' | '—' => '-',
            c if c.is_ascii() => c.to_ascii_lowercase(),
            c => look_alike(c).unwrap_or(c),
        };
        match c {
            // Two line ends separate paragraphs; more mean nothing else.
            '\n' if out.ends_with("\n\n") => {}
            '\n' => {
                if out.ends_with(' ') {
                    out.pop();
                }
                out.push('\n');
            }
            c if c.is_whitespace() && out.ends_with([' ', '\n']) => {}
            c if c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
