//! Other writers of the same database: their new events, and the outcome of a commit whose answer was lost.
//!
//! Each home has a name under which it numbers its events without gaps, and the index on (writer, seq) is unique.
//! So a position in each writer's log says exactly what was heard, and a commit that is repeated under its number
//! cannot take effect twice, however late the first one arrives.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use surrealdb::types::{RecordId, SurrealValue, Variables};

use super::{
    Committed, EngineError, Store, StoreError,
    event::last_of,
    read::{Vars, one, take},
    row::{parse, signed},
    statement::{self, Statement},
    transaction::Position,
};
use cerebro_core::domain::{
    Event, MemoryId,
    limits::{WRITERS_KNOWN_MAX, WRITERS_MAX},
};

/// Most events of one writer that are read at once.
const PAGE: usize = 500;
/// How often a home reports that it is at work. A home that has not for several times as long (`writer_list`)
/// counts as away.
const HEARTBEAT: Duration = Duration::from_secs(5 * 60);
/// How often the logs of all homes are read, and not only of those that were at work within weeks.
const THOROUGH: Duration = Duration::from_secs(60 * 60);
/// How long a writer waits to learn the outcome of its commit.
const DOUBT_MAX: Duration = Duration::from_secs(5);
const DOUBT_PAUSE: Duration = Duration::from_millis(100);

/// How far each writer's log was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPositions(pub BTreeMap<String, u64>);

impl LogPositions {
    /// Whether some log ends before the position in it, because the database was put back to an earlier state.
    pub fn are_beyond(&self, ends: &Self) -> bool {
        self.0.iter().any(|(writer, seq)| ends.0.get(writer).copied().unwrap_or(0) < *seq)
    }
}

/// What is known of the other homes that write to the same database.
///
/// The logs of homes that were at work within weeks are read each time, in one request; the logs of all others
/// once per [`THOROUGH`], so that nothing is missed for good, however many homes there are.
#[derive(Debug)]
pub struct PeerLogs {
    /// How far each log was read, including this home's.
    positions: LogPositions,
    /// The homes whose logs are read each time.
    peers: Vec<String>,
    /// Those of them that are at work now.
    at_work: BTreeSet<String>,
    /// When all logs were last read, and when this home last reported that it is at work.
    thorough: Instant,
    reported: Instant,
}

impl PeerLogs {
    /// The other homes that are at work now.
    pub fn at_work(&self) -> &BTreeSet<String> {
        &self.at_work
    }

    /// Makes the next reading read all logs.
    pub fn read_all_next(&mut self) {
        self.thorough = Instant::now().checked_sub(THOROUGH).unwrap_or(self.thorough);
    }
}

/// What a reading of the logs found.
#[derive(Debug, Default)]
pub struct PeerNews {
    /// New events of others.
    pub events: Vec<Event>,
    /// Whether the database was put back to an earlier state: everything derived from its log must be rebuilt.
    pub is_rewound: bool,
}

/// A home, by its report that it is at work.
#[derive(SurrealValue)]
struct Presence {
    name: String,
    at_work: bool,
}

noun! {
    /// The other homes that write to the same database.
    peers: Peers
}

impl Peers<'_> {
    /// All writers that this process must know: on an embedded store, only itself.
    pub async fn writers(self) -> Result<Vec<String>, StoreError> {
        if !self.0.is_shared() {
            return Ok(vec![self.0.writer.clone()]);
        }
        let mut writers: Vec<String> = Vec::new();
        while writers.len() < WRITERS_KNOWN_MAX {
            let vars = Vars::new().with("after", writers.last().cloned().unwrap_or_default());
            let Some(next) = one(self.0.values::<String>("event", statement::WRITER_NEXT, vars).await?)
            else {
                return Ok(writers);
            };
            writers.push(next);
        }
        tracing::warn!("more than {WRITERS_KNOWN_MAX} homes wrote to this database; the rest is not heard");
        Ok(writers)
    }

    /// The end of each writer's log.
    pub async fn all_ends(self) -> Result<LogPositions, StoreError> {
        let mut positions = self.ends(&self.writers().await?).await?;
        positions.0.entry(self.0.writer.clone()).or_default();
        Ok(positions)
    }

    /// The ends of some logs; 0 for an empty one.
    pub async fn ends(self, writers: &[String]) -> Result<LogPositions, StoreError> {
        let mut ends = BTreeMap::new();
        for some in writers.chunks(WRITERS_MAX) {
            let (text, vars) =
                for_each(statement::WRITER_POSITION, some.iter().map(|writer| (writer.as_str(), 0)));
            let mut results = self.0.engine()?.script(statement::WRITER_POSITION.name, &text, vars).await?;
            for (at, writer) in some.iter().enumerate() {
                let (seq, _) = last_of(&mut results, at)?;
                ends.insert(writer.clone(), seq);
            }
        }
        Ok(LogPositions(ends))
    }

    /// Starts at the ends of the other homes' logs, and reports that this home is at work.
    pub async fn listen(self) -> Result<PeerLogs, StoreError> {
        let now = Instant::now();
        let positions = self.all_ends().await?;
        let mut logs =
            PeerLogs { positions, peers: Vec::new(), at_work: BTreeSet::new(), thorough: now, reported: now };
        if self.0.is_shared() {
            // Another process with this writer's name left its mark, most often the one before this.
            self.report_presence().await?;
            let mut results = self.0.engine()?.run(statement::WRITER_LIST, listed()).await?;
            self.note_homes(&mut logs, take("writer", &mut results, 0)?);
        }
        Ok(logs)
    }

    /// Reads the new events of other homes, and notifies the followers.
    ///
    /// # Errors
    /// A failing store; what was not read then is read the next time.
    pub async fn read(self, logs: &mut PeerLogs) -> Result<PeerNews, StoreError> {
        if let Ok(mut position) = self.0.position.try_lock()
            && position.seq.is_none()
            && position.announced.is_some()
        {
            // A commit of this process whose outcome is unknown.
            self.0.settle(&mut position).await?;
        }
        if logs.reported.elapsed() >= HEARTBEAT {
            self.renew_presence(logs).await?;
        }
        if logs.thorough.elapsed() < THOROUGH {
            let asked = logs.peers.clone();
            return Ok(PeerNews { events: self.read_some(logs, &asked).await?, is_rewound: false });
        }
        let mut all = self.writers().await?;
        all.retain(|writer| *writer != self.0.writer);
        let mut events = Vec::new();
        for some in all.chunks(WRITERS_MAX) {
            events.extend(self.read_some(logs, some).await?);
        }
        let is_rewound = self.check_rewound(logs).await?;
        logs.thorough = Instant::now();
        Ok(PeerNews { events, is_rewound })
    }

    /// Reads some logs, and which homes are at work.
    async fn read_some(self, logs: &mut PeerLogs, asked: &[String]) -> Result<Vec<Event>, StoreError> {
        let position = |writer: &String| logs.positions.0.get(writer).copied().unwrap_or(0);
        let (statements, mut vars) =
            for_each(statement::EVENT_AFTER, asked.iter().map(|writer| (writer.as_str(), position(writer))));
        vars.extend(listed());
        let text = format!("{}{statements}", statement::WRITER_LIST.text);
        let mut results = self.0.engine()?.script(statement::EVENT_AFTER.name, &text, vars).await?;
        self.note_homes(logs, take("writer", &mut results, 0)?);
        let mut news: Vec<Vec<Event>> = Vec::new();
        for at in 0..asked.len() {
            let events: Vec<Event> = parse(take("event", &mut results, at + 1)?)?;
            if !events.is_empty() {
                news.push(events);
            }
        }
        if news.is_empty() {
            return Ok(Vec::new());
        }
        // Under the writer, so that no older state of a memory follows a newer one of this process.
        let _order = self.0.position.lock().await;
        for events in &news {
            self.0.announce_again(events.clone()).await?;
            if let Some(last) = events.last() {
                logs.positions.0.insert(last.writer.clone(), last.seq);
            }
        }
        Ok(news.concat())
    }

    /// Records which homes there are, those seen last first.
    fn note_homes(self, logs: &mut PeerLogs, presences: Vec<Presence>) {
        let others = || presences.iter().filter(|one| one.name != self.0.writer);
        logs.peers = others().take(WRITERS_MAX).map(|one| one.name.clone()).collect();
        logs.at_work = others().filter(|one| one.at_work).map(|one| one.name.clone()).collect();
    }

    /// Reports that this home is at work, and forgets homes that have not been for weeks. Returns the lease that
    /// was recorded under its name before.
    async fn report_presence(self) -> Result<Option<String>, StoreError> {
        #[derive(SurrealValue)]
        struct Before {
            lease: String,
        }
        let id = RecordId::new("writer", self.0.writer.as_str());
        let vars = Vars::new().with("id", id).with("lease", self.0.lease.as_str());
        let before = self.0.changed::<Option<Before>>("writer", statement::WRITER_ATTEND, vars).await?;
        self.0.execute(statement::WRITER_RETIRE, Vars::new()).await?;
        Ok(one(before).flatten().map(|before| before.lease))
    }

    /// Reports again that this home is at work, and checks whether another process uses its name.
    async fn renew_presence(self, logs: &mut PeerLogs) -> Result<(), StoreError> {
        let before = self.report_presence().await?;
        logs.reported = Instant::now();
        if before.is_some_and(|lease| lease != self.0.lease) {
            tracing::error!(
                writer = %self.0.writer,
                "another daemon writes to this database under the name of this home, which was copied: saves of one may \
                 be found by the other late; stop one of the two, remove the file `writer` in its home, and start it anew"
            );
        }
        if logs.peers.len() >= WRITERS_MAX {
            tracing::warn!(
                "{WRITERS_MAX} homes or more write to this database; what those say that were seen longest ago is \
                 heard once an hour"
            );
        }
        Ok(())
    }

    /// Whether a log ends before the position that was heard. If so, the positions are set to the present ends.
    async fn check_rewound(self, logs: &mut PeerLogs) -> Result<bool, StoreError> {
        let mut position = self.0.position.lock().await;
        let mut received = logs.positions.clone();
        // What this process wrote since it began to listen is not news.
        received.0.insert(self.0.writer.clone(), position.seq.unwrap_or(0));
        let writers: Vec<String> = received.0.keys().cloned().collect();
        let ends = self.ends(&writers).await?;
        if !received.are_beyond(&ends) {
            return Ok(false);
        }
        tracing::warn!("the database was put back to an earlier state; its log goes on from there");
        logs.positions = ends;
        *position = Position { at: position.at, ..Position::unknown() };
        Ok(true)
    }
}

impl Store {
    /// Notifies the followers of events, with the memories in their present state.
    async fn announce_again(&self, events: Vec<Event>) -> Result<(), StoreError> {
        let ids: BTreeSet<MemoryId> = events.iter().filter_map(|event| event.memory).collect();
        let memories = self.memories().by_ids(&ids).await?;
        self.announce(&Committed { events, memories });
        Ok(())
    }

    /// The writer's position in the log, read again when it is in doubt. If a doubtful commit turns out to have
    /// succeeded, followers are notified now.
    pub(super) async fn settle(&self, position: &mut Position) -> Result<u64, StoreError> {
        if let Some(seq) = position.seq {
            return Ok(seq);
        }
        let (seq, at) = self.events().last().await?;
        if let Some(mut announced) = position.announced {
            while announced < seq {
                let missed = self.events().after(&self.writer, announced, PAGE).await?;
                let Some(last) = missed.last() else { break };
                announced = last.seq;
                self.announce_again(missed).await?;
                position.announced = Some(announced);
            }
        }
        position.at = position.at.max(at);
        position.announced = Some(seq);
        Ok(*position.seq.insert(seq))
    }

    /// Finds the outcome of a commit that failed with `error`: it succeeded if its last event is in the log, and
    /// must be decided again otherwise.
    ///
    /// # Errors
    /// The error itself when it leaves no doubt; [`StoreError::Conflict`] when the commit did not happen;
    /// [`StoreError::InDoubt`] when the server cannot be asked in time.
    pub(super) async fn resolve(&self, error: StoreError, events: &[Event]) -> Result<(), StoreError> {
        let (StoreError::Engine(EngineError::Unreachable { url, .. }), Some(last)) = (&error, events.last())
        else {
            return Err(error);
        };
        let begun = Instant::now();
        while begun.elapsed() < DOUBT_MAX {
            match self.events().after(&last.writer, last.seq.saturating_sub(1), 1).await {
                Ok(found) if found.first().is_some_and(|event| event.at == last.at) => {
                    tracing::info!("the answer to a commit got lost, but it was done");
                    return Ok(());
                }
                Ok(_) => return Err(StoreError::Conflict("commit")),
                Err(StoreError::Engine(EngineError::Unreachable { .. })) => {
                    tokio::time::sleep(DOUBT_PAUSE).await;
                }
                Err(other) => return Err(other),
            }
        }
        Err(StoreError::InDoubt { url: url.clone() })
    }
}

/// The parameters of `writer_list`: one more than is read at once, for this home itself.
fn listed() -> Variables {
    Vars::new().count("most", WRITERS_MAX + 1).0
}

/// Repeats a statement about one writer for each of them, in one request, with numbered `$writer` and `$after`.
fn for_each<'a>(one: Statement, places: impl Iterator<Item = (&'a str, u64)>) -> (String, Variables) {
    let mut text = String::new();
    let mut vars = Vars::new().limit(PAGE);
    for (n, (writer, after)) in places.enumerate() {
        let (name, place) = (format!("writer_{n}"), format!("after_{n}"));
        text.push_str(
            &one.text.replace("$writer", &format!("${name}")).replace("$after", &format!("${place}")),
        );
        vars = vars.with(&name, writer).with(&place, signed(after));
    }
    (text, vars.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_beyond_the_end_of_its_log_is_seen() {
        let places = |all: &[(&str, u64)]| -> LogPositions {
            LogPositions(all.iter().map(|(writer, seq)| ((*writer).to_owned(), *seq)).collect())
        };
        let received = places(&[("a", 3), ("b", 0)]);
        for (ends, beyond) in [
            (places(&[("a", 3), ("b", 0)]), false),
            (places(&[("a", 9), ("b", 1), ("c", 4)]), false),
            (places(&[("a", 2), ("b", 9)]), true),
            (places(&[("b", 9)]), true),
            (places(&[("a", 3)]), false),
        ] {
            assert_eq!(received.are_beyond(&ends), beyond, "{ends:?}");
        }
    }

    #[test]
    fn one_request_asks_about_many_writers() {
        let (text, vars) = for_each(statement::EVENT_AFTER, [("a", 1), ("b", 2)].into_iter());
        assert!(text.contains("writer = $writer_0 AND seq > $after_0"), "{text}");
        assert!(text.contains("writer = $writer_1 AND seq > $after_1"), "{text}");
        assert_eq!(vars.len(), 5, "two for each writer, and the limit");
    }
}
