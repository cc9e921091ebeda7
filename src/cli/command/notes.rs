//! Exports memories as a folder of Markdown notes, and imports them again.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::sieve::{PartArgs, Sieve};
use super::vault::{NOTE_BYTES_MAX, PERSONAL, Report, Vault, notes_below};
use super::{CommandContext, Outcome};
use crate::answer::of;
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::note::{self, Link, Note};
use crate::cli::table::shown;
use cerebro_core::code::Code;
use cerebro_core::operation::Operation;
use cerebro_core::text;
use cerebro_durable as durable;

/// Says what was done, and which files were left alone and why.
fn print(context: &CommandContext, report: &Report) -> Result<Outcome> {
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(|(path, why)| json!({ "file": path.display().to_string(), "why": why }))
        .collect();
    let mut answer = json!(report.counts);
    answer["skipped"] = json!(skipped);
    if !context.output.json(&answer)? {
        let mut facts: Vec<(&str, String)> =
            report.counts.iter().map(|(what, count)| (*what, count.to_string())).collect();
        facts.push(("skipped", report.skipped.len().to_string()));
        context.output.facts(&facts)?;
        for (path, why) in &report.skipped {
            context.output.note(&format!("{} was skipped: {}", path.display(), text::one_line(why)));
        }
    }
    Ok(if report.skipped.is_empty() { Outcome::Done } else { Outcome::Short })
}

/// What links need before the first note is written.
#[derive(Default)]
struct Map {
    /// Memories by id: file's name, title.
    memories: HashMap<String, (String, String)>,
    sessions: BTreeMap<String, Value>,
    /// What was saved in a session, in order.
    saved: HashMap<String, Vec<String>>,
    relations: HashMap<String, Vec<(String, String)>>,
}

/// Writes the live memories and the sessions of a part into `dir`. Files that are not ours stay as they are.
pub async fn export(context: &CommandContext, dir: &Path, part: &PartArgs) -> Result<Outcome> {
    let sieve = part.sieve()?;
    let daemon = Daemon::reach(&context.home()?).await?;
    let bar = context.output.progress(Some(0), "{bar:30} {human_pos} of {human_len} memories, {elapsed}");
    let map = survey(&daemon, sieve).await?;
    bar.set_length(map.memories.len() as u64);
    let vault = Vault::open(dir)?;
    let mut report = Report::default();
    let mut cursor = None::<String>;
    loop {
        let (lines, next) = page(&daemon, cursor.as_deref()).await?;
        let is_of_part = |line: &&Value| is_live(line) && map.memories.contains_key(&shown(&line["id"]));
        for memory in lines.iter().filter(is_of_part) {
            let text = note::render(memory, &memory_links(memory, &map));
            vault.put_memory(&shown(&memory["id"]), &text, &mut report)?;
            bar.inc(1);
        }
        if next.is_none() {
            break;
        }
        cursor = next;
    }
    for session in map.sessions.values() {
        let text = note::render_session(session, &session_links(session, &map));
        vault.put_session(&session_stem(session), &shown(&session["id"]), &text, &mut report)?;
    }
    bar.finish_and_clear();
    daemon.close().await;
    print(context, &report)
}

fn is_live(line: &Value) -> bool {
    line["kind"] == "memory" && line["deleted_at"].is_null() && line["purged"] != true
}

async fn page(daemon: &Daemon, cursor: Option<&str>) -> Result<(Vec<Value>, Option<String>)> {
    let page = daemon.read(Request::new(of::Export).with("cursor", cursor)).await?.into_answer();
    if page.next_cursor.is_some() && page.next_cursor.as_deref() == cursor {
        return Err(Error::internal("the daemon sends the same page of the export again and again"));
    }
    let lines = page.lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok((lines, page.next_cursor))
}

async fn survey(daemon: &Daemon, mut sieve: Sieve) -> Result<Map> {
    let mut map = Map::default();
    let mut cursor = None::<String>;
    loop {
        let (lines, next) = page(daemon, cursor.as_deref()).await?;
        for line in lines.into_iter().filter_map(|line| sieve.pass(line)) {
            match line["kind"].as_str() {
                Some("session") => {
                    map.sessions.insert(shown(&line["id"]), line);
                }
                Some("memory") if is_live(&line) => {
                    let (id, title) = (shown(&line["id"]), shown(&line["title"]));
                    map.memories.insert(id.clone(), (note::stem(&title, &id), title));
                }
                Some("edge") if line["name"] == "CREATED_IN" => {
                    map.saved.entry(shown(&line["to"])).or_default().push(shown(&line["from"]));
                }
                _ => {}
            }
        }
        if next.is_none() {
            break;
        }
        cursor = next;
    }
    let mut after = None::<String>;
    loop {
        let page = daemon.ask(Request::new(Operation::Relations).with("after", after.as_deref())).await?;
        for edge in page["relations"].as_array().into_iter().flatten() {
            let (from, to, kind) = (shown(&edge["from"]), shown(&edge["to"]), shown(&edge["kind"]));
            map.relations.entry(from).or_default().push((kind, to));
        }
        let next = page["next"].as_str().map(str::to_owned);
        if next.is_none() || next == after {
            return Ok(map);
        }
        after = next;
    }
}

fn session_stem(session: &Value) -> String {
    let day = shown(&session["started_at"]).chars().take(10).collect::<String>();
    let id = shown(&session["id"]);
    // Two ids may have the same letters and digits, so the file name includes a hash.
    let digest = text::hex(&Sha256::digest(&id)[..4]);
    format!("{day}-{}", note::stem(&id, &digest))
}

fn session_links(session: &Value, map: &Map) -> Vec<Link> {
    let mut links = Vec::new();
    if let Some(earlier) = session["follows"].as_str().and_then(|id| map.sessions.get(id)) {
        links.push(session_link("follows", earlier));
    }
    let saved = map.saved.get(&shown(&session["id"])).into_iter().flatten();
    links.extend(saved.filter_map(|id| memory_link("saved", id, map)));
    links
}

fn session_link(kind: &str, session: &Value) -> Link {
    let day = shown(&session["started_at"]).chars().take(10).collect::<String>();
    let words = format!("{} {day}", shown(&session["agent"]));
    Link { kind: kind.to_owned(), stem: session_stem(session), words }
}

fn memory_link(kind: &str, id: &str, map: &Map) -> Option<Link> {
    let (stem, title) = map.memories.get(id)?;
    Some(Link { kind: kind.to_owned(), stem: stem.clone(), words: title.clone() })
}

fn memory_links(memory: &Value, map: &Map) -> Vec<Link> {
    let session = memory["session"].as_str().and_then(|id| map.sessions.get(id));
    let mut links: Vec<Link> = session.map(|session| session_link("session", session)).into_iter().collect();
    let related = map.relations.get(&shown(&memory["id"])).into_iter().flatten();
    links.extend(related.filter_map(|(kind, to)| memory_link(kind, to, map)));
    links
}

/// Imports every note below `dir`. Changed notes become revisions. Notes without an id become memories, and the new
/// id is written into the note.
pub async fn import(context: &CommandContext, dir: &Path, dry_run: bool) -> Result<Outcome> {
    let notes = notes_below(dir)?;
    let daemon = Daemon::reach(&context.home()?).await?;
    let bar = context
        .output
        .progress(Some(notes.len() as u64), "{bar:30} {human_pos} of {human_len} notes, {elapsed}");
    let mut report = Report::default();
    for path in notes {
        match take(&daemon, dir, &path, dry_run).await {
            Ok(Some(outcome)) => report.count(outcome),
            Ok(None) => {}
            Err(Fault::Note(why)) => report.skip(&path, why),
            Err(Fault::All(error)) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    daemon.close().await;
    print(context, &report)
}

/// Why a note was not imported: an error in the note, or one that ends the import.
enum Fault {
    Note(String),
    All(Error),
}

async fn take(
    daemon: &Daemon,
    root: &Path,
    path: &Path,
    dry_run: bool,
) -> std::result::Result<Option<&'static str>, Fault> {
    let size = fs::metadata(path).map_or(0, |found| found.len());
    if size > NOTE_BYTES_MAX {
        return Err(Fault::Note(format!("it has {size} bytes; a memory has at most 256 KiB")));
    }
    let text =
        fs::read_to_string(path).map_err(|error| Fault::Note(format!("it cannot be read: {error}")))?;
    let Some(note) = note::parse(&text).map_err(Fault::Note)? else { return Ok(None) };
    let answer = daemon.ask(request(&note, root, path, dry_run)).await.map_err(|error| {
        // The next note may be taken where this one is not; a store that fails will fail again.
        if error.code().is_some_and(Code::is_callers_fault) {
            Fault::Note(error.to_string())
        } else {
            Fault::All(error)
        }
    })?;
    let outcome = match answer["outcome"].as_str() {
        Some("created") => "created",
        Some("updated") => "updated",
        Some("duplicate") => "duplicate",
        _ => "unchanged",
    };
    if let (false, Some(id), Some(revision)) = (dry_run, answer["id"].as_str(), answer["revision"].as_u64()) {
        let is_placed = note.written.as_deref().is_none_or(|written| written == note.digest())
            && note.id.as_deref() == Some(id)
            && note.revision.and_then(|n| u64::try_from(n).ok()) == Some(revision);
        if !is_placed {
            place_id(path, &text, &note::placed(&text, id, revision))?;
        }
    }
    Ok(Some(outcome))
}

/// Writes the memory's id into a note, unless the file has changed since it was read.
fn place_id(path: &Path, read: &str, placed: &str) -> std::result::Result<(), Fault> {
    if fs::read_to_string(path).is_ok_and(|present| present != read) {
        let why = "it was taken in and changed at the same moment; import it again";
        return Err(Fault::Note(why.to_owned()));
    }
    durable::write(path, durable::Kind::Persons, placed.as_bytes())
        .map_err(|error| Fault::All(Error::file("write", path, &error)))
}

fn request(note: &Note, root: &Path, path: &Path, dry_run: bool) -> Request {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // A new note belongs to the folder that it was put in, as an exported one does.
    let folder =
        path.strip_prefix(root).ok().and_then(Path::parent).map(|folder| folder.display().to_string());
    let folder = folder.filter(|folder| !folder.is_empty());
    let personal = folder.as_deref() == Some(PERSONAL);
    let (project, scope) = match &note.id {
        Some(_) => (note.project.clone(), note.scope.clone()),
        None => (
            note.project.clone().or_else(|| folder.filter(|_| !personal)),
            note.scope.clone().or_else(|| personal.then(|| PERSONAL.to_owned())),
        ),
    };
    Request::new(Operation::Note)
        .with("id", note.id.clone())
        .with("revision", note.revision)
        .with("title", note.title.clone().unwrap_or(stem))
        .with("content", note.content.clone())
        .with("type", note.kind.clone())
        .with("project", project)
        .with("scope", scope)
        // Of an exported note, a property that is gone was taken away.
        .with("topic_key", note.topic_key.clone().or_else(|| note.id.as_ref().map(|_| String::new())))
        .with("tags", tags(note))
        .with("dry_run", dry_run)
}

/// Tags as one text, because an empty list would count as absent.
fn tags(note: &Note) -> Option<String> {
    let gone = note.id.as_ref().map(|_| Vec::new());
    note.tags.clone().or(gone).map(|tags| json!(tags).to_string())
}
