//! The connection to a server.
//!
//! This file reconnects, not the SDK: a new connection signs in again, so that no token expires, and requests under
//! way on the old connection fail at once and are never sent later. The pause between attempts grows up to a bound;
//! calls made in between fail at once instead of waiting.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use surrealdb::{
    IndexedResults, Surreal,
    engine::any::{self, Any},
    opt::auth::{Database, Namespace, Root},
    types::{AuthError, NotAllowedError, Value, Variables},
};
use tokio_util::sync::CancellationToken;

use super::{EngineError, Remote, error::classify};

/// The longest time for connecting, including signing in.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// The longest time for one statement or transaction.
const CALL_MAX: Duration = Duration::from_secs(30);
/// How long a starting daemon waits for a server that is also starting.
const START_MAX: Duration = Duration::from_secs(10);
/// The pause before the second attempt to connect, and the longest one.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How often an established connection is probed, and how long the server may take to answer. While the server is
/// away, the SDK holds calls back instead of failing them.
const BEAT: Duration = Duration::from_secs(1);
const BEAT_MAX: Duration = Duration::from_secs(3);

/// Supported versions of the server, from the first up to but without the second, as (major, minor).
const VERSIONS: [(u64, u64); 2] = [(3, 3), (4, 0)];

/// A connection, possibly broken by now.
struct Live {
    db: Surreal<Any>,
    broken: CancellationToken,
}

/// The state between two attempts to connect.
#[derive(Default)]
struct ConnectionState {
    live: Option<Arc<Live>>,
    failures: u32,
    /// When the next attempt is due, and why the last one failed.
    waiting: Option<(Instant, String)>,
}

/// A server, to which a connection is made when possible.
pub(super) struct Link {
    remote: Remote,
    state: tokio::sync::Mutex<ConnectionState>,
}

impl Link {
    /// Connects, within a bound.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`]; [`EngineError::Remote`] when another attempt cannot help.
    pub(super) async fn open(remote: Remote) -> Result<Self, EngineError> {
        let link = Self { remote, state: tokio::sync::Mutex::default() };
        let begun = Instant::now();
        loop {
            match link.live().await {
                Err(error @ EngineError::Unreachable { .. }) if begun.elapsed() >= START_MAX => {
                    return Err(error);
                }
                Err(EngineError::Unreachable { .. }) => tokio::time::sleep(PAUSE_MIN).await,
                Err(error) => return Err(error),
                Ok(_) => return Ok(link),
            }
        }
    }

    /// Runs a script of this program.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`] when there is no connection or it broke, in which case the outcome is unknown;
    /// otherwise the error of the server.
    pub(super) async fn query(
        &self,
        name: &'static str,
        text: &str,
        vars: Variables,
    ) -> Result<IndexedResults, EngineError> {
        let live = self.live().await?;
        let answer = tokio::select! {
            answer = live.db.query(text.to_owned()).bind(vars).into_future() => answer,
            () = live.broken.cancelled() => return Err(self.unreachable("the connection broke")),
            () = tokio::time::sleep(CALL_MAX) => {
                let reason = format!("no answer within {} s", CALL_MAX.as_secs());
                return Err(self.lose(&live, reason).await);
            }
        };
        match answer {
            Ok(results) => Ok(results),
            // The server was restarted without the SDK noticing, or the session expired.
            Err(error) if error.is_connection() || is_signed_out(&error) => {
                Err(self.lose(&live, error.to_string()).await)
            }
            Err(error) if is_forbidden(&error) => Err(self.forbidden(&error)),
            Err(error) => Err(classify(name, &error)
                .unwrap_or_else(|| EngineError::Query { statement: name, reason: error.to_string() })),
        }
    }

    fn unreachable(&self, reason: impl Into<String>) -> EngineError {
        EngineError::Unreachable { url: self.remote.url.clone(), reason: reason.into() }
    }

    fn unfit(&self, reason: impl Into<String>) -> EngineError {
        EngineError::Remote { url: self.remote.url.clone(), reason: reason.into() }
    }

    /// The error for what the server forbids to this user. Another call does not help.
    pub(super) fn forbidden(&self, error: &surrealdb::Error) -> EngineError {
        self.unfit(format!(
            "the user `{}` may not do there what this program must ({error}); give it the role EDITOR or OWNER, or name \
             another `user` in [remote] (CEREBRO_DB_USER)",
            self.remote.user
        ))
    }

    /// Abandons a connection, so that the next call makes another one.
    async fn lose(&self, live: &Arc<Live>, reason: String) -> EngineError {
        live.broken.cancel();
        let mut state = self.state.lock().await;
        if state.live.as_ref().is_some_and(|present| Arc::ptr_eq(present, live)) {
            tracing::warn!(%reason, url = %self.remote.url, "the connection to the database is lost");
            state.live = None;
        }
        self.unreachable(reason)
    }

    /// The present connection, or a new one.
    async fn live(&self) -> Result<Arc<Live>, EngineError> {
        let mut state = self.state.lock().await;
        if let Some(live) = state.live.take_if(|live| live.broken.is_cancelled()) {
            drop(live);
            tracing::warn!(url = %self.remote.url, "the connection to the database is lost");
        }
        if let Some(live) = &state.live {
            return Ok(Arc::clone(live));
        }
        if let Some((until, reason)) = &state.waiting
            && Instant::now() < *until
        {
            return Err(self.unreachable(reason.clone()));
        }
        let connecting = tokio::time::timeout(CONNECT_MAX, self.connect());
        let late = || Err(self.unreachable(format!("no connection within {} s", CONNECT_MAX.as_secs())));
        match connecting.await.unwrap_or_else(|_| late()) {
            Ok(db) => {
                let live = Arc::new(Live { db, broken: CancellationToken::new() });
                tokio::spawn(watch(Arc::downgrade(&live)));
                *state = ConnectionState { live: Some(Arc::clone(&live)), ..ConnectionState::default() };
                tracing::info!(url = %self.remote.url, "connected to the database");
                Ok(live)
            }
            Err(error) => {
                let pause = PAUSE_MIN.saturating_mul(1 << state.failures.min(20)).min(PAUSE_MAX);
                state.failures = state.failures.saturating_add(1);
                let reason = match &error {
                    EngineError::Unreachable { reason, .. } | EngineError::Remote { reason, .. } => {
                        reason.clone()
                    }
                    other => other.to_string(),
                };
                state.waiting = Some((Instant::now() + pause, reason));
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<Surreal<Any>, EngineError> {
        let Remote { namespace, database, .. } = &self.remote;
        let failed = |error: surrealdb::Error| self.unreachable(error.to_string());
        // A provider installed by an earlier connection stays.
        drop(rustls::crypto::ring::default_provider().install_default());
        let asked = async {
            let db = any::connect(self.remote.url.as_str()).await?;
            let version = db.version().await?;
            Ok::<_, surrealdb::Error>((db, version))
        };
        let (db, version) = match asked.await {
            Ok(answered) => answered,
            // A server of another version may not even understand the question.
            Err(error) => match self.reported_version().await {
                Some((major, minor)) if !fits(major, minor) => {
                    return Err(self.other_version(&format!("{major}.{minor}")));
                }
                _ => return Err(failed(error)),
            },
        };
        if !fits(version.major, version.minor) {
            return Err(self.other_version(&version.to_string()));
        }
        let level = self.sign_in(&db).await?;
        if self.remote.create {
            self.make_database(&db).await?;
        } else {
            self.check_exists(&db, level).await?;
        }
        db.use_ns(namespace.as_str()).use_db(database.as_str()).await.map_err(|error| {
            if error.is_connection() { failed(error) } else { self.unfit(error.to_string()) }
        })?;
        Ok(db)
    }

    fn other_version(&self, version: &str) -> EngineError {
        self.unfit(format!("it is SurrealDB {version}; this cerebro works with 3.3 up to below 4.0"))
    }

    /// The version (major, minor) that the server reports on a page that all versions have.
    async fn reported_version(&self) -> Option<(u64, u64)> {
        let page = format!(
            "{}/version",
            self.remote.url.replacen("ws", "http", usize::from(self.remote.url.starts_with("ws")))
        );
        let page_text = reqwest::get(page).await.ok()?.chunk().await.ok()??;
        let page_text = String::from_utf8_lossy(&page_text);
        let mut numbers = page_text.trim().strip_prefix("surrealdb-")?.split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    /// Signs in as a user of the database, or else of its namespace, or else of the server.
    async fn sign_in(&self, db: &Surreal<Any>) -> Result<Level, EngineError> {
        let (namespace, database) = (self.remote.namespace.clone(), self.remote.database.clone());
        let (username, password) = (self.remote.user.clone(), self.remote.password.0.clone());
        let root = Root { username: username.clone(), password: password.clone() };
        let of_namespace = Namespace {
            namespace: namespace.clone(),
            username: username.clone(),
            password: password.clone(),
        };
        let of_database = Database { namespace, database, username, password };
        let refused = |error: surrealdb::Error| -> Result<surrealdb::Error, EngineError> {
            if error.is_connection() { Err(self.unreachable(error.to_string())) } else { Ok(error) }
        };
        let Err(error) = db.signin(of_database).await else { return Ok(Level::Database) };
        refused(error)?;
        let Err(error) = db.signin(of_namespace).await else { return Ok(Level::Namespace) };
        refused(error)?;
        let Err(error) = db.signin(root).await else { return Ok(Level::Server) };
        let error = refused(error)?;
        Err(self.unfit(format!(
            "the server refuses the user `{}` with the password that was given ({error}); look at `user` and \
             `password_file` of [remote], or CEREBRO_DB_USER and CEREBRO_DB_PASSWORD",
            self.remote.user
        )))
    }

    async fn make_database(&self, db: &Surreal<Any>) -> Result<(), EngineError> {
        let Remote { namespace, database, .. } = &self.remote;
        let define = format!(
            "DEFINE NAMESPACE IF NOT EXISTS {namespace}; USE NS {namespace}; \
             DEFINE DATABASE IF NOT EXISTS {database} STRICT;"
        );
        // Another process may create it at this moment; the check that follows decides.
        if let Err(error) = db.query(define).await.and_then(IndexedResults::check) {
            tracing::debug!(%error, "the database could not be made");
        }
        Ok(())
    }

    /// Refuses a missing namespace or database: a user with the permission would create it by using it.
    async fn check_exists(&self, db: &Surreal<Any>, level: Level) -> Result<(), EngineError> {
        let Remote { namespace, database, .. } = &self.remote;
        if level == Level::Server && !self.lists(db, "INFO FOR ROOT", "namespaces", namespace).await? {
            return Err(self.absent(&format!("the namespace `{namespace}`")));
        }
        let of_namespace = format!("USE NS {namespace}; INFO FOR NS");
        if level != Level::Database && !self.lists(db, &of_namespace, "databases", database).await? {
            return Err(self.absent(&format!("the database `{database}` of the namespace `{namespace}`")));
        }
        Ok(())
    }

    /// Whether a list in the last answer of a script contains a name.
    async fn lists(
        &self,
        db: &Surreal<Any>,
        text: &str,
        list: &str,
        name: &str,
    ) -> Result<bool, EngineError> {
        let failed = |error: surrealdb::Error| {
            if error.is_connection() {
                self.unreachable(error.to_string())
            } else {
                self.unfit(error.to_string())
            }
        };
        let mut results = db.query(text).await.and_then(IndexedResults::check).map_err(failed)?;
        let last = results.num_statements().saturating_sub(1);
        let info: Value = results.take(last).map_err(failed)?;
        let Value::Object(info) = info else { return Ok(false) };
        Ok(matches!(info.get(list), Some(Value::Object(names)) if names.get(name).is_some()))
    }

    fn absent(&self, what: &str) -> EngineError {
        let Remote { namespace, database, .. } = &self.remote;
        self.unfit(format!(
            "{what} is not there; make it on the server (DEFINE NAMESPACE {namespace}; USE NS {namespace}; DEFINE \
             DATABASE {database} STRICT), or say `create = true` in [remote]"
        ))
    }
}

/// The level at which the user is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Database,
    Namespace,
    Server,
}

/// Abandons a connection when the server no longer answers on it.
async fn watch(live: Weak<Live>) {
    loop {
        tokio::time::sleep(BEAT).await;
        let Some(live) = live.upgrade().filter(|live| !live.broken.is_cancelled()) else { return };
        let answer = tokio::time::timeout(BEAT_MAX, live.db.health().into_future()).await;
        if !matches!(answer, Ok(Ok(()))) {
            live.broken.cancel();
            return;
        }
    }
}

/// Whether a refusal means that the connection is no longer signed in. A refusal without a reason may mean that;
/// reconnecting finds out.
fn is_signed_out(error: &surrealdb::Error) -> bool {
    match error.not_allowed_details() {
        None => error.is_not_allowed(),
        Some(NotAllowedError::Auth(AuthError::NotAllowed { actor, .. })) => {
            ["anonymous", "Actor::Anonymous"].contains(&actor.as_str())
        }
        Some(NotAllowedError::Auth(_)) => true,
        Some(_) => false,
    }
}

/// Whether the user lacks a permission, though signed in. The kind of an error may be lost on its way here, so its
/// text counts too.
pub(super) fn is_forbidden(error: &surrealdb::Error) -> bool {
    let has_message = error.to_string().contains("Not enough permissions to perform this action");
    if error.is_not_allowed() { !is_signed_out(error) } else { has_message }
}

/// Whether this version of the server is supported.
fn fits(major: u64, minor: u64) -> bool {
    let [from, below] = VERSIONS;
    (from..below).contains(&(major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_permission_is_no_lost_connection() {
        let refused = |actor: &str| {
            NotAllowedError::Auth(AuthError::NotAllowed {
                actor: actor.to_owned(),
                action: "Edit".to_owned(),
                resource: "/ns:a/db:b/".to_owned(),
            })
        };
        let method = NotAllowedError::Method { name: "query".to_owned() };
        for (details, signed_out) in [
            (None, true),
            (Some(NotAllowedError::Auth(AuthError::TokenExpired)), true),
            (Some(NotAllowedError::Auth(AuthError::InvalidAuth)), true),
            (Some(refused("anonymous")), true),
            (Some(refused("/ns:a/db:b/Actor::anonymous(Viewer)")), false),
            (Some(method), false),
        ] {
            let error = surrealdb::Error::not_allowed("no".to_owned(), details.clone());
            assert_eq!(is_signed_out(&error), signed_out, "{details:?}");
            assert_ne!(is_forbidden(&error), signed_out, "{details:?}");
        }
    }

    #[test]
    fn versions_from_3_3_to_below_4_work() {
        for (version, fit) in [
            ((2, 9), false),
            ((3, 2), false),
            ((3, 3), true),
            ((3, 12), true),
            ((4, 0), false),
            ((4, 1), false),
        ] {
            assert_eq!(fits(version.0, version.1), fit, "{version:?}");
        }
    }
}
