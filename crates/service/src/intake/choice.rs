//! One choice of a person: whose past sessions are imported, and from where.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::folders::agent_named;

/// Whose sessions, and from where. In the settings it is the name of a project or the absolute path of a folder, or, for one
/// agent alone, a table: `{ agent = "codex" }`, `{ agent = "codex", in = "acme/pay" }`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// The agent's name; every agent where there is none.
    pub agent: Option<String>,
    /// A project or the absolute path of a folder; everywhere where there is none.
    pub within: Option<String>,
}

impl Choice {
    /// The sessions of an agent, of a project or below a folder.
    pub fn of(agent: Option<&str>, within: Option<&str>) -> Self {
        Self { agent: agent.map(str::to_owned), within: within.map(str::to_owned) }
    }

    /// Whether it admits all that another one admits, as far as their words show.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let covers = |mine: &Option<String>, theirs: &Option<String>| mine.is_none() || mine == theirs;
        covers(&self.agent, &other.agent) && covers(&self.within, &other.within)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = self.within.as_deref().unwrap_or("all");
        match &self.agent {
            Some(agent) => write!(f, "{within} of {agent}"),
            None => f.write_str(within),
        }
    }
}

/// The table of one agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfAgent {
    agent: String,
    #[serde(rename = "in")]
    within: Option<String>,
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor)
    }
}

struct ChoiceVisitor;

impl<'de> Visitor<'de> for ChoiceVisitor {
    type Value = Choice;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a project, the path of a folder, or `{ agent = \"…\", in = \"…\" }`")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Choice, E> {
        Ok(Choice::of(None, Some(name)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Choice, A::Error> {
        let OfAgent { agent, within } = OfAgent::deserialize(MapAccessDeserializer::new(map))?;
        if agent_named(&agent).is_none() {
            let problem = format!("`{agent}` is no agent whose sessions are read");
            return Err(serde::de::Error::custom(problem));
        }
        Ok(Choice { agent: Some(agent), within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_choice_covers_a_narrower_one() {
        let all = Choice::default();
        let codex = Choice::of(Some("codex"), None);
        let there = Choice::of(None, Some("acme/pay"));
        let both = Choice::of(Some("codex"), Some("acme/pay"));
        for (wide, narrow) in [(&all, &codex), (&codex, &both), (&there, &both), (&both, &both)] {
            assert!(wide.covers(narrow), "{wide} {narrow}");
        }
        for (one, other) in [(&codex, &there), (&both, &codex), (&codex, &all)] {
            assert!(!one.covers(other), "{one} {other}");
        }
        assert_eq!(
            [all, codex, there, both].map(|choice| choice.to_string()),
            ["all", "all of codex", "acme/pay", "acme/pay of codex"]
        );
    }
}
