//! Two daemons on one database that read the same sessions at the same time keep each exchange once.

use crate::support::transcripts::Claude;
use crate::support::{Home, Surreal, scaled};

const SESSIONS: usize = 4;

fn write(home: &Home, folder: &std::path::Path) {
    for n in 0..SESSIONS {
        Claude::new(&format!("s-{n}"), folder).long(scaled(150).max(20)).write(home);
    }
}

#[test]
fn two_daemons_give_the_same_as_one() {
    let server = Surreal::start();
    let homes = [server.home("ws", ""), server.home("ws", "")];
    let folder = homes[0].work();
    for home in &homes {
        write(home, &folder);
    }
    std::thread::scope(|scope| {
        for home in &homes {
            scope.spawn(|| home.take_in());
        }
    });
    let clean = Home::new();
    write(&clean, &folder);
    clean.take_in();
    let wanted = clean.past();
    assert_eq!(wanted.len(), SESSIONS);
    for home in &homes {
        assert_eq!(home.past(), wanted);
    }
    let checks = homes[0].json(&["doctor"]);
    let history = checks["checks"].as_array().unwrap().iter().find(|row| row["check"] == "history");
    assert_eq!(history.unwrap()["state"], "ok", "{checks:#}");
}
