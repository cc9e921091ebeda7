//! The present activity of agents: connected clients, and the last answered calls.
//!
//! It is held in memory only, within bounds. A call shows the beginnings of its arguments after redaction.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::reply::{millis, moment};
use crate::answer::{
    Text,
    daemon::{Call, Calls, Client},
};
use cerebro_core::domain::Timestamp;
use cerebro_core::sync::lock;
use cerebro_core::{redact, text};

/// Most calls that are held.
const CALLS_MAX: usize = 1_000;
/// Longest shown beginning of an argument, in characters.
const VALUE_CHARS_MAX: usize = 80;
/// Longest beginnings of all arguments together, in characters.
const PREVIEW_CHARS_MAX: usize = 240;
/// Longest argument whose beginning is shown, in bytes. It is redacted as a whole, because a cut could split a secret.
/// For a longer one only the size is shown, because redacting it would take too long for a preview.
const LOOKED_AT_BYTES: usize = 1_024;
/// Longest outcome, in characters.
const OUTCOME_CHARS_MAX: usize = 120;

/// One answered call.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub tool: String,
    pub agent: String,
    pub project: String,
    pub session: String,
    /// The beginnings of its arguments.
    pub preview: String,
}

/// The calls and the clients of this process.
#[derive(Debug)]
pub(super) struct Live {
    calls: Mutex<VecDeque<Call>>,
    /// The number of the last call; numbers begin at 1.
    last: watch::Sender<u64>,
    /// The connected clients, by their numbers. No number is used twice: the last call of a client that left may still
    /// be under way.
    clients: Mutex<BTreeMap<u64, Client>>,
    next_client: AtomicU64,
}

impl Live {
    pub(super) fn new() -> Self {
        Self {
            calls: Mutex::default(),
            last: watch::channel(0).0,
            clients: Mutex::default(),
            next_client: AtomicU64::new(1),
        }
    }

    /// Records a new client and returns its number, for [`Self::left`].
    pub(super) fn joined(&self, project: &str, pid: u32, since: Timestamp) -> u64 {
        let number = self.next_client.fetch_add(1, Ordering::Relaxed);
        let (agent, since) = (Text::default(), moment(since).into());
        let client = Client { agent, project: project.into(), pid, since, calls: 0, last_at: None };
        lock(&self.clients).insert(number, client);
        number
    }

    /// Removes a client.
    pub(super) fn left(&self, number: u64) {
        lock(&self.clients).remove(&number);
    }

    /// Records an answered call of a client.
    pub(super) fn note(
        &self,
        client: u64,
        call: Seen,
        now: Timestamp,
        took: Duration,
        result: &CallToolResult,
    ) {
        if let Some(client) = lock(&self.clients).get_mut(&client) {
            client.agent = Text::from(&call.agent);
            client.calls += 1;
            client.last_at = Some(moment(now).into());
        }
        let mut calls = lock(&self.calls);
        let number = *self.last.borrow() + 1;
        if calls.len() == CALLS_MAX {
            calls.pop_front();
        }
        calls.push_back(Call {
            n: number,
            at: Text::of(now),
            tool: call.tool.into(),
            agent: call.agent.into(),
            project: call.project.into(),
            session_id: call.session.into(),
            ms: millis(took),
            failed: result.is_error == Some(true),
            outcome: outcome(result).into(),
            arguments: call.preview.into(),
        });
        self.last.send_replace(number);
    }

    /// The calls after a number, oldest first, at most `limit` of the latest.
    pub(super) fn after(&self, after: u64, limit: usize) -> Calls {
        let kept = lock(&self.calls);
        let mut calls: Vec<Call> =
            kept.iter().rev().take_while(|call| call.n > after).take(limit).cloned().collect();
        calls.reverse();
        Calls { calls, last: *self.last.borrow() }
    }

    /// Waits until there is a call after a number.
    pub(super) async fn wait(&self, after: u64) {
        // The sender lives as long as `self`.
        let _ = self.last.subscribe().wait_for(|last| *last > after).await;
    }

    /// The connected clients, the earliest first.
    pub(super) fn clients(&self) -> Vec<Client> {
        lock(&self.clients).values().cloned().collect()
    }
}

/// The redacted beginnings of a call's arguments, on one line. Without `with_texts`, only numbers and flags: a person's
/// operations may have any text.
pub(super) fn preview(arguments: &Map<String, Value>, with_texts: bool) -> String {
    let mut named: Vec<(&String, &Value)> = arguments.iter().collect();
    // The query comes before flags and bounds, because a screen may have room for only one argument.
    named.sort_unstable_by_key(|(name, value)| {
        (with_texts && (value.is_boolean() || value.is_number()), *name)
    });
    let shown = named.into_iter().filter_map(|(name, value)| {
        let value = match value {
            Value::Null => return None,
            Value::String(text) if with_texts => shown(text),
            Value::Array(items) if with_texts => {
                // Joined with line ends, so that a secret that spans several items is recognised.
                let texts = items.iter().filter_map(Value::as_str);
                shown(&texts.collect::<Vec<_>>().join(",\n"))
            }
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => "…".to_owned(),
        };
        Some(format!("{}={}", shown(name), text::cut_chars(&value, VALUE_CHARS_MAX)))
    });
    // A call may have very many arguments, and more than these would not be shown.
    let shown = shown.take(PREVIEW_CHARS_MAX).collect::<Vec<_>>().join("  ");
    let line = text::strip_control_chars(&shown).into_owned();
    text::cut_chars(&line, PREVIEW_CHARS_MAX).into_owned()
}

/// A redacted text on one line; only the size of a long text.
fn shown(text: &str) -> String {
    if text.len() > LOOKED_AT_BYTES {
        return format!("… ({} bytes)", text.len());
    }
    text::one_line(&redact::redact_secrets(text))
}

/// The result of a call, in a few words.
fn outcome(result: &CallToolResult) -> String {
    let facts = result.structured_content.as_ref();
    let fact = |name: &str| facts.and_then(|facts| facts.get(name));
    let text = |name: &str| fact(name).and_then(Value::as_str);
    if let Some(error) = text("error") {
        let line = text::one_line(&text::strip_control_chars(error));
        return text::cut_chars(&line, OUTCOME_CHARS_MAX).into_owned();
    }
    if let Some(outcome) = text("outcome") {
        return outcome.to_owned();
    }
    if let Some(hits) = fact("hits").and_then(Value::as_array) {
        return format!("{}, {}", text::counted(hits.len(), "hit"), text("match").unwrap_or("none"));
    }
    "ok".to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::{fault::Fault, reply::Reply};
    use cerebro_core::code::Code;

    fn seen(tool: &str) -> Seen {
        let text = |word: &str| word.to_owned();
        Seen { tool: text(tool), agent: text("a"), project: text("p"), session: text("s"), preview: text("") }
    }

    #[test]
    fn calls_are_numbered_bounded_and_given_after_a_number() {
        let live = Live::new();
        let client = live.joined("p", 7, Timestamp::UNIX_EPOCH);
        let result = Reply::saying("x").fact("outcome", "created").finish();
        for n in 0..CALLS_MAX + 5 {
            live.note(
                client,
                seen(&format!("t{n}")),
                Timestamp::UNIX_EPOCH,
                Duration::from_millis(3),
                &result,
            );
        }
        let Calls { calls, last } = live.after(0, usize::MAX);
        assert_eq!((calls.len(), last), (CALLS_MAX, CALLS_MAX as u64 + 5));
        assert_eq!(calls[0].n, 6);
        let Calls { calls, .. } = live.after(last - 3, 2);
        assert_eq!(calls.iter().map(|call| call.n).collect::<Vec<_>>(), [last - 1, last]);
        assert_eq!((calls[0].outcome.raw(), calls[0].ms), ("created", 3));
        assert_eq!(live.clients()[0].calls, CALLS_MAX as u64 + 5);
        live.left(client);
        assert!(live.clients().is_empty());
    }

    #[test]
    fn a_call_that_outlives_its_client_is_not_that_of_the_next_one() {
        let live = Live::new();
        let gone = live.joined("p", 7, Timestamp::UNIX_EPOCH);
        live.left(gone);
        live.joined("p", 8, Timestamp::UNIX_EPOCH);
        let result = Reply::saying("x").finish();
        live.note(gone, seen("late"), Timestamp::UNIX_EPOCH, Duration::ZERO, &result);
        live.left(gone);
        let clients = live.clients();
        assert_eq!((clients.len(), clients[0].pid, clients[0].calls), (1, 8, 0));
    }

    #[test]
    fn outcomes_are_words() {
        assert_eq!(outcome(&Fault::new(Code::NoMemory, "no\nmemory").for_person(&[])), "no memory");
        let found = Reply::saying("x").list("hits", vec![json!({})]).fact("match", "strong").finish();
        assert_eq!(outcome(&found), "1 hit, strong");
        assert_eq!(outcome(&Reply::saying("x").finish()), "ok");
    }

    #[test]
    fn previews_are_short_and_show_no_unredacted_text() {
        let long = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS".repeat(100));
        let Value::Object(map) = json!({
            "title": "A\u{1b}[31m\ntitle", "content": long, "limit": 5, "tags": ["a", "b"], "none": null,
            "what": "<private>x</private> y", "why": ["<private>one", "two</private>", "z"],
        }) else {
            unreachable!()
        };
        let line = preview(&map, true);
        assert!(line.chars().count() <= PREVIEW_CHARS_MAX, "{line}");
        assert!(line.contains("title=A[31m title") && line.contains("tags=a, b"), "{line}");
        assert!(line.contains("limit=5") && !line.contains("none") && !line.contains('\u{1b}'), "{line}");
        assert!(line.contains("content=… (2004 bytes)") && !line.contains("ghp_"), "{line}");
        assert!(
            line.contains("what=[REDACTED:private] y") && line.contains("why=[REDACTED:private], z"),
            "{line}"
        );
        let line = preview(&map, false);
        assert_eq!(line, "content=…  limit=5  tags=…  title=…  what=…  why=…");
    }
}
