//! Which files of a folder are documents. The only part of this crate that accesses a file system.

use std::path::{Path, PathBuf};

use crate::Format;

/// Most files of a folder that are examined.
const FILES_MAX: usize = 20_000;

/// The readable files below a folder, in order of their paths; messages about what could not be accessed; and
/// whether there are more files than are examined. Skips hidden files, links, and what `.gitignore` and similar
/// files exclude.
pub fn files(folder: &Path) -> (Vec<PathBuf>, Vec<String>, bool) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let walk = ignore::WalkBuilder::new(folder).require_git(false).sort_by_file_path(Path::cmp).build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                if Format::of(entry.path()).is_some() {
                    if found.len() == FILES_MAX {
                        return (found, errors, true);
                    }
                    found.push(entry.into_path());
                }
            }
            Ok(_) => {}
            Err(error) => errors.push(error.to_string()),
        }
    }
    (found, errors, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it makes the files that are to be found")]
    fn ignored_hidden_and_unknown_files_are_left_out() {
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
        let (found, errors, more) = files(folder.path());
        assert_eq!(found, [folder.path().join("a/c.txt"), folder.path().join("b.md")]);
        assert!(errors.is_empty() && !more, "{errors:?}");
    }
}
