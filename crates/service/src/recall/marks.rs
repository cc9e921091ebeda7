//! Marks: the notes beside a memory in every list. Hits, contexts and timelines share them.
//!
//! A mark annotates a memory; it never hides, reorders or deletes one. To add one, add a case to [`Recall::marks`], and a field
//! to the program's `answer::memories::Marks`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{Recall, ServiceError};
use cerebro_core::domain::{Flag, MemoryId, Timestamp};
use cerebro_store::Footing;

/// Something to know about a memory before its text is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Its name, in the text and in the structured part of an answer.
    pub name: &'static str,
    /// Its detail.
    pub detail: MarkDetail,
}

/// The detail of a mark.
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

impl Recall {
    /// The marks of each of some memories.
    pub async fn marks(&self, ids: &[MemoryId]) -> Result<Marks, ServiceError> {
        let mut marks = self.old_marks(ids, None).await?;
        let footings = self.footings(ids).await?;
        for (id, footing) in &footings {
            if footing.archived {
                marks.entry(*id).or_default().push(Mark::new("archived", MarkDetail::Yes));
            }
            if let Some(mark) = flag_mark(&footing.flags) {
                marks.entry(*id).or_default().push(mark);
            }
        }
        for (id, mark) in self.source_marks(&footings).await? {
            marks.entry(id).or_default().push(mark);
        }
        for (id, claimed) in self.claimed(ids).await? {
            for (name, ids) in claimed.by_mark() {
                marks.entry(id).or_default().push(Mark::new(name, MarkDetail::Ids(ids.to_vec())));
            }
        }
        Ok(marks)
    }

    /// The marks of insights of which a source was corrected, superseded or deleted since.
    async fn source_marks(
        &self,
        footings: &BTreeMap<MemoryId, Arc<Footing>>,
    ) -> Result<Vec<(MemoryId, Mark)>, ServiceError> {
        let derived = || footings.iter().filter_map(|(id, footing)| Some((*id, footing.derived.as_ref()?)));
        let sources: BTreeSet<MemoryId> = derived().flat_map(|(_, (sources, _))| sources).copied().collect();
        let last = self.base.store.tombstones().last_of(&Vec::from_iter(sources)).await?;
        let corrected = |(id, (sources, since)): (MemoryId, &(Vec<MemoryId>, Timestamp))| {
            let is_corrected = |source: &&MemoryId| last.get(*source).is_some_and(|at| at > since);
            let words = format!("source {} no longer holds", sources.iter().find(is_corrected)?);
            Some((id, Mark::new("stale", MarkDetail::Words(words))))
        };
        Ok(derived().filter_map(corrected).collect())
    }

    /// The mark of a memory that is an insight of which a source was corrected, superseded or deleted since.
    pub async fn source_mark(&self, id: &MemoryId) -> Result<Option<Mark>, ServiceError> {
        let footings = self.footings(std::slice::from_ref(id)).await?;
        Ok(self.source_marks(&footings).await?.into_iter().next().map(|(_, mark)| mark))
    }

    /// Which memories were superseded, now or at an earlier moment.
    pub(crate) async fn old_marks(
        &self,
        ids: &[MemoryId],
        at: Option<Timestamp>,
    ) -> Result<Marks, ServiceError> {
        let then = Box::pin(self.then(at)).await?;
        let succession = self.succession().await?;
        let old = |id: &MemoryId| {
            let newer = succession.successor(id, then.as_ref())?;
            Some((*id, vec![Mark::new("old", MarkDetail::Id(newer))]))
        };
        Ok(ids.iter().filter_map(old).collect())
    }

    /// The marks of memories as they were at an earlier moment: what had superseded them by then, and the flags of
    /// their text at that time.
    pub(crate) async fn past_marks(&self, ids: &[MemoryId], at: Timestamp) -> Result<Marks, ServiceError> {
        let mut marks = self.old_marks(ids, Some(at)).await?;
        for memory in self.base.store.memories().by_ids(ids).await? {
            let Some(text) = self.past.text_at(memory, at).await? else { continue };
            marks.entry(text.id).or_default().extend(flag_mark(&text.taint.flags));
        }
        marks.retain(|_, marks_of_one| !marks_of_one.is_empty());
        Ok(marks)
    }
}
