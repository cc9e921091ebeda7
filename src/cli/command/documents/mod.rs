//! `cerebro ingest` and `cerebro documents`: files that are kept as evidence beside the memories.

mod image;
mod ingest;

pub use ingest::{IngestArgs, run as ingest};

use std::path::Path;

use super::prelude::*;
use super::selection::ProjectArgs;
use crate::answer::documents::{Document, Shown};
use crate::reading;

/// What to do with documents that were read.
#[derive(Debug, Subcommand)]
pub enum DocumentsCommand {
    List(ListArgs),
    Show(ShowArgs),
    Image(image::ImageArgs),
    Forget(ForgetArgs),
}

/// List the documents that were read
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    of: ProjectArgs,
}

/// Show what is stored of a document
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The document's id, the id of one of its passages, or its path
    #[arg(value_name = "ID|PATH")]
    document: String,
}

/// Destroy what is stored of a document for good; its file stays
///
/// `cerebro compact` then removes its last bytes from the database's files. Ingesting the file again brings it back.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// The document's id or path
    #[arg(value_name = "ID|PATH")]
    document: String,
    /// Do not ask first; needed without a terminal
    #[arg(long)]
    yes: bool,
}

const DOCUMENTS: &[(&str, Layout)] = &[
    ("id", Layout::Fixed),
    ("read", Layout::Ago),
    ("format", Layout::Fixed),
    ("passages", Layout::Count),
    ("file", Layout::Fixed),
    ("path", Layout::Flexible),
];

pub async fn run(context: &CommandContext, command: DocumentsCommand) -> Result<()> {
    match command {
        DocumentsCommand::List(args) => list(context, args).await,
        DocumentsCommand::Show(args) => show(context, &args).await,
        DocumentsCommand::Image(args) => image::run(context, &args).await,
        DocumentsCommand::Forget(args) => forget(context, &args).await,
    }
}

/// `cerebro read-document`: the process in which documents are read. See [`reading`].
pub fn read() -> Result<()> {
    let served = reading::serve(std::io::stdin().lock(), std::io::stdout().lock());
    served.map_err(|error| Error::stream("standard input", &error))?;
    Ok(())
}

/// All documents that a request asks for, page by page.
async fn all(daemon: &Daemon, request: impl Fn() -> Request<of::Documents>) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    loop {
        let page = daemon.read(request().with("offset", documents.len())).await?.into_answer();
        documents.extend(page.documents);
        if !page.more {
            return Ok(documents);
        }
    }
}

async fn list(context: &CommandContext, args: ListArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let request = || args.of.request(of::Documents);
    let documents = all(&daemon, request).await?;
    let project = args.of.project.as_deref().filter(|_| documents.is_empty());
    let suggestions = suggest::for_unknown(&daemon, project, None).await?;
    context.output.json(&json!({ "documents": documents }))?;
    let table = Table::listing(DOCUMENTS, &documents, |document| {
        vec![
            shown(&document.id),
            shown(&document.at),
            shown(&document.format),
            shown(&document.chunks),
            if document.removed { "gone" } else { "there" }.to_owned(),
            near(context, document.path.raw()),
        ]
    });
    context.output.table(&table, "no documents yet; `cerebro ingest PATH` reads some")?;
    context.output.notes(&suggestions);
    Ok(())
}

/// A path for a person on a terminal: relative to the working folder if it is below it. Scripts get the whole path.
fn near(context: &CommandContext, path: &str) -> String {
    let here = std::env::current_dir().ok().filter(|_| context.output.is_terminal());
    let below = here.and_then(|here| Some(Path::new(path).strip_prefix(here).ok()?.to_str()?.to_owned()));
    below.unwrap_or_else(|| path.to_owned())
}

/// The id of a document that a person names by its id, that of a passage, or its path.
async fn id_of(daemon: &Daemon, given: &str) -> Result<String> {
    use cerebro_core::domain::{ChunkId, DocumentId};
    if DocumentId::parse(given).is_ok() || ChunkId::parse(given).is_ok() {
        return Ok(given.to_owned());
    }
    let path = ingest::absolute(Path::new(given));
    let documents = all(daemon, || Request::new(of::Documents).with("all_projects", true)).await?;
    let found = documents.iter().find(|document| Some(document.path.raw()) == path.to_str());
    let none = || {
        Error::user(format!("no document was read from {}", path.display()))
            .hint("`cerebro documents list --all-projects` names them")
    };
    found.map(|document| shown(&document.id)).ok_or_else(none)
}

async fn show(context: &CommandContext, args: &ShowArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = id_of(&daemon, &args.document).await?;
    let mut passages = Vec::new();
    let whole = loop {
        let request = Request::new(of::DocumentShow).with("id", id.clone());
        let mut page = daemon.read(request.with("offset", passages.len())).await?.into_answer();
        passages.append(&mut page.passages);
        if page.next_offset.is_none() {
            break Shown { passages, ..page };
        }
    };
    context.output.json(&json!(whole))?;
    let document = &whole.document;
    context.output.facts(&[
        ("document", shown(&document.id)),
        ("title", shown(&document.title)),
        ("path", shown(&document.path)),
        ("project", shown(&document.project)),
        ("format", shown(&document.format)),
        ("read", context.output.moment(&document.at)),
    ])?;
    for (number, image) in (1..).zip(&whole.images) {
        let page = image.page.map(|page| format!(", page {page}")).unwrap_or_default();
        let (caption, mime) = (image.caption.raw(), image.mime.raw());
        context.output.text(&format!("image {number}: {caption} ({mime}{page})"))?;
    }
    for passage in &whole.passages {
        let (id, heading) = (passage.id.raw(), passage.heading.raw());
        context.output.text(&format!("\n--- {id} {heading} ---\n{}", passage.text.raw()))?;
    }
    Ok(())
}

async fn forget(context: &CommandContext, args: &ForgetArgs) -> Result<()> {
    let question = "Destroy what is stored of this document? This cannot be undone; its file stays.";
    context.output.agree(args.yes, question, "nothing was destroyed")?;
    let daemon = Daemon::reach_patiently(&context.home()?).await?;
    let id = id_of(&daemon, &args.document).await?;
    let gone = daemon.read(Request::new(of::DocumentForget).with("id", id)).await?;
    context.output.json(gone.raw())?;
    context.output.outcome(gone.id.raw(), "forgotten", &format!(": {}", gone.path.raw()))
}
