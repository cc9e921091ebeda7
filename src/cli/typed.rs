//! What a person typed, by the names that the daemon has for it: an error about an argument names the option.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// The daemon's names of arguments whose option has neither the same name nor the same id.
const OTHER_NAMES: [(&str, &str); 4] =
    [("session_id", "session"), ("address", "http"), ("rows", "limit"), ("seconds", "timeout")];

/// The options and values of one command line.
#[derive(Debug, Default)]
pub struct Typed(Vec<Arg>);

impl Typed {
    /// Those that the command line has; no default values.
    pub fn of(command: &Command, matches: &ArgMatches) -> Self {
        let is_typed = |arg: &&Arg| {
            let id = arg.get_id().as_str();
            // A command does not know the options of another level.
            matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        let own = command.get_arguments().filter(is_typed).cloned();
        let below = matches
            .subcommand()
            .and_then(|(name, matches)| Some(Self::of(command.find_subcommand(name)?, matches)));
        Self(own.chain(below.unwrap_or_default().0).collect())
    }

    /// How the argument of the daemon was typed, such as `--since` or `TITLE`; `None` if it was not.
    pub fn name(&self, argument: &str) -> Option<String> {
        let other = OTHER_NAMES.iter().find(|(name, _)| *name == argument).map_or(argument, |(_, id)| *id);
        // The option `--type` has the id `kind`, and there is an option `--kind`: the name comes first.
        let by_long = |arg: &Arg| arg.get_long().is_some_and(|long| long.replace('-', "_") == argument);
        let by_id = |arg: &Arg| arg.get_id().as_str() == other;
        // `save TITLE CONTENT` is one list of words for the parser.
        let by_value =
            |arg: &Arg| arg.is_positional() && value_names(arg).any(|name| name == argument.to_uppercase());
        let ways: [&dyn Fn(&Arg) -> bool; 3] = [&by_long, &by_id, &by_value];
        let arg = ways.iter().find_map(|way| self.0.iter().find(|arg| way(arg)))?;
        Some(match arg.get_long() {
            Some(long) => format!("--{long}"),
            None if value_names(arg).count() > 1 => argument.to_uppercase(),
            None => value_names(arg).next().unwrap_or_else(|| argument.to_uppercase()),
        })
    }
}

fn value_names(arg: &Arg) -> impl Iterator<Item = String> {
    arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    #[test]
    fn an_argument_has_the_name_under_which_it_was_typed() {
        for (line, argument, want) in [
            ("search x --since 7d", "since", Some("--since")),
            ("search x --since 7d", "until", None),
            ("search x --since 7d", "limit", None),
            ("search x", "query", Some("QUERY")),
            ("search x --as-of 7d", "as_of", Some("--as-of")),
            ("list --type a --tag b", "type", Some("--type")),
            ("list --type a --tag b", "tags", Some("--tag")),
            ("save T text --session s", "session_id", Some("--session")),
            ("save T text", "title", Some("TITLE")),
            ("save T text", "content", Some("CONTENT")),
            ("save --title T --content -", "title", Some("--title")),
            ("update k --kind semantic", "kind", Some("--kind")),
            ("update k --kind semantic", "type", None),
            ("update k --type t --kind semantic", "kind", Some("--kind")),
            ("update k --valid-until x", "valid_until", Some("--valid-until")),
            ("graph entity x --project p", "name", Some("NAME")),
            ("graph entity x --project p", "project", Some("--project")),
            ("projects rename a b", "into", Some("INTO")),
            ("serve --http x --origin o", "address", Some("--http")),
            ("serve --http x --origin o", "origins", Some("--origin")),
            ("--json work show k", "work", Some("WORK")),
        ] {
            let mut command = Cli::command();
            let words = ["cerebro"].into_iter().chain(line.split(' '));
            let matches = command.try_get_matches_from_mut(words).unwrap();
            let typed = Typed::of(&command, &matches);
            assert_eq!(typed.name(argument).as_deref(), want, "{line}: {argument}");
        }
    }

    #[test]
    fn other_names_are_of_options() {
        fn has(command: &Command, id: &str) -> bool {
            command.get_arguments().any(|arg| arg.get_id() == id)
                || command.get_subcommands().any(|below| has(below, id))
        }
        for (argument, id) in OTHER_NAMES {
            assert!(has(&Cli::command(), id), "{argument}");
        }
    }
}
