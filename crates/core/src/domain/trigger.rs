//! Where a prospective memory is shown: in a folder, or on a branch.

use std::fmt;

use super::limits::TRIGGER_CHARS_MAX;
use crate::redact::RedactedText;

/// The condition of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    /// The current folder.
    Path,
    /// The branch that is checked out there.
    Branch,
}

impl On {
    const ALL: [Self; 2] = [Self::Path, Self::Branch];

    fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Branch => "branch",
        }
    }
}

/// Where a prospective memory is shown. `path:src/store` means that folder and everything below it,
/// `branch:release/2` that branch; a `*` at the end matches any continuation. A path is relative to the root of the
/// checkout, or absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger(RedactedText);

/// A text that is not a trigger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a trigger is `path:FOLDER` or `branch:NAME`, of at most {} characters on one line and without `..`; a `*` may end it",
    TRIGGER_CHARS_MAX
)]
pub struct TriggerError;

/// The folder and branch in which somebody works.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workplace {
    /// The absolute path of the folder.
    pub folder: String,
    /// The path relative to the root of its checkout; empty in the root.
    pub below: String,
    /// The branch that is checked out, if one is.
    pub branch: Option<String>,
}

impl Trigger {
    /// Reads a trigger from a caller.
    pub fn parse(text: &RedactedText) -> Result<Self, TriggerError> {
        let line = text.one_line();
        let (on, name) = Self::parts(&line).ok_or(TriggerError)?;
        let name = match on {
            On::Path => name.strip_prefix("./").unwrap_or(name).trim_end_matches('/'),
            On::Branch => name,
        };
        let is_up = name.split('/').any(|part| part == "..");
        if name.is_empty() || name == "." || is_up || name.chars().count() > TRIGGER_CHARS_MAX {
            return Err(TriggerError);
        }
        Ok(Self(RedactedText::derived(format!("{}:{name}", on.as_str()))))
    }

    /// A trigger that the store holds.
    pub fn stored(text: RedactedText) -> Self {
        Self(text)
    }

    fn parts(text: &str) -> Option<(On, &str)> {
        let (on, name) = text.split_once(':')?;
        let on = On::ALL.into_iter().find(|known| known.as_str() == on.trim())?;
        Some((on, name.trim()))
    }

    /// Its stored and published form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a workplace meets it.
    pub fn is_met(&self, workplace: &Workplace) -> bool {
        let Some((on, name)) = Self::parts(&self.0) else { return false };
        let begins = |text: &str| name.strip_suffix('*').is_some_and(|stem| text.starts_with(stem));
        match on {
            On::Branch => workplace.branch.as_deref().is_some_and(|branch| branch == name || begins(branch)),
            On::Path => {
                let here = if name.starts_with('/') { &workplace.folder } else { &workplace.below };
                begins(here)
                    || here.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::redact_text;

    fn trigger(text: &str) -> Result<Trigger, TriggerError> {
        Trigger::parse(&redact_text(text).value)
    }

    #[test]
    fn triggers_are_normalised_and_bounded() {
        for (text, want) in [
            ("path:src/store", "path:src/store"),
            (" path: ./src/store/ ", "path:src/store"),
            ("branch:release/2", "branch:release/2"),
            ("branch:release/*", "branch:release/*"),
            ("path:/srv/app/", "path:/srv/app"),
        ] {
            assert_eq!(trigger(text).unwrap().as_str(), want);
        }
        let longest = format!("branch:{}", "é".repeat(TRIGGER_CHARS_MAX));
        assert!(trigger(&longest).is_ok());
        for text in [
            "",
            "src/store",
            "path:",
            "path:/",
            "path:.",
            "branch: ",
            "file:a",
            "path:../b",
            &format!("{longest}é"),
        ] {
            assert_eq!(trigger(text), Err(TriggerError), "{text}");
        }
    }

    #[test]
    fn a_trigger_is_met_in_its_folder_and_below_or_on_its_branch() {
        let workplace = |below: &str, branch: Option<&str>| Workplace {
            folder: format!("/srv/app/{below}").trim_end_matches('/').to_owned(),
            below: below.to_owned(),
            branch: branch.map(str::to_owned),
        };
        for (text, at, want) in [
            ("path:src/store", workplace("src/store", None), true),
            ("path:src/store", workplace("src/store/edge", None), true),
            ("path:src/store", workplace("src/stores", None), false),
            ("path:src/store*", workplace("src/stores", None), true),
            ("path:src/store", workplace("src", None), false),
            ("path:src/store", workplace("", None), false),
            ("path:/srv/app", workplace("", None), true),
            ("path:/srv/app", workplace("src", None), true),
            ("path:/srv/ap", workplace("src", None), false),
            ("branch:main", workplace("", Some("main")), true),
            ("branch:main", workplace("", Some("maintenance")), false),
            ("branch:release/*", workplace("", Some("release/2")), true),
            ("branch:release/*", workplace("", None), false),
        ] {
            assert_eq!(trigger(text).unwrap().is_met(&at), want, "{text} in {at:?}");
        }
    }
}
