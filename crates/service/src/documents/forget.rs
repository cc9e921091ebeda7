//! Removing documents: because their file is gone, which may come back, or for good.

use crate::{Documents, ServiceError, index::Evidence};
use cerebro_core::domain::{Document, DocumentId, HistoryTombstone};
use cerebro_store::Write;

/// What happens to a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Removal {
    Removed,
    Forgotten,
}

/// Removes a document. Returns it as it was.
async fn remove(write: &mut Write<'_>, id: DocumentId, going: Removal) -> Result<Document, ServiceError> {
    let found = write.store().documents().by_ids(&[id]).await?;
    let document = found.into_iter().next().ok_or(ServiceError::NoDocument(id))?;
    match going {
        Removal::Forgotten => {
            // The intake would find a memory file again and import it.
            if !document.loaded_by.is_empty() {
                write.put_history_tombstones(vec![HistoryTombstone::of_memory_file(&document.path)]);
            }
            write.forget_document(&document);
        }
        Removal::Removed if document.removed => {}
        Removal::Removed => write.remove_document(&document),
    }
    Ok(document)
}

impl Documents {
    /// Leaves a document out of searches because its file is gone. A file with the same bytes that is read in the same
    /// project later is the same document.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn remove(&self, id: DocumentId) -> Result<Document, ServiceError> {
        self.go(id, Removal::Removed).await
    }

    /// Destroys a document and its chunks. Backups and old files of the database may still hold them;
    /// [`Service::compact`](crate::Service::compact) rewrites the latter.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn forget(&self, id: DocumentId) -> Result<Document, ServiceError> {
        self.go(id, Removal::Forgotten).await
    }

    async fn go(&self, id: DocumentId, going: Removal) -> Result<Document, ServiceError> {
        let document = self.base.store.transact(|write| Box::pin(remove(write, id, going))).await?;
        self.evidence.changed(Evidence::Documents);
        Ok(document)
    }
}
