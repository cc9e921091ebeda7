//! One session: whether it may be sent, the question about it, and the claims that are kept.

use std::collections::BTreeSet;

use super::{DistilSettings, Prepared};
use crate::{
    Distilling, ServiceError,
    jobs::{JobError, Payer, ask},
    tasks::on_a_thread,
};
use cerebro_core::distil::{self, Claim, Distilled};
use cerebro_core::domain::{
    Candidate, CandidateId, CandidateState, DistilRun, DistilState, Exchange, ExchangeId, FullExchange,
    PastSession, SessionId,
};
use cerebro_core::redact::{RedactedText, redact_text};
use cerebro_models::llm::{ANSWER_TOKENS_MAX, Llm};
use cerebro_store::{PAGE, Write};

/// Most exchanges of a session that is distilled.
const EXCHANGES_MAX: usize = 2_000;

/// What a model told of a session.
pub(super) struct Told {
    /// As the model was asked about it.
    pub(super) session: PastSession,
    pub(super) run: DistilRun,
    pub(super) claims: Vec<Claim>,
    pub(super) model: RedactedText,
}

/// A question about a session, and the exchanges that it shows.
type About = (Prepared<ExchangeId>, Vec<FullExchange>);

impl Distilling {
    /// An estimate of the cost of asking about a session, in tokens; `None` if it would not be sent.
    pub(super) async fn distil_estimate(
        &self,
        session: &PastSession,
        settings: &DistilSettings,
    ) -> Result<Option<u64>, ServiceError> {
        let prepared = self.prepared(session, settings).await?;
        Ok(prepared.ok().map(|(prepared, _)| prepared.tokens() + u64::from(ANSWER_TOKENS_MAX)))
    }

    /// Asks a model about a session. Returns what passes the check; `None` if nothing was sent.
    pub(super) async fn ask_about(
        &self,
        id: &SessionId,
        llm: &Llm,
        settings: &DistilSettings,
    ) -> Result<Option<Told>, JobError> {
        let Some(session) = self.base.store.past_sessions().by_id(id).await? else {
            return Ok(None);
        };
        let model = redact_text(&llm.name()).value;
        let mut run = DistilRun {
            session: session.id.clone(),
            state: DistilState::Nothing,
            outcome: None,
            title: None,
            claims: 0,
            dropped: Vec::new(),
            generation: distil::generation(&llm.name()),
            ended_at: session.ended_at,
            at: self.base.now(),
        };
        let (prepared, shown) = match self.prepared(&session, settings).await? {
            Ok(about) => about,
            Err(state) => {
                run.state = state;
                self.store_distilled(&Told { session, run, claims: Vec::new(), model }).await?;
                return Ok(None);
            }
        };
        let payer = Payer::of_distilling(self.base.spending(), llm, settings);
        let read = |answer: &serde_json::Value| distil::read(answer, &shown);
        let Distilled { outcome, title, claims, dropped } =
            ask(llm, prepared.question(), &payer, read).await?;
        run.outcome = Some(outcome);
        run.title = title;
        run.dropped = dropped.into_iter().map(|(why, count)| (why.as_str().to_owned(), count)).collect();
        Ok(Some(Told { session, run, claims, model }))
    }

    /// Keeps the claims that passed and whose evidence is still there. Keeping them again changes nothing.
    pub(super) async fn store_distilled(&self, told: &Told) -> Result<(), ServiceError> {
        self.base.store.transact(|write| Box::pin(keep(write, told))).await
    }

    /// The question about a session, or the reason why it is not sent.
    async fn prepared(
        &self,
        session: &PastSession,
        settings: &DistilSettings,
    ) -> Result<Result<About, DistilState>, ServiceError> {
        let Some(exchanges) = self.whole_session(&session.id).await? else {
            return Ok(Err(DistilState::TooLong));
        };
        let (session, tokens, min_prompts) =
            (session.clone(), settings.question_tokens(), settings.min_prompts as usize);
        let prepare = move || {
            let is_prompt = |full: &&FullExchange| full.exchange.part == 0 && !full.exchange.withdrawn;
            if exchanges.iter().filter(is_prompt).count() < min_prompts.max(1) {
                return Err(DistilState::Nothing);
            }
            if distil::holds_secret(&session, &exchanges) {
                return Err(DistilState::Secret);
            }
            bounded(&session, exchanges, tokens).ok_or(DistilState::TooLong)
        };
        on_a_thread("preparing the question about a session", prepare).await
    }

    /// All exchanges of a session with their texts; `None` for one with too many.
    async fn whole_session(&self, id: &SessionId) -> Result<Option<Vec<FullExchange>>, ServiceError> {
        let (mut all, mut seq) = (Vec::new(), 0);
        loop {
            let page = self.base.store.exchanges().since(id, seq, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Some(all)) };
            seq = last.seq.saturating_add(1);
            if all.len() + page.len() > EXCHANGES_MAX {
                return Ok(None);
            }
            all.extend(self.base.store.exchanges().with_texts(page).await?);
        }
    }
}

/// The question within its bound; `None` if the least of it is too long.
fn bounded(session: &PastSession, exchanges: Vec<FullExchange>, tokens: u64) -> Option<About> {
    let prepared = Prepared::within(tokens, |bytes| {
        let excerpts = distil::excerpts(&exchanges, bytes);
        Prepared {
            instructions: distil::INSTRUCTIONS.into(),
            question: distil::question(session, &excerpts),
            schema: distil::schema(&excerpts),
            shown: excerpts.iter().map(|excerpt| excerpt.id).collect(),
        }
    })?;
    let is_shown = |full: &FullExchange| prepared.shown.contains(&full.exchange.id);
    let shown = exchanges.into_iter().filter(is_shown).collect();
    Some((prepared, shown))
}

async fn keep(write: &mut Write<'_>, told: &Told) -> Result<(), ServiceError> {
    let Told { session: asked, run, claims, model } = told;
    // It may have been forgotten while the model was asked.
    let Some(session) = write.store().past_sessions().by_id(&asked.id).await? else {
        return Ok(());
    };
    let cited: BTreeSet<ExchangeId> =
        claims.iter().flat_map(|claim| &claim.evidence).map(|evidence| evidence.exchange).collect();
    let here = write.store().exchanges().by_ids(&Vec::from_iter(cited)).await?;
    let here: Vec<Exchange> = here.into_iter().map(|full| full.exchange).collect();
    let is_here = |claim: &&Claim| {
        claim.evidence.iter().all(|evidence| {
            here.iter().any(|exchange| exchange.id == evidence.exchange && exchange.digest == evidence.digest)
        })
    };
    let candidate = |claim: &Claim| Candidate {
        id: CandidateId::of(&session.id, claim.kind.as_str(), &claim.text),
        session: session.id.clone(),
        kind: claim.kind,
        title: claim.title.clone(),
        text: claim.text.clone(),
        evidence: claim.evidence.clone(),
        state: CandidateState::Waiting,
        memory: None,
        generation: run.generation.clone(),
        model: model.clone(),
        corroborated: false,
        at: write.at(),
        decided_at: None,
    };
    let mut candidates: Vec<Candidate> = claims.iter().filter(is_here).map(candidate).collect();
    let mut run = run.clone();
    run.at = write.at();
    // Some of it may have been forgotten, too. What the model says may tell of that.
    let forgotten = write.store().history().forgotten_texts().await?;
    candidates.retain(|candidate| !candidate.any_text(|text| forgotten.are_in(text)));
    if session.exchanges < asked.exchanges {
        run.title = None;
    }
    run.title = run.title.filter(|title| !forgotten.are_in(title));
    run.claims = u32::try_from(candidates.len()).unwrap_or(u32::MAX);
    if run.claims > 0 {
        run.state = DistilState::Done;
    }
    // Earlier candidates stay as they are, decided or not, whether they are proposed again or not.
    let ids: Vec<CandidateId> = candidates.iter().map(|candidate| candidate.id).collect();
    let known = write.store().candidates().by_ids(&ids).await?;
    candidates.retain(|candidate| known.iter().all(|known| known.id != candidate.id));
    write.store_distilled(&session, run, candidates);
    Ok(())
}
