//! Past sessions are imported once, whatever happens to the files and to the daemon.

use std::fs;
use std::time::Duration;

use crate::support::transcripts::{Claude, append, claude_file, codex, codex_file};
use crate::support::{Home, Value, copy, json, scaled, wait_for};

/// Asserts that a home has what a fresh import of `from` gives.
#[track_caller]
pub fn assert_like_a_clean_import(home: &Home) {
    let clean = Home::new();
    fs::create_dir_all(clean.user()).unwrap();
    for folder in [".claude", ".codex"] {
        let from = home.user().join(folder);
        if from.exists() {
            copy(&from, &clean.user().join(folder));
        }
    }
    clean.take_in();
    let (got, want) = (home.past(), clean.past());
    assert!(!want.is_empty(), "nothing was taken in");
    assert_eq!(names(&got), names(&want));
    for (got, want) in got.iter().zip(&want) {
        assert_eq!(got, want);
    }
}

fn names(sessions: &[Value]) -> Vec<String> {
    sessions.iter().map(|session| format!("{} {}", session["session"], session["total"])).collect()
}

#[test]
fn nothing_is_imported_without_consent() {
    let home = Home::new();
    Claude::new("s-1", &home.work()).turn("Ask about the gannet", "It nests.").write(&home);
    let refused = home.run(&["history", "import"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    let found = home.json(&["history", "import", "--dry-run"]);
    assert_eq!(found["agents"][0]["agent"], "claude-code", "{found}");
    assert_eq!(found["agents"][0]["fresh"], 1, "{found}");
    let status = home.json(&["history", "status"]);
    assert_eq!((&status["state"], &status["sessions"]), (&json!("off"), &json!(0)), "{status}");

    let status = home.take_in();
    assert_eq!((&status["state"], &status["sessions"]), (&json!("idle"), &json!(1)), "{status}");
    assert_eq!(home.past_titles("s-1"), ["Ask about the gannet"]);
    let config = fs::read_to_string(home.data().join("config.toml")).unwrap();
    assert!(config.contains("enabled = true"), "{config}");
}

#[test]
fn only_the_chosen_sources_are_imported() {
    let home = Home::new();
    let (mine, other) = (home.folder("mine"), home.folder("other"));
    Claude::new("s-mine", &mine).turn("Ask", "Answer.").write(&home);
    Claude::new("s-other", &other).turn("Ask", "Answer.").write(&home);
    fs::write(codex_file(&home, "c-mine"), codex("c-mine", &mine, &[("Ask", "Answer.")])).unwrap();
    // A project is named by the remote of its repository.
    fs::create_dir(mine.join(".git")).unwrap();
    fs::write(mine.join(".git/config"), "[remote \"origin\"]\n\turl = https://example.com/acme/mine.git\n")
        .unwrap();
    fs::write(mine.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let chosen = "acme/mine";
    let narrow = ["history", "import", "--agent", "claude-code", "--project", chosen];
    let found = home.json(&[&narrow[..], &["--dry-run", "--since", "0"]].concat());
    let agents = found["agents"].as_array().unwrap();
    assert_eq!((agents.len(), &agents[0]["files"]), (1, &json!(1)), "{found}");

    home.json(&[&narrow[..], &["--yes", "--since", "0"]].concat());
    assert_eq!(home.past_sessions(), ["s-mine"]);
    let config = fs::read_to_string(home.data().join("config.toml")).unwrap();
    for line in ["agents = [\"claude-code\"]", &format!("include = [\"{chosen}\"]"), "enabled = true"] {
        assert!(config.contains(line), "{config}");
    }
    // The scan at the daemon's start keeps to the choice, and so does an import that names no source.
    home.kill_daemon();
    home.json(&["daemon", "start"]);
    home.first_look();
    home.take_in();
    assert_eq!(home.past_sessions(), ["s-mine"]);

    home.json(&["history", "import", "--agent", "codex", "--yes", "--since", "0"]);
    assert_eq!(home.past_sessions(), ["c-mine", "s-mine"], "a later yes widens the choice");
    home.json(&["history", "include", other.to_str().unwrap()]);
    home.take_in();
    assert_eq!(home.past_sessions().len(), 3);
    home.json(&["history", "include", chosen, "--remove"]);
    assert_eq!(home.json(&["history", "include"])["include"], json!(["all of codex", other]));
    assert_eq!(home.run(&["history", "include", chosen, "--remove"]).code(), 1);
}

#[test]
fn setup_imports_nothing_without_consent() {
    let home = Home::new();
    Claude::new("s-1", &home.work()).turn("Ask about the gannet", "It nests.").write(&home);
    let config = || fs::read_to_string(home.data().join("config.toml")).unwrap_or_default();
    let run = home.run(&["setup", "claude-code"]);
    assert!(run.stderr.contains("past sessions of agents on this machine (1 file, "), "{run:?}");
    home.run(&["setup", "claude-code", "--history", "no"]).success();
    assert!(!config().contains("enabled"), "{}", config());
    home.run(&["setup", "claude-code", "--history", "yes"]).success();
    assert!(config().contains("enabled = true"), "{}", config());
    wait_for("the session", || (home.json(&["history", "status"])["sessions"] == 1).then_some(()));
}

#[test]
fn twice_is_once() {
    let home = Home::new();
    Claude::new("s-1", &home.work()).long(30).write(&home);
    fs::write(codex_file(&home, "c-1"), codex("c-1", &home.work(), &[("Mend the auk", "Mended.")])).unwrap();
    home.take_in();
    let (before, events) = (home.past(), home.events().len());
    assert_eq!(before.len(), 2, "{before:?}");
    home.take_in();
    assert_eq!(home.past(), before);
    assert_eq!(home.events().len(), events, "nothing happened the second time");
}

#[test]
fn a_file_that_is_cut_anywhere_and_grows_is_read_to_its_end() {
    let home = Home::new();
    let session = Claude::new("s-1", &home.work())
        .turn("Mend the petrel", "Looking.")
        .call("Bash", json!({"command": "cargo test"}), "error: no petrel", true)
        .call(
            "Edit",
            json!({"file_path": "/w/src/petrel.rs", "old_string": "a", "new_string": "b"}),
            "ok",
            false,
        )
        .call("Bash", json!({"command": "cargo test"}), "ok", false)
        .turn("And the shearwater", "Done, with é and ü and 語.")
        .turn("Thanks", "You are welcome.");
    let text = session.text();
    let path = claude_file(&home, "s-1");
    let steps = scaled(12).max(3);
    for step in 0..=steps {
        // Any byte, also within a character.
        let cut = text.len() * step / steps;
        fs::write(&path, &text.as_bytes()[..cut]).unwrap();
        home.take_in();
    }
    assert_eq!(home.past_titles("s-1"), ["Mend the petrel", "And the shearwater", "Thanks"]);
    assert_like_a_clean_import(&home);
}

#[test]
fn a_session_that_moves_to_another_folder_stays_in_the_project_where_it_began() {
    let home = Home::new();
    let began = Claude::new("s-1", &home.folder("began")).turn("Mend the petrel", "Looking.");
    began.write(&home);
    home.take_in();
    began.moved(&home.folder("later")).turn("And the tern", "Done.").write(&home);
    home.take_in();
    assert_like_a_clean_import(&home);
}

#[test]
fn a_file_that_only_grows_is_read_on() {
    let home = Home::new();
    let text = Claude::new("s-1", &home.work()).long(40).text();
    let path = claude_file(&home, "s-1");
    fs::write(&path, "").unwrap();
    let mut at = 0;
    for step in 1..=6 {
        let cut = text.len() * step / 6;
        append(&path, &text.as_bytes()[at..cut]);
        at = cut;
        home.take_in();
    }
    let status = home.json(&["history", "status"]);
    assert_eq!(status["bytes_done"], status["bytes"], "only the end was read: {status}");
    assert_like_a_clean_import(&home);
}

#[test]
fn a_file_that_grows_during_an_import_gives_the_same() {
    let home = Home::new();
    let text = Claude::new("s-1", &home.work()).long(60).text();
    let path = claude_file(&home, "s-1");
    fs::write(&path, "").unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            // The cuts are not at line ends, as when the system splits a program's writes.
            for piece in text.as_bytes().chunks(997) {
                append(&path, piece);
                std::thread::yield_now();
            }
        });
        while !writer.is_finished() {
            home.take_in();
        }
    });
    home.take_in();
    assert_eq!(home.past_titles("s-1").len(), 60);
    assert_like_a_clean_import(&home);
}

#[test]
fn a_file_that_was_rewritten_is_read_again_and_nothing_is_stored_twice() {
    let home = Home::new();
    let path = Claude::new("s-1", &home.work()).long(20).write(&home);
    home.take_in();
    let shorter = Claude::new("s-1", &home.work()).turn("Begin anew", "Yes.").long(5).text();
    fs::write(&path, shorter).unwrap();
    home.take_in();
    assert_eq!(home.past_titles("s-1").len(), 6);
    assert_like_a_clean_import(&home);
}

#[test]
fn an_emptied_file_takes_nothing_away_until_it_is_written_anew() {
    let home = Home::new();
    let id = "019a1f2e-7c1d-4a10-8f00-0123456789ab";
    let path = Claude::new(id, &home.work()).long(20).write(&home);
    home.take_in();
    let before = home.past();
    for begun in ["", "{\"type\":\"us"] {
        fs::write(&path, begun).unwrap();
        home.take_in();
        assert_eq!(home.past(), before, "{begun}");
    }
    fs::write(&path, Claude::new(id, &home.work()).long(5).text()).unwrap();
    home.take_in();
    assert_eq!(home.past_titles(id).len(), 5);
    assert_like_a_clean_import(&home);
}

#[test]
fn a_renamed_file_is_the_same_session_and_a_deleted_one_stays() {
    let home = Home::new();
    let path = Claude::new("s-1", &home.work()).long(10).write(&home);
    home.take_in();
    let before = home.past();
    let moved = path.with_file_name("moved.jsonl");
    fs::rename(&path, &moved).unwrap();
    home.take_in();
    assert_eq!(home.past(), before);
    fs::remove_file(&moved).unwrap();
    home.take_in();
    assert_eq!(home.past(), before, "the archive outlives the agent's own deletion");
}

#[test]
fn a_session_is_in_the_project_of_its_transcript_although_its_prompts_were_read_first() {
    let home = Home::new();
    let rollout = codex("c-1", &home.work(), &[("Mend the auk", "Mended."), ("And the murre", "Done.")]);
    let typed = home.user().join(".codex/history.jsonl");
    let path = codex_file(&home, "c-1");
    let line = json!({ "session_id": "c-1", "ts": 1_790_000_000, "text": "Mend the auk" });
    fs::write(&typed, format!("{line}\n")).unwrap();
    home.take_in();
    assert_eq!(home.json(&["history", "show", "c-1"])["project"], "general");
    fs::write(&path, rollout).unwrap();
    home.take_in();
    assert_like_a_clean_import(&home);
    let found = home.json(&["history", "search", "auk"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "it is found in its project: {found}");
}

#[test]
fn an_old_session_of_gemini_is_in_the_project_that_its_notes_name() {
    let home = Home::new();
    let notes = home.user().join(".gemini/tmp/0a1b2c");
    fs::create_dir_all(notes.join("chats")).unwrap();
    let message = |id: &str| json!({ "id": id, "timestamp": "2026-10-02T03:04:05Z", "type": "user", "content": "Mend the auk" });
    let session =
        json!({ "sessionId": "g-1", "startTime": "2026-10-02T03:04:05Z", "messages": [message("1")] });
    let old = notes.join("chats/session-1.json");
    fs::write(&old, session.to_string()).unwrap();
    home.take_in();
    let project = || home.json(&["history", "show", "g-1"])["project"].clone();
    assert_eq!(project(), "general", "nothing says where it was");
    // The session continues in the other form, which names its folder.
    fs::remove_file(&old).unwrap();
    let head =
        json!({ "sessionId": "g-1", "startTime": "2026-10-02T03:04:05Z", "directories": [home.work()] });
    fs::write(notes.join("chats/session-1.jsonl"), format!("{head}\n{}\n", message("1"))).unwrap();
    home.take_in();
    assert_ne!(project(), "general");
    // Another one is in a folder that Gemini CLI names beside the chats.
    let other =
        json!({ "sessionId": "g-2", "startTime": "2026-10-02T03:04:05Z", "messages": [message("2")] });
    let beside = home.user().join(".gemini/tmp/work");
    fs::create_dir_all(beside.join("chats")).unwrap();
    fs::write(beside.join(".project_root"), home.work().to_str().unwrap()).unwrap();
    fs::write(beside.join("chats/session-2.json"), other.to_string()).unwrap();
    home.take_in();
    assert_eq!(home.json(&["history", "show", "g-2"])["project"], project());
}

#[test]
fn a_rollout_that_codex_packs_stays_one_session() {
    let home = Home::new();
    let path = codex_file(&home, "c-1");
    let text = codex("c-1", &home.work(), &[("Mend the auk", "Mended."), ("And the murre", "Done.")]);
    fs::write(&path, &text).unwrap();
    home.take_in();
    let before = home.past();
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    fs::write(path.with_extension("jsonl.zst"), packed).unwrap();
    home.take_in();
    assert_eq!(home.past(), before, "both are there: the plain one counts");
    fs::remove_file(&path).unwrap();
    home.take_in();
    assert_eq!(home.past(), before);
    assert_eq!(home.past_titles("c-1"), ["Mend the auk", "And the murre"]);
}

#[test]
fn a_reply_without_a_line_break_behind_it_stays_when_its_file_is_touched() {
    let home = Home::new();
    let path = Claude::new("s-1", &home.work()).turn("Mend the lamp", "The walrus sings.").write(&home);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();
    let set = |age: u64| {
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
    };
    set(900);
    home.take_in();
    let before = home.past();
    assert!(before[0].to_string().contains("walrus"), "{before:?}");
    set(0);
    home.take_in();
    assert_eq!(home.past(), before);
}

#[test]
fn an_import_that_is_killed_at_any_moment_gives_the_same() {
    let home = Home::new();
    for n in 0..12 {
        Claude::new(&format!("s-{n}"), &home.work()).long(120).write(&home);
    }
    home.json(&["history", "import", "--yes", "--since", "0", "--no-wait"]);
    for round in 0..scaled(6) {
        // Until something more of it is on disk.
        let before = exchanges(&home);
        wait_for("the next exchanges", || {
            let status = home.json(&["history", "status"]);
            (exchanges(&home) > before || status["state"] == "idle").then_some(())
        });
        std::thread::sleep(Duration::from_millis(7 * round as u64));
        home.kill_daemon();
        home.json(&["history", "import", "--yes", "--since", "0", "--no-wait"]);
    }
    home.take_in();
    assert_like_a_clean_import(&home);
    let checks = home.run(&["doctor"]);
    assert_eq!(checks.code(), 0, "{checks:?}");
}

fn exchanges(home: &Home) -> u64 {
    home.json(&["history", "status"])["exchanges"].as_u64().unwrap()
}
