//! Export and import: everything that was remembered, as JSON Lines.
//!
//! The format is documented in `docs/export.md`. The event log is not part of it: it tells what happened
//! in one store, the import among it.

use serde::{Deserialize, Serialize};

use super::{Service, ServiceError, fields::Fields};
use cerebro_core::domain::{
    EndReason, Kind, Memory, MemoryId, Project, Prompt, PromptId, Revision, Scope, Session, SessionId,
    Timestamp,
};
use cerebro_core::redact::{RedactedText, redact_name, redact_secrets};
use cerebro_store::{Decision, Edge, Table, Write};

/// The version of the format.
const VERSION: u32 = 1;
/// Most rows that are read for one page of an export.
const PAGE_MAX: usize = 200;
/// The highest number of a revision that is taken in: half of the numbers are left for what comes after it.
const REVISION_MAX: u32 = u32::MAX / 2;
/// Most bytes of one page of an export, unless one line alone has more.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// One line of an export. Absent fields have their empty value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Header { format: String, version: u32 },
    Session(SessionLine),
    Memory(MemoryLine),
    Revision(RevisionLine),
    Prompt(PromptLine),
    Edge(EdgeLine),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SessionLine {
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
struct MemoryLine {
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
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RevisionLine {
    memory: String,
    revision: u32,
    #[serde(flatten)]
    body: Body,
    at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PromptLine {
    id: String,
    session: String,
    project: String,
    agent: String,
    content: String,
    created_at: Timestamp,
    last_seen_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct EdgeLine {
    name: String,
    from: String,
    to: String,
    at: Timestamp,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPage {
    /// JSON objects, one a line.
    pub lines: Vec<String>,
    /// What to ask for the next page with; `None` at the end.
    pub next: Option<String>,
    /// Told at the end: somebody wrote since the first page, so that the pages do not show one moment.
    pub is_torn: bool,
}

/// What became of imported lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines that brought something new.
    pub created: usize,
    /// Lines that were here already.
    pub unchanged: usize,
    /// Lines that were not taken: their number within the batch, and why.
    pub skipped: Vec<(usize, String)>,
}

/// The parts of an export, in the order in which an import needs them.
const PARTS: [Table; 6] =
    [Table::Session, Table::Memory, Table::Revision, Table::Prompt, Table::CreatedIn, Table::Follows];

impl Service {
    /// A page of everything. `cursor` is the last page's `next`; none begins. Each page is of its own moment.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a cursor that is none of ours.
    pub async fn export(&self, cursor: Option<&str>) -> Result<ExportPage, ServiceError> {
        let (mut part, begun, after) = match cursor {
            None => (0, self.events_so_far().await?, None),
            Some(cursor) => read_cursor(cursor).ok_or_else(|| {
                ServiceError::invalid("cursor", cursor, "it comes from no export; begin anew")
            })?,
        };
        let mut lines = Vec::new();
        if cursor.is_none() {
            lines.push(written(&Line::Header { format: "cerebro".to_owned(), version: VERSION }));
        }
        let rows = self.page(PARTS[part], after.as_deref()).await?;
        let whole = rows.len() < PAGE_MAX;
        let (mut bytes, mut last, found) = (0, None, rows.len());
        for (key, line) in rows {
            let line = written(&line);
            bytes += line.len();
            if last.is_some() && bytes > PAGE_BYTES_MAX {
                break;
            }
            lines.push(line);
            last = Some(key);
        }
        let taken = lines.len() - usize::from(cursor.is_none());
        let next = if whole && taken == found {
            part += 1;
            (part < PARTS.len()).then(|| format!("{part}:{begun}:"))
        } else {
            last.map(|last| format!("{part}:{begun}:{last}"))
        };
        let is_torn = next.is_none() && self.events_so_far().await? != begun;
        Ok(ExportPage { lines, next, is_torn })
    }

    /// How many events the logs of all writers hold: another number means that somebody wrote.
    async fn events_so_far(&self) -> Result<u64, ServiceError> {
        Ok(self.store().places().await?.0.values().sum())
    }

    async fn page(&self, table: Table, after: Option<&str>) -> Result<Vec<(String, Line)>, ServiceError> {
        fn lines<R>(rows: &[(String, R)], line: impl Fn(&R) -> Line) -> Vec<(String, Line)> {
            rows.iter().map(|(key, row)| (key.clone(), line(row))).collect()
        }
        let store = self.store();
        Ok(match table {
            Table::Session => {
                lines(&store.page_of_sessions(after, PAGE_MAX).await?, |row| Line::Session(row.into()))
            }
            Table::Memory => {
                lines(&store.page_of_memories(after, PAGE_MAX).await?, |row| Line::Memory(row.into()))
            }
            Table::Revision => {
                lines(&store.page_of_revisions(after, PAGE_MAX).await?, |row| Line::Revision(row.into()))
            }
            Table::Prompt => {
                lines(&store.page_of_prompts(after, PAGE_MAX).await?, |row| Line::Prompt(row.into()))
            }
            Table::CreatedIn | Table::Follows => {
                lines(&store.page_of_edges(table, after, PAGE_MAX).await?, |row| Line::Edge(row.into()))
            }
        })
    }

    /// Takes in a batch of lines, all in one transaction. What is here already stays as it is. With
    /// `dry_run` nothing is written: a line that needs one of an earlier batch is then refused.
    ///
    /// # Errors
    /// A failing store; a line that cannot be taken is named in the answer instead.
    pub async fn import(&self, lines: &[String], dry_run: bool) -> Result<Imported, ServiceError> {
        let import = Import { lines };
        if dry_run { self.store().dry_run(&import).await } else { self.store().transact(&import).await }
    }
}

/// A batch of lines of an export, all or nothing.
struct Import<'a> {
    lines: &'a [String],
}

impl Decision for Import<'_> {
    type Output = Imported;
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Imported, ServiceError> {
        let mut imported = Imported::default();
        for (number, line) in self.lines.iter().enumerate() {
            match take_line(write, line).await? {
                Taken::Created => imported.created += 1,
                Taken::Unchanged => imported.unchanged += 1,
                Taken::Skipped(why) => imported.skipped.push((number, why)),
            }
        }
        Ok(imported)
    }
}

fn written(line: &Line) -> String {
    serde_json::to_string(line).expect("a line has text keys and no floats")
}

/// The part, the events when the export began, and the row before the page.
fn read_cursor(cursor: &str) -> Option<(usize, u64, Option<String>)> {
    let mut fields = cursor.splitn(3, ':');
    let part: usize = fields.next()?.parse().ok().filter(|part| *part < PARTS.len())?;
    let begun = fields.next()?.parse().ok()?;
    let after = fields.next()?;
    Some((part, begun, (!after.is_empty()).then(|| after.to_owned())))
}

enum Taken {
    Created,
    Unchanged,
    Skipped(String),
}

async fn take_line(write: &mut Write<'_>, line: &str) -> Result<Taken, ServiceError> {
    let parsed = match serde_json::from_str::<Line>(line) {
        Ok(parsed) => parsed,
        Err(error) => {
            let why = redact_secrets(&error.to_string());
            return Ok(Taken::Skipped(format!("not a line of an export: {why}")));
        }
    };
    let taken = match parsed {
        Line::Header { format, version } if format == "cerebro" && version <= VERSION => Ok(Taken::Unchanged),
        Line::Header { format, version } => {
            Err(format!("format `{format}` version {version} is not known here"))
        }
        Line::Session(line) => session(write, line).await?,
        Line::Memory(line) => memory(write, line).await?,
        Line::Revision(line) => revision(write, line).await?,
        Line::Prompt(line) => prompt(write, line).await?,
        Line::Edge(line) => edge(write, line).await?,
    };
    // Why a line is not taken may quote it.
    Ok(taken.unwrap_or_else(|why| Taken::Skipped(redact_secrets(&why))))
}

type Taking = Result<Result<Taken, String>, ServiceError>;

async fn session(write: &mut Write<'_>, line: SessionLine) -> Taking {
    let session = match Session::try_from(line) {
        Ok(session) => session,
        Err(why) => return Ok(Err(why)),
    };
    if write.session(&session.id).await?.is_some() {
        return Ok(Ok(Taken::Unchanged));
    }
    write.import_session(&session);
    Ok(Ok(Taken::Created))
}

async fn memory(write: &mut Write<'_>, line: MemoryLine) -> Taking {
    let memory = match Memory::try_from(line) {
        Ok(memory) => memory,
        Err(why) => return Ok(Err(why)),
    };
    if let Some(present) = write.memory(&memory.id).await? {
        let same = Memory { version: present.version, ..memory.clone() } == present;
        let why =
            format!("memory `{}` is here already with another text or state; it stays as it is", memory.id);
        return Ok(if same { Ok(Taken::Unchanged) } else { Err(why) });
    }
    if let (true, Some(key)) = (memory.is_live(), &memory.topic_key)
        && let Some(holder) = write.topic_holder(&memory.project, memory.scope, key).await?
    {
        return Ok(Err(format!("topic key `{key}` of memory `{}` is held by `{}`", memory.id, holder.id)));
    }
    write.import_memory(&memory);
    Ok(Ok(Taken::Created))
}

async fn revision(write: &mut Write<'_>, line: RevisionLine) -> Taking {
    let revision = match Revision::try_from(line) {
        Ok(revision) => revision,
        Err(why) => return Ok(Err(why)),
    };
    let Some(owner) = write.memory(&revision.memory).await? else {
        return Ok(Err(format!("memory `{}` of the revision is not here", revision.memory)));
    };
    if write.has_revision(&revision.memory, revision.revision).await? {
        return Ok(Ok(Taken::Unchanged));
    }
    if revision.revision >= owner.revision || owner.purged {
        return Ok(Err(format!("memory `{}` has no place for revision {}", owner.id, revision.revision)));
    }
    write.import_revision(&owner, revision);
    Ok(Ok(Taken::Created))
}

async fn prompt(write: &mut Write<'_>, line: PromptLine) -> Taking {
    let prompt = match Prompt::try_from(line) {
        Ok(prompt) => prompt,
        Err(why) => return Ok(Err(why)),
    };
    if write.has_prompt(&prompt.id).await? {
        return Ok(Ok(Taken::Unchanged));
    }
    write.import_prompt(&prompt);
    Ok(Ok(Taken::Created))
}

async fn edge(write: &mut Write<'_>, line: EdgeLine) -> Taking {
    let bad_end = || format!("`{}` -{}-> `{}` names no memory or session", line.from, line.name, line.to);
    let Ok(to) = session_id(&line.to) else { return Ok(Err(bad_end())) };
    if write.session(&to).await?.is_none() {
        return Ok(Err(format!("session `{to}` of an edge is not here")));
    }
    if line.name == Table::CreatedIn.name() {
        let Ok(from) = MemoryId::parse(&line.from) else { return Ok(Err(bad_end())) };
        let Some(memory) = write.memory(&from).await? else {
            return Ok(Err(format!("memory `{from}` of an edge is not here")));
        };
        if write.is_written_in(&from, &to).await? {
            return Ok(Ok(Taken::Unchanged));
        }
        write.import_writing(&memory, to, line.at);
        return Ok(Ok(Taken::Created));
    }
    if line.name == Table::Follows.name() {
        let Ok(from) = session_id(&line.from) else { return Ok(Err(bad_end())) };
        if write.session(&from).await?.is_none() {
            return Ok(Err(format!("session `{from}` of an edge is not here")));
        }
        if write.follows(&from, &to).await? {
            return Ok(Ok(Taken::Unchanged));
        }
        write.import_following(from, to, line.at);
        return Ok(Ok(Taken::Created));
    }
    Ok(Err(format!("edge `{}` is not known here", line.name)))
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
            },
            revision: memory.revision,
            duplicate_count: memory.duplicate_count,
            pinned: memory.pinned,
            purged: memory.purged,
            created_at: memory.created_at,
            updated_at: memory.updated_at,
            last_seen_at: memory.last_seen_at,
            deleted_at: memory.deleted_at,
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
        Self { name: edge.table.name().to_owned(), from: edge.from.clone(), to: edge.to.clone(), at: edge.at }
    }
}

fn session_id(text: &str) -> Result<SessionId, String> {
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

fn kind(text: &str) -> Result<Kind, String> {
    Kind::parse(&redact_name(text)).ok_or_else(|| format!("`{}` is no type", redact_secrets(text)))
}
