//! The file that records whether the index was closed cleanly.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use cerebro_durable as durable;

/// The format of the index, raised whenever the schema or the tokenizer changes: an index of another format is
/// rebuilt.
const FORMAT: u64 = 6;
const FILE: &str = "cerebro-index.json";

/// What the mark says about an index that is about to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Closed cleanly.
    Clean,
    /// Its process died. The files are as it left them, if the machine has not rebooted since.
    Killed,
    /// The machine went down while it was open, so files may lack what was not yet on disk.
    PowerLost,
    /// Missing, unreadable or of another format.
    Unknown,
}

fn path(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// An id of the machine's present boot; `None` where the system does not provide one.
#[cfg(not(target_os = "macos"))]
fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

/// An id of the machine's present boot; `None` where the system does not provide one.
#[cfg(target_os = "macos")]
fn boot_id() -> Option<String> {
    let sysctl = std::process::Command::new("/usr/sbin/sysctl").args(["-n", "kern.bootsessionuuid"]).output();
    let output = sysctl.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|id| !id.is_empty())
}

pub fn read(dir: &Path) -> State {
    let Some(mark) = fs::read(path(dir)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
    else {
        return State::Unknown;
    };
    if mark["format"] != FORMAT {
        return State::Unknown;
    }
    if mark["clean"] == true {
        return State::Clean;
    }
    state_of_open(mark["boot"].as_str(), boot_id().as_deref())
}

/// The state of an index that was open during the boot `then`, seen from the boot `now`. If one is unknown, the
/// worse state is assumed.
fn state_of_open(then: Option<&str>, now: Option<&str>) -> State {
    if now.is_some() && then == now { State::Killed } else { State::PowerLost }
}

/// Writes the mark of an index in use; it must reach the disk before the index changes.
pub fn set_open(dir: &Path) -> io::Result<()> {
    write(dir, false)
}

/// Syncs every file of the index to disk, then writes the mark of a clean index.
pub fn set_clean(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::File::open(entry.path())?.sync_data()?;
        }
    }
    write(dir, true)
}

fn write(dir: &Path, clean: bool) -> io::Result<()> {
    let text = json!({ "format": FORMAT, "clean": clean, "boot": boot_id() }).to_string();
    durable::write(&path(dir), durable::Kind::Own, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_index_of_another_boot_is_not_trusted() {
        for (then, now, want) in [
            (Some("a"), Some("a"), State::Killed),
            (Some("a"), Some("b"), State::PowerLost),
            (None, Some("b"), State::PowerLost),
            (Some("a"), None, State::PowerLost),
            (None, None, State::PowerLost),
        ] {
            assert_eq!(state_of_open(then, now), want, "{then:?} {now:?}");
        }
    }
}
