//! `[history]` in the settings: whether past sessions are imported, and which.

use std::{path::Path, time::Duration};

use serde::{Deserialize, Deserializer};

use super::folders::{agent_named, agents};
use cerebro_core::domain::Project;
use cerebro_core::text;
use cerebro_transcript::Agent;

/// The greatest age of a session that is imported without being asked for.
const SINCE: Duration = Duration::from_secs(180 * 24 * 60 * 60);
/// Most entries of `include`, and of `exclude`.
const ENTRIES_MAX: usize = 1_000;

/// `[history]`: whether past sessions are imported, and which.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistorySettings {
    /// `enabled = false`: whether they are at all. `cerebro history import` asks and sets it.
    pub enabled: bool,
    /// `agents = []`: whose, by name; all that are found when it is empty.
    #[serde(deserialize_with = "known_agents")]
    pub agents: Vec<String>,
    /// `since = "180d"`: older ones are taken in only where `import --since` asks for them; `"0"` is no bound.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub since: Duration,
    /// `include = []`: projects and absolute paths of folders; where there are any, no others are taken in.
    #[serde(deserialize_with = "bounded")]
    pub include: Vec<String>,
    /// `memory_files = false`: whether files that agents load at their start, such as `CLAUDE.md`, are documents for the
    /// other agents. `cerebro history import --memory-files` asks and sets it.
    pub memory_files: bool,
    /// `exclude = []`: projects and absolute paths of folders whose sessions are left alone.
    #[serde(deserialize_with = "bounded")]
    pub exclude: Vec<String>,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self {
            enabled: false,
            agents: Vec::new(),
            since: SINCE,
            include: Vec::new(),
            memory_files: false,
            exclude: Vec::new(),
        }
    }
}

fn known_agents<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    match names.iter().find(|name| agent_named(name).is_none()) {
        Some(unknown) => {
            Err(serde::de::Error::custom(format!("`{unknown}` is no agent whose sessions are read")))
        }
        None => Ok(names),
    }
}

fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(deserializer)?;
    if entries.len() > ENTRIES_MAX {
        return Err(serde::de::Error::custom(format!("at most {ENTRIES_MAX} entries")));
    }
    // It names nothing: in `include`, nothing would be taken in.
    if entries.iter().any(|entry| entry.trim().is_empty()) {
        return Err(serde::de::Error::custom(
            "an entry is empty (`\"\"`): it names no project and no folder",
        ));
    }
    Ok(entries)
}

impl HistorySettings {
    /// The agents whose sessions are wanted.
    pub fn wanted(&self) -> Vec<Agent> {
        if self.agents.is_empty() {
            return agents().collect();
        }
        self.agents.iter().filter_map(|name| agent_named(name)).collect()
    }

    /// Whether sessions of a project, of a folder, or in a file are wanted.
    pub fn wants(&self, project: &Project, folder: Option<&str>, file: &Path) -> bool {
        let is_included =
            self.include.is_empty() || self.include.iter().any(|entry| names(entry, project, folder, file));
        is_included && !self.excludes(project, folder, file)
    }

    /// Whether a project, the folder of a session, or its file is excluded.
    pub fn excludes(&self, project: &Project, folder: Option<&str>, file: &Path) -> bool {
        self.exclude.iter().any(|entry| names(entry, project, folder, file))
    }

    /// Whether the project or the folder decides if a session is wanted.
    pub fn is_choosy(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }
}

/// Whether an entry of `include` or `exclude` names this.
fn names(entry: &str, project: &Project, folder: Option<&str>, file: &Path) -> bool {
    if entry.starts_with('/') {
        let root = Path::new(entry);
        folder.is_some_and(|folder| Path::new(folder).starts_with(root)) || file.starts_with(root)
    } else {
        Project::parse(entry).as_ref() == Some(project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_and_folders_are_left_alone() {
        let settings =
            HistorySettings { exclude: vec!["Acme/Pay".into(), "/w/secret".into()], ..Default::default() };
        let excludes = |project: &str, folder, file: &str| {
            settings.excludes(&Project::parse(project).unwrap(), folder, Path::new(file))
        };
        assert!(excludes("acme/pay", None, "/x"));
        assert!(excludes("p", Some("/w/secret/deep"), "/x"));
        assert!(excludes("p", None, "/w/secret/s.jsonl"));
        assert!(!excludes("p", Some("/w/secrets"), "/x"));
    }

    #[test]
    fn where_something_is_included_nothing_else_is_wanted() {
        let settings = HistorySettings {
            include: vec!["acme/pay".into(), "/w/open".into()],
            exclude: vec!["/w/open/shut".into()],
            ..Default::default()
        };
        let wants = |project: &str, folder| {
            settings.wants(&Project::parse(project).unwrap(), folder, Path::new("/x"))
        };
        assert!(wants("Acme/Pay", None) && wants("p", Some("/w/open/deep")));
        assert!(!wants("p", None) && !wants("p", Some("/w/other")) && !wants("p", Some("/w/open/shut/x")));
        let all = HistorySettings::default();
        assert!(all.wants(&Project::general(), None, Path::new("/x")) && !all.is_choosy());
    }
}
