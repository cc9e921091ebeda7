//! Looks: accesses to folders that may be on a mount whose server is gone, where any access blocks in the kernel
//! indefinitely.
//!
//! Each look runs on a thread that may block, and its caller waits no longer than a deadline. A hanging thread is
//! lost until the mount is back, so each folder has at most [`FOLDER_LOOKS_MAX`] at a time. However many agents
//! work in a folder and however often they ask, no more threads are lost, and looks at other folders go on.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, Weak},
    time::Duration,
};

use cerebro_core::sync::lock;
use tokio::sync::Semaphore;

/// Most looks of one process at once; hanging ones count until they end. A quarter of tokio's threads for blocking
/// work, so that the rest of the process always has some.
const LOOKS_MAX: usize = 128;
/// Most looks at one folder at once: two, so that a long one does not hold up a short one.
const FOLDER_LOOKS_MAX: usize = 2;

static LOOKS: LazyLock<Looks> = LazyLock::new(|| Looks::new(LOOKS_MAX));

/// Runs `work`, which accesses `folder`, and waits for it no longer than `bound`.
///
/// `None` when it takes longer, or when [`FOLDER_LOOKS_MAX`] looks at the folder or [`LOOKS_MAX`] in total are
/// still running.
pub async fn within<T: Send + 'static>(
    folder: &Path,
    bound: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    LOOKS.within(folder, bound, work).await
}

struct Looks {
    slots: Arc<Semaphore>,
    /// The slots of each folder, which exist while a look runs or waits.
    places: Mutex<HashMap<PathBuf, Weak<Semaphore>>>,
}

impl Looks {
    fn new(max: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(max)), places: Mutex::default() }
    }

    async fn within<T: Send + 'static>(
        &self,
        folder: &Path,
        bound: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (place, slots) = (self.place(folder), Arc::clone(&self.slots));
        let look = async move {
            let place = place.acquire_owned().await.ok()?;
            let slot = slots.acquire_owned().await.ok()?;
            let task = tokio::task::spawn_blocking(move || {
                // Released by the thread that looks, not by the caller that waits: a hanging look keeps both.
                let _held = (slot, place);
                work()
            });
            task.await.ok()
        };
        tokio::time::timeout(bound, look).await.ok()?
    }

    fn place(&self, folder: &Path) -> Arc<Semaphore> {
        let mut places = lock(&self.places);
        if let Some(place) = places.get(folder).and_then(Weak::upgrade) {
            return place;
        }
        places.retain(|_, place| place.strong_count() > 0);
        let place = Arc::new(Semaphore::new(FOLDER_LOOKS_MAX));
        places.insert(folder.to_owned(), Arc::downgrade(&place));
        place
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(10);

    /// Looks at a folder that hangs until the sender is dropped.
    async fn hang(looks: &Looks, folder: &Path) -> mpsc::Sender<()> {
        let (release, hanging) = mpsc::channel::<()>();
        assert_eq!(looks.within(folder, SHORT, move || hanging.recv().is_err()).await, None);
        release
    }

    #[tokio::test]
    async fn a_folder_that_hangs_costs_few_threads_and_the_others_answer() {
        let looks = Looks::new(FOLDER_LOOKS_MAX + 1);
        let (hung, other) = (Path::new("/hung"), Path::new("/other"));
        let mut held = Vec::new();
        for _ in 0..FOLDER_LOOKS_MAX {
            held.push(hang(&looks, hung).await);
        }
        for _ in 0..3 {
            assert_eq!(looks.within(hung, SHORT, || "looked").await, None, "its places are taken");
        }
        assert_eq!(looks.within(other, LONG, || "looked").await, Some("looked"));
        drop(held);
        assert_eq!(looks.within(hung, LONG, || "looked").await, Some("looked"));
    }

    #[tokio::test]
    async fn folders_that_nobody_looks_at_are_forgotten() {
        let looks = Looks::new(1);
        for folder in ["/one", "/other", "/third"] {
            assert_eq!(looks.within(Path::new(folder), LONG, || "looked").await, Some("looked"));
        }
        assert_eq!(looks.places.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn so_many_folders_may_hang_and_no_more() {
        let looks = Looks::new(3);
        let mut held = Vec::new();
        for n in 0..3 {
            assert_eq!(looks.within(Path::new("/sound"), LONG, || 1).await, Some(1), "{n} hang");
            held.push(hang(&looks, Path::new(&format!("/hung/{n}"))).await);
        }
        assert_eq!(looks.within(Path::new("/sound"), SHORT, || 1).await, None);
        held.pop();
        assert_eq!(looks.within(Path::new("/sound"), LONG, || 1).await, Some(1));
    }
}
