//! The moments that people and agents write.

use jiff::{SignedDuration, civil::Date, tz::TimeZone};

use crate::domain::Timestamp;

/// From the first to the last moment of a second.
const LAST_OF_SECOND: SignedDuration = SignedDuration::from_micros(999_999);
/// The first day of which not every moment can be told.
const LAST_DAYS: Date = jiff::civil::date(9999, 12, 30);

/// A moment: RFC 3339, a date, `today`, `yesterday`, or an age such as `7d` before `now`. A day means its first
/// instant, or with `end` its last, in UTC.
pub fn parse_moment(given: &str, now: Timestamp, end: bool) -> Option<Timestamp> {
    if let Ok(moment) = given.parse::<Timestamp>() {
        // Answers tell moments to the second, which lasts to its end.
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
    let unit = given.chars().last()?;
    let number: i64 =
        given[..given.len() - unit.len_utf8()].trim().parse().ok().filter(|number| *number >= 0)?;
    let seconds = match unit.to_ascii_lowercase() {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        'y' => 365 * 86_400,
        _ => return None,
    };
    now.checked_sub(SignedDuration::from_secs(number.checked_mul(seconds)?)).ok()
}

/// The first instant of a day, or its last.
fn day(date: Date, end: bool) -> Option<Timestamp> {
    let day = if end { date.tomorrow().ok()? } else { date };
    let instant = day.to_zoned(TimeZone::UTC).ok()?.timestamp();
    if end { instant.checked_sub(SignedDuration::from_nanos(1_000)).ok() } else { Some(instant) }
}
