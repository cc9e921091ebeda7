//! The lines of an export: what each kind holds, and its way to and from the domain.

use serde::{Deserialize, Serialize};

use crate::{
    ServiceError,
    distil::CandidateLine,
    documents::{ChunkLine, DocumentLine},
    fields::{Fields, project},
    history::{ExchangeLine, HistoryTombstoneLine, PastSessionLine},
    moment::{storable, storable_if_any},
    work::export::{ArtifactLine, WorkEventLine, WorkLine},
};
use cerebro_core::domain::{
    Body, EndReason, Kind, Memory, MemoryId, Nature, Origin, Project, Prompt, PromptId, Revision, ScopeName,
    Session, SessionId, Timestamp, Trigger, Validity,
};
use cerebro_core::redact::{RedactedText, redact_name, redact_secrets};
use cerebro_core::taint;
use cerebro_store::{Edge, Supersession, Table};

/// The highest number of a revision that is taken in: half of the numbers are left for what comes after it.
const REVISION_MAX: u32 = u32::MAX / 2;
/// One line of an export. Absent fields have their empty value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    Header { format: String, version: u32 },
    Session(SessionLine),
    Memory(MemoryLine),
    Revision(RevisionLine),
    Prompt(PromptLine),
    Edge(EdgeLine),
    HistoryTombstone(HistoryTombstoneLine),
    PastSession(PastSessionLine),
    Exchange(ExchangeLine),
    Candidate(CandidateLine),
    Work(WorkLine),
    WorkEvent(WorkEventLine),
    Artifact(ArtifactLine),
    Document(DocumentLine),
    Chunk(ChunkLine),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionLine {
    id: String,
    project: String,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(deserialize_with = "storable")]
    started_at: Timestamp,
    #[serde(deserialize_with = "storable")]
    seen_at: Timestamp,
    #[serde(default, deserialize_with = "storable_if_any", skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<String>,
}

/// What a memory and its revisions have in common: a [`Body`], who wrote it, and when it is so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TextLine {
    project: String,
    scope: String,
    #[serde(rename = "type")]
    memory_type: String,
    title: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic_key: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MemoryLine {
    id: String,
    #[serde(flatten)]
    text: TextLine,
    revision: u32,
    duplicate_count: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    purged: bool,
    #[serde(deserialize_with = "storable")]
    created_at: Timestamp,
    #[serde(deserialize_with = "storable")]
    updated_at: Timestamp,
    #[serde(deserialize_with = "storable")]
    last_seen_at: Timestamp,
    #[serde(default, deserialize_with = "storable_if_any", skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<String>,
    #[serde(default, deserialize_with = "storable_if_any", skip_serializing_if = "Option::is_none")]
    done_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "storable_if_any", skip_serializing_if = "Option::is_none")]
    archived_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RevisionLine {
    memory: String,
    revision: u32,
    #[serde(flatten)]
    text: TextLine,
    #[serde(deserialize_with = "storable")]
    at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PromptLine {
    id: String,
    session: String,
    project: String,
    agent: String,
    content: String,
    #[serde(deserialize_with = "storable")]
    created_at: Timestamp,
    #[serde(deserialize_with = "storable")]
    last_seen_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EdgeLine {
    pub name: String,
    pub from: String,
    pub to: String,
    #[serde(deserialize_with = "storable")]
    pub at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

fn owned(id: &SessionId) -> String {
    id.as_str().to_owned()
}

impl From<&Session> for SessionLine {
    fn from(session: &Session) -> Self {
        Self {
            id: owned(&session.id),
            project: session.project.to_string(),
            agent: session.agent.to_string(),
            directory: session.directory.clone().map(String::from),
            started_at: session.started_at,
            seen_at: session.seen_at,
            ended_at: session.ended_at,
            end_reason: session.end_reason.map(|reason| reason.as_str().to_owned()),
            summary: session.summary.clone().map(String::from),
            follows: session.follows.as_ref().map(owned),
        }
    }
}

impl TryFrom<SessionLine> for Session {
    type Error = String;

    fn try_from(line: SessionLine) -> Result<Self, String> {
        let mut fields = Fields::default();
        Ok(Self {
            id: session_id(&line.id)?,
            project: allowed_project(&line.project)?,
            agent: fields.agent(&line.agent),
            directory: line.directory.map(|path| fields.directory(&path)),
            started_at: line.started_at,
            seen_at: line.seen_at,
            ended_at: line.ended_at,
            end_reason: line.end_reason.as_deref().and_then(EndReason::parse),
            summary: line
                .summary
                .map(|summary| fields.content(&summary))
                .transpose()
                .map_err(|error| error.to_string())?,
            follows: line.follows.map(|id| session_id(&id)).transpose()?,
            home: None,
            version: 0,
        })
    }
}

impl From<&Memory> for MemoryLine {
    fn from(memory: &Memory) -> Self {
        Self {
            id: memory.id.to_string(),
            text: TextLine::of(&memory.body, &memory.agent, memory.session.as_ref(), memory.valid),
            revision: memory.revision,
            duplicate_count: memory.duplicate_count,
            pinned: memory.pinned,
            purged: memory.purged,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            last_seen_at: memory.last_seen_at,
            deleted_at: memory.deleted_at,
            nature: memory.nature.map(|nature| nature.as_str().to_owned()),
            trigger: memory.trigger.as_ref().map(ToString::to_string),
            done_at: memory.done_at,
            archived_at: memory.archived_at,
        }
    }
}

impl TryFrom<MemoryLine> for Memory {
    type Error = String;

    fn try_from(line: MemoryLine) -> Result<Self, String> {
        let body = if line.purged { line.text.emptied(line.deleted_at)? } else { line.text.checked()? };
        Ok(Self {
            id: memory_id(&line.id)?,
            taint: taint::of(&body.title, &body.content, Origin::Import),
            body,
            valid: line.text.valid(),
            session: line.text.session()?,
            agent: line.text.agent(),
            revision: number(line.revision)?,
            duplicate_count: line.duplicate_count,
            pinned: line.pinned,
            created_at: line.created_at,
            updated_at: line.updated_at,
            last_seen_at: line.last_seen_at,
            deleted_at: line.deleted_at,
            purged: line.purged,
            nature: line.nature.as_deref().map(nature).transpose()?,
            trigger: line.trigger.as_deref().map(trigger).transpose()?.flatten(),
            done_at: line.done_at,
            archived_at: line.archived_at,
            version: 0,
        })
    }
}

impl TextLine {
    fn of(body: &Body, agent: &RedactedText, session: Option<&SessionId>, valid: Validity) -> Self {
        Self {
            project: body.scope.project_name().to_owned(),
            scope: body.scope.name().as_str().to_owned(),
            memory_type: body.kind.to_string(),
            title: body.title.to_string(),
            content: body.content.to_string(),
            topic_key: body.topic_key.clone().map(String::from),
            tags: body.tags.iter().map(ToString::to_string).collect(),
            agent: agent.to_string(),
            session: session.map(owned),
            valid_from: valid.from,
            valid_until: valid.until,
        }
    }

    /// The body of a purged memory, which has no text, and is deleted.
    fn emptied(&self, deleted_at: Option<Timestamp>) -> Result<Body, String> {
        let is_empty = self.title.is_empty() && self.content.is_empty() && self.tags.is_empty();
        if !is_empty || self.topic_key.is_some() || deleted_at.is_none() {
            return Err("a purged memory has no text, and the time when it was deleted".to_owned());
        }
        self.body(|_| Ok((RedactedText::default(), RedactedText::default(), None, Vec::new())))
    }

    /// The body, redacted and within the contract's bounds.
    fn checked(&self) -> Result<Body, String> {
        self.body(|fields| {
            Ok((
                fields.title(&self.title)?,
                fields.content(&self.content)?,
                self.topic_key.as_deref().map(|key| fields.topic_key(key)).transpose()?.flatten(),
                fields.tags(&self.tags)?,
            ))
        })
    }

    /// What is personal belongs to no project, whatever the line says.
    fn body(&self, texts: impl FnOnce(&mut Fields) -> Result<Texts, ServiceError>) -> Result<Body, String> {
        let texts = texts(&mut Fields::default()).map_err(|error| error.to_string())?;
        let (title, content, topic_key, tags) = texts;
        let scope = scope(&self.scope)?.of(allowed_project(&self.project)?);
        Ok(Body { scope, kind: kind(&self.memory_type)?, title, content, topic_key, tags })
    }

    fn agent(&self) -> RedactedText {
        Fields::default().agent(&self.agent)
    }

    fn session(&self) -> Result<Option<SessionId>, String> {
        self.session.as_deref().map(session_id).transpose()
    }

    fn valid(&self) -> Validity {
        Validity::new(self.valid_from, self.valid_until)
    }
}

/// Title, content, topic key and tags, redacted.
type Texts = (RedactedText, RedactedText, Option<RedactedText>, Vec<RedactedText>);

impl From<&Revision> for RevisionLine {
    fn from(revision: &Revision) -> Self {
        Self {
            memory: revision.memory.to_string(),
            revision: revision.revision,
            text: TextLine::of(&revision.body, &revision.agent, revision.session.as_ref(), revision.valid),
            at: revision.at,
        }
    }
}

impl TryFrom<RevisionLine> for Revision {
    type Error = String;

    fn try_from(line: RevisionLine) -> Result<Self, String> {
        Ok(Self {
            memory: memory_id(&line.memory)?,
            revision: number(line.revision)?,
            body: line.text.checked()?,
            origin: Origin::Import,
            valid: line.text.valid(),
            session: line.text.session()?,
            agent: line.text.agent(),
            at: line.at,
        })
    }
}

impl From<&Prompt> for PromptLine {
    fn from(prompt: &Prompt) -> Self {
        Self {
            id: prompt.id.to_string(),
            session: owned(&prompt.session),
            project: prompt.project.to_string(),
            agent: prompt.agent.to_string(),
            content: prompt.content.to_string(),
            created_at: prompt.created_at,
            last_seen_at: prompt.last_seen_at,
        }
    }
}

impl TryFrom<PromptLine> for Prompt {
    type Error = String;

    fn try_from(line: PromptLine) -> Result<Self, String> {
        let mut fields = Fields::default();
        Ok(Self {
            id: PromptId::parse(&line.id).map_err(|error| format!("prompt `{}`: {error}", line.id))?,
            session: session_id(&line.session)?,
            project: allowed_project(&line.project)?,
            agent: fields.agent(&line.agent),
            content: fields.content(&line.content).map_err(|error| error.to_string())?,
            created_at: line.created_at,
            last_seen_at: line.last_seen_at,
        })
    }
}

impl From<&Edge> for EdgeLine {
    fn from(edge: &Edge) -> Self {
        let (from, to) = (edge.from.clone(), edge.to.clone());
        Self { name: edge.table.as_str().to_owned(), from, to, at: edge.at, by: None }
    }
}

impl From<&Supersession> for EdgeLine {
    fn from(edge: &Supersession) -> Self {
        let (from, to) = (edge.newer.to_string(), edge.older.to_string());
        let (name, by) = (Table::Supersedes.as_str().to_owned(), Some(edge.by.clone()));
        Self { name, from, to, at: edge.at, by }
    }
}

pub(super) fn session_id(text: &str) -> Result<SessionId, String> {
    let text = redact_secrets(text);
    SessionId::parse(&text).map_err(|error| format!("session `{text}`: {error}"))
}

fn memory_id(text: &str) -> Result<MemoryId, String> {
    MemoryId::parse(text).map_err(|error| format!("memory `{text}`: {error}"))
}

/// The same under a name that it may have: another program knows no reserved names.
fn allowed_project(text: &str) -> Result<Project, String> {
    project(text).map(Project::renamed_if_reserved)
}

/// The number of a revision. Beyond the bound there would be no room for later ones.
fn number(revision: u32) -> Result<u32, String> {
    if (1..=REVISION_MAX).contains(&revision) {
        return Ok(revision);
    }
    Err(format!("revision {revision}: they are numbered from 1, up to {REVISION_MAX}"))
}

fn scope(text: &str) -> Result<ScopeName, String> {
    ScopeName::parse(text).map_err(|error| format!("`{text}`: {error}"))
}

fn nature(text: &str) -> Result<Nature, String> {
    Nature::parse(text).ok_or_else(|| format!("`{}` is no kind of memory", redact_secrets(text)))
}

fn trigger(text: &str) -> Result<Option<Trigger>, String> {
    Fields::default().trigger(text).map_err(|error| error.to_string())
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::parse(&redact_name(text)).ok_or_else(|| format!("`{}` is no type", redact_secrets(text)))
}
