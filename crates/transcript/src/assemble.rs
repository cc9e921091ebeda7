//! Builds exchanges from the records of a transcript, one record after the other.
//!
//! The last two exchanges are open, because a result may arrive after the next prompt. When a third begins,
//! the oldest is finished. A reading returns the state at the beginning of the oldest open exchange, so
//! continuing from there gives the same result as reading everything at once. For that to hold, a decision
//! about a record may depend only on the state and on the records of its own exchange.

use std::collections::{BTreeSet, HashSet, VecDeque};

use jiff::Timestamp;

use crate::clip::clipped;
use crate::envelope::shell_of_person;
use crate::limits::{
    EXCHANGE_BYTES_MAX, EXCHANGE_SOURCE_BYTES_MAX, EXCHANGE_SPAN_MAX, LATE_MAX, MARKS_MAX,
    REWIND_PROMPTS_MAX, TEXT_BYTES_MAX, TRACKED_MAX, TURNS_MAX,
};
use crate::lineage;
use crate::state::{Batch, Late, Mark, State};
use crate::tool::{self, Answer};
use crate::turn::{Action, Call, Exchange, Outcome, Prompt, PromptKind, Stop, Turn};
use cerebro_core::text::fnv;

/// The record at hand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Source<'a> {
    /// Its native id.
    pub(crate) id: Option<&'a str>,
    /// The native id of the record that it follows.
    pub(crate) parent: Option<&'a str>,
    /// When.
    pub(crate) at: Option<Timestamp>,
}

/// A message of the agent that may have further texts.
struct Spoken {
    /// Its native id.
    id: String,
    /// The turn with its last text, and where in the reply this text begins.
    text: Option<(usize, usize)>,
}

pub(crate) struct Assembler {
    /// As of the record at hand.
    pub(crate) live: State,
    record_start: u64,
    /// What the host names as edited before anything was said. It belongs to the first exchange.
    earlier: Option<Earlier>,
    open: VecDeque<Open>,
    done: Vec<Exchange>,
    withdrawn: BTreeSet<u32>,
}

/// Files that were edited in an earlier recording of the session.
struct Earlier {
    files: Vec<String>,
    /// The state as of the record that names the first of them. They are read again until the first exchange begins, so that no
    /// state holds them.
    before: State,
}

struct Open {
    exchange: Exchange,
    /// The state as of its first record.
    before: State,
    seen: HashSet<u64>,
    text_bytes: usize,
    pending: usize,
    /// The prompt may still turn out to be context that the host put before it.
    provisional: bool,
    /// The native message that the last turn belongs to.
    message: Option<Spoken>,
}

impl Assembler {
    pub(crate) fn new(state: &State) -> Self {
        let (live, record_start) = (state.clone(), state.offset);
        Self {
            live,
            record_start,
            earlier: None,
            open: VecDeque::new(),
            done: Vec::new(),
            withdrawn: BTreeSet::new(),
        }
    }

    /// A record begins at this byte.
    pub(crate) fn begin(&mut self, offset: u64) {
        self.record_start = offset;
    }

    /// Extends the session's time span.
    pub(crate) fn moment(&mut self, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        let session = &mut self.live.session;
        session.started = Some(session.started.map_or(at, |started| started.min(at)));
        session.ended = Some(session.ended.map_or(at, |ended| ended.max(at)));
    }

    /// A person's prompt begins an exchange, unless it is a copy of an earlier one. Returns whether it did.
    pub(crate) fn prompt(&mut self, text: &str, kind: PromptKind, source: Source<'_>) -> bool {
        if let Some(id) = source.id.map(hash) {
            if self.live.marks.iter().any(|mark| mark.id == id) {
                self.live.replaying = true;
                self.live.counts.copies += 1;
                return false;
            }
            self.live.replaying = false;
            self.rewind_behind(source.parent);
        } else if self.live.replaying {
            // A record without an id is among those of the copy.
            self.live.counts.copies += 1;
            return false;
        }
        let prompt = Prompt { text: clipped(text.trim(), TEXT_BYTES_MAX), kind };
        self.start(Some(prompt), 0);
        if let Some(open) = self.open.back() {
            let id = source.id.map_or(0, hash);
            let parent = source.parent.map_or(0, hash);
            self.live.marks.push(Mark { seq: open.exchange.seq, id, parent, last: id });
            if self.live.marks.len() > MARKS_MAX {
                self.live.marks.remove(0);
            }
        }
        self.touch(source);
        true
    }

    /// A second prompt after the same turn is a rewind: it takes back the exchanges between. Going far back
    /// starts a branch instead, and both stay.
    fn rewind_behind(&mut self, parent: Option<&str>) {
        let Some(parent) = parent.map(hash) else { return };
        let Some(at) = self.live.marks.iter().rposition(|mark| mark.parent == parent) else { return };
        if self.live.marks.len() - at <= REWIND_PROMPTS_MAX {
            self.withdraw_from(self.live.marks[at].seq);
        }
    }

    /// The person went back to this turn, or to the beginning if it is `None`. Withdraws everything after it.
    pub(crate) fn rewind_to(&mut self, turn: Option<&str>) {
        let turn = turn.map_or(0, hash);
        if let Some(first) = self.live.marks.iter().find(|mark| mark.parent == turn) {
            self.withdraw_from(first.seq);
        }
    }

    /// The host took back the last prompts and everything after them.
    pub(crate) fn roll_back(&mut self, prompts: usize) {
        let live: Vec<u32> = self.live.marks.iter().map(|mark| mark.seq).collect();
        let Some(&from) = live.get(live.len().saturating_sub(prompts.max(1))) else { return };
        self.withdraw_from(from);
        self.live.marks.retain(|mark| mark.seq < from);
    }

    fn withdraw_from(&mut self, from: u32) {
        self.withdrawn.extend(from..self.live.next_seq);
    }

    /// Words of the agent. Several records of one message may repeat or continue each other.
    pub(crate) fn reply(&mut self, text: &str, message: Option<&str>, source: Source<'_>) {
        let text = text.trim();
        if text.is_empty() || !self.admits(message, text.len().min(TEXT_BYTES_MAX), source) {
            return;
        }
        let text = clipped(text, TEXT_BYTES_MAX);
        let Some(open) = self.current() else { return };
        let turns = &mut open.exchange.turns;
        let count = turns.len();
        let spoken = open.message.as_mut().filter(|spoken| Some(spoken.id.as_str()) == message);
        if let Some((index, from)) = spoken.and_then(|spoken| spoken.text.as_mut())
            && let Some(Turn::Reply { text: before, .. }) = turns.get_mut(*index)
        {
            let bytes = before.len();
            let last = &before[*from..];
            if text.starts_with(last) {
                before.truncate(*from);
                before.push_str(&text);
            } else if !last.starts_with(&text) && *index + 1 == count && bytes + text.len() < TEXT_BYTES_MAX {
                // Readers and the redaction get both texts as one, because a secret may begin in one and end in the next.
                before.push('\n');
                *from = before.len();
                before.push_str(&text);
            } else if !last.starts_with(&text) {
                return self.begin_reply(text, message, source);
            }
            open.text_bytes += before.len().saturating_sub(bytes);
            self.touch(source);
            return;
        }
        self.begin_reply(text, message, source);
    }

    fn begin_reply(&mut self, text: String, message: Option<&str>, source: Source<'_>) {
        let Some(open) = self.current() else { return };
        let turns = &mut open.exchange.turns;
        open.text_bytes += text.len();
        open.message = message.map(|id| Spoken { id: id.to_owned(), text: Some((turns.len(), 0)) });
        turns.push(Turn::Reply { text, at: source.at });
        self.touch(source);
    }

    /// A tool call. A repetition with the same id is ignored.
    pub(crate) fn call(&mut self, call: Call, message: Option<&str>, source: Source<'_>) {
        if !self.admits(message, call.action.weight(), source) || self.has_call(&call.id) {
            return;
        }
        let Some(open) = self.current() else { return };
        open.text_bytes += call.action.weight();
        // No result can find a call without an id.
        open.pending += usize::from(!call.id.is_empty());
        if open.message.as_ref().map(|spoken| spoken.id.as_str()) != message {
            open.message = message.map(|id| Spoken { id: id.to_owned(), text: None });
        }
        let key = hash(&call.id);
        open.exchange.turns.push(Turn::Call(call));
        // A result that comes now is this one's.
        self.live.late.retain(|late| late.id != key);
        self.touch(source);
    }

    /// The result of a call. A result without a call is dropped, and one whose exchange has ended stands by itself.
    pub(crate) fn result(&mut self, id: &str, answer: Answer<'_>, source: Source<'_>) {
        // That of a copy says the same of a call that has none yet, and its record may also begin an exchange.
        let is_copy = self.live.replaying;
        self.ends_copy(source);
        if id.is_empty() {
            return;
        }
        let Some((index, at)) = self.find_call(id) else {
            if is_copy {
                self.live.late.retain(|late| late.id != hash(id));
                return;
            }
            return self.late_result(id, answer, source);
        };
        let open = &mut self.open[index];
        let Some(Turn::Call(call)) = open.exchange.turns.get_mut(at) else { return };
        if call.outcome != Outcome::Pending {
            return;
        }
        tool::settle(call, answer);
        open.text_bytes += call.output.len();
        open.pending = open.pending.saturating_sub(1);
        if !is_copy && index + 1 == self.open.len() {
            self.touch(source);
        }
    }

    /// The result of a call whose exchange has ended. What it was called with stands there.
    fn late_result(&mut self, id: &str, answer: Answer<'_>, source: Source<'_>) {
        let key = hash(id);
        let Some(late) = self.live.late.iter().find(|late| late.id == key) else { return };
        let tool = late.tool.clone();
        let action = tool::action(&tool, "{}");
        let call = Call { id: tool::name(id), tool, action, at: source.at, ..Call::default() };
        self.call(call, None, source);
        if self.find_call(id).is_none() {
            return;
        }
        self.result(id, answer, source);
        if let Some((index, at)) = self.find_call(id)
            && let Some(Turn::Call(call)) = self.open[index].exchange.turns.get_mut(at)
        {
            call.action = Action::default();
        }
    }

    /// An exchange ends. The results of its calls may still come, but none came until now: a reading that begins at one of
    /// the open exchanges must know them, too.
    fn ended(&mut self, exchange: Exchange) {
        let is_due = |call: &&Call| {
            call.outcome == Outcome::Pending && !call.id.is_empty() && self.find_call(&call.id).is_none()
        };
        let due = exchange.calls().filter(is_due);
        let due: Vec<Late> = due.map(|call| Late { id: hash(&call.id), tool: call.tool.clone() }).collect();
        for state in self.open.iter_mut().map(|open| &mut open.before).chain([&mut self.live]) {
            state.late.extend_from_slice(&due);
            let excess = state.late.len().saturating_sub(LATE_MAX);
            state.late.drain(..excess);
        }
        self.done.push(exchange);
    }

    /// The host reports what the last call of a tool did, so what the call itself says of that counts no more.
    pub(crate) fn tells(&mut self, tool: &str) {
        let turns = self.open.back_mut().into_iter().flat_map(|open| open.exchange.turns.iter_mut().rev());
        let mut calls = turns.filter_map(|turn| if let Turn::Call(call) = turn { Some(call) } else { None });
        if let Some(call) = calls.find(|call| call.tool == tool) {
            call.action = Action::default();
        }
    }

    /// A call with its answer, from hosts that write both at once.
    pub(crate) fn answered(
        &mut self,
        call: Call,
        answer: Answer<'_>,
        message: Option<&str>,
        source: Source<'_>,
    ) {
        let id = call.id.clone();
        self.call(call, message, source);
        self.result(&id, answer, source);
    }

    /// A command that the person ran, which stands in the user's role with its result. Returns whether the text is one.
    pub(crate) fn ran_by_person(&mut self, text: &str, source: Source<'_>) -> bool {
        let Some((line, result)) = shell_of_person(text) else { return false };
        let call = tool::typed(&format!("{} {line}", source.id.unwrap_or("!")), line, source.at);
        let answer = Answer { text: result.into(), failed: false, exit: None };
        self.answered(call, answer, None, source);
        true
    }

    fn has_call(&self, id: &str) -> bool {
        let last = self.open.len().saturating_sub(1);
        !id.is_empty() && self.find_call(id).is_some_and(|(index, _)| index == last)
    }

    fn find_call(&self, id: &str) -> Option<(usize, usize)> {
        let in_open = |open: &Open| {
            open.exchange.turns.iter().rposition(|turn| matches!(turn, Turn::Call(call) if call.id == id))
        };
        self.open.iter().enumerate().rev().find_map(|(index, open)| Some((index, in_open(open)?)))
    }

    pub(crate) fn compaction(&mut self, summary: &str, source: Source<'_>) {
        if !self.admits(None, summary.len().min(TEXT_BYTES_MAX), source) {
            return;
        }
        let summary = clipped(summary.trim(), TEXT_BYTES_MAX);
        let Some(open) = self.current() else { return };
        open.text_bytes += summary.len();
        match open.exchange.turns.last_mut() {
            // A boundary and its summary are two records of one event.
            Some(Turn::Compaction { summary: before, .. }) if before.is_empty() || summary.is_empty() => {
                before.push_str(&summary);
            }
            _ => open.exchange.turns.push(Turn::Compaction { summary, at: source.at }),
        }
        self.touch(source);
    }

    pub(crate) fn stopped(&mut self, by: Stop, source: Source<'_>) {
        if self.open.is_empty() || !self.admits(None, 0, source) {
            return;
        }
        let Some(open) = self.current() else { return };
        if !matches!(open.exchange.turns.last(), Some(Turn::Stopped { by: before, .. }) if *before == by) {
            open.exchange.turns.push(Turn::Stopped { by, at: source.at });
        }
        self.touch(source);
    }

    pub(crate) fn pull_request(&mut self, url: &str, source: Source<'_>) {
        if url.is_empty() || !self.admits(None, url.len(), source) {
            return;
        }
        let Some(open) = self.current() else { return };
        let url = tool::name(url);
        let known = |turn: &Turn| matches!(turn, Turn::PullRequest { url: before, .. } if *before == url);
        if !open.exchange.turns.iter().any(known) {
            open.exchange.turns.push(Turn::PullRequest { url, at: source.at });
        }
    }

    /// The host's bookkeeping names a file as edited. What it names before anything was said was edited in an earlier
    /// recording: the first exchange has it, and it begins none.
    pub(crate) fn touched(&mut self, path: &str) {
        let key = hash(path);
        if self.live.replaying || self.live.tracked.contains(&key) {
            return;
        }
        let files = if self.open.is_empty() && self.live.next_seq == 0 {
            let begun = || Earlier { files: Vec::new(), before: self.live.at(self.record_start) };
            &mut self.earlier.get_or_insert_with(begun).files
        } else if let Some(open) = self.current() {
            &mut open.exchange.touched
        } else {
            return;
        };
        files.push(tool::name(path));
        if self.live.tracked.len() < TRACKED_MAX {
            self.live.tracked.push(key);
        }
    }

    /// A message in the user's role: either the prompt, or context that the host put before it. Consecutive
    /// ones count as one prompt, until the host says which of them the person wrote.
    pub(crate) fn provisional_prompt(&mut self, text: &str, kind: PromptKind, source: Source<'_>) {
        let Some(open) =
            self.open.back_mut().filter(|open| open.provisional && open.exchange.turns.is_empty())
        else {
            self.prompt(text, kind, source);
            if let Some(open) = self.open.back_mut() {
                open.provisional = true;
            }
            return;
        };
        if let Some(prompt) = &mut open.exchange.prompt
            && !prompt.text.contains(text)
        {
            prompt.text = clipped(&format!("{}\n{text}", prompt.text), TEXT_BYTES_MAX);
        }
    }

    /// The prompt, confirmed by the host. It replaces the provisional one, or begins an exchange.
    pub(crate) fn confirmed_prompt(&mut self, text: &str, kind: PromptKind, source: Source<'_>) {
        let Some(open) =
            self.open.back_mut().filter(|open| open.provisional && open.exchange.turns.is_empty())
        else {
            self.prompt(text, kind, source);
            return;
        };
        open.provisional = false;
        open.exchange.prompt = Some(Prompt { text: clipped(text.trim(), TEXT_BYTES_MAX), kind });
    }

    /// The confirmed prompt at hand, while nothing has followed it.
    pub(crate) fn unanswered_prompt(&self) -> Option<&str> {
        let open = self.open.back().filter(|open| !open.provisional && open.exchange.turns.is_empty())?;
        open.exchange.prompt.as_ref().map(|prompt| prompt.text.as_str())
    }

    /// An exchange has begun and nothing followed its prompt.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.open.back().is_some_and(|open| open.exchange.turns.is_empty())
    }

    /// The same words are a reply in the exchange at hand.
    pub(crate) fn has_reply(&self, words: &str) -> bool {
        let words = clipped(words.trim(), TEXT_BYTES_MAX);
        let same = |turn: &Turn| matches!(turn, Turn::Reply { text, .. } if *text == words);
        self.open.back().is_some_and(|open| open.exchange.turns.iter().any(same))
    }

    /// Whether a record counts: not inside a copy. Begins a new piece when the exchange at hand is full.
    fn admits(&mut self, message: Option<&str>, bytes: usize, source: Source<'_>) -> bool {
        if self.live.replaying {
            self.ends_copy(source);
            return false;
        }
        let full = self.open.back().is_some_and(|open| {
            let same = message.is_some() && open.message.as_ref().map(|spoken| spoken.id.as_str()) == message;
            let heavy = open.text_bytes + bytes > EXCHANGE_BYTES_MAX && open.pending == 0 && !same;
            let long = self.record_start.saturating_sub(open.exchange.offset) > EXCHANGE_SOURCE_BYTES_MAX;
            heavy || long || open.exchange.turns.len() >= TURNS_MAX
        });
        if full {
            self.split();
        }
        true
    }

    /// A copy ends with the last record that precedes it.
    fn ends_copy(&mut self, source: Source<'_>) {
        let last = self.live.marks.last().map(|mark| mark.last);
        if self.live.replaying && source.id.map(hash).is_some_and(|id| Some(id) == last) {
            self.live.replaying = false;
        }
    }

    fn current(&mut self) -> Option<&mut Open> {
        if self.live.muted || self.live.replaying {
            return None;
        }
        if self.open.is_empty() {
            self.start(None, self.live.part);
        }
        self.open.back_mut()
    }

    fn split(&mut self) {
        let Some(open) = self.open.back() else { return };
        let part = open.exchange.part + 1;
        self.start(None, part);
    }

    fn start(&mut self, prompt: Option<Prompt>, part: u32) {
        if self.live.muted {
            return;
        }
        self.live.part = part;
        let (touched, before) = match self.earlier.take() {
            Some(earlier) => (earlier.files, earlier.before),
            None => (Vec::new(), self.live.at(self.record_start)),
        };
        let session = &self.live.session;
        let exchange = Exchange {
            seq: self.live.next_seq,
            part,
            cwd: session.cwd.clone(),
            branch: session.branch.clone(),
            model: session.model.clone(),
            offset: self.record_start,
            prompt,
            touched,
            ..Exchange::default()
        };
        self.live.next_seq += 1;
        let text_bytes = exchange.prompt.as_ref().map_or(0, |prompt| prompt.text.len());
        self.open.push_back(Open {
            exchange,
            before,
            seen: HashSet::new(),
            text_bytes,
            pending: 0,
            provisional: false,
            message: None,
        });
        if self.open.len() > 2
            && let Some(oldest) = self.open.pop_front()
        {
            self.ended(oldest.exchange);
        }
    }

    /// Records that the record belongs to the exchange at hand.
    fn touch(&mut self, source: Source<'_>) {
        let model = self.live.session.model.clone();
        let Some(open) = self.open.back_mut() else { return };
        let exchange = &mut open.exchange;
        exchange.at = exchange.at.or(source.at);
        exchange.until = source.at.or(exchange.until);
        exchange.model = model.or_else(|| exchange.model.take());
        let Some(id) = source.id else { return };
        exchange.first_id.get_or_insert_with(|| tool::name(id));
        exchange.last_id = Some(tool::name(id));
        open.seen.insert(hash(id));
        if let Some(mark) = self.live.marks.last_mut() {
            mark.last = hash(id);
        }
    }

    /// Whether a record is a second copy of one in the exchange at hand. Farther back only prompts are
    /// remembered: a copy begins with one.
    pub(crate) fn is_copy(&mut self, source: Source<'_>) -> bool {
        let copy = source.id.is_some_and(|id| self.has_seen(id));
        if copy {
            self.live.counts.copies += 1;
            self.ends_copy(source);
        }
        copy
    }

    fn has_seen(&self, id: &str) -> bool {
        self.open.back().is_some_and(|open| open.seen.contains(&hash(id)))
    }

    /// Whether a native id is of a turn of this session, as far as is remembered.
    pub(crate) fn knows(&self, id: &str) -> bool {
        let key = hash(id);
        self.has_seen(id) || self.live.marks.iter().any(|mark| mark.id == key || mark.last == key)
    }

    /// Names the exchange at hand by the host's turn, unless it has a name.
    pub(crate) fn name_turn(&mut self, turn: &str) {
        if let Some(open) = self.open.back_mut() {
            open.exchange.first_id.get_or_insert_with(|| tool::name(turn));
            open.exchange.last_id.get_or_insert_with(|| tool::name(turn));
        }
    }

    /// A record ends at this byte. Finishes exchanges that began too far before it, so that the next reading need not begin
    /// there; the rest of the last one becomes another piece of it.
    pub(crate) fn end_far_ones(&mut self, offset: u64) {
        let is_far = |open: &mut Open| offset.saturating_sub(open.exchange.offset) > EXCHANGE_SPAN_MAX;
        while let Some(open) = self.open.pop_front_if(is_far) {
            self.ended(open.exchange);
            self.live.part += u32::from(self.open.is_empty());
        }
    }

    /// Skips a line that is too long: finishes all exchanges, so that nothing before the line is read again.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        while let Some(open) = self.open.pop_front() {
            self.ended(open.exchange);
        }
        self.live.part += 1;
        self.record_start = offset;
    }

    /// Ends the reading at this byte, where a record ends.
    pub(crate) fn finish(self, end: u64) -> Batch {
        let mut state = match self.open.front() {
            Some(oldest) => oldest.before.clone(),
            None => match self.earlier {
                Some(earlier) if end - earlier.before.offset <= EXCHANGE_SOURCE_BYTES_MAX => earlier.before,
                _ => self.live.at(end),
            },
        };
        // Skipping is about the bytes that come next, whatever is read again.
        state.skipping = self.live.skipping;
        let mut exchanges = self.done;
        exchanges.extend(self.open.into_iter().map(|open| open.exchange));
        lineage::bind(&self.live.session, state.origin.as_deref(), &mut exchanges);
        Batch {
            exchanges,
            withdrawn: self.withdrawn.into_iter().collect(),
            session: self.live.session,
            counts: self.live.counts,
            end,
            state,
        }
    }
}

/// The hash of a text in the states. Never 0.
pub(crate) fn hash(text: &str) -> u64 {
    fnv(text.bytes()).max(1)
}
