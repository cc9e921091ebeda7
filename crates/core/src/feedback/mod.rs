//! Whether a memory that a search showed was useful: pure decisions over the agent's next actions.
//!
//! Agents may say so, but need not: a [`Watch`] records what one session was shown, and derives signs from what
//! follows. Each sign counts once per memory and session. Signs do not affect the order of results by default.

mod quoted;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::{
    domain::{MemoryId, Timestamp},
    text::fold,
};

pub use quoted::quoted;

/// How long a question counts as asked again in other words.
const AGAIN_WITHIN: Duration = Duration::from_secs(10 * 60);
/// Share of common words from which two questions are the same question.
const AGAIN_MIN: f64 = 0.6;
/// How many of the first hits count as passed over when a question is asked again.
const PASSED_OVER: usize = 3;
/// Most questions that are kept of a session.
const QUESTIONS_MAX: usize = 16;
/// Most memories that are kept of a session; those shown longest ago are forgotten first.
const SHOWN_MAX: usize = 64;

named! {
    /// How it was observed whether a memory was useful.
    pub enum Source {
        /// It was read whole.
        Read = "read",
        /// The session's last message or summary repeats it.
        Answer = "answer",
        /// It was updated, superseded or deleted.
        Corrected = "corrected",
        /// The question was asked again in other words, and none of its hits was read before.
        AskedAgain = "asked_again",
        /// The agent said that it was useful.
        SaidUseful = "said_useful",
        /// The agent said that it was useless.
        SaidUseless = "said_useless",
        /// The agent said that it is wrong.
        SaidWrong = "said_wrong",
    }
}

/// What an observation means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// It was useful.
    Used,
    /// It was wrong, or no longer holds.
    Corrected,
    /// It was not what the agent looked for.
    Ignored,
}

impl Source {
    /// The weight of one sign of this source.
    fn weight(self) -> f32 {
        match self {
            Self::Answer | Self::SaidUseful => 1.0,
            Self::Read => 0.3,
            Self::AskedAgain | Self::SaidUseless => -0.1,
            Self::Corrected | Self::SaidWrong => -1.0,
        }
    }

    /// The meaning of this source.
    pub fn signal(self) -> Signal {
        match self {
            Self::Read | Self::Answer | Self::SaidUseful => Signal::Used,
            Self::Corrected | Self::SaidWrong => Signal::Corrected,
            Self::AskedAgain | Self::SaidUseless => Signal::Ignored,
        }
    }
}

/// How useful a memory was, from the counts of its signs: above 0 and below 1, where each further sign adds less.
/// `None` unless the signs in favour prevail.
pub fn usefulness(signs: &BTreeMap<Source, u64>) -> Option<f32> {
    let sum: f32 = signs.iter().map(|(source, count)| source.weight() * *count as f32).sum();
    (sum > 0.0).then(|| sum / (1.0 + sum))
}

/// A sign that a memory was useful or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sign {
    pub memory: MemoryId,
    /// How it was observed.
    pub source: Source,
    /// The best place at which it was shown, from 1.
    pub rank: usize,
    /// Whether it is the first of its signal for this memory; another source may have given the same signal before.
    pub is_first: bool,
}

/// A question and its hits.
#[derive(Debug)]
struct Question {
    at: Timestamp,
    words: BTreeSet<String>,
    hits: Vec<MemoryId>,
    /// Whether one of the hits was read.
    is_answered: bool,
}

/// A memory that was shown.
#[derive(Debug)]
struct Shown {
    rank: usize,
    /// The number of this showing. The memory with the lowest one is forgotten first.
    turn: u64,
    /// The sources that gave a sign already.
    reported: BTreeSet<Source>,
}

/// The record of what was shown in one session.
#[derive(Debug, Default)]
pub struct Watch {
    questions: VecDeque<Question>,
    shown: BTreeMap<MemoryId, Shown>,
    turns: u64,
}

impl Watch {
    /// Records the hits of a search, best first, and returns the signs that follow from asking. An identical
    /// question is a retry, the next page or a probe, and gives no sign.
    pub fn searched(&mut self, at: Timestamp, question: &str, hits: &[MemoryId]) -> Vec<Sign> {
        let words = words(question);
        let is_again = |earlier: &&mut Question| {
            let age = Duration::try_from(at.duration_since(earlier.at)).unwrap_or_default();
            age <= AGAIN_WITHIN && likeness(&earlier.words, &words) >= AGAIN_MIN
        };
        let earlier = self.questions.iter_mut().rev().find(is_again);
        let passed_over: Vec<MemoryId> = match earlier {
            Some(earlier) if earlier.words != words && !earlier.is_answered => {
                earlier.hits.iter().take(PASSED_OVER).copied().collect()
            }
            _ => Vec::new(),
        };
        let signs = passed_over.iter().filter_map(|id| self.record(id, Source::AskedAgain)).collect();
        if self.questions.len() == QUESTIONS_MAX {
            self.questions.pop_front();
        }
        self.questions.push_back(Question { at, words, hits: hits.to_vec(), is_answered: false });
        for (index, id) in hits.iter().enumerate() {
            self.turns += 1;
            let rank = index + 1;
            let shown = self.shown.entry(*id).or_insert(Shown { rank, turn: 0, reported: BTreeSet::new() });
            shown.rank = shown.rank.min(rank);
            shown.turn = self.turns;
        }
        self.forget();
        signs
    }

    /// Records that a memory was read whole.
    pub fn read(&mut self, id: &MemoryId) -> Option<Sign> {
        for question in self.questions.iter_mut().filter(|question| question.hits.contains(id)) {
            question.is_answered = true;
        }
        self.record(id, Source::Read)
    }

    /// Records that a memory was updated, superseded or deleted.
    pub fn corrected(&mut self, id: &MemoryId) -> Option<Sign> {
        self.record(id, Source::Corrected)
    }

    /// Records the agent's verdict on a memory; only the first one counts.
    pub fn rated(&mut self, id: &MemoryId, source: Source) -> Option<Sign> {
        const RATINGS: [Source; 3] = [Source::SaidUseful, Source::SaidUseless, Source::SaidWrong];
        let shown = self.shown.get(id)?;
        if RATINGS.iter().any(|rating| shown.reported.contains(rating)) {
            return None;
        }
        self.record(id, source)
    }

    /// Whether a memory was shown and is still in the record.
    pub fn has_shown(&self, id: &MemoryId) -> bool {
        self.shown.contains_key(id)
    }

    /// The memories to compare with a last message.
    pub fn shown(&self) -> Vec<MemoryId> {
        self.shown.keys().copied().collect()
    }

    /// Records a last message or a summary, with the texts of what was shown.
    pub fn answered(&mut self, message: &str, texts: &[(MemoryId, String)]) -> Vec<Sign> {
        let asked: BTreeSet<String> =
            self.questions.iter().flat_map(|question| question.words.clone()).collect();
        let quoted = quoted(message, texts, &asked);
        quoted.iter().filter_map(|id| self.record(id, Source::Answer)).collect()
    }

    /// A sign for a memory that was shown, if this source has not given one before.
    fn record(&mut self, id: &MemoryId, source: Source) -> Option<Sign> {
        let shown = self.shown.get_mut(id)?;
        let is_first = shown.reported.iter().all(|reported| reported.signal() != source.signal());
        shown.reported.insert(source).then_some(Sign { memory: *id, source, rank: shown.rank, is_first })
    }

    fn forget(&mut self) {
        while self.shown.len() > SHOWN_MAX {
            let oldest = self.shown.iter().min_by_key(|(_, shown)| shown.turn).map(|(id, _)| *id);
            let Some(oldest) = oldest else { return };
            self.shown.remove(&oldest);
        }
    }
}

/// The words of a question, case and accents ignored.
fn words(question: &str) -> BTreeSet<String> {
    quoted::words(&fold(question)).into_iter().map(str::to_owned).collect()
}

/// The share of common words among all words of two questions.
fn likeness(one: &BTreeSet<String>, other: &BTreeSet<String>) -> f64 {
    let common = one.intersection(other).count();
    let all = one.len() + other.len() - common;
    if all == 0 { 0.0 } else { common as f64 / all as f64 }
}

#[cfg(test)]
mod tests;
