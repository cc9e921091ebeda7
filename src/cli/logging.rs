//! The program's log on standard error. It never contains the text of memories.

use std::any::Any;
use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, filter::LevelFilter, fmt::format::FmtSpan};

/// The environment's variable for what is logged: a level, or directives such as `cerebro=debug`.
const VARIABLE: &str = "CEREBRO_LOG";
/// Libraries log from `warn` on. rmcp is quieter: its warnings repeat what clients sent, and a client's errors only
/// repeat that the daemon is gone. The user's directives come later, so they win.
const QUIET_DAEMON: &str = "warn,rmcp=error";
const QUIET_CLIENT: &str = "warn,rmcp=off";

/// Starts logging at `level` or as the environment says. Returns a warning if the variable is invalid.
pub fn begin(level: &str, is_daemon: bool) -> Option<String> {
    let wanted = std::env::var(VARIABLE).ok().filter(|wanted| !wanted.trim().is_empty());
    let quiet = if is_daemon { QUIET_DAEMON } else { QUIET_CLIENT };
    let (filter, fault) = filter(wanted.as_deref(), level, quiet);
    let begun = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Spans are the stages of a call, at `debug`, logged with their duration. The engine compiles `trace` out of
        // the whole program.
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(io::stderr)
        .with_ansi(!is_daemon && io::stderr().is_terminal())
        .try_init();
    if is_daemon {
        // The daemon's standard error is its log, so a panic is logged too.
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "panicked: {}", words_of(panic.payload()));
        }));
    }
    let warning = fault.map(|fault| format!("{VARIABLE} is ignored: {fault}")).filter(|_| begun.is_ok())?;
    if is_daemon {
        // The daemon's standard error is its log.
        tracing::warn!("{warning}");
        return None;
    }
    Some(warning)
}

/// The message of a panic if it is a fixed text of the program. A composed one may quote stored text, for example if a text
/// was cut inside a character.
fn words_of(payload: &(dyn Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("left out, because it may quote stored text")
}

/// The filter, and why the requested one is invalid.
fn filter(wanted: Option<&str>, level: &str, quiet: &str) -> (EnvFilter, Option<String>) {
    let parse = |directives: &str| {
        let directives = directives_of(directives)?;
        EnvFilter::try_new(format!("{quiet},{directives}")).map_err(|error| error.to_string())
    };
    let fault = match wanted.map(parse) {
        Some(Ok(filter)) => return (filter, None),
        Some(Err(fault)) => Some(fault),
        None => None,
    };
    (parse(level).unwrap_or_default(), fault)
}

/// The directives for the filter. `EnvFilter` takes any unknown word for a target at `trace`, and prints a coloured
/// complaint because `trace` is compiled out. So words are checked here, and `trace` is lowered to `debug`.
fn directives_of(wanted: &str) -> Result<String, String> {
    let level = |word: &str| Some(word.trim().parse::<LevelFilter>().ok()?.min(LevelFilter::DEBUG));
    // A bare level is meant for this program.
    if let Some(level) = level(wanted) {
        return Ok(format!("cerebro={level}"));
    }
    let directive = |part: &str| {
        let (target, word) = part.rsplit_once('=').map_or(("", part), |(target, word)| (target, word));
        let level = level(word).filter(|_| !word.trim().is_empty()).ok_or_else(|| {
            format!("`{}` is neither a level (error, warn, info, debug, off) nor `target=level`", part.trim())
        })?;
        Ok(if target.is_empty() { level.to_string() } else { format!("{}={level}", target.trim()) })
    };
    wanted.split(',').map(directive).collect::<Result<Vec<_>, String>>().map(|all| all.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_panic_quotes_no_text() {
        let panicked = |work: fn()| std::panic::catch_unwind(work).unwrap_err();
        assert_eq!(words_of(&*panicked(|| panic!("a fixed text"))), "a fixed text");
        let works: [fn(); 3] = [
            || panic!("{}", String::from("a secret")),
            || drop(String::from("a sécret")[..4].to_owned()),
            || assert_eq!("a secret".parse::<u8>().unwrap(), 1),
        ];
        for work in works {
            let words = words_of(&*panicked(work));
            assert!(words.contains("left out"), "{words}");
        }
    }

    #[test]
    fn the_users_directives_win_and_bad_ones_are_reported() {
        let text = |wanted, level| filter(wanted, level, QUIET_DAEMON).0.to_string();
        for (wanted, level, has, lacks) in [
            (None, "info", "cerebro=info", "debug"),
            (Some("debug"), "info", "debug", "info"),
            (Some("debug"), "info", "warn", "tantivy"),
            (Some("warn,tantivy=trace"), "info", "tantivy=debug", "trace"),
            (Some("trace"), "info", "cerebro=debug", "trace"),
            (Some("nonsense"), "info", "cerebro=info", "nonsense"),
            (None, "cerebro=warn,surrealdb=off", "surrealdb=off", "info"),
            (Some("cerebro=nonsense"), "info", "info", "nonsense"),
        ] {
            let filter = text(wanted, level);
            assert!(filter.contains(has) && !filter.contains(lacks), "{wanted:?}: {filter}");
        }
        for bad in
            ["cerebro=nonsense", "nonsense", "warn,oops", "cerebro=", "a=b=c", ",", "a=filter=like=none"]
        {
            assert!(filter(Some(bad), "warn", QUIET_CLIENT).1.is_some(), "{bad}");
        }
        let (heard, fault) = filter(Some("debug"), "warn", QUIET_CLIENT);
        assert!(
            fault.is_none() && heard.to_string().contains("rmcp=off"),
            "a client says itself that it lost its daemon"
        );
    }
}
