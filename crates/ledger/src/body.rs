//! The body of an event: its step as redacted JSON, cut to what fits into its row.

use std::time::Duration;

use cerebro_core::domain::Timestamp;
use cerebro_core::redact::{RedactedText, redact_json};
use cerebro_core::text;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ChainedEvent, Entry, Step,
    limits::{AGO_MAX, ARTIFACT_BYTES_MAX, BODY_BYTES_MAX},
};

/// The field of a body that says how many milliseconds before its record the step happened. Without it, it happened
/// when it was recorded.
const AGO: &str = "ago_ms";

/// The successive cuts of a body's texts and lists until it fits: longest text in bytes, most items.
const CUTS: [(usize, usize); 5] = [(1_500, 50), (800, 50), (400, 16), (240, 8), (100, 8)];

/// The body of an event, split between its row and an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// JSON of at most [`BODY_BYTES_MAX`].
    pub text: RedactedText,
    /// The length of the whole body in bytes.
    pub full: u64,
    /// The whole body, at most [`ARTIFACT_BYTES_MAX`], if it does not fit into the row.
    pub artifact: Option<RedactedText>,
    /// How many secrets were redacted.
    pub redacted: usize,
}

impl Body {
    /// Redacts a step that happened so long before its record, and fits it into its row.
    pub fn of(step: &Step, ago: Duration) -> Self {
        // A step has only texts, numbers and lists, so it always converts to JSON.
        let mut value = serde_json::to_value(step).unwrap_or_default();
        let ago = u64::try_from(ago.min(AGO_MAX).as_millis()).unwrap_or_default();
        if ago > 0 {
            value[AGO] = json!(ago);
        }
        let whole = redact_json(&value);
        let full = whole.value.len() as u64;
        if whole.value.len() <= BODY_BYTES_MAX {
            return Self { text: whole.value, full, artifact: None, redacted: whole.count };
        }
        // Cut after redaction, because half a secret is not recognised.
        let mut value: Value = serde_json::from_str(&whole.value).unwrap_or_default();
        let mut text = RedactedText::default();
        for (bytes, items) in CUTS {
            cut(&mut value, bytes, items);
            text = redact_json(&value).value;
            if text.len() <= BODY_BYTES_MAX {
                break;
            }
        }
        let artifact = Some(whole.value.cut_bytes(ARTIFACT_BYTES_MAX));
        Self { text, full, artifact, redacted: whole.count }
    }
}

fn cut(value: &mut Value, bytes: usize, items: usize) {
    match value {
        Value::String(whole) if whole.len() > bytes => {
            *whole = format!("{}…", text::cut_bytes(whole, bytes));
        }
        Value::Array(values) => {
            values.truncate(items);
            for value in values {
                cut(value, bytes, items);
            }
        }
        Value::Object(fields) => {
            for value in fields.values_mut() {
                cut(value, bytes, items);
            }
        }
        _ => {}
    }
}

/// When the step of a body that was recorded at a moment happened.
fn happened(at: Timestamp, body: &str) -> Timestamp {
    #[derive(Deserialize)]
    struct Ago {
        ago_ms: u64,
    }
    // Most bodies have none, and long pieces of work are folded often.
    if !body.contains(AGO) {
        return at;
    }
    let ago =
        serde_json::from_str(body).map_or(Duration::ZERO, |Ago { ago_ms }| Duration::from_millis(ago_ms));
    at.checked_sub(ago.min(AGO_MAX)).unwrap_or(at)
}

impl From<&ChainedEvent> for Entry {
    fn from(kept: &ChainedEvent) -> Self {
        let body = kept.body.as_deref();
        Self {
            seq: kept.seq,
            at: kept.at,
            happened: body.map_or(kept.at, |body| happened(kept.at, body)),
            kind: kept.kind.clone(),
            step: body.and_then(|body| serde_json::from_str(body).ok()),
            late: kept.late,
            full: kept.full,
            artifact: kept.artifact.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_step_is_stored_in_its_row_and_read_back() {
        let step = Step::Prompt { text: "now do the PEM case".to_owned() };
        let body = Body::of(&step, Duration::ZERO);
        assert_eq!((body.full, &body.artifact), (body.text.len() as u64, &None));
        assert_eq!(serde_json::from_str::<Step>(&body.text).unwrap(), step);
    }

    #[test]
    fn a_body_says_how_long_before_its_record_its_step_happened() {
        let at = Timestamp::from_second(1_767_225_600).unwrap();
        let step = Step::Prompt { text: "say \"ago_ms\":7".to_owned() };
        for (ago, want) in [(0, 0), (1_250, 1_250), (u64::MAX, 24 * 60 * 60 * 1_000)] {
            let body = Body::of(&step, Duration::from_millis(ago));
            assert_eq!(at.duration_since(happened(at, &body.text)).as_millis(), want, "{body:?}");
            assert_eq!(serde_json::from_str::<Step>(&body.text).unwrap(), step);
        }
        for odd in ["{\"ago_ms\":-1}", "{\"ago_ms\":\"x\"}", "ago_ms"] {
            assert_eq!(happened(at, odd), at, "{odd}");
        }
    }

    #[test]
    fn a_long_step_is_cut_and_kept_whole_in_an_artifact() {
        for (text, list) in [("x".repeat(50_000), 0), ("\"\n".repeat(40_000), 50), ("é".repeat(9_000), 50)] {
            let step = Step::Begun {
                title: text.clone(),
                goal: Some(text.clone()),
                agent: "claude-code".to_owned(),
                directory: None,
                commit: None,
                steps: vec![text.clone(); list],
            };
            let body = Body::of(&step, Duration::from_secs(1));
            assert!(body.text.len() <= BODY_BYTES_MAX, "{}", body.text.len());
            assert!(matches!(serde_json::from_str(&body.text).unwrap(), Step::Begun { .. }));
            let artifact = body.artifact.unwrap();
            assert_eq!(artifact.len() as u64, body.full.min(ARTIFACT_BYTES_MAX as u64));
        }
    }

    #[test]
    fn secrets_are_redacted_before_cutting() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let step = Step::Ran {
            call: None,
            command: format!("curl -H 'Authorization: Bearer {token}' {}", "y".repeat(8_000)),
            ending: crate::Ending::Failed,
            exit: Some(1),
            ms: None,
            tests: None,
            tail: format!("{} {token}", "z".repeat(1_490)),
        };
        let body = Body::of(&step, Duration::ZERO);
        assert!(body.redacted >= 2);
        for text in [&body.text, &body.artifact.unwrap()] {
            assert!(!text.contains("a1B2"), "{text:?}");
        }
    }
}
