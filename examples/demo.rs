//! The main job on real input: `make demo`.
//!
//! A first agent saves what this repository's own history decided and fixed, in two
//! sessions; a second agent, in a process of its own, finds it again. Both are real MCP clients of
//! the real `cerebro mcp`, in a temporary home. The output is what the agents get.
#![expect(clippy::print_stdout, reason = "it shows things to a person")]

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};
use tokio::process::Command;

mod home;

use home::Home;

/// How many of the latest commits are used.
const COMMITS_MAX: usize = 40;
/// Below this the change log's entries are used too.
const COMMITS_FEW: usize = 6;
/// How many saves of a session are shown in full.
const SAVES_SHOWN: usize = 2;
const LINES_SHOWN: usize = 16;
const COLUMNS_SHOWN: usize = 108;
const FILES_SHOWN: usize = 8;
const BODY_CHARS_MAX: usize = 4_000;

/// One lesson of the history.
struct Lesson {
    subject: String,
    body: String,
    files: Vec<String>,
    fix: bool,
}

impl Lesson {
    fn kind(&self) -> &'static str {
        if self.fix { "bugfix" } else { "decision" }
    }

    /// What, Why, Where and Learned, as far as the history has them.
    fn content(&self) -> String {
        let mut paragraphs = self.body.split("\n\n").map(str::trim).filter(|p| !p.is_empty());
        let mut content = format!("What: {}", self.subject);
        if let Some(why) = paragraphs.next() {
            let _ = write!(content, "\nWhy: {why}");
        }
        if !self.files.is_empty() {
            let _ = write!(content, "\nWhere: {}", self.files.join(", "));
        }
        let learned: Vec<&str> = paragraphs.collect();
        if !learned.is_empty() {
            let _ = write!(content, "\nLearned: {}", learned.join("\n\n"));
        }
        content
    }

    /// The stable subject: a later commit of the same words revises the memory.
    fn topic_key(&self) -> String {
        let family = if self.fix { "bug" } else { "decision" };
        let words = self.subject.to_lowercase();
        let words: Vec<&str> =
            words.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let slug: String = words.join("-").chars().take(80).collect();
        format!("{family}/{slug}")
    }

    /// A question of somebody who remembers only half.
    fn question(&self) -> String {
        let mut words: Vec<&str> =
            self.subject.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() > 3).collect();
        words.truncate(5);
        format!("What do we know about {}?", words.join(" "))
    }
}

/// The latest commits, oldest first; none outside git.
fn from_git(checkout: &Path) -> Vec<Lesson> {
    // Record and unit separators, because the fields may contain any other character.
    let format = "--format=%x1e%s%x1f%b%x1f";
    let count = format!("--max-count={COMMITS_MAX}");
    let output = std::process::Command::new("git")
        .current_dir(checkout)
        .args(["log", "--no-merges", "--name-only", &count, format])
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lessons: Vec<Lesson> = text.split('\u{1e}').filter_map(commit).collect();
    lessons.reverse();
    lessons
}

fn commit(record: &str) -> Option<Lesson> {
    let mut parts = record.splitn(3, '\u{1f}');
    let subject = parts.next()?.trim().to_owned();
    let body = parts.next()?.trim().chars().take(BODY_CHARS_MAX).collect();
    let names = parts.next()?.lines().map(str::trim).filter(|name| !name.is_empty());
    let files = names.take(FILES_SHOWN).map(str::to_owned).collect();
    let lower = subject.to_lowercase();
    let fix = ["fix", "bug", "repair", "revert"].iter().any(|word| lower.contains(word));
    (!subject.is_empty()).then_some(Lesson { subject, body, files, fix })
}

/// The entries of the change log, each with its section.
fn from_change_log(checkout: &Path) -> Vec<Lesson> {
    let text = std::fs::read_to_string(checkout.join("CHANGELOG.md")).unwrap_or_default();
    let mut lessons: Vec<Lesson> = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            name.trim().clone_into(&mut section);
        } else if let Some(entry) = line.strip_prefix("- ") {
            let (first, rest) = entry.split_once(". ").unwrap_or((entry, ""));
            let subject: String = first.trim().chars().take(120).collect();
            let fix = section == "Fixed";
            let files = vec!["CHANGELOG.md".to_owned()];
            lessons.push(Lesson { subject, body: rest.trim().to_owned(), files, fix });
        } else if let (Some(lesson), Some(more)) = (lessons.last_mut(), line.strip_prefix("  ")) {
            lesson.body.push(' ');
            lesson.body.push_str(more.trim());
        }
    }
    lessons
}

fn history(checkout: &Path) -> Result<Vec<Lesson>> {
    let mut lessons = from_git(checkout);
    if lessons.len() < COMMITS_FEW {
        // The change log has what came before a young or shallow history.
        lessons.splice(0..0, from_change_log(checkout));
    }
    ensure!(!lessons.is_empty(), "{} has neither commits nor a CHANGELOG.md", checkout.display());
    Ok(lessons)
}

/// Writes to standard output; in colour if it is a terminal.
struct Screen {
    colour: bool,
}

impl Screen {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn heading(&self, text: &str) {
        println!("\n{}", self.paint("1;36", &format!("── {text}")));
    }

    /// A call and its answer as the agent sees it, cut to the size of a screen.
    fn call(&self, tool: &str, arguments: &Value, reply: &str) {
        let arguments = cut(&arguments.to_string(), COLUMNS_SHOWN - tool.len() - 2);
        println!("\n{} {}", self.paint("1", &format!("▸ {tool}")), self.paint("2", &arguments));
        let lines: Vec<&str> = reply.lines().collect();
        for line in lines.iter().take(LINES_SHOWN) {
            println!("    {}", cut(line, COLUMNS_SHOWN - 4));
        }
        if let Some(more @ 1..) = lines.len().checked_sub(LINES_SHOWN) {
            println!("    {}", self.paint("2", &format!("… {more} more lines")));
        }
    }
}

fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let head: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{head}…")
}

/// Starts an agent's own `cerebro mcp` in the checkout, as an agent would.
async fn join<'s>(home: &Home, checkout: &Path, screen: &'s Screen) -> Result<Agent<'s>> {
    let mut command = Command::from(home.command());
    command.arg("mcp").current_dir(checkout);
    // Variables of an agent that runs this demo must not affect the demo's sessions.
    for name in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR"] {
        command.env_remove(name);
    }
    let connection = ().serve(TokioChildProcess::new(command)?).await.context("connect to cerebro mcp")?;
    Ok(Agent { connection, screen })
}

/// One connected agent.
struct Agent<'s> {
    connection: RunningService<RoleClient, ()>,
    screen: &'s Screen,
}

impl Agent<'_> {
    /// Calls a tool; returns the text and the structured half of its reply.
    async fn ask(&self, tool: &'static str, arguments: &Value) -> Result<(String, Value)> {
        let map: JsonObject = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(tool).with_arguments(map);
        let result = self.connection.call_tool(request).await.with_context(|| tool.to_owned())?;
        let texts = result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone());
        let text = texts.collect::<Vec<_>>().join("\n");
        if result.is_error == Some(true) {
            bail!("{tool} refused: {text}");
        }
        Ok((text, result.structured_content.unwrap_or(Value::Null)))
    }

    /// The same, shown.
    async fn show(&self, tool: &'static str, arguments: Value) -> Result<Value> {
        let (text, structured) = self.ask(tool, &arguments).await?;
        self.screen.call(tool, &arguments, &text);
        Ok(structured)
    }

    async fn leave(self) -> Result<()> {
        self.connection.cancel().await?;
        Ok(())
    }
}

/// One session: its subject, its lessons, its summary.
async fn sitting(agent: &Agent<'_>, id: &str, goal: &str, lessons: &[Lesson]) -> Result<()> {
    agent.show("mem_session_start", json!({ "id": id })).await?;
    agent.show("mem_save_prompt", json!({ "content": goal })).await?;
    for (i, lesson) in lessons.iter().enumerate() {
        let title: String = lesson.subject.chars().take(300).collect();
        let arguments = json!({
            "title": title, "content": lesson.content(), "type": lesson.kind(), "topic_key": lesson.topic_key(),
        });
        if i < SAVES_SHOWN {
            agent.show("mem_save", arguments).await?;
        } else {
            agent.ask("mem_save", &arguments).await?;
        }
    }
    if let Some(more @ 1..) = lessons.len().checked_sub(SAVES_SHOWN) {
        println!("\n    … and {more} more mem_save");
    }
    let subjects: Vec<&str> = lessons.iter().rev().take(5).map(|lesson| lesson.subject.as_str()).collect();
    let summary = json!({
        "goal": goal, "accomplished": subjects, "next_steps": ["tell the next agent what was decided"],
    });
    agent.show("mem_session_summary", summary).await?;
    agent.show("mem_session_end", json!({})).await?;
    Ok(())
}

/// The second agent: reads the context, searches, drills in.
async fn recall(agent: &Agent<'_>, lessons: &[Lesson]) -> Result<()> {
    agent.show("mem_context", json!({ "max_bytes": 2_000 })).await?;
    let longest = lessons.iter().max_by_key(|lesson| lesson.body.len()).context("no lessons")?;
    let found = agent.show("mem_search", json!({ "query": longest.question(), "limit": 4 })).await?;
    let id =
        found["hits"][0]["id"].as_str().context("the search found nothing that was just saved")?.to_owned();
    agent.show("mem_get_observation", json!({ "id": id })).await?;
    agent.show("mem_timeline", json!({ "id": id, "before": 2, "after": 2 })).await?;
    // An exact name is found as well as a question.
    if let Some(file) = longest.files.first() {
        agent.show("mem_search", json!({ "query": file, "limit": 3 })).await?;
    }
    agent.show("mem_stats", json!({})).await?;
    Ok(())
}

async fn run(home: &Home, checkout: &Path, screen: &Screen) -> Result<()> {
    let lessons = history(checkout)?;
    let (earlier, later) = lessons.split_at(lessons.len() / 2);

    screen.heading(&format!(
        "a first agent tells what {} entries of this history decided and fixed",
        lessons.len()
    ));
    let agent = join(home, checkout, screen).await?;
    if !earlier.is_empty() {
        sitting(&agent, "demo-1", "Read the earlier half of the history", earlier).await?;
    }
    screen.heading("the same agent, a second session");
    sitting(&agent, "demo-2", "Read the later half of the history", later).await?;
    agent.leave().await?;

    screen.heading("a second agent, a new process: what does it find?");
    let agent = join(home, checkout, screen).await?;
    recall(&agent, &lessons).await?;
    agent.leave().await
}

#[tokio::main]
async fn main() -> Result<()> {
    let screen = Screen { colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() };
    let checkout = std::env::current_dir()?;
    let home = Home::new()?;
    run(&home, &checkout, &screen).await?;

    screen.heading("add it to your agent");
    println!("\n{} setup claude-code", home.program.display());
    println!("\nOther agents: README.md. This demo's home is removed now.");
    Ok(())
}
