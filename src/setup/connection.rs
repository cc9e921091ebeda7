//! Tests whether the command in an agent's configuration serves Cerebro's tools.

use std::process::Stdio;
use std::time::Duration;

use rmcp::service::ServiceExt;
use rmcp::transport::TokioChildProcess;
use serde_json::Value;
use tokio::process::Command;

use super::piece::{Content, Part, Target};

/// How long a server may take from its start until its list of tools is complete.
const PATIENCE: Duration = Duration::from_secs(20);

/// Program and arguments of the server's entry in a file's text; `None` if there is none.
pub fn command_in(target: &Target, text: &str) -> Option<Vec<String>> {
    let entry = target.pieces_of(|part| part == Part::Server).into_iter().find_map(|piece| {
        let Content::Entry { path, .. } = &piece.content else { return None };
        target.format.value_at(text, path)
    })?;
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect()
    };
    let command = match &entry["command"] {
        Value::String(program) => std::iter::once(program.clone()).chain(words(&entry["args"])).collect(),
        list => words(list),
    };
    (!command.is_empty()).then_some(command)
}

/// Starts the command as an agent does, and returns the names of the tools that it serves. The error says what went
/// wrong, in words for people.
pub async fn tools_of(command: &[String]) -> Result<Vec<String>, String> {
    let Some((program, arguments)) = command.split_first() else { return Err("no command".to_owned()) };
    let mut process = Command::new(program);
    process.args(arguments).kill_on_drop(true);
    let (transport, _) = TokioChildProcess::builder(process)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let listed = async {
        let service = ().serve(transport).await.map_err(|error| error.to_string())?;
        let tools = service.list_all_tools().await.map_err(|error| error.to_string());
        let _ = service.cancel().await;
        tools
    };
    let tools = tokio::time::timeout(PATIENCE, listed)
        .await
        .map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))??;
    Ok(tools.into_iter().map(|tool| tool.name.into_owned()).collect())
}
