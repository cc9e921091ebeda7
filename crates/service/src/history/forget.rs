//! Forgetting: exchanges and sessions are destroyed, and a tombstone of each keeps imports from bringing them back.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use crate::{
    History, ServiceError,
    distil::{Lost, Retracted, Why, retract},
    index::Evidence,
    meant::{IsMeant, Meant, Thing},
};
use cerebro_core::domain::{
    AncestorKind, DistilRun, Exchange, ExchangeId, HistoryTombstone, MemoryId, PastSession, Project, Run,
    SessionId,
};
use cerebro_core::redact::RedactedText;
use cerebro_store::Write;

/// Most sub-agents of one session that are looked up: theirs count, too.
const SUB_AGENTS_MAX: usize = 10_000;

/// What was forgotten, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Sessions without remaining exchanges.
    pub sessions: usize,
    pub exchanges: usize,
    /// Prompts that hooks reported.
    pub prompts: usize,
    /// Summaries that hooks reported.
    pub summaries: usize,
    /// Texts in the journal of work.
    pub events: usize,
    /// Memory files of agents. Only a restore counts them: each is forgotten by itself.
    pub documents: usize,
    /// Distilled memories that rested only on what was forgotten; purged. A dry run does not name them.
    pub purged: Vec<MemoryId>,
    /// Memories that stay, because somebody has revised them: distilled ones that rested only on what was forgotten, and
    /// handbooks of their projects.
    pub kept: Vec<MemoryId>,
}

/// The saved handbooks of each project. They are purged with the claims that go, and rendered again.
type Saved = BTreeMap<Project, Vec<Option<Project>>>;

impl Forgotten {
    /// Adds what became of memories, each once.
    fn add(&mut self, retracted: Retracted) {
        for (all, some) in [(&mut self.purged, retracted.purged), (&mut self.kept, retracted.kept)] {
            for id in some {
                if !all.contains(&id) {
                    all.push(id);
                }
            }
        }
    }
}

impl History {
    /// Destroys the texts of exchanges and keeps a digest of each, or of its session, which every import respects. A text
    /// that is the only condition keeps all later exchanges with it out, whatever their session. It works page by page: if
    /// it is stopped half-way, it can be repeated. Backups and old files of the database may still hold the texts;
    /// [`Service::compact`](crate::Service::compact) rewrites the latter. A dry run only counts.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] without a condition; a failing store.
    pub(crate) async fn forget<'a>(
        &self,
        what: impl Into<Meant<'a>>,
        run: Run,
    ) -> Result<Forgotten, ServiceError> {
        let what = what.into();
        if let Meant::Asked(asked) = what {
            if asked.is_empty() {
                let problem = "say what to forget: a session, a project, a time or a text";
                return Err(ServiceError::invalid("text", "", problem));
            }
            if let (Run::Real, Some(text)) = (run, asked.everywhere()) {
                // First, so that no session that is read meanwhile brings it back.
                self.base.store.change(|write| write.forget_text(text)).await?;
            }
        }
        let mut forgotten = Forgotten::default();
        let mut handbooks = Saved::new();
        let mut pages = self.base.store.exchanges().walk();
        while let Some(page) = pages.next().await? {
            for (session, exchanges) in self.met(what, page).await? {
                forgotten.exchanges += exchanges.len();
                if run == Run::Real {
                    let batch = ForgetBatch { session, exchanges, what };
                    let is_over = self.forget_batch(&batch, &mut handbooks, &mut forgotten).await?;
                    forgotten.sessions += usize::from(is_over);
                    self.evidence.changed(Evidence::History);
                }
            }
        }
        if what.may_be_names() && run == Run::Real {
            self.forget_names(what, &mut handbooks, &mut forgotten).await?;
        }
        let is_changed = !(forgotten.purged.is_empty() && forgotten.kept.is_empty());
        if is_changed {
            self.memories.flush_purged().await?;
        }
        for (project, saved) in handbooks {
            self.memories.render_again(self.memories.rendered_handbooks(Some(&project)).await).await;
            if is_changed {
                self.memories.render_missing(&saved).await;
            }
        }
        Ok(forgotten)
    }

    /// Removes sessions that have no exchange.
    pub(crate) async fn drop_empty(&self) -> Result<(), ServiceError> {
        let mut pages = self.base.store.past_sessions().walk();
        while let Some(page) = pages.next().await? {
            let empty: Vec<SessionId> =
                page.into_iter().filter(|session| session.exchanges == 0).map(|session| session.id).collect();
            if !empty.is_empty() {
                self.base.store.transact(|write| Box::pin(drop_empty(write, &empty))).await?;
            }
        }
        Ok(())
    }

    /// The sessions that worked for a session, and those that worked for them.
    pub(crate) async fn sub_agents(&self, session: &SessionId) -> Result<BTreeSet<SessionId>, ServiceError> {
        let (mut found, mut parents) = (BTreeSet::new(), vec![session.clone()]);
        while !parents.is_empty() && found.len() < SUB_AGENTS_MAX {
            let limit = SUB_AGENTS_MAX - found.len();
            let sessions = self.base.store.past_sessions();
            let children = sessions.children(&parents, AncestorKind::SubAgent, limit).await?;
            let ids = children.into_iter().map(|child| child.id).filter(|id| id != session);
            parents = ids.filter(|id| found.insert(id.clone())).collect();
        }
        Ok(found)
    }

    /// Forgets some exchanges of a session, or only its names. Returns whether it has none left.
    async fn forget_batch(
        &self,
        batch: &ForgetBatch<'_>,
        handbooks: &mut Saved,
        forgotten: &mut Forgotten,
    ) -> Result<bool, ServiceError> {
        let past = self.base.store.past_sessions().by_id(&batch.session).await?;
        let Some(past) = past else { return Ok(false) };
        if let Entry::Vacant(unknown) = handbooks.entry(past.project) {
            let saved = self.memories.rendered_handbooks(Some(unknown.key())).await?;
            unknown.insert(saved);
        }
        let (is_over, retracted) = self.base.store.transact(|write| Box::pin(batch.decide(write))).await?;
        forgotten.add(retracted);
        Ok(is_over)
    }

    /// Forgets names of sessions, such as titles, and what a model said of sessions, where no exchange is to be forgotten.
    async fn forget_names(
        &self,
        what: Meant<'_>,
        handbooks: &mut Saved,
        forgotten: &mut Forgotten,
    ) -> Result<(), ServiceError> {
        let claiming = self.claiming(what).await?;
        let mut pages = self.base.store.past_sessions().walk();
        while let Some(page) = pages.next().await? {
            let ids: Vec<SessionId> = page.iter().map(|session| session.id.clone()).collect();
            let runs = self.base.store.distil_runs().of(&ids).await?;
            for mut session in page {
                let id = session.id.clone();
                let is_meant = |(name, text): (&str, &mut Option<RedactedText>)| {
                    text.as_ref().is_some_and(|text| what.is_name(&id, name, text))
                };
                let titles = |run: &DistilRun| {
                    run.session == id && run.title.as_ref().is_some_and(|title| what.holds(title))
                };
                let is_claimed = claiming.contains(&id) || runs.iter().any(titles);
                if what.covers(&session) && (is_claimed || session.names().into_iter().any(is_meant)) {
                    let batch = ForgetBatch { session: id, exchanges: Vec::new(), what };
                    self.forget_batch(&batch, handbooks, forgotten).await?;
                }
            }
        }
        Ok(())
    }

    /// The sessions of which some claim says what is to be forgotten: a model may say it in words that no exchange has.
    async fn claiming(&self, what: Meant<'_>) -> Result<BTreeSet<SessionId>, ServiceError> {
        let mut claiming = BTreeSet::new();
        let mut pages = self.base.store.candidates().walk();
        while let Some(page) = pages.next().await? {
            let meant = page.into_iter().filter(|candidate| candidate.any_text(|text| what.holds(text)));
            claiming.extend(meant.map(|candidate| candidate.session));
        }
        Ok(claiming)
    }

    /// Those of a page that are to be forgotten, by session.
    async fn met(
        &self,
        what: Meant<'_>,
        page: Vec<Exchange>,
    ) -> Result<BTreeMap<SessionId, Vec<Exchange>>, ServiceError> {
        let ids: BTreeSet<SessionId> = page.iter().map(|exchange| exchange.session.clone()).collect();
        let sessions = self.base.store.past_sessions().by_ids(&Vec::from_iter(ids)).await?;
        let of = |exchange: &Exchange| {
            let session = sessions.iter().find(|session| session.id == exchange.session);
            session.map_or(IsMeant::No, |session| what.of(&thing(session, exchange)))
        };
        let (mut met, mut uncertain) = (Vec::new(), Vec::new());
        for exchange in page {
            match of(&exchange) {
                IsMeant::Yes => met.push(exchange),
                IsMeant::IfHolding => uncertain.push(exchange),
                IsMeant::No => {}
            }
        }
        if !uncertain.is_empty() {
            let full = self.base.store.exchanges().with_texts(uncertain).await?;
            met.extend(full.into_iter().filter(|full| what.is_in(full)).map(|full| full.exchange));
        }
        let mut by_session: BTreeMap<SessionId, Vec<Exchange>> = BTreeMap::new();
        for exchange in met {
            by_session.entry(exchange.session.clone()).or_default().push(exchange);
        }
        Ok(by_session)
    }
}

/// An exchange of a session, as something that may be meant.
fn thing<'a>(session: &'a PastSession, exchange: &Exchange) -> Thing<'a> {
    Thing {
        session: Some(&session.id),
        project: &session.project,
        at: exchange.at,
        reported: true,
        tombstone: HistoryTombstone::of_exchange(exchange),
    }
}

/// Some exchanges of one session.
struct ForgetBatch<'a> {
    session: SessionId,
    exchanges: Vec<Exchange>,
    what: Meant<'a>,
}

impl ForgetBatch<'_> {
    /// Whether the session has no exchanges left, and what became of memories.
    async fn decide(&self, write: &mut Write<'_>) -> Result<(bool, Retracted), ServiceError> {
        let Some(mut session) = write.store().past_sessions().by_id(&self.session).await? else {
            return Ok((false, Retracted::default()));
        };
        // Exchanges that were forgotten meanwhile are not counted twice.
        let kept = write.store().exchanges().ids(&self.session).await?;
        let going: Vec<ExchangeId> =
            self.exchanges.iter().map(|exchange| exchange.id).filter(|id| kept.contains(id)).collect();
        let before = session.exchanges;
        session.exchanges = u32::try_from(kept.len() - going.len()).unwrap_or(u32::MAX);
        // Each turn gets its own tombstone even if the whole session is forgotten, because a fork has the same turns.
        let mut tombstones: Vec<HistoryTombstone> =
            self.exchanges.iter().map(HistoryTombstone::of_exchange).collect();
        tombstones.push(HistoryTombstone::of_typed(&self.session));
        if self.what.is_whole() {
            tombstones.push(HistoryTombstone::of_session(&self.session));
        }
        for (name, text) in session.names() {
            if text.as_ref().is_some_and(|text| self.what.is_name(&self.session, name, text)) {
                *text = None;
                tombstones.push(HistoryTombstone::of_name(&self.session, name));
            }
        }
        let tells = |text: &str| self.what.holds(text);
        let lost = Lost { gone: &going, ..Lost::default() };
        let retracted = retract(write, &session, lost, Why::Forgotten, tells).await?;
        write.forget_history(&session, before, going, tombstones);
        Ok((session.exchanges == 0, retracted))
    }
}

/// Removes those of some sessions that still have no exchange.
async fn drop_empty(write: &mut Write<'_>, sessions: &[SessionId]) -> Result<(), ServiceError> {
    for session in write.store().past_sessions().by_ids(sessions).await? {
        if session.exchanges == 0 {
            retract(write, &session, Lost::default(), Why::Missing, |_| false).await?;
            write.forget_history(&session, 0, Vec::new(), Vec::new());
        }
    }
    Ok(())
}
