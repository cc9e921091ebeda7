//! Candidates in exports and imports: their line, and how an import reads it.

use serde::{Deserialize, Serialize};

use crate::{
    error::Taking,
    moment::{storable, storable_if_any},
};
use cerebro_core::distil::{CLAIM_CHARS_MAX, QUOTE_CHARS, TITLE_CHARS_MAX};
use cerebro_core::domain::limits::EVIDENCE_MAX;
use cerebro_core::domain::{
    Candidate, CandidateId, CandidateState, Citation, ClaimKind, ExchangeId, HistoryTombstone, MemoryId,
    SessionId, Timestamp,
};
use cerebro_core::redact::{RedactedText, redact_name, redact_text};
use cerebro_store::Write;

/// Longest name of a model or a generation, in characters.
const NAME_CHARS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CandidateLine {
    id: String,
    session: String,
    claim: String,
    title: String,
    text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<EvidenceLine>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    generation: String,
    model: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    corroborated: bool,
    #[serde(deserialize_with = "storable")]
    at: Timestamp,
    #[serde(default, deserialize_with = "storable_if_any", skip_serializing_if = "Option::is_none")]
    decided_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct EvidenceLine {
    exchange: String,
    digest: String,
    quote: String,
}

/// Imports a candidate, if its session and its evidence are in the store.
pub(crate) async fn candidate(write: &mut Write<'_>, line: CandidateLine) -> Taking {
    let candidate = line.candidate()?;
    let Some(session) = write.past_session(&candidate.session).await? else {
        return Err(format!("session `{}` of the candidate is not here", candidate.session).into());
    };
    if write.store().candidates().by_id(&candidate.id).await?.is_some() {
        return Ok(false);
    }
    for evidence in &candidate.evidence {
        if write.exchange_digest(&evidence.exchange).await?.is_none() {
            return Err(format!("exchange `{}` of the candidate is not here", evidence.exchange).into());
        }
    }
    if let Some((memory, _)) = &candidate.memory {
        let Some(present) = write.memory(memory).await? else {
            return Err(format!("memory `{memory}` of the candidate is not here").into());
        };
        if present.purged {
            return Err(format!("memory `{memory}` of the candidate was purged here").into());
        }
    }
    let forgotten = write.store().history().forgotten_texts().await?;
    if candidate.any_text(|text| forgotten.are_in(text)) {
        return Err(format!("candidate `{}` says what was forgotten here", candidate.id).into());
    }
    write.import_candidate(candidate, &session);
    Ok(true)
}

fn clean(text: &str, chars_max: usize) -> RedactedText {
    redact_text(text).value.one_line().cut_chars(chars_max)
}

impl From<&Candidate> for CandidateLine {
    fn from(candidate: &Candidate) -> Self {
        let evidence = |evidence: &Citation| EvidenceLine {
            exchange: evidence.exchange.to_string(),
            digest: evidence.digest.clone(),
            quote: evidence.quote.to_string(),
        };
        Self {
            id: candidate.id.to_string(),
            session: candidate.session.as_str().to_owned(),
            claim: candidate.kind.as_str().to_owned(),
            title: candidate.title.to_string(),
            text: candidate.text.to_string(),
            evidence: candidate.evidence.iter().map(evidence).collect(),
            state: candidate.state.as_str().to_owned(),
            memory: candidate.memory.map(|(memory, _)| memory.to_string()),
            revision: candidate.memory.map(|(_, revision)| revision),
            generation: candidate.generation.clone(),
            model: candidate.model.to_string(),
            corroborated: candidate.corroborated,
            at: candidate.at,
            decided_at: candidate.decided_at,
        }
    }
}

impl EvidenceLine {
    fn evidence(self) -> Result<Citation, String> {
        let exchange = ExchangeId::parse(&self.exchange).map_err(|error| error.to_string())?;
        let digest = HistoryTombstone::parse(&self.digest).ok_or("a digest is 32 hexadecimal digits")?;
        let quote = clean(&self.quote, *QUOTE_CHARS.end());
        Ok(Citation { exchange, digest: digest.as_str().to_owned(), quote })
    }
}

impl CandidateLine {
    /// The candidate, redacted and within its bounds.
    fn candidate(self) -> Result<Candidate, String> {
        let state =
            CandidateState::parse(&self.state).ok_or("a candidate is waiting, accepted or rejected")?;
        let memory =
            self.memory.as_deref().map(MemoryId::parse).transpose().map_err(|error| error.to_string())?;
        if (state == CandidateState::Accepted) != memory.is_some() {
            return Err("a candidate names a memory where it is accepted, and only there".to_owned());
        }
        if self.evidence.len() > EVIDENCE_MAX
            || (self.evidence.is_empty() && state == CandidateState::Waiting)
        {
            return Err(format!("a candidate cites 1 to {EVIDENCE_MAX} exchanges"));
        }
        Ok(Candidate {
            id: CandidateId::parse(&self.id).map_err(|error| error.to_string())?,
            session: SessionId::parse(&redact_name(&self.session)).map_err(|error| error.to_string())?,
            kind: ClaimKind::parse(&self.claim).ok_or("the kind of a claim is not known here")?,
            title: clean(&self.title, TITLE_CHARS_MAX),
            text: clean(&self.text, CLAIM_CHARS_MAX),
            evidence: self.evidence.into_iter().map(EvidenceLine::evidence).collect::<Result<_, _>>()?,
            state,
            memory: memory.map(|memory| (memory, self.revision.unwrap_or(0))),
            generation: clean(&self.generation, NAME_CHARS_MAX).into(),
            model: clean(&self.model, NAME_CHARS_MAX),
            corroborated: self.corroborated && state == CandidateState::Accepted,
            at: self.at,
            decided_at: self.decided_at,
        })
    }
}
