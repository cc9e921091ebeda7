//! The sessions in order of time, with threads of sessions that continue each other, and the entries of each session.
//! Past sessions from transcripts have a list of the same form, with exchanges instead of memories.

mod draw;

use jiff::Timestamp;
use serde_json::Value;

pub use self::draw::draw;

use super::lanes::{Lanes, lanes};
use super::prelude::*;
use super::update;
use crate::answer::{
    self,
    history::{History, Whole},
    observation::Observation,
    of,
    sessions::{Entry, Story},
};
use crate::view::{self, Exchange, Past, Session};

/// How many sessions one answer has.
const PAGE: usize = 50;
/// How many past sessions one answer has.
const PAST_PAGE: usize = 200;
/// How many exchanges one answer has.
const EXCHANGES_PAGE: usize = 50;
/// Most sessions that are held.
const SESSIONS_MAX: usize = 2_000;
/// Most entries of a session that are shown.
const ENTRIES_MAX: usize = 500;

/// A session with its entries.
#[derive(Debug, Default)]
struct SessionDetail {
    session: Session,
    entries: Vec<Entry>,
    /// For a past session: the exchanges that the entries stand for.
    exchanges: Vec<Exchange>,
    more: bool,
    cursor: Cursor,
    /// The summary; for a past session, the facts of the chosen exchange or, if it was opened, its text.
    body: ScrolledText,
}

impl SessionDetail {
    /// From `op_story`.
    fn of(story: &Story) -> Self {
        let session = story.session.as_ref().map(Session::of).unwrap_or_default();
        Self {
            body: ScrolledText::new(&session.summary),
            session,
            entries: story.entries.clone(),
            more: story.more,
            ..Self::default()
        }
    }

    /// From a past session.
    fn read_past(whole: &Whole) -> Self {
        let mut detail = Self { session: Past::whole(whole).session, ..Self::default() };
        detail.take_exchanges(whole);
        detail
    }

    /// Adds a page of exchanges after the held ones.
    fn take_exchanges(&mut self, whole: &Whole) {
        let new: Vec<Exchange> = whole.exchanges.iter().map(Exchange::listed).collect();
        self.more = new.len() == EXCHANGES_PAGE;
        self.entries.extend(whole.exchanges.iter().map(|exchange| Entry {
            title: Some(exchange.title.clone()),
            memory_type: Some("exchange".into()),
            date: exchange.at.clone(),
            ..Entry::default()
        }));
        self.exchanges.extend(new);
        self.show_exchange();
    }

    /// Shows the facts of the chosen exchange in the body.
    fn show_exchange(&mut self) {
        let Some(exchange) = self.exchanges.get(self.cursor.at) else { return };
        let lines = exchange.facts().into_iter().map(|(name, value)| format!("- {name}: `{value}`\n"));
        self.body = ScrolledText::new(&lines.collect::<String>());
    }

    /// The position of the first exchange that is not held.
    fn next(&self) -> u64 {
        self.exchanges.last().map_or(0, |last| last.seq + 1)
    }

    fn has_room(&self) -> bool {
        self.more && self.exchanges.len() < ENTRIES_MAX
    }
}

/// The list, and the session on the screen.
#[derive(Debug, Default)]
pub struct Sessions {
    rows: Vec<Session>,
    /// The lanes next to each row.
    lanes: Vec<Lanes>,
    complete: bool,
    cursor: Cursor,
    detail: Option<SessionDetail>,
    source: Source,
    focus: Focus,
}

/// Where the listed sessions come from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Source {
    #[default]
    Memory,
    /// Imported transcripts: past sessions.
    Transcripts,
}

/// What keys go to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Focus {
    #[default]
    List,
    Session,
}

/// Requests the latest sessions.
pub fn refresh(state: &mut State) {
    ask_after(state, 0);
}

/// Requests the sessions that come after the first `held` ones of the list.
fn ask_after(state: &mut State, held: usize) {
    let (operation, question) = match state.sessions.source {
        Source::Transcripts => {
            let question = json!({ "project": state.project, "from": held, "limit": PAST_PAGE });
            (Operation::HistorySession, question)
        }
        Source::Memory => {
            let mut question = state.project_filter();
            question["limit"] = json!(PAGE);
            let last = held.checked_sub(1).and_then(|last| state.sessions.rows.get(last));
            if let Some((last, oldest)) = last.and_then(|session| Some((session, session.started_at?))) {
                question["before"] = json!(oldest.to_string());
                question["after"] = json!(last.id);
            }
            (Operation::Sessions, question)
        }
    };
    state.asks.ask(Slot::Sessions, operation, question);
}

/// Starts over, because another project was chosen.
pub fn restart(state: &mut State) {
    show(state, state.sessions.source);
}

/// Lists the sessions of a source from the start.
fn show(state: &mut State, source: Source) {
    state.sessions = Sessions { source, ..Sessions::default() };
    state.asks.forget(|slot| matches!(slot, Slot::Sessions | Slot::SessionDetail | Slot::Exchange));
    refresh(state);
}

/// Shows one session of the memory.
pub fn open(state: &mut State, id: String) {
    if state.sessions.source == Source::Transcripts {
        show(state, Source::Memory);
    }
    if let Some(at) = state.sessions.rows.iter().position(|session| session.id == id) {
        state.sessions.cursor.at = at;
    }
    state.sessions.focus = Focus::Session;
    ask_detail(state, &id, 0);
    if state.sessions.rows.is_empty() {
        refresh(state);
    }
}

fn ask_detail(state: &mut State, id: &str, from: u64) {
    let (operation, question) = detail_question(state.sessions.source, id, from);
    state.asks.ask(Slot::SessionDetail, operation, question);
}

/// The question for one session; for a past one, for its exchanges from a number on.
fn detail_question(source: Source, id: &str, from: u64) -> (Operation, Value) {
    match source {
        Source::Transcripts => {
            let question = json!({ "session": id, "from": from, "limit": EXCHANGES_PAGE });
            (Operation::HistorySession, question)
        }
        Source::Memory => (Operation::Story, json!({ "session_id": id, "limit": ENTRIES_MAX })),
    }
}

/// Requests earlier sessions when the cursor is near the end of the held ones.
fn want_more(state: &mut State) {
    let sessions = &state.sessions;
    let held = sessions.rows.len();
    let near_end = sessions.cursor.at + 10 >= held;
    let room = !sessions.complete && held < SESSIONS_MAX;
    // Without the time of the last one it is not known what comes after it.
    let is_dated = sessions.rows.last().is_some_and(|session| session.started_at.is_some());
    if near_end && room && is_dated && !state.asks.is_waiting(Slot::Sessions) {
        ask_after(state, held);
    }
}

/// Requests the chosen session, one at a time. One that was opened does not wait for one that the cursor passed, and is
/// not requested twice.
fn want_detail(state: &mut State) {
    let sessions = &state.sessions;
    let Some(id) = sessions.rows.get(sessions.cursor.at).map(|session| session.id.clone()) else { return };
    let (_, question) = detail_question(sessions.source, &id, 0);
    let is_waiting = match sessions.focus {
        Focus::List => state.asks.is_waiting(Slot::SessionDetail),
        Focus::Session => state.asks.is_asking(Slot::SessionDetail, &question),
    };
    if !is_waiting && sessions.detail.as_ref().is_none_or(|detail| detail.session.id != id) {
        ask_detail(state, &id, 0);
    }
}

/// Takes in an answer about sessions.
pub fn answer(state: &mut State, slot: Slot, value: &Value) {
    match slot {
        _ if state.sessions.source == Source::Transcripts => {
            update::take::<of::HistorySession>(state, value, take_history);
        }
        Slot::SessionDetail => update::take::<of::Story>(state, value, take_story),
        _ => update::take::<of::Sessions>(state, value, take_latest),
    }
}

/// Takes in a whole exchange of a past session.
pub fn take_exchange(state: &mut State, found: &Observation) {
    let read = Exchange::of(found);
    let chosen =
        state.sessions.detail.as_mut().filter(|detail| {
            detail.exchanges.get(detail.cursor.at).is_some_and(|chosen| chosen.id == read.id)
        });
    if let Some(detail) = chosen {
        detail.body = ScrolledText::new(&read.content);
    }
}

fn take_story(state: &mut State, story: &Story) {
    state.sessions.detail = Some(SessionDetail::of(story));
    if state.sessions.focus == Focus::List {
        want_detail(state);
    }
}

fn take_latest(state: &mut State, latest: &answer::sessions::Sessions) {
    take_sessions(&mut state.sessions, latest);
    want_more(state);
    if state.sessions.focus == Focus::List {
        want_detail(state);
    }
}

/// Adds past sessions from an answer: a page of the list, or of one session.
fn take_history(state: &mut State, history: &History) {
    match &history.one {
        Some(whole) => take_exchanges(&mut state.sessions, whole),
        None => {
            take_past(&mut state.sessions, history);
            want_more(state);
        }
    }
    if state.sessions.focus == Focus::List {
        want_detail(state);
    }
}

/// Adds a page of exchanges of a past session: the first one, or the one after those that are held.
fn take_exchanges(sessions: &mut Sessions, whole: &Whole) {
    let first = whole.exchanges.first().map(|exchange| exchange.seq);
    let id = whole.session.session.line();
    let same = sessions.detail.as_mut().filter(|detail| detail.session.id == id);
    match same.filter(|detail| first.is_none_or(|first| first > 0 && first >= detail.next())) {
        Some(detail) => detail.take_exchanges(whole),
        None => sessions.detail = Some(SessionDetail::read_past(whole)),
    }
}

/// Adds a page of past sessions: the latest, or those after the held ones.
fn take_past(sessions: &mut Sessions, history: &History) {
    let new: Vec<Session> = history.sessions.iter().flatten().map(|row| Past::listed(row).session).collect();
    let from = history.from.and_then(|from| usize::try_from(from).ok()).unwrap_or(0);
    sessions.complete = new.len() < PAST_PAGE;
    sessions.rows.truncate(from);
    sessions.rows.extend(new);
    sessions.rows.truncate(SESSIONS_MAX);
    sessions.lanes = lanes(&sessions.rows);
    sessions.cursor.fit(sessions.rows.len());
}

/// Adds a page of sessions: the latest again, or earlier ones than those that are held.
fn take_sessions(sessions: &mut Sessions, latest: &answer::sessions::Sessions) {
    let new: Vec<Session> = latest.sessions.iter().map(Session::of).collect();
    // The list is in the order of these, the latest first.
    let place = |session: &Session| (session.started_at.unwrap_or(Timestamp::MAX), session.id.clone());
    let oldest = sessions.rows.last().map(place);
    let continues = new.first().map(place).is_none_or(|first| oldest.is_none_or(|oldest| first < oldest));
    if continues {
        sessions.complete = new.len() < PAGE;
        sessions.rows.extend(new);
    } else {
        let chosen = sessions.rows.get(sessions.cursor.at).map(|session| session.id.clone());
        let end = new.last().map(place);
        sessions.rows.retain(|session| Some(place(session)) < end);
        sessions.rows.splice(0..0, new);
        let same = |session: &Session| chosen.as_ref() == Some(&session.id);
        if let Some(at) = sessions.rows.iter().position(same).filter(|_| sessions.cursor.at > 0) {
            sessions.cursor.at = at;
        }
    }
    sessions.rows.truncate(SESSIONS_MAX);
    sessions.lanes = lanes(&sessions.rows);
    sessions.cursor.fit(sessions.rows.len());
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    if state.sessions.focus == Focus::Session {
        return session_key(state, key);
    }
    let total = state.sessions.rows.len();
    if state.sessions.cursor.key(key, total) {
        want_more(state);
        want_detail(state);
        return true;
    }
    match key.code {
        KeyCode::Enter | KeyCode::Right if total > 0 => {
            state.sessions.focus = Focus::Session;
            want_detail(state);
        }
        KeyCode::Char('f') => follow(state),
        KeyCode::Char('h') => {
            let other = match state.sessions.source {
                Source::Memory => Source::Transcripts,
                Source::Transcripts => Source::Memory,
            };
            show(state, other);
        }
        _ => return false,
    }
    true
}

/// Moves to the session that the chosen one continues.
fn follow(state: &mut State) {
    let sessions = &mut state.sessions;
    let earlier = sessions.rows.get(sessions.cursor.at).map(|session| session.follows.clone());
    let Some(earlier) = earlier.filter(|id| !id.is_empty()) else {
        state.notify("this session continues no other");
        return;
    };
    match sessions.rows.iter().position(|session| session.id == earlier) {
        Some(at) => {
            sessions.cursor.at = at;
            want_detail(state);
        }
        None => open(state, earlier),
    }
}

/// Handles a key that goes to the session.
fn session_key(state: &mut State, key: KeyEvent) -> bool {
    let Some(detail) = &mut state.sessions.detail else {
        if key.code == KeyCode::Esc {
            state.sessions.focus = Focus::List;
        }
        return true;
    };
    match key.code {
        KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => {
            state.sessions.focus = Focus::List;
            want_detail(state);
        }
        KeyCode::Enter if !detail.exchanges.is_empty() => {
            let Some(exchange) = detail.exchanges.get(detail.cursor.at) else { return false };
            let question = view::whole(&exchange.id);
            state.asks.ask(Slot::Exchange, Operation::GetObservation, question);
        }
        KeyCode::Enter | KeyCode::Char('g') => {
            let entry = detail.entries.get(detail.cursor.at).filter(|entry| entry.is_memory());
            let Some(id) = entry.map(|entry| entry.id.line()) else { return false };
            if key.code == KeyCode::Enter {
                super::memories::open(state, &id);
            } else {
                super::graph::open(state, &id);
            }
        }
        KeyCode::Char(' ') => {
            detail.body.scroll.key(key);
        }
        KeyCode::Char('f') => {
            let earlier = detail.session.follows.clone();
            if !earlier.is_empty() {
                open(state, earlier);
            }
        }
        _ => {
            if !detail.cursor.key(key, detail.entries.len()) {
                return false;
            }
            detail.show_exchange();
            want_exchanges(state);
        }
    }
    true
}

/// Requests more exchanges when the cursor is near the end of the held ones.
fn want_exchanges(state: &mut State) {
    let Some(detail) = &state.sessions.detail else { return };
    let near_end = detail.cursor.at + 10 >= detail.exchanges.len();
    let is_waiting = state.asks.is_waiting(Slot::SessionDetail);
    if state.sessions.source == Source::Transcripts && near_end && detail.has_room() && !is_waiting {
        let (id, next) = (detail.session.id.clone(), detail.next());
        ask_detail(state, &id, next);
    }
}

/// The keys of this screen.
pub fn keys(state: &State) -> Vec<(&'static str, &'static str)> {
    let is_memory = state.sessions.source == Source::Memory;
    if state.sessions.focus == Focus::Session {
        let mut keys = vec![("Esc", "back"), ("↑↓", "choose"), ("Enter", "read")];
        keys.extend(is_memory.then_some(("g", "graph")));
        keys.extend([("f", "what it follows"), ("Space", "scroll")]);
        return keys;
    }
    vec![
        ("↑↓", "choose"),
        ("Enter", "open"),
        ("f", "what it follows"),
        ("p", "project"),
        ("h", if is_memory { "past sessions" } else { "those of the memory" }),
        ("r", "reload"),
    ]
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::answer::history;
    use crate::tui::theme::Theme;

    fn past_page(from: u64, count: u64) -> Whole {
        let exchange = |seq: u64| history::Exchange {
            id: format!("x{seq}").into(),
            seq,
            title: "Go on".into(),
            files: vec!["a.rs".into()],
            ..history::Exchange::default()
        };
        let session = history::Session {
            session: "s".into(),
            title: Some("Mend it".into()),
            ..history::Session::default()
        };
        let exchanges = (from..from + count).map(exchange).collect();
        Whole { exchanges, session, total: 70, ..Whole::default() }
    }

    #[test]
    fn exchanges_of_a_past_session_are_held_page_by_page() {
        let mut sessions = Sessions { source: Source::Transcripts, ..Sessions::default() };
        take_exchanges(&mut sessions, &past_page(0, 50));
        take_exchanges(&mut sessions, &past_page(50, 20));
        let detail = sessions.detail.as_ref().unwrap();
        assert_eq!((detail.entries.len(), detail.more, detail.next()), (70, false, 70));
        assert_eq!(detail.session.headline(), "Mend it");
        assert!(!detail.body.is_empty(), "what the first did is shown");
        take_exchanges(&mut sessions, &past_page(0, 50));
        assert_eq!(sessions.detail.as_ref().map(|detail| detail.entries.len()), Some(50), "read again");
    }

    fn page(from: usize, count: usize) -> History {
        let row = |n: usize| {
            let mut row = history::Row::default();
            row.session.session = format!("s{n}").into();
            row.session.started_at = "2026-11-22T10:00:00Z".into();
            row
        };
        let sessions = Some((from..from + count).map(row).collect());
        History { one: None, from: Some(from as u64), sessions }
    }

    /// Three past sessions, of which the first is being read.
    fn past_sessions() -> State {
        let mut state =
            State::new(Theme { colour: false }, jiff::tz::TimeZone::UTC, Timestamp::UNIX_EPOCH, None);
        state.asks.connect();
        state.sessions.source = Source::Transcripts;
        take_history(&mut state, &page(0, 3));
        state
    }

    /// The past sessions that were requested.
    fn asked(state: &mut State) -> Vec<Value> {
        let asked = state.asks.take().into_iter().filter(|ask| ask.slot == Slot::SessionDetail);
        asked.map(|ask| ask.arguments["session"].clone()).collect()
    }

    #[test]
    fn a_session_that_is_opened_does_not_wait_for_one_that_was_passed() {
        let mut state = past_sessions();
        for code in [KeyCode::Down, KeyCode::Down, KeyCode::Enter] {
            key(&mut state, KeyEvent::new(code, KeyModifiers::NONE));
        }
        assert_eq!(asked(&mut state), ["s0", "s2"]);
    }

    #[test]
    fn a_session_that_is_opened_while_it_is_read_is_not_requested_again() {
        let mut state = past_sessions();
        key(&mut state, KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
        assert_eq!(asked(&mut state), ["s0"]);
    }

    #[test]
    fn past_sessions_go_on_where_the_list_ended() {
        let mut sessions = Sessions { source: Source::Transcripts, ..Sessions::default() };
        take_past(&mut sessions, &page(0, PAST_PAGE));
        assert!(!sessions.complete);
        take_past(&mut sessions, &page(PAST_PAGE, 3));
        assert_eq!((sessions.rows.len(), sessions.complete), (PAST_PAGE + 3, true));
        take_past(&mut sessions, &page(0, 2));
        assert_eq!(sessions.rows.len(), 2, "read again");
    }
}
