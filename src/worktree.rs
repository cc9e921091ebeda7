//! Examines the folder in which an agent works: its commit, its branch, and the contents of its files.
//!
//! It does not run `git` and does not block on a pipe. The caller bounds the time, because a file system may not
//! answer.

use std::fs;
use std::path::{Path, PathBuf};

use cerebro_core::text::hex;
use sha2::{Digest, Sha256};

use crate::platform;

/// Largest file whose content is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many bytes of a digest are used.
const DIGEST_BYTES: usize = 8;

/// The present commit of the repository that contains a folder, in hex.
pub fn commit(folder: &Path) -> Option<String> {
    let git_dir = folder.ancestors().find_map(git_dir)?;
    let head = text(&git_dir.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return is_commit(head.trim()) };
    let common = common_dir(&git_dir).unwrap_or_else(|| git_dir.clone());
    // A name that leads out of the repository is invalid.
    if name.split('/').any(|part| part.is_empty() || part == "..") {
        return None;
    }
    let loose = [&git_dir, &common].into_iter().find_map(|dir| text(&dir.join(name)));
    if let Some(loose) = loose {
        return is_commit(loose.trim());
    }
    let packed = text(&common.join("packed-refs"))?;
    let line = packed.lines().find_map(|line| line.strip_suffix(name)?.strip_suffix(' '));
    line.and_then(is_commit)
}

/// The checked-out branch of the worktree that begins at a folder; `None` for a commit or no repository.
pub fn branch(root: &Path) -> Option<String> {
    let head = text(&git_dir(root)?.join("HEAD"))?;
    head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The folder with Git's own files of the worktree that begins at a folder.
pub fn git_dir(folder: &Path) -> Option<PathBuf> {
    let entry = folder.join(".git");
    if fs::metadata(&entry).ok()?.is_dir() {
        return Some(entry);
    }
    // A linked worktree, a submodule, or a repository in another folder.
    Some(folder.join(text(&entry)?.strip_prefix("gitdir:")?.trim()))
}

/// The folder with Git's files that a linked worktree shares with the others; `None` for any other worktree.
pub fn common_dir(git_dir: &Path) -> Option<PathBuf> {
    Some(git_dir.join(text(&git_dir.join("commondir"))?.trim()))
}

fn is_commit(text: &str) -> Option<String> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && matches!(text.len(), 40 | 64)).then(|| text.to_ascii_lowercase())
}

/// The beginning of a file's SHA-256 in hex; `None` if it is missing, not a file, or too large.
pub fn digest(path: &Path) -> Option<String> {
    let bytes = platform::read_file(path, FILE_BYTES_MAX).ok()?;
    Some(hex(&Sha256::digest(bytes)[..DIGEST_BYTES]))
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(platform::read_file(path, FILE_BYTES_MAX).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_commit_is_read_without_git() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join(".git");
        let below = temp.path().join("src/deep");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(commit(&below), None);
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        assert_eq!(commit(&below), None, "a branch without a commit");
        write(&git.join("packed-refs"), &format!("# pack\n{COMMIT} refs/heads/main\n"));
        assert_eq!(commit(&below).as_deref(), Some(COMMIT));
        let other = COMMIT.replace('0', "f");
        write(&git.join("refs/heads/main"), &format!("{other}\n"));
        assert_eq!(commit(&below), Some(other));
        write(&git.join("HEAD"), COMMIT);
        assert_eq!(commit(&below).as_deref(), Some(COMMIT));
        for odd in ["", "ref: ", "ref: ../../secret", "ref: /etc/passwd", "zz", "0123"] {
            write(&git.join("HEAD"), odd);
            assert_eq!(commit(&below), None, "{odd}");
        }
    }

    #[test]
    fn a_worktree_has_its_own_head_and_shares_the_branches() {
        let temp = tempfile::tempdir().unwrap();
        let main = temp.path().join("main/.git");
        write(&main.join("worktrees/w/HEAD"), "ref: refs/heads/w\n");
        write(&main.join("worktrees/w/commondir"), "../..\n");
        write(&main.join("refs/heads/w"), COMMIT);
        let tree = temp.path().join("w");
        write(&tree.join(".git"), &format!("gitdir: {}\n", main.join("worktrees/w").display()));
        assert_eq!(commit(&tree).as_deref(), Some(COMMIT));
        assert_eq!(branch(&tree).as_deref(), Some("w"));
        write(&main.join("worktrees/w/HEAD"), COMMIT);
        assert_eq!((branch(&tree), branch(temp.path())), (None, None));
    }

    #[test]
    fn a_digest_is_of_a_file_that_can_be_looked_at() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        assert_eq!(digest(&path), None);
        write(&path, "abc");
        assert_eq!(digest(&path).as_deref(), Some("ba7816bf8f01cfea"));
        assert_eq!(digest(temp.path()), None, "a folder");
        fs::File::create(&path).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        assert_eq!(digest(&path), None, "too large");
    }
}
