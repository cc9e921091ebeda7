//! What HTTP adds to a message: the revision of the protocol, the headers that must agree with it, and the status
//! of its answer. The rules are those of the protocol's chapter on streamable HTTP.

use axum::http::{HeaderMap, StatusCode};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

use crate::pump;

pub(super) const SESSION_HEADER: &str = "mcp-session-id";
const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";

const CANCELLED: &str = "notifications/cancelled";

const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const PARSE_ERROR: i64 = -32700;
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;

/// Methods that the stateless revision has removed.
const REMOVED: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Why a message is refused: a status, and a JSON-RPC answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub status: StatusCode,
    pub body: Value,
}

/// The rules that a message follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// `initialize` begins a session, and later messages name it.
    Sessions,
    /// Every message is self-contained (2026-07-28 and later).
    Stateless,
}

/// One message of JSON-RPC.
#[derive(Debug)]
pub(super) struct Message(Value);

impl Message {
    /// Reads one message.
    pub(super) fn read(body: &[u8]) -> Result<Self, Refusal> {
        let refused = |body| Refusal { status: StatusCode::BAD_REQUEST, body };
        // A message that cannot be read would get no answer from the daemon, as on the socket.
        if let Some(answer) = pump::refusal(body) {
            return Err(refused(serde_json::from_str(&answer).unwrap_or_default()));
        }
        let broken = |_| refused(error(&Value::Null, PARSE_ERROR, "the body is not JSON", None));
        serde_json::from_slice(body).map(Self).map_err(broken)
    }

    /// The id of a request; `None` for a notification or an answer.
    pub(super) fn id(&self) -> Option<&Value> {
        (self.0["method"].is_string() && !self.0["id"].is_null()).then(|| &self.0["id"])
    }

    /// The id of the request that a notification cancels.
    pub(super) fn cancelled(&self) -> Option<&Value> {
        (self.0["method"] == CANCELLED).then(|| &self.0["params"]["requestId"])
    }

    pub(super) fn is_initialize(&self) -> bool {
        self.0["method"] == "initialize"
    }

    /// The client's name in the metadata of the message, if it is there.
    pub(super) fn client(&self) -> &str {
        self.0["params"]["_meta"][META_CLIENT]["name"].as_str().unwrap_or_default()
    }

    /// As one line.
    pub(super) fn line(&self) -> String {
        format!("{}\n", self.0)
    }

    /// As one line, under another id.
    pub(super) fn line_as(&self, id: u64) -> String {
        self.line_with(|message| message["id"] = json!(id))
    }

    /// As one line, cancelling another request.
    pub(super) fn line_cancelling(&self, id: u64) -> String {
        self.line_with(|message| message["params"]["requestId"] = json!(id))
    }

    fn line_with(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut message = self.0.clone();
        change(&mut message);
        format!("{message}\n")
    }

    fn meta(&self, key: &str) -> &Value {
        &self.0["params"]["_meta"][key]
    }

    /// The rules that it follows, according to its fields or its headers.
    pub(super) fn era(&self, headers: &HeaderMap) -> Era {
        let first = ProtocolVersion::V_2026_07_28;
        let is_late = text(headers, VERSION_HEADER).is_some_and(|version| version >= first.as_str());
        let tells = self.meta(META_VERSION).is_string() || self.0["method"] == "server/discover";
        if is_late || tells { Era::Stateless } else { Era::Sessions }
    }

    fn refused(&self, status: StatusCode, code: i64, words: &str, data: Option<Value>) -> Refusal {
        Refusal { status, body: error(&self.0["id"], code, words, data) }
    }

    fn bad(&self, code: i64, words: &str) -> Refusal {
        self.refused(StatusCode::BAD_REQUEST, code, words, None)
    }

    /// The refusal of an invalid request.
    pub(super) fn invalid(&self, words: &str) -> Refusal {
        self.bad(INVALID_REQUEST, words)
    }

    /// Checks a message of a session against its headers.
    pub(super) fn check_version(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match text(headers, VERSION_HEADER) {
            Some(version) if !is_known(version) => Err(self.unsupported(version)),
            _ => Ok(()),
        }
    }

    /// Checks a stateless message against its headers.
    pub(super) fn check_alone(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(method) = self.0["method"].as_str() else {
            return Err(self.invalid("an answer is not expected here"));
        };
        self.check_names(method, headers)?;
        if self.id().is_none() {
            return Ok(());
        }
        let (version, capabilities) = (self.meta(META_VERSION), self.meta(META_CAPABILITIES));
        let (Some(version), true) = (version.as_str(), capabilities.is_object()) else {
            let words = format!("params._meta must have {META_VERSION} and {META_CAPABILITIES}");
            return Err(self.bad(INVALID_PARAMS, &words));
        };
        if text(headers, VERSION_HEADER) != Some(version) {
            return Err(
                self.bad(HEADER_MISMATCH, "the header MCP-Protocol-Version is not that of params._meta")
            );
        }
        if !is_known(version) {
            return Err(self.unsupported(version));
        }
        if REMOVED.contains(&method) {
            let words = format!("there is no {method} in this revision");
            return Err(self.refused(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, &words, None));
        }
        Ok(())
    }

    /// Checks the headers that repeat parts of the message. They must agree with it, because proxies rely on them.
    fn check_names(&self, method: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        if text(headers, METHOD_HEADER) != Some(method) {
            return Err(self.bad(HEADER_MISMATCH, "the header Mcp-Method is not the method of the body"));
        }
        let name = match method {
            "tools/call" | "prompts/get" => &self.0["params"]["name"],
            "resources/read" => &self.0["params"]["uri"],
            _ => return Ok(()),
        };
        if name.is_string() && text(headers, NAME_HEADER) != name.as_str() {
            return Err(self.bad(HEADER_MISMATCH, "the header Mcp-Name is not what the body names"));
        }
        Ok(())
    }

    fn unsupported(&self, version: &str) -> Refusal {
        let supported: Vec<&str> =
            ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
        let data = json!({ "supported": supported, "requested": version });
        self.refused(StatusCode::BAD_REQUEST, UNSUPPORTED_VERSION, "unsupported protocol version", Some(data))
    }
}

/// The status of an answer to a stateless message.
pub(super) fn status_of(answer: &Value) -> StatusCode {
    match answer["error"]["code"].as_i64() {
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// The id of the request that this answers; `None` for a message that is not an answer.
pub(super) fn answered(message: &Value) -> Option<String> {
    let is_answer = message.get("result").is_some() || message.get("error").is_some();
    is_answer.then(|| message["id"].to_string())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn is_known(version: &str) -> bool {
    ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
}

fn error(id: &Value, code: i64, words: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": words });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn call(name: &str) -> Message {
        let meta = json!({ META_VERSION: "2026-07-28", META_CAPABILITIES: {} });
        let params = json!({ "name": name, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        Message::read(call.to_string().as_bytes()).unwrap()
    }

    const RIGHT: [(&str, &str); 3] =
        [(VERSION_HEADER, "2026-07-28"), (METHOD_HEADER, "tools/call"), (NAME_HEADER, "mem_save")];

    #[test]
    fn only_one_message_is_taken() {
        for bad in [
            "",
            "7",
            "[]",
            "{}",
            "{\"jsonrpc\":\"2.0\"}",
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}",
            "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}",
        ] {
            assert_eq!(Message::read(bad.as_bytes()).unwrap_err().status, StatusCode::BAD_REQUEST, "{bad}");
        }
        let ping = Message::read(b"{\"jsonrpc\":\"2.0\",\n\"id\":\"a\",\"method\":\"ping\"}").unwrap();
        assert_eq!(ping.id(), Some(&json!("a")));
        assert_eq!(ping.line().matches('\n').count(), 1);
        assert_eq!(ping.era(&HeaderMap::new()), Era::Sessions);
        assert_eq!(ping.era(&headers(&[(VERSION_HEADER, "2026-07-28")])), Era::Stateless);
    }

    #[test]
    fn headers_must_agree_with_the_message() {
        assert!(call("mem_save").check_alone(&headers(&RIGHT)).is_ok());
        for (at, name, value) in [
            (0, VERSION_HEADER, "2025-11-25"),
            (1, METHOD_HEADER, "TOOLS/CALL"),
            (1, METHOD_HEADER, "tools/list"),
            (2, NAME_HEADER, "mem_delete"),
        ] {
            let mut wrong = RIGHT;
            wrong[at] = (name, value);
            let refusal = call("mem_save").check_alone(&headers(&wrong)).unwrap_err();
            assert_eq!(
                (refusal.status, &refusal.body["error"]["code"]),
                (StatusCode::BAD_REQUEST, &json!(-32020))
            );
            assert_eq!(refusal.body["id"], 7);
            let mut missing = headers(&RIGHT);
            missing.remove(name);
            assert!(call("mem_save").check_alone(&missing).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_not_there_says_so() {
        let mut old = call("x");
        old.0["method"] = json!("ping");
        let ping = headers(&[(VERSION_HEADER, "2026-07-28"), (METHOD_HEADER, "ping")]);
        assert_eq!(old.check_alone(&ping).unwrap_err().status, StatusCode::NOT_FOUND);
        let mut late = call("mem_save");
        late.0["params"]["_meta"][META_VERSION] = json!("2999-01-01");
        let mut lines = RIGHT;
        lines[0].1 = "2999-01-01";
        let refusal = late.check_alone(&headers(&lines)).unwrap_err();
        assert_eq!(refusal.body["error"]["data"]["requested"], "2999-01-01");
        late.0["params"]["_meta"] = json!({});
        assert_eq!(late.check_alone(&headers(&lines)).unwrap_err().body["error"]["code"], INVALID_PARAMS);
    }

    #[test]
    fn answers_have_their_status() {
        for (code, status) in [(-32020, 400), (-32022, 400), (-32601, 404), (-32602, 200), (-32603, 200)] {
            assert_eq!(status_of(&json!({ "error": { "code": code } })).as_u16(), status, "{code}");
        }
        assert_eq!(status_of(&json!({ "result": {} })), StatusCode::OK);
        assert_eq!(answered(&json!({ "id": 1, "result": {} })).as_deref(), Some("1"));
        assert_eq!(answered(&json!({ "id": 1, "method": "x" })), None);
    }
}
