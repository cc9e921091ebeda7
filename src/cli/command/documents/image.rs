//! `cerebro documents image`: extracts an image from its file.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::super::prelude::*;
use super::{id_of, ingest::read_file};
use crate::reading::{Reader, beside};
use cerebro_documents::Format;
use cerebro_durable as durable;

/// Write an image of a document to a file or to standard output
///
/// Images are not stored: the command reads the document's file again, if the file has not changed.
#[derive(Debug, Args)]
pub struct ImageArgs {
    /// The document's id, the id of one of its passages, or its path
    #[arg(value_name = "ID|PATH")]
    document: String,
    /// The number of the image in `cerebro documents show`
    #[arg(value_name = "NUMBER")]
    number: usize,
    /// Write this file, which must not exist [default: standard output, unless it is a terminal]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub async fn run(context: &CommandContext, args: &ImageArgs) -> Result<()> {
    let daemon = Daemon::reach(&context.home()?).await?;
    let id = id_of(&daemon, &args.document).await?;
    let answer = daemon.read(Request::new(of::DocumentShow).with("id", id)).await?;
    let images = &answer.images;
    let image = args.number.checked_sub(1).and_then(|at| images.get(at)).ok_or_else(|| {
        Error::user(format!("there is no image {}; the document has {}", args.number, images.len()))
            .hint("`cerebro documents show` names them")
    })?;
    let document = &answer.document;
    let path = PathBuf::from(document.path.raw());
    let place = image.place.raw();
    let bytes = if image.beside {
        same(&beside(&path, place), image.hash.raw())?
    } else {
        let whole = same(&path, document.hash.raw())?;
        let format = serde_json::from_value::<Format>(json!(document.format)).map_err(Error::internal)?;
        let found = Reader::default().image(format, &whole, place).await;
        found.map_err(|why| Error::user(format!("{place}: {why}")))?
    };
    if image.hash != text::hex(&Sha256::digest(&bytes)).as_str() {
        return Err(changed(&path));
    }
    write(context, args, &bytes)
}

/// The bytes of a file, if they are those that were read.
fn same(path: &Path, hash: &str) -> Result<Vec<u8>> {
    let (found, bytes) = read_file(path).map_err(|why| Error::user(format!("{}: {why}", path.display())))?;
    if found == hash { Ok(bytes) } else { Err(changed(path)) }
}

fn changed(path: &Path) -> Error {
    Error::user(format!("{} has changed since it was read", path.display()))
        .hint("`cerebro ingest` reads it again")
}

fn write(context: &CommandContext, args: &ImageArgs, bytes: &[u8]) -> Result<()> {
    let Some(file) = &args.output else {
        if std::io::stdout().is_terminal() {
            return Err(
                Error::user("an image cannot be shown on a terminal").hint("name a file with --output")
            );
        }
        let mut out = std::io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        written.map_err(|error| Error::stream("standard output", &error))?;
        return Ok(());
    };
    let failed = |error: std::io::Error| {
        let failure = Error::user(format!("{} cannot be written: {error}", file.display()));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => failure.hint("no file is overwritten: name another one"),
            _ => failure,
        }
    };
    durable::create(file, durable::Kind::Derived, bytes).map_err(failed)?;
    let result = json!({ "path": file.display().to_string(), "bytes": bytes.len() });
    context.output.json(&result)?;
    context.output.note(&format!("{} bytes written to {}", bytes.len(), file.display()));
    Ok(())
}
