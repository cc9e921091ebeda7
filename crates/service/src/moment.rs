//! Moments in the lines of an export. One that the store cannot hold is refused, because another one would be stored in
//! its place.

use serde::{Deserialize, Deserializer, de::Error};

use cerebro_core::domain::{
    Timestamp,
    limits::{MOMENT_MAX, MOMENT_MIN},
};

/// Reads a moment that can be stored.
pub(crate) fn storable<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let at = Timestamp::deserialize(from)?;
    if (MOMENT_MIN..=MOMENT_MAX).contains(&at) {
        return Ok(at);
    }
    Err(D::Error::custom(format!(
        "the moment {at} cannot be stored: it is not from {MOMENT_MIN} to {MOMENT_MAX}"
    )))
}

/// Reads a moment that can be stored, or none.
pub(crate) fn storable_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
    /// A moment, read as one that can be stored.
    #[derive(Deserialize)]
    struct Storable(#[serde(deserialize_with = "storable")] Timestamp);
    Ok(Option::<Storable>::deserialize(from)?.map(|Storable(at)| at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Line {
        #[serde(deserialize_with = "storable")]
        at: Timestamp,
        #[serde(default, deserialize_with = "storable_if_any")]
        until: Option<Timestamp>,
    }

    #[test]
    fn a_moment_beyond_those_of_the_store_is_refused() {
        let read = |line: &str| serde_json::from_str::<Line>(line);
        let line = read(r#"{"at": "2026-01-02T03:04:05Z", "until": "2026-01-02T03:04:06Z"}"#).unwrap();
        assert_eq!(line.until.map(|until| until.duration_since(line.at).as_secs()), Some(1));
        for none in [r#"{"at": "1779-11-20T00:00:00Z"}"#, r#"{"at": "2160-02-18T00:00:00Z", "until": null}"#]
        {
            assert!(read(none).unwrap().until.is_none(), "{none}");
        }
        for beyond in [
            r#"{"at": "1779-01-01T00:00:00Z"}"#,
            r#"{"at": "9999-12-30T00:00:00Z"}"#,
            r#"{"at": "2026-01-02T03:04:05Z", "until": "2161-01-01T00:00:00Z"}"#,
        ] {
            let why = read(beyond).unwrap_err().to_string();
            assert!(why.contains("cannot be stored"), "{why}");
        }
    }
}
