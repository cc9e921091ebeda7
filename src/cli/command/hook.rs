//! `cerebro hook`: what agents run at moments of a session.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt;

use super::{CommandContext, Outcome};
use crate::cli::error::Result;
use crate::daemon::client::{self, Autostart, Client};
use crate::daemon::hello::{Hello, Role};
use crate::home::{Home, user_home};
use crate::hook::{self, Agent, Deed, Event};
use crate::project_dir;
use cerebro_core::domain::limits::{HOOK_INPUT_BYTES_MAX, HOOK_OUTPUT_BYTES_MAX, HOOK_TIME_MAX};
use cerebro_core::operation::Operation;

/// How much context is asked for first; escapes and the frame need some of the room.
const CONTEXT_BYTES: usize = 8_000;
/// How often a context that is too long when written out is asked for again, shorter.
const CONTEXT_TRIES: usize = 3;
/// How long the look at the agent's folder may take, of [`HOOK_TIME_MAX`] in all.
const LOOK_MAX: Duration = Duration::from_millis(700);

/// Report a moment of an agent's session; agents run this
///
/// Reads the agent's JSON from standard input and answers as that agent expects it. It never fails and
/// never takes longer than a second: what cannot be done in time is left. `cerebro setup` writes it into
/// the agents' configuration.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent, and the event as the agent names it: claude-code SessionStart
    // Anything is taken, since some agents stop their work when a hook does not like its command line.
    #[arg(value_name = "AGENT EVENT", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub async fn run(context: &CommandContext, args: HookArgs) -> Result<Outcome> {
    // In a task of its own, so that a file system that hangs does not hold up the deadline.
    let work = tokio::spawn(answer(context.home.clone(), args.words));
    if let Ok(Ok(Some(said))) = tokio::time::timeout(HOOK_TIME_MAX, work).await {
        // An agent that has gone needs no answer.
        let _ = context.output.write(&said);
    }
    Ok(Outcome::Done)
}

/// What to say; `None` when there is nothing, for whatever reason.
async fn answer(home: Option<PathBuf>, words: Vec<String>) -> Option<String> {
    let [agent, name, ..] = words.as_slice() else { return None };
    let agent = Agent::named(agent)?;
    let event = hook::read(agent, name, &input().await?)?;
    if let Deed::Bind(arguments) = &event.deed {
        return Some(hook::bound(name, arguments));
    }
    let is_start = event.deed == Deed::Context;
    let client = reach(home, agent, &event, is_start).await?;
    let said = match &event.deed {
        Deed::Context => context(&client, agent, name).await,
        Deed::Prompt(prompt) => {
            let directory = event.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
            ask(&client, agent, Operation::HookPrompt, json!({ "content": prompt, "directory": directory }))
                .await
        }
        Deed::Message(text) => ask(&client, agent, Operation::HookMessage, json!({ "content": text })).await,
        Deed::Compaction(text) => {
            ask(&client, agent, Operation::HookCompaction, json!({ "content": text })).await
        }
        Deed::End => ask(&client, agent, Operation::HookEnd, json!({})).await,
        Deed::Bind(_) => None,
    };
    client.close().await;
    said.and_then(|said| said.as_str().map(str::to_owned)).filter(|_| is_start)
}

/// What the agent tells; a person at a terminal tells nothing.
async fn input() -> Option<Value> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let mut bytes = Vec::new();
    let bound = HOOK_INPUT_BYTES_MAX as u64 + 1;
    tokio::io::stdin().take(bound).read_to_end(&mut bytes).await.ok()?;
    if bytes.len() > HOOK_INPUT_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&bytes).ok()
}

/// Connects as the agent's own server does, so that both come to the same project and session.
///
/// A daemon is started at the beginning of a session only: the agent is about to start one anyway, and
/// without it there is no context.
async fn reach(home: Option<PathBuf>, agent: Agent, event: &Event, is_start: bool) -> Option<Client> {
    let folder = home.or_else(|| Some(user_home()?.join(".cerebro")))?;
    if !folder.is_dir() {
        return None;
    }
    let home = Home::open(Some(&folder)).ok()?;
    let own = Hello::of_this_process(Role::Operator);
    let hello = Hello {
        cwd: event.cwd.clone().or(own.cwd),
        project_dir: own.project_dir.filter(|_| agent == Agent::ClaudeCode),
        client_session: Some(event.session.clone()),
        ..Hello::of_this_process(Role::Operator)
    };
    // Without an answer nothing is done: what belongs to a project must not go to another one.
    let project = match hello.folder() {
        Some(folder) => Some(project_dir::look(folder.clone(), user_home(), LOOK_MAX).await?),
        None => None,
    };
    let hello = Hello { folder_project: project.map(|project| project.as_str().to_owned()), ..hello };
    let autostart = if is_start { Autostart::Yes } else { Autostart::No };
    let connection = client::connect(&home, &hello, autostart).await.ok()?;
    Client::new(connection, Duration::from_secs(1)).await.ok()
}

async fn ask(client: &Client, agent: Agent, operation: Operation, arguments: Value) -> Option<Value> {
    let mut arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    arguments.retain(|_, value| !value.is_null());
    arguments.insert("agent".to_owned(), json!(agent.client()));
    client.call(operation, Value::Object(arguments)).await.ok()
}

/// The context as the agent takes it, within the bound when it is written out.
async fn context(client: &Client, agent: Agent, event: &str) -> Option<Value> {
    let mut max_bytes = CONTEXT_BYTES;
    for _ in 0..CONTEXT_TRIES {
        let answer = ask(client, agent, Operation::HookContext, json!({ "max_bytes": max_bytes })).await?;
        let said = hook::said(agent, event, answer["text"].as_str()?);
        if said.len() <= HOOK_OUTPUT_BYTES_MAX {
            return Some(json!(said));
        }
        max_bytes = max_bytes * HOOK_OUTPUT_BYTES_MAX / said.len() - 100;
    }
    None
}
