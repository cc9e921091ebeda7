//! The thread in which the worker's model computes.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use cerebro_core::redact::RedactedText;
use cerebro_models::embed::{Embedded, Embedder, Purpose};
use cerebro_models::provider::ProviderError;

/// A thread of low priority with a runtime of its own, in which the worker's model computes: whatever it
/// starts there is of low priority too. It ends when the handle is dropped.
pub(super) struct Thread(mpsc::Sender<Asked>);

struct Asked {
    embedder: Arc<dyn Embedder>,
    texts: Vec<RedactedText>,
    answer: oneshot::Sender<Result<Embedded, ProviderError>>,
}

impl Thread {
    pub(super) fn start() -> Self {
        let (sender, mut asked) = mpsc::channel::<Asked>(1);
        let run = move || {
            yield_to_others();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .on_thread_start(yield_to_others)
                .enable_all()
                .build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                while let Some(Asked { embedder, texts, mut answer }) = asked.recv().await {
                    let answered = tokio::select! {
                        answered = embedder.embed(Purpose::Passage, texts) => answered,
                        () = answer.closed() => continue,
                    };
                    let _ = answer.send(answered);
                }
            });
        };
        if let Err(error) = std::thread::Builder::new().name("worker".to_owned()).spawn(run) {
            tracing::error!(%error, "the worker's thread cannot be started");
        }
        Self(sender)
    }

    /// Embeds passages there. Dropping the future cancels the work.
    pub(super) async fn embed(
        &self,
        embedder: Arc<dyn Embedder>,
        texts: Vec<RedactedText>,
    ) -> Result<Embedded, ProviderError> {
        let gone = || ProviderError::Unusable("the worker's thread ended; see the daemon's log".to_owned());
        let (answer, answered) = oneshot::channel();
        self.0.send(Asked { embedder, texts, answer }).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

/// Lowers the priority of this thread. Only Linux can do that for a single thread.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(15) {
        tracing::debug!(%error, "the worker's priority could not be lowered");
    }
}
