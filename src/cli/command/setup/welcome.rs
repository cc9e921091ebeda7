//! `cerebro` alone, typed by a person: explains what it is, which agents are here, and what to type next.

use std::fmt::Write as _;

use super::super::prelude::*;
use super::{AgentFiles, SetupContext};
use crate::daemon::VERSION;
use crate::home::bytes_below;
use crate::setup::AGENTS;

pub fn run(context: &CommandContext) -> Result<()> {
    let setup = SetupContext::of(context)?;
    let mut agents = Vec::new();
    for agent in AGENTS.iter().filter(|agent| agent.is_installed(&setup.folders)) {
        // `setup AGENT` reports a file that cannot be read; here it counts as not set up.
        let is_set_up = AgentFiles::of(context, agent).and_then(|agent_files| agent_files.is_set_up());
        agents.push((agent.title, is_set_up.unwrap_or(false)));
    }
    let memory = setup
        .folder
        .exists()
        .then(|| format!("Memory: {} ({})\n", setup.short(&setup.folder), bytes(bytes_below(&setup.folder))));
    context.output.text(&text(&agents, memory.as_deref().unwrap_or_default()))
}

/// The whole text, from the agents found and whether each is set up.
fn text(agents: &[(&str, bool)], memory: &str) -> String {
    let mut text = format!(
        "Cerebro {VERSION}: lasting memory for AI coding agents, on this machine only.\n\
         Agents save what they decide, fix and learn, and find it in later sessions.\n{memory}\n"
    );
    if agents.is_empty() {
        text += "No agent was found here. Set one up by its name:\n";
    } else {
        text += "Agents found here:\n";
        let width = agents.iter().map(|(title, _)| title.len()).max().unwrap_or_default();
        for (title, is_set_up) in agents {
            let state = if *is_set_up { "set up" } else { "not set up" };
            let _ = writeln!(text, "  {title:<width$}  {state}");
        }
        text += "\nWhat to type next:\n";
    }
    let is_any_missing = agents.iter().any(|(_, is_set_up)| !is_set_up);
    let next: &[(&str, &str)] = if agents.is_empty() {
        &[("cerebro setup AGENT", "set up an agent; `cerebro setup` lists them")]
    } else if is_any_missing {
        &[("cerebro setup --all", "set up these agents; each change is shown first")]
    } else {
        &[
            ("cerebro search WORDS", "find what your agents have saved"),
            ("cerebro web", "see it in a browser"),
        ]
    };
    for (command, words) in next.iter().chain(&[("cerebro help", "every command")]) {
        let _ = writeln!(text, "  {command:<21} {words}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_depends_on_what_is_set_up() {
        for (agents, wanted, unwanted) in [
            (&[][..], "cerebro setup AGENT", "--all"),
            (&[("Codex", true), ("Zed", false)], "cerebro setup --all", "cerebro web"),
            (&[("Codex", true)], "cerebro search WORDS", "--all"),
        ] {
            let text = text(agents, "");
            assert!(text.contains(wanted) && !text.contains(unwanted), "{text}");
            assert!(text.contains("cerebro help"), "{text}");
        }
        assert!(text(&[("Codex", true), ("Claude Code", false)], "").contains("  Codex        set up\n"));
    }
}
