//! The origin of a text, and its flags.

use std::fmt;

/// How a text came into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// An agent saved it by a tool.
    #[default]
    Agent,
    /// A person saved or edited it.
    Person,
    /// It came with an export or from another memory tool's files.
    Import,
    /// A hook took it from what the agent reported.
    Hook,
    /// It was read from a transcript.
    Transcript,
    /// It was read from a document.
    Document,
    /// It was made from other memories.
    Derived,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Agent,
        Self::Person,
        Self::Import,
        Self::Hook,
        Self::Transcript,
        Self::Document,
        Self::Derived,
    ];

    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Person => "person",
            Self::Import => "import",
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::Document => "document",
            Self::Derived => "derived",
        }
    }

    /// Reads a stored name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == name)
    }

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

/// What a text that reads like an instruction seems to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// To replace the agent's instructions.
    Override,
    /// To speak as the system, the user or an authority.
    Role,
    /// To keep something from the person.
    Concealment,
    /// To apply to all later sessions.
    StandingOrder,
    /// To have something run.
    Exec,
    /// To carry data away.
    Exfiltration,
    /// To say something that nobody sees: invisible characters, look-alike letters.
    Hidden,
    /// To present something unsafe as good practice.
    Inversion,
}

impl Flag {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Override,
        Self::Role,
        Self::Concealment,
        Self::StandingOrder,
        Self::Exec,
        Self::Exfiltration,
        Self::Hidden,
        Self::Inversion,
    ];

    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Role => "role",
            Self::Concealment => "concealment",
            Self::StandingOrder => "standing_order",
            Self::Exec => "exec",
            Self::Exfiltration => "exfiltration",
            Self::Hidden => "hidden",
            Self::Inversion => "inversion",
        }
    }

    /// Reads a stored name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.as_str() == name)
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
