//! Counts the events that hooks could not report because no daemon answered: how many and when, never what.
//!
//! The next hook of the session that reaches a daemon reports them as a gap. Each session has one file in the home,
//! with one line per event. Concurrent hooks can append to it without waiting for each other. The file is renamed before
//! it is reported and removed afterwards. A hook that is killed in between leaves it to the next one, which reports the
//! same gap under the same key. Whoever appends holds a shared lock on the file, so that nobody reports one to which a line
//! is still added.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cerebro_core::domain::Timestamp;
use cerebro_core::text::hex;
use cerebro_ledger::Step;
use sha2::{Digest, Sha256};

use super::StepReport;
use crate::platform::{file_identity, open_file_identity};

/// The folder of the files, in the home.
pub const FOLDER: &str = "missed";
/// Most files, and how long the file of a session that never came back is stored.
const FILES_MAX: usize = 64;
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Largest file: about 4,600 events. Further ones are not counted.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// How often a file is opened again because another hook took it before a line was added. With a hook that took files
/// without a pause, one of 60,000 lines needed 13 attempts.
const TRIES: usize = 100;

/// Records that an event of a session could not be reported. If it may have arrived nevertheless, `once` is its key.
pub fn note(home: &Path, session: &str, now: Timestamp, once: Option<&str>) -> io::Result<()> {
    let folder = home.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let path = path_of(home, session);
    if !path.exists() && !has_room(&folder)? {
        return Ok(());
    }
    let mut file = open(&path)?;
    if file.metadata()?.len() < FILE_BYTES_MAX {
        let key = once.map(|once| format!(" {once}")).unwrap_or_default();
        // Not synced, because it is only a count.
        file.write_all(format!("{}{key}\n", now.as_millisecond()).as_bytes())?;
    }
    Ok(())
}

/// Opens the file of a session for one more line. While it is open, [`take`] leaves it to a later hook.
fn open(path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        // Appended, so that no line of a concurrent hook is lost. A network folder locks only what may be read, too.
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        match file.try_lock_shared() {
            Ok(()) if file_identity(path) == open_file_identity(&file).ok() => return Ok(file),
            // It was renamed before it was locked, so it may have been read already.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
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

/// Takes a session's missed events, those included that an earlier hook took and did not report to the end. Concurrent
/// hooks may take the same: the journal recognises a gap that it has. A file to which a hook is adding a line at this moment
/// is left to the next one: nobody waits, since that hook may be stopped.
pub fn take(home: &Path, session: &str) -> Vec<Missed> {
    let path = path_of(home, session);
    // It fails if nothing was missed since.
    let _ = fs::rename(&path, path.with_extension(Timestamp::now().as_nanosecond().to_string()));
    let is_taken = |file: &PathBuf| file.extension().is_some() && file.file_stem() == path.file_name();
    let files = fs::read_dir(home.join(FOLDER)).into_iter().flatten().flatten().map(|entry| entry.path());
    let missed = |file: PathBuf| {
        // A network folder locks only what may be written, too.
        let taken = OpenOptions::new().read(true).write(true).open(&file);
        let mut taken = taken.ok().filter(|taken| taken.try_lock().is_ok())?;
        let mut bytes = Vec::new();
        taken.read_to_end(&mut bytes).ok()?;
        Some(Missed { text: String::from_utf8_lossy(&bytes).into_owned(), file })
    };
    files.filter(is_taken).filter_map(missed).collect()
}

fn path_of(home: &Path, session: &str) -> PathBuf {
    home.join(FOLDER).join(hex(&Sha256::digest(session)[..16]))
}

/// Missed events, in a file to which nothing is added any more.
#[derive(Debug)]
pub struct Missed {
    file: PathBuf,
    text: String,
}

impl Missed {
    /// The gaps to report, without lines that are not valid: one for all events that did not arrive, and one for each that
    /// may have arrived. That one has the key of the event, so that it is a repetition if the event did.
    pub fn gaps(&self) -> Vec<StepReport> {
        let lines = self.text.lines().filter_map(|line| {
            let (moment, once) = line.split_once(' ').unwrap_or((line, ""));
            Some((Timestamp::from_millisecond(moment.parse().ok()?).ok()?, once))
        });
        let (away, unknown): (Vec<_>, Vec<_>) = lines.partition(|(_, once)| once.is_empty());
        let mut gaps: Vec<StepReport> = unknown.iter().filter_map(|(at, once)| gap(&[*at], once)).collect();
        let moments: Vec<Timestamp> = away.into_iter().map(|(at, _)| at).collect();
        let name = self.file.extension().unwrap_or_default().to_string_lossy();
        gaps.extend(gap(&moments, &format!("missed:{name}")));
        gaps
    }

    /// Removes them, because they were reported.
    pub fn done(self) {
        // If this fails, they are reported again, which changes nothing.
        let _ = fs::remove_file(&self.file);
    }
}

/// The gap of some events, under a key; `None` if there are no events.
fn gap(moments: &[Timestamp], once: &str) -> Option<StepReport> {
    let gap = Step::Gap {
        from: *moments.iter().min()?,
        to: *moments.iter().max()?,
        count: Some(moments.len() as u64),
        reason: "no daemon answered".to_owned(),
        filled: false,
    };
    Some(StepReport { steps: vec![gap], once: Some(once.to_owned()) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    fn gaps(home: &Path) -> Vec<StepReport> {
        take(home, "s").iter().flat_map(Missed::gaps).collect()
    }

    #[test]
    fn what_was_missed_is_reported_under_one_key_until_it_is_done() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        assert_eq!(gaps(home), []);
        note(home, "s", at(3_000), None).unwrap();
        note(home, "s", at(2_000), Some("ran:c 1")).unwrap();
        note(home, "s", at(1_000), None).unwrap();
        note(home, "another", at(9_000), None).unwrap();
        let first = gaps(home);
        let said = |gap: &StepReport| match gap.steps[..] {
            [Step::Gap { from, to, count, filled: false, .. }] => (from, to, count),
            _ => panic!("{gap:?}"),
        };
        assert_eq!(
            (said(&first[0]), first[0].once.as_deref()),
            ((at(2_000), at(2_000), Some(1)), Some("ran:c 1"))
        );
        assert_eq!((said(&first[1]), first.len()), ((at(1_000), at(3_000), Some(2)), 2));
        // That hook was killed: the next one reports the same again, and what was missed since.
        note(home, "s", at(4_000), None).unwrap();
        let second = gaps(home);
        assert!(first.iter().all(|gap| second.contains(gap)), "{second:?}");
        assert_eq!(second.iter().map(|gap| gap.once.clone()).collect::<BTreeSet<_>>().len(), 3);
        take(home, "s").into_iter().for_each(Missed::done);
        assert_eq!(gaps(home), []);
        assert_eq!(fs::read_dir(home.join(FOLDER)).unwrap().count(), 1, "the other session's");
    }

    #[test]
    fn a_line_that_another_hook_is_adding_is_reported_later() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        note(home, "s", at(1_000), None).unwrap();
        let mut other = open(&path_of(home, "s")).unwrap();
        // Its line is not there yet: a report now would remove the file while it is being written.
        assert!(take(home, "s").is_empty());
        note(home, "s", at(2_000), None).unwrap();
        other.write_all(b"3000\n").unwrap();
        drop(other);
        let texts: BTreeSet<String> = take(home, "s").into_iter().map(|missed| missed.text).collect();
        assert_eq!(texts, ["1000\n3000\n", "2000\n"].map(str::to_owned).into());
    }

    #[test]
    fn hooks_that_add_and_take_side_by_side_lose_nothing() {
        const HOOKS: i64 = 4;
        const LINES: i64 = 500;
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        let reported = |found: &mut Vec<String>| {
            for missed in take(home, "s") {
                found.extend(missed.text.lines().map(str::to_owned));
                missed.done();
            }
        };
        let mut found = std::thread::scope(|scope| {
            let add = |hook| (0..LINES).for_each(|n| note(home, "s", at(hook * LINES + n), None).unwrap());
            let hooks: Vec<_> = (0..HOOKS).map(|hook| scope.spawn(move || add(hook))).collect();
            let mut found = Vec::new();
            while !hooks.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                reported(&mut found);
            }
            found
        });
        reported(&mut found);
        let lines: BTreeSet<&String> = found.iter().collect();
        assert_eq!((found.len(), lines.len()), (2_000, 2_000));
    }

    #[test]
    fn sessions_and_events_have_a_bound() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path();
        for n in 0..=FILES_MAX {
            note(home, &format!("s{n}"), at(1), None).unwrap();
        }
        assert_eq!(fs::read_dir(home.join(FOLDER)).unwrap().count(), FILES_MAX);
        assert!(take(home, &format!("s{FILES_MAX}")).is_empty());
        // An old file is removed to make room.
        let old = fs::File::options().write(true).open(path_of(home, "s0")).unwrap();
        old.set_modified(std::time::SystemTime::now() - 2 * AGE_MAX).unwrap();
        note(home, &format!("s{FILES_MAX}"), at(1), None).unwrap();
        assert!(!take(home, &format!("s{FILES_MAX}")).is_empty() && take(home, "s0").is_empty());

        let long = "1\n".repeat(usize::try_from(FILE_BYTES_MAX).unwrap() / 2);
        fs::write(path_of(home, "s1"), &long).unwrap();
        note(home, "s1", at(1), None).unwrap();
        assert_eq!(fs::metadata(path_of(home, "s1")).unwrap().len(), FILE_BYTES_MAX);
        fs::write(path_of(home, "s"), b"nonsense\n\xff\n5000\n").unwrap();
        assert!(matches!(gaps(home)[0].steps[..], [Step::Gap { count: Some(1), .. }]));
    }
}
