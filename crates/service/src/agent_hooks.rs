//! What an agent's hooks store. They fill gaps and never replace what the agent wrote itself.

use std::sync::Arc;

use super::{Caller, Service, ServiceError, fields::Fields};
use cerebro_core::domain::{EventKind, Scope, SessionId};
use cerebro_core::hygiene::summary_key;
use cerebro_core::redact::redact_text;

/// The tag of a summary that a compaction left. An agent's own summary has none.
const COMPACTION: &str = "compaction";

impl Service {
    /// Keeps the last message of a session as its summary while there is no better one; says whether it did.
    ///
    /// It is kept on the session only: as a memory, the last message of each turn would be noise in searches.
    /// So a better summary is one that a memory holds.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an empty message, or a failing store.
    pub async fn note_last_message(
        &self,
        caller: &Caller,
        id: &SessionId,
        message: &str,
    ) -> Result<bool, ServiceError> {
        let message = Fields::default().message(message)?;
        let job = Arc::new((self.clone(), caller.clone(), id.clone(), message));
        self.store()
            .transact(move |write| {
                let job = Arc::clone(&job);
                Box::pin(async move {
                    let (service, caller, id, message) = &*job;
                    service.ensure_session(write, id, &caller.project, caller).await?;
                    let known = write.changes.sessions.iter().find(|session| session.id == *id).cloned();
                    let session = match known {
                        Some(session) => Some(session),
                        None => write.store().session(id).await?,
                    };
                    let Some(mut session) = session else { return Ok::<_, ServiceError>(false) };
                    let better = write
                        .store()
                        .topic_holder(&session.project, Scope::Project, &summary_key(id))
                        .await?;
                    if better.is_some() || session.summary.as_ref() == Some(message) {
                        return Ok(false);
                    }
                    session.summary = Some(message.clone());
                    session.seen_at = write.at();
                    write.tell_session(EventKind::SessionSummarised, &session);
                    write.changes.sessions.push(session);
                    Ok(true)
                })
            })
            .await
    }

    /// Keeps the summary that the agent's program made when it compacted a conversation, unless the agent
    /// has written one itself; says whether it did. The summary of a later compaction revises the earlier one.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an empty summary, or a failing store.
    pub async fn note_compaction(
        &self,
        caller: &Caller,
        id: &SessionId,
        summary: &str,
    ) -> Result<bool, ServiceError> {
        let summary = Fields::default().content(summary)?;
        let job = Arc::new((self.clone(), caller.clone(), id.clone(), summary));
        self.store()
            .transact(move |write| {
                let job = Arc::clone(&job);
                Box::pin(async move {
                    let (service, caller, id, summary) = &*job;
                    let project = match write.store().session(id).await? {
                        Some(session) => session.project,
                        None => caller.project.clone(),
                    };
                    let standing =
                        write.store().topic_holder(&project, Scope::Project, &summary_key(id)).await?;
                    if standing.is_some_and(|memory| !memory.tags.iter().any(|tag| tag == COMPACTION)) {
                        return Ok::<_, ServiceError>(false);
                    }
                    let tags = vec![redact_text(COMPACTION).kept];
                    service.put_summary(write, caller, id, summary, tags).await?;
                    Ok(true)
                })
            })
            .await
    }
}
