//! `cerebro setup --check`: what is set up in agents, and whether their servers answer.

use super::super::prelude::*;
use super::{AgentFiles, SetupContext, State};
use crate::mcp::TOOLS;
use crate::setup::{AGENTS, Agent, Part, command_in, text_of, tools_of};

const STATES: &[(&str, Layout)] = &[
    ("part", Layout::Fixed),
    ("state", Layout::Fixed),
    ("file", Layout::Flexible),
    ("agent", Layout::Spare),
];

/// What a check of one agent found.
struct Checked {
    answer: Value,
    table: Table,
    /// What is to be said beside the table.
    notes: Vec<String>,
    /// Whether the server does not list its tools, or a part that was added is missing.
    is_short: bool,
}

/// Checks one agent.
pub(super) async fn one(context: &CommandContext, agent_files: &AgentFiles) -> Result<()> {
    let checked = check(agent_files).await?;
    context.output.json(&checked.answer)?;
    checked.show(context)?;
    done_if(!checked.is_short)
}

impl Checked {
    fn show(&self, context: &CommandContext) -> Result<()> {
        context.output.table(&self.table, "nothing is set up")?;
        context.output.notes(&self.notes);
        Ok(())
    }
}

/// Finds out what is set up in an agent, and whether its server answers.
async fn check(agent_files: &AgentFiles) -> Result<Checked> {
    let states = agent_files.states()?;
    let is_missing =
        |state: &State| !state.held && (state.part == Part::Server || agent_files.was_put(state.part));
    let mut table = Table::new(STATES);
    let mut parts = Vec::new();
    let mut faults = Vec::new();
    for target in &agent_files.targets {
        faults.extend(agent_files.fault(target)?.map(|fault| (&target.path, fault)));
    }
    for state in &states {
        let is_malformed = faults.iter().any(|(path, _)| *path == &state.target.path);
        let word = if is_malformed {
            "malformed"
        } else if state.held {
            "set up"
        } else if is_missing(state) {
            "missing"
        } else {
            "not set up"
        };
        let path = &state.target.path;
        parts.push(json!({ "part": state.part.as_str(), "state": word, "path": path }));
        let (part, file) = (state.part.as_str().to_owned(), agent_files.setup.short(path));
        table.add(vec![part, word.to_owned(), file, agent_files.agent.name.to_owned()]);
    }
    let connected = connect(agent_files).await?;
    let is_short = connected.is_err() || !faults.is_empty() || states.iter().any(is_missing);
    let (tools, problem) = match connected {
        Ok(tools) => (Some(tools), None),
        Err(problem) => (None, Some(problem)),
    };
    let mut notes = vec![match &problem {
        None => format!("{} connects: {} tools", agent_files.agent.title, tools.unwrap_or_default()),
        Some(problem) => format!("{} does not connect: {problem}", agent_files.agent.title),
    }];
    notes.extend(faults.into_iter().map(|(_, fault)| fault).filter(|fault| problem.as_ref() != Some(fault)));
    let answer = json!({
        "agent": agent_files.agent.name, "parts": parts, "connected": problem.is_none(), "tools": tools,
        "problem": problem,
    });
    Ok(Checked { answer, table, notes, is_short })
}

/// Checks every agent found here into which Cerebro was put, and names the others.
pub(super) async fn all(context: &CommandContext) -> Result<()> {
    let folders = SetupContext::of(context)?.folders;
    let (mut answers, mut is_short) = (Vec::new(), false);
    for agent in &AGENTS {
        let checked = match found(context, agent).await {
            Ok(Some(checked)) => checked,
            Ok(None) => {
                if agent.is_installed(&folders) {
                    let words = format!("{}: not set up; `cerebro setup {}`", agent.title, agent.name);
                    context.output.note(&words);
                }
                continue;
            }
            // The others are checked all the same.
            Err(error) => {
                is_short = true;
                let problem = error.to_string();
                context.output.warn(&format!("{}: {problem}", agent.title));
                answers.push(json!({
                    "agent": agent.name, "parts": [], "connected": false, "tools": null, "problem": problem,
                }));
                continue;
            }
        };
        is_short |= checked.is_short;
        checked.show(context)?;
        answers.push(checked.answer);
    }
    let is_none = answers.is_empty();
    context.output.json(&json!({ "agents": answers }))?;
    if is_none {
        context.output.note("no agent is set up; `cerebro setup` lists them");
    }
    done_if(!is_short && !is_none)
}

/// Checks an agent into which Cerebro was put; `None` for another one.
async fn found(context: &CommandContext, agent: &'static Agent) -> Result<Option<Checked>> {
    let agent_files = AgentFiles::of(context, agent)?;
    // A file that cannot be read is reported by the check.
    if agent_files.record.is_none() && !agent_files.is_set_up().unwrap_or(true) {
        return Ok(None);
    }
    check(&agent_files).await.map(Some)
}

/// Starts the command in the agent's file and counts its tools.
async fn connect(agent_files: &AgentFiles) -> Result<std::result::Result<usize, String>> {
    let Some(target) = agent_files.targets.first() else {
        return Ok(Err("it has no configuration".to_owned()));
    };
    if let Some(fault) = agent_files.fault(target)? {
        return Ok(Err(fault));
    }
    let text = text_of(target)?.unwrap_or_default();
    let Some(command) = command_in(target, &text) else {
        let hint = format!(
            "no entry in {}; run `cerebro setup {}`",
            agent_files.setup.short(&target.path),
            agent_files.agent.name
        );
        return Ok(Err(hint));
    };
    Ok(match tools_of(&command).await {
        // Those of groups may come beside them.
        Ok(tools) if TOOLS.iter().all(|tool| tools.iter().any(|name| *name == tool.name)) => Ok(tools.len()),
        Ok(tools) => Err(format!("it lists {} tools, {} were expected", tools.len(), TOOLS.len())),
        Err(problem) => Err(format!("{problem} (`{}`)", command.join(" "))),
    })
}
