//! The model that all agents' transcripts are read into: sessions, exchanges, turns.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Whose transcript it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Anthropic's Claude Code.
    #[default]
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// GitHub's Copilot CLI.
    Copilot,
    /// Cursor's CLI.
    Cursor,
    /// Google's Gemini CLI.
    GeminiCli,
    /// OpenCode, 1.x and 2.x.
    OpenCode,
    /// Qwen Code.
    Qwen,
}

/// Facts about a whole session. All strings but `id` are text from the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Session {
    /// Who wrote it.
    pub agent: Agent,
    /// The agent's own id; of a sub-agent that shares its parent's id, `parent/agent`. Empty until a record
    /// names it.
    pub id: String,
    /// Where it comes from.
    pub parent: Option<Parent>,
    /// What the agent, or its user, called it.
    pub title: Option<String>,
    /// The latest working directory. The first one identifies the project ([`crate::Batch::began_in`]); the names of
    /// transcript folders are lossy.
    pub cwd: Option<String>,
    /// The latest Git branch.
    pub branch: Option<String>,
    /// The latest model.
    pub model: Option<String>,
    /// The latest version of the agent.
    pub version: Option<String>,
    /// No person took part: an SDK, `codex exec`, a scheduled run.
    pub automated: bool,
    /// The first and the last timestamp.
    pub started: Option<Timestamp>,
    /// See `started`.
    pub ended: Option<Timestamp>,
}

/// The session that this one continues or works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// How they belong together.
    pub kind: ParentKind,
    /// The other's id; unknown where only one of its turns is named.
    pub session: Option<String>,
    /// The native id of the turn that is continued.
    pub turn: Option<String>,
}

/// How a session belongs to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParentKind {
    /// The same talk, continued in another file.
    Resume,
    /// A copy that went another way.
    Fork,
    /// Work that the parent delegated.
    SubAgent,
    /// It begins with a summary of the parent.
    Compaction,
    /// Carries out a plan that was made in the parent.
    Plan,
}

/// One prompt and what followed it, or a piece of a long one. Its texts are those of the prompt and the turns,
/// paths and names; [`Exchange::each_text`] visits them all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Exchange {
    /// Its place in the session, from 0. A piece has a place of its own.
    pub seq: u32,
    /// 0 for the beginning, which has the prompt; 1 and up for further pieces of a long exchange.
    pub part: u32,
    /// What the person asked. `None` for further pieces, and for what came before the first prompt of a
    /// recording.
    pub prompt: Option<Prompt>,
    /// What followed.
    pub turns: Vec<Turn>,
    /// Files that the agent's own bookkeeping names as edited, beside the calls of its tools.
    pub touched: Vec<String>,
    /// The first and the last timestamp.
    pub at: Option<Timestamp>,
    /// See `at`.
    pub until: Option<Timestamp>,
    /// Where it was said.
    pub cwd: Option<String>,
    /// The Git branch at its beginning.
    pub branch: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The native ids of its first and its last turn. Copies of a session have the same ones, other sessions do not
    /// ([`crate::lineage`]).
    pub first_id: Option<String>,
    /// See `first_id`.
    pub last_id: Option<String>,
    /// Where it begins in its source, in bytes; 0 for sources that are rows.
    pub offset: u64,
}

/// What a person asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Prompt {
    /// The words, without the text that the host put around them.
    pub text: String,
    /// How it was entered.
    pub kind: PromptKind,
}

/// How a prompt was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    #[default]
    Typed,
    /// Typed while the agent worked.
    Queued,
    /// A slash command, as `/name arguments`.
    Command,
    /// An accepted plan, which the host made the first prompt of a fresh context.
    Plan,
    /// Written by an agent for its sub-agent.
    Delegated,
}

/// Something that followed a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "turn")]
pub enum Turn {
    /// The agent's words. Thinking is never stored.
    Reply {
        /// The words.
        text: String,
        /// When.
        at: Option<Timestamp>,
    },
    /// A tool call and its result.
    Call(Call),
    /// The context was replaced by a summary.
    Compaction {
        /// The summary, without thinking aloud; empty if the transcript does not have it.
        summary: String,
        /// When.
        at: Option<Timestamp>,
    },
    /// The agent's turn ended before it was done.
    Stopped {
        /// By whom.
        by: Stop,
        /// When.
        at: Option<Timestamp>,
    },
    /// A pull request was opened or linked.
    PullRequest {
        /// Its address.
        url: String,
        /// When.
        at: Option<Timestamp>,
    },
}

/// Who ended a turn early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The person interrupted.
    Person,
    /// The model's service failed.
    Service,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Call {
    /// The native id, by which the result found it.
    pub id: String,
    /// The tool's name as the agent calls it.
    pub tool: String,
    /// What it should do.
    pub action: Action,
    /// Its result.
    pub outcome: Outcome,
    /// The exit status of a command, where the transcript has it.
    pub exit: Option<i32>,
    /// Its output, shortened. Empty for files that were read and for the answers of memories: neither is new
    /// in this session.
    pub output: String,
    /// When it was called.
    pub at: Option<Timestamp>,
    /// A sub-agent made the call, and its records are mixed into this transcript.
    pub delegated: bool,
}

impl Call {
    /// Whether it makes or changes one thing to do. Other calls about these have the whole list.
    pub(crate) fn is_of_one_task(&self) -> bool {
        ["TaskCreate", "TaskUpdate"].iter().any(|name| self.tool.eq_ignore_ascii_case(name))
    }
}

/// What a call should do, in one vocabulary for all agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    /// Change files.
    Edit {
        paths: Vec<String>,
        /// Some of what was written.
        excerpt: String,
    },
    /// Read files.
    Read { paths: Vec<String> },
    /// Look for text or files.
    Search {
        pattern: String,
        /// Where.
        path: String,
    },
    /// Run a command.
    Command {
        /// The command line.
        line: String,
    },
    /// Ask the web.
    Web {
        /// An address or a query.
        target: String,
    },
    /// Hand work to a sub-agent.
    Delegate {
        /// The kind of sub-agent.
        agent: String,
        task: String,
    },
    /// Propose a plan.
    Plan {
        /// The plan.
        text: String,
    },
    /// Update the to-do list.
    Todo { items: Vec<Todo> },
    /// Ask the person.
    Ask { questions: Vec<Question> },
    /// Any other tool.
    Other {
        /// Its input as written, shortened.
        input: String,
    },
}

impl Default for Action {
    fn default() -> Self {
        Self::Other { input: String::new() }
    }
}

/// An item of a list of things to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Todo {
    /// The task; empty where a call only changes the status of an item that an earlier call created.
    pub text: String,
    /// The id by which later calls name it.
    pub id: String,
    /// The agent's own word: pending, in_progress, completed …
    pub status: String,
}

/// A question to the person, with the answers it offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Question {
    /// The question.
    pub text: String,
    /// What was offered.
    pub options: Vec<String>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// The transcript has no result.
    #[default]
    Pending,
    /// No sign of failure.
    Done,
    Failed,
    /// The person refused it.
    Rejected {
        /// What the person said instead; empty if nothing.
        said: String,
    },
    /// It was never tried, because another failed or the turn was stopped.
    Skipped,
}

impl Session {
    /// Whether it is work that another session delegated.
    pub(crate) fn is_sub_agents(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.kind == ParentKind::SubAgent)
    }

    /// Visits every text that came from the transcript, to redact it.
    pub fn each_text(&mut self, mut visit: impl FnMut(&mut String)) {
        for text in [&mut self.title, &mut self.cwd, &mut self.branch, &mut self.model, &mut self.version] {
            text.iter_mut().for_each(&mut visit);
        }
    }
}

impl Exchange {
    /// Visits every text that came from the transcript, to redact it: prompt, turns, commands, outputs,
    /// paths, names.
    pub fn each_text(&mut self, mut visit: impl FnMut(&mut String)) {
        if let Some(prompt) = &mut self.prompt {
            visit(&mut prompt.text);
        }
        self.touched.iter_mut().for_each(&mut visit);
        for text in [&mut self.cwd, &mut self.branch, &mut self.model] {
            text.iter_mut().for_each(&mut visit);
        }
        for turn in &mut self.turns {
            turn.each_text(&mut visit);
        }
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.turns.iter().filter_map(|turn| match turn {
            Turn::Call(call) => Some(call),
            _ => None,
        })
    }
}

impl Turn {
    fn each_text(&mut self, visit: &mut impl FnMut(&mut String)) {
        match self {
            Self::Reply { text, .. }
            | Self::Compaction { summary: text, .. }
            | Self::PullRequest { url: text, .. } => {
                visit(text);
            }
            Self::Call(call) => {
                visit(&mut call.tool);
                visit(&mut call.output);
                if let Outcome::Rejected { said } = &mut call.outcome {
                    visit(said);
                }
                call.action.each_text(visit);
            }
            Self::Stopped { .. } => {}
        }
    }
}

impl Action {
    fn each_text(&mut self, visit: &mut impl FnMut(&mut String)) {
        match self {
            Self::Edit { paths, excerpt } => {
                paths.iter_mut().for_each(&mut *visit);
                visit(excerpt);
            }
            Self::Read { paths } => paths.iter_mut().for_each(visit),
            Self::Search { pattern: one, path: two } | Self::Delegate { agent: one, task: two } => {
                visit(one);
                visit(two);
            }
            Self::Command { line: text }
            | Self::Web { target: text }
            | Self::Plan { text }
            | Self::Other { input: text } => visit(text),
            Self::Todo { items } => items.iter_mut().for_each(|item| visit(&mut item.text)),
            Self::Ask { questions } => {
                for question in questions {
                    visit(&mut question.text);
                    question.options.iter_mut().for_each(&mut *visit);
                }
            }
        }
    }

    /// Bytes that it keeps, about.
    pub(crate) fn weight(&self) -> usize {
        let list = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        match self {
            Self::Edit { paths, excerpt } => list(paths) + excerpt.len(),
            Self::Read { paths } => list(paths),
            Self::Search { pattern: one, path: two } | Self::Delegate { agent: one, task: two } => {
                one.len() + two.len()
            }
            Self::Command { line: text }
            | Self::Web { target: text }
            | Self::Plan { text }
            | Self::Other { input: text } => text.len(),
            Self::Todo { items } => items.iter().map(|item| item.text.len() + item.status.len()).sum(),
            Self::Ask { questions } => questions.iter().map(|one| one.text.len() + list(&one.options)).sum(),
        }
    }
}
