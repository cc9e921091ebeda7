//! Sources with many sessions: databases, and lists of the prompts that were typed. Each session is imported or skipped on
//! its own. A source is finished only when no skipped session may be wanted later.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::Intake;
use super::{
    reading::{Cursor, Fault, is_foreign, is_settled, small},
    rows::{Database, Head},
    take::{Pass, SourceProgress, Taken, Trouble, Want, blocking},
    walk::{Found, key_of},
};
use crate::{ServiceError, agent_slug, lock, work};
use cerebro_core::domain::{Source, SourceState, Timestamp};
use cerebro_transcript::{
    Agent, Batch, Counts, Exchange, READER_VERSION, Session, State,
    typed::{self, TypedPrompts},
};

/// What was skipped of a source with many sessions.
#[derive(Debug, Default)]
struct Remainder {
    /// Sessions that may be wanted next time: they were not asked for, or could not be read.
    for_later: bool,
    /// Sessions that the settings exclude.
    by_choice: bool,
}

impl Remainder {
    fn note(&mut self, want: Want) {
        self.for_later |= want == Want::NotNow;
        self.by_choice |= want == Want::Never;
    }
}

impl Intake {
    /// Imports the sessions of a database that have changed, or only one.
    pub(super) async fn take_database(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let opened = found.clone();
        let mut left = Remainder { for_later: found.only().is_some(), ..Remainder::default() };
        let (mut database, heads) = blocking(move || {
            let database = Database::open(&opened.path)?;
            let heads = database.heads(opened.only())?;
            Ok::<_, Fault>((database, heads))
        })
        .await??;
        let rows = self.rows_of(found).await?;
        // Some of its sessions may have files of their own.
        lock(&self.state.wanted).scan |= left.for_later && heads.is_empty();
        for head in heads {
            let key = key_of(&found.path, &head.id);
            let stored = rows.get(&Source::id_of(agent_slug(found.agent), &key));
            let is_read = |stored: &Source| {
                stored.reader == READER_VERSION && stored.edge.as_ref() == Some(&head.watermark)
            };
            if stored.is_some_and(is_read) {
                continue;
            }
            let is_too_old = stored.is_none() && head.updated.is_some_and(|at| at < pass.oldest);
            // If the head does not have the folder, the session has it.
            let is_placed = found.agent != Agent::Cursor;
            if is_too_old
                || is_placed && !self.is_wanted(found, head.directory.clone(), pass, &mut left).await
            {
                continue;
            }
            self.read_named(&pass.reading).await?;
            let (back, read, head) = blocking(move || {
                let read = database.session(&head);
                (database, read, head)
            })
            .await?;
            database = back;
            let at = PathBuf::from(&key);
            match read {
                Ok(batch)
                    if !is_placed
                        && !self.is_wanted(found, batch.session.cwd.clone(), pass, &mut left).await => {}
                Ok(batch) => {
                    self.note_holder(found, &key, &head.id);
                    self.take_rows(found, (&key, stored), &head, batch, pass).await?;
                    lock(&self.state.progress).recovered(&at);
                }
                Err(fault) => {
                    left.for_later = true;
                    lock(&self.state.progress).failed(&at, &fault.to_string());
                }
            }
        }
        self.done_with(found, &left, Counts::default()).await
    }

    /// The rows of the sessions of a database, and of other sources of its agent, by their ids.
    async fn rows_of(&self, found: &Found) -> Result<HashMap<String, Source>, ServiceError> {
        let rows: Vec<Source> = match found.only() {
            Some(id) => {
                let source = self.history.source(found.agent, &key_of(&found.path, id)).await?;
                source.into_iter().collect()
            }
            None => self.history.sources(found.agent).await?,
        };
        Ok(rows.into_iter().map(|row| (row.id.clone(), row)).collect())
    }

    /// Whether a session of a folder is wanted. If it is not, that is noted.
    async fn is_wanted(
        &self,
        found: &Found,
        folder: Option<String>,
        pass: &mut Pass,
        left: &mut Remainder,
    ) -> bool {
        let want = self.want_of(found, folder, pass).await;
        left.note(want);
        want == Want::Yes
    }

    /// Whether a session of a folder is wanted.
    pub(super) async fn want_of(&self, found: &Found, folder: Option<String>, pass: &mut Pass) -> Want {
        let project = self.project_of(folder.as_deref(), pass).await;
        pass.wants(&project, folder.as_deref(), found)
    }

    /// Stores the state of a source with many sessions. This comes last, so that an interrupted pass is repeated.
    async fn done_with(&self, found: &Found, left: &Remainder, counts: Counts) -> Result<Taken, Trouble> {
        if left.for_later {
            return Ok(Taken::Skipped);
        }
        let state = if left.by_choice { SourceState::Excluded } else { SourceState::Fresh };
        let key = found.path.to_string_lossy();
        self.note_counts(found.agent, &key, None, &counts);
        let standing = SourceProgress::of(found.agent, &key, counts);
        let row = standing.row(Some(&cursor_at(found, "", "")), state, None);
        self.history.put_source(&row).await?;
        Ok(Taken::Done(found.stat))
    }

    /// Imports a session of a database. `stored` is the row that it has under its key.
    async fn take_rows(
        &self,
        found: &Found,
        (key, stored): (&str, Option<&Source>),
        head: &Head,
        mut batch: Batch,
        pass: &mut Pass,
    ) -> Result<(), Trouble> {
        let project = self.project_of(batch.began_in(), pass).await;
        self.note_counts(found.agent, key, None, &batch.counts);
        let standing = SourceProgress::of(found.agent, key, batch.counts.clone()).restarted(stored);
        let cursor = cursor_at(found, &head.id, &head.watermark);
        let ends_at = Some(batch.exchanges.last().map_or(0, |last| last.seq + 1));
        self.drop_copies(&mut batch, &mut None, None).await?;
        let reading = work::Reading::of(&batch, None);
        self.commit_piece(&standing, project, batch, (None, &cursor), ends_at, pass).await?;
        match reading {
            Some(reading) => Ok(self.journal.fill(reading).await?),
            None => Ok(()),
        }
    }

    /// Imports the prompts of sessions whose transcripts are gone.
    pub(super) async fn take_typed(&self, found: &Found, pass: &mut Pass) -> Result<Taken, Trouble> {
        let (path, is_settled) = (found.path.clone(), is_settled(&found.stat, self.base.now()));
        let read = blocking(move || {
            let bytes = small(&path)?;
            let read = typed::read(&bytes, 0);
            let is_foreign = is_foreign(&read.counts, &bytes);
            if is_foreign && is_settled { Err(Fault::Foreign) } else { Ok((read, is_foreign)) }
        });
        let (TypedPrompts { prompts, counts, .. }, is_half_written) = read.await??;
        self.set_apart(&found.path, None);
        let mut left = Remainder { for_later: is_half_written, ..Remainder::default() };
        for (id, prompts) in by_session(prompts).into_iter().rev() {
            let key = key_of(&found.path, &id);
            if self.is_in_another(found.agent, &id, &key) {
                continue;
            }
            let batch = typed_batch(found.agent, &id, prompts);
            let ended = batch.session.ended.map(Timestamp::as_microsecond);
            let is_wanted = self.is_wanted(found, batch.session.cwd.clone(), pass, &mut left).await;
            if !is_wanted || ended.is_some_and(|at| at < pass.oldest) {
                continue;
            }
            let project = self.project_of(batch.began_in(), pass).await;
            let standing =
                SourceProgress { typed: true, ..SourceProgress::of(found.agent, &key, Counts::default()) };
            self.read_named(&pass.reading).await?;
            self.commit_piece(&standing, project, batch, (None, &cursor_at(found, &id, "")), None, pass)
                .await?;
        }
        self.done_with(found, &left, counts).await
    }

    /// Whether a session was read from a source other than this one.
    fn is_in_another(&self, agent: Agent, session: &str, key: &str) -> bool {
        let known = lock(&self.state.known);
        known
            .as_ref()
            .and_then(|known| known.holder(agent, session))
            .is_some_and(|path| path != Path::new(key))
    }
}

/// How far a source with many sessions was read, or one of these: as far as a watermark, for want of a position.
fn cursor_at(found: &Found, session: &str, watermark: &str) -> Cursor {
    Cursor {
        state: State::new(found.agent, session),
        stat: found.stat,
        head: String::new(),
        edge: watermark.to_owned(),
    }
}

/// The prompts of each session, in the order in which the sessions began.
pub(super) fn by_session(prompts: Vec<typed::Typed>) -> Vec<(String, Vec<typed::Typed>)> {
    let mut sessions: Vec<(String, Vec<typed::Typed>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for prompt in prompts {
        let at = *places.entry(prompt.session.clone()).or_insert(sessions.len());
        if at == sessions.len() {
            sessions.push((prompt.session.clone(), Vec::new()));
        }
        sessions[at].1.push(prompt);
    }
    sessions
}

/// A session that only has prompts left.
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
