//! Forks: sessions that begin with a copy of another one. Each exchange is stored once, with the original. Which of two
//! sessions is the original follows from their content, so the order in which they are read does not matter.

use std::collections::{BTreeMap, BTreeSet};

use super::Intake;
use super::{
    reading::{Fault, Reading},
    take::{Trouble, blocking},
    walk::Found,
};
use crate::ServiceError;
use cerebro_core::domain::{PastSession, SessionId, Timestamp, native_digest};
use cerebro_transcript::{
    Batch, Exchange,
    lineage::{self, Lineage},
    turn::Parent,
};

/// What is known of a session as a possible copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Copying {
    /// The source is read from its beginning, so the stored row does not say whether the session is a copy.
    restarted: bool,
    standing: Beginning,
    /// Sessions that are younger, although they were read before: what they have in common belongs to this one.
    younger: BTreeSet<String>,
}

/// Whether a session may begin with a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Beginning {
    /// It was not looked up yet.
    #[default]
    Unknown,
    /// It may; with the session that it was copied from, as far as that is known.
    Maybe(Option<Parent>),
    /// It is a session of its own.
    Own,
}

/// The exchanges of a session by their place, as its copies are known by: digests of the native ids of the first and the
/// last turn, and when it began.
type Outline = BTreeMap<u32, (Turns, Option<Timestamp>)>;
/// See [`Outline`]; none for exchanges without native ids.
type Turns = Option<(String, String)>;

fn add(outline: &mut Outline, exchanges: &[Exchange]) {
    for exchange in exchanges {
        let first = exchange.first_id.as_deref();
        let last = exchange.last_id.as_deref().or(first);
        let turns = first.zip(last).map(|(first, last)| (native_digest(first), native_digest(last)));
        outline.insert(exchange.seq, (turns, exchange.at));
    }
}

/// The outline of a whole file. Blocks.
fn outline_of(found: Found, now: Timestamp) -> Result<Outline, Fault> {
    let mut outline = Outline::new();
    Reading::each_exchange(found, now, |exchange| add(&mut outline, &[exchange]))?;
    Ok(outline)
}

/// When a session diverged: its first exchange after the last one that another session has too.
fn own_since(outline: &Outline, others: &BTreeSet<(String, String)>) -> Option<Timestamp> {
    let is_shared = |turns: &Turns| turns.as_ref().is_some_and(|turns| others.contains(turns));
    let behind = outline.values().rev().take_while(|(turns, _)| !is_shared(turns));
    behind.last().and_then(|(_, at)| *at)
}

fn turns(outline: &Outline) -> BTreeSet<(String, String)> {
    outline.values().filter_map(|(turns, _)| turns.clone()).collect()
}

impl Copying {
    /// Nothing is known yet. `restarted` says whether the source is read from its beginning.
    pub(super) fn of(restarted: bool) -> Self {
        Self { restarted, ..Self::default() }
    }
}

impl Intake {
    /// Removes from a batch what the session copied from another one. If reading continues in the middle, only a known copy
    /// is checked, because an original whose beginning was copied later has the same ids as the copy. `whole` is the file,
    /// if the batch is only its beginning.
    pub(super) async fn drop_copies(
        &self,
        batch: &mut Batch,
        copying: &mut Copying,
        whole: Option<&Found>,
    ) -> Result<(), Trouble> {
        let mut is_open = false;
        if copying.standing == Beginning::Unknown {
            let past = self.stored(&batch.session.id).await?;
            is_open = copying.restarted || past.as_ref().is_none_or(|past| past.exchanges == 0);
            let may_be = is_open || past.is_some_and(|past| past.parent.is_some());
            copying.standing = if may_be { Beginning::Maybe(None) } else { Beginning::Own };
        }
        let Copying { standing: Beginning::Maybe(parent), younger, .. } = copying else {
            return Ok(());
        };
        if batch.session.parent.is_none() {
            batch.session.parent.clone_from(parent);
        }
        let Some(first) = batch.exchanges.first().and_then(|first| first.first_id.clone()) else {
            return Ok(());
        };
        let own = batch.session.id.clone();
        let mut owners = self.history.owners(&[&first]).await?;
        if is_open && owners.iter().any(|(_, session)| session.as_str() != own) {
            *younger = self.younger(batch, whole).await?;
        }
        let is_another = |session: &SessionId| session.as_str() != own && !younger.contains(session.as_str());
        if !owners.iter().any(|(_, session)| is_another(session)) {
            if batch.session.parent.is_none() {
                copying.standing = Beginning::Own;
            }
            return Ok(());
        }
        owners = self.owners_of(&batch.exchanges).await?;
        let known = |id: &str, _: &str| -> Vec<String> {
            let others = owners.iter().filter(|(native, session)| native == id && is_another(session));
            let others: BTreeSet<String> = others.map(|(_, session)| session.as_str().to_owned()).collect();
            others.into_iter().collect()
        };
        let found = lineage::of(&batch.session, &batch.exchanges, &known);
        if !found.copies.is_empty() {
            self.drop_stored_copies(&own, &found).await?;
        }
        batch.exchanges.retain(|exchange| !found.copies.contains(&exchange.seq));
        batch.session.parent = found.parent;
        copying.standing = Beginning::Maybe(batch.session.parent.clone());
        Ok(())
    }

    /// Removes from a session the copies that were stored as its own: by an earlier version, or when only their beginning was
    /// there to read.
    async fn drop_stored_copies(&self, own: &str, found: &Lineage) -> Result<(), Trouble> {
        let parent = found.parent.as_ref().and_then(|parent| parent.session.as_deref());
        let (Ok(own), Some(Ok(original))) = (SessionId::parse(own), parent.map(SessionId::parse)) else {
            return Ok(());
        };
        let mut stored = self.stored_outline(&own).await?;
        stored.retain(|seq, _| found.copies.contains(seq));
        if !stored.is_empty() {
            self.history.hand_over(&own, &original, &turns(&stored)).await?;
        }
        Ok(())
    }

    /// The sessions that were read before this one and copied from it. The copies are removed from them, because this one
    /// has the originals and is committed next.
    async fn younger(&self, batch: &Batch, whole: Option<&Found>) -> Result<BTreeSet<String>, Trouble> {
        let mut younger = BTreeSet::new();
        let own = &batch.session.id;
        let Ok(own_id) = SessionId::parse(own) else { return Ok(younger) };
        let owners = self.owners_of(&batch.exchanges).await?;
        let others: BTreeSet<SessionId> =
            owners.into_iter().map(|(_, session)| session).filter(|session| *session != own_id).collect();
        if others.is_empty() {
            return Ok(younger);
        }
        let outline = match whole.cloned() {
            Some(found) => {
                let now = self.base.now();
                blocking(move || outline_of(found, now)).await??
            }
            None => {
                let mut outline = Outline::new();
                add(&mut outline, &batch.exchanges);
                outline
            }
        };
        let said = turns(&outline);
        for other in others {
            let Some(past) = self.stored(other.as_str()).await? else { continue };
            let theirs = self.stored_outline(&other).await?;
            let one = lineage::Branch {
                id: own,
                parent: batch.session.parent.as_ref().and_then(|parent| parent.session.as_deref()),
                own_since: own_since(&outline, &turns(&theirs)),
            };
            let parent = past.parent.as_ref().and_then(|parent| parent.session.as_ref());
            let another = lineage::Branch {
                id: other.as_str(),
                parent: parent.map(SessionId::as_str),
                own_since: own_since(&theirs, &said),
            };
            if lineage::is_original(one, another) && self.history.hand_over(&other, &own_id, &said).await? {
                younger.insert(other.as_str().to_owned());
            }
        }
        Ok(younger)
    }

    async fn stored(&self, session: &str) -> Result<Option<PastSession>, Trouble> {
        match SessionId::parse(session) {
            Ok(id) => Ok(self.history.session(&id).await?),
            Err(_) => Ok(None),
        }
    }

    async fn stored_outline(&self, session: &SessionId) -> Result<Outline, Trouble> {
        let exchanges = self.history.exchanges_of_session(session).await?;
        let turns = |first: Option<String>, last: Option<String>| first.clone().zip(last.or(first));
        let entry = |exchange: cerebro_core::domain::Exchange| {
            (exchange.seq, (turns(exchange.first, exchange.last), Some(exchange.at)))
        };
        Ok(exchanges.into_iter().map(entry).collect())
    }

    async fn owners_of(&self, exchanges: &[Exchange]) -> Result<Vec<(String, SessionId)>, ServiceError> {
        let ids = |exchange: &Exchange| [exchange.first_id.clone(), exchange.last_id.clone()];
        let ids: Vec<String> = exchanges.iter().flat_map(ids).flatten().collect();
        self.history.owners(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{
        HistoryBatch,
        history::tests::{batch, session, with_service},
        intake::{folders::Form, settings::HistorySettings, take::Pass, walk::Stat},
    };
    use cerebro_transcript::{Agent, State, read};

    /// A rollout whose turns have only numbers, as in sessions that Codex imported.
    fn rollout(id: &str, fork_of: &str, turns: &[&str]) -> String {
        let line = |kind: &str, payload: &str| format!("{{\"type\":\"{kind}\",\"payload\":{payload}}}\n");
        let parent =
            if fork_of.is_empty() { String::new() } else { format!(",\"forked_from_id\":\"{fork_of}\"") };
        let mut text = line("session_meta", &format!("{{\"id\":\"{id}\"{parent}}}"));
        for (n, words) in turns.iter().enumerate() {
            let number = format!("{{\"type\":\"task_started\",\"turn_id\":\"external-import-turn-{n}\"}}");
            text += &line("event_msg", &number);
            text += &line("event_msg", &format!("{{\"type\":\"user_message\",\"message\":\"{words}\"}}"));
        }
        text
    }

    /// The batch of an earlier reader: ids that are not bound to a session, and of a fork only its own exchanges.
    fn formerly(id: &str, text: &str, own_from: usize) -> HistoryBatch {
        let mut found = read(text.as_bytes(), &State::new(Agent::Codex, id));
        for exchange in &mut found.exchanges {
            for id in [&mut exchange.first_id, &mut exchange.last_id].into_iter().flatten() {
                *id = lineage::bare(id).unwrap_or(id).to_owned();
            }
        }
        let own = found.exchanges.split_off(own_from);
        HistoryBatch { session: found.session, ..batch(id, own) }
    }

    fn found(path: &Path) -> Found {
        let form = Form::Lines;
        Found {
            agent: Agent::Codex,
            form,
            path: path.to_path_buf(),
            session: String::new(),
            stat: Stat::default(),
        }
    }

    #[test]
    fn copies_of_an_earlier_version_go_when_the_fork_is_read_again_without_its_original() {
        let folder = tempfile::tempdir().unwrap();
        let fork = folder.path().join("c-2.jsonl");
        let of_original = rollout("c-1", "", &["one", "two"]);
        let of_fork = rollout("c-2", "c-1", &["one", "two", "three"]);
        fs::write(&fork, &of_fork).unwrap();
        with_service(async |service| {
            // What is bound to the original, and the same in the fork; the original's file is gone.
            for (id, text) in [("c-1", &of_original), ("c-2", &of_fork)] {
                let found = read(text.as_bytes(), &State::new(Agent::Codex, id));
                let stored = HistoryBatch { session: found.session, ..batch(id, found.exchanges) };
                service.history.commit(stored).await.unwrap();
            }
            let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
            service.intake.take_file(&found(&fork), &mut pass).await.unwrap();
            let of = async |id: &str| {
                let mut stored = service.history.exchanges_of_session(&session(id)).await.unwrap();
                stored.sort_by_key(|exchange| exchange.seq);
                stored.into_iter().map(|exchange| String::from(exchange.title)).collect::<Vec<_>>()
            };
            assert_eq!(
                (of("c-1").await, of("c-2").await),
                (vec!["one".into(), "two".into()], vec!["three".into()])
            );
        });
    }

    #[test]
    fn a_fork_that_is_read_again_before_its_original_is_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        let (original, fork) = (folder.path().join("c-1.jsonl"), folder.path().join("c-2.jsonl"));
        let of_original = rollout("c-1", "", &["one", "two"]);
        let of_fork = rollout("c-2", "c-1", &["one", "two", "three"]);
        fs::write(&original, &of_original).unwrap();
        fs::write(&fork, &of_fork).unwrap();
        with_service(async |service| {
            service.history.commit(formerly("c-1", &of_original, 0)).await.unwrap();
            service.history.commit(formerly("c-2", &of_fork, 2)).await.unwrap();
            let mut pass = Pass::new(HistorySettings::default(), None, i64::MIN);
            for path in [&fork, &original, &fork, &original] {
                service.intake.take_file(&found(path), &mut pass).await.unwrap();
            }
            for (id, exchanges, parent) in [("c-1", 2, None), ("c-2", 1, Some("c-1"))] {
                let past = service.history.session(&session(id)).await.unwrap().unwrap();
                let named = past.parent.and_then(|parent| parent.session);
                assert_eq!(
                    (past.exchanges, named.as_ref().map(SessionId::as_str)),
                    (exchanges, parent),
                    "{id}"
                );
            }
        });
    }
}
