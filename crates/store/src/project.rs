//! Projects: what each of them holds, and what all hold.

use std::collections::BTreeMap;

use surrealdb::types::{SurrealValue, Variables};

use super::{
    Store, StoreError,
    columns::{self, Columns, RawRow, columns},
    read::{Vars, one, take},
    row::{timestamp, unsigned},
    statement::{self, Statement},
};
use cerebro_core::domain::{Project, Timestamp};

/// How many rows of each kind there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, SurrealValue)]
pub struct Counts {
    /// Live memories.
    pub memories: i64,
    /// Deleted memories, including purged ones.
    pub deleted: i64,
    pub sessions: i64,
    pub prompts: i64,
    /// Edges from a memory to a session, in all projects.
    pub created_in: i64,
    /// Edges between memories, in all projects.
    pub relates_to: i64,
    /// Edges between sessions, in all projects.
    pub follows: i64,
}

/// The counts of health, apart from memories, in all projects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthCounts {
    /// Names that a model found in memories.
    pub names: u64,
    /// Relations between memories and supersessions, each counted once.
    pub edges: u64,
    /// Documents whose files exist.
    pub documents: u64,
    /// When the last consolidation that was not undone took place.
    pub consolidated_at: Option<Timestamp>,
    /// The insights of a plan that waits for a person.
    pub insights: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectCount {
    /// Live memories.
    pub memories: i64,
    pub sessions: i64,
    pub prompts: i64,
    pub past_sessions: i64,
    /// The time of the last write, if a memory or session records one.
    pub last_at: Option<Timestamp>,
}

columns! {
    ProjectCount {
        memories: or_default, sessions: or_default, prompts: or_default, past_sessions: or_default, last_at,
    }
}

impl ProjectCount {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.memories += other.memories;
        self.sessions += other.sessions;
        self.prompts += other.prompts;
        self.past_sessions += other.past_sessions;
        self.last_at = self.last_at.max(other.last_at);
    }
}

noun! {
    /// The projects, and what they hold.
    projects: Projects
}

impl Projects<'_> {
    /// Counts the rows of one project or of all.
    pub async fn counts(self, project: Option<&Project>) -> Result<Counts, StoreError> {
        let (statement, vars) = Vars::new().about(project, statement::COUNTS_OF, statement::COUNTS);
        Ok(one(self.0.values("counts", statement, vars).await?).unwrap_or_default())
    }

    /// Counts what health reports apart from memories, for one project or all. It walks the names.
    pub async fn health_counts(self, project: Option<&Project>) -> Result<HealthCounts, StoreError> {
        #[derive(SurrealValue)]
        struct Row {
            names: i64,
            relates_to: i64,
            supersedes: i64,
            documents: i64,
            consolidated_at: Option<surrealdb::types::Datetime>,
            insights: i64,
        }
        let vars = Vars::new().with("project", project.map(|project| project.as_str().to_owned()));
        let row: Option<Row> = one(self.0.values("health", statement::HEALTH_COUNTS, vars).await?);
        let counts = |row: Row| HealthCounts {
            names: unsigned(row.names),
            edges: unsigned(row.relates_to + row.supersedes),
            documents: unsigned(row.documents),
            consolidated_at: row.consolidated_at.map(timestamp),
            insights: unsigned(row.insights),
        };
        Ok(row.map(counts).unwrap_or_default())
    }

    /// Every project that holds anything, with its counts, where those of `memories` are known.
    pub async fn beside(
        self,
        memories: BTreeMap<Project, ProjectCount>,
    ) -> Result<BTreeMap<Project, ProjectCount>, StoreError> {
        let mut projects = memories;
        for (project, count) in self.listed(statement::PROJECT_BESIDE, 3).await? {
            projects.entry(project).or_default().add(&count);
        }
        Ok(projects)
    }

    /// Every project that holds anything, with its counts. It walks all memories.
    pub async fn all(self) -> Result<BTreeMap<Project, ProjectCount>, StoreError> {
        self.beside(self.listed(statement::PROJECT_MEMORIES, 1).await?).await
    }

    /// The counts in the lists of a statement.
    async fn listed(
        self,
        statement: Statement,
        lists: usize,
    ) -> Result<BTreeMap<Project, ProjectCount>, StoreError> {
        const TABLE: &str = "memory";
        let mut results = self.0.engine()?.run(statement, Variables::new()).await?;
        let mut projects: BTreeMap<Project, ProjectCount> = BTreeMap::new();
        for index in 0..lists {
            for row in take::<RawRow>(TABLE, &mut results, index)? {
                let mut row = row.columns(TABLE)?;
                let name: String = columns::take(TABLE, &mut row, "project")?;
                let Some(project) = Project::parse(&name) else { continue };
                projects.entry(project).or_default().add(&ProjectCount::take_from(&mut row, TABLE)?);
            }
        }
        Ok(projects)
    }
}
