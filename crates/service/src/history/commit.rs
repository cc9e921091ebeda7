//! Committing what was read of a session, together with how far its source was read, in one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{History, prepare};
use crate::{
    ServiceError,
    distil::{Lost, Why, retract},
    index::Evidence,
    tasks::one_at_a_time,
};
use cerebro_core::domain::{
    Exchange, ExchangeId, FullExchange, HistoryTombstone, PastSession, Project, Source,
    limits::{HISTORY_BATCH_BYTES_MAX, HISTORY_BATCH_EXCHANGES_MAX},
    native_digest,
};
use cerebro_store::{ReadExchanges, StoreError, Write};
use cerebro_transcript as transcript;

/// How many rows are read at once.
const PAGE: usize = 500;

/// The result of one reading of a source, or a part of it: at most [`HISTORY_BATCH_EXCHANGES_MAX`] exchanges and
/// [`HISTORY_BATCH_BYTES_MAX`] of text.
#[derive(Debug, Clone)]
pub struct HistoryBatch {
    /// The project of the session's working directory.
    pub project: Project,
    /// The session, as its reader returned it.
    pub session: transcript::Session,
    /// In order of `seq`, without copies of other sessions. Each replaces the one that has its place.
    pub exchanges: Vec<transcript::Exchange>,
    /// The `seq` of exchanges that a rewind took back; they may be of earlier batches.
    pub withdrawn: Vec<u32>,
    /// Set with the last batch of a reading from the source's beginning: the number of the session's exchanges. Stored ones
    /// from this `seq` on are removed, since the source was rewritten.
    pub ends_at: Option<u32>,
    /// Where the reading of its source began.
    pub read_from: ReadFrom,
    /// Whether the batch has only prompts, from the agent's list of all that was typed. Then a session that is known from
    /// another source stays as it is.
    pub typed: bool,
    /// How far the source is read with this batch.
    pub source: Source,
}

/// Where a reading of a source began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadFrom {
    /// Where the one before it ended.
    #[default]
    Cursor,
    /// At the beginning. The session has the parent that this reading finds, or none.
    Start,
    /// As [`Self::Start`], after another version of the reader. Exchanges may have another text although the source says the
    /// same, and no claim loses its evidence by that.
    StartAnew,
}

/// What a batch changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryCommitted {
    /// Exchanges that are new.
    pub added: usize,
    /// Exchanges that replaced an earlier text of theirs.
    pub replaced: usize,
    /// Exchanges that were there already.
    pub unchanged: usize,
    /// Exchanges that are no longer in the source, and are gone.
    pub removed: usize,
    /// Exchanges that the user had forgotten. They stay forgotten.
    pub forgotten: usize,
    /// Places in which a secret was replaced.
    pub redacted: usize,
}

impl History {
    /// Stores what was read of a session together with how far its source was read: all of it or nothing. Exchanges
    /// that are there already, or that the user had forgotten, change nothing. A batch may be committed again.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a session without a usable id, for one that another agent has, and for a batch
    /// that is too large; a failing store.
    pub async fn commit(&self, batch: HistoryBatch) -> Result<HistoryCommitted, ServiceError> {
        let draft = one_at_a_time("preparing a batch of a session", move || Draft::of(batch)).await??;
        let Decided { mut done, source, is_changed, retracted_in } =
            self.base.store.transact(|write| Box::pin(draft.decide(write))).await?;
        // Whoever waits for the writer goes on first: that task may be the next on this thread.
        tokio::task::yield_now().await;
        done.redacted = draft.redacted;
        let sources = self.base.store.sources();
        if let Some(source) = source
            && sources.by_id(&source.id).await?.as_ref() != Some(&source)
        {
            // Without an exchange, the source needs no transaction.
            sources.put(&source).await?;
        }
        if is_changed {
            self.evidence.changed(Evidence::History);
        }
        if let Some(project) = retracted_in {
            self.memories.render_again(self.memories.rendered_handbooks(Some(&project)).await).await;
        }
        Ok(done)
    }
}

/// A batch, redacted.
struct Draft {
    session: PastSession,
    exchanges: Vec<FullExchange>,
    /// Tombstones of exchanges whose ids are bound, as they were made before ids were bound, by `seq`.
    former: BTreeMap<u32, HistoryTombstone>,
    withdrawn: BTreeSet<u32>,
    ends_at: Option<u32>,
    read_from: ReadFrom,
    typed: bool,
    source: Source,
    redacted: usize,
}

impl Draft {
    fn of(batch: HistoryBatch) -> Result<Self, ServiceError> {
        let count = batch.exchanges.len();
        let refused = |what: String| {
            ServiceError::invalid("exchanges", &count.to_string(), format!("a batch has {what} at most"))
        };
        if count > HISTORY_BATCH_EXCHANGES_MAX {
            return Err(refused(format!("{HISTORY_BATCH_EXCHANGES_MAX} exchanges")));
        }
        let mut texts = prepare::Texts::default();
        let begun = batch.exchanges.first().and_then(|exchange| exchange.at);
        let mut session = texts.session(&batch.session, batch.project, begun)?;
        let former = |exchange: &transcript::Exchange| {
            let bare = transcript::lineage::bare(exchange.first_id.as_deref()?)?;
            Some((exchange.seq, HistoryTombstone::of_turn(&native_digest(bare))))
        };
        let former = batch.exchanges.iter().filter_map(former).collect();
        let exchanges = texts.exchanges(&session, batch.exchanges);
        if let (None, Some(last)) = (batch.session.ended, exchanges.last()) {
            session.ended_at = session.ended_at.max(last.exchange.at);
        }
        let bytes: usize = exchanges.iter().map(|full| full.text.len()).sum();
        if bytes > HISTORY_BATCH_BYTES_MAX {
            return Err(refused(format!("{HISTORY_BATCH_BYTES_MAX} bytes")));
        }
        // The reader's state of a short file does not have the session yet.
        let source = Source { session: Some(session.id.clone()), ..batch.source };
        Ok(Self {
            session,
            exchanges,
            former,
            withdrawn: batch.withdrawn.into_iter().collect(),
            ends_at: batch.ends_at,
            read_from: batch.read_from,
            typed: batch.typed,
            source,
            redacted: texts.redacted(),
        })
    }

    /// Whether the source was read from its beginning to its end. What it does not say then, it no longer says.
    fn is_whole(&self) -> bool {
        self.read_from != ReadFrom::Cursor && self.ends_at.is_some() && !self.typed
    }

    /// Whether the session gets its project only now: nothing that was read of it before said in which folder it was, and
    /// this does. An agent's list of prompts may be read before the transcript.
    fn is_placed(&self, known: &PastSession) -> bool {
        known.directory.is_none()
            && known.project == Project::general()
            && self.session.directory.is_some()
            && !self.typed
    }

    /// The session's new row, from the stored one and the batch. Its project stays once its folder was known, since its
    /// exchanges are found there. Names that were forgotten stay forgotten.
    fn merged(&self, known: Option<&PastSession>, buried: &BTreeSet<HistoryTombstone>) -> PastSession {
        let mut session = self.session.clone();
        if let Some(known) = known {
            let keep_newer = |new: &mut Option<_>, old: &Option<_>| {
                if new.is_none() {
                    new.clone_from(old);
                }
            };
            // As the project does, its folder stays once it was known.
            keep_newer(&mut session.directory, &known.directory);
            if !self.is_whole() {
                keep_newer(&mut session.title, &known.title);
                keep_newer(&mut session.branch, &known.branch);
                keep_newer(&mut session.model, &known.model);
            }
            if self.read_from == ReadFrom::Cursor {
                session.parent = session.parent.or_else(|| known.parent.clone());
            }
            if !self.is_placed(known) {
                session.project.clone_from(&known.project);
            }
            session.automated = known.automated;
            // A reading to the end has the whole session, without exchanges that a rewind took back.
            if self.ends_at.is_none() {
                session.started_at = session.started_at.min(known.started_at);
                session.ended_at = session.ended_at.max(known.ended_at);
            }
            session.exchanges = known.exchanges;
        }
        let id = session.id.clone();
        for (name, text) in session.names() {
            if buried.contains(&HistoryTombstone::of_name(&id, name)) {
                *text = None;
            }
        }
        session
    }

    /// The row of the source, without names that were forgotten: the reader's state contains names.
    fn source(&self, buried: &BTreeSet<HistoryTombstone>) -> Source {
        let id = &self.session.id;
        let is_whole = self.session.tombstones_of_whole().iter().any(|whole| buried.contains(whole));
        let is_forgotten = |name: &str| is_whole || buried.contains(&HistoryTombstone::of_name(id, name));
        let mut source = self.source.clone();
        if ["title", "directory", "branch"].into_iter().any(is_forgotten) {
            source.cursor = source.cursor.and_then(|state| prepare::cursor_without(&state, is_forgotten));
        }
        source
    }

    /// The result, if the whole batch is skipped: the session was forgotten, or is known from a source that has more.
    async fn skipped(
        &self,
        write: &Write<'_>,
        known: Option<&PastSession>,
        buried: &BTreeSet<HistoryTombstone>,
    ) -> Result<Option<Decided>, StoreError> {
        let id = &self.session.id;
        let forgotten = HistoryCommitted { forgotten: self.exchanges.len(), ..HistoryCommitted::default() };
        if self.session.tombstones_of_whole().iter().any(|whole| buried.contains(whole)) {
            return Ok(Some(Decided {
                done: forgotten,
                source: Some(self.source(buried)),
                ..Decided::default()
            }));
        }
        if !self.typed {
            return Ok(None);
        }
        if buried.contains(&HistoryTombstone::of_typed(id)) {
            return Ok(Some(Decided { done: forgotten, ..Decided::default() }));
        }
        let is_elsewhere = known.is_some() && write.store().sources().by_id(&self.source.id).await?.is_none();
        Ok(is_elsewhere.then(Decided::default))
    }

    /// The tombstones of the batch's exchanges and of its session's names, and those of what has a text that was forgotten
    /// everywhere.
    async fn buried(&self, write: &Write<'_>) -> Result<BTreeSet<HistoryTombstone>, StoreError> {
        let mut asked: Vec<HistoryTombstone> =
            self.exchanges.iter().map(|full| HistoryTombstone::of_exchange(&full.exchange)).collect();
        asked.extend(self.former.values().cloned());
        asked.extend(self.session.tombstones_of_names());
        asked.extend(self.session.tombstones_of_whole());
        asked.push(HistoryTombstone::of_typed(&self.session.id));
        let mut buried = write.store().history().tombstones_among(&asked).await?;
        let forgotten = write.store().history().forgotten_texts().await?;
        let holds = |text: &str| forgotten.are_in(text);
        let exchanges = self.exchanges.iter().filter(|full| !forgotten.is_empty() && full.any_text(holds));
        buried.extend(exchanges.map(|full| HistoryTombstone::of_exchange(&full.exchange)));
        let mut session = self.session.clone();
        let id = session.id.clone();
        let names = session.names().into_iter().filter(|(_, text)| text.as_deref().is_some_and(holds));
        buried.extend(names.map(|(name, _)| HistoryTombstone::of_name(&id, name)));
        Ok(buried)
    }

    /// The stored exchanges of the session at the batch's places and between them, and all beyond where the session ends.
    async fn kept(&self, write: &Write<'_>) -> Result<HashMap<u32, Exchange>, StoreError> {
        let own = self.exchanges.iter().map(|full| full.exchange.seq);
        let places: BTreeSet<u32> = own.chain(self.withdrawn.iter().copied()).chain(self.ends_at).collect();
        let (Some(first), Some(last)) = (places.first().copied(), places.last().copied()) else {
            return Ok(HashMap::new());
        };
        let last = if self.ends_at.is_some() { u32::MAX } else { last };
        let (mut kept, mut seq) = (HashMap::new(), first);
        loop {
            // A long session that is read again has many short batches, so each reads its own places only.
            let limit = PAGE.min((last - seq) as usize + 1);
            let page = write.store().exchanges().since(&self.session.id, seq, limit).await?;
            let end = page.last().map_or(last, |exchange| exchange.seq);
            let is_over = page.len() < limit || end >= last;
            kept.extend(page.into_iter().map(|exchange| (exchange.seq, exchange)));
            if is_over {
                kept.retain(|seq, _| *seq <= last);
                return Ok(kept);
            }
            seq = end + 1;
        }
    }
}

/// The changes that a batch makes.
#[derive(Default)]
struct Compared {
    read: ReadExchanges,
    gone: Vec<ExchangeId>,
    done: HistoryCommitted,
}

impl Draft {
    /// Whether an exchange was forgotten. An id that was not bound then counts as it did, so that no fork brings the exchange
    /// back. Codex numbers the turns of many sessions: there it counts only for those of which something was forgotten.
    fn is_buried(&self, exchange: &Exchange, buried: &BTreeSet<HistoryTombstone>) -> bool {
        let former = self.former.get(&exchange.seq);
        let counts = || {
            self.session.agent != prepare::agent_slug(transcript::Agent::Codex)
                || buried.contains(&HistoryTombstone::of_typed(&self.session.id))
        };
        buried.contains(&HistoryTombstone::of_exchange(exchange))
            || former.is_some_and(|former| buried.contains(former)) && counts()
    }

    /// Compares the batch with the stored exchanges at its places.
    fn compared(&self, mut kept: HashMap<u32, Exchange>, buried: &BTreeSet<HistoryTombstone>) -> Compared {
        let mut all = Compared::default();
        for full in &self.exchanges {
            let mut full = full.clone();
            if self.is_buried(&full.exchange, buried) {
                all.done.forgotten += 1;
                continue;
            }
            let here = kept.remove(&full.exchange.seq);
            let was_withdrawn = here.as_ref().is_some_and(|here| here.withdrawn);
            full.exchange.withdrawn = was_withdrawn || self.withdrawn.contains(&full.exchange.seq);
            match here {
                Some(here) if here.digest == full.exchange.digest => {
                    all.done.unchanged += 1;
                    if full.exchange.withdrawn && !was_withdrawn {
                        all.read.withdrawn.push(full.exchange.id);
                    }
                }
                Some(_) => all.read.changed.push(full),
                None => all.read.added.push(full),
            }
        }
        // The remaining ones are at places that the batch does not have.
        for exchange in kept.into_values() {
            if self.ends_at.is_some_and(|end| exchange.seq >= end) {
                all.gone.push(exchange.id);
            } else if self.withdrawn.contains(&exchange.seq) && !exchange.withdrawn {
                all.read.withdrawn.push(exchange.id);
            }
        }
        all.done.added = all.read.added.len();
        all.done.replaced = all.read.changed.len();
        all.done.removed = all.gone.len();
        all
    }
}

/// The result of a batch.
#[derive(Default)]
struct Decided {
    done: HistoryCommitted,
    /// The row of the source, if it was not committed with the rest.
    source: Option<Source>,
    /// Whether there is something for the index.
    is_changed: bool,
    /// The session's project, if claims lost evidence, and memories with them.
    retracted_in: Option<Project>,
}

impl Draft {
    async fn decide(&self, write: &mut Write<'_>) -> Result<Decided, ServiceError> {
        let buried = self.buried(write).await?;
        let known = write.store().past_sessions().by_id(&self.session.id).await?;
        if let Some(decided) = self.skipped(write, known.as_ref(), &buried).await? {
            return Ok(decided);
        }
        if let Some(known) = known.as_ref().filter(|known| known.agent != self.session.agent) {
            let problem = format!("a session of {} has this id", known.agent);
            return Err(ServiceError::invalid("session", self.session.id.as_str(), problem));
        }
        let Compared { read, gone, done } = self.compared(self.kept(write).await?, &buried);
        let mut session = self.merged(known.as_ref(), &buried);
        let before = session.exchanges;
        session.exchanges = count(session.exchanges, done.added, done.removed);
        let is_same = known.as_ref() == Some(&session) && read.is_empty();
        // A session without exchanges is not stored: in most of these nobody said anything.
        let is_empty = session.exchanges == 0;
        let (is_shorter, source) = (!gone.is_empty(), self.source(&buried));
        let mut retracted_in = None;
        let is_rewritten = done.replaced > 0 && self.read_from != ReadFrom::StartAnew;
        if is_shorter || is_rewritten {
            let lost = Lost { gone: &gone, replaced: if is_rewritten { &read.changed } else { &[] } };
            let retracted = retract(write, &session, lost, Why::Missing, |_| false).await?;
            retracted_in = (retracted.candidates > 0).then(|| session.project.clone());
        }
        if is_shorter {
            write.forget_history(&session, before, gone, Vec::new());
        }
        if is_same || is_empty {
            return Ok(Decided { done, source: Some(source), is_changed: is_shorter, retracted_in });
        }
        if known.is_some_and(|known| known.project != session.project) {
            // The index finds its earlier exchanges in the other project, too.
            write.merge_past_session(&PastSession { exchanges: before, ..session.clone() });
        }
        write.import_history(&session, before, read, &source);
        Ok(Decided { done, source: None, is_changed: true, retracted_in })
    }
}

fn count(kept: u32, added: usize, removed: usize) -> u32 {
    let kept = kept as usize + added;
    u32::try_from(kept.saturating_sub(removed)).unwrap_or(u32::MAX)
}
