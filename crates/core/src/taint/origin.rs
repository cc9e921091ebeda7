//! The origin of a text, and its flags.

use std::fmt;

named! {
    /// How a text came into the store.
    #[derive(Default)]
    pub enum Origin {
        /// An agent saved it by a tool.
        #[default]
        Agent = "agent",
        /// A person saved or edited it.
        Person = "person",
        /// It came with an export or from another memory tool's files.
        Import = "import",
        /// A hook took it from what the agent reported.
        Hook = "hook",
        /// It was read from a transcript.
        Transcript = "transcript",
        /// It was read from a document.
        Document = "document",
        /// It was made from other memories.
        Derived = "derived",
    }
}

impl Origin {
    /// Whether an agent or a person of this home chose to write the text.
    pub fn is_chosen(self) -> bool {
        matches!(self, Self::Agent | Self::Person)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

named! {
    /// What a text that reads like an instruction seems to try.
    pub enum Flag {
        /// To replace the agent's instructions.
        Override = "override",
        /// To speak as the system, the user or an authority.
        Role = "role",
        /// To keep something from the person.
        Concealment = "concealment",
        /// To apply to all later sessions.
        StandingOrder = "standing_order",
        /// To have something run.
        Exec = "exec",
        /// To carry data away.
        Exfiltration = "exfiltration",
        /// To say something that nobody sees: invisible characters, look-alike letters.
        Hidden = "hidden",
        /// To present something unsafe as good practice.
        Inversion = "inversion",
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The origin of a text and what makes it suspect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taint {
    /// How its present text came in.
    pub origin: Origin,
    /// What it seems to try, by the rules at the time of writing. Nearly always empty.
    pub flags: Vec<Flag>,
}

impl Taint {
    /// The names of the flags, separated by blanks; empty without flags.
    pub fn names(&self) -> String {
        self.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>().join(" ")
    }
}
