//! One source, from its pieces to the store: the project of its session, and the batches in which exchanges and cursor are
//! committed.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use super::Intake;
use super::{
    apart::IN_ANOTHER,
    forks::{Copying, doubted, is_doubted},
    reading::{Cursor, Fault, Piece, Reading},
    run::{ALLOWANCE_BYTES, EXCHANGE_BYTES},
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
use cerebro_core::{
    domain::{Project, SessionId, Source, SourceState},
    pace,
};
use cerebro_transcript::{Agent, Batch, Counts, READER_VERSION};

/// Exchanges of one transaction.
pub(super) const BATCH_EXCHANGES: usize = 80;
/// Those of one while somebody calls: a save waits for it.
pub(super) const SHORT_BATCH_EXCHANGES: usize = 8;
/// Longest file that is read from its beginning again when a hook names it; a scan reads longer ones. Reading takes a second for
/// each 100 MB, and hooks may name a file every second.
const AGAIN_BYTES_MAX: u64 = 32 << 20;
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
    /// It was not asked for this time, or waits for the next scan.
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
    /// Whether hooks named its files: what takes long is left to the next scan.
    pub(super) is_named: bool,
    /// Files that are doubted since they were read.
    pub(super) doubted: BTreeSet<PathBuf>,
    /// How many bytes may be taken in before the pass gives way to callers.
    pub(super) allowance: u64,
}

impl Pass {
    pub(super) fn new(settings: HistorySettings, only: Option<Project>, oldest: i64) -> Self {
        Self { settings, only, oldest, allowance: ALLOWANCE_BYTES, ..Self::default() }
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
    /// Its row until it is read through, if it was read before and is read from its beginning now.
    pub doubted: Option<Source>,
    /// See [`super::forks`]: the next reading begins at its beginning, too.
    pub is_undecided: bool,
}

impl<'a> SourceProgress<'a> {
    pub(super) fn of(agent: Agent, key: &'a str, counts: Counts) -> Self {
        let read_from = ReadFrom::Cursor;
        Self { agent, key, counts, typed: false, read_from, doubted: None, is_undecided: false }
    }

    /// The same, read from its beginning. `stored` is its row so far.
    pub(super) fn restarted(self, stored: Option<&Source>) -> Self {
        let is_anew = stored.is_some_and(|stored| stored.reader != READER_VERSION);
        let read_from = if is_anew { ReadFrom::StartAnew } else { ReadFrom::Start };
        Self { read_from, doubted: stored.cloned().map(doubted), ..self }
    }

    /// The row behind a batch. What was read before stays doubted until it is read through: an interrupted reading begins again,
    /// and knows which version of the reader came before it.
    fn row_behind(&self, cursor: Option<&Cursor>, is_through: bool) -> Source {
        match &self.doubted {
            Some(doubted) if !is_through => doubted.clone(),
            _ => self.row(cursor, SourceState::Fresh, None),
        }
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

    /// The row of a source in which nothing was said yet, so the prompts of its session may come from elsewhere. If no record in
    /// it is understood, it may be written anew at this moment: then what was stored of it before, and how far, stays.
    fn silent(&self, cursor: &Cursor, stored: Option<&Source>) -> Source {
        let row = Source { session: None, ..self.row(Some(cursor), SourceState::Fresh, None) };
        match stored.filter(|_| self.counts.is_gibberish()) {
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

/// Where reading goes on; `None` for the beginning.
fn cursor_of(source: &Source) -> Option<Cursor> {
    Some(Cursor {
        state: History::cursor(source).filter(|_| !is_doubted(source))?,
        stat: Stat { size: source.size, mtime: source.mtime, inode: source.inode },
        head: source.head.clone()?,
        edge: source.edge.clone()?,
    })
}

/// A file while it is imported.
struct OpenFile<'a> {
    found: &'a Found,
    /// Its row when the reading began.
    stored: Option<Source>,
    standing: SourceProgress<'a>,
    /// Where the next piece begins, if that is not the beginning of the file.
    before: Option<Cursor>,
    /// The place behind the last exchange so far, if that is known.
    end: Option<u32>,
    copying: Option<Copying>,
    /// The file that its session was read from before.
    former: Option<PathBuf>,
}

impl Intake {
    /// Imports what is new in a file.
    pub(super) async fn take_file(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let key = found.path.to_string_lossy().into_owned();
        let stored = self.history.source(found.agent, &key).await?;
        let before = stored.as_ref().and_then(cursor_of);
        let is_again = before.is_none() && stored.as_ref().is_some_and(|stored| stored.session.is_some());
        if pass.is_named && is_again && found.stat.size > AGAIN_BYTES_MAX {
            return Ok(Taken::Skipped);
        }
        let (opened, cursor, now) = (found.clone(), before.clone(), self.base.now());
        let Some(mut reading) = blocking(move || Reading::open(opened, cursor, now)).await?? else {
            return Ok(Taken::Done(found.stat));
        };
        self.set_apart(&found.path, None);
        let standing = SourceProgress::of(found.agent, &key, Counts::default());
        let (standing, before, end) = if reading.restarted() {
            (standing.restarted(stored.as_ref()), None, Some(0))
        } else {
            (standing, before, None)
        };
        let mut file = OpenFile { found, stored, standing, before, end, copying: None, former: None };
        loop {
            let (back, piece) = self.step(reading, pass).await?;
            reading = back;
            let (stat, is_last, bytes) = (piece.cursor.stat, piece.is_last, piece.bytes);
            if let Some(skipped) = Box::pin(self.take_piece(piece, &mut file, pass)).await? {
                return Ok(skipped);
            }
            lock(&self.state.progress).bytes_done += bytes;
            if is_last {
                if let Some(former) = file.former {
                    self.note_former(found, former).await?;
                }
                return Ok(Taken::Done(stat));
            }
        }
    }

    /// Imports a piece of a file. Returns the result of the file if its session is skipped.
    async fn take_piece(
        &self,
        piece: Piece,
        file: &mut OpenFile<'_>,
        pass: &mut Pass,
    ) -> Result<Option<Taken>, Trouble> {
        let found = file.found;
        let Piece { mut batch, cursor, is_last, .. } = piece;
        let counted = file.before.as_ref().map(|before| &before.state.counts);
        self.note_counts(found.agent, file.standing.key, counted, &batch.counts);
        file.standing.counts = batch.counts.clone();
        if batch.session.id.is_empty() && !batch.exchanges.is_empty() {
            let stem = found.path.file_stem().unwrap_or_default();
            batch.session.id = stem.to_string_lossy().into_owned();
        }
        let is_silent = file.stored.is_none() && file.end == Some(0) && batch.exchanges.is_empty();
        if batch.session.id.is_empty() || is_silent || batch.counts.is_gibberish() {
            self.history.put_source(&file.standing.silent(&cursor, file.stored.as_ref())).await?;
            file.before = Some(cursor);
            return Ok(None);
        }
        self.place_in_folder(found, &mut batch, pass).await;
        let project = self.project_of(batch.began_in(), pass).await;
        let skipped = self.skip(found, &file.standing, &batch, &project, &cursor, pass).await?;
        if skipped.is_some() {
            return Ok(skipped);
        }
        file.end = batch.exchanges.last().map(|last| last.seq + 1).or(file.end);
        let whole = (!is_last).then_some(found);
        file.standing.is_undecided = self.drop_copies(&mut batch, &mut file.copying, whole).await?;
        if is_last && file.standing.read_from != ReadFrom::Cursor {
            let (session, stored) = (&batch.session.id, file.stored.as_ref());
            file.standing.is_undecided |=
                self.doubt_forks(found.agent, session, stored, cursor.stat, pass).await?;
        }
        file.former = file.former.take().or(self.other_holder(found, &batch.session.id));
        self.note_holder(found, file.standing.key, &batch.session.id);
        self.note_undecided(found.agent, &batch.session.id, file.standing.is_undecided);
        let reading = work::Reading::of(&batch, file.before.as_ref().map(|before| &before.state));
        let (from, ends_at) = (file.before.as_ref(), file.end.filter(|_| is_last));
        self.commit_piece(&file.standing, project, batch, (from, &cursor), ends_at, pass).await?;
        if let Some(reading) = reading {
            self.journal.fill(reading).await?;
        }
        file.before = Some(cursor);
        Ok(None)
    }

    /// Reads the next piece of a file, after what hooks have named.
    pub(super) async fn step(
        &self,
        mut reading: Reading,
        pass: &mut Pass,
    ) -> Result<(Reading, Piece), Trouble> {
        self.read_named(&pass.reading).await?;
        self.give_way(pass, reading.next_bytes()).await;
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
            let is_calm = self.base.traffic.quiet() >= pace::CALM;
            let most = if is_calm { BATCH_EXCHANGES } else { SHORT_BATCH_EXCHANGES };
            let rest = left.split_off(left.len().min(most));
            let is_last = rest.is_empty();
            let ends_at = ends_at.filter(|_| is_last);
            let cursor = if is_last { Some(after) } else { before };
            self.give_way(pass, left.len() as u64 * EXCHANGE_BYTES).await;
            let batch = HistoryBatch {
                project: project.clone(),
                session: session.clone(),
                exchanges: left,
                withdrawn: if is_last { withdrawn.clone() } else { Vec::new() },
                ends_at,
                typed: standing.typed,
                read_from: standing.read_from,
                source: standing.row_behind(cursor, ends_at.is_some()),
            };
            let done = self.history.commit(batch).await?;
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
            // Only a later version of the reader may understand more.
            failed.reader = READER_VERSION;
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
    use std::fs;

    use super::*;
    use crate::{Service, history::tests::with_service, intake::folders::Form};

    /// More exchanges than many transactions take.
    const EXCHANGES: usize = 10 * BATCH_EXCHANGES;

    fn transcript() -> String {
        let line = |n: usize, kind: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"uuid\":\"{kind}{n}\",\"sessionId\":\"s\",\
                 \"timestamp\":\"2026-01-02T03:04:05Z\",\"message\":{{\"role\":\"{kind}\",\"content\":\"turn {n}\"}}}}\n"
            )
        };
        (0..EXCHANGES).flat_map(|n| [line(n, "user"), line(n, "assistant")]).collect()
    }

    fn found(path: &Path) -> Found {
        let stat = Stat::from(&fs::metadata(path).unwrap());
        let (agent, form) = (Agent::ClaudeCode, Form::Lines);
        Found { agent, form, path: path.to_path_buf(), session: "s".to_owned(), stat }
    }

    async fn row(service: &Service, found: &Found) -> Source {
        let stored = service.history.source(found.agent, &found.path.to_string_lossy()).await.unwrap();
        stored.unwrap()
    }

    fn pass() -> Pass {
        Pass::new(HistorySettings::default(), None, i64::MIN)
    }

    #[test]
    fn an_interrupted_reading_by_a_later_version_of_the_reader_begins_again_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, transcript()).unwrap();
        let found = found(&path);
        with_service(async |service| {
            let intake = &service.intake;
            intake.take_file(&found, &mut pass()).await.unwrap();
            let read = row(&service, &found).await;
            let (state, reader) = (Some(b"of another version".to_vec()), READER_VERSION - 1);
            let earlier = Source { cursor: state, reader, ..read.clone() };
            service.history.put_source(&earlier).await.unwrap();
            // It is cut short after its first transaction.
            let begun = async {
                while row(&service, &found).await == earlier {
                    tokio::task::yield_now().await;
                }
            };
            let mut cut_short = pass();
            tokio::select! {
                biased;
                () = begun => {}
                taken = intake.take_file(&found, &mut cut_short) => panic!("it was not cut short: {taken:?}"),
            }
            let cut = row(&service, &found).await;
            assert_eq!(cut.reader, READER_VERSION - 1);
            // The next daemon reads it, however old it is.
            intake.load_known().await.unwrap();
            let known = lock(&intake.state.known).as_ref().and_then(|known| known.stats.get(&path).copied());
            assert!(known.is_some_and(|stat| stat != found.stat), "{known:?}");
            intake.take_file(&found, &mut pass()).await.unwrap();
            let again = row(&service, &found).await;
            assert_eq!((again.reader, again.mtime), (read.reader, read.mtime));
            assert!(again.cursor.is_some(), "it is as decided as it was");
        });
    }

    #[test]
    fn a_long_file_is_not_read_again_whenever_a_hook_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, transcript()).unwrap();
        let found = found(&path);
        let long = Found { stat: Stat { size: AGAIN_BYTES_MAX + 1, ..found.stat }, ..found.clone() };
        let named = || Pass { is_named: true, ..pass() };
        with_service(async |service| {
            let take = async |found: &Found, mut pass: Pass| {
                service.intake.take_file(found, &mut pass).await.unwrap()
            };
            assert_eq!(take(&found, named()).await, Taken::Done(found.stat));
            let read = row(&service, &found).await;
            assert_eq!(take(&long, named()).await, Taken::Done(long.stat), "where it was");
            service.history.put_source(&Source { cursor: None, ..read }).await.unwrap();
            assert_eq!(take(&long, named()).await, Taken::Skipped);
            assert_eq!(take(&long, pass()).await, Taken::Done(found.stat));
        });
    }
}
