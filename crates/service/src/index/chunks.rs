//! The index of chunks: its entries, and how it follows the log.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    ServiceError,
    index::{Evidence, evidence::Filling},
};
use cerebro_core::domain::{
    Body, Document, DocumentChunk, DocumentId, Event, EventKind, Origin, Project, Scope, SessionId,
    SubjectId, Taint, Timestamp, Validity,
};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_search::lexical::{Change, Doc};
use cerebro_store::{PAGE, Store};

/// Fills a new index.
pub(super) async fn fill(store: &Store, index: Filling<'_>) -> Result<(), ServiceError> {
    let mut pages = store.documents().walk();
    while let Some(page) = pages.next().await? {
        for document in page {
            push(store, index, &document, &HashSet::new()).await?;
        }
    }
    Ok(())
}

/// Applies events about documents.
pub(super) async fn follow(store: &Store, index: Filling<'_>, events: &[Event]) -> Result<(), ServiceError> {
    let mut changed: HashMap<DocumentId, bool> = HashMap::new();
    for event in events {
        let Some(id) = event.session.as_ref().and_then(|id| DocumentId::parse(id.as_str()).ok()) else {
            continue;
        };
        let moved = match event.kind {
            EventKind::DocumentIngested | EventKind::DocumentRemoved | EventKind::DocumentForgotten => false,
            // After a merge, all its entries belong to the other project.
            EventKind::ProjectMerged => true,
            _ => continue,
        };
        *changed.entry(id).or_default() |= moved;
    }
    let ids: Vec<DocumentId> = changed.keys().copied().collect();
    let here = store.documents().by_ids(&ids).await?;
    for (id, moved) in changed {
        let document = here.iter().find(|document| document.id == id && !document.removed);
        let kept: HashSet<SubjectId> =
            document.into_iter().flat_map(|document| &document.chunks).map(|id| (*id).into()).collect();
        let name = SessionId::from(id);
        let held: HashSet<SubjectId> = index
            .change(move |index| {
                let held = index.of_session(&name)?;
                let gone = held.iter().filter(|id| !kept.contains(id)).map(|id| Change::Erase(*id));
                gone.into_iter().try_for_each(|change| index.push(change))?;
                Ok(held.into_iter().collect())
            })
            .await?;
        let none = HashSet::new();
        if let Some(document) = document {
            // A chunk never changes, so one that is in the index is up to date, unless it is found elsewhere or other agents
            // load its file now.
            let is_as_it_was = !moved && document.loaded_by.is_empty();
            push(store, index, document, if is_as_it_was { &held } else { &none }).await?;
        }
    }
    Ok(())
}

/// Adds the chunks of a document that are not in the index yet.
async fn push(
    store: &Store,
    index: Filling<'_>,
    document: &Document,
    held: &HashSet<SubjectId>,
) -> Result<(), ServiceError> {
    if document.removed {
        return Ok(());
    }
    let wanted: BTreeSet<_> =
        document.chunks.iter().copied().filter(|id| !held.contains(&(*id).into())).collect();
    let wanted: Vec<_> = wanted.into_iter().collect();
    for page in wanted.chunks(PAGE) {
        let chunks = store.chunks().by_ids(page).await?;
        let document = document.clone();
        index
            .change(move |index| {
                let docs = chunks.into_iter().map(|chunk| doc(&document, chunk));
                docs.map(|doc| Change::Put(Box::new(doc))).try_for_each(|change| index.push(change))
            })
            .await?;
    }
    Ok(())
}

/// The title under which a chunk is found: that of its document, and the headings above it.
pub(crate) fn title(document: &Document, heading: &RedactedText) -> RedactedText {
    match (heading.is_empty(), heading.starts_with(document.title.as_str())) {
        (true, _) => document.title.clone(),
        (false, true) => heading.clone(),
        (false, false) => redact_text(&format!("{} › {heading}", document.title)).value,
    }
}

/// Where a document is found. Files that an agent loads in every project are found in every project.
pub(crate) fn scope(document: &Document) -> Scope {
    let is_everywhere = !document.loaded_by.is_empty() && document.project == Project::general();
    if is_everywhere { Scope::Personal } else { Scope::Project(document.project.clone()) }
}

/// The index's entry for a chunk.
fn doc(document: &Document, chunk: DocumentChunk) -> Doc {
    let by =
        if document.loaded_by.is_empty() { document.format.clone() } else { document.loaded_by.join(" ") };
    Doc {
        id: chunk.id.into(),
        body: Body {
            scope: scope(document),
            kind: Evidence::Documents.kind(),
            title: title(document, &chunk.heading),
            content: chunk.text,
            topic_key: None,
            tags: Vec::new(),
        },
        agent: redact_text(&by).value,
        date: document.at,
        valid: Validity::default(),
        archived: false,
        taint: Taint { origin: Origin::Document, flags: chunk.flags },
        held: (Timestamp::MIN, Timestamp::MAX),
        session: Some(document.id.into()),
        near_keys: Vec::new(),
        title_key: 0,
    }
}
