//! The id of a store.
//!
//! Numbers of events mean nothing across two stores: both count from 1. The id is drawn when a store is made, and
//! again when it is restored. It tells their logs apart, so that an index or a backup of one is not taken for the
//! other's.

use surrealdb::types::Variables;

use super::{
    Engine, EngineError, StoreError,
    read::{Vars, one, take},
    retry::Attempts,
    secret, statement,
};

/// The id of a store, drawn if it has none yet. Several processes that ask at once get the same id.
pub(super) async fn of(engine: &Engine) -> Result<String, StoreError> {
    let mut attempts = Attempts::of(statement::STORE_PUT.name);
    loop {
        if let Some(id) = read(engine).await? {
            return Ok(id);
        }
        let vars = Vars::new().with("store_id", secret());
        match engine.run(statement::STORE_PUT, vars.0).await {
            Err(error) if !matches!(error, EngineError::Conflict(_)) => return Err(error.into()),
            _ => attempts.again().await?,
        }
    }
}

async fn read(engine: &Engine) -> Result<Option<String>, StoreError> {
    let mut results = engine.run(statement::STORE_GET, Variables::new()).await?;
    Ok(one(take::<String>("store", &mut results, 0)?))
}

/// Gives a store another id, because its log departs from that of the store from which it was copied.
pub(super) async fn renew(engine: &Engine) -> Result<(), StoreError> {
    let vars = Vars::new().with("store_id", secret());
    Ok(engine.run(statement::STORE_RENEW, vars.0).await.map(drop)?)
}
