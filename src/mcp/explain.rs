//! A person's additional arguments of a search: other weights, and the parts of each score.

use cerebro_core::recall::{Signal, Weights};
use serde_json::Value;

use super::arguments::{ArgumentError, Arguments};
use super::reply::rounded;
use crate::answer::{
    Text,
    search::{Explained, Shares},
};

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
pub(super) fn explained(hit: &cerebro_search::lexical::Hit) -> Explained {
    let parts = &hit.parts;
    let share = |share: f32| (share > 0.0).then(|| rounded(share));
    Explained {
        id: Text::of(hit.id),
        score: rounded(hit.score),
        coverage: rounded(hit.coverage),
        exact: hit.exact,
        shares: Shares {
            words: share(parts.words),
            meaning: share(parts.meaning),
            neighbours: share(parts.neighbours),
            session: share(parts.session),
            opening: share(parts.name),
            used: share(parts.used),
            related: share(parts.related),
        },
    }
}
