//! `cerebro doctor`: every check finds its fault, and repairs it if that is possible. Each test causes the fault
//! first.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use crate::backup::furnished;
use crate::support::{Disk, Home, Value, alter, finish, json, wait_for};

/// The doctor's output and its exit code.
fn examined(home: &Home, more: &[&str]) -> (i32, Value) {
    let mut command = home.command();
    let done = finish(command.arg("doctor").args(more).arg("--json"));
    let report = serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    (done.code(), report)
}

/// State and words of a check.
fn check(report: &Value, name: &str) -> (String, String) {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["check"] == name);
    let found = found.unwrap_or_else(|| panic!("no check {name} in {report:#}"));
    (found["state"].as_str().unwrap().to_owned(), found["words"].as_str().unwrap().to_owned())
}

/// The fault is found by its check alone, and shown by the exit code.
fn assert_seen(home: &Home, name: &str, words: &str) {
    let (code, report) = examined(home, &[]);
    let (state, found) = check(&report, name);
    assert_eq!((code, state.as_str()), (1, "fault"), "{report:#}");
    assert!(found.contains(words), "{words} is not in: {found}");
    let others = report["checks"].as_array().unwrap().iter().filter(|check| check["state"] != "ok").count();
    assert_eq!(others, 1, "{report:#}");
}

/// What to do next, as the doctor says it.
fn next_steps(home: &Home) -> String {
    examined(home, &[]).1["next"].to_string()
}

/// It can be repaired and is, and then nothing is found.
fn assert_repaired(home: &Home, name: &str) {
    let next = next_steps(home);
    assert!(next.contains(&format!("`cerebro doctor --fix` repairs {name}")), "{next}");
    let (code, report) = examined(home, &["--fix"]);
    assert_eq!((code, check(&report, name).0.as_str()), (0, "fixed"), "{report:#}");
    let (code, report) = examined(home, &[]);
    assert_eq!((code, check(&report, name).0.as_str()), (0, "ok"), "{report:#}");
}

/// It cannot be repaired, and `--fix` says so and changes nothing.
fn assert_unrepaired(home: &Home, name: &str) {
    let (before, next) = (home.export_text(), next_steps(home));
    assert!(!next.contains("--fix"), "{next}");
    let (code, report) = examined(home, &["--fix"]);
    assert_eq!((code, check(&report, name).0.as_str()), (1, "fault"), "{report:#}");
    assert!(home.export_text() == before, "memories were changed");
}

#[test]
fn a_sound_home_has_no_findings() {
    let home = furnished();
    let (code, report) = examined(&home, &[]);
    assert_eq!((code, &report["ok"]), (0, &json!(true)), "{report:#}");
    for name in [
        "home", "config", "permissions", "disk", "leftovers", "trials", "daemon", "versions", "rows",
        "events", "edges", "links", "revisions", "jobs", "vectors", "index", "history", "journal", "model",
        "relations", "backup",
    ] {
        assert_eq!(check(&report, name).0, "ok", "{report:#}");
    }
    let shown = home.run(&["doctor"]).success();
    assert!(shown.contains("revisions") && shown.contains("without a gap"), "{shown}");
    let nothing = Home::new();
    assert_eq!(examined(&nothing, &[]).0, 0);
    assert!(!nothing.data().exists(), "looking made a home");
}

#[test]
fn files_of_setup_are_closed_to_others() {
    let home = Home::new();
    home.agent().save("First", "Of a new home.");
    home.run(&["setup", "cursor"]).success();
    let (_, report) = examined(&home, &[]);
    assert_eq!(check(&report, "permissions").0, "ok", "{report}");
}

#[test]
fn a_gap_in_the_log_is_seen() {
    let home = furnished();
    alter(&home, "DELETE event WHERE seq = 3");
    assert_seen(&home, "events", "the first one missing is 3");
    assert_unrepaired(&home, "events");
}

#[test]
fn an_edge_without_an_end_is_removed() {
    let home = furnished();
    alter(
        &home,
        "OPTION IMPORT; INSERT RELATION INTO CREATED_IN { id: CREATED_IN:loose, in: memory:aaaaaaaaaaaa, \
         out: session:nobody, at: time::now() };",
    );
    assert_seen(&home, "edges", "CREATED_IN:loose");
    assert_repaired(&home, "edges");
}

#[test]
fn a_session_that_is_named_but_not_there_is_seen() {
    let home = furnished();
    alter(&home, "UPDATE prompt SET session = session:nobody");
    assert_seen(&home, "links", "prompt:");
}

#[test]
fn a_lost_revision_is_seen() {
    let home = furnished();
    alter(&home, "DELETE revision WHERE revision = 1");
    assert_seen(&home, "revisions", "memory `");
    assert_unrepaired(&home, "revisions");
}

#[test]
fn orphaned_stuck_and_dead_jobs_are_reported() {
    let home = furnished();
    let job = |name: &str, rest: &str| {
        format!(
            "CREATE job:{name} SET revision = 1, kind = 'embed', attempts = 1, due_at = time::now() - 1d, {rest};"
        )
    };
    alter(&home, &job("orphan", "memory = memory:aaaaaaaaaaaa, state = 'queued'"));
    assert_seen(&home, "jobs", "job:orphan");
    assert_repaired(&home, "jobs");
    let live = "memory = (SELECT VALUE id FROM memory WHERE live = true LIMIT 1)[0]";
    alter(&home, &job("stuck", &format!("{live}, state = 'leased'")));
    assert_seen(&home, "jobs", "job:stuck");
    assert_repaired(&home, "jobs");
    alter(&home, &job("dead", &format!("{live}, state = 'dead'")));
    assert_seen(&home, "jobs", "given up");
    let shown = home.run(&["doctor"]);
    assert!(shown.stderr.contains("cerebro jobs retry"), "{shown:?}");
    assert!(next_steps(&home).contains("cerebro jobs retry"));
    assert_unrepaired(&home, "jobs");
}

#[test]
fn missing_and_orphaned_vectors_are_repaired() {
    let home = furnished();
    alter(
        &home,
        "DEFINE TABLE IF NOT EXISTS model; DEFINE TABLE vector_test_abc;
         CREATE model:vector_test_abc SET name = 'test', dimension = 2, table = 'vector_test_abc',
             state = 'active', at = time::now();
         FOR $one IN (SELECT id, revision, project FROM memory WHERE live = true) {
             CREATE vector_test_abc SET memory = $one.id, revision = $one.revision, passage = 0,
                 project = $one.project, place = <string> $one.id, embedding = [0.6, 0.8];
         };
         DELETE job;",
    );
    assert_eq!(check(&examined(&home, &[]).1, "vectors").0, "ok");
    alter(
        &home,
        "CREATE vector_test_abc:loose SET memory = memory:aaaaaaaaaaaa, revision = 1, passage = 0,
             project = '', place = 'x', embedding = [1.0, 0.0];",
    );
    assert_seen(&home, "vectors", "vector_test_abc:loose");
    assert_repaired(&home, "vectors");
    alter(&home, "DELETE (SELECT VALUE id FROM vector_test_abc LIMIT 1)");
    assert_seen(&home, "vectors", "without vector and job");
    assert_repaired(&home, "vectors");
}

#[test]
fn an_index_that_differs_from_the_store_is_rebuilt() {
    let home = furnished();
    let mut agent = home.agent();
    let ghost = agent.save("Ghost", "The petrel is only in the index.");
    let stale = agent.save("Stale", "The shearwater was changed behind its back.");
    agent.search("petrel");
    drop(agent);
    alter(&home, &format!("UPDATE memory:{stale} SET updated_at = time::now()"));
    assert_seen(&home, "index", "as they were before");
    assert_repaired(&home, "index");
    alter(&home, &format!("UPDATE memory:{ghost} SET live = false, deleted_at = time::now(); DELETE job"));
    assert_seen(&home, "index", "that are not live");
    assert_repaired(&home, "index");
    assert_eq!(home.agent().search("petrel"), Vec::<String>::new());
    alter(&home, &format!("UPDATE memory:{ghost} SET live = true, deleted_at = NONE"));
    assert_seen(&home, "index", "are not in it");
    assert_repaired(&home, "index");
    assert_eq!(home.agent().search("petrel"), [ghost]);
}

#[test]
fn a_row_that_cannot_be_read_is_seen() {
    let home = furnished();
    alter(&home, "UPDATE prompt SET project = string::repeat('p', 300)");
    assert_seen(&home, "rows", "`prompt`");
    alter(&home, "UPDATE memory SET type = ''");
    let (code, report) = examined(&home, &[]);
    assert_eq!((code, check(&report, "rows").0.as_str()), (1, "fault"), "{report:#}");
    assert_eq!(check(&report, "index").0, "unknown", "{report:#}");
}

#[test]
fn permissions_of_the_home_are_repaired() {
    let home = furnished();
    let file = home.json(&["backup"])["file"].as_str().unwrap().to_owned();
    for path in [home.data().join("daemon.log"), file.into(), home.data().join("run/daemon.sock")] {
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let before = mode(&path);
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert_seen(&home, "permissions", path.file_name().unwrap().to_str().unwrap());
        assert_repaired(&home, "permissions");
        assert_eq!(mode(&path), before, "{path:?}");
    }
    fs::set_permissions(home.data(), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(check(&examined(&home, &[]).1, "home").0, "fixed", "any command closes it");
    assert_eq!(check(&examined(&home, &[]).1, "home").0, "ok");
}

#[test]
fn a_disk_that_is_nearly_full_is_seen() {
    let home = Home::at("disk/data");
    let Some(_disk) = Disk::mount(&home, "disk", "size=200m,mode=700") else { return };
    home.agent().save("One", "First text.");
    assert_seen(&home, "disk", "saves are refused");
    home.end();
}

#[test]
fn remains_of_killed_processes_are_removed() {
    let home = furnished();
    home.json(&["backup"]);
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    let part = home.data().join("backups/.cerebro-1.surql.zst.part");
    let young = home.data().join("backups/.cerebro-2.surql.zst.part");
    for path in [&part, &young] {
        fs::write(path, "half").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }
    File::open(&part).unwrap().set_modified(long_ago).unwrap();
    assert_seen(&home, "leftovers", "cerebro-1");
    assert_repaired(&home, "leftovers");
    assert!(!part.exists() && young.exists());
    home.kill_daemon();
    assert!(home.data().join("run/daemon.sock").exists(), "a killed daemon leaves its socket");
    assert_seen(&home, "leftovers", "daemon.sock");
}

#[test]
fn a_configuration_that_cannot_be_read_is_seen_and_the_rest_is_unknown() {
    let home = furnished();
    home.run(&["daemon", "stop"]).success();
    fs::write(home.data().join("config.toml"), "idel_exit = \"1s\"\n").unwrap();
    let (code, report) = examined(&home, &["--fix"]);
    assert_eq!((code, check(&report, "config").0.as_str()), (1, "fault"), "{report:#}");
    assert!(check(&report, "config").1.contains("idel_exit"), "{report:#}");
    assert_eq!(check(&report, "daemon").0, "fault", "{report:#}");
    for name in ["rows", "events", "edges", "links", "revisions", "jobs", "vectors", "index", "backup"] {
        assert_eq!(check(&report, name).0, "unknown", "{report:#}");
    }
    fs::remove_file(home.data().join("config.toml")).unwrap();
    assert_eq!(examined(&home, &[]).0, 0);
}

#[test]
fn a_store_that_does_not_open_is_reported() {
    let home = furnished();
    home.run(&["daemon", "stop"]).success();
    fs::write(home.data().join("store/CURRENT"), "no manifest\n").unwrap();
    let (code, report) = examined(&home, &[]);
    assert_eq!((code, check(&report, "store").0.as_str()), (1, "fault"), "{report:#}");
    assert_eq!(check(&report, "events").0, "unknown", "{report:#}");
}

#[test]
fn a_store_that_another_process_holds_is_named() {
    let home = furnished();
    home.run(&["daemon", "stop"]).success();
    // As RocksDB does it.
    let held = File::options().write(true).open(home.data().join("store/LOCK")).unwrap();
    rustix::fs::fcntl_lock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    let (code, report) = examined(&home, &[]);
    let (state, words) = check(&report, "store");
    assert_eq!((code, state.as_str()), (1, "fault"), "{report:#}");
    let store = home.data().join("store").display().to_string();
    assert!(words.contains(&store) && words.contains("another process"), "{words}");
    home.run(&["daemon", "stop"]).success();
    drop(held);
    assert_eq!(examined(&home, &[]).0, 0);
}

#[test]
fn a_home_that_another_process_holds_is_named() {
    let home = furnished();
    home.run(&["daemon", "stop"]).success();
    let lock = home.data().join("daemon.lock");
    let held = File::open(&lock).unwrap();
    held.lock().unwrap();
    let (code, report) = examined(&home, &[]);
    let (state, words) = check(&report, "daemon");
    assert_eq!((code, state.as_str()), (1, "fault"), "{report:#}");
    assert!(words.contains(&lock.display().to_string()) && words.contains("another process"), "{words}");
    assert!(!words.contains("cerebro daemon"), "the daemon that was there before does not hold it: {words}");
    drop(held);
    assert_eq!(examined(&home, &[]).0, 0);
}

#[test]
fn a_daemon_without_the_lock_leaves_by_itself() {
    let home = furnished();
    home.json(&["daemon", "start"]);
    let old = home.daemons();
    // As when the file is removed under it: it holds the lock of a file that is no longer there.
    let lock = home.data().join("daemon.lock");
    let text = fs::read(&lock).unwrap();
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, text).unwrap();
    fs::set_permissions(&lock, Permissions::from_mode(0o600)).unwrap();
    wait_for("the daemon to leave", || (!home.daemons().iter().any(|pid| old.contains(pid))).then_some(()));
    assert_eq!(examined(&home, &[]).0, 0);
}

#[test]
fn relations_without_a_model_are_a_finding() {
    let home = Home::with_config("[relations]\nprovider = \"openai\"\n");
    home.agent().save("One", "First text.");
    assert_seen(&home, "relations", "names no `model`");
    let shown = home.json(&["worker", "status"]);
    assert!(shown["relations_fault"].as_str().unwrap().contains("names no `model`"), "{shown}");
    assert!(home.run(&["worker", "status"]).success().contains("names no `model`"));
}

#[test]
fn a_model_that_is_not_there_is_a_finding() {
    let home = Home::with_config("[embeddings]\nprovider = \"local\"\nmodel = \"nowhere\"\n");
    home.agent().save("One", "First text.");
    assert_seen(&home, "model", "nowhere");
}

#[test]
fn a_backup_that_fails_is_a_finding() {
    let home = Home::with_config("[backup]\nevery = \"1s\"\ndir = \"/proc/nowhere\"\n");
    home.agent().save("One", "First text.");
    let words = wait_for("the failure to be found", || {
        let (code, report) = examined(&home, &[]);
        let (state, words) = check(&report, "backup");
        (code == 1 && state == "fault").then_some(words)
    });
    assert!(words.contains("/proc/nowhere"), "{words}");
}

/// A folder that other programs use too is named, and left alone.
#[test]
fn files_of_onnx_runtime_outside_the_home_are_named_and_kept() {
    let home = furnished();
    let left = home.user().join(".cache/Microsoft/DeveloperTools/.onnxruntime");
    let (_, report) = examined(&home, &[]);
    assert!(!check(&report, "telemetry").1.contains("device id"), "{report:#}");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("deviceid"), "somebody's").unwrap();
    let (code, report) = examined(&home, &["--fix"]);
    let (state, words) = check(&report, "telemetry");
    assert_eq!((code, state.as_str()), (0, "ok"), "{report:#}");
    assert!(words.contains(left.to_str().unwrap()), "{words}");
    assert_eq!(fs::read_to_string(left.join("deviceid")).unwrap(), "somebody's");
}
