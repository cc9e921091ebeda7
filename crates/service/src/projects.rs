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

    /// Whether the write targets a project other than the caller's. If so, the known projects are loaded first, so that
    /// [`Self::meet`] can notice a new one afterwards.
    pub(crate) async fn leads_elsewhere(
        &self,
        project: Option<&Project>,
        caller: &Caller,
    ) -> Result<bool, ServiceError> {
        let elsewhere = project.is_some_and(|project| *project != caller.project);
        if elsewhere {
            self.all().await?;
        }
        Ok(elsewhere)
    }

    /// Whether a project is seen for the first time in a write, and which known ones have a similar name.
    /// `None` when there is none, or it is the caller's own or known. From then on it is known.
    pub(crate) async fn meet(
        &self,
        project: Option<&Project>,
        caller: &Caller,
    ) -> Result<Option<Vec<Project>>, ServiceError> {
        let Some(project) = project.filter(|project| **project != caller.project) else { return Ok(None) };
        let mut known = lock(self.all().await?);
        if known.contains(project) {
            return Ok(None);
        }
        // The caller's own may be meant before anything is saved in it.
        let own = Some(&caller.project).filter(|own| !known.contains(*own));
        let near =
            cerebro_core::text::nearest(project.as_str(), known.iter().chain(own).map(Project::as_str));
        let near = near.into_iter().filter_map(Project::parse).collect();
        known.insert(project.clone());
        Ok(Some(near))
    }
}
