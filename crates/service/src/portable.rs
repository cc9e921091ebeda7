//! Export and import: everything that was saved, as JSON Lines.
//!
//! The format is documented in `docs/export.md`. The event log is not part of it: it records what happened in one store,
//! including the import.

mod line;

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    Door, Importing, Service, ServiceError, distil, documents,
    error::{NotImported, Taking},
    guard, history, meant,
    memories::supersede::may_supersede,
    work::{Actor, export as journal},
};
use cerebro_core::domain::{
    EndReason, EventKind, ExchangeId, FullExchange, HistoryTombstone, Kind, Memory, MemoryId, Origin,
    Project, Prompt, Revision, Run, Scope, Session, SessionId, Timestamp, WorkId,
};
use cerebro_core::hygiene::summary_title;
use cerebro_core::redact::{RedactedText, redact_secrets};
use cerebro_store::{SaidText, StoreError, StoredEvent, Supersession, Table, Write};

use line::{EdgeLine, Line, MemoryLine, PromptLine, RevisionLine, SessionLine, session_id};

/// The version of the format.
const VERSION: u32 = 1;
/// Most rows that are read for one page of an export.
const PAGE_MAX: usize = 200;
/// Most artifacts of one page: each may be a megabyte.
const ARTIFACTS_MAX: usize = 8;
/// Most bytes of one page of an export, unless one line alone has more.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPage {
    /// JSON objects, one a line.
    pub lines: Vec<String>,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<String>,
    /// Set at the end: somebody wrote since the first page, so the pages are not of one moment.
    pub is_torn: bool,
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Lines that brought something new.
    pub created: usize,
    /// Lines that were in the store already.
    pub unchanged: usize,
    /// Lines that were refused: their number within the batch, and why.
    pub skipped: Vec<(usize, String)>,
}

/// The rows of a page as lines, each with its id.
async fn lines<R, L: for<'a> From<&'a R>>(
    page: impl Future<Output = Result<Vec<(String, R)>, StoreError>>,
    line: impl Fn(L) -> Line,
) -> Result<Vec<(String, Line)>, ServiceError> {
    Ok(page.await?.into_iter().map(|(key, row)| (key, line(L::from(&row)))).collect())
}

/// Most rows of one page of a part.
fn page_max(table: Table) -> usize {
    if table == Table::Artifact { ARTIFACTS_MAX } else { PAGE_MAX }
}

impl Service {
    /// A page of the export. `cursor` is the last page's `next`; `None` begins. Each page is of its own moment.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for an unknown cursor.
    pub async fn export(&self, cursor: Option<&str>) -> Result<ExportPage, ServiceError> {
        let (mut part, begun, after) = match cursor {
            None => (0, self.events_so_far().await?, None),
            Some(cursor) => read_cursor(cursor).ok_or_else(|| {
                ServiceError::invalid("cursor", cursor, "it comes from no export; begin anew")
            })?,
        };
        let mut lines = Vec::new();
        if cursor.is_none() {
            lines.push(header());
        }
        let rows = self.page(Table::ALL[part], after.as_deref()).await?;
        let whole = rows.len() < page_max(Table::ALL[part]);
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
            (part < Table::ALL.len()).then(|| format!("{part}:{begun}:"))
        } else {
            last.map(|last| format!("{part}:{begun}:{last}"))
        };
        let is_torn = next.is_none() && self.events_so_far().await? != begun;
        Ok(ExportPage { lines, next, is_torn })
    }

    /// How many events the logs of all writers have. If the number changes, somebody wrote.
    async fn events_so_far(&self) -> Result<u64, ServiceError> {
        Ok(self.base.store.peers().all_ends().await?.0.values().sum())
    }

    async fn page(&self, table: Table, after: Option<&str>) -> Result<Vec<(String, Line)>, ServiceError> {
        let (store, limit) = (&self.base.store, page_max(table));
        match table {
            Table::Session => lines(store.sessions().walk().page(after, limit), Line::Session).await,
            Table::Memory => lines(store.memories().walk().page(after, limit), Line::Memory).await,
            Table::Revision => lines(store.revisions().walk().page(after, limit), Line::Revision).await,
            Table::Prompt => lines(store.prompts().walk().page(after, limit), Line::Prompt).await,
            Table::CreatedIn | Table::Follows | Table::WorkedIn | Table::Cites => {
                lines(store.edges().page(table, after, limit), Line::Edge).await
            }
            Table::Supersedes => lines(store.supersessions().walk().page(after, limit), Line::Edge).await,
            Table::HistoryTombstone => {
                lines(store.history().walk_of_tombstones().page(after, limit), Line::HistoryTombstone).await
            }
            Table::PastSession => {
                lines(store.past_sessions().walk().page(after, limit), Line::PastSession).await
            }
            Table::Candidate => lines(store.candidates().walk().page(after, limit), Line::Candidate).await,
            Table::Exchange => {
                let page = store.exchanges().walk().page(after, limit).await?;
                let exchanges = page.into_iter().map(|(_, exchange)| exchange).collect();
                let full = store.exchanges().with_texts(exchanges).await?;
                let line = |full: &FullExchange| Line::Exchange(full.into());
                Ok(full.iter().map(|full| (full.exchange.id.key().to_owned(), line(full))).collect())
            }
            Table::Document => lines(store.documents().walk().page(after, limit), Line::Document).await,
            Table::Chunk => lines(store.chunks().walk().page(after, limit), Line::Chunk).await,
            Table::Work => lines(store.works().walk().page(after, limit), Line::Work).await,
            Table::WorkEvent => {
                lines(store.works().walk_of_events().page(after, limit), Line::WorkEvent).await
            }
            Table::Artifact => lines(store.artifacts().walk().page(after, limit), Line::Artifact).await,
        }
    }

    /// A page of one piece of work in the form of an export: its row, its events, and after each its artifact, if it
    /// has one. `after` is the last page's `next`; `None` begins.
    ///
    /// # Errors
    /// [`ServiceError::NoWork`], or a failing store.
    pub async fn work_export(
        &self,
        actor: &Actor,
        id: &WorkId,
        after: Option<u64>,
    ) -> Result<ExportPage, ServiceError> {
        let stored = self.journal.stored_work(&actor.owner, id).await?;
        let mut lines = Vec::new();
        if after.is_none() {
            lines.extend([header(), written(&Line::Work((&stored).into()))]);
        }
        let (mut bytes, mut last) = (0, after.unwrap_or_default());
        let page = last.saturating_add(1)..=stored.work.seq.min(last.saturating_add(PAGE_MAX as u64));
        for kept in self.base.store.works().events(id, page).await? {
            if bytes > PAGE_BYTES_MAX {
                break;
            }
            last = kept.seq;
            // The artifact of a purged event is only a name in the chain.
            let whole = match kept.artifact.as_deref().filter(|_| kept.body.is_some()) {
                Some(whole) => self.base.store.artifacts().by_id(whole).await?,
                None => None,
            };
            let event = Line::WorkEvent((&StoredEvent { work: *id, kept }).into());
            let whole = whole.map(|whole| Line::Artifact((&whole).into()));
            for line in [event].iter().chain(&whole).map(written) {
                bytes += line.len();
                lines.push(line);
            }
        }
        let next = (last < stored.work.seq).then(|| last.to_string());
        Ok(ExportPage { lines, next, is_torn: false })
    }

    /// Imports a batch of lines in one transaction. What is in the store already stays as it is. In a dry run, a line that
    /// needs one of an earlier batch is refused.
    ///
    /// # Errors
    /// A failing store. A line that cannot be imported is named in the answer instead.
    pub async fn import(&self, lines: &[String], run: Run) -> Result<Imported, ServiceError> {
        let journal = self.journal.known_journal(lines).await?;
        let tombstones = tombstones_in(lines);
        let store = &self.base.store;
        let imported =
            store.transact_as(run, |write| Box::pin(take_lines(write, lines, &journal, &tombstones))).await?;
        if run == Run::Real {
            self.recall.evidence.imported().await?;
        }
        Ok(imported)
    }
}

impl Service {
    /// Called before the first batch of an import, which is under way until the result is dropped.
    pub async fn importing(&self) -> Importing {
        Arc::clone(&self.history.imports).read_owned().await
    }

    /// Called after the last batch of an import, when it is no longer under way. Sessions of which no exchange was imported,
    /// because all were forgotten here, go again. While another import is under way, exchanges of its sessions may be still
    /// to come, so that one removes them.
    pub async fn import_ended(&self) -> Result<(), ServiceError> {
        let Ok(_alone) = self.history.imports.try_write() else { return Ok(()) };
        self.history.drop_empty().await
    }
}

/// The history tombstones among the lines of an export.
fn tombstones_in(lines: &[String]) -> BTreeSet<HistoryTombstone> {
    let named = lines.iter().filter(|line| line.contains(Table::HistoryTombstone.as_str()));
    let parsed = named.filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let tombstone = |line| match line {
        Line::HistoryTombstone(line) => line.tombstone(),
        _ => None,
    };
    parsed.filter_map(tombstone).collect()
}

/// Takes in a batch of lines of an export with the history tombstones among them, all or nothing.
async fn take_lines(
    write: &mut Write<'_>,
    lines: &[String],
    journal: &journal::KnownJournal,
    tombstones: &BTreeSet<HistoryTombstone>,
) -> Result<Imported, ServiceError> {
    let mut imported = Imported::default();
    let cited = write.store().citations().among(tombstones).await?;
    for (number, line) in lines.iter().enumerate() {
        match take_line(write, (journal, &cited), line).await {
            Ok(true) => imported.created += 1,
            Ok(false) => imported.unchanged += 1,
            // The reason may quote the line.
            Err(NotImported::Refused(why)) => imported.skipped.push((number, redact_secrets(&why))),
            Err(NotImported::Failed(error)) => return Err(error),
        }
    }
    Ok(imported)
}

fn header() -> String {
    written(&Line::Header { format: "cerebro".to_owned(), version: VERSION })
}

fn written(line: &Line) -> String {
    serde_json::to_string(line).expect("a line has text keys and no floats")
}

/// The part, the events when the export began, and the row before the page.
fn read_cursor(cursor: &str) -> Option<(usize, u64, Option<String>)> {
    let mut fields = cursor.splitn(3, ':');
    let part: usize = fields.next()?.parse().ok().filter(|part| *part < Table::ALL.len())?;
    let begun = fields.next()?.parse().ok()?;
    let after = fields.next()?;
    Some((part, begun, (!after.is_empty()).then(|| after.to_owned())))
}

/// Imports a line. `known` is what is here of the batch's journal, and the tombstones that stand for citations that are here.
async fn take_line(
    write: &mut Write<'_>,
    (known, cited): (&journal::KnownJournal, &BTreeSet<HistoryTombstone>),
    line: &str,
) -> Taking {
    let parsed = serde_json::from_str::<Line>(line)
        .map_err(|error| NotImported::Refused(format!("not a line of an export: {error}")))?;
    match parsed {
        Line::Header { format, version } if format == "cerebro" && version <= VERSION => Ok(false),
        Line::Header { format, version } => {
            Err(NotImported::Refused(format!("format `{format}` version {version} is not known here")))
        }
        Line::Session(line) => session(write, line).await,
        Line::Memory(line) => memory(write, line).await,
        Line::Revision(line) => revision(write, line).await,
        Line::Prompt(line) => prompt(write, line).await,
        Line::Edge(line) => edge(write, line).await,
        Line::HistoryTombstone(line) => history::tombstone(write, line, cited).await,
        Line::PastSession(line) => history::past_session(write, line).await,
        Line::Exchange(line) => history::exchange(write, line).await,
        Line::Candidate(line) => distil::candidate(write, line).await,
        Line::Work(line) => journal::work(write, known, line).await,
        Line::WorkEvent(line) => journal::event(write, line).await,
        Line::Artifact(line) => journal::artifact(write, line).await,
        Line::Document(line) => documents::document(write, line).await,
        Line::Chunk(line) => documents::chunk(write, line).await,
    }
}

async fn session(write: &mut Write<'_>, line: SessionLine) -> Taking {
    let mut session = Session::try_from(line)?;
    if write.session(&session.id).await?.is_some() {
        return Ok(false);
    }
    if let Some(summary) = &session.summary {
        // What was written in the session still refers to it, so the session comes even without its summary.
        let scope = Scope::Project(session.project.clone());
        let held = guard::still_held(write, &scope, summary, Origin::Import).await?;
        let tombstone = HistoryTombstone::of_summary(&session.id);
        let is_forgotten =
            meant::is_forgotten(write, Some(tombstone), |forgotten| forgotten.are_in(summary)).await?;
        session.summary = held.filter(|_| !is_forgotten);
    }
    write.import_session(&session);
    Ok(true)
}

/// Makes the session that a row names and that is not here, because a part of an export may lack its line: a row always
/// has its session.
async fn ensure_session(
    write: &mut Write<'_>,
    id: &SessionId,
    (project, agent): (Option<&Project>, &RedactedText),
    at: Timestamp,
) -> Result<(), ServiceError> {
    if write.session(id).await?.is_some() {
        return Ok(());
    }
    // What is personal belongs to no project; a session does.
    let project = project.cloned().unwrap_or_else(Project::general);
    write.import_session(&Session {
        id: id.clone(),
        project,
        agent: agent.clone(),
        directory: None,
        started_at: at,
        seen_at: at,
        ended_at: Some(at),
        end_reason: Some(EndReason::Ended),
        summary: None,
        follows: None,
        home: None,
        version: 0,
    });
    Ok(())
}

async fn memory(write: &mut Write<'_>, line: MemoryLine) -> Taking {
    let mut memory = Memory::try_from(line)?;
    if let Some(present) = write.memory(&memory.id).await? {
        // Origin and flags are this home's own and are not compared.
        let (version, taint) = (present.version, present.taint.clone());
        let same = Memory { version, taint, ..memory.clone() } == present;
        let why =
            format!("memory `{}` is here already with another text or state; it stays as it is", memory.id);
        return if same { Ok(false) } else { Err(why.into()) };
    }
    if let (true, Some(key)) = (memory.is_live(), &memory.topic_key)
        && let Some(holder) = write.topic_holder(&memory.scope, key).await?
    {
        return Err(format!("topic key `{key}` of memory `{}` is held by `{}`", memory.id, holder.id).into());
    }
    if memory.is_live()
        && memory.kind == Kind::session_summary()
        && let Some(held) = guard::still_held(write, &memory.scope, &memory.content, Origin::Import).await?
    {
        if memory.title == summary_title(&memory.content) {
            memory.title = summary_title(&held);
        }
        memory.content = held;
    }
    if memory.is_live()
        && let Err(error) =
            guard::admit(write, SaidText::from(&memory), None, Door::Brought(Origin::Import)).await
    {
        return Err(match error {
            ServiceError::Corrected(_) => error.to_string().into(),
            error => error.into(),
        });
    }
    if !memory.is_live() && !memory.purged {
        // A deleted memory can be restored, and says nothing until then. What was destroyed here is not kept for that.
        let found = write.tombstones(SaidText::from(&memory), None).await?;
        let said: BTreeSet<MemoryId> = found.against_unasked().map(|tombstone| tombstone.memory).collect();
        for said in said {
            if write.memory(&said).await?.is_none_or(|said| said.purged) {
                let why = format!(
                    "deleted memory `{}` says what memory `{said}` said before it was purged",
                    memory.id
                );
                return Err(why.into());
            }
        }
    }
    if let Some(session) = &memory.session {
        ensure_session(write, session, (memory.scope.project(), &memory.agent), memory.created_at).await?;
    }
    write.import_memory(&memory);
    Ok(true)
}

async fn revision(write: &mut Write<'_>, line: RevisionLine) -> Taking {
    let revision = Revision::try_from(line)?;
    let Some(owner) = write.memory(&revision.memory).await? else {
        return Err(format!("memory `{}` of the revision is not here", revision.memory).into());
    };
    if write.has_revision(&revision.memory, revision.revision).await? {
        return Ok(false);
    }
    if revision.revision >= owner.revision || owner.purged {
        return Err(format!("memory `{}` has no place for revision {}", owner.id, revision.revision).into());
    }
    // What the memory itself said before is its own past.
    let said = SaidText { scope: &revision.scope, title: &revision.title, content: &revision.content };
    let found = write.tombstones(said, None).await?;
    if let Some(other) = found.here.iter().find(|tombstone| tombstone.memory != owner.id) {
        let (number, id) = (revision.revision, owner.id);
        return Err(format!(
            "revision {number} of memory `{id}` says what memory `{}` no longer says",
            other.memory
        )
        .into());
    }
    if let Some(session) = &revision.session {
        ensure_session(write, session, (owner.scope.project(), &revision.agent), revision.at).await?;
    }
    write.import_revision(&owner, revision);
    Ok(true)
}

async fn prompt(write: &mut Write<'_>, line: PromptLine) -> Taking {
    let prompt = Prompt::try_from(line)?;
    if write.has_prompt(&prompt.id).await? {
        return Ok(false);
    }
    let tombstone = HistoryTombstone::of_prompt(&prompt.id);
    if meant::is_forgotten(write, Some(tombstone), |forgotten| forgotten.are_in(&prompt.content)).await? {
        return Err(format!("prompt `{}` was forgotten here", prompt.id).into());
    }
    ensure_session(write, &prompt.session, (Some(&prompt.project), &prompt.agent), prompt.created_at).await?;
    write.import_prompt(&prompt);
    Ok(true)
}

async fn edge(write: &mut Write<'_>, line: EdgeLine) -> Taking {
    if line.name == Table::Supersedes.as_str() {
        return supersession(write, line).await;
    }
    if line.name == Table::WorkedIn.as_str() {
        return working(write, line).await;
    }
    if line.name == Table::Cites.as_str() {
        return citing(write, line).await;
    }
    let bad_end = || format!("`{}` -{}-> `{}` names no memory or session", line.from, line.name, line.to);
    let Ok(to) = session_id(&line.to) else { return Err(bad_end().into()) };
    if write.session(&to).await?.is_none() {
        return Err(format!("session `{to}` of an edge is not here").into());
    }
    if line.name == Table::CreatedIn.as_str() {
        let Ok(from) = MemoryId::parse(&line.from) else { return Err(bad_end().into()) };
        let Some(memory) = write.memory(&from).await? else {
            return Err(format!("memory `{from}` of an edge is not here").into());
        };
        if write.is_written_in(&from, &to).await? {
            return Ok(false);
        }
        write.import_writing(&memory, to, line.at);
        return Ok(true);
    }
    if line.name == Table::Follows.as_str() {
        let Ok(from) = session_id(&line.from) else { return Err(bad_end().into()) };
        if write.session(&from).await?.is_none() {
            return Err(format!("session `{from}` of an edge is not here").into());
        }
        if write.follows(&from, &to).await? {
            return Ok(false);
        }
        write.import_following(from, to, line.at);
        return Ok(true);
    }
    Err(format!("edge `{}` is not known here", line.name).into())
}

async fn working(write: &mut Write<'_>, line: EdgeLine) -> Taking {
    let (Ok(from), Ok(to)) = (MemoryId::parse(&line.from), WorkId::parse(&line.to)) else {
        let why = format!("`{}` -{}-> `{}` names no memory and work", line.from, line.name, line.to);
        return Err(why.into());
    };
    let (Some(memory), Some(_)) = (write.memory(&from).await?, write.work(&to).await?) else {
        return Err(format!("memory `{from}` or work `{to}` of an edge is not here").into());
    };
    if write.is_worked_in(&from, &to).await? {
        return Ok(false);
    }
    write.link_to_work(EventKind::MemoryImported, &memory, to, Some(line.at));
    Ok(true)
}

async fn citing(write: &mut Write<'_>, line: EdgeLine) -> Taking {
    let (Ok(from), Ok(to)) = (MemoryId::parse(&line.from), ExchangeId::parse(&line.to)) else {
        let why = format!("`{}` -{}-> `{}` names no memory and exchange", line.from, line.name, line.to);
        return Err(why.into());
    };
    let (Some(memory), Some(_)) = (write.memory(&from).await?, write.exchange_digest(&to).await?) else {
        return Err(format!("memory `{from}` or exchange `{to}` of an edge is not here").into());
    };
    if memory.purged || write.is_cited(&from, &to).await? {
        return Ok(false);
    }
    if write.has_history_tombstone(&[HistoryTombstone::of_citation(&from, &to)]).await? {
        return Err(format!("memory `{from}` no longer cites exchange `{to}` here").into());
    }
    write.import_citation(&memory, to, line.at);
    Ok(true)
}

async fn supersession(write: &mut Write<'_>, line: EdgeLine) -> Taking {
    let (Ok(newer), Ok(older)) = (MemoryId::parse(&line.from), MemoryId::parse(&line.to)) else {
        return Err(format!("`{}` -{}-> `{}` names no two memories", line.from, line.name, line.to).into());
    };
    let (Some(by_whom), Some(memory)) = (write.memory(&newer).await?, write.memory(&older).await?) else {
        return Err(format!("memory `{newer}` or `{older}` of an edge is not here").into());
    };
    let is_here = |edge: &Supersession| (edge.newer, edge.older) == (newer, older);
    if by_whom.purged || memory.purged || write.supersessions(&[newer]).await?.iter().any(is_here) {
        return Ok(false);
    }
    if let Err(unfit) = may_supersede(write, newer, older).await? {
        return Err(format!("`{newer}` cannot take the place of `{older}`: {unfit}").into());
    }
    // Whose word it is, is one of the words of this program.
    let by = match line.by.as_deref() {
        Some("person") => "person",
        Some(Supersession::CYCLE) => Supersession::CYCLE,
        _ => "agent",
    };
    let edge = Supersession { newer, older, by: by.to_owned(), at: line.at };
    write.import_supersession(&by_whom, &memory, edge);
    Ok(true)
}
