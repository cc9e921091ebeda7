//! One call under way: the input and output of a handler.

use super::{
    arguments::{ArgumentError, Arguments},
    connection::Connection,
    context::Context,
    fault::Fault,
    reply::Reply,
};
use crate::answer::Ask;
use cerebro_core::domain::{Project, Timestamp};
use cerebro_service::{Caller, Service};

/// One call under way.
pub(super) struct Call {
    pub service: Service,
    pub caller: Caller,
    pub arguments: Arguments,
    pub connection: Connection,
    pub context: Context,
    /// How many secrets the use case redacted in the call's texts.
    pub redacted: usize,
}

/// The result of a tool's handler: its text and its facts.
pub(super) type Answer = Result<Reply, Fault>;
/// The result of a handler of `O`, which programs ask; `dispatch` routes no other operation to it.
pub(super) type AnswerTo<O> = Result<<O as Ask>::Answer, Fault>;

impl Call {
    /// The present moment, by the daemon's clock.
    pub(super) fn now(&self) -> Timestamp {
        self.context.now()
    }

    /// The former projects of the caller's folder that have memories, each with their number. Empty if the present
    /// project has memories.
    pub(super) async fn former(&self) -> Result<Vec<(Project, i64)>, Fault> {
        let former = self.connection.former();
        if former.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.service.recall.projects().await?;
        let count = |project: &Project| known.get(project).map_or(0, |count| count.memories);
        if count(&self.caller.project) > 0 {
            return Ok(Vec::new());
        }
        let counted = former.into_iter().map(|project| (count(&project), project));
        Ok(counted.filter(|(count, _)| *count > 0).map(|(count, project)| (project, count)).collect())
    }

    /// The project that the call is about: the one that it names, otherwise the caller's.
    pub(super) fn project(&mut self) -> Result<Project, ArgumentError> {
        Ok(self.arguments.project()?.unwrap_or_else(|| self.caller.project.clone()))
    }

    /// The same, or `None` if the call is about all projects.
    pub(super) fn project_or_all(&mut self) -> Result<Option<Project>, ArgumentError> {
        let all = self.arguments.flag(&["all_projects"])?;
        Ok(Some(self.project()?).filter(|_| !all))
    }

    /// Moves the call to the session that it names, if it names one.
    pub(super) fn take_session(&mut self) -> Result<(), Fault> {
        if let Some(session) = self.arguments.session_id("session_id")? {
            self.connection.uses(&self.service, &session);
            self.caller.session = session;
        }
        Ok(())
    }
}
