//! A scrollable text, and the position in a list. Both record the size of the last drawing, which keys need.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::theme::Theme;
use super::{markdown, paint};

type Rendered = (usize, Rc<Vec<Line<'static>>>);

/// A Markdown text with a scroll position.
#[derive(Debug, Default)]
pub struct ScrolledText {
    text: String,
    /// The lines for the last width.
    rendered: RefCell<Option<Rendered>>,
    /// The scroll position.
    pub scroll: Scroll,
}

impl ScrolledText {
    /// A text, at its start.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Draws the visible part. Returns its first line, and the number of all lines.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, columns: usize, theme: Theme) -> (usize, usize) {
        let lines = self.lines(columns, theme);
        let top = self.scroll.top(lines.len(), usize::from(area.height));
        paint::lines(buffer, area, &lines[top..]);
        (top, lines.len())
    }

    /// How wide its lines are in an area: its last two columns are the scroll bar's, and lines of more than 100 columns are
    /// hard to read.
    pub fn columns_in(area: Rect) -> usize {
        usize::from(area.width.saturating_sub(2)).min(100)
    }

    /// Draws the visible part and a scroll bar.
    pub fn draw_with_bar(&self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        let (top, lines) = self.draw(buffer, area, Self::columns_in(area), theme);
        paint::scrollbar(buffer, area, top, lines, theme);
    }

    /// Draws the visible part below a rule, if there is room for both.
    pub fn draw_below_rule(&self, buffer: &mut Buffer, area: Rect, theme: Theme) {
        if area.height >= 3 {
            paint::rule(buffer, Rect { height: 1, ..area }, theme);
            self.draw(buffer, paint::below(area, 1), usize::from(area.width), theme);
        }
    }

    /// Its lines for a width.
    pub fn lines(&self, columns: usize, theme: Theme) -> Rc<Vec<Line<'static>>> {
        if let Some((width, lines)) = &*self.rendered.borrow()
            && *width == columns
        {
            return Rc::clone(lines);
        }
        let lines = Rc::new(markdown::render(&self.text, columns, theme));
        *self.rendered.borrow_mut() = Some((columns, Rc::clone(&lines)));
        lines
    }
}

/// The scroll position of a text.
#[derive(Debug, Default)]
pub struct Scroll {
    at: usize,
    /// The numbers of lines and of visible rows in the last drawing.
    seen: Cell<(usize, usize)>,
}

impl Scroll {
    /// The first line to show of a text with `lines` lines in `rows` rows.
    pub fn top(&self, lines: usize, rows: usize) -> usize {
        self.seen.set((lines, rows));
        self.at.min(lines.saturating_sub(rows))
    }

    /// Whether the last drawing had room for only a part.
    pub fn is_long(&self) -> bool {
        let (lines, rows) = self.seen.get();
        lines > rows
    }

    /// Moves if the key is one that moves. Returns whether it is.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let (lines, rows) = self.seen.get();
        let end = lines.saturating_sub(rows);
        let at = self.at.min(end);
        let page = rows.saturating_sub(2).max(1);
        self.at = match key.code {
            KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => at + 1,
            KeyCode::PageUp => at.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => at + page,
            KeyCode::Home => 0,
            KeyCode::End => end,
            _ => return false,
        }
        .min(end);
        true
    }
}

/// The chosen line of a list, and the visible part of the list.
#[derive(Debug, Default)]
pub struct Cursor {
    /// The number of the chosen line.
    pub at: usize,
    top: Cell<usize>,
    rows: Cell<usize>,
}

impl Cursor {
    /// A cursor on this line.
    pub fn at(at: usize) -> Self {
        Self { at, ..Self::default() }
    }

    /// The first of `total` lines to show in `rows` rows, so that the chosen line is visible.
    pub fn top(&self, total: usize, rows: usize) -> usize {
        self.rows.set(rows);
        let lowest = self.at.saturating_sub(rows.saturating_sub(1));
        let top = self.top.get().clamp(lowest, self.at.max(lowest)).min(total.saturating_sub(rows));
        self.top.set(top);
        top
    }

    /// Draws the visible part of a list of `total` items, each of `tall` rows. `draw` draws the item with a number into
    /// its rows, of which the last two columns are the scroll bar's, and returns the part to mark if it is the chosen
    /// one. `focus` says whether keys go to the list; without it, none is marked.
    pub fn draw_items(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        (total, tall): (usize, u16),
        (focus, theme): (Option<bool>, Theme),
        draw: impl Fn(&mut Buffer, usize, Rect) -> Rect,
    ) {
        let rows = area.height / tall;
        let top = self.top(total, usize::from(rows));
        for (at, n) in (top..total).zip(0..rows) {
            let drawn = draw(buffer, at, Rect { y: area.y + n * tall, height: tall, ..area });
            if let Some(focus) = focus.filter(|_| at == self.at) {
                paint::chosen(buffer, drawn, focus, theme);
            }
        }
        let tall = usize::from(tall);
        paint::scrollbar(buffer, area, top * tall, total * tall, theme);
    }

    /// Draws a list of `total` items that has the keys, an item a row. `line` makes the line of the item with a number,
    /// for a width.
    pub fn draw_list(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        total: usize,
        theme: Theme,
        line: impl Fn(usize, usize) -> Line<'static>,
    ) {
        self.draw_items(buffer, area, (total, 1), (Some(true), theme), |buffer, at, row| {
            let row = Rect { width: row.width.saturating_sub(2), ..row };
            paint::line(buffer, row, &line(at, usize::from(row.width)));
            row
        });
    }

    /// The number of rows in the last drawing.
    pub fn rows(&self) -> usize {
        self.rows.get().max(1)
    }

    /// Moves among `total` lines if the key is one that moves. Returns whether it is.
    pub fn key(&mut self, key: KeyEvent, total: usize) -> bool {
        let page = self.rows().saturating_sub(1).max(1);
        let at = match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.at + 1,
            KeyCode::PageUp => self.at.saturating_sub(page),
            KeyCode::PageDown => self.at + page,
            KeyCode::Home => 0,
            KeyCode::End => total,
            _ => return false,
        };
        self.at = at;
        self.fit(total);
        true
    }

    /// Stays on the chosen row when new rows replace the old ones. If it is not among them, stays on its line.
    pub fn follow<T>(&mut self, old: &[T], new: &[T], id: impl Fn(&T) -> &str) {
        let chosen = old.get(self.at).map(&id);
        self.at = new.iter().position(|row| Some(id(row)) == chosen).unwrap_or(self.at);
        self.fit(new.len());
    }

    /// Moves to the last of `total` lines if it is beyond it.
    pub fn fit(&mut self, total: usize) {
        self.at = self.at.min(total.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn the_chosen_line_is_always_shown() {
        let mut cursor = Cursor::default();
        assert_eq!(cursor.top(100, 10), 0);
        for (code, at, top) in [
            (KeyCode::Down, 1, 0),
            (KeyCode::PageDown, 10, 1),
            (KeyCode::End, 99, 90),
            (KeyCode::Down, 99, 90),
            (KeyCode::Up, 98, 90),
            (KeyCode::PageUp, 89, 89),
            (KeyCode::Home, 0, 0),
        ] {
            assert!(cursor.key(key(code), 100));
            assert_eq!((cursor.at, cursor.top(100, 10)), (at, top), "{code:?}");
        }
        cursor.fit(0);
        assert_eq!((cursor.at, cursor.top(0, 10)), (0, 0));
    }

    #[test]
    fn the_chosen_row_stays_chosen_when_others_come_and_go() {
        let mut cursor = Cursor::at(1);
        for (old, new, at) in [
            (vec!["a", "b", "c"], vec!["new", "a", "b", "c"], 2),
            (vec!["new", "a", "b", "c"], vec!["b", "c"], 0),
            (vec!["b", "c"], vec!["c", "d"], 0),
            (vec!["c", "d"], vec![], 0),
            (vec![], vec!["e"], 0),
        ] {
            cursor.follow(&old, &new, |row| row);
            assert_eq!(cursor.at, at, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_text_scrolls_within_its_ends() {
        let mut scroll = Scroll::default();
        assert_eq!(scroll.top(30, 10), 0);
        for (code, want) in
            [(KeyCode::End, 20), (KeyCode::Down, 20), (KeyCode::PageUp, 12), (KeyCode::Home, 0)]
        {
            scroll.key(key(code));
            assert_eq!(scroll.top(30, 10), want, "{code:?}");
        }
        scroll.key(key(KeyCode::End));
        assert_eq!(scroll.top(5, 10), 0, "a shorter text is shown from its begin");
    }
}
