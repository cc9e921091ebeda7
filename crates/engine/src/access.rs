//! Permissions in the engine: this program may do everything, everybody else may read.
//!
//! The engine checks permissions on every statement, this program's included, so opening an endpoint (`studio`)
//! changes nothing. The program signs in as a root user that exists only for that moment. Its password is random
//! and not kept, and the user is removed before `open` returns. A guest, which is a connection that did not sign
//! in, may do nothing.
//!
//! Capabilities bind all sessions of the process, the program's own included: no scripting, no network, no `eval`,
//! no functions that stall a statement or burn processor time on purpose. Over the network, only methods that read
//! are answered, whatever the user's permissions.

use std::{collections::HashSet, sync::Arc};

use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version, password_hash::SaltString};
use rand::Rng;
use surrealdb::{IndexedResults, Surreal, engine::local::Db, opt::auth::Root};
use surrealdb_core::{dbs::Session, kvs::Datastore};
use surrealdb_iam::{Level, Role};
use surrealdb_rpc::{
    Method,
    capabilities::{Capabilities, FuncTarget, MethodTarget, RouteTarget, Targets},
};

/// The namespace of an embedded database.
pub const NAMESPACE: &str = "cerebro";
/// The database in it.
pub const DATABASE: &str = "main";
/// The program's own user, which exists only while signing in.
const OWN_USER: &str = "cerebro";
const SECRET_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// 160 bits.
const SECRET_CHARS: usize = 32;

/// The methods that clients may call over the network: signing in, reading, live queries, functions.
///
/// Excluded are methods that write rows, transactions held open by a client, signing up, and other query languages.
const METHODS: [Method; 21] = [
    Method::Ping,
    Method::Info,
    Method::Use,
    Method::Signin,
    Method::Authenticate,
    Method::Refresh,
    Method::Invalidate,
    Method::Reset,
    Method::Kill,
    Method::Live,
    Method::Set,
    Method::Unset,
    Method::Select,
    Method::Version,
    Method::Query,
    Method::Run,
    Method::Attach,
    Method::Sessions,
    Method::Detach,
    Method::QueryStream,
    Method::QueryCancel,
];

/// Families of functions that reading memories does not need: sleeping, files, the network, counters.
const FAMILIES_DENIED: [&str; 6] = ["api", "file", "http", "ml", "sequence", "sleep"];
/// Hashes that are slow by design.
const HASHES_DENIED: [&str; 8] = [
    "argon2::compare", "argon2::generate", "bcrypt::compare", "bcrypt::generate", "pbkdf2::compare",
    "pbkdf2::generate", "scrypt::compare", "scrypt::generate",
];

/// The engine's capabilities for all sessions.
pub(super) fn capabilities() -> Capabilities {
    let methods: HashSet<MethodTarget> = METHODS.into_iter().map(|method| MethodTarget { method }).collect();
    let routes: HashSet<RouteTarget> = [RouteTarget::Health, RouteTarget::Rpc, RouteTarget::Version].into();
    let families = FAMILIES_DENIED.iter().map(|family| FuncTarget((*family).to_owned(), None));
    let hashes = HASHES_DENIED.iter().map(|hash| FuncTarget("crypto".to_owned(), Some((*hash).to_owned())));
    let functions: HashSet<FuncTarget> = families.chain(hashes).collect();
    Capabilities::default()
        .with_scripting(false)
        .with_guest_access(false)
        .with_network_targets(Targets::None)
        .with_experimental(Targets::None)
        .with_eval_query(Targets::None)
        .without_functions(Targets::Some(functions))
        .with_rpc_methods(Targets::Some(methods))
        .with_http_routes(Targets::Some(routes))
}

/// A session that may read the database and nothing else.
pub(super) fn viewer() -> Session {
    Session::for_level(Level::Database(NAMESPACE.to_owned(), DATABASE.to_owned()), Role::Viewer)
}

/// A session that may change rows and definitions in the namespace, but no users and access methods. Foreign
/// scripts run in it. It cannot be confined to the database, because a dump begins with the definition of the
/// database.
pub(super) fn editor() -> Session {
    Session::for_level(Level::Namespace(NAMESPACE.to_owned()), Role::Editor).with_db(DATABASE)
}

/// Signs in the program's own handle, with all permissions.
pub(super) async fn sign_in(datastore: &Arc<Datastore>, db: &Surreal<Db>) -> Result<(), String> {
    let password = secret();
    let hash = quick_hash(&password)?;
    let define = format!("DEFINE USER OVERWRITE {OWN_USER} ON ROOT PASSHASH '{hash}' ROLES OWNER");
    let defined =
        datastore.execute(&define, &Session::owner(), None).await.map_err(|error| error.to_string())?;
    for result in defined {
        result.result.map_err(|error| error.to_string())?;
    }
    let root = Root { username: OWN_USER.to_owned(), password };
    db.signin(root).await.map_err(|error| error.to_string())?;
    let remove = format!("REMOVE USER {OWN_USER} ON ROOT");
    db.query(remove).await.and_then(IndexedResults::check).map_err(|error| error.to_string())?;
    Ok(())
}

/// A password of [`SECRET_CHARS`] characters, none of which needs quoting.
pub fn secret() -> String {
    let mut rng = rand::rng();
    (0..SECRET_CHARS)
        .map(|_| char::from(SECRET_ALPHABET[rng.random_range(0..SECRET_ALPHABET.len())]))
        .collect()
}

/// A hash at the lowest cost. Slowness protects weak passwords; this one has 160 random bits and lives for a
/// moment. At the usual cost every start would be delayed.
fn quick_hash(password: &str) -> Result<String, String> {
    let params = Params::new(Params::MIN_M_COST, Params::MIN_T_COST, Params::MIN_P_COST, None)
        .map_err(|error| error.to_string())?;
    let salt: [u8; 16] = rand::rng().random();
    let salt = SaltString::encode_b64(&salt).map_err(|error| error.to_string())?;
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password(password.as_bytes(), &salt)
        .map(|hash| hash.to_string())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_plain_and_never_the_same() {
        let secrets: HashSet<String> = (0..100).map(|_| secret()).collect();
        assert_eq!(secrets.len(), 100);
        assert!(secrets.iter().all(|s| s.len() == 32 && s.bytes().all(|b| b.is_ascii_alphanumeric())));
    }
}
