//! The daemon's socket, and how clients verify its owner.

use std::io;
use std::path::PathBuf;

use tokio::net::{UnixListener, UnixStream};

use super::hello::HELLO_TIMEOUT;
use super::lock::{self, Lock};
use crate::home::{self, Home, HomeError};
use crate::platform::{self, FileIdentity};

/// Why the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Its folder is not usable, or not private.
    #[error(transparent)]
    Folder(#[from] HomeError),
    #[error("cannot listen on {path}: {source}")]
    Listen { path: PathBuf, source: io::Error },
}

/// Why a client does not connect to a home's socket.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("no daemon answers on {path}: {source}")]
    Silent { path: PathBuf, source: io::Error },
    /// Another user could have created the socket.
    #[error("the daemon's socket is not to be trusted: {0}")]
    Folder(HomeError),
    #[error("{path} belongs to a process of another user ({user}); remove it, or give --home DIR")]
    Stranger { path: PathBuf, user: u32 },
}

/// Connects to the home's daemon. Before it sends anything, it verifies that the daemon runs as this user: only this
/// user can enter the socket's folder (the home, or a folder of its own), and the kernel says that this user listens.
/// All errors but `Silent` last until the socket is removed.
pub async fn dial(home: &Home) -> Result<UnixStream, DialError> {
    let path = lock::socket_path(home);
    let silent = |source| DialError::Silent { path: path.clone(), source };
    let is_at_home = path.starts_with(home.root());
    let folder = if is_at_home { home.root() } else { path.parent().unwrap_or(&path) };
    match home::check_private(folder) {
        Ok(()) => {}
        Err(error @ HomeError::NotPrivate { .. }) => return Err(DialError::Folder(error)),
        Err(_) => return Err(silent(io::ErrorKind::NotFound.into())),
    }
    // A stopped daemon (SIGSTOP) accepts nothing, so the queue of its socket may be full.
    let connected = tokio::time::timeout(HELLO_TIMEOUT, UnixStream::connect(&path)).await;
    let stream = connected.map_err(|_| silent(io::ErrorKind::TimedOut.into()))?.map_err(silent)?;
    match platform::peer_user_id(&stream).map_err(silent)? {
        user if user == platform::user_id() => Ok(stream),
        user => Err(DialError::Stranger { path, user }),
    }
}

/// A bound socket; its file is removed when this is dropped.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: Option<FileIdentity>,
}

impl Socket {
    /// Listens for the home's clients. Removes the socket of a dead daemon; the lock permits that.
    pub fn bind(home: &Home, lock: &Lock) -> Result<Self, SocketError> {
        let path = home.socket_path();
        if let Some(dir) = path.parent() {
            home::open_private_dir(dir)?;
        }
        let listen_error = |source| SocketError::Listen { path: path.clone(), source };
        platform::remove_file_if_there(&path).map_err(listen_error)?;
        // The folder is private, so no other user can reach the socket between the next two calls.
        let listener = UnixListener::bind(&path).map_err(listen_error)?;
        platform::close_file_to_others(&path).map_err(listen_error)?;
        lock.listens_at(&path).map_err(listen_error)?;
        let identity = platform::file_identity(&path);
        Ok(Self { listener, path, identity })
    }

    /// Waits for the next client of the same user. Connections of other users are closed.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            match platform::peer_user_id(&stream) {
                Ok(user) if user == platform::user_id() => return Ok(stream),
                Ok(user) => tracing::warn!(user, "refused a connection of another user"),
                Err(error) => tracing::warn!(%error, "refused a connection of an unknown user"),
            }
        }
    }

    /// Whether the file still exists. Without it, clients cannot find the daemon.
    pub fn is_in_place(&self) -> bool {
        platform::file_identity(&self.path) == self.identity
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_in_place() {
            let _ = platform::remove_file_if_there(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::lock::Use;
    use super::*;

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_dropped_one_removed() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        let lock = Lock::take(&home, Use::Daemon).unwrap();
        home::open_private_dir(home.socket_path().parent().unwrap()).unwrap();
        drop(std::os::unix::net::UnixListener::bind(home.socket_path()).unwrap());
        assert!(UnixStream::connect(home.socket_path()).await.is_err());

        let socket = Socket::bind(&home, &lock).unwrap();
        let mode = std::fs::metadata(home.socket_path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (client, server) = tokio::join!(UnixStream::connect(home.socket_path()), socket.accept());
        assert!(client.is_ok() && server.is_ok());
        assert!(socket.is_in_place());
        drop(socket);
        assert!(!home.socket_path().exists());
    }

    #[tokio::test]
    async fn a_socket_is_spoken_to_only_where_nobody_else_could_have_made_it() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        assert!(matches!(dial(&home).await, Err(DialError::Silent { .. })));
        let lock = Lock::take(&home, Use::Daemon).unwrap();
        let socket = Socket::bind(&home, &lock).unwrap();
        let (client, server) = tokio::join!(dial(&home), socket.accept());
        assert!(client.is_ok() && server.is_ok());
        std::fs::set_permissions(home.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(dial(&home).await, Err(DialError::Folder(_))));
    }

    #[tokio::test]
    async fn a_newer_socket_is_not_removed() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::open(Some(&temp.path().join("h"))).unwrap();
        let lock = Lock::take(&home, Use::Daemon).unwrap();
        let first = Socket::bind(&home, &lock).unwrap();
        let second = Socket::bind(&home, &lock).unwrap();
        assert!(!first.is_in_place());
        drop(first);
        assert!(second.is_in_place());
    }
}
