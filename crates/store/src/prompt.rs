//! Prompts: queries and changes.

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{columns, put_row},
    read::{Vars, Walk, one},
    row::{prompt_record, session_record},
    statement,
};
use cerebro_core::domain::{EventKind, HistoryTombstone, Project, Prompt, PromptId, SessionId, Timestamp};

columns! {
    Prompt in "prompt" { id: key(PromptId::parse), session, project, agent, content, created_at, last_seen_at }
}

/// The changes of the table of prompts.
#[derive(Default)]
pub(super) struct PromptChanges {
    /// Whole rows.
    pub put: Vec<Prompt>,
    /// Removed ones.
    pub gone: Vec<PromptId>,
}

impl Part for PromptChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_PROMPTS, "prompts", &self.put, |prompt| {
            put_row(prompt_record(&prompt.id), prompt)
        });
        commit.add(statement::COMMIT_GONE_PROMPTS, "gone_prompts", &self.gone, prompt_record);
    }
}

/// The changes of a prompt.
impl Write<'_> {
    pub fn save_prompt(&mut self, prompt: &Prompt) {
        self.put_prompt(EventKind::PromptSaved, prompt);
    }

    /// The prompt moves to another project, because its own was merged.
    pub fn merge_prompt(&mut self, prompt: &Prompt) {
        self.put_prompt(EventKind::ProjectMerged, prompt);
    }

    /// The prompt came with an export.
    pub fn import_prompt(&mut self, prompt: &Prompt) {
        self.put_prompt(EventKind::PromptImported, prompt);
    }

    /// The prompt is removed for good. A tombstone stays, so that neither an import nor a restore brings it back.
    pub fn forget_prompt(&mut self, prompt: &Prompt) {
        let tables = self.record(NewEvent::about_prompt(EventKind::PromptForgotten, prompt));
        tables.prompts.gone.push(prompt.id);
        tables.history.bury([HistoryTombstone::of_prompt(&prompt.id)]);
    }

    fn put_prompt(&mut self, kind: EventKind, prompt: &Prompt) {
        self.record(NewEvent::about_prompt(kind, prompt)).prompts.put.push(prompt.clone());
    }

    /// Whether the prompt will exist after this commit.
    pub async fn has_prompt(&self, id: &PromptId) -> Result<bool, StoreError> {
        let here = self.tables().prompts.put.iter().any(|prompt| prompt.id == *id);
        Ok(here || self.store().prompts().by_id(id).await?.is_some())
    }
}

noun! {
    /// The prompts.
    prompts: Prompts
}

impl<'a> Prompts<'a> {
    pub async fn by_id(self, id: &PromptId) -> Result<Option<Prompt>, StoreError> {
        let vars = Vars::new().with("ids", vec![prompt_record(id)]);
        Ok(one(self.0.select(statement::PROMPT_GET, vars).await?))
    }

    /// The prompts of a project (of all, when `None`) given last before a moment, newest first.
    pub async fn latest(
        self,
        project: Option<&Project>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Prompt>, StoreError> {
        let vars = Vars::new().at("before", before).limit(limit);
        let (statement, vars) =
            vars.about(project, statement::PROMPT_LATEST, statement::PROMPT_LATEST_EVERYWHERE);
        self.0.select(statement, vars).await
    }

    /// The prompts of a session given after a moment, oldest first.
    pub async fn of_session(
        self,
        session: &SessionId,
        after: Timestamp,
        limit: usize,
    ) -> Result<Vec<Prompt>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).at("at", after).limit(limit);
        self.0.select(statement::PROMPT_SESSION_SINCE, vars).await
    }

    /// The prompts of a project given after a moment, oldest first.
    pub async fn since(
        self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Prompt>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.0.select(statement::PROMPT_SINCE, vars).await
    }

    /// A prompt of a session with this content, given since a moment.
    pub async fn with_content(
        self,
        session: &SessionId,
        content: &str,
        since: Timestamp,
    ) -> Result<Option<Prompt>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).with("content", content);
        Ok(one(self.0.select(statement::PROMPT_SAME, vars.at("since", since)).await?))
    }

    /// The prompts that contain a text, at most `limit`. It walks all prompts.
    pub async fn with_text(self, text: &str, limit: usize) -> Result<Vec<PromptId>, StoreError> {
        let vars = Vars::new().with("text", text).limit(limit);
        let found: Vec<String> = self.0.values("prompt", statement::PROMPT_WITH, vars).await?;
        Ok(found.iter().filter_map(|id| PromptId::parse(id).ok()).collect())
    }

    /// All prompts in order of id.
    pub fn walk(self) -> Walk<'a, Prompt> {
        Walk::over(self.0)
    }
}
