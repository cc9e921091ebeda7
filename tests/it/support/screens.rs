//! The screens of `cerebro tui` over the real daemon of a home, on a terminal in memory.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use cerebro::tui::{App, Message, Next, Options};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use regex::Regex;
use unicode_width::UnicodeWidthStr;

use super::{DEADLINE, Home};

/// The time of the screens' clock.
pub const NOW: &str = "2026-11-22T10:00:00Z";

/// The screens, the size of their terminal and the runtime that connects them.
pub struct Screens {
    app: App,
    size: (u16, u16),
    runtime: tokio::runtime::Runtime,
}

impl Screens {
    /// Opens them over the daemon of a home, which is started first.
    pub fn open(home: &Home, columns: u16, rows: u16) -> Self {
        Self::open_with(home, columns, rows, true)
    }

    /// The same with or without colours.
    pub fn open_with(home: &Home, columns: u16, rows: u16, colour: bool) -> Self {
        home.run(&["daemon", "start"]).success();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = Options {
            colour,
            zone: TimeZone::UTC,
            starts_daemon: false,
            project: None,
            clock: || NOW.parse::<Timestamp>().unwrap(),
        };
        let data = cerebro::home::Home::open(Some(home.data())).unwrap();
        let app = runtime.block_on(async { App::new(data, options) });
        let mut screens = Self { app, size: (columns, rows), runtime };
        screens.settle();
        screens
    }

    /// Presses keys: a name in `<>`, or each character of a text; then waits for what they ask for.
    pub fn press(&mut self, keys: &str) -> Next {
        let next = self.type_fast(keys);
        self.settle();
        next
    }

    /// Presses keys without waiting for answers.
    pub fn type_fast(&mut self, keys: &str) -> Next {
        let mut next = Next::Go;
        let pattern = Regex::new("<[a-z]+>|.").unwrap();
        for key in pattern.find_iter(keys) {
            let code = match key.as_str() {
                "<enter>" => KeyCode::Enter,
                "<esc>" => KeyCode::Esc,
                "<tab>" => KeyCode::Tab,
                "<up>" => KeyCode::Up,
                "<down>" => KeyCode::Down,
                "<left>" => KeyCode::Left,
                "<right>" => KeyCode::Right,
                "<home>" => KeyCode::Home,
                "<end>" => KeyCode::End,
                "<pagedown>" => KeyCode::PageDown,
                "<space>" => KeyCode::Char(' '),
                text => KeyCode::Char(text.chars().next().unwrap()),
            };
            // A list remembers how many rows were drawn.
            self.draw();
            next = self.take(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
        next
    }

    /// Sends a message to the screens.
    pub fn take(&mut self, message: Message) -> Next {
        let app = &mut self.app;
        self.runtime.block_on(async { app.take(message) })
    }

    /// Lets the clock tick.
    pub fn tick(&mut self) {
        let tick = self.app.tick();
        self.take(tick);
    }

    /// Waits until every question is answered.
    pub fn settle(&mut self) {
        let start = Instant::now();
        loop {
            self.draw();
            if !self.app.is_waiting() {
                return;
            }
            assert!(start.elapsed() < DEADLINE, "no answer in {DEADLINE:?}:\n{}", self.text());
            self.receive();
        }
    }

    /// Takes in one message, if one comes soon.
    pub fn receive(&mut self) -> Next {
        let app = &mut self.app;
        self.runtime.block_on(async {
            let message = tokio::time::timeout(Duration::from_millis(100), app.next_message()).await;
            match message {
                Ok(Some(message)) => app.take(message),
                _ => Next::Go,
            }
        })
    }

    /// Receives messages and ticks until the screen shows a text.
    pub fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        while !self.text().contains(text) {
            assert!(start.elapsed() < DEADLINE, "`{text}` did not appear:\n{}", self.text());
            self.receive();
            self.tick();
        }
    }

    /// What is drawn now, on an empty terminal: cells behind wide characters keep what was there before.
    fn draw(&self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| self.app.draw(frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The characters of the screen.
    pub fn text(&self) -> String {
        let buffer = self.draw();
        let mut out = String::new();
        for y in buffer.area.top()..buffer.area.bottom() {
            let mut line = String::new();
            let mut x = buffer.area.left();
            while x < buffer.area.right() {
                let symbol = buffer[(x, y)].symbol();
                line.push_str(symbol);
                // A wide character covers the cell behind it.
                x += u16::try_from(symbol.width()).unwrap().max(1);
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    /// Whether any cell has a colour.
    pub fn is_coloured(&self) -> bool {
        self.draw().content.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    }

    /// Compares the screen with the file of this name in `tests/golden/tui`.
    #[track_caller]
    pub fn assert_golden(&self, name: &str) {
        let shown = normal(&self.text());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/tui/{name}.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &shown).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            golden == shown,
            "the screen differs from {}; if that is meant, run with UPDATE_GOLDEN=1. It is now:\n{shown}",
            path.display()
        );
    }
}

/// The screen without what differs from run to run: sizes, process ids, durations.
fn normal(shown: &str) -> String {
    let rules = [
        (r"\d+\.\d [kMG]B *", "SIZE "),
        (r"process \d+", "process PID"),
        (r"up \d+ (s|min)", "up TIME"),
        (r"schema \d+", "schema N"),
        (r"\d\d:\d\d:\d\d", "TT:TT:TT"),
        (r" +\d+ ms", " N ms"),
        (r"work-[0-9a-f]{4}", "work-XXXX"),
    ];
    let replaced = rules.iter().fold(shown.to_owned(), |text, (pattern, with)| {
        Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    });
    replaced.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
