//! `cerebro ingest`: reads files and passes their contents to the daemon.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::{CommandContext, Outcome};
use super::all;
use crate::answer::{documents::Document, of};
use crate::cli::daemon_client::{Daemon, Request};
use crate::cli::error::{Error, Result};
use crate::cli::table::{Layout, Table, shown};
use crate::platform;
use crate::reading::{Reader, images_beside, saw_image};
use cerebro_core::text;
use cerebro_documents::{DocumentError, Format, files, limits::FILE_BYTES_MAX};

/// Read documents, so that searches find their contents
///
/// Reads Markdown, HTML, text, source code, CSV, JSON, notebooks, docx, pptx, xlsx, epub and PDF. In a folder, files
/// that `.gitignore` leaves out are not read. Reading a file again updates what has changed; a file that is gone from a
/// folder is no longer found. Documents are not memories: `cerebro search --type document` finds them, and any search
/// mentions them in one line if they know more than the memories.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Files or folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The project of the documents [default: that of the working folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

const DONE: &[(&str, Layout)] = &[
    ("outcome", Layout::Fixed),
    ("new", Layout::Count),
    ("same", Layout::Count),
    ("gone", Layout::Count),
    ("path", Layout::Flexible),
];

const FAULTS: &[(&str, Layout)] = &[("file", Layout::Flexible), ("why it is not read", Layout::Flexible)];

/// What was read, and what was not.
#[derive(Default)]
struct Report {
    done: Vec<Value>,
    /// The documents whose files are gone from where they were.
    gone: Vec<Document>,
    unchanged: usize,
    faults: Vec<Value>,
    /// Whether the process that read the files could only compute; `None` where none was read.
    isolated: Option<bool>,
}

impl Report {
    /// What was done with each document. One whose file is gone and that was read elsewhere was renamed, not removed.
    fn documents(&self) -> Vec<Value> {
        let is_elsewhere =
            |gone: &Document| self.done.iter().any(|done| gone.id == shown(&done["id"]).as_str());
        let gone = self.gone.iter().filter(|gone| !is_elsewhere(gone));
        let removed = gone.map(|gone| json!({ "path": gone.path, "id": gone.id, "outcome": "removed" }));
        removed.chain(self.done.iter().cloned()).collect()
    }

    /// The document whose file is gone and that a file with these bytes is, where nothing is written: what
    /// [`of::Ingest`] says of it once that document is left out.
    fn renamed(&self, hash: &str) -> Option<Value> {
        let is_done = |gone: &Document| self.done.iter().any(|done| gone.id == shown(&done["id"]).as_str());
        let gone = self.gone.iter().find(|gone| gone.hash == hash && !is_done(gone))?;
        Some(json!({ "outcome": "renamed", "id": gone.id, "added": 0, "kept": gone.chunks, "gone": 0 }))
    }

    fn fault(&mut self, path: &Path, reason: impl ToString) {
        self.faults.push(json!({ "path": path.display().to_string(), "reason": reason.to_string() }));
    }
}

/// The path under which a file is known: absolute, without links where it is there.
pub(super) fn place(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

pub async fn run(context: &CommandContext, args: IngestArgs) -> Result<Outcome> {
    let roots: Vec<PathBuf> = args.paths.iter().map(|path| place(path)).collect();
    let mut report = Report::default();
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let project = args.project.clone();
    let known = all(&daemon, || Request::new(of::Documents).with("project", project.clone())).await?;
    sweep(&daemon, &roots, &known, args.dry_run, &mut report).await?;
    let hashes: HashMap<&str, &str> = known
        .iter()
        // An image beside a document changes without it.
        .filter(|document| !document.removed && !document.beside)
        .map(|document| (document.path.raw(), document.hash.raw()))
        .collect();
    let mut reader = Reader::default();
    for path in found(&roots, &mut report) {
        match look(&path) {
            Err(reason) => report.fault(&path, reason),
            Ok((hash, _)) if path.to_str().is_some_and(|path| hashes.get(path) == Some(&hash.as_str())) => {
                report.unchanged += 1;
            }
            Ok((hash, bytes)) => {
                one(&daemon, &args, &mut reader, &path, (hash, bytes), &mut report).await?;
            }
        }
    }
    report.isolated = reader.isolated();
    daemon.close().await;
    print_report(context, &report)
}

/// Removes documents whose files are gone from the given roots.
async fn sweep(
    daemon: &Daemon,
    roots: &[PathBuf],
    known: &[Document],
    dry_run: bool,
    report: &mut Report,
) -> Result<()> {
    // Beside a file that is named, its earlier name may be missing.
    let within = |path: &Path| {
        roots.iter().any(|root| path.starts_with(root) || (root.is_file() && path.parent() == root.parent()))
    };
    for document in known.iter().filter(|document| !document.removed) {
        // A redacted path no longer identifies the file.
        if document.path.raw().contains("[REDACTED:") {
            continue;
        }
        let path = Path::new(document.path.raw());
        let is_gone =
            fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if !within(path) || !is_gone {
            continue;
        }
        if !dry_run {
            daemon.read(Request::new(of::DocumentRemove).with("id", document.id.raw())).await?;
        }
        report.gone.push(document.clone());
    }
    Ok(())
}

/// The files to read, in order.
fn found(roots: &[PathBuf], report: &mut Report) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for root in roots {
        if root.is_dir() {
            let (files, faults, more) = files(root);
            for fault in &faults {
                report.fault(root, fault);
            }
            if more {
                report.fault(
                    root,
                    format!("it has more files than are read at once: the first {}", files.len()),
                );
            }
            found.extend(files);
        } else if root.exists() {
            found.push(root.clone());
        } else if !report.gone.iter().any(|gone| Some(gone.path.raw()) == root.to_str()) {
            report.fault(root, "there is no such file");
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The bytes of a file, with their hash.
pub(super) fn look(path: &Path) -> std::result::Result<(String, Vec<u8>), String> {
    let opened = platform::open_without_waiting(path).map_err(|error| error.to_string())?;
    if !opened.metadata().map_err(|error| error.to_string())?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    opened.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(DocumentError::TooLarge.to_string());
    }
    Ok((text::hex(&Sha256::digest(&bytes)), bytes))
}

/// Reads one file, and hands over what it says.
async fn one(
    daemon: &Daemon,
    args: &IngestArgs,
    reader: &mut Reader,
    path: &Path,
    (hash, bytes): (String, Vec<u8>),
    report: &mut Report,
) -> Result<()> {
    let Some(name) = path.to_str() else {
        report.fault(path, "its name is no text");
        return Ok(());
    };
    if name.contains(char::is_control) {
        report.fault(path, "its path has a line break or another control character");
        return Ok(());
    }
    if args.dry_run
        && let Some(mut renamed) = report.renamed(&hash)
    {
        renamed["path"] = json!(name);
        report.done.push(renamed);
        return Ok(());
    }
    let format = Format::of(path).unwrap_or(Format::Text);
    let size = bytes.len();
    let mut reading = match reader.read(format, &bytes).await {
        Ok(reading) => reading,
        Err(why) => {
            report.fault(path, why);
            return Ok(());
        }
    };
    for (at, place) in images_beside(&reading, path) {
        if let Ok((_, bytes)) = look(&place) {
            saw_image(&mut reading, at, &bytes);
        }
    }
    let reading = serde_json::to_value(&reading).map_err(Error::internal)?;
    let request = Request::new(of::Ingest)
        .with("project", args.project.clone())
        .with("path", name)
        .with("format", format.as_str())
        .with("hash", hash)
        .with("bytes", size)
        .with("reading", reading)
        .with("dry_run", args.dry_run);
    let answer = daemon.read(request).await?;
    if answer.outcome == "unchanged" {
        report.unchanged += 1;
        return Ok(());
    }
    let mut done = answer.raw().clone();
    done["path"] = json!(name);
    report.done.push(done);
    Ok(())
}

fn print_report(context: &CommandContext, report: &Report) -> Result<Outcome> {
    let outcome = if report.faults.is_empty() { Outcome::Done } else { Outcome::Short };
    let answer = json!({
        "documents": report.documents(), "unchanged": report.unchanged, "faults": report.faults,
        "isolated": report.isolated,
    });
    if context.output.json(&answer)? {
        return Ok(outcome);
    }
    let fields = ["outcome", "added", "kept", "gone", "path"];
    context.output.table(&Table::of(DONE, &fields, &answer["documents"]), "nothing has changed")?;
    if report.isolated == Some(false) {
        context.output.note(
            "this system cannot confine the process that reads: only its memory, time and open files are bounded",
        );
    }
    if report.unchanged > 0 {
        context.output.note(&format!("{} unchanged", text::counted(report.unchanged, "document")));
    }
    if !report.faults.is_empty() {
        context.output.text("")?;
        context.output.table(&Table::of(FAULTS, &["path", "reason"], &answer["faults"]), "")?;
    }
    for done in answer["documents"].as_array().into_iter().flatten().filter(|done| done["cut"] == true) {
        context.output.note(&format!("{} is longer than is kept: its end is left out", shown(&done["path"])));
    }
    Ok(outcome)
}
