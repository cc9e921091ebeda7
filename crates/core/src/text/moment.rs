//! Parses the moments and durations that people and agents write.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

/// From the first to the last moment of a second.
const LAST_OF_SECOND: SignedDuration = SignedDuration::from_micros(999_999);
/// The first day that has moments which some time zones cannot express.
const LAST_DAYS: Date = jiff::civil::date(9999, 12, 30);

/// A moment: RFC 3339, a date, `today`, `yesterday`, or an age such as `7d` before `now`. A date means the first
/// instant of the day, or with `end` the last, in UTC.
pub fn parse_moment(given: &str, now: Timestamp, end: bool) -> Option<Timestamp> {
    if let Ok(moment) = given.parse::<Timestamp>() {
        // Answers show moments in whole seconds, and with `end` a second lasts to its end.
        let whole = end && !given.contains('.');
        return if whole { moment.checked_add(LAST_OF_SECOND).ok() } else { Some(moment) };
    }
    // The last days of the year 9999, by which people mean "for ever", are no moments in every zone.
    if given.get(..10).and_then(|day| day.parse::<Date>().ok()).is_some_and(|day| day >= LAST_DAYS) {
        return Some(Timestamp::MAX);
    }
    if let Ok(date) = given.parse::<Date>() {
        return day(date, end);
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let named = match given.to_ascii_lowercase().as_str() {
        "today" => Some(today),
        "yesterday" => today.yesterday().ok(),
        _ => None,
    };
    if let Some(date) = named {
        return day(date, end);
    }
    now.checked_sub(SignedDuration::try_from(span(given)?).ok()?).ok()
}

/// A duration as settings write it: a whole number and a unit (`"30s"`, `"15m"`, `"2h"`, `"7d"`, `"2w"`, `"1y"`),
/// or `"0"`.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" { Some(Duration::ZERO) } else { span(text) }
}

/// A whole number of seconds, minutes, hours, days, weeks or years of 365 days.
fn span(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let number: u64 = text[..text.len() - unit.len_utf8()].trim().parse().ok()?;
    let seconds = match unit.to_ascii_lowercase() {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        'y' => 365 * 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// The first instant of a day, or its last.
fn day(date: Date, end: bool) -> Option<Timestamp> {
    let day = if end { date.tomorrow().ok()? } else { date };
    let instant = day.to_zoned(TimeZone::UTC).ok()?.timestamp();
    if end { instant.checked_sub(SignedDuration::from_nanos(1_000)).ok() } else { Some(instant) }
}
