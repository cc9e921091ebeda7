//! Merging two projects.

use super::Memories;
use crate::{ServiceError, index::Evidence, lock};
use cerebro_core::domain::{Memory, MemoryId, Project, Scope, Timestamp};
use cerebro_ledger::{Key, move_to};
use cerebro_store::Write;

/// How many rows are moved in one transaction.
const BATCH: usize = 200;

/// How much a merge moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Memories, deleted ones too.
    pub memories: usize,
    pub sessions: usize,
    pub prompts: usize,
    /// Pieces of work.
    pub works: usize,
    /// Past sessions, with their exchanges.
    pub past_sessions: usize,
    /// Documents, with their chunks.
    pub documents: usize,
    /// Memories that gave up their topic key, and the one that holds it in the other project.
    pub kept: Vec<(MemoryId, MemoryId)>,
    /// Live memories of either project that say what the other one no longer says. They stay: a person decides.
    pub said_again: Vec<MemoryId>,
}

impl Memories {
    /// Moves everything of one project to another, in batches: see [`crate::Journal::merge_projects`].
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] when both are the same, [`ServiceError::EmptyProject`], or a failing store.
    pub(crate) async fn merge_projects(
        &self,
        from: &Project,
        into: &Project,
        key: &Key,
    ) -> Result<Merged, ServiceError> {
        if from == into {
            return Err(ServiceError::invalid(
                "into",
                into.as_str(),
                "it is the project to merge; name another one",
            ));
        }
        // Afterwards all tombstones are those of one project.
        let said_again = self.said_again(from, into).await?;
        let mut merged = Merged::default();
        loop {
            let store = &self.base.store;
            let batch = store.transact(|write| Box::pin(merge_batch(write, from, into, key))).await?;
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
        Ok(Merged { said_again, ..merged })
    }

    /// The live memories of either project that say what the other one no longer says.
    async fn said_again(&self, one: &Project, other: &Project) -> Result<Vec<MemoryId>, ServiceError> {
        let mut again = Vec::new();
        let mut pages = self.base.store.memories().walk();
        while let Some(page) = pages.next().await? {
            for (of, elsewhere) in [(one, other), (other, one)] {
                let is_own = |memory: &&Memory| memory.is_live() && memory.scope.project() == Some(of);
                let own: Vec<Memory> = page.iter().filter(is_own).cloned().collect();
                if !own.is_empty() {
                    let elsewhere = Scope::Project(elsewhere.clone());
                    again.extend(self.base.store.tombstones().said_in(&elsewhere, &own).await?);
                }
            }
        }
        Ok(again)
    }
}

/// Moves up to [`BATCH`] rows of each kind. `key` is that of the rows of work.
async fn merge_batch(
    write: &mut Write<'_>,
    from: &Project,
    into: &Project,
    key: &Key,
) -> Result<Merged, ServiceError> {
    let mut merged = Merged::default();
    let mut memories = write.store().memories().live(from, BATCH).await?;
    memories.extend(write.store().memories().deleted(from, BATCH).await?);
    for mut memory in memories {
        // A personal memory stays one, although older imports gave its row a project.
        memory.scope = memory.scope.name().of(into.clone());
        if let (true, Some(key)) = (memory.is_live(), &memory.topic_key)
            && let Some(holder) = write.store().topics().holder(&memory.scope, key).await?
            && holder.id != memory.id
        {
            merged.kept.push((memory.id, holder.id));
            memory.topic_key = None;
        }
        write.merge_memory(&memory);
        merged.memories += 1;
    }
    for mut session in write.store().sessions().latest(Some(from), Timestamp::MAX, None, BATCH).await? {
        session.project.clone_from(into);
        write.merge_session(&session);
        merged.sessions += 1;
    }
    for mut prompt in write.store().prompts().latest(Some(from), Timestamp::MAX, BATCH).await? {
        prompt.project.clone_from(into);
        write.merge_prompt(&prompt);
        merged.prompts += 1;
    }
    for mut stored in write.store().works().of_project(from, BATCH).await?.readable {
        move_to(key, &mut stored.work, into);
        // It can be resumed by its key in the other project, unless a piece of work there has the key.
        if let (Some(_), Some(name)) = (&stored.work.name, stored.work.proper_name())
            && write.is_free_work_name(&name).await?
        {
            stored.work.name = Some(name);
        }
        write.merge_work(&stored);
        merged.works += 1;
    }
    for mut past in write.store().past_sessions().latest(Some(from), 0, BATCH).await? {
        past.project.clone_from(into);
        write.merge_past_session(&past);
        merged.past_sessions += 1;
    }
    for mut document in write.store().documents().list(Some(from), 0, BATCH).await? {
        document.project.clone_from(into);
        write.merge_document(&document);
        merged.documents += 1;
    }
    if merged != Merged::default() {
        write.merge_project(from, into);
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Settings,
        use_cases::{caller, exported, save, with_service},
    };
    use cerebro_core::domain::Run;

    #[test]
    fn all_that_the_other_project_no_longer_says_is_named_even_if_it_was_written_at_one_moment() {
        with_service(Settings::default(), Timestamp::now, async |service| {
            let said = save(&service, "Flaky test").await.memory;
            let mut lines = exported(&service).await.into_iter();
            let line = lines.find(|line| line.contains(said.id.as_str())).unwrap();
            let mut line: serde_json::Value = serde_json::from_str(&line).unwrap();
            line["project"] = "other".into();
            let mut copy = || {
                line["id"] = MemoryId::random().as_str().into();
                line.to_string()
            };
            let lines: Vec<String> = (0..=BATCH).map(|_| copy()).collect();
            assert_eq!(service.import(&lines, Run::Real).await.unwrap().created, lines.len());
            service.memories.delete(&caller(), &said.id).await.unwrap();

            let other = Project::parse("other").unwrap();
            let merged = service.journal.merge_projects(&other, &caller().project).await.unwrap();
            assert_eq!(merged.said_again.len(), lines.len());
        });
    }
}
