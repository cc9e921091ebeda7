//! Draws the screen of memories: the search, the list with its preview, and the memory that is read.

use super::super::prelude::*;
use crate::tui::detail;
use crate::view::{Row, date};

/// Smallest width at which the preview is next to the list, in columns.
const WIDE: u16 = 110;

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let memories = &state.memories;
    if memories.reading.is_some() {
        match &memories.detail {
            Some(detail) => detail::draw(state, detail, area, true, buffer),
            None => paint::nothing(buffer, area, "reading …", state.theme),
        }
        return;
    }
    let Some(top) = paint::row(area, 0) else { return };
    bar(state, top, buffer);
    let rest = paint::below(area, 2);
    let (list_area, preview) = if area.width >= WIDE {
        paint::split_columns(buffer, rest, area.width * 11 / 20, state.theme)
    } else {
        let (list, preview) = paint::split_rows(rest, rest.height * 11 / 20);
        let (rule, preview) = paint::split_rows(preview, 1);
        paint::rule(buffer, rule, state.theme);
        (list, preview)
    };
    list(state, list_area, buffer);
    if let Some(detail) = memories.detail.as_ref().filter(|_| memories.total() > 0) {
        detail::draw(state, detail, preview, false, buffer);
    }
}

/// The search, the filters and the count.
fn bar(state: &State, row: Rect, buffer: &mut Buffer) {
    let (theme, memories) = (state.theme, &state.memories);
    let total = fit::count(memories.total() as u64);
    let mut facts = vec![state.project_name().to_owned()];
    facts.extend(memories.kind.clone());
    facts.extend(memories.scope.map(str::to_owned));
    if memories.deleted {
        facts.push("deleted".to_owned());
    }
    facts.push(match &memories.hits {
        Some(hits) if hits.rows.is_empty() => "nothing found".to_owned(),
        Some(hits) => {
            let more = if hits.cursor.is_some() { "+" } else { "" };
            let relaxed = if hits.relaxed { ", no hit has every word" } else { "" };
            let noun = if hits.rows.len() == 1 && more.is_empty() { "hit" } else { "hits" };
            format!("{total}{more} {noun}, {}{relaxed}", hits.matched)
        }
        None if memories.total() == 0 => "none".to_owned(),
        None => format!("{} of {total}", fit::count(memories.cursor.at as u64 + 1)),
    });
    let facts = fit::cut(&facts.join(" · "), usize::from(row.width) / 2 + 8);
    paint::text_right(buffer, row, &facts, theme.dim());
    let used = u16::try_from(fit::width(&facts) + 2).unwrap_or(row.width).min(row.width);
    let left = Rect { width: row.width - used, ..row };
    if memories.typing || !memories.query.is_blank() {
        crate::tui::draw::input(buffer, left, "/ ", &memories.query, memories.typing, theme);
    } else {
        paint::text(buffer, left, "/ to search by words, names or a question", theme.dim());
    }
}

fn list(state: &State, area: Rect, buffer: &mut Buffer) {
    let (theme, memories) = (state.theme, &state.memories);
    let total = memories.total();
    if total == 0 {
        let waiting = memories.pages.total().is_none() && memories.hits.is_none();
        let words = match (waiting, &memories.hits, memories.deleted) {
            (true, ..) => "reading …",
            (_, Some(_), _) => "Nothing found. Fewer or other words may find it; p looks in other projects.",
            (_, None, true) => "No deleted memories here.",
            _ => {
                "No memories here yet. Agents save what they decide, fix and learn; p looks in other projects."
            }
        };
        paint::nothing(buffer, area, words, theme);
        return;
    }
    let tall = if memories.hits.is_some() { 2 } else { 1 };
    let focus = Some(!memories.typing);
    memories.cursor.draw_items(buffer, area, (total, tall), (focus, theme), |buffer, at, rows| {
        let rows = Rect { width: rows.width.saturating_sub(2), ..rows };
        let (first, second) = paint::split_rows(rows, 1);
        match memories.row(at) {
            Some(row) => {
                paint::line(buffer, first, &row_line(state, row, usize::from(first.width)));
                paint::text(buffer, second, &format!("    {}", row.preview), theme.dim());
            }
            None => paint::text(buffer, first, "  ⋯", theme.dim()),
        }
        first
    });
}

fn row_line(state: &State, row: &Row, columns: usize) -> Line<'static> {
    let theme = state.theme;
    let mark = match (row.pinned, row.deleted) {
        (_, true) => Span::styled(" ✗ ", theme.bad()),
        (true, _) => Span::styled(" ★ ", theme.warning()),
        _ => Span::raw("   "),
    };
    let project = if state.project.is_none() && columns >= 90 { 20 } else { 0 };
    let kind = if columns >= 70 { 14 } else { 10 };
    let revision = if row.revision > 1 { format!(" r{}", row.revision) } else { String::new() };
    let used = 3 + 13 + kind + 1 + project + fit::width(&revision);
    let title = columns.saturating_sub(used + 1);
    let mut spans = vec![
        mark,
        Span::styled(fit::pad(&date(row.at, state.now, &state.zone), 13), theme.dim()),
        Span::styled(fit::pad(&row.kind, kind), theme.kind(&row.kind)),
    ];
    // At most half of the title's room: what a memory is called comes first.
    let marks = fit::cut(&row.marks.join(" · "), title / 2);
    let marks = if marks.is_empty() { marks } else { format!("  {marks}") };
    let shown = fit::cut(&row.title, title.saturating_sub(fit::width(&marks)));
    let rest = title.saturating_sub(fit::width(&shown) + fit::width(&marks));
    spans.push(Span::raw(format!(" {shown}")));
    spans.push(Span::styled(marks, theme.warning()));
    spans.push(Span::styled(format!("{}{revision}", " ".repeat(rest)), theme.dim()));
    if project > 0 {
        spans.push(Span::styled(format!(" {}", fit::pad(&row.project, project - 1)), theme.dim()));
    }
    Line::from(spans)
}
