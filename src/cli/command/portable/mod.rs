//! `cerebro export` and `cerebro import`: everything, as JSON Lines. Other formats are in the files beside.

mod export_part;
mod foreign;
mod foreign_import;
mod front_matter;
mod note;
mod notes;
mod vault;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use serde::Deserialize;

use self::export_part::{PartArgs, PartFilter};
use self::foreign::Source;
use super::backup;
use super::prelude::*;
use crate::answer::{backup::Made, portable::Imported};
use crate::home::Home;
use crate::platform::if_there;
use cerebro_core::domain::{Run, limits::LINE_BYTES_MAX};
use cerebro_durable as durable;

/// Most lines that are sent at once.
const BATCH_LINES_MAX: usize = 200;
/// Most bytes that are sent at once, a longer line alone aside.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// How the first line of a script begins.
const SCRIPT_HEAD: &str = "-- cerebro backup ";
/// Most bytes of a file that are read to see whether it is an export.
const FIRST_LINE_BYTES_MAX: u64 = 64 * 1024;

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line, with everything; `cerebro import` reads it
    Jsonl,
    /// A folder of notes with front matter and links, to read and edit; `cerebro import` reads it
    Markdown,
    /// A script for SurrealDB's own import
    Surrealql,
}

/// Export everything, or a part: JSON Lines, Markdown or SurrealQL
///
/// Only you can read the file, and it appears whole or not at all. It replaces an earlier export, but no other file; a part
/// replaces only an export that has nothing outside that part.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The file, or for Markdown the folder; `-` is standard output
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Write this format
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Format,
    #[command(flatten)]
    part: PartArgs,
}

/// Import an export, or the memory of another program
///
/// Importing twice is the same as importing once. The command names what it cannot import, imports the rest, and then
/// exits with 1. A folder contains Markdown notes: a changed note becomes a revision of its memory, a note without an
/// id a new memory.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A file, a folder of notes, or `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Read the memory of this program
    #[arg(long, value_enum)]
    from: Option<Source>,
    /// Project of memories that name none [default: that of the working folder]
    #[arg(long, value_name = "NAME", requires = "from")]
    project: Option<String>,
    /// Show what would be imported, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub async fn export(context: &CommandContext, args: ExportArgs) -> Result<()> {
    if !args.part.is_all() && args.format != Format::Surrealql {
        let daemon = Daemon::reach(&context.home()?).await?;
        let suggestions = args.part.suggestions(&daemon).await?;
        let is_empty = !suggestions.is_empty() && !has_any(&daemon, args.part.filter()?).await?;
        if is_empty {
            return Err(Error::user(suggestions.join("; ")).hint("nothing was written"));
        }
        context.output.notes(&suggestions);
    }
    match args.format {
        Format::Jsonl => export_lines(context, args).await,
        Format::Markdown if args.file == Path::new("-") => {
            Err(Error::usage("Markdown notes need a folder: `cerebro export --format markdown DIR`"))
        }
        Format::Markdown => notes::export(context, &args.file, &args.part).await,
        Format::Surrealql if !args.part.is_all() => {
            Err(Error::usage("a script for SurrealDB always contains everything")
                .hint("--project, --type and --since work with the other formats"))
        }
        Format::Surrealql => export_script(context, &args.file).await,
    }
}

/// Whether a part has anything: what has no memory may have past sessions, documents or work.
async fn has_any(daemon: &Daemon, mut part: PartFilter) -> Result<bool> {
    let mut pages = Pages::default();
    while let Some(page) = pages.next(daemon).await? {
        if page.iter().any(|line| part.has_own(line)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lets the daemon write the database's own script, consistent at one moment.
async fn export_script(context: &CommandContext, file: &Path) -> Result<()> {
    let home = context.home()?;
    if file == Path::new("-") {
        return print_script(context, &home).await;
    }
    let target = std::path::absolute(file).map_err(|error| Error::file("write", file, &error))?;
    check_replaceable(&target)?;
    let made = write_script(context, &home, &target).await?;
    context.output.json(made.raw())?;
    context.output.note(&format!("{} is a script for SurrealDB", target.display()));
    Ok(())
}

/// Prints the script by way of a draft in the home. The draft is removed in any case, because it contains the whole
/// memory.
async fn print_script(context: &CommandContext, home: &Home) -> Result<()> {
    let fault = |error: io::Error| Error::file("write", home.root(), &error);
    let draft = tempfile::Builder::new().prefix(durable::PREFIX).tempfile_in(home.root()).map_err(fault)?;
    let target = draft.into_temp_path();
    write_script(context, home, &target).await?;
    let copied = File::open(&target).and_then(|mut from| io::copy(&mut from, &mut io::stdout().lock()));
    let removed = target.close();
    copied.map_err(|error| Error::stream("standard output", &error))?;
    removed.map_err(fault)?;
    Ok(())
}

async fn write_script(context: &CommandContext, home: &Home, target: &Path) -> Result<Received<Made>> {
    let daemon = Daemon::reach_patiently(home).await?;
    let request = Request::new(of::Backup).with("file", target.display().to_string());
    backup::with_progress(context, &daemon, request).await
}

async fn export_lines(context: &CommandContext, args: ExportArgs) -> Result<()> {
    let mut filter = args.part.filter()?;
    let daemon = Daemon::reach(&context.home()?).await?;
    if args.file == Path::new("-") {
        // Moving numbers would run into the lines on the same terminal.
        let progress = if context.output.is_terminal() { ProgressBar::hidden() } else { counter(context) };
        let exported =
            export_pages(&daemon, &progress, &mut filter, |text| context.output.write(text)).await?;
        progress.finish_and_clear();
        exported.warn(context);
        return Ok(());
    }
    let fault = |error: io::Error| Error::file("write", &args.file, &error);
    check_replaceable(&args.file)?;
    if !args.part.is_all() {
        check_covered(&args.file, filter.clone())?;
    }
    let progress = counter(context);
    let draft = durable::Draft::begin(&args.file, durable::Kind::Own).map_err(fault)?;
    let mut writer = BufWriter::new(draft);
    let write = |text: &str| writer.write_all(text.as_bytes()).map_err(fault);
    let exported = export_pages(&daemon, &progress, &mut filter, write).await?;
    let draft = writer.into_inner().map_err(|error| fault(error.into_error()))?;
    draft.finish().map_err(fault)?;
    progress.finish_and_clear();
    exported.warn(context);
    let lines = exported.lines;
    context.output.json(&json!({ "lines": lines, "file": args.file.display().to_string() }))?;
    context.output.note(&format!("{}: {}", args.file.display(), text::counted(lines, "line")));
    Ok(())
}

fn counter(context: &CommandContext) -> ProgressBar {
    context.output.progress(None, "{spinner} {human_pos} lines, {elapsed}")
}

/// The result of an export.
struct Exported {
    lines: u64,
    /// Something was written during the export.
    is_torn: bool,
}

impl Exported {
    fn warn(&self, context: &CommandContext) {
        if self.is_torn {
            context.output.warn(
                "something was written during the export, so its lines are not of one moment: export again while nothing \
                 is written, or use `cerebro backup`",
            );
        }
    }
}

/// Hands all lines to `write`, page by page.
async fn export_pages(
    daemon: &Daemon,
    progress: &ProgressBar,
    filter: &mut PartFilter,
    mut write: impl FnMut(&str) -> Result<()>,
) -> Result<Exported> {
    let mut pages = Pages::default();
    let mut count = 0;
    while let Some(page) = pages.next(daemon).await? {
        let lines: Vec<Cow<'_, str>> = page.iter().filter_map(|line| filter.keep(line)).collect();
        write(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        count += lines.len() as u64;
        progress.set_position(count);
    }
    Ok(Exported { lines: count, is_torn: pages.is_torn })
}

/// The pages of an export, one after the other.
#[derive(Debug, Default)]
pub(super) struct Pages {
    cursor: Option<String>,
    is_last: bool,
    /// Something was written during the export.
    is_torn: bool,
}

impl Pages {
    /// The lines of the next page; none at the end.
    pub async fn next(&mut self, daemon: &Daemon) -> Result<Option<Vec<String>>> {
        if self.is_last {
            return Ok(None);
        }
        let request = Request::new(of::Export).with("cursor", self.cursor.as_deref());
        let page = daemon.read(request).await?.into_answer();
        if page.next_cursor.is_some() && page.next_cursor == self.cursor {
            return Err(Error::internal("the daemon repeats a page of the export"));
        }
        (self.is_last, self.is_torn) = (page.next_cursor.is_none(), page.torn);
        self.cursor = page.next_cursor;
        Ok(Some(page.lines))
    }
}

/// Refuses to replace anything except an earlier export or an empty file. A link is the person's, wherever it leads.
fn check_replaceable(file: &Path) -> Result<()> {
    let fault = |error: io::Error| Error::file("read", file, &error);
    let Some(found) = if_there(fs::symlink_metadata(file)).map_err(fault)? else { return Ok(()) };
    // Anything else than a file, such as a pipe, is not opened: that could wait for ever.
    let mut first = String::new();
    if found.is_file() {
        let reader = File::open(file).map_err(fault)?;
        let read = BufReader::new(reader.take(FIRST_LINE_BYTES_MAX)).read_line(&mut first);
        if read.is_ok() && (found.len() == 0 || is_header(&first) || first.starts_with(SCRIPT_HEAD)) {
            return Ok(());
        }
    }
    Err(Error::user(format!("{} exists already and is not an export of Cerebro", file.display()))
        .hint("give another name, or remove it first"))
}

/// Refuses to replace an earlier export by a part that lacks something of it.
fn check_covered(file: &Path, mut part: PartFilter) -> Result<()> {
    let fault = |error: io::Error| Error::file("read", file, &error);
    let Some(earlier) = if_there(File::open(file)).map_err(fault)? else { return Ok(()) };
    let mut lines = Lines::new(Box::new(BufReader::new(earlier)), file.to_owned());
    while let Some(line) = lines.next().map_err(fault)? {
        if line.is_ok_and(|line| line.trim().is_empty() || part.keep(&line).is_some()) {
            continue;
        }
        return Err(Error::user(format!("{} is an export with more than this part", file.display()))
            .hint("give the part another name, or remove the export first"));
    }
    Ok(())
}

/// The results so far. Line numbers are those of the file, from 1.
#[derive(Debug, Default, PartialEq, Eq)]
struct ImportReport {
    created: u64,
    unchanged: u64,
    skipped: Vec<(u64, String)>,
}

impl ImportReport {
    /// Adds the daemon's answer about a batch.
    fn add(&mut self, answer: &Imported, batch: &Batch) {
        self.created += answer.created;
        self.unchanged += answer.unchanged;
        for skipped in &answer.skipped {
            let place = usize::try_from(skipped.line).ok().and_then(|at| batch.numbers.get(at));
            self.skipped.push((place.copied().unwrap_or_default(), shown(&skipped.why)));
        }
    }

    fn json(&self) -> Value {
        let skipped: Vec<Value> =
            self.skipped.iter().map(|(line, why)| json!({ "line": line, "why": why })).collect();
        json!({ "created": self.created, "unchanged": self.unchanged, "skipped": skipped })
    }
}

pub async fn import(context: &CommandContext, args: ImportArgs) -> Result<()> {
    if let Some(source) = args.from {
        return foreign_import::run(context, source, &args.file, args.project, Run::dry_if(args.dry_run))
            .await;
    }
    if args.file.is_dir() {
        return notes::import(context, &args.file, Run::dry_if(args.dry_run)).await;
    }
    import_lines(context, args).await
}

async fn import_lines(context: &CommandContext, args: ImportArgs) -> Result<()> {
    let (reader, size): (Box<dyn BufRead>, _) = if args.file == Path::new("-") {
        if io::stdin().is_terminal() {
            context
                .output
                .note("reading what is typed; Ctrl-D ends it, and `cerebro import FILE` reads a file");
        }
        (Box::new(BufReader::new(io::stdin())), None)
    } else {
        let file = File::open(&args.file).map_err(|error| Error::file("read", &args.file, &error))?;
        let size = file.metadata().ok().map(|found| found.len()).filter(|size| *size > 0);
        (Box::new(BufReader::new(file)), size)
    };
    let template = if size.is_some() {
        "{bar:30} {bytes} of {total_bytes}, {elapsed}"
    } else {
        "{spinner} {bytes}, {elapsed}"
    };
    let progress = context.output.progress(size, template);
    let mut lines = Lines::new(reader, args.file.clone());
    let mut report = ImportReport::default();
    let mut batch = lines.batch(&mut report)?;
    check_header(&batch, &args.file)?;
    let daemon = Daemon::reach(&context.home()?).await?;
    while !batch.lines.is_empty() {
        if args.dry_run {
            batch.keep(|line| !is_dependent(line));
        }
        let sent = std::mem::take(&mut batch.lines);
        let request = Request::new(of::Import).with("lines", sent).with("dry_run", args.dry_run);
        let answer = daemon.read(request).await.map_err(|error| {
            error.hint(format!(
                "the lines before {} are imported; the same import may be repeated",
                batch.first()
            ))
        })?;
        report.add(&answer, &batch);
        progress.set_position(lines.bytes);
        batch = lines.batch(&mut report)?;
    }
    progress.finish_and_clear();
    if !args.dry_run {
        daemon.read(Request::new(of::Import).with("end", true)).await?;
    }
    print(context, &mut report)
}

fn print(context: &CommandContext, report: &mut ImportReport) -> Result<()> {
    report.skipped.sort();
    context.output.json(&report.json())?;
    context.output.facts(&[
        ("created", report.created.to_string()),
        ("unchanged", report.unchanged.to_string()),
        ("skipped", report.skipped.len().to_string()),
    ])?;
    if report.skipped.is_empty() {
        return Ok(());
    }
    for (line, why) in &report.skipped {
        context.output.note(&format!("line {line} was skipped: {}", text::one_line(why)));
    }
    Err(Error::reported())
}

/// An export begins with its header; anything else is most likely another file.
fn check_header(first: &Batch, file: &Path) -> Result<()> {
    let name = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let Some(line) = first.lines.first() else { return Err(Error::user(format!("{name} is empty"))) };
    if is_header(line) {
        return Ok(());
    }
    Err(Error::user(format!("{name} is not an export: its first line is not a header"))
        .hint("`cerebro export` writes what this command reads"))
}

/// What a line of an export says that it is.
#[derive(Deserialize)]
struct LineKind {
    kind: String,
}

impl LineKind {
    fn of(line: &str) -> Option<String> {
        serde_json::from_str::<Self>(line).ok().map(|line| line.kind)
    }
}

fn is_header(line: &str) -> bool {
    LineKind::of(line).as_deref() == Some("header")
}

/// Whether a line can be checked only after the lines before it were imported.
fn is_dependent(line: &str) -> bool {
    LineKind::of(line).is_some_and(|kind| ["edge", "revision", "work_event"].contains(&kind.as_str()))
}

/// Lines to send at once, and their numbers in the file.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<String>,
    numbers: Vec<u64>,
}

impl Batch {
    /// Keeps only the lines for which the answer is yes.
    fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        let pairs = std::mem::take(&mut self.lines).into_iter().zip(std::mem::take(&mut self.numbers));
        (self.lines, self.numbers) = pairs.filter(|(line, _)| wanted(line)).unzip();
    }

    fn first(&self) -> u64 {
        self.numbers.first().copied().unwrap_or_default()
    }
}

/// The lines of a file, in batches.
struct Lines {
    reader: Box<dyn BufRead>,
    file: PathBuf,
    /// How many lines were read.
    count: u64,
    /// How many bytes were read.
    bytes: u64,
}

impl Lines {
    fn new(reader: Box<dyn BufRead>, file: PathBuf) -> Self {
        Self { reader, file, count: 0, bytes: 0 }
    }

    /// The next lines that are not blank; none at the end. Those that cannot be sent are reported as
    /// skipped.
    fn batch(&mut self, report: &mut ImportReport) -> Result<Batch> {
        let mut batch = Batch::default();
        let mut bytes = 0;
        while batch.lines.len() < BATCH_LINES_MAX && bytes < BATCH_BYTES_MAX {
            let line = self.next().map_err(|error| Error::file("read", &self.file, &error))?;
            let Some(line) = line else { break };
            match line {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    bytes += line.len();
                    batch.lines.push(line);
                    batch.numbers.push(self.count);
                }
                Err(why) => report.skipped.push((self.count, why)),
            }
        }
        Ok(batch)
    }

    /// The next line without its end, or why it cannot be sent.
    fn next(&mut self) -> io::Result<Option<std::result::Result<String, String>>> {
        let mut line = Vec::new();
        let mut read = (&mut self.reader).take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        self.count += 1;
        let too_long = read > LINE_BYTES_MAX && line.last() != Some(&b'\n');
        if too_long {
            read += self.reader.skip_until(b'\n')?;
        }
        self.bytes += read as u64;
        if too_long {
            return Ok(Some(Err(format!("it is longer than {} MiB", LINE_BYTES_MAX / (1024 * 1024)))));
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        Ok(Some(String::from_utf8(line).map_err(|_| "it is not text in UTF-8".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::portable::Skipped;

    fn lines(text: &[u8]) -> Lines {
        Lines::new(Box::new(io::Cursor::new(text.to_vec())), PathBuf::from("-"))
    }

    #[test]
    fn skipped_lines_keep_the_numbers_they_have_in_the_file() {
        let mut report = ImportReport::default();
        let mut lines = lines(b"{\"a\":1}\r\n\n\xff\n  \n{\"b\":2}");
        let batch = lines.batch(&mut report).unwrap();
        assert_eq!(batch.lines, ["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(batch.numbers, [1, 5]);
        assert_eq!(lines.bytes, 22);
        assert!(lines.batch(&mut report).unwrap().lines.is_empty());
        let skipped = vec![Skipped { line: 1, why: "odd".into() }];
        report.add(&Imported { created: 1, unchanged: 0, skipped }, &batch);
        assert_eq!(report.skipped, [(3, "it is not text in UTF-8".to_owned()), (5, "odd".to_owned())]);
        assert_eq!((report.created, report.unchanged), (1, 0));
    }

    #[test]
    fn batches_and_lines_are_bounded() {
        let mut report = ImportReport::default();
        let mut many = lines("x\n".repeat(2 * BATCH_LINES_MAX + 1).as_bytes());
        let sizes: Vec<usize> = (0..4).map(|_| many.batch(&mut report).unwrap().lines.len()).collect();
        assert_eq!(sizes, [BATCH_LINES_MAX, BATCH_LINES_MAX, 1, 0]);
        let long = "y".repeat(BATCH_BYTES_MAX);
        let mut few = lines(format!("{long}\n{long}\n").as_bytes());
        assert_eq!(few.batch(&mut report).unwrap().lines.len(), 1);
        let full = "z".repeat(LINE_BYTES_MAX);
        let mut text = lines(format!("{full}\n{full}z\nend\n").as_bytes());
        assert_eq!(text.batch(&mut report).unwrap().numbers, [1]);
        assert_eq!(text.batch(&mut report).unwrap().numbers, [3]);
        assert_eq!(report.skipped, [(2, "it is longer than 4 MiB".to_owned())]);
    }

    #[test]
    fn only_an_export_is_taken() {
        let batch = |line: &str| Batch { lines: vec![line.to_owned()], numbers: vec![1] };
        assert!(check_header(&batch("{\"kind\":\"header\",\"version\":1}"), Path::new("f")).is_ok());
        for bad in ["{\"kind\":\"memory\"}", "[]", "text"] {
            let error = check_header(&batch(bad), Path::new("f")).unwrap_err();
            assert!(error.to_string().contains("header") && error.exit_code() == 1, "{error}");
        }
        assert!(check_header(&Batch::default(), Path::new("f")).is_err());
    }

    #[test]
    fn a_part_replaces_no_export_that_has_more() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        let part = PartFilter::of_type;
        assert!(check_covered(&path, part("bugfix")).is_ok(), "there is none");
        let memory = |kind: &str| json!({ "kind": "memory", "id": kind, "type": kind }).to_string();
        fs::write(&path, format!("{{\"kind\":\"header\"}}\n{}\n\n", memory("bugfix"))).unwrap();
        assert!(check_covered(&path, part("bugfix")).is_ok(), "an earlier one of the same part");
        for more in [memory("decision"), "-- cerebro backup {}".to_owned(), "x".repeat(LINE_BYTES_MAX + 1)] {
            fs::write(&path, format!("{{\"kind\":\"header\"}}\n{}\n{more}\n", memory("bugfix"))).unwrap();
            let error = check_covered(&path, part("bugfix")).unwrap_err();
            assert!(error.to_string().contains("more than this part") && error.exit_code() == 1, "{error}");
        }
    }

    #[test]
    fn only_an_earlier_export_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        assert!(check_replaceable(&path).is_ok());
        for ours in ["", "{\"kind\":\"header\",\"version\":1}\n{}", "-- cerebro backup {}\nOPTION IMPORT;"] {
            fs::write(&path, ours).unwrap();
            assert!(check_replaceable(&path).is_ok(), "{ours}");
        }
        for other in [&b"my own text"[..], b"{}", b"\xff\xfe"] {
            fs::write(&path, other).unwrap();
            let error = check_replaceable(&path).unwrap_err();
            assert!(error.to_string().contains("not an export") && error.exit_code() == 1, "{error}");
        }
        assert!(check_replaceable(temp.path()).is_err(), "a folder");
        assert!(check_replaceable(Path::new("/dev/null")).is_err(), "a device");
    }
}
