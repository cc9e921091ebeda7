//! One source, from its pieces to the store: the project of its session, and the batches in which exchanges and cursor are
//! committed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::Intake;
use super::{
    apart::IN_ANOTHER,
    reading::{Cursor, Fault, Piece, Reading},
    run::FREE_BYTES,
    settings::HistorySettings,
    state::HistoryOptions,
    walk::{Found, Stat, file_of},
};
use crate::{
    History, HistoryBatch, ServiceError, agent_slug,
    history::{self, ReadFrom, clean},
    lock,
    tasks::in_the_background,
    work,
};
use cerebro_core::domain::{Project, SessionId, Source, SourceState};
use cerebro_transcript::{Agent, Batch, Counts, READER_VERSION};

/// Exchanges of one transaction.
pub(super) const BATCH_EXCHANGES: usize = 40;
/// Those of one while somebody calls: a save waits for it, and each takes a quarter of a millisecond.
pub(super) const SHORT_BATCH_EXCHANGES: usize = 8;
/// How long nobody has called when a transaction may have its full length.
const CALM: Duration = Duration::from_secs(2);
/// Most sources with unknown or malformed records whose counts are remembered.
const COUNTED_MAX: usize = 10_000;
/// Most folders whose projects are cached.
const PROJECTS_MAX: usize = 4_096;

/// Why a source was not imported.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The source's fault: it is reported, and the other sources continue.
    Source(Fault),
    /// The store's fault: the pass ends.
    Store(ServiceError),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Source(fault)
    }
}

impl From<ServiceError> for Trouble {
    fn from(error: ServiceError) -> Self {
        match error {
            // The transcript has something that cannot be stored or prepared; that is not the store's fault.
            ServiceError::Invalid { .. } | ServiceError::BrokeOff { .. } => {
                Self::Source(Fault::Unknown(error.to_string()))
            }
            error => Self::Store(error),
        }
    }
}

/// The result of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// There is nothing to do until it changes.
    Done(Stat),
    /// It was not asked for this time.
    Skipped,
}

/// Whether a session is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Yes,
    /// It was not asked for this time.
    NotNow,
    /// The settings exclude it.
    Never,
}

/// The state of one pass over many sources.
#[derive(Default)]
pub(super) struct Pass {
    settings: HistorySettings,
    /// Only this project is wanted.
    only: Option<Project>,
    /// New sessions that ended before this are too old: microseconds since 1970.
    pub(super) oldest: i64,
    projects: HashMap<String, Project>,
    /// Folders by the names that Cursor makes of them, and by the folders of Gemini CLI's notes on them, as far as they were
    /// searched for.
    pub(super) slugs: HashMap<String, Option<String>>,
    /// Whether the folders of all sessions are among them.
    pub(super) folders_known: bool,
    /// The file that is being read, and those between whose pieces it is read.
    pub(super) reading: Vec<PathBuf>,
    /// How many bytes may be taken in without regard to callers.
    pub(super) free: u64,
}

impl Pass {
    pub(super) fn new(settings: HistorySettings, only: Option<Project>, oldest: i64) -> Self {
        Self { settings, only, oldest, free: FREE_BYTES, ..Self::default() }
    }

    /// Whether a session in a project and a folder, of the agent of a source, is wanted.
    pub(super) fn wants(&self, project: &Project, folder: Option<&str>, found: &Found) -> Want {
        if self.only.as_ref().is_some_and(|only| only != project) {
            Want::NotNow
        } else if self.settings.wants(found.agent, project, folder, &found.path) {
            Want::Yes
        } else {
            Want::Never
        }
    }

    /// The projects of the folders that were looked up.
    pub(super) fn projects(&self) -> impl Iterator<Item = &Project> {
        self.projects.values()
    }

    /// Whether the project or the folder decides if a session is wanted.
    pub(super) fn is_choosy(&self) -> bool {
        self.only.is_some() || self.settings.is_choosy()
    }

    /// Whether the settings exclude a session.
    pub(super) fn excludes(&self, project: &Project, folder: Option<&str>, path: &Path) -> bool {
        self.settings.excludes(project, folder, path)
    }
}

/// The state of a source, before and after a piece.
pub(super) struct SourceProgress<'a> {
    pub agent: Agent,
    pub key: &'a str,
    pub counts: Counts,
    /// It is a list of prompts that were typed.
    pub typed: bool,
    pub read_from: ReadFrom,
    /// See [`super::forks`]: the next reading begins at its beginning, too.
    pub is_undecided: bool,
}

impl<'a> SourceProgress<'a> {
    pub(super) fn of(agent: Agent, key: &'a str, counts: Counts) -> Self {
        let read_from = ReadFrom::Cursor;
        Self { agent, key, counts, typed: false, read_from, is_undecided: false }
    }

    /// The row of the source. Without a cursor, nothing of it could be read.
    pub(super) fn row(&self, cursor: Option<&Cursor>, state: SourceState, error: Option<String>) -> Source {
        let stat = cursor.map(|cursor| cursor.stat).unwrap_or_default();
        let reader = cursor.map(|cursor| &cursor.state);
        let agent = agent_slug(self.agent);
        Source {
            id: Source::id_of(agent, self.key),
            agent: clean(agent),
            key: clean(self.key),
            session: reader.and_then(|reader| SessionId::parse(&reader.session.id).ok()),
            size: stat.size,
            mtime: stat.mtime,
            inode: stat.inode,
            offset: reader.map_or(0, |reader| reader.offset),
            cursor: reader.filter(|_| !self.is_undecided).and_then(history::cursor),
            head: cursor.map(|cursor| cursor.head.clone()),
            edge: cursor.map(|cursor| cursor.edge.clone()),
            reader: READER_VERSION,
            state,
            unknown: self.counts.unknown.values().sum(),
            malformed: self.counts.malformed + self.counts.oversized,
            error: error.as_deref().map(clean),
        }
    }

    /// The row of a source in which nothing was said yet, so the prompts of its session may come from elsewhere. If there is no
    /// record in it, it may be written anew at this moment: then what was stored of it before, and how far, stays.
    fn silent(&self, cursor: &Cursor, stored: Option<&Source>) -> Source {
        let row = Source { session: None, ..self.row(Some(cursor), SourceState::Fresh, None) };
        match stored.filter(|_| self.counts == Counts::default()) {
            Some(stored) => Source {
                size: row.size,
                mtime: row.mtime,
                inode: row.inode,
                state: row.state,
                error: None,
                ..stored.clone()
            },
            None => row,
        }
    }
}

/// Runs work that reads files on a thread of low priority.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Trouble> {
    Ok(in_the_background("reading a transcript", work).await?)
}

fn cursor_of(source: &Source) -> Option<Cursor> {
    Some(Cursor {
        state: History::cursor(source)?,
        stat: Stat { size: source.size, mtime: source.mtime, inode: source.inode },
        head: source.head.clone()?,
        edge: source.edge.clone()?,
    })
}

impl Intake {
    /// Imports what is new in a file.
    pub(super) async fn take_file(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let key = found.path.to_string_lossy().into_owned();
        let stored = self.history.source(found.agent, &key).await?;
        let mut before = stored.as_ref().and_then(cursor_of);
        let mut standing = SourceProgress::of(found.agent, &key, Counts::default());
        let (opened, cursor, now) = (found.clone(), before.clone(), self.base.now());
        let Some(mut reading) = blocking(move || Reading::open(opened, cursor, now)).await?? else {
            return Ok(Taken::Done(found.stat));
        };
        self.set_apart(&found.path, None);
        let restarted = reading.restarted();
        if restarted {
            before = None;
            let is_anew = stored.as_ref().is_some_and(|stored| stored.reader != READER_VERSION);
            standing.read_from = if is_anew { ReadFrom::StartAnew } else { ReadFrom::Start };
        }
        let mut copying = None;
        let mut end = restarted.then_some(0);
        let mut former = None;
        loop {
            let (back, piece) = self.step(reading, pass).await?;
            reading = back;
            let Piece { mut batch, cursor, is_last, bytes } = piece;
            let counted = before.as_ref().map(|before| &before.state.counts);
            self.note_counts(found.agent, &key, counted, &batch.counts);
            standing.counts = batch.counts.clone();
            if batch.session.id.is_empty() && !batch.exchanges.is_empty() {
                let stem = found.path.file_stem().unwrap_or_default();
                batch.session.id = stem.to_string_lossy().into_owned();
            }
            let is_silent = stored.is_none() && end == Some(0) && batch.exchanges.is_empty();
            if batch.session.id.is_empty() || is_silent || batch.counts == Counts::default() {
                self.history.put_source(&standing.silent(&cursor, stored.as_ref())).await?;
            } else {
                self.place_in_folder(found, &mut batch, pass).await;
                let project = self.project_of(batch.began_in(), pass).await;
                if let Some(skipped) = self.skip(found, &standing, &batch, &project, &cursor, pass).await? {
                    return Ok(skipped);
                }
                end = batch.exchanges.last().map(|last| last.seq + 1).or(end);
                let whole = (!is_last).then_some(found);
                // A session that is read again is undecided until it was read to its end.
                let is_cut = restarted && stored.is_some() && !is_last;
                standing.is_undecided = self.drop_copies(&mut batch, &mut copying, whole).await? || is_cut;
                if is_last && restarted {
                    let (agent, session) = (found.agent, &batch.session.id);
                    standing.is_undecided |=
                        self.doubt_forks(agent, session, stored.as_ref(), cursor.stat).await?;
                }
                former = former.or(self.other_holder(found, &batch.session.id));
                self.note_holder(found, &key, &batch.session.id);
                let reading = work::Reading::of(&batch, before.as_ref().map(|before| &before.state));
                let ends_at = end.filter(|_| is_last);
                self.commit_piece(&standing, project, batch, (before.as_ref(), &cursor), ends_at, pass)
                    .await?;
                if let Some(reading) = reading {
                    self.journal.fill(reading).await?;
                }
            }
            lock(&self.state.progress).bytes_done += bytes;
            if is_last {
                if let Some(former) = former {
                    self.note_former(found, former).await?;
                }
                return Ok(Taken::Done(cursor.stat));
            }
            before = Some(cursor);
        }
    }

    /// Reads the next piece of a file, after what hooks have named.
    pub(super) async fn step(
        &self,
        mut reading: Reading,
        pass: &mut Pass,
    ) -> Result<(Reading, Piece), Trouble> {
        self.read_named(&pass.reading).await?;
        pass.free = pass.free.saturating_sub(reading.next_bytes());
        Ok(blocking(move || reading.step().map(|piece| (reading, piece))).await??)
    }

    /// Skips a session that is not wanted, or that another file has. `None` if it is to be imported.
    async fn skip(
        &self,
        found: &Found,
        standing: &SourceProgress<'_>,
        batch: &Batch,
        project: &Project,
        cursor: &Cursor,
        pass: &Pass,
    ) -> Result<Option<Taken>, Trouble> {
        let error = match pass.wants(project, batch.session.cwd.as_deref(), found) {
            Want::NotNow => return Ok(Some(Taken::Skipped)),
            Want::Never => None,
            Want::Yes => match self.held_elsewhere(found, &batch.session.id) {
                None => return Ok(None),
                Some(other) if file_of(&other).1.is_empty() => Some(self.left_out_for(found, &other).await?),
                Some(_) => Some(IN_ANOTHER.to_owned()),
            },
        };
        let mut source = standing.row(None, SourceState::Excluded, error);
        // With its present state, so that it is not read again until it changes.
        (source.size, source.mtime, source.inode) = (found.stat.size, found.stat.mtime, cursor.stat.inode);
        self.history.put_source(&source).await?;
        Ok(Some(Taken::Done(found.stat)))
    }

    /// Commits the exchanges of a piece, in batches. Only the last one moves the cursor, so that an interrupted piece is
    /// repeated.
    pub(super) async fn commit_piece(
        &self,
        standing: &SourceProgress<'_>,
        project: Project,
        batch: Batch,
        (before, after): (Option<&Cursor>, &Cursor),
        ends_at: Option<u32>,
        pass: &mut Pass,
    ) -> Result<(), Trouble> {
        let Batch { exchanges, withdrawn, session, .. } = batch;
        let mut left = exchanges;
        loop {
            let is_calm = self.base.traffic.quiet() >= CALM;
            let most = if is_calm { BATCH_EXCHANGES } else { SHORT_BATCH_EXCHANGES };
            let rest = left.split_off(left.len().min(most));
            let is_last = rest.is_empty();
            let cursor = if is_last { Some(after) } else { before };
            let count = left.len();
            let ends_at = ends_at.filter(|_| is_last);
            let mut source = standing.row(cursor, SourceState::Fresh, None);
            if standing.read_from == ReadFrom::StartAnew && ends_at.is_none() {
                // If the reading is cut short here, the next one replaces what another version read, too.
                source.reader = 0;
            }
            let batch = HistoryBatch {
                project: project.clone(),
                session: session.clone(),
                exchanges: left,
                withdrawn: if is_last { withdrawn.clone() } else { Vec::new() },
                ends_at,
                typed: standing.typed,
                read_from: standing.read_from,
                source,
            };
            let done = self.history.commit_when(batch, self.give_way(pass, count)).await?;
            lock(&self.state.progress).of(standing.agent).redacted += done.redacted as u64;
            if is_last {
                return Ok(());
            }
            left = rest;
        }
    }

    /// The project of a folder; general for a session whose folder is unknown.
    pub(super) async fn project_of(&self, folder: Option<&str>, pass: &mut Pass) -> Project {
        let Some(cwd) = folder.filter(|cwd| cwd.starts_with('/')) else {
            return Project::general();
        };
        if let Some(project) = pass.projects.get(cwd) {
            return project.clone();
        }
        let Some(HistoryOptions { project_of, .. }) = self.state.options.get() else {
            return Project::general();
        };
        let project = project_of(PathBuf::from(cwd)).await;
        if pass.projects.len() >= PROJECTS_MAX {
            pass.projects.clear();
        }
        pass.projects.insert(cwd.to_owned(), project.clone());
        project
    }

    /// Adds to the progress what is new in the counts of a source. `known` are those of an earlier daemon.
    pub(super) fn note_counts(&self, agent: Agent, key: &str, known: Option<&Counts>, now: &Counts) {
        if now.unknown.is_empty() && now.malformed + now.oversized == 0 {
            return;
        }
        let mut counted = lock(&self.state.counted);
        if counted.len() >= COUNTED_MAX {
            counted.clear();
        }
        let before = counted.entry(key.to_owned()).or_insert_with(|| known.cloned().unwrap_or_default());
        lock(&self.state.progress).of(agent).count(before, now);
        // The end of a source is read again when it has grown, and all of it when it was rewritten.
        before.malformed = before.malformed.max(now.malformed);
        before.oversized = before.oversized.max(now.oversized);
        for (name, count) in &now.unknown {
            let most = before.unknown.entry(name.clone()).or_default();
            *most = (*most).max(*count);
        }
    }

    /// Notes from which source a session is read.
    pub(super) fn note_holder(&self, found: &Found, key: &str, session: &str) {
        if let Some(known) = lock(&self.state.known).as_mut() {
            let holder = (PathBuf::from(key), found.stat.size);
            known.holders.insert((found.agent, session.to_owned()), holder);
        }
    }

    fn held_elsewhere(&self, found: &Found, session: &str) -> Option<PathBuf> {
        lock(&self.state.known).as_ref()?.held_elsewhere(found, session)
    }

    /// Stores that a source could not be read. One in which nothing is understood is not read again until it changes.
    pub(super) async fn note_fault(&self, found: &Found, fault: &Fault) -> Result<(), ServiceError> {
        let words = fault.to_string();
        lock(&self.state.progress).failed(&found.path, &words);
        let key = found.path.to_string_lossy().into_owned();
        let standing = SourceProgress::of(found.agent, &key, Counts::default());
        let mut failed = standing.row(None, SourceState::Failed, Some(words.clone()));
        if let Some(before) = self.history.source(found.agent, &key).await? {
            failed = Source { state: failed.state, error: failed.error, ..before };
        }
        if matches!(fault, Fault::Foreign) {
            (failed.size, failed.mtime, failed.inode) = (found.stat.size, found.stat.mtime, found.stat.inode);
            self.set_apart(&found.path, Some(words));
            if let Some(known) = lock(&self.state.known).as_mut() {
                known.stats.insert(found.path.clone(), found.stat);
            }
        }
        self.history.put_source(&failed).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::with_service;
    use cerebro_transcript::{State, read_to_end};

    #[test]
    fn a_reading_after_another_version_that_is_cut_short_is_not_taken_for_a_whole_one() {
        let lines: String = (0..2)
            .map(|n| {
                format!("{{\"type\":\"user\",\"uuid\":\"u{n}\",\"message\":{{\"role\":\"user\",\"content\":\"ask {n}\"}}}}\n")
            })
            .collect();
        let batch = read_to_end(lines.as_bytes(), &State::new(Agent::ClaudeCode, "s"));
        let cursor = Cursor {
            state: batch.state.clone(),
            stat: Stat::default(),
            head: String::new(),
            edge: String::new(),
        };
        let of = SourceProgress::of(Agent::ClaudeCode, "/s.jsonl", batch.counts.clone());
        let standing = SourceProgress { read_from: ReadFrom::StartAnew, ..of };
        with_service(async |service| {
            let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
            for ends_at in [None, Some(2)] {
                let (intake, batch) = (&service.intake, batch.clone());
                let committed = intake.commit_piece(
                    &standing,
                    Project::general(),
                    batch,
                    (None, &cursor),
                    ends_at,
                    &mut pass,
                );
                committed.await.unwrap();
                let source = service.history.source(Agent::ClaudeCode, "/s.jsonl").await.unwrap().unwrap();
                assert_eq!(source.reader == READER_VERSION, ends_at.is_some());
            }
        });
    }
}
