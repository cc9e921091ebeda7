//! A scripted server on a real socket, which records the requests.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::http::{self, Request};
use super::json;

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

impl Scene {
    /// A chat completion of OpenAI's with this text.
    pub fn completion(text: &str) -> Self {
        let body = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "test",
            "choices": [{ "index": 0, "finish_reason": "stop",
                "message": { "role": "assistant", "content": text, "refusal": null } }],
            "usage": { "prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100 },
        });
        Self::Answer(200, "", body.to_string())
    }

    /// The refusal of a parameter, in the words of OpenAI's models which reason before they answer.
    pub fn refusing(parameter: &str) -> Self {
        let words = format!("Unsupported value: '{parameter}' does not support 0 with this model.");
        let error = json!({
            "message": words, "type": "invalid_request_error", "param": parameter, "code": "unsupported_value",
        });
        Self::Answer(400, "", json!({ "error": error }).to_string())
    }
}

/// The server. Each connection serves one request; the last scene repeats.
pub struct Provider {
    address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Provider {
    /// Starts to answer.
    pub fn start(scenes: Vec<Scene>) -> Self {
        let mut n = 0;
        Self::thinking(move |_| {
            n += 1;
            scenes[(n - 1).min(scenes.len() - 1)].clone()
        })
    }

    /// Starts to answer each request by a function.
    pub fn thinking(mut think: impl FnMut(&Request) -> Scene + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        std::thread::spawn(move || {
            // Connections that hang stay open as long as the test runs.
            let mut open = Vec::new();
            for stream in listener.incoming().flatten() {
                if let Some(request) = http::read_request(&mut BufReader::new(stream.try_clone().unwrap())) {
                    let scene = think(&request);
                    recorded.lock().unwrap().push(request);
                    open.extend(play(&scene, stream));
                }
            }
        });
        Self { address, requests }
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
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Plays the scene; returns the connection if it should stay open.
fn play(scene: &Scene, stream: TcpStream) -> Option<TcpStream> {
    let (status, headers, body, length) = match scene {
        Scene::Answer(status, headers, body) => (*status, *headers, body, body.len()),
        Scene::Half(body) => (200, "", body, body.len() * 2),
        Scene::Hang => return Some(stream),
    };
    http::answer(&stream, status, &format!("connection: close\r\n{headers}"), body, length);
    None
}
