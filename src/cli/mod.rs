//! The command line. Except for `mcp` and `daemon run`, which are servers, every command that needs data asks the
//! daemon for it and opens no store itself.

mod command;
mod daemon_client;
mod empty_values;
mod error;
mod hits;
mod logging;
mod output;
mod overview;
mod screen;
mod table;
mod typed;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser};

use self::command::Command;
use self::daemon_client::{Daemon, Request};
use self::output::Output;
use self::typed::Typed;
use crate::answer::{Ask, Received};
use crate::home::Home;

/// Lasting memory for AI coding agents
///
/// Agents save what they decide, fix and learn, and find it again in later sessions and in other agents. They talk to
/// `cerebro mcp`; the other commands are for you.
#[derive(Debug, Parser)]
#[command(name = "cerebro", version, propagate_version = false, disable_help_subcommand = false)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
struct Global {
    /// The folder of the memory: database, index, log and socket [default: ~/.cerebro]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    home: Option<PathBuf>,
    /// Use a database on a server instead of the home's own: ws://, wss://, http:// or https://. User and password come
    /// from [remote] in config.toml, or from CEREBRO_DB_USER and CEREBRO_DB_PASSWORD; a running daemon must have the same
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    db: Option<String>,
    /// Print the answer as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
}

/// What a command works with.
struct CommandContext {
    home: Option<PathBuf>,
    db: Option<String>,
    output: Output,
}

impl CommandContext {
    /// Opens the home; makes it when it is missing.
    fn home(&self) -> error::Result<Home> {
        Ok(Home::open(self.home.as_deref())?.with_database(self.db.clone()))
    }

    /// Asks the daemon one thing.
    async fn ask<O: Ask>(&self, request: Request<O>) -> error::Result<Received<O::Answer>> {
        Daemon::reach(&self.home()?).await?.read(request).await
    }

    /// As [`Self::ask`], and writes the answer as JSON if that was asked for.
    async fn answer<O: Ask>(&self, request: Request<O>) -> error::Result<Received<O::Answer>> {
        let answer = self.ask(request).await?;
        self.output.json(answer.raw())?;
        Ok(answer)
    }

    /// As [`Self::answer`], for a call that may take long.
    async fn answer_patiently<O: Ask>(&self, request: Request<O>) -> error::Result<Received<O::Answer>> {
        let answer = Daemon::reach_patiently(&self.home()?).await?.read(request).await?;
        self.output.json(answer.raw())?;
        Ok(answer)
    }
}

/// Runs the command line. The exit code is 0; 1 for what the user can fix; 2 for an invalid command line (1 if an
/// agent may have meant a hook); 3 for an internal error.
pub fn main() -> ExitCode {
    crate::platform::keep_private();
    let (Cli { global, command }, typed) = match parsed() {
        Ok(parsed) => parsed,
        Err(_) if is_greeting() => return welcome(),
        Err(words) => {
            // Help and version are "errors" with exit code 0. If printing fails, there is no place to report it.
            let _ = words.print();
            return ExitCode::from(refusal_code(words.exit_code(), std::env::args_os().skip(1)));
        }
    };
    // Log lines would disturb a full-screen display.
    let is_logged = !(command.has_screens() && io::stderr().is_terminal());
    let fault = is_logged.then(|| logging::begin(command.log_level(), command.is_daemon())).flatten();
    let context = CommandContext { home: global.home, db: global.db, output: Output::new(global.json) };
    if let Some(fault) = fault.filter(|_| command.log_level() != "off") {
        context.output.warn(&fault);
    }
    exit_code(&context, command.run(&context).map_err(|error| error.named(&typed)))
}

/// The exit code of a command; says why it failed, unless the command has said so itself.
fn exit_code(context: &CommandContext, done: error::Result<()>) -> ExitCode {
    let Err(error) = done else { return ExitCode::SUCCESS };
    context.output.error(&error);
    ExitCode::from(error.exit_code())
}

/// The command line of this process, and the options in it.
fn parsed() -> Result<(Cli, Typed), clap::Error> {
    let mut command = overview::grouped(Cli::command());
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    empty_values::refuse(&command, &matches)?;
    let typed = Typed::of(&command, &matches);
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut Cli::command()))?;
    Ok((cli, typed))
}

/// Whether a person has typed the name of the program alone. An agent that dropped a hook's arguments has no
/// terminal on either side.
fn is_greeting() -> bool {
    std::env::args_os().len() <= 1 && io::stdin().is_terminal() && io::stdout().is_terminal()
}

fn welcome() -> ExitCode {
    let context = CommandContext { home: None, db: None, output: Output::new(false) };
    exit_code(&context, command::welcome(&context))
}

/// The exit code for a command line that clap did not take, from clap's own.
///
/// To agents a hook that ends with 2 means "stop what the user asked for". So no spelling of a hook's command
/// line ends with it, nor does the bare program, which is what an agent runs that drops a hook's arguments.
fn refusal_code(of_clap: i32, arguments: impl Iterator<Item = OsString>) -> u8 {
    match u8::try_from(of_clap) {
        Ok(0) => 0,
        _ if is_hook(arguments) => error::Kind::User.exit_code(),
        _ => error::Kind::Usage.exit_code(),
    }
}

/// Whether a command line, perhaps an invalid one, is empty or asks for `hook`: only options and their possible
/// values may come before that word.
fn is_hook(arguments: impl Iterator<Item = OsString>) -> bool {
    let (mut is_empty, mut may_be_value) = (true, false);
    for argument in arguments {
        is_empty = false;
        let word = argument.to_string_lossy();
        if word == "hook" {
            return true;
        }
        let is_option = word.starts_with('-');
        if !is_option && !may_be_value {
            return false;
        }
        may_be_value = is_option;
    }
    is_empty
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_command_tree_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_option_says_what_it_is_for() {
        fn check(command: &clap::Command) {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name}");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{name} {}", argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn the_commands_that_operations_name_are_there() {
        use cerebro_core::operation::Operation;

        let tree = Cli::command();
        for operation in Operation::ALL {
            let Some(words) = operation.command() else { continue };
            let mut command = &tree;
            for word in words.split(' ') {
                let found = command.find_subcommand(word);
                command = found.unwrap_or_else(|| panic!("{operation}: no `cerebro {words}`"));
            }
        }
    }

    #[test]
    fn command_lines_are_understood() {
        for line in [
            "--home /x daemon run --detached",
            "daemon run --detached --home /x",
            "daemon logs -f --lines 5",
            "mcp --project p --standalone",
            "save Title Content",
            "save --title T --tag a --tag b --json",
            "save Title -",
            "search two words --limit 5 --all-projects",
            "search -- --no-verify",
            "get k3f --history",
            "get k3f k4f",
            "delete k3f k4f --hard",
            "delete --type note --until 30d --project p",
            "rm k3f",
            "consolidate",
            "consolidate --apply",
            "consolidate --undo k3f --json",
            "archive k3f k4f",
            "ls --archived",
            "ls --type bugfix --tag a --session s --agent codex --cursor 20",
            "prompts --all-projects",
            "projects rename a b",
            "projects delete a --hard --yes",
            "export --project p --type bugfix --since 7d",
            "status",
            "timeline k3f --before 0 --within project",
            "update k3f --tag= --expected-revision 2",
            "delete k3f --hard --yes",
            "tui --project p",
            "projects",
            "projects merge a b --yes",
            "export",
            "export --format markdown notes",
            "import -",
            "import --from server-memory memory.json --dry-run --project p",
            "backup --to /b --keep 3 --verify",
            "backup verify /b/x",
            "restore /b/x.surql.zst",
            "restore --replace x.surql.zst",
            "backup restore --replace /b/x",
            "doctor --fix",
            "sql SELECT --set a=b --limit 5",
            "sql --file q.surql",
            "studio --port 8000 --origin https://a --origin https://b",
            "studio --stop",
            "help save",
            "prompt --full",
            "setup --all --yes --no-hooks",
            "setup --all --dry-run",
            "uninstall --memory --yes",
            "uninstall --yes",
            "setup --check",
            "daemon install --no-start",
            "completions zsh --install",
            "upgrade --check --from file",
        ] {
            let parsed = Cli::try_parse_from(["cerebro"].into_iter().chain(line.split_whitespace()));
            let helped = parsed.as_ref().is_err_and(|error| error.kind() == ErrorKind::DisplayHelp);
            assert!(parsed.is_ok() || helped, "{line}: {parsed:?}");
        }
    }

    #[test]
    fn command_lines_that_make_no_sense_are_refused() {
        for line in [
            "",
            "no-such",
            "get",
            "search",
            "search x --no-such-flag",
            "timeline k --within day",
            "update k",
            "delete",
            "delete k --type note",
            "pin",
            "projects merge a",
            "backup --keep 0",
            "import f --project p",
            "sql x --file y",
            "studio --stop --port 1",
            "studio --port 65536",
            "setup codex --all",
            "setup --all --check --dry-run",
            "completions tcsh",
            "upgrade --from file",
            "upgrade --check",
        ] {
            let parsed = Cli::try_parse_from(["cerebro"].into_iter().chain(line.split_whitespace()));
            assert_eq!(parsed.map_err(|error| error.exit_code()).err(), Some(2), "{line}");
        }
    }

    #[test]
    fn no_hook_ends_with_the_code_that_stops_an_agent() {
        let code = |line: &str, of_clap| refusal_code(of_clap, line.split_whitespace().map(OsString::from));
        for line in [
            "",
            "hook --home",
            "hook claude-code Stop --home",
            "--home hook claude-code Stop",
            "--no-such hook claude-code Stop",
            "--home /x --db y hook --db",
            "--json=1 hook codex Stop",
        ] {
            assert_eq!(code(line, 2), 1, "{line}");
            assert_eq!(code(line, 0), 0, "{line}");
        }
        for line in ["search hook --no-such", "--home /x get", "--no-such", "no-such hook"] {
            assert_eq!(code(line, 2), 2, "{line}");
        }
        assert_eq!(code("search --help", 0), 0);
    }

    #[test]
    fn a_shortfall_is_the_users_to_mend_and_is_not_said_twice() {
        let short = error::Error::reported();
        assert_eq!((error::done_if(true), error::done_if(false)), (Ok(()), Err(short.clone())));
        assert_eq!((short.exit_code(), short.lines()), (1, None));
    }
}
