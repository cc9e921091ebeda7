//! Saving a memory: read, decide and write in one transaction.

use crate::{
    Caller, Door, Memories, ServiceError,
    fields::{Fields, checked_validity},
    guard::{self, Admitted},
    memories::{
        evidence::{also_rest_on, rest_on},
        supersede::{supersede, superseded},
    },
};
use cerebro_core::domain::{
    Body, ExchangeId, Kind, Memory, MemoryId, Nature, Origin, Project, Scope, Timestamp, Validity,
    limits::{SIMILAR_JACCARD_MIN, SIMILAR_MAX},
};
use cerebro_core::hygiene::{self, Draft, Existing, Shingles};
use cerebro_core::redact::RedactedText;
use cerebro_core::{named, taint};
use cerebro_search::lexical::Index;
use cerebro_store::{SaidText, Tombstone, Write};

/// Most recent twins that a decision compares.
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
    pub scope: Scope,
    /// The stable subject, if it has one.
    pub topic_key: Option<String>,
    /// Words to filter by.
    pub tags: Vec<String>,
    /// Memories whose place it takes.
    pub supersedes: Vec<MemoryId>,
    /// The exchanges of past sessions that it rests on; `None` leaves those of a memory that is there already.
    pub evidence: Option<Vec<ExchangeId>>,
    /// The period in which it is true.
    pub valid: Validity,
    /// What kind of memory it is; by its type when `None`.
    pub nature: Option<Nature>,
    /// Where a thing to be done is shown: [`cerebro_core::domain::Trigger`]. A memory with a trigger is prospective.
    pub trigger: Option<String>,
    /// How it comes in.
    pub door: Door,
}

impl SaveRequest {
    /// To save a text about which nothing else is said.
    pub fn new(title: impl Into<String>, content: impl Into<String>, scope: Scope, door: Door) -> Self {
        Self {
            title: title.into(),
            content: content.into(),
            kind: Kind::manual(),
            scope,
            topic_key: None,
            tags: Vec::new(),
            supersedes: Vec::new(),
            evidence: None,
            valid: Validity::default(),
            nature: None,
            trigger: None,
            door,
        }
    }
}

named! {
    /// What a save did.
    pub enum SaveOutcome {
        /// A new memory.
        Created = "created",
        /// A new revision of the topic's memory.
        Updated = "updated",
        /// The same text was saved a moment ago.
        Duplicate = "duplicate",
        /// The memory had this text already.
        Unchanged = "unchanged",
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

/// A live memory that says nearly the same as the one saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Similar {
    pub id: MemoryId,
    pub title: RedactedText,
    /// Who wrote it.
    pub agent: RedactedText,
    /// When.
    pub at: Timestamp,
}

/// What a draft became.
pub(crate) struct Written {
    /// The memory as it is now.
    pub memory: Memory,
    /// What happened.
    pub outcome: SaveOutcome,
    /// What a revision replaced.
    pub replaced: Option<Replaced>,
    /// Whether title or text are others now.
    pub rewritten: bool,
    /// The notice about a text that did not hold and holds again.
    pub noted: Option<Tombstone>,
}

/// A draft, and what is known about it before the writer is taken.
pub(crate) struct Prepared {
    draft: Draft,
    shingles: Shingles,
    title_key: u64,
    /// Memories that may say nearly the same as the draft, or have its title; `None` if the index cannot say.
    near: Option<Vec<MemoryId>>,
    /// The number of an event that the index had certainly applied when it was asked.
    announced: u64,
}

/// The answer to a save. It means that the memory is on disk.
#[derive(Debug, Clone)]
pub struct Saved {
    /// The memory as it is now.
    pub memory: Memory,
    /// What happened.
    pub outcome: SaveOutcome,
    /// A suggested key for the next save of this subject, if none was given.
    pub suggested_topic_key: Option<String>,
    /// What a revision replaced.
    pub replaced: Option<Replaced>,
    /// The memories whose place it took.
    pub superseded: Vec<Memory>,
    /// The notice about a text that did not hold: its memory was deleted, or it was corrected and is revived now.
    pub noted: Option<Tombstone>,
    /// Up to three memories that may be about the same.
    pub similar: Vec<Similar>,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl Memories {
    /// Saves a memory by the steps of the contract. Everything in the reply is on disk.
    ///
    /// It runs to its end even if the caller goes away.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a field, or a failing store.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn save(&self, caller: &Caller, request: SaveRequest) -> Result<Saved, ServiceError> {
        let mut fields = Fields::default();
        let draft = draft(&mut fields, caller, &request)?;
        let known = self.projects.before_write(draft.scope.project(), caller).await?;
        let mut prepared = self.prepare(draft).await;
        let draft = &prepared.draft;
        // Computed while the disk is busy.
        let suggesting = async { draft.topic_key.is_none().then(|| suggest(draft)) };
        let saving = self
            .base
            .store
            .transact(|write| Box::pin(self.save_prepared(write, caller, &request, &prepared)));
        let (written, suggested_topic_key) = tokio::join!(saving, suggesting);
        let Done { written, superseded, is_alone } = written?;
        let Written { memory, outcome, replaced, rewritten, noted } = written;
        let new_project = known.and_then(|known| known.meet(memory.scope.project()));
        let revised = rewritten.then_some(&memory);
        self.feedback.note_corrected(caller, superseded.iter().chain(revised));
        let mut similar = Vec::new();
        if outcome == SaveOutcome::Created {
            if !is_alone || prepared.near.is_none() {
                // The index was catching up, or other saves came in since it was asked. By now it has them.
                prepared.near = self.near(&prepared.draft, &prepared.shingles, prepared.title_key).await;
            }
            similar = self.similar_to(&memory.id, &prepared).await?;
            similar.retain(|near| superseded.iter().all(|older| older.id != near.id));
        }
        let suggested_topic_key = suggested_topic_key.filter(|_| memory.topic_key.is_none());
        let redacted = fields.redacted();
        Ok(Saved {
            memory,
            outcome,
            suggested_topic_key,
            replaced,
            superseded,
            noted,
            similar,
            new_project,
            redacted,
        })
    }

    /// Prepares a memory that another use case saves in its transaction, with a text of this origin.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a field.
    pub(crate) async fn prepare_save(
        &self,
        caller: &Caller,
        request: SaveRequest,
        origin: Origin,
    ) -> Result<Prepared, ServiceError> {
        let mut draft = draft(&mut Fields::default(), caller, &request)?;
        draft.taint = taint::of(&draft.title, &draft.content, origin);
        Ok(self.prepare(draft).await)
    }

    async fn save_prepared(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        request: &SaveRequest,
        prepared: &Prepared,
    ) -> Result<Done, ServiceError> {
        let is_alone = prepared.announced == write.last_seq();
        let by = caller.writing_to(prepared.draft.scope.project());
        let mut written = self.put_prepared(write, &by, prepared, request.door).await?;
        // A topic's next revision replaces the one before anyway.
        let others: Vec<MemoryId> =
            request.supersedes.iter().filter(|id| **id != written.memory.id).copied().collect();
        let superseded = supersede(write, caller, &written.memory, &others).await?;
        if let Some(evidence) = &request.evidence {
            let (session, memory) = (&caller.session, &written.memory);
            if written.outcome == SaveOutcome::Duplicate {
                also_rest_on(write, session, memory, evidence).await?;
            } else if rest_on(write, session, memory, evidence).await?
                && written.outcome == SaveOutcome::Unchanged
            {
                written.outcome = SaveOutcome::Updated;
            }
        }
        Ok(Done { written, superseded, is_alone })
    }

    /// Decides about and writes what was prepared. A session that it begins belongs to the caller's project.
    pub(crate) async fn put_prepared(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        prepared: &Prepared,
        door: Door,
    ) -> Result<Written, ServiceError> {
        let twins = self.twins(write, prepared).await?;
        self.put_draft(write, caller, &prepared.draft, twins, door).await
    }

    /// Decides about and writes a draft. `twins` are its live twins that were saved lately; a session that it begins
    /// belongs to the caller's project.
    pub(crate) async fn put_draft(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        draft: &Draft,
        twins: Vec<Memory>,
        door: Door,
    ) -> Result<Written, ServiceError> {
        let holder = match &draft.topic_key {
            Some(key) => write.store().topics().holder(&draft.scope, key).await?,
            None => None,
        };
        let existing = Existing { topic_holder: holder.as_ref(), recent_twins: &twins };
        let decision = decided(draft, &existing, door);
        // A session summary is not a fact that could have been corrected, and it revives none.
        let tells_of_session = draft.kind == Kind::session_summary() && !door.is_automatic();
        let admitted = match decision {
            hygiene::Decision::Unchanged { .. } => Admitted::default(),
            _ if tells_of_session => Admitted::default(),
            _ => guard::admit(write, saying(draft), holder.as_ref(), door).await?,
        };
        let noted = admitted.noted.clone();
        let written =
            |memory, outcome, replaced| Written { memory, outcome, replaced, rewritten: false, noted };
        let written = match decision {
            hygiene::Decision::Unchanged { id } => {
                written(found(holder, twins, &id)?, SaveOutcome::Unchanged, None)
            }
            hygiene::Decision::Repeat { id } => {
                let mut memory = found(holder, twins, &id)?;
                memory.duplicate_count = memory.duplicate_count.saturating_add(1);
                memory.last_seen_at = write.at();
                memory.archived_at = None;
                write.repeat_memory(&memory, &draft.session);
                written(memory, SaveOutcome::Duplicate, None)
            }
            hygiene::Decision::Revise { id } => {
                let old = found(holder, twins, &id)?;
                self.sessions.ensure_session(write, caller).await?;
                let replaced =
                    Replaced { title: old.title.clone(), agent: old.agent.clone(), at: old.updated_at };
                let rewritten = (&old.title, &old.content) != (&draft.title, &draft.content);
                let memory = self.revise(write, old, |memory| {
                    memory.kind = draft.kind.clone();
                    memory.title.clone_from(&draft.title);
                    memory.content.clone_from(&draft.content);
                    memory.tags.clone_from(&draft.tags);
                    memory.taint.clone_from(&draft.taint);
                    memory.agent.clone_from(&draft.agent);
                    memory.session = Some(draft.session.clone());
                    memory.valid = draft.valid;
                    memory.nature = draft.nature.or(memory.nature);
                    memory.trigger = draft.trigger.clone().or(memory.trigger.take());
                    // A thing to be done that is saved again is open again.
                    memory.done_at = None;
                });
                Written { rewritten, ..written(memory, SaveOutcome::Updated, Some(replaced)) }
            }
            hygiene::Decision::Create => {
                self.sessions.ensure_session(write, caller).await?;
                written(create(write, draft), SaveOutcome::Created, None)
            }
        };
        admitted.settle(write, &written.memory, &draft.session);
        Ok(written)
    }

    /// Writes a new revision of `old`, as changed by `edit`, and keeps the old text.
    pub(crate) fn revise(
        &self,
        write: &mut Write<'_>,
        old: Memory,
        edit: impl FnOnce(&mut Memory),
    ) -> Memory {
        let mut memory = old.clone();
        edit(&mut memory);
        // A revised memory is to be found, so it leaves the archive.
        memory.archived_at = None;
        memory.revision = old.revision.saturating_add(1);
        memory.updated_at = write.at();
        memory.last_seen_at = write.at();
        write.revise_memory(old, &memory, self.base.settings.revisions_keep);
        memory
    }

    /// Does the part that does not need the writer.
    async fn prepare(&self, draft: Draft) -> Prepared {
        // Read before the index answers, because it may not have the commits that come in meanwhile.
        let announced = self.base.store.announced();
        let shingles = Shingles::of(&draft.content);
        let title_key = hygiene::title_key(&draft.title);
        let near = self.near(&draft, &shingles, title_key).await;
        Prepared { draft, shingles, title_key, near, announced }
    }

    /// The memories that may say nearly the same as the draft, or have its title; `None` if the index cannot say.
    #[tracing::instrument(level = "debug", skip_all)]
    async fn near(&self, draft: &Draft, shingles: &Shingles, title_key: u64) -> Option<Vec<MemoryId>> {
        if !self.index.index_is_current() {
            return None;
        }
        let (keys, scope) = (hygiene::near_keys(shingles), draft.scope.clone());
        let near = move |index: &Index| index.near(&scope, &keys, title_key, CANDIDATES_MAX);
        match self.index.ask_once(near).await {
            Ok(ids) => Some(ids.into_iter().map(MemoryId::from).collect()),
            Err(error) => {
                tracing::warn!(%error, "the lexical index could not name similar memories");
                None
            }
        }
    }

    /// The live memories that a draft may repeat.
    async fn twins(&self, write: &Write<'_>, prepared: &Prepared) -> Result<Vec<Memory>, ServiceError> {
        let Prepared { draft, near, announced, .. } = prepared;
        // A live memory with the draft's topic key is the key's holder and not a twin.
        if draft.topic_key.is_some() {
            return Ok(Vec::new());
        }
        // The index names every memory with the draft's title, so every twin, except one that was saved since the index was
        // asked or by another home.
        let is_alone = *announced == write.last_seq() && !write.store().is_shared();
        if is_alone && near.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let since = write.at().checked_sub(self.base.settings.dedup_window).unwrap_or(Timestamp::MIN);
        let mut twins =
            write.store().memories().twins(&draft.identity(), &draft.content, since, TWINS_MAX).await?;
        // What another memory superseded no longer holds: the text is not repeated, it is said anew.
        let ids: Vec<MemoryId> = twins.iter().map(|twin| twin.id).collect();
        let superseded = superseded(write.store(), ids).await?;
        twins.retain(|twin| !superseded.contains(&twin.id));
        Ok(twins)
    }

    /// The memories, of those that the index named, that say nearly the same as a draft or have its title; the nearest
    /// first. `id` is the memory that the draft became.
    #[tracing::instrument(name = "similar", level = "debug", skip_all)]
    async fn similar_to(&self, id: &MemoryId, prepared: &Prepared) -> Result<Vec<Similar>, ServiceError> {
        let Prepared { shingles, title_key, near: Some(candidates), .. } = prepared else {
            return Ok(Vec::new());
        };
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.base.store.memories().by_ids(candidates).await?;
        let others =
            found.into_iter().filter(|other| other.is_live() && !other.is_archived() && other.id != *id);
        let mut near: Vec<(f64, Memory)> = others
            .filter_map(|other| {
                let jaccard = hygiene::jaccard(shingles, &Shingles::of(&other.content));
                let is_near =
                    jaccard >= SIMILAR_JACCARD_MIN || hygiene::title_key(&other.title) == *title_key;
                is_near.then_some((jaccard, other))
            })
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.updated_at.cmp(&a.1.updated_at)));
        near.truncate(SIMILAR_MAX);
        let similar = |(_, other): (f64, Memory)| Similar {
            id: other.id,
            title: other.body.title,
            agent: other.agent,
            at: other.updated_at,
        };
        Ok(near.into_iter().map(similar).collect())
    }
}

/// The result of a save within its transaction.
struct Done {
    written: Written,
    superseded: Vec<Memory>,
    /// Whether this process committed nothing since the index was asked.
    is_alone: bool,
}

/// The text of a draft, in the form that the guard checks.
fn saying(draft: &Draft) -> SaidText<'_> {
    SaidText { scope: &draft.scope, title: &draft.title, content: &draft.content }
}

/// Validates, redacts and normalises the request.
#[tracing::instrument(name = "fields", level = "debug", skip_all)]
fn draft(fields: &mut Fields, caller: &Caller, request: &SaveRequest) -> Result<Draft, ServiceError> {
    let (title, content) = (fields.title(&request.title)?, fields.content(&request.content)?);
    let trigger = request.trigger.as_ref().map(|trigger| fields.trigger(trigger)).transpose()?.flatten();
    Ok(Draft {
        taint: taint::of(&title, &content, request.door.origin(caller)),
        body: Body {
            scope: request.scope.clone(),
            kind: request.kind.clone(),
            title,
            content,
            topic_key: request.topic_key.as_ref().map(|key| fields.topic_key(key)).transpose()?.flatten(),
            tags: fields.tags(&request.tags)?,
        },
        agent: caller.agent.clone(),
        session: caller.session.clone(),
        valid: checked_validity(request.valid)?,
        nature: request.nature.or(trigger.is_some().then_some(Nature::Prospective)),
        trigger,
    })
}

#[tracing::instrument(level = "debug", skip_all)]
fn suggest(draft: &Draft) -> String {
    hygiene::suggest(Some(draft.kind.as_str()), Some(&draft.title), Some(&draft.content))
}

/// What a save does. Whoever says again what is in the archive wants it found, and a thing that is done to be done again.
fn decided(draft: &Draft, existing: &Existing<'_>, door: Door) -> hygiene::Decision {
    let is_aside = |holder: &Memory| holder.is_archived() || holder.done_at.is_some();
    match hygiene::decide(draft, existing) {
        hygiene::Decision::Unchanged { id }
            if door == Door::EXPLICIT && existing.topic_holder.is_some_and(is_aside) =>
        {
            hygiene::Decision::Revise { id }
        }
        decision => decision,
    }
}

fn create(write: &mut Write<'_>, draft: &Draft) -> Memory {
    let (body, taint, agent) = (draft.body.clone(), draft.taint.clone(), draft.agent.clone());
    let memory = Memory {
        session: Some(draft.session.clone()),
        valid: draft.valid,
        nature: draft.nature,
        trigger: draft.trigger.clone(),
        ..Memory::new(MemoryId::random(), body, taint, agent, write.at())
    };
    write.create_memory(&memory);
    memory
}

fn found(holder: Option<Memory>, twins: Vec<Memory>, id: &MemoryId) -> Result<Memory, ServiceError> {
    holder.into_iter().chain(twins).find(|memory| memory.id == *id).ok_or(ServiceError::NoMemory(*id))
}
