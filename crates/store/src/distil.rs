//! Distilled candidates, and the record of which past sessions were distilled.

use std::collections::{BTreeMap, BTreeSet};

use surrealdb::types::{Datetime, RecordId, SurrealValue};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    history,
    read::{Vars, Walk, one},
    row::{Put, datetime, held, malformed, memory_id, memory_record, own_key, small, timestamp, unsigned},
    statement::{self, Statement},
};
use cerebro_core::domain::{
    Candidate, CandidateId, CandidateState, Citation, ClaimKind, DistilRun, DistilState, EventKind,
    ExchangeId, MemoryId, PastSession, SessionId, SessionOutcome,
};

const TABLE: &str = "candidate";
const RUNS: &str = "distil_run";

/// The changes of these tables.
#[derive(Default)]
pub(super) struct DistilChanges {
    put: Vec<Candidate>,
    gone: Vec<CandidateId>,
    runs: Vec<DistilRun>,
    /// Sessions of which something was forgotten; they lose their titles.
    untitled: Vec<SessionId>,
    gone_runs: Vec<SessionId>,
}

#[derive(Debug, Clone, SurrealValue)]
struct EvidenceRow {
    exchange: String,
    digest: String,
    quote: String,
}

#[derive(Debug, Clone, SurrealValue)]
struct CandidateRow {
    id: Option<RecordId>,
    session: String,
    kind: String,
    title: String,
    text: String,
    evidence: Vec<EvidenceRow>,
    state: String,
    memory: Option<RecordId>,
    revision: Option<i64>,
    generation: String,
    model: String,
    corroborated: Option<bool>,
    at: Datetime,
    decided_at: Option<Datetime>,
}

#[derive(Debug, Clone, SurrealValue)]
pub(super) struct DroppedRow {
    reason: String,
    count: i64,
}

impl From<&(String, u32)> for DroppedRow {
    fn from((reason, count): &(String, u32)) -> Self {
        Self { reason: reason.clone(), count: i64::from(*count) }
    }
}

impl From<DroppedRow> for (String, u32) {
    fn from(row: DroppedRow) -> Self {
        (row.reason, small(row.count))
    }
}

#[derive(Debug, Clone, SurrealValue)]
struct RunRow {
    id: Option<RecordId>,
    state: String,
    outcome: Option<String>,
    title: Option<String>,
    claims: i64,
    dropped: Vec<DroppedRow>,
    generation: String,
    ended_at: Datetime,
    at: Datetime,
}

fn record(id: &CandidateId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

fn run_record(session: &SessionId) -> RecordId {
    RecordId::new(RUNS, session.as_str())
}

fn put(candidate: &Candidate) -> Put<CandidateRow> {
    let evidence = |evidence: &Citation| EvidenceRow {
        exchange: evidence.exchange.key().to_owned(),
        digest: evidence.digest.clone(),
        quote: evidence.quote.to_string(),
    };
    let row = CandidateRow {
        id: None,
        session: candidate.session.as_str().to_owned(),
        kind: candidate.kind.as_str().to_owned(),
        title: candidate.title.to_string(),
        text: candidate.text.to_string(),
        evidence: candidate.evidence.iter().map(evidence).collect(),
        state: candidate.state.as_str().to_owned(),
        memory: candidate.memory.as_ref().map(|(memory, _)| memory_record(memory)),
        revision: candidate.memory.map(|(_, revision)| i64::from(revision)),
        generation: candidate.generation.clone(),
        model: candidate.model.to_string(),
        corroborated: candidate.corroborated.then_some(true),
        at: datetime(candidate.at),
        decided_at: candidate.decided_at.map(datetime),
    };
    Put { id: record(&candidate.id), row }
}

fn put_run(run: &DistilRun) -> Put<RunRow> {
    let row = RunRow {
        id: None,
        state: run.state.as_str().to_owned(),
        outcome: run.outcome.map(|outcome| outcome.as_str().to_owned()),
        title: run.title.clone().map(String::from),
        claims: i64::from(run.claims),
        dropped: run.dropped.iter().map(DroppedRow::from).collect(),
        generation: run.generation.clone(),
        ended_at: datetime(run.ended_at),
        at: datetime(run.at),
    };
    Put { id: run_record(&run.session), row }
}

impl TryFrom<EvidenceRow> for Citation {
    type Error = StoreError;

    fn try_from(row: EvidenceRow) -> Result<Self, StoreError> {
        let exchange = ExchangeId::of_key(&row.exchange)
            .map_err(|_| malformed(TABLE, "id of an exchange", &row.exchange))?;
        Ok(Self { exchange, digest: row.digest, quote: held(row.quote) })
    }
}

impl TryFrom<CandidateRow> for Candidate {
    type Error = StoreError;

    fn try_from(row: CandidateRow) -> Result<Self, StoreError> {
        let id = own_key(TABLE, row.id)?;
        let revision = row.revision.map_or(0, small);
        let memory = row.memory.map(|memory| Ok::<_, StoreError>((memory_id(TABLE, memory)?, revision)));
        Ok(Self {
            id: CandidateId::of_key(&id).map_err(|_| malformed(TABLE, "id", &id))?,
            session: session_key(&row.session)?,
            kind: ClaimKind::parse(&row.kind).ok_or_else(|| malformed(TABLE, "kind", &row.kind))?,
            title: held(row.title),
            text: held(row.text),
            evidence: row.evidence.into_iter().map(Citation::try_from).collect::<Result<_, _>>()?,
            state: CandidateState::parse(&row.state).ok_or_else(|| malformed(TABLE, "state", &row.state))?,
            memory: memory.transpose()?,
            generation: row.generation,
            model: held(row.model),
            corroborated: row.corroborated.unwrap_or(false),
            at: timestamp(row.at),
            decided_at: row.decided_at.map(timestamp),
        })
    }
}

impl TryFrom<RunRow> for DistilRun {
    type Error = StoreError;

    fn try_from(row: RunRow) -> Result<Self, StoreError> {
        let id = own_key(RUNS, row.id)?;
        Ok(Self {
            session: session_key(&id)?,
            state: DistilState::parse(&row.state).ok_or_else(|| malformed(RUNS, "state", &row.state))?,
            outcome: row.outcome.as_deref().and_then(SessionOutcome::parse),
            title: row.title.map(held),
            claims: small(row.claims),
            dropped: row.dropped.into_iter().map(Into::into).collect(),
            generation: row.generation,
            ended_at: timestamp(row.ended_at),
            at: timestamp(row.at),
        })
    }
}

fn session_key(text: &str) -> Result<SessionId, StoreError> {
    SessionId::parse(text).map_err(|_| malformed(TABLE, "session id", text))
}

impl DistilChanges {
    /// Something of a session, or all of it, is forgotten.
    pub(super) fn forget(&mut self, session: &PastSession) {
        let which = if session.exchanges == 0 { &mut self.gone_runs } else { &mut self.untitled };
        which.push(session.id.clone());
    }
}

impl Part for DistilChanges {
    fn add_to(&self, commit: &mut CommitScript) {
        commit.add(statement::COMMIT_CANDIDATES, "candidates", &self.put, put);
        commit.add(statement::COMMIT_GONE_CANDIDATES, "gone_candidates", &self.gone, record);
        commit.add(statement::COMMIT_DISTIL_RUNS, "distil_runs", &self.runs, put_run);
        commit.add(statement::COMMIT_UNTITLED_RUNS, "untitled_runs", &self.untitled, run_record);
        commit.add(statement::COMMIT_GONE_RUNS, "gone_runs", &self.gone_runs, run_record);
    }
}

/// The changes of candidates.
impl Write<'_> {
    /// A session was distilled and gave these new candidates.
    pub fn store_distilled(&mut self, session: &PastSession, run: DistilRun, candidates: Vec<Candidate>) {
        let distil = &mut self.record(history::event(EventKind::HistoryDistilled, session)).distil;
        distil.runs.push(run);
        distil.put.extend(candidates);
    }

    /// A person decided on a candidate, which is written in its new state. The memory that it became rests on what it cites.
    pub fn decide_candidate(&mut self, candidate: &Candidate, session: &PastSession) {
        self.put_decided(candidate, session, &BTreeSet::new());
    }

    /// A candidate was accepted without a person. The memory that it became rests on what it cites, but a citation that
    /// somebody took away stays away.
    pub async fn corroborate_candidate(
        &mut self,
        candidate: &Candidate,
        session: &PastSession,
    ) -> Result<(), StoreError> {
        let uncited = self.uncited_of(candidate).await?;
        self.put_decided(candidate, session, &uncited);
        Ok(())
    }

    fn put_decided(&mut self, candidate: &Candidate, session: &PastSession, uncited: &BTreeSet<ExchangeId>) {
        let kind = match candidate.state {
            CandidateState::Accepted => EventKind::CandidateAccepted,
            CandidateState::Rejected | CandidateState::Waiting => EventKind::CandidateRejected,
        };
        let memory = candidate.memory.map(|(memory, _)| memory);
        let event = NewEvent { memory, ..history::event(kind, session) };
        let tables = self.record(event);
        tables.cite_claim(candidate, uncited);
        tables.distil.put.push(candidate.clone());
    }

    /// Evidence of a candidate was forgotten: the candidate is written again, or removed if no evidence is left.
    pub fn retract_candidate(&mut self, candidate: &Candidate, session: &PastSession) {
        let distil = &mut self.record(history::event(EventKind::CandidateRetracted, session)).distil;
        if candidate.evidence.is_empty() {
            distil.gone.push(candidate.id);
        } else {
            distil.put.push(candidate.clone());
        }
    }

    /// A candidate came with an export. The citations of its memory have lines of their own: somebody may have removed some.
    pub fn import_candidate(&mut self, candidate: Candidate, session: &PastSession) {
        self.record(history::event(EventKind::CandidateImported, session)).distil.put.push(candidate);
    }
}

/// Statistics of distilling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DistilCounts {
    /// Candidates by state.
    pub candidates: BTreeMap<String, u64>,
    /// Sessions by result.
    pub sessions: BTreeMap<String, u64>,
    /// Claims and operations that failed the check, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Arrangements of handbooks by state.
    pub arrangements: BTreeMap<String, u64>,
    /// Candidates that were accepted without a person.
    pub corroborated: u64,
}

noun! {
    /// The candidates.
    candidates: Candidates
}

impl<'a> Candidates<'a> {
    pub async fn by_id(self, id: &CandidateId) -> Result<Option<Candidate>, StoreError> {
        Ok(one(self.by_ids(std::slice::from_ref(id)).await?))
    }

    /// Candidates by id; missing ones are left out.
    pub async fn by_ids(self, ids: &[CandidateId]) -> Result<Vec<Candidate>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.select(statement::CANDIDATE_GET, Vars::new().list("ids", ids.iter().map(record))).await
    }

    /// All candidates of a past session.
    pub async fn of_session(self, session: &SessionId) -> Result<Vec<Candidate>, StoreError> {
        let vars = Vars::new().with("sid", session.as_str());
        self.select(statement::CANDIDATE_OF_SESSION, vars).await
    }

    /// The candidates that became this memory: one, or several that say the same.
    pub async fn of_memory(self, memory: &MemoryId) -> Result<Vec<Candidate>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory));
        self.select(statement::CANDIDATE_OF_MEMORY, vars).await
    }

    /// The candidates in a state, the latest first.
    pub async fn in_state(self, state: CandidateState, limit: usize) -> Result<Vec<Candidate>, StoreError> {
        let vars = Vars::new().with("state", state.as_str()).limit(limit);
        self.select(statement::CANDIDATE_LIST, vars).await
    }

    async fn select(self, statement: Statement, vars: Vars) -> Result<Vec<Candidate>, StoreError> {
        self.0.select::<CandidateRow, _>(TABLE, statement, vars).await
    }

    /// All candidates in order of id, `limit` at a time.
    pub fn walk(self, limit: usize) -> Walk<'a, Candidate> {
        Walk::over::<CandidateRow>(self.0, TABLE, limit)
    }
}

noun! {
    /// The runs of distilling.
    distil_runs: DistilRuns
}

impl DistilRuns<'_> {
    /// The distilling runs of some sessions; sessions that were never distilled are left out.
    pub async fn of(self, sessions: &[SessionId]) -> Result<Vec<DistilRun>, StoreError> {
        if sessions.is_empty() {
            return Ok(Vec::new());
        }
        let vars = Vars::new().list("ids", sessions.iter().map(run_record));
        self.0.select::<RunRow, _>(RUNS, statement::DISTIL_RUN_GET, vars).await
    }

    /// The statistics of distilling.
    pub async fn counts(self) -> Result<DistilCounts, StoreError> {
        #[derive(SurrealValue)]
        struct Counted {
            state: String,
            count: i64,
        }
        #[derive(SurrealValue)]
        struct Counts {
            candidates: Vec<Counted>,
            sessions: Vec<Counted>,
            dropped: Vec<DroppedRow>,
            arrangements: Vec<Counted>,
            corroborated: i64,
        }
        let rows: Vec<Counts> = self.0.values(TABLE, statement::CANDIDATE_COUNTS, Vars::new()).await?;
        let Some(counts) = one(rows) else { return Ok(DistilCounts::default()) };
        let by_state = |rows: Vec<Counted>| {
            rows.into_iter().map(|row| (row.state, unsigned(row.count))).collect::<BTreeMap<String, u64>>()
        };
        let dropped = counts.dropped.into_iter().map(|row| (row.reason, unsigned(row.count))).collect();
        Ok(DistilCounts {
            candidates: by_state(counts.candidates),
            sessions: by_state(counts.sessions),
            dropped,
            arrangements: by_state(counts.arrangements),
            corroborated: unsigned(counts.corroborated),
        })
    }
}
