//! What is known about a name: the memories that mention it or in which a model found it, and the other names in them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Caller, GRAPH_NODES_MAX, Recall, ServiceError, fields::Fields};
use cerebro_core::domain::{Memory, MemoryId, Project, Scope};
use cerebro_core::relate::{Mention, mentions};
use cerebro_store::StoredRelation;

/// Most other names in an answer.
const BESIDE_MAX: usize = 20;
/// Most relations that are read.
const RELATIONS_MAX: usize = 1_000;

/// The memories about a name.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityGraph {
    /// The project that was searched, with the personal memories.
    pub project: Project,
    /// The live memories about it, those written last first; and for each whether a model found the name in it.
    pub memories: Vec<(Memory, bool)>,
    /// The other names in them, and how many of them have each; the most frequent first.
    pub beside: Vec<(Mention, usize)>,
    /// The relations between them, the strongest first.
    pub relations: Vec<StoredRelation>,
    /// There are more memories about it.
    pub truncated: bool,
}

impl Recall {
    /// The live memories about a name, at most `limit`, the other names in them, and their relations. A name is something
    /// from code (a file, a symbol, an error, a package) or a word.
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
        for scope in [Scope::Project(project.clone()), Scope::Personal] {
            let names = vec![name.clone()];
            let found = self.index.ask(move |index| index.holders(&scope, &names, limit)).await?;
            mentioned.extend(found.into_iter().flatten().map(MemoryId::from));
        }
        let read: BTreeSet<MemoryId> =
            self.base.store.entities().memories_naming(&name, limit + 1).await?.into_iter().collect();
        let mut found = self.base.store.memories().by_ids(mentioned.union(&read)).await?;
        found.retain(|memory| memory.is_live() && memory.scope.project().is_none_or(|own| *own == project));
        found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.id.cmp(&b.id)));
        let truncated = found.len() > limit;
        found.truncate(limit);
        let ids: BTreeSet<MemoryId> = found.iter().map(|memory| memory.id).collect();
        let mut relations =
            self.base.store.relations().of(&ids.iter().copied().collect::<Vec<_>>(), RELATIONS_MAX).await?;
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

/// The names that some memories have beside a name, the most frequent first.
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
