//! Queries of people, run by the engine as a reader of the database.
//!
//! Reading only is the engine's decision, not one about the text: the session has the role `VIEWER` of one
//! database ([`super::access`]). Definitions are refused by it, and writes of rows find nothing that they
//! may change. Answers are bounded in rows, bytes and time.

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
/// How long the engine may take to let go of a query that was cut off.
const LETTING_GO_MAX: Duration = Duration::from_secs(2);

/// A query and its bounds.
#[derive(Debug, Clone)]
pub struct Query {
    /// SurrealQL, one statement or more.
    pub text: String,
    /// What `$name` stands for in it.
    pub params: Map<String, Json>,
    /// Most rows of each statement.
    pub rows_max: usize,
    /// Most bytes of all answers together, as JSON.
    pub bytes_max: usize,
    /// How long all statements may take together.
    pub timeout: Duration,
}

/// What one statement answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Rows, or the one value of a statement that has no rows.
    pub value: Json,
    /// Whether there was more than the bounds allow.
    pub cut: bool,
    /// How long it took.
    pub took: Duration,
    /// Why it failed.
    pub error: Option<String>,
    /// It can write, and answered nothing: a reader's writes change nothing.
    pub wrote_nothing: bool,
}

impl Engine {
    /// Runs a query of a person.
    ///
    /// # Errors
    /// [`EngineError::Refused`] when it cannot be parsed, has too many statements or takes too long. A
    /// statement that fails says so in its own answer.
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
        // Whatever is left of it is not wanted any more; a finished one does not notice.
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

/// Answers under way.
struct Answers {
    rows_max: usize,
    bytes_left: usize,
    writers: Vec<bool>,
    under_way: Vec<Option<Answer>>,
    done: Vec<Answer>,
    /// No byte more fits.
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

    /// Takes what the engine produces, until it is done or the answer is full.
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
        let told = self.under_way.get_mut(index).and_then(Option::take);
        // A statement that has rows and found none tells only that it is done.
        let none = || Answer { value: Json::Array(Vec::new()), ..Answer::default() };
        let mut answer = told.unwrap_or_else(none);
        answer.took = took;
        answer.wrote_nothing =
            can_write && error.is_none() && answer.value.as_array().is_some_and(Vec::is_empty);
        if error.is_some() {
            // Rows of a statement that failed are not true.
            answer.value = Json::Null;
        }
        answer.error = error;
        self.done.push(answer);
    }
}
