//! The label `match`: how well the best hit answers.

/// How well the best hit fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Strong,
    Partial,
    None,
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
    /// Where the nearest similarity lies between the mean (0) and identical text (1). `None` without a model.
    pub meaning: Option<f32>,
}

/// Shares of the question's words from which the first hit is a strong or a partial match, where only words are
/// known. They apply to questions of up to [`SHORT`] words.
const STRONG_COVERAGE: f32 = 0.42;
const PARTIAL_COVERAGE: f32 = 0.21;
/// The number of words up to which the length of a question does not matter. No memory contains a longer question
/// whole, on the subject or not. So a share is worth more by the square root of the number of words, just as the
/// spread of a share of that many draws shrinks.
const SHORT: usize = 6;
/// The same thresholds for the nearest meaning. Beside it, words alone make a match strong when nearly all occur,
/// because a model does not know names.
const STRONG_MEANING: f32 = 0.38;
const PARTIAL_MEANING: f32 = 0.3;
const SURE_COVERAGE: f32 = 0.9;

impl MatchFigures {
    /// The label. It is also `Match::None` when nothing was found.
    pub fn label(&self) -> Match {
        let held = self.held();
        let (strong, partial) = match self.meaning {
            Some(meaning) => (
                meaning >= STRONG_MEANING || self.coverage >= SURE_COVERAGE,
                meaning >= PARTIAL_MEANING || held >= STRONG_COVERAGE,
            ),
            None => (held >= STRONG_COVERAGE, held >= PARTIAL_COVERAGE),
        };
        match (self.exact || strong, partial) {
            (true, _) => Match::Strong,
            (false, true) => Match::Partial,
            (false, false) => Match::None,
        }
    }

    /// The share of the question that the hit contains, adjusted for questions longer than [`SHORT`] words.
    fn held(&self) -> f32 {
        self.coverage * (self.words.max(SHORT) as f32 / SHORT as f32).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_follows_the_signs() {
        let label = |exact, coverage, meaning| MatchFigures { exact, coverage, words: 6, meaning }.label();
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
}
