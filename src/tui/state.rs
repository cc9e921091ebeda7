//! The state of the screens, and the messages and commands around it.

use cerebro_core::operation::Operation;
use crossterm::event::KeyEvent;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::asks::{Ask, Asks, Slot};
use super::dashboard::Dashboard;
use super::distil::Inbox;
use super::graph::Graph;
use super::input::Input;
use super::live::Live;
use super::memories::Memories;
use super::scrolled::Cursor;
use super::sessions::Sessions;
use super::theme::Theme;
use super::works::Works;
use crate::daemon::client::Refusal;

/// Ticks for which a notice stays.
const NOTICE_TICKS: u64 = 24;

/// One of the screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Screen {
    #[default]
    Dashboard,
    Memories,
    Sessions,
    Live,
    Graph,
    Work,
    Inbox,
}

impl Screen {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Dashboard, Self::Memories, Self::Sessions, Self::Live, Self::Graph, Self::Work, Self::Inbox];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dashboard => "Dashboard",
            Self::Memories => "Memories",
            Self::Sessions => "Sessions",
            Self::Live => "Live",
            Self::Graph => "Graph",
            Self::Work => "Work",
            Self::Inbox => "Inbox",
        }
    }
}

/// The state of the connection to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Never connected yet.
    Connecting,
    /// Connected to this process.
    Up { pid: u32, version: String },
    /// Lost; why, if it is known.
    Down(String),
}

/// Something that happens to the screens.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Paste(String),
    /// The terminal changed its size, or its content was lost.
    Redraw,
    Tick(Timestamp),
    Link(Link),
    /// The answer to a question: the structured half, or why there is none.
    Answer {
        slot: Slot,
        number: u64,
        outcome: Result<Value, Refusal>,
    },
    /// The connection went away before a question was answered.
    Lost {
        slot: Slot,
        number: u64,
    },
    /// An edit is to begin, and the text of an earlier one is there that was not saved.
    Unsaved {
        stored: Draft,
        /// The revision that the earlier one began with.
        revision: u64,
        file: String,
    },
    /// The result of an edit, and the file with the text; no draft when nothing was changed.
    Edited(Result<Option<(Draft, String)>, String>),
}

/// A consequence of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Ask(Ask),
    /// Begin an edit: go on with an unsaved one if the person wants to.
    Edit(Draft),
    /// Open a text in the person's editor.
    Open(Draft),
    /// The text of an edit is stored: its file can be removed.
    Remove(String),
    /// Draw everything again.
    Clear,
    Quit,
}

/// A memory's text as it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub id: String,
    /// The revision it was made from.
    pub revision: u64,
    pub title: String,
    pub kind: String,
    pub tags: Vec<String>,
    pub content: String,
    /// The file with the unsaved text to go on with; a new one is made otherwise.
    pub file: Option<String>,
}

/// A short notice about what was just done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub words: String,
    pub bad: bool,
    until: u64,
}

/// An overlay, which gets the keys.
#[derive(Debug)]
pub enum Overlay {
    Help,
    Pick(Picker),
    Confirm(Confirm),
}

/// What is chosen from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picked {
    Project,
    Kind,
}

/// A list to choose from by typing.
#[derive(Debug)]
pub struct Picker {
    pub what: Picked,
    pub title: &'static str,
    /// What can be chosen, and a word about it. The first stands for no choice.
    pub items: Vec<(String, String)>,
    pub input: Input,
    pub cursor: Cursor,
}

impl Picker {
    /// The items that fit what was typed.
    pub fn found(&self) -> Vec<&(String, String)> {
        let typed = self.input.text().to_lowercase();
        self.items.iter().filter(|(name, _)| name.to_lowercase().contains(typed.trim())).collect()
    }
}

/// A question with yes and no.
#[derive(Debug)]
pub struct Confirm {
    pub question: String,
    pub detail: String,
    pub then: Then,
}

/// What a yes does.
#[derive(Debug, Clone)]
pub enum Then {
    Delete(String),
    /// Saves a draft over a revision that somebody made meanwhile; with no, the file keeps the text.
    Overwrite(Draft, String),
    /// Continues an earlier edit that was not saved; with no, starts from the stored text.
    GoOn {
        stored: Draft,
        revision: u64,
        file: String,
    },
}

/// Everything that is shown.
#[derive(Debug)]
pub struct State {
    pub theme: Theme,
    pub zone: TimeZone,
    pub now: Timestamp,
    pub ticks: u64,
    pub link: Link,
    pub screen: Screen,
    pub overlay: Option<Overlay>,
    pub notice: Option<Notice>,
    pub asks: Asks,
    pub commands: Vec<Command>,
    /// Only this project; all when `None`.
    pub project: Option<String>,
    /// The projects there are, with how many memories.
    pub projects: Vec<(String, u64)>,
    /// The tick at which somebody changed something, until it is read again.
    pub changed: Option<u64>,
    pub dashboard: Dashboard,
    pub memories: Memories,
    pub sessions: Sessions,
    pub live: Live,
    pub graph: Graph,
    pub works: Works,
    pub inbox: Inbox,
}

impl State {
    /// The first screen, not connected yet.
    pub fn new(theme: Theme, zone: TimeZone, now: Timestamp, project: Option<String>) -> Self {
        Self {
            theme,
            zone,
            now,
            ticks: 0,
            link: Link::Connecting,
            screen: Screen::default(),
            overlay: None,
            notice: None,
            asks: Asks::default(),
            commands: Vec::new(),
            project,
            projects: Vec::new(),
            changed: None,
            dashboard: Dashboard::default(),
            memories: Memories::default(),
            sessions: Sessions::default(),
            live: Live::default(),
            graph: Graph::default(),
            works: Works::default(),
            inbox: Inbox::default(),
        }
    }

    /// Shows a notice for a while.
    pub fn notify(&mut self, words: impl Into<String>) {
        self.notice = Some(Notice { words: words.into(), bad: false, until: self.ticks + NOTICE_TICKS });
    }

    /// Shows a failure for a while.
    pub fn complain(&mut self, words: &str) {
        let words = super::fit::clean_line(words);
        self.notice = Some(Notice { words, bad: true, until: self.ticks + NOTICE_TICKS });
    }

    /// Removes an expired notice.
    pub fn expire_notice(&mut self) {
        self.notice.take_if(|notice| notice.until < self.ticks);
    }

    /// Asks for a change; says so when there is no connection.
    pub fn change(&mut self, slot: Slot, operation: Operation, arguments: Value) {
        if !self.asks.ask(slot, operation, arguments) {
            self.complain("not connected: nothing was changed; try again when the daemon is back");
        }
    }

    /// The present filter by project, as arguments: `{"project": …}` or `{"all_projects": true}`.
    pub fn project_filter(&self) -> Value {
        match &self.project {
            Some(project) => serde_json::json!({ "project": project }),
            None => serde_json::json!({ "all_projects": true }),
        }
    }

    /// The place in words.
    pub fn project_name(&self) -> &str {
        self.project.as_deref().unwrap_or("all projects")
    }
}
