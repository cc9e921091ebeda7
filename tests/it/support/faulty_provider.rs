//! A server with OpenAI's API for embeddings that fails on demand.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::{Value, http, json};

/// Numbers in its vectors.
pub const DIMENSION: usize = 64;

/// How it answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Answers.
    Well,
    /// Answers that it is overloaded.
    Down,
    /// Refuses texts that hold the word `poison`.
    Picky,
}

/// The server; it ends with the test's process.
pub struct FaultyProvider {
    port: u16,
    mood: Arc<Mutex<Behavior>>,
    requests: Arc<AtomicUsize>,
    texts: Arc<Mutex<Vec<String>>>,
}

impl FaultyProvider {
    /// Listens on a free port of an address of this machine that does not look like one, so that it counts as a paid
    /// provider.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            mood: Arc::new(Mutex::new(Behavior::Well)),
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

    /// Where it listens.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.2:{}/v1", self.port)
    }

    /// The settings that name it, with further lines of the same table.
    pub fn config(&self, more: &str) -> String {
        format!(
            "[embeddings]\nprovider = \"openai\"\nmodel = \"test\"\nbase_url = \"{}\"\n\
             dimension = {DIMENSION}\npassage_words = 100\n{more}\n",
            self.base_url()
        )
    }

    /// Changes what it does from now on.
    pub fn is(&self, mood: Behavior) {
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

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(http::Request { body, .. }) = http::read_request(&mut reader) {
            self.requests.fetch_add(1, Ordering::SeqCst);
            let texts: Vec<String> = match &body["input"] {
                Value::String(one) => vec![one.clone()],
                Value::Array(all) => all.iter().filter_map(|t| t.as_str().map(str::to_owned)).collect(),
                _ => Vec::new(),
            };
            let mood = *self.mood.lock().unwrap();
            let (status, answer) = match mood {
                Behavior::Down => (503, error("server_error", "overloaded")),
                Behavior::Picky if texts.iter().any(|text| text.contains("poison")) => {
                    (400, error("invalid_request_error", "this input is refused"))
                }
                Behavior::Well | Behavior::Picky => {
                    self.texts.lock().unwrap().extend(texts.iter().cloned());
                    (200, answer(&texts))
                }
            };
            let text = answer.to_string();
            if !http::answer(&stream, status, "", &text, text.len()) {
                return;
            }
        }
    }
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
