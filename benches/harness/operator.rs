//! A person's connection to the daemon of a home, for operations that agents may not call.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use cerebro::daemon::client::{self, Autostart};
use cerebro::daemon::hello::{Hello, Role};
use cerebro::home::Home;
use cerebro_core::operation::Operation;
use serde_json::Value;

/// Longest wait for one answer.
const ANSWER_WAIT: Duration = Duration::from_mins(2);

/// One connection. Calls go one at a time.
pub struct Operator {
    runtime: tokio::runtime::Runtime,
    client: client::Client,
}

impl Operator {
    /// Connects to the daemon that runs for the folder that `HOME` named.
    pub fn connect(user_home: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let home = Home::open(Some(&user_home.join(".cerebro")))?;
        let hello = Hello::of_this_process(Role::Operator);
        let client = runtime.block_on(async {
            let connection = client::connect(&home, &hello, Autostart::No).await.context("no daemon")?;
            client::Client::new(connection, ANSWER_WAIT).await.context("no answer of the daemon")
        })?;
        Ok(Self { runtime, client })
    }

    /// Calls an operation that has no reason to refuse.
    pub fn call(&self, operation: Operation, arguments: Value) -> Result<Value> {
        self.runtime.block_on(self.client.call(operation, arguments)).with_context(|| operation.to_string())
    }
}
