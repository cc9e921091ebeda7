//! Whether a database defines what the schema does, and nothing else.
//!
//! A backup is a script, and somebody may have written more into it: users, events that run at each save, functions in
//! place of ours. What it left behind is compared with a database that this program made, definition by definition.

use std::{collections::BTreeMap, path::Path};

use surrealdb::{
    IndexedResults,
    types::{Table, ToSql, Value, Variables},
};

use super::{
    Engine, StoreError, migrate,
    statement::{self, Statement},
    vector::{self, StoredModel},
};

/// Most definitions that are named.
const NAMED_MAX: usize = 5;

/// The text of each definition, by what it defines.
type Definitions = BTreeMap<String, String>;

/// Refuses a database, with its schema up to date, that has other definitions than one that this program made. One is made
/// for that in `scratch`, an empty folder; the caller removes it.
///
/// # Errors
/// [`StoreError::Foreign`] names what differs; [`StoreError::Row`] a model whose table is not its own.
pub(super) async fn refuse(engine: &Engine, scratch: &Path) -> Result<(), StoreError> {
    let models = vector::models(engine).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut found = definitions(engine).await?;
    if remove_strays(engine, &found, &models).await? {
        found = definitions(engine).await?;
    }
    let model = Engine::open(scratch).await?;
    let made = make(&model, &models).await;
    let closed = model.close().await;
    let wanted = made?;
    closed?;
    let odd = differing(&found, &wanted);
    if odd.is_empty() {
        return Ok(());
    }
    let more = odd.len().saturating_sub(NAMED_MAX);
    let mut what = odd.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
    if more > 0 {
        what = format!("{what} and {more} more");
    }
    Err(StoreError::Foreign(what))
}

/// Removes tables of vectors that no model names, as a process may leave that was killed while it began with a model: they
/// follow from what is remembered. Says whether there was one.
async fn remove_strays(
    engine: &Engine,
    found: &Definitions,
    models: &[StoredModel],
) -> Result<bool, StoreError> {
    let mut strays = tables(found);
    strays.retain(|table| {
        table.starts_with(vector::PREFIX) && models.iter().all(|model| model.table != *table)
    });
    for table in &strays {
        let text = format!("REMOVE TABLE {}", Table::from(table.as_str()).to_sql());
        engine.script(statement::VECTOR_DROP.name, &text, Variables::new()).await?;
    }
    Ok(!strays.is_empty())
}

/// A database as this program makes it, with the tables of some models.
async fn make(engine: &Engine, models: &[StoredModel]) -> Result<Definitions, StoreError> {
    migrate::migrate(engine).await?;
    for model in models {
        let text = model.fill(statement::VECTOR_TABLE);
        engine.script(statement::VECTOR_TABLE.name, &text, Variables::new()).await?;
    }
    definitions(engine).await
}

/// What one database defines that the other does not, or otherwise.
fn differing(found: &Definitions, wanted: &Definitions) -> Vec<String> {
    let added = found.iter().filter(|(what, text)| wanted.get(*what) != Some(*text));
    let missing = wanted.keys().filter(|what| !found.contains_key(*what));
    added.map(|(what, _)| what.clone()).chain(missing.map(|what| format!("no {what}"))).collect()
}

async fn definitions(engine: &Engine) -> Result<Definitions, StoreError> {
    const STATEMENT: Statement = statement::DEFINITIONS;
    let mut all = Definitions::new();
    let mut results = engine.run(STATEMENT, Variables::new()).await?;
    for (at, level) in ["of the server", "of the namespace", "of the database"].into_iter().enumerate() {
        gather(&mut all, level, taken(&mut results, at)?);
    }
    for table in tables(&all) {
        // Quoted as the engine writes names, whatever is in it.
        let text = format!("INFO FOR TABLE {}", Table::from(table.as_str()).to_sql());
        let mut results = engine.script(STATEMENT.name, &text, Variables::new()).await?;
        gather(&mut all, &format!("of table {table}"), taken(&mut results, 0)?);
    }
    Ok(all)
}

fn taken(results: &mut IndexedResults, at: usize) -> Result<Value, StoreError> {
    let malformed = |error: surrealdb::Error| StoreError::Row { table: "INFO", reason: error.to_string() };
    results.take::<Value>(at).map_err(malformed)
}

/// `{ tables: { a: 'DEFINE …' } }` as `tables a of …`.
fn gather(all: &mut Definitions, level: &str, info: Value) {
    let Value::Object(kinds) = info else { return };
    for (kind, named) in kinds {
        let Value::Object(named) = named else {
            all.insert(format!("{kind} {level}"), named.to_sql());
            continue;
        };
        for (name, text) in named {
            all.insert(format!("{kind} {name} {level}"), text.to_sql());
        }
    }
}

fn tables(all: &Definitions) -> Vec<String> {
    let name =
        |what: &String| what.strip_prefix("tables ")?.strip_suffix(" of the database").map(str::to_owned);
    all.keys().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_changed_or_missing_is_named() {
        let of = |all: &[(&str, &str)]| -> Definitions {
            all.iter().map(|(what, text)| ((*what).to_owned(), (*text).to_owned())).collect()
        };
        let wanted = of(&[("tables a", "DEFINE TABLE a"), ("tables b", "DEFINE TABLE b")]);
        assert!(differing(&wanted, &wanted).is_empty());
        let found = of(&[("tables a", "DEFINE TABLE a AS SELECT"), ("users u", "DEFINE USER u")]);
        assert_eq!(differing(&found, &wanted), ["tables a", "users u", "no tables b"]);
    }
}
