//! Project names.

use std::fmt;

use super::limits::PROJECT_CHARS_MAX;

/// A normalised project name: lowercase, trimmed, runs of blanks as `-`. None is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Project(String);

impl Project {
    /// Names that no project gets, neither by a rename nor by a write into a new project.
    pub const RESERVED: [&str; 2] = ["personal", "sessions"];
    /// Why, and what to do.
    pub const RESERVED_WHY: &str = "no project gets this name, because lists and exports show personal memories as \
        `personal` and sessions as `sessions`; choose another name (a memory for every project has the scope `personal`)";

    /// The project of a folder that names none: `$HOME` or `/`.
    pub fn general() -> Self {
        Self("general".to_owned())
    }

    /// Normalises a name; `None` when nothing is left or it exceeds 200 characters.
    pub fn parse(text: &str) -> Option<Self> {
        let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let name = visible.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
        ((1..=PROJECT_CHARS_MAX).contains(&name.chars().count())).then_some(Self(name))
    }

    /// The form in which a name is stored. A text that cannot be a name stays as it is, and is found nowhere.
    pub fn stored(text: &str) -> String {
        Self::parse(text).map_or_else(|| text.to_owned(), |project| project.0)
    }

    /// Whether the name is one of [`Self::RESERVED`].
    pub fn is_reserved(&self) -> bool {
        Self::RESERVED.contains(&self.as_str())
    }

    /// The project under a name that it may have, for one that is brought from elsewhere.
    #[must_use]
    pub fn renamed_if_reserved(self) -> Self {
        if self.is_reserved() { Self(format!("{}-project", self.0)) } else { self }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised() {
        assert_eq!(Project::parse("  My  Big\tProject ").unwrap().as_str(), "my-big-project");
        assert_eq!(Project::parse("Owner/Repo").unwrap().as_str(), "owner/repo");
        assert_eq!(
            (Project::stored(" My Repo"), Project::stored(" ")),
            ("my-repo".to_owned(), " ".to_owned())
        );
        assert_eq!(Project::parse(" \n "), None);
        let is_reserved = |name: &str| Project::parse(name).unwrap().is_reserved();
        assert!(is_reserved(" Personal") && is_reserved("sessions") && !is_reserved("me/personal"));
        let brought = |name: &str| Project::parse(name).unwrap().renamed_if_reserved();
        assert_eq!((brought("Personal").as_str(), brought("mine").as_str()), ("personal-project", "mine"));
        assert!(Project::parse(&"p".repeat(200)).is_some());
        assert_eq!(Project::parse(&"p".repeat(201)), None);
    }
}
