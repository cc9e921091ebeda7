//! JSON as agents write it: a field of an unexpected type is an absent field, and not the loss of its line.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A string, borrowed where it has no escapes. Anything else than a string is nothing. One field of a record says
/// `borrow`, which lets all of its fields borrow from the line.
#[derive(Debug, Default, Clone)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }

    /// The text unless it is empty or no text.
    pub(crate) fn some(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub(crate) fn owned(&self) -> Option<String> {
        self.some().map(str::to_owned)
    }
}

/// `true`; anything else is not.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Flag(pub(crate) bool);

/// A whole number, also one that was written as a fraction.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Number(pub(crate) Option<i64>);

impl Number {
    /// The number, as the exit status of a command.
    pub(crate) fn status(self) -> Option<i32> {
        self.0.and_then(|number| i32::try_from(number).ok())
    }
}

/// What may represent a moment: a string of RFC 3339, or milliseconds. Small numbers are seconds.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Moment(pub(crate) Option<jiff::Timestamp>);

/// A value without parts. A list or an object is nothing.
enum Scalar<'a> {
    Nothing,
    Bool(bool),
    Number(Option<i64>),
    Text(Cow<'a, str>),
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Scalar<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(Some(value)))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(i64::try_from(value).ok()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(whole(value)))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Nothing)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nothing)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = deserializer.deserialize_any(AnyValue)?;
        Ok(Self(if let Scalar::Text(text) = scalar { Some(text) } else { None }))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(matches!(deserializer.deserialize_any(AnyValue)?, Scalar::Bool(true))))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = deserializer.deserialize_any(AnyValue)?;
        Ok(Self(if let Scalar::Number(number) = scalar { number } else { None }))
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.deserialize_any(AnyValue)? {
            Scalar::Text(text) => Self(text.parse().ok()),
            Scalar::Number(Some(millis)) => Self::of_millis(millis),
            _ => Self(None),
        })
    }
}

impl Moment {
    /// Milliseconds; in the years before 1973, in which there was no agent, they are seconds.
    pub(crate) fn of_millis(millis: i64) -> Self {
        const SECONDS_MAX: i64 = 100_000_000_000;
        let seconds = (0..SECONDS_MAX).contains(&millis);
        let at = if seconds {
            jiff::Timestamp::from_second(millis)
        } else {
            jiff::Timestamp::from_millisecond(millis)
        };
        Self(at.ok())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked, and a fraction of a millisecond is nothing"
)]
fn whole(value: f64) -> Option<i64> {
    (value.abs() < 9e15).then_some(value as i64)
}

/// A value that is looked at later, or never.
pub(crate) type Raw<'a> = Option<&'a RawValue>;

/// Parses JSON that may have another shape: `None` is not an error here.
pub(crate) fn parse<'a, T: Deserialize<'a>>(raw: &'a str) -> Option<T> {
    serde_json::from_str(raw).ok()
}

/// Parses a value of a record; a value of another shape gives the type's default.
pub(crate) fn value<'a, T: Deserialize<'a> + Default>(raw: Raw<'a>) -> T {
    raw.and_then(|raw| parse(raw.get())).unwrap_or_default()
}

/// The elements of an array; none if it is no array.
pub(crate) fn elements(raw: &RawValue) -> Vec<&RawValue> {
    parse(raw.get()).unwrap_or_default()
}

/// The string, or the source of any other value.
pub(crate) fn string_or_source(raw: &RawValue) -> Cow<'_, str> {
    match parse::<Text<'_>>(raw.get()) {
        Some(Text(Some(text))) => text,
        _ => Cow::Borrowed(raw.get()),
    }
}

/// An object with fields looked up by name: for inputs of tools, where agents differ in names and a program
/// may write a field twice. Any other value has no fields.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    pub(crate) fn of(source: &'a str) -> Self {
        parse(source).unwrap_or_default()
    }

    /// The value under the first of these names that exists.
    pub(crate) fn raw(&self, names: &[&str]) -> Option<&'a RawValue> {
        names.iter().find_map(|name| Some(self.0.iter().find(|(field, _)| field == name)?.1))
    }

    /// The first non-empty string under these names; else an empty one.
    pub(crate) fn text(&self, names: &[&str]) -> Cow<'a, str> {
        let texts = names.iter().filter_map(|name| parse::<Text<'a>>(self.raw(&[name])?.get())?.0);
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// The exit status under a name.
    pub(crate) fn status(&self, name: &str) -> Option<i32> {
        parse::<Number>(self.raw(&[name])?.get())?.status()
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_ref())
    }

    /// The elements of the array under the first of these names that exists.
    pub(crate) fn list(&self, names: &[&str]) -> Vec<&'a RawValue> {
        self.raw(names).map(elements).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(name) = map.next_key::<Text<'de>>()? {
                    fields.push((name.0.unwrap_or_default(), map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Whether a line may contain half of a surrogate pair, which a parser notices only when it reads the value.
pub(crate) fn has_surrogates(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"\\ud").is_some() || memchr::memmem::find(line, b"\\uD").is_some()
}

/// A line that failed to parse, repaired: bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD.
/// Both come from programs that cut a text in the middle of a character. `None` if there was nothing to repair.
///
/// A line may have 64 MB, so one that is sound is not copied, and any other only once.
pub(crate) fn repaired(line: &[u8]) -> Option<String> {
    let (mut pieces, mut length) = (0_usize, 0);
    each_piece(line, |piece| {
        pieces += 1;
        length += piece.len();
    });
    if pieces < 2 {
        return None;
    }
    let mut repaired = String::with_capacity(length);
    each_piece(line, |piece| repaired.push_str(piece));
    Some(repaired)
}

/// The sound pieces of a line, and U+FFFD for each damage between them. A sound line is one piece.
fn each_piece(line: &[u8], mut each: impl FnMut(&str)) {
    const DAMAGE: &str = "\u{fffd}";
    for chunk in line.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = lone_half(rest) {
            each(&rest[..at]);
            each(DAMAGE);
            rest = &rest[at + ESCAPE_BYTES..];
        }
        each(rest);
        if !chunk.invalid().is_empty() {
            each(DAMAGE);
        }
    }
}

/// Where the first escape of half of a surrogate pair begins.
fn lone_half(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(before) = text[at..].find('\\') {
        at += before;
        let rest = &text[at..];
        at += match surrogate(rest) {
            None => rest.chars().take(2).map(char::len_utf8).sum::<usize>(),
            Some(true) if surrogate(&rest[ESCAPE_BYTES..]) == Some(false) => 2 * ESCAPE_BYTES,
            Some(_) => return Some(at),
        };
    }
    None
}

/// The bytes of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// Whether a text starts with the escape of a surrogate; if so, whether of a first half.
fn surrogate(text: &str) -> Option<bool> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    match unit {
        0xd800..=0xdbff => Some(true),
        0xdc00..=0xdfff => Some(false),
        _ => None,
    }
}

/// The bytes without the byte order mark, with which some programs on Windows begin a text.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Whether a line is a whole object.
pub(crate) fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Sample<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        flag: Flag,
        number: Number,
        moment: Moment,
    }

    #[test]
    fn a_field_of_another_type_is_absent() {
        for odd in ["null", "true", "1", "1.5", "-3", "\"x\"", "[1,[2]]", "{\"a\":{\"b\":1}}"] {
            let line = format!(r#"{{"text":{odd},"flag":{odd},"number":{odd},"moment":{odd},"more":{odd}}}"#);
            let sample: Sample<'_> = parse(&line).expect(odd);
            assert_eq!(sample.text.some(), (odd == "\"x\"").then_some("x"), "{odd}");
            assert_eq!(sample.flag.0, odd == "true", "{odd}");
            assert_eq!(sample.number.0.is_some(), odd.parse::<f64>().is_ok(), "{odd}");
            assert_eq!(sample.moment.0.is_some(), odd.parse::<f64>().is_ok(), "{odd}");
        }
    }

    #[test]
    fn a_moment_has_any_offset_and_either_unit() {
        for (written, want) in [
            (r#""2026-02-01T10:00:00.5Z""#, Some(1_769_940_000_500)),
            (r#""2026-02-01T12:00:00.5+02:00""#, Some(1_769_940_000_500)),
            (r#""2026-01-31T23:30:00-10:30""#, Some(1_769_940_000_000)),
            ("1769940000500", Some(1_769_940_000_500)),
            ("1769940000", Some(1_769_940_000_000)),
            ("1769940000.9", Some(1_769_940_000_000)),
            (r#""yesterday""#, None),
            ("{}", None),
        ] {
            let moment: Moment = parse(written).expect(written);
            assert_eq!(moment.0.map(jiff::Timestamp::as_millisecond), want, "{written}");
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_repaired() {
        for (line, want) in [
            (br#"{"a":"x\ud83d"}"#.as_slice(), Some("{\"a\":\"x\u{fffd}\"}")),
            (br#"{"a":"\ude00y"}"#, Some("{\"a\":\"\u{fffd}y\"}")),
            (br#"{"a":"\ud83d\ude00"}"#, None),
            (br#"{"a":"\\ud83d \n"}"#, None),
            (b"{\"a\":\"\xff\"}", Some("{\"a\":\"\u{fffd}\"}")),
            (br#"{"a":"\ud8"#, None),
            (b"\\", None),
            (b"", None),
            (b"\xff", Some("\u{fffd}")),
            (b"\\\xff\\ud83d\xf0\x9f", Some("\\\u{fffd}\u{fffd}\u{fffd}")),
            (br"\ud83d\ud83d\ude00\ude00", Some("\u{fffd}\\ud83d\\ude00\u{fffd}")),
        ] {
            assert_eq!(repaired(line).as_deref(), want, "{}", String::from_utf8_lossy(line));
        }
        let long = [&b"x".repeat(1 << 20)[..], b"\xff"].concat();
        let copy = repaired(&long).expect("a byte that is no text");
        assert_eq!(copy.capacity(), copy.len(), "it did not grow");
    }
}
