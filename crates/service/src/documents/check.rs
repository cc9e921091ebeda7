//! The check of `cerebro doctor`: documents have exactly their chunks, each matches its digest, and the index has those of
//! documents whose files exist.

use std::collections::{HashMap, HashSet};

use crate::{Documents, ServiceError, check::Check, index::Evidence};
use cerebro_core::domain::{ChunkId, DocumentId, SubjectId};
use cerebro_documents::Chunk;

/// The check's name.
const NAME: &str = "documents";

impl Documents {
    /// Checks documents, and rebuilds their index if `fix` is set.
    pub(crate) async fn checked(&self, fix: bool) -> Result<Check, ServiceError> {
        if !self.evidence.has(Evidence::Documents).await? {
            return Ok(Check::sound(NAME, "there are none"));
        }
        match self.documents_roll().await? {
            Ok(found) => self.evidence.checked(Evidence::Documents, &found, fix).await,
            Err(words) => Ok(Check::failed(NAME, words)),
        }
    }

    /// Reads each row. Returns the id of every chunk that searches can find, or the fault.
    async fn documents_roll(&self) -> Result<Result<HashSet<SubjectId>, String>, ServiceError> {
        let (mut named, mut found) = (HashMap::<ChunkId, DocumentId>::new(), HashSet::new());
        let mut pages = self.base.store.documents().walk();
        while let Some(page) = pages.next().await? {
            for document in page {
                named.extend(document.chunks.iter().map(|id| (*id, document.id)));
                found.extend(
                    document.chunks.iter().filter(|_| !document.removed).map(|id| SubjectId::from(*id)),
                );
            }
        }
        let mut pages = self.base.store.chunks().walk();
        while let Some(page) = pages.next().await? {
            for chunk in page {
                if named.remove(&chunk.id) != Some(chunk.document) {
                    return Ok(Err(format!("chunk `{}` belongs to no document", chunk.id)));
                }
                if Chunk::digest(&chunk.heading, &chunk.text) != chunk.digest {
                    return Ok(Err(format!("the text of chunk `{}` is not what was kept", chunk.id)));
                }
            }
        }
        Ok(match named.iter().next() {
            None => Ok(found),
            Some((chunk, document)) => Err(format!("document `{document}` misses its chunk `{chunk}`")),
        })
    }
}
