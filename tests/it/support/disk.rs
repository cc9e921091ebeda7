//! A small disk of its own for a test that fills one, or that needs one it may not write to.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Home, skip};

/// A small disk mounted for one test; unmounted when it is dropped.
pub struct Disk<'a> {
    home: &'a Home,
    path: PathBuf,
}

impl<'a> Disk<'a> {
    /// Mounts one at the folder `name` of `home`; skips the test where that is not allowed.
    pub fn mount(home: &'a Home, name: &str, options: &str) -> Option<Self> {
        let path = home.folder(name);
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "cerebro-it"]).arg(&path).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { home, path }),
            Ok(output) => {
                skip(&format!("cannot mount a small disk: {}", String::from_utf8_lossy(&output.stderr)));
                None
            }
            Err(e) => {
                skip(&format!("cannot mount a small disk: {e}"));
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        self.home.end();
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}
