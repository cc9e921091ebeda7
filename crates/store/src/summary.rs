//! The summary of a session, which is stored both on the session and as a memory.

use super::{
    Store, StoreError,
    read::{Vars, one},
    row::{memory_record, session_record},
    statement,
};
use cerebro_core::domain::{Memory, MemoryId, Session, SessionId};

impl Sessions<'_> {
    /// The sessions that wrote a memory and have this summary, or none.
    pub async fn with_summary(
        self,
        memory: &MemoryId,
        summary: Option<&str>,
    ) -> Result<Vec<Session>, StoreError> {
        let vars =
            Vars::new().with("memory", memory_record(memory)).with("summary", summary.map(str::to_owned));
        self.select(statement::SESSION_WITH_SUMMARY, vars).await
    }
}

impl Memories<'_> {
    /// A live memory that a session wrote and that has this content.
    pub async fn with_content(
        self,
        session: &SessionId,
        content: &str,
    ) -> Result<Option<Memory>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).with("content", content);
        Ok(one(self.select(statement::MEMORY_WITH_CONTENT, vars).await?))
    }
}
