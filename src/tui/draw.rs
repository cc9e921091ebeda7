//! The frame of every screen: the names of the screens, the state of the connection and the keys. Also overlays.

use ratatui::Frame;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::input::Input;
use super::prelude::*;
use super::scrolled::Scroll;
use super::state::{Confirm, Link, Overlay, Picker, Screen};
use super::theme::Theme;
use super::{dashboard, distil, graph, live, memories, sessions, works};

/// Smallest terminal on which the screens are drawn.
const COLUMNS_MIN: u16 = 40;
const ROWS_MIN: u16 = 10;

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Draws the whole terminal.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    if area.width < COLUMNS_MIN || area.height < ROWS_MIN {
        paint::nothing(buffer, area, "make this window larger", state.theme);
        return;
    }
    let line = |y: u16| Rect { x: area.x + 1, y, width: area.width - 2, height: 1 };
    header(state, line(area.y), buffer);
    paint::rule(buffer, Rect { y: area.y + 1, height: 1, ..area }, state.theme);
    let body = Rect { x: area.x + 1, y: area.y + 2, width: area.width - 2, height: area.height - 4 };
    match state.screen {
        Screen::Dashboard => dashboard::draw(state, body, buffer),
        Screen::Memories => memories::draw(state, body, buffer),
        Screen::Sessions => sessions::draw(state, body, buffer),
        Screen::Live => live::draw(state, body, buffer),
        Screen::Graph => graph::draw(state, body, buffer),
        Screen::Work => works::draw(state, body, buffer),
        Screen::Inbox => distil::draw(state, body, buffer),
    }
    let bottom = area.bottom();
    paint::rule(buffer, Rect { y: bottom - 2, height: 1, ..area }, state.theme);
    notice(state, line(bottom - 2), buffer);
    if let Some(Overlay::Help(scroll)) = &state.overlay {
        help(state, scroll, area, buffer);
    }
    footer(state, line(bottom - 1), buffer);
    match &state.overlay {
        None | Some(Overlay::Help(_)) => {}
        Some(Overlay::Pick(picker)) => pick(state, picker, area, buffer),
        Some(Overlay::Confirm(confirm)) => ask(state, confirm, area, buffer),
    }
}

fn header(state: &State, row: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let (mark, words, style) = match &state.link {
        Link::Up { .. } if state.asks.is_slow() => (spin(state), "waiting", theme.warning()),
        Link::Up { .. } => ("●", "connected", theme.good()),
        Link::Connecting => (spin(state), "connecting", theme.warning()),
        Link::Down(_) => (spin(state), "reconnecting", theme.warning()),
    };
    let roomy = row.width >= 100;
    let name = |n: usize, screen: Screen| format!(" {} {} ", n + 1, screen.name());
    let named: usize = Screen::ALL.iter().enumerate().map(|(n, screen)| fit::width(&name(n, *screen))).sum();
    // In a small terminal, the screens' names matter more than a connection that works.
    let is_well = matches!(state.link, Link::Up { .. }) && !state.asks.is_slow();
    let has_words = !is_well || named + fit::width(words) + 3 <= usize::from(row.width);
    let status = if has_words { format!("{mark} {words}") } else { mark.to_owned() };
    let used = u16::try_from(fit::width(&status)).unwrap_or(row.width);
    paint::text_right(buffer, row, &status, style);
    let rest = Rect { width: row.width.saturating_sub(used), ..row };
    let tabs = Rect { width: rest.width.saturating_sub(1), ..row };
    let mut spans = if roomy { vec![Span::styled("Cerebro  ", theme.strong())] } else { Vec::new() };
    for (n, screen) in Screen::ALL.iter().enumerate() {
        let on = *screen == state.screen;
        let style = if on { theme.accent().patch(theme.chosen(true)) } else { theme.dim() };
        let has_name = on || named <= usize::from(tabs.width);
        spans.push(Span::styled(if has_name { name(n, *screen) } else { format!(" {} ", n + 1) }, style));
        spans.push(Span::raw(if roomy { " " } else { "" }));
    }
    let tabs_drawn = Line::from(spans);
    if roomy {
        // A name without its beginning would be another project's.
        let room = usize::from(rest.width).saturating_sub(tabs_drawn.width() + 4);
        let project = format!("{}   ", fit::cut(state.project_name(), room));
        paint::text_right(buffer, rest, &project, theme.dim());
    }
    paint::line(buffer, tabs, &tabs_drawn);
}

fn spin(state: &State) -> &'static str {
    SPINNER[usize::try_from(state.ticks % SPINNER.len() as u64).unwrap_or(0)]
}

/// Draws the last notice, or why there is no connection, on the rule above the keys.
fn notice(state: &State, row: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let (words, style) = match (&state.notice, &state.link) {
        (Some(notice), _) => (notice.words.clone(), if notice.bad { theme.bad() } else { theme.good() }),
        (None, Link::Down(why)) if !why.is_empty() => (fit::clean_line(why), theme.warning()),
        _ => return,
    };
    let words = fit::cut(&words, usize::from(row.width).saturating_sub(4));
    let words = format!(" {words} ");
    paint::text(buffer, Rect { x: row.x + 1, width: row.width.saturating_sub(2), ..row }, &words, style);
}

fn footer(state: &State, row: Rect, buffer: &mut Buffer) {
    const ALWAYS: [(&str, &str); 2] = [("?", "help"), ("q", "quit")];
    let keys: Vec<(&str, &str)> = match &state.overlay {
        Some(Overlay::Help(scroll)) if scroll.is_long() => vec![("↑↓", "scroll"), ("Esc", "back")],
        Some(Overlay::Help(_)) => vec![("any key", "back")],
        Some(Overlay::Pick(_)) => {
            vec![("type", "to narrow"), ("↑↓", "choose"), ("Enter", "take it"), ("Esc", "back")]
        }
        Some(Overlay::Confirm(_)) => vec![("y", "yes"), ("n", "no")],
        None => match state.screen {
            Screen::Dashboard => dashboard::KEYS.to_vec(),
            Screen::Memories => memories::keys(state),
            Screen::Sessions => sessions::keys(state),
            Screen::Live => live::keys(state).to_vec(),
            Screen::Graph => graph::keys(state).to_vec(),
            Screen::Work => works::KEYS.to_vec(),
            Screen::Inbox => distil::KEYS.to_vec(),
        },
    };
    let end = 16;
    let left = Rect { width: row.width.saturating_sub(end), ..row };
    paint::keys(buffer, left, &keys, state.theme);
    if state.overlay.is_none() {
        let right = Rect { x: row.right().saturating_sub(end - 1), width: end - 1, ..row };
        paint::keys(buffer, right, &ALWAYS, state.theme);
    }
}

/// Draws an input line: a word before it, the text, and the cursor while it has the keys.
pub fn input(buffer: &mut Buffer, row: Rect, before: &str, input: &Input, typing: bool, theme: Theme) {
    let lead = u16::try_from(fit::width(before)).unwrap_or(0).min(row.width);
    paint::text(buffer, row, before, theme.accent());
    let field = Rect { x: row.x + lead, width: row.width - lead, ..row };
    let (text, column) = input.shown(usize::from(field.width).saturating_sub(1));
    paint::text(buffer, field, &text, theme.plain());
    if typing && field.width > 0 {
        let x = field.x + u16::try_from(column).unwrap_or(0).min(field.width - 1);
        buffer.set_style(Rect { x, width: 1, ..field }, theme.chosen(true));
    }
}

/// Draws an empty box in the middle of the terminal. Returns its inner area.
fn over(state: &State, area: Rect, columns: u16, rows: u16, title: &str, buffer: &mut Buffer) -> Rect {
    let (width, height) = (columns.min(area.width), rows.min(area.height));
    let box_area =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    Clear.render(box_area, buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(state.theme.bar())
        .title(Span::styled(format!(" {title} "), state.theme.strong()));
    let inner = block.inner(box_area);
    block.render(box_area, buffer);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

fn ask(state: &State, confirm: &Confirm, area: Rect, buffer: &mut Buffer) {
    let inner = over(state, area, 64, 7, &confirm.question, buffer);
    let lines =
        fit::wrap(&[(confirm.detail.clone(), state.theme.plain())], usize::from(inner.width), &[], &[]);
    paint::lines(buffer, inner, &lines[..lines.len().min(3)]);
    if let Some(row) = paint::row(inner, 4) {
        paint::keys(buffer, row, &[("y", "yes"), ("n", "no")], state.theme);
    }
}

fn pick(state: &State, picker: &Picker, area: Rect, buffer: &mut Buffer) {
    let found = picker.found();
    let rows = u16::try_from(picker.items.len()).unwrap_or(u16::MAX).clamp(3, 14) + 4;
    let inner = over(state, area, 56, rows, picker.title, buffer);
    input(buffer, Rect { height: 1, ..inner }, "› ", &picker.input, true, state.theme);
    let (list, theme) = (paint::below(inner, 2), state.theme);
    picker.cursor.draw_list(buffer, list, found.len(), theme, |at, columns| {
        let (name, note) = found[at];
        let room = columns.saturating_sub(fit::width(note) + 2);
        let name = format!(" {}", fit::pad(&fit::clean_line(name), room));
        Line::from(vec![Span::raw(name), Span::styled(format!(" {note}"), theme.dim())])
    });
}

const HELP: &[(&str, &[(&str, &str)])] = &[
    (
        "Everywhere",
        &[
            ("1 … 7", "the screens"),
            ("↑ ↓ PgUp PgDn Home End", "move; also j and k"),
            ("Enter, Esc", "go in, go back"),
            ("p", "choose a project"),
            ("r", "reload"),
            ("Ctrl-L", "redraw"),
            ("q, Ctrl-C", "quit"),
        ],
    ),
    (
        "A memory",
        &[
            ("/", "search as you type"),
            ("t  s  x", "by type, by scope, deleted"),
            ("*", "pin or unpin"),
            ("e", "edit in $EDITOR"),
            ("d  u", "delete, restore"),
            ("Tab", "text, revisions, relations"),
            ("g", "what is around it"),
        ],
    ),
    (
        "Sessions, calls and the inbox",
        &[
            ("f  h", "what it follows, past sessions"),
            ("Space  /  c", "pause, filter, clear the calls"),
            ("a  x", "accept, reject a proposal"),
        ],
    ),
];

/// Width of the help box, and of the keys in it, in columns.
const HELP_COLUMNS: u16 = 64;
const HELP_KEYS: usize = 26;

/// The keys in so many columns: beside what they do, or above it if there is no room.
fn help_lines(columns: usize, theme: Theme) -> Vec<Line<'static>> {
    let is_wide = columns >= usize::from(HELP_COLUMNS) - 4;
    let mut lines = Vec::new();
    for (title, keys) in HELP {
        lines.push(Line::styled(*title, theme.strong()));
        for (key, what) in *keys {
            if is_wide {
                let key = Span::styled(format!("  {}", fit::pad(key, HELP_KEYS)), theme.accent());
                lines.push(Line::from(vec![key, Span::raw(*what)]));
            } else {
                lines.push(Line::styled(format!("  {key}"), theme.accent()));
                lines.push(Line::raw(format!("    {what}")));
            }
        }
    }
    lines
}

fn help(state: &State, scroll: &Scroll, area: Rect, buffer: &mut Buffer) {
    let lines = help_lines(usize::from(area.width.min(HELP_COLUMNS)).saturating_sub(4), state.theme);
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    // If it needs all rows, the last one stays for the keys that scroll it.
    let area = if rows > area.height { Rect { height: area.height - 1, ..area } } else { area };
    let inner = over(state, area, HELP_COLUMNS, rows, "Keys", buffer);
    let top = scroll.top(lines.len(), usize::from(inner.height));
    paint::lines(buffer, inner, &lines[top..]);
    paint::scrollbar(buffer, inner, top, lines.len(), state.theme);
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::state::Message;
    use super::super::update::update;
    use super::*;

    #[test]
    fn the_help_is_shown_whole() {
        for (key, _) in HELP.iter().flat_map(|(_, keys)| *keys) {
            assert!(fit::width(key) < HELP_KEYS, "{key}");
        }
        // Without the border and a blank on each side, and the columns of the scroll bar.
        for columns in [COLUMNS_MIN, HELP_COLUMNS].map(|columns| usize::from(columns) - 4) {
            for line in help_lines(columns, Theme { colour: false }) {
                assert!(line.width() <= columns - 2, "{line} in {columns}");
            }
        }
    }

    #[test]
    fn the_help_scrolls_in_a_small_terminal() {
        let mut state =
            State::new(Theme { colour: false }, jiff::tz::TimeZone::UTC, jiff::Timestamp::UNIX_EPOCH, None);
        let key = |code| Message::Key(KeyEvent::new(code, KeyModifiers::NONE));
        let drawn = |state: &State| {
            let mut terminal = Terminal::new(TestBackend::new(COLUMNS_MIN, ROWS_MIN)).unwrap();
            terminal.draw(|frame| draw(state, frame)).unwrap();
            terminal.backend().to_string()
        };
        update(&mut state, key(KeyCode::Char('?')));
        let top = drawn(&state);
        assert!(
            top.contains("1 … 7") && top.contains("scroll") && !top.contains("reject a proposal"),
            "{top}"
        );
        update(&mut state, key(KeyCode::End));
        let end = drawn(&state);
        assert!(end.contains("accept, reject a proposal") && !end.contains("1 … 7"), "{end}");
        update(&mut state, key(KeyCode::Esc));
        assert!(state.overlay.is_none());
    }
}
