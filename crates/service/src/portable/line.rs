//! The lines of an export: what each kind holds, and its way to and from the domain.

use serde::{Deserialize, Serialize};

use crate::{
    ServiceError,
    distil::CandidateLine,
    documents::{ChunkLine, DocumentLine},
    fields::Fields,
    history::{ExchangeLine, HistoryTombstoneLine, PastSessionLine},
    work::export::{ArtifactLine, WorkEventLine, WorkLine},
};
use cerebro_core::domain::{
    EndReason, Kind, Memory, MemoryId, Nature, Origin, Project, Prompt, PromptId, Revision, Scope, Session,
    SessionId, Timestamp, Trigger, Validity,
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
    started_at: Timestamp,
    seen_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<String>,
}

/// What a memory and its revisions have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Body {
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

/// The texts of a [`Body`], redacted.
#[derive(Default)]
struct Texts {
    title: RedactedText,
    content: RedactedText,
    topic_key: Option<RedactedText>,
    tags: Vec<RedactedText>,
    agent: RedactedText,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MemoryLine {
    id: String,
    #[serde(flatten)]
    body: Body,
    revision: u32,
    duplicate_count: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    purged: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    last_seen_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archived_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RevisionLine {
    memory: String,
    revision: u32,
    #[serde(flatten)]
    body: Body,
    at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PromptLine {
    id: String,
    session: String,
    project: String,
    agent: String,
    content: String,
    created_at: Timestamp,
    last_seen_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EdgeLine {
    pub name: String,
    pub from: String,
    pub to: String,
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
            project: project(&line.project)?,
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
            body: Body {
                project: memory.project.to_string(),
                scope: memory.scope.as_str().to_owned(),
                memory_type: memory.kind.to_string(),
                title: memory.title.to_string(),
                content: memory.content.to_string(),
                topic_key: memory.topic_key.clone().map(String::from),
                tags: memory.tags.iter().map(ToString::to_string).collect(),
                agent: memory.agent.to_string(),
                session: memory.session.as_ref().map(owned),
                valid_from: memory.valid.from,
                valid_until: memory.valid.until,
            },
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
        let body = line.body;
        let texts = if line.purged { body.emptied(line.deleted_at)? } else { body.checked()? };
        let (project, scope) = body.place()?;
        Ok(Self {
            id: memory_id(&line.id)?,
            project,
            scope,
            kind: kind(&body.memory_type)?,
            taint: taint::of(&texts.title, &texts.content, Origin::Import),
            valid: Validity { from: body.valid_from, until: body.valid_until },
            session: body.session.map(|id| session_id(&id)).transpose()?,
            title: texts.title,
            content: texts.content,
            topic_key: texts.topic_key,
            tags: texts.tags,
            agent: texts.agent,
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

impl Body {
    /// Where it belongs. What is personal belongs to no project, whatever the line says.
    fn place(&self) -> Result<(Project, Scope), String> {
        let scope = scope(&self.scope)?;
        let project = project(&self.project)?;
        Ok((if scope == Scope::Personal { Project::none() } else { project }, scope))
    }

    /// The texts of a purged memory, which has none, and is deleted.
    fn emptied(&self, deleted_at: Option<Timestamp>) -> Result<Texts, String> {
        let is_empty = self.title.is_empty() && self.content.is_empty() && self.tags.is_empty();
        if !is_empty || self.topic_key.is_some() || deleted_at.is_none() {
            return Err("a purged memory has no text, and the time when it was deleted".to_owned());
        }
        Ok(Texts { agent: Fields::default().agent(&self.agent), ..Texts::default() })
    }

    /// The texts, redacted and within the contract's bounds.
    fn checked(&self) -> Result<Texts, String> {
        let mut fields = Fields::default();
        let mut texts = || -> Result<Texts, ServiceError> {
            Ok(Texts {
                agent: fields.agent(&self.agent),
                title: fields.title(&self.title)?,
                content: fields.content(&self.content)?,
                topic_key: self.topic_key.as_deref().map(|key| fields.topic_key(key)).transpose()?.flatten(),
                tags: fields.tags(&self.tags)?,
            })
        };
        texts().map_err(|error| error.to_string())
    }
}

impl From<&Revision> for RevisionLine {
    fn from(revision: &Revision) -> Self {
        Self {
            memory: revision.memory.to_string(),
            revision: revision.revision,
            body: Body {
                project: revision.project.to_string(),
                scope: revision.scope.as_str().to_owned(),
                memory_type: revision.kind.to_string(),
                title: revision.title.to_string(),
                content: revision.content.to_string(),
                topic_key: revision.topic_key.clone().map(String::from),
                tags: revision.tags.iter().map(ToString::to_string).collect(),
                agent: revision.agent.to_string(),
                session: revision.session.as_ref().map(owned),
                valid_from: revision.valid.from,
                valid_until: revision.valid.until,
            },
            at: revision.at,
        }
    }
}

impl TryFrom<RevisionLine> for Revision {
    type Error = String;

    fn try_from(line: RevisionLine) -> Result<Self, String> {
        let body = line.body;
        let texts = body.checked()?;
        let (project, scope) = body.place()?;
        Ok(Self {
            memory: memory_id(&line.memory)?,
            revision: number(line.revision)?,
            project,
            scope,
            kind: kind(&body.memory_type)?,
            origin: Origin::Import,
            valid: Validity { from: body.valid_from, until: body.valid_until },
            session: body.session.map(|id| session_id(&id)).transpose()?,
            title: texts.title,
            content: texts.content,
            topic_key: texts.topic_key,
            tags: texts.tags,
            agent: texts.agent,
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
            project: project(&line.project)?,
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
        Self { name: edge.table.name().to_owned(), from, to, at: edge.at, by: None }
    }
}

impl From<&Supersession> for EdgeLine {
    fn from(edge: &Supersession) -> Self {
        let (from, to) = (edge.newer.to_string(), edge.older.to_string());
        let (name, by) = (Table::Supersedes.name().to_owned(), Some(edge.by.clone()));
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

fn project(text: &str) -> Result<Project, String> {
    if text.is_empty() {
        return Ok(Project::none());
    }
    Project::parse(&redact_name(text)).ok_or_else(|| format!("`{}` is no project name", redact_secrets(text)))
}

/// The number of a revision. Beyond the bound there would be no room for later ones.
fn number(revision: u32) -> Result<u32, String> {
    if (1..=REVISION_MAX).contains(&revision) {
        return Ok(revision);
    }
    Err(format!("revision {revision}: they are numbered from 1, up to {REVISION_MAX}"))
}

fn scope(text: &str) -> Result<Scope, String> {
    Scope::parse(text).map_err(|error| format!("`{text}`: {error}"))
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
