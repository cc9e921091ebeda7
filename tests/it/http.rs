//! MCP over HTTP: authentication, answers, an agent on the socket at the same time, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{DEADLINE, Home, Repository, Running, Value, finish, json, wait_for};

/// A running `cerebro serve`, or `cerebro daemon run --http`.
struct Served {
    process: Running,
    access: Value,
    token: Option<String>,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", self.body))
    }

    fn header(&self, name: &str) -> Option<String> {
        let line =
            self.head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    }
}

impl Served {
    fn open(home: &Home, args: &[&str]) -> Self {
        Self::open_with(home, args, None)
    }

    fn open_with(home: &Home, args: &[&str], token: Option<&str>) -> Self {
        let mut command = home.command();
        command.args(["serve", "--json", "--http", "127.0.0.1:0"]).args(args);
        token.map(|token| command.env("CEREBRO_HTTP_TOKEN", token));
        let (process, line) = Running::announced(&mut command);
        let access: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("no access ({e}): {line}"));
        let of_file =
            access["token_file"].as_str().map(|file| fs::read_to_string(file).unwrap().trim().to_owned());
        Self { process, access, token: of_file.or_else(|| token.map(str::to_owned)) }
    }

    fn address(&self) -> String {
        let url = self.access["url"].as_str().unwrap();
        url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
    }

    /// Sends one request as it is and reads the answer to its end.
    fn raw(&self, request: &str, head: &[String], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let head = head.join("\r\n");
        let length = body.len();
        // A server that refuses early may not read all of it.
        let _ = write!(
            stream,
            "{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n\r\n"
        );
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .get(9..12)
            .and_then(|code| code.parse().ok())
            .unwrap_or_else(|| panic!("no status: {text:?}"));
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn get(&self, path: &str, more: &[&str]) -> Answer {
        let mut head = self.usual();
        head.extend(more.iter().map(|line| (*line).to_owned()));
        self.raw(&format!("GET {path}"), &head, b"")
    }

    fn usual(&self) -> Vec<String> {
        let mut head = vec![format!("Host: {}", self.address())];
        head.extend(self.token.iter().map(|token| format!("Authorization: Bearer {token}")));
        head
    }

    fn post(&self, message: &Value, more: &[&str]) -> Answer {
        let mut head = self.usual();
        head.push("Content-Type: application/json".to_owned());
        head.push("Accept: application/json, text/event-stream".to_owned());
        head.extend(more.iter().map(|line| (*line).to_owned()));
        self.raw("POST /mcp", &head, message.to_string().as_bytes())
    }

    /// Begins a session and returns its id.
    fn initialize(&self, more: &[&str]) -> String {
        let answer = self.post(&initialize(), more);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.json()["result"]["serverInfo"]["name"], "cerebro");
        answer.header("mcp-session-id").unwrap()
    }

    fn call(&self, session: &str, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
        let answer = self.post(&call, &[&format!("Mcp-Session-Id: {session}")]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["result"]["structuredContent"].clone()
    }

    /// The same where there are no sessions.
    fn call_alone(&self, tool: &str, arguments: Value, more: &[&str]) -> Value {
        self.call_as("lonely", tool, arguments, more)
    }

    /// The same by a client of another name.
    fn call_as(&self, client: &str, tool: &str, arguments: Value, more: &[&str]) -> Value {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta(client) });
        let call = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params });
        let name = format!("Mcp-Name: {tool}");
        let mut head = vec!["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", &name];
        head.extend(more);
        let answer = self.post(&call, &head);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["result"]["structuredContent"].clone()
    }

    fn is_reachable(&self) -> bool {
        TcpStream::connect(self.address()).is_ok()
    }
}

/// The client information of a request without a session.
fn meta(client: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": client, "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn initialize() -> Value {
    let client = json!({ "name": "web-agent", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[test]
fn only_requests_with_the_token_are_served() {
    let home = Home::new();
    let mut served = Served::open(&home, &[]);
    let file = home.data().join("http.token");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    served.initialize(&[]);
    let right = served.token.take();
    for wrong in [None, Some("wrong".to_owned()), right.as_ref().map(|token| token[1..].to_owned())] {
        served.token = wrong;
        let refused = served.post(&initialize(), &[]);
        assert_eq!(refused.status, 401, "{}", refused.body);
        assert_eq!(refused.header("www-authenticate").as_deref(), Some("Bearer"));
        assert_eq!(served.get("/metrics", &[]).status, 401);
        // The health check reveals nothing and needs no token.
        assert_eq!(served.get("/health", &[]).body, "ok\n");
    }
    // The log contains neither the token nor what was sent in its place.
    let log = fs::read_to_string(home.data().join("daemon.log")).unwrap();
    assert!(!log.contains(&right.unwrap()) && !log.contains("wrong"), "{log}");
}

/// A remote client's folder has nothing to do with this machine's, and naming one must not reveal anything about them.
#[test]
fn a_directory_is_recorded_and_not_looked_at() {
    let home = Home::new();
    let repository = Repository::init(&home.folder("checkout"));
    repository.origin("https://example.org/team/thing.git");
    let served = Served::open(&home, &[]);
    let session = served.initialize(&[]);
    let started =
        served.call(&session, "mem_session_start", json!({ "id": "far", "directory": repository.path() }));
    assert_eq!(started["project"], "general", "{started}");
    let export = home.export();
    let stored = export.iter().find(|line| line["kind"] == "session" && line["id"] == "far").unwrap();
    assert_eq!(stored["directory"], json!(repository.path()), "{stored}");
}

#[test]
fn the_environments_token_counts_and_a_weak_one_is_refused() {
    let home = Home::new();
    let served = Served::open_with(&home, &[], Some("a-token-of-my-own"));
    assert!(served.access.get("token_file").is_none());
    assert!(!home.data().join("http.token").exists());
    served.initialize(&[]);
    drop(served);
    let refused =
        finish(home.command().args(["serve", "--http", "127.0.0.1:0"]).env("CEREBRO_HTTP_TOKEN", "weak"));
    assert!(refused.stderr.contains("16"), "{refused:?}");
    assert_ne!(refused.code(), 0);
}

#[test]
fn without_a_token_it_listens_on_loopback_only() {
    let home = Home::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = finish(home.command().args(["serve", "--http", address, "--no-token"]));
        assert!(refused.stderr.contains("loopback"), "{address}: {refused:?}");
        assert_ne!(refused.code(), 0);
    }
    let served = Served::open(&home, &["--no-token"]);
    assert!(served.token.is_none());
    served.initialize(&[]);
    let second = finish(home.command().args(["serve", "--http", "127.0.0.1:0"]));
    assert!(second.stderr.contains(&served.address()), "{second:?}");
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let home = Home::new();
    let served =
        Served::open(&home, &["--host", "memory.example.net", "--origin", "https://app.example.org"]);
    let token = format!("Authorization: Bearer {}", served.token.as_deref().unwrap());
    let status = |lines: &[&str]| {
        let mut head = vec![token.clone(), "Content-Type: application/json".to_owned()];
        head.extend(lines.iter().map(|line| (*line).to_owned()));
        served.raw("POST /mcp", &head, initialize().to_string().as_bytes()).status
    };
    for host in ["Host: localhost", "Host: 127.0.0.1:1", "Host: memory.example.net:8765"] {
        assert_eq!(status(&[host]), 200, "{host}");
    }
    for host in ["Host: evil.example", "Host: localhost.evil.example", "X-Nothing: 1"] {
        assert!(matches!(status(&[host]), 400 | 403), "{host}");
    }
    for (origin, want) in [
        ("Origin: https://app.example.org", 200),
        ("Origin: http://localhost:3000", 200),
        ("Origin: https://evil.example", 403),
        ("Origin: null", 403),
    ] {
        assert_eq!(status(&["Host: localhost", origin]), want, "{origin}");
    }
    assert_eq!(served.get("/", &[]).status, 404);
}

#[test]
fn bodies_and_rates_are_bounded() {
    let home = Home::new();
    let served = Served::open(&home, &["--rate", "2"]);
    let long = json!({ "jsonrpc": "2.0", "id": 1, "method": "x".repeat(4 << 20) });
    assert_eq!(served.post(&long, &[]).status, 413);
    let plain = served.raw("POST /mcp", &served.usual(), b"{}");
    assert_eq!(plain.status, 415);
    // Two a second, and eight at once.
    let statuses: Vec<u16> = (0..40).map(|_| served.get("/metrics", &[]).status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    let refused = wait_for("a refusal", || Some(served.get("/metrics", &[])).filter(|a| a.status == 429));
    assert_eq!(refused.header("retry-after").as_deref(), Some("1"));
    wait_for("the next second", || (served.get("/metrics", &[]).status == 200).then_some(()));
    // The health check has a rate limit of its own.
    assert_eq!(served.get("/health", &[]).status, 200);
    let refused =
        wait_for("health to be slowed", || Some(served.get("/health", &[])).filter(|a| a.status == 429));
    assert_eq!(refused.header("retry-after").as_deref(), Some("1"));
    wait_for("health to be answered again", || (served.get("/health", &[]).status == 200).then_some(()));
}

#[test]
fn a_message_that_cannot_be_read_is_answered_at_once() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    let session = format!("Mcp-Session-Id: {}", served.initialize(&[]));
    for (message, code) in [
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": [] }), -32_602),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": 5 } }), -32_602),
        (
            json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "x", "arguments": [] } }),
            -32_602,
        ),
        (json!({ "jsonrpc": "2.0", "id": 7.5, "method": "tools/list" }), -32_600),
    ] {
        let begun = std::time::Instant::now();
        let answer = served.post(&message, &[&session]);
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(code)), "{message}");
        assert!(begun.elapsed() < DEADLINE / 2, "{message}: {:?}", begun.elapsed());
    }
    assert!(served.call(&session["Mcp-Session-Id: ".len()..], "mem_stats", json!({})).is_object());
}

/// A client may send a name of any length, which is kept for half an hour.
#[test]
fn a_clients_name_is_cut_before_it_is_remembered() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    let long = "x".repeat(1 << 20);
    for (name, title) in [(format!("{long}a"), "One"), (format!("{long}b"), "Two")] {
        let saved = served.call_as(&name, "mem_save", json!({ "title": title, "content": title }), &[]);
        assert_eq!(saved["outcome"], "created", "{saved}");
    }
    let sessions = home.json(&["sessions", "--all-projects"]);
    let of_long: Vec<&Value> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|session| session["agent"].as_str().is_some_and(|agent| agent.starts_with("xxx")))
        .collect();
    assert_eq!(of_long.len(), 1, "names that are the same as far as they count: {sessions}");
}

#[test]
fn http_and_socket_share_one_memory() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.save("From the socket", "Kept by a pump.");
    let served = Served::open(&home, &[]);
    let session = served.initialize(&["X-Cerebro-Project: harbour"]);
    let saved =
        served.call(&session, "mem_save", json!({ "title": "From the web", "content": "Kept over HTTP." }));
    assert_eq!((&saved["outcome"], &saved["project"]), (&json!("created"), &json!("harbour")), "{saved}");
    let found =
        served.call(&session, "mem_search", json!({ "query": "kept by a pump", "all_projects": true }));
    assert_eq!(found["hits"][0]["title"], "From the socket", "{found}");
    let listed = home.json(&["search", "kept over HTTP", "--all-projects"]);
    assert_eq!(listed["hits"][0]["title"], "From the web", "{listed}");
    let alone = served.call_alone("mem_save", json!({ "title": "Alone", "content": "No session." }), &[]);
    assert_eq!(alone["project"], "general", "{alone}");
    served.call_alone("mem_save", json!({ "title": "Again", "content": "Nor here." }), &[]);
    // The calls of one client belong together, and not to the other's session.
    let sessions = home.json(&["sessions", "--all-projects"]);
    let of_lonely: Vec<&Value> =
        sessions["sessions"].as_array().unwrap().iter().filter(|s| s["agent"] == "lonely").collect();
    assert_eq!(of_lonely.len(), 1, "{sessions}");

    let text = served.get("/metrics", &[]).body;
    for line in ["cerebro_calls_total{tool=\"mem_save\",outcome=\"ok\"} 4", "cerebro_memories 4"] {
        assert!(text.lines().any(|have| have == line), "{line}\n{text}");
    }
    assert!(!text.contains("harbour") && !text.contains("Kept"), "{text}");
}

#[test]
fn the_project_of_a_header_holds_no_secret() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d");
    let header = format!("X-Cerebro-Project: {secret}");
    let save = json!({ "title": "Named oddly", "content": "By a header." });
    let saved = served.call_alone("mem_save", save, &[&header]);
    assert_eq!(saved["project"], "[redacted:github-token]", "{saved}");
    assert!(!home.export_text().to_lowercase().contains(&secret.to_lowercase()));
    let reserved = served.post(&initialize(), &["X-Cerebro-Project: personal"]);
    assert!(reserved.status == 400 && reserved.body.contains("choose another name"), "{}", reserved.body);
}

#[test]
fn sessions_are_known_and_end() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(served.post(&ping, &[]).status, 400);
    assert_eq!(served.post(&ping, &["Mcp-Session-Id: nobody"]).status, 404);
    let session = format!("Mcp-Session-Id: {}", served.initialize(&[]));
    assert_eq!(served.post(&ping, &[&session]).json()["result"], json!({}));
    let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(served.post(&done, &[&session]).status, 202);
    assert_eq!(served.get("/mcp", &[&session]).status, 405);
    let mut head = served.usual();
    head.push(session.clone());
    assert_eq!(served.raw("DELETE /mcp", &head, b"").status, 204);
    assert_eq!(served.post(&ping, &[&session]).status, 404);
    for bad in ["[]", "{", "7"] {
        let mut head = served.usual();
        head.push("Content-Type: application/json".to_owned());
        assert_eq!(served.raw("POST /mcp", &head, bad.as_bytes()).status, 400, "{bad}");
    }
}

#[test]
fn it_closes_with_the_command_and_with_the_daemon() {
    let home = Home::new();
    let mut served = Served::open(&home, &[]);
    assert_eq!(home.json(&["daemon", "status"])["http"], json!(served.address()));
    served.process.signal(Signal::TERM);
    assert_eq!(served.process.ended(), 0);
    assert!(!served.is_reachable());

    // Also when the command is killed.
    let served = Served::open(&home, &[]);
    served.process.signal(Signal::KILL);
    wait_for("the listener to close", || (!served.is_reachable()).then_some(()));

    let mut served = Served::open(&home, &[]);
    assert_eq!(home.json(&["serve", "--stop"])["closed"], json!(true));
    assert_eq!(served.process.ended(), 0, "closed on request");

    let mut served = Served::open(&home, &[]);
    finish(home.command().args(["daemon", "stop"])).success();
    assert!(!served.is_reachable());
    assert_ne!(served.process.ended(), 0);
}

#[test]
fn an_unfinished_head_loses_its_connection() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    let mut slow = TcpStream::connect(served.address()).unwrap();
    slow.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").unwrap();
    wait_for("the slow connection to be closed", || {
        // Sending a byte now and then does not keep it open.
        let closed = slow.write_all(b"a").is_err() || slow.read(&mut [0; 512]).is_ok_and(|bytes| bytes == 0);
        closed.then_some(())
    });
    assert_eq!(served.get("/health", &[]).status, 200);
}

/// A request whose body does not arrive.
fn unfinished(served: &Served) -> TcpStream {
    let mut head = served.usual();
    head.push("Content-Type: application/json\r\nAccept: application/json, text/event-stream".to_owned());
    let mut slow = TcpStream::connect(served.address()).unwrap();
    slow.set_read_timeout(Some(DEADLINE)).unwrap();
    let head = head.join("\r\n");
    write!(slow, "POST /mcp HTTP/1.1\r\nContent-Length: 1000\r\n{head}\r\n\r\n{{\"jsonrpc\"").unwrap();
    slow
}

#[test]
fn a_listener_that_is_closing_is_waited_for() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    // It holds up the listener when the command is killed.
    let slow = unfinished(&served);
    assert_eq!(served.get("/health", &[]).status, 200);
    drop(served);
    wait_for("the listener to close", || home.json(&["daemon", "status"])["http"].is_null().then_some(()));
    assert_eq!(Served::open(&home, &[]).get("/health", &[]).status, 200);
    drop(slow);
}

#[test]
fn an_unfinished_body_is_refused_in_time() {
    let home = Home::new();
    let served = Served::open(&home, &[]);
    let mut slow = unfinished(&served);
    let mut answer = [0; 512];
    let bytes = slow.read(&mut answer).expect("an answer before the test's patience ends");
    let answer = String::from_utf8_lossy(&answer[..bytes]);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert_eq!(served.get("/health", &[]).status, 200);
}

#[test]
fn a_change_of_the_list_is_announced_on_a_stream() {
    let home = Home::new();
    let mut agent = home.agent();
    agent.ok("mem_stats", json!({}));
    let served = Served::open(&home, &[]);
    let params = json!({ "notifications": { "resourcesListChanged": true }, "_meta": meta("listener") });
    let listen = json!({ "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params });
    let (body, mut head) = (listen.to_string(), served.usual());
    head.push("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen".to_owned());
    head.push("Content-Type: application/json\r\nAccept: application/json, text/event-stream".to_owned());
    let mut stream = TcpStream::connect(served.address()).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let (length, head) = (body.len(), head.join("\r\n"));
    write!(stream, "POST /mcp HTTP/1.1\r\nContent-Length: {length}\r\n{head}\r\n\r\n{body}").unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("the stream ended"));
    let mut received = |what: &str| lines.any(|line| line.contains(what));
    assert!(received("notifications/subscriptions/acknowledged"));
    agent.save("News", "For whoever listens.");
    assert!(received("notifications/resources/list_changed"));
}
