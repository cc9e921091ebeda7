//! `cerebro ingest`: reads files and passes their contents to the daemon.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::super::prelude::*;
use super::all;
use crate::answer::documents::{Document, Ingested};
use crate::platform;
use crate::reading::{Reader, images_beside, saw_image};
use cerebro_core::domain::Run;
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

const FAULTS: &[(&str, Layout)] = &[("file", Layout::Flexible), ("why it was not read", Layout::Flexible)];

/// A file that was read, and what became of its document.
#[derive(Debug, Serialize)]
struct Done {
    #[serde(flatten)]
    answer: Ingested,
    path: String,
}

/// A file that was not read.
#[derive(Debug, Serialize)]
struct Fault {
    path: String,
    reason: String,
}

/// What was read, and what was not.
#[derive(Default)]
struct IngestReport {
    done: Vec<Done>,
    /// The documents whose files are gone from where they were.
    gone: Vec<Document>,
    unchanged: usize,
    faults: Vec<Fault>,
    /// Whether the process that read the files could only compute; `None` if none was read.
    isolated: Option<bool>,
}

impl IngestReport {
    fn is_done(&self, document: &Document) -> bool {
        self.done.iter().any(|done| done.answer.id == document.id)
    }

    /// The documents that were removed. One whose file is gone and that was read elsewhere was renamed, not removed.
    fn removed(&self) -> impl Iterator<Item = &Document> {
        self.gone.iter().filter(|gone| !self.is_done(gone))
    }

    /// In a dry run: the document that has these bytes and whose file is gone. Without that document, [`of::Ingest`]
    /// would call the file new.
    fn renamed(&self, hash: &str) -> Option<Ingested> {
        let gone = self.gone.iter().find(|gone| gone.hash == hash && !self.is_done(gone))?;
        Some(Ingested {
            outcome: "renamed".into(),
            id: gone.id.clone(),
            added: 0,
            kept: gone.chunks,
            gone: 0,
            cut: gone.cut,
        })
    }

    fn fault(&mut self, path: &Path, reason: impl ToString) {
        self.faults.push(Fault { path: path.display().to_string(), reason: reason.to_string() });
    }
}

/// The path under which a file is known: absolute, and without links if it exists.
pub(super) fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

pub async fn run(context: &CommandContext, args: IngestArgs) -> Result<()> {
    let roots: Vec<PathBuf> = args.paths.iter().map(|path| absolute(path)).collect();
    let mut report = IngestReport::default();
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let project = args.project.clone();
    let known = all(&daemon, || Request::new(of::Documents).with("project", project.clone())).await?;
    sweep(&daemon, &roots, &known, Run::dry_if(args.dry_run), &mut report).await?;
    let hashes: HashMap<&str, &str> = known
        .iter()
        // An image beside a document changes without it.
        .filter(|document| !document.removed && !document.beside)
        .map(|document| (document.path.raw(), document.hash.raw()))
        .collect();
    let mut reader = Reader::default();
    for path in found(&roots, &mut report) {
        match read_file(&path) {
            Err(reason) => report.fault(&path, reason),
            Ok((hash, _)) if path.to_str().is_some_and(|path| hashes.get(path) == Some(&hash.as_str())) => {
                report.unchanged += 1;
            }
            Ok((hash, bytes)) => {
                let found = Found { path: &path, hash, bytes };
                ingest(&daemon, &args, &mut reader, found, &mut report).await?;
            }
        }
    }
    report.isolated = reader.isolated();
    print_report(context, &report)
}

/// Removes documents whose files are gone from the given roots.
async fn sweep(
    daemon: &Daemon,
    roots: &[PathBuf],
    known: &[Document],
    run: Run,
    report: &mut IngestReport,
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
        let is_gone = fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if !within(path) || !is_gone {
            continue;
        }
        if run == Run::Real {
            daemon.read(Request::new(of::DocumentRemove).with("id", document.id.raw())).await?;
        }
        report.gone.push(document.clone());
    }
    Ok(())
}

/// The files to read, in order.
fn found(roots: &[PathBuf], report: &mut IngestReport) -> Vec<PathBuf> {
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
pub(super) fn read_file(path: &Path) -> std::result::Result<(String, Vec<u8>), String> {
    let bytes = platform::read_file(path, FILE_BYTES_MAX as u64).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => DocumentError::TooLarge.to_string(),
        _ => error.to_string(),
    })?;
    Ok((text::hex(&Sha256::digest(&bytes)), bytes))
}

/// A file that is new or has changed.
struct Found<'a> {
    path: &'a Path,
    hash: String,
    bytes: Vec<u8>,
}

/// Reads a file, and passes its contents to the daemon.
async fn ingest(
    daemon: &Daemon,
    args: &IngestArgs,
    reader: &mut Reader,
    Found { path, hash, bytes }: Found<'_>,
    report: &mut IngestReport,
) -> Result<()> {
    let Some(name) = path.to_str() else {
        report.fault(path, "its name is not text in UTF-8");
        return Ok(());
    };
    if name.contains(char::is_control) {
        report.fault(path, "its path has a line break or another control character");
        return Ok(());
    }
    if args.dry_run
        && let Some(answer) = report.renamed(&hash)
    {
        report.done.push(Done { answer, path: name.to_owned() });
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
        if let Ok((_, bytes)) = read_file(&place) {
            saw_image(&mut reading, at, &bytes);
        }
    }
    let reading = serde_json::to_value(&reading).map_err(Error::internal)?;
    let request = Request::new(of::Ingest).given(json!({
        "project": args.project, "path": name, "format": format, "hash": hash, "bytes": size,
        "dry_run": args.dry_run,
    }));
    let answer = daemon.read(request.with("reading", reading)).await?;
    if answer.outcome == "unchanged" {
        report.unchanged += 1;
        return Ok(());
    }
    report.done.push(Done { answer: answer.into_answer(), path: name.to_owned() });
    Ok(())
}

fn print_report(context: &CommandContext, report: &IngestReport) -> Result<()> {
    let removed =
        report.removed().map(|gone| json!({ "path": gone.path, "id": gone.id, "outcome": "removed" }));
    let documents: Vec<Value> = removed.chain(report.done.iter().map(|done| json!(done))).collect();
    let answer = json!({
        "documents": documents, "unchanged": report.unchanged, "faults": report.faults, "isolated": report.isolated,
    });
    context.output.json(&answer)?;
    let mut table = Table::new(DONE);
    for gone in report.removed() {
        let none = String::new;
        table.add(vec!["removed".to_owned(), none(), none(), none(), shown(&gone.path)]);
    }
    for Done { answer, path } in &report.done {
        let counts = [answer.added, answer.kept, answer.gone].map(|count| shown(&count));
        table.add([shown(&answer.outcome)].into_iter().chain(counts).chain([path.clone()]).collect());
    }
    context.output.table(&table, "nothing has changed")?;
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
        let row = |fault: &Fault| vec![fault.path.clone(), fault.reason.clone()];
        context.output.table(&Table::listing(FAULTS, &report.faults, row), "")?;
    }
    for Done { path, .. } in report.done.iter().filter(|done| done.answer.cut) {
        context.output.note(&format!("{path} is longer than a document may be: its end was not kept"));
    }
    done_if(report.faults.is_empty())
}
