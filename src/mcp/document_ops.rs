//! A person's operations on documents: ingest, list, show, forget.

use serde_json::{Value, json};

use super::{
    arguments::ArgumentError,
    call::{Answer, Call},
    reply::Reply,
};
use cerebro_core::domain::{ChunkId, Document, DocumentId, DocumentImage, limits::LISTING_MAX};
use cerebro_core::text;
use cerebro_documents::{Format, Reading};
use cerebro_service::{DocumentRead, Ingested};

/// Chunks per page.
const PAGE: usize = 100;

/// Ingests the contents of a file.
pub(super) async fn ingest(call: &mut Call) -> Answer {
    let project = call.arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let arguments = &mut call.arguments;
    let dry_run = arguments.flag(&["dry_run"])?;
    let hash = arguments.needed("hash")?;
    if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ArgumentError::new("hash", Some(&hash), "it is a SHA-256 in hex").into());
    }
    let format = arguments.needed("format")?;
    let known = serde_json::from_value::<Format>(json!(format));
    let format =
        known.map_err(|_| ArgumentError::new("format", Some(&format), "it is no format of documents"))?;
    let reading = serde_json::from_value::<Reading>(Value::Object(arguments.object("reading")?));
    let reading = reading.map_err(|error| ArgumentError::new("reading", None, error.to_string()))?;
    let bytes = arguments.count("bytes")?.unwrap_or(0) as u64;
    let path = arguments.needed("path")?;
    let read = DocumentRead { project, path, format, hash, bytes, loaded_by: Vec::new(), reading };
    let done = call.service.documents.ingest(read, dry_run).await?;
    call.redacted += done.redacted;
    Ok(outcome(&done))
}

/// The result of ingesting a document.
pub(super) fn outcome(done: &Ingested) -> Reply {
    let outcome = match () {
        () if !done.changed => "unchanged",
        () if done.renamed => "renamed",
        () if done.kept + done.gone == 0 => "new",
        () => "changed",
    };
    Reply::saying(outcome)
        .fact("outcome", outcome)
        .fact("id", done.id.to_string())
        .fact("added", done.added)
        .fact("kept", done.kept)
        .fact("gone", done.gone)
        .fact("cut", done.cut)
}

/// A page of the documents of a project, or of all.
pub(super) async fn list(call: &mut Call) -> Answer {
    let all = call.arguments.flag(&["all_projects"])?;
    let project = call.arguments.project()?.unwrap_or_else(|| call.caller.project.clone());
    let offset = call.arguments.count("offset")?.unwrap_or(0);
    let documents = call.service.documents.list((!all).then_some(&project), offset, LISTING_MAX).await?;
    let more = documents.len() == LISTING_MAX;
    Ok(Reply::saying(text::counted(documents.len(), "document"))
        .list("documents", documents.iter().map(row).collect())
        .fact("more", more))
}

fn row(document: &Document) -> Value {
    json!({
        "id": document.id.to_string(), "project": document.project.as_str(), "path": document.path,
        "format": document.format, "title": document.title, "hash": document.hash, "bytes": document.bytes,
        "chunks": document.chunks.len(), "images": document.images.len(),
        "beside": document.images.iter().any(|image| image.beside), "cut": document.cut, "removed": document.removed,
        "loaded_by": document.loaded_by,
        "at": document.at.to_string(),
    })
}

/// A document with a page of its passages.
pub(super) async fn show(call: &mut Call) -> Answer {
    let id = document(call).await?;
    let offset = call.arguments.count("offset")?.unwrap_or(0);
    let found = call.service.documents.chunks(id, offset, PAGE).await?;
    let chunk = |chunk: &cerebro_core::domain::DocumentChunk| {
        let flags: Vec<&str> = chunk.flags.iter().map(|flag| flag.as_str()).collect();
        json!({
            "id": chunk.id.to_string(), "heading": chunk.heading, "page": chunk.page, "flags": flags,
            "text": chunk.text,
        })
    };
    let next = offset + found.chunks.len();
    Ok(Reply::saying(format!("document {id}"))
        .fact("document", row(&found.document))
        .list("passages", found.chunks.iter().map(chunk).collect())
        .list("images", found.document.images.iter().map(image).collect())
        .fact("next_offset", (next < found.document.chunks.len()).then_some(next)))
}

fn image(image: &DocumentImage) -> Value {
    json!({
        "caption": image.caption, "page": image.page, "place": image.place, "beside": image.beside,
        "mime": image.mime, "hash": image.hash, "bytes": image.bytes,
    })
}

/// The file of a document is gone.
pub(super) async fn remove(call: &mut Call) -> Answer {
    let id = document(call).await?;
    let removed = call.service.documents.remove(id).await?;
    Ok(Reply::saying(format!("{id} is left out"))
        .fact("id", id.to_string())
        .fact("path", removed.path.as_str()))
}

/// Purges a document.
pub(super) async fn forget(call: &mut Call) -> Answer {
    let id = document(call).await?;
    let gone = call.service.documents.forget(id).await?;
    Ok(Reply::saying(format!("{id} is gone"))
        .fact("id", id.to_string())
        .fact("path", gone.path.as_str())
        .fact("passages", gone.chunks.len()))
}

/// The document, by its id or by that of one of its passages.
pub(super) async fn document(call: &mut Call) -> Result<DocumentId, super::fault::Fault> {
    let given = call.arguments.needed("id")?;
    if let Ok(chunk) = ChunkId::parse(&given)
        && DocumentId::parse(&given).is_err()
    {
        return Ok(call.service.documents.chunk(chunk).await?.document.id);
    }
    let parsed = DocumentId::parse(&given);
    Ok(parsed.map_err(|error| ArgumentError::new("id", Some(&given), error.to_string()))?)
}
