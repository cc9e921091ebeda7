//! The socket the daemon listens on.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use super::lock::Lock;
use crate::home::{Home, HomeError};
use crate::platform;

/// Why the daemon cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Its folder is unusable or not private.
    #[error(transparent)]
    Folder(#[from] HomeError),
    /// The socket cannot be made.
    #[error("cannot listen on {path}: {source}")]
    Listen { path: PathBuf, source: io::Error },
}

/// A bound socket; its file is removed when this is dropped.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl Socket {
    /// Listens for the home's clients. A socket left by a daemon that died is removed: whoever has
    /// the lock may do so.
    ///
    /// # Errors
    /// [`SocketError`], which names the path.
    pub fn bind(home: &Home, _lock: &Lock) -> Result<Self, SocketError> {
        home.open_socket_dir()?;
        let path = home.socket_path();
        let fault = |source| SocketError::Listen { path: path.clone(), source };
        remove(&path).map_err(fault)?;
        // Nobody else can reach it between the next two calls: the folder is ours alone.
        let listener = UnixListener::bind(&path).map_err(fault)?;
        platform::close_socket_to_others(&path).map_err(fault)?;
        let identity = platform::file_identity(&path);
        Ok(Self { listener, path, identity })
    }

    /// Waits for the next client that is the same user as we are; others are cut off.
    ///
    /// # Errors
    /// What the system says, for instance when it has no more file descriptors.
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

    /// Whether the file is still there: somebody may have emptied the folder, and then clients
    /// cannot find the daemon any more.
    pub fn is_in_place(&self) -> bool {
        platform::file_identity(&self.path) == self.identity
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_in_place() {
            let _ = remove(&self.path);
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
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
        home.open_socket_dir().unwrap();
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
