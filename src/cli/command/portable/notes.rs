//! Exports memories as a folder of Markdown notes, and imports them again.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::super::prelude::*;
use super::Pages;
use super::export_part::{PartArgs, PartFilter};
use super::note::{self, Link, Note};
use super::vault::{NOTE_BYTES_MAX, NotesReport, PERSONAL, Vault, notes_below, project_of};
use crate::answer::{
    graph::Edge,
    portable::{Line, Memory},
    sessions::Session,
};
use crate::config::Config;
use cerebro_core::code::Code;
use cerebro_core::domain::Run;
use cerebro_core::redact;
use cerebro_durable as durable;

/// Says what was done, and which files were left alone and why.
fn print(context: &CommandContext, report: &NotesReport) -> Result<()> {
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(|(path, why)| json!({ "file": path.display().to_string(), "why": why }))
        .collect();
    let mut answer = json!(report.counts);
    answer["skipped"] = json!(skipped);
    context.output.json(&answer)?;
    let mut facts: Vec<(&str, String)> =
        report.counts.iter().map(|(what, count)| (*what, count.to_string())).collect();
    facts.push(("skipped", report.skipped.len().to_string()));
    context.output.facts(&facts)?;
    for (path, why) in &report.skipped {
        context.output.note(&format!("{} was skipped: {}", path.display(), text::one_line(why)));
    }
    done_if(report.skipped.is_empty())
}

/// What links need before the first note is written.
#[derive(Default)]
struct Survey {
    /// The live memories of the part.
    memories: HashMap<Text, NoteName>,
    sessions: BTreeMap<Text, Session>,
    /// What was saved in a session, in order.
    saved: HashMap<Text, Vec<Text>>,
    relations: HashMap<Text, Vec<Edge>>,
}

/// What a link to a memory's note needs.
struct NoteName {
    /// The file's name without its ending.
    stem: String,
    title: Text,
}

/// Writes the live memories and the sessions of a part into `dir`. Files that are not ours stay as they are.
pub async fn export(context: &CommandContext, dir: &Path, part: &PartArgs) -> Result<()> {
    let filter = part.filter()?;
    let home = context.home()?;
    let daemon = Daemon::reach(&home).await?;
    redact::configure(Config::read(&home.config_file())?.redaction);
    let bar = context.output.progress(Some(0), "{bar:30} {human_pos} of {human_len} memories, {elapsed}");
    let vault = Vault::open(dir)?;
    let survey = survey(&daemon, filter, &vault).await?;
    bar.set_length(survey.memories.len() as u64);
    let mut report = NotesReport::default();
    let mut pages = Pages::default();
    while let Some(page) = pages.next(&daemon).await? {
        for line in &page {
            let Line::Memory(memory) = read(line)? else { continue };
            if memory.is_live() && survey.memories.contains_key(&memory.id) {
                let text = note::render(&memory, &memory_links(&memory, &survey));
                vault.put_memory(memory.id.raw(), &text, &mut report)?;
                bar.inc(1);
            }
        }
    }
    for session in survey.sessions.values() {
        let text = note::render_session(session, &session_links(session, &survey));
        vault.put_session(&session_stem(session), session.id.raw(), &text, &mut report)?;
    }
    bar.finish_and_clear();
    print(context, &report)
}

/// Reads a line of an export.
fn read(line: &str) -> Result<Line> {
    serde_json::from_str(line).map_err(Error::internal)
}

async fn survey(daemon: &Daemon, mut filter: PartFilter, vault: &Vault) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut pages = Pages::default();
    while let Some(page) = pages.next(daemon).await? {
        for line in page.iter().filter_map(|line| filter.keep(line)) {
            match read(&line)? {
                Line::Session(session) => {
                    survey.sessions.insert(session.id.clone(), session);
                }
                Line::Memory(memory) if memory.is_live() => {
                    let stem = vault.stem_of(memory.title.raw(), memory.id.raw());
                    survey.memories.insert(memory.id, NoteName { stem, title: memory.title });
                }
                Line::Edge(edge) if edge.name == "CREATED_IN" => {
                    survey.saved.entry(edge.to).or_default().push(edge.from);
                }
                Line::Memory(_) | Line::Edge(_) | Line::Other => {}
            }
        }
    }
    let mut after = None;
    loop {
        let request = Request::new(of::Relations).with("after", after.as_ref().map(Text::raw));
        let page = daemon.read(request).await?.into_answer();
        for edge in page.relations {
            survey.relations.entry(edge.from.clone()).or_default().push(edge);
        }
        if page.next.is_none() || page.next == after {
            return Ok(survey);
        }
        after = page.next;
    }
}

fn session_day(session: &Session) -> String {
    session.started_at.raw().chars().take(10).collect()
}

fn session_stem(session: &Session) -> String {
    let id = session.id.raw();
    // Two ids may have the same letters and digits, so the file name includes a hash.
    let digest = text::hex(&Sha256::digest(id)[..4]);
    format!("{}-{}", session_day(session), note::stem(id, &digest))
}

fn session_links(session: &Session, survey: &Survey) -> Vec<Link> {
    let earlier = session.follows.as_ref().and_then(|id| survey.sessions.get(id));
    let follows = earlier.map(|earlier| session_link("follows", earlier));
    let saved = survey.saved.get(&session.id).into_iter().flatten();
    follows.into_iter().chain(saved.filter_map(|id| memory_link("saved", id, survey))).collect()
}

fn session_link(kind: &str, session: &Session) -> Link {
    let words = format!("{} {}", session.agent.raw(), session_day(session));
    Link { kind: kind.to_owned(), stem: session_stem(session), words }
}

fn memory_link(kind: &str, id: &Text, survey: &Survey) -> Option<Link> {
    let NoteName { stem, title } = survey.memories.get(id)?;
    Some(Link { kind: kind.to_owned(), stem: stem.clone(), words: title.raw().to_owned() })
}

fn memory_links(memory: &Memory, survey: &Survey) -> Vec<Link> {
    let session = memory.session.as_ref().and_then(|id| survey.sessions.get(id));
    let session = session.map(|session| session_link("session", session));
    let related = survey.relations.get(&memory.id).into_iter().flatten();
    session
        .into_iter()
        .chain(related.filter_map(|edge| memory_link(edge.kind.raw(), &edge.to, survey)))
        .collect()
}

/// Imports every note below `dir`. Changed notes become revisions. Notes without an id become memories, and the new
/// id is written into the note.
pub async fn import(context: &CommandContext, dir: &Path, run: Run) -> Result<()> {
    let notes = notes_below(dir)?;
    let daemon = Daemon::reach(&context.home()?).await?;
    let bar = context
        .output
        .progress(Some(notes.len() as u64), "{bar:30} {human_pos} of {human_len} notes, {elapsed}");
    let mut report = NotesReport::default();
    for path in notes {
        match import_note(&daemon, dir, &path, run).await {
            Ok(Some(outcome)) => report.count(outcome),
            Ok(None) => {}
            Err(Fault::Note(why)) => report.skip(&path, why),
            Err(Fault::Import(error)) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    print(context, &report)
}

/// Why a note was not imported.
enum Fault {
    /// An error in the note. The other notes are imported.
    Note(String),
    /// An error that ends the import.
    Import(Error),
}

async fn import_note(
    daemon: &Daemon,
    root: &Path,
    path: &Path,
    run: Run,
) -> std::result::Result<Option<&'static str>, Fault> {
    let size = fs::metadata(path).map_or(0, |found| found.len());
    if size > NOTE_BYTES_MAX {
        return Err(Fault::Note(format!("it has {size} bytes; a memory has at most 256 KiB")));
    }
    let text =
        fs::read_to_string(path).map_err(|error| Fault::Note(format!("it cannot be read: {error}")))?;
    let Some(note) = note::parse(&text).map_err(Fault::Note)? else { return Ok(None) };
    let answer = daemon.read(request(&note, root, path, run)).await.map_err(|error| {
        // The next note may be accepted even if this one is not; a store that fails will fail again.
        if error.code().is_some_and(Code::is_callers_fault) {
            Fault::Note(error.to_string())
        } else {
            Fault::Import(error)
        }
    })?;
    let outcome = match answer.outcome.raw() {
        "created" => "created",
        "updated" => "updated",
        "duplicate" => "duplicate",
        _ => "unchanged",
    };
    if let (Run::Real, Some(id), Some(revision)) = (run, &answer.id, answer.revision) {
        let (id, revision) = (id.raw(), u64::from(revision));
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
        let why = "it was changed while it was imported; import it again";
        return Err(Fault::Note(why.to_owned()));
    }
    durable::write(path, durable::Kind::Persons, placed.as_bytes())
        .map_err(|error| Fault::Import(Error::file("write", path, &error)))
}

fn request(note: &Note, root: &Path, path: &Path, run: Run) -> Request<of::Note> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // A new note belongs to the folder that it was put in, as an exported one does.
    let folder = path.strip_prefix(root).ok().and_then(Path::parent);
    let personal = folder == Some(Path::new(PERSONAL));
    let own = || folder.filter(|_| !personal).and_then(|folder| project_of(root, folder));
    let (project, scope) = match &note.id {
        Some(_) => (note.project.clone(), note.scope.clone()),
        None => (
            note.project.clone().or_else(own),
            note.scope.clone().or_else(|| personal.then(|| PERSONAL.to_owned())),
        ),
    };
    Request::new(of::Note)
        .given(json!({
            "id": note.id, "revision": note.revision, "title": note.title.clone().unwrap_or(stem),
            "content": note.content, "type": note.kind, "project": project, "scope": scope,
        }))
        // Of an exported note, a property that is gone was taken away.
        .with("topic_key", note.topic_key.clone().or_else(|| note.id.as_ref().map(|_| String::new())))
        .with("tags", tags(note))
        .with("dry_run", run.is_dry())
}

/// Tags as one text, because an empty list would count as absent.
fn tags(note: &Note) -> Option<String> {
    let gone = note.id.as_ref().map(|_| Vec::new());
    note.tags.clone().or(gone).map(|tags| json!(tags).to_string())
}
