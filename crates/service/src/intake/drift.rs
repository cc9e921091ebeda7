//! Drift: records that the readers do not know, because agents change their formats without notice.

use std::collections::BTreeMap;

use super::{Intake, folders::agents};
use crate::{History, ServiceError, agent_slug};

/// Most sources whose unknown records are named.
const SOURCES_MAX: usize = 200;

/// The name for records of which only the number is known.
const UNNAMED: &str = "(at the end of a file)";

/// Records that were not understood, by their agent and their name.
pub(crate) type Drift = BTreeMap<&'static str, BTreeMap<String, u64>>;

impl Intake {
    /// The records of unknown types in what was read so far.
    pub(crate) async fn drift(&self) -> Result<Drift, ServiceError> {
        let mut drift = Drift::new();
        for agent in agents() {
            let sources = self.history.sources(agent).await?;
            let odd = sources.iter().filter(|source| source.unknown > 0).take(SOURCES_MAX);
            for source in odd {
                let counts = drift.entry(agent_slug(agent)).or_default();
                let names = History::cursor(source).map(|state| state.counts.unknown).unwrap_or_default();
                // The state does not have the last records yet.
                let named: u64 = names.values().sum();
                for (name, count) in names {
                    *counts.entry(name).or_default() += count;
                }
                if named < source.unknown {
                    *counts.entry(UNNAMED.to_owned()).or_default() += source.unknown - named;
                }
            }
            // This daemon knows the names of the records that it read itself.
            let seen = self.progress().agents.remove(agent_slug(agent)).unwrap_or_default().unknown;
            if let Some(counts) = drift.get_mut(agent_slug(agent)).filter(|_| !seen.is_empty()) {
                counts.remove(UNNAMED);
                for (name, count) in seen {
                    counts.entry(name).or_insert(count);
                }
            }
        }
        Ok(drift)
    }
}
