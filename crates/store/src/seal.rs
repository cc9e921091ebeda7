//! Seals of the journal: queries and changes.

use cerebro_ledger::seal::Seal;
use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    read::Vars,
    row::{datetime, signed, unsigned},
    statement,
    work::StoredWork,
};
use cerebro_core::domain::EventKind;
use cerebro_core::text;

const SEAL: &str = "seal";

#[derive(Debug, Clone, SurrealValue)]
struct SealRow {
    origin: String,
    number: i64,
    leaves: Vec<String>,
    size: i64,
    root: String,
    epoch: i64,
    next: Option<String>,
    signature: String,
    at: Datetime,
    id: RecordId,
}

impl TryFrom<SealRow> for Seal {
    type Error = StoreError;

    /// Text that is not hex was not written by us: no signature is valid over it.
    fn try_from(row: SealRow) -> Result<Self, StoreError> {
        let bytes = |hex: &str| cerebro_ledger::seal::unhex(hex).unwrap_or_default();
        Ok(Self {
            origin: row.origin,
            number: unsigned(row.number),
            leaves: row.leaves,
            size: unsigned(row.size),
            root: bytes(&row.root),
            epoch: unsigned(row.epoch),
            next: row.next.map(|key| bytes(&key)),
            signature: cerebro_ledger::seal::unhex_signature(&row.signature).unwrap_or_default(),
        })
    }
}

/// The changes of the table of seals.
#[derive(Default)]
pub(super) struct SealChanges {
    pub added: Vec<Seal>,
}

impl Part for SealChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        let at = datetime(commit.at);
        commit.add(statement::COMMIT_SEALS, "seals", &self.added, |seal| SealRow {
            id: RecordId::new(SEAL, format!("{}-{:08}", seal.origin.replace('/', "-"), seal.number)),
            origin: seal.origin.clone(),
            number: signed(seal.number),
            leaves: seal.leaves.clone(),
            size: signed(seal.size),
            root: text::hex(&seal.root),
            epoch: signed(seal.epoch),
            next: seal.next.map(|key| text::hex(&key)),
            signature: text::hex(&seal.signature),
            at,
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
        self.0.select::<SealRow, _>(SEAL, statement::SEAL_AFTER, vars).await
    }
}
