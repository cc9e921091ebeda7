//! Distilled candidates, and the record of which past sessions were distilled.

use std::collections::{BTreeMap, BTreeSet};

use surrealdb::types::{Object, RecordId, Value};

use super::{
    Store, StoreError, Write,
    changes::{CommitScript, NewEvent, Part},
    columns::{Column, Columns, RawRow, columns, put, put_row, stored, take, take_stored},
    history,
    read::{Vars, Walk, one},
    row::memory_record,
    statement,
};
use cerebro_core::domain::{
    Candidate, CandidateId, CandidateState, Citation, DistilRun, EventKind, ExchangeId, MemoryId,
    PastSession, SessionId,
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

columns! { Citation { exchange: text(ExchangeId::key, ExchangeId::of_key), digest, quote } }

columns! {
    Candidate in "candidate" {
        id: key(CandidateId::of_key), session: text(SessionId::as_str, SessionId::parse), kind, title, text, evidence,
        state, memory: flat("memory"), generation, model, at, decided_at,
        // None rather than false.
        corroborated: by(|is| is.then_some(true), |is: Option<bool>| is.unwrap_or_default()),
    }
}

columns! {
    DistilRun in "distil_run" {
        session: key(SessionId::parse), state, outcome, title, claims, dropped, generation, ended_at, at,
    }
}

/// A memory and the revision that has a candidate's words.
impl Columns for (MemoryId, u32) {
    fn put_into(&self, row: &mut Object) {
        put(row, "memory", &self.0);
        put(row, "revision", &self.1);
    }

    fn take_from(row: &mut Object, table: &'static str) -> Result<Self, StoreError> {
        let revision: Option<u32> = take(table, row, "revision")?;
        Ok((take(table, row, "memory")?, revision.unwrap_or(0)))
    }
}

/// A reason, and how many claims or operations failed for it.
impl Column for (String, u32) {
    fn put(&self) -> Value {
        let mut row = Object::new();
        put(&mut row, "reason", &self.0);
        put(&mut row, "count", &self.1);
        Value::Object(row)
    }

    fn read(table: &'static str, value: Value) -> Result<Self, StoreError> {
        let mut row: Object = stored(table, value)?;
        Ok((take(table, &mut row, "reason")?, take(table, &mut row, "count")?))
    }
}

fn record(id: &CandidateId) -> RecordId {
    RecordId::new(TABLE, id.key())
}

fn run_record(session: &SessionId) -> RecordId {
    RecordId::new(RUNS, session.as_str())
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
        commit.add(statement::COMMIT_CANDIDATES, "candidates", &self.put, |candidate| {
            put_row(record(&candidate.id), candidate)
        });
        commit.add(statement::COMMIT_GONE_CANDIDATES, "gone_candidates", &self.gone, record);
        commit.add(statement::COMMIT_DISTIL_RUNS, "distil_runs", &self.runs, |run| {
            put_row(run_record(&run.session), run)
        });
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
        self.0.select(statement::CANDIDATE_GET, Vars::new().list("ids", ids.iter().map(record))).await
    }

    /// All candidates of a past session.
    pub async fn of_session(self, session: &SessionId) -> Result<Vec<Candidate>, StoreError> {
        let vars = Vars::new().with("sid", session.as_str());
        self.0.select(statement::CANDIDATE_OF_SESSION, vars).await
    }

    /// The candidates that became this memory: one, or several that say the same.
    pub async fn of_memory(self, memory: &MemoryId) -> Result<Vec<Candidate>, StoreError> {
        let vars = Vars::new().with("memory", memory_record(memory));
        self.0.select(statement::CANDIDATE_OF_MEMORY, vars).await
    }

    /// The candidates in a state, the latest first.
    pub async fn in_state(self, state: CandidateState, limit: usize) -> Result<Vec<Candidate>, StoreError> {
        let vars = Vars::new().with("state", state.as_str()).limit(limit);
        self.0.select(statement::CANDIDATE_LIST, vars).await
    }

    /// All candidates in order of id.
    pub fn walk(self) -> Walk<'a, Candidate> {
        Walk::over(self.0)
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
        self.0.select(statement::DISTIL_RUN_GET, vars).await
    }

    /// The statistics of distilling.
    pub async fn counts(self) -> Result<DistilCounts, StoreError> {
        let rows: Vec<RawRow> = self.0.values(TABLE, statement::CANDIDATE_COUNTS, Vars::new()).await?;
        let Some(row) = one(rows) else { return Ok(DistilCounts::default()) };
        let mut row = row.columns(TABLE)?;
        let corroborated = take(TABLE, &mut row, "corroborated")?;
        let mut by = |name, column| -> Result<BTreeMap<String, u64>, StoreError> {
            let counted: Vec<RawRow> = take_stored(TABLE, &mut row, column)?;
            counted.into_iter().map(|one| one.pair(TABLE, [name, "count"])).collect()
        };
        Ok(DistilCounts {
            candidates: by("state", "candidates")?,
            sessions: by("state", "sessions")?,
            dropped: by("reason", "dropped")?,
            arrangements: by("state", "arrangements")?,
            corroborated,
        })
    }
}
