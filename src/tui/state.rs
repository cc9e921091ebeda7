//! The state of the screens, and the messages and commands.

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
use super::scrolled::{Cursor, Scroll};
use super::sessions::Sessions;
use super::theme::Theme;
use super::works::Works;
use crate::answer::projects::Project;
use crate::daemon::client::Refusal;

/// Ticks for which a notice stays.
const NOTICE_TICKS: u64 = 24;

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

/// An event for the screens.
#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Paste(String),
    /// The size of the terminal changed, or its content was lost.
    Redraw,
    Tick(Timestamp),
    Link(Link),
    /// The answer to a request: the structured half, or why there is none.
    Answer {
        slot: Slot,
        number: u64,
        outcome: Result<Value, Refusal>,
    },
    /// The connection was lost before a request was answered.
    Lost {
        slot: Slot,
        number: u64,
    },
    /// An edit should start, but there is an unsaved text of an earlier one.
    Unsaved {
        stored: Draft,
        /// The revision from which the earlier edit started.
        revision: u64,
        file: String,
    },
    /// The result of an edit, and the file with the text; `None` if nothing was changed.
    Edited(Result<Option<(Draft, String)>, String>),
}

/// A consequence of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Ask(Ask),
    /// Start an edit, or continue an unsaved one if the person wants to.
    Edit(Draft),
    /// Open a text in the person's editor.
    Open(Draft),
    /// Remove the file of an edit, because its text is stored.
    Remove(String),
    /// Draw everything again.
    Clear,
    Quit,
}

/// A memory's text during an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub id: String,
    /// The revision on which it is based.
    pub revision: u64,
    pub title: String,
    pub kind: String,
    pub tags: Vec<String>,
    pub content: String,
    /// The file with an unsaved text to continue; `None` creates a new one.
    pub file: Option<String>,
}

/// A short message about an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub words: String,
    pub bad: bool,
    until: u64,
}

/// An overlay. It gets the keys.
#[derive(Debug)]
pub enum Overlay {
    Help(Scroll),
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
    /// The items, each with a note. The first one stands for no choice.
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

/// The effect of a yes.
#[derive(Debug, Clone)]
pub enum Then {
    Delete(String),
    /// Saves a draft over a revision that another client wrote meanwhile. After a no, the file still has the text.
    Overwrite(Draft, String),
    /// Continues an earlier edit that was not saved. After a no, the edit starts from the stored text.
    GoOn {
        stored: Draft,
        revision: u64,
        file: String,
    },
}

/// The state of all screens.
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
    /// The chosen project; `None` means all.
    pub project: Option<String>,
    /// All projects, the largest first.
    pub projects: Vec<Project>,
    /// The tick of a change by another client, until the data is read again.
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
    /// The state at the start: the first screen, not connected.
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

    /// Shows a notice for a while. It does not cover a failure of the same moment.
    pub fn notify(&mut self, words: impl Into<String>) {
        let is_new = |notice: &Notice| notice.until == self.ticks + NOTICE_TICKS;
        if self.notice.as_ref().is_some_and(|notice| notice.bad && is_new(notice)) {
            return;
        }
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

    /// Requests a change. If there is no connection, shows a notice.
    pub fn change(&mut self, operation: Operation, arguments: Value) {
        if !self.asks.ask(Slot::Change, operation, arguments) {
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

    /// The name of the chosen project, or a text for all.
    pub fn project_name(&self) -> &str {
        self.project.as_deref().unwrap_or("all projects")
    }
}
