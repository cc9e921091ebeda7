//! Restoring over real databases in a temporary folder: what was forgotten since the backup.

use std::path::{Path, PathBuf};

use crate::{
    backup::{BackupRequest, RestoreRequest, Target},
    distil::tests::{accepted, caller, distilled},
    use_cases::run,
    *,
};
use cerebro_core::domain::{Memory, Run, Timestamp};

async fn open(folder: &Path) -> Service {
    let (store, index) = (folder.join("store"), folder.join("index"));
    let service = Service::open(&store, &index, Settings::default(), Embedding::none(), Timestamp::now);
    service.await.unwrap()
}

async fn backed_up(service: &Service, folder: &Path) -> PathBuf {
    let target = Target::Folder(folder.join("backups"));
    let request = BackupRequest { home: folder.to_owned(), target, verify: false, keep: None };
    service.backups.back_up(request).await.unwrap().path
}

#[test]
fn what_rests_on_forgotten_evidence_goes_with_it_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(async {
        let service = open(folder).await;
        let (past, candidates) = distilled(&service, "s").await;
        let [second, first, all] = &candidates[..] else { panic!("{candidates:?}") };
        let memories = accepted(&service, [first, second, all]).await;
        let file = backed_up(&service, folder).await;
        let exchanges =
            service.base.store.exchanges().of_sessions(std::slice::from_ref(&past.id)).await.unwrap();
        let next = exchanges.iter().find(|exchange| exchange.seq == 1).unwrap().at;
        let what = Forget { session: Some(past.id.clone()), before: Some(next), ..Forget::default() };
        let forgotten = service.forget(&caller(), &what, Run::Real).await.unwrap();
        let expected = Forgotten { exchanges: 1, purged: vec![memories[0]], ..Forgotten::default() };
        assert_eq!(forgotten, expected);
        service.close().await.unwrap();

        let (store, index) = (folder.join("store"), folder.join("index"));
        let request =
            RestoreRequest { file: &file, home: folder, store_dir: &store, index_dir: &index, replace: true };
        let restored = restore(request, Timestamp::now, |_| {}).await.unwrap();
        assert_eq!((restored.forgotten, restored.is_unread), (forgotten, false));
        assert_eq!(restored.said_again, []);

        let service = open(folder).await;
        let live: Vec<bool> = {
            let found = service.base.store.memories().by_ids(&memories).await.unwrap();
            let is_live = |id| found.iter().any(|memory: &Memory| memory.id == id && memory.is_live());
            memories.iter().map(|id| is_live(*id)).collect()
        };
        assert_eq!(live, [false, true, true]);
        let left = service.base.store.candidates().of_session(&past.id).await.unwrap();
        let mut cited: Vec<usize> = left.iter().map(|candidate| candidate.evidence.len()).collect();
        cited.sort_unstable();
        assert_eq!(cited, [1, 2]);
        let events = service.recall.events(0, 1_000).await.unwrap();
        assert!(events.windows(2).all(|two| two[1].seq == two[0].seq + 1), "the log has no gap");
        service.close().await.unwrap();
    });
}
