//! @modelcontextprotocol/server-memory: a graph of entities and relations, one JSON object per line.
//!
//! An entity becomes a memory: its observations are the text, followed by its relations, because they name other
//! entities by words that a search should find. The file has no times and no projects.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::{ForeignError, Harvest, MemoryFacts, Source, id_of, open};
use cerebro_core::domain::limits::LINE_BYTES_MAX;
use cerebro_core::domain::{Project, Timestamp};

const AGENT: &str = "server-memory";

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Entity(Entity),
    Relation(Relation),
}

#[derive(Debug, Deserialize)]
struct Entity {
    name: String,
    #[serde(rename = "entityType", default)]
    kind: String,
    #[serde(default)]
    observations: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Relation {
    from: String,
    to: String,
    #[serde(rename = "relationType")]
    kind: String,
}

pub fn read(path: &Path, project: &Project) -> Result<Harvest, ForeignError> {
    let io = |source| ForeignError::Io { path: path.to_path_buf(), source };
    let file = open(path)?;
    let at = file.metadata().and_then(|found| found.modified()).ok();
    let at = at.and_then(|at| Timestamp::try_from(at).ok()).unwrap_or_else(Timestamp::now);
    let mut reader = BufReader::new(file);
    let mut harvest = Harvest::default();
    let (mut entities, mut relations) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(LINE_BYTES_MAX as u64).read_until(b'\n', &mut line).map_err(io)?;
        if read == 0 {
            break;
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Line>(&line) {
            Ok(Line::Entity(entity)) => entities.push(entity),
            Ok(Line::Relation(Relation { from, to, kind })) => {
                relations.entry(from.clone()).or_default().push(format!("{kind} {to}"));
                relations.entry(to).or_default().push(format!("{from} {kind} this"));
            }
            Err(error) if entities.is_empty() && relations.is_empty() => {
                let reason = format!("line {number}: {error}");
                return Err(ForeignError::Other { path: path.to_path_buf(), program: AGENT, reason });
            }
            Err(error) => harvest.skipped.push((format!("line {number}"), error.to_string())),
        }
    }
    for entity in entities {
        let name = format!("entity {}", entity.name);
        let related = relations.get(&entity.name).map(Vec::as_slice).unwrap_or_default();
        harvest.add_memory(name, Ok(memory(&entity, related, project, at)));
    }
    Ok(harvest.finish())
}

fn memory(entity: &Entity, related: &[String], project: &Project, at: Timestamp) -> MemoryFacts {
    let mut content: Vec<String> = entity.observations.iter().map(|said| format!("- {said}")).collect();
    if !related.is_empty() {
        content.push(format!("\nRelations:\n- {}", related.join("\n- ")));
    }
    if content.is_empty() {
        content.push(format!("{} ({})", entity.name, entity.kind));
    }
    MemoryFacts {
        id: id_of(Source::ServerMemory, "entity", &format!("{project}/{}", entity.name)),
        project: Some(project.clone()),
        kind: entity.kind.clone(),
        title: entity.name.clone(),
        content: content.join("\n"),
        topic_key: None,
        tags: Vec::new(),
        agent: AGENT.to_owned(),
        session: None,
        created_at: at,
        updated_at: at,
        deleted_at: None,
    }
}
