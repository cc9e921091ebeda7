//! A person's additional arguments of a search: other weights, and the parts of each score.

use cerebro_core::recall::{Signal, Weights};
use serde_json::{Value, json};

use super::arguments::{ArgumentError, Arguments};
use super::reply::rounded;

/// The weights: those in `weights`, and 0 for the signal that `without` names.
pub(super) fn weights(arguments: &mut Arguments) -> Result<Weights, ArgumentError> {
    let given = Value::Object(arguments.object("weights")?);
    let weights: Weights = serde_json::from_value(given.clone())
        .map_err(|error| ArgumentError::new("weights", Some(&given.to_string()), error.to_string()))?;
    let Some(name) = arguments.text("without")? else { return Ok(weights) };
    let signal = Signal::parse(&name).ok_or_else(|| {
        let names = Signal::ALL.map(|(name, _)| name).join(", ");
        ArgumentError::new("without", Some(&name), format!("it must be one of {names}"))
    })?;
    Ok(weights.without(signal))
}

/// The parts of a hit's score.
pub(super) fn explained(hit: &cerebro_search::lexical::Hit) -> Value {
    let parts = [
        ("words", hit.parts.words),
        ("meaning", hit.parts.meaning),
        ("neighbours", hit.parts.neighbours),
        ("session", hit.parts.session),
        ("opening", hit.parts.name),
        ("used", hit.parts.used),
        ("related", hit.parts.related),
    ];
    let mut all =
        json!({ "id": hit.id.as_str(), "score": rounded(hit.score), "coverage": rounded(hit.coverage) });
    if hit.exact {
        all["exact"] = json!(true);
    }
    for (name, share) in parts.into_iter().filter(|(_, share)| *share > 0.0) {
        all[name] = json!(rounded(share));
    }
    all
}
