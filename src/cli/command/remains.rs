//! Files of a home, besides its database, that may still contain the text of purged memories.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{CommandContext, trial};
use crate::config::Config;
use crate::edits;
use crate::home::Home;
use cerebro_service::backup;

/// The files that could be examined.
#[derive(Debug, Default)]
pub struct Remains {
    /// Texts of edits that were not saved.
    pub edits: Vec<PathBuf>,
    /// Databases that a restore has put aside.
    pub replaced: Vec<PathBuf>,
    /// Homes of trials: each is a copy of the memory as it was when the trial was made.
    pub trials: Vec<PathBuf>,
    /// Backups of this home in the configured folder.
    pub backups: Vec<PathBuf>,
    /// Why it is not known which backups there are.
    pub unread: Option<String>,
}

impl Remains {
    /// Those that a home has now.
    pub fn of(home: &Home) -> Self {
        let edits = edits::all(home.root()).unwrap_or_default().into_iter().map(|edit| edit.path);
        let entries = fs::read_dir(home.root()).into_iter().flatten().flatten();
        let is_replaced = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(backup::REPLACED))
        };
        let kept = Config::read(&home.config_file()).map_err(|error| error.to_string()).and_then(|config| {
            let dir = config.settings().backup.dir_in(home.root());
            backup::kept(&dir, home.root()).map_err(|error| error.to_string())
        });
        let (kept, unread) = kept.map_or_else(|why| (Vec::new(), Some(why)), |kept| (kept, None));
        Self {
            edits: edits.collect(),
            replaced: entries.map(|entry| entry.path()).filter(is_replaced).collect(),
            trials: trial::folders(home),
            backups: kept.into_iter().map(|kept| kept.path).collect(),
            unread,
        }
    }

    /// All of them, for scripts.
    pub fn json(&self) -> Value {
        let shown = |paths: &[PathBuf]| {
            json!(paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
        };
        json!({
            "edits": shown(&self.edits), "replaced": shown(&self.replaced), "trials": shown(&self.trials),
            "backups": shown(&self.backups), "unread": self.unread,
        })
    }

    /// Names them beside the result.
    pub fn print(&self, context: &CommandContext) {
        for path in &self.edits {
            context.output.note(&format!("{} holds the text of an edit that was not saved", path.display()));
        }
        for path in &self.replaced {
            context.output.note(&format!("{} holds what was here before a restore", path.display()));
        }
        for path in &self.trials {
            let drop = format!("`cerebro whatif drop {}` removes it", trial::name(path));
            context.output.note(&format!("{} holds a copy of the memory, a trial; {drop}", path.display()));
        }
        if let Some(newest) = self.backups.first() {
            let count = self.backups.len();
            let dir = newest.parent().unwrap_or(newest).display();
            context.output.note(&format!("backups made before still hold destroyed text: {count} in {dir}"));
        }
        if let Some(why) = &self.unread {
            context.output.warn(&format!("whether backups still hold destroyed text is not known: {why}"));
        }
    }
}
