//! Converts what a reader found in a transcript to its stored form: redacted, one readable text per exchange, with its
//! facts.

use std::fmt::Write as _;

use crate::ServiceError;
use cerebro_core::domain::{
    Ancestor, AncestorKind, Exchange, ExchangeId, FullExchange, PastAnswer, PastCommand, PastCommit,
    PastFailure, PastFix, PastPlan, PastRefusal, PastSession, PastTask, PastToDo, Project, Proven, SessionId,
    Timestamp,
    limits::{CURSOR_BYTES_MAX, EXCHANGE_BYTES_MAX, TITLE_CHARS_MAX},
    native_digest,
};
use cerebro_core::redact::{RedactedText, redact_name, redact_secrets, redact_text};
use cerebro_core::text;
use cerebro_transcript::{
    self as transcript, Agent, State, facts,
    turn::{Action, Call, Outcome, ParentKind, Stop, Todo, Turn},
};

/// The level of zstd for the state of a reader: it is written often and rarely read.
const CURSOR_LEVEL: i32 = 1;

/// The name of an agent, as in its setup and its hooks.
pub fn agent_slug(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => "claude-code",
        Agent::Codex => "codex",
        Agent::Copilot => "copilot",
        Agent::Cursor => "cursor",
        Agent::GeminiCli => "gemini-cli",
        Agent::OpenCode => "opencode",
        Agent::Qwen => "qwen",
    }
}

/// Redacts a short text that is not part of a conversation: a name, a path, a word about a failure.
pub(crate) fn clean(text: &str) -> RedactedText {
    redact_text(text).value.one_line()
}

/// The state of a reader, as bytes; `None` if it is too long, so that its source is read from its beginning again.
pub(crate) fn cursor(state: &State) -> Option<Vec<u8>> {
    let mut state = state.clone();
    state.session.each_text(|text| *text = clean(text).into());
    let json = serde_json::to_vec(&state).ok()?;
    zstd::bulk::compress(&json, CURSOR_LEVEL).ok().filter(|bytes| bytes.len() <= CURSOR_BYTES_MAX)
}

/// The inverse of [`cursor`]; `None` for what another version of the reader wrote.
pub(super) fn cursor_state(bytes: &[u8]) -> Option<State> {
    let json = zstd::bulk::decompress(bytes, 16 * CURSOR_BYTES_MAX).ok()?;
    serde_json::from_slice(&json).ok()
}

/// The same state without some of the session's names, which the user had forgotten.
pub(super) fn cursor_without(bytes: &[u8], is_forgotten: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let mut state = cursor_state(bytes)?;
    let session = &mut state.session;
    for (name, text) in
        [("title", &mut session.title), ("directory", &mut session.cwd), ("branch", &mut session.branch)]
    {
        if is_forgotten(name) {
            *text = None;
        }
    }
    cursor(&state)
}

/// Redacts texts of a transcript, and counts what was replaced.
#[derive(Debug, Default)]
pub(super) struct Texts {
    redacted: usize,
}

impl Texts {
    /// How many places were replaced so far.
    pub(super) fn redacted(&self) -> usize {
        self.redacted
    }

    fn text(&mut self, text: &str) -> RedactedText {
        let cleaned = redact_text(text);
        self.redacted += cleaned.count;
        cleaned.value
    }

    /// A past session as its reader returned it, before it is known how much of it is stored. `begun` is when its first
    /// exchange began, for readers that do not say more.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a session without a usable id.
    pub(super) fn session(
        &mut self,
        found: &transcript::Session,
        project: Project,
        begun: Option<Timestamp>,
    ) -> Result<PastSession, ServiceError> {
        let started = found.started.or(begun).or(found.ended).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut name = |name: &Option<String>, max: usize| {
            name.as_deref()
                .map(|name| self.text(name).one_line().cut_chars(max))
                .filter(|name| !name.is_empty())
        };
        Ok(PastSession {
            id: session_id(&found.id).map_err(|_| {
                let problem = "a session has an id of 1 to 128 printable characters";
                ServiceError::invalid("session", &found.id, problem)
            })?,
            agent: clean(agent_slug(found.agent)),
            project,
            title: name(&found.title, TITLE_CHARS_MAX),
            directory: name(&found.cwd, TITLE_CHARS_MAX),
            branch: name(&found.branch, TITLE_CHARS_MAX),
            model: name(&found.model, TITLE_CHARS_MAX),
            parent: found.parent.as_ref().map(ancestor),
            automated: found.automated,
            started_at: whole_micros(started),
            ended_at: whole_micros(found.ended.unwrap_or(started)),
            exchanges: 0,
        })
    }

    /// The exchanges of a session, redacted text by text and then as a whole, because a secret may span two texts.
    pub(super) fn exchanges(
        &mut self,
        session: &PastSession,
        mut found: Vec<transcript::Exchange>,
    ) -> Vec<FullExchange> {
        for exchange in &mut found {
            exchange.each_text(|text| *text = self.text(text).into());
        }
        let mut at = session.started_at;
        found
            .iter()
            .map(|exchange| {
                // An exchange without a time of its own gets that of the one before it.
                at = exchange.at.map_or(at, whole_micros);
                self.exchange(session, exchange, at)
            })
            .collect()
    }

    fn exchange(
        &mut self,
        session: &PastSession,
        found: &transcript::Exchange,
        at: Timestamp,
    ) -> FullExchange {
        // From each exchange alone, so that they do not depend on the steps in which the transcript is read.
        let facts = facts::of(std::slice::from_ref(found)).pop().unwrap_or_default();
        let text = self.text(&written(found)).clipped(EXCHANGE_BYTES_MAX);
        let clean_all = |texts: Vec<String>| texts.iter().map(|text| clean(text)).collect();
        let command = |command: facts::Command| PastCommand { line: clean(&command.line), ok: command.ok };
        let proven = proven(&facts).map(usize::MAX, |text| clean(&text)).bounded();
        let exchange = Exchange {
            id: ExchangeId::of(&session.agent, &session.id, found.seq),
            session: session.id.clone(),
            seq: found.seq,
            part: found.part,
            at,
            title: title(found, &text),
            files: clean_all(facts.edited),
            commands: facts.commands.into_iter().map(command).collect(),
            errors: clean_all(facts.failures.into_iter().map(|failure| failure.error).collect()),
            withdrawn: false,
            first: found.first_id.as_deref().map(native_digest),
            last: found.last_id.as_deref().map(native_digest),
            digest: String::new(),
        };
        FullExchange { exchange, text, proven }.sealed()
    }
}

/// The proven facts, beyond the files and commands that are stored with the exchange itself.
fn proven(facts: &facts::Facts) -> Proven<String> {
    Proven {
        read: facts.read.clone(),
        failures: facts.failures.iter().map(failure).collect(),
        refusals: facts.refusals.iter().map(refusal).collect(),
        interrupted: facts.interrupted,
        commits: facts
            .commits
            .iter()
            .map(|commit| PastCommit { id: commit.id.clone(), subject: commit.subject.clone() })
            .collect(),
        pull_requests: facts.pull_requests.clone(),
        plans: facts
            .plans
            .iter()
            .map(|plan| PastPlan { text: plan.text.clone(), accepted: plan.accepted })
            .collect(),
        answers: facts.answers.iter().map(answer).collect(),
        to_do: facts.to_do.as_ref().map(to_do),
        reply: facts.reply.clone(),
        summary: facts.summary.clone(),
    }
}

fn failure(failure: &facts::Failure) -> PastFailure<String> {
    let fix = |fix: &facts::Fix| PastFix {
        command: fix.command.clone(),
        same: fix.same,
        edited: fix.edited.clone(),
    };
    PastFailure {
        command: failure.command.clone(),
        error: failure.error.clone(),
        key: failure.key.clone(),
        exit: failure.exit,
        fix: failure.fix.as_ref().map(fix),
    }
}

fn refusal(refusal: &facts::Refusal) -> PastRefusal<String> {
    let what = if refusal.what.is_empty() { refusal.tool.clone() } else { refusal.what.clone() };
    PastRefusal { what, said: refusal.said.clone() }
}

fn answer(answer: &facts::Answer) -> PastAnswer<String> {
    let asked: Vec<&str> = answer.questions.iter().map(|question| question.text.as_str()).collect();
    PastAnswer { asked: asked.join(" / "), answer: answer.answer.clone() }
}

fn to_do(list: &facts::ToDo) -> PastToDo<String> {
    let item =
        |item: &Todo| PastTask { text: item.text.clone(), id: item.id.clone(), status: item.status.clone() };
    PastToDo { whole: list.whole, items: list.items.iter().map(item).collect() }
}

/// The id of a session. One that looks like a secret is redacted: no agent made it.
pub(crate) fn session_id(text: &str) -> Result<SessionId, String> {
    SessionId::parse(&redact_name(text))
        .map_err(|error| format!("session `{}`: {error}", redact_secrets(text)))
}

fn ancestor(parent: &transcript::turn::Parent) -> Ancestor {
    let kind = match parent.kind {
        ParentKind::Resume => AncestorKind::Resume,
        ParentKind::Fork => AncestorKind::Fork,
        ParentKind::SubAgent => AncestorKind::SubAgent,
        ParentKind::Compaction => AncestorKind::Compaction,
        ParentKind::Plan => AncestorKind::Plan,
    };
    Ancestor { kind, session: parent.session.as_deref().and_then(|id| session_id(id).ok()) }
}

/// The moment in the store's precision, so that it is read back unchanged.
fn whole_micros(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}

/// The first line of the prompt; without one, of what was said or done.
fn title(exchange: &transcript::Exchange, text: &RedactedText) -> RedactedText {
    let prompt = exchange.prompt.as_ref().and_then(|prompt| first_line(&prompt.text));
    let title = prompt.or_else(|| first_line(text)).unwrap_or_else(|| clean("(no words)"));
    title.cut_chars(TITLE_CHARS_MAX)
}

/// The first line with words; without one, the first that is not empty. One that ends in a colon announces the next, which is
/// added to it, without the mark of a heading.
fn first_line(text: &str) -> Option<RedactedText> {
    let any = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut lines = text.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
    let first = lines.next().unwrap_or(any);
    match lines.next().filter(|_| first.ends_with(':')) {
        Some(next) => Some(clean(&format!("{first} {}", next.trim_start_matches('#').trim_start()))),
        None => Some(clean(first)),
    }
}

/// An exchange as a text for people and agents: the prompt after `>`, commands after `$`, the rest in words.
fn written(exchange: &transcript::Exchange) -> String {
    let mut out = String::new();
    if let Some(prompt) = &exchange.prompt {
        block(&mut out, &format!("> {}", prompt.text.trim()));
    }
    for turn in &exchange.turns {
        match turn {
            Turn::Reply { text, .. } => block(&mut out, text),
            Turn::Call(call) => block(&mut out, &call_text(call)),
            Turn::Compaction { summary, .. } => {
                block(&mut out, &format!("[summary of what came before] {summary}"));
            }
            Turn::Stopped { by: Stop::Person, .. } => block(&mut out, "[the person interrupted]"),
            Turn::Stopped { by: Stop::Service, .. } => block(&mut out, "[the model's service failed]"),
            Turn::PullRequest { url, .. } => block(&mut out, &format!("pull request {url}")),
        }
    }
    out
}

/// Adds a text after an empty line.
fn block(out: &mut String, text: &str) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str(text);
}

/// A call in one line, its outcome if it failed, and its output.
fn call_text(call: &Call) -> String {
    let mut out = match &call.action {
        Action::Edit { paths, excerpt } => format!("edit {}\n{excerpt}", paths.join(", ")),
        Action::Read { paths } => format!("read {}", paths.join(", ")),
        Action::Search { pattern, path } if path.is_empty() => format!("search {pattern}"),
        Action::Search { pattern, path } => format!("search {pattern} in {path}"),
        Action::Command { line } => format!("$ {line}"),
        Action::Web { target } => format!("web {target}"),
        Action::Delegate { agent, task } => format!("delegate to {agent}: {task}"),
        Action::Plan { text } => format!("plan: {text}"),
        Action::Todo { items } => {
            let items: Vec<String> =
                items.iter().map(|item| format!("[{}] {}", item.status, item.text)).collect();
            format!("to do: {}", items.join("; "))
        }
        Action::Ask { questions } => {
            let questions: Vec<&str> = questions.iter().map(|question| question.text.as_str()).collect();
            format!("ask: {}", questions.join(" / "))
        }
        Action::Other { input } => format!("{} {input}", call.tool),
    };
    out.truncate(out.trim_end().len());
    match &call.outcome {
        Outcome::Failed => match call.exit {
            Some(status) => {
                let _ = write!(out, "\n[failed with status {status}]");
            }
            None => out.push_str("\n[failed]"),
        },
        Outcome::Rejected { said } if said.is_empty() => out.push_str("\n[refused]"),
        Outcome::Rejected { said } => {
            let _ = write!(out, "\n[refused: {said}]");
        }
        Outcome::Skipped => out.push_str("\n[not run]"),
        Outcome::Pending | Outcome::Done => {}
    }
    let output = call.output.trim();
    if !output.is_empty() {
        let _ = write!(out, "\n{output}");
    }
    text::cut_bytes(&out, EXCHANGE_BYTES_MAX).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_transcript::turn::Prompt;

    fn exchange() -> transcript::Exchange {
        let call = Call {
            action: Action::Command { line: "cargo test".to_owned() },
            outcome: Outcome::Failed,
            exit: Some(101),
            output: "error[E0308]: mismatched types".to_owned(),
            ..Call::default()
        };
        transcript::Exchange {
            seq: 3,
            prompt: Some(Prompt { text: "\n Fix the test\nof the parser".to_owned(), ..Prompt::default() }),
            turns: vec![Turn::Call(call), Turn::Reply { text: "It was the type.".to_owned(), at: None }],
            first_id: Some("u1".to_owned()),
            ..transcript::Exchange::default()
        }
    }

    fn session(texts: &mut Texts) -> PastSession {
        let found = transcript::Session { id: "s1".to_owned(), ..transcript::Session::default() };
        texts.session(&found, Project::general(), None).unwrap()
    }

    #[test]
    fn an_exchange_is_one_readable_text_with_its_facts() {
        let mut texts = Texts::default();
        let session = session(&mut texts);
        let full = texts.exchanges(&session, vec![exchange()]).remove(0);
        assert_eq!(
            full.text,
            "> Fix the test\nof the parser\n\n$ cargo test\n[failed with status 101]\nerror[E0308]: mismatched \
             types\n\nIt was the type."
        );
        assert_eq!(full.exchange.title, "Fix the test");
        assert_eq!(full.exchange.commands, [PastCommand { line: clean("cargo test"), ok: Some(false) }]);
        assert_eq!(full.exchange.first, Some(native_digest("u1")));
        assert_eq!(full.exchange.id, ExchangeId::of("claude-code", &session.id, 3));
    }

    #[test]
    fn a_line_that_announces_the_next_is_no_title_alone() {
        let title = |prompt: &str| first_line(prompt).map(String::from);
        let plan = "Implement the following plan:\n\n# Plan: Simplify setup\n\n## Context";
        assert_eq!(title(plan).unwrap(), "Implement the following plan: Plan: Simplify setup");
        assert_eq!(title("\n---\nMend this:\n```\nerror[E0308]").unwrap(), "Mend this: error[E0308]");
        assert_eq!(title("Mend the test\nof the parser").unwrap(), "Mend the test");
        assert_eq!((title("Look here:").unwrap(), title(" \n…").unwrap()), ("Look here:".into(), "…".into()));
        assert_eq!(title(" \n"), None);
    }

    #[test]
    fn secrets_go_wherever_they_stand_and_digests_follow_the_text() {
        let mut texts = Texts::default();
        let session = session(&mut texts);
        let secret = "ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d";
        let mut leaky = exchange();
        leaky.turns.push(Turn::Reply { text: format!("use {secret}"), at: None });
        let exchanges = texts.exchanges(&session, vec![leaky, exchange()]);
        assert!(!format!("{exchanges:?}").contains("aB3dE6gH9"));
        assert_eq!(texts.redacted(), 1);
        assert_ne!(exchanges[0].exchange.digest, exchanges[1].exchange.digest);
        assert_eq!(
            texts.exchanges(&session, vec![exchange()])[0],
            exchanges[1],
            "the same text, the same exchange"
        );
    }

    #[test]
    fn a_long_exchange_keeps_head_and_tail_within_its_bound() {
        let mut texts = Texts::default();
        let session = session(&mut texts);
        let mut long = exchange();
        for _ in 0..4 {
            long.turns.push(Turn::Reply { text: "lorem ipsum ".repeat(1_300), at: None });
        }
        long.turns.push(Turn::Reply { text: "the end".to_owned(), at: None });
        let full = texts.exchanges(&session, vec![long]).remove(0);
        assert!(full.text.len() <= EXCHANGE_BYTES_MAX);
        assert!(full.text.starts_with("> Fix the test") && full.text.ends_with("the end"));
    }

    #[test]
    fn the_state_of_a_reader_comes_back() {
        let state = State::new(Agent::Codex, "s1");
        assert_eq!(cursor_state(&cursor(&state).unwrap()), Some(state));
        assert_eq!(cursor_state(b"no zstd"), None);
    }
}
