//! Checks a model's claims against the session. Claims without support there are dropped and counted.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    CLAIM_CHARS_MAX, CLAIMS_MAX, QUOTE_CHARS, TITLE_CHARS_MAX,
    alike::{has_words, is_worded_by, literals, may_name, tells_of},
    ask::{last_runs, said, succeeded, users_words},
    orders::{gives_orders, is_command, speaks_for_user},
};
use crate::{
    domain::{
        Candidate, Citation, ClaimKind, ExchangeId, FullExchange, Origin, SessionOutcome,
        limits::EVIDENCE_MAX,
    },
    redact::{RedactedText, redact_text},
    relate::claim::MalformedAnswer,
    taint, text,
};

/// A claim that passed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub kind: ClaimKind,
    /// One line.
    pub title: RedactedText,
    /// The claim.
    pub text: RedactedText,
    /// The places that it rests on, without repetitions.
    pub evidence: Vec<Citation>,
}

/// The accepted part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Distilled {
    /// How the session ended, according to the model.
    pub outcome: SessionOutcome,
    /// The model's title for the session; `None` where it gave none, or one that must not be kept.
    pub title: Option<RedactedText>,
    /// The claims that passed, at most [`CLAIMS_MAX`].
    pub claims: Vec<Claim>,
    /// How many claims were dropped, by reason.
    pub dropped: BTreeMap<Reason, u32>,
}

named! {
    /// Why a claim or an operation is dropped.
    pub enum Reason {
        /// It has the wrong form, an unknown kind or no words.
        Malformed = "malformed",
        /// It exceeds the bound of one answer.
        TooMany = "too_many",
        /// It, its title, a quote or its list of citations is too long, or a quote is too short.
        Length = "length",
        /// Another claim says the same.
        Repeated = "repeated",
        /// It cites nothing.
        NoEvidence = "no_evidence",
        /// It cites an exchange that was not shown.
        UnknownExchange = "unknown_exchange",
        /// It cites a memory that was not shown.
        UnknownSource = "unknown_source",
        /// It cites too few memories.
        FewSources = "few_sources",
        /// A quote does not occur in the exchange that it cites.
        QuoteNotFound = "quote_not_found",
        /// It is about the user's will, and does not tell what the user said; or it is a decision, and no quote is the
        /// user's or the agent's.
        NotTheUser = "not_the_user",
        /// It says that something works, and no quote is of a command that succeeded and that it may be about; or it names
        /// one that is not known to have succeeded.
        NoSuccess = "no_success",
        /// A command, path or address in it occurs in no exchange that it cites; for an insight, a number or a name in
        /// no memory.
        Unfounded = "unfounded",
        /// It reads like an instruction.
        Instruction = "instruction",
        /// Redaction found something in it.
        Secret = "secret",
        /// An operation names an item that was not shown.
        UnknownItem = "unknown_item",
        /// An operation does not fit the present places of its items.
        Unfit = "unfit",
        /// An item would be merged into one that does not say all of it.
        SaysMore = "says_more",
        /// More items would be taken away than one arrangement may take.
        TooManyTaken = "too_many_taken",
    }
}

#[derive(Deserialize)]
struct Answer {
    outcome: String,
    #[serde(default)]
    title: String,
    no_op: bool,
    claims: Vec<Value>,
}

#[derive(Deserialize)]
struct AnswerClaim {
    kind: String,
    title: String,
    text: String,
    evidence: Vec<AnswerEvidence>,
}

#[derive(Deserialize)]
struct AnswerEvidence {
    id: String,
    quote: String,
}

/// Reads an answer about a session of which these exchanges were shown.
///
/// # Errors
/// [`MalformedAnswer`] where the answer as a whole has the wrong form, worded so that a model can correct it. A single claim
/// that does not hold is dropped instead.
pub fn read(answer: &Value, exchanges: &[FullExchange]) -> Result<Distilled, MalformedAnswer> {
    let parsed = Answer::deserialize(answer).map_err(|error| MalformedAnswer(error.to_string()))?;
    let outcome = SessionOutcome::parse(&parsed.outcome).ok_or_else(|| {
        MalformedAnswer(format!("there is no outcome `{}`", text::cut_chars(&parsed.outcome, 40)))
    })?;
    let title = own_words(&parsed.title, TITLE_CHARS_MAX).ok().filter(|title| taint(title, "").is_empty());
    let mut distilled = Distilled { outcome, title, claims: Vec::new(), dropped: BTreeMap::new() };
    let claims = if parsed.no_op { Vec::new() } else { parsed.claims };
    for claim in claims {
        let checked = if distilled.claims.len() < CLAIMS_MAX {
            checked(&claim, exchanges)
        } else {
            Err(Reason::TooMany)
        };
        let is_known = |claim: &Claim| {
            let same = |other: &Claim| text::fold(&other.text) == text::fold(&claim.text);
            distilled.claims.iter().any(same)
        };
        match checked {
            Ok(claim) if is_known(&claim) => *distilled.dropped.entry(Reason::Repeated).or_default() += 1,
            Ok(claim) => distilled.claims.push(claim),
            Err(why) => *distilled.dropped.entry(why).or_default() += 1,
        }
    }
    Ok(distilled)
}

/// Whether a candidate still rests on its citations: each exchange is there and contains the quote, and the
/// condition of the claim's kind holds.
pub fn is_supported(candidate: &Candidate, exchanges: &[FullExchange]) -> bool {
    let found = |evidence: &Citation| cited(exchanges, evidence.exchange, &evidence.quote).is_ok();
    !candidate.evidence.is_empty()
        && candidate.evidence.iter().all(found)
        && founded(candidate.kind, &candidate.title, &candidate.text, &candidate.evidence, exchanges).is_ok()
}

/// Whether an exchange contains a quote, or may contain it in what its bound left out. White space does not count.
pub fn has_quote(full: &FullExchange, quote: &str) -> bool {
    full.text.is_clipped() || holds(&full.text, quote)
}

/// The user's sentences from which a candidate quotes; empty if it does not quote the user.
pub fn quoted_of_user(evidence: &[Citation], exchanges: &[FullExchange]) -> String {
    let quoted = |evidence: &Citation| {
        let full = exchanges.iter().find(|full| full.exchange.id == evidence.exchange)?;
        sentences_around(users_words(full)?, &evidence.quote)
    };
    evidence.iter().filter_map(quoted).collect::<Vec<_>>().join(" ")
}

/// The whole sentences of a text that a quote is from, so that no quote leaves a negation out. White space does not count.
fn sentences_around(words: &str, quote: &str) -> Option<String> {
    const ENDS: [&str; 4] = [". ", "! ", "? ", "; "];
    let (words, quote) = (text::one_line(words), text::one_line(quote));
    let from = words.find(&quote)?;
    let to = from + quote.len();
    let ends = ENDS.into_iter().flat_map(|end| words.match_indices(end)).map(|(mark, _)| mark + 1);
    let begin = ends.clone().filter(|end| *end <= from).max().unwrap_or(0);
    let end = ends.filter(|end| *end >= to).min().unwrap_or(words.len());
    Some(words[begin..end].trim().to_owned())
}

fn checked(claim: &Value, exchanges: &[FullExchange]) -> Result<Claim, Reason> {
    let parsed = AnswerClaim::deserialize(claim).map_err(|_| Reason::Malformed)?;
    let kind = ClaimKind::parse(&parsed.kind).ok_or(Reason::Malformed)?;
    let title = own_words(&parsed.title, TITLE_CHARS_MAX)?;
    let text = own_words(&parsed.text, CLAIM_CHARS_MAX)?;
    if parsed.evidence.len() > EVIDENCE_MAX {
        return Err(Reason::Length);
    }
    let mut evidence: Vec<Citation> = Vec::new();
    for one in &parsed.evidence {
        let exchange = ExchangeId::parse(&one.id).map_err(|_| Reason::UnknownExchange)?;
        let quote = text::one_line(&one.quote);
        if !QUOTE_CHARS.contains(&quote.chars().count()) {
            return Err(Reason::Length);
        }
        let found = cited(exchanges, exchange, &quote)?;
        let quote = clean(&quote)?;
        let evidence_of = Citation { exchange, digest: found.exchange.digest.clone(), quote };
        if !evidence.contains(&evidence_of) {
            evidence.push(evidence_of);
        }
    }
    if evidence.is_empty() {
        return Err(Reason::NoEvidence);
    }
    founded(kind, &title, &text, &evidence, exchanges)?;
    Ok(Claim { kind, title, text, evidence })
}

/// A text by a model: one line in which redaction found nothing.
pub(crate) fn own_words(words: &str, chars_max: usize) -> Result<RedactedText, Reason> {
    let words = clean(words)?.one_line();
    match words.chars().count() {
        0 => Err(Reason::Malformed),
        count if count > chars_max => Err(Reason::Length),
        _ => Ok(words),
    }
}

/// A text in which redaction found nothing.
pub(crate) fn clean(words: &str) -> Result<RedactedText, Reason> {
    let cleaned = redact_text(words);
    if cleaned.count == 0 { Ok(cleaned.value) } else { Err(Reason::Secret) }
}

/// The exchange that contains a quote. White space does not count.
fn cited<'a>(exchanges: &'a [FullExchange], id: ExchangeId, quote: &str) -> Result<&'a FullExchange, Reason> {
    let full = exchanges.iter().find(|full| full.exchange.id == id && !full.exchange.withdrawn);
    let full = full.ok_or(Reason::UnknownExchange)?;
    if holds(&full.text, quote) { Ok(full) } else { Err(Reason::QuoteNotFound) }
}

fn holds(text: &str, quote: &str) -> bool {
    text::one_line(text).contains(&text::one_line(quote))
}

/// What a claim must meet besides having quotes that occur.
fn founded(
    kind: ClaimKind,
    title: &str,
    claim: &str,
    evidence: &[Citation],
    exchanges: &[FullExchange],
) -> Result<(), Reason> {
    let of = |evidence: &Citation| exchanges.iter().find(|full| full.exchange.id == evidence.exchange);
    let worked = |evidence: &Citation| {
        let is_it = |line: &str| is_of_command(&evidence.quote, line) && may_name(claim, line);
        of(evidence).is_some_and(|full| succeeded(full).any(is_it))
    };
    let cited: Vec<&FullExchange> = evidence.iter().filter_map(of).collect();
    let is_said = |evidence: &Citation| of(evidence).is_some_and(|full| said_in(full, &evidence.quote));
    // A claim of any kind may say what the user wants. Then only the user's own words found it.
    let only_users = kind == ClaimKind::Preference || [title, claim].into_iter().any(speaks_for_user);
    // Nothing that the user did not write may slip in beside a genuine quote.
    let tells_of_user = || tells_of(claim, &quoted_of_user(evidence, exchanges));
    match kind {
        _ if only_users && !tells_of_user() => return Err(Reason::NotTheUser),
        ClaimKind::Decision if !evidence.iter().any(is_said) => return Err(Reason::NotTheUser),
        ClaimKind::Works if !evidence.iter().any(worked) || names_unproven(title, claim, &cited) => {
            return Err(Reason::NoSuccess);
        }
        _ => {}
    }
    let is_preference = kind == ClaimKind::Preference;
    if !taint(title, claim).is_empty() || (gives_orders(title, claim) && !is_preference) {
        return Err(Reason::Instruction);
    }
    if is_foreign_command(kind, title, claim, &cited) {
        return Err(Reason::Instruction);
    }
    let ids: BTreeSet<ExchangeId> = evidence.iter().map(|evidence| evidence.exchange).collect();
    let sources: Vec<&str> = exchanges
        .iter()
        .filter(|full| ids.contains(&full.exchange.id))
        .filter_map(|full| if only_users { users_words(full) } else { Some(full.text.as_str()) })
        .collect();
    let is_there = |literal: &str| sources.iter().any(|source| holds(source, literal));
    if [title, claim].into_iter().flat_map(literals).all(|literal| is_there(&literal)) {
        Ok(())
    } else {
        Err(Reason::Unfounded)
    }
}

/// Whether a quote is of a command: a piece of it, or all of it behind its prompt mark, with what is shown after it.
fn is_of_command(quote: &str, line: &str) -> bool {
    let (quote, line) = (text::one_line(quote), text::one_line(line));
    let shown = quote.strip_prefix("$ ");
    let is_whole = |shown: &str| format!("{shown} ").starts_with(&format!("{line} "));
    line.contains(shown.unwrap_or(&quote)) || shown.is_some_and(is_whole)
}

/// Whether a claim names, between backquotes, a command of these exchanges that is not known to have succeeded in any.
fn names_unproven(title: &str, claim: &str, cited: &[&FullExchange]) -> bool {
    let is_unproven = |literal: String| {
        let literal = text::one_line(&literal);
        let mut runs =
            cited.iter().flat_map(|full| last_runs(full)).filter(|(line, _)| *line == literal).peekable();
        runs.peek().is_some() && runs.all(|(_, ok)| ok != Some(true))
    };
    [title, claim].into_iter().flat_map(literals).any(is_unproven)
}

/// Whether the user or the agent said something in an exchange.
fn said_in(full: &FullExchange, words: &str) -> bool {
    said(full).iter().any(|said| holds(said, words))
}

/// Whether a claim is worded as a command that neither the user nor the agent gave: it can only come from a file, a page
/// or an output. How to run a command that succeeded is no such order. A title may be a noun phrase that looks like a
/// command (`Set operations`), so it must also be found there.
fn is_foreign_command(kind: ClaimKind, title: &str, claim: &str, cited: &[&FullExchange]) -> bool {
    let is_said =
        |words: &str| cited.iter().flat_map(|full| said(full)).any(|said| is_worded_by(words, said));
    let ran =
        |literal: String| cited.iter().flat_map(|full| succeeded(full)).any(|line| has_words(line, &literal));
    if kind == ClaimKind::Works && literals(claim).into_iter().any(ran) {
        return false;
    }
    let bare = text::fold(title.trim_end_matches(['.', '!', '…']));
    let is_there = || cited.iter().any(|full| holds(&text::fold(&full.text), &bare));
    let is_foreign = |words: &str| is_command(words) && !is_said(words);
    is_foreign(claim) || (is_foreign(title) && is_there())
}

/// Whether a name that a model gives reads like an instruction.
pub(super) fn is_instruction(name: &str) -> bool {
    !taint(name, "").is_empty() || gives_orders(name, "")
}

/// The flags of a text that nobody of this home chose to write.
fn taint(title: &str, claim: &str) -> Vec<crate::domain::Flag> {
    taint::of(title, claim, Origin::Transcript).flags
}
