//! `cerebro studio`: an endpoint for Surrealist and other SurrealDB clients, while the command runs.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::{Desk, Outcome};
use crate::cli::error::{Error, Result};
use crate::cli::request::{Daemon, Request};
use crate::cli::table::shown;
use crate::daemon::platform;

/// How often the command looks whether the endpoint is still open.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Let Surrealist and other SurrealDB clients look at the living memory
///
/// Opens a SurrealDB endpoint on 127.0.0.1 over the store that agents go on using, prints how to connect,
/// and closes it when interrupted. Visitors can read and follow changes, never change anything: changes go
/// through the other commands. The password is a new one each time.
#[derive(Debug, Args)]
pub struct StudioArgs {
    /// Listen on this port [default: a free one]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Let pages of this origin connect too, such as <https://db.example.org>; can be repeated
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Close the endpoint that another command opened
    #[arg(long, conflicts_with_all = ["port", "origins"])]
    stop: bool,
}

pub async fn run(desk: &Desk, args: StudioArgs) -> Result<Outcome> {
    if args.stop { stop(desk).await } else { open(desk, args).await }
}

async fn stop(desk: &Desk) -> Result<Outcome> {
    let closed = match Daemon::running(&desk.home()?).await? {
        None => false,
        Some(daemon) => {
            let answer = daemon.ask(Request::new("op_studio_close")).await?;
            daemon.close().await;
            answer["closed"] == json!(true)
        }
    };
    if !desk.output.json(&json!({ "closed": closed }))? {
        desk.output.note(if closed { "the endpoint is closed" } else { "no endpoint was open" });
    }
    Ok(Outcome::Done)
}

async fn open(desk: &Desk, args: StudioArgs) -> Result<Outcome> {
    // Before it opens, so that no signal falls between.
    let end = platform::termination().map_err(Error::internal)?;
    let daemon = Daemon::reach(&desk.home()?).await?;
    let request = Request::new("op_studio_open").with("port", args.port).with("origins", args.origins);
    let access = daemon.ask(request).await?;
    if !desk.output.json(&access)? {
        desk.output.facts(&facts(&access))?;
        desk.output.note("read-only; open until this command is interrupted (Ctrl-C)");
    }
    let outcome = tokio::select! {
        () = end => Outcome::Done,
        () = closed(&daemon) => {
            desk.output.note("the endpoint was closed by `cerebro studio --stop`, or the daemon has left");
            Outcome::Short
        }
    };
    if outcome == Outcome::Done {
        // The endpoint ends with the connection anyway; so it is gone when the command is.
        daemon.ask(Request::new("op_studio_close")).await?;
    }
    daemon.close().await;
    Ok(outcome)
}

/// Waits until the endpoint is not open any more. That it asks keeps the daemon from leaving as idle.
async fn closed(daemon: &Daemon) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        match daemon.ask(Request::new("op_studio_status")).await {
            Ok(status) if status["open"] == json!(true) => {}
            _ => return,
        }
    }
}

fn facts(access: &Value) -> Vec<(&'static str, String)> {
    vec![
        ("endpoint", shown(&access["endpoint"])),
        ("for clients", shown(&access["rpc"])),
        ("namespace", shown(&access["namespace"])),
        ("database", shown(&access["database"])),
        ("sign in as", "database user".to_owned()),
        ("user", shown(&access["user"])),
        ("password", shown(&access["password"])),
        ("also in", shown(&access["file"])),
    ]
}
