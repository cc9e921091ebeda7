//! Pictures of the screens: `make screenshots` writes them to `docs/screens`.
//!
//! A temporary home is filled with what this repository's history and documents say, a real agent makes
//! some calls, and the real screens are drawn over the real daemon; their cells become SVG. The moments of
//! the memories are made up, so that the pictures show a few weeks of work.
#![expect(clippy::print_stdout, reason = "it tells a person what it wrote")]
#![expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small made-up numbers")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use cerebro::tui::{App, Message, Options};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientConfig, Implementation};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

mod home;

use home::Home;

const SIZE: (u16, u16) = (120, 34);
const NOW: &str = "2026-11-22T17:30:00Z";
/// The number of weeks that the made-up moments cover.
const WEEKS: i64 = 9;
const PROJECT: &str = "cerebro/cerebro";

/// One thing to remember.
struct Lesson {
    title: String,
    content: String,
    kind: &'static str,
}

fn main() -> Result<()> {
    let checkout = std::env::current_dir()?;
    let lessons = lessons(&checkout)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let home = Home::new()?;
    import(&home, &store(&lessons)?)?;
    runtime.block_on(pictures(&home, &checkout))
}

/// Lessons from the decisions, the invariants, the change log and the commits.
fn lessons(checkout: &Path) -> Result<Vec<Lesson>> {
    let read = |name: &str| std::fs::read_to_string(checkout.join(name)).unwrap_or_default();
    let mut lessons = Vec::new();
    let mut decisions: Vec<PathBuf> = std::fs::read_dir(checkout.join("docs/decisions"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    decisions.sort();
    for text in decisions.iter().filter_map(|path| std::fs::read_to_string(path).ok()) {
        let heading = text.lines().next().and_then(|line| line.strip_prefix("# ")?.split_once(". "));
        if let (Some((_, title)), Some((_, why))) = (heading, text.split_once(".\n\n")) {
            let content = format!("## What\n\n{title}.\n\n## Why\n\n{}\n", why.trim());
            lessons.push(Lesson { title: title.to_owned(), content, kind: "decision" });
        }
    }
    // The rows of the table of invariants: number, rule, what holds it.
    for line in read("ARCHITECTURE.md").lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, number, rule, ..] = cells[..]
            && number.parse::<u8>().is_ok()
        {
            let title = rule.split(['.', ':', ';']).next().unwrap_or(rule).replace('`', "");
            lessons.push(Lesson { title, content: rule.to_owned(), kind: "architecture" });
        }
    }
    let mut section = String::new();
    for line in read("CHANGELOG.md").lines() {
        if let Some(name) = line.strip_prefix("### ") {
            name.trim().clone_into(&mut section);
        } else if let Some(entry) = line.strip_prefix("- ") {
            let kind = if section == "Fixed" { "bugfix" } else { "discovery" };
            let title = entry.split(". ").next().unwrap_or(entry).chars().take(110).collect();
            lessons.push(Lesson { title, content: entry.to_owned(), kind });
        }
    }
    lessons.extend(commits(checkout));
    ensure!(lessons.len() > 10, "{} tells too little to show", checkout.display());
    Ok(lessons)
}

fn commits(checkout: &Path) -> Vec<Lesson> {
    let output = std::process::Command::new("git")
        .current_dir(checkout)
        .args(["log", "--no-merges", "--max-count=60", "--format=%x1e%s%x1f%b"])
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lessons: Vec<Lesson> = text
        .split('\u{1e}')
        .filter_map(|record| record.split_once('\u{1f}'))
        .map(|(subject, body)| {
            let kind = if subject.contains("fix") { "bugfix" } else { "pattern" };
            let content = format!("What: {subject}\nWhy: {}", body.trim());
            Lesson { title: subject.to_owned(), content, kind }
        })
        .collect();
    lessons.reverse();
    lessons
}

/// The lessons as an export: sessions of three agents, moments over some weeks.
fn store(lessons: &[Lesson]) -> Result<String> {
    const PER_SESSION: usize = 4;
    const AGENTS: [&str; 3] = ["claude-code", "codex", "gemini-cli"];
    let now: Timestamp = NOW.parse()?;
    let begin = now - SignedDuration::from_hours(24 * 7 * WEEKS);
    let count = lessons.len().div_ceil(PER_SESSION);
    let start = |n: usize| {
        // Denser towards the end, with some variation, at working hours.
        let part = (n as f64 + 1.0) / count as f64;
        let hours = (part.sqrt() * 24.0 * 7.0 * WEEKS as f64) as i64 - 7 + (n as i64 * 5) % 6;
        begin + SignedDuration::from_hours(hours) + SignedDuration::from_mins((n as i64 * 13) % 60)
    };
    let mut lines = vec![json!({ "kind": "header", "format": "cerebro", "version": 1 })];
    let (mut memories, mut edges) = (Vec::new(), Vec::new());
    for (n, part) in lessons.chunks(PER_SESSION).enumerate() {
        let (id, at) = (format!("session-{n:03}"), start(n));
        let end = at + SignedDuration::from_mins(35 + (n as i64 * 17) % 50);
        let done: Vec<String> = part.iter().map(|lesson| format!("- {}", lesson.title)).collect();
        let goal = part.first().map_or("", |lesson| lesson.title.as_str());
        let follows = n.checked_sub(2).map(|n| format!("session-{n:03}"));
        let ended = n + 1 < count;
        lines.push(json!({
            "kind": "session", "id": id, "project": PROJECT, "agent": AGENTS[n % 2 + usize::from(n % 5 == 4)],
            "directory": "~/src/cerebro", "started_at": at.to_string(), "seen_at": end.to_string(),
            "ended_at": ended.then(|| end.to_string()), "end_reason": ended.then_some("ended"),
            "summary": ended.then(|| format!("## Goal\n\n{goal}\n\n## Accomplished\n\n{}\n", done.join("\n"))),
            "follows": follows,
        }));
        if let Some(follows) = follows {
            edges.push(
                json!({ "kind": "edge", "name": "FOLLOWS", "from": id, "to": follows, "at": at.to_string() }),
            );
        }
        for (m, lesson) in part.iter().enumerate() {
            let memory = memory_id(n * PER_SESSION + m);
            let when = (at + SignedDuration::from_mins(6 + 7 * m as i64)).to_string();
            memories.push(json!({
                "kind": "memory", "id": memory, "project": PROJECT, "scope": "project", "type": lesson.kind,
                "title": lesson.title, "content": lesson.content, "tags": [], "agent": AGENTS[n % 2], "session": id,
                "revision": 1, "duplicate_count": 0, "pinned": (n * PER_SESSION + m) % 19 == 4, "purged": false,
                "created_at": when, "updated_at": when, "last_seen_at": when,
            }));
            edges.push(json!({ "kind": "edge", "name": "CREATED_IN", "from": memory, "to": id, "at": when }));
        }
    }
    lines.extend(memories);
    lines.extend(edges);
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

fn memory_id(number: usize) -> String {
    let digits = b"abcdefghijklmnopqrstuvwxyz234567";
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // An id begins with a letter.
    let digit = |n: u64| (mixed >> (5 * n) & 31) % if n == 0 { 26 } else { 32 };
    (0..12).map(|n| char::from(digits[digit(n) as usize])).collect()
}

fn import(home: &Home, lines: &str) -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), lines)?;
    let status = home.command().arg("import").arg(file.path()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "the import failed");
    Ok(())
}

/// Lets an agent of this name make some calls. It stays connected until the result is dropped.
async fn agent(
    home: &Home,
    name: &str,
    calls: &[(&'static str, Value)],
) -> Result<rmcp::service::RunningService<rmcp::RoleClient, ClientConfig>> {
    let mut command = tokio::process::Command::from(home.command());
    command.args(["mcp", "--project", PROJECT]);
    let mut info = ClientConfig::default();
    info.client_info = Implementation::new(name, "1.0");
    let client = info.serve(TokioChildProcess::new(command)?).await.context("connect to cerebro mcp")?;
    for (tool, arguments) in calls {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        client.call_tool(CallToolRequestParams::new(*tool).with_arguments(arguments)).await?;
    }
    Ok(client)
}

async fn pictures(home: &Home, checkout: &Path) -> Result<()> {
    let first = agent(
        home,
        "claude-code",
        &[
            ("mem_session_start", json!({ "project": PROJECT, "directory": "/home/ada/src/cerebro" })),
            ("mem_context", json!({})),
            ("mem_search", json!({ "query": "why one writer and not optimistic commits" })),
            ("mem_save", json!({
                "title": "The pump answers for a dead daemon", "type": "bugfix", "topic_key": "bug/pump-answers",
                "content": "What: calls in flight are answered with a retry.\nWhy: nobody knows whether they were done.",
            })),
            ("mem_get_observation", json!({ "id": memory_id(2) })),
        ],
    )
    .await?;
    let second = agent(
        home,
        "codex",
        &[
            ("mem_session_start", json!({ "project": PROJECT, "directory": "/home/ada/src/cerebro" })),
            ("mem_save_prompt", json!({ "content": "Make the search faster right after a save" })),
            ("mem_search", json!({ "query": "search right after a save pays for a commit" })),
            ("mem_get_observation", json!({ "id": "nosuchmemory" })),
            ("mem_timeline", json!({ "id": memory_id(5) })),
            ("mem_save", json!({
                "title": "The token ghp_0123456789abcdefghijABCDEFGHIJ012345 was in a log", "type": "discovery",
                "content": "<private>which one</private> It is rotated now.",
            })),
        ],
    )
    .await?;
    let options = Options {
        colour: true,
        zone: TimeZone::UTC,
        starts_daemon: false,
        project: None,
        clock: || NOW.parse().unwrap_or(Timestamp::UNIX_EPOCH),
    };
    let data = cerebro::home::Home::open(Some(&home.data()))?;
    let mut screens =
        Screens { app: App::new(data, options), terminal: Terminal::new(TestBackend::new(SIZE.0, SIZE.1))? };
    let folder = checkout.join("docs/screens");
    std::fs::create_dir_all(&folder)?;
    for (name, keys) in [
        ("dashboard", "1"),
        ("memories", "2<down><down><down>"),
        ("search", "/one writer transaction"),
        ("memory", "<enter><enter>"),
        ("graph", "g"),
        ("sessions", "3<down>"),
        ("live", "4<down><down>"),
        ("help", "?"),
    ] {
        screens.press(keys).await?;
        let file = folder.join(format!("{name}.svg"));
        std::fs::write(&file, svg(screens.terminal.backend().buffer(), &format!("Cerebro: {name}")))?;
        println!("{}", file.display());
    }
    first.cancel().await?;
    second.cancel().await?;
    Ok(())
}

struct Screens {
    app: App,
    terminal: Terminal<TestBackend>,
}

impl Screens {
    /// Presses keys, names in `<>`, and waits for what they ask for.
    async fn press(&mut self, keys: &str) -> Result<()> {
        self.settle().await?;
        let mut rest = keys;
        while let Some(first) = rest.chars().next() {
            let name = ["<down>", "<enter>"].into_iter().find(|name| rest.starts_with(name));
            rest = &rest[name.map_or(first.len_utf8(), str::len)..];
            let code = match name {
                Some("<down>") => KeyCode::Down,
                Some(_) => KeyCode::Enter,
                None => KeyCode::Char(first),
            };
            self.app.take(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
            self.settle().await?;
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<()> {
        loop {
            self.terminal.draw(|frame| self.app.draw(frame))?;
            if !self.app.is_waiting() {
                return Ok(());
            }
            let message = self.app.next_message().await.context("the connection ended")?;
            self.app.take(message);
        }
    }
}

const COLUMN: f64 = 8.4;
const ROW: f64 = 18.0;
const MARGIN: f64 = 14.0;
const FOREGROUND: &str = "#d8dbe2";
const BACKGROUND: &str = "#16181d";

/// The cells of a terminal with a usual dark palette.
fn svg(buffer: &Buffer, title: &str) -> String {
    let (columns, rows) = (f64::from(buffer.area.width), f64::from(buffer.area.height));
    let (width, height) = (columns * COLUMN + 2.0 * MARGIN, rows * ROW + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{title}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"14\" xml:space=\"preserve\">\n"
    );
    for y in 0..buffer.area.height {
        let mut x = 0;
        while x < buffer.area.width {
            let start = x;
            let style = buffer[(x, y)].style();
            let mut text = String::new();
            // A run ends where the style changes, and at marks that fonts draw in other widths.
            while x < buffer.area.width && buffer[(x, y)].style() == style {
                let symbol = buffer[(x, y)].symbol();
                let alone = !symbol.is_ascii();
                if alone && !text.is_empty() {
                    break;
                }
                text.push_str(symbol);
                x += u16::try_from(symbol.width()).unwrap_or(1).max(1);
                if alone {
                    break;
                }
            }
            run(&mut out, &text, style, (start, x, y));
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

/// One run of cells of the same style.
fn run(out: &mut String, text: &str, style: Style, (start, end, row): (u16, u16, u16)) {
    let reversed = style.add_modifier.contains(Modifier::REVERSED);
    let (mut ink, mut paper) = (colour(style.fg, FOREGROUND), colour(style.bg, BACKGROUND));
    if reversed {
        std::mem::swap(&mut ink, &mut paper);
    }
    let (x, y) = (MARGIN + f64::from(start) * COLUMN, MARGIN + f64::from(row) * ROW);
    let width = f64::from(end - start) * COLUMN;
    if paper != BACKGROUND {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{ROW}\" fill=\"{paper}\"/>"
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let bold = if style.add_modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let italic = if style.add_modifier.contains(Modifier::ITALIC) { " font-style=\"italic\"" } else { "" };
    let line =
        if style.add_modifier.contains(Modifier::UNDERLINED) { " text-decoration=\"underline\"" } else { "" };
    let dim = if style.add_modifier.contains(Modifier::DIM) { " opacity=\"0.55\"" } else { "" };
    if let Some([left, top, right, bottom]) = shape(text) {
        let (w, h) = ((right - left) * COLUMN, (bottom - top) * ROW);
        let (x, y) = (x + left * COLUMN, y + top * ROW);
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{ink}\"{dim} \
             shape-rendering=\"crispEdges\"/>"
        );
        return;
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let baseline = y + 13.5;
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         fill=\"{ink}\"{bold}{italic}{line}{dim}>{text}</text>"
    );
}

/// Bars and lines as the part of their cell that they fill: left, top, right, bottom. As letters, which are less high
/// than a row, they would have gaps.
fn shape(text: &str) -> Option<[f64; 4]> {
    const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    Some(match text {
        "│" => [0.44, 0.0, 0.56, 1.0],
        "┃" => [0.38, 0.0, 0.62, 1.0],
        "─" => [0.0, 0.47, 1.0, 0.53],
        "▌" => [0.0, 0.0, 0.5, 1.0],
        bar => {
            let eighths = BARS.iter().position(|one| *one == bar)? + 1;
            [0.0, 1.0 - eighths as f64 / 8.0, 1.0, 1.0]
        }
    })
}

fn colour(colour: Option<Color>, default: &'static str) -> &'static str {
    match colour {
        Some(Color::Red) => "#e5727c",
        Some(Color::Green) => "#98c379",
        Some(Color::Yellow) => "#e3b872",
        Some(Color::Blue) => "#6cb0f3",
        Some(Color::Magenta) => "#c78ae0",
        Some(Color::Cyan) => "#5cc0cc",
        _ => default,
    }
}
