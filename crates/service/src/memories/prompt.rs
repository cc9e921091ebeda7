//! Saving what the user asked for.

use super::agent_hooks;
use crate::{Caller, Memories, ServiceError, fields::Fields};
use cerebro_core::domain::{Project, Prompt, PromptId, Timestamp};
use cerebro_core::redact::RedactedText;
use cerebro_store::Write;

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
        let store = &self.base.store;
        let (prompt, created) =
            store.transact(|write| Box::pin(self.put_prompt(write, caller, &project, &content))).await?;
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
        let content = &content;
        let noting = self.base.store.transact(|write| {
            Box::pin(async move {
                if agent_hooks::is_forgotten(write, said, content).await? {
                    return Ok(None);
                }
                self.put_prompt(write, caller, &caller.project, content).await.map(Some)
            })
        });
        let noted = noting.await?;
        let saved = |(prompt, created)| PromptSaved {
            prompt,
            created,
            // The hook's folder names it.
            new_project: None,
            redacted: fields.redacted(),
        };
        Ok(noted.map(saved))
    }

    /// Writes a prompt, unless the session has had it within the window. Returns it, and whether it is new.
    async fn put_prompt(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        project: &Project,
        content: &RedactedText,
    ) -> Result<(Prompt, bool), ServiceError> {
        let since = write.at().checked_sub(self.base.settings.dedup_window).unwrap_or(Timestamp::MIN);
        if let Some(prompt) = write.store().prompts().with_content(&caller.session, content, since).await? {
            return Ok((prompt, false));
        }
        self.sessions.ensure_session(write, caller).await?;
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

    /// The prompts of a project, newest first.
    pub async fn prompts(
        &self,
        project: Option<&Project>,
        limit: usize,
    ) -> Result<Vec<Prompt>, ServiceError> {
        Ok(self.base.store.prompts().latest(project, Timestamp::MAX, limit).await?)
    }
}
