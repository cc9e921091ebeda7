//! Reading: one function for each question that the use cases ask.

use std::collections::BTreeMap;

use surrealdb::{
    IndexedResults,
    types::{RecordId, RecordIdKey, SurrealValue, Value, Variables},
};

use super::{
    Store, StoreError,
    row::{
        EdgeRow, EventRow, MemoryRow, PromptRow, RawEdge, RevisionRow, SessionRow, datetime, edge_id,
        memory_id, memory_record, parse, prompt_record, session_record, signed, timestamp,
    },
    statement::{self, Statement},
};
use cerebro_core::domain::{
    Event, Memory, MemoryId, Project, Prompt, PromptId, Revision, Session, SessionId, Timestamp,
};

/// Most pages that are read to find live memories of a session among deleted ones.
const DELETED_PAGES_MAX: usize = 20;

/// How many rows of each kind there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, SurrealValue)]
#[surreal(crate = "surrealdb::types")]
pub struct Counts {
    /// Live memories.
    pub memories: i64,
    /// Deleted ones, tombstones included.
    pub deleted: i64,
    /// Sessions.
    pub sessions: i64,
    /// Prompts.
    pub prompts: i64,
    /// Edges from a memory to a session, in all projects.
    pub created_in: i64,
    /// Edges between memories, in all projects.
    pub relates_to: i64,
    /// Edges between sessions, in all projects.
    pub follows: i64,
    /// Work that waits, in all projects.
    pub jobs: i64,
    /// Work that was given up, in all projects.
    pub dead_jobs: i64,
}

/// What a project holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectCount {
    /// Live memories.
    pub memories: i64,
    /// Sessions.
    pub sessions: i64,
    /// Prompts.
    pub prompts: i64,
    /// When something was last written, if a memory or session says so.
    pub last_at: Option<Timestamp>,
}

/// A memory related to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    /// The neighbour.
    pub id: MemoryId,
    /// Its title.
    pub title: String,
    /// The kind of the relation.
    pub kind: String,
    /// Its strength, up to 1.
    pub weight: f64,
}

/// A table that export walks through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Sessions.
    Session,
    /// Memories.
    Memory,
    /// Revisions.
    Revision,
    /// Prompts.
    Prompt,
    /// Edges from a memory to the sessions that wrote it.
    CreatedIn,
    /// Edges from a session to the one it continues.
    Follows,
}

impl Table {
    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Memory => "memory",
            Self::Revision => "revision",
            Self::Prompt => "prompt",
            Self::CreatedIn => "CREATED_IN",
            Self::Follows => "FOLLOWS",
        }
    }
}

/// An edge that has nothing but a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Which relation.
    pub table: Table,
    /// The id it leaves from.
    pub from: String,
    /// The id it goes to.
    pub to: String,
    /// When it was drawn.
    pub at: Timestamp,
}

/// A page of a table: each row with its id.
type Page<T> = Vec<(String, T)>;

pub(super) struct Vars(pub(super) Variables);

impl Vars {
    pub(super) fn new() -> Self {
        Self(Variables::new())
    }

    pub(super) fn with(mut self, name: &str, value: impl SurrealValue) -> Self {
        self.0.insert(name, value);
        self
    }

    pub(super) fn count(self, name: &str, count: usize) -> Self {
        self.with(name, i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(super) fn limit(self, limit: usize) -> Self {
        self.count("limit", limit)
    }

    pub(super) fn at(self, name: &str, at: Timestamp) -> Self {
        self.with(name, datetime(at))
    }
}

fn rows(table: &'static str, results: &mut IndexedResults, index: usize) -> Result<Vec<Value>, StoreError> {
    results.take::<Vec<Value>>(index).map_err(|error| StoreError::Row { table, reason: error.to_string() })
}

fn row_key(row: &Value) -> Option<String> {
    let Value::Object(fields) = row else { return None };
    let Some(Value::RecordId(id)) = fields.get("id") else { return None };
    let RecordIdKey::String(key) = &id.key else { return None };
    Some(key.clone())
}

pub(super) fn one<T>(items: Vec<T>) -> Option<T> {
    items.into_iter().next()
}

impl Store {
    async fn rows(
        &self,
        table: &'static str,
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<Value>, StoreError> {
        let mut results = self.engine()?.run(statement, vars.0).await?;
        rows(table, &mut results, 0)
    }

    pub(super) async fn memories(&self, statement: Statement, vars: Vars) -> Result<Vec<Memory>, StoreError> {
        parse::<MemoryRow, _>("memory", self.rows("memory", statement, vars).await?)
    }

    pub(super) async fn sessions(
        &self,
        statement: Statement,
        vars: Vars,
    ) -> Result<Vec<Session>, StoreError> {
        parse::<SessionRow, _>("session", self.rows("session", statement, vars).await?)
    }

    async fn prompts(&self, statement: Statement, vars: Vars) -> Result<Vec<Prompt>, StoreError> {
        parse::<PromptRow, _>("prompt", self.rows("prompt", statement, vars).await?)
    }

    /// A memory, deleted or not.
    pub async fn memory(&self, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
        Ok(one(self.memories_by_id(std::slice::from_ref(id)).await?))
    }

    /// Those of the memories that exist, in no particular order.
    pub async fn memories_by_id(&self, ids: &[MemoryId]) -> Result<Vec<Memory>, StoreError> {
        let ids: Vec<RecordId> = ids.iter().map(memory_record).collect();
        self.memories(statement::MEMORY_GET, Vars::new().with("ids", ids)).await
    }

    /// Ids and titles of memories whose id begins with `prefix`, which is part of a valid id.
    pub async fn memories_by_prefix(
        &self,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<(MemoryId, String)>, StoreError> {
        let vars = Vars::new()
            .with("from", RecordId::new("memory", prefix))
            // `~` sorts behind every character of an id.
            .with("beyond", RecordId::new("memory", format!("{prefix}~")))
            .limit(limit);
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Named {
            id: RecordId,
            title: String,
        }
        let mut results = self.engine()?.run(statement::MEMORY_BY_PREFIX, vars.0).await?;
        let named: Vec<Named> = take("memory", &mut results, 0)?;
        named.into_iter().map(|row| Ok((memory_id("memory", row.id)?, row.title))).collect()
    }

    /// Live memories of one identity seen since a moment, newest first.
    pub async fn twins(
        &self,
        identity: &str,
        content: &str,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("identity", identity).with("trimmed", content.trim());
        self.memories(statement::MEMORY_TWINS, vars.at("since", since).limit(limit)).await
    }

    /// Live memories of a project (of all, when `None`) written last before a moment, newest first.
    pub async fn recent(
        &self,
        project: Option<&Project>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().at("before", before).limit(limit);
        match project {
            Some(project) => {
                self.memories(statement::MEMORY_RECENT, vars.with("project", project.as_str())).await
            }
            None => self.memories(statement::MEMORY_RECENT_EVERYWHERE, vars).await,
        }
    }

    /// Deleted memories of a project that can be restored, newest first.
    pub async fn deleted(
        &self,
        project: &Project,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("before", before).limit(limit);
        self.memories(statement::MEMORY_DELETED, vars).await
    }

    /// Memories of a project that are not live, tombstones too.
    pub async fn gone(&self, project: &Project, limit: usize) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).limit(limit);
        self.memories(statement::MEMORY_GONE, vars).await
    }

    async fn page<R, D>(&self, table: Table, after: Option<&str>, limit: usize) -> Result<Page<D>, StoreError>
    where
        R: SurrealValue,
        D: TryFrom<R, Error = StoreError>,
    {
        // No id is empty: all come after it.
        let after = RecordId::new(table.name(), after.unwrap_or_default());
        let vars = Vars::new().with("table", table.name()).with("after", after).limit(limit);
        let rows = self.rows(table.name(), statement::TABLE_PAGE, vars).await?;
        let keys: Vec<String> = rows.iter().map(|row| row_key(row).unwrap_or_default()).collect();
        Ok(keys.into_iter().zip(parse::<R, D>(table.name(), rows)?).collect())
    }

    /// A page of all memories in order of id, deleted ones too.
    pub async fn page_of_memories(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Memory>, StoreError> {
        self.page::<MemoryRow, _>(Table::Memory, after, limit).await
    }

    /// A page of all revisions in order of id.
    pub async fn page_of_revisions(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Revision>, StoreError> {
        self.page::<RevisionRow, _>(Table::Revision, after, limit).await
    }

    /// A page of all sessions in order of id.
    pub async fn page_of_sessions(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Session>, StoreError> {
        self.page::<SessionRow, _>(Table::Session, after, limit).await
    }

    /// A page of all prompts in order of id.
    pub async fn page_of_prompts(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Prompt>, StoreError> {
        self.page::<PromptRow, _>(Table::Prompt, after, limit).await
    }

    /// A page of all edges of a relation in order of id.
    pub async fn page_of_edges(
        &self,
        table: Table,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<Edge>, StoreError> {
        let rows: Page<RawEdge> = self.page::<EdgeRow, _>(table, after, limit).await?;
        let edge = |RawEdge { from, to, at }| Edge { table, from, to, at };
        Ok(rows.into_iter().map(|(key, row)| (key, edge(row))).collect())
    }

    /// A prompt.
    pub async fn prompt(&self, id: &PromptId) -> Result<Option<Prompt>, StoreError> {
        let vars = Vars::new().with("ids", vec![prompt_record(id)]);
        Ok(one(self.prompts(statement::PROMPT_GET, vars).await?))
    }

    /// One earlier revision of a memory.
    pub async fn revision(&self, memory: &MemoryId, number: u32) -> Result<Option<Revision>, StoreError> {
        Ok(one(self.revisions(memory, number.saturating_add(1), 1).await?)
            .filter(|found| found.revision == number))
    }

    /// Whether a session continues another.
    pub async fn follows(&self, later: &SessionId, earlier: &SessionId) -> Result<bool, StoreError> {
        let edge = edge_id("FOLLOWS", later.as_str(), earlier.as_str());
        Ok(self.edge_time(edge).await?.is_some())
    }

    /// The live memories of a project made before a moment, nearest first.
    pub async fn made_before(
        &self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.memories(statement::MEMORY_BEFORE, vars).await
    }

    /// The live memories of a project made after a moment, nearest first.
    pub async fn made_since(
        &self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.memories(statement::MEMORY_SINCE, vars).await
    }

    /// The live memories that a session wrote before (`forward` false) or after a moment, nearest first,
    /// with the moment of their writing.
    pub async fn written_in(
        &self,
        session: &SessionId,
        mut at: Timestamp,
        forward: bool,
        limit: usize,
    ) -> Result<Vec<(Memory, Timestamp)>, StoreError> {
        let mut found = Vec::new();
        // Deleted ones are left out here: as a condition of the statement they would cost its index order.
        // A session of deleted memories only would be read through, so the pages have a bound.
        for _ in 0..DELETED_PAGES_MAX {
            let page = self.page_of_session(session, at, forward, limit).await?;
            let is_last = page.len() < limit;
            at = page.last().map_or(at, |(_, at)| *at);
            found.extend(page.into_iter().filter(|(memory, _)| memory.is_live()));
            if is_last || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    async fn page_of_session(
        &self,
        session: &SessionId,
        at: Timestamp,
        forward: bool,
        limit: usize,
    ) -> Result<Vec<(Memory, Timestamp)>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).at("at", at).limit(limit);
        let statement =
            if forward { statement::SESSION_MEMORIES_SINCE } else { statement::SESSION_MEMORIES_BEFORE };
        // The memories in one read of their own: fetched through the edges, each takes a tenth of a millisecond.
        let moments = moments(self.rows("CREATED_IN", statement, vars).await?)?;
        if moments.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<MemoryId> = moments.iter().map(|(id, _)| *id).collect();
        let mut memories: BTreeMap<MemoryId, Memory> =
            self.memories_by_id(&ids).await?.into_iter().map(|memory| (memory.id, memory)).collect();
        Ok(moments.into_iter().filter_map(|(id, at)| Some((memories.remove(&id)?, at))).collect())
    }

    /// Earlier revisions of a memory below a number, newest first.
    pub async fn revisions(
        &self,
        memory: &MemoryId,
        before: u32,
        limit: usize,
    ) -> Result<Vec<Revision>, StoreError> {
        let vars =
            Vars::new().with("memory", memory_record(memory)).with("before", i64::from(before)).limit(limit);
        parse::<RevisionRow, _>("revision", self.rows("revision", statement::REVISION_LIST, vars).await?)
    }

    /// A session.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let vars = Vars::new().with("ids", vec![session_record(id)]);
        Ok(one(self.sessions(statement::SESSION_GET, vars).await?))
    }

    /// The sessions of a project (of all, when `None`) begun last before a moment, newest first.
    pub async fn latest_sessions(
        &self,
        project: Option<&Project>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().at("before", before).limit(limit);
        match project {
            Some(project) => {
                self.sessions(statement::SESSION_LATEST, vars.with("project", project.as_str())).await
            }
            None => self.sessions(statement::SESSION_LATEST_EVERYWHERE, vars).await,
        }
    }

    /// Sessions that nobody has ended, but for those that some other homes have.
    pub async fn live_sessions(&self, others: &[String], limit: usize) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().with("others", others.to_vec()).limit(limit);
        self.sessions(statement::SESSION_LIVE, vars).await
    }

    /// The prompts of a project given last before a moment, newest first.
    pub async fn latest_prompts(
        &self,
        project: &Project,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Prompt>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("before", before).limit(limit);
        self.prompts(statement::PROMPT_LATEST, vars).await
    }

    /// The prompts of a session given before (`forward` false) or after a moment, nearest first.
    pub async fn prompts_in(
        &self,
        session: &SessionId,
        at: Timestamp,
        forward: bool,
        limit: usize,
    ) -> Result<Vec<Prompt>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).at("at", at).limit(limit);
        let statement =
            if forward { statement::PROMPT_SESSION_SINCE } else { statement::PROMPT_SESSION_BEFORE };
        self.prompts(statement, vars).await
    }

    /// A prompt of a session with this content, given since a moment.
    pub async fn same_prompt(
        &self,
        session: &SessionId,
        content: &str,
        since: Timestamp,
    ) -> Result<Option<Prompt>, StoreError> {
        let vars = Vars::new().with("sid", session_record(session)).with("content", content);
        Ok(one(self.prompts(statement::PROMPT_SAME, vars.at("since", since)).await?))
    }

    /// A memory, deleted or not, with its live neighbours from either end of an edge; at most `limit` of
    /// them, the strongest first.
    pub async fn observation(
        &self,
        id: &MemoryId,
        limit: usize,
    ) -> Result<Option<(Memory, Vec<Near>)>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Relation {
            #[surreal(rename = "in")]
            from: RecordId,
            #[surreal(rename = "out")]
            to: RecordId,
            kind: String,
            weight: f64,
        }
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Edges {
            relates_to: Vec<Relation>,
            related_from: Vec<Relation>,
        }
        let vars = Vars::new().with("ids", vec![memory_record(id)]);
        let Some(row) = one(self.rows("memory", statement::OBSERVATION, vars).await?) else {
            return Ok(None);
        };
        let edges = Edges::from_value(row.clone())
            .map_err(|error| StoreError::Row { table: "RELATES_TO", reason: error.to_string() })?;
        let Some(memory) = one(parse::<MemoryRow, Memory>("memory", vec![row])?) else { return Ok(None) };

        let forth = edges.relates_to.into_iter().map(|edge| (edge.to, edge.kind, edge.weight));
        let back = edges.related_from.into_iter().map(|edge| (edge.from, edge.kind, edge.weight));
        let mut found = forth
            .chain(back)
            .map(|(id, kind, weight)| Ok((memory_id("RELATES_TO", id)?, kind, weight)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        found.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        found.truncate(limit);
        if found.is_empty() {
            return Ok(Some((memory, Vec::new())));
        }
        let ids: Vec<MemoryId> = found.iter().map(|(id, ..)| *id).collect();
        let live = self.memories_by_id(&ids).await?;
        let near = found.into_iter().filter_map(|(id, kind, weight)| {
            let neighbour = live.iter().find(|memory| memory.id == id && memory.is_live())?;
            Some(Near { id, title: neighbour.title.to_string(), kind, weight })
        });
        Ok(Some((memory, near.collect())))
    }

    /// The events of a writer after a number, in order.
    pub async fn events_after(
        &self,
        writer: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let vars = Vars::new().with("writer", writer).with("after", signed(after)).limit(limit);
        parse::<EventRow, _>("event", self.rows("event", statement::EVENT_AFTER, vars).await?)
    }

    /// The number and moment of the last event that this process's writer told; 0 before the first.
    pub async fn last_event(&self) -> Result<(u64, Timestamp), StoreError> {
        self.last_event_of(self.writer()).await
    }

    /// The same of any writer.
    pub(super) async fn last_event_of(&self, writer: &str) -> Result<(u64, Timestamp), StoreError> {
        let vars = Vars::new().with("writer", writer);
        let mut results = self.engine()?.run(statement::WRITER_POSITION, vars.0).await?;
        last_of(&mut results, 0)
    }

    /// When a session first wrote a memory, if it did.
    pub async fn written_at(
        &self,
        memory: &MemoryId,
        session: &SessionId,
    ) -> Result<Option<Timestamp>, StoreError> {
        self.edge_time(edge_id("CREATED_IN", memory.as_str(), session.as_str())).await
    }

    async fn edge_time(&self, edge: RecordId) -> Result<Option<Timestamp>, StoreError> {
        let mut results = self.engine()?.run(statement::EDGE_TIME, Vars::new().with("edge", edge).0).await?;
        let at: Vec<surrealdb::types::Datetime> = take("edge", &mut results, 0)?;
        Ok(at.first().copied().map(timestamp))
    }

    /// The sessions of a project begun after a moment, oldest first.
    pub async fn sessions_since(
        &self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.sessions(statement::SESSION_SINCE, vars).await
    }

    /// The prompts of a project given after a moment, oldest first.
    pub async fn prompts_since(
        &self,
        project: &Project,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Prompt>, StoreError> {
        let vars = Vars::new().with("project", project.as_str()).at("at", at).limit(limit);
        self.prompts(statement::PROMPT_SINCE, vars).await
    }

    /// Counts rows, of one project or of all.
    pub async fn counts(&self, project: Option<&Project>) -> Result<Counts, StoreError> {
        let mut results = match project {
            Some(project) => {
                let vars = Vars::new().with("project", project.as_str());
                self.engine()?.run(statement::COUNTS_OF, vars.0).await?
            }
            None => self.engine()?.run(statement::COUNTS, Variables::new()).await?,
        };
        let counts: Option<Counts> = results
            .take(0)
            .map_err(|error| StoreError::Row { table: "counts", reason: error.to_string() })?;
        Ok(counts.unwrap_or_default())
    }

    /// Every project that holds anything.
    pub async fn projects(&self) -> Result<BTreeMap<Project, ProjectCount>, StoreError> {
        #[derive(SurrealValue)]
        #[surreal(crate = "surrealdb::types")]
        struct Row {
            project: String,
            #[surreal(default)]
            memories: i64,
            #[surreal(default)]
            sessions: i64,
            #[surreal(default)]
            prompts: i64,
            last_at: Option<surrealdb::types::Datetime>,
        }
        let mut results = self.engine()?.run(statement::PROJECT_LIST, Variables::new()).await?;
        let mut projects: BTreeMap<Project, ProjectCount> = BTreeMap::new();
        for index in 0..3 {
            for row in take::<Row>("memory", &mut results, index)? {
                let Some(project) = Project::parse(&row.project) else { continue };
                let count = projects.entry(project).or_default();
                count.memories += row.memories;
                count.sessions += row.sessions;
                count.prompts += row.prompts;
                count.last_at = count.last_at.max(row.last_at.map(timestamp));
            }
        }
        Ok(projects)
    }
}

/// The memories that edges leave, with the moments of the edges.
pub(super) fn moments(edges: Vec<Value>) -> Result<Vec<(MemoryId, Timestamp)>, StoreError> {
    #[derive(SurrealValue)]
    #[surreal(crate = "surrealdb::types")]
    struct Written {
        memory: RecordId,
        at: surrealdb::types::Datetime,
    }
    let read = |edge| {
        let edge = Written::from_value(edge)
            .map_err(|error| StoreError::Row { table: "CREATED_IN", reason: error.to_string() })?;
        Ok((memory_id("CREATED_IN", edge.memory)?, timestamp(edge.at)))
    };
    edges.into_iter().map(read).collect()
}

/// The number and moment in an answer to `writer_position`; 0 where there is no event.
pub(super) fn last_of(results: &mut IndexedResults, index: usize) -> Result<(u64, Timestamp), StoreError> {
    #[derive(SurrealValue)]
    #[surreal(crate = "surrealdb::types")]
    struct Last {
        seq: i64,
        at: surrealdb::types::Datetime,
    }
    let last = one(take::<Last>("event", results, index)?);
    Ok(last.map_or((0, Timestamp::UNIX_EPOCH), |last| {
        (u64::try_from(last.seq).unwrap_or(0), timestamp(last.at))
    }))
}

pub(super) fn take<T: SurrealValue>(
    table: &'static str,
    results: &mut IndexedResults,
    index: usize,
) -> Result<Vec<T>, StoreError> {
    rows(table, results, index)?
        .into_iter()
        .map(|value| {
            T::from_value(value).map_err(|error| StoreError::Row { table, reason: error.to_string() })
        })
        .collect()
}
