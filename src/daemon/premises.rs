//! Checks whether the home is still the folder that this process opened.
//!
//! Somebody may remove or replace the folder while the daemon runs. The open files then exist without a name: every
//! write would succeed, be acknowledged and be lost.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::lock::Lock;
use crate::home::Home;
use crate::platform::{self, FileIdentity};

/// The home was removed or replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} was removed or replaced while the daemon had it open. Nothing of this call was stored; the daemon ends, and \
     the next call starts one on the present folder: make the same call again", .0.display()
)]
pub struct HomeGone(PathBuf);

/// The identity of this home, to distinguish it from another one at the same path.
#[derive(Debug)]
pub struct Premises {
    home: Home,
    lock: FileIdentity,
    /// The store's folder, once it is open.
    store: OnceLock<FileIdentity>,
}

impl Premises {
    /// The premises of the home to which `lock` belongs.
    pub fn new(home: &Home, lock: &Lock) -> io::Result<Self> {
        Ok(Self { home: home.clone(), lock: lock.identity()?, store: OnceLock::new() })
    }

    /// Records that the home's own store is open. From now on it is checked, too.
    pub fn store_is_open(&self) {
        if let Some(identity) = platform::file_identity(&self.home.store_dir()) {
            // If it is set already, it is the same folder.
            let _ = self.store.set(identity);
        }
    }

    /// Checks that nothing was removed or replaced: at most three accesses to the file system, a few microseconds.
    pub fn check(&self) -> Result<(), HomeGone> {
        let is_same = |path: &Path, identity| platform::file_identity(path) == Some(identity);
        let gone = |path: PathBuf| Err(HomeGone(path));
        let Self { home, lock, store } = self;
        if !is_same(&home.lock_file(), *lock) {
            return gone(home.lock_file());
        }
        let Some(store) = store.get() else { return Ok(()) };
        // Which other files the database uses is known only to the engine.
        if !is_same(&home.store_dir(), *store) || !home.store_dir().join("CURRENT").exists() {
            return gone(home.store_dir());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::lock::Use;
    use super::*;

    fn furnished(home: &Home) {
        fs::create_dir_all(home.store_dir()).unwrap();
        fs::write(home.store_dir().join("CURRENT"), "MANIFEST").unwrap();
    }

    /// The ways in which a home can change.
    type Change = (&'static str, fn(&Home));

    #[test]
    fn whatever_is_gone_or_another_is_noticed() {
        let ways: [Change; 5] = [
            ("home removed", |home| fs::remove_dir_all(home.root()).unwrap()),
            ("lock removed", |home| fs::remove_file(home.lock_file()).unwrap()),
            ("lock replaced", |home| {
                let other = home.root().join("other");
                fs::write(&other, "").unwrap();
                fs::rename(other, home.lock_file()).unwrap();
            }),
            ("store replaced", |home| {
                fs::rename(home.store_dir(), home.root().join("old")).unwrap();
                furnished(home);
            }),
            ("store emptied", |home| fs::remove_file(home.store_dir().join("CURRENT")).unwrap()),
        ];
        for (what, happens) in ways {
            let temp = tempfile::tempdir().unwrap();
            let home = Home::open(Some(&temp.path().join("h"))).unwrap();
            let lock = Lock::take(&home, Use::Daemon).unwrap();
            let premises = Premises::new(&home, &lock).unwrap();
            assert_eq!(premises.check(), Ok(()), "without a store of its own");
            furnished(&home);
            premises.store_is_open();
            assert_eq!(premises.check(), Ok(()));
            happens(&home);
            assert!(premises.check().is_err(), "{what}");
        }
    }
}
