//! Marks: the notes beside a memory in every list. Hits, contexts and timelines share them.
//!
//! A mark annotates a memory; it never hides, reorders or deletes one. To add one, add a case to [`Recall::marks`], and a field
//! to the program's `answer::memories::Marks`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::succession::HeldThen;
use crate::{Recall, ServiceError};
use cerebro_core::domain::{Flag, Memory, MemoryId, Origin, Taint};
use cerebro_core::truth::insight;
use cerebro_search::lexical::Hit;

/// Something to know about a memory before its text is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its name, in the text and in the structured part of an answer.
    pub name: &'static str,
    pub detail: MarkDetail,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkDetail {
    /// No more than its name.
    Yes,
    /// Another memory.
    Id(MemoryId),
    /// Other memories.
    Ids(Vec<MemoryId>),
    /// A few words, which quote nothing that is stored.
    Words(String),
}

impl Mark {
    /// A mark of this name.
    pub fn new(name: &'static str, detail: MarkDetail) -> Self {
        Self { name, detail }
    }

    /// As a fact of a structured answer.
    pub fn json(&self) -> Value {
        match &self.detail {
            MarkDetail::Yes => json!(true),
            MarkDetail::Id(id) => json!(id.as_str()),
            MarkDetail::Ids(ids) => json!(ids.iter().map(MemoryId::as_str).collect::<Vec<_>>()),
            MarkDetail::Words(words) => json!(words),
        }
    }

    /// As a part of a line: its name and its detail.
    pub fn text(&self) -> String {
        let name = self.name;
        match &self.detail {
            MarkDetail::Yes => name.to_owned(),
            MarkDetail::Id(id) => format!("{name} {id}"),
            MarkDetail::Ids(ids) => {
                format!("{name} {}", ids.iter().map(MemoryId::as_str).collect::<Vec<_>>().join(" "))
            }
            MarkDetail::Words(words) => format!("{name} {words}"),
        }
    }
}

/// The marks of some memories. Each list begins with the most important: if there is no room for all, the last are dropped.
pub type Marks = BTreeMap<MemoryId, Vec<Mark>>;

/// A mark that a text is flagged, and for what.
pub fn flag_mark(flags: &[Flag]) -> Option<Mark> {
    let names: Vec<&str> = flags.iter().map(|flag| flag.as_str()).collect();
    (!names.is_empty()).then(|| Mark::new("flag", MarkDetail::Words(names.join(" "))))
}

/// What is stored with a memory that its marks depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footing {
    pub id: MemoryId,
    /// Whether it is archived.
    pub archived: bool,
    /// The origin and the flags of its text.
    pub taint: Taint,
}

impl From<&Memory> for Footing {
    /// Nothing is marked of a deleted memory but what took its place.
    fn from(memory: &Memory) -> Self {
        let is_live = memory.is_live();
        let taint = if is_live { memory.taint.clone() } else { Taint::default() };
        Self { id: memory.id, archived: is_live && memory.is_archived(), taint }
    }
}

impl From<&Hit> for Footing {
    fn from(hit: &Hit) -> Self {
        Self { id: hit.id.into(), archived: hit.archived, taint: hit.taint.clone() }
    }
}

impl Recall {
    /// The marks of each of some memories.
    pub async fn marks(&self, memories: &[Footing]) -> Result<Marks, ServiceError> {
        let mut marks = self.old_marks(memories, None).await?;
        // A list may have a memory twice.
        let each: BTreeMap<MemoryId, &Footing> = memories.iter().map(|memory| (memory.id, memory)).collect();
        for (id, Footing { archived, taint, .. }) in &each {
            let archived = archived.then(|| Mark::new("archived", MarkDetail::Yes));
            let found: Vec<Mark> = archived.into_iter().chain(flag_mark(&taint.flags)).collect();
            if !found.is_empty() {
                marks.entry(*id).or_default().extend(found);
            }
        }
        let derived = each.values().filter(|memory| memory.taint.origin == Origin::Derived);
        let derived: Vec<MemoryId> = derived.map(|memory| memory.id).collect();
        let derived = self.base.store.memories().by_ids(&derived).await?;
        for (id, mark) in self.source_marks(&derived).await? {
            marks.entry(id).or_default().push(mark);
        }
        let ids: Vec<MemoryId> = each.into_keys().collect();
        for (id, claimed) in self.claimed(&ids).await? {
            for (name, ids) in claimed.by_mark() {
                marks.entry(id).or_default().push(Mark::new(name, MarkDetail::Ids(ids.to_vec())));
            }
        }
        Ok(marks)
    }

    /// The marks of insights of which a source was corrected, superseded or deleted since. Other memories have none.
    async fn source_marks(&self, memories: &[Memory]) -> Result<Vec<(MemoryId, Mark)>, ServiceError> {
        let derived = memories.iter().filter(|one| one.is_live() && one.taint.origin == Origin::Derived);
        let derived: Vec<(&Memory, Vec<MemoryId>)> =
            derived.map(|one| (one, insight::sources_of(&one.content))).collect();
        let sources: BTreeSet<MemoryId> = derived.iter().flat_map(|(_, sources)| sources).copied().collect();
        let last = self.base.store.tombstones().last_of(&Vec::from_iter(sources)).await?;
        let corrected = |(one, sources): &(&Memory, Vec<MemoryId>)| {
            let is_corrected = |source: &&MemoryId| last.get(*source).is_some_and(|at| *at > one.updated_at);
            let words = format!("source {} no longer holds", sources.iter().find(is_corrected)?);
            Some((one.id, Mark::new("stale", MarkDetail::Words(words))))
        };
        Ok(derived.iter().filter_map(corrected).collect())
    }

    /// The mark of a memory that is an insight of which a source was corrected, superseded or deleted since.
    pub(super) async fn source_mark(&self, memory: &Memory) -> Result<Option<Mark>, ServiceError> {
        let found = self.source_marks(std::slice::from_ref(memory)).await?;
        Ok(found.into_iter().next().map(|(_, mark)| mark))
    }

    /// Which memories were superseded, now or at an earlier moment.
    async fn old_marks(&self, memories: &[Footing], then: Option<&HeldThen>) -> Result<Marks, ServiceError> {
        let succession = self.succession().await?;
        let old = |Footing { id, .. }: &Footing| {
            let newer = succession.successor(id, then)?;
            Some((*id, vec![Mark::new("old", MarkDetail::Id(newer))]))
        };
        Ok(memories.iter().filter_map(old).collect())
    }

    /// The marks of memories as they were at an earlier moment: what had superseded them by then, and the flags of
    /// their text at that time.
    pub(super) async fn past_marks(
        &self,
        memories: &[Footing],
        then: &HeldThen,
    ) -> Result<Marks, ServiceError> {
        let mut marks = self.old_marks(memories, Some(then)).await?;
        for Footing { id, taint, .. } in memories {
            if let Some(mark) = flag_mark(&taint.flags) {
                marks.entry(*id).or_default().push(mark);
            }
        }
        Ok(marks)
    }
}
