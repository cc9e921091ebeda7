//! Runs statements and undoes them, in a transaction that is always cancelled.
//!
//! The database itself reports the changes: within the transaction, and gone with it, every table has an event that
//! records each row.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use surrealdb::types::{SurrealValue, Value, Variables};
use surrealdb::{engine::local::Db, method::Transaction};
use surrealdb_core::syn;

use super::{BoxFuture, Engine, EngineError, Query};

/// Most statements of one trial.
const STATEMENTS_MAX: usize = 100;
/// The beginnings of statements about the connection or transaction, which cannot run inside one.
const OUTSIDE: [&str; 7] = ["BEGIN", "CANCEL", "COMMIT", "USE", "LIVE", "KILL", "ACCESS"];
/// The answer to statements that change more than rows.
const SCHEMA_CHANGED: &str = "the statements would change the schema (a table, field, index, event, function or the like), and only \
                              changes of rows can be shown; nothing was changed. `cerebro whatif new` makes a copy to try that on";
/// The table in which the events record rows; it is not part of the schema.
const NOTES: &str = "trial_note";

/// The changes that statements would make.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trial {
    /// How many rows of each table would be created, changed and deleted: `place`, `deed` and `rows`.
    pub counts: Vec<Json>,
    /// These rows, in the order of the changes, as `row` and `deed`; at most the requested number.
    pub changes: Vec<Json>,
    /// Whether there are more.
    pub more: bool,
}

impl Engine {
    /// Runs a person's statements, reports their changes, and undoes all of them.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when they cannot be parsed or tried, one fails, or they take too long;
    /// [`EngineError::NotRemote`] for a database on a server.
    pub fn try_out(&self, query: Query) -> BoxFuture<'_, Result<Trial, EngineError>> {
        Box::pin(self.run_trial(query))
    }

    async fn run_trial(&self, query: Query) -> Result<Trial, EngineError> {
        const WHAT: &str = "a trial";
        let datastore = self.datastore(WHAT)?;
        let capabilities = datastore.get_capabilities();
        let ast = syn::parse_with_capabilities(&query.text, &capabilities, &datastore.parser_config())
            .map_err(refused)?;
        if ast.expressions.len() > STATEMENTS_MAX {
            let words =
                format!("{} statements; at most {STATEMENTS_MAX} are tried at once", ast.expressions.len());
            return Err(EngineError::Refused(words));
        }
        for statement in &ast.expressions {
            let words = statement.to_string();
            if let Some(outside) = OUTSIDE.iter().find(|word| words.split([' ', ';']).next() == Some(**word))
            {
                return Err(EngineError::Refused(format!("{outside} cannot be tried in a transaction")));
            }
        }
        let transaction = self.db(WHAT)?.clone().begin().await.map_err(refused)?;
        // A statement that is cut off poisons its transaction; here that is harmless, because it is cancelled
        // anyway.
        let tried = tokio::time::timeout(query.timeout, attempt(&transaction, &query)).await;
        let cancelled = transaction.cancel().await;
        let trial = tried.map_err(|_| too_long(query.timeout))??;
        cancelled.map_err(refused)?;
        Ok(trial)
    }
}

fn refused(error: impl std::fmt::Display) -> EngineError {
    EngineError::Refused(error.to_string())
}

fn too_long(timeout: Duration) -> EngineError {
    EngineError::Refused(format!("it took longer than {} s and was ended", timeout.as_secs()))
}

async fn attempt(transaction: &Transaction<Db>, query: &Query) -> Result<Trial, EngineError> {
    let facts = run(transaction, "INFO FOR DB".to_owned(), &Map::new()).await?;
    let tables = facts.first().and_then(|facts| facts["tables"].as_object().cloned()).unwrap_or_default();
    let events = tables.keys().map(|table| {
        let table = table.replace('`', "");
        format!(
            "DEFINE EVENT {NOTES} ON TABLE `{table}` THEN (CREATE {NOTES}:ulid() SET place = '{table}', \
             deed = string::lowercase($event), row = <string>($value.id ?? $before.id));"
        )
    });
    let define = [format!("DEFINE TABLE {NOTES} SCHEMALESS;")].into_iter().chain(events).collect::<String>();
    run(transaction, define, &Map::new()).await?;
    let before = schema(transaction, &tables).await?;
    run(transaction, query.text.clone(), &query.params).await?;
    // Events report only changes of rows, so the schema is compared.
    if schema(transaction, &tables).await? != before {
        return Err(EngineError::Refused(SCHEMA_CHANGED.to_owned()));
    }
    let counts =
        format!("SELECT place, deed, count() AS rows FROM {NOTES} GROUP BY place, deed ORDER BY place, deed");
    let changes = format!("SELECT row, deed, id FROM {NOTES} ORDER BY id LIMIT {}", query.rows_max + 1);
    let counts = rows(run(transaction, counts, &Map::new()).await?);
    let mut changes = rows(run(transaction, changes, &Map::new()).await?);
    let more = changes.len() > query.rows_max;
    changes.truncate(query.rows_max);
    Ok(Trial { counts, changes, more })
}

/// The definitions of the database and of these tables; a table that is gone has none.
async fn schema(transaction: &Transaction<Db>, tables: &Map<String, Json>) -> Result<Vec<Json>, EngineError> {
    let mut facts = run(transaction, "INFO FOR DB".to_owned(), &Map::new()).await?;
    let present = facts.first().map(|facts| facts["tables"].clone()).unwrap_or_default();
    let of_tables: String = tables
        .keys()
        .filter(|table| present.get(table.as_str()).is_some())
        .map(|table| format!("INFO FOR TABLE `{}`;", table.replace('`', "")))
        .collect();
    if !of_tables.is_empty() {
        facts.extend(run(transaction, of_tables, &Map::new()).await?);
    }
    Ok(facts)
}

/// The answers of all statements. The first failure is the error.
async fn run(
    transaction: &Transaction<Db>,
    text: String,
    params: &Map<String, Json>,
) -> Result<Vec<Json>, EngineError> {
    let params: Variables =
        params.iter().map(|(name, value)| (name.clone(), value.clone().into_value())).collect();
    let mut results = transaction.query(text).bind(params).await.map_err(refused)?;
    if let Some((at, error)) = results.take_errors().into_iter().min_by_key(|(at, _)| *at) {
        return Err(EngineError::Refused(format!("statement {}: {error}", at + 1)));
    }
    let mut answers = Vec::with_capacity(results.num_statements());
    for at in 0..results.num_statements() {
        answers.push(results.take::<Value>(at).map_err(refused)?.into_json_value());
    }
    Ok(answers)
}

fn rows(answers: Vec<Json>) -> Vec<Json> {
    match answers.into_iter().next() {
        Some(Json::Array(rows)) => rows,
        _ => Vec::new(),
    }
}
