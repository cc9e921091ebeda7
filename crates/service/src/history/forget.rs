//! Forgetting: exchanges and sessions are destroyed, and a tombstone of each keeps imports from bringing them back.

use std::collections::BTreeMap;

use crate::{History, ServiceError, distil::retract, index::Evidence};
use cerebro_core::domain::{
    Exchange, ExchangeId, FullExchange, HistoryTombstone, PastSession, Project, SessionId, Timestamp,
};
use cerebro_core::text::comparable;
use cerebro_store::{Decision, Write};

/// How many exchanges are read, and forgotten, at once.
const PAGE: usize = 200;
/// Shortest text that keeps exchanges of later sessions out, in characters that count in a comparison: a shorter one stands in
/// too many of them.
const KEPT_OUT_CHARS_MIN: usize = 8;

/// What to forget: everything that meets all given conditions. Without any condition, nothing is forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forget {
    /// Of this session, and of those of its sub-agents.
    pub session: Option<SessionId>,
    /// Of this project.
    pub project: Option<Project>,
    /// Begun at or after.
    pub since: Option<Timestamp>,
    /// Begun before.
    pub before: Option<Timestamp>,
    /// With this in their text, as [`comparable`] reads both.
    pub text: Option<String>,
}

/// What was forgotten, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Sessions without remaining exchanges.
    pub sessions: usize,
    /// Exchanges.
    pub exchanges: usize,
    /// Prompts that hooks reported.
    pub prompts: usize,
    /// Summaries that hooks reported.
    pub summaries: usize,
    /// Texts in the journal of work.
    pub events: usize,
}

impl Forget {
    /// Whether it names whole sessions, including later exchanges.
    fn is_whole(&self) -> bool {
        self.since.is_none() && self.before.is_none() && self.text.is_none()
    }

    /// Whether it covers a session of a project; a session that is not known is not the one to forget.
    pub(crate) fn is_of(&self, session: Option<&SessionId>, project: &Project) -> bool {
        let is_of = |meant: &SessionId| session.is_some_and(|session| session.is_part_of(meant));
        self.session.as_ref().is_none_or(is_of) && self.project.as_ref().is_none_or(|meant| meant == project)
    }

    /// Whether it covers a moment.
    pub(crate) fn is_at(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since) && self.before.is_none_or(|before| at < before)
    }

    /// Whether it covers something of a session at this moment.
    fn is_about(&self, session: &PastSession, at: Timestamp) -> bool {
        self.is_of(Some(&session.id), &session.project) && self.is_at(at)
    }

    /// Whether a text contains the text to forget; always true if none is given.
    pub(crate) fn holds(&self, text: &str) -> bool {
        self.text.as_ref().is_none_or(|needle| comparable(text).contains(&comparable(needle)))
    }

    fn is_met_by(&self, full: &FullExchange) -> bool {
        full.any_text(|text| self.holds(text))
    }

    /// The text that is to be forgotten wherever it is, also in sessions that are read later: it is the only condition, and
    /// long enough to mean one thing.
    fn everywhere(&self) -> Option<&str> {
        let alone = Self { text: self.text.clone(), ..Self::default() } == *self;
        let text = self.text.as_deref().filter(|_| alone)?;
        (comparable(text).chars().count() >= KEPT_OUT_CHARS_MIN).then_some(text)
    }
}

impl History {
    /// Destroys the texts of exchanges and keeps a digest of each, or of its session, which every import respects. A text
    /// that is the only condition keeps all later exchanges with it out, whatever their session. It works
    /// page by page: if it is stopped half-way, it can be repeated. Backups and old files of the database may still
    /// hold the texts; [`Service::compact`](crate::Service::compact) rewrites the latter. With `dry_run` it only
    /// counts.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] without a condition; a failing store.
    pub(crate) async fn forget(&self, what: &Forget, dry_run: bool) -> Result<Forgotten, ServiceError> {
        if *what == Forget::default() || what.text.as_ref().is_some_and(|text| comparable(text).is_empty()) {
            let problem = "say what to forget: a session, a project, a time or a text";
            return Err(ServiceError::invalid("text", "", problem));
        }
        if let (false, Some(text)) = (dry_run, what.everywhere()) {
            // First, so that no session that is read meanwhile brings it back.
            self.base.store.transact(&KeepOut { text }).await?;
        }
        let mut forgotten = Forgotten::default();
        let mut projects = std::collections::BTreeSet::new();
        let mut pages = self.base.store.exchanges().walk(PAGE);
        while let Some(page) = pages.next().await? {
            for (session, exchanges) in self.met(what, page).await? {
                forgotten.exchanges += exchanges.len();
                if !dry_run {
                    let batch = ForgetBatch { session, exchanges, what };
                    let (is_over, project) = self.base.store.transact(&batch).await?;
                    forgotten.sessions += usize::from(is_over);
                    projects.extend(project);
                    self.evidence.changed(Evidence::History);
                }
            }
        }
        if what.text.is_some() {
            self.forget_names(what, dry_run).await?;
        }
        // Claims may have been removed with the exchanges that they rested on.
        for project in projects {
            self.memories.render_again(self.memories.rendered_handbooks(Some(&project)).await).await;
        }
        Ok(forgotten)
    }

    /// Forgets the names of sessions that hold the text while none of their exchanges does.
    async fn forget_names(&self, what: &Forget, dry_run: bool) -> Result<(), ServiceError> {
        let mut pages = self.base.store.past_sessions().walk(PAGE);
        while let Some(page) = pages.next().await? {
            for mut session in page {
                let is_named = session
                    .names()
                    .into_iter()
                    .any(|(_, text)| text.as_ref().is_some_and(|text| what.holds(text)));
                if is_named && what.is_about(&session, session.started_at) && !dry_run {
                    let batch = ForgetBatch { session: session.id, exchanges: Vec::new(), what };
                    self.base.store.transact(&batch).await?;
                }
            }
        }
        Ok(())
    }

    /// Those of a page that are to be forgotten, by session.
    async fn met(
        &self,
        what: &Forget,
        page: Vec<Exchange>,
    ) -> Result<BTreeMap<SessionId, Vec<Exchange>>, ServiceError> {
        let ids: std::collections::BTreeSet<SessionId> =
            page.iter().map(|exchange| exchange.session.clone()).collect();
        let sessions = self.base.store.past_sessions().by_ids(&Vec::from_iter(ids)).await?;
        let session_of = |exchange: &Exchange| sessions.iter().find(|session| session.id == exchange.session);
        let met = |exchange: &Exchange| {
            session_of(exchange).is_some_and(|session| what.is_about(session, exchange.at))
        };
        let mut exchanges: Vec<Exchange> = page.into_iter().filter(met).collect();
        if what.text.is_some() {
            let full = self.base.store.exchanges().with_texts(exchanges).await?;
            exchanges =
                full.into_iter().filter(|full| what.is_met_by(full)).map(|full| full.exchange).collect();
        }
        let mut by_session: BTreeMap<SessionId, Vec<Exchange>> = BTreeMap::new();
        for exchange in exchanges {
            by_session.entry(exchange.session.clone()).or_default().push(exchange);
        }
        Ok(by_session)
    }
}

/// Keeps a text out of whatever is read later.
struct KeepOut<'a> {
    text: &'a str,
}

impl Decision for KeepOut<'_> {
    type Output = ();
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<(), ServiceError> {
        write.forget_text(self.text);
        Ok(())
    }
}

/// Some exchanges of one session.
struct ForgetBatch<'a> {
    session: SessionId,
    exchanges: Vec<Exchange>,
    what: &'a Forget,
}

impl Decision for ForgetBatch<'_> {
    /// Whether the session has no exchanges left, and its project.
    type Output = (bool, Option<Project>);
    type Error = ServiceError;

    async fn decide(&self, write: &mut Write<'_>) -> Result<Self::Output, ServiceError> {
        let Some(mut session) = write.store().past_sessions().by_id(&self.session).await? else {
            return Ok((false, None));
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
        if self.what.text.is_some() {
            // The session's own names may contain the text.
            for (name, text) in session.names() {
                if text.as_ref().is_some_and(|text| self.what.holds(text)) {
                    *text = None;
                    tombstones.push(HistoryTombstone::of_name(&self.session, name));
                }
            }
        }
        let tells = |text: &str| self.what.text.is_some() && self.what.holds(text);
        retract(write, &session, &going, tells).await?;
        write.forget_history(&session, before, going, tombstones);
        Ok((session.exchanges == 0, Some(session.project)))
    }
}
