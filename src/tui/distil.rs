//! The inbox: a chat model's proposals with their evidence, for a person to accept or reject.

use std::fmt::Write as _;

use super::prelude::*;
use crate::answer::{
    Text,
    distil::{Arrangement, Candidate, Proposal, Proposals},
    line as line_of,
};

/// Most proposals in one answer.
const PROPOSALS_MAX: usize = 100;

/// A line of the list.
#[derive(Debug)]
struct Row {
    id: String,
    /// The kind of a claim (`preference`, `works` …), or `handbook`.
    kind: String,
    project: String,
    title: String,
}

/// The list, and the proposal on the screen.
#[derive(Debug, Default)]
pub struct Inbox {
    rows: Vec<Row>,
    cursor: Cursor,
    /// The id of the proposal on the screen.
    shown: String,
    body: ScrolledText,
}

/// Requests the waiting proposals.
pub fn refresh(state: &mut State) {
    let question = json!({ "project": state.project, "limit": PROPOSALS_MAX });
    state.asks.ask(Slot::Proposals, Operation::DistilReview, question);
}

/// Starts over, because another project was chosen.
pub fn restart(state: &mut State) {
    state.inbox = Inbox::default();
    state.asks.forget(|slot| matches!(slot, Slot::Proposals | Slot::Proposal));
    refresh(state);
}

/// Requests the chosen proposal, unless it is on the screen.
fn want(state: &mut State) {
    let Some(row) = state.inbox.rows.get(state.inbox.cursor.at) else { return };
    let id = row.id.clone();
    if state.inbox.shown != id && !state.asks.is_waiting(Slot::Proposal) {
        state.asks.ask(Slot::Proposal, Operation::DistilShow, json!({ "id": id }));
    }
}

/// Shows the waiting proposals from an answer.
pub fn listed(state: &mut State, proposals: &Proposals) {
    let inbox = &mut state.inbox;
    let candidate = |one: &Candidate| Row {
        id: one.id.line(),
        kind: one.claim.line(),
        project: one.project.line(),
        title: one.title.line(),
    };
    let arrangement = |one: &Arrangement| Row {
        id: one.id.line(),
        kind: "handbook".to_owned(),
        project: one.handbook.line(),
        title: one.title.line(),
    };
    let arrangements = proposals.arrangements.iter().map(arrangement);
    let rows: Vec<Row> = arrangements.chain(proposals.candidates.iter().map(candidate)).collect();
    // The one that is read stays on the screen: the next key may decide about it.
    inbox.cursor.follow(&inbox.rows, &rows, |row| &row.id);
    inbox.rows = rows;
    want(state);
}

/// Shows the chosen proposal from an answer.
pub fn shown(state: &mut State, proposal: &Proposal) {
    let (id, body) = match (&proposal.candidate, &proposal.arrangement) {
        (_, Some(one)) => (one.id.line(), arrangement(one)),
        (Some(one), _) => (one.id.line(), candidate(one)),
        (None, None) => return,
    };
    (state.inbox.shown, state.inbox.body) = (id, ScrolledText::new(&body));
    want(state);
}

/// A claim with its quotes, as Markdown.
fn candidate(one: &Candidate) -> String {
    let mut out = format!("# {}\n\n{}\n\n", one.title.line(), one.text.line());
    let facts =
        [("claim", &one.claim), ("project", &one.project), ("agent", &one.agent), ("session", &one.session)];
    for (name, fact) in facts {
        let _ = writeln!(out, "- {name}: {}", fact.line());
    }
    out.push_str("\n## It rests on\n\n");
    for evidence in &one.evidence {
        let _ = writeln!(out, "> {} ({})\n", evidence.quote.line(), evidence.id.line());
    }
    out
}

/// The changes of an arrangement, as Markdown.
fn arrangement(one: &Arrangement) -> String {
    let mut out = format!("# {}\n\n", one.title.line());
    for operation in one.operations.iter().flatten() {
        let to = [&operation.topic, &operation.other_title].into_iter().flatten();
        let to = to.map(Text::line).find(|to| !to.is_empty()).map(|to| format!(" → {to}"));
        let (action, title) = (operation.action.line(), line_of(operation.title.as_ref()));
        let _ = writeln!(out, "- **{action}** {title}{}", to.unwrap_or_default());
    }
    out
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    let chosen = |state: &State| state.inbox.rows.get(state.inbox.cursor.at).map(|row| row.id.clone());
    let decide = |state: &mut State, operation| {
        // A person can decide only about the proposal on the screen.
        if let Some(id) = chosen(state).filter(|id| *id == state.inbox.shown) {
            state.change(operation, json!({ "id": id }));
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
    inbox.cursor.draw_list(buffer, list, inbox.rows.len(), theme, |at, columns| {
        line(state, &inbox.rows[at], columns)
    });
    inbox.body.draw_below_rule(buffer, below, theme);
}

fn line(state: &State, proposal: &Row, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let mut spans = vec![Span::styled(fit::pad(&proposal.kind, 12), theme.accent())];
    if columns >= 70 {
        spans.push(Span::styled(fit::pad(&proposal.project, 18), theme.dim()));
    }
    fit::tail(&mut spans, " ", &proposal.title, columns, theme.strong());
    Line::from(spans)
}
