//! One source, from its pieces to the store: whose session it is, what of it is a copy, and the batches in which
//! exchanges and cursor are committed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::{
    desk::{Desk, HistoryOptions},
    reading::{Cursor, Fault, Piece, Reading},
    rows::{Database, Head},
    settings::HistorySettings,
    walk::{Found, Stat},
};
use crate::{HistoryBatch, Service, ServiceError, SourceRead, lock, work};
use cerebro_core::domain::{Project, SessionId, Source, SourceState};
use cerebro_transcript::{Agent, Batch, Counts, Exchange, Session, State, lineage, turn::Parent, typed};

/// Exchanges of one transaction: so many are below what a transaction takes, however long each is.
const BATCH_EXCHANGES: usize = 120;
/// Folders whose projects are kept in mind.
const PROJECTS_MAX: usize = 4_096;

/// Why a source was not taken in.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It lies with the source: it is named, and the others go on.
    Source(Fault),
    /// It lies with the store: all end.
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
            // What a transcript says cannot be stored; that is no fault of the store.
            ServiceError::Invalid { .. } => Self::Source(Fault::Unknown(error.to_string())),
            error => Self::Store(error),
        }
    }
}

/// What became of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// There is nothing to do until it looks otherwise.
    Done(Stat),
    /// It is not what was asked for, and was left as it is.
    Left,
}

/// What one pass over many sources keeps in mind.
pub(super) struct Pass {
    settings: HistorySettings,
    /// Only this project is wanted.
    only: Option<Project>,
    projects: HashMap<String, Project>,
}

impl Pass {
    pub(super) fn new(settings: HistorySettings, only: Option<Project>) -> Self {
        Self { settings, only, projects: HashMap::new() }
    }

    /// Whether sessions are taken in by themselves.
    pub(super) fn is_enabled(&self) -> bool {
        self.settings.enabled
    }

    /// Whether the user wants a session left alone.
    pub(super) fn excludes(&self, project: &Project, folder: Option<&str>, path: &Path) -> bool {
        self.settings.excludes(project, folder, path)
    }
}

/// How a source stands, before and after a piece.
struct Standing<'a> {
    agent: Agent,
    key: &'a str,
    counts: Counts,
}

impl Standing<'_> {
    fn read(&self, cursor: Option<&Cursor>, standing: SourceState, error: Option<String>) -> SourceRead {
        let stat = cursor.map(|cursor| cursor.stat).unwrap_or_default();
        SourceRead {
            agent: self.agent,
            key: self.key.to_owned(),
            size: stat.size,
            mtime: stat.mtime,
            inode: stat.inode,
            head: cursor.map(|cursor| cursor.head.clone()),
            edge: cursor.map(|cursor| cursor.edge.clone()),
            state: cursor.map(|cursor| cursor.state.clone()),
            counts: self.counts.clone(),
            standing,
            error,
        }
    }
}

/// Runs what blocks on a thread for it.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Trouble> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Trouble::Source(Fault::Unknown("its reader broke off".to_owned())))
}

fn cursor_of(source: &Source) -> Option<Cursor> {
    Some(Cursor {
        state: Service::history_cursor(source)?,
        stat: Stat { size: source.size, mtime: source.mtime, inode: source.inode },
        head: source.head.clone()?,
        edge: source.edge.clone()?,
    })
}

impl Service {
    /// Takes in what is new in a file.
    pub(super) async fn take_file(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let key = found.path.to_string_lossy().into_owned();
        let stored = self.history_source(found.agent, &key).await?;
        let mut before = stored.as_ref().and_then(cursor_of);
        let mut standing = Standing { agent: found.agent, key: &key, counts: Counts::default() };
        let (opened, cursor, now) = (found.clone(), before.clone(), self.now());
        let Some(mut reading) = blocking(move || Reading::open(opened, cursor, now)).await?? else {
            return Ok(Taken::Done(found.stat));
        };
        if reading.began_anew() {
            before = None;
        }
        let mut copying = Copying::Unknown;
        let mut end = reading.began_anew().then_some(0);
        loop {
            let (back, piece) = blocking(move || {
                let piece = reading.step();
                (reading, piece)
            })
            .await?;
            reading = back;
            let Piece { mut batch, cursor, is_last, bytes } = piece?;
            self.note_counts(found.agent, &standing.counts, &batch.counts);
            standing.counts = batch.counts.clone();
            if batch.session.id.is_empty() && !batch.exchanges.is_empty() {
                let stem = found.path.file_stem().unwrap_or_default();
                batch.session.id = stem.to_string_lossy().into_owned();
            }
            if batch.session.id.is_empty() {
                // Nothing was said yet.
                let read = standing.read(Some(&cursor), SourceState::Fresh, None);
                self.put_history_source(&read.to_source()).await?;
            } else {
                let project = self.project_of(&batch.session, pass).await;
                if let Some(left) = self.leave(found, &standing, &batch, &project, &cursor, pass).await? {
                    return Ok(left);
                }
                end = batch.exchanges.last().map(|last| last.seq + 1).or(end);
                self.drop_copies(&mut batch, &mut copying).await?;
                self.holds(found, &batch.session.id);
                let told = work::Reading::of(&batch, before.as_ref().map(|before| &before.state));
                let ends_at = end.filter(|_| is_last);
                self.commit_piece(&standing, project, batch, (before.as_ref(), &cursor), ends_at).await?;
                if let Some(told) = told {
                    self.work_fill(told).await?;
                }
            }
            lock(&self.history_desk().progress).bytes_done += bytes;
            if is_last {
                return Ok(Taken::Done(cursor.stat));
            }
            before = Some(cursor);
            self.make_way().await;
        }
    }

    /// Leaves a session alone that is not wanted, or that another file has.
    async fn leave(
        &self,
        found: &Found,
        standing: &Standing<'_>,
        batch: &Batch,
        project: &Project,
        cursor: &Cursor,
        pass: &Pass,
    ) -> Result<Option<Taken>, Trouble> {
        if pass.only.as_ref().is_some_and(|only| only != project) {
            return Ok(Some(Taken::Left));
        }
        let folder = batch.session.cwd.as_deref();
        let error = if pass.excludes(project, folder, &found.path) {
            None
        } else if self.is_held_elsewhere(found, &batch.session.id) {
            Some("another file has the same session and more of it".to_owned())
        } else {
            return Ok(None);
        };
        let mut source = standing.read(None, SourceState::Excluded, error).to_source();
        // As it looks now, so that it is not looked at again until it changes.
        (source.size, source.mtime, source.inode) = (found.stat.size, found.stat.mtime, cursor.stat.inode);
        self.put_history_source(&source).await?;
        Ok(Some(Taken::Done(found.stat)))
    }

    /// Commits what a piece has, in batches; only the last one moves the cursor, so that one that was cut short is
    /// made again.
    async fn commit_piece(
        &self,
        standing: &Standing<'_>,
        project: Project,
        batch: Batch,
        (before, after): (Option<&Cursor>, &Cursor),
        ends_at: Option<u32>,
    ) -> Result<(), Trouble> {
        let Batch { exchanges, withdrawn, session, .. } = batch;
        let mut left = exchanges;
        loop {
            let rest = left.split_off(left.len().min(BATCH_EXCHANGES));
            let is_last = rest.is_empty();
            let cursor = if is_last { Some(after) } else { before };
            let batch = HistoryBatch {
                project: project.clone(),
                session: session.clone(),
                exchanges: left,
                withdrawn: if is_last { withdrawn.clone() } else { Vec::new() },
                ends_at: ends_at.filter(|_| is_last),
                source: standing.read(cursor, SourceState::Fresh, None),
            };
            let done = self.commit_history(batch).await?;
            {
                let mut progress = lock(&self.history_desk().progress);
                let told = progress.of(standing.agent);
                told.exchanges += (done.added + done.replaced) as u64;
                told.redacted += done.redacted as u64;
            }
            if is_last {
                return Ok(());
            }
            self.make_way().await;
            left = rest;
        }
    }

    /// Takes out what the session copied from another one. Only a session that is new, or known as a copy, can begin
    /// with what is another's: those whose beginning was copied since have the same ids.
    async fn drop_copies(&self, batch: &mut Batch, copying: &mut Copying) -> Result<(), Trouble> {
        if *copying == Copying::Unknown {
            let id = SessionId::parse(&batch.session.id).ok();
            let stored = match &id {
                Some(id) => self.past_session(id).await?,
                None => None,
            };
            let may_be = stored.is_none_or(|past| past.parent.is_some() || past.exchanges == 0);
            *copying = if may_be { Copying::Maybe(None) } else { Copying::Never };
        }
        let Copying::Maybe(parent) = copying else { return Ok(()) };
        if batch.session.parent.is_none() {
            batch.session.parent.clone_from(parent);
        }
        let Some(first) = batch.exchanges.first().and_then(|first| first.first_id.clone()) else {
            return Ok(());
        };
        let own = batch.session.id.clone();
        let mut owners = self.history_owners(&[&first]).await?;
        if owners.iter().all(|(_, session)| session.as_str() == own) {
            if batch.session.parent.is_none() {
                *copying = Copying::Never;
            }
            return Ok(());
        }
        let ids = |exchange: &Exchange| [exchange.first_id.clone(), exchange.last_id.clone()];
        let ids: Vec<String> = batch.exchanges.iter().flat_map(ids).flatten().collect();
        owners = self.history_owners(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let known = |id: &str, than: &str| {
            let owner = owners.iter().find(|(native, session)| native == id && session.as_str() != than);
            owner.map(|(_, session)| session.as_str().to_owned())
        };
        let found = lineage::of(&batch.session, &batch.exchanges, &known);
        batch.exchanges.retain(|exchange| !found.copies.contains(&exchange.seq));
        batch.session.parent = found.parent;
        *copying = Copying::Maybe(batch.session.parent.clone());
        Ok(())
    }

    /// The project that a session belongs to: that of its folder.
    pub(super) async fn project_of(&self, session: &Session, pass: &mut Pass) -> Project {
        let Some(cwd) = session.cwd.as_deref().filter(|cwd| cwd.starts_with('/')) else {
            return Project::general();
        };
        if let Some(project) = pass.projects.get(cwd) {
            return project.clone();
        }
        let Some(HistoryOptions { project_of, .. }) = self.history_desk().options.get() else {
            return Project::general();
        };
        let project = project_of(PathBuf::from(cwd)).await;
        if pass.projects.len() >= PROJECTS_MAX {
            pass.projects.clear();
        }
        pass.projects.insert(cwd.to_owned(), project.clone());
        project
    }

    fn note_counts(&self, agent: Agent, before: &Counts, after: &Counts) {
        lock(&self.history_desk().progress).of(agent).count(before, after);
    }

    pub(super) fn history_desk(&self) -> &Desk {
        &self.0.history_desk
    }

    fn holds(&self, found: &Found, session: &str) {
        if let Some(known) = lock(&self.history_desk().known).as_mut() {
            let holder = (found.path.clone(), found.stat.size);
            known.holders.insert((found.agent, session.to_owned()), holder);
        }
    }

    fn is_held(&self, agent: Agent, session: &str) -> bool {
        let known = lock(&self.history_desk().known);
        known.as_ref().is_some_and(|known| known.holders.contains_key(&(agent, session.to_owned())))
    }

    fn is_held_elsewhere(&self, found: &Found, session: &str) -> bool {
        let known = lock(&self.history_desk().known);
        known
            .as_ref()
            .is_some_and(|known| known.is_held_elsewhere(found.agent, session, &found.path, found.stat.size))
    }

    /// Takes in the sessions of a database that have changed.
    pub(super) async fn take_database(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let path = found.path.clone();
        let (mut database, heads) = blocking(move || {
            let database = Database::open(&path)?;
            let heads = database.heads()?;
            Ok::<_, Fault>((database, heads))
        })
        .await??;
        let known = self.history_sources(found.agent).await?;
        let known: HashMap<String, Option<String>> =
            known.into_iter().map(|source| (source.id, source.edge)).collect();
        for head in heads {
            let key = format!("{}#{}", found.path.to_string_lossy(), head.id);
            let id = Source::id_of(crate::agent_slug(found.agent), &key);
            if known.get(&id).is_some_and(|edge| edge.as_deref() == Some(&head.watermark)) {
                continue;
            }
            let (back, read, head) = blocking(move || {
                let read = database.session(&head);
                (database, read, head)
            })
            .await?;
            database = back;
            match read {
                Ok(batch) => self.take_rows(found, &key, &head, batch, pass).await?,
                Err(fault) => {
                    let at = PathBuf::from(key);
                    lock(&self.history_desk().progress).fault(&at, &fault.to_string());
                }
            }
            self.make_way().await;
        }
        // Last, so that a pass that was cut short is made again.
        let key = found.path.to_string_lossy().into_owned();
        let standing = Standing { agent: found.agent, key: &key, counts: Counts::default() };
        let cursor = Self::of_rows(found, "", "");
        self.put_history_source(&standing.read(Some(&cursor), SourceState::Fresh, None).to_source()).await?;
        lock(&self.history_desk().progress).bytes_done += found.stat.size;
        Ok(Taken::Done(found.stat))
    }

    fn of_rows(found: &Found, session: &str, watermark: &str) -> Cursor {
        Cursor {
            state: State::new(found.agent, session),
            stat: found.stat,
            head: String::new(),
            edge: watermark.to_owned(),
        }
    }

    async fn take_rows(
        &self,
        found: &Found,
        key: &str,
        head: &Head,
        mut batch: Batch,
        pass: &mut Pass,
    ) -> Result<(), Trouble> {
        let project = self.project_of(&batch.session, pass).await;
        let is_other = pass.only.as_ref().is_some_and(|only| *only != project);
        if is_other || pass.excludes(&project, batch.session.cwd.as_deref(), &found.path) {
            return Ok(());
        }
        self.note_counts(found.agent, &Counts::default(), &batch.counts);
        let standing = Standing { agent: found.agent, key, counts: batch.counts.clone() };
        let cursor = Self::of_rows(found, &head.id, &head.watermark);
        let ends_at = Some(batch.exchanges.last().map_or(0, |last| last.seq + 1));
        let mut copying = Copying::Unknown;
        self.drop_copies(&mut batch, &mut copying).await?;
        let told = work::Reading::of(&batch, None);
        self.commit_piece(&standing, project, batch, (None, &cursor), ends_at).await?;
        match told {
            Some(told) => Ok(self.work_fill(told).await?),
            None => Ok(()),
        }
    }

    /// Takes in the prompts of sessions whose transcripts are gone.
    pub(super) async fn take_typed(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let path = found.path.clone();
        let bytes = blocking(move || super::reading::small(&path)).await??;
        let (prompts, end) = typed::read(&bytes, 0);
        let mut sessions: Vec<(String, Vec<typed::Typed>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for mut prompt in prompts {
            let Some(id) = prompt.session.take() else { continue };
            let at = *places.entry(id.clone()).or_insert(sessions.len());
            if at == sessions.len() {
                sessions.push((id, Vec::new()));
            }
            sessions[at].1.push(prompt);
        }
        let key = found.path.to_string_lossy().into_owned();
        for (id, prompts) in sessions.into_iter().rev() {
            if self.is_held(found.agent, &id) {
                continue;
            }
            let batch = typed_batch(found.agent, &id, prompts);
            let project = self.project_of(&batch.session, pass).await;
            let is_other = pass.only.as_ref().is_some_and(|only| *only != project);
            if is_other || pass.excludes(&project, batch.session.cwd.as_deref(), &found.path) {
                continue;
            }
            let key = format!("{key}#{id}");
            let standing = Standing { agent: found.agent, key: &key, counts: Counts::default() };
            let cursor = Self::of_rows(found, &id, "");
            self.commit_piece(&standing, project, batch, (None, &cursor), None).await?;
            self.make_way().await;
        }
        let standing = Standing { agent: found.agent, key: &key, counts: Counts::default() };
        let cursor = Self::of_rows(found, "", "");
        self.put_history_source(&standing.read(Some(&cursor), SourceState::Fresh, None).to_source()).await?;
        lock(&self.history_desk().progress).bytes_done += end;
        Ok(Taken::Done(found.stat))
    }

    /// Puts down that a source could not be read.
    pub(super) async fn note_fault(&self, found: &Found, fault: &Fault) -> Result<(), ServiceError> {
        let words = fault.to_string();
        lock(&self.history_desk().progress).fault(&found.path, &words);
        let key = found.path.to_string_lossy().into_owned();
        let mut source = match self.history_source(found.agent, &key).await? {
            Some(source) => source,
            None => {
                let standing = Standing { agent: found.agent, key: &key, counts: Counts::default() };
                standing.read(None, SourceState::Failed, None).to_source()
            }
        };
        let standing = Standing { agent: found.agent, key: &key, counts: Counts::default() };
        source.error = standing.read(None, SourceState::Failed, Some(words)).to_source().error;
        source.state = SourceState::Failed;
        self.put_history_source(&source).await
    }
}

/// Whether a session may begin with a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Copying {
    /// It was not looked up yet.
    Unknown,
    /// It may, and this is what it was copied from as far as that is known.
    Maybe(Option<Parent>),
    /// It is a session of its own.
    Never,
}

/// A session of which only the prompts are left.
fn typed_batch(agent: Agent, id: &str, prompts: Vec<typed::Typed>) -> Batch {
    let mut session = Session { agent, id: id.to_owned(), ..Session::default() };
    session.started = prompts.first().and_then(|prompt| prompt.at);
    session.ended = prompts.last().and_then(|prompt| prompt.at);
    session.cwd = prompts.iter().rev().find_map(|prompt| prompt.project.clone());
    let exchanges = (0..).zip(prompts).map(|(seq, typed)| Exchange {
        seq,
        prompt: Some(typed.prompt),
        at: typed.at,
        until: typed.at,
        cwd: typed.project,
        offset: typed.offset,
        ..Exchange::default()
    });
    Batch {
        exchanges: exchanges.collect(),
        withdrawn: Vec::new(),
        session,
        counts: Counts::default(),
        end: 0,
        state: State::new(agent, id),
    }
}
