//! The work screen: present and abandoned work of agents, and the states of pieces of work.

use std::fmt::Write as _;

use super::prelude::*;
use crate::answer::{
    line as line_of,
    work::{Listed, Piece, Shown},
};
use crate::view::{ago, no_work, work_facts};

/// Most pieces of work in one answer.
const WORKS_MAX: usize = 100;
/// Ticks between two refreshes, because agents work while a person watches.
const EVERY_TICKS: u64 = 8;

/// The list, and the piece of work on the screen.
#[derive(Debug, Default)]
pub struct Works {
    rows: Vec<Piece>,
    cursor: Cursor,
    /// Whether closed ones are included.
    all: bool,
    /// The id of the piece of work on the screen, and the last event in its facts.
    shown: Option<(String, u64)>,
    facts: ScrolledText,
    /// The text for an empty list.
    note: &'static str,
}

/// Requests the pieces of work, the latest activity first.
pub fn refresh(state: &mut State) {
    let mut question = state.project_filter();
    question["limit"] = json!(WORKS_MAX);
    question["state"] = json!(if state.works.all { "all" } else { "open" });
    state.asks.ask(Slot::Works, Operation::WorkList, question);
}

/// Starts over, because another project was chosen.
pub fn restart(state: &mut State) {
    state.works = Works { all: state.works.all, ..Works::default() };
    state.asks.forget(|slot| matches!(slot, Slot::Works | Slot::Work));
    refresh(state);
}

/// Refreshes the list at intervals.
pub fn tick(state: &mut State) {
    if state.ticks.is_multiple_of(EVERY_TICKS) && !state.asks.is_waiting(Slot::Works) {
        refresh(state);
    }
}

/// Requests the state of the chosen one, unless it is on the screen.
fn want(state: &mut State) {
    let works = &state.works;
    let Some(row) = works.rows.get(works.cursor.at) else { return };
    let wanted = (row.work.line(), row.seq);
    if works.shown.as_ref() != Some(&wanted) && !state.asks.is_waiting(Slot::Work) {
        state.asks.ask(Slot::Work, Operation::WorkShow, json!({ "work": wanted.0 }));
    }
}

/// Shows a list from an answer.
pub fn listed(state: &mut State, listed: &Listed) {
    let works = &mut state.works;
    works.cursor.follow(&works.rows, &listed.works, |row| row.work.raw());
    works.rows.clone_from(&listed.works);
    works.note = no_work(listed);
    want(state);
}

/// Shows the state of a piece of work from an answer.
pub fn shown(state: &mut State, shown: &Shown) {
    let works = &mut state.works;
    let id = shown.work.work.line();
    let is_other = works.shown.as_ref().is_none_or(|(shown, _)| *shown != id);
    let scroll = std::mem::take(&mut works.facts.scroll);
    works.facts = ScrolledText::new(&facts(shown));
    if !is_other {
        works.facts.scroll = scroll;
    }
    works.shown = Some((id, shown.work.seq));
    want(state);
}

/// The state of a piece of work, as Markdown.
fn facts(shown: &Shown) -> String {
    let mut out = format!("# {}\n", shown.work.title.line());
    for (name, value) in work_facts(shown) {
        let _ = writeln!(out, "- {name}: {value}");
    }
    out
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('a') => {
            state.works.all = !state.works.all;
            refresh(state);
        }
        KeyCode::Char(' ') => {
            state.works.facts.scroll.key(key);
        }
        _ => {
            let total = state.works.rows.len();
            if !state.works.cursor.key(key, total) {
                return false;
            }
            want(state);
        }
    }
    true
}

/// The keys of this screen.
pub const KEYS: &[(&str, &str)] =
    &[("↑↓", "choose"), ("a", "closed ones too"), ("Space", "scroll"), ("p", "project"), ("r", "reload")];

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let (theme, works) = (state.theme, &state.works);
    if works.rows.is_empty() {
        paint::nothing(buffer, area, works.note, theme);
        return;
    }
    let (list, below) = paint::split_rows(area, (area.height / 2).max(3));
    works.cursor.draw_list(buffer, list, works.rows.len(), theme, |at, columns| {
        line(state, &works.rows[at], columns)
    });
    works.facts.draw_below_rule(buffer, below, theme);
}

fn line(state: &State, piece: &Piece, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let (mark, style) = match (line_of(piece.stale.as_ref()).as_str(), piece.status.raw()) {
        ("lost", _) => ("✗ ", theme.bad()),
        (stale, _) if !stale.is_empty() => ("! ", theme.warning()),
        (_, "closed") => ("✓ ", theme.dim()),
        (_, "waiting") => ("‖ ", theme.warning()),
        _ => ("● ", theme.good()),
    };
    let held = if piece.holder.is_some() { " held" } else { "" };
    let mut spans = vec![
        Span::styled(mark, style),
        Span::styled(fit::pad(&format!("{}{held}", piece.standing().line()), 13), style),
        Span::styled(fit::pad(&ago(piece.active_at.moment(), state.now), 12), theme.dim()),
        Span::raw(fit::pad(&piece.agent.line(), 14)),
    ];
    if columns >= 100 {
        spans.push(Span::styled(format!(" {}", fit::pad(&piece.project.line(), 22)), theme.dim()));
    }
    spans.push(Span::styled(fit::pad_left(&piece.seq.to_string(), 6), theme.dim()));
    fit::tail(&mut spans, "  ", &piece.title.line(), columns, theme.strong());
    Line::from(spans)
}
