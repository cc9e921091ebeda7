//! The walk over the agents' folders: it is bounded, follows no links, and returns the newest files first.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, Metadata},
    io::{ErrorKind, Read},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
};

use super::folders::{Form, TranscriptFolder};
use cerebro_transcript::{
    Agent, State,
    turn::{Parent, ParentKind},
};

/// Most files of one walk. Further ones are reported as a fault.
pub const FILES_MAX: usize = 250_000;
/// Most faults of one walk that are named.
const FAULTS_MAX: usize = 100;
/// How many bytes of a file's beginning are read to find which copies belong together.
const HEAD_BYTES: usize = 16 << 10;

/// A file's state, by which a change is noticed without reading the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stat {
    /// Its length in bytes.
    pub size: u64,
    /// When it was written last, in microseconds since 1970.
    pub mtime: i64,
    /// Which file it is on its disk.
    pub inode: u64,
}

impl From<&Metadata> for Stat {
    fn from(metadata: &Metadata) -> Self {
        let mtime = metadata.mtime().saturating_mul(1_000_000).saturating_add(metadata.mtime_nsec() / 1_000);
        Self { size: metadata.size(), mtime, inode: metadata.ino() }
    }
}

/// A file of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub agent: Agent,
    /// How it is read.
    pub form: Form,
    /// Where it is.
    pub path: PathBuf,
    /// The session's id, if the path has it, or [`Found::only`].
    pub session: String,
    /// Its state.
    pub stat: Stat,
}

impl Found {
    /// The only session of a database that is to be read.
    pub fn only(&self) -> Option<&str> {
        (self.form == Form::Database && !self.session.is_empty()).then_some(self.session.as_str())
    }

    /// The key by which it is known while it is read.
    pub fn key(&self) -> PathBuf {
        self.only().map_or_else(|| self.path.clone(), |session| key_of(&self.path, session).into())
    }

    /// The state before its first record. Of a sub-agent of Cursor, only the folders name the session that it works for:
    /// `<session>/subagents/<file>`.
    pub fn state(&self) -> State {
        let mut state = State::new(self.agent, &self.session);
        let folder = self.path.parent().filter(|folder| folder.ends_with("subagents"));
        if let Some(of) = folder.filter(|_| self.agent == Agent::Cursor).and_then(Path::parent) {
            let session = of.file_name().and_then(|name| name.to_str()).map(str::to_owned);
            state.session.parent = Some(Parent { kind: ParentKind::SubAgent, session, turn: None });
        }
        state
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files, in no order.
    pub files: Vec<Found>,
    /// The folders that were walked.
    pub roots: Vec<PathBuf>,
    /// What could not be read, and why, in words.
    pub faults: Vec<(Agent, PathBuf, String)>,
}

impl Walk {
    fn fault(&mut self, agent: Agent, path: &Path, why: impl Into<String>) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push((agent, path.to_path_buf(), why.into()));
        }
    }
}

/// Walks some places. Blocks.
pub fn walk(places: &[TranscriptFolder]) -> Walk {
    let mut walk = Walk::default();
    for place in places {
        // The agent's folder itself may be a link that its user made.
        let root = match fs::canonicalize(&place.root) {
            Ok(root) => root,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                walk.fault(place.agent, &place.root, error.to_string());
                continue;
            }
        };
        let place = TranscriptFolder { root: root.clone(), ..place.clone() };
        if place.depth == 0 {
            match fs::symlink_metadata(&root) {
                Ok(metadata) => add_file(&mut walk, &place, root.clone(), &metadata),
                Err(error) => walk.fault(place.agent, &root, error.to_string()),
            }
        } else {
            walk_folder(&mut walk, &place, root.clone());
        }
        walk.roots.push(root);
    }
    plain_wins(&mut walk.files);
    walk
}

fn walk_folder(walk: &mut Walk, place: &TranscriptFolder, root: PathBuf) {
    let mut left = vec![(root, 1)];
    while let Some((folder, depth)) = left.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                walk.fault(place.agent, &folder, error.to_string());
                continue;
            }
        };
        for entry in entries.flatten() {
            if walk.files.len() >= FILES_MAX {
                walk.fault(
                    place.agent,
                    &folder,
                    format!("more than {FILES_MAX} files; the rest is left out"),
                );
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_symlink() {
                if place.form_of(&path).is_some() || depth < place.depth {
                    walk.fault(place.agent, &path, "a link is not followed");
                }
            } else if kind.is_dir() {
                if depth < place.depth {
                    left.push((path, depth + 1));
                }
            } else if place.form_of(&path).is_some() {
                match entry.metadata() {
                    Ok(metadata) => add_file(walk, place, path, &metadata),
                    Err(error) => walk.fault(place.agent, &path, error.to_string()),
                }
            }
        }
    }
}

fn add_file(walk: &mut Walk, place: &TranscriptFolder, path: PathBuf, metadata: &Metadata) {
    let Some(form) = place.form_of(&path) else { return };
    if !metadata.is_file() {
        return walk.fault(place.agent, &path, "it is no file");
    }
    let mut stat = Stat::from(metadata);
    if form == Form::Database {
        // The last writes may be in the log beside it only.
        if let Ok(log) = fs::metadata(with_suffix(&path, "-wal")) {
            let log = Stat::from(&log);
            stat = Stat { size: stat.size + log.size, mtime: stat.mtime.max(log.mtime), ..stat };
        }
    }
    let session = place.session_of(&path);
    walk.files.push(Found { agent: place.agent, form, path, session, stat });
}

/// A path with a suffix after its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// If a recording exists twice, the one that can grow is kept: the plain file beside a compressed one, and Gemini's lines
/// beside the document that they continue.
fn plain_wins(files: &mut Vec<Found>) {
    let plain: HashSet<PathBuf> = files
        .iter()
        .filter(|file| file.path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|file| file.path.clone())
        .collect();
    files.retain(|file| match file.form {
        Form::Packed => !plain.contains(&file.path.with_extension("")),
        Form::Whole if file.path.extension().is_some_and(|extension| extension == "json") => {
            !plain.contains(&file.path.with_extension("jsonl"))
        }
        _ => true,
    });
}

/// A file of this path that one of the places holds, without links on the way. For paths that others name.
/// Blocks.
///
/// # Errors
/// Why it is not read, in words.
pub fn known(places: &[TranscriptFolder], path: &Path) -> Result<Found, String> {
    if !path.is_absolute() {
        return Err("the path is not absolute".to_owned());
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err("the path goes up".to_owned());
    }
    for place in places {
        let Ok(root) = fs::canonicalize(&place.root) else { continue };
        let Ok(below) = path.strip_prefix(&place.root).or_else(|_| path.strip_prefix(&root)) else {
            continue;
        };
        let whole = if place.depth == 0 { root.clone() } else { root.join(below) };
        let resolved = fs::canonicalize(&whole).map_err(|error| error.to_string())?;
        if resolved != whole {
            return Err("a link is not followed".to_owned());
        }
        if place.depth > 0 && below.components().count() > place.depth {
            return Err("it lies too deep in the agent's folder".to_owned());
        }
        let metadata = fs::symlink_metadata(&whole).map_err(|error| error.to_string())?;
        let mut walk = Walk::default();
        let place = TranscriptFolder { root, ..place.clone() };
        add_file(&mut walk, &place, whole, &metadata);
        if let Some(found) = walk.files.pop() {
            return Ok(found);
        }
    }
    Err("it is no transcript in a folder of a known agent".to_owned())
}

/// The key of one session of a source with many.
pub fn key_of(path: &Path, session: &str) -> String {
    format!("{}#{session}", path.to_string_lossy())
}

/// The file of a source, and the id of its session if it is known by [`key_of`] a database. The ends of databases' names are
/// `db`.
pub fn file_of(key: &Path) -> (PathBuf, &str) {
    match key.to_str().and_then(|key| key.rsplit_once("db#")).filter(|(_, session)| !session.contains('/')) {
        Some((path, session)) => (PathBuf::from(format!("{path}db")), session),
        None => (key.to_path_buf(), ""),
    }
}

/// Opens a file for reading, if it is one and no link.
pub fn open(path: &Path) -> std::io::Result<fs::File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    Ok(file)
}

/// Orders files for reading: the newest first, but the oldest first among a session and its copies, which share their
/// beginning, so that copies are recognised. Blocks: it reads the beginnings.
pub fn in_order(mut files: Vec<Found>) -> Vec<Found> {
    files.sort_by(|a, b| b.stat.mtime.cmp(&a.stat.mtime).then_with(|| a.path.cmp(&b.path)));
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        if let Some(family) = family(file) {
            families.entry(family).or_default().push(at);
        }
    }
    families.retain(|_, members| members.len() > 1);
    let mut ranks: Vec<(usize, usize)> = (0..files.len()).map(|at| (at, 0)).collect();
    for members in families.values_mut() {
        let newest = members.iter().copied().min().unwrap_or_default();
        members.sort_by_cached_key(|at| born(&files[*at]));
        for (rank, at) in members.iter().enumerate() {
            ranks[*at] = (newest, rank);
        }
    }
    let mut ordered: Vec<((usize, usize), Found)> = ranks.into_iter().zip(files).collect();
    ordered.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.path.cmp(&b.1.path)));
    ordered.into_iter().map(|(_, file)| file).collect()
}

/// When a file was created, if its disk or its name has that, else when it was written last. Codex's names begin with the
/// time.
fn born(file: &Found) -> (String, i64) {
    let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let named = if file.agent == Agent::Codex { name } else { String::new() };
    let micros = fs::metadata(&file.path).ok().as_ref().and_then(made);
    (named, micros.unwrap_or(file.stat.mtime).min(file.stat.mtime))
}

/// When a file was created, if its disk has that: microseconds since 1970.
pub fn made(metadata: &Metadata) -> Option<i64> {
    let made = metadata.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(made.as_micros()).ok()
}

/// What a session shares with its copies: its first native id, or the id of the session that it was copied from.
fn family(file: &Found) -> Option<String> {
    if file.form != Form::Lines || !matches!(file.agent, Agent::ClaudeCode | Agent::Codex | Agent::Qwen) {
        return None;
    }
    let head = head(&file.path)?;
    let keys: &[&str] = match file.agent {
        Agent::Codex => &["\"forked_from_id\"", "\"parent_thread_id\"", "\"id\""],
        _ => &["\"uuid\""],
    };
    keys.iter().find_map(|key| value(&head, key))
}

/// The beginning of a transcript. Blocks.
pub fn head(path: &Path) -> Option<String> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    open(path).ok()?.take(HEAD_BYTES as u64).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// The first text that the beginning of a transcript has under a key, which is given in its quotes.
pub fn value(head: &str, key: &str) -> Option<String> {
    let (_, rest) = head.split_once(key)?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(value, _)| value.to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn place(root: &Path) -> TranscriptFolder {
        let root = root.to_path_buf();
        TranscriptFolder { agent: Agent::ClaudeCode, own: root.clone(), root, depth: 3 }
    }

    #[test]
    fn links_are_named_and_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("projects");
        fs::create_dir_all(root.join("p")).unwrap();
        let outside = temp.path().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("x.jsonl"), "{}\n").unwrap();
        fs::write(root.join("p/a.jsonl"), "{}\n").unwrap();
        symlink(outside.join("x.jsonl"), root.join("p/b.jsonl")).unwrap();
        symlink(&outside, root.join("q")).unwrap();
        let walk = walk(&[place(&root)]);
        assert_eq!(walk.files.len(), 1, "{walk:?}");
        assert_eq!(walk.faults.len(), 2, "{walk:?}");
        assert!(walk.faults.iter().all(|(_, _, why)| why.contains("link")), "{walk:?}");

        let places = [place(&root)];
        assert!(known(&places, &root.join("p/a.jsonl")).is_ok());
        for refused in ["p/b.jsonl", "q/x.jsonl", "p/../../outside/x.jsonl", "p/none.jsonl"] {
            assert!(known(&places, &root.join(refused)).is_err(), "{refused}");
        }
        assert!(known(&places, &outside.join("x.jsonl")).is_err());
        assert!(known(&places, Path::new("p/a.jsonl")).is_err());
    }

    #[test]
    fn a_sub_agent_of_cursor_names_the_session_that_it_works_for_by_its_folder() {
        let parent = |agent, path: &str| {
            let (form, session, stat) = (Form::Lines, "b".to_owned(), Stat::default());
            Found { agent, form, path: path.into(), session, stat }.state().session.parent
        };
        let below = "/u/.cursor/projects/p/agent-transcripts/a/subagents/b.jsonl";
        let of = parent(Agent::Cursor, below).expect("a parent");
        assert_eq!((of.kind, of.session.as_deref()), (ParentKind::SubAgent, Some("a")));
        assert_eq!(parent(Agent::Cursor, "/u/.cursor/projects/p/agent-transcripts/b/b.jsonl"), None);
        assert_eq!(parent(Agent::ClaudeCode, below), None, "its records name it");
    }

    #[test]
    fn a_session_of_a_database_is_known_by_its_path_and_id() {
        for (key, want) in [
            ("/u/o c/opencode.db#ses_1", ("/u/o c/opencode.db", "ses_1")),
            ("/u/Cursor/state.vscdb#c-1", ("/u/Cursor/state.vscdb", "c-1")),
            ("/u/opencode.db", ("/u/opencode.db", "")),
            ("/u/my.db#1/a.jsonl", ("/u/my.db#1/a.jsonl", "")),
            ("/u/history.jsonl#s", ("/u/history.jsonl#s", "")),
        ] {
            let (path, session) = file_of(Path::new(key));
            assert_eq!((path.to_str().unwrap(), session), want);
            if !session.is_empty() {
                assert_eq!(key_of(&path, session), key);
            }
        }
    }

    #[test]
    fn the_newest_comes_first_and_a_copy_after_its_original() {
        let temp = tempfile::tempdir().unwrap();
        let write = |name: &str, id: &str, mtime: i64| {
            let path = temp.path().join(name);
            fs::write(&path, format!("{{\"uuid\":\"{id}\"}}\n")).unwrap();
            let stat = Stat { mtime, ..Stat::default() };
            Found { agent: Agent::ClaudeCode, form: Form::Lines, path, session: String::new(), stat }
        };
        let files = vec![
            write("old", "o", 1),
            write("original", "s", 2),
            write("between", "b", 3),
            write("fork", "s", 4),
        ];
        let names: Vec<String> = in_order(files)
            .iter()
            .map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["original", "fork", "between", "old"]);
    }

    #[test]
    fn the_plain_file_wins_over_its_packed_one() {
        let temp = tempfile::tempdir().unwrap();
        for name in ["a.jsonl", "a.jsonl.zst", "b.jsonl.zst"] {
            fs::write(temp.path().join(name), "").unwrap();
        }
        let place = TranscriptFolder { agent: Agent::Codex, depth: 1, ..place(temp.path()) };
        let mut forms: Vec<(String, Form)> = walk(&[place])
            .files
            .iter()
            .map(|file| (file.path.file_name().unwrap().to_string_lossy().into_owned(), file.form))
            .collect();
        forms.sort();
        assert_eq!(forms, [("a.jsonl".to_owned(), Form::Lines), ("b.jsonl.zst".to_owned(), Form::Packed)]);
    }
}
