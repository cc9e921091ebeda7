//! `setup` and `unsetup` beside others: what a person, another tool or another home has in agents' files stays, and a
//! file that cannot be edited is named and stops no other agent.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;

use crate::setup::{AGENTS, backup_beside};
use crate::support::{Finished, Home, PROGRAM, Value, finish, json, tree};

/// The program of this user on another home.
fn elsewhere(home: &Home, words: &[&str]) -> Finished {
    let other = home.data().with_file_name("other");
    finish(home.bare_command().arg("--home").arg(other).args(words))
}

/// Forgets what was set up from the home.
fn lose_record(home: &Home, agent: &str) {
    fs::remove_file(home.data().join(format!("setup/{agent}.json"))).unwrap();
}

#[test]
fn without_a_record_an_entry_with_keys_of_a_person_stays_and_is_named() {
    for (agent, file, keys) in AGENTS {
        let home = Home::new();
        home.run(&["setup", agent, "--allow"]).success();
        lose_record(&home, agent);
        let path = home.user().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let edited = if file.ends_with(".toml") {
            text.replacen("args", "startup_timeout_sec = 20\nargs", 1)
        } else {
            let mut whole: Value = serde_json::from_str(&text).unwrap();
            whole[keys[0]][keys[1]]["env"] = json!({"KEY": "mine"});
            whole.to_string()
        };
        fs::write(&path, &edited).unwrap();
        let before = tree(&home.user());
        for words in [&["unsetup", agent][..], &["uninstall"]] {
            let done = home.run(words);
            for part in [format!("`{}`", keys.join(".")), format!(" in ~/{file}"), "by hand".to_owned()] {
                assert!(done.stderr.contains(&part), "{agent}: no {part} in {done:?}");
            }
            done.success();
            assert_eq!(tree(&home.user()), before, "{agent}");
        }
        // What is exactly as setup writes it is taken out.
        fs::write(&path, &text).unwrap();
        let done = home.run(&["unsetup", agent]);
        assert!(!done.stderr.contains("left alone"), "{agent}: {done:?}");
        let left: Vec<_> = tree(&home.user()).into_iter().map(|(_, (_, bytes))| bytes).collect();
        assert!(!String::from_utf8_lossy(&left.concat()).contains("cerebro"), "{agent}");
    }
}

#[test]
fn what_a_person_added_to_a_recorded_entry_is_named_when_it_goes() {
    for (agent, file, keys) in [AGENTS[0], AGENTS[4], AGENTS[7]] {
        let home = Home::new();
        let path = home.write(file, "{\"n\": 1}\n");
        home.run(&["setup", agent, "--allow"]).success();
        let mut whole: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        whole[keys[0]][keys[1]]["timeout"] = json!(9);
        fs::write(&path, whole.to_string()).unwrap();
        for words in [&["unsetup", agent, "--dry-run"][..], &["uninstall"]] {
            let done = home.run(words);
            let named = format!("`{}.timeout` in ~/{file}", keys.join("."));
            assert!(done.stderr.contains(&named), "{agent}: {done:?}");
        }
        let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(left, json!({"n": 1}), "{agent}");
    }
}

#[test]
fn a_setup_of_another_home_stays_whole() {
    for (agent, file, keys) in AGENTS {
        let home = Home::new();
        elsewhere(&home, &["setup", agent, "--allow"]).success();
        let before = tree(&home.user());
        for words in [&["unsetup", agent][..], &["uninstall"]] {
            let done = home.run(words);
            let how = format!("--home DIR unsetup {agent}");
            for part in [format!("`{}`", keys.join(".")), format!(" in ~/{file}"), how] {
                assert!(done.stderr.contains(&part), "{agent}: no {part} in {done:?}");
            }
            done.success();
            assert_eq!(tree(&home.user()), before, "{agent}");
        }
        // A setup of this home takes its place, and gives it back.
        home.run(&["setup", agent]).success();
        assert_ne!(tree(&home.user()), before, "{agent}");
        home.run(&["unsetup", agent]).success();
        assert_eq!(tree(&home.user()), before, "{agent}");
        elsewhere(&home, &["unsetup", agent]).success();
        assert!(!tree(&home.user()).keys().any(|path| path.is_file()), "{agent}");
    }
}

#[test]
fn two_homes_give_a_persons_file_back_to_the_byte() {
    for (agent, file, _) in [AGENTS[1], AGENTS[2], AGENTS[4]] {
        let home = Home::new();
        let text = if file.ends_with(".toml") { "a = 1 # why" } else { "{ \"a\": 1, // why\n }" };
        home.write(file, text);
        let before = tree(&home.user());
        elsewhere(&home, &["setup", agent]).success();
        let with_one = tree(&home.user());
        home.run(&["setup", agent]).success();
        home.run(&["unsetup", agent]).success();
        assert_eq!(tree(&home.user()), with_one, "{agent}");
        elsewhere(&home, &["unsetup", agent]).success();
        assert_eq!(tree(&home.user()), before, "{agent}");
    }
}

#[test]
fn no_entry_is_left_of_two_homes_that_are_undone_in_the_order_of_their_setup() {
    for (agent, file, keys) in AGENTS {
        let home = Home::new();
        let servers = keys[0];
        let text = if file.ends_with(".toml") {
            format!("[{servers}.other]\ncommand = \"o\"\n")
        } else {
            json!({servers: {"other": {"command": "o"}}}).to_string()
        };
        let path = home.write(file, &text);
        elsewhere(&home, &["setup", agent, "--allow"]).success();
        home.run(&["setup", agent, "--allow"]).success();
        elsewhere(&home, &["unsetup", agent]).success();
        home.run(&["unsetup", agent]).success();
        let left = fs::read_to_string(&path).unwrap();
        assert!(left.contains("other") && !left.contains("cerebro"), "{agent}: {left}");
    }
}

#[test]
fn what_a_person_permits_or_denies_stays_where_no_setup_allowed_anything() {
    for (agent, file, rules) in [
        ("opencode", ".config/opencode/opencode.json", json!({"permission": {"cerebro_mem_delete": "deny"}})),
        ("gemini-cli", ".gemini/settings.json", json!({"tools": {"allowed": ["mcp_cerebro_mem_save"]}})),
    ] {
        let home = Home::new();
        home.run(&["setup", agent]).success();
        let path = home.user().join(file);
        let read = || serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut whole = read();
        whole.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        fs::write(&path, whole.to_string()).unwrap();
        home.run(&["setup", agent]).success();
        assert_eq!(read(), whole, "{agent}");
        home.run(&["unsetup", agent]).success();
        assert_eq!(read(), rules, "{agent}");
    }
}

#[test]
fn what_an_earlier_build_set_up_is_undone_to_the_byte() {
    for is_renewed in [false, true] {
        let home = Home::new();
        let settings = home.write(".gemini/settings.json", "{ \"a\": 1, // why\n }");
        let before = tree(&home.user());
        home.run(&["setup", "gemini-cli"]).success();
        // It had one name for the backups of all homes, and noted neither their place nor the program.
        fs::rename(backup_beside(&settings), settings.with_added_extension("cerebro-backup")).unwrap();
        let path = home.data().join("setup/gemini-cli.json");
        let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(record.as_object_mut().unwrap().remove("program").is_some());
        for file in record["files"].as_array_mut().unwrap() {
            file.as_object_mut().unwrap().remove("backup");
        }
        fs::write(&path, record.to_string()).unwrap();
        if is_renewed {
            home.run(&["setup", "gemini-cli", "--no-hooks"]).success();
        }
        home.run(&["unsetup", "gemini-cli"]).success();
        assert_eq!(tree(&home.user()), before, "{is_renewed}");
    }
}

#[test]
fn hooks_of_a_program_that_was_renamed_and_moved_are_known() {
    for words in [&["unsetup", "claude-code"][..], &["uninstall"], &["setup", "claude-code"]] {
        let home = Home::new();
        let settings = home.write(".claude/settings.json", "{ \"a\": 1 }\n");
        let [old, new] = ["old", "new"].map(|name| home.folder(name).join(format!("memory-{name}")));
        if fs::hard_link(PROGRAM, &old).is_err() {
            fs::copy(PROGRAM, &old).unwrap();
        }
        let run = |program: &Path, words: &[&str]| {
            let mut command = std::process::Command::new(program);
            command.env_clear().env("HOME", home.user()).env("PATH", "/no/such/folder");
            finish(command.arg("--home").arg(home.data()).args(words))
        };
        run(&old, &["setup", "claude-code"]).success();
        fs::rename(&old, &new).unwrap();
        // The former text cannot simply come back.
        let text = fs::read_to_string(&settings).unwrap();
        fs::write(&settings, text.replace("\"a\": 1", "\"a\": 2")).unwrap();
        run(&new, words).success();
        let left = fs::read_to_string(&settings).unwrap();
        assert!(left.contains("\"a\": 2") && !left.contains("memory-old"), "{words:?}: {left}");
        assert_eq!(left.contains("memory-new"), words[0] == "setup", "{words:?}: {left}");
    }
}

#[test]
fn a_hook_of_another_tool_stays() {
    for (agent, file, event) in [
        ("claude-code", ".claude/settings.json", "SessionStart"),
        ("codex", ".codex/hooks.json", "SessionStart"),
        ("gemini-cli", ".gemini/settings.json", "SessionStart"),
        ("cursor", ".cursor/hooks.json", "sessionStart"),
    ] {
        let home = Home::new();
        let command = json!({"type": "command", "command": format!("othertool hook {agent} {event}")});
        let own = if agent == "cursor" { command } else { json!({"hooks": [command]}) };
        let text = json!({"hooks": {event: [own]}, "version": 1}).to_string();
        let path = home.write(file, &text);
        let hooks = || -> Vec<Value> {
            let whole: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            whole["hooks"][event].as_array().unwrap().clone()
        };
        home.run(&["setup", agent]).success();
        assert_eq!((&hooks()[0], hooks().len()), (&own, 2), "{agent}");
        lose_record(&home, agent);
        home.run(&["unsetup", agent]).success();
        assert_eq!(hooks(), [own], "{agent}");
    }
}

#[test]
fn an_agent_is_set_up_in_the_folder_that_its_variable_names() {
    for (agent, variable, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("gemini-cli", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ] {
        let home = Home::new();
        let moved = home.folder("moved");
        let run = |words: &[&str]| finish(home.command().env(variable, &moved).args(words)).success();
        run(&["setup", agent]);
        assert!(fs::read_to_string(moved.join(file)).unwrap().contains("cerebro"), "{agent}");
        assert!(tree(&home.user()).is_empty(), "{agent}");
        run(&["unsetup", agent]);
        assert!(tree(&moved).is_empty(), "{agent}");
    }
}

/// What is wrong with a file, in the words of the refusal, and what makes it so.
type Fault = (&'static str, fn(&Path));

const FAULTS: [Fault; 8] = [
    ("it is not a file", |path| fs::create_dir(path).unwrap()),
    ("it is not a file", |path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("larger than 64 MiB", |path| File::create(path).unwrap().set_len(100 << 20).unwrap()),
    ("not UTF-8 text", |path| fs::write(path, b"{ \"a\": \"\xe9\" }").unwrap()),
    ("it is a link that leads nowhere", |path| symlink("/no/such/file", path).unwrap()),
    ("it is read-only", |path| {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o444)).unwrap();
    }),
    ("it is read-only", |path| {
        let real = path.with_file_name("real");
        fs::write(&real, "").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o444)).unwrap();
        symlink(&real, path).unwrap();
    }),
    ("more than once", |path| {
        let (agent, _, keys) = AGENTS.iter().find(|(_, file, _)| path.ends_with(file)).unwrap();
        let twice = format!("{{\"{0}\": {{\"a\": {{}}}}, \"{0}\": {{\"b\": {{}}}}}}", keys[0]);
        fs::write(path, if *agent == "codex" { "a = 1\na = 2\n" } else { twice.as_str() }).unwrap();
    }),
];

/// The names below a folder, and what can be read of them without waiting.
fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(listing(&path));
        }
        let is_read = kind.is_file() && entry.metadata().unwrap().len() < 1 << 20;
        let bytes = if is_read { fs::read(&path).unwrap() } else { Vec::new() };
        found.push((format!("{} {}", path.display(), kind.is_fifo()), bytes));
    }
    found.sort();
    found
}

#[test]
fn a_file_that_cannot_be_edited_is_named_and_nothing_is_changed() {
    for (agent, file, _) in AGENTS {
        for (words, fault) in FAULTS {
            let words = if agent == "codex" && words == "more than once" { "duplicate key" } else { words };
            let home = Home::new();
            let path = home.user().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fault(&path);
            let before = listing(&home.user());
            for dry in [&["--dry-run"][..], &[]] {
                let done = home.run(&[&["setup", agent][..], dry].concat());
                assert_eq!(done.code(), 1, "{agent} {words}: {done:?}");
                for part in [words, path.to_str().unwrap(), "run this again"] {
                    assert!(done.stderr.contains(part), "{agent}: no `{part}` in {done:?}");
                }
            }
            // There is nothing to take out. A file that can be read is not complained of.
            let _ = home.run(&["unsetup", agent]).code();
            assert_eq!(listing(&home.user()), before, "{agent} {words}");
        }
    }
}

#[test]
fn one_agents_fault_stops_no_other_agent() {
    for (words, fault) in FAULTS {
        let home = Home::new();
        for folder in [".codex", ".cursor", ".gemini", ".config/zed"] {
            home.write(&format!("{folder}/own"), "mine");
        }
        fault(&home.user().join(".cursor/mcp.json"));
        // This one is found only when the backup is written.
        let settings = home.write(".gemini/settings.json", "{}\n");
        home.run(&["setup", "gemini-cli"]).success();
        let backup = backup_beside(&settings);
        home.run(&["unsetup", "gemini-cli"]).success();
        fs::create_dir(backup).unwrap();
        let done = home.run(&["setup", "--all", "--yes"]);
        assert_eq!(done.code(), 1, "{done:?}");
        for part in [words, "Cursor was not set up", "Gemini CLI was not set up"] {
            assert!(done.stderr.contains(part), "no `{part}` in {done:?}");
        }
        for file in [".codex/config.toml", ".config/zed/settings.json"] {
            let text = fs::read_to_string(home.user().join(file)).unwrap();
            assert!(text.contains("cerebro"), "{words}: {file} has no entry");
        }
        let taken = home.run(&["uninstall"]);
        for file in [".codex/config.toml", ".config/zed/settings.json"] {
            assert!(!home.user().join(file).exists(), "{words}: {file} is left: {taken:?}");
        }
        assert_eq!(fs::read_to_string(home.user().join(".gemini/settings.json")).unwrap(), "{}\n");
    }
}

#[test]
fn inline_tables_of_toml_and_odd_json_come_back_to_the_byte() {
    for (agent, file, text) in [
        ("codex", ".codex/config.toml", "mcp_servers = { other = { command = \"o\" } } # why\n"),
        ("codex", ".codex/config.toml", "mcp_servers.other.command = 'o'\n[a]\nb = 1\n"),
        ("cursor", ".cursor/mcp.json", "{\"a\": 1, /* why */ \"a\": 2, // last\n}"),
        ("cursor", ".cursor/mcp.json", " \n"),
    ] {
        let home = Home::new();
        let path = home.write(file, text);
        home.run(&["setup", agent, "--allow"]).success();
        let checked = home.run(&["setup", agent, "--check", "--json"]).json();
        assert_eq!(checked["connected"], true, "{text}: {checked}");
        home.run(&["unsetup", agent]).success();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
