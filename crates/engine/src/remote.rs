//! Names a database on a server, and the user to sign in as.

use std::fmt;

/// A password. It is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// A database on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// `ws://`, `wss://`, `http://` or `https://`, without credentials in it.
    pub url: String,
    pub namespace: String,
    pub database: String,
    /// The user: of the database, of the namespace, or of the whole server.
    pub user: String,
    /// The user's password.
    pub password: Secret,
    /// Whether to create the namespace and database if they are missing.
    pub create: bool,
    /// The name under which this home numbers its events, unique among all homes.
    pub writer: String,
}

impl Remote {
    /// Its location for people: server, namespace and database.
    pub fn place(&self) -> String {
        format!("{}, database {} of namespace {}", self.url, self.database, self.namespace)
    }
}
