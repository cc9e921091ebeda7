//! Prompts: what may happen to one.

use super::{
    StoreError, Write,
    changes::{CommitScript, Happened, Part},
    row::{PromptRow, Put, prompt_record},
    statement,
};
use cerebro_core::domain::{EventKind, Prompt, PromptId};

/// What changes in the table of prompts.
#[derive(Default)]
pub(super) struct PromptChanges {
    /// Whole rows.
    pub put: Vec<Prompt>,
}

impl Part for PromptChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_PROMPTS, "prompts", &self.put, |prompt| Put {
            id: prompt_record(&prompt.id),
            row: PromptRow::from(prompt),
        });
    }
}

/// What may happen to a prompt.
impl Write<'_> {
    /// It is saved.
    pub fn save_prompt(&mut self, prompt: &Prompt) {
        self.put_prompt(EventKind::PromptSaved, prompt);
    }

    /// It belongs to another project, since its own was merged into that.
    pub fn merge_prompt(&mut self, prompt: &Prompt) {
        self.put_prompt(EventKind::ProjectMerged, prompt);
    }

    /// It comes from an export.
    pub fn import_prompt(&mut self, prompt: &Prompt) {
        self.put_prompt(EventKind::PromptImported, prompt);
    }

    fn put_prompt(&mut self, kind: EventKind, prompt: &Prompt) {
        self.tell(Happened::to_prompt(kind, prompt)).prompts.put.push(prompt.clone());
    }

    /// Whether a prompt will be there when this is committed.
    ///
    /// # Errors
    /// A failing store.
    pub async fn has_prompt(&self, id: &PromptId) -> Result<bool, StoreError> {
        let here = self.tables().prompts.put.iter().any(|prompt| prompt.id == *id);
        Ok(here || self.store().prompt(id).await?.is_some())
    }
}
