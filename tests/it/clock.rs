//! The clock of the machine goes back.

use std::process::{Command, Stdio};

use crate::support::{Home, PROGRAM, json, skip, wait_for};

#[test]
fn the_order_of_time_outlives_a_clock_that_goes_back() {
    if Command::new("faketime").arg("--version").output().is_err() {
        skip("faketime is not installed");
        return;
    }
    let home = Home::new();
    let mut ahead = Command::new("faketime");
    ahead
        .args(["-f", "+3d", PROGRAM, "--home"])
        .arg(home.data())
        // Itself, and not by a starter: what a daemon keeps of its starter's environment has no false clock.
        .args(["daemon", "run"])
        .env_clear()
        .env("HOME", home.user())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stderr(Stdio::null());
    let mut ahead = ahead.spawn().unwrap();
    wait_for("the daemon of the future", || home.run(&["daemon", "status"]).status.success().then_some(()));
    let mut agent = home.agent();
    agent.ok("mem_session_start", json!({"id": "s1"}));
    let first = agent.save("Written in the future", "The clock is three days ahead.");
    home.run(&["daemon", "stop"]).success();
    ahead.wait().unwrap();
    wait_for("the daemon to leave", || home.daemons().is_empty().then_some(()));
    let second = agent.save("Written after it went back", "The clock is right again.");
    let line = agent.ok("mem_timeline", json!({"id": second}));
    assert!(line.ids("before").contains(&first), "{line:?}");
    let context = agent.ok("mem_context", json!({}));
    let text = context.str("text");
    assert!(text.find(&second) < text.find(&first), "the last written comes first: {text}");
}
