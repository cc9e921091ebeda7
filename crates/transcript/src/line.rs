//! What the readers of JSON lines say of a line.

use std::borrow::Cow;

use crate::json::Text;

/// How a reader judged a line.
pub(crate) enum Line<'a> {
    /// A record of a known type.
    Known,
    /// A record of an unknown type.
    Unknown(Cow<'a, str>),
    /// Not JSON, or not shaped like a record.
    Malformed,
}

impl<'a> Line<'a> {
    /// A record of an unknown type, or of none.
    pub(crate) fn unknown(kind: Text<'a>) -> Self {
        Self::Unknown(kind.0.unwrap_or(Cow::Borrowed(NO_TYPE)))
    }
}

/// The name under which records without a type are counted.
pub(crate) const NO_TYPE: &str = "(none)";
