//! The steps of an agent's call, and how a step from a hook is recognised as the same in the transcript.
//!
//! Hooks and transcripts report the same calls in one vocabulary, that of `cerebro_transcript`. Both are read here, so that
//! a call that is reported twice is one event. A text is redacted before it is cut, because a cut can separate a secret from
//! the name by which it is recognised.

use cerebro_core::domain::Timestamp;
use cerebro_core::redact::redact_text;
use cerebro_ledger::{Ending, Planned, Standing, Step, verdict};
use cerebro_transcript::facts::goes_on;
use cerebro_transcript::report::clipped;
use cerebro_transcript::turn::{Action, Call, Outcome, PromptKind, Stop, Todo, Turn};
use cerebro_transcript::{Agent, Exchange};

/// Longest prompt that a step keeps; the whole of it is kept with the session's prompts.
pub const PROMPT_BYTES_MAX: usize = 2_000;
/// Longest command line.
pub const COMMAND_BYTES_MAX: usize = 1_000;
/// Most of a command's output that is kept: its end, where the result is.
const TAIL_BYTES_MAX: usize = 600;
/// Most files of one call.
pub const FILES_MAX: usize = 32;
/// Most steps of a plan, and the longest text of one.
const PLAN_MAX: usize = 50;
const ITEM_BYTES_MAX: usize = 200;
/// The replacement of an item that is a part of a key in armour.
const REDACTED_KEY: &str = "[REDACTED:private-key]";
/// Most bytes of a text that are redacted before it is cut. Of a longer text, both ends are.
const REDACTED_BYTES_MAX: usize = 64 << 10;

/// At most `max` bytes of a text, from its beginning and its end. A text that is cut is redacted first.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max { text.to_owned() } else { clipped(&redacted(text), max) }
}

/// A text without its secrets, before any of it is cut; of more than 64 KiB, the beginning and the end.
pub fn redacted(text: &str) -> String {
    redact_text(&clipped(text, REDACTED_BYTES_MAX)).value.into()
}

/// The key by which a repetition of the first step of a call or turn is recognised, if the agent gives it an id.
///
/// The kind distinguishes the beginning of a call from its end. An end without an outcome and one with an outcome are
/// different events: the later one adds what was missing.
pub fn once(first: &Step, id: &str) -> Option<String> {
    let kind = first.kind();
    let open = if matches!(first, Step::Ran { ending: Ending::Unknown, .. }) { "?" } else { "" };
    (!id.is_empty()).then(|| format!("{kind}{open}:{id}"))
}

/// The name of the `n`th step of a call, counted from 0.
pub fn nth(once: &str, n: usize) -> String {
    format!("{once}:{n}")
}

/// How a command ended, beyond what its call says.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    pub ending: Ending,
    pub exit: Option<i32>,
    pub ms: Option<u64>,
    /// What it printed.
    pub output: &'a str,
}

/// The end of a command.
pub fn ran(call: &Call, line: &str, ran: &Ran<'_>) -> Step {
    Step::Ran {
        call: own_id(call),
        command: cut(line, COMMAND_BYTES_MAX),
        ending: ran.ending,
        exit: ran.exit,
        ms: ran.ms,
        tests: verdict::tests(line, ran.output),
        tail: if call.outcome == Outcome::Failed { tail(&call.output) } else { String::new() },
    }
}

/// What stands for the tool in the step of a call of another MCP server: its name says what it does.
pub const SERVER_TOOL: &str = "tool";

/// The step for the start of a call. Commands and the tools of other MCP servers have one, because a crash can leave their
/// outcome unknown. A call without an id has none, because nothing would connect it with its end.
pub fn began(call: &Call) -> Option<Step> {
    let (tool, what) = match &call.action {
        Action::Command { line } if !line.is_empty() => (call.tool.clone(), cut(line, COMMAND_BYTES_MAX)),
        Action::Other { .. } if is_of_another_server(&call.tool) => {
            (SERVER_TOOL.to_owned(), cut(&call.tool, COMMAND_BYTES_MAX))
        }
        _ => return None,
    };
    (!call.id.is_empty()).then(|| Step::Started { call: call.id.clone(), tool, what })
}

/// Whether a tool, by its name in Claude Code and Codex, belongs to an MCP server other than Cerebro.
fn is_of_another_server(tool: &str) -> bool {
    tool.strip_prefix("mcp__").is_some_and(|name| !name.contains("cerebro"))
}

/// The files that a call changed, each with the number of lines added and removed.
pub fn edited(call: &Call, paths: &[String], lines: impl Fn(&String) -> (u32, u32)) -> Vec<Step> {
    let one = |path: &String| {
        let (added, removed) = lines(path);
        Step::Edited { call: own_id(call), path: path.clone(), added, removed, digest: None }
    };
    paths.iter().filter(|path| !path.is_empty()).take(FILES_MAX).map(one).collect()
}

/// A plan that was proposed, unless it is empty.
pub fn plan(text: &str) -> Vec<Step> {
    planned(text.lines().filter_map(of_plan).collect())
}

/// What a call says of the agent's own list of things to do: one task that it made or changed, or the whole list.
pub fn todo(call: &Call, items: &[Todo]) -> Vec<Step> {
    match (call.tool.as_str(), items) {
        // Without an id, no later call could be joined with it.
        ("TaskCreate" | "TaskUpdate", [one]) if one.id.is_empty() => Vec::new(),
        ("TaskCreate", [one]) => {
            let text = of_list(one).map(|planned| planned.text);
            text.map(|text| Step::StepAdded { text, task: Some(one.id.clone()) }).into_iter().collect()
        }
        ("TaskUpdate", [one]) if one.status.is_empty() => Vec::new(),
        ("TaskUpdate", [one]) => {
            let text = of_list(one).map(|planned| planned.text);
            vec![Step::StepSet { step: 0, task: Some(one.id.clone()), standing: standing(one), text }]
        }
        _ => list(items),
    }
}

/// The agent's own list of things to do, unless it is empty.
fn list(items: &[Todo]) -> Vec<Step> {
    planned(items.iter().filter_map(of_list).collect())
}

fn planned(mut steps: Vec<Planned>) -> Vec<Step> {
    steps.truncate(PLAN_MAX);
    if steps.iter().any(|step| step.text.contains("-----BEGIN ")) {
        redact_key(&mut steps);
    }
    if steps.is_empty() { Vec::new() } else { vec![Step::Planned { steps }] }
}

/// Redacts a key in armour of which each line is an item.
fn redact_key(steps: &mut [Planned]) {
    let alone: Vec<_> = steps.iter().map(|step| redact_text(&step.text).value).collect();
    let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
    let together = redact_text(&texts.join("\n")).value;
    let keys = |text: &str| text.matches(REDACTED_KEY).count();
    if keys(&together) > alone.iter().map(|text| keys(text)).sum::<usize>() {
        for (step, alone) in steps.iter_mut().zip(&alone) {
            if !together.contains(alone.as_str()) {
                REDACTED_KEY.clone_into(&mut step.text);
            }
        }
    }
}

fn own_id(call: &Call) -> Option<String> {
    (!call.id.is_empty()).then(|| call.id.clone())
}

/// The end of an output, from the beginning of a line where one is near.
fn tail(output: &str) -> String {
    let output = output.trim();
    if output.len() <= TAIL_BYTES_MAX {
        return output.to_owned();
    }
    let output = redacted(output);
    let begin = output.ceil_char_boundary(output.len().saturating_sub(TAIL_BYTES_MAX));
    if begin == 0 {
        return output.trim().to_owned();
    }
    let end = &output[begin..];
    // The rest of a cut line may be half of a secret.
    let whole = end.find(['\n', ' ', '\t']).map_or("", |at| &end[at + 1..]);
    // So may the text before the end of a private block that began before the cut.
    let closed =
        ["</private>", "-----END"].iter().filter_map(|mark| whole.find(mark).map(|at| at + mark.len())).max();
    closed.map_or(whole, |at| &whole[at..]).trim().to_owned()
}

/// An item of the agent's own list.
fn of_list(todo: &Todo) -> Option<Planned> {
    let text = cut(todo.text.trim(), ITEM_BYTES_MAX);
    (!text.is_empty()).then(|| Planned { text, standing: standing(todo) })
}

fn standing(todo: &Todo) -> Standing {
    match todo.status.as_str() {
        "in_progress" | "active" => Standing::Active,
        "completed" | "done" => Standing::Passed,
        "cancelled" | "deleted" => Standing::Dropped,
        _ => Standing::Pending,
    }
}

/// An item of a plan in Markdown: a line of a list, numbered or not.
fn of_plan(line: &str) -> Option<Planned> {
    let line = line.trim();
    let bullet = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.len()).then_some(rest)?.strip_prefix(['.', ')'])
    };
    let text = bullet.or_else(numbered)?.trim();
    (!text.is_empty()).then(|| Planned { text: cut(text, ITEM_BYTES_MAX), standing: Standing::Pending })
}

/// Something that a transcript reports about a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reported {
    /// When, as far as the transcript says it.
    pub at: Option<Timestamp>,
    pub step: Step,
    /// The key under which a hook reports it; `None` for a prompt, which is recognised by its text.
    pub once: Option<String>,
}

/// Whether the calls in an agent's transcripts have the ids that its hooks report. Gemini CLI's hooks report none, so its
/// calls could not be matched.
pub(crate) fn names_its_calls(agent: Agent) -> bool {
    matches!(agent, Agent::ClaudeCode | Agent::Codex | Agent::OpenCode)
}

/// The steps of a session's exchanges, in order: typed prompts, calls that have ended, and commands that only began.
pub(crate) fn of_exchanges(agent: Agent, exchanges: &[Exchange]) -> Vec<Reported> {
    exchanges.iter().flat_map(|exchange| of_exchange(agent, exchange)).collect()
}

fn of_exchange(agent: Agent, exchange: &Exchange) -> Vec<Reported> {
    let mut reports = Vec::new();
    if let Some(prompt) = exchange.prompt.as_ref().filter(|prompt| prompt.kind == PromptKind::Typed) {
        let text = cut(prompt.text.trim(), PROMPT_BYTES_MAX);
        reports.push(Reported { at: exchange.at, step: Step::Prompt { text }, once: None });
    }
    for turn in &exchange.turns {
        match turn {
            Turn::Call(call) if !call.id.is_empty() => {
                let steps = of_call(call);
                let first = steps.first().and_then(|first| once(first, &call.id));
                let one = |(n, step)| Reported {
                    at: call.at,
                    step,
                    once: first.as_ref().map(|first| nth(first, n)),
                };
                reports.extend(steps.into_iter().enumerate().map(one));
            }
            // The other agents' hooks report it.
            Turn::Stopped { by: Stop::Service, at: Some(at) } if agent == Agent::Codex => {
                let step = Step::TurnFailed { error: "the model's service failed".to_owned() };
                let once = Some(format!("turn_failed:{at}"));
                reports.push(Reported { at: Some(*at), step, once });
            }
            _ => {}
        }
    }
    reports
}

/// The steps of a call: its end, or the beginning of one that has no end.
fn of_call(call: &Call) -> Vec<Step> {
    let ending = match call.outcome {
        Outcome::Pending => return began(call).into_iter().collect(),
        // The hook that reports beginnings runs before anybody is asked.
        Outcome::Rejected { .. } | Outcome::Skipped => {
            return ended(call, Ending::Interrupted).into_iter().collect();
        }
        Outcome::Failed => Ending::Failed,
        Outcome::Done if goes_on(&call.output) => Ending::Unknown,
        Outcome::Done => Ending::Passed,
    };
    match &call.action {
        Action::Command { line } if !line.is_empty() => {
            let end = Ran { ending, exit: call.exit, ms: None, output: &call.output };
            vec![ran(call, line, &end)]
        }
        Action::Edit { paths, .. } if ending == Ending::Passed => edited(call, paths, |_| (0, 0)),
        Action::Plan { text } => plan(text),
        Action::Todo { items } => todo(call, items),
        Action::Other { .. } => ended(call, ending).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The end of a call that may be recorded as begun, other than of a command that ran.
fn ended(call: &Call, ending: Ending) -> Option<Step> {
    let Step::Started { call, tool, what } = began(call)? else { return None };
    Some(Step::Called { call: Some(call), tool, what, ending })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_transcript::turn::Prompt;

    fn command(id: &str, outcome: Outcome, exit: Option<i32>) -> Turn {
        let action = Action::Command { line: "cargo test".to_owned() };
        let output = "test a::b ... FAILED".to_owned();
        Turn::Call(Call { id: id.to_owned(), action, outcome, exit, output, ..Call::default() })
    }

    #[test]
    fn a_cut_leaves_no_secret_without_its_name() {
        let secret = "MKF6Xhunterpass99";
        for after in 0..700 {
            let text = format!("{}password: {secret} {}", "pad pad\n".repeat(100), "z".repeat(after));
            for cut in [tail(&text), cut(&text, 600), cut(&text, 240)] {
                assert!(!cut.contains(secret) && !cut.contains("hunterpass"), "{after}: {cut}");
                assert!(cut.len() <= 600, "{after}: {cut}");
            }
        }
        assert_eq!(cut("as it is", 8), "as it is");
    }

    #[test]
    fn a_key_with_a_line_per_item_is_in_no_item() {
        let line = "MIIEowIBAAKCAQEAx3Zk9fYpLmQ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2";
        let texts = [
            "mend it",
            "-----BEGIN RSA PRIVATE KEY-----",
            line,
            line,
            "-----END RSA PRIVATE KEY-----",
            "test it",
        ];
        let items: Vec<Todo> =
            texts.iter().map(|text| Todo { text: (*text).to_owned(), ..Todo::default() }).collect();
        let steps = list(&items);
        let [Step::Planned { steps }] = steps.as_slice() else { panic!("{steps:?}") };
        let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!(texts, ["mend it", REDACTED_KEY, REDACTED_KEY, REDACTED_KEY, REDACTED_KEY, "test it"]);
    }

    #[test]
    fn a_transcript_reports_what_a_hook_does_under_the_same_name() {
        let edit = Call {
            id: "c3".to_owned(),
            action: Action::Edit {
                paths: vec!["a.rs".to_owned(), "b.rs".to_owned()],
                excerpt: String::new(),
            },
            outcome: Outcome::Done,
            ..Call::default()
        };
        let exchange = Exchange {
            prompt: Some(Prompt { text: " Mend it ".to_owned(), kind: PromptKind::Typed }),
            turns: vec![
                command("c1", Outcome::Failed, Some(101)),
                command("c2", Outcome::Pending, None),
                command("", Outcome::Done, Some(0)),
                command("c4", Outcome::Rejected { said: String::new() }, None),
                Turn::Call(edit),
            ],
            ..Exchange::default()
        };
        let reports = of_exchanges(Agent::ClaudeCode, &[exchange]);
        let names: Vec<Option<&str>> = reports.iter().map(|reports| reports.once.as_deref()).collect();
        let started = Some("started:c2:0");
        let (called, edited) = (Some("called:c4:0"), [Some("edited:c3:0"), Some("edited:c3:1")]);
        assert_eq!(names, [None, Some("ran:c1:0"), started, called, edited[0], edited[1]]);
        assert!(matches!(reports[3].step, Step::Called { ending: Ending::Interrupted, .. }));
        assert!(
            matches!(&reports[2].step, Step::Started { call, what, .. } if call == "c2" && what == "cargo test")
        );
        assert_eq!(reports[0].step, Step::Prompt { text: "Mend it".to_owned() });
        let Step::Ran { ending, exit, tests, tail, .. } = &reports[1].step else { panic!("{reports:?}") };
        assert_eq!((*ending, *exit), (Ending::Failed, Some(101)));
        assert_eq!(tests.as_ref().unwrap().names, ["a::b"]);
        assert!(tail.contains("FAILED"));
        let server = |tool: &str, outcome| {
            let (tool, action) = (tool.to_owned(), Action::Other { input: "{}".to_owned() });
            of_call(&Call { id: "c5".to_owned(), tool, action, outcome, ..Call::default() })
        };
        assert!(
            matches!(&server("mcp__forge__merge", Outcome::Pending)[..], [Step::Started { what, .. }] if what == "mcp__forge__merge")
        );
        assert!(matches!(
            &server("mcp__forge__merge", Outcome::Done)[..],
            [Step::Called { call: Some(_), ending: Ending::Passed, .. }]
        ));
        assert!(server("mcp__cerebro__mem_search", Outcome::Pending).is_empty());
        assert!(server("WebFetch", Outcome::Pending).is_empty());
        let Turn::Call(call) = command("c1", Outcome::Done, None) else { panic!() };
        let output = "Command running in background with ID: b1. Output is being written to: /t".to_owned();
        let behind = Call { output, ..call.clone() };
        assert!(matches!(of_call(&behind)[..], [Step::Ran { ending: Ending::Unknown, exit: None, .. }]));
        let unknown = Ran { ending: Ending::Unknown, exit: None, ms: None, output: "" };
        assert_eq!(once(&ran(&call, "cargo test", &unknown), "c1").as_deref(), Some("ran?:c1"));
    }
}
