//! Follows what other daemons write to the same database.
//!
//! The index, the claims and the worker follow their commits like this process's own. Other cached state is updated here.

use std::time::Duration;

use crate::{Service, lock};
use cerebro_core::domain::EventKind;
use cerebro_store::{PeerLogs, PeerNews};

/// How often the log is read: what others save can be found within a second.
const LOOK: Duration = Duration::from_millis(250);
/// After this many reads, state without events is read again: the model that searches ask, and the claims of language
/// models.
const LOOKS_PER_REVIEW: u32 = 40;

impl Service {
    /// Follows until the store closes, if others write to it at all.
    pub(super) fn follow_peers(&self, mut logs: PeerLogs) {
        if !self.base.store.is_shared() {
            return;
        }
        lock(&self.sessions.held.others).clone_from(logs.at_work());
        let (service, stop) = (self.clone(), self.base.tasks.stopping());
        self.base.tasks.spawn("logs other homes", async move {
            let mut reads: u32 = 0;
            let mut deaf = false;
            while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
                reads = reads.wrapping_add(1);
                match service.base.store.peers().read(&mut logs).await {
                    Ok(news) => {
                        deaf = false;
                        lock(&service.sessions.held.others).clone_from(logs.at_work());
                        service.received(&news);
                    }
                    Err(error) if !deaf => {
                        deaf = true;
                        // The server may come back with an earlier state.
                        logs.read_all_next();
                        tracing::warn!(%error, "what others write cannot be heard; it is tried again");
                    }
                    Err(_) => {}
                }
                if reads.is_multiple_of(LOOKS_PER_REVIEW) && !deaf {
                    service.review().await;
                }
            }
        });
    }

    fn received(&self, PeerNews { events, is_rewound }: &PeerNews) {
        if *is_rewound {
            self.recall.index.start_over();
        }
        for event in events {
            if event.kind == EventKind::SessionEnded
                && let Some(session) = &event.session
            {
                lock(&self.sessions.held.live).remove(session);
            }
            if let Some(project) = &event.project {
                self.memories.projects.note_project(project);
            }
        }
    }

    async fn review(&self) {
        self.recall.claims.forget();
        if let Err(error) = self.recall.vectors.look().await {
            tracing::debug!(%error, "which model searches ask could not be read");
        }
    }
}
