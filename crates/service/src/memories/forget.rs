//! Forgetting what hooks reported of past sessions. Memories that somebody saved stay.

use std::collections::BTreeSet;

use cerebro_core::domain::{HistoryTombstone, Memory, MemoryId, Prompt, PromptId, Run, Scope, Session};
use cerebro_core::hygiene::summary_key;
use cerebro_store::{PAGE, Write};

use super::{agent_hooks::is_of_compaction, summary::carry_summary, update};
use crate::{
    Caller, Memories, ServiceError,
    meant::{IsMeant, Meant, Thing},
};

/// What hooks had reported of the sessions that were forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// Prompts that were removed.
    pub prompts: usize,
    /// Summaries that were removed: last messages, and what compactions left.
    pub summaries: usize,
}

impl Memories {
    /// Destroys the prompts and summaries that hooks reported and that are meant, and keeps a tombstone of each. A
    /// dry run only counts.
    pub(crate) async fn forget_reported(
        &self,
        caller: &Caller,
        what: Meant<'_>,
        run: Run,
    ) -> Result<Reported, ServiceError> {
        let prompts = self.forget_prompts(what, run).await?;
        let mut summaries = 0;
        let mut pages = self.base.store.sessions().walk();
        while let Some(page) = pages.next().await? {
            let mut buried = Vec::new();
            for past in page {
                let meant = what.of(&thing(&past));
                if meant == IsMeant::No {
                    continue;
                }
                if what.is_whole() {
                    // Its transcript may be read only later.
                    buried.push(HistoryTombstone::of_session(&past.id));
                }
                let Some(summary) = self.summary_to_forget(&past, what, meant).await? else { continue };
                summaries += 1;
                if run == Run::Real {
                    self.forget_summary(caller, &past, summary).await?;
                }
            }
            if run == Run::Real && !buried.is_empty() {
                self.base.store.change(|write| write.put_history_tombstones(buried.clone())).await?;
            }
        }
        Ok(Reported { prompts, summaries })
    }

    async fn forget_prompts(&self, what: Meant<'_>, run: Run) -> Result<usize, ServiceError> {
        let mut forgotten = 0;
        let mut pages = self.base.store.prompts().walk();
        while let Some(page) = pages.next().await? {
            let is_met = |prompt: &Prompt| {
                let thing = Thing {
                    session: Some(&prompt.session),
                    project: &prompt.project,
                    at: prompt.created_at,
                    reported: true,
                    tombstone: HistoryTombstone::of_prompt(&prompt.id),
                };
                what.is(&thing, [prompt.content.as_str()])
            };
            let met: Vec<PromptId> =
                page.iter().filter(|prompt| is_met(prompt)).map(|prompt| prompt.id).collect();
            forgotten += met.len();
            if !met.is_empty() && run == Run::Real {
                self.base.store.transact(|write| Box::pin(forget_prompts(write, &met))).await?;
            }
        }
        Ok(forgotten)
    }

    /// Destroys the summary that hooks left of a session, unless another one was written since `past` was read, and keeps a
    /// tombstone of it.
    async fn forget_summary(
        &self,
        caller: &Caller,
        past: &Session,
        summary: Summary,
    ) -> Result<(), ServiceError> {
        if let Summary::OfCompaction(memory) = summary {
            self.may_purge(caller, &memory)?;
        }
        let forgetting = self.base.store.transact(|write| {
            Box::pin(async move {
                write.put_history_tombstones(vec![HistoryTombstone::of_summary(&past.id)]);
                match summary {
                    Summary::LastMessage => {
                        let session = write.session(&past.id).await?;
                        if let Some(mut session) = session.filter(|now| now.summary == past.summary) {
                            session.summary = None;
                            write.summarise_session(&session);
                        }
                    }
                    Summary::OfCompaction(id) => {
                        if let Some(memory) = write.memory(&id).await?.filter(is_of_compaction) {
                            let (purged, _) =
                                update::purge(write, &caller.session, memory.clone(), &[]).await?;
                            carry_summary(write, &memory, &purged).await?;
                        }
                    }
                }
                Ok::<_, ServiceError>(())
            })
        });
        forgetting.await?;
        if let Summary::OfCompaction(_) = summary {
            self.flush_purged().await?;
        }
        Ok(())
    }

    /// The summary that hooks left of a session, if it is to be forgotten. `meant` is the decision on the session.
    async fn summary_to_forget(
        &self,
        past: &Session,
        what: Meant<'_>,
        meant: IsMeant,
    ) -> Result<Option<Summary>, ServiceError> {
        let is_met = |text: &str| meant == IsMeant::Yes || what.holds(text);
        let scope = Scope::Project(past.project.clone());
        let Some(memory) = self.base.store.topics().holder(&scope, &summary_key(&past.id)).await? else {
            let is_met = past.summary.as_ref().is_some_and(|message| is_met(message));
            return Ok(is_met.then_some(Summary::LastMessage));
        };
        if !is_of_compaction(&memory) {
            return Ok(None);
        }
        let is_met = self.texts_of(&memory).await?.iter().any(|text| is_met(text));
        Ok(is_met.then_some(Summary::OfCompaction(memory.id)))
    }

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

/// The summary of a session, as something that may have to be forgotten.
fn thing(past: &Session) -> Thing<'_> {
    Thing {
        session: Some(&past.id),
        project: &past.project,
        at: past.started_at,
        reported: true,
        tombstone: HistoryTombstone::of_summary(&past.id),
    }
}

/// What hooks leave as the summary of a session whose agent wrote none.
#[derive(Clone, Copy)]
enum Summary {
    /// On the session alone.
    LastMessage,
    OfCompaction(MemoryId),
}

async fn forget_prompts(write: &mut Write<'_>, prompts: &[PromptId]) -> Result<(), ServiceError> {
    for id in prompts {
        if let Some(prompt) = write.store().prompts().by_id(id).await? {
            write.forget_prompt(&prompt);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Settings,
        use_cases::{caller, with_service},
    };
    use cerebro_core::domain::Timestamp;

    #[test]
    fn a_summary_that_the_agent_writes_meanwhile_stays() {
        with_service(Settings::default(), Timestamp::now, async |service| {
            let me = Caller { person: true, ..caller() };
            let session = async || service.base.store.sessions().by_id(&me.session).await.unwrap().unwrap();
            let forget = async |past: &Session, summary| {
                service.memories.forget_summary(&me, past, summary).await.unwrap();
                session().await.summary.map(String::from)
            };
            service.memories.note_last_message(&me, "The last words.").await.unwrap();
            let past = session().await;
            service.memories.note_compaction(&me, "What the program made of it.").await.unwrap();
            let kept = forget(&past, Summary::LastMessage).await;
            assert_eq!(kept.as_deref(), Some("What the program made of it."));
            let scope = Scope::Project(me.project.clone());
            let holder = service.base.store.topics().holder(&scope, &summary_key(&me.session)).await.unwrap();
            let of_compaction = Summary::OfCompaction(holder.unwrap().id);
            service.memories.summarise(&me, "What was done.").await.unwrap();
            assert_eq!(forget(&past, of_compaction).await.as_deref(), Some("What was done."));
            let past = session().await;
            assert_eq!(forget(&past, Summary::LastMessage).await, None);
        });
    }
}
