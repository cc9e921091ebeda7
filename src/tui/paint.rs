//! Draws lines into the cells of a frame.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::fit;
use super::theme::Theme;

/// The row of an area with this number; `None` if the area is smaller.
pub fn row(area: Rect, number: usize) -> Option<Rect> {
    let number = u16::try_from(number).ok().filter(|number| *number < area.height)?;
    Some(Rect { y: area.y + number, height: 1, ..area })
}

/// Draws a line at the start of a row, and cuts what does not fit.
pub fn line(buffer: &mut Buffer, row: Rect, line: &Line<'_>) {
    if row.height > 0 {
        buffer.set_line(row.x, row.y, line, row.width);
    }
}

/// Draws lines from the top of an area, as many as fit.
pub fn lines(buffer: &mut Buffer, area: Rect, lines: &[Line<'_>]) {
    for (n, shown) in lines.iter().enumerate() {
        let Some(row) = row(area, n) else { break };
        line(buffer, row, shown);
    }
}

/// Draws a text at the start of a row.
pub fn text(buffer: &mut Buffer, row: Rect, text: &str, style: Style) {
    line(buffer, row, &Line::styled(fit::cut(text, usize::from(row.width)), style));
}

/// Draws a text at the end of a row.
pub fn text_right(buffer: &mut Buffer, row: Rect, text: &str, style: Style) {
    let shown = fit::cut(text, usize::from(row.width));
    let columns = u16::try_from(fit::width(&shown)).unwrap_or(row.width).min(row.width);
    let x = row.x + row.width - columns;
    line(buffer, Rect { x, width: columns, ..row }, &Line::styled(shown, style));
}

/// Draws a heading with a note at the end of its row. Returns the area below.
pub fn heading(buffer: &mut Buffer, area: Rect, title: &str, note: &str, theme: Theme) -> Rect {
    let Some(top) = row(area, 0) else { return area };
    text(buffer, top, title, theme.strong());
    let used = u16::try_from(fit::width(title) + 2).unwrap_or(u16::MAX).min(top.width);
    text_right(buffer, Rect { x: top.x + used, width: top.width - used, ..top }, note, theme.dim());
    below(area, 1)
}

/// The part of an area below this many rows.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// The upper part of an area, and the rest.
pub fn split_rows(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, below(area, rows))
}

/// The left and the right part of an area. Draws a thin line between them.
pub fn split_columns(buffer: &mut Buffer, area: Rect, left: u16, theme: Theme) -> (Rect, Rect) {
    let left = left.min(area.width.saturating_sub(3));
    for y in area.top()..area.bottom() {
        buffer.set_string(area.x + left + 1, y, "│", theme.dim());
    }
    let right = area.width.saturating_sub(left + 3);
    (Rect { width: left, ..area }, Rect { x: area.x + left + 3, width: right, ..area })
}

/// Draws a horizontal line.
pub fn rule(buffer: &mut Buffer, row: Rect, theme: Theme) {
    buffer.set_string(row.x, row.y, "─".repeat(usize::from(row.width)), theme.dim());
}

/// Marks rows as chosen, over everything that is drawn there.
pub fn chosen(buffer: &mut Buffer, rows: Rect, focused: bool, theme: Theme) {
    let style = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM).patch(theme.chosen(focused));
    if focused {
        buffer.set_style(rows, style);
    } else {
        buffer.set_style(rows, theme.strong().remove_modifier(Modifier::DIM));
        buffer.set_string(rows.x, rows.y, "▌", theme.accent());
    }
}

/// Draws a bar at the right edge that shows the visible part of a list. Draws none if all of it is visible.
pub fn scrollbar(buffer: &mut Buffer, area: Rect, top: usize, total: usize, theme: Theme) {
    let rows = usize::from(area.height);
    if total <= rows || rows == 0 || area.width == 0 {
        return;
    }
    let size = (rows * rows / total).clamp(1, rows);
    let start = top * (rows - size) / (total - rows).max(1);
    let x = area.right() - 1;
    for n in 0..area.height {
        let on = (start..start + size).contains(&usize::from(n));
        let (mark, style) = if on { ("┃", theme.bar()) } else { ("│", theme.dim()) };
        buffer.set_string(x, area.y + n, mark, style);
    }
}

/// Draws a message in the middle of an area that has no content.
pub fn nothing(buffer: &mut Buffer, area: Rect, words: &str, theme: Theme) {
    let lines = fit::wrap(&[(words.to_owned(), theme.dim())], usize::from(area.width.min(60)), &[], &[]);
    let top = usize::from(area.height).saturating_sub(lines.len()) / 3;
    for (n, shown) in lines.iter().enumerate() {
        let Some(row) = row(area, top + n) else { break };
        let columns = u16::try_from(shown.width()).unwrap_or(row.width).min(row.width);
        line(buffer, Rect { x: row.x + (row.width - columns) / 2, ..row }, shown);
    }
}

/// Draws keys with their effects, as many as fit.
pub fn keys(buffer: &mut Buffer, row: Rect, pairs: &[(&str, &str)], theme: Theme) {
    let mut spans: Vec<Span<'_>> = Vec::new();
    let mut used = 0;
    for (key, what) in pairs {
        let columns = fit::width(key) + fit::width(what) + 3;
        if used + columns > usize::from(row.width) + 2 {
            break;
        }
        used += columns;
        spans.extend([
            Span::styled((*key).to_owned(), theme.accent()),
            Span::styled(format!(" {what}  "), theme.dim()),
        ]);
    }
    line(buffer, row, &Line::from(spans));
}
