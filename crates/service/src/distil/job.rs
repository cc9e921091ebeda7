//! The job that asks a chat model what is worth keeping of a past session that has been over for a while; and how to
//! arrange a handbook.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{Distilling, Review, opened, session::Told};
use crate::{
    ServiceError, WorkerState,
    jobs::{
        Payer,
        runner::{Blocked, Context, JobError, JobHandler, Leased, Readiness, Step},
    },
    settings::DistilSettings,
};
use cerebro_core::domain::{Arrangement, Project, SessionId};
use cerebro_models::llm::Llm;
use cerebro_store::{Job, JobKind, JobState, Subject};

/// How often the loop searches for sessions that are over.
const LOOK_EVERY: Duration = Duration::from_secs(10 * 60);
/// How many sessions are queued at once without being asked for.
const QUEUED_MAX: usize = 20;
/// The tables that the subjects of jobs name: for a past session, for the handbook of a project, and for that of all.
const OF_SESSION: &str = "past_session";
const OF_PROJECT: &str = "handbook";
const OF_ALL: &str = "handbook_of_all";

/// What a job of distilling asks about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    /// A past session.
    Session(SessionId),
    /// The handbook of a project, or of all.
    Handbook(Option<Project>),
}

impl Task {
    /// Reads a job's subject; `None` if it is something else.
    fn of(subject: &Subject) -> Option<Self> {
        let Subject::Other { table, key } = subject else { return None };
        match table.as_str() {
            OF_SESSION => SessionId::parse(key).ok().map(Self::Session),
            OF_PROJECT => Project::parse(key).map(|project| Self::Handbook(Some(project))),
            OF_ALL => Some(Self::Handbook(None)),
            _ => None,
        }
    }

    /// The session that it is about.
    pub(super) fn session(self) -> Option<SessionId> {
        match self {
            Self::Session(id) => Some(id),
            Self::Handbook(_) => None,
        }
    }

    fn subject(&self) -> Subject {
        let (table, key) = match self {
            Self::Session(id) => (OF_SESSION, id.as_str()),
            Self::Handbook(Some(project)) => (OF_PROJECT, project.as_str()),
            Self::Handbook(None) => (OF_ALL, "all"),
        };
        Subject::Other { table: table.to_owned(), key: key.to_owned() }
    }
}

/// A task, and what the model answered, until that is stored.
pub(crate) struct Asked {
    task: Task,
    answer: Option<Answer>,
}

/// What a model answered, as far as it passed the check.
enum Answer {
    Session(Box<Told>),
    Handbook(Arrangement),
}

/// Most jobs of a state that are read.
const JOBS_MAX: usize = 5_000;

impl Distilling {
    /// The tasks of the jobs in a state, in no order.
    async fn tasks(&self, state: JobState) -> Result<Vec<Task>, ServiceError> {
        let subjects = self.base.store.jobs().subjects(JobKind::Distil, state, JOBS_MAX).await?;
        Ok(subjects.iter().filter_map(Task::of).collect())
    }

    /// The tasks of the jobs that were given up, in no order.
    pub(super) async fn given_up(&self) -> Result<Vec<Task>, ServiceError> {
        self.tasks(JobState::Dead).await
    }

    /// How many jobs wait or are under way.
    pub(super) async fn queued(&self) -> Result<usize, ServiceError> {
        Ok(self.tasks(JobState::Queued).await?.len() + self.tasks(JobState::Leased).await?.len())
    }

    /// Queues jobs. Those that wait already or were given up stay as they are.
    pub(super) async fn owe(&self, tasks: impl IntoIterator<Item = Task>) -> Result<(), ServiceError> {
        let subjects: Vec<Subject> = tasks.into_iter().map(|task| task.subject()).collect();
        Ok(self.base.store.jobs().ensure(JobKind::Distil, &subjects).await?)
    }

    /// Queues what is due without being asked for.
    async fn queue_due(&self, settings: &DistilSettings) -> Result<(), ServiceError> {
        let sessions = self.due(settings, None, settings.idle, QUEUED_MAX).await?.sessions;
        let mut due: Vec<Task> = sessions.into_iter().map(|session| Task::Session(session.id)).collect();
        if settings.arrange {
            due.extend(self.arranging_due(settings.idle).await?.into_iter().map(Task::Handbook));
        }
        self.owe(due).await
    }

    /// Asks about a task. `None` if nothing was sent.
    async fn ask(
        &self,
        task: &Task,
        llm: &Llm,
        settings: &DistilSettings,
    ) -> Result<Option<Answer>, JobError> {
        Ok(match task {
            Task::Session(id) => {
                self.ask_about(id, llm, settings).await?.map(|told| Answer::Session(Box::new(told)))
            }
            Task::Handbook(project) => {
                self.arrange(project.as_ref(), llm, settings).await?.map(Answer::Handbook)
            }
        })
    }

    /// Stores an answer. Storing it again changes nothing.
    async fn store(&self, answer: &Answer, review: Review) -> Result<(), ServiceError> {
        match answer {
            Answer::Session(told) => {
                self.store_distilled(told).await?;
                if review == Review::Corroborated {
                    self.corroborate(&told.session).await?;
                }
            }
            Answer::Handbook(arrangement) => drop(self.store_arrangement(arrangement).await?),
        }
        Ok(())
    }

    /// Makes jobs due that wait for another attempt, because a person wants them done now.
    pub(super) async fn hasten(&self, tasks: &[Task]) -> Result<(), ServiceError> {
        let subjects: Vec<Subject> = tasks.iter().map(Task::subject).collect();
        Ok(self.base.store.jobs().hasten(JobKind::Distil, &subjects).await?)
    }
}

/// The handler of [`JobKind::Distil`].
pub(crate) struct Distil {
    distilling: Distilling,
    /// Opened for each look, because the settings may have changed.
    asked: Option<(Llm, DistilSettings)>,
    /// When the loop last searched for sessions.
    looked: Option<Instant>,
}

impl Distil {
    pub(crate) fn new(distilling: Distilling) -> Self {
        Self { distilling, asked: None, looked: None }
    }
}

impl JobHandler for Distil {
    const KIND: JobKind = JobKind::Distil;
    const NAME: &'static str = "distilling";
    type Task = Asked;

    async fn open(&mut self, _cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        let before = self.asked.take().map(|(llm, _)| llm);
        let unusable = |reason: String| Ok(Err(Blocked::until_woken(WorkerState::Unusable(reason))));
        let settings = match (self.distilling.reader)() {
            Ok(settings) => settings,
            Err(error) => return unusable(error.to_string()),
        };
        if !settings.enabled {
            return Ok(Err(Blocked::until_woken(WorkerState::Off)));
        }
        match opened(&settings) {
            Ok(llm) => self.asked = Some((llm.knowing(before.as_ref()), settings)),
            Err(reason) => return unusable(reason),
        }
        Ok(Ok(()))
    }

    async fn readiness(&mut self, _cx: &Context) -> Result<Readiness, ServiceError> {
        let Some((llm, settings)) = &self.asked else { return Ok(Readiness::Again) };
        // Also while jobs wait for another attempt or another day.
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY) {
            self.looked = Some(Instant::now());
            self.distilling.queue_due(settings).await?;
        }
        Payer::of_distilling(self.distilling.base.spending(), llm, settings).readiness().await
    }

    async fn prepare(&mut self, jobs: &[Job], cx: &Context) -> Result<Vec<Option<Asked>>, ServiceError> {
        let mut tasks = Vec::with_capacity(jobs.len());
        for job in jobs {
            let mut task = Task::of(&job.subject);
            if let Some(Task::Session(id)) = &task
                && cx.base.store.past_sessions().by_id(id).await?.is_none()
            {
                task = None;
            }
            tasks.push(task.map(|task| Asked { task, answer: None }));
        }
        Ok(tasks)
    }

    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<Asked>>,
        cx: &mut Context,
    ) -> Result<Step, JobError> {
        let (Some(Leased { job, task }), Some((llm, settings))) = (leased.front_mut(), &self.asked) else {
            return Ok(Step::Void);
        };
        if task.answer.is_none() {
            task.answer = self.distilling.ask(&task.task, llm, settings).await?;
            if task.answer.is_some() {
                cx.answered();
            }
        }
        if let Some(answer) = &task.answer {
            self.distilling.store(answer, settings.review).await?;
        }
        cx.end(job).await?;
        Ok(Step::Done)
    }
}
