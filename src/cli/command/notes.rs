//! Memories as a folder of Markdown notes, and back.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Desk, Outcome};
use crate::cli::error::{Error, Result};
use crate::cli::note::{self, Link, Note};
use crate::cli::request::{Daemon, Request};
use crate::cli::table::shown;
use crate::platform;
use cerebro_core::text;

/// Deepest folder below the given one that is read.
const DEPTH_MAX: usize = 16;
/// Largest note that is read: the content's bound and room for the rest.
const NOTE_BYTES_MAX: u64 = 512 * 1024;
/// The folder of personal memories, and that of sessions.
const PERSONAL: &str = "personal";
const SESSIONS: &str = "sessions";

/// What an export or import of notes did.
#[derive(Debug, Default)]
pub struct Report {
    /// By what became of them.
    counts: BTreeMap<&'static str, u64>,
    /// Files that were left out, and why.
    skipped: Vec<(PathBuf, String)>,
}

impl Report {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn tell(&self, desk: &Desk) -> Result<Outcome> {
        let skipped: Vec<Value> = self
            .skipped
            .iter()
            .map(|(path, why)| json!({ "file": path.display().to_string(), "why": why }))
            .collect();
        let mut told = json!(self.counts);
        told["skipped"] = json!(skipped);
        if !desk.output.json(&told)? {
            let mut facts: Vec<(&str, String)> =
                self.counts.iter().map(|(what, count)| (*what, count.to_string())).collect();
            facts.push(("skipped", self.skipped.len().to_string()));
            desk.output.facts(&facts)?;
            for (path, why) in &self.skipped {
                desk.output.note(&format!("{} was skipped: {}", path.display(), text::one_line(why)));
            }
        }
        Ok(if self.skipped.is_empty() { Outcome::Done } else { Outcome::Short })
    }
}

/// What links need to know before the first note is written.
#[derive(Default)]
struct Map {
    /// Memories by id: file's name, title.
    memories: HashMap<String, (String, String)>,
    sessions: BTreeMap<String, Value>,
    /// What was saved in a session, in order.
    saved: HashMap<String, Vec<String>>,
    relations: HashMap<String, Vec<(String, String)>>,
}

/// Writes every live memory and every session into `dir`.
pub async fn export(desk: &Desk, dir: &Path) -> Result<Outcome> {
    let daemon = Daemon::reach(&desk.home()?).await?;
    let bar = desk.output.progress(Some(0), "{bar:30} {human_pos} of {human_len} memories, {elapsed}");
    let map = survey(&daemon).await?;
    bar.set_length(map.memories.len() as u64);
    let folder = Folder::open(dir)?;
    let mut report = Report::default();
    let mut cursor = None::<String>;
    loop {
        let (lines, next) = page(&daemon, cursor.as_deref()).await?;
        for memory in lines.iter().filter(|line| is_live(line)) {
            let path = folder.place(memory, &map);
            let was_unsent = folder.write_note(&path, memory, &map, &mut report)?;
            if let Some(why) = was_unsent {
                report.skipped.push((path, why));
            }
            bar.inc(1);
        }
        if next.is_none() {
            break;
        }
        cursor = next;
    }
    for session in map.sessions.values() {
        let path = folder.root.join(SESSIONS).join(format!("{}.md", session_stem(session)));
        let text = note::render_session(session, &session_links(session, &map));
        report.count(if write(&path, &text)? { "sessions" } else { "unchanged" });
    }
    bar.finish_and_clear();
    daemon.close().await;
    report.tell(desk)
}

fn is_live(line: &Value) -> bool {
    line["kind"] == "memory" && line["deleted_at"].is_null() && line["purged"] != true
}

async fn page(daemon: &Daemon, cursor: Option<&str>) -> Result<(Vec<Value>, Option<String>)> {
    let page = daemon.ask(Request::new("op_export").with("cursor", cursor)).await?;
    let lines = page["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let lines = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    let next = page["next_cursor"].as_str().map(str::to_owned);
    if next.is_some() && next.as_deref() == cursor {
        return Err(Error::internal("the daemon sends the same page of the export again and again"));
    }
    Ok((lines, next))
}

async fn survey(daemon: &Daemon) -> Result<Map> {
    let mut map = Map::default();
    let mut cursor = None::<String>;
    loop {
        let (lines, next) = page(daemon, cursor.as_deref()).await?;
        for line in lines {
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
        let page = daemon.ask(Request::new("op_relations").with("after", after.as_deref())).await?;
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
    // Two ids may be alike in letters and digits, and files are told apart by these.
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

/// A folder of notes, and where the notes of an earlier export lie in it.
struct Folder {
    root: PathBuf,
    known: HashMap<String, PathBuf>,
}

impl Folder {
    fn open(root: &Path) -> Result<Self> {
        platform::create_private_dir_all(root).map_err(|error| Error::file("make", root, &error))?;
        let mut known = HashMap::new();
        for path in notes_below(root)? {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let id = stem.rsplit('-').next().unwrap_or_default();
            known.insert(id.to_owned(), path);
        }
        Ok(Self { root: root.to_path_buf(), known })
    }

    fn place(&self, memory: &Value, map: &Map) -> PathBuf {
        let id = shown(&memory["id"]);
        let project = shown(&memory["project"]);
        let folder = if project.is_empty() { PERSONAL.to_owned() } else { project };
        let stem = map.memories.get(&id).map_or_else(|| id.clone(), |(stem, _)| stem.clone());
        folder
            .split('/')
            .fold(self.root.clone(), |path, part| path.join(plain(part)))
            .join(format!("{stem}.md"))
    }

    /// Writes a memory's note; says why not when it holds a change that was never imported.
    fn write_note(
        &self,
        path: &Path,
        memory: &Value,
        map: &Map,
        report: &mut Report,
    ) -> Result<Option<String>> {
        let text = note::render(memory, &memory_links(memory, map));
        let known = self.known.get(&shown(&memory["id"]));
        if let Some(old) = known.and_then(|old| fs::read_to_string(old).ok())
            && holds_a_change(&old, &text, memory)
        {
            return Ok(Some("it was changed here and not imported; `cerebro import` takes it".to_owned()));
        }
        report.count(if write(path, &text)? { "memories" } else { "unchanged" });
        if let Some(old) = known.filter(|old| *old != path) {
            fs::remove_file(old).map_err(|error| Error::file("remove", old, &error))?;
        }
        Ok(None)
    }
}

/// Whether a note was edited since it was written. One without a digest, as earlier versions wrote it, is held
/// against its memory if that is of the same revision.
fn holds_a_change(old: &str, new: &str, memory: &Value) -> bool {
    let (Ok(Some(note)), Ok(Some(now))) = (note::parse(old), note::parse(new)) else { return false };
    if note.id.as_deref() != memory["id"].as_str() {
        return false;
    }
    if let Some(written) = &note.written {
        let digest = note.digest();
        return digest != *written && digest != now.digest();
    }
    if note.revision != memory["revision"].as_i64() {
        return false;
    }
    let content = memory["content"].as_str().unwrap_or_default();
    note.content.trim() != content.trim() || note.title.as_deref() != memory["title"].as_str()
}

/// A part of a path that every file system takes.
fn plain(part: &str) -> String {
    let plain: String = part
        .chars()
        .map(|c| if c.is_control() || "\\:*?\"<>|".contains(c) { '-' } else { c })
        .take(100)
        .collect();
    match plain.trim_start_matches('.') {
        "" => "general".to_owned(),
        name => name.to_owned(),
    }
}

/// Puts a text in a file's place, unless it is there already; says whether it did.
fn write(path: &Path, text: &str) -> Result<bool> {
    let fault = |error: io::Error| Error::file("write", path, &error);
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        platform::create_private_dir_all(folder).map_err(fault)?;
    }
    let part = path.with_extension("md.part");
    let mut file = platform::open_private_file(&part).map_err(fault)?;
    file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(fault)?;
    fs::rename(&part, path).map_err(fault)?;
    Ok(true)
}

/// The notes below a folder, in order; hidden folders are the editor's own.
fn notes_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| Error::file("read", &folder, &error))?;
        for entry in entries.flatten() {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !hidden && depth < DEPTH_MAX {
                folders.push((path, depth + 1));
            } else if kind.is_file() && !hidden && path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Takes in every note below `dir`: changes as new revisions, notes without an id as new memories, whose
/// ids are then written into them.
pub async fn import(desk: &Desk, dir: &Path, dry_run: bool) -> Result<Outcome> {
    let notes = notes_below(dir)?;
    let daemon = Daemon::reach(&desk.home()?).await?;
    let bar = desk
        .output
        .progress(Some(notes.len() as u64), "{bar:30} {human_pos} of {human_len} notes, {elapsed}");
    let mut report = Report::default();
    for path in notes {
        match take(&daemon, dir, &path, dry_run).await {
            Ok(Some(outcome)) => report.count(outcome),
            Ok(None) => {}
            Err(Fault::Note(why)) => report.skipped.push((path, why)),
            Err(Fault::All(error)) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    daemon.close().await;
    report.tell(desk)
}

/// Why a note was not taken: a fault of its own, or one that ends the import.
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
        if error.exit_code() == 1 { Fault::Note(error.to_string()) } else { Fault::All(error) }
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
            write(path, &note::placed(&text, id, revision)).map_err(Fault::All)?;
        }
    }
    Ok(Some(outcome))
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
    Request::new("op_note")
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

/// Tags as one text, since an empty list would count as not said.
fn tags(note: &Note) -> Option<String> {
    let gone = note.id.as_ref().map(|_| Vec::new());
    note.tags.clone().or(gone).map(|tags| json!(tags).to_string())
}
