//! People's queries, run by the engine with read permission.
//!
//! The engine enforces reading, not an inspection of the text: the session has the role `VIEWER` of one database
//! ([`super::access`]). It refuses definitions, and writes of rows find nothing that they may change. Answers are
//! bounded in rows, bytes and time.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use surrealdb::types::{SurrealValue, Value, Variables};
use surrealdb_core::{
    channel::{Receiver, bounded},
    ctx::CancelHandle,
    kvs::QueryRequest,
    syn,
};
use surrealdb_rpc::QueryStreamItem;

use super::{BoxFuture, Engine, EngineError, access};

/// Batches that wait between the engine and the answer.
const BATCHES_MAX: usize = 2;
/// Most statements of one query.
const STATEMENTS_MAX: usize = 100;
/// How long the engine may take to release a query that was cut off.
const LETTING_GO_MAX: Duration = Duration::from_secs(2);

/// A query and its bounds.
#[derive(Debug, Clone)]
pub struct Query {
    /// SurrealQL, one statement or more.
    pub text: String,
    /// The values of `$name` parameters in it.
    pub params: Map<String, Json>,
    /// Most rows of each statement.
    pub rows_max: usize,
    /// Most bytes of all answers together, as JSON.
    pub bytes_max: usize,
    /// How long all statements may take together.
    pub timeout: Duration,
}

/// The answer of one statement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Rows, or a single value of a statement without rows.
    pub value: Json,
    /// Whether there was more than the bounds allow.
    pub cut: bool,
    /// How long it took.
    pub took: Duration,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether it could have written but answered nothing: a reader's writes have no effect.
    pub wrote_nothing: bool,
}

impl Engine {
    /// Runs a person's query.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when it cannot be parsed, has too many statements or takes too long. A failing
    /// statement reports its error in its own answer.
    pub fn read(&self, query: Query) -> BoxFuture<'_, Result<Vec<Answer>, EngineError>> {
        Box::pin(self.run_query(query))
    }

    async fn run_query(&self, query: Query) -> Result<Vec<Answer>, EngineError> {
        let datastore = self.datastore("a query of a person")?;
        let refused = |error: &dyn std::fmt::Display| EngineError::Refused(error.to_string());
        let capabilities = datastore.get_capabilities();
        let ast = syn::parse_with_capabilities(&query.text, &capabilities, &datastore.parser_config())
            .map_err(|error| refused(&error))?;
        let writers: Vec<bool> = ast.expressions.iter().map(|statement| !statement.read_only()).collect();
        if writers.len() > STATEMENTS_MAX {
            let words = format!("{} statements; at most {STATEMENTS_MAX} are run at once", writers.len());
            return Err(EngineError::Refused(words));
        }
        let params: Variables =
            query.params.iter().map(|(name, value)| (name.clone(), value.clone().into_value())).collect();

        let cancel = CancelHandle::new();
        let session = access::viewer();
        let request =
            QueryRequest::new(ast, &session).with_variables(Some(params)).with_cancel(cancel.clone());
        let (sender, items) = bounded(BATCHES_MAX);
        let job = datastore.run_streaming(request, sender).map_err(|error| refused(&error))?;
        let mut running = tokio::spawn(job.run);
        let mut answers = Answers::new(&query, writers);
        let ended = tokio::time::timeout(query.timeout, answers.collect(items)).await;
        // Stops whatever is left of it; a finished query ignores this.
        cancel.trip();
        let ran = tokio::time::timeout(LETTING_GO_MAX, &mut running).await;
        if ended.is_err() {
            running.abort();
            let seconds = query.timeout.as_secs();
            return Err(EngineError::Refused(format!("it took longer than {seconds} s and was ended")));
        }
        if let Ok(Ok(Err(error))) = ran
            && !answers.full
        {
            return Err(refused(&error));
        }
        Ok(answers.done)
    }
}

/// Answers in progress.
struct Answers {
    rows_max: usize,
    bytes_left: usize,
    writers: Vec<bool>,
    under_way: Vec<Option<Answer>>,
    done: Vec<Answer>,
    /// Whether no byte more fits.
    full: bool,
}

impl Answers {
    fn new(query: &Query, writers: Vec<bool>) -> Self {
        Self {
            rows_max: query.rows_max,
            bytes_left: query.bytes_max,
            under_way: vec![None; writers.len()],
            writers,
            done: Vec::new(),
            full: false,
        }
    }

    /// Collects what the engine produces, until it ends or the answer is full.
    async fn collect(&mut self, items: Receiver<QueryStreamItem>) {
        while let Ok(item) = items.recv().await {
            let index = item.index();
            match item {
                QueryStreamItem::Rows { values, .. } => self.rows(index, values),
                QueryStreamItem::Value { value, .. } => self.value(index, value),
                QueryStreamItem::Finished { time, error, .. } => {
                    self.finished(index, time, error.map(|error| error.to_string()));
                }
            }
            if self.full {
                let begun: Vec<Answer> = self.under_way.iter_mut().filter_map(Option::take).collect();
                self.done.extend(begun);
                return;
            }
        }
    }

    fn answer(&mut self, index: usize) -> &mut Answer {
        if self.under_way.len() <= index {
            self.under_way.resize(index + 1, None);
        }
        self.under_way[index].get_or_insert_default()
    }

    fn rows(&mut self, index: usize, values: Vec<Value>) {
        let room = self.rows_max;
        let mut left = self.bytes_left;
        let answer = self.answer(index);
        if !answer.value.is_array() {
            answer.value = Json::Array(Vec::new());
        }
        let Json::Array(rows) = &mut answer.value else { return };
        let mut full = false;
        for value in values {
            if rows.len() >= room {
                answer.cut = true;
                break;
            }
            let row = value.into_json_value();
            let Some(rest) = left.checked_sub(row.to_string().len()) else {
                answer.cut = true;
                full = true;
                break;
            };
            left = rest;
            rows.push(row);
        }
        self.bytes_left = left;
        self.full |= full;
    }

    fn value(&mut self, index: usize, value: Value) {
        let value = value.into_json_value();
        let bytes = value.to_string().len();
        let room = self.bytes_left;
        let answer = self.answer(index);
        if bytes > room {
            answer.cut = true;
            self.full = true;
            return;
        }
        answer.value = value;
        self.bytes_left -= bytes;
    }

    fn finished(&mut self, index: usize, took: Duration, error: Option<String>) {
        let can_write = self.writers.get(index).copied().unwrap_or(false);
        let answered = self.under_way.get_mut(index).and_then(Option::take);
        // A statement with rows that found none reports only that it is done.
        let none = || Answer { value: Json::Array(Vec::new()), ..Answer::default() };
        let mut answer = answered.unwrap_or_else(none);
        answer.took = took;
        answer.wrote_nothing =
            can_write && error.is_none() && answer.value.as_array().is_some_and(Vec::is_empty);
        if error.is_some() {
            // Rows of a failed statement are not valid.
            answer.value = Json::Null;
        }
        answer.error = error;
        self.done.push(answer);
    }
}
