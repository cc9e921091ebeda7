//! Superseding memories within a write's transaction.

use std::collections::{BTreeMap, BTreeSet};

use cerebro_core::domain::limits::{SUPERSEDED_DEPTH_MAX, SUPERSEDES_MAX};
use cerebro_core::domain::{Memory, MemoryId, Scope, Timestamp};
use cerebro_core::{hygiene, truth};
use cerebro_store::{Store, Supersession, Write};

use crate::{Caller, Memories, ServiceError};

/// Most memories of the same type, title and content that are read.
const COPIES_MAX: usize = 20;

impl Memories {
    /// The memories that a consolidation merged into one, directly or through others, and that are not purged. A person who
    /// purges that one may want them purged too.
    pub async fn merged_into(&self, id: &MemoryId) -> Result<Vec<MemoryId>, ServiceError> {
        let (mut found, mut level) = (Vec::new(), vec![*id]);
        for _ in 0..SUPERSEDED_DEPTH_MAX {
            let edges = self.base.store.supersessions().of(&level).await?.into_iter();
            let merged = edges.filter(|edge| edge.by == Supersession::CYCLE && level.contains(&edge.newer));
            let merged: Vec<MemoryId> = merged.map(|edge| edge.older).collect();
            level = merged.into_iter().filter(|older| !found.contains(older)).collect();
            if level.is_empty() {
                break;
            }
            found.extend(&level);
        }
        let memories = self.base.store.memories().by_ids(&found).await?;
        Ok(memories.into_iter().filter(|memory| !memory.purged).map(|memory| memory.id).collect())
    }

    /// The memories in the archive that still say what a memory says: those that were merged into it, and those of the same
    /// type, title and content, at most [`COPIES_MAX`]. A person who deletes that one may want them deleted too.
    pub async fn archived_copies(&self, id: &MemoryId) -> Result<Vec<MemoryId>, ServiceError> {
        let Some(memory) = self.base.store.memories().by_id(id).await?.filter(Memory::is_live) else {
            return Ok(Vec::new());
        };
        let memories = self.base.store.memories();
        let mut copies = memories.by_ids(&self.merged_into(id).await?).await?;
        let identity = hygiene::identity(&memory.scope, &memory.kind, &memory.title);
        copies.extend(memories.twins(&identity, &memory.content, Timestamp::UNIX_EPOCH, COPIES_MAX).await?);
        copies.retain(|copy| copy.id != *id && copy.is_live() && copy.is_archived());
        let ids: BTreeSet<MemoryId> = copies.into_iter().map(|copy| copy.id).collect();
        Ok(ids.into_iter().collect())
    }
}

/// Makes a memory supersede others, within its transaction. Returns those that it did not supersede before.
///
/// # Errors
/// [`ServiceError::Invalid`] for too many, for one of another project, and for one that would close a circle;
/// [`ServiceError::NoMemory`], [`ServiceError::Deleted`].
pub(crate) async fn supersede(
    write: &mut Write<'_>,
    caller: &Caller,
    newer: &Memory,
    ids: &[MemoryId],
) -> Result<Vec<Memory>, ServiceError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    if ids.len() > SUPERSEDES_MAX {
        let problem =
            format!("{} ids are given, at most {SUPERSEDES_MAX} at once; do it in parts", ids.len());
        return Err(ServiceError::invalid("supersedes", ids[SUPERSEDES_MAX].as_str(), problem));
    }
    let known = write.supersessions(&[newer.id]).await?;
    let mut superseded: Vec<Memory> = Vec::new();
    for id in ids {
        if superseded.iter().any(|other| other.id == *id) {
            continue;
        }
        let refuse = |problem: String| Err(ServiceError::invalid("supersedes", id.as_str(), problem));
        if *id == newer.id {
            return refuse("it is this memory itself; an update replaces its text".to_owned());
        }
        let older = write.memory(id).await?.ok_or(ServiceError::NoMemory(*id))?;
        if !older.is_live() {
            return Err(ServiceError::gone(&older));
        }
        if older.scope != newer.scope {
            let place = |memory: &Memory| match &memory.scope {
                Scope::Personal => "personal".to_owned(),
                Scope::Project(project) => format!("of project `{project}`"),
            };
            return refuse(format!("it is {}, this one {}", place(&older), place(newer)));
        }
        if let Err(unfit) = may_supersede(write, newer.id, *id).await? {
            return refuse(unfit.to_string());
        }
        if !known.iter().any(|edge| (edge.newer, edge.older) == (newer.id, *id)) {
            let by = if caller.person { "person" } else { "agent" };
            write.supersede_memory(newer, &older, by, &caller.session);
            superseded.push(older);
        }
    }
    Ok(superseded)
}

/// Those of these memories in whose place another one is, because somebody said so. A deleted memory is in no place: what
/// counts is the one that superseded it.
pub(crate) async fn superseded(
    store: &Store,
    ids: Vec<MemoryId>,
) -> Result<BTreeSet<MemoryId>, ServiceError> {
    let mut found = BTreeSet::new();
    // Deleted memories on the way, each with those whose place it had.
    let mut level: BTreeMap<MemoryId, BTreeSet<MemoryId>> =
        ids.into_iter().map(|id| (id, BTreeSet::from([id]))).collect();
    for _ in 0..SUPERSEDED_DEPTH_MAX {
        let olders: Vec<MemoryId> = level.keys().copied().collect();
        let mut edges = store.supersessions().of(&olders).await?;
        edges.retain(|edge| level.contains_key(&edge.older) && edge.by != Supersession::CYCLE);
        let newer: BTreeSet<MemoryId> = edges.iter().map(|edge| edge.newer).collect();
        let newer = store.memories().map_of(&newer).await?;
        let mut next: BTreeMap<MemoryId, BTreeSet<MemoryId>> = BTreeMap::new();
        for edge in &edges {
            let place = &level[&edge.older];
            if newer.get(&edge.newer).is_some_and(Memory::is_live) {
                found.extend(place);
            } else {
                next.entry(edge.newer).or_default().extend(place);
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Ok(found)
}

/// Whether a memory may supersede an older one: follows all edges below the older one to find circles.
pub(crate) async fn may_supersede(
    write: &Write<'_>,
    newer: MemoryId,
    older: MemoryId,
) -> Result<Result<(), truth::SupersessionError>, ServiceError> {
    let mut below: BTreeMap<MemoryId, Vec<MemoryId>> = BTreeMap::new();
    let mut level = vec![older];
    for _ in 0..SUPERSEDED_DEPTH_MAX {
        let mut next = Vec::new();
        for edge in write.supersessions(&level).await? {
            let is_new = level.contains(&edge.newer) && !below.contains_key(&edge.older);
            if is_new {
                next.push(edge.older);
            }
            if level.contains(&edge.newer) {
                below.entry(edge.newer).or_default().push(edge.older);
            }
        }
        next.sort();
        next.dedup();
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Ok(truth::check_supersession(newer, older, &below))
}

/// Removes the supersession that a consolidation drew, for a memory that leaves the archive.
pub(crate) async fn reinstate(write: &mut Write<'_>, memory: &Memory) -> Result<(), ServiceError> {
    let edges = write.supersessions(&[memory.id]).await?;
    for edge in edges.iter().filter(|edge| edge.older == memory.id && edge.by == Supersession::CYCLE) {
        write.reinstate_memory(edge.newer, memory);
    }
    Ok(())
}
