//! Encodings in which a text may be written: as an address, as a mail, with the escapes of a string or of HTML, as one word, with
//! hidden characters or letters of other scripts. A text is decoded a few times; each time, it is read like any other. It is
//! read as it is written, too, so nothing is lost where a text only looks encoded.

use std::{borrow::Cow, iter, sync::LazyLock};

use regex::{Captures, Regex};

use super::{compiled, quoted::is_denying};
use crate::text::{is_ignorable, look_alike};

/// How often a text is decoded: `%2520` is a blank that was encoded twice.
const TIMES_MAX: usize = 3;

/// How often a sign must join the letters of one word, or the case change in it, before it is read as several words:
/// `the-heron-is-fed-at-noon`, but not `read-only` or `src/store`.
const JOINTS_MIN: usize = 4;
/// The signs that may join words.
const JOINTS: [char; 5] = ['_', '-', '.', '+', '/'];
/// Most words of a line that may be several words each: in a sentence, `A_B_C_D_E` is a name.
const JOINED_WORDS_MAX: usize = 3;
/// From how many bytes that are written in hexadecimal digits a text counts as encoded: `100%25` may be prose.
const ENCODED_MIN: usize = 2;

/// A line that goes on in the next one: by the sign of quoted-printable text, or in the middle of a word.
static BROKEN: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"=\r?\n|(?P<before>\p{Ll})[-\u{ad}\u{2010}]\r?\n[ \t]*(?:(?:[>#*;|]|//+|--)[ \t]+)?(?P<after>\p{Ll})",
    )
});
/// An escape of JSON, C, Python or a shell. JSON writes some characters as two codes.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})",
        r"|u(?P<code>[0-9a-fA-F]{4})|u\{(?P<braced>[0-9a-fA-F]{1,6})\}|x(?P<byte>[0-9a-fA-F]{2})",
        r#"|(?P<sign>[nrt"'/ ]))"#
    ))
});

/// An entity of HTML: `&quot;`, `&#x27;`, `&uuml;`.
static ENTITY: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[A-Za-z]{2,8}[0-9]{0,2});"));

/// A text with the characters that its entities stand for; an unknown one stays. What was written twice in HTML, as
/// `&amp;quot;`, has entities still.
pub(super) fn without_entities(text: &str) -> Cow<'_, str> {
    let plain = |found: &Captures<'_>| match &found[0] {
        // The library has the entities of HTML 4, which lack this one.
        "&apos;" => "'".to_owned(),
        // Marks and labels end with a blank.
        "&nbsp;" => " ".to_owned(),
        entity => htmlescape::decode_html(&entity.replace("#X", "#x")).unwrap_or_else(|_| entity.to_owned()),
    };
    if text.contains('&') { ENTITY.replace_all(text, plain) } else { Cow::Borrowed(text) }
}

/// The texts that a text encodes: the one that it encodes, the one that this encodes in turn, and so on.
pub(super) fn decoded(text: &str) -> Vec<String> {
    iter::successors(decoded_once(text), |plain| decoded_once(plain)).take(TIMES_MAX).collect()
}

/// The text that a text encodes. `None` if it encodes none.
fn decoded_once(text: &str) -> Option<String> {
    let has_sign = |c: char| !c.is_ascii() || matches!(c, '\\' | '&' | '=' | '%') || JOINTS.contains(&c);
    if !text.contains(|c: char| has_sign(c) || c.is_uppercase()) {
        return None;
    }
    let is_broken = ['=', '-', '\u{ad}', '\u{2010}'].into_iter().any(|sign| {
        text.match_indices(sign).any(|(at, _)| text[at + sign.len_utf8()..].starts_with(['\r', '\n']))
    });
    let joined = if is_broken { BROKEN.replace_all(text, "$before$after") } else { Cow::Borrowed(text) };
    let shown = shown(&joined);
    let plain = if shown.contains('\\') { ESCAPE.replace_all(&shown, unescaped) } else { shown };
    let plain = without_entities(&plain);
    let plain = from_hex(&plain, '=').map_or(plain, Cow::Owned);
    let mut found = String::with_capacity(plain.len());
    for line in plain.split_inclusive('\n') {
        let may_join = line.split_whitespace().nth(JOINED_WORDS_MAX).is_none();
        for word in line.split_inclusive(char::is_whitespace) {
            let end = word.trim_end().len();
            found.push_str(&words_of(&word[..end], may_join));
            found.push_str(&word[end..]);
        }
    }
    (found != text).then_some(found)
}

/// A text without hidden characters, and with letters of ASCII for those that look alike. A blank without width separates
/// words only where it is the usual blank.
fn shown(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_blank = text.matches('\u{200b}').count() > text.matches(char::is_whitespace).count();
    let mut found = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars() {
        if c == '\u{200b}' && is_blank {
            found.push_str(&in_ascii(&word));
            word.clear();
            found.push(' ');
        } else if c.is_alphabetic() {
            word.push(c);
        } else if !is_ignorable(c) {
            found.push_str(&in_ascii(&word));
            word.clear();
            found.push(c);
        }
    }
    found.push_str(&in_ascii(&word));
    Cow::Owned(found)
}

/// A word in ASCII, if each of its letters looks like one of ASCII.
fn in_ascii(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let is_mixed = word.contains(|c: char| c.is_ascii());
    // Alone or among others of their script, letters of Greek are signs of mathematics.
    let plain = |c: char| {
        let is_read = is_mixed || matches!(c, '\u{400}'..='\u{52f}');
        let small = look_alike(c).filter(|_| is_read);
        let plain = if c.is_uppercase() { small.map(|small| small.to_ascii_uppercase()) } else { small };
        if c.is_ascii() { Some(c) } else { plain }
    };
    word.chars().map(plain).collect::<Option<String>>().map_or(Cow::Borrowed(word), Cow::Owned)
}

/// What one word encodes: the values of an address or, if it may join some, several words.
fn words_of(word: &str, may_join: bool) -> Cow<'_, str> {
    let is_joint = |joint: &char| word.matches(*joint).count() >= JOINTS_MIN;
    let spaced = || values(word).replace('+', " ");
    let plain = if word.contains('%') { from_hex(&spaced(), '%') } else { None };
    let plain = plain.or_else(|| (word.contains('=') && is_joint(&'+')).then(spaced));
    if let Some(plain) = plain {
        return Cow::Owned(format!("\n\n{plain}\n\n"));
    }
    if !may_join {
        return Cow::Borrowed(word);
    }
    match JOINTS.iter().find(|joint| is_joint(joint)) {
        Some(joint) => Cow::Owned(word.replace(*joint, " ")),
        None => by_case(word),
    }
}

/// The values of an address as paragraphs, before they are decoded: `…?note=One%26two&page=3`. Those of a name that denies are
/// left out.
fn values(address: &str) -> String {
    let value = |part: &str| match part.split_once('=') {
        Some((name, _)) if is_denying(name) => String::new(),
        Some((name, value)) if name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) => {
            value.to_owned()
        }
        _ => part.to_owned(),
    };
    address.split(['?', '&']).map(value).collect::<Vec<_>>().join("\n\n")
}

/// A word as several words, if each of them begins with a capital or a figure: `theHeronIsFedAt12`.
fn by_case(word: &str) -> Cow<'_, str> {
    let begins = |before: char, c: char| {
        before.is_lowercase() && c.is_uppercase()
            || before.is_alphabetic() && c.is_numeric()
            || before.is_numeric() && c.is_uppercase()
    };
    let pairs = || word.chars().zip(word.chars().skip(1));
    if pairs().filter(|(before, c)| begins(*before, *c)).count() < JOINTS_MIN {
        return Cow::Borrowed(word);
    }
    let mut apart: String = word.chars().take(1).collect();
    for (before, c) in pairs() {
        if begins(before, c) {
            apart.push(' ');
        }
        apart.push(c);
    }
    Cow::Owned(apart)
}

/// The text whose bytes are partly written as a sign with two hexadecimal digits. `None` if too few are, or if they are no
/// text.
fn from_hex(text: &str, sign: char) -> Option<String> {
    if text.matches(sign).count() < ENCODED_MIN {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte_of = |digits: &[u8]| match digits {
        [high, low, ..] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    let mut found = Vec::with_capacity(text.len());
    let (mut rest, mut encoded) = (text.as_bytes(), 0);
    while let Some((first, after)) = rest.split_first() {
        let byte = (char::from(*first) == sign).then(|| byte_of(after)).flatten();
        // Before a blank, `rows=20` is a number.
        let byte = byte.filter(|byte| *byte != b' ' || after.get(2) != Some(&b' '));
        encoded += usize::from(byte.is_some());
        found.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    (encoded >= ENCODED_MIN).then(|| String::from_utf8(found).ok()).flatten()
}

/// The character that an escape stands for; an unknown one stays.
fn unescaped(found: &Captures<'_>) -> String {
    let of = |name: &str| u32::from_str_radix(found.name(name)?.as_str(), 16).ok();
    if let (Some(high), Some(low)) = (of("high"), of("low")) {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return char::from_u32(code).map(String::from).unwrap_or_default();
    }
    let code = ["code", "braced", "byte"].into_iter().find_map(of);
    let sign = match (code, found.name("sign").map(|sign| sign.as_str())) {
        (Some(code), _) => char::from_u32(code),
        (None, Some("n" | "r")) => Some('\n'),
        (None, Some("t")) => Some(' '),
        (None, sign) => sign.and_then(|sign| sign.chars().next()),
    };
    sign.map_or_else(|| found[0].to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_encoding_is_read() {
        for (encoded, text) in [
            ("The%20heron%20is%20%22fed%22", "The heron is \"fed\""),
            (
                "https://a.example/n?id=3&note=The+heron%20is%20fed",
                "https://a.example/n\n\n3\n\nThe heron is fed",
            ),
            ("a.example?note=R%26D%20is%20it%3F%20Yes&old=%41%42", "a.example\n\nR&D is it? Yes"),
            ("f%C3%BCr%20alle", "für alle"),
            ("The heron=20is =22fed=22 at =\nnoon", "The heron is \"fed\" at noon"),
            ("The heron is fed be-\n  fore noon", "The heron is fed before noon"),
            ("> The heron is fed be-\n> fore noon", "> The heron is fed before noon"),
            (r#"The heron\nis \"fed\" at\tnoon \u0026 so on"#, "The heron\nis \"fed\" at noon & so on"),
            (r"f\u00fcr \u00fcber caf\u{e9}s \xe9", "für über cafés é"),
            ("the_heron_is_fed_at_noon", "the heron is fed at noon"),
            ("note: the-heron-is-fed-at-noon!", "note: the heron is fed at noon!"),
            ("theHeronIsFedAt12", "the Heron Is Fed At 12"),
            ("a.example?note=The+heron+is+fed+at+noon", "a.example\n\nThe heron is fed at noon"),
            (r"fed \ud83d\ude00 at noon", "fed 😀 at noon"),
            ("&quot;The heron&quot; &lt;b&gt; &amp;lt;", "\"The heron\" <b> &lt;"),
            ("it&apos;s fed f&uuml;r &#X41; &#66; &nope;", "it's fed für A B &nope;"),
            ("The her\u{ad}\non is fed be\u{2010}\nfore n\u{200b}oon", "The heron is fed before noon"),
            ("The\u{200b}heron\u{200b}is\u{200b}fed", "The heron is fed"),
            ("Thе hеrοn іs fеd аt а νine", "The heron is fed at a vine"),
        ] {
            assert_eq!(decoded(encoded).first().map(|plain| plain.trim()), Some(text), "{encoded}");
        }
    }

    #[test]
    fn what_only_looks_encoded_stays() {
        for text in [
            "The heron is fed at 5% of noon, a=b and c == d",
            "100%25 of it",
            "read-only, well-known and src/store/mod.rs",
            "it is src/a/b/c/d/e or A_B_C_D_E or theHeronIsFedAt12",
            "getUserById of cache_size",
            "it takes rows=20 and columns=20 of it",
            "a \\d+ of %zz%zz",
            "das Größte für Ёлка, ρ = ν + 2 μs",
            "%ff%fe",
        ] {
            assert_eq!(decoded(text), [""; 0], "{text}");
        }
    }
}
