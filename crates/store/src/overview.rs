//! Queries that read several lists at once.
//!
//! A statement costs more than what it reads, so everything that one answer needs is read by one statement. It is
//! then also consistent in time.

use std::collections::BTreeMap;

use surrealdb::types::Value;

use super::{
    Store, StoreError,
    columns::RawRow,
    memory::{due_slot, moments, pin_slot},
    project::Projects,
    read::{Vars, take},
    row::{parse, session_record},
    session::Sessions,
    statement::{self, Statement},
};
use cerebro_core::domain::{Memory, MemoryId, PERSON, Project, Prompt, Scope, Session, SessionId, Timestamp};

/// What happened in a session on one side of a moment, nearest first.
#[derive(Debug, Default)]
pub struct Side {
    /// Live memories, each with the moment when it was written.
    pub written: Vec<(Memory, Timestamp)>,
    pub prompts: Vec<Prompt>,
}

/// The lists of a project's context, each with the newest first unless it says otherwise.
#[derive(Debug)]
pub struct Overview {
    /// The last sessions of agents, without a person's commands.
    pub sessions: Vec<Session>,
    /// Pinned memories of the project, then those of the person.
    pub pinned: Vec<Memory>,
    /// The last memories of the project, then those of the person.
    pub recent: Vec<Memory>,
    /// The last prompts.
    pub prompts: Vec<Prompt>,
    /// Open prospective memories of the project and of the person, due or not, those that have waited longest first.
    pub open: Vec<Memory>,
}

/// The bounds of an [`Overview`].
#[derive(Debug, Clone, Copy)]
pub struct OverviewLimits {
    /// Sessions of agents.
    pub sessions: usize,
    /// Pinned memories of the project, and of the person.
    pub pinned: usize,
    /// Recent memories of the project, and of the person.
    pub recent: usize,
    pub prompts: usize,
    /// Open prospective memories.
    pub open: usize,
}

/// The lists of one answer, in order.
struct Lists {
    table: &'static str,
    lists: std::vec::IntoIter<Value>,
}

impl Lists {
    async fn read(
        store: &Store,
        table: &'static str,
        statement: Statement,
        vars: Vars,
    ) -> Result<Self, StoreError> {
        let mut results = store.engine()?.run(statement, vars.0).await?;
        Ok(Self { table, lists: take::<Value>(table, &mut results, 0)?.into_iter() })
    }

    fn next(&mut self) -> Result<Vec<RawRow>, StoreError> {
        match self.lists.next() {
            Some(Value::Array(rows)) => Ok(rows.into_iter().map(RawRow).collect()),
            other => {
                let reason = format!("a list was expected and not {other:?}");
                Err(StoreError::Row { table: self.table, reason })
            }
        }
    }
}

impl Sessions<'_> {
    /// What a session wrote and was asked before and after a moment, at most `limit` items of each.
    pub async fn around(
        self,
        session: &SessionId,
        at: Timestamp,
        before: usize,
        after: usize,
    ) -> Result<(Side, Side), StoreError> {
        let vars = Vars::new()
            .with("sid", session_record(session))
            .at("at", at)
            .count("before", before)
            .count("after", after);
        let mut lists = Lists::read(self.0, "CREATED_IN", statement::SESSION_AROUND, vars).await?;
        let (earlier, later) = (lists.next()?, lists.next()?);
        let memories: Vec<Memory> = parse(lists.next()?)?;
        let memories: BTreeMap<MemoryId, Memory> =
            memories.into_iter().map(|memory| (memory.id, memory)).collect();
        let mut sides = [Side::default(), Side::default()];
        let found = [
            (earlier, before, statement::SESSION_MEMORIES_BEFORE),
            (later, after, statement::SESSION_MEMORIES_SINCE),
        ];
        for (side, (rows, limit, statement)) in sides.iter_mut().zip(found) {
            let is_full = rows.len() == limit;
            let live = |(id, at)| Some((memories.get(&id).filter(|memory| memory.is_live())?.clone(), at));
            side.written = moments(rows)?.into_iter().filter_map(live).collect();
            if is_full && side.written.len() < limit {
                // Deleted memories took up part of the limit.
                side.written = self.0.memories().written(statement, session, at, limit).await?;
            }
            side.prompts = parse(lists.next()?)?;
        }
        let [before, after] = sides;
        Ok((before, after))
    }
}

impl Projects<'_> {
    /// The lists of a project's context.
    pub async fn overview(self, project: &Project, limits: OverviewLimits) -> Result<Overview, StoreError> {
        let (scope, own) = (Scope::Project(project.clone()), Scope::Personal);
        let vars = Vars::new()
            .with("project", project.as_str())
            .with("own", own.project_name())
            .with("pin", pin_slot(&scope))
            .with("own_pin", pin_slot(&own))
            .with("due", vec![due_slot(&scope), due_slot(&own)])
            .count("open", limits.open)
            .at("before", Timestamp::MAX)
            .with("person", PERSON)
            .count("sessions", limits.sessions)
            .count("prompts", limits.prompts)
            .count("pinned", limits.pinned)
            .limit(limits.recent);
        let mut lists = Lists::read(self.0, "memory", statement::PROJECT_OVERVIEW, vars).await?;
        let sessions = parse(lists.next()?)?;
        let mut memories =
            || -> Result<Vec<Memory>, StoreError> { parse([lists.next()?, lists.next()?].concat()) };
        let (pinned, recent) = (memories()?, memories()?);
        let prompts = parse(lists.next()?)?;
        let open = parse(lists.next()?)?;
        Ok(Overview { sessions, pinned, recent, prompts, open })
    }
}
