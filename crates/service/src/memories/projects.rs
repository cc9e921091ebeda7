//! Looking over all that is stored: lists, the log, and merging two projects.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use tokio::sync::OnceCell;

use super::Memories;
use crate::{Caller, ServiceError, base::Base, index::Evidence, lock};
use cerebro_core::domain::{MemoryId, Project, Scope, Timestamp};
use cerebro_store::{Decision, Write};

/// How many rows are moved in one transaction.
const BATCH: usize = 200;

/// What merging moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Memories, deleted ones too.
    pub memories: usize,
    /// Sessions.
    pub sessions: usize,
    /// Prompts.
    pub prompts: usize,
    /// Pieces of work.
    pub works: usize,
    /// Past sessions, with their exchanges.
    pub past_sessions: usize,
    /// Documents, with their chunks.
    pub documents: usize,
    /// Memories that gave up their topic key, and the one that holds it in the other project.
    pub kept: Vec<(MemoryId, MemoryId)>,
}

/// The projects that hold anything, by which a write tells a new project from a known one.
#[derive(Clone)]
pub(crate) struct KnownProjects {
    base: Base,
    /// Read when first asked for.
    known: Arc<OnceCell<Mutex<BTreeSet<Project>>>>,
}

impl KnownProjects {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone(), known: Arc::default() }
    }

    /// Adds a project of which another home wrote, if the known ones were read.
    pub(crate) fn heard_of(&self, project: &Project) {
        if let Some(known) = self.known.get() {
            lock(known).insert(project.clone());
        }
    }

    pub(crate) async fn all(&self) -> Result<&Mutex<BTreeSet<Project>>, ServiceError> {
        self.known
            .get_or_try_init(|| async {
                let known = self.base.store.projects().await?;
                Ok(Mutex::new(known.into_keys().collect()))
            })
            .await
    }

    /// Whether the write targets a project other than the caller's. If so, the known projects are loaded first, so
    /// that [`Self::meet`] can tell a new project from a known one afterwards.
    pub(crate) async fn leads_elsewhere(
        &self,
        project: Option<&Project>,
        caller: &Caller,
    ) -> Result<bool, ServiceError> {
        let elsewhere = project.is_some_and(|project| !project.is_none() && *project != caller.project);
        if elsewhere {
            self.all().await?;
        }
        Ok(elsewhere)
    }

    /// Whether a project is seen for the first time in a write, and which known ones have a similar name.
    /// `None` when it is the caller's own or known. From then on it is known.
    pub(crate) async fn meet(
        &self,
        project: &Project,
        caller: &Caller,
    ) -> Result<Option<Vec<Project>>, ServiceError> {
        if project.is_none() || *project == caller.project {
            return Ok(None);
        }
        let mut known = lock(self.all().await?);
        if known.contains(project) {
            return Ok(None);
        }
        let near = cerebro_core::text::nearest(project.as_str(), known.iter().map(Project::as_str));
        let near = near.into_iter().filter_map(Project::parse).collect();
        known.insert(project.clone());
        Ok(Some(near))
    }
}

impl Memories {
    /// Makes everything of one project belong to another, in batches. Stopped half-way, it can be repeated.
    /// A memory whose topic key is taken there keeps its text and loses the key.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] when both are the same, [`ServiceError::EmptyProject`], or a failing store.
    pub async fn merge_projects(&self, from: &Project, into: &Project) -> Result<Merged, ServiceError> {
        if from == into {
            return Err(ServiceError::invalid(
                "into",
                into.as_str(),
                "it is the project to merge; name another one",
            ));
        }
        let mut merged = Merged::default();
        loop {
            let batch = self.base.store.transact(&MergeBatch { from, into }).await?;
            if batch == Merged::default() {
                break;
            }
            merged.memories += batch.memories;
            merged.sessions += batch.sessions;
            merged.prompts += batch.prompts;
            merged.works += batch.works;
            merged.past_sessions += batch.past_sessions;
            merged.documents += batch.documents;
            merged.kept.extend(batch.kept);
        }
        if merged == Merged::default() {
            return Err(ServiceError::EmptyProject(from.clone()));
        }
        if merged.past_sessions > 0 {
            self.evidence.changed(Evidence::History);
        }
        if merged.documents > 0 {
            self.evidence.changed(Evidence::Documents);
        }
        let mut known = lock(self.projects.all().await?);
        known.remove(from);
        known.insert(into.clone());
        Ok(merged)
    }
}

/// Moves up to [`BATCH`] rows of each kind.
struct MergeBatch<'a> {
    from: &'a Project,
    into: &'a Project,
}

impl Decision for MergeBatch<'_> {
    type Output = Merged;
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Merged, ServiceError> {
        merge_batch(write, self.from, self.into).await
    }
}

async fn merge_batch(write: &mut Write<'_>, from: &Project, into: &Project) -> Result<Merged, ServiceError> {
    let mut merged = Merged::default();
    let mut memories = write.store().recent(Some(from), Timestamp::MAX, BATCH).await?;
    memories.extend(write.store().gone(from, BATCH).await?);
    for mut memory in memories {
        // What is personal belongs to no project; older imports took it with one.
        memory.project = if memory.scope == Scope::Personal { Project::none() } else { into.clone() };
        if let (true, Some(key)) = (memory.is_live(), &memory.topic_key)
            && let Some(holder) = write.store().topic_holder(into, memory.scope, key).await?
            && holder.id != memory.id
        {
            merged.kept.push((memory.id, holder.id));
            memory.topic_key = None;
        }
        write.merge_memory(&memory);
        merged.memories += 1;
    }
    for mut session in write.store().latest_sessions(Some(from), Timestamp::MAX, BATCH).await? {
        session.project.clone_from(into);
        write.merge_session(&session);
        merged.sessions += 1;
    }
    for mut prompt in write.store().latest_prompts(Some(from), Timestamp::MAX, BATCH).await? {
        prompt.project.clone_from(into);
        write.merge_prompt(&prompt);
        merged.prompts += 1;
    }
    for mut stored in write.store().works_of_project(from, BATCH).await?.readable {
        stored.work.project.clone_from(into);
        // Begun again under its key, it is found in the other project, unless one of there has the key.
        if let (Some(_), Some(name)) = (&stored.work.name, stored.work.proper_name())
            && write.is_free_work_name(&name).await?
        {
            stored.work.name = Some(name);
        }
        write.merge_work(&stored);
        merged.works += 1;
    }
    for mut past in write.store().past_sessions(Some(from), 0, BATCH).await? {
        past.project.clone_from(into);
        write.merge_past_session(&past);
        merged.past_sessions += 1;
    }
    for mut document in write.store().documents(Some(from), 0, BATCH).await? {
        document.project.clone_from(into);
        write.merge_document(&document);
        merged.documents += 1;
    }
    if merged != Merged::default() {
        write.merge_project(from, into);
    }
    Ok(merged)
}
