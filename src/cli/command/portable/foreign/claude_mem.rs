//! claude-mem: sessions, observations, summaries and prompts in SQLite.
//!
//! An observation's parts become one text. A summary becomes a memory of its session, and the last one the
//! session's own summary.

use std::collections::HashMap;
use std::path::Path;

use super::sqlite::{Reader, Row};
use super::{ForeignError, Harvest, MemoryFacts, PromptFacts, SessionFacts, Source, id_of};
use cerebro_core::domain::{Kind, Project, SessionId, Timestamp};

const AGENT: &str = "claude-mem";
/// The parts of a summary, by column.
const SUMMARY: [(&str, &str); 6] = [
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
];

pub fn read(path: &Path, fallback: &Project) -> Result<Harvest, ForeignError> {
    let file = Reader::open(path, Source::ClaudeMem, &["sdk_sessions", "observations"])?;
    let mut harvest = Harvest::default();
    let summaries = file.rows("session_summaries")?;
    let last: HashMap<&str, String> = summaries
        .iter()
        .filter_map(|row| Some((row.text("memory_session_id")?, parts(row, &SUMMARY))))
        .collect();
    let mut sessions = Sessions { fallback, by_content: HashMap::new(), by_memory: HashMap::new() };
    for row in file.rows("sdk_sessions")? {
        let said = row.text("content_session_id");
        let name = format!("session {}", said.unwrap_or("without id"));
        let (Some(id), Some(started_at)) =
            (said.and_then(|id| SessionId::parse(id).ok()), when(&row, "started_at"))
        else {
            harvest.skipped.push((name, "it has no usable id or start".to_owned()));
            continue;
        };
        let own = row.text("memory_session_id");
        let facts = SessionFacts {
            id: id.clone(),
            project: project(&row, fallback),
            agent: row.text("platform_source").unwrap_or(AGENT).to_owned(),
            directory: None,
            started_at,
            ended_at: when(&row, "completed_at"),
            summary: own.and_then(|own| last.get(own).cloned()),
        };
        harvest.add(name, facts.line());
        sessions.by_content.insert(id.as_str().to_owned(), (id.clone(), facts.project));
        if let Some(own) = own {
            sessions.by_memory.insert(own.to_owned(), id);
        }
    }
    for row in file.rows("observations")? {
        let name = format!("observation {}", row.number("id").unwrap_or_default());
        harvest.add_memory(name, observation(&row, &sessions));
    }
    for row in &summaries {
        let name = format!("summary {}", row.number("id").unwrap_or_default());
        harvest.add_memory(name, summary(row, &sessions));
    }
    prompts(&file, &sessions, &mut harvest)?;
    Ok(harvest.finish())
}

/// The sessions by the two ids that they have.
struct Sessions<'a> {
    /// The project of rows that name none.
    fallback: &'a Project,
    by_content: HashMap<String, (SessionId, Project)>,
    by_memory: HashMap<String, SessionId>,
}

/// What observations and summaries have in common, although in different columns.
struct Entry<'a> {
    table: &'static str,
    /// A key of the row that is the same in every copy of the file.
    key: String,
    kind: String,
    title: &'a str,
    content: String,
}

fn observation(row: &Row, sessions: &Sessions<'_>) -> Result<MemoryFacts, String> {
    let mut content = Vec::new();
    content.extend(
        ["subtitle", "narrative", "text"].iter().filter_map(|name| row.text(name)).map(str::to_owned),
    );
    for (column, heading) in [("facts", "Facts"), ("files_read", "Read"), ("files_modified", "Changed")] {
        let items = row.list(column);
        if !items.is_empty() {
            content.push(format!("{heading}:\n- {}", items.join("\n- ")));
        }
    }
    let title = row.text("title").unwrap_or_default();
    if content.is_empty() {
        content.extend((!title.is_empty()).then(|| title.to_owned()));
    }
    let kind = row.text("type").unwrap_or("discovery").to_owned();
    let key = row
        .text("content_hash")
        .map_or_else(|| row.number("id").unwrap_or_default().to_string(), str::to_owned);
    memory(row, sessions, Entry { table: "observation", key, kind, title, content: content.join("\n\n") })
}

fn summary(row: &Row, sessions: &Sessions<'_>) -> Result<MemoryFacts, String> {
    let entry = Entry {
        table: "summary",
        key: row.number("id").unwrap_or_default().to_string(),
        kind: Kind::session_summary().to_string(),
        title: row.text("request").unwrap_or("Session summary"),
        content: parts(row, &SUMMARY),
    };
    memory(row, sessions, entry)
}

fn memory(row: &Row, sessions: &Sessions<'_>, entry: Entry<'_>) -> Result<MemoryFacts, String> {
    let Entry { table, key, kind, title, content } = entry;
    if content.trim().is_empty() {
        return Err("it has no text".to_owned());
    }
    let created_at = when(row, "created_at").ok_or("it has no readable time")?;
    let own = row.text("memory_session_id").unwrap_or_default();
    Ok(MemoryFacts {
        id: id_of(Source::ClaudeMem, table, &format!("{own}/{key}")),
        project: Some(project(row, sessions.fallback)),
        kind,
        title: title.to_owned(),
        content,
        topic_key: None,
        tags: row.list("concepts"),
        agent: AGENT.to_owned(),
        session: sessions.by_memory.get(own).cloned(),
        created_at,
        updated_at: created_at,
        deleted_at: None,
    })
}

fn prompts(file: &Reader<'_>, sessions: &Sessions<'_>, harvest: &mut Harvest) -> Result<(), ForeignError> {
    for row in file.rows("user_prompts")? {
        let name = format!("prompt {}", row.number("id").unwrap_or_default());
        let session = row.text("content_session_id").and_then(|id| sessions.by_content.get(id.trim()));
        let (Some((session, project)), Some(content), Some(at)) =
            (session, row.text("prompt_text"), when(&row, "created_at"))
        else {
            harvest.skipped.push((name, "it has no text, time or known session".to_owned()));
            continue;
        };
        let key = format!("{}/{}", session.as_str(), row.number("prompt_number").unwrap_or_default());
        let id = id_of(file.source(), "prompt", &key);
        harvest.add(name, PromptFacts { id, session, project, agent: AGENT, content, at }.line());
    }
    Ok(())
}

fn parts(row: &Row, columns: &[(&str, &str)]) -> String {
    let part = |(column, heading): &(&str, &str)| Some(format!("{heading}: {}", row.text(column)?));
    columns.iter().filter_map(part).collect::<Vec<_>>().join("\n\n")
}

/// Each time is stored twice; the number is the exact one.
fn when(row: &Row, name: &str) -> Option<Timestamp> {
    row.epoch(&format!("{name}_epoch")).or_else(|| row.moment(name))
}

fn project(row: &Row, fallback: &Project) -> Project {
    let merged = row.text("merged_into_project").or_else(|| row.text("project"));
    merged.and_then(Project::parse).unwrap_or_else(|| fallback.clone())
}
