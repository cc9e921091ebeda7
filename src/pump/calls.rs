//! The requests under way, and what must be sent first on the next link.
//!
//! A request is *waiting* until it is written to a link, then *sent* until its answer arrives. In between, the
//! daemon sends a *receipt* for it, before executing it. When a link is lost, each sent request either waits again
//! or is answered with an error that asks for a retry: see [`Calls::lost`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use super::message::{self, FromDaemon, Key, Request};
use crate::daemon::hello::READ_METHOD;
use cerebro_core::code::Code;
use cerebro_core::domain::limits::CALLS_IN_FLIGHT_MAX;
use cerebro_core::operation::Operation;

/// Most subscriptions of one client; they stay under way and are not counted as calls.
const SUBSCRIPTIONS_MAX: usize = 16;
/// Most bytes of lines that are held for sending them again.
const KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How often one request is sent at most. A subscription has no such limit: it is renewed on every link.
const SENDS_MAX: u8 = 3;

const INITIALIZE: &str = "initialize";
const SUBSCRIBE: &str = "subscriptions/listen";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

const INTERRUPTED: &str = "Cerebro's daemon stopped during this call, so it may or may not have been done. \
    Nothing is lost, and repeating is harmless: make the same call again.";

/// How a link was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEnd {
    /// The daemon sent its farewell: it has answered every request that it read.
    Farewell,
    /// The daemon's end is closed, so the daemon reads nothing more.
    Gone,
    /// The pump closed the link. The daemon may still run and read.
    GivenUp,
}

/// What to do with a line from the daemon.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// Hand it to the client.
    Forward,
    /// Drop it: the client does not expect it.
    Swallow,
}

#[derive(Debug)]
struct Call {
    order: u64,
    request: Request,
    /// The line to send. It is dropped after sending if the lines together take too many bytes.
    line: Option<Vec<u8>>,
    sends: u8,
    /// When it was sent last.
    sent_at: Option<Instant>,
    /// Whether the daemon has sent a receipt for it since.
    is_read: bool,
}

impl Call {
    fn is_subscription(&self) -> bool {
        self.request.method == SUBSCRIBE
    }

    /// Whether it is worth opening a link for: a subscription that was open before can wait for the next one.
    fn is_urgent(&self) -> bool {
        !self.is_subscription() || self.sends == 0
    }

    /// Whether it may be sent once more.
    fn has_sends_left(&self) -> bool {
        self.is_subscription() || self.sends < SENDS_MAX
    }

    /// The called operation, for `tools/call`; `None` for a name that this version does not know.
    fn operation(&self) -> Option<Operation> {
        self.request.tool.as_deref().and_then(Operation::named)
    }

    /// Whether it only reads, so that executing it twice is harmless.
    fn only_reads(&self) -> bool {
        let reading = [
            INITIALIZE,
            SUBSCRIBE,
            "server/discover",
            "tools/list",
            "prompts/list",
            "prompts/get",
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "completion/complete",
        ];
        reading.contains(&self.request.method.as_str()) || self.operation().is_some_and(Operation::only_reads)
    }

    /// The time by which the answer is due; `None` if it is not sent, or is a subscription.
    fn due_at(&self, patience: Duration) -> Option<Instant> {
        self.sent_at.filter(|_| !self.is_subscription()).map(|at| at + patience)
    }
}

/// The handshake of protocol versions before 2026-07-28, which is replayed on every further link.
#[derive(Debug)]
struct Handshake {
    key: Key,
    initialize: Vec<u8>,
    is_answered: bool,
    initialized: Option<Vec<u8>>,
}

/// The state of the pump.
#[derive(Debug, Default)]
pub struct Calls {
    under_way: HashMap<Key, Call>,
    /// The waiting requests, in the order of their arrival.
    waiting: BTreeMap<u64, Key>,
    handshake: Option<Handshake>,
    session: Option<String>,
    /// Subscriptions whose second acknowledgement the client must not see.
    renewed: HashSet<Key>,
    is_linked: bool,
    /// Whether the daemon of the link sends receipts.
    gives_receipts: bool,
    last_order: u64,
    subscriptions: usize,
    kept_bytes: usize,
}

impl Calls {
    /// Whether another request may be read.
    pub fn has_room(&self) -> bool {
        self.under_way.len() - self.subscriptions < CALLS_IN_FLIGHT_MAX
    }

    /// Whether the client waits for no answer.
    pub fn is_idle(&self) -> bool {
        self.under_way.len() == self.subscriptions
    }

    /// Whether a request waits that is worth opening a link for.
    pub fn needs_link(&self) -> bool {
        self.waiting.values().any(|key| self.under_way.get(key).is_some_and(Call::is_urgent))
    }

    /// The last session that the client started, for the hello of the next link.
    pub fn session(&self) -> Option<String> {
        self.session.clone()
    }

    /// Whether there is a link.
    pub fn is_linked(&self) -> bool {
        self.is_linked
    }

    /// Records that there is a link, and whether its daemon sends receipts. Earlier versions do not.
    pub fn linked(&mut self, gives_receipts: bool) {
        self.is_linked = true;
        self.gives_receipts = gives_receipts;
    }

    /// Adds a request to be sent. The error is the answer for the client: its id is in use, or it has too many
    /// subscriptions.
    pub fn add(&mut self, key: Key, request: Request, line: Vec<u8>) -> Result<(), String> {
        if self.under_way.contains_key(&key) {
            return Err(message::id_in_use(&request));
        }
        let is_subscription = request.method == SUBSCRIBE;
        if is_subscription && self.subscriptions == SUBSCRIPTIONS_MAX {
            let text = format!("{SUBSCRIPTIONS_MAX} subscriptions are open already; end one first");
            return Err(message::unavailable(&request, Code::InvalidArgument, &text, true));
        }
        if request.method == INITIALIZE {
            let initialize = line.clone();
            self.handshake =
                Some(Handshake { key: key.clone(), initialize, is_answered: false, initialized: None });
        }
        self.last_order += 1;
        self.subscriptions += usize::from(is_subscription);
        self.kept_bytes += line.len();
        self.waiting.insert(self.last_order, key.clone());
        let order = self.last_order;
        let call = Call { order, request, line: Some(line), sends: 0, sent_at: None, is_read: false };
        self.under_way.insert(key, call);
        Ok(())
    }

    /// Records the client's `notifications/initialized`.
    pub fn initialized(&mut self, line: &[u8]) {
        if let Some(handshake) = &mut self.handshake {
            handshake.initialized = Some(line.to_vec());
        }
    }

    /// Removes a request that the client cancelled. It gets no answer.
    pub fn cancel(&mut self, key: &Key) {
        self.remove(key);
    }

    /// What must be sent first on a new link: the key of `initialize`, its line, and `notifications/initialized`.
    /// `None` if the client has done no handshake.
    pub fn replay(&self) -> Option<(Key, Vec<u8>, Option<Vec<u8>>)> {
        let done = self.handshake.as_ref().filter(|handshake| handshake.is_answered)?;
        Some((done.key.clone(), done.initialize.clone(), done.initialized.clone()))
    }

    /// Takes the oldest waiting request and marks it as sent at `now`. `None` if none waits or there is no link.
    pub fn send_next(&mut self, now: Instant) -> Option<(Key, Vec<u8>)> {
        if !self.is_linked {
            return None;
        }
        let (_, key) = self.waiting.pop_first()?;
        let call = self.under_way.get_mut(&key)?;
        call.sends = call.sends.saturating_add(1);
        call.sent_at = Some(now);
        call.is_read = false;
        if call.sends > 1 && call.is_subscription() {
            self.renewed.insert(key.clone());
        }
        let line = if self.kept_bytes > KEPT_BYTES_MAX && !call.only_reads() {
            let line = call.line.take()?;
            self.kept_bytes -= line.len();
            line
        } else {
            call.line.clone()?
        };
        Some((key, line))
    }

    /// Records that a line did not reach the daemon.
    pub fn unsent(&mut self, key: &Key, line: Vec<u8>) {
        let Some(call) = self.under_way.get_mut(key) else { return };
        if call.has_sends_left() {
            self.waiting.insert(call.order, key.clone());
            call.sent_at = None;
            if call.line.is_none() {
                self.kept_bytes += line.len();
                call.line = Some(line);
            }
        }
    }

    /// Records a line from the daemon. Returns what to do with it.
    pub fn received(&mut self, line: &[u8]) -> Fate {
        match FromDaemon::parse(line) {
            FromDaemon::Answer { key, is_error } => self.answered(&key, is_error, line),
            FromDaemon::Message { method } if method == READ_METHOD => {
                if let Some(call) = message::receipt(line).and_then(|key| self.under_way.get_mut(&key)) {
                    call.is_read = true;
                }
                Fate::Swallow
            }
            FromDaemon::Message { method } if method == ACKNOWLEDGED => {
                let is_repeated = message::subscription(line).is_some_and(|key| self.renewed.remove(&key));
                if is_repeated { Fate::Swallow } else { Fate::Forward }
            }
            FromDaemon::Broken => Fate::Swallow,
            _ => Fate::Forward,
        }
    }

    fn answered(&mut self, key: &Key, is_error: bool, line: &[u8]) -> Fate {
        // The client cancelled it, or the pump has answered it already.
        let Some(call) = self.remove(key) else { return Fate::Swallow };
        if call.request.method == INITIALIZE {
            match &mut self.handshake {
                Some(handshake) if !is_error => handshake.is_answered = true,
                _ => self.handshake = None,
            }
        }
        if call.operation() == Some(Operation::SessionStart)
            && let Some(session) = message::started_session(line)
        {
            self.session = Some(session);
        }
        Fate::Forward
    }

    /// Records that the link is lost, and returns the errors for requests that are not sent again. A request is sent
    /// again if it only reads, or if it was certainly not executed: it has no receipt, and the daemon reads no more.
    pub fn lost(&mut self, end: LinkEnd) -> Vec<String> {
        self.is_linked = false;
        self.renewed.clear();
        let gives_receipts = self.gives_receipts;
        let is_undone = |call: &Call| match end {
            LinkEnd::GivenUp => false,
            LinkEnd::Farewell if !gives_receipts => true,
            LinkEnd::Farewell | LinkEnd::Gone => gives_receipts && !call.is_read,
        };
        for (key, call) in &mut self.under_way {
            if call.line.is_some() && call.has_sends_left() && (is_undone(call) || call.only_reads()) {
                self.waiting.insert(call.order, key.clone());
                call.sent_at = None;
            }
        }
        let keys: Vec<_> = self.under_way.iter().map(|(key, call)| (call.order, key.clone())).collect();
        let sent = keys.into_iter().filter(|(order, _)| !self.waiting.contains_key(order)).collect();
        self.answer_all(sent, Code::Interrupted, INTERRUPTED, true)
    }

    /// When the next answer is due, if the daemon may take `patience` for each.
    pub fn next_due(&self, patience: Duration) -> Option<Instant> {
        self.under_way.values().filter_map(|call| call.due_at(patience)).min()
    }

    /// Gives up the requests whose answer was due before `now`, and returns the errors for the client. A late answer
    /// from the daemon is dropped.
    pub fn expire(&mut self, now: Instant, patience: Duration) -> Vec<String> {
        let is_late = |call: &Call| call.due_at(patience).is_some_and(|due| due <= now);
        let late = self.under_way.iter().filter(|(_, call)| is_late(call));
        let late = late.map(|(key, call)| (call.order, key.clone())).collect();
        let text = format!(
            "Cerebro's daemon has not answered this call within {} s, so it may or may not have been done, or may \
             still be done. Repeating is harmless: make the same call again; if that fails too, tell the user to run \
             `cerebro doctor`.",
            patience.as_secs()
        );
        self.answer_all(late, Code::Unanswered, &text, true)
    }

    /// Gives up the waiting requests, because no daemon can be reached, and returns the errors for the client. With
    /// `is_lasting`, they say that repeating the call does not help.
    pub fn unreachable(&mut self, reason: &str, is_lasting: bool) -> Vec<String> {
        let advice = if is_lasting {
            "This call was not done, and repeating it does not help until the user has fixed that"
        } else {
            "This call was not done; it may be repeated"
        };
        let text = format!("Cerebro's daemon cannot be reached: {reason}. {advice}.");
        let urgent = |key: &Key| self.under_way.get(key).is_some_and(Call::is_urgent);
        let keys = self.waiting.iter().filter(|(_, key)| urgent(key));
        let keys = keys.map(|(order, key)| (*order, key.clone())).collect();
        self.answer_all(keys, Code::Unreachable, &text, !is_lasting)
    }

    /// Answers requests with an error, in the order of their arrival.
    fn answer_all(
        &mut self,
        mut keys: Vec<(u64, Key)>,
        code: Code,
        text: &str,
        is_retryable: bool,
    ) -> Vec<String> {
        keys.sort_unstable_by_key(|(order, _)| *order);
        let calls = keys.into_iter().filter_map(|(_, key)| self.remove(&key));
        calls.map(|call| message::unavailable(&call.request, code, text, is_retryable)).collect()
    }

    fn remove(&mut self, key: &Key) -> Option<Call> {
        let call = self.under_way.remove(key)?;
        self.waiting.remove(&call.order);
        self.subscriptions -= usize::from(call.is_subscription());
        self.kept_bytes -= call.line.as_ref().map_or(0, Vec::len);
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::message::FromClient;
    use super::*;

    fn add(calls: &mut Calls, id: u32, method: &str, params: Value) -> Key {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let FromClient::Request(key, request) = FromClient::parse(line.as_bytes()) else { panic!("{line}") };
        calls.add(key.clone(), request, line.into_bytes()).unwrap();
        key
    }

    fn send_all(calls: &mut Calls) -> Vec<Key> {
        calls.linked(true);
        std::iter::from_fn(|| calls.send_next(Instant::now()).map(|(key, _)| key)).collect()
    }

    fn read(calls: &mut Calls, id: u32) {
        let line = json!({"jsonrpc": "2.0", "method": READ_METHOD, "params": {"id": id}}).to_string();
        assert_eq!(calls.received(line.as_bytes()), Fate::Swallow);
    }

    fn answer(calls: &mut Calls, id: u32, result: Value) -> Fate {
        calls.received(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string().as_bytes())
    }

    #[test]
    fn a_killed_daemon_gives_every_call_an_answer_and_every_question_another_chance() {
        let mut calls = Calls::default();
        let initialize = add(&mut calls, 0, "initialize", json!({}));
        add(&mut calls, 1, "tools/call", json!({"name": "mem_save"}));
        add(&mut calls, 2, "memory/forget", json!({}));
        let listen = add(&mut calls, 3, "subscriptions/listen", json!({}));
        assert_eq!(send_all(&mut calls).len(), 4);
        (0..=3).for_each(|id| read(&mut calls, id));
        let answers: Vec<Value> =
            calls.lost(LinkEnd::Gone).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0]["id"], 1);
        assert_eq!(answers[0]["result"]["isError"], true);
        assert_eq!(answers[0]["result"]["content"][0]["text"], INTERRUPTED);
        assert_eq!(answers[0]["result"]["structuredContent"]["error"], INTERRUPTED);
        assert_eq!(answers[0]["result"]["structuredContent"]["code"], "interrupted");
        assert_eq!(answers[1]["id"], 2);
        assert_eq!(answers[1]["error"]["code"], -32_000);
        assert!(calls.needs_link() && calls.send_next(Instant::now()).is_none());
        assert_eq!(send_all(&mut calls), [initialize, listen]);
    }

    /// One call has a receipt, the other has none.
    #[test]
    fn only_what_was_certainly_not_done_is_sent_again() {
        for (end, gives_receipts, again) in [
            (LinkEnd::Gone, true, &["unread"][..]),
            (LinkEnd::Gone, false, &[]),
            (LinkEnd::Farewell, true, &["unread"]),
            (LinkEnd::Farewell, false, &["read", "unread"]),
            (LinkEnd::GivenUp, true, &[]),
            (LinkEnd::GivenUp, false, &[]),
        ] {
            let mut calls = Calls::default();
            let keys = [1, 2].map(|id| add(&mut calls, id, "tools/call", json!({"name": "mem_save"})));
            calls.linked(gives_receipts);
            while calls.send_next(Instant::now()).is_some() {}
            if gives_receipts {
                read(&mut calls, 1);
            }
            let answered = calls.lost(end).len();
            let sent = send_all(&mut calls);
            let names: Vec<&str> =
                sent.iter().map(|key| if *key == keys[0] { "read" } else { "unread" }).collect();
            assert_eq!(names, again, "{end:?} {gives_receipts}");
            assert_eq!(answered, 2 - again.len(), "{end:?} {gives_receipts}");
        }
    }

    #[test]
    fn a_receipt_counts_for_one_sending() {
        let mut calls = Calls::default();
        add(&mut calls, 1, "tools/call", json!({"name": "mem_search"}));
        send_all(&mut calls);
        read(&mut calls, 1);
        assert!(calls.lost(LinkEnd::Gone).is_empty());
        let key = send_all(&mut calls).remove(0);
        assert!(!calls.under_way[&key].is_read);
    }

    #[test]
    fn an_answer_that_is_owed_too_long_is_given_here() {
        const PATIENCE: Duration = Duration::from_secs(150);
        let mut calls = Calls::default();
        let start = Instant::now();
        add(&mut calls, 1, "tools/call", json!({"name": "mem_save"}));
        add(&mut calls, 2, "subscriptions/listen", json!({}));
        assert_eq!(calls.next_due(PATIENCE), None, "nothing is sent yet");
        calls.linked(true);
        while calls.send_next(start).is_some() {}
        assert_eq!(calls.next_due(PATIENCE), Some(start + PATIENCE));
        assert!(calls.expire(start + PATIENCE - Duration::from_millis(1), PATIENCE).is_empty());
        let answers = calls.expire(start + PATIENCE, PATIENCE);
        assert_eq!(answers.len(), 1);
        assert!(answers[0].contains("within 150 s") && answers[0].contains("may or may not"), "{answers:?}");
        assert!(calls.is_idle() && calls.next_due(PATIENCE).is_none(), "a subscription is never late");
        assert_eq!(answer(&mut calls, 1, json!({})), Fate::Swallow, "the client has an answer");
    }

    #[test]
    fn a_daemon_that_left_in_order_is_followed_by_the_same_calls() {
        let mut calls = Calls::default();
        let keys = [7, 3, 5].map(|id| add(&mut calls, id, "tools/call", json!({"name": "mem_save"})));
        for _ in 0..SENDS_MAX {
            assert_eq!(send_all(&mut calls), keys);
            assert!(!calls.is_idle());
            if calls.under_way.values().all(|call| call.sends < SENDS_MAX) {
                assert_eq!(calls.lost(LinkEnd::Farewell), [""; 0]);
            }
        }
        assert_eq!(calls.lost(LinkEnd::Farewell).len(), 3);
        assert!(calls.is_idle());
        assert_eq!(calls.kept_bytes, 0);
    }

    #[test]
    fn the_handshake_is_played_again_only_once_it_was_done() {
        let mut calls = Calls::default();
        add(&mut calls, 1, "initialize", json!({}));
        send_all(&mut calls);
        assert!(calls.replay().is_none());
        answer(&mut calls, 1, json!({}));
        calls.initialized(b"done");
        let (_, line, initialized) = calls.replay().unwrap();
        assert!(line.starts_with(b"{") && initialized.as_deref() == Some(b"done"));
        add(&mut calls, 2, "initialize", json!({}));
        send_all(&mut calls);
        calls.received(br#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}"#);
        assert!(calls.replay().is_none());
    }

    #[test]
    fn the_started_session_is_remembered() {
        let mut calls = Calls::default();
        let result = |id: &str| json!({"structuredContent": {"session_id": id}});
        add(&mut calls, 1, "tools/call", json!({"name": "mem_session_start"}));
        add(&mut calls, 2, "tools/call", json!({"name": "mem_session_end"}));
        send_all(&mut calls);
        answer(&mut calls, 1, result("mine"));
        answer(&mut calls, 2, result("other"));
        assert_eq!(calls.session().as_deref(), Some("mine"));
    }

    #[test]
    fn requests_are_bounded_by_number_and_bytes() {
        let mut calls = Calls::default();
        for id in 0..u32::try_from(CALLS_IN_FLIGHT_MAX).unwrap() {
            assert!(calls.has_room());
            add(&mut calls, id, "tools/call", json!({"name": "n", "arguments": {"x": "x".repeat(100_000)}}));
            send_all(&mut calls);
        }
        assert!(!calls.has_room());
        assert!(calls.kept_bytes <= KEPT_BYTES_MAX);
        let with_line = calls.under_way.values().filter(|call| call.line.is_some()).count();
        assert_eq!(calls.lost(LinkEnd::Farewell).len(), CALLS_IN_FLIGHT_MAX - with_line);
        assert_eq!(calls.unreachable("no", false).len(), with_line);
        assert!(calls.is_idle() && calls.kept_bytes == 0);
    }

    #[test]
    fn an_id_is_used_once_at_a_time() {
        let mut calls = Calls::default();
        let key = add(&mut calls, 1, "ping", json!({}));
        let request = calls.under_way[&key].request.clone();
        assert!(calls.add(key.clone(), request.clone(), vec![]).is_err());
        calls.cancel(&key);
        assert!(calls.add(key, request, vec![]).is_ok());
    }

    #[test]
    fn a_renewed_subscription_is_acknowledged_once() {
        let acknowledged = json!({"jsonrpc": "2.0", "method": ACKNOWLEDGED,
            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}})
        .to_string();
        let mut calls = Calls::default();
        add(&mut calls, 1, "subscriptions/listen", json!({}));
        assert!(calls.needs_link());
        send_all(&mut calls);
        assert_eq!(calls.received(acknowledged.as_bytes()), Fate::Forward);
        for _ in 0..2 * SENDS_MAX {
            assert!(calls.lost(LinkEnd::Gone).is_empty() && !calls.needs_link() && calls.is_idle());
            send_all(&mut calls);
            assert_eq!(calls.received(acknowledged.as_bytes()), Fate::Swallow);
        }
        assert_eq!(calls.received(acknowledged.as_bytes()), Fate::Forward);
    }
}
