//! The live endpoint: SurrealDB's own client on the running store, with read access only.

use std::fs;
use std::future::Future;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use cerebro_testing::{Account, Client};
use rustix::process::Signal;

use crate::support::{DEADLINE, Home, Running, Value, json, wait_for};

/// A running `cerebro studio`.
struct Studio {
    process: Running,
    access: Value,
}

impl Studio {
    fn open(home: &Home, args: &[&str]) -> Self {
        let (process, line) = Running::announced(home.command().args(["studio", "--json"]).args(args));
        let access = serde_json::from_str(&line).unwrap_or_else(|e| panic!("no access ({e}): {line}"));
        Self { process, access }
    }

    fn field(&self, key: &str) -> &str {
        self.access[key].as_str().unwrap_or_else(|| panic!("no {key} in {}", self.access))
    }

    fn address(&self) -> &str {
        self.field("endpoint").trim_start_matches("ws://")
    }

    /// The visitors' account, with this password.
    fn account(&self, password: &str) -> Account {
        let [namespace, database, user] =
            ["namespace", "database", "user"].map(|key| self.field(key).to_owned());
        Account::Database(namespace, database, user, password.to_owned())
    }

    async fn visit(&self) -> Client {
        let db = Client::connect(self.field("endpoint")).await.unwrap();
        db.sign_in(self.account(self.field("password"))).await.unwrap();
        db.choose(self.field("namespace"), self.field("database")).await.unwrap();
        db
    }

    /// The status of an answer to a request with these lines in its head.
    fn status_of(&self, request: &str, head: &[&str]) -> u16 {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nConnection: close\r\n{}\r\n\r\n", head.join("\r\n")).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[9..]).parse().unwrap()
    }
}

/// The client needs a deeper stack than a test's thread has.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(10 << 20)
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(async { tokio::time::timeout(2 * DEADLINE, Box::pin(test)).await });
    runtime.shutdown_background();
    done.expect("the test is stuck")
}

/// What a visitor must not change: the memories and the definitions of the database.
fn state(home: &Home) -> (String, Value) {
    let defined = home.json(&["sql", "RETURN (INFO FOR DB).{ tables, functions }"]);
    (home.export_text(), defined["results"][0]["result"].clone())
}

fn users(home: &Home) -> Value {
    home.json(&["sql", "RETURN (INFO FOR DB).users"])["results"][0]["result"].clone()
}

#[test]
fn the_rust_client_reads_follows_and_changes_nothing() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("Alpha", "First.");
    agent.save("Beta", "Second.");
    let studio = Studio::open(&home, &[]);
    let before = state(&home);
    run(async {
        let db = studio.visit().await;
        let read = db.query("SELECT VALUE title FROM memory ORDER BY title").await.unwrap();
        assert_eq!(read, [json!(["Alpha", "Beta"])]);

        for text in [
            "CREATE memory:intruder SET title = 'x'",
            "CREATE new_table:1 SET a = 1",
            "UPDATE memory SET title = 'x'",
            "UPSERT memory:intruder SET title = 'x'",
            "DELETE memory",
            "DELETE CREATED_IN",
            "BEGIN; DELETE memory; COMMIT",
            "INSERT INTO memory { id: 'intruder', title: 'x' }",
            "INSERT INTO new_table { a: 1 }",
            "LET $m = (SELECT VALUE id FROM memory); RELATE $m->RELATES_TO->$m SET kind = 'x', weight = 1f, method = 'x', at = time::now()",
        ] {
            // An error and an answer without rows are both right; the state below counts.
            let _ = db.query(text).await;
        }
        for text in [
            "DEFINE TABLE intruder",
            "DEFINE USER intruder ON DATABASE PASSWORD 'x'",
            "REMOVE TABLE memory",
            "REMOVE USER studio ON DATABASE",
            "INFO FOR ROOT",
            "INFO FOR NS",
            "REBUILD INDEX memory_recent ON memory",
            "ALTER SYSTEM COMPACT",
            "USE NS other DB other; SELECT * FROM x",
            "RETURN http::get('http://127.0.0.1')",
            "RETURN sleep(1ms)",
            "RETURN function() { return 1 }",
            "RETURN crypto::argon2::generate('x')",
        ] {
            let answer = db.query(text).await;
            assert!(answer.is_err(), "not refused: {text}");
        }
        let created = db.create("memory", "intruder").await;
        assert!(created.is_err(), "the method was answered: {created:?}");
        assert!(db.begin().await.is_err(), "a visitor holds a transaction open");
    });
    assert_eq!(state(&home), before);

    run(async {
        let db = studio.visit().await;
        let mut news = db.live("LIVE SELECT * FROM memory").await.unwrap();
        agent.save("Gamma", "Saved while somebody follows.");
        let (action, row) =
            tokio::time::timeout(DEADLINE, news.change()).await.expect("no news").unwrap().unwrap();
        assert_eq!((action.as_str(), &row["title"]), ("Create", &json!("Gamma")));
    });
}

#[test]
fn no_client_connects_without_the_password() {
    let home = Home::new();
    home.agent().save("Alpha", "First.");
    let studio = Studio::open(&home, &[]);
    let file = home.data().join("studio.json");
    assert_eq!(studio.field("file"), file.canonicalize().unwrap().display().to_string());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["password"], studio.field("password"));
    assert!(studio.field("endpoint").starts_with("ws://127.0.0.1:"));
    run(async {
        let db = Client::connect(studio.field("endpoint")).await.unwrap();
        assert!(db.sign_in(studio.account("guess")).await.is_err());
        for user in ["root", "cerebro", "studio"] {
            let root = Account::Root(user.to_owned(), studio.field("password").to_owned());
            assert!(db.sign_in(root).await.is_err(), "{user} is a root user");
        }
        let _ = db.choose("cerebro", "main").await;
        for text in ["SELECT * FROM memory", "RETURN 1", "INFO FOR DB", "DEFINE USER x ON ROOT PASSWORD 'x'"]
        {
            let answer = db.query(text).await;
            assert!(answer.is_err(), "a guest may: {text}");
        }
    });
    let log = fs::read_to_string(home.data().join("daemon.log")).unwrap();
    assert!(!log.contains(studio.field("password")), "the password is in the log");
}

#[test]
fn foreign_pages_names_and_paths_get_nothing() {
    let home = Home::new();
    let studio = Studio::open(&home, &["--origin", "https://db.example.org"]);
    let here = format!("Host: {}", studio.address());
    let upgrade = [
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol: json",
    ];
    for (origin, want) in [
        ("https://evil.example", 403),
        ("null", 403),
        ("https://surrealist.app", 101),
        ("https://db.example.org", 101),
        ("http://localhost:3000", 101),
    ] {
        let origin = format!("Origin: {origin}");
        let mut stream = TcpStream::connect(studio.address()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let head = [&[here.as_str(), origin.as_str()], &upgrade[..]].concat().join("\r\n");
        write!(stream, "GET /rpc HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {want}"), "{origin}");
    }
    assert_eq!(studio.status_of("GET /health", &[&here]), 200);
    assert_eq!(studio.status_of("GET /version", &["Host: evil.example"]), 403);
    for path in
        ["/", "/sql", "/export", "/import", "/key/memory", "/signin", "/ml/export/x/1", "/api/x", "/graphql"]
    {
        assert_eq!(studio.status_of(&format!("GET {path}"), &[&here]), 404, "{path}");
        assert_eq!(studio.status_of(&format!("POST {path}"), &[&here, "Content-Length: 0"]), 404, "{path}");
    }
}

#[test]
fn it_closes_with_its_command_however_that_ends() {
    let home = Home::new();
    let file = home.data().join("studio.json");
    for (signal, code) in [(Signal::INT, 0), (Signal::TERM, 0), (Signal::KILL, -1)] {
        let mut studio = Studio::open(&home, &[]);
        assert!(file.exists() && users(&home).to_string().contains("studio"));
        studio.process.signal(signal);
        assert_eq!(studio.process.ended(), code, "{signal:?}");
        wait_for("the endpoint to close", || TcpStream::connect(studio.address()).is_err().then_some(()));
        wait_for("its file to go", || (!file.exists()).then_some(()));
        assert_eq!(users(&home), json!({}));
    }
}

#[test]
fn one_endpoint_is_open_at_a_time_and_another_command_closes_it() {
    let home = Home::new();
    let mut studio = Studio::open(&home, &[]);
    let second = home.run(&["studio"]);
    assert_eq!(second.code(), 1);
    assert!(second.stderr.contains("--stop") && second.stderr.contains(studio.address()), "{second:?}");
    assert_eq!(home.json(&["studio", "--stop"]), json!({ "closed": true }));
    assert_eq!(studio.process.ended(), 0, "closed on request");
    assert_eq!(home.json(&["studio", "--stop"]), json!({ "closed": false }));

    let port = studio.address().rsplit(':').next().unwrap().to_owned();
    let again = Studio::open(&home, &["--port", &port]);
    assert_eq!(again.address(), studio.address());
    assert_ne!(again.field("password"), studio.field("password"));
    run(async {
        let db = Client::connect(again.field("endpoint")).await.unwrap();
        let old = studio.account(studio.field("password"));
        assert!(db.sign_in(old).await.is_err(), "an old password is taken");
    });
    drop(again);

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    wait_for("the endpoint to be closed", || {
        let refused = home.run(&["studio", "--port", &port]);
        (!refused.stderr.contains("--stop")).then(|| assert!(refused.stderr.contains(&port), "{refused:?}"))
    });
    let odd = home.run(&["studio", "--origin", "*"]);
    assert!(odd.code() == 1 && odd.stderr.contains("`*` is not an origin"), "{odd:?}");
    assert_eq!(users(&home), json!({}), "an endpoint that did not open left its user");
}

#[test]
fn the_daemon_leaves_with_visitors_and_releases_the_store() {
    let home = Home::new();
    home.agent().save("Alpha", "First.");
    for _ in 0..2 {
        let mut studio = Studio::open(&home, &[]);
        let visitor = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_stack_size(10 << 20)
            .enable_all()
            .build()
            .unwrap();
        let news = visitor.block_on(async {
            let db = studio.visit().await;
            (db.live("LIVE SELECT * FROM memory").await.unwrap(), db)
        });
        let begun = std::time::Instant::now();
        home.run(&["daemon", "stop"]).success();
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert_eq!(studio.process.ended(), 1);
        assert!(!home.data().join("studio.json").exists());
        // The next daemon opens the store at once.
        assert_eq!(home.json(&["stats"])["memories"]["live"], 1);
        assert_eq!(users(&home), json!({}));
        // The client ends its query in a task of its own.
        let inside = visitor.enter();
        drop(news);
        drop(inside);
        visitor.shutdown_background();
    }
    let log = fs::read_to_string(home.data().join("daemon.log")).unwrap();
    assert!(!log.contains("did not close cleanly") && !log.contains("/LOCK"), "{log}");
}

#[test]
fn the_next_start_removes_the_user_of_a_killed_daemon() {
    let home = Home::new();
    home.agent().save("Alpha", "First.");
    let mut studio = Studio::open(&home, &[]);
    home.kill_daemon();
    assert_eq!(studio.process.ended(), 1);
    assert!(home.data().join("studio.json").exists(), "the test shows nothing");
    assert_eq!(users(&home), json!({}));
    assert!(!home.data().join("studio.json").exists());
}
