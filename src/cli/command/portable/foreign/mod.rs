//! The stores of other memory tools, read as lines of our own export.
//!
//! Ids are derived from the other tool's, so a repeated import has no further effect. The daemon checks, bounds and
//! redacts the lines like those of any other import.

mod claude_mem;
mod engram;
mod server_memory;
mod sqlite;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::platform;
use cerebro_core::domain::limits::{TAG_CHARS_MAX, TAGS_MAX, TITLE_CHARS_MAX};
use cerebro_core::domain::{Kind, MemoryId, Project, SessionId};
use cerebro_core::{named, text};

named! {
    /// A program whose memory can be imported.
    #[derive(ValueEnum)]
    pub enum Source {
        /// engram: its SQLite file, `~/.engram/engram.db`
        Engram = "engram",
        /// @modelcontextprotocol/server-memory: its JSON Lines file, `memory.json` or `memory.jsonl`
        ServerMemory = "server-memory",
        /// claude-mem: its SQLite file, `~/.claude-mem/claude-mem.db`
        ClaudeMem = "claude-mem",
    }
}

impl Source {
    /// Where its file is below a user's home folder, if there is one usual place.
    pub fn usual_place(self) -> Option<&'static str> {
        match self {
            Self::Engram => Some(".engram/engram.db"),
            Self::ServerMemory => None,
            Self::ClaudeMem => Some(".claude-mem/claude-mem.db"),
        }
    }

    /// Reads everything in the file. Fails if the file is not of this program; entries that cannot be read are in
    /// [`Harvest::skipped`].
    pub fn read(self, path: &Path, project: &Project) -> Result<Harvest, ForeignError> {
        match self {
            Self::Engram => engram::read(path, project),
            Self::ServerMemory => server_memory::read(path, project),
            Self::ClaudeMem => claude_mem::read(path, project),
        }
    }
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file system refuses.
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// It is no database, or a broken one.
    #[error("cannot read {path}: {source}")]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    /// It is something else.
    #[error("{path} is not a memory of {program}: {reason}")]
    Other { path: PathBuf, program: &'static str, reason: String },
}

/// Opens a file of another program. A pipe is refused, because reading from it may wait for ever.
fn open(path: &Path) -> Result<File, ForeignError> {
    let opened = platform::open_without_waiting(path).and_then(|file| {
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
    });
    opened.map_err(|source| ForeignError::Io { path: path.to_path_buf(), source })
}

/// What a line of an export is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineKind {
    Session,
    Memory,
    Prompt,
    /// From a memory to the session that wrote it.
    Edge,
}

/// A line of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub kind: LineKind,
    /// The id of its subject; for an edge, that of the memory.
    pub id: String,
    pub json: Value,
}

/// One entry of the other store.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What the other program calls it.
    pub name: String,
    /// The line that it becomes.
    pub line: Line,
}

/// What a file holds.
#[derive(Debug, Default)]
pub struct Harvest {
    /// In the order in which they must be imported: sessions, memories, prompts, edges.
    pub items: Vec<Item>,
    /// The edges of the memories so far.
    edges: Vec<Item>,
    /// What could not be read, and why.
    pub skipped: Vec<(String, String)>,
}

impl Harvest {
    fn add(&mut self, name: impl Into<String>, line: Line) {
        self.items.push(Item { name: name.into(), line });
    }

    /// Adds a memory and its edge, or why it cannot be read.
    fn add_memory(&mut self, name: String, read: Result<MemoryFacts, String>) {
        match read {
            Ok(memory) => {
                self.edges.extend(memory.edge().map(|line| Item { name: name.clone(), line }));
                self.add(name, memory.line());
            }
            Err(why) => self.skipped.push((name, why)),
        }
    }

    /// Everything, with the edges at the end.
    fn finish(mut self) -> Self {
        self.items.append(&mut self.edges);
        self
    }
}

/// An id derived from another program's.
fn id_of(source: Source, kind: &str, key: &str) -> String {
    let digest = Sha256::digest(format!("{}\u{1f}{kind}\u{1f}{key}", source.as_str()));
    MemoryId::of_digest(&digest.into()).as_str().to_owned()
}

/// A session of another program.
struct SessionFacts {
    id: SessionId,
    project: Project,
    agent: String,
    directory: Option<String>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    summary: Option<String>,
}

impl SessionFacts {
    fn line(&self) -> Line {
        let mut json = json!({
            "kind": "session", "id": self.id.as_str(), "project": self.project.as_str(), "agent": self.agent,
            "started_at": self.started_at, "seen_at": self.ended_at.unwrap_or(self.started_at),
            // Sessions of another program cannot continue, so all of them have ended.
            "ended_at": self.ended_at.unwrap_or(self.started_at), "end_reason": "ended",
        });
        set(&mut json, "directory", self.directory.clone());
        set(&mut json, "summary", self.summary.clone().filter(|summary| !summary.trim().is_empty()));
        Line { kind: LineKind::Session, id: self.id.as_str().to_owned(), json }
    }
}

/// A memory of another program.
struct MemoryFacts {
    id: String,
    /// Empty for a personal one.
    project: Option<Project>,
    kind: String,
    title: String,
    content: String,
    topic_key: Option<String>,
    tags: Vec<String>,
    agent: String,
    session: Option<SessionId>,
    created_at: Timestamp,
    updated_at: Timestamp,
    deleted_at: Option<Timestamp>,
}

impl MemoryFacts {
    fn line(&self) -> Line {
        let title = text::one_line(&self.title);
        let title = if title.is_empty() { text::one_line(first_line(&self.content)) } else { title };
        let tags: Vec<String> = self
            .tags
            .iter()
            .map(|tag| text::cut_chars(&text::one_line(tag), TAG_CHARS_MAX).into_owned())
            .filter(|tag| !tag.is_empty())
            .take(TAGS_MAX)
            .collect();
        let kind = Kind::parse(&self.kind).unwrap_or_else(Kind::manual);
        let mut json = json!({
            "kind": "memory", "id": self.id, "project": self.project.as_ref().map_or("", Project::as_str),
            "scope": if self.project.is_some() { "project" } else { "personal" }, "type": kind.to_string(),
            "title": text::cut_chars(&title, TITLE_CHARS_MAX), "content": self.content, "tags": tags,
            "agent": self.agent, "revision": 1, "duplicate_count": 0, "created_at": self.created_at,
            "updated_at": self.updated_at, "last_seen_at": self.updated_at,
        });
        set(&mut json, "topic_key", self.topic_key.clone().filter(|key| !key.trim().is_empty()));
        set(&mut json, "session", self.session.as_ref().map(|id| id.as_str().to_owned()));
        set(&mut json, "deleted_at", self.deleted_at.map(|at| at.to_string()));
        Line { kind: LineKind::Memory, id: self.id.clone(), json }
    }

    /// The edge to the session that wrote it.
    fn edge(&self) -> Option<Line> {
        let session = self.session.as_ref()?;
        let json = json!({
            "kind": "edge", "name": "CREATED_IN", "from": self.id, "to": session.as_str(), "at": self.created_at,
        });
        Some(Line { kind: LineKind::Edge, id: self.id.clone(), json })
    }
}

/// A prompt of another program.
struct PromptFacts<'a> {
    id: String,
    session: &'a SessionId,
    project: &'a Project,
    agent: &'a str,
    content: &'a str,
    at: Timestamp,
}

impl PromptFacts<'_> {
    fn line(self) -> Line {
        let Self { id, session, project, agent, content, at } = self;
        let json = json!({
            "kind": "prompt", "id": id, "session": session.as_str(), "project": project.as_str(), "agent": agent,
            "content": content, "created_at": at, "last_seen_at": at,
        });
        Line { kind: LineKind::Prompt, id, json }
    }
}

fn set(line: &mut Value, name: &str, value: Option<String>) {
    if let Some(value) = value {
        line[name] = Value::String(value);
    }
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_the_other_ones() {
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..500 {
            let id = id_of(Source::Engram, "observation", &n.to_string());
            assert!(MemoryId::parse(&id).is_ok(), "{id}");
            assert_eq!(id, id_of(Source::Engram, "observation", &n.to_string()));
            assert_ne!(id, id_of(Source::ClaudeMem, "observation", &n.to_string()));
            assert!(seen.insert(id));
        }
    }
}
