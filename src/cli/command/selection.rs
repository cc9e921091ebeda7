//! Selections: the conditions that commands over many memories share, and reading the memories that meet them.

use super::prelude::*;
use crate::answer::memories::{Listed, Row};
use cerebro_core::domain::limits::LISTING_MAX;

/// Most memories that one command changes.
const SELECTED_MAX: usize = 10_000;

/// Whose things are listed.
#[derive(Debug, Clone, Default, Args)]
pub struct ProjectArgs {
    /// Only this project [default: that of the working folder]
    #[arg(long, value_name = "NAME", conflicts_with = "all_projects")]
    pub project: Option<String>,
    /// All projects
    #[arg(long)]
    pub all_projects: bool,
}

impl ProjectArgs {
    /// A request about these projects.
    pub fn request<O>(&self, operation: O) -> Request<O> {
        Request::new(operation)
            .with("project", self.project.as_deref())
            .with("all_projects", self.all_projects)
    }
}

/// Conditions; a memory must meet all that are given.
#[derive(Debug, Clone, Default, Args)]
pub struct Conditions {
    /// Only memories of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Only memories with this tag; can be repeated
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only memories of this scope: `project` or `personal`
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Only memories written since this date
    #[arg(long, value_name = "DATE")]
    pub since: Option<String>,
    /// Only memories written until the end of this date
    #[arg(long, value_name = "DATE")]
    pub until: Option<String>,
    /// Only memories first saved in this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Only memories last written by this agent; commands such as this one write as `cerebro-cli`
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
}

impl Conditions {
    /// The daemon's list of what meets the conditions.
    pub fn request(&self) -> Request<of::List> {
        Request::new(of::List).given(json!({
            "type": self.kind, "tags": self.tags, "scope": self.scope, "since": self.since,
            "until": self.until, "session": self.session, "agent": self.agent,
        }))
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.request().is_bare()
    }

    /// Whether the conditions alone name memories of any project: a session has one, and what is personal none.
    pub fn is_of_any_project(&self) -> bool {
        self.session.is_some() || self.scope.as_deref().is_some_and(|scope| scope.trim() == "personal")
    }
}

/// What a selection read.
#[derive(Debug, Default)]
pub struct Chosen {
    /// The memories, newest first.
    pub memories: Vec<Row>,
    /// There are more than one command takes.
    pub is_cut: bool,
}

impl Chosen {
    pub fn ids(&self) -> Vec<String> {
        self.memories.iter().map(|memory| memory.id.raw().to_owned()).collect()
    }
}

/// Reads all that a request lists, up to the bound of one command.
pub async fn all(daemon: &Daemon, request: &Request<of::List>) -> Result<Chosen> {
    let mut chosen = Chosen::default();
    let mut cursor = None;
    loop {
        let page = request.clone().with("limit", LISTING_MAX).with("cursor", cursor.as_ref().map(Text::raw));
        let Listed { memories, next_cursor, .. } = daemon.read(page).await?.into_answer();
        chosen.memories.extend(memories);
        if next_cursor.is_none() {
            return Ok(chosen);
        }
        if chosen.memories.len() >= SELECTED_MAX {
            return Ok(Chosen { is_cut: true, ..chosen });
        }
        cursor = next_cursor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_project_is_looked_for_in_all() {
        let is_of_any = |scope: Option<&str>, session: Option<&str>| {
            let own = |text: &str| text.to_owned();
            Conditions { scope: scope.map(own), session: session.map(own), ..Conditions::default() }
                .is_of_any_project()
        };
        assert!(is_of_any(Some("personal"), None) && is_of_any(None, Some("s-1")));
        assert!(!is_of_any(Some("project"), None) && !is_of_any(None, None));
        assert!(Conditions::default().is_empty());
        assert!(!Conditions { tags: vec!["a".to_owned()], ..Conditions::default() }.is_empty());
    }
}
