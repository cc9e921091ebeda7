//! A person's operations on documents: ingest, list, show, forget.

use super::prelude::*;
use crate::answer::documents;
use cerebro_core::domain::{
    ChunkId, Document, DocumentChunk, DocumentId, DocumentImage, limits::LISTING_MAX,
};
use cerebro_documents::{Format, Reading};
use cerebro_service::{DocumentRead, Ingested};

/// Chunks per page.
const PAGE: usize = 100;

/// Ingests the contents of a file.
pub(super) async fn ingest(call: &mut Call) -> AnswerTo<of::Ingest> {
    let project = call.arguments.target_project()?.unwrap_or_else(|| call.caller.project.clone());
    let arguments = &mut call.arguments;
    let run = arguments.run()?;
    let hash = arguments.needed("hash")?;
    if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ArgumentError::new("hash", Some(&hash), "it must be a SHA-256 in hex").into());
    }
    let format = arguments.needed("format")?;
    let known = serde_json::from_value::<Format>(json!(format));
    let format =
        known.map_err(|_| ArgumentError::new("format", Some(&format), "it is not a known format"))?;
    let reading = serde_json::from_value::<Reading>(Value::Object(arguments.object("reading")?));
    let reading = reading.map_err(|error| ArgumentError::new("reading", None, error.to_string()))?;
    let bytes = arguments.count("bytes")?.unwrap_or(0) as u64;
    let path = arguments.needed("path")?;
    let read = DocumentRead { project, path, format, hash, bytes, loaded_by: Vec::new(), reading };
    let done = call.service.documents.ingest(read, run).await?;
    call.redacted += done.redacted;
    Ok(ingested(&done))
}

/// The result of ingesting a document.
pub(super) fn ingested(done: &Ingested) -> documents::Ingested {
    let outcome = match () {
        () if !done.changed => "unchanged",
        () if done.renamed => "renamed",
        () if done.kept + done.gone == 0 => "new",
        () => "changed",
    };
    documents::Ingested {
        outcome: outcome.into(),
        id: Text::of(done.id),
        added: done.added as u64,
        kept: done.kept as u64,
        gone: done.gone as u64,
        cut: done.cut,
    }
}

/// A page of the documents of a project, or of all.
pub(super) async fn list(call: &mut Call) -> AnswerTo<of::Documents> {
    let project = call.project_or_all()?;
    let offset = call.arguments.count("offset")?.unwrap_or(0);
    let found = call.service.documents.list(project.as_ref(), offset, LISTING_MAX).await?;
    Ok(documents::Listed { documents: found.iter().map(row).collect(), more: found.len() == LISTING_MAX })
}

fn row(document: &Document) -> documents::Document {
    documents::Document {
        id: Text::of(document.id),
        project: Text::of(&document.project),
        path: Text::of(&document.path),
        format: Text::from(&document.format),
        title: Text::of(&document.title),
        hash: Text::from(&document.hash),
        bytes: document.bytes,
        chunks: document.chunks.len() as u64,
        images: document.images.len() as u64,
        beside: document.images.iter().any(|image| image.beside),
        cut: document.cut,
        removed: document.removed,
        loaded_by: document.loaded_by.iter().map(Text::from).collect(),
        at: Text::of(document.at),
    }
}

/// A document with a page of its passages.
pub(super) async fn show(call: &mut Call) -> AnswerTo<of::DocumentShow> {
    let id = document(call).await?;
    let offset = call.arguments.count("offset")?.unwrap_or(0);
    let found = call.service.documents.chunks(id, offset, PAGE).await?;
    let next = offset + found.chunks.len();
    Ok(documents::Shown {
        document: row(&found.document),
        passages: found.chunks.iter().map(passage).collect(),
        images: found.document.images.iter().map(image).collect(),
        next_offset: (next < found.document.chunks.len()).then_some(next as u64),
    })
}

fn passage(chunk: &DocumentChunk) -> documents::Passage {
    documents::Passage {
        id: Text::of(chunk.id),
        heading: Text::of(&chunk.heading),
        page: chunk.page,
        flags: chunk.flags.iter().map(|flag| flag.as_str().into()).collect(),
        text: Text::of(&chunk.text),
    }
}

fn image(image: &DocumentImage) -> documents::Image {
    documents::Image {
        caption: Text::of(&image.caption),
        page: image.page,
        place: Text::of(&image.place),
        beside: image.beside,
        mime: Text::from(&image.mime),
        hash: Text::from(&image.hash),
        bytes: image.bytes,
    }
}

/// Marks a document whose file is gone as left out.
pub(super) async fn remove(call: &mut Call) -> AnswerTo<of::DocumentRemove> {
    let id = document(call).await?;
    let removed = call.service.documents.remove(id).await?;
    Ok(documents::Removed { id: Text::of(id), path: Text::of(&removed.path) })
}

/// Purges a document.
pub(super) async fn forget(call: &mut Call) -> AnswerTo<of::DocumentForget> {
    let id = document(call).await?;
    let gone = call.service.documents.forget(id).await?;
    Ok(documents::Forgotten {
        id: Text::of(id),
        path: Text::of(&gone.path),
        passages: gone.chunks.len() as u64,
    })
}

/// The document with this id, or with a passage with this id.
pub(super) async fn document(call: &mut Call) -> Result<DocumentId, Fault> {
    let given = call.arguments.needed("id")?;
    if let Ok(chunk) = ChunkId::parse(&given)
        && DocumentId::parse(&given).is_err()
    {
        return Ok(call.service.documents.chunk(chunk).await?.document.id);
    }
    Ok(DocumentId::parse(&given).map_err(ArgumentError::unread("id", &given))?)
}
