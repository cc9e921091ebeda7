//! The label `match`: how well the best hit answers.

named! {
    /// How well the best hit fits.
    pub enum Match {
        Strong = "strong",
        Partial = "partial",
        None = "none",
    }
}

/// The figures from which the label is computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MatchFigures {
    /// The question is the title or topic key of the first hit.
    pub exact: bool,
    /// The share of the question's words, weighted by rarity, that the first hit contains: 0 to 1.
    pub coverage: f32,
    /// The number of significant words in the question.
    pub words: usize,
    /// As `coverage`, with each name that occurs nowhere as one more word beside its parts.
    pub named_coverage: f32,
    /// As `words`, counted in the same way.
    pub named_words: usize,
    /// Where the nearest similarity lies between the mean (0) and identical text (1). `None` without a model.
    pub meaning: Option<f32>,
}

/// Shares of the question's words from which the first hit is a strong or a partial match, where only words are
/// known. They apply to questions of up to [`SHORT`] words.
const STRONG_COVERAGE: f32 = 0.42;
const PARTIAL_COVERAGE: f32 = 0.21;
/// The number of words up to which the length of a question does not matter. No memory contains all words of a longer
/// question, whether it answers it or not. So the share of a longer question counts more, by the square root of its
/// words: the spread of a share of that many draws shrinks in the same way.
const SHORT: usize = 6;
/// The same thresholds for the nearest meaning. Beside it, words alone make a match strong when nearly all occur,
/// because a model does not know names.
const STRONG_MEANING: f32 = 0.38;
const PARTIAL_MEANING: f32 = 0.3;
const SURE_COVERAGE: f32 = 0.9;
/// The shares for exchanges of past sessions. Exchanges are long and mention many things, so some words of any question
/// about software occur together in one of them.
const PAST_STRONG: f32 = 0.74;
const PAST_PARTIAL: f32 = 0.46;
/// As [`SHORT`], for exchanges. The share of a longer question counts more by this power of its words. Exchanges are cut
/// into passages, and no passage contains a whole pasted plan.
const PAST_SHORT: usize = 4;
const PAST_POWER: f32 = 0.7;

impl MatchFigures {
    /// The label for memories and documents. It is also `Match::None` when nothing was found.
    pub fn label(&self) -> Match {
        let held = adjusted(self.coverage, self.words, SHORT, 0.5);
        self.judged(self.coverage, held, [STRONG_COVERAGE, PARTIAL_COVERAGE])
    }

    /// The label for exchanges of past sessions. It is also `Match::None` when nothing was found.
    pub fn past_label(&self) -> Match {
        let held = adjusted(self.named_coverage, self.named_words, PAST_SHORT, PAST_POWER);
        self.judged(self.named_coverage, held, [PAST_STRONG, PAST_PARTIAL])
    }

    /// The label by the share of words (`held` is adjusted for the length of the question) and by the thresholds for words.
    fn judged(&self, coverage: f32, held: f32, [strong_words, partial_words]: [f32; 2]) -> Match {
        let (strong, partial) = match self.meaning {
            Some(meaning) => (
                meaning >= STRONG_MEANING || coverage >= SURE_COVERAGE,
                meaning >= PARTIAL_MEANING || held >= strong_words,
            ),
            None => (held >= strong_words, held >= partial_words),
        };
        match (self.exact || strong, partial) {
            (true, _) => Match::Strong,
            (false, true) => Match::Partial,
            (false, false) => Match::None,
        }
    }
}

/// The share of a question that a hit contains, adjusted for questions longer than `short` words.
fn adjusted(share: f32, words: usize, short: usize, power: f32) -> f32 {
    share * (words.max(short) as f32 / short as f32).powf(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_follows_the_signs() {
        let label = |exact, coverage, meaning| {
            MatchFigures { exact, coverage, words: 6, meaning, ..MatchFigures::default() }.label()
        };
        assert_eq!(label(true, 0.0, None), Match::Strong);
        assert_eq!(label(false, 0.42, None), Match::Strong);
        assert_eq!(label(false, 0.21, None), Match::Partial);
        assert_eq!(label(false, 0.2, None), Match::None);
        assert_eq!(label(false, 0.1, Some(0.5)), Match::Strong);
        assert_eq!(label(false, 1.0, Some(0.1)), Match::Strong);
        assert_eq!(label(false, 0.6, Some(0.1)), Match::Partial);
        assert_eq!(label(false, 0.4, Some(0.1)), Match::None);
    }

    #[test]
    fn a_smaller_share_of_a_long_question_says_as_much() {
        let label = |coverage, words| MatchFigures { coverage, words, ..MatchFigures::default() }.label();
        assert_eq!(label(0.3, 6), Match::Partial);
        assert_eq!(label(0.3, 24), Match::Strong);
        assert_eq!(label(0.12, 6), Match::None);
        assert_eq!(label(0.12, 24), Match::Partial);
        assert_eq!(label(0.3, 1), label(0.3, 6), "a short one is not held to more");
    }

    #[test]
    fn a_past_session_must_hold_more_of_a_question() {
        let label = |named_coverage, named_words, meaning| {
            MatchFigures { named_coverage, named_words, meaning, ..MatchFigures::default() }.past_label()
        };
        assert_eq!(label(0.74, 4, None), Match::Strong);
        assert_eq!(label(0.73, 4, None), Match::Partial);
        assert_eq!(label(0.45, 4, None), Match::None);
        assert_eq!(label(0.45, 3, None), Match::None, "a short one is held to no less");
        // Twenty words: a share counts three times.
        assert_eq!(label(0.24, 20, None), Match::Strong);
        assert_eq!(label(0.15, 20, None), Match::Partial);
        assert_eq!(label(0.14, 20, None), Match::None);
        assert_eq!(label(0.0, 4, Some(0.5)), Match::Strong);
        assert_eq!(label(0.8, 4, Some(0.0)), Match::Partial);
        assert_eq!(label(0.5, 4, Some(0.0)), Match::None);
        let called = MatchFigures { exact: true, ..MatchFigures::default() };
        assert_eq!(called.past_label(), Match::Strong);
    }
}
