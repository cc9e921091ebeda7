//! Runs the screens: the state, the connection, and the loop that reads terminal, daemon and clock.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures::StreamExt;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui::Frame;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

use super::asks::Ask;
use super::state::{Command, Draft, Message, State};
use super::terminal::{Screen, Signals};
use super::theme::Theme;
use super::{draw, editor, link, update};
use crate::home::Home;

/// Time between two ticks. They turn spinners and end notices.
const TICK: Duration = Duration::from_millis(250);
/// Most messages from the daemon in the queue.
const MESSAGES_MAX: usize = 256;
/// Most events that are processed before the screen is drawn again.
const BATCH_MAX: usize = 64;

/// How the screens are shown.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether colours are used.
    pub colour: bool,
    /// The time zone in which moments are shown.
    pub zone: TimeZone,
    /// Whether to start a daemon if none is running.
    pub starts_daemon: bool,
    /// The project to show first; all if `None`.
    pub project: Option<String>,
    pub clock: fn() -> Timestamp,
}

/// What the loop has to do after a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    Go,
    /// Redraw everything.
    Clear,
    Edit(Draft),
    Quit,
}

/// The screens, connected to the daemon of a home.
pub struct App {
    state: State,
    questions: Sender<Ask>,
    messages: Receiver<Message>,
    folder: PathBuf,
    clock: fn() -> Timestamp,
}

impl App {
    /// Starts to connect. Needs a running tokio runtime.
    pub fn new(home: Home, options: Options) -> Self {
        let (sender, messages) = mpsc::channel(MESSAGES_MAX);
        let folder = home.root().to_path_buf();
        let Options { colour, zone, starts_daemon, project, clock } = options;
        let questions = link::begin(home, starts_daemon, sender);
        let state = State::new(Theme { colour }, zone, clock(), project);
        Self { state, questions, messages, folder, clock }
    }

    /// Updates the state by a message and executes the commands that follow.
    pub fn take(&mut self, message: Message) -> Next {
        let mut next = Next::Go;
        for command in update::update(&mut self.state, message) {
            match command {
                Command::Ask(ask) => self.send(ask),
                Command::Remove(file) => editor::remove(&file),
                Command::Clear => next = Next::Clear,
                Command::Edit(stored) => next = self.begin_edit(stored),
                Command::Open(draft) => next = Next::Edit(draft),
                Command::Quit => return Next::Quit,
            }
        }
        next
    }

    /// Starts an edit. If there is an unsaved one, first asks whether to continue it.
    fn begin_edit(&mut self, stored: Draft) -> Next {
        match editor::unsaved(&self.folder, &stored.id) {
            Some((revision, file)) => self.take(Message::Unsaved { stored, revision, file }),
            None => Next::Edit(stored),
        }
    }

    fn send(&mut self, ask: Ask) {
        if let Err(error) = self.questions.try_send(ask) {
            // It is asked again on the next connection, as if this one had been lost.
            tracing::debug!(%error, "a request was not sent");
        }
    }

    /// The daemon's next message, or a change of the connection.
    pub async fn next_message(&mut self) -> Option<Message> {
        self.messages.recv().await
    }

    /// The next message, if one has already arrived.
    fn ready_message(&mut self) -> Option<Message> {
        self.messages.try_recv().ok()
    }

    /// Whether a request for which a person waits is unanswered.
    pub fn is_waiting(&self) -> bool {
        self.state.asks.is_any_waiting() || !matches!(self.state.link, super::state::Link::Up { .. })
    }

    /// The message for a tick.
    pub fn tick(&self) -> Message {
        Message::Tick((self.clock)())
    }

    pub fn draw(&self, frame: &mut Frame<'_>) {
        draw::draw(&self.state, frame);
    }
}

/// The message for a terminal event.
pub fn message_of(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) => Some(Message::Key(key)),
        Event::Paste(text) => Some(Message::Paste(text)),
        Event::Resize(..) => Some(Message::Redraw),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

/// Shows the screens on this process's terminal until the person quits. If the terminal fails, it is restored anyway.
pub async fn run(home: Home, options: Options) -> io::Result<()> {
    let mut signals = Signals::watch()?;
    let mut app = App::new(home, options);
    let mut screen = Screen::take()?;
    let mut events = Events::read();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        screen.terminal.draw(|frame| app.draw(frame))?;
        let message = tokio::select! {
            event = events.receiver.recv() => match event {
                Some(event) => message_of(event?),
                // The terminal is gone.
                None => return Ok(()),
            },
            message = app.next_message() => message,
            _ = ticks.tick() => Some(app.tick()),
            () = signals.come() => return Ok(()),
        };
        let mut next = message.map_or(Next::Go, |message| app.take(message));
        // Events in the queue are processed before the screen is drawn, so that fast keys do not pile up.
        for _ in 0..BATCH_MAX {
            if next != Next::Go {
                break;
            }
            let waiting = app.ready_message().or_else(|| events.typed_already());
            let Some(message) = waiting else { break };
            next = app.take(message);
        }
        match next {
            Next::Go => {}
            Next::Clear => screen.clear()?,
            Next::Quit => return Ok(()),
            Next::Edit(draft) => {
                // The reader of events must not take keys that are meant for the editor.
                events.stop().await;
                screen.lend();
                let edited = tokio::task::block_in_place(|| editor::edit(&app.folder, draft));
                signals.forget_interrupt()?;
                screen.take_again()?;
                events = Events::read();
                app.take(Message::Edited(edited));
            }
        }
    }
}

/// The terminal's events, which a task of its own reads. The stream wakes only the first task that waits for it, so
/// there must be no second reader.
struct Events {
    receiver: Receiver<io::Result<Event>>,
    reader: JoinHandle<()>,
}

impl Events {
    fn read() -> Self {
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
        let reader = tokio::spawn(async move {
            let mut stream = EventStream::new();
            while let Some(event) = stream.next().await {
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        });
        Self { receiver, reader }
    }

    /// The next event, if one has already arrived.
    fn typed_already(&mut self) -> Option<Message> {
        self.receiver.try_recv().ok()?.ok().and_then(message_of)
    }

    /// Stops reading before another program gets the terminal.
    async fn stop(self) {
        self.reader.abort();
        // The task was cancelled, so its result is an error.
        let _ = self.reader.await;
    }
}
