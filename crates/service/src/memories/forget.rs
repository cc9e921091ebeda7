//! Forgetting: what hooks reported of past sessions that a person forgets. Memories that somebody saved stay.

use std::collections::BTreeSet;

use cerebro_core::domain::{Memory, MemoryId, Prompt, PromptId, Scope, Session, SessionId};
use cerebro_core::hygiene::summary_key;
use cerebro_store::{Decision, Write};

use super::agent_hooks;
use crate::{Caller, Forget, Memories, ServiceError};

/// Most rows that are read, and prompts that are removed, at once.
const PAGE: usize = 200;

/// What hooks had reported of the sessions that were forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// Prompts that were removed.
    pub prompts: usize,
    /// Summaries that were removed: last messages, and what compactions left.
    pub summaries: usize,
}

impl Memories {
    /// Destroys the prompts and summaries that hooks reported and that meet all conditions. With `dry_run` it only counts.
    ///
    /// # Errors
    /// A failing store.
    pub(crate) async fn forget_reported(
        &self,
        caller: &Caller,
        session: &SessionId,
        what: &Forget,
        dry_run: bool,
    ) -> Result<Reported, ServiceError> {
        let prompts = self.forget_prompts(what, dry_run).await?;
        let mut summaries = 0;
        let mut pages = self.base.store.sessions().walk(PAGE);
        while let Some(page) = pages.next().await? {
            for past in page {
                if !what.is_of(Some(&past.id), &past.project) || !what.is_at(past.started_at) {
                    continue;
                }
                let Some(summary) = self.summary_to_forget(&past, what).await? else { continue };
                summaries += 1;
                match summary {
                    _ if dry_run => {}
                    // This takes it from the session, too.
                    Summary::OfCompaction(memory) => {
                        self.delete(caller, session, &memory, true).await?;
                    }
                    Summary::LastMessage => {
                        self.base.store.transact(&ForgetLastMessage { session: &past.id }).await?;
                    }
                }
            }
        }
        Ok(Reported { prompts, summaries })
    }

    async fn forget_prompts(&self, what: &Forget, dry_run: bool) -> Result<usize, ServiceError> {
        let mut forgotten = 0;
        let mut pages = self.base.store.prompts().walk(PAGE);
        while let Some(page) = pages.next().await? {
            let is_met = |prompt: &Prompt| {
                what.is_of(Some(&prompt.session), &prompt.project)
                    && what.is_at(prompt.created_at)
                    && what.holds(&prompt.content)
            };
            let met: Vec<PromptId> =
                page.iter().filter(|prompt| is_met(prompt)).map(|prompt| prompt.id).collect();
            forgotten += met.len();
            if !met.is_empty() && !dry_run {
                self.base.store.transact(&ForgetPrompts { prompts: &met }).await?;
            }
        }
        Ok(forgotten)
    }

    /// The summary that hooks left of a session, if it has the text to forget.
    async fn summary_to_forget(
        &self,
        past: &Session,
        what: &Forget,
    ) -> Result<Option<Summary>, ServiceError> {
        let scope = Scope::Project(past.project.clone());
        let Some(memory) = self.base.store.topics().holder(&scope, &summary_key(&past.id)).await? else {
            let is_met = past.summary.as_ref().is_some_and(|message| what.holds(message));
            return Ok(is_met.then_some(Summary::LastMessage));
        };
        if !agent_hooks::is_of_compaction(&memory) {
            return Ok(None);
        }
        let is_met = self.texts_of(&memory).await?.iter().any(|text| what.holds(text));
        Ok(is_met.then_some(Summary::OfCompaction(memory.id)))
    }

    /// The contents of a memory and of its revisions.
    pub(crate) async fn texts_of(&self, memory: &Memory) -> Result<BTreeSet<String>, ServiceError> {
        let mut texts = BTreeSet::from([memory.content.trim().to_owned()]);
        let mut before = memory.revision;
        loop {
            let page = self.base.store.revisions().before(&memory.id, before, PAGE).await?;
            texts.extend(page.iter().map(|revision| revision.content.trim().to_owned()));
            match page.last() {
                Some(last) if page.len() == PAGE => before = last.revision,
                _ => return Ok(texts),
            }
        }
    }
}

/// What hooks leave as the summary of a session whose agent wrote none.
enum Summary {
    /// On the session alone.
    LastMessage,
    /// In a memory.
    OfCompaction(MemoryId),
}

struct ForgetPrompts<'a> {
    prompts: &'a [PromptId],
}

impl Decision for ForgetPrompts<'_> {
    type Output = ();
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(), ServiceError> {
        for id in self.prompts {
            if let Some(prompt) = write.store().prompts().by_id(id).await? {
                write.forget_prompt(&prompt);
            }
        }
        Ok(())
    }
}

struct ForgetLastMessage<'a> {
    session: &'a SessionId,
}

impl Decision for ForgetLastMessage<'_> {
    type Output = ();
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(), ServiceError> {
        if let Some(mut session) = write.session(self.session).await? {
            session.summary = None;
            write.summarise_session(&session);
        }
        Ok(())
    }
}
