//! Former names: the names that projects had before they were merged into others. The tombstones of a former name
//! hold in the project that has its memories now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use surrealdb::types::RecordId;

use super::{
    StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{columns, row_of, with_id},
    project::Projects,
    read::Vars,
    statement,
};
use cerebro_core::domain::{EventKind, Project, Scope, Timestamp};

/// Most former names of one project that are considered.
const NAMES_MAX: usize = 64;
/// Most merges that are read.
const MERGES_MAX: usize = 10_000;

/// The fact that a project was merged into another.
pub(super) struct Merge {
    pub name: Project,
    pub into: Project,
    pub at: Timestamp,
}

columns! { Merge in "former_project" { name, into, at } }

/// The changes of the table.
#[derive(Default)]
pub(super) struct FormerChanges {
    pub put: Vec<Merge>,
}

impl FormerChanges {
    pub fn has_any(&self) -> bool {
        !self.put.is_empty()
    }
}

impl Part for FormerChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_FORMER, "former", &self.put, |merge| {
            let key = format!("{}\u{1f}{}", merge.name, merge.into);
            with_id(RecordId::new("former_project", key), row_of(merge))
        });
    }
}

/// For each project, the projects that were merged into it.
pub(super) type Merges = BTreeMap<Project, BTreeSet<Project>>;

/// A project's name and its former names, through several merges, at most `most`; its present name comes first.
fn names_of(merges: &Merges, project: &Project, most: usize) -> Vec<Project> {
    let mut names = vec![project.clone()];
    let mut next = 0;
    while let Some(name) = names.get(next) {
        let before = merges.get(name).into_iter().flatten().filter(|before| !names.contains(before));
        let room = most - names.len();
        let before: Vec<Project> = before.take(room).cloned().collect();
        names.extend(before);
        next += 1;
    }
    names
}

impl Write<'_> {
    /// Everything in one project belongs to another one from now on.
    pub fn merge_project(&mut self, name: &Project, into: &Project) {
        let at = self.at();
        let event =
            NewEvent { project: Some(into.clone()), ..NewEvent::about_nothing(EventKind::ProjectMerged) };
        self.record(event).former.put.push(Merge { name: name.clone(), into: into.clone(), at });
    }
}

impl Projects<'_> {
    /// The names that a project had before they were merged into it, at most [`NAMES_MAX`].
    pub async fn former_names(self, project: &Project) -> Result<Vec<Project>, StoreError> {
        let merges = self.merges().await?;
        // The present name comes first.
        Ok(names_of(&merges, project, NAMES_MAX).split_off(1))
    }

    /// Whether a project once had a name.
    pub async fn had_name(self, project: &Project, name: &Project) -> Result<bool, StoreError> {
        let merges = self.merges().await?;
        Ok(names_of(&merges, project, MERGES_MAX + 1).split_off(1).contains(name))
    }

    /// A scope, and the same one under each former name of its project, at most [`NAMES_MAX`] in all.
    pub(super) async fn under_former_names(self, of: &Scope) -> Result<Vec<Scope>, StoreError> {
        let Some(project) = of.project() else { return Ok(vec![Scope::Personal]) };
        let merges = self.merges().await?;
        Ok(names_of(&merges, project, NAMES_MAX).into_iter().map(Scope::Project).collect())
    }

    async fn merges(self) -> Result<Arc<Merges>, StoreError> {
        let ticket = match self.0.former.get() {
            Ok(merges) => return Ok(merges),
            Err(ticket) => ticket,
        };
        let vars = Vars::new().limit(MERGES_MAX);
        let mut merges = Merges::new();
        let stored: Vec<Merge> = self.0.select(statement::FORMER_LIST, vars).await?;
        for Merge { name, into, .. } in stored {
            merges.entry(into).or_default().insert(name);
        }
        // Another home may merge projects at any time.
        Ok(if self.0.is_shared() { Arc::new(merges) } else { self.0.former.keep(ticket, merges) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_followed_through_merges_and_around() {
        let project = |name: &str| Project::parse(name).unwrap();
        let mut merges = Merges::new();
        for (name, into) in [("a", "b"), ("b", "c"), ("x", "c"), ("c", "a")] {
            merges.entry(project(into)).or_default().insert(project(name));
        }
        let names = |of: &str| -> Vec<String> {
            names_of(&merges, &project(of), NAMES_MAX).iter().map(ToString::to_string).collect()
        };
        assert_eq!(names("c"), ["c", "b", "x", "a"]);
        assert_eq!(names("b"), ["b", "a", "c", "x"]);
        assert_eq!(names("y"), ["y"]);
        let many: BTreeSet<Project> = (0..200).map(|n| project(&format!("p{n}"))).collect();
        let merges = Merges::from([(project("all"), many)]);
        assert_eq!(names_of(&merges, &project("all"), NAMES_MAX).len(), NAMES_MAX);
    }
}
