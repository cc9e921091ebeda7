//! The inbox: proposals of a chat model with their evidence, until a person accepts or rejects them.

use std::fmt::Write as _;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use serde_json::{Value, json};

use super::asks::Slot;
use super::scrolled::{Cursor, ScrolledText};
use super::state::State;
use super::{fit, paint};
use crate::view::{items, text};
use cerebro_core::operation::Operation;

/// Proposals of one answer.
const PROPOSALS_MAX: usize = 100;

/// A line of the list.
#[derive(Debug)]
struct Row {
    id: String,
    /// What a claim says: `preference`, `works` …; or `handbook`.
    kind: String,
    project: String,
    title: String,
}

/// The list, and the proposal that is shown.
#[derive(Debug, Default)]
pub struct Inbox {
    rows: Vec<Row>,
    cursor: Cursor,
    /// Which proposal is shown.
    shown: String,
    body: ScrolledText,
}

/// Requests what waits.
pub fn refresh(state: &mut State) {
    let question = json!({ "project": state.project, "limit": PROPOSALS_MAX });
    state.asks.ask(Slot::Proposals, Operation::DistilReview, question);
}

/// Starts over: another project was chosen.
pub fn restart(state: &mut State) {
    state.inbox = Inbox::default();
    state.asks.forget(|slot| matches!(slot, Slot::Proposals | Slot::Proposal));
    refresh(state);
}

/// Asks for the chosen one, unless that is shown.
fn want(state: &mut State) {
    let Some(row) = state.inbox.rows.get(state.inbox.cursor.at) else { return };
    let id = row.id.clone();
    if state.inbox.shown != id && !state.asks.is_waiting(Slot::Proposal) {
        state.asks.ask(Slot::Proposal, Operation::DistilShow, json!({ "id": id }));
    }
}

/// Takes in an answer.
pub fn answer(state: &mut State, slot: Slot, value: &Value) {
    let inbox = &mut state.inbox;
    if slot == Slot::Proposal {
        let (id, body) = if value["arrangement"].is_object() {
            (text(&value["arrangement"], "id"), arrangement(&value["arrangement"]))
        } else {
            (text(&value["candidate"], "id"), candidate(&value["candidate"]))
        };
        (inbox.shown, inbox.body) = (id, ScrolledText::new(&body));
    } else {
        let candidate = |row: &Value| Row {
            id: text(row, "id"),
            kind: text(row, "claim"),
            project: text(row, "project"),
            title: text(row, "title"),
        };
        let arrangement = |row: &Value| Row {
            id: text(row, "id"),
            kind: "handbook".to_owned(),
            project: text(row, "handbook"),
            title: text(row, "title"),
        };
        inbox.rows = items(value, "arrangements").map(arrangement).collect();
        inbox.rows.extend(items(value, "candidates").map(candidate));
        inbox.cursor.fit(inbox.rows.len());
    }
    want(state);
}

/// A claim with the words that it cites, as Markdown.
fn candidate(value: &Value) -> String {
    let mut out = format!("# {}\n\n{}\n\n", text(value, "title"), text(value, "text"));
    for (name, field) in
        [("claim", "claim"), ("project", "project"), ("agent", "agent"), ("session", "session")]
    {
        let _ = writeln!(out, "- {name}: {}", text(value, field));
    }
    out.push_str("\n## It rests on\n\n");
    for evidence in items(value, "evidence") {
        let _ = writeln!(out, "> {} ({})\n", text(evidence, "quote"), text(evidence, "id"));
    }
    out
}

/// What an arrangement changes, as Markdown.
fn arrangement(value: &Value) -> String {
    let mut out = format!("# {}\n\n", text(value, "title"));
    for operation in items(value, "operations") {
        let (action, title) = (text(operation, "action"), text(operation, "title"));
        let to = match (text(operation, "topic"), text(operation, "other_title")) {
            (topic, _) if !topic.is_empty() => format!(" → {topic}"),
            (_, other) if !other.is_empty() => format!(" → {other}"),
            _ => String::new(),
        };
        let _ = writeln!(out, "- **{action}** {title}{to}");
    }
    out
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    let chosen = |state: &State| state.inbox.rows.get(state.inbox.cursor.at).map(|row| row.id.clone());
    let decide = |state: &mut State, operation| {
        // Only a proposal that is on the screen can be decided.
        if let Some(id) = chosen(state).filter(|id| *id == state.inbox.shown) {
            state.change(Slot::Change, operation, json!({ "id": id }));
        }
    };
    match key.code {
        KeyCode::Char('a') => decide(state, Operation::DistilAccept),
        KeyCode::Char('x') => decide(state, Operation::DistilReject),
        KeyCode::Char(' ') => {
            state.inbox.body.scroll.key(key);
        }
        _ => {
            let total = state.inbox.rows.len();
            if !state.inbox.cursor.key(key, total) {
                return false;
            }
            want(state);
        }
    }
    true
}

/// The keys of this screen.
pub const KEYS: &[(&str, &str)] =
    &[("↑↓", "choose"), ("a", "accept"), ("x", "reject"), ("Space", "scroll"), ("p", "project")];

/// Draws it.
pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let (theme, inbox) = (state.theme, &state.inbox);
    if inbox.rows.is_empty() {
        paint::nothing(
            buffer,
            area,
            "Nothing waits for you here. `cerebro distil status` says whether distilling is on.",
            theme,
        );
        return;
    }
    let (list, below) = paint::split_rows(area, (area.height / 2).max(3));
    let rows = usize::from(list.height);
    let top = inbox.cursor.top(inbox.rows.len(), rows);
    for (n, proposal) in inbox.rows.iter().skip(top).take(rows).enumerate() {
        let Some(row) = paint::row(Rect { width: list.width.saturating_sub(2), ..list }, n) else { break };
        paint::line(buffer, row, &line(state, proposal, usize::from(row.width)));
        if top + n == inbox.cursor.at {
            paint::chosen(buffer, row, true, theme);
        }
    }
    paint::scrollbar(buffer, list, top, inbox.rows.len(), theme);
    if below.height < 3 {
        return;
    }
    paint::rule(buffer, Rect { height: 1, ..below }, theme);
    let area = paint::below(below, 1);
    let lines = inbox.body.lines(usize::from(area.width), theme);
    let first = inbox.body.scroll.top(lines.len(), usize::from(area.height));
    for (n, line) in lines.iter().skip(first).take(usize::from(area.height)).enumerate() {
        if let Some(row) = paint::row(area, n) {
            paint::line(buffer, row, line);
        }
    }
}

fn line(state: &State, proposal: &Row, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let mut spans = vec![Span::styled(fit::pad(&proposal.kind, 12), theme.accent())];
    if columns >= 70 {
        spans.push(Span::styled(fit::pad(&proposal.project, 18), theme.dim()));
    }
    let used: usize = spans.iter().map(|span| fit::width(&span.content)).sum();
    let title = fit::cut(&proposal.title, columns.saturating_sub(used + 1));
    spans.push(Span::styled(format!(" {title}"), theme.strong()));
    Line::from(spans)
}
