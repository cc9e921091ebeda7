//! A folder of Markdown notes, into which an export writes beside the person's own files.
//!
//! A file is ours if its front matter has the id and the digest of an export, and nothing that the digest covers
//! has changed since. Only such a file is replaced or removed. Every other one is left alone, and named if it is in
//! the way.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::prelude::*;
use super::note::{self, Note, Standing};
use crate::platform;
use cerebro_core::domain::{MemoryId, Project};
use cerebro_core::redact;
use cerebro_durable::{self as durable, Kind};

/// Deepest folder below the given one that is read.
const DEPTH_MAX: usize = 16;
/// Largest note that is read, in bytes: the bound on a memory's content, and room for the rest.
pub const NOTE_BYTES_MAX: u64 = 512 * 1024;
/// The folder of personal memories, and that of sessions.
pub const PERSONAL: &str = Project::RESERVED[0];
const SESSIONS: &str = Project::RESERVED[1];
/// How an export's own notes are written: they are many, and the next export writes again what a power loss took.
const NOTE: Kind = Kind::Derived;

/// Why a file is left alone.
const EDITED: &str = "it was changed here and not imported; `cerebro import` takes it";
const SECRET: &str = "it has a secret or private text, which its memory does not have; take that out and import it, and the next \
     export writes it again";
const COPY: &str =
    "it is a copy of a note of this export; remove it, or take `id` out to make it a new memory";
const NO_FOLDER: &str = "it is where a folder of notes belongs, and not a folder; notes are not written through links: \
     give it another name, or export to where it leads";
const IN_THE_WAY: &str = "it is where a note belongs, and not a note of an export; give it another name";
const SESSION_EDITED: &str = "it is a session's note that was changed, or that an earlier version wrote, and \
     nothing reads it back; remove it to have it written again";

/// What an export or import of notes did.
#[derive(Debug, Default)]
pub struct NotesReport {
    /// By what became of them.
    pub counts: BTreeMap<&'static str, u64>,
    /// Files that were left alone, and why.
    pub skipped: Vec<(PathBuf, String)>,
}

impl NotesReport {
    /// Counts one more.
    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Notes that a file was left alone.
    pub fn skip(&mut self, path: &Path, why: impl Into<String>) {
        self.skipped.push((path.to_owned(), why.into()));
    }
}

/// What is at a path.
enum Found {
    Nothing,
    /// A file of text that is not too large for a note.
    Text(String),
    /// Anything else: a link, a folder, a file that cannot be read.
    Other,
}

/// The folder, and for each memory the files that are, or may be, its note.
pub struct Vault {
    root: PathBuf,
    notes: HashMap<String, Vec<PathBuf>>,
}

impl Vault {
    /// Opens the folder; makes it when it is missing.
    pub fn open(root: &Path) -> Result<Self> {
        platform::create_private_dir_all(root).map_err(|error| Error::file("make", root, &error))?;
        let mut notes: HashMap<String, Vec<PathBuf>> = HashMap::new();
        for path in notes_below(root)? {
            if let Some(id) = memory_of(&path) {
                notes.entry(id).or_default().push(path);
            }
        }
        Ok(Self { root: root.to_owned(), notes })
    }

    /// The note of a memory to which a person gave its name: the only one of the memory. It stays where it is.
    fn named_by_hand(&self, id: &str) -> Option<&PathBuf> {
        let [place] = self.notes.get(id)?.as_slice() else { return None };
        let is_of_export = place.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(id));
        (!is_of_export).then_some(place)
    }

    /// The name of a memory's note without its ending, for links to it.
    pub fn stem_of(&self, title: &str, id: &str) -> String {
        let own = self.named_by_hand(id).and_then(|place| place.file_stem());
        own.map_or_else(|| note::stem(title, id), |stem| stem.to_string_lossy().into_owned())
    }

    /// Where an export puts this note of a memory.
    fn place_of(&self, note: &Note, id: &str) -> PathBuf {
        let [project, title] = [&note.project, &note.title].map(|text| text.as_deref().unwrap_or_default());
        self.root.join(folder_of(project)).join(format!("{}.md", note::stem(title, id)))
    }

    /// What keeps a note from its place, below the folder of the export: a link, or anything else that is no folder.
    fn obstacle_to(&self, place: &Path) -> Option<PathBuf> {
        let folders = place.ancestors().skip(1).take_while(|folder| *folder != self.root);
        let is_other = |folder: &&Path| fs::symlink_metadata(folder).is_ok_and(|found| !found.is_dir());
        folders.filter(is_other).last().map(Path::to_owned)
    }

    /// Notes what keeps notes from their place, once for all notes.
    fn is_kept_from(&self, place: &Path, report: &mut NotesReport) -> bool {
        let Some(obstacle) = self.obstacle_to(place) else { return false };
        if !report.skipped.iter().any(|(path, _)| *path == obstacle) {
            report.skip(&obstacle, NO_FOLDER);
        }
        true
    }

    /// Whether an export put the note there. With version 0.1.0, two projects could share a folder.
    fn is_placed(&self, note: &Note, id: &str, path: &Path) -> bool {
        let place = self.place_of(note, id);
        let former = || {
            let project = note.project.as_deref().filter(|project| !project.is_empty()).unwrap_or(PERSONAL);
            let folder: PathBuf = project.split('/').map(cut).collect();
            place.file_name().map(|name| self.root.join(folder).join(name))
        };
        place == path || former().is_some_and(|former| former == path)
    }

    /// Puts the text of a memory's note in its place, and takes the one away that an earlier export put
    /// elsewhere, because project or title were others then. While any note of the memory holds a change
    /// that was not imported, nothing is written.
    pub fn put_memory(&self, id: &str, text: &str, report: &mut NotesReport) -> Result<()> {
        let Ok(Some(new)) = note::parse(text) else {
            return Err(Error::internal(format!("the note of memory {id} cannot be read back")));
        };
        let own = self.named_by_hand(id);
        let target = own.cloned().unwrap_or_else(|| self.place_of(&new, id));
        if self.is_kept_from(&target, report) {
            return Ok(());
        }
        let mut places = self.notes.get(id).cloned().unwrap_or_default();
        if !places.contains(&target) {
            places.push(target.clone());
        }
        let (mut ours, mut copies, mut is_free) = (Vec::new(), Vec::new(), true);
        for place in places {
            let why = match look(&place) {
                Found::Nothing => continue,
                Found::Other => IN_THE_WAY.to_owned(),
                Found::Text(present) => match note::standing(&present, id, &new) {
                    Standing::Ours(note) if own.is_some() && has_more(&note, &new) => SECRET.to_owned(),
                    Standing::Ours(note) if place == target || self.is_placed(&note, id, &place) => {
                        ours.push((place, present));
                        continue;
                    }
                    Standing::Ours(_) => {
                        copies.push((place, present));
                        continue;
                    }
                    Standing::Edited => EDITED.to_owned(),
                    Standing::Unreadable(why) => format!("{why}; correct it, or give the file another name"),
                    Standing::Foreign => IN_THE_WAY.to_owned(),
                },
            };
            report.skip(&place, why);
            is_free = false;
        }
        if is_free
            && ours.is_empty()
            && copies.len() == 1
            && copies.iter().all(|(place, _)| is_retitled(place, id, &target))
        {
            ours.append(&mut copies);
        }
        for (copy, _) in copies {
            report.skip(&copy, COPY);
        }
        if !is_free {
            return Ok(());
        }
        let text = ours.iter().fold(text.to_owned(), |text, (_, old)| note::with_additions(&text, old));
        let present = ours.iter().find(|(place, _)| *place == target).map(|(_, present)| present.as_str());
        let kind = if own.is_some() { Kind::Persons } else { NOTE };
        if !put(&target, &text, present, kind, "memories", report)? {
            return Ok(());
        }
        for (old, _) in ours.iter().filter(|(place, _)| *place != target) {
            fs::remove_file(old).map_err(|error| Error::file("remove", old, &error))?;
        }
        Ok(())
    }

    /// Puts the text of a session's note in its place.
    pub fn put_session(&self, stem: &str, id: &str, text: &str, report: &mut NotesReport) -> Result<()> {
        let path = self.root.join(SESSIONS).join(format!("{stem}.md"));
        if self.is_kept_from(&path, report) {
            return Ok(());
        }
        let present = match look(&path) {
            Found::Nothing => None,
            Found::Text(present) if note::is_untouched_session(&present, id, text) => Some(present),
            Found::Text(present) if note::is_session(&present) => {
                report.skip(&path, SESSION_EDITED);
                return Ok(());
            }
            Found::Text(_) | Found::Other => {
                report.skip(&path, IN_THE_WAY);
                return Ok(());
            }
        };
        put(&path, text, present.as_deref(), NOTE, "sessions", report).map(drop)
    }
}

/// Whether a note that was imported has something that its memory lacks, because it was redacted.
fn has_more(note: &Note, new: &Note) -> bool {
    note.content != new.content && redact::redact(&note.content).count > 0
}

/// Whether a file is where an export put the note of a memory, whose title was changed in the file since.
fn is_retitled(path: &Path, id: &str, target: &Path) -> bool {
    let is_of_export =
        path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(&format!("-{id}")));
    is_of_export && path.parent() == target.parent()
}

/// Writes a text to a new file or in place of the present text. Returns whether the file contains it now.
fn put(
    path: &Path,
    text: &str,
    present: Option<&str>,
    kind: Kind,
    what: &'static str,
    report: &mut NotesReport,
) -> Result<bool> {
    if present == Some(text) {
        report.count("unchanged");
        return Ok(true);
    }
    let fault = |error: io::Error| Error::file("write", path, &error);
    if let Some(folder) = path.parent() {
        platform::create_private_dir_all(folder).map_err(fault)?;
    }
    let written = match present {
        Some(_) => durable::write(path, kind, text.as_bytes()),
        None => durable::create(path, kind, text.as_bytes()),
    };
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            report.skip(path, IN_THE_WAY);
            return Ok(false);
        }
        written => written.map_err(fault)?,
    }
    report.count(what);
    Ok(true)
}

fn look(path: &Path) -> Found {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Found::Nothing,
        Ok(found) if found.is_file() => read(path).map_or(Found::Other, Found::Text),
        _ => Found::Other,
    }
}

/// The text of a file that is not too large for a note.
fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = fs::File::open(path).ok()?.take(NOTE_BYTES_MAX + 1).read_to_string(&mut text);
    read.is_ok_and(|bytes| bytes as u64 <= NOTE_BYTES_MAX).then_some(text)
}

/// The memory to which a file claims to belong. If its front matter cannot be read, the end of its name decides.
fn memory_of(path: &Path) -> Option<String> {
    match note::parse(&read(path)?) {
        Ok(note) => note?.id,
        Err(_) => {
            let stem = path.file_stem()?.to_string_lossy().into_owned();
            let id = MemoryId::parse(stem.rsplit('-').next()?).ok()?;
            Some(id.as_str().to_owned())
        }
    }
}

/// Longest part of a name in a path segment, in characters and in bytes. File systems take at most 255 bytes.
const SEGMENT_CHARS_MAX: usize = 100;
const SEGMENT_BYTES_MAX: usize = 240;
/// How much of a digest is in a path segment, in bytes; written with two characters each.
const DIGEST_BYTES: usize = 4;

/// The folder of a project's notes, below that of the export; without a project, of personal ones. No two projects have
/// the same one.
pub fn folder_of(project: &str) -> PathBuf {
    if project.is_empty() {
        return PathBuf::from(PERSONAL);
    }
    let is_taken = |(at, part): (usize, &str)| at == 0 && Project::RESERVED.contains(&part);
    let segment = |(at, part)| {
        let name = cut(part);
        // A digest tells apart what has the same beginning, or would be in a folder that is not a project's.
        if name == part && !is_taken((at, part)) {
            return name;
        }
        format!("{name}-{}", text::hex(&Sha256::digest(part)[..DIGEST_BYTES]))
    };
    project.split('/').enumerate().map(segment).collect()
}

/// The project of a new note in a folder of an export; `None` for the export's own folder. If the folder's name has a
/// digest, an exported note in it names the project.
pub fn project_of(root: &Path, folder: &Path) -> Option<String> {
    let name = folder.display().to_string();
    let has_digest = |part: &str| {
        let digest = part.rsplit_once('-').map(|(_, digest)| digest);
        digest
            .is_some_and(|digest| digest.len() == 2 * DIGEST_BYTES && u32::from_str_radix(digest, 16).is_ok())
    };
    let exported = || {
        fs::read_dir(root.join(folder)).ok()?.flatten().find_map(|entry| {
            let note = note::parse(&read(&entry.path())?).ok()??;
            note.project.filter(|project| folder_of(project) == folder)
        })
    };
    let said = if name.split('/').any(has_digest) { exported() } else { None };
    said.or_else(|| (!name.is_empty()).then_some(name))
}

/// A part of a project's name, as far as it is valid as a path segment on every file system.
fn cut(part: &str) -> String {
    let plain: String = part
        .chars()
        .map(|c| if c.is_control() || "\\:*?\"<>|".contains(c) { '-' } else { c })
        .take(SEGMENT_CHARS_MAX)
        .collect();
    match text::cut_bytes(plain.trim_start_matches('.'), SEGMENT_BYTES_MAX) {
        "" => "general".to_owned(),
        name => name.to_owned(),
    }
}

/// The notes below a folder, in order; hidden folders are the editor's own.
pub fn notes_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| Error::file("read", &folder, &error))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !hidden && depth < DEPTH_MAX {
                folders.push((path, depth + 1));
            } else if kind.is_file() && !hidden && path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::answer::portable::Memory;

    const ID: &str = "abcdefghij27";

    fn memory(title: &str, content: &str) -> Memory {
        Memory {
            id: ID.into(),
            title: title.into(),
            content: content.into(),
            project: "acme/pay".into(),
            kind: "manual".into(),
            revision: 1,
            ..Memory::default()
        }
    }

    /// Exports one memory; gives the names of the files that were left alone, and how many were written.
    fn export(root: &Path, memory: &Memory) -> (Vec<String>, u64) {
        let mut report = NotesReport::default();
        Vault::open(root).unwrap().put_memory(ID, &note::render(memory, &[]), &mut report).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let left = report.skipped.iter().map(|(path, _)| name(path)).collect();
        (left, report.counts.get("memories").copied().unwrap_or_default())
    }

    fn text(root: &Path, name: &str) -> Option<String> {
        fs::read_to_string(root.join("acme/pay").join(name)).ok()
    }

    #[test]
    fn a_project_with_a_long_name_of_wide_characters_has_a_folder() {
        let temp = tempfile::tempdir().unwrap();
        let memory = Memory { project: "日".repeat(200).as_str().into(), ..memory("Wide", "Text.") };
        assert_eq!(export(temp.path(), &memory), (vec![], 1));
        assert_eq!(export(temp.path(), &memory), (vec![], 0));
    }

    #[test]
    fn no_two_projects_share_a_folder() {
        let long = "p".repeat(150);
        let names = [
            format!("{long}/a"),
            format!("{long}x/a"),
            format!("{long}/b"),
            format!("a/{long}1"),
            format!("a/{long}2"),
            "日".repeat(199),
            "日".repeat(200),
            "a:b".to_owned(),
            "a*b".to_owned(),
            "a-b".to_owned(),
            ".a".to_owned(),
            "..".to_owned(),
            "general".to_owned(),
            String::new(),
            PERSONAL.to_owned(),
            SESSIONS.to_owned(),
            format!("{SESSIONS}/of/mine"),
        ];
        let folders: Vec<PathBuf> = names.iter().map(|name| folder_of(name)).collect();
        for (at, folder) in folders.iter().enumerate() {
            assert!(!folders[..at].contains(folder), "{folder:?}");
            let is_valid = |part: std::path::Component<'_>| part.as_os_str().len() <= 255;
            assert!(folder.is_relative() && folder.components().all(is_valid), "{folder:?}");
        }
        assert_eq!((folders[13].as_path(), folder_of("acme/pay")), (Path::new(PERSONAL), "acme/pay".into()));
    }

    #[test]
    fn notes_of_projects_that_shared_a_folder_part_and_new_ones_beside_them_know_their_project() {
        let temp = tempfile::tempdir().unwrap();
        let project = format!("{}/pay", "p".repeat(150));
        let memory = Memory { project: project.as_str().into(), ..memory("Old", "Text.") };
        // Where version 0.1.0 put it.
        let former = temp.path().join("p".repeat(SEGMENT_CHARS_MAX)).join("pay").join(format!("old-{ID}.md"));
        fs::create_dir_all(former.parent().unwrap()).unwrap();
        fs::write(&former, note::render(&memory, &[])).unwrap();
        assert_eq!(export(temp.path(), &memory), (vec![], 1));
        assert!(!former.exists());
        let folder = folder_of(&project);
        assert!(temp.path().join(&folder).join(format!("old-{ID}.md")).is_file());
        fs::write(temp.path().join(&folder).join("aa-new.md"), "A new note.\n").unwrap();
        assert_eq!(project_of(temp.path(), &folder), Some(project));
        let unknown = Path::new("acme-00112233");
        assert_eq!(project_of(temp.path(), unknown), Some("acme-00112233".to_owned()));
        assert_eq!(project_of(temp.path(), Path::new("")), None);
    }

    #[test]
    fn an_unchanged_note_moves_with_its_memory() {
        let temp = tempfile::tempdir().unwrap();
        let (old, new) = (format!("old-{ID}.md"), format!("new-{ID}.md"));
        assert_eq!(export(temp.path(), &memory("Old", "Text.")), (vec![], 1));
        assert_eq!(export(temp.path(), &memory("Old", "Text.")), (vec![], 0));
        assert_eq!(export(temp.path(), &memory("New", "Text.")), (vec![], 1));
        assert!(text(temp.path(), &old).is_none() && text(temp.path(), &new).is_some());
    }

    #[test]
    fn a_note_whose_title_was_changed_by_hand_and_imported_is_no_copy() {
        let temp = tempfile::tempdir().unwrap();
        let (old, new) = (format!("old-{ID}.md"), format!("new-{ID}.md"));
        assert_eq!(export(temp.path(), &memory("Old", "Text.")), (vec![], 1));
        // The import of a changed note leaves it under its name, with a digest that fits.
        fs::write(temp.path().join("acme/pay").join(&old), note::render(&memory("New", "Text."), &[]))
            .unwrap();
        assert_eq!(export(temp.path(), &memory("New", "Text.")), (vec![], 1));
        assert!(text(temp.path(), &old).is_none() && text(temp.path(), &new).is_some());
        assert_eq!(export(temp.path(), &memory("New", "Text.")), (vec![], 0));
    }

    #[test]
    fn a_note_made_by_hand_stays_the_only_one_of_its_memory() {
        let temp = tempfile::tempdir().unwrap();
        let mine = temp.path().join("My idea.md");
        fs::write(&mine, note::placed("Text.\n", ID, 1)).unwrap();
        fs::set_permissions(&mine, Permissions::from_mode(0o640)).unwrap();
        for title in ["My idea", "Other"] {
            assert_eq!(export(temp.path(), &memory(title, "Text.")), (vec![], 1));
            assert_eq!(fs::metadata(&mine).unwrap().permissions().mode() & 0o777, 0o640);
            assert_eq!(notes_below(temp.path()).unwrap(), std::slice::from_ref(&mine));
            assert!(fs::read_to_string(&mine).unwrap().contains(&format!("title: \"{title}\"")));
            assert_eq!(Vault::open(temp.path()).unwrap().stem_of(title, ID), "My idea");
        }
    }

    #[test]
    fn nothing_but_an_unchanged_note_in_its_place_is_touched() {
        for (name, put) in [
            (format!("zz-thoughts-on-{ID}.md"), "my own thoughts".to_owned()),
            (format!("zz-copy-{ID}.md"), note::render(&memory("Old", "Text."), &[])),
            (format!("old-{ID}.md"), note::render(&memory("Old", "Text."), &[]).replace("Text.", "Edited.")),
            (format!("old-{ID}.md"), "---\nno property\n---\n".to_owned()),
            (format!("new-{ID}.md"), "mine".to_owned()),
        ] {
            let temp = tempfile::tempdir().unwrap();
            export(temp.path(), &memory("Old", "Text."));
            fs::write(temp.path().join("acme/pay").join(&name), &put).unwrap();
            let (left, written) = export(temp.path(), &memory("New", "Text."));
            assert_eq!(text(temp.path(), &name).as_ref(), Some(&put), "{name}");
            // Only a file that is in the way is reported.
            let is_in_the_way = !name.starts_with("zz-thoughts");
            assert_eq!(left, if is_in_the_way { vec![name.clone()] } else { vec![] }, "{name}");
            assert_eq!(written, u64::from(name.starts_with("zz")), "{name}");
        }
    }
}
