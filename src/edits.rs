//! The files in the home that contain a memory's text while a person edits it.
//!
//! Each edit has a file of its own, `edit-MEMORY-REVISION-PROCESS-RANDOM.md` (`edit-MEMORY.md` in version
//! 0.1.0), which stays until its text is stored. A text that could not be stored belongs to the person: it is
//! offered at the next edit and never overwritten. A purge of the memory removes it.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

use crate::platform;
use cerebro_core::domain::MemoryId;

const PREFIX: &str = "edit-";
const SUFFIX: &str = ".md";

/// A file with the text of an edit, or a file that an editor created next to one (`.edit-….md.swp`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFile {
    pub path: PathBuf,
    pub memory: MemoryId,
    /// The revision from which the edit started; unknown for files of version 0.1.0.
    pub revision: Option<u64>,
    /// The process that created it; unknown for files of version 0.1.0.
    process: Option<u32>,
}

impl EditFile {
    /// Parses a file name in `home`; `None` if it is not that of an edit.
    fn of_name(home: &Path, name: &str) -> Option<Self> {
        let facts = name.trim_start_matches(['.', '#']).strip_prefix(PREFIX)?.split(SUFFIX).next()?;
        let mut facts = facts.split('-');
        let id = facts.next()?;
        let memory = MemoryId::parse(id).ok().filter(|memory| memory.as_str() == id)?;
        let revision = facts.next().and_then(|number| number.parse().ok());
        let process = facts.next().and_then(|number| number.parse().ok());
        Some(Self { path: home.join(name), memory, revision, process })
    }

    /// Whether another process has it open: the process that created it is still running. If the system has reused the
    /// process id, the file counts as open until the new process ends.
    pub fn is_open_elsewhere(&self) -> bool {
        self.process.is_some_and(|pid| pid != process::id() && platform::is_alive(pid))
    }

    /// Whether it is the text itself and not a file of the editor.
    fn is_text(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    }
}

/// Creates the file of a new edit, readable only by its owner.
pub fn create(home: &Path, memory: &str, revision: u64, text: &str) -> io::Result<PathBuf> {
    let prefix = format!("{PREFIX}{memory}-{revision}-{}-", process::id());
    let mut file = tempfile::Builder::new().prefix(&prefix).suffix(SUFFIX).tempfile_in(home)?;
    file.write_all(text.as_bytes())?;
    let (_, path) = file.keep().map_err(|error| error.error)?;
    Ok(path)
}

/// The files of all edits in a home, in order of their names.
pub fn all(home: &Path) -> io::Result<Vec<EditFile>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(home)? {
        let entry = entry?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        found.extend(EditFile::of_name(home, &entry.file_name().to_string_lossy()).filter(|_| is_file));
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The newest unsaved text of a memory that no process has open.
pub fn unsaved(home: &Path, memory: &str) -> io::Result<Option<EditFile>> {
    let changed = |edit: &EditFile| fs::metadata(&edit.path).and_then(|found| found.modified()).ok();
    let is_it =
        |edit: &EditFile| edit.memory.as_str() == memory && edit.is_text() && !edit.is_open_elsewhere();
    let files = all(home)?.into_iter().filter(is_it);
    Ok(files.max_by_key(|edit| changed(edit).unwrap_or(SystemTime::UNIX_EPOCH)))
}

/// Removes the files of a purged memory. Returns those that remain, because another process has them open or they
/// cannot be removed.
pub fn remove_of(home: &Path, memory: &MemoryId) -> io::Result<Vec<PathBuf>> {
    let files = all(home)?.into_iter().filter(|edit| edit.memory == *memory);
    let is_left =
        |edit: &EditFile| edit.is_open_elsewhere() || platform::remove_file_if_there(&edit.path).is_err();
    Ok(files.filter(is_left).map(|edit| edit.path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "abcdefghij27";

    #[test]
    fn names_say_what_a_file_is() {
        let of = |name: &str| EditFile::of_name(Path::new("/h"), name);
        let new = of("edit-abcdefghij27-3-4242-x7Gq2a.md").unwrap();
        assert_eq!((new.memory.as_str(), new.revision, new.process), (ID, Some(3), Some(4242)));
        assert!(new.is_text());
        let old = of("edit-abcdefghij27.md").unwrap();
        assert_eq!((old.revision, old.process, old.is_text()), (None, None, true));
        for by_editor in [".edit-abcdefghij27-3-4242-x7Gq2a.md.swp", "edit-abcdefghij27-3-4242-x7Gq2a.md~"] {
            let found = of(by_editor).unwrap();
            assert_eq!((found.revision, found.is_text()), (Some(3), false), "{by_editor}");
        }
        for other in
            ["edit-notes.md", "edit-.md", "config.toml", "edit-ABCDEFGHIJ27.md", "my-edit-abcdefghij27.md"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn edits_share_no_file_and_the_newest_is_offered() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        assert_eq!(unsaved(home, ID).unwrap(), None);
        let first = create(home, ID, 1, "one").unwrap();
        let second = create(home, ID, 2, "two").unwrap();
        assert_ne!(first, second);
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        fs::File::options().append(true).open(&first).unwrap().set_modified(later).unwrap();
        assert_eq!(unsaved(home, ID).unwrap().map(|edit| (edit.path, edit.revision)), Some((first, Some(1))));
        assert_eq!(unsaved(home, "zbcdefghij27").unwrap(), None);
    }

    #[test]
    fn a_purge_removes_all_that_nobody_has_open() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        create(home, ID, 1, "one").unwrap();
        create(home, "zbcdefghij27", 1, "of another memory").unwrap();
        fs::write(home.join(format!(".edit-{ID}.md.swp")), "an editor's").unwrap();
        fs::write(home.join(format!("edit-{ID}.md")), "of version 0.1.0").unwrap();
        // The parent of the test process runs as long as the tests.
        let process = std::os::unix::process::parent_id();
        let open = home.join(format!("edit-{ID}-1-{process}-x.md"));
        fs::write(&open, "open").unwrap();
        assert_eq!(remove_of(home, &MemoryId::parse(ID).unwrap()).unwrap(), [open]);
        assert_eq!(all(home).unwrap().len(), 2);
    }
}
