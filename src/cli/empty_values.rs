//! Empty values on the command line. A script with an unset variable gives one. The daemon, which is made for agents, reads an
//! empty condition as none: `delete --tag ''` would mean every memory. So they are refused in one place.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error};

/// Where an empty value is allowed, by command: it removes the present value, or is a text that may be empty. A hook takes
/// any words, because it must never fail.
const ALLOWED: [(&str, &[&str]); 4] = [
    ("update", &["topic_key", "tags", "evidence", "trigger", "valid_from", "valid_until"]),
    ("install", &["query_prefix", "passage_prefix"]),
    ("use", &["query_prefix", "passage_prefix"]),
    ("hook", &["words"]),
];

/// Refuses a command line that gives an option or an argument nothing but blanks.
pub fn refuse(command: &Command, matches: &ArgMatches) -> Result<(), Error> {
    if let Some(empty) =
        command.get_arguments().find(|arg| is_blank(arg, matches) && !is_allowed(command, arg))
    {
        let rest = if empty.is_required_set() { "" } else { ", or leave it out" };
        let words = format!("the value of `{empty}` is empty: give one{rest}\n");
        return Err(Error::raw(ErrorKind::InvalidValue, words));
    }
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    command.find_subcommand(name).map_or(Ok(()), |command| refuse(command, matches))
}

fn is_blank(arg: &Arg, matches: &ArgMatches) -> bool {
    let id = arg.get_id().as_str();
    let Ok(Some(mut values)) = matches.try_get_raw(id) else { return false };
    // What the environment gives is not typed here.
    matches.value_source(id) == Some(ValueSource::CommandLine)
        && values.any(|value| value.to_string_lossy().trim().is_empty())
}

fn is_allowed(command: &Command, arg: &Arg) -> bool {
    ALLOWED.iter().any(|(name, ids)| *name == command.get_name() && ids.contains(&arg.get_id().as_str()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;
    use super::*;

    fn refused(words: &[&str]) -> Option<String> {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut(["cerebro"].iter().chain(words)).unwrap();
        refuse(&command, &matches).err().map(|error| error.to_string())
    }

    #[test]
    fn an_empty_value_is_refused_by_its_name() {
        for (words, name) in [
            (&["delete", "--tag", "", "--all-projects", "--hard", "--yes"][..], "--tag <TAG>"),
            (&["delete", "--tag", "a", "--tag= "], "--tag <TAG>"),
            (&["delete", "--session", "\t"], "--session <ID>"),
            (&["delete", ""], "ID"),
            (&["projects", "delete", ""], "<NAME>"),
            (&["history", "include", ""], "[WHAT]"),
            (&["history", "show", ""], "[SESSION]"),
            (&["save", "T", "text", "--valid-until", ""], "--valid-until <DATE>"),
            (&["consolidate", "--apply", ""], "--apply [<PLAN>]"),
            (&["search", ""], "QUERY"),
        ] {
            let error = refused(words).unwrap_or_else(|| panic!("{words:?} is taken"));
            assert!(error.contains(name) && error.contains("empty"), "{words:?}: {error}");
        }
    }

    #[test]
    fn an_empty_value_that_says_something_is_taken() {
        for words in [
            &["update", "k3f", "--tag", "", "--topic-key", "", "--trigger="][..],
            &["model", "use", "ollama", "--query-prefix", " "],
            &["hook", "codex", ""],
            &["consolidate", "--apply"],
            &["delete", "--all-projects", "--tag", "a"],
        ] {
            assert_eq!(refused(words), None, "{words:?}");
        }
    }

    #[test]
    fn what_may_be_empty_is_there() {
        fn ids(command: &Command, name: &str) -> Vec<String> {
            let own = command.get_arguments().filter(|_| command.get_name() == name);
            let own = own.map(|arg| arg.get_id().to_string());
            own.chain(command.get_subcommands().flat_map(|below| ids(below, name))).collect()
        }
        for (name, allowed) in ALLOWED {
            let ids = ids(&Cli::command(), name);
            assert!(allowed.iter().all(|id| ids.iter().any(|known| known == id)), "{name}: {ids:?}");
        }
    }
}
