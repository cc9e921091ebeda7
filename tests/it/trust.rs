//! Which daemon a client trusts, which folders count as homes, and what a daemon inherits from its starter.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use crate::support::{Home, finish, json, skip, wait_for};

/// A home whose lock this test holds, and whose record says that a daemon of this process listens at `socket`.
fn pretended(home: &Home, socket: &std::path::Path) -> fs::File {
    home.run(&["daemon", "start"]).success();
    home.run(&["daemon", "stop"]).success();
    let path = home.data().join("daemon.lock");
    let record = json!({"pid": std::process::id(), "version": "0.1.0", "use": "daemon", "socket": socket});
    fs::write(&path, record.to_string()).unwrap();
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    lock
}

#[test]
fn nothing_is_sent_to_a_socket_in_a_folder_of_others() {
    let home = Home::new();
    let folder = home.folder("open");
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    let socket = folder.join("fake.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let _lock = pretended(&home, &socket);
    for command in [&["save", "Secret title", "Secret text"][..], &["daemon", "status"], &["stats"]] {
        let refused = home.run(command);
        assert_ne!(refused.code(), 0, "{refused:?}");
        assert!(refused.stderr.contains(folder.to_str().unwrap()), "{refused:?}");
        assert!(refused.stderr.contains("not to be trusted"), "{refused:?}");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody connected");
}

/// Only root can become another user.
#[test]
fn nothing_is_sent_to_another_user() {
    const LISTEN: &str = "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) or die; bind(S, sockaddr_un($ARGV[0])) or die;\
        $> = 65534; listen(S, 9) or die; print \"listening\\n\"; $| = 1; print ''; alarm 60;\
        while (accept(C, S)) { my $said = <C>; print 'heard ', defined $said ? $said : \"nothing\\n\" }";
    if !rustix::process::getuid().is_root() {
        return skip("only root can become another user");
    }
    let home = Home::new();
    let folder = home.folder("closed");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let socket = folder.join("fake.sock");
    let mut perl =
        Command::new("perl").args(["-e", LISTEN]).arg(&socket).stdout(Stdio::piped()).spawn().unwrap();
    wait_for("the other user to listen", || socket.exists().then_some(()));
    let _lock = pretended(&home, &socket);
    let refused = wait_for("the other user to be seen", || {
        let refused = home.run(&["save", "Secret title", "Secret text"]);
        refused.stderr.contains("65534").then_some(refused)
    });
    assert_ne!(refused.code(), 0, "{refused:?}");
    perl.kill().unwrap();
    let mut received = String::new();
    perl.stdout.take().unwrap().read_to_string(&mut received).unwrap();
    perl.wait().unwrap();
    assert!(!received.contains("protocol") && !received.contains("Secret"), "{received}");
}

#[test]
fn a_daemon_with_a_long_home_is_found_by_clients_without_its_variables() {
    let home = Home::at(&format!("{}/data", "long".repeat(30)));
    let run = home.folder("run-of-the-user");
    fs::set_permissions(&run, Permissions::from_mode(0o700)).unwrap();
    let mut one = home.pump().project("demo").env("XDG_RUNTIME_DIR", &run).start();
    let id = one.save("Long", "With a folder for sockets.");
    let mut two = home.pump().project("demo").start();
    assert_eq!(two.get(&id)["content"], "With a folder for sockets.", "an agent that strips the environment");
    assert_eq!(home.daemons().len(), 1);
    // A path in there may be too long as well.
    if run.as_os_str().len() < 60 {
        assert_eq!(
            fs::read_dir(run.join("cerebro")).unwrap().count(),
            1,
            "the user's own folder is preferred"
        );
    }
}

#[test]
fn a_home_path_that_the_database_would_misread_is_refused() {
    let home = Home::new();
    let odd = home.work().join("a?sync=never");
    let mut command = home.bare_command();
    let refused = finish(command.arg("--home").arg(&odd).args(["save", "Title", "Text"]));
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert!(refused.stderr.contains("question mark") && refused.stderr.contains("a?sync"), "{refused:?}");
    assert_eq!(fs::read_dir(home.work()).unwrap().count(), 0, "something was made of it");
}

#[test]
fn a_folder_of_another_program_is_not_closed() {
    let home = Home::new();
    let app = home.folder("app");
    fs::write(app.join("config.toml"), "[server]\nport = 80\n").unwrap();
    fs::set_permissions(&app, Permissions::from_mode(0o755)).unwrap();
    let mut command = home.bare_command();
    let refused = finish(command.arg("--home").arg(&app).arg("stats"));
    assert_ne!(refused.code(), 0, "{refused:?}");
    assert!(refused.stderr.contains(app.to_str().unwrap()), "{refused:?}");
    assert_eq!(fs::metadata(&app).unwrap().permissions().mode() & 0o777, 0o755);
}

/// Its name says whose it is, and people write their settings before they start anything.
#[test]
fn the_default_home_is_closed_where_only_settings_are_in_it() {
    let home = Home::new();
    let own = home.user().join(".cerebro");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("config.toml"), "idle_exit = \"1m\"\n").unwrap();
    fs::set_permissions(&own, Permissions::from_mode(0o755)).unwrap();
    finish(home.bare_command().arg("stats")).success();
    assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_daemon_does_not_keep_what_only_its_starter_needs() {
    let home = Home::with_config("[relations]\napi_key_env = \"KEY_BY_NAME\"\n");
    let kept =
        [("KEY_BY_NAME", "k1"), ("OPENAI_API_KEY", "k2"), ("CEREBRO_LOG", "info"), ("HTTPS_PROXY", "k3")];
    let left = [("GITHUB_TOKEN", "secret"), ("AWS_SESSION_TOKEN", "secret"), ("PIP_INDEX_URL", "secret")];
    let mut pump = home.pump().project("demo");
    for (name, value) in kept.iter().chain(&left) {
        pump = pump.env(name, value);
    }
    let mut agent = pump.start();
    agent.save("Any", "To have a daemon.");
    let environment = fs::read_to_string(format!("/proc/{}/environ", home.daemon_pid())).unwrap();
    let has = |name: &str, value: &str| environment.split('\0').any(|set| set == format!("{name}={value}"));
    for (name, value) in kept {
        assert!(has(name, value), "{name} is missing");
    }
    assert!(has("HOME", home.user().to_str().unwrap()) && environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("secret"), "{environment}");
}
