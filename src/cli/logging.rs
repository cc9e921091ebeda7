//! What the program says of its own work, on standard error: never what memories hold.

use std::io::{self, IsTerminal};

use tracing_subscriber::{EnvFilter, fmt::format::FmtSpan};

/// The environment's variable for what is logged: a level, or directives such as `cerebro=debug`.
const VARIABLE: &str = "CEREBRO_LOG";
/// The libraries are heard from warnings on; a directive of the user comes after, and wins.
const QUIET: &str = "warn";

/// Begins to log from `level` on, or as the environment says.
pub fn begin(level: &str, plain: bool) {
    let wanted = std::env::var(VARIABLE).ok().filter(|wanted| !wanted.trim().is_empty());
    let (filter, fault) = filter(wanted.as_deref(), level);
    let begun = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Spans are the stages of a call, at `debug`; each tells how long it took. The engine compiles `trace` out
        // of the whole program.
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(io::stderr)
        .with_ansi(!plain && io::stderr().is_terminal())
        .try_init();
    if let (Ok(()), Some(fault)) = (begun, fault) {
        tracing::warn!("{VARIABLE} is not understood and left aside: {fault}");
    }
}

/// The filter, and what was wrong with the wanted one.
fn filter(wanted: Option<&str>, level: &str) -> (EnvFilter, Option<String>) {
    // A bare level is meant for this program.
    let ours = |directives: &str| match directives.parse::<tracing::Level>() {
        Ok(level) => format!("cerebro={level}"),
        Err(_) => directives.to_owned(),
    };
    let parse = |directives: &str| EnvFilter::try_new(format!("{QUIET},{}", ours(directives)));
    let fault = match wanted.map(parse) {
        Some(Ok(filter)) => return (filter, None),
        Some(Err(error)) => Some(error.to_string()),
        None => None,
    };
    (parse(level).unwrap_or_default(), fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_directives_win_and_bad_ones_are_told() {
        let text = |wanted, level| filter(wanted, level).0.to_string();
        for (wanted, level, has, lacks) in [
            (None, "info", "cerebro=info", "debug"),
            (Some("debug"), "info", "debug", "info"),
            (Some("debug"), "info", "warn", "tantivy"),
            (Some("warn,tantivy=trace"), "info", "tantivy=trace", "tantivy=warn"),
            (Some("cerebro=nonsense"), "info", "info", "nonsense"),
        ] {
            let filter = text(wanted, level);
            assert!(filter.contains(has) && !filter.contains(lacks), "{wanted:?}: {filter}");
        }
        assert!(filter(Some("cerebro=nonsense"), "warn").1.is_some());
        assert!(filter(Some("debug"), "warn").1.is_none());
    }
}
