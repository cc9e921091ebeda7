//! How long callers wait for the journal, and the gaps: events that are missing because nobody waited or a write failed.
//!
//! Missing events are counted for each session or piece of work, and recorded there as a gap as soon as something can be
//! written again. A file beside the store keeps the counts across a restart.

use std::{
    collections::BTreeMap,
    fs,
    future::Future,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::Duration,
};

use cerebro_core::domain::Timestamp;
use cerebro_ledger::Step;
use serde::{Deserialize, Serialize};

use super::{Actor, Held, JournalReport, Target, append::is_refusal, draft::lease_end};
use crate::{Journal, ServiceError, lock};

/// How long a caller waits for the journal.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(2);
/// How long callers do not wait at all after one has waited in vain.
const DEGRADED: Duration = Duration::from_secs(60);
/// Most sessions and pieces of work whose missing events are counted.
const MISSED_MAX: usize = 256;
/// Largest file of missing events. Further ones are not counted.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// The file of missing events, beside the store.
pub const MISSED_FILE: &str = "journal.missed";

/// Where events are missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct MissedIn {
    pub owner: String,
    /// The session, or the name of an agent without one.
    pub holder: String,
    /// A piece of work that was named; `None` for that of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

impl MissedIn {
    pub fn of(actor: &Actor, target: &Target) -> Self {
        let work = match target {
            Target::Session => None,
            Target::Work(id) => Some(id.to_string()),
        };
        Self { owner: actor.owner.clone(), holder: actor.holder(), work }
    }
}

/// What is missing from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Missed {
    from: Timestamp,
    to: Timestamp,
    count: u64,
}

impl Missed {
    /// Adds events that are missing at one moment.
    pub fn at(at: Timestamp, count: usize) -> Self {
        Self { from: at, to: at, count: count as u64 }
    }

    /// The step that records it.
    pub fn gap(self) -> Step {
        let reason = "the journal did not answer in time, or could not be written".to_owned();
        Step::Gap { from: self.from, to: self.to, count: Some(self.count), reason, filled: false }
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    place: MissedIn,
    #[serde(flatten)]
    missed: Missed,
}

/// Whether the journal keeps up.
pub(super) struct Slow {
    /// How long a caller waits.
    pub wait: Duration,
    until: Option<Timestamp>,
    /// Until when it counts as degraded because a write failed. Callers still wait for it.
    failing_until: Option<Timestamp>,
    missed: BTreeMap<MissedIn, Missed>,
}

impl Default for Slow {
    fn default() -> Self {
        Self { wait: WAIT_MAX, until: None, failing_until: None, missed: BTreeMap::new() }
    }
}

impl Slow {
    /// Adds to what is missing from a place.
    pub fn miss(&mut self, place: MissedIn, more: Missed) {
        if self.missed.len() < MISSED_MAX || self.missed.contains_key(&place) {
            let missed = self.missed.entry(place).or_insert(Missed { count: 0, ..more });
            missed.from = missed.from.min(more.from);
            missed.to = missed.to.max(more.to);
            missed.count = missed.count.saturating_add(more.count);
        }
    }

    /// Takes what is missing from a place. The caller records it there, or gives it back.
    pub fn take(&mut self, place: &MissedIn) -> Option<Missed> {
        self.missed.remove(place)
    }

    /// The places from which something is missing.
    pub fn places(&self) -> Vec<MissedIn> {
        self.missed.keys().cloned().collect()
    }

    fn is_degraded(&self, now: Timestamp) -> bool {
        still(self.until, now).is_some()
    }

    /// Until when it counts as degraded: callers do not wait, or a write failed.
    fn degraded_until(&self, now: Timestamp) -> Option<Timestamp> {
        still(self.until, now).max(still(self.failing_until, now))
    }

    /// Notes whether something could be written.
    fn note_end<T>(&mut self, done: &Result<T, ServiceError>, now: Timestamp) {
        match done {
            Err(error) if !is_refusal(error) => self.failing_until = Some(lease_end(now, DEGRADED)),
            _ => self.failing_until = None,
        }
    }
}

/// A moment that is not over. One too far ahead was set before the clock went back, and is not believed.
fn still(until: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    until.filter(|until| now < *until && *until <= lease_end(now, DEGRADED))
}

impl Journal {
    /// Whether the journal keeps up.
    pub fn report(&self) -> JournalReport {
        let slow = lock(&self.held.slow);
        let now = self.base.now();
        JournalReport {
            enabled: self.held.retention.is_some(),
            degraded_until: slow.degraded_until(now),
            missed: slow.missed.values().map(|missed| missed.count).sum(),
        }
    }

    /// Whether callers do not wait at present.
    pub(super) fn is_degraded(&self) -> bool {
        lock(&self.held.slow).is_degraded(self.base.now())
    }

    /// Runs an action in a task of its own, because a caller that goes away must not stop a commit half-way, and waits
    /// for it for [`WAIT_MAX`] at most. `None` if that was not enough: the action continues, and callers do not wait
    /// for a minute.
    pub(super) async fn in_time<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<Option<T>, ServiceError> {
        let task = self.base.tasks.spawn(name, work);
        let wait = lock(&self.held.slow).wait;
        match tokio::time::timeout(wait, task).await {
            Ok(Ok(done)) => {
                lock(&self.held.slow).note_end(&done, self.base.now());
                done.map(Some)
            }
            Ok(Err(_)) => Ok(None),
            Err(_) => {
                tracing::warn!("the journal did not answer in time; callers do not wait for a minute");
                lock(&self.held.slow).until = Some(lease_end(self.base.now(), DEGRADED));
                Ok(None)
            }
        }
    }

    /// The same for an action that is useless if it is not waited for.
    ///
    /// # Errors
    /// The action's error; [`ServiceError::JournalBusy`] if it took too long, or another action did a moment ago.
    pub(super) async fn in_time_or_not<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.needs_journal()?;
        let done = if self.is_degraded() { None } else { self.in_time(name, work).await? };
        done.ok_or(ServiceError::JournalBusy)
    }

    /// Reads the gaps that an earlier process left to be recorded.
    pub(super) async fn remember_missed(&self) {
        let path = self.held.missed_file.clone();
        let read = tokio::task::spawn_blocking(move || take_file(&path)).await;
        let Ok(Ok(lines)) = read else {
            tracing::warn!("what is missing from the journal could not be read");
            return;
        };
        let mut slow = lock(&self.held.slow);
        for Line { place, missed } in lines {
            slow.miss(place, missed);
        }
    }

    /// Records what is missing, if there is a piece of work to record it in.
    pub(super) async fn record_missed(&self) {
        if self.is_degraded() {
            return;
        }
        let places = lock(&self.held.slow).places();
        for place in places {
            if let Err(error) = self.record_gap(&place).await {
                tracing::debug!(%error, "a gap of the journal could not be told yet");
            }
        }
    }
}

impl Held {
    /// Leaves what is not recorded yet to the next process. Called when no task of this process runs any more: a task may
    /// still read the file, or give back what it could not record.
    pub(crate) async fn leave_missed(&self) {
        let missed = std::mem::take(&mut lock(&self.slow).missed);
        let path = self.missed_file.clone();
        let write = move || {
            let mut lines = missed.into_iter();
            lines.try_for_each(|(place, missed)| add_line(&path, &Line { place, missed }))
        };
        if !matches!(tokio::task::spawn_blocking(write).await, Ok(Ok(()))) {
            tracing::warn!("what is missing from the journal could not be kept");
        }
    }
}

/// Notes in the file that something of a local session is missing.
#[cfg(test)]
pub(crate) fn note_missed(
    folder: &Path,
    session: &cerebro_core::domain::SessionId,
    at: Timestamp,
    count: usize,
) -> io::Result<()> {
    let place = MissedIn { owner: super::LOCAL_OWNER.to_owned(), holder: session.to_string(), work: None };
    add_line(&folder.join(MISSED_FILE), &Line { place, missed: Missed::at(at, count) })
}

/// How many events of a local session are missing by the file.
#[cfg(test)]
pub(super) fn left(folder: &Path, session: &str) -> io::Result<u64> {
    let text = fs::read_to_string(folder.join(MISSED_FILE))?;
    let lines = text.lines().map(serde_json::from_str::<Line>).collect::<Result<Vec<_>, _>>()?;
    Ok(lines.iter().filter(|line| line.place.holder == session).map(|line| line.missed.count).sum())
}

fn add_line(path: &Path, line: &Line) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|facts| facts.len() >= FILE_BYTES_MAX) {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(format!("{}\n", serde_json::to_string(line)?).as_bytes())
}

/// Takes all lines out of the file. What is no line is left out.
fn take_file(path: &Path) -> io::Result<Vec<Line>> {
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    fs::remove_file(path)?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use cerebro_core::domain::SessionId;

    use super::*;

    #[test]
    fn what_is_missing_is_added_up_and_kept_in_a_bounded_file() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let place = MissedIn { owner: "local".to_owned(), holder: "s".to_owned(), work: None };
        let mut slow = Slow::default();
        slow.miss(place.clone(), Missed::at(at(5), 2));
        slow.miss(place.clone(), Missed::at(at(3), 1));
        assert_eq!(slow.take(&place), Some(Missed { from: at(3), to: at(5), count: 3 }));
        assert_eq!(slow.take(&place), None);
        for n in 0..2 * MISSED_MAX {
            slow.miss(MissedIn { holder: format!("s{n}"), ..place.clone() }, Missed::at(at(1), 1));
        }
        assert_eq!(slow.places().len(), MISSED_MAX);

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(MISSED_FILE);
        assert!(take_file(&path).unwrap().is_empty());
        let session = SessionId::parse("s-1").unwrap();
        note_missed(folder.path(), &session, at(7), 1).unwrap();
        fs::write(&path, [fs::read(&path).unwrap(), b"{torn\n".to_vec()].concat()).unwrap();
        note_missed(folder.path(), &session, at(9), 2).unwrap();
        let lines = take_file(&path).unwrap();
        let counts: Vec<(&str, u64)> =
            lines.iter().map(|line| (line.place.holder.as_str(), line.missed.count)).collect();
        assert_eq!(counts, [("s-1", 1), ("s-1", 2)]);
        assert!(!path.exists() && take_file(&path).unwrap().is_empty());
        fs::write(&path, vec![b'\n'; usize::try_from(FILE_BYTES_MAX).unwrap()]).unwrap();
        note_missed(folder.path(), &session, at(9), 2).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), FILE_BYTES_MAX);
    }
}
