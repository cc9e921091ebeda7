//! Documents that go: because their file is gone, which can come back, or for good.

use crate::{Documents, ServiceError, index::Evidence};
use cerebro_core::domain::{Document, DocumentId, HistoryTombstone};
use cerebro_store::{Decision, Write};

/// What happens to a document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    Removed,
    Forgotten,
}

struct Go {
    id: DocumentId,
    going: Going,
}

impl Decision for Go {
    /// The document, as it was.
    type Output = Document;
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Document, ServiceError> {
        let found = write.store().documents_by_id(&[self.id]).await?;
        let document = found.into_iter().next().ok_or(ServiceError::NoDocument(self.id))?;
        match self.going {
            Going::Forgotten => {
                // A memory file is looked for by itself, and would come back.
                if !document.loaded_by.is_empty() {
                    write.import_history_tombstone(HistoryTombstone::of_paper(&document.path));
                }
                write.forget_document(&document);
            }
            Going::Removed if document.removed => {}
            Going::Removed => write.remove_document(&document),
        }
        Ok(document)
    }
}

impl Documents {
    /// Leaves a document out of searches, since its file is gone. When a file of the same bytes is read again in its
    /// project, that is the document.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn remove(&self, id: DocumentId) -> Result<Document, ServiceError> {
        self.go(id, Going::Removed).await
    }

    /// Destroys a document and its chunks. What backups and files of the database still hold goes when they do;
    /// [`Documents::compact`] rewrites the latter.
    ///
    /// # Errors
    /// [`ServiceError::NoDocument`]
    pub async fn forget(&self, id: DocumentId) -> Result<Document, ServiceError> {
        self.go(id, Going::Forgotten).await
    }

    async fn go(&self, id: DocumentId, going: Going) -> Result<Document, ServiceError> {
        let document = self.base.store.transact(&Go { id, going }).await?;
        self.evidence.changed(Evidence::Documents);
        Ok(document)
    }
}
