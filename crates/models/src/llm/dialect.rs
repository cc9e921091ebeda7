//! The differences between the providers' wire formats.

use serde_json::{Value, json};

use super::{Ask, End, Reply};
use crate::provider::KeyHeader;
use cerebro_core::named;

/// Most tokens of an answer.
pub const ANSWER_TOKENS_MAX: u32 = 2_000;
/// Most tokens of an answer of a model that reasons before it answers: its reasoning counts as part of the answer.
pub const REASONED_TOKENS_MAX: u32 = 16_000;
/// The supported version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// The parameter that models which reason before they answer do not take.
pub const TEMPERATURE: &str = "temperature";
/// The name of the answer's schema, where one is required.
const SCHEMA_NAME: &str = "answer";

named! {
    /// A wire format, by its name in settings and in stored answers.
    pub enum Dialect {
        /// OpenAI's chat completions, which many servers support.
        OpenAi = "openai",
        /// Ollama's own format, for models on the user's machines.
        Ollama = "ollama",
        /// Anthropic's messages.
        Anthropic = "anthropic",
    }
}

/// A request of a dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The path below the base address.
    pub path: &'static str,
    /// Headers besides the content type and the key.
    pub headers: &'static [(&'static str, &'static str)],
    /// What is sent.
    pub body: Value,
}

impl Request {
    /// Leaves the temperature to the model. Returns whether the request named one beside its model, as OpenAI's does.
    pub fn leave_temperature(&mut self) -> bool {
        self.body.as_object_mut().is_some_and(|body| body.remove(TEMPERATURE).is_some())
    }
}

/// The parameter that a model does not take, if an error in OpenAI's form says so. Then the form of the request is refused,
/// and not its text.
pub fn refused_parameter(error: &Value) -> Option<&str> {
    let error = error.get("error")?;
    let is_about_form =
        ["unsupported_parameter", "unsupported_value"].contains(&error.get("code")?.as_str()?);
    error.get("param")?.as_str().filter(|_| is_about_form)
}

impl Dialect {
    /// The provider's default address.
    pub fn public_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// The environment variable that conventionally holds the key of its public service; Ollama has none.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Ollama => None,
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
        }
    }

    /// How it expects the key.
    pub fn key_header(self) -> KeyHeader {
        match self {
            Self::OpenAi | Self::Ollama => KeyHeader::Bearer,
            Self::Anthropic => KeyHeader::Named("x-api-key"),
        }
    }

    /// The request for a question.
    pub fn request(self, model: &str, ask: &Ask<'_>) -> Request {
        let mut messages: Vec<Value> = ask
            .turns
            .iter()
            .enumerate()
            .map(|(at, text)| json!({ "role": if at % 2 == 0 { "user" } else { "assistant" }, "content": text }))
            .collect();
        if self != Self::Anthropic {
            messages.insert(0, json!({ "role": "system", "content": ask.instructions }));
        }
        match self {
            Self::OpenAi => Request {
                path: "/chat/completions",
                headers: &[],
                body: json!({
                    "model": model, "messages": messages, TEMPERATURE: 0,
                    "max_completion_tokens": ask.answer_tokens,
                    "response_format": { "type": "json_schema", "json_schema": {
                        "name": SCHEMA_NAME, "strict": true, "schema": ask.schema,
                    } },
                }),
            },
            Self::Ollama => Request {
                path: "/api/chat",
                headers: &[],
                body: json!({
                    "model": model, "messages": messages, "stream": false, "format": ask.schema,
                    "options": { "temperature": 0, "num_predict": ask.answer_tokens },
                }),
            },
            Self::Anthropic => Request {
                path: "/v1/messages",
                headers: &[("anthropic-version", ANTHROPIC_VERSION)],
                body: json!({
                    "model": model, "system": ask.instructions, "messages": messages,
                    "max_tokens": ask.answer_tokens,
                    "output_config": { "format": { "type": "json_schema", "schema": ask.schema } },
                }),
            },
        }
    }

    /// The text, cost and end of an answer; `None` if it has no text and nothing says why. Fields that are not needed may be
    /// missing.
    pub fn read(self, body: &Value) -> Option<Reply> {
        let count = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let text =
            |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (text, tokens) = match self {
            Self::OpenAi => (text("/choices/0/message/content"), count("/usage/total_tokens")),
            Self::Ollama => {
                (text("/message/content"), count("/prompt_eval_count").saturating_add(count("/eval_count")))
            }
            Self::Anthropic => {
                let blocks = body.get("content").and_then(Value::as_array).into_iter().flatten();
                let texts = blocks.filter(|block| block["type"] == "text");
                let text: String = texts.filter_map(|block| block["text"].as_str()).collect();
                (text, count("/usage/input_tokens").saturating_add(count("/usage/output_tokens")))
            }
        };
        let end = self.end(body, text.trim().is_empty())?;
        Some(Reply { text, tokens, end })
    }

    /// How an answer ended. One without a text must say why: otherwise it may be a fault of the provider.
    fn end(self, body: &Value, is_empty: bool) -> Option<End> {
        let word = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (ended, declined) = match self {
            Self::OpenAi => ("/choices/0/finish_reason", word("/choices/0/message/refusal")),
            Self::Ollama => ("/done_reason", ""),
            Self::Anthropic => ("/stop_reason", ""),
        };
        match word(ended) {
            "length" | "max_tokens" => Some(End::CutOff),
            _ if !is_empty => Some(End::Whole),
            "content_filter" | "refusal" => Some(End::Declined),
            _ => (!declined.is_empty()).then_some(End::Declined),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_core::redact::redact_text;

    fn ask(schema: &Value) -> Ask<'_> {
        Ask {
            answer_tokens: ANSWER_TOKENS_MAX,
            instructions: "Do.",
            turns: ["Q", "A", "Mend it."].map(|turn| redact_text(turn).value).to_vec(),
            schema,
        }
    }

    #[test]
    fn every_dialect_sends_instructions_turns_and_schema() {
        let schema = json!({ "type": "object" });
        for dialect in Dialect::ALL {
            let request = dialect.request("m", &ask(&schema));
            let body = request.body.to_string();
            for word in ["Do.", "\"Q\"", "\"A\"", "Mend it.", "assistant", "{\"type\":\"object\"}", ":2000"] {
                assert!(body.contains(word), "{dialect:?} {word}: {body}");
            }
        }
    }

    #[test]
    fn answers_are_read_with_what_they_cost() {
        for (dialect, body) in [
            (
                Dialect::OpenAi,
                json!({ "id": "x", "choices": [{ "index": 0, "finish_reason": "stop",
                    "message": { "role": "assistant", "content": "{}" } }],
                    "usage": { "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 } }),
            ),
            (
                Dialect::Ollama,
                json!({ "model": "m", "message": { "role": "assistant", "content": "{}" }, "done": true,
                    "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3 }),
            ),
            (
                Dialect::Anthropic,
                json!({ "id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn",
                    "content": [{ "type": "thinking", "thinking": "no" }, { "type": "text", "text": "{}" }],
                    "usage": { "input_tokens": 7, "output_tokens": 3 } }),
            ),
        ] {
            let reply = Reply { text: "{}".to_owned(), tokens: 10, end: End::Whole };
            assert_eq!(dialect.read(&body), Some(reply), "{dialect:?}");
            assert_eq!(dialect.read(&json!({ "choices": [], "content": [] })), None, "{dialect:?}");
        }
    }

    #[test]
    fn an_error_says_whether_the_form_of_the_request_is_refused() {
        let error = |code: &str, parameter: &str| json!({ "error": { "code": code, "param": parameter } });
        assert_eq!(refused_parameter(&error("unsupported_value", TEMPERATURE)), Some(TEMPERATURE));
        assert_eq!(
            refused_parameter(&error("unsupported_parameter", "response_format")),
            Some("response_format")
        );
        assert_eq!(refused_parameter(&error("context_length_exceeded", "messages")), None);
        assert_eq!(
            refused_parameter(&json!({ "error": { "code": "unsupported_value", "param": null } })),
            None
        );
        assert_eq!(refused_parameter(&json!("no")), None);
    }

    #[test]
    fn an_answer_says_how_it_ended_and_what_it_cost() {
        let of_openai = |reason: &str, content: Value, refusal: Value| {
            let message = json!({ "content": content, "refusal": refusal });
            let usage = json!({ "total_tokens": 10 });
            json!({ "choices": [{ "finish_reason": reason, "message": message }], "usage": usage })
        };
        for (dialect, body, end, tokens) in [
            (Dialect::OpenAi, of_openai("stop", Value::Null, json!("I cannot.")), Some(End::Declined), 10),
            (Dialect::OpenAi, of_openai("content_filter", Value::Null, Value::Null), Some(End::Declined), 10),
            (Dialect::OpenAi, of_openai("length", json!(""), Value::Null), Some(End::CutOff), 10),
            (Dialect::OpenAi, of_openai("length", json!("{\"a\":"), Value::Null), Some(End::CutOff), 10),
            (Dialect::OpenAi, of_openai("stop", Value::Null, Value::Null), None, 0),
            (
                Dialect::Ollama,
                json!({ "message": { "content": "" }, "done_reason": "length", "eval_count": 3 }),
                Some(End::CutOff),
                3,
            ),
            (Dialect::Ollama, json!({ "message": { "content": "" }, "done_reason": "load" }), None, 0),
            (Dialect::Anthropic, json!({ "content": [], "stop_reason": "refusal" }), Some(End::Declined), 0),
            (
                Dialect::Anthropic,
                json!({ "content": [{ "type": "thinking", "thinking": "no" }], "stop_reason": "max_tokens",
                    "usage": { "input_tokens": 7, "output_tokens": 2_000 } }),
                Some(End::CutOff),
                2_007,
            ),
            (Dialect::Anthropic, json!({ "content": [], "stop_reason": "pause_turn" }), None, 0),
        ] {
            let reply = dialect.read(&body);
            assert_eq!(reply.as_ref().map(|reply| reply.end), end, "{body}");
            assert_eq!(reply.map_or(0, |reply| reply.tokens), tokens, "{body}");
        }
    }
}
