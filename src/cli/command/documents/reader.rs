//! `cerebro read-document`: reads one document in a process of its own, with bounds on its time and memory, so that
//! neither the daemon nor the command that asks for it can be harmed by a file.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::super::{CommandContext, Outcome};
use crate::cli::error::{Error, Result};
use cerebro_documents::{Format, Reading, limits::FILE_BYTES_MAX};

/// How long a file may take to be read.
const TIME_MAX: Duration = Duration::from_secs(30);
/// How much memory it may take, in bytes.
const MEMORY_MAX: u64 = 2 << 30;
/// How long what is told of it may be: its text is bounded, and escapes double it at most.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// Read a document from standard input and tell what it says as JSON; `cerebro ingest` runs this
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Its format
    format: String,
}

pub fn run(_context: &CommandContext, args: &ReadArgs) -> Result<Outcome> {
    bound();
    let format = serde_json::from_value::<Format>(json!(args.format)).map_err(Error::usage)?;
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::stream("standard input", &error))?;
    let told = match cerebro_documents::read(format, &bytes) {
        Ok(reading) => json!({ "reading": reading }),
        Err(error) => json!({ "error": error.to_string() }),
    };
    let written = serde_json::to_writer(std::io::stdout().lock(), &told).map_err(Error::internal);
    written
        .and_then(|()| std::io::stdout().flush().map_err(|error| Error::stream("standard output", &error)))?;
    Ok(Outcome::Done)
}

/// Bounds this process. Where the system has no such bounds, that on its time is left.
fn bound() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    for (resource, most) in
        [(Resource::As, MEMORY_MAX), (Resource::Cpu, TIME_MAX.as_secs()), (Resource::Core, 0)]
    {
        if let Err(error) = setrlimit(resource, limit(most)) {
            tracing::debug!(%error, "a bound of the reader could not be set");
        }
    }
}

/// What a file says, or why it cannot be read.
pub(super) async fn reading_of(format: Format, bytes: Vec<u8>) -> std::result::Result<Reading, String> {
    if !format.is_risky() {
        let read = tokio::task::spawn_blocking(move || cerebro_documents::read(format, &bytes)).await;
        return read.map_err(|error| error.to_string())?.map_err(|error| error.to_string());
    }
    match tokio::time::timeout(TIME_MAX, asked(format, bytes)).await {
        Ok(Ok(mut told)) => match told["error"].take() {
            Value::String(why) => Err(why),
            _ => serde_json::from_value(told["reading"].take()).map_err(|error| error.to_string()),
        },
        Ok(Err(why)) => Err(why),
        Err(_) => Err(format!("reading it took more than {} seconds", TIME_MAX.as_secs())),
    }
}

/// Has a process of this program read a file. It is killed when nobody waits for it any more.
async fn asked(format: Format, bytes: Vec<u8>) -> std::result::Result<Value, String> {
    let failed = |error: std::io::Error| format!("its reader could not be run: {error}");
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(["read-document", format.as_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let give = async move {
        if let Some(mut stdin) = stdin {
            // One that has given up does not read on; what it says tells why.
            let _ = stdin.write_all(&bytes).await;
        }
    };
    let take = async move {
        let mut told = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut told).await?;
        }
        Ok::<_, std::io::Error>(told)
    };
    let ((), told) = tokio::join!(give, take);
    let told = told.map_err(failed)?;
    let status = child.wait().await.map_err(failed)?;
    if !status.success() {
        return Err("its reader broke off: the file is broken, or takes too much memory or time".to_owned());
    }
    serde_json::from_slice(&told)
        .map_err(|error| format!("the process that read it gave no document: {error}"))
}
