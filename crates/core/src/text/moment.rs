//! Parses the moments and durations that people and agents write.

use std::time::Duration;

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime},
    tz::TimeZone,
};

/// From the first to the last moment of a second.
const LAST_OF_SECOND: SignedDuration = SignedDuration::from_micros(999_999);
/// The length of a date: `2026-11-21`.
const DATE_BYTES: usize = 10;
/// The first day that has moments which some time zones cannot express.
const LAST_DAYS: Date = jiff::civil::date(9999, 12, 30);

/// A moment: RFC 3339, the same without a zone, a date, `today`, `yesterday`, or an age such as `7d` before `now`. Without
/// a zone, UTC is meant. A date means the first instant of the day, or with `end` the last.
pub fn parse_moment(given: &str, now: Timestamp, end: bool) -> Option<Timestamp> {
    if let Some(moment) = given.parse().ok().or_else(|| without_zone(given)) {
        // Answers show moments in whole seconds, and with `end` a second lasts to its end.
        let whole = end && !given.contains('.');
        return if whole { moment.checked_add(LAST_OF_SECOND).ok() } else { Some(moment) };
    }
    // The last days of the year 9999, by which people mean "for ever", are no moments in every zone.
    if given.get(..10).and_then(|day| day.parse::<Date>().ok()).is_some_and(|day| day >= LAST_DAYS) {
        return Some(Timestamp::MAX);
    }
    if let Ok(date) = given.parse::<Date>() {
        // A time behind the date that cannot be read is not left out in silence.
        return if given.len() > DATE_BYTES { None } else { day(date, end) };
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

/// A date with a time and no zone, in UTC.
fn without_zone(given: &str) -> Option<Timestamp> {
    let has_time = given.len() > DATE_BYTES && !given.contains('[');
    let moment: DateTime = has_time.then(|| given.parse().ok())??;
    Some(moment.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// A duration as settings write it: a whole number and a unit (`"30s"`, `"15m"`, `"2h"`, `"7d"`, `"2w"`, `"1y"`),
/// or `"0"`.
pub fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" { Some(Duration::ZERO) } else { span(text) }
}

/// How long before `now` something was: a duration, or a moment that [`parse_moment`] reads. A moment that has not been is
/// none.
pub fn age(given: &str, now: Timestamp) -> Option<Duration> {
    let since = || {
        let at = parse_moment(given.trim(), now, false)?;
        // Zero stands for "always", which no moment means.
        Duration::try_from(now.duration_since(at)).ok().filter(|age| !age.is_zero())
    };
    duration(given).or_else(since)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_a_zone_is_read_as_utc_and_never_left_out() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for (given, end, want) in [
            ("2026-11-20T10:00:00", false, "2026-11-20T10:00:00Z"),
            ("2026-11-20 10:00", false, "2026-11-20T10:00:00Z"),
            ("2026-11-20T10:00:00", true, "2026-11-20T10:00:00.999999Z"),
            ("2026-11-20T10:00:00.5", true, "2026-11-20T10:00:00.5Z"),
        ] {
            assert_eq!(parse_moment(given, now, end), Some(want.parse().unwrap()), "{given}");
        }
        for bad in ["2026-11-20T25:00:00", "2026-11-20Tnoon", "2026-11-20T10:00:00[Europe/Berlin]"] {
            assert_eq!(parse_moment(bad, now, false), None, "{bad}");
        }
        assert_eq!(parse_moment("9999-12-31T00:00:00", now, true), Some(Timestamp::MAX));
    }

    #[test]
    fn an_age_is_a_duration_or_a_moment_that_has_been() {
        const HOUR: u64 = 3_600;
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for (given, want) in [
            ("0", 0),
            ("2d", 48 * HOUR),
            ("2026-11-20", 36 * HOUR),
            ("2026-11-21T10:00:00Z", 2 * HOUR),
            (" yesterday ", 36 * HOUR),
        ] {
            assert_eq!(age(given, now), Some(Duration::from_secs(want)), "{given}");
        }
        for bad in ["2026-11-22", "2026-11-21T12:00:00Z", "lately", "30", ""] {
            assert_eq!(age(bad, now), None, "{bad}");
        }
    }
}
