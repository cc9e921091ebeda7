//! `cerebro web`: the memory in a browser, while the command runs.

use std::process::{Command, Stdio};

use super::endpoint::Endpoint;
use super::prelude::*;
use crate::answer::listeners::Web;

/// What opens a link on this system, by the person's own choice of browser.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Browse the memory in a web browser: search, read, edit, watch
///
/// Opens a page on 127.0.0.1, prints a link to it and opens the link in your browser. The link works once. The page
/// closes when this command is interrupted (Ctrl-C). If the page is open already, the command prints a new link and
/// ends. The page loads nothing from elsewhere.
#[derive(Debug, Args)]
pub struct WebArgs {
    /// Listen on this port [default: any free port]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only print the link
    #[arg(long)]
    no_open: bool,
    /// Close the page that another command opened
    #[arg(long, conflicts_with_all = ["port", "no_open"])]
    stop: bool,
}

const WEB: Endpoint<of::WebStatus, of::WebClose> = Endpoint {
    status: of::WebStatus,
    close: of::WebClose,
    open: "the link works once; the page is open until this command is interrupted (Ctrl-C)",
    ended: "the page was closed by `cerebro web --stop`",
    closed: "the page is closed",
    none: "no page was open",
};
const SHARED: &str =
    "the page was open already: this link works once, and the page closes with the command that opened it";

pub async fn run(context: &CommandContext, args: WebArgs) -> Result<()> {
    if args.stop {
        return WEB.stop(context).await;
    }
    let opens = !args.no_open && !context.output.is_json();
    let request = Request::new(of::WebOpen).with("port", args.port);
    let facts = |page: &Web| vec![("open", shown(&page.link))];
    let shared = |page: &Web| page.already_open.then_some(SHARED);
    let then = |page: &Web| {
        if opens {
            open(context, page.link.raw());
        }
    };
    WEB.hold_and(context, request, facts, shared, then).await
}

/// Opens the link in the person's browser. If there is none, the printed link is enough.
fn open(context: &CommandContext, link: &str) {
    let mut opener = Command::new(OPENER);
    opener.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match opener.spawn() {
        // It ends when the browser has the link, or with it.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(_) => context.output.note("no browser could be opened: open the link yourself"),
    }
}
