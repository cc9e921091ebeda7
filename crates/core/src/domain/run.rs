//! Whether something is done, or only tried.

/// How a use case with consequences runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// It is done.
    Real,
    /// Nothing is changed, and the answer says what would be.
    Dry,
}

impl Run {
    /// The run that a flag asks for.
    pub fn dry_if(is_dry: bool) -> Self {
        if is_dry { Self::Dry } else { Self::Real }
    }

    /// Whether nothing is changed.
    pub fn is_dry(self) -> bool {
        self == Self::Dry
    }
}
