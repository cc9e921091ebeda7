//! Changing what is stored: update, delete, restore, purge, pin.

use super::{Caller, Service, ServiceError, fields::Fields, session::carry_summary};
use cerebro_core::domain::{Kind, Memory, MemoryId, Project, Scope, SessionId};
use cerebro_core::redact::RedactedText;
use cerebro_store::{Decision, Write};

/// Which fields an update changes, as the caller gave them; `None` leaves one as it is.
#[derive(Debug, Clone, Default)]
pub struct Patch {
    /// A new title.
    pub title: Option<String>,
    /// New content.
    pub content: Option<String>,
    /// A new type.
    pub kind: Option<Kind>,
    /// Another project.
    pub project: Option<Project>,
    /// Another scope.
    pub scope: Option<Scope>,
    /// Another topic key; an empty one takes it away.
    pub topic_key: Option<String>,
    /// Other tags.
    pub tags: Option<Vec<String>>,
    /// The revision that the caller read; another present one is an error.
    pub expected_revision: Option<u32>,
}

/// The answer to an update, restore or pin.
#[derive(Debug, Clone)]
pub struct Updated {
    /// The memory as it is now.
    pub memory: Memory,
    /// Whether anything changed.
    pub changed: bool,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

/// What a delete did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// Hidden; a person can restore it.
    Deleted,
    /// It was hidden or purged before.
    AlreadyDeleted,
    /// Its text is gone for good.
    Purged,
}

impl DeleteOutcome {
    /// The published name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::AlreadyDeleted => "already_deleted",
            Self::Purged => "purged",
        }
    }
}

/// A patch, validated, redacted and normalised.
#[derive(Debug, Clone)]
struct CleanPatch {
    title: Option<RedactedText>,
    content: Option<RedactedText>,
    kind: Option<Kind>,
    project: Option<Project>,
    scope: Option<Scope>,
    /// An empty one takes the key away.
    topic_key: Option<RedactedText>,
    tags: Option<Vec<RedactedText>>,
    expected_revision: Option<u32>,
}

impl CleanPatch {
    fn read(fields: &mut Fields, patch: Patch) -> Result<Self, ServiceError> {
        Ok(Self {
            title: patch.title.map(|title| fields.title(&title)).transpose()?,
            content: patch.content.map(|content| fields.content(&content)).transpose()?,
            kind: patch.kind,
            project: patch.project,
            scope: patch.scope,
            topic_key: patch
                .topic_key
                .map(|key| fields.topic_key(&key))
                .transpose()?
                .map(Option::unwrap_or_default),
            tags: patch.tags.map(|tags| fields.tags(&tags)).transpose()?,
            expected_revision: patch.expected_revision,
        })
    }
}

/// A change of one memory, made within its transaction.
#[derive(Debug, Clone)]
enum Edit {
    Patch(Box<CleanPatch>),
    Delete,
    Purge,
    Restore,
    Pin(bool),
}

impl Service {
    /// Changes fields of a live memory. An update that changes its text is a new revision.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`], [`ServiceError::RevisionMismatch`],
    /// [`ServiceError::TopicTaken`] and [`ServiceError::Invalid`] leave it as it was.
    pub async fn update(
        &self,
        caller: &Caller,
        session: &SessionId,
        id: &MemoryId,
        patch: Patch,
    ) -> Result<Updated, ServiceError> {
        let mut fields = Fields::default();
        let patch = CleanPatch::read(&mut fields, patch)?;
        let elsewhere = self.leads_elsewhere(patch.project.as_ref(), caller).await?;
        let (memory, changed) = self.edit(caller, session, id, Edit::Patch(Box::new(patch))).await?;
        let new_project = if elsewhere { self.meet_project(&memory.project, caller).await? } else { None };
        Ok(Updated { memory, changed, new_project, redacted: fields.redacted() })
    }

    /// Hides a memory, or with `hard` destroys its text and revisions.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`]; [`ServiceError::PurgeForbidden`] for an agent where the user says so.
    pub async fn delete(
        &self,
        caller: &Caller,
        session: &SessionId,
        id: &MemoryId,
        hard: bool,
    ) -> Result<DeleteOutcome, ServiceError> {
        if hard && !caller.person && !self.settings().agent_hard_delete {
            return Err(ServiceError::PurgeForbidden(*id));
        }
        let edit = if hard { Edit::Purge } else { Edit::Delete };
        let (_, changed) = self.edit(caller, session, id, edit).await?;
        if hard {
            // So that no byte of the text waits in the index for the next search.
            self.ask(cerebro_search::lexical::Index::flush).await?;
            return Ok(DeleteOutcome::Purged);
        }
        Ok(if changed { DeleteOutcome::Deleted } else { DeleteOutcome::AlreadyDeleted })
    }

    /// Makes a deleted memory live again.
    ///
    /// # Errors
    /// [`ServiceError::Purged`]; [`ServiceError::TopicTaken`] when its key has another holder by now.
    pub async fn restore(
        &self,
        caller: &Caller,
        session: &SessionId,
        id: &MemoryId,
    ) -> Result<Updated, ServiceError> {
        self.simple(caller, session, id, Edit::Restore).await
    }

    /// Keeps a memory at the top of every context, or no longer.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`]
    pub async fn pin(
        &self,
        caller: &Caller,
        session: &SessionId,
        id: &MemoryId,
        pinned: bool,
    ) -> Result<Updated, ServiceError> {
        self.simple(caller, session, id, Edit::Pin(pinned)).await
    }

    async fn simple(
        &self,
        caller: &Caller,
        session: &SessionId,
        id: &MemoryId,
        edit: Edit,
    ) -> Result<Updated, ServiceError> {
        let (memory, changed) = self.edit(caller, session, id, edit).await?;
        Ok(Updated { memory, changed, new_project: None, redacted: 0 })
    }

    async fn edit(
        &self,
        caller: &Caller,
        session: &SessionId,
        id: &MemoryId,
        edit: Edit,
    ) -> Result<(Memory, bool), ServiceError> {
        self.store().transact(&EditMemory { service: self, caller, session, id, edit }).await
    }

    async fn patch(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        session: &SessionId,
        old: Memory,
        patch: &CleanPatch,
    ) -> Result<(Memory, bool), ServiceError> {
        live(&old)?;
        let wanted = patched(&old, patch, &caller.project);
        let expected = patch.expected_revision.unwrap_or(old.revision);
        // A call that is repeated because its answer got lost finds its own revision, one further on.
        let repeated = wanted == old && expected.checked_add(1) == Some(old.revision);
        if expected != old.revision && !repeated {
            return Err(ServiceError::RevisionMismatch { id: old.id, expected, present: old.revision });
        }
        if wanted == old {
            return Ok((old, false));
        }
        topic_is_free(write, &wanted).await?;
        self.ensure_session(write, session, &caller.project, caller).await?;
        let memory = self.revise(write, old, |memory| {
            *memory = wanted;
            memory.agent.clone_from(&caller.agent);
            memory.session = Some(session.clone());
        });
        Ok((memory, true))
    }
}

struct EditMemory<'a> {
    service: &'a Service,
    caller: &'a Caller,
    session: &'a SessionId,
    id: &'a MemoryId,
    edit: Edit,
}

impl Decision for EditMemory<'_> {
    /// The memory as it is now, and whether that is a change.
    type Output = (Memory, bool);
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(Memory, bool), ServiceError> {
        let Self { service, caller, session, id, edit } = self;
        let memory = write.store().memory(id).await?.ok_or(ServiceError::NoMemory(**id))?;
        let before = memory.clone();
        let (memory, changed) = match edit {
            Edit::Patch(patch) => service.patch(write, caller, session, memory, patch).await?,
            Edit::Delete => delete(write, session, memory),
            Edit::Purge => purge(write, session, memory),
            Edit::Restore => restore(write, session, memory).await?,
            Edit::Pin(pinned) => pin(write, session, memory, *pinned)?,
        };
        if changed {
            carry_summary(write, &before, &memory).await?;
        }
        Ok((memory, changed))
    }
}

/// The memory with the patch's fields. A personal one that becomes a project's again, with no project
/// named, goes to the caller's.
fn patched(old: &Memory, patch: &CleanPatch, own: &Project) -> Memory {
    let mut memory = old.clone();
    if let Some(title) = &patch.title {
        memory.title.clone_from(title);
    }
    if let Some(content) = &patch.content {
        memory.content.clone_from(content);
    }
    if let Some(kind) = &patch.kind {
        memory.kind.clone_from(kind);
    }
    if let Some(tags) = &patch.tags {
        memory.tags.clone_from(tags);
    }
    if let Some(key) = &patch.topic_key {
        memory.topic_key = (!key.is_empty()).then(|| key.clone());
    }
    if let Some(scope) = patch.scope {
        memory.scope = scope;
    }
    match (memory.scope, &patch.project) {
        (Scope::Personal, _) => memory.project = Project::none(),
        (Scope::Project, Some(project)) => memory.project.clone_from(project),
        (Scope::Project, None) if memory.project.is_none() => memory.project.clone_from(own),
        (Scope::Project, None) => {}
    }
    memory
}

fn live(memory: &Memory) -> Result<(), ServiceError> {
    if memory.is_live() { Ok(()) } else { Err(ServiceError::gone(memory)) }
}

async fn topic_is_free(write: &Write<'_>, memory: &Memory) -> Result<(), ServiceError> {
    let Some(key) = &memory.topic_key else { return Ok(()) };
    match write.store().topic_holder(&memory.project, memory.scope, key).await? {
        Some(holder) if holder.id != memory.id => Err(ServiceError::TopicTaken {
            key: key.to_string(),
            holder: holder.id,
            title: holder.title.into(),
        }),
        _ => Ok(()),
    }
}

fn delete(write: &mut Write<'_>, session: &SessionId, mut memory: Memory) -> (Memory, bool) {
    if !memory.is_live() {
        return (memory, false);
    }
    memory.deleted_at = Some(write.at());
    write.delete_memory(&memory, session);
    (memory, true)
}

fn purge(write: &mut Write<'_>, session: &SessionId, mut memory: Memory) -> (Memory, bool) {
    if memory.purged {
        return (memory, false);
    }
    memory.purged = true;
    memory.deleted_at = memory.deleted_at.or_else(|| Some(write.at()));
    memory.title = RedactedText::default();
    memory.content = RedactedText::default();
    memory.tags.clear();
    memory.topic_key = None;
    memory.pinned = false;
    write.purge_memory(&memory, session);
    (memory, true)
}

async fn restore(
    write: &mut Write<'_>,
    session: &SessionId,
    mut memory: Memory,
) -> Result<(Memory, bool), ServiceError> {
    if memory.purged {
        return Err(ServiceError::Purged(memory.id));
    }
    if memory.is_live() {
        return Ok((memory, false));
    }
    topic_is_free(write, &memory).await?;
    memory.deleted_at = None;
    write.restore_memory(&memory, session);
    Ok((memory, true))
}

fn pin(
    write: &mut Write<'_>,
    session: &SessionId,
    mut memory: Memory,
    pinned: bool,
) -> Result<(Memory, bool), ServiceError> {
    live(&memory)?;
    if memory.pinned == pinned {
        return Ok((memory, false));
    }
    memory.pinned = pinned;
    write.pin_memory(&memory, session);
    Ok((memory, true))
}
