//! Saving what the user asked for.

use super::agent_hooks;
use crate::{Caller, Memories, ServiceError, fields::Fields};
use cerebro_core::domain::{Project, Prompt, PromptId, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_store::{Decision, Write};

/// The answer to saving a prompt.
#[derive(Debug, Clone)]
pub struct PromptSaved {
    pub prompt: Prompt,
    /// Whether it is new; the same prompt of the same session within the window is not.
    pub created: bool,
    /// The project was never seen before; which known ones have a similar name.
    pub new_project: Option<Vec<Project>>,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl Memories {
    /// Saves a prompt of the caller's session.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for the content, or a failing store.
    pub async fn save_prompt(
        &self,
        caller: &Caller,
        project: Option<Project>,
        content: &str,
    ) -> Result<PromptSaved, ServiceError> {
        let mut fields = Fields::default();
        let content = fields.content(content)?;
        let project = project.unwrap_or_else(|| caller.project.clone());
        let known = self.projects.before_write(Some(&project), caller).await?;
        let decision = SavePrompt { memories: self, caller, project: &project, content: &content };
        let (prompt, created) = self.base.store.transact(&decision).await?;
        let new_project = known.filter(|_| created).and_then(|known| known.meet(Some(&prompt.project)));
        Ok(PromptSaved { prompt, created, new_project, redacted: fields.redacted() })
    }

    /// Saves a prompt that a hook reports. `None` if it holds a text that was forgotten in all sessions; then nothing is
    /// saved.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for the content, or a failing store.
    pub async fn note_prompt(
        &self,
        caller: &Caller,
        said: &str,
    ) -> Result<Option<PromptSaved>, ServiceError> {
        let mut fields = Fields::default();
        let content = fields.content(said)?;
        let prompt = SavePrompt { memories: self, caller, project: &caller.project, content: &content };
        let noted = self.base.store.transact(&NotePrompt { prompt, said }).await?;
        let saved = |(prompt, created)| PromptSaved {
            prompt,
            created,
            // The hook's folder names it.
            new_project: None,
            redacted: fields.redacted(),
        };
        Ok(noted.map(saved))
    }

    /// The prompts of a project, newest first.
    pub async fn prompts(
        &self,
        project: Option<&Project>,
        limit: usize,
    ) -> Result<Vec<Prompt>, ServiceError> {
        Ok(self.base.store.prompts().latest(project, Timestamp::MAX, limit).await?)
    }
}

struct SavePrompt<'a> {
    memories: &'a Memories,
    caller: &'a Caller,
    project: &'a Project,
    content: &'a RedactedText,
}

impl Decision for SavePrompt<'_> {
    /// The prompt, and whether it is new.
    type Output = (Prompt, bool);
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(Prompt, bool), ServiceError> {
        let Self { memories, caller, project, content } = *self;
        let since = write.at().checked_sub(memories.base.settings.dedup_window).unwrap_or(Timestamp::MIN);
        if let Some(prompt) = write.store().prompts().with_content(&caller.session, content, since).await? {
            return Ok((prompt, false));
        }
        memories.sessions.ensure_session(write, caller, &caller.project).await?;
        let prompt = Prompt {
            id: PromptId::random(),
            session: caller.session.clone(),
            project: project.clone(),
            agent: caller.agent.clone(),
            content: content.clone(),
            created_at: write.at(),
            last_seen_at: write.at(),
        };
        write.save_prompt(&prompt);
        Ok((prompt, true))
    }
}

/// A prompt that a hook reports.
struct NotePrompt<'a> {
    prompt: SavePrompt<'a>,
    /// As it was reported.
    said: &'a str,
}

impl Decision for NotePrompt<'_> {
    /// As that of [`SavePrompt`]; `None` for one that is not kept.
    type Output = Option<(Prompt, bool)>;
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Self::Output, ServiceError> {
        if agent_hooks::is_forgotten(write, self.said, self.prompt.content).await? {
            return Ok(None);
        }
        self.prompt.decide(write).await.map(Some)
    }
}
