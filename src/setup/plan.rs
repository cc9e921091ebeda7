//! The plan of changes to an agent's files. It is complete before the first file is written, so that no file changes
//! if one of them is malformed.

use std::path::{Path, PathBuf};

use serde_json::Value;
use similar::TextDiff;

use super::piece::{Content, Format, Mark, Part, Piece, Target};
use super::record::{FileRecord, Record, digest};
use super::{SetupError, file};

/// Lines of context around a change in a diff.
const DIFF_CONTEXT: usize = 3;
/// Most lines of a difference that are shown of one file: more than an agent's file needs.
const SHOWN_LINES: usize = 300;

/// One file, before and after; `None` if it does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    /// Where the text without Cerebro's pieces is kept.
    backup: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
    /// The text without Cerebro's pieces, for restoring; `None` if the file did not exist.
    base: Option<String>,
    /// The folders that earlier setups created for it.
    folders: Vec<PathBuf>,
}

impl Change {
    /// No change.
    fn none(target: &Target, text: Option<String>) -> Self {
        Self { before: text.clone(), after: text.clone(), base: text, ..Self::of(target, None) }
    }

    /// A change of a target without texts.
    fn of(target: &Target, recorded: Option<&FileRecord>) -> Self {
        let folders = recorded.map(|recorded| recorded.folders.clone()).unwrap_or_default();
        let backup = recorded.and_then(FileRecord::backup).unwrap_or_else(|| target.backup.clone());
        Self { path: target.path.clone(), backup, folders, ..Self::default() }
    }

    /// The change, if the file can be written.
    fn checked(self) -> Result<Self, SetupError> {
        if self.is_any() {
            file::check_writable(&self.path)?;
        }
        Ok(self)
    }

    /// Whether the file will change.
    pub fn is_any(&self) -> bool {
        self.before != self.after
    }

    /// What happens to the file, in a word.
    pub fn outcome(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// The difference, as `diff -u` shows it.
    pub fn difference(&self) -> String {
        let [old, new] = [&self.before, &self.after].map(|text| text.as_deref().unwrap_or_default());
        let name = |text: &Option<String>| match text {
            Some(_) => self.path.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let diff = TextDiff::from_lines(old, new);
        diff.unified_diff()
            .context_radius(DIFF_CONTEXT)
            .header(&name(&self.before), &name(&self.after))
            .to_string()
    }

    /// The difference for people: a whole file of completions has thousands of lines, which say nothing to anybody.
    pub fn shown_difference(&self) -> String {
        let whole = self.difference();
        let cut: String = whole.split_inclusive('\n').take(SHOWN_LINES).collect();
        match whole[cut.len()..].lines().count() {
            0 => whole,
            more => format!("{cut}… {more} more lines\n"),
        }
    }
}

/// Plans to put the wanted parts into the files and to take out the others. Fails on the first file that cannot be
/// read, edited or written.
pub fn plan_setup(
    targets: &[Target],
    wanted: impl Fn(Part) -> bool,
    record: Option<&Record>,
) -> Result<Vec<Change>, SetupError> {
    let server = Server::of(targets)?;
    let plan = |target: &Target| -> Result<Change, SetupError> {
        let recorded = record.and_then(|record| record.file(&target.path));
        let before = file::read(&target.path)?;
        let text = before.clone().unwrap_or_default();
        let (put, mut leave) = (target.pieces_of(&wanted), own(target, record));
        leave.retain(|piece| !wanted(piece.part));
        if put.is_empty() && recorded.is_none() {
            return Ok(Change::none(target, before));
        }
        let base = base_of(target, record, before.as_deref(), server)?;
        // Without a record, the other parts are the user's own.
        let without = match recorded {
            Some(_) => taken(target, &text, &leave, base.as_deref())?,
            None => text.clone(),
        };
        let with =
            target.format.put(&without, &put).map_err(|error| SetupError::piece(&target.path, error))?;
        let gone = base.is_none() && target.format.is_blank(&with);
        let after = (before.is_some() || !with.is_empty()).then_some(with).filter(|_| !gone);
        Change { before, after, base, ..Change::of(target, recorded) }.checked()
    };
    targets.iter().map(plan).collect()
}

/// Plans to take all of Cerebro's pieces out of the files. A file that nobody changed after setup gets its former text
/// back, byte for byte. Without a record, what is not known to be of this home stays: [`left_alone`] names it. Fails on
/// the first file that cannot be read, edited or written.
pub fn plan_unsetup(targets: &[Target], record: Option<&Record>) -> Result<Vec<Change>, SetupError> {
    let server = Server::of(targets)?;
    let plan = |target: &Target| -> Result<Change, SetupError> {
        let recorded = record.and_then(|record| record.file(&target.path));
        let before = file::read(&target.path)?;
        // If there is a record, a file that is not in it has none of the pieces.
        let Some(text) = before.clone().filter(|_| recorded.is_some() || record.is_none()) else {
            return Ok(Change::none(target, before));
        };
        let base = base_of(target, record, Some(&text), server)?;
        let was_made = recorded.is_some_and(|recorded| !recorded.existed);
        let after = base.clone().filter(|base| !(was_made && target.format.is_blank(base)));
        Change { before, after, base, ..Change::of(target, recorded) }.checked()
    };
    targets.iter().map(plan).collect()
}

/// Whether a file has the server's entry that setup writes. It may have more, such as a user's variables.
pub fn is_set_up(targets: &[Target]) -> Result<bool, SetupError> {
    for target in targets {
        if target.holds(&file::read(&target.path)?.unwrap_or_default(), Part::Server) == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whose the entry of the server in an agent's files is, as far as one can tell without a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    /// There is none.
    Missing,
    /// It is exactly what setup writes from this home: nothing in it is a person's.
    Ours,
    /// It is anything else: of a person, or of a setup from another home.
    Others,
}

impl Server {
    fn of(targets: &[Target]) -> Result<Self, SetupError> {
        for target in targets {
            for piece in target.pieces_of(|part| part == Part::Server) {
                let Some(path) = piece.content.path() else { continue };
                let text = file::read(&target.path)?.unwrap_or_default();
                let Some(present) = target.format.value_at(&text, path) else { continue };
                let forms = [entry_of(target, path, &[]), entry_of(target, path, &[Part::Permissions])];
                let is_exact = forms.contains(&Some(present));
                return Ok(if is_exact { Self::Ours } else { Self::Others });
            }
        }
        Ok(Self::Missing)
    }
}

/// The server's entry at a path of keys as setup writes it. Some agents have other parts in the same entry.
fn entry_of(target: &Target, path: &[String], beside: &[Part]) -> Option<Value> {
    let put = target.format.put("", &target.pieces_of(|part| part == Part::Server || beside.contains(&part)));
    target.format.value_at(&put.ok()?, path)
}

/// What a planned removal takes out with the server's entry although setup does not write it, such as a user's variables.
pub fn taken_along(targets: &[Target], changes: &[Change]) -> Vec<Left> {
    let mut all = Vec::new();
    for (target, change) in targets.iter().zip(changes) {
        let servers = target.pieces_of(|part| part == Part::Server);
        for path in servers.iter().filter_map(|piece| piece.content.path()) {
            let keys_in = |entry: Option<Value>| -> Vec<String> {
                entry.iter().filter_map(Value::as_object).flat_map(|entry| entry.keys().cloned()).collect()
            };
            let present = |text: &Option<String>| {
                keys_in(text.as_ref().and_then(|text| target.format.value_at(text, path)))
            };
            let (own, after) =
                (keys_in(entry_of(target, path, &[Part::Permissions])), present(&change.after));
            let mut keys = present(&change.before);
            keys.retain(|key| !own.contains(key) && !after.contains(key));
            if !keys.is_empty() {
                let keys = keys.iter().map(|key| format!("{}.{key}", path.join("."))).collect();
                all.push(Left { path: change.path.clone(), keys });
            }
        }
    }
    all
}

/// The pieces in a text that are Cerebro's without a record. The server's entry decides: if it is not ours,
/// everything belongs to that entry, because instructions and permissions do not name their home. What has no mark is
/// ours only beside our entry, and only as setup writes it.
fn ours<'a>(target: &'a Target, text: &str, server: Server) -> Vec<&'a Piece> {
    let is_ours = |piece: &&Piece| match &piece.content {
        _ if server == Server::Others => false,
        Content::Text(_) | Content::Default { .. } | Content::Element { mark: Mark::Command { .. }, .. } => {
            true
        }
        Content::Element { .. } => server == Server::Ours,
        Content::Entry { path, value } => {
            let is_exact = || target.format.value_at(text, path).as_ref() == Some(value);
            server == Server::Ours && (piece.part == Part::Server || is_exact())
        }
    };
    target.pieces.iter().filter(is_ours).collect()
}

/// Places in a file that somebody else may have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: PathBuf,
    /// The places in the file, by their keys; none if it is Cerebro's block or the whole file.
    pub keys: Vec<String>,
}

/// What a removal leaves in the files: nothing if there is a record.
pub fn left_alone(targets: &[Target], record: Option<&Record>) -> Result<Vec<Left>, SetupError> {
    if record.is_some() {
        return Ok(Vec::new());
    }
    let server = Server::of(targets)?;
    let mut all = Vec::new();
    for target in targets {
        let text = file::read(&target.path)?.unwrap_or_default();
        let ours = ours(target, &text, server);
        let mut left: Option<Left> = None;
        for piece in target.pieces.iter().filter(|piece| !ours.contains(piece)) {
            if matches!(piece.content, Content::Default { .. }) {
                continue;
            }
            // In a malformed file nothing is found, and nothing is removed.
            if !target.format.take(&text, &[piece], None).is_ok_and(|taken| taken != text) {
                continue;
            }
            let left = left.get_or_insert_with(|| Left { path: target.path.clone(), keys: Vec::new() });
            let Some(path) = piece.content.path() else { continue };
            let keys = path.join(".");
            let is_within = |outer: &String| {
                let rest = keys.strip_prefix(outer.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if !left.keys.iter().any(is_within) {
                left.keys.push(keys);
            }
        }
        all.extend(left);
    }
    Ok(all)
}

/// The text that a file would have without Cerebro's pieces.
fn base_of(
    target: &Target,
    record: Option<&Record>,
    before: Option<&str>,
    server: Server,
) -> Result<Option<String>, SetupError> {
    let Some(text) = before else { return Ok(None) };
    let Some(recorded) = record.and_then(|record| record.file(&target.path)) else {
        // The record may be lost.
        let without = taken(target, text, &ours(target, text, server), None)?;
        let is_made = target.format == Format::Whole && without != text;
        return Ok((!is_made).then_some(without));
    };
    let original = recorded.backup().map_or(Ok(None), |backup| file::read(&backup))?;
    let is_untouched = digest(text) == recorded.digest;
    if is_untouched && (original.is_some() || !recorded.existed) {
        return Ok(original);
    }
    let without = taken(target, text, &own(target, record), original.as_deref())?;
    let is_gone = !recorded.existed && target.format.is_blank(&without);
    Ok((!is_gone).then_some(without))
}

/// The pieces that this home's setups may have put into a file. Permissions that they were not asked for are a person's.
fn own<'a>(target: &'a Target, record: Option<&Record>) -> Vec<&'a Piece> {
    target.pieces_of(|part| part != Part::Permissions || record.is_some_and(|record| record.has(part)))
}

fn taken(target: &Target, text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, SetupError> {
    target.format.take(text, pieces, base).map_err(|error| SetupError::piece(&target.path, error))
}

/// Writes a planned setup, with backups. Its record is written to `folder` under `name`. On a failure, the files before
/// it are written and recorded.
pub fn apply_setup(
    changes: &[Change],
    mut record: Record,
    folder: &Path,
    name: &str,
) -> Result<(), SetupError> {
    let written = write_setup(changes, &mut record);
    record.write(folder, name)?;
    written
}

fn write_setup(changes: &[Change], record: &mut Record) -> Result<(), SetupError> {
    for change in changes.iter().filter(|change| change.is_any()) {
        let Some(after) = &change.after else {
            remove(change)?;
            record.files.retain(|recorded| recorded.path != change.path);
            continue;
        };
        if let Some(base) = &change.base {
            file::back_up(&change.path, &change.backup, base)?;
        }
        let mut folders = change.folders.clone();
        let written = file::write(&change.path, after, change.before.as_deref());
        if let (Err(_), Some(base)) = (&written, &change.base)
            && change.before == change.base
        {
            // The file has nothing of Cerebro's, so the backup is of no use. If it stays, it does no harm.
            let _ = file::remove(&change.backup, base);
        }
        folders.extend(written?);
        let existed = change.base.is_some();
        let backup = existed.then(|| change.backup.clone());
        let (path, digest) = (change.path.clone(), digest(after));
        record.set_file(FileRecord { path, existed, backup, digest, folders });
    }
    record.remove_empty_folders(folders_of_gone(changes));
    Ok(())
}

/// Writes a planned removal, and its record to `folder` under `name`. Removes the backups of files that have their
/// former text again, and returns the others. On a failure, the files before it are written and recorded.
pub fn apply_unsetup(
    changes: &[Change],
    mut record: Record,
    folder: &Path,
    name: &str,
) -> Result<Vec<PathBuf>, SetupError> {
    let written = write_unsetup(changes, &mut record);
    record.write(folder, name)?;
    written
}

fn write_unsetup(changes: &[Change], record: &mut Record) -> Result<Vec<PathBuf>, SetupError> {
    let mut backups = Vec::new();
    for change in changes {
        if record.file(&change.path).is_none() && !change.is_any() {
            continue;
        }
        match &change.after {
            _ if !change.is_any() => {}
            Some(after) => drop(file::write(&change.path, after, change.before.as_deref())?),
            None => remove(change)?,
        }
        match file::read(&change.backup)? {
            Some(text) if change.after.as_ref() == Some(&text) => file::remove(&change.backup, &text)?,
            Some(_) => backups.push(change.backup.clone()),
            None => {}
        }
        record.files.retain(|recorded| recorded.path != change.path);
    }
    record.parts.clear();
    record.remove_empty_folders(folders_of_gone(changes));
    Ok(backups)
}

fn remove(change: &Change) -> Result<(), SetupError> {
    file::remove(&change.path, change.before.as_deref().unwrap_or_default())
}

/// The folders that were created for files that no longer exist.
fn folders_of_gone(changes: &[Change]) -> impl Iterator<Item = PathBuf> {
    changes.iter().filter(|change| change.after.is_none()).flat_map(|change| change.folders.clone())
}
