//! The loop over a real store, with a handler of the test's own.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::oneshot;

use super::*;
use crate::{
    Service, Settings,
    use_cases::{TestClock, save, with_service},
};
use cerebro_store::JobState;

/// Does each step of a job by a function, which may note in its task that the provider has answered.
struct Scripted<F> {
    step: F,
    /// Sent when a job is done.
    done: Option<oneshot::Sender<()>>,
    /// Where the handler panics once, and what is sent before.
    panics: Option<(&'static str, oneshot::Sender<()>)>,
}

impl<F> Scripted<F> {
    fn panic_in(&mut self, place: &str) {
        if let Some((_, panics)) = self.panics.take_if(|(named, _)| *named == place) {
            panics.send(()).unwrap();
            panic!("a handler that panics");
        }
    }
}

impl<F: FnMut(&mut bool) -> Result<Step, JobError> + Send + 'static> JobHandler for Scripted<F> {
    const KIND: JobKind = JobKind::Embed;
    const NAME: &'static str = "a test";
    type Task = bool;

    async fn open(&mut self, _cx: &Context) -> Result<Result<(), Blocked>, ServiceError> {
        Ok(Ok(()))
    }

    async fn readiness(&mut self, _cx: &Context) -> Result<Readiness, ServiceError> {
        Ok(Readiness::Ready { at_once: 2 })
    }

    async fn prepare(&mut self, jobs: &[Job], _cx: &Context) -> Result<Vec<Option<bool>>, ServiceError> {
        self.panic_in("prepare");
        Ok(vec![Some(false); jobs.len()])
    }

    async fn drained(&mut self, _cx: &Context) -> Result<bool, ServiceError> {
        self.panic_in("drained");
        Ok(false)
    }

    async fn step(
        &mut self,
        leased: &mut VecDeque<Leased<bool>>,
        cx: &mut Context,
    ) -> Result<Step, JobError> {
        let Some(Leased { job, task }) = leased.front_mut() else { return Ok(Step::Void) };
        let step = (self.step)(task)?;
        if matches!(step, Step::Done) {
            cx.end(job).await?;
            if let Some(done) = self.done.take() {
                let _ = done.send(());
            }
        }
        Ok(step)
    }
}

/// Runs the loop until one job is done.
async fn one_done(service: &Service, step: impl FnMut(&mut bool) -> Result<Step, JobError> + Send + 'static) {
    let (done, is_done) = oneshot::channel();
    service.runner.start(Scripted { step, done: Some(done), panics: None });
    is_done.await.unwrap();
}

#[test]
fn what_a_provider_answered_is_kept_while_the_store_fails() {
    with_service(Settings::default(), Timestamp::now, async |service| {
        save(&service, "Answered once").await;
        let asked = Arc::new(AtomicUsize::new(0));
        let (asking, mut faults) = (Arc::clone(&asked), 3);
        one_done(&service, move |is_answered| {
            if !std::mem::replace(is_answered, true) {
                asking.fetch_add(1, Ordering::SeqCst);
                return Ok(Step::More);
            }
            if faults > 0 {
                faults -= 1;
                return Err(StoreError::Conflict("a test").into());
            }
            Ok(Step::Done)
        })
        .await;
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        assert_eq!(service.worker.job_counts().await.unwrap().0.depth(), 0);
    });
}

#[test]
fn what_can_never_be_stored_is_given_up_without_its_text() {
    with_service(Settings::default(), Timestamp::now, async |service| {
        for title in ["One", "The other"] {
            save(&service, title).await;
        }
        let mut is_first = true;
        one_done(&service, move |_| {
            if std::mem::take(&mut is_first) {
                return Err(
                    ServiceError::invalid("title", "a text", "it must have 1 to 200 characters").into()
                );
            }
            Ok(Step::Done)
        })
        .await;
        let dead = service.worker.jobs(JobState::Dead, 9).await.unwrap();
        let errors: Vec<&str> = dead.iter().filter_map(|job| job.error.as_deref()).collect();
        assert_eq!(errors, ["title: it must have 1 to 200 characters"]);
    });
}

#[test]
fn a_job_that_panics_fails_alone() {
    // Its wait never ends.
    with_service(Settings::default(), TestClock::<18>::now, async |service| {
        for title in ["One", "The other"] {
            save(&service, title).await;
        }
        TestClock::<18>::advance(Duration::from_secs(1));
        let mut is_first = true;
        one_done(&service, move |_| {
            assert!(!std::mem::replace(&mut is_first, false), "a handler that panics at one job");
            Ok(Step::Done)
        })
        .await;
        let waiting = service.worker.jobs(JobState::Queued, 9).await.unwrap();
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        assert_eq!(waiting[0].attempts, 1);
        assert!(waiting[0].error.as_ref().is_some_and(|error| error.contains("internal error")));
    });
}

#[test]
fn a_loop_goes_on_after_its_handler_has_panicked() {
    for (place, left) in [("prepare", 1), ("drained", 0)] {
        with_service(Settings::default(), TestClock::<19>::now, async |service| {
            if place == "prepare" {
                save(&service, "One").await;
                TestClock::<19>::advance(Duration::from_secs(1));
            }
            let ((panics, has_panicked), (done, is_done)) = (oneshot::channel(), oneshot::channel());
            let step = |_: &mut bool| -> Result<Step, JobError> { Ok(Step::Done) };
            service.runner.start(Scripted { step, done: Some(done), panics: Some((place, panics)) });
            has_panicked.await.unwrap();
            save(&service, "The other").await;
            TestClock::<19>::advance(Duration::from_secs(1));
            is_done.await.unwrap();
            let waiting = service.worker.jobs(JobState::Queued, 9).await.unwrap();
            assert_eq!(waiting.len(), left, "{place}: {waiting:?}");
            for job in waiting {
                assert_eq!(job.attempts, 1);
                assert!(job.error.is_some_and(|error| error.contains("internal error")));
            }
        });
    }
}
