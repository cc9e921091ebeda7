//! The connection to the daemon. All screens share it, and it is opened again whenever it is lost.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::asks::Ask;
use super::state::{Link, Message};
use crate::config::Config;
use crate::daemon::client::{self, Autostart, CallError, Client, Refusal};
use crate::daemon::hello::{Hello, Role};
use crate::home::Home;

/// Most requests in the queue: more than there are parts of screens.
const QUESTIONS_MAX: usize = 256;
/// How long a request may take. The store may have to open first, and build its index.
const CALL_MAX: Duration = Duration::from_secs(120);
/// How long to wait before connecting again; the first pause, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Starts to connect. Sends the daemon's answers as messages. Ends when the returned sender is dropped.
pub fn begin(home: Home, starts: bool, messages: Sender<Message>) -> Sender<Ask> {
    let (sender, questions) = mpsc::channel(QUESTIONS_MAX);
    let autostart = if starts { Autostart::Yes } else { Autostart::No };
    tokio::spawn(maintain(home, autostart, questions, messages));
    sender
}

async fn maintain(home: Home, autostart: Autostart, mut questions: Receiver<Ask>, messages: Sender<Message>) {
    let hello = Hello { watches: true, ..Hello::of_this_process(Role::Operator) }.located().await;
    let mut pause = PAUSE_FIRST;
    loop {
        match reach(&home, &hello, autostart).await {
            Ok(client) => {
                pause = PAUSE_FIRST;
                let daemon = client.daemon();
                let up = Link::Up { pid: daemon.pid, version: daemon.version.clone() };
                if messages.send(Message::Link(up)).await.is_err() {
                    return;
                }
                if serve(Arc::new(client), &mut questions, &messages).await.is_break() {
                    return;
                }
                if messages.send(Message::Link(Link::Down(String::new()))).await.is_err() {
                    return;
                }
            }
            Err(words) => {
                if messages.send(Message::Link(Link::Down(words))).await.is_err() {
                    return;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Connects. With [`Autostart::Yes`], starts a daemon if there is none.
async fn reach(home: &Home, hello: &Hello, autostart: Autostart) -> Result<Client, String> {
    Config::read(&home.config_file()).map_err(|error| error.to_string())?;
    let connection = client::connect(home, hello, autostart).await.map_err(|error| error.to_string())?;
    Client::new(connection, CALL_MAX).await.map_err(|error| error.to_string())
}

/// Passes requests on, each in a task of its own, until the connection is lost. `Break` means that the screens are
/// closed.
async fn serve(
    client: Arc<Client>,
    questions: &mut Receiver<Ask>,
    messages: &Sender<Message>,
) -> std::ops::ControlFlow<()> {
    let (lost, mut is_lost) = mpsc::channel::<()>(1);
    loop {
        tokio::select! {
            ask = questions.recv() => {
                let Some(ask) = ask else { return std::ops::ControlFlow::Break(()) };
                tokio::spawn(pass_on(Arc::clone(&client), ask, messages.clone(), lost.clone()));
            }
            _ = is_lost.recv() => return std::ops::ControlFlow::Continue(()),
        }
    }
}

async fn pass_on(client: Arc<Client>, ask: Ask, messages: Sender<Message>, lost: Sender<()>) {
    let Ask { number, slot, operation, arguments } = ask;
    let outcome = match client.call(operation, without_nulls(arguments)).await {
        Ok(value) => Ok(value),
        Err(CallError::Refused(refusal)) => Err(refusal),
        Err(CallError::Gone) => {
            // Another task may have reported the loss already.
            let _ = lost.try_send(());
            let _ = messages.send(Message::Lost { slot, number }).await;
            return;
        }
        Err(error) => Err(Refusal::in_words(error.to_string())),
    };
    // Nobody listens when the screens are closed.
    let _ = messages.send(Message::Answer { slot, number, outcome }).await;
}

/// Removes arguments that are null.
fn without_nulls(mut arguments: Value) -> Value {
    if let Value::Object(map) = &mut arguments {
        map.retain(|_, value| !value.is_null());
    }
    arguments
}
