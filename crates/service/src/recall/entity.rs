//! What is known about a name: the memories that mention it or that a model read it in, and what they name beside it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Caller, GRAPH_NODES_MAX, Recall, ServiceError, fields::Fields};
use cerebro_core::domain::{Memory, MemoryId, Project, Scope};
use cerebro_core::relate::{Mention, mentions};
use cerebro_store::StoredRelation;

/// Most names that are told beside the one asked for.
const BESIDE_MAX: usize = 20;
/// Most relations that are read.
const RELATIONS_MAX: usize = 1_000;

/// What a name stands for in the memories of a place.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityGraph {
    /// The project that was looked through, with the personal memories.
    pub project: Project,
    /// The live memories about it, those written last first, and whether a model read it in them.
    pub memories: Vec<(Memory, bool)>,
    /// What they name beside it, and how many of them do; those that most do come first.
    pub beside: Vec<(Mention, usize)>,
    /// The relations between them, the strongest first.
    pub relations: Vec<StoredRelation>,
    /// There are more memories about it.
    pub truncated: bool,
}

impl Recall {
    /// The live memories about a name, `limit` at most, what they name beside it, and how they are related. A name is what
    /// code writes (a file, a symbol, an error, a package) or a word.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an empty name; a failing store or index.
    pub async fn entity(
        &self,
        caller: &Caller,
        name: &str,
        project: Option<Project>,
        limit: usize,
    ) -> Result<EntityGraph, ServiceError> {
        let name = String::from(Fields::default().query(name)?);
        let limit = limit.clamp(1, GRAPH_NODES_MAX);
        let project = project.unwrap_or_else(|| caller.project.clone());
        let mut mentioned = BTreeSet::new();
        for (place, scope) in [(project.clone(), Scope::Project), (Project::none(), Scope::Personal)] {
            let names = vec![name.clone()];
            let found = self.index.ask(move |index| index.holders(&place, scope, &names, limit)).await?;
            mentioned.extend(found.into_iter().flatten().map(MemoryId::from));
        }
        let read: BTreeSet<MemoryId> = self.base.store.named(&name, limit + 1).await?.into_iter().collect();
        let ids: Vec<MemoryId> = mentioned.union(&read).copied().collect();
        let mut found = self.base.store.memories_by_id(&ids).await?;
        found.retain(|memory| memory.is_live() && (memory.project == project || memory.project.is_none()));
        found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.id.cmp(&b.id)));
        let truncated = found.len() > limit;
        found.truncate(limit);
        let ids: BTreeSet<MemoryId> = found.iter().map(|memory| memory.id).collect();
        let mut relations =
            self.base.store.relations(&ids.iter().copied().collect::<Vec<_>>(), RELATIONS_MAX).await?;
        relations.retain(|one| ids.contains(&one.from) && ids.contains(&one.to));
        let beside = beside(&found, &name);
        let with_source = |memory: Memory| {
            let is_read = read.contains(&memory.id);
            (memory, is_read)
        };
        let memories = found.into_iter().map(with_source).collect();
        Ok(EntityGraph { project, memories, beside, relations, truncated })
    }
}

/// What some memories name beside a name, those first that most of them do.
fn beside(memories: &[Memory], name: &str) -> Vec<(Mention, usize)> {
    let mut counted: BTreeMap<Mention, usize> = BTreeMap::new();
    for mention in memories.iter().flat_map(mentions) {
        if !mention.name.eq_ignore_ascii_case(name) {
            *counted.entry(mention).or_default() += 1;
        }
    }
    let mut counted: Vec<(Mention, usize)> = counted.into_iter().collect();
    counted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counted.truncate(BESIDE_MAX);
    counted
}
