//! Where a text comes from, and what makes it suspect.

use std::fmt;

/// How a text came into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// An agent saved it by a tool.
    #[default]
    Agent,
    /// A person saved or edited it.
    Person,
    /// It came with an export or out of another memory's files.
    Import,
    /// A hook took it from what the agent's program reported.
    Hook,
    /// It was read out of a transcript.
    Transcript,
    /// It was read out of a document.
    Document,
    /// It was made of other memories.
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

/// What a text seems to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// To take the place of the instructions that the agent has.
    Override,
    /// To speak as the system, the user or somebody with authority.
    Role,
    /// To keep something from the person.
    Concealment,
    /// To hold for all later sessions.
    StandingOrder,
    /// To have something run.
    Exec,
    /// To carry data away.
    Exfiltration,
    /// To say what nobody sees: invisible characters, letters of another script.
    Hidden,
    /// To make what is unsafe look like good practice.
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

/// What is known of a text beside what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taint {
    /// How its present text came in.
    pub origin: Origin,
    /// What it seems to try, by the rules of the day it was written: of nearly all texts nothing.
    pub flags: Vec<Flag>,
}

impl Taint {
    /// The flags by their names, with a blank between them; empty without any.
    pub fn told(&self) -> String {
        self.flags.iter().map(|flag| flag.as_str()).collect::<Vec<_>>().join(" ")
    }
}
