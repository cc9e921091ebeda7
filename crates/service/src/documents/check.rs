//! The check of `cerebro doctor`: documents have exactly their chunks, each matches its digest, and the index has those of
//! documents whose files exist.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{Documents, ServiceError, check::Check, index::Evidence};
use cerebro_core::domain::{ChunkId, DocumentId, SubjectId};
use cerebro_core::text;
use cerebro_documents::Chunk;
use cerebro_search::lexical::Index;

/// The check's name.
const NAME: &str = "documents";
/// How many rows are read at once.
const PAGE: usize = 200;

impl Documents {
    /// Checks documents, and rebuilds their index if `fix` is set.
    ///
    /// # Errors
    /// A failing store or index.
    pub(crate) async fn checked(&self, fix: bool) -> Result<Check, ServiceError> {
        if !self.evidence.has(Evidence::Documents).await? {
            return Ok(Check::sound(NAME, "there are none"));
        }
        let found = match self.documents_roll().await? {
            Ok(found) => found,
            Err(words) => return Ok(Check::failed(NAME, words)),
        };
        let Some(words) = self.documents_differ(&found).await? else {
            return Ok(Check::sound(
                NAME,
                format!("{} can be read and found", text::counted(found.len(), "chunk")),
            ));
        };
        if !fix {
            return Ok(Check::failed(NAME, format!("{words}. `cerebro doctor --fix` builds its index anew")));
        }
        self.evidence.rebuild(Evidence::Documents).await?;
        Ok(match self.documents_differ(&found).await? {
            None => Check::failed(NAME, words).repaired(),
            Some(still) => Check::failed(NAME, format!("{still}, even after its index was built anew")),
        })
    }

    /// Reads each row. Returns the id of every chunk that searches can find, or the fault.
    async fn documents_roll(&self) -> Result<Result<BTreeSet<SubjectId>, String>, ServiceError> {
        let (mut named, mut found) = (HashMap::<ChunkId, DocumentId>::new(), BTreeSet::new());
        let mut after: Option<String> = None;
        loop {
            let page = self.base.store.documents().page(after.as_deref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (_, document) in page {
                named.extend(document.chunks.iter().map(|id| (*id, document.id)));
                found.extend(
                    document.chunks.iter().filter(|_| !document.removed).map(|id| SubjectId::from(*id)),
                );
            }
        }
        let mut after: Option<String> = None;
        loop {
            let page = self.base.store.chunks().page(after.as_deref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (_, chunk) in page {
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

    async fn documents_differ(&self, kept: &BTreeSet<SubjectId>) -> Result<Option<String>, ServiceError> {
        let held = self.evidence.ask(Evidence::Documents, Index::held).await?;
        let held: HashSet<SubjectId> = held.into_keys().collect();
        let missing = kept.iter().filter(|id| !held.contains(id)).count();
        let ghosts = held.iter().filter(|id| !kept.contains(id)).count();
        Ok(match (missing, ghosts) {
            (0, 0) => None,
            (0, n) => {
                Some(format!("its index holds {} beyond those that are kept", text::counted(n, "chunk")))
            }
            (n, _) => Some(format!("its index lacks {}", text::counted(n, "chunk"))),
        })
    }
}
