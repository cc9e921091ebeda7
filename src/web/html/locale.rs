//! Dates and numbers in the language that the browser asks for, English or German, and in this machine's time zone.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// Most languages of a browser's list that are read.
const LANGUAGES_MAX: usize = 16;

/// A language for dates and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    German,
}

impl Language {
    /// The language that an `Accept-Language` header prefers; English when it names neither.
    pub fn preferred(header: &str) -> Self {
        let mut best = (0.0_f64, Self::English);
        for part in header.split(',').take(LANGUAGES_MAX) {
            let (tag, quality) = part.split_once(';').unwrap_or((part, ""));
            let quality = quality.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.trim().parse().ok());
            let primary = tag.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
            let language = match primary.as_str() {
                "de" => Self::German,
                "en" => Self::English,
                _ => continue,
            };
            if let Some(quality) = quality.filter(|quality| *quality > best.0) {
                best = (quality, language);
            }
        }
        best.1
    }
}

/// A moment in a form for programs and in one for the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct When {
    /// RFC 3339; empty when there is no moment.
    pub iso: String,
    pub shown: String,
}

impl When {
    fn of(at: Timestamp, shown: String) -> Self {
        Self { iso: at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), shown }
    }
}

/// How dates and numbers are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Locale {
    pub language: Language,
    pub zone: TimeZone,
}

impl Locale {
    /// A moment to the minute.
    pub fn moment(&self, at: Option<Timestamp>) -> When {
        let Some(at) = at else { return When::default() };
        let local = at.to_zoned(self.zone.clone());
        When::of(at, format!("{}, {}", self.day(local.date()), local.strftime("%H:%M")))
    }

    /// The time of a moment, to the second.
    pub fn clock(&self, at: Option<Timestamp>) -> When {
        let Some(at) = at else { return When::default() };
        When::of(at, at.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string())
    }

    pub fn day(&self, day: Date) -> String {
        let form = match self.language {
            Language::English => "%-d %b %Y",
            Language::German => "%d.%m.%Y",
        };
        day.strftime(form).to_string()
    }

    /// A size.
    pub fn bytes(&self, number: u64) -> String {
        let english = crate::view::bytes(number);
        match self.language {
            Language::English => english,
            Language::German => english.replace('.', ","),
        }
    }

    pub fn count(&self, number: u64) -> String {
        let english = crate::view::count(number);
        match self.language {
            Language::English => english,
            Language::German => english.replace(',', "."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_says_which_language() {
        let of = Language::preferred;
        assert_eq!(of("de-CH,de;q=0.9,en;q=0.8"), Language::German);
        assert_eq!(of("en-GB,en;q=0.9,de;q=0.8"), Language::English);
        assert_eq!(of("fr, de;q=0.3, en;q=0.2"), Language::German);
        assert_eq!(of("DE"), Language::German);
        for odd in ["", "fr", "de;q=0", "de;q=x", ";;,,", "deutsch"] {
            assert_eq!(of(odd), Language::English, "{odd}");
        }
    }

    #[test]
    fn moments_and_numbers_are_written_as_readers_know_them() {
        let at = "2026-03-05T14:07:09Z".parse().ok();
        let locale = |language| Locale { language, zone: TimeZone::UTC };
        let (english, german) = (locale(Language::English), locale(Language::German));
        assert_eq!(english.moment(at).shown, "5 Mar 2026, 14:07");
        assert_eq!(german.moment(at).shown, "05.03.2026, 14:07");
        assert_eq!(german.moment(at).iso, "2026-03-05T14:07:09Z");
        assert_eq!((english.count(12_345), german.count(12_345)), ("12,345".into(), "12.345".into()));
        assert_eq!((english.bytes(9_400_000), german.bytes(9_400_000)), ("9.4 MB".into(), "9,4 MB".into()));
        assert_eq!(english.moment(None), When::default());
    }
}
