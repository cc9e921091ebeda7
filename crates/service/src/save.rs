//! Saving a memory: look, decide, write, in one transaction.

use std::sync::Arc;

use super::{Caller, Service, ServiceError, fields::Fields};
use cerebro_core::domain::{
    EventKind, Kind, Memory, MemoryId, Project, Revision, Scope, SessionId, Timestamp,
    limits::{SIMILAR_JACCARD_MIN, SIMILAR_MAX},
};
use cerebro_core::hygiene::{self, Decision, Draft, Shingles, Standing};
use cerebro_core::redact::RedactedText;
use cerebro_store::Write;

/// Most recent twins that a decision looks at.
const TWINS_MAX: usize = 16;
/// Most memories that are compared word by word.
const CANDIDATES_MAX: usize = 16;

/// What to save, as the caller gave it: its texts are not redacted yet.
#[derive(Debug, Clone)]
pub struct SaveRequest {
    /// One line.
    pub title: String,
    /// What / Why / Where / Learned, or any text.
    pub content: String,
    /// The type.
    pub kind: Kind,
    /// Where it belongs; the caller's own project when `None`.
    pub project: Option<Project>,
    /// Who it is for.
    pub scope: Scope,
    /// The stable subject, if it has one.
    pub topic_key: Option<String>,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// The session it is saved in.
    pub session: SessionId,
}

/// What a save did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveOutcome {
    /// A memory of its own.
    Created,
    /// A new revision of the topic's memory.
    Updated,
    /// The same text was saved a moment ago.
    Duplicate,
    /// The memory already was so.
    Unchanged,
}

impl SaveOutcome {
    /// The published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Duplicate => "duplicate",
            Self::Unchanged => "unchanged",
        }
    }
}

/// What a revision replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The title before.
    pub title: RedactedText,
    /// Who wrote that.
    pub agent: RedactedText,
    /// When.
    pub at: Timestamp,
}

/// A live memory that is nearly the one saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Similar {
    /// Its id.
    pub id: MemoryId,
    /// Its title.
    pub title: RedactedText,
    /// Who wrote it.
    pub agent: RedactedText,
    /// When.
    pub at: Timestamp,
}

/// What a draft became.
pub(super) struct Written {
    /// The memory as it is now.
    pub memory: Memory,
    /// What happened.
    pub outcome: SaveOutcome,
    /// What a revision replaced.
    pub replaced: Option<Replaced>,
    /// Memories that may nearly be the same.
    near: Vec<MemoryId>,
}

/// The answer to a save. It means durable.
#[derive(Debug, Clone)]
pub struct Saved {
    /// The memory as it is now.
    pub memory: Memory,
    /// What happened.
    pub outcome: SaveOutcome,
    /// A key for the next save of this subject, when none was given.
    pub suggested_topic_key: Option<String>,
    /// What a revision replaced.
    pub replaced: Option<Replaced>,
    /// Up to three memories that may be meant.
    pub similar: Vec<Similar>,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl Service {
    /// Saves a memory by the contract's steps. What the reply names is on disk.
    ///
    /// Runs to its end even when the caller goes away.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a field, or a failing store.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn save(&self, caller: &Caller, request: SaveRequest) -> Result<Saved, ServiceError> {
        let project = request.project.clone().unwrap_or_else(|| caller.project.clone());
        let mut fields = Fields::default();
        let draft = draft(&mut fields, caller, &project, request)?;
        let elsewhere = self.leads_elsewhere(Some(&draft.project), caller).await?;
        let draft = Arc::new(draft);
        let named = Arc::clone(&draft);
        // Thought of while the disk is waited for.
        let suggesting = async move { named.topic_key.is_none().then(|| suggest(&named)) };
        let (written, suggested_topic_key) = tokio::join!(self.write_draft(caller, draft), suggesting);
        let Written { memory, outcome, replaced, near } = written?;
        let new_project = if elsewhere { self.meet_project(&memory.project, caller).await? } else { None };
        let near = if outcome == SaveOutcome::Created { near } else { Vec::new() };
        let similar = self.similar_to(&memory, &near).await?;
        let suggested_topic_key = suggested_topic_key.filter(|_| memory.topic_key.is_none());
        let redacted = fields.redacted();
        Ok(Saved { memory, outcome, suggested_topic_key, replaced, similar, new_project, redacted })
    }

    async fn write_draft(&self, caller: &Caller, draft: Arc<Draft>) -> Result<Written, ServiceError> {
        let job = Arc::new((self.clone(), caller.clone(), draft));
        self.store()
            .transact(move |write| {
                let job = Arc::clone(&job);
                Box::pin(async move {
                    let (service, caller, draft) = &*job;
                    service.put_draft(write, caller, draft, &caller.project).await
                })
            })
            .await
    }

    /// Decides and writes a draft; a session that it begins is one of `home`.
    pub(super) async fn put_draft(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        draft: &Draft,
        home: &Project,
    ) -> Result<Written, ServiceError> {
        let holder = match &draft.topic_key {
            Some(key) => write.store().topic_holder(&draft.project, draft.scope, key).await?,
            None => None,
        };
        let near = self.near(draft);
        // A twin has the draft's title, and then the index names it.
        let twins = match (&holder, &near) {
            (Some(_), _) => Vec::new(),
            // What others saved this moment the index may not have heard of.
            (None, Some(ids)) if ids.is_empty() && !write.store().is_shared() => Vec::new(),
            (None, _) => {
                let window = jiff::SignedDuration::try_from(self.settings().dedup_window).unwrap_or_default();
                let since = write.at().checked_sub(window).unwrap_or(Timestamp::MIN);
                write.store().twins(&draft.identity(), &draft.content, since, TWINS_MAX).await?
            }
        };
        let near = near.unwrap_or_default();
        let written = |memory, outcome, replaced| Ok(Written { memory, outcome, replaced, near });
        let standing = Standing { topic_holder: holder.as_ref(), recent_twins: &twins };
        match hygiene::decide(draft, &standing) {
            Decision::Unchanged { id } => written(found(holder, twins, &id)?, SaveOutcome::Unchanged, None),
            Decision::Repeat { id } => {
                let mut memory = found(holder, twins, &id)?;
                memory.duplicate_count = memory.duplicate_count.saturating_add(1);
                memory.last_seen_at = write.at();
                write.tell(EventKind::MemoryRepeated, &memory, Some(&draft.session));
                write.changes.memories.push(memory.clone());
                written(memory, SaveOutcome::Duplicate, None)
            }
            Decision::Revise { id } => {
                let old = found(holder, twins, &id)?;
                self.ensure_session(write, &draft.session, home, caller).await?;
                let replaced =
                    Replaced { title: old.title.clone(), agent: old.agent.clone(), at: old.updated_at };
                let memory = self.revise(write, old, |memory| {
                    memory.kind = draft.kind.clone();
                    memory.title.clone_from(&draft.title);
                    memory.content.clone_from(&draft.content);
                    memory.tags.clone_from(&draft.tags);
                    memory.agent.clone_from(&draft.agent);
                    memory.session = Some(draft.session.clone());
                });
                written(memory, SaveOutcome::Updated, Some(replaced))
            }
            Decision::Create => {
                self.ensure_session(write, &draft.session, home, caller).await?;
                written(create(write, draft), SaveOutcome::Created, None)
            }
        }
    }

    /// Puts a new revision of `old` as `edit` makes it, and keeps what it was.
    pub(super) fn revise(
        &self,
        write: &mut Write<'_>,
        old: Memory,
        edit: impl FnOnce(&mut Memory),
    ) -> Memory {
        let mut memory = old.clone();
        edit(&mut memory);
        memory.revision = old.revision.saturating_add(1);
        memory.updated_at = write.at();
        memory.last_seen_at = write.at();
        let keep = self.settings().revisions_keep;
        if keep > 0 && old.revision > keep {
            write.changes.trimmed.push((old.id, old.revision - keep));
        }
        write.changes.revisions.push(revision_of(old));
        write.tell(EventKind::MemoryUpdated, &memory, memory.session.as_ref());
        link(write, &memory);
        write.changes.jobs.push((memory.id, memory.revision));
        write.changes.memories.push(memory.clone());
        memory
    }

    /// The memories that may nearly be the draft, or have its title; `None` when the index cannot tell.
    #[tracing::instrument(level = "debug", skip_all)]
    fn near(&self, draft: &Draft) -> Option<Vec<MemoryId>> {
        if !self.index_is_current() {
            return None;
        }
        let keys = hygiene::near_keys(&Shingles::of(&draft.content));
        let title = hygiene::title_key(&draft.title);
        match self.index().near(&draft.project, draft.scope, &keys, title, CANDIDATES_MAX) {
            Ok(ids) => Some(ids.into_iter().map(MemoryId::from).collect()),
            Err(error) => {
                tracing::warn!(%error, "the lexical index could not name similar memories");
                None
            }
        }
    }

    /// Those of the candidates that nearly say the same as a memory, or have its title; the nearest first.
    #[tracing::instrument(name = "similar", level = "debug", skip_all)]
    async fn similar_to(
        &self,
        memory: &Memory,
        candidates: &[MemoryId],
    ) -> Result<Vec<Similar>, ServiceError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let (shingles, title) = (Shingles::of(&memory.content), hygiene::title_key(&memory.title));
        let found = self.store().memories_by_id(candidates).await?;
        let others = found.into_iter().filter(|other| other.is_live() && other.id != memory.id);
        let mut near: Vec<(f64, Memory)> = others
            .filter_map(|other| {
                let jaccard = hygiene::jaccard(&shingles, &Shingles::of(&other.content));
                let is_near = jaccard >= SIMILAR_JACCARD_MIN || hygiene::title_key(&other.title) == title;
                is_near.then_some((jaccard, other))
            })
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.updated_at.cmp(&a.1.updated_at)));
        near.truncate(SIMILAR_MAX);
        let similar = |(_, other): (f64, Memory)| Similar {
            id: other.id,
            title: other.title,
            agent: other.agent,
            at: other.updated_at,
        };
        Ok(near.into_iter().map(similar).collect())
    }
}

/// The request validated, redacted and normalised.
#[tracing::instrument(name = "fields", level = "debug", skip_all)]
fn draft(
    fields: &mut Fields,
    caller: &Caller,
    home: &Project,
    request: SaveRequest,
) -> Result<Draft, ServiceError> {
    Ok(Draft {
        project: if request.scope == Scope::Personal { Project::none() } else { home.clone() },
        scope: request.scope,
        kind: request.kind,
        title: fields.title(&request.title)?,
        content: fields.content(&request.content)?,
        topic_key: request.topic_key.map(|key| fields.topic_key(&key)).transpose()?.flatten(),
        tags: fields.tags(&request.tags)?,
        agent: caller.agent.clone(),
        session: request.session,
    })
}

#[tracing::instrument(level = "debug", skip_all)]
fn suggest(draft: &Draft) -> String {
    hygiene::suggest(Some(draft.kind.as_str()), Some(&draft.title), Some(&draft.content))
}

fn create(write: &mut Write<'_>, draft: &Draft) -> Memory {
    let at = write.at();
    let memory = Memory {
        id: MemoryId::random(),
        project: draft.project.clone(),
        scope: draft.scope,
        kind: draft.kind.clone(),
        title: draft.title.clone(),
        content: draft.content.clone(),
        topic_key: draft.topic_key.clone(),
        tags: draft.tags.clone(),
        agent: draft.agent.clone(),
        session: Some(draft.session.clone()),
        revision: 1,
        duplicate_count: 0,
        pinned: false,
        created_at: at,
        updated_at: at,
        last_seen_at: at,
        deleted_at: None,
        purged: false,
        version: 0,
    };
    write.tell(EventKind::MemoryCreated, &memory, memory.session.as_ref());
    link(write, &memory);
    write.changes.jobs.push((memory.id, memory.revision));
    write.changes.memories.push(memory.clone());
    memory
}

fn link(write: &mut Write<'_>, memory: &Memory) {
    if let Some(session) = &memory.session {
        let at = write.at();
        write.changes.created_in.push((memory.id, session.clone(), at));
    }
}

fn found(holder: Option<Memory>, twins: Vec<Memory>, id: &MemoryId) -> Result<Memory, ServiceError> {
    holder.into_iter().chain(twins).find(|memory| memory.id == *id).ok_or(ServiceError::NoMemory(*id))
}

fn revision_of(memory: Memory) -> Revision {
    Revision {
        memory: memory.id,
        revision: memory.revision,
        project: memory.project,
        scope: memory.scope,
        kind: memory.kind,
        title: memory.title,
        content: memory.content,
        topic_key: memory.topic_key,
        tags: memory.tags,
        agent: memory.agent,
        session: memory.session,
        at: memory.updated_at,
    }
}
