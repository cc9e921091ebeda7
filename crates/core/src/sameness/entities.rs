//! Entities of HTML: `&quot;`, `&#x27;`, `&uuml;`.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

use super::compiled;

static ENTITY: LazyLock<Regex> = LazyLock::new(|| {
    compiled("(?i)&(?:#x(?P<hex>[0-9a-f]{1,6})|#(?P<number>[0-9]{1,7})|(?P<name>[a-z]{2,6}[0-9]{0,2}));")
});

/// A text with the characters that its entities stand for. What was written twice in HTML, as `&amp;quot;`, has entities still.
pub(super) fn without_entities(text: &str) -> Cow<'_, str> {
    if text.contains('&') { ENTITY.replace_all(text, entity) } else { Cow::Borrowed(text) }
}

/// The characters of entities of HTML, by their names.
const NAMED: [(&str, &str); 44] = [
    ("quot", "\""),
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("nbsp", " "),
    ("ensp", " "),
    ("emsp", " "),
    ("thinsp", " "),
    ("apos", "'"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("sbquo", "‚"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("bdquo", "„"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("ndash", "–"),
    ("mdash", "—"),
    ("hellip", "…"),
    ("bull", "•"),
    ("middot", "·"),
    ("shy", ""),
    ("zwj", ""),
    ("zwnj", ""),
    ("szlig", "ß"),
    ("euro", "€"),
    ("pound", "£"),
    ("yen", "¥"),
    ("deg", "°"),
    ("micro", "µ"),
    ("times", "×"),
    ("divide", "÷"),
    ("minus", "−"),
    ("plusmn", "±"),
    ("le", "≤"),
    ("ge", "≥"),
    ("ne", "≠"),
    ("rarr", "→"),
    ("larr", "←"),
    ("frac12", "½"),
    ("sup2", "²"),
    ("sup3", "³"),
    ("percnt", "%"),
];
/// The accents of letters in entities, behind the letter: `&uuml;`.
const ACCENTS: [(&str, char); 8] = [
    ("uml", '\u{308}'),
    ("acute", '\u{301}'),
    ("grave", '\u{300}'),
    ("circ", '\u{302}'),
    ("tilde", '\u{303}'),
    ("cedil", '\u{327}'),
    ("ring", '\u{30a}'),
    ("caron", '\u{30c}'),
];

/// The character of an entity with a name.
fn named(name: &str) -> Option<String> {
    let letter = || {
        let (letter, accent) = name.split_at_checked(1)?;
        let (_, mark) = ACCENTS.iter().find(|(name, _)| *name == accent)?;
        Some(format!("{letter}{mark}"))
    };
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, sign)| (*sign).to_owned()).or_else(letter)
}

/// The character that an entity of HTML stands for; an unknown one stays.
fn entity(found: &Captures<'_>) -> String {
    let coded = |name: &str, radix| {
        let digits = found.name(name)?;
        u32::from_str_radix(digits.as_str(), radix).ok().and_then(char::from_u32).map(String::from)
    };
    let named = || found.name("name").and_then(|name| named(name.as_str()));
    let sign = coded("hex", 16).or_else(|| coded("number", 10)).or_else(named);
    sign.unwrap_or_else(|| found[0].to_owned())
}
