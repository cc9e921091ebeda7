//! Summaries of sessions: kept on the session, and as its one memory of type `session_summary`.

use cerebro_core::domain::{Body, Kind, Memory, MemoryId, Project, Scope, Validity};
use cerebro_core::hygiene::{Draft, summary_key, summary_title};
use cerebro_core::redact::RedactedText;
use cerebro_core::taint;
use cerebro_store::{SaidText, Write};

use super::{Door, Memories, SaveOutcome, guard};
use crate::{Caller, ServiceError, fields::Fields, sessions::fresh};

/// The answer to a summary.
#[derive(Debug, Clone)]
pub struct Summarised {
    /// The one memory that holds the session's summary.
    pub memory: MemoryId,
    /// What became of it.
    pub outcome: SaveOutcome,
    /// The project of the session.
    pub project: Project,
    /// How many secrets were taken out.
    pub redacted: usize,
}

impl Memories {
    /// Stores a summary on the caller's session and as its one memory of type `session_summary`.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for the content, or a failing store.
    pub async fn summarise(&self, caller: &Caller, summary: &str) -> Result<Summarised, ServiceError> {
        let mut fields = Fields::default();
        let summary = fields.content(summary)?;
        let store = &self.base.store;
        let done = store
            .transact(|write| Box::pin(self.put_summary(write, caller, &summary, Vec::new(), Door::EXPLICIT)))
            .await?;
        if !caller.person {
            self.feedback.note_answer(&caller.session, &summary);
        }
        Ok(Summarised { redacted: fields.redacted(), ..done })
    }

    /// Puts a summary on the caller's session and into its one memory, within a write's transaction.
    pub(super) async fn put_summary(
        &self,
        write: &mut Write<'_>,
        caller: &Caller,
        summary: &RedactedText,
        tags: Vec<RedactedText>,
        door: Door,
    ) -> Result<Summarised, ServiceError> {
        let id = &caller.session;
        let title = summary_title(summary);
        let stored = write.store().sessions().by_id(id).await?;
        // The session also keeps the summary, so a text that does not hold must be refused before either is written.
        if door.is_automatic() {
            let project = stored.as_ref().map_or(&caller.project, |session| &session.project);
            let scope = Scope::Project(project.clone());
            let saying = SaidText { scope: &scope, title: &title, content: summary };
            guard::admit(write, saying, None, door).await?;
        }
        let mut session = match stored {
            Some(session) => session,
            None => fresh(write, id, &caller.project, &caller.agent).await?,
        };
        let draft = Draft {
            taint: taint::of(&title, summary, door.origin(caller)),
            body: Body {
                scope: Scope::Project(session.project.clone()),
                kind: Kind::session_summary(),
                title,
                content: summary.clone(),
                topic_key: Some(summary_key(id)),
                tags,
            },
            agent: caller.agent.clone(),
            session: id.clone(),
            valid: Validity::default(),
            nature: None,
            trigger: None,
        };
        let before = session.summary.clone();
        if before.as_ref() != Some(summary) {
            session.summary = Some(summary.clone());
            session.seen_at = write.at();
            write.summarise_session(&session);
        }
        let project = session.project;
        let done =
            |memory, outcome| Ok(Summarised { memory, outcome, project: project.clone(), redacted: 0 });
        if let Some(moved) = moved_summary(write, &draft, before.as_deref()).await? {
            if moved.content == draft.content {
                return done(moved.id, SaveOutcome::Unchanged);
            }
            self.sessions.ensure_session(write, caller).await?;
            let memory = self.revise(write, moved, |memory| {
                memory.title.clone_from(&draft.title);
                memory.content.clone_from(&draft.content);
                memory.taint.clone_from(&draft.taint);
                memory.agent.clone_from(&draft.agent);
                memory.session = Some(id.clone());
            });
            return done(memory.id, SaveOutcome::Updated);
        }
        // A draft with a topic key can only repeat the holder of the key, so it has no other twins.
        let written = self.put_draft(write, caller, &draft, Vec::new(), door).await?;
        done(written.memory.id, written.outcome)
    }
}

/// The memory of a session's summary, if somebody gave it another topic key or scope.
async fn moved_summary(
    write: &Write<'_>,
    draft: &Draft,
    summary: Option<&str>,
) -> Result<Option<Memory>, ServiceError> {
    let (Some(summary), Some(key)) = (summary, &draft.topic_key) else { return Ok(None) };
    if write.store().topics().holder(&draft.scope, key).await?.is_some() {
        return Ok(None);
    }
    Ok(write.store().memories().with_content(&draft.session, summary).await?)
}

/// The summary on a session follows the memory that holds it: it is changed, deleted, restored or purged with it.
pub(super) async fn carry_summary(
    write: &mut Write<'_>,
    before: &Memory,
    now: &Memory,
) -> Result<(), ServiceError> {
    let comes_back = now.is_live() && !before.is_live();
    let summary = now.is_live().then(|| now.content.clone());
    if !comes_back && summary.as_ref() == Some(&before.content) {
        return Ok(());
    }
    let had = (!comes_back).then_some(before.content.as_str());
    for session in write.store().sessions().with_summary(&now.id, had).await? {
        let key = summary_key(&session.id);
        if comes_back && now.topic_key.as_ref() != Some(&key) {
            continue;
        }
        // Another session may have the same summary in a memory of its own.
        let holder = write.store().topics().holder(&Scope::Project(session.project.clone()), &key).await?;
        if holder.is_some_and(|holder| holder.id != now.id) {
            continue;
        }
        // This transaction may have changed the session already.
        let mut session = write.changed_session(&session.id).cloned().unwrap_or(session);
        session.summary.clone_from(&summary);
        write.summarise_session(&session);
    }
    Ok(())
}
