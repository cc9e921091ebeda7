//! `cerebro sql`: read-only queries in the database's own language.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use serde_json::Map;

use super::prelude::*;
use crate::answer::sql::Statement;
use cerebro_core::domain::limits::{SQL_ROWS_MAX, SQL_SECONDS_MAX};

/// Longest query that is read.
const QUERY_BYTES_MAX: u64 = 256 * 1024;

/// Query the memory in SurrealQL, read-only
///
/// Shows each statement's answer as a table. Statements that write change nothing. Ready queries are in surql/queries;
/// docs/surrealql.md describes tables and functions.
#[derive(Debug, Args)]
pub struct SqlArgs {
    /// The query; without it, or with `-`, standard input is read
    #[arg(value_name = "QUERY", conflicts_with = "file")]
    query: Option<String>,
    /// Read the query from this file
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The value of `$NAME`: a text, or JSON such as 5 or true; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Show at most N rows of each statement, 1 to 10000 [default: 1000]
    #[arg(long, value_name = "N", value_parser = within(1..=SQL_ROWS_MAX))]
    limit: Option<usize>,
    /// Stop the query after this many seconds, 1 to 60 [default: 10]
    #[arg(long, value_name = "SECONDS", value_parser = within(1..=SQL_SECONDS_MAX))]
    timeout: Option<usize>,
}

pub async fn run(context: &CommandContext, args: SqlArgs) -> Result<()> {
    let params = params(&args.params)?;
    let query = text(args.query, args.file)?;
    let request = Request::new(of::Sql).given(json!({
        "query": query, "params": Value::Object(params), "rows": args.limit, "seconds": args.timeout,
    }));
    let answer = context.answer(request).await?;
    let results = &answer.results;
    let failed = results.iter().any(|statement| statement.error.is_some());
    let mut between = false;
    for (at, answered) in results.iter().enumerate() {
        let has_lines = !answered.result.is_null() && answered.result != Value::Array(vec![]);
        if between && has_lines {
            context.output.text("")?;
        }
        between |= has_lines;
        let statement = query.split(';').nth(at).unwrap_or(&query);
        show(context, answered, statement, at + 1, results.len())?;
    }
    done_if(!failed)
}

/// The query: given, in a file, or on standard input.
pub(super) fn text(query: Option<String>, file: Option<PathBuf>) -> Result<String> {
    let read = |source: &mut dyn Read| -> io::Result<String> {
        let mut text = String::new();
        source.take(QUERY_BYTES_MAX + 1).read_to_string(&mut text)?;
        if text.len() as u64 > QUERY_BYTES_MAX {
            let words = format!("it is longer than {QUERY_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, words));
        }
        Ok(text)
    };
    if let Some(path) = file {
        let text = std::fs::File::open(&path).and_then(|mut file| read(&mut file));
        return text.map_err(|error| Error::file("read", &path, &error));
    }
    match query {
        Some(query) if query != "-" => Ok(query),
        None if io::stdin().is_terminal() => {
            Err(Error::usage("no query was given")
                .hint("`cerebro sql 'SELECT count() FROM memory GROUP ALL'`"))
        }
        _ => read(&mut io::stdin().lock()).map_err(|error| Error::stream("standard input", &error)),
    }
}

/// The parameters given by `--set`. A value that is not JSON is taken as text.
fn params(given: &[String]) -> Result<Map<String, Value>> {
    let mut params = Map::new();
    for pair in given {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Error::usage(format!("`--set {pair}` has no `=`; write --set name=value")));
        };
        let name = name.trim().trim_start_matches('$');
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(Error::usage(format!(
                "`{name}` is not the name of a parameter, which has letters, digits and _"
            )));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        params.insert(name.to_owned(), value);
    }
    Ok(params)
}

/// Prints one statement's answer: rows as a table, a single value as it is.
fn show(context: &CommandContext, answered: &Statement, query: &str, number: usize, of: usize) -> Result<()> {
    let which = if of > 1 { format!("statement {number}: ") } else { String::new() };
    if let Some(error) = &answered.error {
        context.output.note(&format!("{which}{error}"));
        return Ok(());
    }
    match &answered.result {
        // Of several statements, some are only there for the others.
        Value::Null if of == 1 => context.output.note("NONE: the query has no value"),
        Value::Null => {}
        Value::Array(rows) if rows.is_empty() => {
            let nothing = if answered.wrote_nothing { READ_ONLY } else { "no rows" };
            context.output.note(&format!("{which}{nothing}"));
        }
        Value::Array(rows) => context.output.table(&table(rows, query), "no rows")?,
        row @ Value::Object(_) => context.output.table(&facts(row), "nothing")?,
        value => context.output.text(&cell(value))?,
    }
    if answered.cut {
        context.output.note(&format!("{which}there is more; narrow the query, or give --limit"));
    }
    Ok(())
}

const READ_ONLY: &str = "no rows; a statement that writes changes nothing: `cerebro sql` only reads";

/// A table with a column for each field of any row: first those that the query names, in its order, then `id`, then
/// the others. Rows that are not objects have a single column.
fn table(rows: &[Value], query: &str) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        for name in row.as_object().into_iter().flat_map(Map::keys) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names.sort_by_key(|name| (place_in(query, name).unwrap_or(usize::MAX), *name != "id"));
    if names.is_empty() {
        let mut table = Table::new(&[("value", Layout::Flexible)]);
        for row in rows {
            table.add(vec![cell(row)]);
        }
        return table;
    }
    let columns: Vec<(&str, Layout)> = names.iter().map(|name| (*name, layout(rows, name))).collect();
    let mut table = Table::new(&columns);
    for row in rows {
        table.add(names.iter().map(|name| cell(&row[*name])).collect());
    }
    table
}

/// The position at which a query names a field, as a whole word.
fn place_in(query: &str, name: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // What follows FROM is conditions.
    let query = &query[..query.to_ascii_uppercase().find(" FROM ").unwrap_or(query.len())];
    query.match_indices(name).map(|(at, _)| at).find(|at| {
        let (before, after) = (query[..*at].chars().next_back(), query[at + name.len()..].chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// One object, with one field per line.
fn facts(row: &Value) -> Table {
    let mut table = Table::new(&[("field", Layout::Fixed), ("value", Layout::Flexible)]);
    for (name, value) in row.as_object().into_iter().flatten() {
        table.add(vec![name.clone(), cell(value)]);
    }
    table
}

/// Numbers are right-aligned, ids and times are never cut, and all other values share the remaining width.
fn layout(rows: &[Value], name: &str) -> Layout {
    let mut values = rows.iter().map(|row| &row[name]).filter(|value| !value.is_null()).peekable();
    if name == "id" {
        return Layout::Fixed;
    }
    if values.peek().is_some() && values.all(Value::is_number) { Layout::Count } else { Layout::Flexible }
}

/// A value in a cell. Unlike elsewhere, `false` is shown.
fn cell(value: &Value) -> String {
    match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Object(_) => value.to_string(),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            value.to_string()
        }
        other => shown(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_json_or_text() {
        let given = ["n=5", "$project=owner/repo", "tags=[\"a\"]", "empty=", "q=\"5\"", "eq=a=b"];
        let params = params(&given.map(str::to_owned)).unwrap();
        let want = json!({
            "n": 5, "project": "owner/repo", "tags": ["a"], "empty": "", "q": "5", "eq": "a=b",
        });
        assert_eq!(Value::Object(params), want);
        for odd in ["no", "=5", "a b=1", "x;y=1"] {
            assert_eq!(super::params(&[odd.to_owned()]).unwrap_err().exit_code(), 2, "{odd}");
        }
    }

    #[test]
    fn rows_of_any_form_have_a_table() {
        let rows = [json!({ "b": 1, "id": "memory:a" }), json!({ "a": [1, 2], "id": "memory:b" })];
        assert_eq!(table(&rows, "SELECT * FROM memory").plain(), "memory:a\t1\t\nmemory:b\t\t1, 2\n");
        assert_eq!(table(&rows, "SELECT b, a, id").plain(), "1\t\tmemory:a\n\t1, 2\tmemory:b\n");
        assert_eq!(table(&[json!(1), json!("two"), json!(false)], "").plain(), "1\ntwo\nfalse\n");
        let counted = [json!({ "n": 2, "type": "decision" })];
        let query = "SELECT type, count() AS n FROM memory GROUP BY type";
        assert_eq!(table(&counted, query).plain(), "decision\t2\n");
        assert_eq!(facts(&json!({ "x": { "y": 1 }, "z": null })).plain(), "x\t{\"y\":1}\nz\t\n");
    }
}
