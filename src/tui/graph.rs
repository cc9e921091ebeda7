//! The neighbourhood of a memory. The memory is in the centre, its neighbours in the session are on the left, and its
//! relations on the right. Every neighbour can become the centre.

use super::markdown;
use super::prelude::*;
use super::state::Screen;
use crate::answer::{
    line,
    observation::Observation,
    sessions::{Entry, Marked, Timeline},
};
use crate::view::{Memory, date};

/// Most earlier and most later neighbours in the session.
const AROUND: usize = 12;
/// Most earlier centres to which Esc returns.
const BACK_MAX: usize = 50;

/// A neighbour of the centre.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    id: String,
    title: String,
    kind: String,
    /// The relation that connects it with the centre.
    edge: String,
}

/// The side of the centre that has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Side {
    Left,
    #[default]
    Right,
}

/// The centre and its neighbours.
#[derive(Debug, Default)]
pub struct Graph {
    centre: Option<Memory>,
    /// In order of time.
    left: Vec<Node>,
    right: Vec<Node>,
    side: Side,
    left_cursor: Cursor,
    right_cursor: Cursor,
    back: Vec<String>,
}

impl Graph {
    fn nodes(&mut self) -> (&Vec<Node>, &mut Cursor) {
        match self.side {
            Side::Left => (&self.left, &mut self.left_cursor),
            Side::Right => (&self.right, &mut self.right_cursor),
        }
    }

    /// Leaves a side where nothing is.
    fn choose_side(&mut self) {
        if self.right.is_empty() && !self.left.is_empty() {
            self.side = Side::Left;
        } else if self.left.is_empty() {
            self.side = Side::Right;
        }
    }
}

/// Makes a memory the centre.
pub fn open(state: &mut State, id: &str) {
    state.screen = Screen::Graph;
    if let Some(before) = &state.graph.centre
        && before.row.id != id
    {
        state.graph.back.push(before.row.id.clone());
        if state.graph.back.len() > BACK_MAX {
            state.graph.back.remove(0);
        }
    }
    ask(state, id);
}

fn ask(state: &mut State, id: &str) {
    state.asks.ask(Slot::Centre, Operation::GetObservation, json!({ "id": id, "max_bytes": 4_096 }));
    let around = json!({ "id": id, "before": AROUND, "after": AROUND });
    state.asks.ask(Slot::Around, Operation::Timeline, around);
}

/// Requests the centre again. If there is none, the chosen memory in the list becomes the centre.
pub fn refresh(state: &mut State) {
    let centre = state.graph.centre.as_ref().map(|centre| centre.row.id.clone());
    let chosen = || state.memories.subject().map(|row| row.id.clone());
    if let Some(id) = centre.or_else(chosen) {
        ask(state, &id);
    }
}

pub fn take_centre(state: &mut State, found: &Observation) {
    let memory = Memory::of(found);
    let node = |near: &crate::view::Relation| Node {
        id: near.id.clone(),
        title: near.title.clone(),
        kind: String::new(),
        edge: near.kind.clone(),
    };
    let graph = &mut state.graph;
    graph.right = memory.related.iter().map(node).collect();
    graph.right_cursor = Cursor::default();
    graph.centre = Some(memory);
    graph.choose_side();
}

/// Takes in what is around the centre in its session.
pub fn take_around(state: &mut State, timeline: &Timeline) {
    let side = |edge: &str, entries: &[Marked]| {
        let memories = entries.iter().map(|one| &one.entry).filter(|entry| entry.is_memory());
        let node = |entry: &Entry| Node {
            id: entry.id.line(),
            title: line(entry.title.as_ref()),
            kind: line(entry.memory_type.as_ref()),
            edge: edge.to_owned(),
        };
        memories.map(node).collect::<Vec<Node>>()
    };
    let graph = &mut state.graph;
    graph.left = side("before", &timeline.before);
    graph.left_cursor = Cursor::at(graph.left.len().saturating_sub(1));
    graph.left.extend(side("after", &timeline.after));
    graph.choose_side();
}

/// Handles a key.
pub fn key(state: &mut State, key: KeyEvent) -> bool {
    let graph = &mut state.graph;
    let Some(centre) = graph.centre.as_ref().map(|centre| centre.row.id.clone()) else { return false };
    match key.code {
        KeyCode::Left | KeyCode::Char('h') if !graph.left.is_empty() => graph.side = Side::Left,
        KeyCode::Right | KeyCode::Char('l') if !graph.right.is_empty() => graph.side = Side::Right,
        KeyCode::Enter => {
            let (nodes, cursor) = graph.nodes();
            let Some(id) = nodes.get(cursor.at).map(|node| node.id.clone()) else { return false };
            open(state, &id);
        }
        KeyCode::Esc | KeyCode::Backspace => {
            let Some(id) = graph.back.pop() else { return false };
            ask(state, &id);
        }
        KeyCode::Char('o') => super::memories::open(state, &centre),
        _ => {
            let (nodes, cursor) = graph.nodes();
            let total = nodes.len();
            return cursor.key(key, total);
        }
    }
    true
}

/// The keys of this screen.
pub fn keys(state: &State) -> &'static [(&'static str, &'static str)] {
    if state.graph.centre.is_none() {
        return &[("2", "choose a memory, then g")];
    }
    &[("↑↓←→", "choose"), ("Enter", "make it the centre"), ("o", "read the centre"), ("Esc", "back")]
}

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let Some(centre) = &state.graph.centre else {
        let words = "Choose a memory (2), then press g to see what is around it.";
        paint::nothing(buffer, area, words, state.theme);
        return;
    };
    let (theme, graph) = (state.theme, &state.graph);
    // Nodes on both sides, the centre's box between them, and room for the edges.
    let gap = if area.width >= 110 { 16 } else { 7 };
    let width = area.width.saturating_sub(2 * gap) / 3;
    let column = |n: u16| Rect { x: area.x + n * (width + gap), width, ..area };
    let (left, middle, right) = (column(0), column(1), column(2));
    let left_area = paint::heading(buffer, left, "In its session", &graph.left.len().to_string(), theme);
    let right_area = paint::heading(buffer, right, "Related", &graph.right.len().to_string(), theme);
    let rows = left_area.height;
    let box_rows = 9.min(rows);
    let box_area = Rect { y: left_area.y + (rows - box_rows) / 2, height: box_rows, ..middle };
    let box_middle = box_area.y + box_rows / 2;
    let at = centre_box(state, centre, box_area, buffer);
    for (side, area) in [(Side::Left, left_area), (Side::Right, right_area)] {
        edges(state, side, paint::below(area, 1), (box_area, box_middle), buffer);
    }
    // The text of the centre, below its box.
    let below = Rect { y: at + 1, height: area.bottom().saturating_sub(at + 1), ..middle };
    paint::lines(buffer, below, &markdown::render(&centre.content, usize::from(below.width), theme));
}

/// Draws the centre with its facts. Returns the first row below it.
fn centre_box(state: &State, centre: &Memory, area: Rect, buffer: &mut Buffer) -> u16 {
    let theme = state.theme;
    let block = ratatui::widgets::Block::bordered()
        .border_type(ratatui::widgets::BorderType::Rounded)
        .border_style(theme.bar());
    let inner = block.inner(area);
    ratatui::widgets::Widget::render(block, area, buffer);
    let columns = usize::from(inner.width.saturating_sub(2));
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let rows = usize::from(inner.height.saturating_sub(3)).max(1);
    let mut lines = fit::rows(&centre.row.title, theme.strong(), columns, rows);
    lines.push(Line::default());
    let kind = Span::styled(centre.row.kind.clone(), theme.kind(&centre.row.kind));
    let revision = format!(" · revision {}", centre.row.revision);
    let has_room = fit::width(&kind.content) + fit::width(&revision) <= columns;
    let revision = has_room.then(|| Span::styled(revision, theme.dim()));
    lines.push([Some(kind), revision].into_iter().flatten().collect());
    let caption = format!("{} · {}", centre.row.project, date(centre.row.at, state.now, &state.zone).trim());
    lines.push(Line::styled(fit::cut(&caption, columns), theme.dim()));
    paint::lines(buffer, inner, &lines);
    area.bottom()
}

/// Draws the nodes of a side, two rows apart if there is room, and the lines that connect them with the centre.
fn edges(state: &State, side: Side, area: Rect, centre: (Rect, u16), buffer: &mut Buffer) {
    let (theme, graph) = (state.theme, &state.graph);
    let (box_area, box_middle) = centre;
    let (nodes, cursor) = match side {
        Side::Left => (&graph.left, &graph.left_cursor),
        Side::Right => (&graph.right, &graph.right_cursor),
    };
    if nodes.is_empty() {
        let words = if side == Side::Left { "nothing else" } else { "no relations yet" };
        paint::text(buffer, area, words, theme.dim());
        return;
    }
    let height = usize::from(area.height);
    let step = (height / nodes.len().max(1)).clamp(1, 3);
    let rows = height / step;
    let top = cursor.top(nodes.len(), rows);
    let shown = rows.min(nodes.len() - top);
    let start = (height - (shown - 1) * step - 1) / 2;
    let rows_of_nodes: Vec<u16> =
        (0..shown).map(|n| area.y + u16::try_from(start + n * step).unwrap_or(0)).collect();
    let (from, to) = match side {
        Side::Left => (area.right() + 1, box_area.x),
        Side::Right => (box_area.right(), area.x.saturating_sub(1)),
    };
    let spine = if side == Side::Left { from + 2 } else { to.saturating_sub(3) };
    join(buffer, (from, to), spine, box_middle, &rows_of_nodes, theme);
    for (n, y) in rows_of_nodes.iter().enumerate() {
        let node = &nodes[top + n];
        let row = Rect { y: *y, height: 1, ..area };
        let label = match node.edge.as_str() {
            "before" => "↑ ".to_owned(),
            "after" => "↓ ".to_owned(),
            edge => format!("{edge} "),
        };
        let style = if node.kind.is_empty() { theme.lane(node.edge.len()) } else { theme.kind(&node.kind) };
        let title = fit::cut(&node.title, usize::from(row.width).saturating_sub(fit::width(&label)));
        paint::line(buffer, row, &Line::from(vec![Span::styled(label, style), Span::raw(title)]));
        if top + n == cursor.at {
            paint::chosen(buffer, row, graph.side == side, theme);
        }
    }
}

/// Draws lines from the middle of the centre's side to each node: across to a spine, along it, and across to the node.
fn join(
    buffer: &mut Buffer,
    (from, to): (u16, u16),
    spine: u16,
    middle: u16,
    rows: &[u16],
    theme: super::theme::Theme,
) {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    let style = theme.dim();
    let (top, bottom) = ((*first).min(middle), (*last).max(middle));
    for y in top..=bottom {
        buffer.set_string(spine, y, "│", style);
    }
    let outwards = spine + 3 >= to;
    let (centre_side, node_side) =
        if outwards { (from..spine, spine + 1..to) } else { (spine + 1..to, from..spine) };
    for x in centre_side {
        buffer.set_string(x, middle, "─", style);
    }
    for y in rows {
        for x in node_side.clone() {
            buffer.set_string(x, *y, "─", style);
        }
    }
    for y in top..=bottom {
        let node = rows.contains(&y);
        let centre = y == middle;
        let (up, down) = (y > top, y < bottom);
        let (left, right) = if outwards { (centre, node) } else { (node, centre) };
        buffer.set_string(spine, y, corner((up, down, left, right)), style);
    }
}

/// The character for a line in these directions: up, down, left, right.
fn corner(directions: (bool, bool, bool, bool)) -> &'static str {
    match directions {
        (true, true, true, true) => "┼",
        (true, true, true, false) => "┤",
        (true, true, false, true) => "├",
        (false, true, true, true) => "┬",
        (true, false, true, true) => "┴",
        (false, true, false, true) => "╭",
        (false, true, true, false) => "╮",
        (true, false, false, true) => "╰",
        (true, false, true, false) => "╯",
        (false, false, _, _) => "─",
        _ => "│",
    }
}
