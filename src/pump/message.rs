//! The parts of JSON-RPC messages that the pump reads, and the pump's own answers.

use std::borrow::Cow;

use cerebro_core::code::Code;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const INVALID_PARAMS: i32 = -32_602;
/// The server cannot answer now. JSON-RPC reserves this range of codes for servers.
const UNAVAILABLE: i32 = -32_000;
/// The field in which a request of MCP 2026-07-28 names its version; earlier requests have none.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Methods, each with the text among its parameters that it cannot do without, and what its absence is answered with.
const NEEDED: [(&str, &str, &str); 3] = [
    ("tools/call", "name", "\"name\" of the tool must be a string"),
    ("prompts/get", "name", "\"name\" of the prompt must be a string"),
    ("resources/read", "uri", "\"uri\" of the resource must be a string"),
];

/// A request's id in a normal form, for look-ups: `7` and `"7"` differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The key of an id; `None` when it is neither a string nor an integer of 64 bits.
    pub fn of(id: &Value) -> Option<Self> {
        (id.is_string() || id.is_i64()).then(|| Self(id.to_string()))
    }
}

/// A request from the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub id: Value,
    pub method: String,
    /// The tool's name, of `tools/call`.
    pub tool: Option<String>,
    /// Whether it uses the stateless protocol, in which a result says that it is complete.
    pub stateless: bool,
}

/// The members that a message may have only once: parsers differ in which one counts.
#[derive(Deserialize)]
#[expect(dead_code, reason = "read to see that they are unique")]
struct Members {
    jsonrpc: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
    params: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// A request that cannot be read completely: it is nested too deeply, or has a number that is out of range.
#[derive(Deserialize)]
struct Unread {
    id: Value,
    #[serde(rename = "method")]
    _method: IgnoredAny,
}

impl Unread {
    /// The id in a line that is not understood. Null, as JSON-RPC asks for, if there is no usable one.
    fn id(line: &[u8]) -> Value {
        let id = serde_json::from_slice(line).ok().map(|Self { id, .. }| id);
        id.filter(|id| Key::of(id).is_some()).unwrap_or_default()
    }
}

/// A line from the client.
#[derive(Debug, PartialEq)]
pub enum FromClient {
    Request(Key, Request),
    /// With the request it cancels, if it is `notifications/cancelled`.
    Notification {
        method: String,
        cancels: Option<Key>,
    },
    /// An answer to a request of the server.
    Response,
    /// Not for the daemon. Contains the error for the client.
    Invalid(String),
}

impl FromClient {
    /// Classifies a line. Invalid messages get their error here, because the daemon would drop them silently and the
    /// client would wait for ever.
    pub fn parse(line: &[u8]) -> Self {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => {
                return Self::Invalid(error_line(
                    &Unread::id(line),
                    PARSE_ERROR,
                    &format!("not JSON: {error}"),
                ));
            }
        };
        let id = message.get("id").unwrap_or(&Value::Null);
        let key = Key::of(id);
        let invalid = |code, text: &str| {
            let id = if key.is_some() { id } else { &Value::Null };
            Self::Invalid(error_line(id, code, text))
        };
        if message.is_array() {
            return invalid(INVALID_REQUEST, "batches are not part of MCP: send one message per line");
        }
        if !message.is_object() || message.get("jsonrpc") != Some(&json!("2.0")) {
            return invalid(
                INVALID_REQUEST,
                "not a JSON-RPC 2.0 message: an object with \"jsonrpc\":\"2.0\" is expected",
            );
        }
        if let Err(error) = serde_json::from_slice::<Members>(line) {
            return invalid(INVALID_REQUEST, &format!("not a JSON-RPC 2.0 message: {error}"));
        }
        let has_result = message.get("result").is_some();
        if has_result || message.get("error").is_some() {
            let is_response = message.get("method").is_none() && (key.is_some() || !has_result);
            return if is_response {
                Self::Response
            } else {
                invalid(INVALID_REQUEST, "a message cannot be both a request and a response")
            };
        }
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            return invalid(INVALID_REQUEST, "\"method\" must be a string");
        };
        let params = message.get("params");
        if !matches!(params, None | Some(Value::Object(_))) {
            return invalid(INVALID_PARAMS, "\"params\" must be an object");
        }
        if !matches!(params.and_then(|params| params.get("_meta")), None | Some(Value::Object(_))) {
            return invalid(INVALID_PARAMS, "\"_meta\" must be an object");
        }
        let param = |name| params.and_then(|params| params.get(name));
        if message.get("id").is_none() {
            let cancels =
                param("requestId").filter(|_| method == "notifications/cancelled").and_then(Key::of);
            return Self::Notification { method: method.to_owned(), cancels };
        }
        let Some(key) = key else {
            return invalid(INVALID_REQUEST, "\"id\" must be a string or a whole number");
        };
        for (_, name, problem) in NEEDED.into_iter().filter(|(of, ..)| *of == method) {
            if !param(name).is_some_and(Value::is_string) {
                return Self::Invalid(error_line(id, INVALID_PARAMS, problem));
            }
        }
        let tool = param("name").and_then(Value::as_str).filter(|_| method == "tools/call");
        let has_arguments = matches!(param("arguments"), None | Some(Value::Null | Value::Object(_)));
        if method == "tools/call" && !has_arguments {
            return Self::Invalid(error_line(id, INVALID_PARAMS, "\"arguments\" must be an object"));
        }
        let stateless = param("_meta").is_some_and(|meta| meta.get(VERSION_KEY).is_some());
        let tool = tool.map(str::to_owned);
        Self::Request(key, Request { id: id.clone(), method: method.to_owned(), tool, stateless })
    }
}

/// The answer to a message that the daemon would not answer, because it is not JSON-RPC or cannot be read.
pub fn refusal(message: &[u8]) -> Option<String> {
    match FromClient::parse(message) {
        FromClient::Invalid(answer) => Some(answer),
        _ => None,
    }
}

/// The answer to a line over the bound, with the id of the request in it.
pub fn too_long(id: &Value, length: u64, max: usize) -> String {
    let text = format!("the message has {length} bytes; at most {max} are allowed");
    error_line(id, INVALID_REQUEST, &text)
}

/// The answer to a request whose id is already in use.
pub fn id_in_use(request: &Request) -> String {
    error_line(&request.id, INVALID_REQUEST, "a request with this id is under way")
}

/// The answer to a request that could not be executed: for a tool call a result with `isError`, which the model
/// sees, otherwise an error. `is_retryable` says whether the reason may pass by itself.
pub fn unavailable(request: &Request, code: Code, text: &str, is_retryable: bool) -> String {
    if request.tool.is_none() {
        return error_line(&request.id, UNAVAILABLE, text);
    }
    let mut result = json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"error": text, "code": code.as_str(), "message": text, "retryable": is_retryable},
        "isError": true,
    });
    if request.stateless {
        result["resultType"] = json!("complete");
    }
    json!({"jsonrpc": "2.0", "id": request.id, "result": result}).to_string()
}

fn error_line(id: &Value, code: i32, text: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}).to_string()
}

/// A line from the daemon.
#[derive(Debug, PartialEq, Eq)]
pub enum FromDaemon {
    /// The answer to a request, and whether it is an error.
    Answer { key: Key, is_error: bool },
    /// A request or notification.
    Message { method: String },
    /// Anything else. It is passed on unchanged.
    Other,
    /// Not JSON: an answer that was cut off when its session ended.
    Broken,
}

#[derive(Deserialize)]
struct Head<'a> {
    id: Option<Value>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    error: Option<IgnoredAny>,
}

impl FromDaemon {
    /// Classifies a line.
    pub fn parse(line: &[u8]) -> Self {
        let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else {
            let is_json = serde_json::from_slice::<IgnoredAny>(line).is_ok();
            return if is_json { Self::Other } else { Self::Broken };
        };
        match (head.method, head.id.as_ref().and_then(Key::of)) {
            (Some(method), _) => Self::Message { method: method.into_owned() },
            (None, Some(key)) => Self::Answer { key, is_error: head.error.is_some() },
            (None, None) => Self::Other,
        }
    }
}

/// The session in the answer to `mem_session_start`.
pub fn started_session(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let result = answer.get("result")?;
    if result.get("isError") == Some(&Value::Bool(true)) {
        return None;
    }
    Some(result.get("structuredContent")?.get("session_id")?.as_str()?.to_owned())
}

/// The request to which a receipt belongs.
pub fn receipt(line: &[u8]) -> Option<Key> {
    let message: Value = serde_json::from_slice(line).ok()?;
    Key::of(message.get("params")?.get("id")?)
}

/// The request that a notification of a subscription belongs to.
pub fn subscription(line: &[u8]) -> Option<Key> {
    let message: Value = serde_json::from_slice(line).ok()?;
    Key::of(message.get("params")?.get("_meta")?.get(SUBSCRIPTION_KEY)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> (Value, i64) {
        let FromClient::Invalid(answer) = FromClient::parse(line.as_bytes()) else { panic!("valid: {line}") };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap())
    }

    #[test]
    fn a_line_that_broke_off_is_not_handed_on() {
        let answer = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(matches!(FromDaemon::parse(answer), FromDaemon::Answer { .. }));
        assert_eq!(FromDaemon::parse(b"[1]"), FromDaemon::Other);
        // A farewell after half an answer.
        let cut = [&answer[..20], br#"{"jsonrpc":"2.0","method":"bye"}"#].concat();
        assert_eq!(FromDaemon::parse(&cut), FromDaemon::Broken);
        assert_eq!(FromDaemon::parse(&answer[..20]), FromDaemon::Broken);
    }

    #[test]
    fn what_the_daemon_could_not_answer_is_answered() {
        let nested = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let deep = format!("{{\"a\":{nested}}}");
        let deep_call = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"ping","params":{{"a":{nested}}}}}"#);
        let deep_answer = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{nested}}}"#);
        for (line, id, expected) in [
            ("hello", json!(null), -32_700),
            ("{\"jsonrpc\":\"2.0\",\"id\":1", json!(null), -32_700),
            ("{\"n\":1e999}", json!(null), -32_700),
            (&deep, json!(null), -32_700),
            (&deep_call, json!(3), -32_700),
            (&deep_answer, json!(null), -32_700),
            (r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":{"n":1e999}}"#, json!("x"), -32_700),
            ("[]", json!(null), -32_600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!(null), -32_600),
            ("7", json!(null), -32_600),
            ("{}", json!(null), -32_600),
            (r#"{"id":1,"method":"ping"}"#, json!(1), -32_600),
            (r#"{"jsonrpc":"2.0","id":"x","method":7}"#, json!("x"), -32_600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), -32_600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!(null), -32_600),
            (r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#, json!(null), -32_600),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, json!(null), -32_600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, json!(1), -32_600),
            (r#"{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}"#, json!(5), -32_600),
            (r#"{"jsonrpc":"2.0","result":{}}"#, json!(null), -32_600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, json!(1), -32_602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":null}}"#, json!(1), -32_602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, json!(1), -32_602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":3}}"#, json!(1), -32_602),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}"#,
                json!(1),
                -32_602,
            ),
        ] {
            assert_eq!(code(line), (id, expected), "{line}");
        }
    }

    #[test]
    fn lines_of_the_client_are_sorted() {
        let key = |id: Value| Key::of(&id).unwrap();
        let params = json!({"name": "mem_save", "arguments": {}, "_meta": {VERSION_KEY: "2026-07-28"}});
        let call = json!({"jsonrpc": "2.0", "id": "7", "method": "tools/call", "params": params}).to_string();
        let request = Request {
            id: json!("7"),
            method: "tools/call".into(),
            tool: Some("mem_save".into()),
            stateless: true,
        };
        assert_eq!(FromClient::parse(call.as_bytes()), FromClient::Request(key(json!("7")), request));
        assert_ne!(key(json!("7")), key(json!(7)));
        let cancelled = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        let FromClient::Notification { cancels, .. } = FromClient::parse(cancelled) else { panic!() };
        assert_eq!(cancels, Some(key(json!(3))));
        for response in [r#"{"jsonrpc":"2.0","id":1,"result":null}"#, r#"{"jsonrpc":"2.0","error":{}}"#] {
            assert_eq!(FromClient::parse(response.as_bytes()), FromClient::Response);
        }
    }

    #[test]
    fn the_started_session_is_read_from_a_success() {
        let answer = |is_error: bool| {
            json!({"result": {"isError": is_error, "structuredContent": {"session_id": "s"}}}).to_string()
        };
        assert_eq!(started_session(answer(false).as_bytes()).as_deref(), Some("s"));
        assert_eq!(started_session(answer(true).as_bytes()), None);
        assert_eq!(started_session(b"{\"error\":{}}"), None);
    }
}
