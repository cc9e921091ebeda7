//! Completions, the service and complete removal; and what the program tells a person who has just installed it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{Finished, Home, PROGRAM, Value, finish, json, tree};

/// A search path without agents and without a service manager.
const BARE_PATH: &str = "/no/such/folder";

/// Runs the program with a search path on which no other program is found.
fn run(home: &Home, args: &[&str]) -> Finished {
    finish(home.command().args(args).env("PATH", BARE_PATH))
}

/// Our unit file.
fn unit(home: &Home) -> PathBuf {
    let mut found = fs::read_dir(home.user().join(".config/systemd/user")).unwrap();
    let path = found.next().unwrap().unwrap().path();
    assert!(found.next().is_none());
    path
}

#[test]
fn completions_are_installed_and_removed_without_a_trace() {
    let home = Home::new();
    let before = tree(&home.user());
    for (shell, file) in [
        ("bash", ".local/share/bash-completion/completions/cerebro"),
        ("zsh", ".local/share/zsh/site-functions/_cerebro"),
        ("fish", ".config/fish/completions/cerebro.fish"),
    ] {
        let printed = run(&home, &["completions", shell]).success();
        assert!(printed.contains("unsetup") && printed.contains("written by `cerebro"), "{shell}");
        let foreign = home.write(file, "# mine\n");
        assert_eq!(run(&home, &["completions", shell, "--install"]).code(), 1, "{shell}");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "# mine\n");
        fs::remove_dir_all(home.user().join(file.split('/').next().unwrap())).unwrap();

        run(&home, &["completions", shell, "--install"]).success();
        assert_eq!(fs::read_to_string(home.user().join(file)).unwrap(), printed, "{shell}");
        let once = tree(&home.user());
        run(&home, &["completions", shell, "--install"]).success();
        assert_eq!(tree(&home.user()), once, "{shell}");
        run(&home, &["completions", shell, "--remove"]).success();
        assert_eq!(tree(&home.user()), before, "{shell}");
    }
}

#[test]
fn bash_reads_its_completions() {
    let home = Home::new();
    let script = home.write("script", &run(&home, &["completions", "bash"]).success());
    let complete = format!(
        "source '{}' && COMP_WORDS=(cerebro uns) COMP_CWORD=1 && _cerebro cerebro uns cerebro && echo ${{COMPREPLY[@]}}",
        script.display()
    );
    let done = finish(Command::new("bash").args(["--norc", "-c", &complete]));
    assert_eq!(done.success().trim(), "unsetup");
}

#[test]
fn manual_pages_are_written_for_every_command_that_people_see() {
    let home = Home::new();
    let folder = home.folder("man");
    run(&home, &["man", folder.to_str().unwrap()]).success();
    let pages: Vec<String> =
        tree(&folder).keys().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    for page in ["cerebro.1", "cerebro-search.1", "cerebro-daemon-install.1"] {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
    }
    assert!(!pages.iter().any(|name| name.contains("-man") || name.contains("daemon-run")), "{pages:?}");
    let text = fs::read_to_string(folder.join("cerebro-search.1")).unwrap();
    assert!(text.contains(".TH") && text.contains("all\\-projects"), "{text}");
}

#[test]
fn the_service_is_shown_written_and_taken_out_exactly() {
    let home = Home::new();
    let before = tree(&home.user());
    let shown = run(&home, &["daemon", "install", "--dry-run"]).success();
    assert!(shown.contains("+ExecStart=") && tree(&home.user()) == before, "{shown}");
    let written = run(&home, &["daemon", "install", "--no-start"]);
    assert!(written.stderr.contains("systemctl --user enable --now cerebro-"), "{written:?}");
    let text = fs::read_to_string(unit(&home)).unwrap();
    assert!(written.success().contains("+ExecStart="));
    let program = fs::canonicalize(PROGRAM).unwrap();
    let root = home.data().canonicalize().unwrap();
    let start =
        format!("ExecStart=\"{}\" \"--home\" \"{}\" \"daemon\" \"run\"\n", program.display(), root.display());
    assert!(text.contains(&start), "{text}");
    run(&home, &["daemon", "uninstall"]).success();
    assert_eq!(tree(&home.user()), before);
    assert!(!home.data().join("setup/daemon.json").exists());
}

#[test]
fn a_service_that_cannot_be_started_is_written_and_says_what_to_do() {
    let home = Home::new();
    let done = run(&home, &["daemon", "install"]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("`systemctl` cannot be run") && unit(&home).exists(), "{done:?}");
}

#[test]
fn a_foreign_unit_is_left_alone() {
    let home = Home::new();
    run(&home, &["daemon", "install", "--no-start"]).success();
    let path = unit(&home);
    run(&home, &["daemon", "uninstall"]).success();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "[Service]\nExecStart=/mine\n").unwrap();
    let before = tree(&home.user());
    let refused = run(&home, &["daemon", "install", "--no-start"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("was not written by Cerebro"), "{refused:?}");
    run(&home, &["daemon", "uninstall"]).success();
    assert_eq!(tree(&home.user()), before);
}

#[test]
fn uninstall_takes_out_everything_and_keeps_the_memory() {
    let home = Home::new();
    let before = tree(&home.user());
    home.run(&["save", "The shag dives", "What: it dives."]).success();
    for agent in ["claude-code", "codex", "zed"] {
        run(&home, &["setup", agent, "--allow"]).success();
    }
    run(&home, &["daemon", "install", "--no-start"]).success();
    run(&home, &["completions", "fish", "--install"]).success();
    let with = tree(&home.user());
    let shown = run(&home, &["uninstall", "--dry-run"]).success();
    assert!(shown.lines().any(|line| line.starts_with("-ExecStart=")), "{shown}");
    assert!(shown.contains(" more lines\n"), "completions are cut: {shown}");
    assert_eq!(tree(&home.user()), with, "the dry run changed something");
    let done = run(&home, &["uninstall", "--yes"]);
    assert_eq!(tree(&home.user()), before, "{done:?}");
    for words in ["the daemon is stopped", "the memory stays", "the program stays", "rm "] {
        assert!(done.stderr.contains(words), "{words}: {done:?}");
    }
    done.success();
    let hits = home.json(&["search", "shag"]);
    assert!(hits.to_string().contains("The shag dives"), "{hits}");
}

#[test]
fn an_entry_that_was_set_up_for_another_home_is_not_taken_out() {
    let (home, other) = (Home::new(), Home::new());
    let mut elsewhere = home.bare_command();
    elsewhere.arg("--home").arg(other.data()).args(["setup", "codex"]);
    finish(&mut elsewhere).success();
    let with = tree(&home.user());
    run(&home, &["uninstall"]).success();
    assert_eq!(tree(&home.user()), with);
}

#[test]
fn uninstall_removes_the_memory_only_on_request_and_never_settings_or_backups() {
    let home = Home::with_config("idle_exit = \"10m\"\n");
    home.run(&["save", "The shag dives", "What: it dives."]).success();
    home.run(&["backup"]).success();
    home.run(&["whatif", "new", "before"]).success();
    let refused = run(&home, &["uninstall", "--memory"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(home.data().join("store/CURRENT").exists());
    let done = run(&home, &["uninstall", "--memory", "--yes"]);
    let left: Vec<String> = fs::read_dir(home.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(left.iter().all(|name| ["config.toml", "backups"].contains(&name.as_str())), "{left:?} {done:?}");
    assert_eq!(left.len(), 2, "{left:?}");
    for name in left {
        assert!(done.stderr.contains(&name), "{name}: {done:?}");
    }
    assert_eq!(home.daemons(), Vec::<u32>::new());
}

#[test]
fn nothing_is_removed_from_a_folder_that_is_no_home() {
    let home = Home::at("theirs");
    fs::create_dir_all(home.data().join("models")).unwrap();
    fs::write(home.data().join("models/mine"), "x").unwrap();
    fs::set_permissions(home.data(), fs::Permissions::from_mode(0o700)).unwrap();
    let refused = run(&home, &["uninstall", "--memory", "--yes"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("is not a home of Cerebro"), "{refused:?}");
    assert!(home.data().join("models/mine").exists());
}

#[test]
fn every_agent_that_is_found_is_set_up_after_its_changes_were_shown() {
    let home = Home::new();
    for folder in [".codex", ".cursor"] {
        fs::create_dir_all(home.user().join(folder)).unwrap();
    }
    home.write(".gemini/settings.json", "{ malformed\n");
    let before = tree(&home.user());
    let asked = run(&home, &["setup", "--all"]);
    assert_eq!(asked.code(), 2, "{asked:?}");
    assert!(asked.stdout.contains("+[mcp_servers.cerebro]") && asked.stderr.contains("--yes"), "{asked:?}");
    assert_eq!(tree(&home.user()), before, "changed without a yes");
    assert_eq!(run(&home, &["setup", "--all", "--dry-run"]).code(), 1);
    assert_eq!(tree(&home.user()), before, "changed by a dry run");

    let done = run(&home, &["setup", "--all", "--yes"]);
    assert_eq!(done.code(), 1, "an agent that cannot be set up is named: {done:?}");
    assert!(done.stderr.contains(".gemini/settings.json"), "{done:?}");
    for file in [".codex/config.toml", ".cursor/mcp.json"] {
        assert!(fs::read_to_string(home.user().join(file)).unwrap().contains("cerebro"), "{file}");
    }
    assert!(!home.user().join(".config/zed").exists(), "an agent that is not here was set up");
    let listed = run(&home, &["setup", "--json"]).json();
    let set_up = |agent: &&Value| !agent["set_up"].as_array().unwrap().is_empty();
    let names: Vec<&Value> =
        listed["agents"].as_array().unwrap().iter().filter(set_up).map(|agent| &agent["agent"]).collect();
    assert_eq!(names, [&json!("codex"), &json!("cursor")]);
}

#[test]
fn the_bare_command_greets_a_person_and_not_a_hook() {
    let home = Home::new();
    fs::create_dir_all(home.user().join(".codex")).unwrap();
    let seen = home.folder("terminal").join("seen");
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", PROGRAM]).arg(&seen).env("HOME", home.user());
    let done = terminal.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    let shown = String::from_utf8_lossy(&fs::read(&seen).unwrap()).into_owned();
    assert!(done.success(), "{shown}");
    for words in ["lasting memory", "Codex", "not set up", "cerebro setup --all", "cerebro help"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
    assert!(!home.user().join(".cerebro").exists(), "a greeting made a home");
    let hook = finish(&mut home.bare_command());
    assert_eq!((hook.code(), hook.stdout.as_str()), (1, ""), "{hook:?}");
    assert!(hook.stderr.contains("Usage"), "{hook:?}");
}

#[test]
fn an_upgrade_is_checked_against_what_the_user_names_and_nothing_else() {
    let home = Home::new();
    let check = |from: &str| run(&home, &["upgrade", "--check", "--from", from, "--json"]);
    let newer = home.write("server.json", "{\"name\": \"x/cerebro\", \"version\": \"99.0.0\"}");
    let checked = check(newer.to_str().unwrap());
    assert_eq!(checked.code(), 1, "{checked:?}");
    assert!(checked.stdout.contains("\"is_newer\":true"), "{checked:?}");
    let own = home.write("VERSION", concat!("v", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(check(own.to_str().unwrap()).json()["is_newer"], json!(false));
    for (from, words) in [
        ("/no/such/file", "cannot read"),
        (home.user().join("empty").to_str().unwrap(), "names no version"),
        ("http://example.org/version", "not encrypted"),
    ] {
        home.write("empty", "");
        let refused = check(from);
        assert_eq!(refused.code(), 1, "{refused:?}");
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
    assert_eq!(run(&home, &["upgrade", "--check"]).code(), 2, "without a source nothing is asked");
}

#[test]
fn an_upgrade_asks_no_server_that_was_not_named() {
    let home = Home::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let place = format!("http://{}/latest", other.local_addr().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/latest", listener.local_addr().unwrap());
    let leads = place.clone();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {leads}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
    });
    let refused = run(&home, &["upgrade", "--check", "--from", &url]);
    server.join().unwrap();
    assert!(refused.code() == 1 && refused.stderr.contains(&place), "{refused:?}");
    assert!(other.accept().is_err(), "the other server was asked");
}

#[test]
fn an_address_is_asked_once_and_learns_nothing_of_this_machine() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/latest", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 4096];
        let count = stream.read(&mut request).unwrap();
        let body = "{\"tag_name\": \"v99.1.0\"}";
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        String::from_utf8_lossy(&request[..count]).into_owned()
    });
    let checked = run(&home, &["upgrade", "--check", "--from", &url]);
    let request = server.join().unwrap();
    assert_eq!(checked.code(), 1, "{checked:?}");
    assert!(checked.stdout.contains("newest\t99.1.0"), "{checked:?}");
    assert!(request.starts_with("GET /latest HTTP/1.1\r\n"), "{request}");
    let names: Vec<String> =
        request.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0.to_lowercase())).collect();
    assert!(
        names.iter().all(|name| ["accept", "accept-encoding", "host", "user-agent"].contains(&name.as_str())),
        "{request}"
    );
}
