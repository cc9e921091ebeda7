//! What a provider's status means for retries: one rule for all of them. [`cerebro_core::pace`] decides how long to
//! wait and how often to try.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};

/// The longest wait that a provider may ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What an HTTP status means for the request that got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It succeeded.
    Answered,
    /// A redirection, which is not followed.
    Moved,
    /// The key was not accepted.
    Key,
    /// The server does not know the model or the path.
    Unknown,
    /// The same request may succeed later.
    Later,
    /// The request will never succeed.
    Refused,
}

/// The meaning of a status.
pub fn verdict(status: u16) -> Verdict {
    match status {
        200..=299 => Verdict::Answered,
        300..=399 => Verdict::Moved,
        401 | 403 => Verdict::Key,
        404 => Verdict::Unknown,
        408 | 409 | 425 | 429 | 500.. => Verdict::Later,
        _ => Verdict::Refused,
    }
}

/// The wait in a `Retry-After` header, at most [`RETRY_AFTER_MAX`]: seconds, possibly with a fraction, or a date.
pub fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse::<f64>() {
        Ok(seconds) if seconds.is_nan() || seconds < 0.0 => return None,
        Ok(seconds) => Duration::from_secs_f64(seconds.min(RETRY_AFTER_MAX.as_secs_f64())),
        Err(_) => {
            let at = DateTimeParser::new().parse_timestamp(value).ok()?;
            // A date in the past asks for no wait.
            Duration::try_from(at.duration_since(now)).unwrap_or_default()
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_wait_is_bounded() {
        let now: Timestamp = "2026-11-23T20:00:00Z".parse().unwrap();
        let day = RETRY_AFTER_MAX;
        for (value, want) in [
            ("2", Some(Duration::from_secs(2))),
            (" 0.5 ", Some(Duration::from_millis(500))),
            ("0", Some(Duration::ZERO)),
            ("99999999", Some(day)),
            ("1e99", Some(day)),
            ("inf", Some(day)),
            ("Mon, 23 Nov 2026 20:00:30 GMT", Some(Duration::from_secs(30))),
            ("Mon, 23 Nov 2026 19:00:00 GMT", Some(Duration::ZERO)),
            ("Fri, 01 Jan 2100 00:00:00 GMT", Some(day)),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now), want, "{value}");
        }
    }

    #[test]
    fn a_status_has_one_meaning() {
        for (status, want) in [
            (200, Verdict::Answered),
            (307, Verdict::Moved),
            (400, Verdict::Refused),
            (401, Verdict::Key),
            (403, Verdict::Key),
            (404, Verdict::Unknown),
            (408, Verdict::Later),
            (422, Verdict::Refused),
            (429, Verdict::Later),
            (500, Verdict::Later),
            (529, Verdict::Later),
        ] {
            assert_eq!(verdict(status), want, "{status}");
        }
    }
}
