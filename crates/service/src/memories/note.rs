//! Reading a note back: it is new, was changed by hand, or is as it was written.

use super::update::live;
use crate::{Caller, Change, Door, Memories, Patch, SaveOutcome, SaveRequest, ServiceError, fields::Fields};
use cerebro_core::domain::{Kind, Memory, MemoryId, Origin, Project, Run, ScopeName};
use cerebro_store::StoredRelation;

/// Most relations of one page.
const PAGE_MAX: usize = 500;

/// A note's text comes from a file, so its origin is outside.
const DOOR: Door = Door::Brought(Origin::Import);

/// A note as it was read. A field that it does not have is `None` and leaves the memory's as it is.
#[derive(Debug, Clone)]
pub struct NoteRequest {
    /// The memory that it was written from.
    pub id: Option<MemoryId>,
    /// That memory's revision then.
    pub revision: Option<u32>,
    pub title: String,
    pub content: String,
    pub kind: Option<Kind>,
    pub project: Option<Project>,
    pub scope: Option<ScopeName>,
    /// Another topic key, or none.
    pub topic_key: Change<String>,
    pub tags: Option<Vec<String>>,
}

/// What was done with a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    pub outcome: SaveOutcome,
    /// The memory, unless it is new and nothing was written.
    pub memory: Option<(MemoryId, u32)>,
}

impl Memories {
    /// Reads a note into its memory: a change makes a new revision, and a note without a memory makes a new one.
    ///
    /// # Errors
    /// [`ServiceError::RevisionMismatch`] when the memory was revised since the note was written and the
    /// note is another one; [`ServiceError::Deleted`]; those of [`Memories::save`] and [`Memories::update`].
    pub async fn take_note(
        &self,
        caller: &Caller,
        note: NoteRequest,
        run: Run,
    ) -> Result<Noted, ServiceError> {
        let known = match &note.id {
            Some(id) => self.base.store.memories().by_id(id).await?,
            None => None,
        };
        match known {
            Some(memory) => self.take_change(caller, memory, note, run).await,
            None => self.take_new(caller, note, run).await,
        }
    }

    async fn take_new(&self, caller: &Caller, note: NoteRequest, run: Run) -> Result<Noted, ServiceError> {
        if run.is_dry() {
            let mut fields = Fields::default();
            fields.title(&note.title)?;
            fields.content(&note.content)?;
            fields.tags(&note.tags.unwrap_or_default())?;
            return Ok(Noted { outcome: SaveOutcome::Created, memory: None });
        }
        let project = note.project.unwrap_or_else(|| caller.project.clone());
        let scope = note.scope.unwrap_or_default().of(project);
        let request = SaveRequest {
            kind: note.kind.unwrap_or_else(Kind::manual),
            topic_key: note.topic_key.of(None),
            tags: note.tags.unwrap_or_default(),
            ..SaveRequest::new(note.title, note.content, scope, DOOR)
        };
        let saved = self.save(caller, request).await?;
        Ok(Noted { outcome: saved.outcome, memory: Some((saved.memory.id, saved.memory.revision)) })
    }

    async fn take_change(
        &self,
        caller: &Caller,
        memory: Memory,
        note: NoteRequest,
        run: Run,
    ) -> Result<Noted, ServiceError> {
        live(&memory)?;
        if is_the_same(&memory, &note)? {
            let place = Some((memory.id, memory.revision));
            return Ok(Noted { outcome: SaveOutcome::Unchanged, memory: place });
        }
        if let Some(expected) = note.revision.filter(|expected| *expected != memory.revision) {
            return Err(ServiceError::RevisionMismatch { id: memory.id, expected, present: memory.revision });
        }
        if run.is_dry() {
            return Ok(Noted { outcome: SaveOutcome::Updated, memory: Some((memory.id, memory.revision)) });
        }
        let patch = Patch {
            title: Some(note.title),
            content: Some(note.content),
            kind: note.kind,
            project: note.project.filter(|_| note.scope != Some(ScopeName::Personal)),
            scope: note.scope,
            topic_key: note.topic_key,
            tags: note.tags,
            expected_revision: Some(memory.revision),
            door: DOOR,
            ..Patch::default()
        };
        let updated = self.update(caller, &memory.id, patch).await?;
        let outcome = if updated.changed { SaveOutcome::Updated } else { SaveOutcome::Unchanged };
        Ok(Noted { outcome, memory: Some((updated.memory.id, updated.memory.revision)) })
    }

    /// A page of the relations between memories, each with its key; `after` is the last key of the page before.
    pub async fn relations(
        &self,
        after: Option<&str>,
    ) -> Result<Vec<(String, StoredRelation)>, ServiceError> {
        Ok(self.base.store.relations().walk().page(after, PAGE_MAX).await?)
    }

    /// Those of the memories that are here, live or not.
    pub async fn known(&self, ids: &[MemoryId]) -> Result<Vec<MemoryId>, ServiceError> {
        Ok(self.base.store.memories().by_ids(ids).await?.into_iter().map(|memory| memory.id).collect())
    }
}

/// Whether a note says the same as its memory. Blanks at the ends are ignored, because editors add and remove them.
fn is_the_same(memory: &Memory, note: &NoteRequest) -> Result<bool, ServiceError> {
    let mut fields = Fields::default();
    let topic_key = note.topic_key.clone().read(|key| fields.topic_key(&key))?;
    let tags = note.tags.as_deref().map(|tags| fields.tags(tags)).transpose()?;
    let own = memory.scope.project();
    let same_project = note.project.as_ref().is_none_or(|project| own.is_none_or(|own| own == project));
    Ok(fields.title(&note.title)? == memory.title
        && fields.content(&note.content)?.trim() == memory.content.trim()
        && note.kind.as_ref().is_none_or(|kind| *kind == memory.kind)
        && same_project
        && note.scope.is_none_or(|scope| scope == memory.scope.name())
        && topic_key.of(memory.topic_key.clone()) == memory.topic_key
        && tags.is_none_or(|tags| tags == memory.tags))
}
