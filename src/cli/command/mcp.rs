//! `cerebro mcp`: the server that MCP clients start.

use tokio::runtime::Builder;

use super::prelude::*;
use super::{SERVING_THREADS, until_done, workers};
use crate::app::App;
use crate::config::Config;
use crate::pump::{self, PumpError, PumpOptions};
use cerebro_core::domain::Project;
use cerebro_core::redact;

/// Serve an agent over stdio: the command to give to MCP clients
///
/// Passes the agent's messages to the daemon, and starts the daemon if none runs. It writes nothing but the protocol to
/// standard output.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The project of calls that name none [default: that of the working folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Serve from this process, without a daemon; nobody else can use the memory at the same time
    #[arg(long)]
    standalone: bool,
}

pub fn run(context: &CommandContext, args: McpArgs) -> Result<()> {
    // Lines that are only passed on need not go from one thread to another.
    let threads = if args.standalone { workers(SERVING_THREADS) } else { Builder::new_current_thread() };
    until_done(threads, async { pump(context, args).await })
}

async fn pump(context: &CommandContext, args: McpArgs) -> Result<()> {
    if args.project.as_deref().and_then(Project::parse).is_some_and(|project| project.is_reserved()) {
        return Err(Error::usage(format!("--project: {}", Project::RESERVED_WHY)));
    }
    let home = context.home()?;
    let options = PumpOptions { project: args.project };
    let ended = if args.standalone {
        let config = Config::read(&home.config_file())?;
        let settings = config.settings_in(&home)?;
        redact::configure(config.redaction);
        let own = home.clone();
        let embedding = config.embedding(&home);
        let history = Config::history(&home);
        let open = |control| App::open(own, settings, embedding, history, control);
        pump::run_standalone(&home, options, open).await
    } else {
        Daemon::agrees(&home).await?;
        pump::run(&home, options).await
    };
    ended.map_err(|error| match error {
        PumpError::Lock(_) => Error::user(error).hint("`cerebro daemon stop` ends the daemon"),
        PumpError::Signals(_) => Error::internal(error),
    })
}
