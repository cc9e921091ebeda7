//! The screens on a real terminal, which `script` makes: what a panic leaves behind, and that no log is printed there.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use cerebro::tui::Options;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::support::Home;

/// Names the home of the screens to the process that should panic.
const HOME: &str = "CEREBRO_TEST_PANIC_HOME";
const WORDS: &str = "the clock of the test ends here";

/// A clock that breaks when the screens have been drawn.
fn broken_clock() -> Timestamp {
    static READ: AtomicUsize = AtomicUsize::new(0);
    assert!(READ.fetch_add(1, Ordering::SeqCst) < 3, "{WORDS}");
    Timestamp::UNIX_EPOCH
}

#[test]
#[ignore = "panics; the test below runs it on a terminal"]
fn screens_that_panic() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let home = cerebro::home::Home::open(Some(home.as_ref())).unwrap();
    let options = Options {
        colour: true,
        zone: TimeZone::UTC,
        starts_daemon: false,
        project: None,
        clock: broken_clock,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(cerebro::tui::run(home, options)).unwrap();
}

#[test]
fn a_panic_restores_the_terminal_before_it_is_reported() {
    let home = Home::new();
    let (seen, before, after) = ("seen", "before", "after");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = std::env::current_exe().unwrap();
    let inside = format!(
        "stty -g >'{}'; '{}' --exact tui_terminal::screens_that_panic --ignored --nocapture; stty -g >'{}'",
        path(before).display(),
        program.display(),
        path(after).display(),
    );
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &inside])
        .arg(path(seen))
        .env(HOME, home.data())
        .env("TERM", "xterm-256color")
        .output()
        .unwrap();
    let read = |name| String::from_utf8_lossy(&std::fs::read(path(name)).unwrap()).into_owned();
    let shown = read(seen);
    let at = |what: &str| shown.find(what).unwrap_or_else(|| panic!("no {what:?} in {shown:?}\n{output:?}"));
    let (taken, left, cursor, message) = (at("\x1b[?1049h"), at("\x1b[?1049l"), at("\x1b[?25h"), at(WORDS));
    assert!(taken < left && left < message && cursor < message, "{shown:?}");
    assert_eq!(read(before), read(after), "the terminal's settings");
}

#[test]
fn nothing_is_logged_into_the_screens() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let inside = format!("'{}' --home '{}' tui", env!("CARGO_BIN_EXE_cerebro"), home.data().display());
    let mut terminal = Command::new("script")
        .args(["--quiet", "--return", "--command", &inside])
        .arg(&seen)
        // An unknown setting causes a warning at once.
        .env("CEREBRO_LOG", "a=filter=like=none")
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    terminal.stdin.take().unwrap().write_all(b"q").unwrap();
    assert!(terminal.wait().unwrap().success());
    let shown = String::from_utf8_lossy(&std::fs::read(&seen).unwrap()).into_owned();
    assert!(shown.contains("\x1b[?1049h"), "no screens: {shown:?}");
    assert!(!shown.contains("CEREBRO_LOG"), "{shown:?}");
}
