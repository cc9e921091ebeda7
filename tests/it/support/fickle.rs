//! A server that speaks like OpenAI's embeddings, for what a real one cannot be made to do: fail on demand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{Value, json};

/// Numbers in its vectors.
pub const DIMENSION: usize = 64;

/// What it does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Answers.
    Well,
    /// Says that it cannot now.
    Down,
    /// Refuses texts that hold the word `poison`.
    Picky,
}

/// The server; it ends with the test's process.
pub struct Fickle {
    port: u16,
    mood: Arc<Mutex<Mood>>,
    requests: Arc<AtomicUsize>,
    texts: Arc<Mutex<Vec<String>>>,
}

impl Fickle {
    /// Listens on a free port of an address of this machine that does not look like it, so that it counts as
    /// one that is paid for.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            mood: Arc::new(Mutex::new(Mood::Well)),
            requests: Arc::default(),
            texts: Arc::default(),
        };
        let shared = server.share();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let one = shared.share();
                std::thread::spawn(move || one.serve(stream));
            }
        });
        server
    }

    fn share(&self) -> Self {
        Self {
            port: self.port,
            mood: Arc::clone(&self.mood),
            requests: Arc::clone(&self.requests),
            texts: Arc::clone(&self.texts),
        }
    }

    /// The settings that name it, with further lines of the same table.
    pub fn config(&self, more: &str) -> String {
        format!(
            "[embeddings]\nprovider = \"openai\"\nmodel = \"test\"\nbase_url = \"http://127.0.0.2:{}/v1\"\n\
             dimension = {DIMENSION}\npassage_words = 100\n{more}\n",
            self.port
        )
    }

    /// Changes what it does from now on.
    pub fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// How many requests came so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Every text it was given so far.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(body) = read_request(&mut reader) {
            self.requests.fetch_add(1, Ordering::SeqCst);
            let texts: Vec<String> = match &body["input"] {
                Value::String(one) => vec![one.clone()],
                Value::Array(all) => all.iter().filter_map(|t| t.as_str().map(str::to_owned)).collect(),
                _ => Vec::new(),
            };
            let mood = *self.mood.lock().unwrap();
            let (status, answer) = match mood {
                Mood::Down => ("503 Service Unavailable", error("server_error", "overloaded")),
                Mood::Picky if texts.iter().any(|text| text.contains("poison")) => {
                    ("400 Bad Request", error("invalid_request_error", "this input is refused"))
                }
                Mood::Well | Mood::Picky => {
                    self.texts.lock().unwrap().extend(texts.iter().cloned());
                    ("200 OK", answer(&texts))
                }
            };
            let text = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                text.len()
            );
            if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes())).is_err() {
                return;
            }
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
}

fn answer(texts: &[String]) -> Value {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    let tokens: usize = texts.iter().map(|text| text.split_whitespace().count()).sum();
    json!({"object": "list", "model": "test", "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})
}

/// Counts words: texts with the same ones are near.
fn vector(text: &str) -> Vec<f64> {
    let mut vector = vec![0.01; DIMENSION];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        vector[(hash % DIMENSION as u64) as usize] += 1.0;
    }
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}
