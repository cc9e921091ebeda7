//! Counts the events that hooks could not report because no daemon answered: how many and when, never what.
//!
//! The next hook of the session that reaches a daemon reports them as a gap. Each session has one file in the home,
//! with one line per event. Concurrent hooks can append to it without waiting for each other.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerebro_core::domain::Timestamp;
use cerebro_core::text::hex;
use cerebro_ledger::Step;
use sha2::{Digest, Sha256};

/// The folder of the files, in the home.
pub const FOLDER: &str = "missed";
/// Most sessions with such a file, and how long the file of a session that never came back is stored.
const FILES_MAX: usize = 64;
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Largest file: about 4,600 events. Further ones are not counted.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Records that an event of a session could not be reported.
///
/// # Errors
/// When the file cannot be written.
pub fn note(home: &Path, session: &str, now: Timestamp) -> io::Result<()> {
    let folder = home.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let path = path_of(home, session);
    if !path.exists() && !has_room(&folder)? {
        return Ok(());
    }
    // Appended, so that no line of a concurrent hook is lost. Not synced, because it is only a count.
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.metadata()?.len() < FILE_BYTES_MAX {
        file.write_all(format!("{}\n", now.as_millisecond()).as_bytes())?;
    }
    Ok(())
}

/// Whether there is room for another session. Removes the files of sessions that never came back.
fn has_room(folder: &Path) -> io::Result<bool> {
    let files: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    if files.len() < FILES_MAX {
        return Ok(true);
    }
    let old: Vec<&PathBuf> = files.iter().filter(|file| cerebro_durable::is_older(file, AGE_MAX)).collect();
    for file in &old {
        fs::remove_file(file)?;
    }
    Ok(files.len() - old.len() < FILES_MAX)
}

/// Takes a session's missed events out of its file. The caller must call [`Taken::done`] or [`Taken::give_back`].
pub fn take(home: &Path, session: &str) -> Option<Taken> {
    let path = path_of(home, session);
    let claimed = path.with_extension(std::process::id().to_string());
    // Of two concurrent hooks, only one succeeds.
    fs::rename(&path, &claimed).ok()?;
    let text = fs::read_to_string(&claimed).unwrap_or_default();
    Some(Taken { path, claimed, text })
}

fn path_of(home: &Path, session: &str) -> PathBuf {
    home.join(FOLDER).join(hex(&Sha256::digest(session)[..16]))
}

/// Missed events that one hook has taken and will report.
#[derive(Debug)]
pub struct Taken {
    path: PathBuf,
    claimed: PathBuf,
    text: String,
}

impl Taken {
    /// The gap as a step; `None` if the file has no valid lines.
    pub fn step(&self) -> Option<Step> {
        let moments: Vec<i64> = self.text.lines().filter_map(|line| line.parse().ok()).collect();
        let at = |moment: Option<&i64>| Timestamp::from_millisecond(*moment?).ok();
        Some(Step::Gap {
            from: at(moments.iter().min())?,
            to: at(moments.iter().max())?,
            count: Some(moments.len() as u64),
            reason: "no daemon answered".to_owned(),
            filled: false,
        })
    }

    /// Removes them, because they were reported.
    pub fn done(self) {
        // If this fails, the file is removed when it is old.
        let _ = fs::remove_file(&self.claimed);
    }

    /// Returns them to the file, because they could not be reported. The next hook takes them together with newer ones.
    pub fn give_back(self) {
        let put = || -> io::Result<()> {
            let mut file = OpenOptions::new().append(true).create(true).open(&self.path)?;
            // Newer ones may be in it by now. Those that have no room are not counted.
            let room = FILE_BYTES_MAX.saturating_sub(file.metadata()?.len());
            let fits = usize::try_from(room).unwrap_or(usize::MAX).min(self.text.len());
            let end =
                self.text.as_bytes()[..fits].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            file.write_all(&self.text.as_bytes()[..end])
        };
        if put().is_ok() {
            self.done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    #[test]
    fn what_was_missed_is_handed_over_once() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        assert!(take(home, "s").is_none());
        for moment in [3_000, 1_000, 2_000] {
            note(home, "s", at(moment)).unwrap();
        }
        note(home, "another", at(9_000)).unwrap();
        let taken = take(home, "s").unwrap();
        assert!(take(home, "s").is_none(), "one hook has it");
        note(home, "s", at(4_000)).unwrap();
        taken.give_back();
        let taken = take(home, "s").unwrap();
        let Some(Step::Gap { from, to, count: Some(4), filled: false, .. }) = taken.step() else {
            panic!("{taken:?}");
        };
        assert_eq!((from, to), (at(1_000), at(4_000)));
        taken.done();
        assert!(take(home, "s").is_none());
        assert_eq!(fs::read_dir(home.join(FOLDER)).unwrap().count(), 1, "the other session's");
    }

    #[test]
    fn sessions_and_events_have_a_bound() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        for n in 0..=FILES_MAX {
            note(home, &format!("s{n}"), at(1)).unwrap();
        }
        assert_eq!(fs::read_dir(home.join(FOLDER)).unwrap().count(), FILES_MAX);
        assert!(take(home, &format!("s{FILES_MAX}")).is_none());
        // An old file is removed to make room.
        let old = fs::File::options().write(true).open(path_of(home, "s0")).unwrap();
        old.set_modified(std::time::SystemTime::now() - 2 * AGE_MAX).unwrap();
        note(home, &format!("s{FILES_MAX}"), at(1)).unwrap();
        assert!(take(home, &format!("s{FILES_MAX}")).is_some() && take(home, "s0").is_none());

        let long = "1\n".repeat(usize::try_from(FILE_BYTES_MAX).unwrap() / 2);
        fs::write(path_of(home, "s1"), &long).unwrap();
        note(home, "s1", at(1)).unwrap();
        assert_eq!(fs::metadata(path_of(home, "s1")).unwrap().len(), FILE_BYTES_MAX);
        // Also if it is taken and given back, and others are noted meanwhile.
        take(home, "s2").unwrap().done();
        let taken = take(home, "s1").unwrap();
        note(home, "s1", at(123)).unwrap();
        taken.give_back();
        let text = fs::read_to_string(path_of(home, "s1")).unwrap();
        assert!(text.starts_with("123\n1\n") && text.ends_with("\n1\n"), "{text}");
        assert_eq!(text.len() as u64, FILE_BYTES_MAX);
        fs::write(path_of(home, "s2"), "nonsense\n").unwrap();
        assert!(take(home, "s2").unwrap().step().is_none());
    }
}
