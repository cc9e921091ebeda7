//! The body of an event: its step as redacted JSON, cut to what fits into its row.

use cerebro_core::redact::{RedactedText, redact_json};
use cerebro_core::text;
use serde_json::Value;

use crate::{
    Entry, Kept, Step,
    limits::{ARTIFACT_BYTES_MAX, BODY_BYTES_MAX},
};

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
    /// Redacts a step and fits it into its row.
    pub fn of(step: &Step) -> Self {
        // A step has only texts, numbers and lists, so it always converts to JSON.
        let value = serde_json::to_value(step).unwrap_or_default();
        let whole = redact_json(&value);
        let full = whole.kept.len() as u64;
        if whole.kept.len() <= BODY_BYTES_MAX {
            return Self { text: whole.kept, full, artifact: None, redacted: whole.count };
        }
        // Cut after redaction, because half a secret is not recognised.
        let mut value: Value = serde_json::from_str(&whole.kept).unwrap_or_default();
        let mut text = RedactedText::default();
        for (bytes, items) in CUTS {
            cut(&mut value, bytes, items);
            text = redact_json(&value).kept;
            if text.len() <= BODY_BYTES_MAX {
                break;
            }
        }
        let artifact = Some(whole.kept.cut_bytes(ARTIFACT_BYTES_MAX));
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

impl From<&Kept> for Entry {
    fn from(kept: &Kept) -> Self {
        let step = kept.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
        let (kind, artifact) = (kept.kind.clone(), kept.artifact.clone());
        Self { seq: kept.seq, at: kept.at, kind, step, late: kept.late, full: kept.full, artifact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_step_is_stored_in_its_row_and_read_back() {
        let step = Step::Prompt { text: "now do the PEM case".to_owned() };
        let body = Body::of(&step);
        assert_eq!((body.full, &body.artifact), (body.text.len() as u64, &None));
        assert_eq!(serde_json::from_str::<Step>(&body.text).unwrap(), step);
    }

    #[test]
    fn a_long_step_is_cut_and_its_whole_goes_beside() {
        for (text, list) in [("x".repeat(50_000), 0), ("\"\n".repeat(40_000), 50), ("é".repeat(9_000), 50)] {
            let step = Step::Begun {
                title: text.clone(),
                goal: Some(text.clone()),
                agent: "claude-code".to_owned(),
                directory: None,
                commit: None,
                steps: vec![text.clone(); list],
            };
            let body = Body::of(&step);
            assert!(body.text.len() <= BODY_BYTES_MAX, "{}", body.text.len());
            assert!(matches!(serde_json::from_str(&body.text).unwrap(), Step::Begun { .. }));
            let artifact = body.artifact.unwrap();
            assert_eq!(artifact.len() as u64, body.full.min(ARTIFACT_BYTES_MAX as u64));
        }
    }

    #[test]
    fn secrets_are_gone_before_anything_is_cut() {
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
        let body = Body::of(&step);
        assert!(body.redacted >= 2);
        for text in [&body.text, &body.artifact.unwrap()] {
            assert!(!text.contains("a1B2"), "{text:?}");
        }
    }
}
