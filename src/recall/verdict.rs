//! How well the best hit answers: the label `match`.

/// How well the best hit fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Strong,
    Partial,
    None,
}

/// What the label is made from.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Signs {
    /// The question is the title or topic key of the first hit.
    pub exact: bool,
    /// The share of the question's words, by rarity, that the first hit holds: 0 to 1.
    pub coverage: f32,
    /// How far the nearest meaning is on the way from the usual similarity to the same text: 0 to 1. `None`
    /// without a model.
    pub meaning: Option<f32>,
}

/// Shares of the question's words from which the first hit counts as a strong and a partial match, where
/// words are all that is known.
const STRONG_COVERAGE: f32 = 0.45;
const PARTIAL_COVERAGE: f32 = 0.2;
/// The same for the nearest meaning. Words alone are strong beside it when nearly all are held, as are the
/// names that a model does not know.
const STRONG_MEANING: f32 = 0.36;
const PARTIAL_MEANING: f32 = 0.3;
const SURE_COVERAGE: f32 = 0.9;

impl Signs {
    /// The label; `None` too when nothing was found.
    pub fn label(&self) -> Match {
        let (strong, partial) = match self.meaning {
            Some(meaning) => (
                meaning >= STRONG_MEANING || self.coverage >= SURE_COVERAGE,
                meaning >= PARTIAL_MEANING || self.coverage >= STRONG_COVERAGE,
            ),
            None => (self.coverage >= STRONG_COVERAGE, self.coverage >= PARTIAL_COVERAGE),
        };
        match (self.exact || strong, partial) {
            (true, _) => Match::Strong,
            (false, true) => Match::Partial,
            (false, false) => Match::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_follows_the_signs() {
        let label = |exact, coverage, meaning| Signs { exact, coverage, meaning }.label();
        assert_eq!(label(true, 0.0, None), Match::Strong);
        assert_eq!(label(false, 0.45, None), Match::Strong);
        assert_eq!(label(false, 0.2, None), Match::Partial);
        assert_eq!(label(false, 0.1, None), Match::None);
        assert_eq!(label(false, 0.1, Some(0.5)), Match::Strong);
        assert_eq!(label(false, 1.0, Some(0.1)), Match::Strong);
        assert_eq!(label(false, 0.6, Some(0.1)), Match::Partial);
        assert_eq!(label(false, 0.4, Some(0.1)), Match::None);
    }
}
