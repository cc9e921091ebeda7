//! The tools of documents, published if `[documents] tools = true`. An agent can ingest files below its own working
//! folder and nowhere else.

use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::document_ops::{document, ingested};
use super::prelude::*;
use crate::reading::{Reader, images_beside, saw_image};
use cerebro_core::domain::{Run, limits::ECHO_CHARS_MAX};
use cerebro_documents::Format;
use cerebro_service::DocumentRead;

/// How long opening and reading a file may take.
const OPEN_MAX: Duration = Duration::from_secs(10);
/// How many files are read at once for all agents; further calls wait, and the time for each file is bounded.
const READERS_MAX: usize = 2;
/// Most documents of a page, and the default.
const LISTED_MAX: usize = 100;
const LISTED: usize = 20;

static READERS: Semaphore = Semaphore::const_new(READERS_MAX);

/// Reads a file of the caller's folder.
pub(super) async fn ingest(call: &mut Call) -> Answer {
    let given = call.arguments.needed("path")?;
    let refused = |why: &str| {
        let shown = text::cut_chars(&given, ECHO_CHARS_MAX).into_owned();
        Fault::from(ArgumentError::new("path", Some(&shown), why.to_owned()))
    };
    let Some(checkout) = call.connection.checkout().cloned() else {
        return Err(refused(
            "this connection has no working folder on this machine; a person can run `cerebro ingest`",
        ));
    };
    let found = checkout.document(given.clone().into(), OPEN_MAX).await;
    let (path, bytes) = found.map_err(|why| refused(&why))?;
    let format = Format::of(&path).unwrap_or(Format::Text);
    let hash = text::hex(&Sha256::digest(&bytes));
    let mut reading = {
        let _place = READERS.acquire().await.map_err(|_| refused("the daemon is ending; try it again"))?;
        Reader::default().read(format, &bytes).await.map_err(|why| refused(&why))?
    };
    let begun = Instant::now();
    for (at, place) in images_beside(&reading, &path) {
        if begun.elapsed() >= OPEN_MAX {
            break;
        }
        if let Ok((_, bytes)) = checkout.document(place, OPEN_MAX).await {
            saw_image(&mut reading, at, &bytes);
        }
    }
    let path = path.to_str().ok_or_else(|| refused("its name is not valid text"))?.to_owned();
    let read = DocumentRead {
        project: call.caller.project.clone(),
        path,
        format,
        hash,
        bytes: bytes.len() as u64,
        loaded_by: Vec::new(),
        reading,
    };
    let done = call.service.documents.ingest(read, Run::Real).await?;
    call.redacted += done.redacted;
    let answer = ingested(&done);
    Ok(Reply::saying(answer.outcome.raw()).answering::<of::DocIngest>(answer))
}

/// A page of the documents of a project.
pub(super) async fn list(call: &mut Call) -> Answer {
    let project = call.project()?;
    let limit = call.arguments.clamped("limit", LISTED, 1..=LISTED_MAX)?;
    let offset = call.arguments.count("cursor")?.unwrap_or(0);
    let documents = call.service.documents.list(Some(&project), offset, limit).await?;
    let next = (documents.len() == limit).then(|| (offset + limit).to_string());
    let rows = documents.iter().map(|one| {
        let mut row = json!({
            "id": one.id.to_string(), "title": one.title, "path": one.path, "format": one.format,
            "passages": one.chunks.len(), "read": moment(one.at),
        });
        if one.removed {
            row["removed"] = json!(true);
        }
        row
    });
    let lines = documents.iter().map(|one| {
        let gone = if one.removed { " (left out)" } else { "" };
        format!("- `{}` {} · {}{gone}", one.id, one.title, one.path)
    });
    Ok(Reply::saying(text::counted(documents.len(), "document"))
        .lines(lines)
        .fact("next_cursor", next)
        .list("documents", rows.collect()))
}

/// Leaves a document of the caller's project out of searches.
pub(super) async fn remove(call: &mut Call) -> Answer {
    let id = document(call).await?;
    let found = call.service.documents.get(id).await?;
    if found.project != call.caller.project {
        let problem = format!("it belongs to project `{}`, not to this workspace's", found.project);
        return Err(ArgumentError::new("id", Some(&id.to_string()), problem).into());
    }
    call.service.documents.remove(id).await?;
    Ok(Reply::saying(format!("{id} is left out of searches; doc_ingest brings it back"))
        .fact("id", id.to_string())
        .fact("path", found.path.as_str()))
}
