//! One call under way: what a handler is given, and what it gives back.

use super::{arguments::Arguments, connection::Connection, context::Context, fault::Fault, reply::Reply};
use cerebro_core::domain::SessionId;
use cerebro_service::{Caller, Service};

/// One call under way.
pub(super) struct Call {
    pub service: Service,
    pub caller: Caller,
    /// The session the call belongs to unless it names another.
    pub session: SessionId,
    pub arguments: Arguments,
    pub connection: Connection,
    pub context: Context,
    /// How many secrets the use case took out of the call's texts.
    pub redacted: usize,
}

/// What a handler gives back.
pub(super) type Answer = Result<Reply, Fault>;

impl Call {
    /// The session that the call names, or else belongs to.
    pub(super) fn session_argument(&mut self) -> Result<SessionId, Fault> {
        let session = self.arguments.session_id("session_id")?.unwrap_or_else(|| self.session.clone());
        self.connection.uses(&self.service, &session);
        Ok(session)
    }
}
