//! The projects that have anything. By them, a write notices that a project is new.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use tokio::sync::OnceCell;

use crate::{Caller, ServiceError, base::Base, lock};
use cerebro_core::domain::Project;

/// The projects that have anything. By them, a write notices that a project is new.
#[derive(Clone)]
pub(crate) struct KnownProjects {
    base: Base,
    /// Read at the first use.
    known: Arc<OnceCell<Mutex<BTreeSet<Project>>>>,
}

impl KnownProjects {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone(), known: Arc::default() }
    }

    /// Adds a project that another home wrote to, if the known ones were read.
    pub(crate) fn note_project(&self, project: &Project) {
        if let Some(known) = self.known.get() {
            lock(known).insert(project.clone());
        }
    }

    pub(crate) async fn all(&self) -> Result<&Mutex<BTreeSet<Project>>, ServiceError> {
        self.known
            .get_or_try_init(|| async {
                let known = self.base.store.projects().all().await?;
                Ok(Mutex::new(known.into_keys().collect()))
            })
            .await
    }

    /// What is known before a write into a project other than the caller's; `None` for any other write.
    pub(crate) async fn before_write<'a>(
        &'a self,
        project: Option<&Project>,
        caller: &'a Caller,
    ) -> Result<Option<KnownBefore<'a>>, ServiceError> {
        match project {
            Some(project) if *project != caller.project => {
                let known = self.all().await?;
                let is_known = lock(known).contains(project);
                // Its sessions may have been imported since.
                if !is_known && !self.base.store.past_sessions().latest(Some(project), 0, 1).await?.is_empty()
                {
                    lock(known).insert(project.clone());
                }
                Ok(Some(KnownBefore { known, own: &caller.project }))
            }
            _ => Ok(None),
        }
    }
}

/// The projects that were known before a write into a project other than the caller's.
pub(crate) struct KnownBefore<'a> {
    known: &'a Mutex<BTreeSet<Project>>,
    own: &'a Project,
}

impl KnownBefore<'_> {
    /// Whether the project that was written to is seen for the first time, and which known ones have a similar name. `None`
    /// when there is none, or it is the caller's own or known. From then on it is known.
    pub(crate) fn meet(&self, project: Option<&Project>) -> Option<Vec<Project>> {
        let project = project.filter(|project| *project != self.own)?;
        let mut known = lock(self.known);
        if known.contains(project) {
            return None;
        }
        // The caller's own may be meant before anything is saved in it.
        let own = Some(self.own).filter(|own| !known.contains(*own));
        let near =
            cerebro_core::text::nearest(project.as_str(), known.iter().chain(own).map(Project::as_str));
        let near = near.into_iter().filter_map(Project::parse).collect();
        known.insert(project.clone());
        Some(near)
    }
}
