//! Transcripts as agents write them, made up by the tests.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Home, Value, json, wait_for};

/// A session of Claude Code, line by line.
pub struct Claude {
    session: String,
    cwd: String,
    lines: Vec<String>,
    /// The native id of the last line.
    last: Option<String>,
}

impl Claude {
    /// A session in a folder.
    pub fn new(session: &str, cwd: &Path) -> Self {
        Self { session: session.to_owned(), cwd: cwd.display().to_string(), lines: Vec::new(), last: None }
    }

    fn push(&mut self, kind: &str, content: Value) {
        let (n, session) = (self.lines.len(), &self.session);
        let uuid = format!("{session}-{n}");
        let line = json!({
            "type": kind, "uuid": uuid, "parentUuid": self.last, "sessionId": session, "cwd": self.cwd,
            "version": "2.1.39", "gitBranch": "main", "isSidechain": false,
            "timestamp": format!("2026-10-{:02}T{:02}:{:02}:00.001Z", 1 + n / 1440, n / 60 % 24, n % 60),
            "message": { "role": kind, "id": format!("msg-{session}-{n}"), "content": content },
        });
        self.lines.push(line.to_string());
        self.last = Some(uuid);
    }

    /// The user asks, and the agent answers.
    pub fn turn(mut self, prompt: &str, answer: &str) -> Self {
        self.push("user", json!(prompt));
        self.push("assistant", json!([{ "type": "text", "text": answer }]));
        self
    }

    /// The agent calls a tool and gets its answer.
    pub fn call(mut self, tool: &str, input: Value, output: &str, is_error: bool) -> Self {
        let id = format!("call-{}-{}", self.session, self.lines.len());
        self.push("assistant", json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]));
        let answer =
            json!({ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error });
        self.push("user", json!([answer]));
        self
    }

    /// From now on in another folder.
    pub fn moved(mut self, cwd: &Path) -> Self {
        self.cwd = cwd.display().to_string();
        self
    }

    /// A session with many turns.
    pub fn long(mut self, turns: usize) -> Self {
        for n in 0..turns {
            let subject = super::word(n);
            self = self.turn(
                &format!("Look at the {subject} number {n}"),
                &format!(
                    "The {subject} number {n} is in order; {}.",
                    "it was looked at with care ".repeat(12)
                ),
            );
        }
        self
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// A copy under another id, as a fork makes it: the same native ids.
    pub fn forked(&self, session: &str) -> Self {
        let from = format!("\"sessionId\":\"{}\"", self.session);
        let into = format!("\"sessionId\":\"{session}\"");
        let lines = self.lines.iter().map(|line| line.replace(&from, &into)).collect();
        Self { session: session.to_owned(), cwd: self.cwd.clone(), lines, last: self.last.clone() }
    }

    /// Puts the file where Claude Code has it.
    pub fn write(&self, home: &Home) -> PathBuf {
        let path = claude_file(home, &self.session);
        fs::write(&path, self.text()).unwrap();
        path
    }
}

/// Where Claude Code keeps a session.
pub fn claude_file(home: &Home, session: &str) -> PathBuf {
    let folder = home.user().join(".claude/projects/-work");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("{session}.jsonl"))
}

/// A rollout of Codex with some turns.
pub fn codex(session: &str, cwd: &Path, turns: &[(&str, &str)]) -> String {
    let line = |kind: &str, payload: Value| {
        format!("{}\n", json!({ "timestamp": "2026-10-02T03:04:05.006Z", "type": kind, "payload": payload }))
    };
    let message = |role: &str, form: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": form, "text": text }] });
    let mut text = line(
        "session_meta",
        json!({ "id": session, "cwd": cwd, "originator": "codex_cli_rs", "source": "cli" }),
    );
    for (n, (prompt, answer)) in turns.iter().enumerate() {
        text +=
            &line("turn_context", json!({ "turn_id": format!("{session}-{n}"), "cwd": cwd, "model": "m" }));
        text += &line("response_item", message("user", "input_text", prompt));
        text += &line("response_item", message("assistant", "output_text", answer));
    }
    text
}

/// Where Codex keeps a rollout.
pub fn codex_file(home: &Home, session: &str) -> PathBuf {
    let folder = home.user().join(".codex/sessions/2026/10/02");
    fs::create_dir_all(&folder).unwrap();
    folder.join(format!("rollout-2026-10-02T03-04-05-{session}.jsonl"))
}

/// Adds to the end of a file.
pub fn append(path: &Path, bytes: &[u8]) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

impl Home {
    /// Imports all past sessions and returns the command's output.
    pub fn take_in(&self) -> Value {
        self.json(&["history", "import", "--yes", "--since", "0"])
    }

    /// Waits until the daemon has looked through all folders after its start.
    pub fn first_look(&self) {
        wait_for("the first look", || {
            let status = self.json(&["history", "status"]);
            (!status["scanned_at"].is_null() && status["state"] == "idle").then_some(())
        });
    }

    /// The ids of all past sessions, in order.
    pub fn past_sessions(&self) -> Vec<String> {
        let listed = self.json(&["history", "show", "--all-projects"]);
        let sessions = listed["sessions"].as_array().unwrap_or_else(|| panic!("no sessions in {listed}"));
        let ids = sessions.iter().map(|session| session["session"].as_str().unwrap().to_owned());
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        ids
    }

    /// Every past session with its exchanges, complete and in order of id, to compare two homes.
    pub fn past(&self) -> Vec<Value> {
        self.past_sessions()
            .iter()
            .map(|session| self.json(&["history", "show", session, "--full"]))
            .collect()
    }

    /// The titles of a past session's exchanges, in order.
    pub fn past_titles(&self, session: &str) -> Vec<String> {
        let shown = self.json(&["history", "show", session]);
        let exchanges = shown["exchanges"].as_array().unwrap_or_else(|| panic!("no exchanges in {shown}"));
        exchanges.iter().map(|exchange| exchange["title"].as_str().unwrap().to_owned()).collect()
    }
}
