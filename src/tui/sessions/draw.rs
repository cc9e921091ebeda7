//! Draws the screen of sessions: the list with its threads, and the session that is open.

use super::super::prelude::*;
use super::{Focus, SessionDetail, Source};
use crate::answer::line;
use crate::tui::lanes::Lanes;
use crate::view::{Session, clock, date, span};

/// Most lanes that are drawn side by side.
const LANES_MAX: usize = 6;
/// Smallest width at which the session is next to the list, in columns.
const WIDE: u16 = 110;

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let sessions = &state.sessions;
    if area.width < WIDE {
        if sessions.focus == Focus::Session {
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
    let (title, none, untitled) = match sessions.source {
        Source::Memory => ("Sessions", "No sessions here yet.", "no summary"),
        Source::Transcripts => {
            let none = "No past sessions here. `cerebro history import` imports them.";
            ("Past sessions", none, "no title")
        }
    };
    let area = paint::below(paint::heading(buffer, area, title, &note, theme), 1);
    if sessions.rows.is_empty() {
        let words = if state.asks.is_waiting(Slot::Sessions) { "reading …" } else { none };
        paint::nothing(buffer, area, words, theme);
        return;
    }
    let focus = Some(sessions.focus == Focus::List);
    sessions.cursor.draw_items(buffer, area, (sessions.rows.len(), 2), (focus, theme), |buffer, at, rows| {
        let session = &sessions.rows[at];
        let used = draw_lanes(state, &sessions.lanes[at], session, rows, buffer);
        let cell = Rect { x: rows.x + used, width: rows.width.saturating_sub(used + 2), ..rows };
        let (first, second) = paint::split_rows(cell, 1);
        paint::line(buffer, first, &head_line(state, session, usize::from(cell.width)));
        let headline = session.headline();
        let headline = if headline.is_empty() { untitled.to_owned() } else { headline };
        paint::text(buffer, second, &headline, theme.dim());
        // With the blank column behind the lanes, which has room for a mark.
        Rect { x: first.x - 1, width: first.width + 1, ..first }
    });
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
    fit::tail(&mut spans, " ", &session.project, columns, theme.dim());
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
        let lines = detail.body.lines(ScrolledText::columns_in(area), theme).len();
        let rows = lines.min(usize::from(area.height / 2));
        let (above, below) = paint::split_rows(area, u16::try_from(rows).unwrap_or(0));
        detail.body.draw_with_bar(buffer, above, theme);
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
        let words = match state.sessions.source {
            Source::Memory => "nothing was saved",
            Source::Transcripts => "nothing of it is stored",
        };
        paint::text(buffer, area, words, theme.dim());
        return;
    }
    let focus = (state.sessions.focus == Focus::Session).then_some(true);
    detail.cursor.draw_items(buffer, area, (detail.entries.len(), 1), (focus, theme), |buffer, at, row| {
        let entry = &detail.entries[at];
        let kind = line(entry.memory_type.as_ref());
        let (mark, kind) = match (entry.is_memory(), kind.as_str()) {
            (true, kind) => ("●", kind),
            (false, "") => ("❯", "prompt"),
            (false, kind) => ("❯", kind),
        };
        let title = fit::cut(&line(entry.title.as_ref()), usize::from(row.width).saturating_sub(26));
        let spans = vec![
            Span::styled(clock(entry.date.moment(), &state.zone, "%H:%M "), theme.dim()),
            Span::styled(format!("{mark} "), theme.kind(kind)),
            Span::styled(fit::pad(kind, 15), theme.kind(kind)),
            Span::raw(format!(" {title}")),
        ];
        paint::line(buffer, row, &Line::from(spans));
        row
    });
}
