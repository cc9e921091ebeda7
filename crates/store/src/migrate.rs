//! Migrates a store to this binary's schema: numbered files, applied in order, never edited.

use sha2::{Digest, Sha256};
use surrealdb::types::{SurrealValue, Variables};

use super::{Engine, StoreError, read::take, retry::Attempts, statement};

struct Migration {
    version: u32,
    name: &'static str,
    text: &'static str,
}

/// Every file of `schema/`, in order.
const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "init", text: include_str!("../../../schema/0001_init.surql") },
    Migration { version: 2, name: "worker", text: include_str!("../../../schema/0002_worker.surql") },
    Migration { version: 3, name: "functions", text: include_str!("../../../schema/0003_functions.surql") },
    Migration { version: 4, name: "entity", text: include_str!("../../../schema/0004_entity.surql") },
    Migration { version: 5, name: "store_id", text: include_str!("../../../schema/0005_store_id.surql") },
    Migration {
        version: 6,
        name: "job_subject",
        text: include_str!("../../../schema/0006_job_subject.surql"),
    },
    Migration { version: 7, name: "packed", text: include_str!("../../../schema/0007_packed.surql") },
    Migration { version: 8, name: "truth", text: include_str!("../../../schema/0008_truth.surql") },
    Migration { version: 9, name: "history", text: include_str!("../../../schema/0009_history.surql") },
    Migration { version: 10, name: "work", text: include_str!("../../../schema/0010_work.surql") },
    Migration { version: 11, name: "footing", text: include_str!("../../../schema/0011_footing.surql") },
    Migration { version: 12, name: "documents", text: include_str!("../../../schema/0012_documents.surql") },
    Migration { version: 13, name: "cycle", text: include_str!("../../../schema/0013_cycle.surql") },
    Migration { version: 14, name: "feedback", text: include_str!("../../../schema/0014_feedback.surql") },
    Migration { version: 15, name: "worked_in", text: include_str!("../../../schema/0015_worked_in.surql") },
    Migration { version: 16, name: "distil", text: include_str!("../../../schema/0016_distil.surql") },
    Migration { version: 17, name: "work_held", text: include_str!("../../../schema/0017_work_held.surql") },
    Migration { version: 18, name: "insight", text: include_str!("../../../schema/0018_insight.surql") },
    Migration { version: 19, name: "image", text: include_str!("../../../schema/0019_image.surql") },
    Migration { version: 20, name: "handbook", text: include_str!("../../../schema/0020_handbook.surql") },
    Migration { version: 21, name: "proven", text: include_str!("../../../schema/0021_proven.surql") },
    Migration { version: 22, name: "loaded_by", text: include_str!("../../../schema/0022_loaded_by.surql") },
    Migration { version: 23, name: "settled", text: include_str!("../../../schema/0023_settled.surql") },
    Migration { version: 24, name: "names", text: include_str!("../../../schema/0024_names.surql") },
    Migration { version: 25, name: "trigger", text: include_str!("../../../schema/0025_trigger.surql") },
    Migration {
        version: 26,
        name: "exchange_vector",
        text: include_str!("../../../schema/0026_exchange_vector.surql"),
    },
    Migration {
        version: 27,
        name: "forgotten_text",
        text: include_str!("../../../schema/0027_forgotten_text.surql"),
    },
    Migration {
        version: 28,
        name: "work_event_ids",
        text: include_str!("../../../schema/0028_work_event_ids.surql"),
    },
    Migration { version: 29, name: "cites", text: include_str!("../../../schema/0029_cites.surql") },
    Migration {
        version: 30,
        name: "work_event_free",
        text: include_str!("../../../schema/0030_work_event_free.surql"),
    },
    Migration {
        version: 31,
        name: "past_session_parent",
        text: include_str!("../../../schema/0031_past_session_parent.surql"),
    },
];

/// How many migrations a new store gets in its first transaction. The next one removes indexes that these define, which the
/// database refuses in the same transaction.
const TOGETHER: usize = 27;

/// The checksums of texts that migrations had for some hours. Only a comment in them differed.
const REWORDED: [(u32, &str); 1] = [(29, "62a23dd2c1c4e819513965e59dcef7aa95d6d99aa92d866e2d46ec7449e8f8c6")];

impl Migration {
    /// Whether this is the migration that a store had.
    fn has(&self, applied: &str) -> bool {
        applied == checksum(self.text) || REWORDED.contains(&(self.version, applied))
    }
}

#[derive(SurrealValue)]
struct Applied {
    version: i64,
    checksum: String,
}

/// The newest schema version that this binary knows.
pub(super) fn newest() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

fn checksum(text: &str) -> String {
    cerebro_core::text::hex(&Sha256::digest(text))
}

/// Applies the missing migrations and records them. Each one runs in a transaction of its own; a new store gets them
/// in two transactions, which is several times faster. If several processes migrate at once, one succeeds
/// and the others check again.
///
/// # Errors
/// [`StoreError::SchemaTooNew`] and [`StoreError::MigrationChanged`] leave the store untouched.
pub(super) async fn migrate(engine: &Engine) -> Result<(), StoreError> {
    let mut attempts = Attempts::of("migration");
    loop {
        match migrate_once(engine).await {
            Err(error) if error.is_retryable() => attempts.again().await?,
            done => return done,
        }
    }
}

async fn migrate_once(engine: &Engine) -> Result<(), StoreError> {
    engine.run(statement::MIGRATION_TABLE, Variables::new()).await?;
    let mut results = engine.run(statement::MIGRATION_LIST, Variables::new()).await?;
    let applied: Vec<Applied> = take("migration", &mut results, 0)?;
    let found = applied.iter().map(|row| u32::try_from(row.version).unwrap_or(u32::MAX)).max().unwrap_or(0);
    if found > newest() {
        return Err(StoreError::SchemaTooNew { found, supported: newest() });
    }
    if applied.is_empty() {
        let (together, later) = MIGRATIONS.split_at(TOGETHER);
        apply(engine, together).await?;
        return apply(engine, later).await;
    }
    for migration in MIGRATIONS {
        match applied.iter().find(|row| row.version == i64::from(migration.version)) {
            Some(row) if !migration.has(&row.checksum) => {
                return Err(StoreError::MigrationChanged { version: migration.version });
            }
            Some(_) => {}
            None => apply(engine, std::slice::from_ref(migration)).await?,
        }
    }
    Ok(())
}

/// Applies some migrations in one transaction. Each is recorded before its script runs: if another process has made it since
/// this one looked, that is a conflict, and not a fault of a script whose work is done already.
async fn apply(engine: &Engine, migrations: &[Migration]) -> Result<(), StoreError> {
    let mut text = String::from("BEGIN;\n");
    for Migration { version, name, text: script } in migrations {
        tracing::info!(version, name, "applying a migration");
        // None of these values comes from outside.
        let (checksum, record) = (checksum(script), statement::MIGRATION_RECORD.text);
        let bound = format!("LET $version = {version}; LET $name = '{name}'; LET $checksum = '{checksum}';");
        text.extend([bound.as_str(), "\n", record, "\n", *script, "\n"]);
    }
    text.push_str("COMMIT;");
    Ok(engine.script("migration", &text, Variables::new()).await.map(drop)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{JobKind, Store, Subject, tests::run};
    use cerebro_core::domain::{MemoryId, Timestamp, WorkId};

    /// A store of an earlier version could not be opened.
    #[test]
    fn no_migration_was_edited() {
        let now = MIGRATIONS.iter().map(|one| format!("{:04} {}\n", one.version, checksum(one.text)));
        assert_eq!(now.collect::<String>(), include_str!("../../../tests/golden/migrations.txt"));
    }

    #[test]
    fn a_store_with_a_migration_whose_comment_was_another_opens() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            for (version, applied) in REWORDED {
                Store::open(dir.path(), Timestamp::now, Box::new(|_| {}))
                    .await
                    .unwrap()
                    .close()
                    .await
                    .unwrap();
                let engine = Engine::open(dir.path()).await.unwrap();
                let record = format!("UPDATE migration:{version} SET checksum = '{applied}'");
                engine.script("test", &record, Variables::new()).await.unwrap();
                migrate(&engine).await.unwrap();
                let record = format!("UPDATE migration:{version} SET checksum = 'another'");
                engine.script("test", &record, Variables::new()).await.unwrap();
                assert!(
                    matches!(migrate(&engine).await, Err(StoreError::MigrationChanged { version: changed }) if changed == version)
                );
                engine.close().await.unwrap();
            }
        });
    }

    #[test]
    fn a_migration_that_another_process_made_meanwhile_is_a_conflict() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let engine = Engine::open_unsynced(dir.path()).await.unwrap();
            migrate(&engine).await.unwrap();
            for migration in MIGRATIONS {
                let again = apply(&engine, std::slice::from_ref(migration)).await;
                assert!(matches!(again, Err(StoreError::Conflict(_))), "{}: {again:?}", migration.name);
            }
            engine.close().await.unwrap();
        });
    }

    /// While a new store gets its schema, its log is not synced, so a power loss leaves a beginning of it.
    #[test]
    fn a_new_store_that_lost_power_is_completed() {
        let whole = tempfile::tempdir().unwrap();
        run(async {
            let engine = Engine::open_unsynced(whole.path()).await.unwrap();
            migrate(&engine).await.unwrap();
            for quarters in 0..4 {
                let cut = tempfile::tempdir().unwrap();
                copy_with_part_of_log(whole.path(), cut.path(), quarters);
                assert!(Engine::is_in(cut.path()));
                let resumed = Engine::open_unsynced(cut.path()).await.unwrap();
                migrate(&resumed).await.unwrap();
                resumed.close().await.unwrap();
                let store = Store::open(cut.path(), Timestamp::now, Box::new(|_| {})).await.unwrap();
                let memory = crate::tests::memory(None);
                crate::tests::put(&store, memory.clone()).await.unwrap();
                assert!(store.memories().by_id(&memory.id).await.unwrap().is_some(), "{quarters} quarters");
                store.close().await.unwrap();
            }
            engine.close().await.unwrap();
        });
    }

    /// Copies a database with only some quarters of its log.
    fn copy_with_part_of_log(from: &Path, into: &Path, quarters: u64) {
        let mut logs = 0;
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            let copy = into.join(entry.file_name());
            std::fs::copy(entry.path(), &copy).unwrap();
            if copy.extension().is_some_and(|end| end == "log") {
                let log = std::fs::File::options().write(true).open(&copy).unwrap();
                log.set_len(log.metadata().unwrap().len() / 4 * quarters).unwrap();
                logs += 1;
            }
        }
        assert_eq!(logs, 1, "everything is in one log");
    }

    #[test]
    fn jobs_of_a_store_whose_jobs_were_about_memories_only_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let memory = MemoryId::random();
        run(async {
            let engine = Engine::open_unsynced(dir.path()).await.unwrap();
            engine.run(statement::MIGRATION_TABLE, Variables::new()).await.unwrap();
            for migration in MIGRATIONS.iter().take_while(|migration| migration.version < 6) {
                apply(&engine, std::slice::from_ref(migration)).await.unwrap();
            }
            let old = format!(
                "CREATE job:`embed-{memory}` CONTENT {{ memory: memory:`{memory}`, revision: 2, kind: 'embed', \
                 state: 'queued', attempts: 1, due_at: time::now(), claim: 4 }}"
            );
            engine.script("test", &old, Variables::new()).await.unwrap();
            engine.close().await.unwrap();

            let store = Store::open(dir.path(), Timestamp::now, Box::new(|_| {})).await.unwrap();
            let until = Timestamp::now() + std::time::Duration::from_secs(60);
            let jobs = store.jobs().lease("a/1", JobKind::Embed, 5, until).await.unwrap();
            assert_eq!(jobs.len(), 1);
            assert_eq!(jobs[0].subject, Subject::Memory(memory));
            assert_eq!((jobs[0].revision, jobs[0].attempts, &jobs[0].payload), (2, 2, &None));
            store.jobs().end("a/1", &jobs[0]).await.unwrap();
            assert_eq!(store.jobs().counts().await.unwrap().depth(), 0, "its fencing token goes on");
            store.close().await.unwrap();
        });
    }

    #[test]
    fn events_of_an_older_store_are_found_by_their_ids() {
        // With indexes, and with a schema.
        for next in [28, 30] {
            events_written_before(next);
        }
    }

    fn events_written_before(next: u32) {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkId::random();
        let [named, purged] = ["a", "b"].map(|digit| digit.repeat(64));
        run(async {
            let engine = Engine::open_unsynced(dir.path()).await.unwrap();
            engine.run(statement::MIGRATION_TABLE, Variables::new()).await.unwrap();
            for migration in MIGRATIONS.iter().take_while(|migration| migration.version < next) {
                apply(&engine, std::slice::from_ref(migration)).await.unwrap();
            }
            for id in [&named, &purged] {
                let artifact =
                    format!("CREATE artifact:`{id}` SET data = <bytes>'x', len = 1, at = time::now();");
                engine.script("test", &artifact, Variables::new()).await.unwrap();
            }
            for (seq, fields) in [
                (1, format!("artifact: artifact:`{named}`, body: '{{}}'")),
                (2, format!("artifact: artifact:`{purged}`, once: 'a0'")),
                (3, "body: '{}', once: 'a1'".to_owned()),
            ] {
                let event = format!(
                    "CREATE work_event:`{work}-{seq:08}` CONTENT {{ work: work:`{work}`, seq: {seq}, at: time::now(), \
                     kind: 'note', late: false, full: 2, commitment: 'c', mac: 'm', {fields} }};"
                );
                engine.script("test", &event, Variables::new()).await.unwrap();
            }
            engine.close().await.unwrap();

            let store = Store::open(dir.path(), Timestamp::now, Box::new(|_| {})).await.unwrap();
            let events = store.works().events(&work, 0..=u64::MAX).await.unwrap();
            assert_eq!(events.iter().map(|kept| kept.seq).collect::<Vec<_>>(), [1, 2, 3]);
            assert_eq!(store.works().events(&work, 2..=2).await.unwrap(), events[1..2]);
            assert_eq!(store.works().onces(&work, 2..=3).await.unwrap(), ["a0", "a1"]);
            assert_eq!(events[0].kind, "note");
            assert_eq!(store.artifacts().unreferenced(9).await.unwrap(), [purged]);
            let strays = store.works().strays(9).await.unwrap();
            assert_eq!(
                strays.iter().map(|stray| (stray.work, stray.is_lost)).collect::<Vec<_>>(),
                [(work, true)]
            );
            store.close().await.unwrap();
        });
    }

    #[test]
    fn memories_of_a_store_whose_claims_alone_had_evidence_cite_it() {
        let dir = tempfile::tempdir().unwrap();
        run(async {
            let open = || Store::open(dir.path(), Timestamp::now, Box::new(|_| {}));
            let store = open().await.unwrap();
            let memory = crate::tests::memory(None);
            crate::tests::put(&store, memory.clone()).await.unwrap();
            store.close().await.unwrap();
            let engine = Engine::open(dir.path()).await.unwrap();
            let claim = |id: &str, state: &str, memory: &str, cited: &str| {
                format!(
                    "CREATE candidate:{id} CONTENT {{ session: 's', kind: 'fact', title: 't', text: 't', state: '{state}', \
                     memory: {memory}, revision: 1, generation: 'g', model: 'm', at: time::now(), evidence: [{cited}] }};"
                )
            };
            let cited = |key: &str| format!("{{ exchange: '{key}', digest: 'd', quote: 'q' }}");
            let accepted = format!("memory:{}", memory.id);
            let old = [
                "REMOVE TABLE CITES; REMOVE INDEX past_session_parent ON past_session; \
                 DELETE migration WHERE version >= 29;"
                    .to_owned(),
                "CREATE exchange:aaaaaaaaaaaa CONTENT { session: 's', seq: 0, part: 0, at: time::now(), title: '', \
                 files: [], commands: [], outcomes: [], errors: [], withdrawn: false, digest: 'd', \
                 stored_at: time::now() };"
                    .to_owned(),
                claim("aaaaaaaaaaaa", "accepted", &accepted, &format!("{}, {}", cited("aaaaaaaaaaaa"), cited("gone"))),
                claim("aaaaaaaaaaab", "accepted", &accepted, &cited("aaaaaaaaaaaa")),
                claim("aaaaaaaaaaac", "waiting", "NONE", &cited("aaaaaaaaaaaa")),
            ];
            engine.script("test", &old.concat(), Variables::new()).await.unwrap();
            engine.close().await.unwrap();

            let store = open().await.unwrap();
            let cited = store.citations().of_memory(&memory.id).await.unwrap();
            assert_eq!(cited.iter().map(ToString::to_string).collect::<Vec<_>>(), ["xaaaaaaaaaaaa"]);
            assert!(store.integrity().dangling_edges().await.unwrap().is_empty());
            store.close().await.unwrap();
        });
    }
}
