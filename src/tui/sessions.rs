//! The sessions in order of time, with threads of sessions that continue each other, and the entries of each session.
//! Past sessions from transcripts have a list of the same form, with exchanges instead of memories.

use crossterm::event::{KeyCode, KeyEvent};
use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use serde_json::{Value, json};

use super::asks::Slot;
use super::lanes::{Lanes, lanes};
use super::scrolled::{Cursor, ScrolledText};
use super::state::State;
use super::{fit, paint, update};
use crate::answer::{
    self,
    history::{History, Whole},
    observation::Observation,
    of,
    sessions::Story,
};
use crate::view::{self, Entry, Exchange, Past, Session, clock, date, span};
use cerebro_core::operation::Operation;

/// How many sessions one answer has.
const PAGE: usize = 50;
/// How many past sessions one answer has.
const PAST_PAGE: usize = 200;
/// How many exchanges one answer has.
const EXCHANGES_PAGE: usize = 50;
/// Most sessions that are held.
const SESSIONS_MAX: usize = 2_000;
/// Most lanes that are drawn side by side.
const LANES_MAX: usize = 6;
/// Most entries of a session that are shown.
const ENTRIES_MAX: usize = 500;
/// Smallest width at which the session is next to the list, in columns.
const WIDE: u16 = 110;

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
            entries: story.entries.iter().map(Entry::of).collect(),
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
        self.entries.extend(new.iter().map(|exchange| Entry {
            what: "exchange".to_owned(),
            id: exchange.id.clone(),
            title: exchange.title.clone(),
            kind: "exchange".to_owned(),
            at: exchange.at,
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
    /// Whether past sessions are listed instead.
    past: bool,
    /// Whether keys go to the session instead of the list.
    inside: bool,
}

/// Requests past sessions from a position in their list on.
fn ask_past(state: &mut State, from: usize) {
    let question = json!({ "project": state.project, "from": from, "limit": PAST_PAGE });
    state.asks.ask(Slot::Sessions, Operation::HistorySession, question);
}

/// Requests the latest sessions.
pub fn refresh(state: &mut State) {
    if state.sessions.past {
        ask_past(state, 0);
        return;
    }
    let mut question = state.project_filter();
    question["limit"] = json!(PAGE);
    state.asks.ask(Slot::Sessions, Operation::Sessions, question);
}

/// Starts over, because another project was chosen.
pub fn restart(state: &mut State) {
    show(state, state.sessions.past);
}

/// Lists past sessions, or those of the memory, from the start.
fn show(state: &mut State, past: bool) {
    state.sessions = Sessions { past, ..Sessions::default() };
    state.asks.forget(|slot| matches!(slot, Slot::Sessions | Slot::SessionDetail | Slot::Exchange));
    refresh(state);
}

/// Shows one session of the memory.
pub fn open(state: &mut State, id: String) {
    if state.sessions.past {
        show(state, false);
    }
    if let Some(at) = state.sessions.rows.iter().position(|session| session.id == id) {
        state.sessions.cursor.at = at;
    }
    state.sessions.inside = true;
    ask_detail(state, &id);
    if state.sessions.rows.is_empty() {
        refresh(state);
    }
}

fn ask_detail(state: &mut State, id: &str) {
    if state.sessions.past {
        ask_exchanges(state, id, 0);
        return;
    }
    state.asks.ask(Slot::SessionDetail, Operation::Story, json!({ "session_id": id, "limit": ENTRIES_MAX }));
}

fn ask_exchanges(state: &mut State, id: &str, from: u64) {
    let question = json!({ "session": id, "from": from, "limit": EXCHANGES_PAGE });
    state.asks.ask(Slot::SessionDetail, Operation::HistorySession, question);
}

/// Requests earlier sessions when the cursor is near the end of the held ones.
fn want_more(state: &mut State) {
    let sessions = &state.sessions;
    let near_end = sessions.cursor.at + 10 >= sessions.rows.len();
    let room = !sessions.complete && sessions.rows.len() < SESSIONS_MAX;
    let oldest = sessions.rows.last().and_then(|session| session.started_at);
    let Some(oldest) = oldest.filter(|_| near_end && room) else { return };
    if state.asks.is_waiting(Slot::Sessions) {
        return;
    }
    if sessions.past {
        ask_past(state, sessions.rows.len());
        return;
    }
    let mut question = state.project_filter();
    question["limit"] = json!(PAGE);
    question["before"] = json!(oldest.to_string());
    state.asks.ask(Slot::Sessions, Operation::Sessions, question);
}

fn want_detail(state: &mut State) {
    if state.asks.is_waiting(Slot::SessionDetail) {
        return;
    }
    let sessions = &state.sessions;
    let Some(id) = sessions.rows.get(sessions.cursor.at).map(|session| session.id.clone()) else { return };
    if sessions.detail.as_ref().is_none_or(|detail| detail.session.id != id) {
        ask_detail(state, &id);
    }
}

/// Takes in an answer about sessions.
pub fn answer(state: &mut State, slot: Slot, value: &Value) {
    match slot {
        _ if state.sessions.past => update::take::<of::HistorySession>(state, value, past),
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
    if !state.sessions.inside {
        want_detail(state);
    }
}

fn take_latest(state: &mut State, latest: &answer::sessions::Sessions) {
    take_sessions(&mut state.sessions, latest);
    want_more(state);
    if !state.sessions.inside {
        want_detail(state);
    }
}

/// Adds past sessions from an answer: a page of the list, or of one session.
fn past(state: &mut State, history: &History) {
    match &history.one {
        Some(whole) => take_exchanges(&mut state.sessions, whole),
        None => {
            take_past(&mut state.sessions, history);
            want_more(state);
        }
    }
    if !state.sessions.inside {
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
    let oldest = sessions.rows.last().and_then(|session| session.started_at).unwrap_or(Timestamp::MAX);
    let continues = new.first().and_then(|session| session.started_at).is_none_or(|at| at < oldest);
    if continues {
        sessions.complete = new.len() < PAGE;
        sessions.rows.extend(new);
    } else {
        let chosen = sessions.rows.get(sessions.cursor.at).map(|session| session.id.clone());
        let end = new.last().and_then(|session| session.started_at);
        sessions.rows.retain(|session| session.started_at < end);
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
    if state.sessions.inside {
        return inside_key(state, key);
    }
    let total = state.sessions.rows.len();
    if state.sessions.cursor.key(key, total) {
        want_more(state);
        want_detail(state);
        return true;
    }
    match key.code {
        KeyCode::Enter | KeyCode::Right if total > 0 => {
            state.sessions.inside = true;
            want_detail(state);
        }
        KeyCode::Char('f') => follow(state),
        KeyCode::Char('h') => show(state, !state.sessions.past),
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

fn inside_key(state: &mut State, key: KeyEvent) -> bool {
    let Some(detail) = &mut state.sessions.detail else {
        state.sessions.inside = key.code != KeyCode::Esc;
        return true;
    };
    match key.code {
        KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => {
            state.sessions.inside = false;
            want_detail(state);
        }
        KeyCode::Enter if !detail.exchanges.is_empty() => {
            let Some(exchange) = detail.exchanges.get(detail.cursor.at) else { return false };
            let question = view::whole(&exchange.id);
            state.asks.ask(Slot::Exchange, Operation::GetObservation, question);
        }
        KeyCode::Enter | KeyCode::Char('g') => {
            let entry = detail.entries.get(detail.cursor.at).filter(|entry| entry.is_memory());
            let Some(id) = entry.map(|entry| entry.id.clone()) else { return false };
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
    if state.sessions.past && near_end && detail.has_room() && !state.asks.is_waiting(Slot::SessionDetail) {
        let (id, next) = (detail.session.id.clone(), detail.next());
        ask_exchanges(state, &id, next);
    }
}

/// The keys of this screen.
pub fn keys(state: &State) -> &'static [(&'static str, &'static str)] {
    match (state.sessions.inside, state.sessions.past) {
        (true, false) => &[
            ("Esc", "back"),
            ("↑↓", "choose"),
            ("Enter", "read"),
            ("g", "graph"),
            ("f", "what it follows"),
            ("Space", "scroll"),
        ],
        (true, true) => &[
            ("Esc", "back"),
            ("↑↓", "choose"),
            ("Enter", "read"),
            ("f", "what it follows"),
            ("Space", "scroll"),
        ],
        (false, false) => &[
            ("↑↓", "choose"),
            ("Enter", "open"),
            ("f", "what it follows"),
            ("p", "project"),
            ("h", "past sessions"),
            ("r", "reload"),
        ],
        (false, true) => &[
            ("↑↓", "choose"),
            ("Enter", "open"),
            ("f", "what it follows"),
            ("p", "project"),
            ("h", "those of the memory"),
            ("r", "reload"),
        ],
    }
}

/// Draws it.
pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let sessions = &state.sessions;
    if area.width < WIDE {
        if sessions.inside {
            detail(state, area, buffer);
        } else {
            list(state, area, buffer);
        }
        return;
    }
    let (left, right) = paint::split_columns(buffer, area, area.width / 2, state.theme);
    list(state, left, buffer);
    detail(state, right, buffer);
}

fn list(state: &State, area: Rect, buffer: &mut Buffer) {
    let (theme, sessions) = (state.theme, &state.sessions);
    let note = format!(
        "{} · {}{}",
        state.project_name(),
        fit::count(sessions.rows.len() as u64),
        if sessions.complete { "" } else { "+" }
    );
    let title = if sessions.past { "Past sessions" } else { "Sessions" };
    let area = paint::below(paint::heading(buffer, area, title, &note, theme), 1);
    if sessions.rows.is_empty() {
        let words = match (state.asks.is_waiting(Slot::Sessions), sessions.past) {
            (true, _) => "reading …",
            (false, true) => "No past sessions here. `cerebro history import` imports them.",
            (false, false) => "No sessions here yet.",
        };
        paint::nothing(buffer, area, words, theme);
        return;
    }
    let untitled = if sessions.past { "no title" } else { "no summary" };
    let rows = usize::from(area.height) / 2;
    let top = sessions.cursor.top(sessions.rows.len(), rows);
    for n in 0..rows.min(sessions.rows.len() - top) {
        let at = top + n;
        let session = &sessions.rows[at];
        let (Some(first), Some(second)) = (paint::row(area, n * 2), paint::row(area, n * 2 + 1)) else {
            break;
        };
        let width = first.width.saturating_sub(2);
        let lanes = &sessions.lanes[at];
        let used = draw_lanes(state, lanes, session, first, buffer);
        let cell = |row: Rect| Rect { x: row.x + used, width: width.saturating_sub(used), ..row };
        paint::line(buffer, cell(first), &head_line(state, session, usize::from(cell(first).width)));
        let headline = session.headline();
        let headline = if headline.is_empty() { untitled.to_owned() } else { headline };
        paint::text(buffer, cell(second), &headline, theme.dim());
        if at == sessions.cursor.at {
            paint::chosen(buffer, cell(first), !sessions.inside, theme);
        }
    }
    paint::scrollbar(buffer, area, top * 2, sessions.rows.len() * 2, theme);
}

/// Draws the lanes before a session's two rows. Returns how many columns they take.
fn draw_lanes(state: &State, lanes: &Lanes, session: &Session, row: Rect, buffer: &mut Buffer) -> u16 {
    let theme = state.theme;
    let count = lanes.above.len().max(lanes.below.len()).min(LANES_MAX);
    for lane in 0..count {
        let x = row.x + u16::try_from(lane * 2).unwrap_or(0);
        let above = lanes.above.get(lane).copied().unwrap_or(false);
        let below = lanes.below.get(lane).copied().unwrap_or(false);
        let ends = above && !below && lane != lanes.own;
        let first = match lane == lanes.own {
            true if session.ended_at.is_none() => "◉",
            true => "●",
            false if ends => "╯",
            false if above => "│",
            false => " ",
        };
        buffer.set_string(x, row.y, first, theme.lane(lane));
        if ends && lane > lanes.own {
            buffer.set_string(x - 1, row.y, "─", theme.lane(lane));
        }
        buffer.set_string(x, row.y + 1, if below { "│" } else { " " }, theme.lane(lane));
    }
    u16::try_from(count * 2 + 1).unwrap_or(0)
}

fn head_line(state: &State, session: &Session, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let mut spans = vec![
        Span::styled(date(session.started_at, state.now, &state.zone), theme.plain()),
        Span::styled(format!(" {}", fit::pad(&lasting(state, session), 8)), theme.dim()),
        Span::styled(fit::pad(&session.agent, 16), theme.strong()),
    ];
    let used: usize = spans.iter().map(|span| fit::width(&span.content)).sum();
    let project = fit::cut(&session.project, columns.saturating_sub(used + 1));
    spans.push(Span::styled(format!(" {project}"), theme.dim()));
    Line::from(spans)
}

/// How long a session took, or that it is open.
fn lasting(state: &State, session: &Session) -> String {
    let Some(start) = session.started_at else { return String::new() };
    let end = session.ended_at.unwrap_or(state.now);
    let seconds = u64::try_from(end.duration_since(start).as_secs()).unwrap_or(0);
    if session.ended_at.is_none() { "open".to_owned() } else { span(seconds) }
}

fn detail(state: &State, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let Some(detail) = &state.sessions.detail else { return };
    let session = &detail.session;
    let columns = usize::from(area.width);
    let ended = match (session.ended_at, session.end_reason.as_str()) {
        (Some(at), reason) => format!("{reason} {}", clock(Some(at), &state.zone, "%H:%M")).trim().to_owned(),
        (None, _) => "open".to_owned(),
    };
    let facts = [
        session.project.clone(),
        format!("{} – {ended}", date(session.started_at, state.now, &state.zone).trim()),
        session.directory.clone(),
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    let mut area = paint::heading(buffer, area, &session.agent, &fit::cut(&session.id, columns / 2), theme);
    let mut lines = vec![Line::styled(fit::cut(&facts.join(" · "), columns), theme.dim())];
    if !session.follows.is_empty() {
        let follows = format!("╰ follows {}", session.follows);
        lines.push(Line::styled(fit::cut(&follows, columns), theme.dim()));
    }
    for line in &lines {
        paint::line(buffer, area, line);
        area = paint::below(area, 1);
    }
    area = paint::below(area, 1);
    if !detail.body.is_empty() {
        let columns = columns.min(100);
        let rows = detail.body.lines(columns, theme).len().min(usize::from(area.height / 2));
        let (above, below) = paint::split_rows(area, u16::try_from(rows).unwrap_or(0));
        let (top, lines) = detail.body.draw(buffer, above, columns, theme);
        paint::scrollbar(buffer, above, top, lines, theme);
        area = paint::below(below, 1);
    }
    entries(state, detail, area, buffer);
}

/// Draws the entries of a session in order of time.
fn entries(state: &State, detail: &SessionDetail, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let more = if detail.more { "+" } else { "" };
    let note = format!("{}{more}", detail.entries.len());
    let area = paint::heading(buffer, area, "What happened", &note, theme);
    if detail.entries.is_empty() {
        let words = if state.sessions.past { "nothing of it is stored" } else { "nothing was saved" };
        paint::text(buffer, area, words, theme.dim());
        return;
    }
    let rows = usize::from(area.height);
    let top = detail.cursor.top(detail.entries.len(), rows);
    for (n, entry) in detail.entries.iter().skip(top).take(rows).enumerate() {
        let Some(row) = paint::row(area, n) else { break };
        let (mark, kind) = match (entry.is_memory(), entry.kind.as_str()) {
            (true, kind) => ("●", kind),
            (false, "") => ("❯", "prompt"),
            (false, kind) => ("❯", kind),
        };
        let title = fit::cut(&entry.title, usize::from(row.width).saturating_sub(26));
        let spans = vec![
            Span::styled(clock(entry.at, &state.zone, "%H:%M "), theme.dim()),
            Span::styled(format!("{mark} "), theme.kind(kind)),
            Span::styled(fit::pad(kind, 15), theme.kind(kind)),
            Span::raw(format!(" {title}")),
        ];
        paint::line(buffer, row, &Line::from(spans));
        if top + n == detail.cursor.at && state.sessions.inside {
            paint::chosen(buffer, row, true, theme);
        }
    }
    paint::scrollbar(buffer, area, top, detail.entries.len(), theme);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::history;

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
        Whole { exchanges: (from..from + count).map(exchange).collect(), session, asked: None, total: 70 }
    }

    #[test]
    fn exchanges_of_a_past_session_are_held_page_by_page() {
        let mut sessions = Sessions { past: true, ..Sessions::default() };
        take_exchanges(&mut sessions, &past_page(0, 50));
        take_exchanges(&mut sessions, &past_page(50, 20));
        let detail = sessions.detail.as_ref().unwrap();
        assert_eq!((detail.entries.len(), detail.more, detail.next()), (70, false, 70));
        assert_eq!(detail.session.headline(), "Mend it");
        assert!(!detail.body.is_empty(), "what the first did is shown");
        take_exchanges(&mut sessions, &past_page(0, 50));
        assert_eq!(sessions.detail.as_ref().map(|detail| detail.entries.len()), Some(50), "read again");
    }

    #[test]
    fn past_sessions_go_on_where_the_list_ended() {
        let page = |from: usize, count: usize| {
            let row = |n: usize| {
                let mut row = history::Row::default();
                row.session.session = format!("s{n}").into();
                row.session.started_at = "2026-11-22T10:00:00Z".into();
                row
            };
            let sessions = Some((from..from + count).map(row).collect());
            History { one: None, from: Some(from as u64), sessions }
        };
        let mut sessions = Sessions { past: true, ..Sessions::default() };
        take_past(&mut sessions, &page(0, PAST_PAGE));
        assert!(!sessions.complete);
        take_past(&mut sessions, &page(PAST_PAGE, 3));
        assert_eq!((sessions.rows.len(), sessions.complete), (PAST_PAGE + 3, true));
        take_past(&mut sessions, &page(0, 2));
        assert_eq!(sessions.rows.len(), 2, "read again");
    }
}
