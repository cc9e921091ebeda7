//! The changes of one call: rows of some tables, the events that record them, and the script that commits both.
//!
//! A table takes part with a type that holds its changes and implements [`Part`], in the table's own file, and with
//! a line of [`Tables`]. [`Changes::record`] is the only access to the tables, so no change is made without its
//! event.

use surrealdb::types::{SurrealValue, Value, Variables};

use super::{
    event,
    statement::{self, Statement},
};
use cerebro_core::domain::{
    Event, EventKind, Memory, MemoryId, Project, Prompt, Session, SessionId, Timestamp,
};

/// The changes of one table.
pub(super) trait Part {
    /// Adds its statements and their rows to a commit.
    fn add_to(&self, commit: &mut CommitScript);
}

macro_rules! tables {
    ($($table:ident: $changes:ty,)+) => {
        /// The changes, by table.
        #[derive(Default)]
        pub(super) struct Tables {
            $(pub $table: $changes,)+
        }

        impl Tables {
            /// In the order in which a commit writes them.
            fn parts(&self) -> [&dyn Part; [$(stringify!($table)),+].len()] {
                [$(&self.$table),+]
            }
        }
    };
}

// The rows at the ends of an edge come before the edge.
tables! {
    sessions: crate::session::SessionChanges,
    memories: crate::memory::MemoryChanges,
    works: crate::work::WorkChanges,
    revisions: crate::revision::RevisionChanges,
    prompts: crate::prompt::PromptChanges,
    edges: crate::edge::EdgeChanges,
    supersessions: crate::supersession::SupersessionChanges,
    tombstones: crate::tombstone::TombstoneChanges,
    former: crate::former::FormerChanges,
    jobs: crate::job::JobChanges,
    vectors: crate::vector::VectorChanges,
    seals: crate::seal::SealChanges,
    history: crate::history::HistoryChanges,
    distil: crate::distil::DistilChanges,
    citations: crate::citation::CitationChanges,
    arrangements: crate::arrangement::ArrangementChanges,
    cycles: crate::cycle::CycleChanges,
    documents: crate::document::DocumentChanges,
}

/// The changes of one call. They are committed together or not at all.
#[derive(Default)]
pub(super) struct Changes {
    tables: Tables,
    events: Vec<NewEvent>,
}

impl Changes {
    /// Records an event, and gives access to the tables that it changes.
    pub fn record(&mut self, event: NewEvent) -> &mut Tables {
        self.events.push(event);
        &mut self.tables
    }

    /// Gives access to the tables for further changes by an event already recorded. `None` if there is none, so
    /// that no change is without an event.
    pub fn tables_mut(&mut self) -> Option<&mut Tables> {
        (!self.events.is_empty()).then_some(&mut self.tables)
    }

    /// The changes so far.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The events, in order. Without events there are no changes.
    pub fn events(&self) -> &[NewEvent] {
        &self.events
    }

    /// The transaction that makes the changes at a moment and writes `events` to the log. `now` is the time by the
    /// clock.
    pub fn script(&self, at: Timestamp, now: Timestamp, events: &[Event]) -> (String, Variables) {
        let mut script = CommitScript::begin(at, now);
        for part in self.tables.parts() {
            part.add_to(&mut script);
        }
        script.add(statement::COMMIT_EVENTS, "events", events, event::row);
        script.end()
    }

    /// The memories that were written, as the commit left them.
    pub fn into_memories(self) -> Vec<Memory> {
        self.tables.memories.committed()
    }
}

/// An event before it has a number.
#[derive(Debug, Clone)]
pub(super) struct NewEvent {
    pub kind: EventKind,
    /// The memory that it is about, if any.
    pub memory: Option<MemoryId>,
    /// The session that it is about, or in which it was done.
    pub session: Option<SessionId>,
    /// The project it belongs to.
    pub project: Option<Project>,
}

impl NewEvent {
    /// An event that is about no single memory, session or project.
    pub fn about_nothing(kind: EventKind) -> Self {
        Self { kind, memory: None, session: None, project: None }
    }

    pub fn about_memory(kind: EventKind, memory: &Memory, session: Option<&SessionId>) -> Self {
        let project = memory.scope.project().cloned();
        Self { kind, memory: Some(memory.id), session: session.cloned(), project }
    }

    pub fn about_session(kind: EventKind, session: &Session) -> Self {
        Self { kind, memory: None, session: Some(session.id.clone()), project: Some(session.project.clone()) }
    }

    pub fn about_prompt(kind: EventKind, prompt: &Prompt) -> Self {
        Self {
            kind,
            memory: None,
            session: Some(prompt.session.clone()),
            project: Some(prompt.project.clone()),
        }
    }
}

/// A commit under construction.
pub(super) struct CommitScript {
    /// The moment of the commit.
    pub at: Timestamp,
    /// The time by the clock. It is earlier than the commit's where the clock stands still or went back.
    pub now: Timestamp,
    text: String,
    vars: Variables,
}

impl CommitScript {
    fn begin(at: Timestamp, now: Timestamp) -> Self {
        Self { at, now, text: "BEGIN;\n".to_owned(), vars: Variables::new() }
    }

    fn end(mut self) -> (String, Variables) {
        self.text.push_str("COMMIT;");
        (self.text, self.vars)
    }

    /// The transaction that writes derived rows into one table. It has no events, because the log has those of the
    /// rows from which they are derived.
    pub fn derived(part: &dyn Part, now: Timestamp) -> (String, Variables) {
        let mut script = Self::begin(now, now);
        part.add_to(&mut script);
        script.end()
    }

    /// Adds a statement and binds its parameter `name` to the rows of the items. Without items the statement is
    /// left out: each one costs a tenth of a millisecond.
    pub fn add<T, R: SurrealValue>(
        &mut self,
        statement: Statement,
        name: &str,
        items: &[T],
        row: impl Fn(&T) -> R,
    ) {
        if items.is_empty() {
            return;
        }
        self.text.push_str(statement.text);
        let rows: Vec<Value> = items.iter().map(|item| row(item).into_value()).collect();
        self.vars.insert(name, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Supersession, Why,
        former::Merge,
        tests::{memory, session, text},
        text_key::KeyMaker,
        tombstone::tombstone_of,
    };
    use cerebro_core::domain::{PromptId, Revision};

    fn event(event: &NewEvent) -> Event {
        Event {
            writer: "local".to_owned(),
            seq: 1,
            at: Timestamp::UNIX_EPOCH,
            kind: event.kind,
            memory: event.memory,
            session: event.session.clone(),
            project: event.project.clone(),
        }
    }

    fn script(changes: &Changes) -> (String, Vec<String>) {
        let events: Vec<Event> = changes.events().iter().map(event).collect();
        let (text, vars) = changes.script(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &events);
        (text, vars.iter().map(|(name, _)| name.clone()).collect())
    }

    fn expected(statements: &[Statement]) -> String {
        let texts: String = statements.iter().map(|statement| statement.text).collect();
        format!("BEGIN;\n{texts}COMMIT;")
    }

    /// A change of every kind, made in another order than that of the commit.
    fn everything() -> Changes {
        let mut old = Memory { version: 3, revision: 4, ..memory(None) };
        old.title = text("Old");
        let new = memory(None);
        let (begun, gone_on) = (session("begun"), Session { version: 2, ..session("on") });
        let at = Timestamp::UNIX_EPOCH;
        let mut changes = Changes::default();
        let tables = changes.record(NewEvent::about_memory(EventKind::MemoryCreated, &new, None));
        tables.vectors.moved.push((old.id, old.scope.clone()));
        tables.vectors.gone.push(old.id);
        tables.jobs.void.push(old.id);
        tables.jobs.due.push((new.id, new.revision));
        tables.edges.follows.push((gone_on.id.clone(), begun.id.clone(), at));
        tables.edges.created_in.push((new.id, begun.id.clone(), at));
        tables.prompts.put.push(Prompt {
            id: PromptId::random(),
            session: begun.id.clone(),
            project: Project::general(),
            agent: text("test"),
            content: text("Do it."),
            created_at: at,
            last_seen_at: at,
        });
        tables.supersessions.put.push(Supersession {
            newer: new.id,
            older: old.id,
            by: "agent".to_owned(),
            at,
        });
        let key_maker = KeyMaker::new(b"secret");
        tables.add_tombstones(&key_maker, &old, Some(&new), (Why::Corrected, at));
        let mut gone = old.clone();
        gone.title = text("Gone");
        tables.add_tombstones(&key_maker, &gone, None, (Why::Deleted, at));
        tables.remove_tombstones(&[tombstone_of(&key_maker, &new)]);
        tables.former.put.push(Merge { name: Project::general(), into: Project::general(), at });
        tables.revisions.put.push(Revision::from(old.clone()));
        tables.revisions.trimmed.push((old.id, 1));
        tables.revisions.anchored.push((old.id, 1, 2));
        tables.memories.purged.push(old.id);
        tables.memories.put.extend([old, new]);
        tables.sessions.put.extend([gone_on, begun]);
        changes
    }

    #[test]
    fn a_commit_goes_through_all_tables_in_one_order_and_ends_with_its_events() {
        let (text, names) = script(&everything());
        let statements = [
            statement::COMMIT_NEW_SESSIONS,
            statement::COMMIT_SESSIONS,
            statement::COMMIT_NEW_MEMORIES,
            statement::COMMIT_MEMORIES,
            statement::COMMIT_PURGED,
            statement::COMMIT_TRIMMED,
            statement::COMMIT_REVISIONS,
            statement::COMMIT_ANCHORED,
            statement::COMMIT_PROMPTS,
            statement::COMMIT_CREATED_IN,
            statement::COMMIT_FOLLOWS,
            statement::COMMIT_SUPERSEDES,
            statement::COMMIT_LIFTED,
            statement::COMMIT_WEAK_TOMBSTONES,
            statement::COMMIT_TOMBSTONES,
            statement::COMMIT_FORMER,
            statement::COMMIT_JOBS,
            statement::COMMIT_VOID_JOBS,
            statement::COMMIT_GONE_VECTORS,
            statement::COMMIT_MOVED_VECTORS,
            statement::COMMIT_EVENTS,
        ];
        assert_eq!(text, expected(&statements));
        for name in &names {
            assert!(text.contains(&format!("${name}")), "{name} is bound for nothing");
        }
        assert_eq!(names.len(), statements.len(), "{names:?}");
    }

    #[test]
    fn statements_that_have_nothing_to_do_are_left_out() {
        let memory = memory(None);
        let mut changes = Changes::default();
        let tables = changes.record(NewEvent::about_memory(EventKind::MemoryRepeated, &memory, None));
        tables.memories.put.push(memory);
        let (text, names) = script(&changes);
        assert_eq!(text, expected(&[statement::COMMIT_NEW_MEMORIES, statement::COMMIT_EVENTS]));
        assert_eq!(names, ["events", "new_memories"]);
    }

    #[test]
    fn of_a_session_that_was_changed_twice_the_last_state_is_put() {
        let begun = session("s");
        let named = Session { directory: Some(text("/srv")), ..begun.clone() };
        let mut changes = Changes::default();
        for session in [&begun, &named] {
            let tables = changes.record(NewEvent::about_session(EventKind::SessionStarted, session));
            tables.sessions.put.push(session.clone());
        }
        let (_, vars) = changes.script(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &[]);
        let Some(Value::Array(rows)) = vars.get("new_sessions") else { panic!("{vars:?}") };
        assert_eq!(rows.len(), 1);
        assert!(format!("{rows:?}").contains("/srv"), "{rows:?}");
    }
}
