//! Checks that a database defines exactly what the schema defines.
//!
//! A backup is a script, to which somebody may have added users, events that run at each save, or functions that
//! replace ours. The result of the script is compared, definition by definition, with a database that this program
//! made.

use std::{collections::BTreeMap, path::Path};

use surrealdb::{
    IndexedResults,
    types::{Table, ToSql, Value, Variables},
};

use super::{
    Engine, StoreError, migrate,
    model::{self, StoredModel},
    statement::{self, Statement},
};

/// Most differing definitions that an error names.
const NAMED_MAX: usize = 5;

/// The text of each definition, by its name.
type Definitions = BTreeMap<String, String>;

/// Refuses a database whose definitions differ from those of one made by this program. Its schema must be up to
/// date. The other database is made in `scratch`, an empty folder that the caller removes.
///
/// # Errors
/// [`StoreError::Foreign`] names the differences; [`StoreError::Row`] a model that names a table other than its
/// own.
pub(super) async fn refuse(engine: &Engine, scratch: &Path) -> Result<(), StoreError> {
    let models = model::models(engine).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut found = definitions(engine).await?;
    if remove_orphaned_tables(engine, &found, &models).await? {
        found = definitions(engine).await?;
    }
    let model = Engine::open_unsynced(scratch).await?;
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

/// Removes tables of vectors that no model names. A process leaves one if it is killed while it adds a model, and
/// vectors are derived. Returns whether there was one.
async fn remove_orphaned_tables(
    engine: &Engine,
    found: &Definitions,
    models: &[StoredModel],
) -> Result<bool, StoreError> {
    let mut orphaned = tables(found);
    orphaned
        .retain(|table| table.starts_with(model::PREFIX) && models.iter().all(|model| model.table != *table));
    for table in &orphaned {
        let text = format!("REMOVE TABLE {}", Table::from(table.as_str()).to_sql());
        engine.script(statement::VECTOR_DROP.name, &text, Variables::new()).await?;
    }
    Ok(!orphaned.is_empty())
}

/// Makes a database as this program defines it, with the tables of some models.
async fn make(engine: &Engine, models: &[StoredModel]) -> Result<Definitions, StoreError> {
    migrate::migrate(engine).await?;
    for model in models {
        let text = model.fill(statement::VECTOR_TABLE);
        engine.script(statement::VECTOR_TABLE.name, &text, Variables::new()).await?;
    }
    definitions(engine).await
}

/// The definitions that differ, or exist in only one of the two.
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
        // Quoted as the engine quotes names, whatever characters they have.
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

/// Flattens `{ tables: { a: 'DEFINE …' } }` to `tables a of …`.
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
