//! The process that reads documents: what it may use, and that it can do nothing but read its input.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::support::{Home, Value, json};

/// A running `cerebro read-document`.
struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it; returns its first message, too.
    fn start() -> (Self, Value) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cerebro"))
            .arg("read-document")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut process = Self { child, stdin, stdout };
        let hello = process.line().unwrap();
        (process, hello)
    }

    fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).ok()
    }

    fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_program_that_reads_is_confined_and_bounded() {
    let (mut process, hello) = Process::start();
    if !cfg!(target_os = "linux") {
        return crate::support::skip("only Linux says what a process may do");
    }
    assert_eq!(hello, json!({ "isolated": true }));
    let status = process.proc("status");
    let fact = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().to_owned()
    };
    assert_eq!((fact("Seccomp"), fact("NoNewPrivs"), fact("Threads")), ("2".into(), "1".into(), "1".into()));
    let limits = process.proc("limits");
    for (name, most) in [
        ("Max data size", "536870912"),
        ("Max cpu time", "600"),
        ("Max core file size", "0"),
        ("Max open files", "3"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let values: Vec<&str> = line.split_whitespace().take(2).collect();
        assert_eq!(values, [most, most], "{name}");
    }
    // It still reads.
    writeln!(process.stdin, "{}", json!({ "format": "markdown", "bytes": 5, "image": null })).unwrap();
    process.stdin.write_all(b"# A\nb").unwrap();
    let answer = process.line().unwrap();
    assert!(answer["reading"].to_string().contains("\"b\""), "{answer}");
}

#[test]
fn a_file_beyond_the_bound_and_a_broken_request_end_it() {
    let beyond = json!({ "format": "text", "bytes": (16 << 20) + 1, "image": null }).to_string();
    for wrong in [beyond.as_str(), "{}", "\u{1}", &"x".repeat(9 << 10)] {
        let (mut process, _) = Process::start();
        // It may be gone before it has all.
        let _ = writeln!(process.stdin, "{wrong}");
        let mut rest = Vec::new();
        process.stdout.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "{wrong}");
        assert!(!process.child.wait().unwrap().success(), "{wrong}");
    }
}

#[test]
fn ingest_says_whether_the_files_were_read_in_confinement() {
    let home = Home::new();
    fs::write(home.work().join("a.md"), "# A\n\nText.\n").unwrap();
    let answer = home.json(&["ingest", "a.md"]);
    assert_eq!(answer["isolated"], cfg!(target_os = "linux"), "{answer}");
}
