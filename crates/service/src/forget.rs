//! Forgetting past sessions: what transcripts and hooks recorded of them. Memories that an agent or a person saved stay.

use cerebro_core::domain::{Document, DocumentId, HistoryTombstone, Project, Run, SessionId};

use crate::{
    Caller, Forget, Forgotten, Service, ServiceError, agent_name,
    meant::{Carried, Meant},
};

impl Service {
    /// Destroys the exchanges that meet all conditions, and with them what hooks reported of these sessions: prompts,
    /// summaries, and the texts of events in the journal. It works page by page: if it is stopped half-way, it can be
    /// repeated. A dry run only counts.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] without a condition; [`ServiceError::PurgeForbidden`] for an agent; a failing store.
    pub async fn forget(&self, caller: &Caller, what: &Forget, run: Run) -> Result<Forgotten, ServiceError> {
        let mut what = what.clone();
        if let Some(meant) = &what.session {
            what.sub_agents.extend(self.history.sub_agents(meant).await?);
        }
        self.forget_meant(caller, (&what).into(), run).await
    }

    /// Destroys once more what was forgotten before, and came back with an older database: all of the above, and memory
    /// files of agents.
    pub(crate) async fn forget_again(&self, carried: &Carried) -> Result<Forgotten, ServiceError> {
        let caller = Caller {
            project: Project::general(),
            agent: agent_name("cerebro"),
            person: true,
            session: SessionId::random(),
        };
        let forgotten = self.forget_meant(&caller, Meant::Carried(carried), Run::Real).await?;
        Ok(Forgotten { documents: self.forget_documents(carried).await?, ..forgotten })
    }

    async fn forget_meant(
        &self,
        caller: &Caller,
        what: Meant<'_>,
        run: Run,
    ) -> Result<Forgotten, ServiceError> {
        let forgotten = self.history.forget(what, run).await?;
        let reported = self.memories.forget_reported(caller, what, run).await?;
        let events = self.journal.forget(what, run).await?;
        Ok(Forgotten { prompts: reported.prompts, summaries: reported.summaries, events, ..forgotten })
    }

    /// Destroys memory files of agents that were forgotten before, and returns their number.
    async fn forget_documents(&self, carried: &Carried) -> Result<usize, ServiceError> {
        let is_meant = |document: &Document| {
            let tombstone = HistoryTombstone::of_memory_file(&document.path);
            !document.loaded_by.is_empty() && carried.tombstones.contains(&tombstone)
        };
        let mut forgotten = 0;
        let mut pages = self.base.store.documents().walk();
        while let Some(page) = pages.next().await? {
            let meant: Vec<DocumentId> =
                page.iter().filter(|document| is_meant(document)).map(|document| document.id).collect();
            forgotten += meant.len();
            for id in meant {
                self.documents.forget(id).await?;
            }
        }
        Ok(forgotten)
    }
}
