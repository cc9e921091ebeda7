//! The dashboard: the amount of data and its growth, connected agents, the state of the daemon and its worker.

use jiff::civil::Date;

use super::prelude::*;
use super::state::Link;
use crate::answer::{
    Text,
    daemon::{Client, Clients},
    memories::Activity,
    projects::{Project, Projects},
    stats::Stats,
};
use crate::view::{self, DAYS_MAX, Fact, ago, bytes, span};

/// Ticks after which the numbers are read again even if nothing was changed.
const REFRESH_TICKS: u64 = 120;

/// The data of the dashboard.
#[derive(Debug, Default)]
pub struct Dashboard {
    /// None before they are counted.
    stats: Option<Stats>,
    days: Vec<(Date, u64)>,
    clients: Vec<Client>,
    asked: u64,
}

/// Requests all of it.
pub fn refresh(state: &mut State) {
    state.dashboard.asked = state.ticks;
    let project = state.project.clone();
    state.asks.ask(Slot::Stats, Operation::Stats, json!({ "project": project }));
    let saves = view::saves(project.as_deref(), state.now);
    state.asks.ask(Slot::Activity, Operation::Activity, saves);
    state.asks.ask(Slot::Clients, Operation::Clients, json!({}));
    state.asks.ask(Slot::Projects, Operation::Projects, json!({}));
}

/// Requests the numbers again if they are old.
pub fn tick(state: &mut State) {
    if state.ticks >= state.dashboard.asked + REFRESH_TICKS && !state.asks.is_waiting(Slot::Stats) {
        refresh(state);
    } else if state.ticks.is_multiple_of(8) && !state.asks.is_waiting(Slot::Clients) {
        state.asks.ask(Slot::Clients, Operation::Clients, json!({}));
    }
}

/// Takes in the numbers.
pub fn counted(state: &mut State, stats: &Stats) {
    state.dashboard.stats = Some(stats.clone());
}

/// Takes in who is connected.
pub fn connected(state: &mut State, answer: &Clients) {
    state.dashboard.clients.clone_from(&answer.clients);
}

/// Takes in how much was written each day.
pub fn take_activity(state: &mut State, activity: &Activity) {
    state.dashboard.days = view::days_of(activity);
}

/// Takes in the projects, the largest first.
pub fn take_projects(state: &mut State, answer: &Projects) {
    let all = answer.largest_first().into_iter();
    state.projects = all.filter(|one| !one.project.is_empty()).collect();
}

/// How many memories a project has, or past sessions if it has nothing else.
pub fn amount(project: &Project) -> String {
    match (project.memories, project.past_sessions) {
        (0, Some(past)) => cerebro_core::text::counted(past, "past session"),
        (memories, _) => fit::count(memories),
    }
}

pub const KEYS: &[(&str, &str)] = &[("1-7", "screens"), ("p", "project"), ("r", "reload")];

pub fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let roomy = area.height > 30;
    let gap = if roomy { 2 } else { 1 };
    let rest = numbers(state, paint::below(area, u16::from(roomy)), buffer);
    let chart_rows = if roomy { (area.height / 4).clamp(8, 16) } else { 7 };
    let (chart, rest) = paint::split_rows(paint::below(rest, gap), chart_rows);
    saves(state, chart, buffer);
    let rest = paint::below(rest, gap);
    // A large window also has room for the latest calls.
    let (rest, latest) =
        if rest.height > 24 { paint::split_rows(rest, 12) } else { (rest, Rect { height: 0, ..rest }) };
    let column = rest.width.saturating_sub(4) / if rest.width >= 120 { 3 } else { 2 };
    let column_area = |n: u16| Rect { x: rest.x + n * (column + 2), width: column, ..rest };
    if rest.width >= 120 {
        projects(state, column_area(1), buffer);
        health(state, column_area(2), buffer);
    } else {
        health(state, column_area(1), buffer);
    }
    agents(state, column_area(0), buffer);
    calls(state, paint::below(latest, gap), buffer);
}

/// The last answered calls.
fn calls(state: &State, area: Rect, buffer: &mut Buffer) {
    if area.height < 3 {
        return;
    }
    let area = paint::heading(buffer, area, "Latest calls", "4 shows them as they happen", state.theme);
    if state.live.latest().next().is_none() {
        paint::text(buffer, area, "none since the daemon started", state.theme.dim());
    }
    for (n, call) in state.live.latest().enumerate() {
        let Some(row) = paint::row(area, n) else { break };
        paint::line(buffer, row, &super::live::call_line(state, call, usize::from(row.width)));
    }
}

/// The counts in one row, each with its word below it.
fn numbers(state: &State, area: Rect, buffer: &mut Buffer) -> Rect {
    let shown = |words: fn(&Stats) -> String| state.dashboard.stats.as_ref().map_or("–".to_owned(), words);
    let cells = [
        (shown(|stats| fit::count(stats.memories.live)), "memories"),
        (shown(|stats| fit::count(stats.memories.deleted)), "deleted"),
        (shown(|stats| fit::count(stats.sessions)), "sessions"),
        (shown(|stats| fit::count(stats.prompts)), "prompts"),
        (shown(|stats| fit::count(stats.edges.relates_to)), "relations"),
        (shown(|stats| bytes(stats.disk_bytes)), "on disk"),
    ];
    let column = area.width / 6;
    for ((number, word), n) in cells.iter().zip(0_u16..) {
        let cell = Rect { x: area.x + n * column, width: column.saturating_sub(1), ..area };
        for (row, shown, style) in [(0, number.as_str(), state.theme.accent()), (1, word, state.theme.dim())]
        {
            if let Some(row) = paint::row(cell, row) {
                paint::text(buffer, row, shown, style);
            }
        }
    }
    paint::below(area, 2)
}

/// The saves of each day as bars, with the last day on the right.
fn saves(state: &State, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let days = if area.width < 120 { 30 } else { DAYS_MAX - 2 };
    let today = state.now.to_zoned(jiff::tz::TimeZone::UTC).date();
    let (first, counts) = view::saves_by_day(&state.dashboard.days, today, days);
    let most = counts.iter().copied().max().unwrap_or(0);
    let sum: u64 = counts.iter().sum();
    let note = format!("{} in {days} days · most {} a day", fit::count(sum), fit::count(most));
    let below = paint::heading(buffer, area, "Saves per day", &note, theme);
    let (bars, foot) = paint::split_rows(below, below.height.saturating_sub(1));
    let column = (usize::from(bars.width) / counts.len().max(1)).clamp(1, 6);
    let bar = if column > 2 { column - 1 } else { column };
    for (n, count) in counts.iter().enumerate() {
        let x = bars.x + u16::try_from(n * column).unwrap_or(u16::MAX);
        if x >= bars.right() {
            break;
        }
        let cell = Rect { x, width: u16::try_from(bar).unwrap_or(1).min(bars.right() - x), ..bars };
        paint_bar(buffer, cell, *count, most, theme);
    }
    let width = u16::try_from(counts.len() * column).unwrap_or(u16::MAX).min(foot.width);
    let foot = Rect { width, ..foot };
    if foot.height > 0 {
        paint::text(buffer, foot, &first.strftime("%b %d").to_string(), theme.dim());
        paint::text_right(buffer, foot, "today (UTC)", theme.dim());
    }
}

/// Draws a bar from the bottom, in eighths of a row. A day without saves gets a dot.
fn paint_bar(buffer: &mut Buffer, area: Rect, count: u64, most: u64, theme: super::theme::Theme) {
    const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let rows = u64::from(area.height);
    let width = usize::from(area.width);
    if count == 0 || most == 0 {
        if area.height > 0 {
            buffer.set_string(area.x, area.bottom() - 1, "·", theme.dim());
        }
        return;
    }
    let filled = (count * rows * 8).div_ceil(most);
    for n in 0..area.height {
        let eighths = usize::try_from(filled.saturating_sub(u64::from(n) * 8).min(8)).unwrap_or(0);
        if eighths > 0 {
            buffer.set_string(area.x, area.bottom() - 1 - n, EIGHTHS[eighths].repeat(width), theme.bar());
        }
    }
}

fn agents(state: &State, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let clients = &state.dashboard.clients;
    let area = paint::heading(buffer, area, "Agents connected", &fit::count(clients.len() as u64), theme);
    if clients.is_empty() {
        paint::text(buffer, area, "none now", theme.dim());
    }
    for (n, client) in clients.iter().enumerate() {
        let Some(row) = paint::row(area, n) else { break };
        let name = if client.agent.is_empty() { "silent so far".to_owned() } else { client.agent.line() };
        let last_at = client.last_at.as_ref().and_then(Text::moment);
        let last = last_at.map_or(String::new(), |at| ago(Some(at), state.now));
        let tail = format!("{}  {last:>10}", cerebro_core::text::counted(client.calls, "call"));
        let room = usize::from(row.width).saturating_sub(fit::width(&tail) + 3);
        let named = fit::pad(&name, room.min(16));
        let project = fit::cut(&client.project.line(), room.saturating_sub(17));
        let spans = [
            Span::styled("● ", theme.good()),
            Span::raw(named),
            Span::styled(format!(" {project}"), theme.dim()),
        ];
        paint::line(buffer, row, &Line::from(spans.to_vec()));
        paint::text_right(buffer, row, &tail, theme.dim());
    }
}

fn projects(state: &State, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let number = fit::count(state.projects.len() as u64);
    let area = paint::heading(buffer, area, "Projects", &number, theme);
    for (n, project) in state.projects.iter().enumerate() {
        let Some(row) = paint::row(area, n) else { break };
        let amount = amount(project);
        let room = usize::from(row.width).saturating_sub(fit::width(&amount) + 2);
        paint::text(buffer, row, &fit::cut(&project.project.line(), room), theme.plain());
        paint::text_right(buffer, row, &amount, theme.dim());
    }
}

/// Facts about the daemon and its worker, each marked as good or bad.
fn health(state: &State, area: Rect, buffer: &mut Buffer) {
    let theme = state.theme;
    let area = paint::heading(buffer, area, "Health", "", theme);
    let rows = usize::from(area.height);
    let mut facts = facts(state, rows);
    facts.truncate(rows);
    let names = facts.iter().map(|fact| fit::width(fact.name) + 1).max().unwrap_or(0).max(10);
    for (n, Fact { well, name, words, .. }) in facts.iter().enumerate() {
        let Some(row) = paint::row(area, n) else { break };
        let mark = match well {
            Some(true) => Span::styled("● ", theme.good()),
            Some(false) => Span::styled("▲ ", theme.bad()),
            None => Span::styled("○ ", theme.dim()),
        };
        let room = usize::from(row.width).saturating_sub(2 + names);
        let spans =
            vec![mark, Span::styled(fit::pad(name, names), theme.dim()), Span::raw(fit::cut(words, room))];
        paint::line(buffer, row, &Line::from(spans));
    }
}

/// The facts about the daemon, and all figures of health. If there are too few rows for these, only the bad ones.
fn facts(state: &State, rows: usize) -> Vec<Fact> {
    let stats = state.dashboard.stats.as_ref();
    let daemon = match &state.link {
        Link::Up { pid, version } => {
            let up = stats.map(|stats| format!(", up {}", span(stats.uptime_s))).unwrap_or_default();
            Fact::new(Some(true), "daemon", format!("{version}{up}, process {pid}"))
        }
        Link::Connecting => Fact::new(None, "daemon", "connecting"),
        Link::Down(_) => Fact::new(Some(false), "daemon", "reconnecting"),
    };
    let health = stats.map(|stats| &stats.health);
    let vitals = health.map(view::vitals).unwrap_or_default();
    let all: Vec<Fact> = [daemon.clone()].into_iter().chain(view::facts(stats)).chain(vitals).collect();
    if all.len() <= rows {
        return all;
    }
    [daemon]
        .into_iter()
        .chain(view::facts(stats))
        .chain(health.into_iter().flat_map(view::problems))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{distil::Meter, worker::Worker};
    use crate::tui::theme::Theme;

    #[test]
    fn the_caps_of_distilling_are_whole_in_a_narrow_column() {
        let mut state =
            State::new(Theme { colour: false }, jiff::tz::TimeZone::UTC, jiff::Timestamp::UNIX_EPOCH, None);
        let meter = Meter {
            state: "waiting".into(),
            waiting: 12,
            tokens_today: 199_900,
            requests_today: 50,
            tokens_per_day: Some(200_000),
            requests_per_day: Some(50),
        };
        let worker = Worker { distil: Some(meter), ..Worker::default() };
        counted(&mut state, &Stats { worker, ..Stats::default() });
        // Of a window with 80 columns and 24 rows.
        let area = Rect::new(0, 0, 38, 9);
        let mut buffer = Buffer::empty(area);
        health(&state, area, &mut buffer);
        let shown: String = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        for words in ["199,900 of 200,000 tokens", "50 of 50 requests today"] {
            assert!(shown.contains(words), "{shown}");
        }
    }

    #[test]
    fn the_names_of_facts_are_whole() {
        let theme = Theme { colour: false };
        let mut state = State::new(theme, jiff::tz::TimeZone::UTC, jiff::Timestamp::UNIX_EPOCH, None);
        counted(&mut state, &Stats::default());
        let area = Rect::new(0, 0, 60, 40);
        let mut buffer = Buffer::empty(area);
        health(&state, area, &mut buffer);
        let shown: String = buffer.content().iter().map(ratatui::buffer::Cell::symbol).collect();
        assert!(shown.contains("consolidated never"), "{shown}");
    }
}
