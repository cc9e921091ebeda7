//! The index of exchanges: its entries, and how it follows the log.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Evidence, evidence::Filling};
use crate::ServiceError;
use cerebro_core::domain::{
    Body, Event, EventKind, FullExchange, Kind, Origin, PastSession, Scope, SessionId, SubjectId, Taint,
    Timestamp, Validity,
};
use cerebro_search::lexical::{Change, Doc};
use cerebro_store::{PAGE, Store};

/// The type of exchanges that are left out of searches unless somebody asks for them.
fn hidden_kind() -> Kind {
    Kind::parse("automated").unwrap_or_else(Kind::manual)
}

/// Fills a new index.
pub(super) async fn fill(store: &Store, index: Filling<'_>) -> Result<(), ServiceError> {
    let mut pages = store.exchanges().walk();
    while let Some(page) = pages.next().await? {
        push(store, index, store.exchanges().with_texts(page).await?).await?;
    }
    Ok(())
}

/// Applies events about history.
pub(super) async fn follow(store: &Store, index: Filling<'_>, events: &[Event]) -> Result<(), ServiceError> {
    let mut grown: BTreeMap<&SessionId, Timestamp> = BTreeMap::new();
    let mut shrunk: HashSet<&SessionId> = HashSet::new();
    for event in events {
        let Some(session) = &event.session else { continue };
        let since = match event.kind {
            EventKind::HistoryImported => event.at,
            // After a merge, all its entries belong to the other project.
            EventKind::ProjectMerged => Timestamp::UNIX_EPOCH,
            EventKind::HistoryForgotten => {
                shrunk.insert(session);
                continue;
            }
            _ => continue,
        };
        grown.entry(session).and_modify(|at| *at = since.min(*at)).or_insert(since);
    }
    for (session, since) in grown {
        let mut seq = 0;
        loop {
            let page = store.exchanges().stored_since(session, seq, since, PAGE).await?;
            let Some(last) = page.last() else { break };
            seq = last.seq.saturating_add(1);
            push(store, index, store.exchanges().with_texts(page).await?).await?;
        }
    }
    for session in shrunk {
        let kept: HashSet<SubjectId> =
            store.exchanges().ids(session).await?.into_iter().map(SubjectId::from).collect();
        let session = session.clone();
        index
            .change(move |index| {
                let held = index.of_session(&session)?;
                let gone = held.into_iter().filter(|id| !kept.contains(id));
                gone.map(Change::Erase).try_for_each(|change| index.push(change))
            })
            .await?;
    }
    Ok(())
}

async fn push(store: &Store, index: Filling<'_>, exchanges: Vec<FullExchange>) -> Result<(), ServiceError> {
    let mut ids: Vec<SessionId> =
        exchanges.iter().map(|exchanges| exchanges.exchange.session.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    let sessions = store.past_sessions().by_ids(&ids).await?;
    let sessions: HashMap<SessionId, PastSession> =
        sessions.into_iter().map(|session| (session.id.clone(), session)).collect();
    index
        .change(move |index| {
            let docs = exchanges.into_iter().filter_map(|exchanges| {
                Some(document(sessions.get(&exchanges.exchange.session)?, exchanges))
            });
            docs.map(|doc| Change::Put(Box::new(doc))).try_for_each(|change| index.push(change))
        })
        .await
}

/// The index's entry for an exchange.
fn document(session: &PastSession, full: FullExchange) -> Doc {
    let FullExchange { exchange, text, .. } = full;
    Doc {
        id: exchange.id.into(),
        body: Body {
            scope: Scope::Project(session.project.clone()),
            kind: if session.is_hidden() { hidden_kind() } else { Evidence::History.kind() },
            title: exchange.title,
            content: text,
            topic_key: None,
            tags: Vec::new(),
        },
        agent: session.agent.clone(),
        date: exchange.at,
        valid: Validity::default(),
        archived: false,
        taint: Taint { origin: Origin::Transcript, flags: Vec::new() },
        held: (Timestamp::MIN, Timestamp::MAX),
        session: Some(exchange.session),
        near_keys: Vec::new(),
        title_key: 0,
    }
}
