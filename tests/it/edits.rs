//! Unsaved edits of the screens: they are kept, offered again, and removed with their memory.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cerebro::tui::Next;

use crate::support::{Home, Screens, Value, json, wait_for};

/// The files of edits in a home.
fn edits(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.data()).unwrap().map(|entry| entry.unwrap().path());
    let is_edit = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().contains("edit-");
    let mut found: Vec<PathBuf> = entries.filter(is_edit).collect();
    found.sort();
    found
}

/// The state and message of the doctor's check of edits.
fn examined(home: &Home) -> (String, String) {
    let mut command = home.command();
    let done = crate::support::finish(command.args(["doctor", "--json"]));
    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "edits");
    let text = |name: &str| check.unwrap()[name].as_str().unwrap().to_owned();
    (text("state"), text("words"))
}

/// `cerebro tui` on a terminal that `script` makes, with an editor that keeps what it was given, adds a line
/// and fails.
struct Terminal {
    child: Child,
    seen: PathBuf,
    given: PathBuf,
}

impl Terminal {
    fn open(home: &Home) -> Self {
        let folder = home.folder("terminal");
        let (seen, given, editor) = (folder.join("seen"), folder.join("given"), folder.join("editor"));
        fs::create_dir(&given).unwrap();
        let given_to = given.display();
        let script = format!(
            "cp \"$1\" '{given_to}'/$(ls '{given_to}' | wc -l)\necho 'typed by hand' >>\"$1\"\nexit 1\n"
        );
        fs::write(&editor, script).unwrap();
        let program = env!("CARGO_BIN_EXE_cerebro");
        let inside = format!(
            "stty rows 50 cols 160; '{program}' --home '{}' tui --project demo",
            home.data().display()
        );
        let child = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &inside])
            .arg(&seen)
            .env("TERM", "xterm-256color")
            .env("VISUAL", format!("sh {}", editor.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, seen, given }
    }

    fn press(&mut self, keys: &str) {
        self.child.stdin.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the terminal was sent a word so many times.
    fn wait_for(&self, word: &str, times: usize) {
        wait_for(word, || {
            let seen = fs::read(&self.seen).unwrap_or_default();
            (String::from_utf8_lossy(&seen).matches(word).count() >= times).then_some(())
        });
    }

    /// What the editor was given, once it has failed for that time.
    fn given(&self, time: usize) -> String {
        // The screens come back after the editor.
        self.wait_for("\x1b[?1049h", time + 2);
        fs::read_to_string(self.given.join(time.to_string())).unwrap()
    }
}

#[test]
fn a_text_that_was_not_saved_is_offered_again_and_never_written_over() {
    let home = Home::new();
    let id = home.agent().save("The plover", "The shearwater is the stored text.");
    let mut terminal = Terminal::open(&home);
    terminal.press("2");
    terminal.wait_for("shearwater", 1);
    terminal.press("e");
    assert!(!terminal.given(0).contains("typed by hand"));
    // Again, answering yes to continuing.
    terminal.press("ey");
    let again = terminal.given(1);
    assert!(again.contains("shearwater") && again.contains("typed by hand"), "{again}");
    // Again, answering no: the earlier text is in a file of its own.
    terminal.press("en");
    let shown = terminal.given(2);
    assert!(shown.contains("shearwater") && !shown.contains("typed by hand"), "{shown}");
    terminal.press("q");
    assert!(terminal.child.wait().unwrap().success());

    let files = edits(&home);
    let lines = |path: &PathBuf| fs::read_to_string(path).unwrap().matches("typed by hand").count();
    let mut held: Vec<usize> = files.iter().map(lines).collect();
    held.sort_unstable();
    assert_eq!(held, [1, 2], "{files:?}");
    assert_eq!(home.json(&["get", &id])["content"], "The shearwater is the stored text.");
    let (state, words) = examined(&home);
    assert_eq!(state, "fault", "{words}");
    assert!(words.contains("edit-"), "{words}");

    let deleted = home.json(&["delete", &id, "--hard", "--yes"]);
    assert_eq!(deleted["removed"].as_array().unwrap().len(), 2, "{deleted}");
    assert_eq!(edits(&home), Vec::<PathBuf>::new());
    assert_eq!(examined(&home).0, "ok");
}

#[test]
fn an_editor_that_fails_without_a_change_leaves_nothing() {
    let home = Home::new();
    home.agent().save("The plover", "The shearwater is the stored text.");
    let mut terminal = Terminal::open(&home);
    fs::write(
        home.folder("terminal").join("editor"),
        format!("touch '{}'/0\nexit 1\n", terminal.given.display()),
    )
    .unwrap();
    terminal.press("2");
    terminal.wait_for("shearwater", 1);
    terminal.press("e");
    terminal.given(0);
    terminal.press("q");
    assert!(terminal.child.wait().unwrap().success());
    assert_eq!(edits(&home), Vec::<PathBuf>::new());
}

#[test]
fn an_unsaved_edit_is_offered_again() {
    let home = Home::new();
    let id = home.agent().save("The plover", "The stored text.");
    // As version 0.1.0 named it.
    let file = home.data().join(format!("edit-{id}.md"));
    fs::write(&file, "title: The plover\ntype: manual\ntags: \n---\nTyped by hand.\n").unwrap();
    let mut screens = Screens::open(&home, 160, 50);
    screens.press("2");
    assert_eq!(screens.press("e"), Next::Go);
    assert!(screens.text().contains("An earlier edit was not saved"), "{}", screens.text());
    assert_eq!(screens.press("<esc>"), Next::Go);
    screens.press("e");
    let Next::Edit(fresh) = screens.press("n") else { panic!("no edit:\n{}", screens.text()) };
    assert_eq!((fresh.content.as_str(), &fresh.file), ("The stored text.", &None));
    screens.press("e");
    let Next::Edit(earlier) = screens.press("y") else { panic!("no edit:\n{}", screens.text()) };
    let real = fs::canonicalize(&file).unwrap();
    assert_eq!(earlier.file.as_deref().map(Path::new), Some(real.as_path()));
    assert!(file.exists());
}

#[test]
fn an_edit_that_another_process_has_open_is_not_shared() {
    let home = Home::new();
    let id = home.agent().save("The plover", "The stored text.");
    // The process that runs the tests exists as long as they run.
    let process = std::os::unix::process::parent_id();
    let open = home.data().join(format!("edit-{id}-1-{process}-abcdef.md"));
    fs::write(&open, "of another process").unwrap();
    let mut screens = Screens::open(&home, 160, 50);
    screens.press("2");
    let Next::Edit(draft) = screens.press("e") else { panic!("no edit:\n{}", screens.text()) };
    assert_eq!(draft.file, None);
    assert_eq!(examined(&home).0, "ok", "it is under way");
    let deleted = home.json(&["delete", &id, "--hard", "--yes"]);
    let named = deleted["remains"]["edits"][0].as_str().unwrap_or_default();
    assert!(named.ends_with("-abcdef.md"), "{deleted}");
    assert_eq!(fs::read_to_string(&open).unwrap(), "of another process");
}

#[test]
fn a_purge_by_an_agent_removes_the_texts_of_edits_and_a_compaction_names_the_others() {
    let home = Home::with_config("agent_hard_delete = true\n");
    let mut agent = home.agent();
    let purged = agent.save("The plover", "The text that goes.");
    let kept = agent.save("The curlew", "The text that stays.");
    for name in [format!("edit-{purged}.md"), format!(".edit-{purged}.md.swp"), format!("edit-{kept}.md")] {
        fs::write(home.data().join(name), "typed by hand").unwrap();
    }
    agent.ok("mem_delete", json!({"id": purged, "hard": true}));
    let left = edits(&home);
    assert_eq!(left, [home.data().join(format!("edit-{kept}.md"))]);
    let backup = home.json(&["backup"])["file"].as_str().unwrap().to_owned();
    let compacted = home.json(&["compact"]);
    assert_eq!(compacted["outcome"], "compacted", "{compacted}");
    assert!(compacted["remains"]["edits"][0].as_str().unwrap().contains(&kept), "{compacted}");
    assert_eq!(compacted["remains"]["backups"], json!([backup]), "{compacted}");
    let run = home.run(&["compact"]);
    assert!(run.stderr.contains(&kept) && run.stderr.contains("backups"), "{run:?}");
}
