//! What happened around a memory.

use crate::{Footing, Recall, ServiceError};
use cerebro_core::domain::{Memory, MemoryId, Prompt, Scope, Session, Timestamp};
use cerebro_core::{named, text};
use cerebro_store::Side;

/// Least sessions before a memory that are looked at: one that began earlier than others may have ended later.
const SESSIONS_MIN: usize = 20;
/// How much of a prompt or summary a line shows.
const LINE_CHARS: usize = 120;

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Within {
    /// The memory's own session.
    #[default]
    Session,
    /// Its whole project.
    Project,
}

/// Which memory, and how many entries on either side.
#[derive(Debug, Clone)]
pub struct TimelineRequest {
    /// The memory in the middle.
    pub id: MemoryId,
    /// How many entries before it.
    pub before: usize,
    /// How many after it.
    pub after: usize,
    /// How far to look.
    pub within: Within,
}

named! {
    /// What an entry is.
    pub enum EntryKind {
        /// A memory was saved.
        Memory = "memory",
        /// The user asked for something.
        Prompt = "prompt",
        /// A session began.
        SessionStart = "session_start",
        SessionEnd = "session_end",
    }
}

/// One line of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub kind: EntryKind,
    /// The id of the memory, prompt or session.
    pub id: String,
    /// A title or the beginning of a text; empty for a border without a summary.
    pub title: String,
    /// The memory's type.
    pub memory_kind: Option<String>,
    /// Who wrote it.
    pub agent: String,
    /// When.
    pub at: Timestamp,
    /// The footing of the memory.
    pub footing: Option<Footing>,
}

/// A memory with what happened around it, in order of time.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The session of the memory, when it still has one.
    pub session: Option<Session>,
    /// The memory's scope.
    pub scope: Scope,
    /// Oldest first.
    pub before: Vec<Entry>,
    /// The memory.
    pub focus: Entry,
    /// Oldest first.
    pub after: Vec<Entry>,
}

impl Timeline {
    /// The footings of the memories of all entries.
    pub fn footings(&self) -> Vec<Footing> {
        let entries = self.before.iter().chain([&self.focus]).chain(&self.after);
        entries.filter_map(|entry| entry.footing.clone()).collect()
    }
}

impl Recall {
    /// The entries around a live memory.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`]
    pub async fn timeline(&self, request: &TimelineRequest) -> Result<Timeline, ServiceError> {
        let found = self.base.store.memories().with_session(&request.id).await?;
        let (memory, session) = found.ok_or(ServiceError::NoMemory(request.id))?;
        if !memory.is_live() {
            return Err(ServiceError::gone(&memory));
        }
        let (mut before, focus, mut after) = match (request.within, &session) {
            (Within::Session, Some(session)) => self.around_in_session(&memory, session, request).await?,
            _ => self.around_in_project(&memory, request).await?,
        };
        order(&mut before, focus.at, false, request.before);
        order(&mut after, focus.at, true, request.after);
        Ok(Timeline { session, scope: memory.body.scope, before, focus, after })
    }

    async fn around_in_session(
        &self,
        memory: &Memory,
        session: &Session,
        request: &TimelineRequest,
    ) -> Result<(Vec<Entry>, Entry, Vec<Entry>), ServiceError> {
        // Only a later revision may come from another session than the one that created the memory.
        let at = match memory.revision {
            1 => memory.created_at,
            _ => self
                .base
                .store
                .edges()
                .written_at(&memory.id, &session.id)
                .await?
                .unwrap_or(memory.created_at),
        };
        let (before, after) =
            self.base.store.sessions().around(&session.id, at, request.before, request.after).await?;
        let entries = |side: Side| -> Vec<Entry> {
            let memories = side.written.iter().map(|(memory, at)| memory_entry(memory, *at));
            memories.chain(side.prompts.iter().map(prompt_entry)).chain(session_borders(session)).collect()
        };
        Ok((entries(before), memory_entry(memory, at), entries(after)))
    }

    async fn around_in_project(
        &self,
        memory: &Memory,
        request: &TimelineRequest,
    ) -> Result<(Vec<Entry>, Entry, Vec<Entry>), ServiceError> {
        let (store, scope, at) = (&self.base.store, &memory.scope, memory.created_at);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let beside = async {
            // Prompts and sessions belong to a project.
            let Some(project) = scope.project() else { return Ok(Default::default()) };
            // A session that began before the memory may have ended after it.
            tokio::try_join!(
                store.prompts().latest(Some(project), at, request.before),
                store.prompts().since(project, at, request.after),
                store.sessions().latest(Some(project), at, None, SESSIONS_MIN.max(request.before + 1)),
                store.sessions().begun_since(project, at, request.after + 2),
            )
        };
        let (made_before, made_after, (asked_before, asked_after, earlier, later)) = tokio::try_join!(
            store.memories().created_before(scope, at, request.before),
            store.memories().created_since(scope, at, request.after),
            beside,
        )?;
        before.extend(made_before.iter().map(|memory| memory_entry(memory, memory.created_at)));
        before.extend(asked_before.iter().map(prompt_entry));
        after.extend(made_after.iter().map(|memory| memory_entry(memory, memory.created_at)));
        after.extend(asked_after.iter().map(prompt_entry));
        for session in earlier.iter().chain(&later) {
            before.extend(session_borders(session));
            after.extend(session_borders(session));
        }
        Ok((before, memory_entry(memory, at), after))
    }
}

/// Keeps the `count` entries nearest to `focus` on one side of it, in order of time.
fn order(entries: &mut Vec<Entry>, focus: Timestamp, forward: bool, count: usize) {
    // What is saved in the call that begins a session has the session's moment.
    let begins = |entry: &Entry| entry.at == focus && entry.kind == EntryKind::SessionStart;
    entries.retain(|entry| if forward { entry.at > focus } else { entry.at < focus || begins(entry) });
    let rank = |entry: &Entry| match entry.kind {
        EntryKind::SessionStart => 0,
        EntryKind::Memory | EntryKind::Prompt => 1,
        EntryKind::SessionEnd => 2,
    };
    entries.sort_by(|a, b| a.at.cmp(&b.at).then(rank(a).cmp(&rank(b))).then_with(|| a.id.cmp(&b.id)));
    entries.dedup_by(|a, b| a.id == b.id && a.kind == b.kind);
    if forward {
        entries.truncate(count);
    } else {
        let surplus = entries.len().saturating_sub(count);
        entries.drain(..surplus);
    }
}

pub(crate) fn memory_entry(memory: &Memory, at: Timestamp) -> Entry {
    Entry {
        kind: EntryKind::Memory,
        id: memory.id.to_string(),
        title: memory.title.to_string(),
        memory_kind: Some(memory.kind.to_string()),
        agent: memory.agent.to_string(),
        at,
        footing: Some(memory.into()),
    }
}

pub(crate) fn prompt_entry(prompt: &Prompt) -> Entry {
    Entry {
        kind: EntryKind::Prompt,
        id: prompt.id.to_string(),
        title: line(&prompt.content),
        memory_kind: None,
        agent: prompt.agent.to_string(),
        at: prompt.created_at,
        footing: None,
    }
}

fn session_borders(session: &Session) -> Vec<Entry> {
    let border = |kind, at, title| Entry {
        kind,
        id: session.id.to_string(),
        title,
        memory_kind: None,
        agent: session.agent.to_string(),
        at,
        footing: None,
    };
    let mut borders = vec![border(EntryKind::SessionStart, session.started_at, String::new())];
    if let Some(at) = session.ended_at {
        let summary = session.summary.as_deref().map(line).unwrap_or_default();
        borders.push(border(EntryKind::SessionEnd, at, summary));
    }
    borders
}

fn line(content: &str) -> String {
    text::cut_chars(&text::one_line(content), LINE_CHARS).into_owned()
}
