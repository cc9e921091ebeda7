//! engram: sessions, observations and prompts in SQLite.
//!
//! Earlier revisions of an observation are not in the file, so every memory starts at revision 1. The file's other
//! tables are about its synchronisation.

use std::collections::HashMap;
use std::path::Path;

use super::sqlite::{Reader, Row};
use super::{ForeignError, Harvest, MemoryFacts, PromptFacts, SessionFacts, Source, id_of};
use cerebro_core::domain::{Project, SessionId, Timestamp};

const AGENT: &str = "engram";

pub fn read(path: &Path, fallback: &Project) -> Result<Harvest, ForeignError> {
    let file = Reader::open(path, Source::Engram, &["sessions", "observations"])?;
    let mut harvest = Harvest::default();
    let mut sessions = HashMap::new();
    for row in file.rows("sessions")? {
        let name = format!("session {}", row.text("id").unwrap_or("without id"));
        let (Some(id), Some(started_at)) =
            (row.text("id").and_then(|id| SessionId::parse(id).ok()), row.moment("started_at"))
        else {
            harvest.skipped.push((name, "it has no usable id or start".to_owned()));
            continue;
        };
        let facts = SessionFacts {
            project: project(&row, fallback),
            agent: AGENT.to_owned(),
            directory: row.text("directory").map(str::to_owned),
            started_at,
            ended_at: row.moment("ended_at"),
            summary: row.text("summary").map(str::to_owned),
            id: id.clone(),
        };
        harvest.add(name, facts.line());
        sessions.insert(id, facts.project);
    }
    for row in file.rows("observations")? {
        let name = format!("observation {}", row.number("id").unwrap_or_default());
        harvest.add_memory(name, observation(&row, fallback, &sessions));
    }
    for row in file.rows("user_prompts")? {
        let name = format!("prompt {}", row.number("id").unwrap_or_default());
        let session = row.text("session_id").and_then(|id| SessionId::parse(id).ok());
        let session = session.filter(|id| sessions.contains_key(id));
        let (Some(session), Some(content), Some(at)) =
            (session, row.text("content"), row.moment("created_at"))
        else {
            harvest.skipped.push((name, "it has no text, time or known session".to_owned()));
            continue;
        };
        let id = id_of(Source::Engram, "prompt", &key(&row));
        let project = project(&row, fallback);
        let prompt = PromptFacts { id, session: &session, project: &project, agent: AGENT, content, at };
        harvest.add(name, prompt.line());
    }
    Ok(harvest.finish())
}

fn observation(
    row: &Row,
    fallback: &Project,
    sessions: &HashMap<SessionId, Project>,
) -> Result<MemoryFacts, String> {
    let content = row.text("content").ok_or("it has no content")?;
    let created_at: Timestamp = row.moment("created_at").ok_or("it has no readable time")?;
    let session = row.text("session_id").and_then(|id| SessionId::parse(id).ok());
    let personal = row.text("scope").is_some_and(|scope| scope.eq_ignore_ascii_case("personal"));
    Ok(MemoryFacts {
        id: id_of(Source::Engram, "observation", &key(row)),
        project: (!personal).then(|| project(row, fallback)),
        kind: row.text("type").unwrap_or("manual").to_owned(),
        title: row.text("title").unwrap_or_default().to_owned(),
        content: content.to_owned(),
        topic_key: row.text("topic_key").map(str::to_owned),
        tags: Vec::new(),
        agent: AGENT.to_owned(),
        session: session.filter(|id| sessions.contains_key(id)),
        created_at,
        updated_at: row.moment("updated_at").unwrap_or(created_at).max(created_at),
        deleted_at: row.moment("deleted_at"),
    })
}

/// What identifies a row in every copy of the file. Its number alone may belong to another row in another file.
fn key(row: &Row) -> String {
    row.text("sync_id").map_or_else(
        || {
            let (number, session) = (row.number("id").unwrap_or_default(), row.text("session_id"));
            format!("{}/{number}", session.unwrap_or_default())
        },
        str::to_owned,
    )
}

fn project(row: &Row, fallback: &Project) -> Project {
    row.text("project").and_then(Project::parse).unwrap_or_else(|| fallback.clone())
}
