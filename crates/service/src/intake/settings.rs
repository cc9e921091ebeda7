//! `[history]` in the settings: whether past sessions are imported, and which.

use std::{collections::BTreeSet, path::Path, time::Duration};

use serde::{Deserialize, Deserializer};

use super::{
    choice::Choice,
    folders::{agent_named, agents},
};
use crate::agent_slug;
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
    /// `enabled = false`: whether past sessions are imported. `cerebro history import` asks and sets it.
    pub enabled: bool,
    /// `agents = []`: the agents whose sessions are imported, by name; when empty, all that are found. `include` chooses among
    /// these.
    #[serde(deserialize_with = "known_agents")]
    pub agents: Vec<String>,
    /// `since = "180d"`: older sessions are imported only if `import --since` asks for them; `"0"` is no bound.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub since: Duration,
    /// `include = []`: projects and absolute paths of folders, or what one agent has there. If there are any, no other sessions
    /// are imported.
    #[serde(deserialize_with = "chosen")]
    pub include: Vec<Choice>,
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

fn chosen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Choice>, D::Error> {
    let entries = Vec::<Choice>::deserialize(deserializer)?;
    // An empty entry names nothing, so nothing would be imported.
    check_entries(entries.len(), entries.iter().filter_map(|entry| entry.within.as_deref()))?;
    Ok(entries)
}

fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let entries = Vec::<String>::deserialize(deserializer)?;
    check_entries(entries.len(), entries.iter().map(String::as_str))?;
    Ok(entries)
}

/// Checks that a list has at most [`ENTRIES_MAX`] entries and no empty one.
fn check_entries<'a, E: serde::de::Error>(
    count: usize,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), E> {
    if count > ENTRIES_MAX {
        return Err(E::custom(format!("at most {ENTRIES_MAX} entries")));
    }
    if names.into_iter().any(|name| name.trim().is_empty()) {
        return Err(E::custom("an entry is empty (`\"\"`): it names no project and no folder"));
    }
    Ok(())
}

impl HistorySettings {
    /// The agents of which some sessions are wanted.
    pub fn wanted(&self) -> Vec<Agent> {
        agents().filter(|agent| self.admits(*agent, |_| true)).collect()
    }

    /// Whether sessions of an agent, in a project, a folder or a file, are wanted.
    pub fn wants(&self, agent: Agent, project: &Project, folder: Option<&str>, file: &Path) -> bool {
        self.admits(agent, |name| names(name, project, folder, file)) && !self.excludes(project, folder, file)
    }

    /// Whether some choice admits sessions of an agent at a place. `is_there` says whether the place is in a named project
    /// or folder.
    fn admits(&self, agent: Agent, is_there: impl Fn(&str) -> bool) -> bool {
        let slug = agent_slug(agent);
        let is_chosen = self.agents.is_empty() || self.agents.iter().any(|name| name == slug);
        let admits = |choice: &Choice| {
            choice.agent.as_deref().is_none_or(|name| name == slug)
                && choice.within.as_deref().is_none_or(&is_there)
        };
        is_chosen && (self.include.is_empty() || self.include.iter().any(admits))
    }

    /// Whether a project, the folder of a session, or its file is excluded.
    pub fn excludes(&self, project: &Project, folder: Option<&str>, file: &Path) -> bool {
        self.exclude.iter().any(|entry| names(entry, project, folder, file))
    }

    /// Whether the project or the folder decides if a session is wanted.
    pub fn is_choosy(&self) -> bool {
        self.include.iter().any(|choice| choice.within.is_some()) || !self.exclude.is_empty()
    }

    /// What is wanted, as single choices: each of `include` with each of `agents`; without both, one choice of all.
    pub fn choices(&self) -> Vec<Choice> {
        let all = [Choice::default()];
        let places = if self.include.is_empty() { &all[..] } else { self.include.as_slice() };
        let is_chosen = |name: &String| self.agents.is_empty() || self.agents.contains(name);
        let mut choices = Vec::new();
        for place in places {
            if place.agent.is_some() || self.agents.is_empty() {
                choices.extend(place.agent.as_ref().is_none_or(is_chosen).then(|| place.clone()));
            } else {
                let of = |agent: &String| Choice { agent: Some(agent.clone()), ..place.clone() };
                choices.extend(self.agents.iter().map(of));
            }
        }
        choices
    }

    /// These settings after a person chose agents, a project, or agents in a project. The first choice narrows the settings
    /// to itself; each later one is added, and so is one beside what was included while history was off. Without agents and
    /// a project, the settings stay as they are.
    #[must_use]
    pub fn choosing(&self, agents: &[String], project: Option<&str>) -> Self {
        let mut chosen = self.clone();
        if !self.enabled && self.agents.is_empty() && self.include.is_empty() {
            chosen.agents = agents.to_vec();
            chosen.include = project.map(|name| Choice::of(None, Some(name))).into_iter().collect();
            return chosen;
        }
        let asked: Vec<Choice> = match agents {
            [] if project.is_none() => return chosen,
            [] => vec![Choice::of(None, project)],
            agents => agents.iter().map(|agent| Choice::of(Some(agent), project)).collect(),
        };
        let before = self.choices();
        let mut choices = before.clone();
        for choice in asked {
            if !choices.iter().any(|other| other.covers(&choice)) {
                choices.retain(|other| !choice.covers(other));
                choices.push(choice);
            }
        }
        if choices != before {
            (chosen.agents, chosen.include) = as_lists(choices);
        }
        chosen
    }
}

/// Choices as `agents` and `include`: two plain lists if each agent is chosen with each place.
fn as_lists(choices: Vec<Choice>) -> (Vec<String>, Vec<Choice>) {
    let agents: BTreeSet<Option<String>> = choices.iter().map(|choice| choice.agent.clone()).collect();
    let places: BTreeSet<Option<String>> = choices.iter().map(|choice| choice.within.clone()).collect();
    let is_one_kind = |all: &BTreeSet<Option<String>>| all.len() == 1 || !all.contains(&None);
    let is_each_with_each = choices.len() == agents.len() * places.len();
    if is_each_with_each && is_one_kind(&agents) && is_one_kind(&places) {
        let places = places.into_iter().flatten();
        let include = places.map(|name| Choice { agent: None, within: Some(name) }).collect();
        (agents.into_iter().flatten().collect(), include)
    } else {
        (Vec::new(), choices)
    }
}

/// Whether an entry of `include` or `exclude` names a project, the folder of a session, or its file.
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
            include: ["acme/pay", "/w/open"].map(|name| Choice::of(None, Some(name))).to_vec(),
            exclude: vec!["/w/open/shut".into()],
            ..Default::default()
        };
        let wants = |project: &str, folder| {
            settings.wants(Agent::Codex, &Project::parse(project).unwrap(), folder, Path::new("/x"))
        };
        assert!(wants("Acme/Pay", None) && wants("p", Some("/w/open/deep")));
        assert!(!wants("p", None) && !wants("p", Some("/w/other")) && !wants("p", Some("/w/open/shut/x")));
        let all = HistorySettings::default();
        assert!(all.wants(Agent::Codex, &Project::general(), None, Path::new("/x")) && !all.is_choosy());
    }

    /// Which of two agents and two projects are wanted.
    fn wanted_of(settings: &HistorySettings) -> Vec<(&'static str, &'static str)> {
        let mut wanted = Vec::new();
        for agent in [Agent::ClaudeCode, Agent::Codex] {
            for project in ["acme/app", "acme/two"] {
                if settings.wants(agent, &Project::parse(project).unwrap(), None, Path::new("/x")) {
                    wanted.push((agent_slug(agent), project));
                }
            }
        }
        wanted
    }

    /// The settings after some choices of persons.
    fn after(choices: &[(&[&str], Option<&str>)]) -> HistorySettings {
        choices.iter().fold(HistorySettings::default(), |settings, (agents, project)| {
            let agents: Vec<String> = agents.iter().map(|agent| (*agent).to_owned()).collect();
            HistorySettings { enabled: true, ..settings.choosing(&agents, *project) }
        })
    }

    #[test]
    fn each_choice_is_kept_as_it_was_made() {
        const CLAUDE: &str = "claude-code";
        const CODEX: &str = "codex";
        let (app, two) = (Some("acme/app"), Some("acme/two"));
        let later = after(&[(&[CODEX], None), (&[CLAUDE], two)]);
        assert_eq!(wanted_of(&later), [(CLAUDE, "acme/two"), (CODEX, "acme/app"), (CODEX, "acme/two")]);
        assert_eq!(later.include, [Choice::of(Some(CODEX), None), Choice::of(Some(CLAUDE), two)]);
        let pairs = after(&[(&[CLAUDE], two), (&[CODEX], app)]);
        assert_eq!(wanted_of(&pairs), [(CLAUDE, "acme/two"), (CODEX, "acme/app")]);
        let wider = after(&[(&[], two), (&[CODEX], None)]);
        assert_eq!(wanted_of(&wider), [(CLAUDE, "acme/two"), (CODEX, "acme/app"), (CODEX, "acme/two")]);
        // What is chosen already changes nothing, and a wider choice replaces a narrower one.
        assert_eq!(later.choosing(&[CODEX.into()], app), later);
        assert_eq!(later.choosing(&[], None), later);
        let all = after(&[(&[CLAUDE], two), (&[CLAUDE, CODEX], None)]);
        assert_eq!((all.agents.len(), all.include.len()), (2, 0), "{all:?}");
        let everything = after(&[(&[], None), (&[CODEX], two)]);
        assert_eq!((everything.agents.len(), everything.include.len()), (0, 0), "{everything:?}");
    }

    #[test]
    fn the_first_import_keeps_what_was_included_before() {
        let before = ["/srv/other", "acme/app"].map(|name| Choice::of(None, Some(name))).to_vec();
        let off = HistorySettings { include: before.clone(), ..Default::default() };
        assert_eq!(off.choosing(&[], None), off);
        assert_eq!(off.choosing(&[], Some("acme/app")), off);
        let two = Choice::of(None, Some("acme/two"));
        assert_eq!(off.choosing(&[], Some("acme/two")).include, [&before[..], &[two]].concat());
    }

    #[test]
    fn agents_limit_what_is_included() {
        let include = vec![Choice::of(None, Some("acme/app")), Choice::of(Some("codex"), Some("acme/two"))];
        let settings = HistorySettings { agents: vec!["claude-code".into()], include, ..Default::default() };
        assert_eq!(wanted_of(&settings), [("claude-code", "acme/app")]);
        assert_eq!(settings.choices(), [Choice::of(Some("claude-code"), Some("acme/app"))]);
        assert_eq!(settings.wanted(), [Agent::ClaudeCode]);
    }
}
