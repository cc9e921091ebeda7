//! The plan of changes to an agent's files. It is complete before the first file is written, so that no file changes
//! if one of them is malformed.

use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::piece::{Content, Format, Part, Piece, Target};
use super::record::{FileRecord, Record, digest};
use super::{SetupError, block, file};

/// Lines of context around a change in a diff.
const DIFF_CONTEXT: usize = 3;
/// Most lines of a difference that are shown of one file: more than an agent's file needs.
const SHOWN_LINES: usize = 300;

/// One file, before and after; `None` if it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
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
        let (before, after, base) = (text.clone(), text.clone(), text);
        Self { path: target.path.clone(), before, after, base, folders: Vec::new() }
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

/// Plans to put the wanted parts into the files and to take out the others.
///
/// # Errors
/// The first file that cannot be read or edited.
pub fn plan_setup(
    targets: &[Target],
    wanted: impl Fn(Part) -> bool,
    record: Option<&Record>,
) -> Result<Vec<Change>, SetupError> {
    let plan = |target: &Target| -> Result<Change, SetupError> {
        let recorded = record.and_then(|record| record.file(&target.path));
        let before = file::read(&target.path)?;
        let text = before.clone().unwrap_or_default();
        let (put, leave) = (target.pieces_of(&wanted), target.pieces_of(|part| !wanted(part)));
        if put.is_empty() && recorded.is_none() {
            return Ok(Change::none(target, before));
        }
        let base = base_of(target, recorded, before.as_deref())?;
        // Without a record, the other parts are the user's own.
        let without = match recorded {
            Some(_) => taken(target, &text, &leave, base.as_deref())?,
            None => text.clone(),
        };
        let with =
            target.format.put(&without, &put).map_err(|error| SetupError::piece(&target.path, error))?;
        let gone = base.is_none() && target.format.is_blank(&with);
        let after = (before.is_some() || !with.is_empty()).then_some(with).filter(|_| !gone);
        let folders = recorded.map(|recorded| recorded.folders.clone()).unwrap_or_default();
        Ok(Change { path: target.path.clone(), before, after, base, folders })
    };
    targets.iter().map(plan).collect()
}

/// Plans to take all of Cerebro's pieces out of the files. A file that nobody changed after setup gets its former
/// text back, byte for byte. Without a record, what is not known to be Cerebro's stays: [`left_alone`] names it.
///
/// # Errors
/// The first file that cannot be read or edited.
pub fn plan_unsetup(targets: &[Target], record: Option<&Record>) -> Result<Vec<Change>, SetupError> {
    let is_set_up = is_set_up(targets)?;
    let plan = |target: &Target| -> Result<Change, SetupError> {
        let recorded = record.and_then(|record| record.file(&target.path));
        let before = file::read(&target.path)?;
        let path = target.path.clone();
        let folders = recorded.map(|recorded| recorded.folders.clone()).unwrap_or_default();
        // If there is a record, a file that is not in it has none of the pieces.
        let Some(text) = before.clone().filter(|_| recorded.is_some() || record.is_none()) else {
            return Ok(Change::none(target, before));
        };
        let base = match recorded {
            Some(_) => base_of(target, recorded, Some(&text))?,
            None => Some(taken(target, &text, &ours(target, is_set_up), None)?),
        };
        let was_made = recorded.map_or(target.format == Format::Whole, |recorded| !recorded.existed);
        let after = base.clone().filter(|base| !(was_made && target.format.is_blank(base)));
        Ok(Change { path, before, after, base, folders })
    };
    targets.iter().map(plan).collect()
}

/// Whether a file has exactly the server's entry that setup writes.
///
/// # Errors
/// When the file cannot be read.
pub fn is_set_up(targets: &[Target]) -> Result<bool, SetupError> {
    for target in targets {
        if target.holds(&file::read(&target.path)?.unwrap_or_default(), Part::Server) == Some(true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a removal without a record leaves in the files, because somebody else may have written it: each place, by its file
/// and its keys.
///
/// # Errors
/// The first file that cannot be read.
pub fn left_alone(targets: &[Target], record: Option<&Record>) -> Result<Vec<(PathBuf, String)>, SetupError> {
    let mut left: Vec<(PathBuf, String)> = Vec::new();
    if record.is_some() || is_set_up(targets)? {
        return Ok(left);
    }
    for target in targets {
        let text = file::read(&target.path)?.unwrap_or_default();
        for piece in target.pieces.iter().filter(|piece| !is_marked(piece)) {
            let (Content::Entry { path, .. } | Content::Element { path, .. }) = &piece.content else {
                continue;
            };
            let keys = path.join(".");
            let is_within = |(file, outer): &(PathBuf, String)| {
                let rest = keys.strip_prefix(outer.as_str());
                *file == target.path && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            // In a malformed file nothing is found, and nothing is removed.
            let is_there = || target.format.take(&text, &[piece], None).is_ok_and(|taken| taken != text);
            if !left.iter().any(is_within) && is_there() {
                left.push((target.path.clone(), keys));
            }
        }
    }
    Ok(left)
}

/// The pieces that are Cerebro's without a record: where the server's entry is the one that setup writes, all; otherwise only
/// those that bear a mark.
fn ours(target: &Target, is_set_up: bool) -> Vec<&Piece> {
    target.pieces.iter().filter(|piece| is_set_up || is_marked(piece)).collect()
}

/// Whether a piece is known to be Cerebro's wherever it is: a block, a whole file, or a hook with its command.
fn is_marked(piece: &Piece) -> bool {
    piece.part != Part::Permissions && matches!(piece.content, Content::Element { .. } | Content::Text(_))
}

/// The text that a file would have without Cerebro's pieces.
fn base_of(
    target: &Target,
    recorded: Option<&FileRecord>,
    before: Option<&str>,
) -> Result<Option<String>, SetupError> {
    let Some(text) = before else { return Ok(None) };
    let Some(recorded) = recorded else {
        // A file that Cerebro wrote whole, without a record: the record was lost, and there was no file before.
        let is_made = target.format == Format::Whole && block::is_written_by_cerebro(text);
        return if is_made { Ok(None) } else { without_marked(target, text).map(Some) };
    };
    let original = if recorded.existed { file::read(&file::backup_of(&target.path))? } else { None };
    let is_untouched = digest(text) == recorded.digest;
    if is_untouched && (original.is_some() || !recorded.existed) {
        return Ok(original);
    }
    let without = taken(target, text, &all(target), original.as_deref())?;
    let is_gone = !recorded.existed && target.format.is_blank(&without);
    Ok((!is_gone).then_some(without))
}

/// A text without the marked parts, which an earlier setup with a lost record left. Parts without a mark may be the
/// user's own.
fn without_marked(target: &Target, text: &str) -> Result<String, SetupError> {
    match target.format {
        Format::Whole => Ok(text.to_owned()),
        _ => taken(target, text, &ours(target, false), None),
    }
}

fn all(target: &Target) -> Vec<&Piece> {
    target.pieces.iter().collect()
}

fn taken(target: &Target, text: &str, pieces: &[&Piece], base: Option<&str>) -> Result<String, SetupError> {
    target.format.take(text, pieces, base).map_err(|error| SetupError::piece(&target.path, error))
}

/// Writes a planned setup, with backups. Its record is written to `folder` under `name`.
///
/// # Errors
/// The first file that cannot be written; those before it are written and recorded.
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
            file::back_up(&change.path, base)?;
        }
        let mut folders = change.folders.clone();
        folders.extend(file::write(&change.path, after, change.before.as_deref())?);
        let existed = change.base.is_some();
        record.set_file(FileRecord { path: change.path.clone(), existed, digest: digest(after), folders });
    }
    record.remove_empty_folders(folders_of_gone(changes));
    Ok(())
}

/// Writes a planned removal, and its record to `folder` under `name`. Removes the backups of files that have their
/// former text again, and returns the others.
///
/// # Errors
/// The first file that cannot be written; those before it are written and recorded.
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
        match &change.after {
            _ if !change.is_any() => {}
            Some(after) => drop(file::write(&change.path, after, change.before.as_deref())?),
            None => remove(change)?,
        }
        let backup = file::backup_of(&change.path);
        match file::read(&backup)? {
            Some(text) if change.after.as_ref() == Some(&text) => file::remove(&backup, &text)?,
            Some(_) => backups.push(backup),
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
