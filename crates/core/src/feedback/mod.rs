//! Whether what a search showed an agent was of use to it: pure decisions over what the agent did next.
//!
//! Nobody has to say so, though an agent may. A [`Watch`] over one session notes what was shown in it, and what follows tells. Each sign
//! counts once for a memory and session. It orders nothing: the figures are there to be looked at.

mod quoted;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::{
    domain::{MemoryId, Timestamp},
    text::fold,
};

pub use quoted::quoted;

/// How long a question may be asked again in other words.
const AGAIN_WITHIN: Duration = Duration::from_secs(10 * 60);
/// Share of common words from which on two questions ask the same.
const AGAIN_MIN: f64 = 0.6;
/// How many of the first hits were passed over, where the question is asked again.
const PASSED_OVER: usize = 3;
/// Most questions that are kept of a session.
const QUESTIONS_MAX: usize = 16;
/// Most memories that are kept of a session; those shown longest ago are forgotten first.
const SHOWN_MAX: usize = 64;

/// What tells whether a memory that was shown was of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// It was read whole.
    Read,
    /// The session's last message or summary says what it says.
    Answer,
    /// It was updated, superseded or deleted.
    Corrected,
    /// The question was asked again in other words, and none of its hits was read before.
    AskedAgain,
    /// The agent said that it was of use.
    SaidUseful,
    /// The agent said that it was of no use.
    SaidUseless,
    /// The agent said that it is wrong.
    SaidWrong,
}

/// What a source tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// It was of use.
    Used,
    /// It was wrong, or is no longer right.
    Corrected,
    /// It was not what was looked for.
    Ignored,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Answer,
        Self::Corrected,
        Self::AskedAgain,
        Self::SaidUseful,
        Self::SaidUseless,
        Self::SaidWrong,
    ];

    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Answer => "answer",
            Self::Corrected => "corrected",
            Self::AskedAgain => "asked_again",
            Self::SaidUseful => "said_useful",
            Self::SaidUseless => "said_useless",
            Self::SaidWrong => "said_wrong",
        }
    }

    /// The source of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == name)
    }

    /// How much one sign of it tells.
    fn weight(self) -> f32 {
        match self {
            Self::Answer | Self::SaidUseful => 1.0,
            Self::Read => 0.3,
            Self::AskedAgain | Self::SaidUseless => -0.1,
            Self::Corrected | Self::SaidWrong => -1.0,
        }
    }

    /// What it tells.
    pub fn signal(self) -> Signal {
        match self {
            Self::Read | Self::Answer | Self::SaidUseful => Signal::Used,
            Self::Corrected | Self::SaidWrong => Signal::Corrected,
            Self::AskedAgain | Self::SaidUseless => Signal::Ignored,
        }
    }
}

/// How much a memory was of use by its signs: above 0 and below 1, with the first signs telling most; none where they do not
/// say that it was.
pub fn usefulness(signs: &BTreeMap<Source, u64>) -> Option<f32> {
    let sum: f32 = signs.iter().map(|(source, count)| source.weight() * *count as f32).sum();
    (sum > 0.0).then(|| sum / (1.0 + sum))
}

/// A sign that a memory was of use, or was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sign {
    /// The memory.
    pub memory: MemoryId,
    /// What tells.
    pub source: Source,
    /// The best place at which it was shown, from 1.
    pub rank: usize,
    /// Whether it is the first of its signal for this memory: another source may have told the same.
    pub is_first: bool,
}

/// What was asked, and what was shown for it.
#[derive(Debug)]
struct Question {
    at: Timestamp,
    words: BTreeSet<String>,
    hits: Vec<MemoryId>,
    /// One of the hits was read.
    is_answered: bool,
}

/// A memory that was shown.
#[derive(Debug)]
struct Shown {
    rank: usize,
    /// Counts what was shown, for which is forgotten first.
    turn: u64,
    /// What was told already.
    told: BTreeSet<Source>,
}

/// What was shown in one session.
#[derive(Debug, Default)]
pub struct Watch {
    questions: VecDeque<Question>,
    shown: BTreeMap<MemoryId, Shown>,
    turns: u64,
}

impl Watch {
    /// Notes what a search showed, best first; gives the signs that the question itself is. The very same question is a
    /// retry, the next page or somebody's probe, and no sign.
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
        let signs = passed_over.iter().filter_map(|id| self.tell(id, Source::AskedAgain)).collect();
        if self.questions.len() == QUESTIONS_MAX {
            self.questions.pop_front();
        }
        self.questions.push_back(Question { at, words, hits: hits.to_vec(), is_answered: false });
        for (place, id) in hits.iter().enumerate() {
            self.turns += 1;
            let rank = place + 1;
            let shown = self.shown.entry(*id).or_insert(Shown { rank, turn: 0, told: BTreeSet::new() });
            shown.rank = shown.rank.min(rank);
            shown.turn = self.turns;
        }
        self.forget();
        signs
    }

    /// Notes that a memory was read whole.
    pub fn read(&mut self, id: &MemoryId) -> Option<Sign> {
        for question in self.questions.iter_mut().filter(|question| question.hits.contains(id)) {
            question.is_answered = true;
        }
        self.tell(id, Source::Read)
    }

    /// Notes that a memory was updated, superseded or deleted.
    pub fn corrected(&mut self, id: &MemoryId) -> Option<Sign> {
        self.tell(id, Source::Corrected)
    }

    /// Notes what the agent said of a memory; the first word counts.
    pub fn said(&mut self, id: &MemoryId, source: Source) -> Option<Sign> {
        const SAID: [Source; 3] = [Source::SaidUseful, Source::SaidUseless, Source::SaidWrong];
        let shown = self.shown.get(id)?;
        if SAID.iter().any(|said| shown.told.contains(said)) {
            return None;
        }
        self.tell(id, source)
    }

    /// Whether a memory was shown and is not forgotten.
    pub fn has_shown(&self, id: &MemoryId) -> bool {
        self.shown.contains_key(id)
    }

    /// The memories whose texts a last message is held against.
    pub fn shown(&self) -> Vec<MemoryId> {
        self.shown.keys().copied().collect()
    }

    /// Notes a last message or a summary, with the texts of what was shown.
    pub fn answered(&mut self, message: &str, texts: &[(MemoryId, String)]) -> Vec<Sign> {
        let asked: BTreeSet<String> =
            self.questions.iter().flat_map(|question| question.words.clone()).collect();
        let quoted = quoted(message, texts, &asked);
        quoted.iter().filter_map(|id| self.tell(id, Source::Answer)).collect()
    }

    /// A sign of a memory that was shown, the first time that this source tells it.
    fn tell(&mut self, id: &MemoryId, source: Source) -> Option<Sign> {
        let shown = self.shown.get_mut(id)?;
        let is_first = shown.told.iter().all(|told| told.signal() != source.signal());
        shown.told.insert(source).then_some(Sign { memory: *id, source, rank: shown.rank, is_first })
    }

    fn forget(&mut self) {
        while self.shown.len() > SHOWN_MAX {
            let oldest = self.shown.iter().min_by_key(|(_, shown)| shown.turn).map(|(id, _)| *id);
            let Some(oldest) = oldest else { return };
            self.shown.remove(&oldest);
        }
    }
}

/// The words of a question, case and accents aside.
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
