//! Requests to the intake's task, and its progress.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::Intake;
use super::{
    folders::{Form, TranscriptFolder},
    journal_only::JournalPosition,
    settings::HistorySettings,
    walk::{Found, Stat, file_of, key_of},
};
use crate::{ServiceError, agent_slug, lock};
use cerebro_core::domain::{Project, SessionId, Timestamp};
use cerebro_core::redact::redact_secrets;
use cerebro_transcript::{Agent, Counts};

/// Most files that hooks have named and that wait. Beyond that, everything is scanned.
const NAMED_MAX: usize = 256;
/// How long a file waits after a hook named it, because a turn's last records are written just after.
pub(super) const DEBOUNCE: Duration = Duration::from_secs(1);
/// Most files that are read within each other: what hooks name is read between the pieces of a long file.
const READING_MAX: usize = 3;
/// Most sessions whose transcripts are remembered without being read.
const TRANSCRIPTS_MAX: usize = 256;
/// Most faults that are kept.
pub(super) const FAULTS_MAX: usize = 100;
/// Most names of unknown records that are kept.
const UNKNOWN_MAX: usize = 100;

/// Returns the project of a folder. It bounds its own time.
pub type ProjectOf = Arc<dyn Fn(PathBuf) -> Pin<Box<dyn Future<Output = Project> + Send>> + Send + Sync>;

/// What the intake needs to know from the program.
pub struct HistoryOptions {
    /// Reads the settings as they are now.
    pub settings: Arc<dyn Fn() -> HistorySettings + Send + Sync>,
    /// Where agents keep their sessions.
    pub places: Vec<TranscriptFolder>,
    /// Which project a folder belongs to.
    pub project_of: ProjectOf,
}

/// A person's request to import sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportRequest {
    /// Of these agents; those of the settings when empty.
    pub agents: Vec<Agent>,
    /// Of this project only.
    pub project: Option<Project>,
    /// Written in this time; the settings' own when `None`, and zero is no bound.
    pub since: Option<Duration>,
}

impl ImportRequest {
    /// The settings as this request leaves them: what it asks for is wanted too.
    pub(super) fn chosen_from(&self, settings: &HistorySettings) -> HistorySettings {
        let agents: Vec<String> = self.agents.iter().map(|agent| agent_slug(*agent).to_owned()).collect();
        settings.choosing(&agents, self.project.as_ref().map(Project::as_str))
    }
}

/// What was counted for one agent since the daemon began, as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentProgress {
    /// Places in which a secret was replaced.
    pub redacted: u64,
    /// Lines that are no records.
    pub malformed: u64,
    /// Lines that are too long.
    pub oversized: u64,
    /// Records of unknown types, by name.
    pub unknown: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Whether it reads now.
    pub running: bool,
    /// Files that are to be read.
    pub files: usize,
    /// Those that were read already.
    pub files_done: usize,
    /// The length of the files that are to be read.
    pub bytes: u64,
    /// How much of it was read already.
    pub bytes_done: u64,
    /// When it last scanned all folders.
    pub scanned_at: Option<Timestamp>,
    /// How long that scan took before anything was read.
    pub scan: Duration,
    /// How long reading took, when it last read anything.
    pub read: Duration,
    /// How many files of each agent are there. A scan counts those of the agents that it is about.
    pub seen: BTreeMap<&'static str, usize>,
    /// By agent.
    pub agents: BTreeMap<&'static str, AgentProgress>,
    /// What could not be read, and why; without secrets.
    pub faults: BTreeMap<String, String>,
}

impl Progress {
    /// Notes why something is not read.
    pub(super) fn failed(&mut self, path: &Path, why: &str) {
        let path = redact_secrets(&path.to_string_lossy());
        if self.faults.len() < FAULTS_MAX || self.faults.contains_key(&path) {
            self.faults.insert(path, redact_secrets(why));
        }
    }

    /// Notes that something could be read after all.
    pub(super) fn recovered(&mut self, path: &Path) {
        if !self.faults.is_empty() {
            self.faults.remove(&redact_secrets(&path.to_string_lossy()));
        }
    }

    pub(super) fn of(&mut self, agent: Agent) -> &mut AgentProgress {
        self.agents.entry(agent_slug(agent)).or_default()
    }
}

impl AgentProgress {
    /// Adds what was counted between two readings.
    pub(super) fn count(&mut self, before: &Counts, after: &Counts) {
        for (name, count) in &after.unknown {
            let more = count.saturating_sub(before.unknown.get(name).copied().unwrap_or_default());
            if more > 0 && (self.unknown.len() < UNKNOWN_MAX || self.unknown.contains_key(name)) {
                *self.unknown.entry(redact_secrets(name)).or_default() += more;
            }
        }
        self.malformed += after.malformed.saturating_sub(before.malformed);
        self.oversized += after.oversized.saturating_sub(before.oversized);
    }
}

/// The requests to the task.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Scan all folders.
    pub scan: bool,
    /// Imports that a person asked for.
    pub imports: Vec<ImportRequest>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        !self.scan && self.imports.is_empty()
    }

    /// Puts imports that are not done before those that somebody asked for meanwhile.
    pub(super) fn put_back(&mut self, mut imports: Vec<ImportRequest>) {
        self.imports.retain(|request| !imports.contains(request));
        imports.append(&mut self.imports);
        self.imports = imports;
    }
}

/// What was read, by file and by session.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The settings when this was read.
    pub chosen: HistorySettings,
    /// The files as they were when they were read last.
    pub stats: HashMap<PathBuf, Stat>,
    /// The files that the sessions were read from, with their sizes.
    pub holders: HashMap<(Agent, String), (PathBuf, u64)>,
    /// The sessions that are undecided (see [`super::forks`]).
    pub undecided: HashSet<(Agent, SessionId)>,
    /// Files that are not read until they change, with the words on each: one has more of a session than was imported, because
    /// another file of it is longer, or nothing in it is understood.
    pub apart: BTreeMap<PathBuf, String>,
}

impl Known {
    /// The source that a session was read from.
    pub fn holder(&self, agent: Agent, session: &str) -> Option<&Path> {
        self.holders.get(&(agent, session.to_owned())).map(|(path, _)| path.as_path())
    }

    /// The other source of a file's session, if that one counts. Of two recordings of a session, the longer one counts; also if
    /// its file is gone, unless this file is the same recording in another form.
    pub fn held_elsewhere(&self, found: &Found, session: &str) -> Option<PathBuf> {
        let (other, held) = self.holders.get(&(found.agent, session.to_owned()))?;
        let is_longer = other != &found.path && (*held, &found.path) >= (found.stat.size, other);
        let is_lasting = *held > found.stat.size && found.path.extension() == other.extension();
        (is_longer && (is_lasting || file_of(other).0.exists())).then(|| other.clone())
    }
}

/// The state that the task shares with callers.
#[derive(Default)]
pub(crate) struct IntakeState {
    /// Whether a journal of work is kept.
    has_journal: bool,
    pub(super) options: OnceLock<HistoryOptions>,
    pub(super) wake: Notify,
    pub(super) wanted: Mutex<Wanted>,
    /// Files that hooks named and that are to be read, and when they were named first.
    pub(super) named: Mutex<BTreeMap<PathBuf, Instant>>,
    pub(super) progress: Mutex<Progress>,
    /// What the progress counts of each source with unknown or malformed records, so that what is read twice counts once.
    pub(super) counted: Mutex<HashMap<String, Counts>>,
    /// What the store knows of the files; read from it when first needed.
    pub(super) known: Mutex<Option<Known>>,
    /// How far transcripts were read for the journal alone, if sessions are not imported.
    pub(super) journal_only: Mutex<HashMap<PathBuf, JournalPosition>>,
    /// Where hooks said that the transcripts of sessions are.
    transcripts: Mutex<HashMap<SessionId, PathBuf>>,
}

impl IntakeState {
    /// The state of a task that has not begun.
    pub(crate) fn new(has_journal: bool) -> Self {
        Self { has_journal, ..Self::default() }
    }

    /// Whether there is something to do.
    pub(super) fn is_asked(&self) -> bool {
        let is_wanted = !lock(&self.wanted).is_empty();
        is_wanted || !lock(&self.named).is_empty()
    }

    /// Whether files that hooks named wait, other than those that are being read.
    pub(super) fn has_named(&self, reading: &[PathBuf]) -> bool {
        lock(&self.named).keys().any(|path| !reading.contains(path))
    }

    /// Takes the files that hooks named [`DEBOUNCE`] ago or earlier, other than those that are being read.
    pub(super) fn take_named(&self, reading: &[PathBuf]) -> BTreeSet<PathBuf> {
        let is_due = |path: &PathBuf, named: &Instant| {
            reading.len() < READING_MAX && named.elapsed() >= DEBOUNCE && !reading.contains(path)
        };
        lock(&self.named).extract_if(.., |path, named| is_due(path, named)).map(|(path, _)| path).collect()
    }

    pub(super) fn settings(&self) -> Option<HistorySettings> {
        self.options.get().map(|options| (options.settings)())
    }

    /// Whether sessions are imported without being asked for.
    pub(crate) fn keeps_history(&self) -> bool {
        self.settings().is_some_and(|settings| settings.enabled)
    }

    /// Notes that an agent wrote to a transcript. What it is, and whether it is wanted, is checked later. If sessions
    /// are not imported, the file is read for the journal alone, if there is one.
    pub(crate) fn note_transcript(&self, path: Option<PathBuf>) {
        let keeps_history = self.keeps_history();
        if !keeps_history && !self.has_journal {
            return;
        }
        // One lock at a time.
        let is_named = path.is_some_and(|path| {
            let mut named = lock(&self.named);
            let has_room = named.len() < NAMED_MAX;
            if has_room {
                named.entry(path).or_insert_with(Instant::now);
            }
            has_room
        });
        if !is_named && keeps_history {
            lock(&self.wanted).scan = true;
        }
        self.wake.notify_one();
    }
}

impl Intake {
    /// Requests an import, and returns at once; [`Self::progress`] says how far it is.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] if too many requests wait.
    pub fn import(&self, request: ImportRequest) -> Result<(), ServiceError> {
        /// Most imports that wait: persons ask for them one by one.
        const WAITING_MAX: usize = 8;
        let mut wanted = lock(&self.state.wanted);
        if wanted.imports.len() >= WAITING_MAX {
            let problem = "others wait already; try again when they are done";
            return Err(ServiceError::invalid("agents", "", problem));
        }
        if !wanted.imports.contains(&request) {
            wanted.imports.push(request);
        }
        drop(wanted);
        self.state.wake.notify_one();
        Ok(())
    }

    /// Notes that an agent wrote to a transcript, known or not. What it is, and whether it is wanted, is checked later.
    pub fn note_transcript(&self, path: Option<PathBuf>) {
        self.state.note_transcript(path);
    }

    /// The key of an agent's session, if the agent keeps its sessions in a database. The name of an agent's MCP client begins with
    /// that of the agent.
    pub fn in_database(&self, agent: &str, session: &SessionId) -> Option<PathBuf> {
        let is_its_own = |place: &&TranscriptFolder| {
            place.form_of(&place.root) == Some(Form::Database) && agent.starts_with(agent_slug(place.agent))
        };
        let place = self.state.options.get()?.places.iter().find(is_its_own)?;
        Some(key_of(&place.root, session.as_str()).into())
    }

    /// Remembers where a session's transcript is, so that it can be read if its agent goes away. Nothing is read now.
    pub fn remember_transcript(&self, session: &SessionId, path: PathBuf) {
        let mut transcripts = lock(&self.state.transcripts);
        if transcripts.len() >= TRANSCRIPTS_MAX && !transcripts.contains_key(session) {
            transcripts.clear();
        }
        transcripts.insert(session.clone(), path);
    }

    /// Has the transcript of a session read once more, if it is known: its agent went away, and no hook reported its last
    /// records.
    pub fn reread_transcript(&self, session: &SessionId) {
        let path = {
            let known = lock(&self.state.known);
            let holders = known.iter().flat_map(|known| &known.holders);
            let mut own = holders.filter(|((_, id), _)| id == session.as_str());
            own.next().map(|(_, (path, _))| path.clone())
        };
        let path = path.or_else(|| {
            let positions = lock(&self.state.journal_only);
            let mut own = positions.iter().filter(|(_, position)| position.session == session.as_str());
            own.next().map(|(path, _)| path.clone())
        });
        // After a restart, none of these knows it.
        let path = path.or_else(|| lock(&self.state.transcripts).get(session).cloned());
        if path.is_some() {
            self.note_transcript(path);
        }
    }

    /// How far the import is.
    pub fn progress(&self) -> Progress {
        let progress = lock(&self.state.progress).clone();
        let waits = self.state.is_asked() && self.is_taken_in();
        Progress { running: progress.running || waits, ..progress }
    }

    /// Whether requests lead to stored sessions. Otherwise, files that hooks name are read for the journal alone.
    pub(super) fn is_taken_in(&self) -> bool {
        self.is_kept() || !lock(&self.state.wanted).imports.is_empty()
    }

    /// Which sessions the settings choose, in words.
    pub fn choices(&self) -> Vec<String> {
        let settings = self.state.settings().unwrap_or_default();
        settings.choices().iter().map(ToString::to_string).collect()
    }

    /// The projects and folders that the settings exclude.
    pub fn excluded(&self) -> Vec<String> {
        self.state.settings().unwrap_or_default().exclude
    }

    /// Whether sessions are imported without being asked for.
    pub fn is_kept(&self) -> bool {
        self.state.keeps_history()
    }

    /// The places that a request is about, and the time before which a file is too old, in microseconds.
    pub(super) fn asked_for(&self, request: &ImportRequest) -> Option<(Vec<TranscriptFolder>, i64)> {
        let options = self.state.options.get()?;
        let settings = request.chosen_from(&(options.settings)());
        let agents = if request.agents.is_empty() { settings.wanted() } else { request.agents.clone() };
        let places = options.places.iter().filter(|place| agents.contains(&place.agent)).cloned().collect();
        let since = request.since.unwrap_or(settings.since);
        let oldest = if since.is_zero() {
            i64::MIN
        } else {
            let now = self.base.now().as_microsecond();
            now.saturating_sub(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
        };
        Some((places, oldest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_recordings_the_longer_one_is_kept_in_either_order() {
        let temp = tempfile::tempdir().unwrap();
        let [short, long] = ["short", "long"].map(|name| temp.path().join(name));
        for path in [&short, &long] {
            std::fs::write(path, "").unwrap();
        }
        let held_by = |path: &PathBuf, size| Known {
            holders: [((Agent::ClaudeCode, "s".to_owned()), (path.clone(), size))].into(),
            ..Known::default()
        };
        let is_held = |known: &Known, path: &Path, size| {
            let (agent, form, session) = (Agent::ClaudeCode, Form::Lines, String::new());
            let stat = Stat { size, ..Stat::default() };
            known
                .held_elsewhere(&Found { agent, form, path: path.to_path_buf(), session, stat }, "s")
                .is_some()
        };
        assert!(!is_held(&Known::default(), &short, 1));
        assert!(!is_held(&held_by(&short, 1), &long, 2) && !is_held(&held_by(&short, 1), &short, 1));
        assert!(is_held(&held_by(&long, 2), &short, 1));
        std::fs::remove_file(&long).unwrap();
        assert!(is_held(&held_by(&long, 2), &short, 1), "what was read of it stays");
        assert!(!is_held(&held_by(&long, 2), &short, 2), "it was renamed");
        assert!(!is_held(&held_by(&long, 2), &short.with_extension("zst"), 1), "it was compressed");
    }
}
