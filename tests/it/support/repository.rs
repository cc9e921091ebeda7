//! Git repositories to work in.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::finish;

/// A repository with one commit.
pub struct Repository {
    path: PathBuf,
}

impl Repository {
    /// Makes one at `path`.
    pub fn init(path: &Path) -> Self {
        std::fs::create_dir_all(path).unwrap();
        let repository = Self { path: path.to_owned() };
        repository.git(&["init", "-q", "-b", "main"]);
        repository.commit("start");
        repository
    }

    /// The folder of the repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the remote `origin`.
    pub fn origin(&self, url: &str) {
        self.git(&["config", "remote.origin.url", url]);
    }

    /// Adds a linked worktree at `path`.
    pub fn worktree(&self, path: &Path) {
        self.git(&["worktree", "add", "-q", "--detach", path.to_str().unwrap()]);
    }

    /// Makes another commit, which changes no file.
    pub fn commit(&self, message: &str) {
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command
            .current_dir(&self.path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .args(["-c", "user.name=Tester", "-c", "user.email=tester@example.org"])
            .args(args);
        finish(&mut command).success();
    }
}
