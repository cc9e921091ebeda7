//! The answers of a search.

use serde::{Deserialize, Serialize};

use super::{Text, memories::Marks};

/// `mem_search`
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// How well the best hit answers: `strong`, `partial` or `none`.
    #[serde(rename = "match")]
    pub matched: Text,
    /// The best first.
    pub hits: Vec<Hit>,
    /// The project that was searched; `None` for all.
    pub project: Option<Text>,
    /// Whether no hit has every word of the query.
    pub relaxed: bool,
    /// Where the list goes on.
    pub next_cursor: Option<Text>,
    /// How many archived memories answer better.
    pub archived: Option<u64>,
    /// Projects with hits that answer better.
    pub elsewhere: Vec<Elsewhere>,
    /// What passages of documents, and exchanges of past sessions, may answer.
    pub documents: Option<Hint>,
    pub history: Option<Hint>,
    /// The parts of each hit's score, if they were asked for.
    pub explained: Vec<Explained>,
}

/// A memory, an exchange or a passage that was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Hit {
    pub id: Text,
    pub title: Text,
    #[serde(rename = "type")]
    pub kind: Text,
    /// When it was written.
    pub date: Text,
    /// Its best passage.
    pub preview: Text,
    pub score: f64,
    /// Its project, or `personal`, where hits may be of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Text>,
    #[serde(flatten)]
    pub marks: Marks,
}

/// Another project and its better hits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Elsewhere {
    pub project: Text,
    pub hits: u64,
}

/// Evidence that may answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hint {
    /// How many match.
    pub n: u64,
    /// The best.
    pub id: Text,
    pub title: Text,
}

/// The parts of a hit's score, each to a thousandth. What adds nothing is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Explained {
    pub id: Text,
    /// The sum of the parts.
    pub score: f64,
    /// The share of the query's words that it has.
    pub coverage: f64,
    /// Whether it has the exact name that was asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    #[serde(flatten)]
    pub shares: Shares,
}

/// How much each signal adds: those of `recall::Signal`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Shares {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related: Option<f64>,
}

impl Shares {
    /// Those that there are, by the names of their signals.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let shares = [
            ("words", self.words),
            ("meaning", self.meaning),
            ("neighbours", self.neighbours),
            ("session", self.session),
            ("opening", self.opening),
            ("used", self.used),
            ("related", self.related),
        ];
        shares.into_iter().filter_map(|(name, share)| Some((name, share?)))
    }
}
