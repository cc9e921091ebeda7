//! What is told beside a memory wherever it is listed: the one list that hits, contexts and timelines share.
//!
//! A mark annotates a memory; it never hides, reorders or deletes one. To add one, add a case to [`Recall::marks`].

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{Recall, ServiceError};
use cerebro_core::domain::{Flag, MemoryId, Timestamp};

/// One thing to know of a memory before its text is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Under which name it is told, in both halves of an answer.
    pub name: &'static str,
    /// What it says.
    pub told: MarkDetail,
}

/// What a mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkDetail {
    /// That it is so.
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
    pub fn new(name: &'static str, told: MarkDetail) -> Self {
        Self { name, told }
    }

    /// As a fact of a structured answer.
    pub fn json(&self) -> Value {
        match &self.told {
            MarkDetail::Yes => json!(true),
            MarkDetail::Id(id) => json!(id.as_str()),
            MarkDetail::Ids(ids) => json!(ids.iter().map(MemoryId::as_str).collect::<Vec<_>>()),
            MarkDetail::Words(words) => json!(words),
        }
    }

    /// As a part of a line: its name, and what it says.
    pub fn text(&self) -> String {
        let name = self.name;
        match &self.told {
            MarkDetail::Yes => name.to_owned(),
            MarkDetail::Id(id) => format!("{name} {id}"),
            MarkDetail::Ids(ids) => {
                format!("{name} {}", ids.iter().map(MemoryId::as_str).collect::<Vec<_>>().join(" "))
            }
            MarkDetail::Words(words) => format!("{name} {words}"),
        }
    }
}

/// The marks of some memories, each list with what matters most first: where there is no room for all, the last go.
pub type Marks = BTreeMap<MemoryId, Vec<Mark>>;

/// That a text is flagged, and for what.
pub(crate) fn flag_mark(flags: &[Flag]) -> Option<Mark> {
    let names: Vec<&str> = flags.iter().map(|flag| flag.as_str()).collect();
    (!names.is_empty()).then(|| Mark::new("flag", MarkDetail::Words(names.join(" "))))
}

impl Recall {
    /// What is to be told beside each of some memories.
    ///
    /// # Errors
    /// A failing store.
    pub async fn marks(&self, ids: &[MemoryId]) -> Result<Marks, ServiceError> {
        let mut marks = self.old_marks(ids, None).await?;
        for (id, footing) in self.footings(ids).await? {
            if footing.archived {
                marks.entry(id).or_default().push(Mark::new("archived", MarkDetail::Yes));
            }
            if let Some(mark) = flag_mark(&footing.flags) {
                marks.entry(id).or_default().push(mark);
            }
        }
        for (id, claimed) in self.claimed(ids).await? {
            for (name, ids) in claimed.told() {
                marks.entry(id).or_default().push(Mark::new(name, MarkDetail::Ids(ids.to_vec())));
            }
        }
        Ok(marks)
    }

    /// Which memories are old, now or at an earlier moment: another took their place.
    pub(crate) async fn old_marks(
        &self,
        ids: &[MemoryId],
        at: Option<Timestamp>,
    ) -> Result<Marks, ServiceError> {
        let succession = self.succession().await?;
        let old = |id: &MemoryId| {
            let newer = succession.successor(id, at)?;
            Some((*id, vec![Mark::new("old", MarkDetail::Id(newer))]))
        };
        Ok(ids.iter().filter_map(old).collect())
    }

    /// What is told beside memories as they were at a moment: what had taken their place by then, and for what their text
    /// of then is flagged.
    ///
    /// # Errors
    /// A failing store.
    pub(crate) async fn past_marks(&self, ids: &[MemoryId], at: Timestamp) -> Result<Marks, ServiceError> {
        let mut marks = self.old_marks(ids, Some(at)).await?;
        for memory in self.base.store.memories_by_id(ids).await? {
            let Some(text) = self.past.text_at(memory, at).await? else { continue };
            marks.entry(text.id).or_default().extend(flag_mark(&text.taint.flags));
        }
        marks.retain(|_, told| !told.is_empty());
        Ok(marks)
    }
}
