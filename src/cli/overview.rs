//! The first screen of help: what the program is, how to begin, and the commands by what they are for.

use std::fmt::Write as _;

use clap::Command;

/// What a person types first.
const FIRST: [(&str, &str); 4] = [
    ("cerebro setup --all", "set up the agents that are found on this machine"),
    ("cerebro search WORDS", "find what was saved"),
    ("cerebro save TITLE TEXT", "save something yourself"),
    ("cerebro web", "see everything in a browser"),
];

/// The commands by what they are for. clap itself lists them in one piece.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Find and read", &["search", "get", "list", "timeline", "context", "graph", "tui", "web"]),
    (
        "Save and change",
        &[
            "save", "update", "pin", "unpin", "archive", "unarchive", "delete", "restore", "consolidate",
            "tombstones",
        ],
    ),
    ("Projects, sessions and figures", &["projects", "sessions", "prompts", "events", "stats", "health"]),
    ("Past sessions, documents and work", &["history", "distil", "ingest", "documents", "work"]),
    ("Search by meaning", &["model", "worker", "jobs", "reindex"]),
    ("Move and repair", &["export", "import", "backup", "compact", "doctor", "whatif"]),
    ("Set up", &["setup", "unsetup", "uninstall", "upgrade", "completions", "prompt"]),
    ("Servers and the database", &["daemon", "mcp", "serve", "hook", "sql", "studio"]),
];

/// The command line whose own help shows the groups.
pub fn grouped(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{}\n{{usage-heading}} {{usage}}\n\n{}Options of every command:\n{{options}}\n\n\
         `cerebro help COMMAND` describes a command and its options.\n",
        table("To begin", FIRST.iter().copied()),
        groups(&command)
    );
    command.help_template(template)
}

fn groups(command: &Command) -> String {
    let about = |name: &&'static str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        (*name, about.map(ToString::to_string).unwrap_or_default())
    };
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let rows: Vec<(&str, String)> = names.iter().map(about).collect();
        text += &table(heading, rows.iter().map(|(name, about)| (*name, about.as_str())));
        text.push('\n');
    }
    text
}

fn table<'a>(heading: &str, rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or_default().max(11);
    let mut text = format!("{heading}:\n");
    for (name, about) in rows {
        let _ = writeln!(text, "  {name:<width$}  {about}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::super::screen::tests::compare;
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let mut shown: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }

    #[test]
    fn the_first_screen_fits_a_terminal_of_80_columns() {
        let help = grouped(Cli::command().term_width(80)).render_long_help().to_string();
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
        compare("help", &help);
    }
}
