//! A browser without scripts: it keeps its cookie, sends forms with their hidden fields, and follows no redirection by
//! itself.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use super::{DEADLINE, Home, Running, Value};

/// A running `cerebro web`, and the browser that opened its link.
pub struct Browser {
    process: Running,
    /// `127.0.0.1:port`.
    pub address: String,
    /// The path with the key that was printed.
    pub link: String,
    /// `name=value`, once let in.
    pub cookie: String,
}

/// An answer as it came.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Page {
    /// A header by its name in small letters; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Whether the visible text contains this.
    pub fn says(&self, words: &str) -> bool {
        self.text().contains(words)
    }

    /// What a reader sees.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in self.body.split('<') {
            text.push_str(piece.split_once('>').map_or(piece, |(_, shown)| shown));
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        ["&#60;<", "&#62;>", "&#34;\"", "&#39;'", "&lt;<", "&gt;>", "&quot;\"", "&#38;&", "&amp;&"]
            .iter()
            .fold(text, |text, pair| text.replace(&pair[..pair.len() - 1], &pair[pair.len() - 1..]))
    }

    /// The token of the page's forms.
    pub fn token(&self) -> &str {
        let from = self
            .body
            .split("name=\"token\" value=\"")
            .nth(1)
            .unwrap_or_else(|| panic!("no form: {}", self.body));
        from.split('"').next().unwrap()
    }
}

impl Browser {
    /// Starts the command and opens its link.
    pub fn open(home: &Home) -> Self {
        let mut browser = Self::start(home);
        let link = browser.link.clone();
        let answer = browser.get(&link);
        assert_eq!((answer.status, answer.header("location")), (303, "/"), "{answer:?}");
        let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
        browser.cookie = cookie;
        browser
    }

    /// Only starts the command.
    pub fn start(home: &Home) -> Self {
        let (process, line) = Running::announced(home.command().args(["web", "--json"]));
        let access: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("no link ({e}): {line}"));
        let link = access["link"].as_str().unwrap();
        let (address, path) = link.strip_prefix("http://").unwrap().split_once('/').unwrap();
        Self { process, address: address.to_owned(), link: format!("/{path}"), cookie: String::new() }
    }

    /// A request with these header lines besides host and cookie.
    pub fn ask(&self, request: &str, head: &[&str], body: &str) -> Page {
        let mut reader = self.begin(request, head, body);
        let (status, headers) = Self::head(&mut reader);
        let mut bytes = Vec::new();
        match headers.get("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => {
                bytes.resize(length, 0);
                reader.read_exact(&mut bytes).unwrap();
            }
            None => drop(reader.read_to_end(&mut bytes).unwrap()),
        }
        Page { status, headers, body: String::from_utf8(bytes).unwrap() }
    }

    /// Sends a request, whose answer must then be read.
    pub fn begin(&self, request: &str, head: &[&str], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut lines = vec![format!("{request} HTTP/1.1"), "connection: close".to_owned()];
        if !head.iter().any(|line| line.starts_with("host:")) {
            lines.push(format!("host: {}", self.address));
        }
        if !self.cookie.is_empty() && !head.iter().any(|line| line.starts_with("cookie:")) {
            lines.push(format!("cookie: {}", self.cookie));
        }
        lines.extend(head.iter().map(|line| (*line).to_owned()));
        write!(stream, "{}\r\ncontent-length: {}\r\n\r\n{body}", lines.join("\r\n"), body.len()).unwrap();
        BufReader::new(stream)
    }

    /// Reads the head of an answer.
    pub fn head(reader: &mut BufReader<TcpStream>) -> (u16, HashMap<String, String>) {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status =
            line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else { return (status, headers) };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }

    /// Opens a page.
    pub fn get(&self, path: &str) -> Page {
        self.ask(&format!("GET {path}"), &[], "")
    }

    /// Opens a page that must exist.
    pub fn read(&self, path: &str) -> Page {
        let page = self.get(path);
        assert_eq!(page.status, 200, "{path}: {page:?}");
        page
    }

    /// Sends a form of the page `from`, as a browser does.
    pub fn post(&self, from: &str, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.read(from).token().to_owned();
        let mut all = vec![("token", token.as_str())];
        all.extend(fields);
        self.send(path, &all)
    }

    /// Sends fields as they are.
    pub fn send(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let encode = |text: &str| text.bytes().map(|b| format!("%{b:02X}")).collect::<String>();
        let body: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let origin = format!("origin: http://{}", self.address);
        let head = ["content-type: application/x-www-form-urlencoded", &origin];
        self.ask(&format!("POST {path}"), &head, &body.join("&"))
    }

    /// Interrupts the command and waits for its end.
    pub fn interrupt(&mut self) -> i32 {
        self.process.signal(Signal::INT);
        self.ended()
    }

    /// Waits for the command's end.
    pub fn ended(&mut self) -> i32 {
        self.process.ended()
    }
}
