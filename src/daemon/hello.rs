//! The first line in each direction on the socket: who connects, and whether the daemon serves it.
//!
//! After these two lines the connection carries newline-delimited MCP messages.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::home::user_home;
use crate::{platform, project_dir};

/// The version of the protocol, which must be the same on both sides. It rises when an old peer would misread a new
/// one.
pub const PROTOCOL: u32 = 1;
/// Longest first line, in bytes.
const HELLO_BYTES_MAX: u64 = 64 * 1024;
/// How long either side waits for the other's first line.
pub const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// The farewell: the notification that ends a connection properly. The daemon has answered every request that it
/// read. The client may send the others to the next daemon.
pub const FAREWELL_METHOD: &str = "notifications/cerebro/farewell";
/// The receipt: the notification, with the `id`, that the daemon read a request. The daemon sends it before it executes
/// the request, to clients that want it. If the daemon dies, a request without a receipt was not executed and may be
/// sent to the next one.
pub const READ_METHOD: &str = "notifications/cerebro/read";

/// For whom a client works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An agent: sees the public tools.
    #[default]
    Agent,
    /// A person at the command line, who has more permissions.
    Operator,
}

/// The client's hello. The names and meanings of `protocol`, `version` and `takes_over` never change, because the
/// daemon reads them before it knows the client's version.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the protocol")]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    pub protocol: u32,
    /// The client's version of Cerebro.
    pub version: String,
    /// Whether a daemon that is older than the client should end, so that the client can start a new one.
    pub takes_over: bool,
    pub role: Role,
    pub pid: u32,
    /// Whether it only watches. Its own calls are left out of the stream of calls.
    pub watches: bool,
    /// The folder the client was started in.
    pub cwd: Option<PathBuf>,
    /// The project that the user named with `--project`. It overrides all others.
    pub project: Option<String>,
    /// The project's folder according to the agent's environment.
    pub project_dir: Option<PathBuf>,
    /// The project of [`Self::folder`], as found by the client.
    pub folder_project: Option<String>,
    /// Former projects of the folder, as found by the client, the latest first.
    pub former: Vec<String>,
    /// The session's id according to the agent's environment.
    pub client_session: Option<String>,
    /// An id that the pump generated, constant for its whole life.
    pub minted_session: Option<String>,
    /// The session that this client started last, on an earlier connection.
    pub bound_session: Option<String>,
    /// The ancestors of its process, the nearest first. An agent's hooks and its server have the agent in common.
    pub parents: Vec<u32>,
    /// Whether it wants a receipt for each request: see [`READ_METHOD`].
    pub wants_receipts: bool,
    /// Whether it may be on another machine, so that its folders do not exist here. Set by the server, never by the
    /// client.
    #[serde(skip)]
    pub is_remote: bool,
}

impl Hello {
    /// The hello of this process, with its folder and the values from its environment.
    pub fn of_this_process(role: Role) -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            protocol: PROTOCOL,
            version: super::VERSION.to_owned(),
            role,
            pid: std::process::id(),
            // JSON cannot contain a name that is not Unicode, so it is converted.
            cwd: std::env::current_dir().ok().map(|dir| dir.to_string_lossy().into_owned().into()),
            project_dir: variable("CLAUDE_PROJECT_DIR").map(PathBuf::from),
            client_session: variable("CLAUDE_CODE_SESSION_ID"),
            parents: platform::ancestors(),
            ..Self::default()
        }
    }

    /// The folder that the client works in.
    pub fn folder(&self) -> Option<&PathBuf> {
        self.project_dir.as_ref().or(self.cwd.as_ref())
    }

    /// Adds the folder's project, unless the user named one. The client examines its own folder, because in the daemon
    /// a folder that does not answer would block a thread that serves other clients.
    pub async fn located(self) -> Self {
        let Some(folder) = self.folder().filter(|_| self.project.is_none()).cloned() else { return self };
        let project = project_dir::look_or_guess(folder, user_home(), project_dir::LOOK_MAX).await;
        Self { folder_project: Some(project.as_str().to_owned()), ..self }
    }
}

/// The daemon's reply to a hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub protocol: u32,
    /// The daemon's version of Cerebro.
    pub version: String,
    /// The daemon's process.
    pub pid: u32,
    pub verdict: Verdict,
    /// Whether it sends receipts to clients that want them.
    #[serde(default)]
    pub gives_receipts: bool,
}

/// Whether the client is served on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// MCP messages may follow.
    Served,
    /// The daemon is older and ends. The client starts a new one.
    HandsOver,
    /// The two speak different protocols.
    Refused,
}

impl Reply {
    /// The reply to `hello` from a daemon of version `ours`.
    pub fn to(hello: &Hello, ours: &str) -> Self {
        let verdict = if hello.takes_over && is_newer(&hello.version, ours) {
            Verdict::HandsOver
        } else if hello.protocol == PROTOCOL {
            Verdict::Served
        } else {
            Verdict::Refused
        };
        Self {
            protocol: PROTOCOL,
            version: ours.to_owned(),
            pid: std::process::id(),
            verdict,
            gives_receipts: true,
        }
    }
}

/// Whether version `a` is later than `b` by its three numbers. A suffix (`-rc.1`, `+build`) is ignored, and a
/// missing or malformed number counts as 0.
pub fn is_newer(a: &str, b: &str) -> bool {
    numbers(a) > numbers(b)
}

fn numbers(version: &str) -> [u64; 3] {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

/// Reads one first line from the reader that the session continues to use. Fails if the line is late, too long,
/// incomplete or malformed.
pub async fn read<T: DeserializeOwned>(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<T> {
    let mut line = Vec::new();
    let mut bounded = reader.take(HELLO_BYTES_MAX);
    tokio::time::timeout(HELLO_TIMEOUT, bounded.read_until(b'\n', &mut line))
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no first line within 5 s"))??;
    if line.last() != Some(&b'\n') {
        let reason =
            if line.len() as u64 == HELLO_BYTES_MAX { "too long a first line" } else { "no first line" };
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Writes one first line. Fails if the other side is gone, or does not read the line within 5 s.
pub async fn write<T: Serialize>(writer: &mut (impl AsyncWrite + Unpin), value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    tokio::time::timeout(HELLO_TIMEOUT, writer.write_all(&line)).await.map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, "the other side did not read the first line within 5 s")
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        for (newer, older) in
            [("0.10.0", "0.9.9"), ("1.0.0", "0.99.99"), ("0.1.1", "0.1"), ("2.0.0-rc.1", "1.9.9+x")]
        {
            assert!(is_newer(newer, older), "{newer} {older}");
            assert!(!is_newer(older, newer), "{newer} {older}");
        }
        for (a, b) in
            [("1.2.3", "1.2.3"), ("1.2.3-rc.1", "1.2.3"), ("1.2.3", "1.2.3+7"), ("", "x.y"), ("1", "1.0.0")]
        {
            assert!(!is_newer(a, b) && !is_newer(b, a), "{a} {b}");
        }
    }

    #[test]
    fn an_older_daemon_makes_way_only_when_asked() {
        let hello = |version: &str, takes_over, protocol| Hello {
            version: version.to_owned(),
            takes_over,
            protocol,
            ..Hello::default()
        };
        for (version, takes_over, protocol, verdict) in [
            ("1.0.0", true, PROTOCOL, Verdict::Served),
            ("1.0.1", true, PROTOCOL, Verdict::HandsOver),
            ("1.0.1", true, PROTOCOL + 1, Verdict::HandsOver),
            ("1.0.1", false, PROTOCOL, Verdict::Served),
            ("1.0.1", false, PROTOCOL + 1, Verdict::Refused),
            ("0.9.0", true, PROTOCOL, Verdict::Served),
            ("0.9.0", true, PROTOCOL - 1, Verdict::Refused),
        ] {
            let found = Reply::to(&hello(version, takes_over, protocol), "1.0.0").verdict;
            assert_eq!(found, verdict, "{version} {takes_over} {protocol}");
        }
    }

    #[tokio::test]
    async fn a_hello_is_read_whole_and_nothing_after_it() {
        let hello = Hello { project: Some("p\n\"q\"".to_owned()), ..Hello::of_this_process(Role::Operator) };
        let mut text = Vec::new();
        write(&mut text, &hello).await.unwrap();
        text.extend_from_slice(b"rest");
        let mut reader = text.as_slice();
        assert_eq!(read::<Hello>(&mut reader).await.unwrap(), hello);
        assert_eq!(reader, b"rest");
        // Unknown fields (of a later version) and missing ones are accepted.
        let mut reader = b"{\"protocol\":9,\"new\":[1]}\n".as_slice();
        assert_eq!(read::<Hello>(&mut reader).await.unwrap(), Hello { protocol: 9, ..Hello::default() });
    }

    #[tokio::test]
    async fn bad_first_lines_are_errors() {
        let long = vec![b' '; 70_000];
        for bad in [b"".as_slice(), b"{}", b"7\n", b"{\"protocol\":-1}\n", b"\xff\n", &long] {
            assert!(read::<Hello>(&mut &*bad).await.is_err());
        }
    }
}
