//! The first start in a new home: it waits for few syncs of the disk, and may be killed at any moment.

use std::process::{Child, Stdio};
use std::time::Instant;

use crate::support::{FaultyDisk, Home, scaled};

/// Most syncs of a first start. Indexes that are synced commit by commit take a thousand.
const SYNCS_MAX: u64 = 200;
const MOMENTS: usize = 5;

#[test]
fn a_first_start_waits_for_few_syncs() {
    let home = Home::new();
    let Some(disk) = FaultyDisk::start(&home) else { return };
    let first = disk.syncs();
    assert!(first <= SYNCS_MAX, "{first} syncs");
    home.save("The first", "It is on the disk.");
    assert!(disk.syncs() > first, "a save that was acknowledged was not synced");
}

#[test]
fn a_home_whose_first_start_was_killed_at_any_moment_is_as_good_as_new() {
    let begun = Instant::now();
    Home::new().json(&["projects"]);
    let whole = begun.elapsed();
    let moments = u32::try_from(scaled(MOMENTS)).unwrap();
    for moment in 1..=moments {
        let home = Home::new();
        let mut daemon = run_daemon(&home);
        std::thread::sleep(whole * moment / (moments + 1));
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let mut agent = home.agent();
        let id = agent.save("After the kill", "It is kept.");
        home.kill_daemon();
        assert_eq!(agent.get(&id)["content"], "It is kept.", "moment {moment} of {moments}");
        home.run(&["doctor"]).success();
    }
}

fn run_daemon(home: &Home) -> Child {
    let mut command = home.command();
    command.args(["daemon", "run"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}
