//! SurrealDB's own client.

use futures::{StreamExt, future::BoxFuture};
use serde_json::Value as Json;
use surrealdb::{
    Notification, Surreal,
    engine::any::{Any, connect},
    method::QueryStream,
    opt::auth::{Database, Root},
    types::Value,
};

use crate::{Outcome, words};

/// The account to sign in with.
#[derive(Debug, Clone)]
pub enum Account {
    /// A user of the whole server: name and password.
    Root(String, String),
    /// A user of one database: namespace, database, name and password.
    Database(String, String, String, String),
}

/// A connection of SurrealDB's own client.
pub struct Client(Surreal<Any>);

/// The notifications of a live query.
pub struct Notifications(QueryStream<Notification<Value>>);

impl Client {
    /// Connects without signing in.
    pub fn connect(url: &str) -> BoxFuture<'static, Outcome<Self>> {
        let url = url.to_owned();
        Box::pin(async move { connect(url).await.map(Self).map_err(words) })
    }

    pub fn sign_in(&self, account: Account) -> BoxFuture<'_, Outcome<()>> {
        Box::pin(async move {
            match account {
                Account::Root(username, password) => self.0.signin(Root { username, password }).await,
                Account::Database(namespace, database, username, password) => {
                    self.0.signin(Database { namespace, database, username, password }).await
                }
            }
            .map(drop)
            .map_err(words)
        })
    }

    /// Chooses the database of the queries to come.
    pub fn choose<'a>(&'a self, namespace: &'a str, database: &'a str) -> BoxFuture<'a, Outcome<()>> {
        Box::pin(async move { self.0.use_ns(namespace).use_db(database).await.map(drop).map_err(words) })
    }

    /// The answers of all statements; an error if any of them failed.
    pub fn query<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Outcome<Vec<Json>>> {
        Box::pin(async move {
            let mut answers =
                self.0.query(text).await.and_then(surrealdb::IndexedResults::check).map_err(words)?;
            (0..answers.num_statements())
                .map(|n| answers.take::<Value>(n).map(Value::into_json_value).map_err(words))
                .collect()
        })
    }

    /// Begins a live query.
    pub fn live<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Outcome<Notifications>> {
        Box::pin(async move {
            let mut answers = self.0.query(text).await.map_err(words)?;
            answers.stream::<Notification<Value>>(0).map(Notifications).map_err(words)
        })
    }

    /// Creates a row with the client's own method instead of a query.
    pub fn create<'a>(&'a self, table: &'a str, key: &'a str) -> BoxFuture<'a, Outcome<()>> {
        Box::pin(async move {
            let created = self.0.create::<Option<Value>>((table, key)).content(Value::None).await;
            created.map(drop).map_err(words)
        })
    }

    /// Begins a transaction that the client holds open.
    pub fn begin(&self) -> BoxFuture<'_, Outcome<()>> {
        Box::pin(async move { self.0.clone().begin().await.map(drop).map_err(words) })
    }
}

impl Notifications {
    /// The next change: what happened (`Create`, `Update` …) and the row. `None` when the query ended.
    pub fn change(&mut self) -> BoxFuture<'_, Option<Outcome<(String, Json)>>> {
        Box::pin(async move {
            let news = self.0.next().await?;
            Some(news.map(|n| (format!("{:?}", n.action), n.data.into_json_value())).map_err(words))
        })
    }
}
