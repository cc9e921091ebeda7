//! Records which folder had which project. A repository that gets a remote or is moved gets another project name, but
//! its memories stay under the old one. From this record Cerebro can say where they are. Without it, only that hint is
//! missing.
//!
//! The paths belong to one machine, so the record is a file in the home and not in the database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::daemon::hello::Hello;
use crate::home::{Home, user_home};
use crate::platform;
use crate::project_dir::{self, ProjectFolder};
use cerebro_durable as durable;
use cerebro_service::looks;

/// Most recorded folders. If there are more, the oldest is dropped.
const FOLDERS_MAX: usize = 1_000;
/// Most bytes of the file that are read.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long recording may take. The project is known already, and a starting agent does not wait for long.
const LOOK_MAX: Duration = Duration::from_millis(500);
/// Most former projects that are named.
const FORMER_MAX: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedFolder {
    folder: PathBuf,
    project: String,
    #[serde(default)]
    marks: Vec<String>,
}

/// The folders, the latest at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Folders(Vec<RecordedFolder>);

impl Folders {
    /// Reads the file. If it is missing or unreadable, the record is empty.
    fn read(path: &Path) -> Self {
        let bytes = platform::read_file(path, FILE_BYTES_MAX).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The former projects of a folder, the latest first. `is_there` says whether another folder still exists: then the
    /// repository was copied, not moved.
    fn former(&self, place: &ProjectFolder, is_there: impl Fn(&Path) -> bool) -> Vec<String> {
        let mut former: Vec<String> = Vec::new();
        for recorded in self.0.iter().rev().filter(|recorded| recorded.project != place.project.as_str()) {
            let is_here = recorded.folder == place.folder;
            let is_moved = !is_here
                && recorded.marks.iter().any(|mark| place.marks.contains(mark))
                && !is_there(&recorded.folder);
            if (is_here || is_moved) && !former.contains(&recorded.project) {
                former.push(recorded.project.clone());
            }
        }
        former.truncate(FORMER_MAX);
        former
    }

    /// Records a folder. Returns whether the record changed.
    fn note(&mut self, place: &ProjectFolder) -> bool {
        let recorded = RecordedFolder {
            folder: place.folder.clone(),
            project: place.project.as_str().to_owned(),
            marks: place.marks.clone(),
        };
        if self.0.contains(&recorded) {
            return false;
        }
        self.0.retain(|other| (&other.folder, &other.project) != (&recorded.folder, &recorded.project));
        self.0.push(recorded);
        let over = self.0.len().saturating_sub(FOLDERS_MAX);
        self.0.drain(..over);
        true
    }
}

/// Adds the former projects of the client's folder to its hello, and records the folder. If the folder or the home does
/// not answer in time, adds none.
pub async fn with_former_projects(hello: Hello, home: &Home) -> Hello {
    let Some(folder) = hello.folder().filter(|_| hello.project.is_none()).cloned() else { return hello };
    let file = home.folders_file();
    let at = folder.clone();
    let found = looks::within(&at, LOOK_MAX, move || {
        let place = project_dir::project_folder(&folder, user_home().as_deref());
        let mut folders = Folders::read(&file);
        let former = folders.former(&place, Path::exists);
        // If two clients write at the same time, one record is lost until that client starts again.
        if !place.marks.is_empty() && folders.note(&place) {
            let written = serde_json::to_vec(&folders).map_err(std::io::Error::from);
            if let Err(error) =
                written.and_then(|bytes| durable::write(&file, durable::Kind::Derived, &bytes))
            {
                tracing::debug!(%error, "cannot record the folder's project");
            }
        }
        former
    });
    Hello { former: found.await.unwrap_or_default(), ..hello }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_core::domain::Project;

    fn place(folder: &str, project: &str, marks: &[&str]) -> ProjectFolder {
        ProjectFolder {
            project: Project::parse(project).unwrap(),
            folder: PathBuf::from(folder),
            marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        }
    }

    #[test]
    fn a_folder_that_got_another_name_is_known_by_its_old_one() {
        let mut folders = Folders::default();
        assert!(folders.note(&place("/src/app", "app-1a2b", &["c1"])));
        assert!(!folders.note(&place("/src/app", "app-1a2b", &["c1"])), "no news");
        let with_remote = place("/src/app", "acme/app", &["c1"]);
        assert_eq!(folders.former(&with_remote, |_| true), ["app-1a2b"]);
        assert!(folders.note(&with_remote));
        assert_eq!(folders.former(&with_remote, |_| true), ["app-1a2b"], "also later");
        assert_eq!(folders.former(&place("/src/other", "other", &["c2"]), |_| false), Vec::<String>::new());
    }

    #[test]
    fn a_repository_that_was_moved_is_known_and_a_copy_is_not() {
        let mut folders = Folders::default();
        folders.note(&place("/old/app", "app-1a2b", &["c1"]));
        let moved = place("/new/app", "app-3c4d", &["c1"]);
        assert_eq!(folders.former(&moved, |_| false), ["app-1a2b"]);
        assert_eq!(folders.former(&moved, |_| true), Vec::<String>::new());
    }

    #[test]
    fn the_oldest_folder_is_forgotten() {
        let mut folders = Folders::default();
        for n in 0..=FOLDERS_MAX {
            folders.note(&place(&format!("/src/{n}"), "demo", &["c"]));
        }
        assert_eq!((folders.0.len(), folders.0[0].folder.as_path()), (FOLDERS_MAX, Path::new("/src/1")));
    }
}
