//! A person's own files are neither overwritten nor removed: only files with our mark are ours.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::{Finished, Home, json};

/// A home with one memory, its notes in a folder, and the path of the memory's note.
struct Vault {
    home: Home,
    id: String,
    dir: PathBuf,
    note: PathBuf,
}

impl Vault {
    fn new() -> Self {
        let home = Home::new();
        let mut agent = home.agent();
        agent.ok("mem_session_start", json!({"id": "morning"}));
        let id = agent.save("The gannet", "It dives.");
        agent.ok("mem_session_end", json!({"summary": "Birds were watched."}));
        let dir = home.folder("vault");
        let note = dir.join(format!("demo/the-gannet-{id}.md"));
        let vault = Self { home, id, dir, note };
        assert_eq!(vault.export().code(), 0);
        assert!(read(&vault.note).contains("It dives."));
        vault
    }

    fn export(&self) -> Finished {
        self.home.run(&["export", "--format", "markdown", self.dir.to_str().unwrap()])
    }

    /// The export leaves a file alone and says so.
    #[track_caller]
    fn assert_left(&self, path: &Path, text: &str) {
        let done = self.export();
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains(path.to_str().unwrap()), "{path:?} is not named: {done:?}");
        assert_eq!(read(path), text);
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{path:?}: {e}"))
}

/// Replaces a text in a file and returns the new content.
pub fn edit(path: &Path, from: &str, to: &str) -> String {
    let text = read(path);
    assert!(text.contains(from), "{from} is not in {text}");
    let text = text.replace(from, to);
    fs::write(path, &text).unwrap();
    text
}

#[test]
fn a_note_of_the_persons_that_is_named_like_one_of_ours_stays() {
    let vault = Vault::new();
    let own = vault.dir.join(format!("demo/zz-thoughts-on-{}.md", vault.id));
    fs::write(&own, "my own thoughts\n").unwrap();
    assert_eq!(vault.export().code(), 0);
    assert_eq!(read(&own), "my own thoughts\n");
    assert!(vault.note.exists());
}

#[test]
fn an_edit_stays_when_there_is_a_copy_of_the_note() {
    let vault = Vault::new();
    let copy = vault.dir.join(format!("demo/zz-copy-{}.md", vault.id));
    fs::copy(&vault.note, &copy).unwrap();
    let copied = read(&copy);
    let edited = edit(&vault.note, "It dives.", "It dives deep.");
    vault.assert_left(&vault.note, &edited);
    vault.assert_left(&copy, &copied);
    assert_eq!(vault.home.json(&["get", &vault.id])["content"], "It dives.");
}

#[test]
fn a_note_that_cannot_be_read_any_more_is_kept_when_the_title_changes() {
    let vault = Vault::new();
    let broken = edit(&vault.note, "---\n", "---\nno property\n");
    vault.home.run(&["update", &vault.id, "--title", "The booby"]).success();
    vault.assert_left(&vault.note, &broken);
}

#[test]
fn a_file_at_the_path_of_a_note_stays() {
    let vault = Vault::new();
    fs::write(&vault.note, "mine\n").unwrap();
    vault.assert_left(&vault.note, "mine\n");
    // Neither a link nor its target is replaced.
    fs::remove_file(&vault.note).unwrap();
    let elsewhere = vault.home.work().join("elsewhere.md");
    fs::write(&elsewhere, "linked\n").unwrap();
    symlink(&elsewhere, &vault.note).unwrap();
    vault.assert_left(&vault.note, "linked\n");
    assert!(vault.note.is_symlink());
}

#[test]
fn no_note_is_written_through_a_link_in_place_of_a_folder() {
    let vault = Vault::new();
    let (folder, elsewhere) = (vault.dir.join("demo"), vault.home.work().join("elsewhere"));
    fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    vault.home.run(&["update", &vault.id, "--title", "The booby"]).success();
    vault.home.agent().save("The petrel", "It flies.");
    let before: Vec<_> = fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    for is_link in [true, false] {
        let done = vault.export();
        let named = format!("{} was skipped: it is where a folder of notes belongs", folder.display());
        assert_eq!((done.code(), done.stderr.matches(&named).count()), (1, 1), "{done:?}");
        let after: Vec<_> =
            fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(after, before);
        fs::remove_file(&folder).unwrap();
        if is_link {
            // A file in the same place stops only the notes of its project, too.
            fs::write(&folder, "mine").unwrap();
        }
    }
    assert_eq!(vault.export().code(), 0);
    assert!(read(&folder.join(format!("the-booby-{}.md", vault.id))).contains("It dives."));
}

#[test]
fn an_unchanged_note_follows_its_memory_with_what_was_added_to_its_front_matter() {
    let vault = Vault::new();
    edit(&vault.note, "aliases:\n", "status: read\naliases:\n  - \"Solan goose\"\n");
    vault.home.run(&["update", &vault.id, "--title", "The booby"]).success();
    assert_eq!(vault.export().code(), 0);
    assert!(!vault.note.exists(), "the note of the old title is left");
    let text = read(&vault.dir.join(format!("demo/the-booby-{}.md", vault.id)));
    for part in ["title: \"The booby\"", "status: read\n", "  - \"Solan goose\"\n"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(vault.export().code(), 0);
}

#[test]
fn a_sessions_note_that_was_changed_stays() {
    let vault = Vault::new();
    let sessions = vault.dir.join("sessions");
    let names: Vec<PathBuf> = fs::read_dir(&sessions).unwrap().map(|entry| entry.unwrap().path()).collect();
    let note = names.iter().find(|path| read(path).contains("Birds were watched.")).unwrap();
    let edited = edit(note, "Birds were watched.", "Birds were watched, and they watched us.");
    vault.assert_left(note, &edited);
    fs::remove_file(note).unwrap();
    assert_eq!(vault.export().code(), 0);
    assert!(read(note).contains("Birds were watched.\n"));
}

#[test]
fn an_export_replaces_an_earlier_one_and_nothing_else() {
    let home = Home::new();
    home.agent().save("The gannet", "It dives.");
    for format in ["jsonl", "surrealql"] {
        let file = home.work().join(format);
        let path = file.to_str().unwrap();
        fs::write(&file, "my thesis\n").unwrap();
        let refused = home.run(&["export", "--format", format, path]);
        assert_eq!(refused.code(), 1, "{format}: {refused:?}");
        assert!(refused.stderr.contains(path) && refused.stderr.contains("not an export"), "{refused:?}");
        assert_eq!(read(&file), "my thesis\n", "{format}");
        fs::remove_file(&file).unwrap();
        for _ in 0..2 {
            home.run(&["export", "--format", format, path]).success();
        }
        assert!(read(&file).contains("It dives."), "{format}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{format}");
    }
}

#[test]
fn a_link_in_place_of_an_export_stays_wherever_it_leads() {
    let home = Home::new();
    home.agent().save("The gannet", "It dives.");
    let (earlier, link) = (home.work().join("earlier"), home.work().join("latest"));
    home.run(&["export", earlier.to_str().unwrap()]).success();
    let text = read(&earlier);
    home.agent().save("The puffin", "It burrows.");
    for leads_to in [earlier.clone(), home.work().join("nowhere")] {
        symlink(&leads_to, &link).unwrap();
        for format in ["jsonl", "surrealql"] {
            let refused = home.run(&["export", "--format", format, link.to_str().unwrap()]);
            assert_eq!(refused.code(), 1, "{format}: {refused:?}");
            assert!(refused.stderr.contains(link.to_str().unwrap()), "{refused:?}");
            assert_eq!(fs::read_link(&link).unwrap(), leads_to, "{format}");
        }
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(read(&earlier), text);
    assert!(!home.work().join("nowhere").exists());
}

#[test]
fn a_planted_link_in_place_of_a_draft_is_not_followed() {
    let vault = Vault::new();
    let victim = vault.home.work().join("victim");
    fs::write(&victim, "untouched").unwrap();
    let script = vault.home.work().join("all.surql");
    symlink(&victim, vault.home.work().join(".all.surql.part")).unwrap();
    vault.home.run(&["export", "--format", "surrealql", script.to_str().unwrap()]).success();
    symlink(&victim, vault.note.with_extension("md.part")).unwrap();
    vault.home.run(&["update", &vault.id, "--tag", "bird"]).success();
    assert_eq!(vault.export().code(), 0);
    assert_eq!(read(&victim), "untouched");
    for path in [&script, &vault.note] {
        assert!(!path.is_symlink(), "{path:?}");
    }
    let drafts = |dir: &Path| {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".cerebro-draft-")).count()
    };
    assert_eq!((drafts(&vault.home.work()), drafts(&vault.dir.join("demo"))), (0, 0));
}

#[test]
fn a_configuration_that_is_a_link_stays_one() {
    let home = Home::with_config("");
    let real = home.folder("dotfiles").join("cerebro.toml");
    let link = home.data().join("config.toml");
    fs::rename(&link, &real).unwrap();
    fs::write(&real, "# mine\n").unwrap();
    fs::set_permissions(&real, Permissions::from_mode(0o644)).unwrap();
    symlink(&real, &link).unwrap();
    home.run(&["model", "use", "none"]).success();
    assert!(link.is_symlink(), "the link was replaced by a file");
    let text = read(&real);
    assert!(text.contains("# mine") && text.contains("none"), "{text}");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn the_doctor_removes_only_its_own_drafts() {
    let home = Home::new();
    home.agent().save("One", "First text.");
    home.json(&["backup"]);
    let long_ago = SystemTime::now() - Duration::from_secs(100_000);
    let backups = home.data().join("backups");
    let ours = [backups.join(".cerebro-draft-a1b2c3"), home.data().join(".cerebro-draft-d4e5f6")];
    let others = [backups.join(".movie.mkv.part"), home.data().join(".notes.part")];
    for path in ours.iter().chain(&others) {
        fs::write(path, "half").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    let report = home.json(&["doctor", "--fix"]);
    let checks = report["checks"].as_array().unwrap();
    let leftovers = checks.iter().find(|check| check["check"] == "leftovers").unwrap();
    assert_eq!(leftovers["state"], "fixed", "{report:#}");
    assert!(ours.iter().all(|path| !path.exists()), "our drafts are left");
    assert!(others.iter().all(|path| path.exists()), "somebody else's files were removed");
}

#[test]
fn without_a_record_an_entry_that_setup_did_not_write_stays_and_is_named() {
    let own = "{\"mcpServers\": {\"cerebro\": {\"command\": \"mine\"}}, \"n\": 1}\n";
    let toml = "[mcp_servers.cerebro]\ncommand = \"mine\"\n";
    let rules = "{\"permissions\": {\"allow\": [\"mcp__cerebro__mem_save\"]}}\n";
    let home = Home::new();
    let claude = home.write(".claude.json", own);
    let settings = home.write(".claude/settings.json", rules);
    let codex = home.write(".codex/config.toml", toml);
    let block = "# Mine\n\n<!-- cerebro:begin -->\nold\n<!-- cerebro:end -->\n";
    let notes = home.write(".claude/CLAUDE.md", block);
    for words in [&["unsetup", "claude-code"][..], &["unsetup", "codex"], &["uninstall"]] {
        let done = home.run(words);
        let named =
            if words[1..] == ["codex"] { "`mcp_servers.cerebro` in" } else { "`mcpServers.cerebro` in" };
        assert!(done.stderr.contains("left alone") && done.stderr.contains(named), "{done:?}");
        done.success();
        assert_eq!((read(&claude), read(&codex), read(&settings)), (own.into(), toml.into(), rules.into()));
    }
    assert_eq!(read(&notes), block, "instructions stay with the entry that they may belong to");
    let done = home.run(&["unsetup", "claude-code"]);
    assert!(done.stderr.contains("Cerebro's text in ~/.claude/CLAUDE.md"), "{done:?}");
    fs::remove_file(&claude).unwrap();
    home.run(&["unsetup", "claude-code"]).success();
    assert_eq!(read(&notes), "# Mine\n", "a block without an entry is ours");

    // Entries that are exactly as setup writes them are known without the record, too.
    fs::remove_file(&settings).unwrap();
    home.run(&["setup", "claude-code", "--allow"]).success();
    fs::remove_file(home.data().join("setup/claude-code.json")).unwrap();
    let done = home.run(&["unsetup", "claude-code"]);
    assert!(!done.stderr.contains("left alone"), "{done:?}");
    for path in [&claude, &settings] {
        assert!(!read(path).contains("cerebro"), "{}", read(path));
    }
}

#[test]
fn a_damaged_record_stops_neither_the_list_nor_other_agents() {
    let home = Home::new();
    home.run(&["setup", "codex"]).success();
    home.run(&["setup", "zed"]).success();
    let record = home.data().join("setup/codex.json");
    fs::write(&record, "{broken").unwrap();
    let listed = home.run(&["setup", "--json"]);
    assert_eq!(listed.code(), 1, "{listed:?}");
    let answer: crate::support::Value = serde_json::from_str(&listed.stdout).unwrap();
    let codex = answer["agents"].as_array().unwrap().iter().find(|row| row["agent"] == "codex").unwrap();
    assert!(codex["problem"].as_str().unwrap().contains("is damaged"), "{codex}");
    assert!(codex["set_up"].to_string().contains("server"), "{codex}");
    home.run(&["unsetup", "zed"]).success();
    let refused = home.run(&["unsetup", "codex"]);
    assert!(refused.code() == 1 && refused.stderr.contains("setup/codex.json"), "{refused:?}");
    fs::remove_file(&record).unwrap();
    home.run(&["unsetup", "codex"]).success();
    assert!(!read(&home.user().join(".codex/config.toml")).contains("cerebro"));
}
