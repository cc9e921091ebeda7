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
}

/// Shares of the question's words from which the best hit counts as a strong and a partial match.
const STRONG_COVERAGE: f32 = 0.55;
const PARTIAL_COVERAGE: f32 = 0.35;

impl Signs {
    /// The label; `None` too when nothing was found.
    pub fn label(&self) -> Match {
        if self.exact || self.coverage >= STRONG_COVERAGE {
            Match::Strong
        } else if self.coverage >= PARTIAL_COVERAGE {
            Match::Partial
        } else {
            Match::None
        }
    }
}
