//! The HTTP that servers of tests need: reading a request, and answering it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its first line.
    pub line: String,
    /// Its headers, in lowercase.
    pub headers: String,
    /// Its body; null if it is no JSON.
    pub body: Value,
}

/// The next request of a connection; none when it ended.
pub fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let mut headers = String::new();
    while reader.read_line(&mut headers).ok()? > 2 {}
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length:"));
    let mut body = vec![0; length.map_or(0, |text| text.trim().parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Request { line: line.trim().to_owned(), headers, body })
}

/// Answers with a status, more headers (each with its line end), a body, and the length that is claimed for it;
/// shows whether the other side still listens.
pub fn answer(mut stream: &TcpStream, status: u16, headers: &str, body: &str, length: usize) -> bool {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_ok()
}
