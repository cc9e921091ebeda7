//! Exchanges and their texts.

use std::collections::HashMap;

use surrealdb::types::{Bytes, Object, RecordId, SurrealValue, object};

use super::{session::session_key, vector};
use crate::{
    Store, StoreError,
    columns::{self, Columns, RawRow, columns, row_of, with_id},
    read::{Vars, Walk, one, take},
    row::{held, key, malformed},
    statement,
};
use cerebro_core::domain::{
    Exchange, ExchangeId, FullExchange, PastCommand, Proven, SessionId, Timestamp, limits::EXCHANGE_BYTES_MAX,
};
use cerebro_core::redact::RedactedText;

const TABLE: &str = "exchange";
const TEXTS: &str = "exchange_text";
/// The level of compression of texts: the default of zstd.
const LEVEL: i32 = 3;

columns! {
    Exchange in "exchange" {
        id: key(ExchangeId::of_key), session: text(SessionId::as_str, SessionId::parse), seq, part, at, title, files,
        commands: flat, errors, withdrawn, first, last, digest,
    }
}

/// The lines of commands, and in the same order how they ended.
impl Columns for Vec<PastCommand> {
    fn put_into(&self, row: &mut Object) {
        let outcome = |command: &PastCommand| match command.ok {
            Some(true) => "done".to_owned(),
            Some(false) => "failed".to_owned(),
            None => "unknown".to_owned(),
        };
        row.insert("commands", self.iter().map(|command| command.line.to_string()).collect::<Vec<_>>());
        row.insert("outcomes", self.iter().map(outcome).collect::<Vec<_>>());
    }

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError> {
        let lines: Vec<RedactedText> = columns::take(table, row, "commands")?;
        let outcomes: Vec<String> = columns::take(table, row, "outcomes")?;
        let command = |(line, outcome): (RedactedText, String)| PastCommand {
            line,
            ok: match outcome.as_str() {
                "done" => Some(true),
                "failed" => Some(false),
                _ => None,
            },
        };
        Ok(lines.into_iter().zip(outcomes).map(command).collect())
    }
}

#[derive(SurrealValue)]
struct TextRow {
    id: RecordId,
    text: Bytes,
    proven: Option<Bytes>,
}

pub(crate) fn record(id: &ExchangeId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

fn text_record(id: &ExchangeId) -> RecordId {
    RecordId::new(TEXTS, id.key())
}

/// The rows of an exchange: its own, and that of its text.
fn rows(full: &FullExchange, at: Timestamp) -> (Object, Object) {
    let mut row = row_of(&full.exchange);
    columns::put(&mut row, "stored_at", &at);
    let proven = (!full.proven.is_empty()).then(|| Bytes::from(compressed(&full.proven.as_json())));
    (row, object! { text: Bytes::from(compressed(&full.text)), proven: proven })
}

pub(super) fn new(full: &FullExchange, at: Timestamp) -> Object {
    let (row, text) = rows(full, at);
    let id = &full.exchange.id;
    object! { row: with_id(record(id), row), text: with_id(text_record(id), text) }
}

pub(super) fn put(full: &FullExchange, at: Timestamp) -> Object {
    let (row, text) = rows(full, at);
    let id = &full.exchange.id;
    object! {
        id: record(id),
        row: row,
        text_id: text_record(id),
        text: text,
        vector_id: vector::record(id),
    }
}

pub(super) fn gone(id: &ExchangeId) -> Object {
    object! { id: record(id), text_id: text_record(id), vector_id: vector::record(id) }
}

/// Compresses a text with zstd. It works in memory, so the only possible failure is a lack of memory.
fn compressed(text: &str) -> Vec<u8> {
    zstd::bulk::compress(text.as_bytes(), LEVEL).expect("a text of some KiB is compressed in memory")
}

fn decompressed(bytes: &[u8]) -> Result<String, StoreError> {
    let failed = |reason: String| StoreError::Row { table: TEXTS, reason };
    // A frame that claims to be longer than any text that was ever stored is malformed.
    let text =
        zstd::bulk::decompress(bytes, 4 * EXCHANGE_BYTES_MAX).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(text).map_err(|error| failed(error.to_string()))
}

/// Reads the proven facts of an exchange from the stored JSON.
fn proven(json: &str) -> Result<Proven, StoreError> {
    let proven: Proven<String> = serde_json::from_str(json)
        .map_err(|error| StoreError::Row { table: TEXTS, reason: error.to_string() })?;
    Ok(proven.map(usize::MAX, held))
}

pub(crate) fn exchange_id(key: &str) -> Result<ExchangeId, StoreError> {
    ExchangeId::of_key(key).map_err(|_| malformed(TABLE, "id", key))
}

noun! {
    /// The exchanges of past sessions.
    exchanges: Exchanges
}

impl<'a> Exchanges<'a> {
    /// An exchange with its text.
    pub async fn by_id(self, id: &ExchangeId) -> Result<Option<FullExchange>, StoreError> {
        Ok(one(self.by_ids(std::slice::from_ref(id)).await?))
    }

    /// The digest of an exchange, whose text is not read.
    pub(super) async fn digest(self, id: &ExchangeId) -> Result<Option<String>, StoreError> {
        let vars = Vars::new().list("ids", [record(id)]);
        let found: Vec<Exchange> = self.0.select(statement::EXCHANGE_GET, vars).await?;
        Ok(one(found).map(|exchange| exchange.digest))
    }

    /// Exchanges by id, with their texts; missing ones are left out.
    pub async fn by_ids(self, ids: &[ExchangeId]) -> Result<Vec<FullExchange>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", ids.iter().map(record));
        self.with_texts(self.0.select(statement::EXCHANGE_GET, vars).await?).await
    }

    /// The exchanges of a session from `seq` on, in order.
    pub async fn since(
        self,
        session: &SessionId,
        seq: u32,
        limit: usize,
    ) -> Result<Vec<Exchange>, StoreError> {
        self.0.select(statement::EXCHANGE_SINCE, at_place(session, seq).limit(limit)).await
    }

    /// The exchanges of a session before `seq`, nearest first.
    pub async fn before(
        self,
        session: &SessionId,
        seq: u32,
        limit: usize,
    ) -> Result<Vec<Exchange>, StoreError> {
        self.0.select(statement::EXCHANGE_BEFORE, at_place(session, seq).limit(limit)).await
    }

    /// The exchanges of a session from `seq` on that were stored at or after a moment, in order.
    pub async fn stored_since(
        self,
        session: &SessionId,
        seq: u32,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<Exchange>, StoreError> {
        self.0.select(statement::EXCHANGE_STORED, at_place(session, seq).at("at", at).limit(limit)).await
    }

    /// All exchanges of some sessions, in no order.
    pub async fn of_sessions(self, sessions: &[SessionId]) -> Result<Vec<Exchange>, StoreError> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = sessions.iter().map(|id| id.as_str().to_owned()).collect();
        self.0.select(statement::EXCHANGE_OF, Vars::new().with("sessions", ids)).await
    }

    /// The ids of all exchanges of a session.
    pub async fn ids(self, session: &SessionId) -> Result<Vec<ExchangeId>, StoreError> {
        let vars = Vars::new().with("sid", session.as_str());
        let keys: Vec<String> = self.0.values(TABLE, statement::EXCHANGE_IDS, vars).await?;
        keys.iter().map(|key| exchange_id(key)).collect()
    }

    /// The sessions with an exchange that begins or ends with one of these turns, given by the digests of their
    /// native ids.
    pub async fn owners_of_turns(self, turns: &[String]) -> Result<Vec<(String, SessionId)>, StoreError> {
        if turns.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().with("turns", turns.to_vec());
        let mut results = self.0.engine()?.run(statement::EXCHANGE_OWNERS, vars.0).await?;
        let mut owners = take::<RawRow>(TABLE, &mut results, 0)?;
        owners.extend(take::<RawRow>(TABLE, &mut results, 1)?);
        let owner = |row: RawRow| {
            let (turn, session): (String, String) = row.pair(TABLE, ["turn", "session"])?;
            Ok((turn, session_key(&session)?))
        };
        owners.into_iter().map(owner).collect()
    }

    /// All exchanges in order of id, without their texts.
    pub fn walk(self) -> Walk<'a, Exchange> {
        Walk::over(self.0)
    }

    /// Adds texts and proven facts to exchanges. A text is empty if somebody forgets the exchange at this moment.
    pub async fn with_texts(self, exchanges: Vec<Exchange>) -> Result<Vec<FullExchange>, StoreError> {
        if exchanges.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", exchanges.iter().map(|exchange| text_record(&exchange.id)));
        let mut texts = HashMap::new();
        for row in self.0.values::<TextRow>(TEXTS, statement::EXCHANGE_TEXTS, vars).await? {
            let text = decompressed(&row.text.into_inner())?;
            let proven = match row.proven {
                Some(bytes) => proven(&decompressed(&bytes.into_inner())?)?,
                None => Proven::default(),
            };
            texts.insert(exchange_id(&key(TEXTS, row.id)?)?, (held(text), proven));
        }
        let full = |exchange: Exchange| {
            let (text, proven) = texts.remove(&exchange.id).unwrap_or_default();
            FullExchange { exchange, text, proven }
        };
        Ok(exchanges.into_iter().map(full).collect())
    }

    /// The proven facts of exchanges, in the same order.
    pub async fn proven(self, exchanges: &[Exchange]) -> Result<Vec<Proven>, StoreError> {
        if exchanges.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", exchanges.iter().map(|exchange| text_record(&exchange.id)));
        let mut found = HashMap::new();
        let rows: Vec<(ExchangeId, Vec<u8>)> =
            self.0.pairs(TEXTS, ["id", "proven"], statement::EXCHANGE_PROVEN, vars).await?;
        for (id, bytes) in rows {
            found.insert(id, proven(&decompressed(&bytes)?)?);
        }
        Ok(exchanges.iter().map(|exchange| found.remove(&exchange.id).unwrap_or_default()).collect())
    }
}

fn at_place(session: &SessionId, seq: u32) -> Vars {
    Vars::new().with("sid", session.as_str()).with("seq", i64::from(seq))
}
