//! An endpoint of the daemon that is open while a command runs, held by the command's connection.

use std::time::Duration;

use super::prelude::*;
use crate::answer::listeners::{Closed, Status};
use crate::platform;

/// How often the command checks whether the endpoint is still open.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The operations of an endpoint, and the messages about it.
pub struct Endpoint<S, C> {
    /// Asks whether it is open.
    pub status: S,
    /// Closes it.
    pub close: C,
    /// Said while it is open.
    pub open: &'static str,
    /// Said when another command closed it.
    pub ended: &'static str,
    /// Said when it was closed on demand.
    pub closed: &'static str,
    /// Said when there was nothing to close.
    pub none: &'static str,
}

impl<S, C> Endpoint<S, C>
where
    S: Ask<Answer = Status> + Copy,
    C: Ask<Answer = Closed> + Copy,
{
    /// Opens it, shows what the daemon says of it, and holds it until the command is interrupted.
    pub async fn hold<O: Ask>(
        &self,
        context: &CommandContext,
        open: Request<O>,
        facts: impl Fn(&O::Answer) -> Vec<(&'static str, String)>,
    ) -> Result<()> {
        self.hold_and(context, open, facts, |_| None, |_| {}).await
    }

    /// The same, and does something once it is open and shown. `shared` is what is said if another command holds it, and
    /// this one was let in too.
    pub async fn hold_and<O: Ask>(
        &self,
        context: &CommandContext,
        open: Request<O>,
        facts: impl Fn(&O::Answer) -> Vec<(&'static str, String)>,
        shared: impl FnOnce(&O::Answer) -> Option<&'static str>,
        then: impl FnOnce(&O::Answer),
    ) -> Result<()> {
        // Before it opens, so that no signal falls between.
        let end = platform::termination().map_err(Error::internal)?;
        let daemon = Daemon::reach(&context.home()?).await?;
        let access = daemon.read(open).await?;
        let shared = shared(&access);
        context.output.json(access.raw())?;
        context.output.facts(&facts(&access))?;
        context.output.note(shared.unwrap_or(self.open));
        then(&access);
        if shared.is_some() {
            return Ok(());
        }
        tokio::select! {
            () = end => {
                // It ends with the connection anyway; so it is gone when the command is.
                daemon.read(Request::new(self.close)).await?;
                Ok(())
            }
            is_meant = self.gone(&daemon) => {
                context.output.note(if is_meant { self.ended } else { "it is closed: the daemon has stopped" });
                done_if(is_meant)
            }
        }
    }

    /// Waits until the endpoint is closed. Returns whether it was closed by request; otherwise the daemon is gone.
    /// The polling also keeps the daemon from ending as idle.
    async fn gone(&self, daemon: &Daemon) -> bool {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            match daemon.read(Request::new(self.status)).await {
                Ok(status) if status.open => {}
                answer => return answer.is_ok(),
            }
        }
    }

    /// Closes the one that another command opened.
    pub async fn stop(&self, context: &CommandContext) -> Result<()> {
        let closed = match Daemon::running(&context.home()?).await? {
            None => false,
            Some(daemon) => daemon.read(Request::new(self.close)).await?.closed,
        };
        context.output.json(&json!({ "closed": closed }))?;
        context.output.note(if closed { self.closed } else { self.none });
        Ok(())
    }
}
