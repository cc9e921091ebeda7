//! The stored unit.

use std::fmt;

use super::{
    MemoryId, Origin, Project, SessionId, Taint, Timestamp, Trigger,
    limits::{KIND_CHARS_MAX, MOMENT_MAX, MOMENT_MIN},
};
use crate::{redact::RedactedText, taint};

/// Who a memory is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// For everyone who works on the project.
    Project(Project),
    /// For this person, in every project; it belongs to no project.
    Personal,
}

impl Scope {
    /// Its project; what is personal has none.
    pub fn project(&self) -> Option<&Project> {
        match self {
            Self::Project(project) => Some(project),
            Self::Personal => None,
        }
    }

    /// The name of its project, as it is stored and published: empty for what is personal.
    pub fn project_name(&self) -> &str {
        self.project().map_or("", Project::as_str)
    }

    /// Which of the two it is.
    pub fn name(&self) -> ScopeName {
        match self {
            Self::Project(_) => ScopeName::Project,
            Self::Personal => ScopeName::Personal,
        }
    }

    /// Whether it is of this project.
    pub fn is_of(&self, project: &Project) -> bool {
        self.project() == Some(project)
    }

    /// Whether it is the person's.
    pub fn is_personal(&self) -> bool {
        *self == Self::Personal
    }
}

/// A scope by its name alone, where the project is said elsewhere or does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ScopeName {
    /// [`Scope::Project`].
    #[default]
    Project,
    /// [`Scope::Personal`].
    Personal,
}

/// A scope that is neither `project` nor `personal`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("scope is `project` or `personal`")]
pub struct ScopeError;

impl ScopeName {
    /// The scope of this name; what is personal belongs to no project, whichever is given.
    pub fn of(self, project: Project) -> Scope {
        match self {
            Self::Project => Scope::Project(project),
            Self::Personal => Scope::Personal,
        }
    }

    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Personal => "personal",
        }
    }

    /// Reads a name in any case, blanks aside.
    ///
    /// # Errors
    /// [`ScopeError`] for any other word.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        match text.trim().to_ascii_lowercase().as_str() {
            "project" => Ok(Self::Project),
            "personal" => Ok(Self::Personal),
            _ => Err(ScopeError),
        }
    }
}

/// The type of a memory: a word of `[a-z0-9_-]`, up to 40 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Kind(String);

impl Kind {
    /// The types that agents are offered; any other word is allowed too.
    pub const KNOWN: [&str; 11] = [
        "decision", "architecture", "bugfix", "pattern", "config", "concept", "discovery", "learning",
        "preference", "manual", "session_summary",
    ];

    /// The type of a memory that was saved without one.
    pub fn manual() -> Self {
        Self("manual".to_owned())
    }

    /// The type of the one memory that holds a session's summary.
    pub fn session_summary() -> Self {
        Self("session_summary".to_owned())
    }

    /// Whether it is one of those that agents are offered.
    pub fn is_known(&self) -> bool {
        Self::KNOWN.contains(&self.as_str())
    }

    /// Normalises a type: lowercase, each run of other characters becomes `-`. `None` when nothing is left or the
    /// result is too long.
    pub fn parse(text: &str) -> Option<Self> {
        let mut out = String::new();
        for c in text.trim().to_lowercase().chars() {
            if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' {
                out.push(c);
            } else if !out.ends_with('-') {
                out.push('-');
            }
        }
        let out = out.trim_matches('-');
        ((1..=KIND_CHARS_MAX).contains(&out.len())).then(|| Self(out.to_owned()))
    }

    /// The form in which a type is stored. A text that cannot be a type stays as it is, and is found nowhere.
    pub fn stored(text: &str) -> String {
        Self::parse(text).map_or_else(|| text.to_owned(), |kind| kind.0)
    }

    /// The normalised word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of a memory, after Tulving, "Episodic and semantic memory", 1972.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nature {
    /// Something that happened.
    Episodic,
    /// Something that is so.
    Semantic,
    /// How something is done.
    Procedural,
    /// Something to be done.
    Prospective,
}

impl Nature {
    /// All of them, by their published names.
    pub const NAMES: [&str; 4] = ["episodic", "semantic", "procedural", "prospective"];
    const ALL: [Self; 4] = [Self::Episodic, Self::Semantic, Self::Procedural, Self::Prospective];

    /// The stored and published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Episodic => "episodic",
            Self::Semantic => "semantic",
            Self::Procedural => "procedural",
            Self::Prospective => "prospective",
        }
    }

    /// Reads a name in any case, blanks aside; none for any other word.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|nature| nature.as_str() == name)
    }
}

/// The period in which a memory is true, as far as somebody said. Both moments are included; `None` leaves that
/// side open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validity {
    /// Not before this.
    pub from: Option<Timestamp>,
    /// Not after this.
    pub until: Option<Timestamp>,
}

impl Validity {
    /// The period between two moments. What lies beyond all moments that can be stored means "always" and becomes the
    /// first or last of these.
    pub fn new(from: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        let storable = |at: Timestamp| at.clamp(MOMENT_MIN, MOMENT_MAX);
        Self { from: from.map(storable), until: until.map(storable) }
    }

    /// Whether a moment lies within it.
    pub fn holds_at(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && !self.is_over(at)
    }

    /// Whether it ended before a moment.
    pub fn is_over(&self, at: Timestamp) -> bool {
        self.until.is_some_and(|until| until < at)
    }
}

/// What a memory says and where it belongs. A memory, a revision, a draft and a document of the index embed one each.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    pub scope: Scope,
    pub kind: Kind,
    pub title: RedactedText,
    pub content: RedactedText,
    /// The stable subject. The next save of the same key revises this memory.
    pub topic_key: Option<RedactedText>,
    pub tags: Vec<RedactedText>,
}

/// Lets a type that embeds a [`Body`] be read, and changed, as if the body's fields were its own.
#[macro_export]
macro_rules! embeds_body {
    ($owner:ty) => {
        impl std::ops::Deref for $owner {
            type Target = $crate::domain::Body;

            fn deref(&self) -> &Self::Target {
                &self.body
            }
        }

        impl std::ops::DerefMut for $owner {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.body
            }
        }
    };
}

embeds_body!(Memory);
embeds_body!(Revision);

/// One memory in its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub id: MemoryId,
    pub body: Body,
    /// Where this revision comes from, and what makes it suspect.
    pub taint: Taint,
    /// The client that wrote this revision.
    pub agent: RedactedText,
    /// The session that wrote this revision; a purged or imported memory may have none.
    pub session: Option<SessionId>,
    /// Counts from 1.
    pub revision: u32,
    /// How often the same text was saved again within the window.
    pub duplicate_count: u32,
    pub pinned: bool,
    pub created_at: Timestamp,
    /// When this revision was written.
    pub updated_at: Timestamp,
    /// When it was last saved, repetitions included.
    pub last_seen_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
    /// Whether it was purged: its text and revisions are gone for good.
    pub purged: bool,
    /// The period in which it is true.
    pub valid: Validity,
    /// Its kind, where somebody set one; otherwise it follows from the type.
    pub nature: Option<Nature>,
    /// Where a prospective memory is shown; `None` shows it everywhere in its project.
    pub trigger: Option<Trigger>,
    /// When a prospective memory was done.
    pub done_at: Option<Timestamp>,
    /// Since when it is archived: kept whole, but left out of searches and contexts unless somebody asks for it.
    pub archived_at: Option<Timestamp>,
    /// How often the row was written; 0 before the first time. Guards against lost updates.
    pub version: u64,
}

impl Body {
    /// One of the general project for tests.
    #[cfg(test)]
    pub(crate) fn sample() -> Self {
        Self {
            scope: Scope::Project(Project::general()),
            kind: Kind::manual(),
            title: RedactedText::derived("T"),
            content: RedactedText::derived("C"),
            topic_key: None,
            tags: Vec::new(),
        }
    }
}

impl Memory {
    /// The first revision of a memory, which is written at `at` and not stored yet.
    pub fn new(id: MemoryId, body: Body, taint: Taint, agent: RedactedText, at: Timestamp) -> Self {
        Self {
            id,
            body,
            taint,
            agent,
            session: None,
            revision: 1,
            duplicate_count: 0,
            pinned: false,
            created_at: at,
            updated_at: at,
            last_seen_at: at,
            deleted_at: None,
            purged: false,
            valid: Validity::default(),
            nature: None,
            trigger: None,
            done_at: None,
            archived_at: None,
            version: 0,
        }
    }

    /// Whether reads may show it.
    pub fn is_live(&self) -> bool {
        self.deleted_at.is_none()
    }

    /// Whether reads leave it out unless somebody asks for it.
    pub fn is_archived(&self) -> bool {
        self.archived_at.is_some()
    }

    /// The memory after a change, for tests.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// A live memory of the general project for tests, which name what they are about and take the rest from here.
    #[cfg(test)]
    pub(crate) fn sample() -> Self {
        let agent = RedactedText::derived("test");
        let new =
            Self::new(MemoryId::random(), Body::sample(), Taint::default(), agent, Timestamp::UNIX_EPOCH);
        Self { version: 1, ..new }
    }
}

/// A text that a later revision replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub memory: MemoryId,
    pub revision: u32,
    pub body: Body,
    pub agent: RedactedText,
    pub session: Option<SessionId>,
    /// When it was written.
    pub at: Timestamp,
    /// The period in which it is true.
    pub valid: Validity,
    /// The origin of that text.
    pub origin: Origin,
}

impl Revision {
    /// The memory as it was with this text.
    pub fn of(&self, memory: &Memory) -> Memory {
        Memory {
            revision: self.revision,
            body: self.body.clone(),
            taint: taint::of(&self.title, &self.content, self.origin),
            agent: self.agent.clone(),
            session: self.session.clone(),
            updated_at: self.at,
            last_seen_at: self.at,
            valid: self.valid,
            deleted_at: None,
            ..memory.clone()
        }
    }
}

impl From<Memory> for Revision {
    fn from(memory: Memory) -> Self {
        Self {
            memory: memory.id,
            revision: memory.revision,
            body: memory.body,
            agent: memory.agent,
            session: memory.session,
            at: memory.updated_at,
            valid: memory.valid,
            origin: memory.taint.origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_normalised_and_bounded() {
        for (text, want) in [
            ("Bug Fix", "bug-fix"),
            (" decision ", "decision"),
            ("a//b", "a-b"),
            ("session_summary", "session_summary"),
        ] {
            assert_eq!(Kind::parse(text).unwrap().as_str(), want);
        }
        assert!(Kind::parse(&"a".repeat(40)).is_some());
        assert!(Kind::parse(&"a".repeat(41)).is_none());
        assert!(Kind::parse("///").is_none());
    }

    #[test]
    fn scopes_are_two() {
        assert_eq!(ScopeName::parse(" Personal"), Ok(ScopeName::Personal));
        assert_eq!(ScopeName::parse("global"), Err(ScopeError));
    }

    #[test]
    fn a_scope_has_its_project_or_is_personal() {
        let (demo, other) = (Project::parse("demo").unwrap(), Project::general());
        for (name, want, project, project_name) in [
            (ScopeName::Project, Scope::Project(demo.clone()), Some(&demo), "demo"),
            (ScopeName::Personal, Scope::Personal, None, ""),
        ] {
            let scope = name.of(demo.clone());
            assert_eq!((&scope, scope.name()), (&want, name));
            assert_eq!((scope.project(), scope.project_name()), (project, project_name));
            assert_eq!((scope.is_of(&demo), scope.is_personal()), (project.is_some(), project.is_none()));
            assert!(!scope.is_of(&other));
        }
        assert_eq!(
            ScopeName::Personal.of(demo),
            ScopeName::Personal.of(other),
            "it has no project to differ in"
        );
    }
}
