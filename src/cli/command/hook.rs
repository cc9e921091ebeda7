//! `cerebro hook`: what agents run at moments of their sessions.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Map;
use tokio::io::AsyncReadExt;

use super::prelude::*;
use crate::answer::hooks::Hint;
use crate::config::Config;
use crate::daemon::client::{self, Autostart, CallError, Client};
use crate::daemon::hello::{Hello, Role};
use crate::daemon::lock;
use crate::home::{Home, user_home};
use crate::hook::{self, Agent, Event, StepReport, Task, compacted, missed};
use crate::{platform, project_dir, worktree};
use cerebro_core::domain::Timestamp;
use cerebro_core::domain::limits::{HOOK_INPUT_BYTES_MAX, HOOK_OUTPUT_BYTES_MAX, HOOK_TIME_MAX};
use cerebro_core::redact;
use cerebro_ledger::Step;

/// Size of the first requested context, in bytes; escapes and the frame need the rest of the room.
const CONTEXT_BYTES: usize = 8_000;
/// How often a context is requested; each time shorter, if the written form is too long.
const CONTEXT_TRIES: usize = 3;
/// How long reading the work's files may take, as part of [`HOOK_TIME_MAX`].
const FILES_LOOK_MAX: Duration = Duration::from_millis(150);
/// How long connecting to a daemon may take, as part of [`HOOK_TIME_MAX`]; the rest is for recording a failure.
const REACH_MAX: Duration = Duration::from_millis(800);
/// The age from which a hook reports how old its event is. Younger ones are in the order of arrival: ages are precise
/// only to two hundredths of a second.
const LATE_MIN: Duration = Duration::from_millis(50);
/// How long finding the project of the agent's folder may take, as part of [`HOOK_TIME_MAX`].
const LOOK_MAX: Duration = Duration::from_millis(700);

/// Report an event of an agent's session; agents run this
///
/// Reads the agent's JSON from standard input and answers as that agent expects. It never fails and never takes longer
/// than a second; what cannot be done in time is left out. `cerebro setup` adds this command to the agents'
/// configuration.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent, and the event as the agent names it: claude-code SessionStart
    // Anything is taken, since some agents stop their work when a hook does not like its command line.
    #[arg(value_name = "AGENT EVENT", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub async fn run(context: &CommandContext, args: HookArgs) -> Result<()> {
    // In a task of its own, so that a file system that does not answer cannot delay the deadline.
    let work = tokio::spawn(answer(context.home.clone(), args.words));
    if let Ok(Ok(Some(said))) = tokio::time::timeout(HOOK_TIME_MAX, work).await {
        // An agent that has gone needs no answer.
        let _ = context.output.write(&said);
    }
    Ok(())
}

/// The hook's answer to the agent; `None` if there is none, or on any failure.
async fn answer(home: Option<PathBuf>, words: Vec<String>) -> Option<String> {
    let [agent, name, ..] = words.as_slice() else { return None };
    let agent = Agent::parse(agent)?;
    let folder = home.or_else(|| Some(user_home()?.join(".cerebro"))).filter(|folder| folder.is_dir());
    let home = folder.and_then(|folder| Home::open(Some(&folder)).ok());
    let config = home.as_ref().and_then(|home| Config::read(&home.config_file()).ok()).unwrap_or_default();
    // What is too long is redacted here before it is cut, and the rest by the daemon.
    redact::configure(config.redaction);
    let event = hook::read(agent, name, &input().await?)?;
    if let Some(Task::Bind(arguments)) = &event.task {
        return Some(hook::bound(name, arguments));
    }
    let home = home?;
    let reached = tokio::time::timeout(REACH_MAX, reach(&home, agent, &event)).await;
    let Ok(Some(client)) = reached else {
        if config.work.enabled {
            count_missed(&home, agent, &event, None);
        }
        return None;
    };
    let reporter = Reporter { client, agent, home, has_journal: config.work.enabled };
    let was_compacted = was_compacted(&reporter, &event, name).await;
    let said = if event.begins_session() {
        let said = context(&reporter, &event, name).await;
        journal(&reporter, &event).await;
        said
    } else {
        let hint = if was_compacted { hint(&reporter, &event, "compact").await.1 } else { None };
        // Neither waits for the other: what belongs to the session must not suffer from the journal.
        tokio::join!(carry_out(&reporter, &event), journal(&reporter, &event));
        hint.map(|hint| hook::answer(agent, name, &hint))
    };
    if event.reads_transcript {
        let transcript = event.transcript.as_ref().map(|path| path.to_string_lossy());
        reporter.ask(of::HookTranscript, json!({ "transcript": transcript })).await;
    }
    reporter.client.close().await;
    said
}

/// Counts an event that could not be reported to the journal, unless the transcript reports it. `once` is its key if it may
/// have arrived.
fn count_missed(home: &Home, agent: Agent, event: &Event, once: Option<&str>) {
    let has_work = |report: &StepReport| report.steps.iter().any(|step| *step != Step::Connected);
    let is_lost = event.report.as_ref().is_some_and(has_work) && !has_transcript(agent, event);
    if is_lost {
        // A failure here is ignored: a hook has no place to report it.
        let _ = missed::note(home.root(), &event.session, Timestamp::now(), once);
    }
}

/// Whether the session's transcript can be read. It contains what hooks could not report.
fn has_transcript(agent: Agent, event: &Event) -> bool {
    let file = event.transcript.as_ref().filter(|_| agent.journal_reads_transcripts());
    file.is_some_and(|path| std::fs::File::open(path).is_ok())
}

/// The result of a call of the daemon.
type Called<T> = std::result::Result<T, CallError>;

/// A hook's connection to the daemon.
struct Reporter {
    client: Client,
    agent: Agent,
    home: Home,
    /// Whether the journal is on.
    has_journal: bool,
}

impl Reporter {
    async fn ask<O: Ask>(&self, operation: O, arguments: Value) -> Option<O::Answer> {
        self.call(operation, arguments).await.ok()
    }

    async fn call<O: Ask>(&self, operation: O, arguments: Value) -> Called<O::Answer> {
        let mut arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        arguments.retain(|_, value| !value.is_null());
        arguments.insert("agent".to_owned(), json!(self.agent.client()));
        self.client.ask(operation, Value::Object(arguments)).await.map(Received::into_answer)
    }
}

/// Carries out the event's task for the session.
async fn carry_out(reporter: &Reporter, event: &Event) {
    match &event.task {
        Some(Task::Prompt(prompt)) => {
            let directory = event.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
            reporter.ask(of::HookPrompt, json!({ "content": prompt, "directory": directory })).await;
        }
        Some(Task::Message(text)) => {
            reporter.ask(of::HookMessage, json!({ "content": text })).await;
        }
        Some(Task::Compaction(text)) => {
            reporter.ask(of::HookCompaction, json!({ "content": text })).await;
        }
        Some(Task::End) => {
            reporter.ask(of::HookEnd, json!({})).await;
        }
        Some(Task::Context | Task::Bind(_)) | None => {}
    }
}

/// Reports the event to the journal.
async fn journal(reporter: &Reporter, event: &Event) {
    let Some(mut report) = event.report.clone() else { return };
    let (mut looked_at, folder) = (report.clone(), event.cwd.clone());
    let looked = look(move || {
        for step in &mut looked_at.steps {
            if let Step::Edited { path, digest, .. } = step {
                *digest = worktree::digest(&in_folder(folder.as_deref(), path));
            }
        }
        (looked_at, folder.as_deref().and_then(worktree::commit))
    });
    let mut commit = None;
    if let Some(found) = looked.await {
        (report, commit) = found;
    }
    // A transcript may begin after the first prompt.
    if has_transcript(reporter.agent, event) {
        // It has what was too long for a hook.
        report.steps.retain(|step| !matches!(step, Step::Gap { .. }));
    }
    // What the agent gives no id is recognised by this process.
    let own = || format!("hook:{}:{}", Timestamp::now().as_nanosecond(), std::process::id());
    let once = report.once.get_or_insert_with(own).clone();
    match send(reporter, event, &report, commit).await {
        Ok(recorded) => {
            tracing::debug!(once, recorded, "reported to the journal");
            // Otherwise the journal is off, slow or not begun, or it has the event from another hook.
            if recorded > 0 {
                report_missed(reporter, event).await;
            }
        }
        Err(CallError::Gone) if reporter.has_journal => {
            count_missed(&reporter.home, reporter.agent, event, Some(&once));
        }
        Err(_) => {}
    }
}

/// Reports what earlier hooks of the session could not report, unless its transcript has it.
async fn report_missed(reporter: &Reporter, event: &Event) {
    for missed in missed::take(reporter.home.root(), &event.session) {
        if !has_transcript(reporter.agent, event) {
            for gap in missed.gaps() {
                // What the daemon answers, it has recorded or counts. Otherwise the next hook reports it again.
                let sent = send(reporter, event, &gap, None).await;
                if matches!(sent, Err(CallError::Gone | CallError::Timeout(_))) {
                    return;
                }
            }
        }
        missed.done();
    }
}

/// Sends a report to the journal. Returns how many events it recorded.
async fn send(
    reporter: &Reporter,
    event: &Event,
    report: &StepReport,
    commit: Option<String>,
) -> Called<u64> {
    let directory = event.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
    // The agent started this process when it happened, and may not have waited for it: a later report can overtake
    // this one.
    let age = platform::own_age().filter(|age| *age >= LATE_MIN);
    let ago = age.and_then(|age| u64::try_from(age.as_millis()).ok());
    let arguments = json!({
        "steps": report.steps, "once": report.once, "ago_ms": ago, "directory": directory, "commit": commit,
        "transcript": event.transcript.as_ref().map(|path| path.to_string_lossy()),
    });
    Ok(reporter.call(of::HookStep, arguments).await?.recorded.unwrap_or(0))
}

/// Whether Gemini CLI has compacted the conversation since the last check, which no hook reports. It is checked only
/// at events whose answer can restore the context.
async fn was_compacted(reporter: &Reporter, event: &Event, name: &str) -> bool {
    let can_restore = matches!(name, "SessionStart" | "BeforeAgent" | hook::AFTER_TOOL);
    let is_gemini = reporter.agent == Agent::GeminiCli;
    let Some(record) = event.transcript.clone().filter(|_| can_restore && is_gemini) else { return false };
    let Some(Some(last)) = look(move || compacted::last(&record)).await else { return false };
    let steps = vec![Step::Compacted { trigger: "auto".to_owned(), summary: None }];
    let report = StepReport { steps, once: Some(format!("compacted:{last}")) };
    send(reporter, event, &report, None).await.is_ok_and(|recorded| recorded > 0)
}

/// A path as the agent names it, from the folder that it works in.
fn in_folder(folder: Option<&Path>, path: &str) -> PathBuf {
    folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

/// Reads files on a thread that may block, within [`FILES_LOOK_MAX`].
async fn look<T: Send + 'static>(read: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::time::timeout(FILES_LOOK_MAX, tokio::task::spawn_blocking(read)).await.ok()?.ok()
}

/// The agent's report; a person at a terminal has none.
async fn input() -> Option<Value> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let mut bytes = Vec::new();
    let bound = HOOK_INPUT_BYTES_MAX as u64 + 1;
    tokio::io::stdin().take(bound).read_to_end(&mut bytes).await.ok()?;
    if bytes.len() > HOOK_INPUT_BYTES_MAX {
        return hook::too_long(&bytes, Timestamp::now());
    }
    serde_json::from_slice(&bytes).ok()
}

/// Connects like the agent's own server, so that both get the same project and session.
///
/// A daemon is started at the beginning of a session, because there is no context without it, and the agent is about to
/// start one anyway. With a prompt, one is started if the last daemon was killed.
async fn reach(home: &Home, agent: Agent, event: &Event) -> Option<Client> {
    let own = Hello::of_this_process(Role::Operator);
    let hello = Hello {
        cwd: event.cwd.clone().or(own.cwd),
        project_dir: own.project_dir.filter(|_| agent == Agent::ClaudeCode),
        client_session: Some(event.session.clone()),
        ..own
    };
    // Without an answer nothing is done: what belongs to a project must not go to another one.
    let project = match hello.folder() {
        Some(folder) => Some(project_dir::look(folder.clone(), user_home(), LOOK_MAX).await?),
        None => None,
    };
    let hello = Hello { folder_project: project.map(|project| project.as_str().to_owned()), ..hello };
    let is_wanted = event.begins_session() || (is_prompt(event) && has_died(home));
    let autostart = if is_wanted { Autostart::Yes } else { Autostart::No };
    let connection = client::connect(home, &hello, autostart).await.ok()?;
    Client::new(connection, Duration::from_secs(1)).await.ok()
}

/// Whether the user asks for something, so that a daemon is started once per turn at most.
fn is_prompt(event: &Event) -> bool {
    matches!(event.task, Some(Task::Prompt(_)))
}

/// Whether the home's last daemon was killed. A daemon that ends properly removes its socket, and is not started again.
fn has_died(home: &Home) -> bool {
    home.socket_path().exists() && !lock::is_held(home)
}

/// The context for a new session in the agent's format, within the bound on its written form: unfinished work of
/// earlier sessions, then the project's context.
async fn context(reporter: &Reporter, event: &Event, name: &str) -> Option<String> {
    let (work, hint) = hint(reporter, event, &event.source).await;
    let transcript = event.transcript.as_ref().filter(|_| event.source == "compact");
    let transcript = transcript.map(|path| path.to_string_lossy());
    let mut max_bytes = CONTEXT_BYTES - hint.as_ref().map_or(0, String::len);
    for _ in 0..CONTEXT_TRIES {
        let arguments = json!({ "max_bytes": max_bytes, "transcript": transcript, "work": work });
        let stored = reporter.ask(of::HookContext, arguments).await.and_then(|answer| answer.text);
        let parts: Vec<&str> = hint.as_deref().into_iter().chain(stored.as_ref().map(Text::raw)).collect();
        if parts.is_empty() {
            return None;
        }
        let said = hook::answer(reporter.agent, name, &parts.join("\n\n"));
        if said.len() <= HOOK_OUTPUT_BYTES_MAX {
            return Some(said);
        }
        max_bytes = (max_bytes * HOOK_OUTPUT_BYTES_MAX / said.len()).saturating_sub(100);
    }
    None
}

/// The work that is unfinished and what the agent is shown of it, checked against the files as they are now.
async fn hint(reporter: &Reporter, event: &Event, source: &str) -> (Option<String>, Option<String>) {
    let found = reporter.ask(of::HookHint, json!({ "source": source })).await.unwrap_or_default();
    let Hint { work, directory, files: paths, text } = found;
    let Some(text) = text else { return (None, None) };
    // It may have been done in another worktree than the one in which this session begins.
    let folder = directory.map(PathBuf::from).or_else(|| event.cwd.clone());
    let looked = look(move || {
        let file = |path: &String| json!({ "path": path, "digest": worktree::digest(&in_folder(folder.as_deref(), path)) });
        (paths.iter().map(file).collect::<Vec<_>>(), folder.as_deref().and_then(worktree::commit))
    });
    // If the file system does not answer, the hint is shown unchecked.
    let Some((files, commit)) = looked.await else { return (work, Some(text.raw().to_owned())) };
    let arguments = json!({ "source": source, "work": work, "files": files, "commit": commit });
    let checked = reporter.ask(of::HookHint, arguments).await.and_then(|checked| checked.text);
    (work, Some(checked.unwrap_or(text).raw().to_owned()))
}
