//! The answer to an agent's verdict.

use serde::{Deserialize, Serialize};

use super::Text;

/// `mem_feedback`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// The memory.
    pub id: Text,
    /// `noted`; or `unchanged` if no search of the session showed it, or it was said already.
    pub outcome: Text,
}
