//! A server that answers by a script, on a real socket, and keeps what it heard.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::Value;

/// What happens to one request.
#[derive(Debug, Clone)]
pub enum Scene {
    /// An answer: status, headers (each with its line end), body.
    Answer(u16, &'static str, String),
    /// An answer whose body breaks off in its middle.
    Half(String),
    /// No answer.
    Hang,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Its first line.
    pub line: String,
    /// Its headers, in lowercase.
    pub headers: String,
    /// Its body; null if it is no JSON.
    pub body: Value,
}

/// The server. Each connection serves one request; the last scene repeats.
pub struct Provider {
    address: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Provider {
    /// Starts to answer.
    pub fn start(scenes: Vec<Scene>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            // Connections that hang stay open as long as the test runs.
            let mut open = Vec::new();
            for (n, stream) in listener.incoming().flatten().enumerate() {
                let scene = &scenes[n.min(scenes.len() - 1)];
                if let Some(request) = hear(&stream) {
                    kept.lock().unwrap().push(request);
                    open.extend(play(scene, stream));
                }
            }
        });
        Self { address, heard }
    }

    /// A server that gives every request the same answer.
    pub fn answering(body: impl Into<String>) -> Self {
        Self::start(vec![Scene::Answer(200, "", body.into())])
    }

    /// `http://127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The requests so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

fn hear(stream: &TcpStream) -> Option<Heard> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut headers = String::new();
    while reader.read_line(&mut headers).ok()? > 2 {}
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |text| text.trim().parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Heard { line: line.trim().to_owned(), headers, body })
}

/// Plays the scene; gives the connection back where it is to stay open.
fn play(scene: &Scene, mut stream: TcpStream) -> Option<TcpStream> {
    let (status, headers, body, length) = match scene {
        Scene::Answer(status, headers, body) => (*status, *headers, body, body.len()),
        Scene::Half(body) => (200, "", body, body.len() * 2),
        Scene::Hang => return Some(stream),
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: \
         close\r\n{headers}\r\n"
    );
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    None
}
