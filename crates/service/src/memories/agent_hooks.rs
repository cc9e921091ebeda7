//! What an agent's hooks store. They only fill gaps: they never replace what the agent wrote itself.

use super::guard;
use crate::{Caller, Door, Memories, ServiceError, fields::Fields, meant};
use cerebro_core::domain::{Memory, Origin, Scope};
use cerebro_core::hygiene::summary_key;
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_store::Write;

/// The tag of a summary that a compaction left. An agent's own summary has none.
const COMPACTION: &str = "compaction";

/// Whether a session's summary is what a compaction left.
pub(super) fn is_of_compaction(summary: &Memory) -> bool {
    summary.tags.iter().any(|tag| tag == COMPACTION)
}

impl Memories {
    /// Keeps the last message of the caller's session as its summary while there is no better one. Returns whether it did.
    ///
    /// It is kept on the session only, since as a memory, the last message of each turn would be noise in searches. So a
    /// better summary is one that a memory holds. A message that holds a text that was forgotten in all sessions is not kept.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an empty message, or a failing store.
    pub async fn note_last_message(&self, caller: &Caller, message: &str) -> Result<bool, ServiceError> {
        let (said, message) = (message, Fields::default().message(message)?);
        let store = &self.base.store;
        store.transact(|write| Box::pin(self.put_last_message(write, caller, said, &message))).await
    }

    /// Keeps the summary that the agent's program made when it compacted a conversation, unless the agent has written one
    /// itself. Returns whether it did. The summary of a later compaction revises the earlier one. One that holds a text that
    /// was forgotten in all sessions is not kept.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an empty summary, or a failing store.
    pub async fn note_compaction(&self, caller: &Caller, summary: &str) -> Result<bool, ServiceError> {
        let (said, summary) = (summary, Fields::default().content(summary)?);
        let store = &self.base.store;
        store.transact(|write| Box::pin(self.put_compaction(write, caller, said, &summary))).await
    }

    /// Writes a last message, unless there is a better summary. `said` is the message as it was reported.
    async fn put_last_message(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        said: &str,
        message: &RedactedText,
    ) -> Result<bool, ServiceError> {
        if is_forgotten(write, said, message).await? {
            return Ok(false);
        }
        let id = &caller.session;
        self.sessions.ensure_session(write, caller).await?;
        let Some(mut session) = write.session(id).await? else { return Ok(false) };
        let scope = Scope::Project(session.project.clone());
        let Some(message) = guard::still_held(write, &scope, message, Origin::Hook).await? else {
            return Ok(false);
        };
        let better = write.store().topics().holder(&scope, &summary_key(id)).await?;
        if better.is_some() || session.summary.as_ref() == Some(&message) {
            return Ok(false);
        }
        session.summary = Some(message);
        session.seen_at = write.at();
        write.summarise_session(&session);
        Ok(true)
    }

    /// Writes the summary of a compaction, unless the agent has written one. `said` is the summary as it was reported.
    async fn put_compaction(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        said: &str,
        summary: &RedactedText,
    ) -> Result<bool, ServiceError> {
        if is_forgotten(write, said, summary).await? {
            return Ok(false);
        }
        let id = &caller.session;
        let project = match write.store().sessions().by_id(id).await? {
            Some(session) => session.project,
            None => caller.project.clone(),
        };
        let scope = Scope::Project(project);
        let standing = write.store().topics().holder(&scope, &summary_key(id)).await?;
        if standing.is_some_and(|memory| !is_of_compaction(&memory)) {
            return Ok(false);
        }
        let Some(summary) = guard::still_held(write, &scope, summary, Origin::Hook).await? else {
            return Ok(false);
        };
        let tags = vec![redact_text(COMPACTION).value];
        match self.put_summary(write, caller, &summary, tags, Door::Brought(Origin::Hook)).await {
            Ok(_) => Ok(true),
            Err(ServiceError::Corrected(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether what a hook reports holds a text that was forgotten in all sessions, as it was said or as it would be kept. It
/// is asked within the transaction that would keep it, so that nothing is forgotten between the two.
pub(super) async fn is_forgotten(
    write: &Write<'_>,
    said: &str,
    kept: &RedactedText,
) -> Result<bool, ServiceError> {
    meant::is_forgotten(write, None, |forgotten| forgotten.are_in(said) || forgotten.are_in(kept)).await
}
