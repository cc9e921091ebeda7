//! Changing what is stored: update, delete, restore, purge, pin.

use super::{
    Door, Memories,
    evidence::rest_on,
    guard, handbook,
    summary::carry_summary,
    supersede::{reinstate, supersede},
};
use crate::{
    Caller, ServiceError,
    fields::{Fields, checked_validity},
};
use cerebro_core::domain::{
    ExchangeId, Kind, Memory, MemoryId, Nature, Origin, Project, PromptId, Scope, ScopeName, SessionId,
    Timestamp, Trigger, Validity, WorkId,
};
use cerebro_core::redact::RedactedText;
use cerebro_core::{named, taint};
use cerebro_store::{SaidText, Tombstone, Why, Write};

/// Most prompts that are named because they contain the text of a purged memory.
const PROMPTS_NAMED_MAX: usize = 20;

/// A change of an optional field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Change<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It gets this value, or none.
    To(Option<T>),
}

impl<T> Change<T> {
    /// The field afterwards.
    pub(crate) fn of(self, present: Option<T>) -> Option<T> {
        match self {
            Self::Keep => present,
            Self::To(new) => new,
        }
    }

    /// Converts the new value.
    pub(crate) fn read<U, E>(self, read: impl FnOnce(T) -> Result<Option<U>, E>) -> Result<Change<U>, E> {
        Ok(match self {
            Self::Keep => Change::Keep,
            Self::To(new) => Change::To(new.map(read).transpose()?.flatten()),
        })
    }
}

/// Which fields an update changes; `None` leaves one as it is. Its texts are as the caller gave them, or redacted and normalised
/// (`CleanPatch`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Patch<Text = String, Where = String> {
    /// A new title.
    pub title: Option<Text>,
    /// New content.
    pub content: Option<Text>,
    /// A new type.
    pub kind: Option<Kind>,
    /// Another project.
    pub project: Option<Project>,
    /// Another scope.
    pub scope: Option<ScopeName>,
    /// Another topic key, or none.
    pub topic_key: Change<Text>,
    /// Other tags.
    pub tags: Option<Vec<Text>>,
    /// The revision that the caller read. If the memory has another one by now, that is an error.
    pub expected_revision: Option<u32>,
    /// Memories whose place it takes from now on.
    pub supersedes: Vec<MemoryId>,
    /// The exchanges of past sessions that it rests on from now on.
    pub evidence: Option<Vec<ExchangeId>>,
    /// Since when it is true.
    pub valid_from: Change<Timestamp>,
    /// Until when it is true.
    pub valid_until: Change<Timestamp>,
    /// Another kind of memory.
    pub nature: Option<Nature>,
    /// Where a thing to be done is shown; none means everywhere.
    pub trigger: Change<Where>,
    /// Whether a thing to be done is done.
    pub done: Option<bool>,
    /// How its text comes in.
    pub door: Door,
}

/// The answer to an update, restore or pin.
#[derive(Debug, Clone)]
pub struct Updated {
    /// The memory as it is now.
    pub memory: Memory,
    /// Whether anything changed.
    pub changed: bool,
    /// Whether its title or content is another one.
    pub rewritten: bool,
    /// The memories whose place it took.
    pub superseded: Vec<Memory>,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// The notice if the memory was unarchived or restored, and another one that had the same text no longer says it.
    pub noted: Option<Tombstone>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

named! {
    /// What a delete did.
    pub enum DeleteOutcome {
        /// Hidden; a person can restore it.
        Deleted = "deleted",
        /// It was hidden or purged before.
        AlreadyDeleted = "already_deleted",
        /// Its text is gone for good.
        Purged = "purged",
    }
}

/// The findings of a piece of work that say the text of a memory, by the numbers of their events.
#[derive(Debug, Clone)]
pub(crate) struct Findings {
    pub work: WorkId,
    pub numbers: Vec<u64>,
}

/// A patch of which the texts were read.
type CleanPatch = Patch<RedactedText, Trigger>;

impl CleanPatch {
    /// Validates, redacts and normalises the texts.
    fn read(fields: &mut Fields, patch: Patch) -> Result<Self, ServiceError> {
        Ok(Self {
            title: patch.title.map(|title| fields.title(&title)).transpose()?,
            content: patch.content.map(|content| fields.content(&content)).transpose()?,
            kind: patch.kind,
            project: patch.project,
            scope: patch.scope,
            topic_key: patch.topic_key.read(|key| fields.topic_key(&key))?,
            tags: patch.tags.map(|tags| fields.tags(&tags)).transpose()?,
            expected_revision: patch.expected_revision,
            supersedes: patch.supersedes,
            evidence: patch.evidence,
            valid_from: patch.valid_from,
            valid_until: patch.valid_until,
            nature: patch.nature,
            trigger: patch.trigger.read(|trigger| fields.trigger(&trigger))?,
            done: patch.done,
            door: patch.door,
        })
    }
}

/// A change of one memory, made within its transaction.
#[derive(Debug, Clone)]
enum Edit {
    Patch(Box<CleanPatch>),
    Delete,
    Purge(Vec<Findings>),
    Restore,
    Pin(bool),
    Archive(bool),
}

impl Memories {
    /// Changes fields of a live memory. An update that changes its text is a new revision.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`], [`ServiceError::RevisionMismatch`],
    /// [`ServiceError::TopicTaken`] and [`ServiceError::Invalid`] leave it as it was.
    pub async fn update(
        &self,
        caller: &Caller,
        id: &MemoryId,
        patch: Patch,
    ) -> Result<Updated, ServiceError> {
        let mut fields = Fields::default();
        let patch = CleanPatch::read(&mut fields, patch)?;
        let known = self.projects.before_write(patch.project.as_ref(), caller).await?;
        let Edited { memory, changed, corrected, superseded, noted, .. } =
            self.edit(caller, id, Edit::Patch(Box::new(patch))).await?;
        self.feedback.note_corrected(caller, superseded.iter().chain(corrected.then_some(&memory)));
        let new_project = known.and_then(|known| known.meet(memory.scope.project()));
        let redacted = fields.redacted();
        Ok(Updated { memory, changed, rewritten: corrected, superseded, new_project, noted, redacted })
    }

    /// Hides a memory.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`]
    pub async fn delete(&self, caller: &Caller, id: &MemoryId) -> Result<DeleteOutcome, ServiceError> {
        let Edited { memory, changed, corrected, .. } = self.edit(caller, id, Edit::Delete).await?;
        self.feedback.note_corrected(caller, corrected.then_some(&memory));
        Ok(if changed { DeleteOutcome::Deleted } else { DeleteOutcome::AlreadyDeleted })
    }

    /// Destroys the text and the revisions of a memory, and in the same transaction the findings of work with its text.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`]; [`ServiceError::PurgeForbidden`] for an agent, unless the user allows it.
    pub(crate) async fn purge(
        &self,
        caller: &Caller,
        id: &MemoryId,
        findings: Vec<Findings>,
    ) -> Result<DeleteOutcome, ServiceError> {
        self.may_purge(caller, id)?;
        let Edited { memory, corrected, .. } = self.edit(caller, id, Edit::Purge(findings)).await?;
        self.feedback.note_corrected(caller, corrected.then_some(&memory));
        self.flush_purged().await?;
        Ok(DeleteOutcome::Purged)
    }

    /// Writes the index after a purge, so that no byte of the text stays in it until the next search.
    pub(crate) async fn flush_purged(&self) -> Result<(), ServiceError> {
        if self.base.is_indexed {
            self.index.ask(cerebro_search::lexical::Index::flush).await?;
            Box::pin(self.past.purge_past()).await?;
        }
        Ok(())
    }

    /// The prompts that contain what a memory says. A purge leaves them, so its answer names them.
    pub async fn prompts_with(&self, id: &MemoryId) -> Result<Vec<PromptId>, ServiceError> {
        let Some(memory) = self.base.store.memories().by_id(id).await? else { return Ok(Vec::new()) };
        let text = memory.content.trim();
        if text.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.base.store.prompts().with_text(text, PROMPTS_NAMED_MAX).await?)
    }

    /// Checks that a caller may purge a memory.
    ///
    /// # Errors
    /// [`ServiceError::PurgeForbidden`] for an agent, unless the user allows it.
    pub(crate) fn may_purge(&self, caller: &Caller, id: &MemoryId) -> Result<(), ServiceError> {
        if caller.person || self.base.settings.agent_hard_delete {
            return Ok(());
        }
        Err(ServiceError::PurgeForbidden(*id))
    }

    /// Makes a deleted memory live again.
    ///
    /// # Errors
    /// [`ServiceError::Purged`]; [`ServiceError::TopicTaken`] when its key has another holder by now.
    pub async fn restore(&self, caller: &Caller, id: &MemoryId) -> Result<Updated, ServiceError> {
        self.simple(caller, id, Edit::Restore).await
    }

    /// Keeps a memory at the top of every context, or no longer.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`]
    pub async fn pin(&self, caller: &Caller, id: &MemoryId, pinned: bool) -> Result<Updated, ServiceError> {
        self.simple(caller, id, Edit::Pin(pinned)).await
    }

    /// Archives a memory, or takes it out of the archive. An archived memory is kept whole, and left out of searches and
    /// contexts unless somebody asks for it.
    ///
    /// # Errors
    /// [`ServiceError::NoMemory`], [`ServiceError::Deleted`]; [`ServiceError::Invalid`] for one that is pinned.
    pub async fn archive(
        &self,
        caller: &Caller,
        id: &MemoryId,
        archived: bool,
    ) -> Result<Updated, ServiceError> {
        self.simple(caller, id, Edit::Archive(archived)).await
    }

    async fn simple(&self, caller: &Caller, id: &MemoryId, edit: Edit) -> Result<Updated, ServiceError> {
        let Edited { memory, changed, superseded, noted, .. } = self.edit(caller, id, edit).await?;
        Ok(Updated { memory, changed, rewritten: false, superseded, new_project: None, noted, redacted: 0 })
    }

    async fn edit(&self, caller: &Caller, id: &MemoryId, edit: Edit) -> Result<Edited, ServiceError> {
        // A purged item's text may be in the rendered handbooks, which are purged with it and rendered again.
        let going = matches!(edit, Edit::Purge(_)) && handbook::is_item(&self.base.store, id).await?;
        let memory = if going { self.base.store.memories().by_id(id).await? } else { None };
        let there = match memory {
            Some(memory) => self.rendered_handbooks(memory.scope.project()).await?,
            None => Vec::new(),
        };
        let edited =
            self.base.store.transact(|write| Box::pin(self.make_edit(write, caller, id, &edit))).await?;
        if going {
            self.render_missing(&there).await;
        } else if edited.changed && handbook::is_distilled(&edited.memory) {
            self.render_again(self.rendered_handbooks(edited.memory.scope.project()).await).await;
            if edited.home != edited.memory.scope {
                self.render_again(self.rendered_handbooks(edited.home.project()).await).await;
            }
        }
        Ok(edited)
    }

    async fn make_edit(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        id: &MemoryId,
        edit: &Edit,
    ) -> Result<Edited, ServiceError> {
        let session = &caller.session;
        let memory = write.store().memories().by_id(id).await?.ok_or(ServiceError::NoMemory(*id))?;
        let before = memory.clone();
        let is_out = |memory: &Memory| !memory.is_live() || memory.is_archived();
        // It is made first, because the edit may remove the memory's tombstones.
        let notice = if is_out(&before) { guard::notice(write, &before).await? } else { None };
        let (memory, mut changed) = match edit {
            Edit::Patch(patch) => self.patch(write, caller, memory, patch).await?,
            Edit::Delete => delete(write, session, memory),
            Edit::Purge(findings) => purge(write, session, memory, findings).await?,
            Edit::Restore => restore(write, session, memory).await?,
            Edit::Pin(pinned) => pin(write, session, memory, *pinned)?,
            Edit::Archive(archived) => archive(write, session, memory, *archived)?,
        };
        if before.is_archived() && memory.is_live() && !memory.is_archived() {
            reinstate(write, &memory).await?;
        }
        if changed {
            carry_summary(write, &before, &memory).await?;
        }
        let superseded = match edit {
            Edit::Patch(patch) => supersede(write, caller, &memory, &patch.supersedes).await?,
            _ => Vec::new(),
        };
        changed |= !superseded.is_empty();
        if let Edit::Patch(patch) = edit
            && let Some(evidence) = &patch.evidence
        {
            changed |= rest_on(write, session, &memory, evidence).await?;
        }
        let says_other = (&before.title, &before.content) != (&memory.title, &memory.content);
        let corrected = before.is_live() && (says_other || !memory.is_live());
        let is_restored = !before.is_live() && memory.is_live();
        let is_back = is_restored || (is_out(&before) && !is_out(&memory));
        let noted = notice.filter(|_| is_back && before.content == memory.content);
        Ok(Edited { memory, changed, corrected, superseded, noted, home: before.body.scope })
    }

    async fn patch(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        old: Memory,
        patch: &CleanPatch,
    ) -> Result<(Memory, bool), ServiceError> {
        live(&old)?;
        let wanted = patched(&old, patch, &caller.project, write.at());
        checked_validity(wanted.valid)?;
        let expected = patch.expected_revision.unwrap_or(old.revision);
        // A call that is repeated because its answer got lost finds the revision that it made itself, which is one higher.
        let repeated = wanted == old && expected.checked_add(1) == Some(old.revision);
        if expected != old.revision && !repeated {
            return Err(ServiceError::RevisionMismatch { id: old.id, expected, present: old.revision });
        }
        if wanted == old {
            return Ok((old, false));
        }
        topic_is_free(write, &wanted).await?;
        let admitted = guard::admit(write, SaidText::from(&wanted), Some(&old), patch.door).await?;
        // What becomes personal belongs to no project, whichever is named.
        let named = patch.project.as_ref().filter(|_| patch.scope != Some(ScopeName::Personal));
        self.sessions.ensure_session(write, &caller.writing_to(named)).await?;
        // Whoever changes only the title or tags is not responsible for the text.
        let is_kept =
            wanted.content == old.content && (wanted.title == old.title || !patch.door.is_automatic());
        let origin = if is_kept { old.taint.origin } else { patch.door.origin(caller) };
        let taint = taint::of(&wanted.title, &wanted.content, origin);
        let memory = self.revise(write, old, |memory| {
            *memory = wanted;
            memory.taint = taint;
            memory.agent.clone_from(&caller.agent);
            memory.session = Some(caller.session.clone());
        });
        admitted.settle(write, &memory, &caller.session);
        Ok((memory, true))
    }
}

/// The result of an edit.
struct Edited {
    /// The memory as it is now.
    memory: Memory,
    /// Whether that is a change.
    changed: bool,
    /// Whether its earlier text no longer holds.
    corrected: bool,
    /// The memories whose place it took.
    superseded: Vec<Memory>,
    /// As in [`Updated`].
    noted: Option<Tombstone>,
    /// Its scope before.
    home: Scope,
}

/// The memory with the patch's fields. If a personal memory becomes one of a project and none is named, it goes to the
/// caller's project.
fn patched(old: &Memory, patch: &CleanPatch, own: &Project, at: Timestamp) -> Memory {
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
    memory.topic_key = patch.topic_key.clone().of(memory.topic_key.take());
    let (scope, own) = (patch.scope.unwrap_or(old.scope.name()), old.scope.project().unwrap_or(own));
    memory.scope = scope.of(patch.project.as_ref().unwrap_or(own).clone());
    memory.nature = patch.nature.or(memory.nature);
    if let (Change::To(Some(_)), None) = (&patch.trigger, patch.nature) {
        memory.nature = Some(Nature::Prospective);
    }
    memory.trigger = patch.trigger.clone().of(memory.trigger);
    if let Some(done) = patch.done {
        memory.done_at = done.then(|| memory.done_at.unwrap_or(at));
    }
    memory.valid =
        Validity::new(patch.valid_from.of(memory.valid.from), patch.valid_until.of(memory.valid.until));
    memory
}

/// Refuses a memory that is not live.
pub(super) fn live(memory: &Memory) -> Result<(), ServiceError> {
    if memory.is_live() { Ok(()) } else { Err(ServiceError::gone(memory)) }
}

async fn topic_is_free(write: &Write<'_>, memory: &Memory) -> Result<(), ServiceError> {
    let Some(key) = &memory.topic_key else { return Ok(()) };
    match write.store().topics().holder(&memory.scope, key).await? {
        Some(holder) if holder.id != memory.id => Err(ServiceError::TopicTaken {
            key: key.to_string(),
            holder: holder.id,
            title: holder.body.title.into(),
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

/// Purges a memory together with everything that may contain its text: the insights that rest on it, the findings of work
/// that say it, and, if it is an item of a handbook, the rendered handbooks with their revisions.
pub(crate) async fn purge(
    write: &mut Write<'_>,
    session: &SessionId,
    before: Memory,
    findings: &[Findings],
) -> Result<(Memory, bool), ServiceError> {
    if before.purged {
        return Ok((before, false));
    }
    for Findings { work, numbers } in findings {
        if let Some(stored) = write.work(work).await? {
            let forks = write.store().checkpoints().forks().await?;
            write.purge_texts(&stored, numbers, &forks);
        }
    }
    let resting = resting_on(write, &before.id).await?;
    purge_all(write, session, resting).await?;
    if handbook::is_item(write.store(), &before.id).await? {
        purge_rendered(write, session, before.scope.project()).await?;
    }
    let memory = emptied(&before, write.at());
    write.purge_memory(&before, &memory, session);
    Ok((memory, true))
}

/// Purges the rendered handbooks that may contain the items of a project, deleted ones too, with their revisions.
pub(crate) async fn purge_rendered(
    write: &mut Write<'_>,
    session: &SessionId,
    project: Option<&Project>,
) -> Result<(), ServiceError> {
    for one in handbook::handbooks_with(project) {
        let mut rendered = handbook::rendered(write.store(), one).await?;
        rendered.extend(handbook::restorable(write.store(), one).await?);
        purge_all(write, session, rendered).await?;
    }
    Ok(())
}

async fn purge_all(
    write: &mut Write<'_>,
    session: &SessionId,
    memories: Vec<Memory>,
) -> Result<(), ServiceError> {
    for memory in memories {
        // Another purge of the same transaction may have come first.
        let memory = write.memory(&memory.id).await?.unwrap_or(memory);
        if !memory.purged {
            write.purge_memory(&memory, &emptied(&memory, write.at()), session);
        }
    }
    Ok(())
}

/// What remains of a memory after a purge.
pub(crate) fn emptied(before: &Memory, at: Timestamp) -> Memory {
    let mut memory = before.clone();
    memory.purged = true;
    memory.deleted_at = memory.deleted_at.or(Some(at));
    memory.title = RedactedText::default();
    memory.content = RedactedText::default();
    // A type that agents are not offered may be a word of the text, as a tag may.
    if !memory.kind.is_known() {
        memory.kind = Kind::manual();
    }
    memory.tags.clear();
    memory.taint.flags.clear();
    memory.topic_key = None;
    memory.valid = Validity::default();
    memory.trigger = None;
    memory.pinned = false;
    memory.archived_at = None;
    memory
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
    let tombstones = write.tombstones(SaidText::from(&memory), None).await?;
    // What another memory superseded still does not hold.
    let own = memory.id;
    let tombstones = tombstones.without(|one| one.why == Why::Superseded && one.memory == own);
    memory.deleted_at = None;
    write.restore_memory(&memory, &tombstones.into_lifted(), session);
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
    // A pinned memory is to be read first, so it leaves the archive.
    memory.archived_at = memory.archived_at.filter(|_| !pinned);
    write.pin_memory(&memory, session);
    Ok((memory, true))
}

fn archive(
    write: &mut Write<'_>,
    session: &SessionId,
    mut memory: Memory,
    archived: bool,
) -> Result<(Memory, bool), ServiceError> {
    live(&memory)?;
    if memory.is_archived() == archived {
        return Ok((memory, false));
    }
    if archived && memory.pinned {
        let problem = "it is pinned, so that it is always read first; unpin it before";
        return Err(ServiceError::invalid("id", memory.id.as_str(), problem));
    }
    memory.archived_at = archived.then(|| write.at());
    write.archive_memory(&memory, Some(session));
    Ok((memory, true))
}

/// The insights that cite a memory and that nobody has revised since.
async fn resting_on(write: &Write<'_>, memory: &MemoryId) -> Result<Vec<Memory>, ServiceError> {
    let ids = write.store().cycles().derived_from(memory).await?;
    let mut found = write.store().memories().by_ids(&ids).await?;
    found.retain(|insight| {
        !insight.purged && insight.revision == 1 && insight.taint.origin == Origin::Derived
    });
    Ok(found)
}
