//! The live screen: the calls of agents, each as soon as it is answered.

use std::collections::VecDeque;

use super::input::Input;
use super::prelude::*;
use super::state::Screen;
use crate::answer::{
    Text,
    daemon::{Call, Calls},
};
use crate::view::clock;

/// Most calls that are held.
const CALLS_MAX: usize = 1_000;
/// How long the daemon waits for a new call before it answers, in milliseconds.
const WAIT_MS: u64 = 10_000;

/// The calls, and how they are shown.
#[derive(Debug, Default)]
pub struct Live {
    calls: VecDeque<Call>,
    last: u64,
    /// The last call to show; `None` shows all.
    paused: Option<u64>,
    filter: Input,
    typing: bool,
    cursor: Cursor,
}

impl Live {
    /// Whether keys go to the filter.
    pub fn is_typing(&self) -> bool {
        self.typing
    }

    /// The last calls, newest first.
    pub fn latest(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().rev()
    }

    /// The calls to show, newest first.
    fn shown(&self) -> Vec<&Call> {
        let words: Vec<String> =
            self.filter.text().to_lowercase().split_whitespace().map(str::to_owned).collect();
        let fits = |call: &&Call| {
            let failed = if call.failed { "failed" } else { "" };
            let all =
                [&call.tool, &call.agent, &call.project, &call.outcome, &call.arguments].map(Text::line);
            let line = format!("{} {failed}", all.join(" ")).to_lowercase();
            words.iter().all(|word| line.contains(word.as_str()))
        };
        let end = self.paused.unwrap_or(u64::MAX);
        self.calls.iter().rev().filter(|call| call.n <= end).filter(fits).collect()
    }
}

/// Requests the calls from the first one. Used after connecting, because each daemon counts from 1.
pub fn restart(state: &mut State) {
    state.live.last = 0;
    state.live.calls.clear();
    state.live.paused = None;
    state.asks.ask(Slot::Live, Operation::Live, json!({ "after": 0, "limit": CALLS_MAX }));
}

/// Requests further calls.
pub fn tick(state: &mut State) {
    if !state.asks.is_waiting(Slot::Live) {
        let after = state.live.last;
        state.asks.ask(
            Slot::Live,
            Operation::Live,
            json!({ "after": after, "limit": CALLS_MAX, "wait_ms": WAIT_MS }),
        );
    }
}

/// Adds calls from an answer. After one that changed something, other screens reload.
pub fn answer(state: &mut State, answer: &Calls) {
    let new = &answer.calls;
    let following = state.live.cursor.at == 0;
    let first_time = state.live.last == 0;
    state.live.last = answer.last;
    if !first_time && new.iter().any(Call::changes) {
        state.changed.get_or_insert(state.ticks);
    }
    let count = new.len();
    state.live.calls.extend(new.iter().cloned());
    while state.live.calls.len() > CALLS_MAX {
        state.live.calls.pop_front();
    }
    // The same call stays chosen, unless the newest one is followed.
    if !following && state.live.paused.is_none() {
        state.live.cursor.at += count;
    }
    let total = state.live.shown().len();
    state.live.cursor.fit(total);
    if count > 0 {
        tick(state);
    }
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    let live = &mut state.live;
    if live.typing {
        match key.code {
            KeyCode::Enter => live.typing = false,
            KeyCode::Esc => {
                live.typing = false;
                live.filter.clear();
            }
            _ => {
                live.filter.key(key);
            }
        }
        live.cursor.at = 0;
        return true;
    }
    match key.code {
        KeyCode::Char('/') => live.typing = true,
        KeyCode::Char(' ') => {
            live.paused = if live.paused.is_some() { None } else { Some(live.last) };
        }
        KeyCode::Esc if !live.filter.is_blank() => live.filter.clear(),
        KeyCode::Char('c') => live.calls.clear(),
        KeyCode::Enter => return open(state),
        _ => {
            let total = live.shown().len();
            return live.cursor.key(key, total);
        }
    }
    true
}

/// Shows the session of the chosen call.
fn open(state: &mut State) -> bool {
    let session = state.live.shown().get(state.live.cursor.at).map(|call| call.session_id.line());
    let Some(session) = session.filter(|id| !id.is_empty()) else { return false };
    state.screen = Screen::Sessions;
    super::sessions::open(state, session);
    true
}

/// The keys of this screen.
pub fn keys(state: &State) -> &'static [(&'static str, &'static str)] {
    if state.live.typing {
        return &[("Enter", "keep the filter"), ("Esc", "no filter")];
    }
    &[("↑↓", "choose"), ("Space", "pause"), ("/", "filter"), ("Enter", "its session"), ("c", "clear")]
}

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let live = &state.live;
    let calls = live.shown();
    let Some(top) = paint::row(area, 0) else { return };
    bar(state, top, calls.len(), buffer);
    let rest = paint::below(area, 2);
    let detail_rows = if rest.height > 12 { 5 } else { 0 };
    let (list, detail) = paint::split_rows(rest, rest.height.saturating_sub(detail_rows));
    if calls.is_empty() {
        let words = if live.filter.is_blank() {
            "No calls yet. Each call of an agent's tool appears here as soon as it is answered."
        } else {
            "No call fits the filter."
        };
        paint::nothing(buffer, list, words, theme);
        return;
    }
    live.cursor
        .draw_list(buffer, list, calls.len(), theme, |at, columns| call_line(state, calls[at], columns));
    if let Some(call) = calls.get(live.cursor.at) {
        chosen_call(state, call, detail, buffer);
    }
}

fn bar(state: &State, row: Rect, count: usize, buffer: &mut Buffer) {
    let (theme, live) = (state.theme, &state.live);
    let (mark, style) =
        if live.paused.is_some() { ("‖ paused", theme.warning()) } else { ("● following", theme.good()) };
    paint::text(buffer, row, mark, style);
    let rest = Rect { x: row.x + 14, width: row.width.saturating_sub(14), ..row };
    if live.typing || !live.filter.is_blank() {
        super::draw::input(
            buffer,
            Rect { width: rest.width.saturating_sub(16), ..rest },
            "filter ",
            &live.filter,
            live.typing,
            theme,
        );
    } else {
        paint::text(buffer, rest, "every call of every agent", theme.dim());
    }
    paint::text_right(buffer, row, &cerebro_core::text::counted(count, "call"), theme.dim());
}

/// A call on one line.
pub fn call_line(state: &State, call: &Call, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let (tool, agent, project, outcome) = match columns {
        ..110 => (16, 12, 0, 14),
        110..140 => (18, 12, 18, 20),
        _ => (20, 16, 22, 24),
    };
    let mark =
        if call.failed { Span::styled("✗ ", theme.bad()) } else { Span::styled("✓ ", theme.good()) };
    let mut spans = vec![
        Span::styled(clock(call.at.moment(), &state.zone, "%H:%M:%S "), theme.dim()),
        mark,
        Span::styled(fit::pad(call.tool.line().trim_start_matches("mem_"), tool), theme.strong()),
        Span::raw(format!(" {}", fit::pad(&call.agent.line(), agent))),
    ];
    if project > 0 {
        spans.push(Span::styled(format!(" {}", fit::pad(&call.project.line(), project)), theme.dim()));
    }
    let slow = if call.ms >= 100 { theme.warning() } else { theme.dim() };
    spans.push(Span::styled(fit::pad_left(&format!("{} ms", call.ms), 8), slow));
    let style = if call.failed { theme.bad() } else { theme.plain() };
    spans.push(Span::styled(format!("  {}", fit::pad(&call.outcome.line(), outcome)), style));
    fit::tail(&mut spans, "  ", &call.arguments.lines(), columns, theme.dim());
    Line::from(spans)
}

/// Draws the chosen call with all its facts.
fn chosen_call(state: &State, call: &Call, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    if area.height < 3 {
        return;
    }
    paint::rule(buffer, Rect { height: 1, ..area }, theme);
    let [tool, agent, project, session] =
        [&call.tool, &call.agent, &call.project, &call.session_id].map(Text::line);
    let facts = format!("{tool} · {agent} · {project} · {} ms · session {session}", call.ms);
    let area = paint::below(area, 1);
    paint::text(buffer, area, &facts, theme.plain());
    let outcome = format!("{}  ", call.outcome.line());
    let spans = [(outcome, theme.strong()), (call.arguments.lines(), theme.dim())];
    let lines = fit::wrap(&spans, usize::from(area.width), &[], &[]);
    paint::lines(buffer, paint::below(area, 1), &lines);
}
