//! Seals of the journal: queries and changes.

use cerebro_ledger::seal::{Seal, unhex_signature};
use surrealdb::types::RecordId;

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{columns, put, row_of, with_id},
    read::Vars,
    row::signed,
    statement,
    work::StoredWork,
};
use cerebro_core::domain::EventKind;
use cerebro_core::text;

const SEAL: &str = "seal";

columns! {
    Seal in "seal" {
        origin, number, leaves, size, root, epoch, next,
        // Text that is not hex was not written by us: it is no valid signature.
        signature: by(|bytes| text::hex(bytes), |hex: String| unhex_signature(&hex).unwrap_or_default()),
    }
}

/// The changes of the table of seals.
#[derive(Default)]
pub(super) struct SealChanges {
    pub added: Vec<Seal>,
}

impl Part for SealChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let at = commit.at;
        commit.add(statement::COMMIT_SEALS, "seals", &self.added, |seal| {
            let id = RecordId::new(SEAL, format!("{}-{:08}", seal.origin.replace('/', "-"), seal.number));
            let mut row = row_of(seal);
            put(&mut row, "at", &at);
            with_id(id, row)
        });
    }
}

impl Write<'_> {
    /// The journal is sealed, and the rows of the sealed pieces of work record it.
    pub fn seal_works(&mut self, seal: &Seal, sealed: Vec<StoredWork>) {
        let tables = self.record(NewEvent::about_nothing(EventKind::WorkSealed));
        tables.seals.added.push(seal.clone());
        tables.works.put.extend(sealed);
    }
}

noun! {
    /// The seals of the journal.
    seals: Seals
}

impl Seals<'_> {
    /// The journals that have seals.
    pub async fn origins(self, limit: usize) -> Result<Vec<String>, StoreError> {
        self.0.values(SEAL, statement::SEAL_ORIGINS, Vars::new().limit(limit)).await
    }

    /// The seals of a journal from a number on, in order.
    pub async fn of_journal(self, origin: &str, from: u64, limit: usize) -> Result<Vec<Seal>, StoreError> {
        let vars = Vars::new().with("origin", origin).with("after", signed(from) - 1).limit(limit);
        self.0.select(statement::SEAL_AFTER, vars).await
    }
}
