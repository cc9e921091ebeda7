//! The operations behind `cerebro web`. The page is open as long as the connection of its command.
//!
//! The page itself ([`crate::web`]) is a client of the daemon over an in-memory pipe. It uses the same operations as
//! commands and screens, for a person who only watches.

use tokio::io::duplex;

use super::context::{Context, Listening, OpenPage};
use super::prelude::*;
use crate::daemon::{
    VERSION,
    client::Client,
    hello::{self, Hello},
};
use crate::{
    answer::listeners::{Closed, Web},
    web,
};
use cerebro_core::code::Code;

/// Size of the pipe in each direction, in bytes.
const PIPE_BYTES: usize = 64 * 1024;

pub(super) async fn open(call: &mut Call) -> AnswerTo<of::WebOpen> {
    let port = call.arguments.port()?;
    let context = call.context.clone();
    let mut place = context.web().lock().await;
    match place.take() {
        Some(open) if open.listening.is_open() => return another_link(place.insert(open), port),
        // It is closing, and its port may be the requested one.
        Some(closing) => {
            closing.listening.close().await;
        }
        None => {}
    }
    let client = client(&context, call.connection.watching_hello()).await?;
    let leaving = context.control().stopping().cancelled_owned();
    let opened = web::open(client, port, leaving).await.map_err(|error| {
        ArgumentError::new("port", Some(&port.to_string()), format!("{error}; choose another"))
    })?;
    call.connection.hold_listener(opened.stop.clone());
    let listening = Listening { address: opened.address, stop: opened.stop, ended: opened.ended };
    Ok(link_to(place.insert(OpenPage { listening, entrance: opened.entrance }), false))
}

/// A new link to the page that is open. The page still belongs to the command that opened it.
fn another_link(open: &OpenPage, port: u16) -> AnswerTo<of::WebOpen> {
    let address = open.listening.address;
    if port != 0 && port != address.port() {
        let problem = format!("the page is already open on {address}; `cerebro web --stop` closes it");
        return Err(ArgumentError::new("port", Some(&port.to_string()), problem).into());
    }
    Ok(link_to(open, true))
}

fn link_to(open: &OpenPage, already_open: bool) -> Web {
    Web { address: Text::of(open.listening.address), link: open.entrance.link().into(), already_open }
}

/// Connects to this daemon for a person who only watches, in the folder of the command, so that memories are checked
/// against the code there.
async fn client(context: &Context, hello: Hello) -> Result<Client, Fault> {
    let (near, far) = duplex(PIPE_BYTES);
    let daemon = hello::Reply::to(&hello, VERSION);
    tokio::spawn(context.serve(hello, far));
    let client = Client::over(near, daemon, web::CALL_MAX).await;
    client.map_err(|error| Fault::new(Code::Internal, error.to_string()))
}

/// Closes the page that a command opened.
pub(super) async fn close_for(call: &mut Call) -> AnswerTo<of::WebClose> {
    Ok(Closed { closed: close(&call.context).await })
}

/// Closes the page. Returns whether it was open.
pub(crate) async fn close(context: &Context) -> bool {
    match context.web().lock().await.take() {
        Some(open) => open.listening.close().await,
        None => false,
    }
}
