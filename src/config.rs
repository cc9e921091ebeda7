//! The user's settings, in `config.toml` of the home.

pub mod edit;
mod opener;
mod remote;

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

pub use remote::{RemoteConfig, database_of_option};
use serde::Deserialize;

use crate::home::user_home;
use crate::platform::if_there;
use cerebro_core::operation::Group;
use cerebro_core::redact::Redaction;
use cerebro_core::text;
use cerebro_models::embed;
use cerebro_models::llm;
use cerebro_service::{BackupPlan, Consolidate, DistilSettings, HistorySettings, Retention, Settings};

/// The whole configuration. Every key has a default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `dedup_window = "15m"`: how long an identical save or prompt counts as a repetition.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub dedup_window: Duration,
    /// `agent_hard_delete = false`: whether agents may destroy a memory for good.
    pub agent_hard_delete: bool,
    /// `idle_exit = "30m"`: how long the daemon runs without a call before it ends; `"0"` means for ever.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub idle_exit: Duration,
    /// `revisions_keep = 0`: how many earlier revisions of a memory are kept; 0 keeps all.
    pub revisions_keep: u32,
    /// `consolidate = "plan"`: plans a consolidation every night; `"apply"` also carries it out; `"off"` does
    /// neither.
    pub consolidate: Consolidate,
    /// `[backup]`: scheduled backups.
    pub backup: BackupConfig,
    /// `[work]`: the journal of agents' work.
    pub work: WorkConfig,
    /// `[documents]`: whether agents get the document tools.
    pub documents: ToolsConfig,
    /// `[feedback]`: whether agents get the tool that reports whether a memory was useful.
    pub feedback: ToolsConfig,
    /// `[remote]`: a database on a server, instead of the one in the home.
    pub remote: RemoteConfig,
    /// `[history]`: whether past sessions are imported, and which.
    pub history: HistorySettings,
    /// `[distil]`: whether past sessions are distilled, and by which chat model.
    pub distil: DistilSettings,
    /// `[embeddings]`: which model turns text into vectors.
    pub embeddings: embed::Settings,
    /// `[redaction]`: which kinds of secrets are detected.
    pub redaction: Redaction,
    /// `[relations]`: which chat model says how memories are related.
    pub relations: llm::Settings,
}

/// `[backup]`: when the daemon makes scheduled backups.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupConfig {
    /// `every = "6h"`: how often; `"0"`, the default, means never.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub every: Duration,
    /// `keep = 7`: how many are kept; 0 keeps all.
    pub keep: usize,
    /// `dir = "backups"`: their folder, relative to the home; `~/` means the user's home folder.
    pub dir: PathBuf,
}

impl Default for BackupConfig {
    fn default() -> Self {
        let BackupPlan { every, keep, dir } = BackupPlan::default();
        Self { every: every.unwrap_or_default(), keep: keep.map_or(0, NonZeroUsize::get), dir }
    }
}

impl BackupConfig {
    fn plan(&self) -> BackupPlan {
        let below_user = self.dir.strip_prefix("~").ok().zip(user_home());
        let dir = below_user.map_or_else(|| self.dir.clone(), |(rest, user)| user.join(rest));
        BackupPlan { every: unless_zero(self.every), keep: NonZeroUsize::new(self.keep), dir }
    }
}

/// A setting in which `"0"` means never, or for ever.
pub fn unless_zero(time: Duration) -> Option<Duration> {
    Some(time).filter(|time| !time.is_zero())
}

/// `[work]`: what the journal records of agents' work, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkConfig {
    /// `enabled = true`: whether a journal is written.
    pub enabled: bool,
    /// `tools = false`: whether agents get the tools for steps, gates and effects.
    pub tools: bool,
    /// `keep_texts = "90d"`: how long the texts of closed work are kept.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub keep_texts: Duration,
    /// `keep = "365d"`: how long closed work is kept.
    #[serde(deserialize_with = "text::setting_of_duration")]
    pub keep: Duration,
}

/// `[documents]` and `[feedback]`: whether agents get a group of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsConfig {
    /// `tools = false`: whether agents get the group's tools.
    pub tools: bool,
}

impl Default for WorkConfig {
    fn default() -> Self {
        let Retention { texts, works } = Retention::default();
        Self { enabled: true, tools: false, keep_texts: texts, keep: works }
    }
}

impl WorkConfig {
    fn retention(&self) -> Option<Retention> {
        self.enabled.then_some(Retention { texts: self.keep_texts, works: self.keep })
    }
}

impl Default for Config {
    fn default() -> Self {
        let settings = Settings::default();
        Self {
            dedup_window: settings.dedup_window,
            agent_hard_delete: settings.agent_hard_delete,
            idle_exit: Duration::from_secs(30 * 60),
            revisions_keep: settings.revisions_keep.map_or(0, NonZeroU32::get),
            consolidate: settings.consolidate,
            backup: BackupConfig::default(),
            work: WorkConfig::default(),
            documents: ToolsConfig::default(),
            feedback: ToolsConfig::default(),
            remote: RemoteConfig::default(),
            history: HistorySettings::default(),
            distil: DistilSettings::default(),
            embeddings: embed::Settings::default(),
            redaction: Redaction::default(),
            relations: llm::Settings::default(),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Unwritable { path: PathBuf, source: std::io::Error },
    /// An option or an environment variable is invalid.
    #[error("{name} cannot be used: {reason}")]
    InvalidOption { name: &'static str, reason: String },
    /// The file is invalid.
    #[error("{} is not a valid configuration: {reason}", .path.display())]
    Invalid { path: PathBuf, reason: String },
}

/// The text of the file; empty if it is missing.
fn text_of(path: &Path) -> Result<String, ConfigError> {
    let read = if_there(std::fs::read_to_string(path)).map(Option::unwrap_or_default);
    read.map_err(|source| ConfigError::Unreadable { path: path.to_path_buf(), source })
}

impl Config {
    /// Reads the file. A missing file means all defaults.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        toml::from_str(&text_of(path)?)
            .map_err(|error| ConfigError::Invalid { path: path.to_path_buf(), reason: error.to_string() })
    }

    /// The environment variables that may contain a key or password: those that the file names, and the providers'
    /// conventional ones, because the user can choose another provider while the daemon runs.
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![
            &self.embeddings.api_key_env,
            &self.relations.api_key_env,
            &self.distil.model.api_key_env,
            &self.remote.password_env,
        ];
        for customary in llm::Dialect::ALL.into_iter().filter_map(llm::Dialect::key_variable) {
            names.push(customary);
        }
        names.retain(|name| !name.is_empty());
        names
    }

    /// The groups of tools that agents get.
    fn groups(&self) -> Vec<Group> {
        let is_on = |group: &Group| match group {
            Group::Work => self.work.enabled && self.work.tools,
            Group::Documents => self.documents.tools,
            Group::Feedback => self.feedback.tools,
        };
        Group::ALL.into_iter().filter(is_on).collect()
    }

    /// The settings of the use cases.
    pub fn settings(&self) -> Settings {
        Settings {
            dedup_window: self.dedup_window,
            agent_hard_delete: self.agent_hard_delete,
            revisions_keep: NonZeroU32::new(self.revisions_keep),
            backup: self.backup.plan(),
            consolidate: self.consolidate,
            journal: self.work.retention(),
            groups: self.groups(),
            remote: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_service::Choice;

    #[test]
    fn the_variables_of_keys_are_those_of_the_file_and_the_usual_ones() {
        let config: Config = toml::from_str(
            "[embeddings]\napi_key_env = \"A\"\n[relations]\napi_key_env = \"B\"\n[remote]\npassword_env = \"C\"\n\
             [distil.model]\napi_key_env = \"D\"",
        )
        .unwrap();
        let variables = config.variables();
        for name in ["A", "B", "C", "D", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            assert!(variables.contains(&name), "{name}: {variables:?}");
        }
        assert!(!Config::default().variables().contains(&""));
    }

    #[test]
    fn every_key_has_a_default_and_odd_ones_are_refused() {
        assert_eq!(toml::from_str::<Config>("").unwrap(), Config::default());
        let config: Config =
            toml::from_str("idle_exit = \"1s\"\nrevisions_keep = 5\nagent_hard_delete = true").unwrap();
        assert_eq!(config.idle_exit, Duration::from_secs(1));
        assert!(config.settings().agent_hard_delete && !Config::default().settings().agent_hard_delete);
        let config: Config = toml::from_str("[backup]\nevery = \"6h\"\ndir = \"/srv/b\"").unwrap();
        let plan = config.settings().backup;
        assert_eq!((plan.every, plan.keep), (Some(Duration::from_secs(6 * 3600)), NonZeroUsize::new(7)));
        assert_eq!(plan.dir_in(Path::new("/h")), Path::new("/srv/b"));
        assert_eq!(BackupPlan::default().dir_in(Path::new("/h")), Path::new("/h/backups"));
        let config: Config =
            toml::from_str("[embeddings]\nprovider = \"openai\"\nunload_after = \"1m\"\nthreads = 1")
                .unwrap();
        assert_eq!(config.embeddings.unload_after, Duration::from_secs(60));
        assert_eq!(config.embeddings.provider.as_str(), "openai");
        let config: Config = toml::from_str("[work]\nkeep_texts = \"7d\"").unwrap();
        assert_eq!(config.settings().journal.unwrap().texts, Duration::from_secs(7 * 24 * 3600));
        let config: Config = toml::from_str("[work]\nenabled = false").unwrap();
        assert_eq!(config.settings().journal, None);
        assert!(!Config::default().distil.enabled && Config::default().distil.model.provider.is_none());
        let config: Config = toml::from_str("[distil]\nenabled = true\nidle = \"1h\"").unwrap();
        assert_eq!(config.distil.budget().requests.map(std::num::NonZeroU64::get), Some(50));
        assert_eq!(Config::default().settings().groups, []);
        let config: Config = toml::from_str("[documents]\ntools = true\n[feedback]\ntools = true").unwrap();
        assert_eq!(config.settings().groups, [Group::Documents, Group::Feedback]);
        let config: Config = toml::from_str(
            "[history]\ninclude = [\"acme/pay\", { agent = \"codex\" }, { agent = \"codex\", in = \"/w\" }]",
        )
        .unwrap();
        let (codex, place) = (Some("codex"), Some("/w"));
        let choices = [Choice::of(None, Some("acme/pay")), Choice::of(codex, None), Choice::of(codex, place)];
        assert_eq!(config.history.include, choices);
        let config: Config = toml::from_str("[redaction]\ncontext = false").unwrap();
        assert!(!config.redaction.context && Config::default().redaction.context);
        let config: Config = toml::from_str("consolidate = \"apply\"").unwrap();
        assert_eq!(config.settings().consolidate, Consolidate::Apply);
        assert_eq!(Config::default().settings().consolidate, Consolidate::Plan);
        for bad in [
            "[work]\nenable = true",
            "[documents]\ntool = true",
            "[feedback]\nweight = 1",
            "[redaction]\ncontext = 1",
            "[redaction]\ncontent = true",
            "consolidate = \"nightly\"",
            "[history]\ninclude = [\"\"]",
            "[history]\ninclude = [{ in = \"acme/pay\" }]",
            "[history]\ninclude = [{ agent = \"nobody\" }]",
            "[history]\ninclude = [{ agent = \"codex\", inn = \"acme/pay\" }]",
            "[history]\ninclude = [{ agent = \"codex\", in = \"\" }]",
            "[history]\nexclude = [\"a/b\", \" \"]",
            "idle_exit = 5",
            "idle_exit = \"5\"",
            "idle_exit = \"-1s\"",
            "idel_exit = \"1s\"",
            "revisions_keep = -1",
            "[embeddings]\nprovider = \"nobody\"",
            "[embeddings]\nthread = 1",
            "[backup]\nevery = 6",
            "[backup]\nkeep = -1",
            "[backup]\nevry = \"6h\"",
            "[history]\nagents = [\"nobody\"]",
            "[history]\nsince = 180",
            "[distil]\nprovider = \"openai\"",
            "[distil.model]\nprovider = \"nobody\"",
        ] {
            assert!(toml::from_str::<Config>(bad).is_err(), "{bad}");
        }
    }
}
