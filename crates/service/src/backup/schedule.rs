//! Scheduled backups: an overdue one when the daemon starts, then one in each interval.

use std::{path::Path, time::Duration};

use super::{BackupRequest, Backups, Outcome, Target, lock};
use cerebro_core::domain::Timestamp;

/// How long the daemon has served before it makes an overdue backup, so that the backup does not delay those who waited for
/// its start.
const SETTLE: Duration = Duration::from_secs(5);
/// How long after a failure the next attempt is made.
const RETRY: Duration = Duration::from_secs(15 * 60);

impl Backups {
    /// Makes backups as the settings say, until the service closes. A failure is logged and shown by
    /// [`Backups::outcome`]; the next attempt follows.
    pub(crate) async fn keep(&self, home: &Path) {
        let plan = self.base.settings.backup.clone();
        let Some(every) = plan.every else { return };
        if let Some(remote) = &self.base.settings.remote {
            tracing::warn!(url = %remote.url, "backup.every is set, but the database is on a server: it is backed up there");
            return;
        }
        let stop = self.base.tasks.stopping();
        let dir = plan.dir_in(home);
        let mut wait = SETTLE.min(every).max(self.until_due(&dir, home, every).await);
        while stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
            let request = BackupRequest {
                home: home.to_path_buf(),
                target: Target::Folder(dir.clone()),
                verify: true,
                keep: plan.keep,
            };
            // A daemon that exits does not wait for a backup; the draft is removed with its writer.
            let attempt = stop.run_until_cancelled(self.back_up_if_changed(request)).await;
            wait = match attempt {
                None => return,
                Some(Ok(())) => every,
                Some(Err(error)) => {
                    tracing::error!(%error, "the scheduled backup failed");
                    // Also one that failed before it began to write.
                    lock(&self.state.outcome).failure = Some((self.base.store.now(), error.to_string()));
                    RETRY.min(every)
                }
            };
        }
    }

    /// How long until the next one is due; zero when it is overdue.
    async fn until_due(&self, dir: &Path, home: &Path, every: Duration) -> Duration {
        let newest = self.kept_in(dir, home).await.ok().and_then(|kept| kept.into_iter().next());
        newest.map_or(Duration::ZERO, |newest| until(newest.head.at, every, self.base.store.now()))
    }

    /// Makes a backup unless the newest one has the present content. Otherwise an idle machine would fill the folder
    /// with copies and push out older backups.
    async fn back_up_if_changed(&self, request: BackupRequest) -> Result<(), super::BackupError> {
        let Target::Folder(dir) = &request.target else { return Ok(()) };
        let place = self.place().await?;
        let newest = self.kept_in(dir, &request.home).await?.into_iter().next();
        if let Some(newest) = newest.filter(|newest| newest.head.shows(&place)) {
            tracing::debug!("nothing happened since the last backup");
            // It is a backup of this moment too.
            *lock(&self.state.outcome) =
                Outcome { made: Some((self.base.store.now(), newest.path)), failure: None };
            return Ok(());
        }
        let made = self.back_up(request).await?;
        tracing::info!(file = %made.path.display(), bytes = made.bytes, "a scheduled backup was made");
        Ok(())
    }
}

/// The rest of an interval that began at `last`. A moment in the future counts as now.
fn until(last: Timestamp, every: Duration, now: Timestamp) -> Duration {
    let age = Duration::try_from(now.duration_since(last)).unwrap_or(Duration::ZERO);
    every.saturating_sub(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_is_due_an_interval_after_the_last() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let every = Duration::from_secs(100);
        for (last, now, left) in [(0, 0, 100), (0, 30, 70), (0, 100, 0), (0, 5_000, 0), (50, 0, 100)] {
            assert_eq!(until(at(last), every, at(now)), Duration::from_secs(left), "{last} {now}");
        }
    }
}
