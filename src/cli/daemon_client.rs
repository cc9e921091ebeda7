//! Calls the daemon on behalf of a person.

use std::time::Duration;

use serde_json::{Map, Value};

use super::error::{Error, Result};
use crate::answer::{Ask, Received, Text, memories::Named, of};
use crate::config::{Config, database_of_option};
use crate::daemon::client::{self, Autostart, Client, ConnectError};
use crate::daemon::hello::{Hello, Role};
use crate::folders;
use crate::home::Home;
use cerebro_core::domain::{ArrangementId, CandidateId, ChunkId, ExchangeId, MemoryId};
use cerebro_core::operation::Operation;

/// How long a call may take: the store may have to open first, and build its index.
const CALL_MAX: Duration = Duration::from_secs(120);
/// How long a call may take that moves everything of a project.
const LONG_CALL_MAX: Duration = Duration::from_secs(30 * 60);

/// An operation and its arguments. `O` is the operation as a type, if its answer has a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<O = Operation> {
    operation: O,
    arguments: Map<String, Value>,
}

impl<O> Request<O> {
    /// A call without arguments.
    pub fn new(operation: O) -> Self {
        Self { operation, arguments: Map::new() }
    }

    /// Adds an argument; one that was not given (null, `false`, an empty list) is left out.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let absent = match &value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !absent {
            self.arguments.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds the members of an object in the same way.
    #[must_use]
    pub fn given(self, arguments: Value) -> Self {
        let Value::Object(members) = arguments else { return self };
        members.into_iter().fold(self, |request, (name, value)| request.with(&name, value))
    }

    /// Whether it has no arguments.
    pub fn is_bare(&self) -> bool {
        self.arguments.is_empty()
    }
}

/// A connection to the home's daemon. It ends when this is dropped.
#[derive(Debug)]
pub struct Daemon {
    client: Client,
}

impl Daemon {
    /// Connects, and starts a daemon if none runs.
    pub async fn reach(home: &Home) -> Result<Self> {
        Self::reach_within(home, CALL_MAX).await
    }

    /// As [`Self::reach`], for calls that may take long.
    pub async fn reach_patiently(home: &Home) -> Result<Self> {
        Self::reach_within(home, LONG_CALL_MAX).await
    }

    async fn reach_within(home: &Home, timeout: Duration) -> Result<Self> {
        // A daemon could only say in its log that it does not understand the file.
        Config::read(&home.config_file())?;
        let wanted = database_of_option(home)?;
        let hello = Hello::of_this_process(Role::Operator).located().await;
        let hello = folders::with_former_projects(hello, home).await;
        let connection = client::connect(home, &hello, Autostart::Yes).await?;
        let daemon = Self { client: Client::new(connection, timeout).await? };
        daemon.check_database(wanted.as_deref()).await?;
        Ok(daemon)
    }

    /// Makes sure that a daemon that runs already has its memory where `--db` says.
    pub async fn agrees(home: &Home) -> Result<()> {
        let Some(wanted) = database_of_option(home)? else { return Ok(()) };
        if let Some(daemon) = Self::running(home).await? {
            daemon.check_database(Some(&wanted)).await?;
        }
        Ok(())
    }

    async fn check_database(&self, wanted: Option<&str>) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        let status = self.read(Request::new(of::Status)).await?;
        let place = status.database.as_ref().map(Text::raw);
        // What the daemon says of it begins with the address.
        if place.and_then(|place| place.strip_prefix(wanted)).is_some_and(|rest| rest.starts_with(", ")) {
            return Ok(());
        }
        let place = place.unwrap_or(status.home.raw());
        let words = format!("the running daemon has its memory in {place}, but `--db` says {wanted}");
        Err(Error::user(words).hint("`cerebro daemon stop` stops it; the next one uses that database"))
    }

    /// Connects to the daemon that runs already, to ask of the daemon and not of a project; `None` when none runs.
    /// Fails if one runs that cannot be talked to.
    pub async fn running(home: &Home) -> Result<Option<Self>> {
        let hello = Hello { cwd: None, project_dir: None, ..Hello::of_this_process(Role::Operator) };
        match client::connect(home, &hello, Autostart::No).await {
            Ok(connection) => Ok(Some(Self { client: Client::new(connection, CALL_MAX).await? })),
            Err(ConnectError::NotRunning) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Calls, and reads the answer.
    pub async fn read<O: Ask>(&self, request: Request<O>) -> Result<Received<O::Answer>> {
        Ok(self.client.ask(request.operation, Value::Object(request.arguments)).await?)
    }

    /// The whole id of a memory, from the id or from a beginning that no other id has. Fails if no id, or more than
    /// one, begins like that; the candidates are named.
    pub async fn memory_id(&self, given: &str) -> Result<String> {
        self.memory_id_or(given, FIND_MEMORIES).await
    }

    /// The same; `hint` says what else the command takes.
    pub async fn memory_id_or(&self, given: &str, hint: &str) -> Result<String> {
        if let Ok(id) = MemoryId::parse(given) {
            return Ok(id.to_string());
        }
        match self.begun(given, None, hint).await {
            Ok(id) => Ok(id),
            Err(unknown) => Err(self.readable_id(given).await.map_or(unknown, |id| no_memory(&id))),
        }
    }

    /// The same for what can be read like a memory: exchanges of past sessions and passages of documents, too.
    pub async fn readable_id(&self, given: &str) -> Result<String> {
        let exchange = ExchangeId::parse(given).map(|id| id.to_string());
        let passage = || ChunkId::parse(given).map(|id| id.to_string());
        let memory = || MemoryId::parse(given).map(|id| id.to_string());
        match exchange.ok().or_else(|| passage().ok()).or_else(|| memory().ok()) {
            Some(id) => Ok(id),
            None => self.begun(given, Some("evidence"), FIND_READABLE).await,
        }
    }

    /// The same for what distilling proposes: candidates and arrangements.
    pub async fn proposal_id(&self, given: &str) -> Result<String> {
        let candidate = CandidateId::parse(given).map(|id| id.to_string());
        let arrangement = || ArrangementId::parse(given).map(|id| id.to_string());
        match candidate.ok().or_else(|| arrangement().ok()) {
            Some(id) => Ok(id),
            None => self.begun(given, Some("proposals"), FIND_PROPOSALS).await,
        }
    }

    /// The whole id that begins so. `which` is the argument that asks for ids of others than memories.
    async fn begun(&self, given: &str, which: Option<&'static str>, hint: &str) -> Result<String> {
        let Some(prefix) = prefix(given) else {
            return Err(Error::user(format!("`{given}` is no id, nor the beginning of one")).hint(hint));
        };
        let mut asked = Request::new(of::Resolve).with("prefix", prefix.as_str());
        if let Some(which) = which {
            asked = asked.with(which, true);
        }
        choose(&prefix, &self.read(asked).await?.ids, hint)
    }
}

/// Where ids are shown.
const FIND_MEMORIES: &str =
    "`cerebro search` and `cerebro list` show ids; the first characters that no other id has are enough";
const FIND_READABLE: &str = "`cerebro search`, `cerebro list` and `cerebro history search` show ids; the first \
                             characters that no other id has are enough";
const FIND_PROPOSALS: &str =
    "`cerebro distil review` shows ids; the first characters that no other id has are enough";

/// What to say if a command on memories is given the id of something else that can be read.
fn no_memory(id: &str) -> Error {
    let (what, forget) = if ExchangeId::parse(id).is_ok() {
        ("an exchange of a past session", "`cerebro history forget` destroys past sessions")
    } else {
        ("a passage of a document", "`cerebro documents forget` destroys what is stored of a document")
    };
    Error::user(format!("`{id}` is {what}, no memory")).hint(format!("`cerebro get` shows it; {forget}"))
}

/// The part of an id that was given, as ids are written.
fn prefix(given: &str) -> Option<String> {
    let given = given.trim().trim_end_matches('…').to_ascii_lowercase();
    let part = given.strip_prefix("memory:").unwrap_or(&given);
    let fits = !part.is_empty()
        && part.bytes().all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte));
    fits.then(|| part.to_owned())
}

fn choose(prefix: &str, found: &[Named], hint: &str) -> Result<String> {
    match found {
        [] => Err(Error::user(format!("no id begins with `{prefix}`")).hint(hint)),
        [one] => Ok(one.id.raw().to_owned()),
        several => {
            let line = |one: &Named| format!("\n  {}  {}", one.id.raw(), one.title.raw());
            let lines: String = several.iter().map(line).collect();
            let words = format!("`{prefix}` is the beginning of several ids:{lines}");
            Err(Error::user(words).hint("give more of the id"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_not_given_is_not_sent() {
        let request = Request::new(Operation::List)
            .with("a", Some("text"))
            .with("b", None::<String>)
            .with("c", false)
            .with("d", true)
            .with("e", Vec::<String>::new())
            .with("f", vec![String::new()])
            .with("g", Some(0));
        let object = json!({ "a": "text", "b": null, "c": false, "d": true, "e": [], "f": [""], "g": 0 });
        assert_eq!(Request::new(Operation::List).given(object), request);
        assert_eq!(Value::Object(request.arguments), json!({ "a": "text", "d": true, "f": [""], "g": 0 }));
    }

    #[test]
    fn parts_of_ids_are_read_kindly() {
        for (given, want) in [
            ("K3f…", Some("k3f")),
            (" memory:ab ", Some("ab")),
            ("", None),
            ("no id", None),
            ("a1", None),
            ("ä", None),
        ] {
            assert_eq!(prefix(given).as_deref(), want, "{given}");
        }
    }

    #[test]
    fn what_is_no_memory_is_named() {
        for (id, what, command) in [
            ("xeb4hxwd7jkq6", "exchange", "`cerebro history forget`"),
            ("deb4hxwd7jkq6", "passage", "`cerebro documents forget`"),
        ] {
            let said = no_memory(id).lines().unwrap();
            assert!(said.contains(what) && said.contains(command), "{said}");
        }
    }

    #[test]
    fn one_memory_is_chosen_or_the_candidates_are_named() {
        let named = |id: &str, title: &str| Named { id: id.into(), title: title.into() };
        let both = [named("kaaaaaaaaaaa", "One"), named("kbbbbbbbbbbb", "Two")];
        assert_eq!(choose("k", &both[..1], "").unwrap(), "kaaaaaaaaaaa");
        assert!(choose("k", &[], "").unwrap_err().to_string().contains("`k`"));
        let error = choose("k", &both, "").unwrap_err();
        for word in ["kaaaaaaaaaaa", "One", "kbbbbbbbbbbb", "Two"] {
            assert!(error.to_string().contains(word), "{error}");
        }
        assert_eq!(error.exit_code(), 1);
    }
}
