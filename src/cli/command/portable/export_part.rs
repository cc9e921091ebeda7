//! A part of an export: by project, type or age, with everything that belongs to the memories in it.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::prelude::*;
use cerebro_core::domain::{Kind, Project, Timestamp};

/// Which part.
#[derive(Debug, Clone, Default, Args)]
pub struct PartArgs {
    /// Only this project, without personal memories [default: all]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only memories of this type, and no prompts, past sessions or documents
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only memories and prompts written since this date, such as 2026-11-21 or 7d
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
}

impl PartArgs {
    /// Whether all is asked for.
    pub fn is_all(&self) -> bool {
        self.project.is_none() && self.kind.is_none() && self.since.is_none()
    }

    /// What to say of a project and a type that no memory has.
    pub async fn suggestions(&self, daemon: &Daemon) -> Result<Vec<String>> {
        suggest::for_unknown(daemon, self.project.as_deref(), self.kind.as_deref()).await
    }

    /// The filter that keeps the part.
    pub fn filter(&self) -> Result<PartFilter> {
        let since = self.since.as_deref().map(|given| {
            text::parse_moment(given.trim(), Timestamp::now(), false).ok_or_else(|| {
                Error::usage(format!("--since `{given}`: it is not a date"))
                    .hint("2026-11-21, yesterday or 7d")
            })
        });
        Ok(PartFilter {
            keeps_all: self.is_all(),
            project: self.project.as_deref().map(Project::stored),
            kind: self.kind.as_deref().map(Kind::stored),
            since: since.transpose()?,
            memories: HashSet::new(),
            sessions: HashSet::new(),
            works: HashSet::new(),
            artifacts: HashSet::new(),
            past_sessions: HashSet::new(),
            exchanges: HashSet::new(),
            documents: HashSet::new(),
        })
    }
}

/// Keeps a part of an export, line by line in the order of an export: sessions, memories, and then what belongs to
/// them.
#[derive(Debug, Clone)]
pub struct PartFilter {
    keeps_all: bool,
    project: Option<String>,
    kind: Option<String>,
    since: Option<Timestamp>,
    /// The memories and sessions that were kept.
    memories: HashSet<String>,
    sessions: HashSet<String>,
    /// The pieces of work that were kept, and the artifacts that their events name.
    works: HashSet<String>,
    artifacts: HashSet<String>,
    /// The past sessions that were kept with their exchanges, and the documents.
    past_sessions: HashSet<String>,
    exchanges: HashSet<String>,
    documents: HashSet<String>,
}

impl PartFilter {
    /// The filter that keeps memories of a type, for tests.
    #[cfg(test)]
    pub fn of_type(kind: &str) -> Self {
        let args = PartArgs { kind: Some(kind.to_owned()), ..PartArgs::default() };
        args.filter().expect("it has no date")
    }

    /// The line as it is in the part, without links to what is not in it; `None` if it is not in it.
    pub fn keep<'a>(&mut self, line: &'a str) -> Option<Cow<'a, str>> {
        if self.keeps_all {
            return Some(Cow::Borrowed(line));
        }
        let line = self.kept(serde_json::from_str(line).ok()?)?;
        Some(Cow::Owned(line.to_string()))
    }

    /// Whether a line shows that the part has something. The header and the digests of what was forgotten do not, because they
    /// are in every part. In a part of a type, only a memory does: sessions have no type.
    pub fn has_own(&mut self, line: &str) -> bool {
        let Some(kept) = serde_json::from_str(line).ok().and_then(|line| self.kept(line)) else {
            return false;
        };
        match kept["kind"].as_str() {
            Some("header" | "history_tombstone") => false,
            kind => self.kind.is_none() || kind == Some("memory"),
        }
    }

    fn kept(&mut self, mut line: Value) -> Option<Value> {
        let id = line["id"].as_str().unwrap_or_default().to_owned();
        let is_kept = match line["kind"].as_str() {
            Some("session") => self.is_of_project(&line) && self.sessions.insert(id),
            Some("memory") => {
                let is_of_kind = self.kind.as_deref().is_none_or(|kind| line["type"] == kind);
                let is_kept = self.is_of_project(&line) && is_of_kind && self.is_recent(&line["updated_at"]);
                is_kept && self.memories.insert(id)
            }
            Some("revision") => line["memory"].as_str().is_some_and(|id| self.memories.contains(id)),
            Some("prompt") => {
                let is_linked = line["session"].as_str().is_some_and(|id| self.sessions.contains(id));
                self.kind.is_none()
                    && is_linked
                    && self.is_of_project(&line)
                    && self.is_recent(&line["created_at"])
            }
            Some("edge") => ["from", "to"].iter().all(|end| {
                let members = [&self.memories, &self.sessions, &self.works, &self.exchanges];
                line[*end].as_str().is_some_and(|id| members.iter().any(|members| members.contains(id)))
            }),
            Some("work") => return self.keeps_work(id, &line).then_some(line),
            Some("work_event") => {
                let is_kept = line["work"].as_str().is_some_and(|id| self.works.contains(id));
                if let Some(artifact) = line["artifact"].as_str().filter(|_| is_kept) {
                    self.artifacts.insert(artifact.to_owned());
                }
                is_kept
            }
            Some("artifact") => self.artifacts.contains(&id),
            _ => return self.keeps_evidence(id, &line).then_some(line),
        };
        for link in ["session", "follows"] {
            let leads_out = line[link].as_str().is_some_and(|id| !self.sessions.contains(id));
            if let Some(members) = line.as_object_mut().filter(|_| leads_out) {
                members.remove(link);
            }
        }
        is_kept.then_some(line)
    }

    /// A piece of work has no type, and keeps its links: its chain is over them.
    fn keeps_work(&mut self, id: String, line: &Value) -> bool {
        let is_kept = self.kind.is_none() && self.is_of_project(line) && self.is_recent(&line["active_at"]);
        is_kept && self.works.insert(id)
    }

    /// Past sessions and documents have no type. The exchanges and candidates of a session and the chunks of a document go
    /// with it. The header and the digests of what was forgotten are in each part.
    fn keeps_evidence(&mut self, id: String, line: &Value) -> bool {
        let is_in = |members: &HashSet<String>, link: &str| {
            line[link].as_str().is_some_and(|id| members.contains(id))
        };
        let is_whole = |part: &Self, at: &str| {
            part.kind.is_none() && part.is_of_project(line) && part.is_recent(&line[at])
        };
        match line["kind"].as_str() {
            Some("header" | "history_tombstone") => true,
            Some("past_session") => {
                let at = if line["ended_at"].is_string() { "ended_at" } else { "started_at" };
                is_whole(self, at) && self.past_sessions.insert(id)
            }
            Some("exchange") => is_in(&self.past_sessions, "session") && self.exchanges.insert(id),
            Some("candidate") => {
                is_in(&self.past_sessions, "session")
                    && (line["memory"].is_null() || is_in(&self.memories, "memory"))
            }
            Some("document") => is_whole(self, "at") && self.documents.insert(id),
            Some("chunk") => is_in(&self.documents, "document"),
            _ => false,
        }
    }

    fn is_of_project(&self, line: &Value) -> bool {
        self.project.as_deref().is_none_or(|project| line["project"] == project)
    }

    fn is_recent(&self, at: &Value) -> bool {
        let at = at.as_str().and_then(|at| at.parse::<Timestamp>().ok());
        self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(args: PartArgs) -> Vec<String> {
        let mut filter = args.filter().unwrap();
        let lines = [
            json!({ "kind": "header" }),
            json!({ "kind": "session", "id": "s1", "project": "a" }),
            json!({ "kind": "session", "id": "s2", "project": "b", "follows": "s1" }),
            json!({ "kind": "memory", "id": "m1", "project": "a", "type": "bugfix", "session": "s1", "updated_at": "2026-11-01T00:00:00Z" }),
            json!({ "kind": "memory", "id": "m2", "project": "a", "type": "decision", "session": "s2", "updated_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "memory", "id": "m3", "project": "b", "type": "bugfix", "session": "s2", "updated_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "revision", "memory": "m1", "number": 1 }),
            json!({ "kind": "prompt", "id": "p1", "project": "a", "session": "s1", "created_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "edge", "from": "m1", "to": "s1" }),
            json!({ "kind": "edge", "from": "m2", "to": "s2" }),
            json!({ "kind": "work", "id": "w1", "project": "a", "session": "s2", "active_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "work", "id": "w2", "project": "b", "active_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "work_event", "work": "w1", "artifact": "f1" }),
            json!({ "kind": "work_event", "work": "w2", "artifact": "f2" }),
            json!({ "kind": "artifact", "id": "f1" }),
            json!({ "kind": "artifact", "id": "f2" }),
            json!({ "kind": "edge", "from": "m1", "to": "w1" }),
            json!({ "kind": "history_tombstone", "digest": "d" }),
            json!({ "kind": "past_session", "id": "h1", "project": "a", "started_at": "2026-11-01T00:00:00Z", "ended_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "past_session", "id": "h2", "project": "b", "started_at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "exchange", "id": "x1", "session": "h1" }),
            json!({ "kind": "exchange", "id": "x2", "session": "h2" }),
            json!({ "kind": "candidate", "id": "c1", "session": "h1", "memory": "m1" }),
            json!({ "kind": "candidate", "id": "c2", "session": "h1", "memory": null }),
            json!({ "kind": "candidate", "id": "c3", "session": "h2", "memory": "m3" }),
            json!({ "kind": "edge", "from": "m1", "to": "x1" }),
            json!({ "kind": "edge", "from": "m1", "to": "x2" }),
            json!({ "kind": "document", "id": "d1", "project": "a", "at": "2026-11-01T00:00:00Z" }),
            json!({ "kind": "document", "id": "d2", "project": "b", "at": "2026-11-20T00:00:00Z" }),
            json!({ "kind": "chunk", "id": "k1", "document": "d1" }),
            json!({ "kind": "chunk", "id": "k2", "document": "d2" }),
        ];
        let name = |line: &Value| {
            let parts = ["kind", "id", "memory", "from", "session", "follows", "work"];
            parts.iter().filter_map(|part| line[*part].as_str()).collect::<Vec<_>>().join(" ")
        };
        lines.into_iter().filter_map(|line| filter.kept(line)).map(|line| name(&line)).collect()
    }

    #[test]
    fn a_part_has_what_belongs_to_it_and_no_links_out_of_it() {
        let own = |text: &str| Some(text.to_owned());
        let of_a = PartArgs { project: own(" A"), ..PartArgs::default() };
        let filter = PartArgs { project: own("My Web"), kind: own("Bug Fix"), ..PartArgs::default() };
        let filter = filter.filter().unwrap();
        assert_eq!((filter.project, filter.kind), (own("my-web"), own("bug-fix")), "as they are stored");
        assert_eq!(
            kept(of_a.clone()),
            [
                "header", "session s1", "memory m1 s1", "memory m2", "revision m1", "prompt p1 s1",
                "edge m1", "work w1 s2", "work_event w1", "artifact f1", "edge m1", "history_tombstone",
                "past_session h1", "exchange x1 h1", "candidate c1 m1 h1", "candidate c2 h1", "edge m1",
                "document d1", "chunk k1",
            ]
        );
        assert_eq!(
            kept(PartArgs { kind: own("bugfix"), ..of_a.clone() }),
            ["header", "session s1", "memory m1 s1", "revision m1", "edge m1", "history_tombstone"]
        );
        assert_eq!(
            kept(PartArgs { since: own("2026-11-10"), ..of_a.clone() }),
            [
                "header", "session s1", "memory m2", "prompt p1 s1", "work w1 s2", "work_event w1",
                "artifact f1", "history_tombstone", "past_session h1", "exchange x1 h1", "candidate c2 h1",
            ]
        );
        let session = r#"{"kind":"session","id":"s1","project":"a"}"#;
        let memory = r#"{"kind":"memory","id":"m1","project":"a","type":"bugfix","session":"s1"}"#;
        let has = |args: &PartArgs| {
            let mut part = args.filter().unwrap();
            [r#"{"kind":"header"}"#, session, memory].map(|line| part.has_own(line))
        };
        let of_type = |kind: &str| PartArgs { kind: own(kind), ..PartArgs::default() };
        assert_eq!(has(&of_a), [false, true, true]);
        assert_eq!(has(&of_type("bugfix")), [false, false, true]);
        assert_eq!(has(&of_type("bugfx")), [false; 3], "sessions have no type");
        let mut all = PartArgs::default().filter().unwrap();
        assert_eq!(all.keep("{\"b\": 1}").as_deref(), Some("{\"b\": 1}"));
        let odd = PartArgs { since: own("soon"), ..PartArgs::default() };
        assert_eq!(odd.filter().unwrap_err().exit_code(), 2);
    }
}
