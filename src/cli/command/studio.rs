//! `cerebro studio`: an endpoint for Surrealist and other SurrealDB clients, while the command runs.

use super::endpoint::Endpoint;
use super::prelude::*;
use crate::answer::listeners::Studio;

/// Open the database to Surrealist and other clients, read-only
///
/// Opens a SurrealDB endpoint on 127.0.0.1 over the store that agents go on using, prints how to connect, and closes it
/// when interrupted (Ctrl-C). Clients can read and follow changes, and change nothing. The password is new each time.
#[derive(Debug, Args)]
pub struct StudioArgs {
    /// Listen on this port [default: any free port]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Let web pages of this origin connect too, such as `https://db.example.org`; can be repeated
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Close the endpoint that another command opened
    #[arg(long, conflicts_with_all = ["port", "origins"])]
    stop: bool,
}

const STUDIO: Endpoint<of::StudioStatus, of::StudioClose> = Endpoint {
    status: of::StudioStatus,
    close: of::StudioClose,
    open: "read-only; open until this command is interrupted (Ctrl-C)",
    ended: "the endpoint was closed by `cerebro studio --stop`",
    closed: "the endpoint is closed",
    none: "no endpoint was open",
};

pub async fn run(context: &CommandContext, args: StudioArgs) -> Result<()> {
    if args.stop {
        return STUDIO.stop(context).await;
    }
    let request = Request::new(of::StudioOpen).with("port", args.port).with("origins", args.origins);
    STUDIO.hold(context, request, facts).await
}

fn facts(Studio { access, file }: &Studio) -> Vec<(&'static str, String)> {
    vec![
        ("endpoint", shown(&access.endpoint)),
        ("for clients", shown(&access.rpc)),
        ("namespace", shown(&access.namespace)),
        ("database", shown(&access.database)),
        ("sign in as", "database user".to_owned()),
        ("user", shown(&access.user)),
        ("password", shown(&access.password)),
        ("also in", shown(file)),
    ]
}
