//! Which files of a folder are documents. The one part of this crate that looks at a file system.

use std::path::{Path, PathBuf};

use crate::Format;

/// How many files of a folder are looked at.
const FILES_MAX: usize = 20_000;

/// The files below a folder that can be read, in order of their paths, and whether there are more than are looked at.
/// What `.gitignore` and its like leave out, what is hidden, and what a link leads to is not among them.
/// What could not be looked at is told in words beside what could.
pub fn files(folder: &Path) -> (Vec<PathBuf>, Vec<String>, bool) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let walk = ignore::WalkBuilder::new(folder).require_git(false).sort_by_file_path(Path::cmp).build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                if Format::of(entry.path()).is_some() {
                    if found.len() == FILES_MAX {
                        return (found, faults, true);
                    }
                    found.push(entry.into_path());
                }
            }
            Ok(_) => {}
            Err(error) => faults.push(error.to_string()),
        }
    }
    (found, faults, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it makes the files that are to be found")]
    fn what_is_ignored_hidden_or_of_no_format_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".gitignore", "build/\n*.log\n");
        for name in ["b.md", "a/c.txt", "build/d.md", "e.log", ".hidden/f.md", "g.bin"] {
            write(name, "text");
        }
        let (found, faults, more) = files(folder.path());
        assert_eq!(found, [folder.path().join("a/c.txt"), folder.path().join("b.md")]);
        assert!(faults.is_empty() && !more, "{faults:?}");
    }
}
