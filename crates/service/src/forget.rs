//! Forgetting past sessions: what transcripts and hooks recorded of them. Memories that an agent or a person saved stay.

use cerebro_core::domain::SessionId;

use crate::{Caller, Forget, Forgotten, Service, ServiceError};

impl Service {
    /// Destroys the exchanges that meet all conditions, and with them what hooks reported of these sessions: prompts,
    /// summaries, and the texts of events in the journal. It works page by page: if it is stopped half-way, it can be
    /// repeated. With `dry_run` it only counts.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] without a condition; [`ServiceError::PurgeForbidden`] for an agent; a failing store.
    pub async fn forget(
        &self,
        caller: &Caller,
        session: &SessionId,
        what: &Forget,
        dry_run: bool,
    ) -> Result<Forgotten, ServiceError> {
        let forgotten = self.history.forget(what, dry_run).await?;
        let reported = self.memories.forget_reported(caller, session, what, dry_run).await?;
        let events = self.journal.forget(what, dry_run).await?;
        Ok(Forgotten { prompts: reported.prompts, summaries: reported.summaries, events, ..forgotten })
    }
}
