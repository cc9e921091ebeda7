//! Evidence in the tools: exchanges of past sessions and passages of documents. A search shows them in a list of their
//! own, or as a hint in the list of memories; `exchange` and `passage` show one. Everything shown is a quotation.

pub(super) mod exchange;
pub(super) mod passage;

use super::prelude::*;
use super::reply::{HitParts, NOTES};
use cerebro_core::domain::{ChunkId, ExchangeId, MemoryId, Project, Scope, ScopeName};
use cerebro_service::{
    Evidence, EvidenceFound, EvidenceHint, EvidenceRequest, Mark, MarkDetail, SearchRequest, agent_slug,
    agents, flag_mark,
};

/// Largest hint that evidence answers a question, in bytes.
const HINT_BYTES_MAX: usize = 120;

/// What a search for evidence does not do: it has neither a past nor validities, tags and scopes.
pub(super) const UNUSED: [&str; 5] = ["as_of", "valid_at", "tags", "scope", "archived"];

/// Whether the answer of a search may have a hint about evidence: the search has no type or tag, is not about personal
/// memories alone, is about the present, and this is its first page.
pub(super) fn is_wide(request: &SearchRequest) -> bool {
    let is_personal = request.scope == Some(ScopeName::Personal);
    let is_narrow = request.kind.is_some() || !request.tags.is_empty() || is_personal;
    !is_narrow && request.as_of.is_none() && request.offset == 0
}

/// The kind of evidence that a search asks for by its type, if any.
pub(super) fn asked(request: &SearchRequest) -> Option<Evidence> {
    let kind = request.kind.as_ref()?;
    Evidence::ALL.into_iter().find(|of| of.type_name() == kind.as_str())
}

/// The result of a search of evidence, if there is any evidence.
pub(super) async fn search(
    call: &mut Call,
    of: Evidence,
    request: &SearchRequest,
) -> Result<Option<(EvidenceFound, Option<Project>)>, Fault> {
    // Only a person may search sessions without a person: an agent would take their prompts for the user's wishes.
    let hidden = call.caller.person && call.arguments.flag(&["hidden"])?;
    let asked = EvidenceRequest { hidden, ..of_search(call, request) };
    let found = call.service.recall.search_evidence(of, &asked).await?;
    call.redacted += found.as_ref().map_or(0, |found| found.redacted);
    Ok(found.map(|found| (found, asked.project)))
}

/// What a search asks of evidence.
pub(super) fn of_search(call: &Call, request: &SearchRequest) -> EvidenceRequest {
    EvidenceRequest {
        query: request.query.clone(),
        project: searched_project(call, request),
        hidden: false,
        reader: reader(call),
        since: request.since,
        until: request.until,
        limit: request.limit,
        offset: request.offset,
    }
}

/// The agent that asks, with the name under which its memory files are recorded; `None` for a person.
fn reader(call: &Call) -> Option<String> {
    let name = call.caller.agent.to_ascii_lowercase();
    let slug = || agents().map(agent_slug).find(|slug| name.contains(slug)).map(str::to_owned);
    (!call.caller.person).then(slug).flatten()
}

/// The project of a search; `None` for all.
pub(super) fn searched_project(call: &Call, request: &SearchRequest) -> Option<Project> {
    let project = || request.project.clone().unwrap_or_else(|| call.caller.project.clone());
    (!request.all_projects).then(project)
}

/// The marks of hits: which of them repeat what a memory no longer says, and which read like an instruction.
pub(super) async fn marks(call: &Call, of: Evidence, found: &EvidenceFound) -> Result<Vec<Vec<Mark>>, Fault> {
    let memories = &call.service.memories;
    let now: Vec<Option<MemoryId>> = match of {
        Evidence::History => {
            let exchanges: Vec<(ExchangeId, Scope)> =
                found.hits.iter().map(|hit| (hit.id.into(), hit.scope.clone())).collect();
            let outdated = memories.outdated_exchanges(&exchanges).await?;
            exchanges.iter().map(|(id, _)| outdated.get(id).copied()).collect()
        }
        Evidence::Documents => {
            let passages: Vec<(ChunkId, Scope)> =
                found.hits.iter().map(|hit| (hit.id.into(), hit.scope.clone())).collect();
            let outdated = memories.outdated_passages(&passages).await?;
            passages.iter().map(|(id, _)| outdated.get(id).copied()).collect()
        }
    };
    let hits = found.hits.iter().zip(now);
    let marks = hits.map(|(hit, now)| -> Vec<Mark> {
        let old = now.map(|now| Mark::new("old", MarkDetail::Id(now)));
        old.into_iter().chain(flag_mark(&hit.taint.flags)).collect()
    });
    Ok(marks.collect())
}

/// The list of hits with their marks. The caller adds the cursor of the next page.
pub(super) fn found_reply(
    of: Evidence,
    found: &EvidenceFound,
    marks: &[Vec<Mark>],
    project: Option<&Project>,
    is_framed: bool,
) -> Reply {
    let label = found.matched.as_str();
    let ids: Vec<String> = found.hits.iter().map(|hit| of.id_of(hit.id)).collect();
    let parts = found.hits.iter().zip(&ids).zip(marks).map(|((hit, id), marks)| HitParts {
        id,
        title: &hit.title,
        kind: of.type_name(),
        at: hit.date,
        agent: &hit.agent,
        preview: &hit.preview,
        score: hit.score,
        project: hit.scope.project().filter(|_| project.is_none()).map(Project::as_str),
        marks,
        is_framed,
    });
    let parts: Vec<HitParts<'_>> = parts.collect();
    let searched = project.map_or("all projects", Project::as_str);
    let (noun, whose) = nouns(of);
    let heading = match ids.len() {
        0 => format!("no {noun}s of {whose} in {searched} (match: {label})"),
        n => {
            let count = text::counted(n, noun);
            format!(
                "{count} of {whose} in {searched} (match: {label}). {NOTES} Read one with mem_get_observation."
            )
        }
    };
    Reply::saying(heading)
        .fact("match", label)
        .list("hits", parts.iter().map(HitParts::json).collect())
        .fact("project", project.map(|project| project.as_str().to_owned()))
        .lines(parts.iter().map(HitParts::line))
        .flag("relaxed", found.relaxed, "no hit holds every word of the query")
}

/// Says of evidence that it repeats what a memory no longer says.
fn repeating(reply: Reply, now: &MemoryId) -> Reply {
    let line = format!("old: it repeats what was corrected; `{now}` says what holds now");
    reply.fact("old", now.to_string()).line(line)
}

/// Adds the hint that evidence answers a question that no memory answers.
pub(super) fn with_hint(reply: Reply, of: Evidence, hint: &EvidenceHint, is_framed: bool) -> Reply {
    let id = &hint.id;
    let key = match of {
        Evidence::History => "history",
        Evidence::Documents => "documents",
    };
    let count = text::counted(hint.n, nouns(of).0);
    let title = if is_framed { text::inert(&hint.title) } else { (&*hint.title).into() };
    let mut chars = title.chars().count().min(HINT_BYTES_MAX);
    loop {
        let title = text::cut_chars(&title, chars);
        let fact = json!({ "n": hint.n, "id": id, "title": title });
        let line = format!("{key}: {count}, best `{id}` {title}");
        if chars == 0 || fact.to_string().len().max(line.len()) <= HINT_BYTES_MAX {
            return reply.fact(key, fact).line(line);
        }
        chars -= 1;
    }
}

/// What a hit is, and what of.
fn nouns(of: Evidence) -> (&'static str, &'static str) {
    match of {
        Evidence::History => ("exchange", "past sessions"),
        Evidence::Documents => ("passage", "documents"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cerebro_core::domain::SessionId;

    #[test]
    fn the_word_about_evidence_is_short_and_inert() {
        let id = ExchangeId::of("codex", &SessionId::parse("s").unwrap(), 0).to_string();
        for title in ["<system-reminder> ".repeat(20), "é\"\\".repeat(60), "short".to_owned()] {
            let hint = EvidenceHint { n: 1_000, id: id.clone(), title };
            let result =
                with_hint(Reply::saying("no hits"), Evidence::History, &hint, true).framed().finish();
            let fact = result.structured_content.unwrap()["history"].clone();
            assert!(fact.to_string().len() <= HINT_BYTES_MAX, "{fact}");
            assert_eq!(fact["id"], id);
            assert!(!fact["title"].as_str().unwrap().is_empty());
            let text = result.content[0].as_text().unwrap().text.clone();
            assert!(text.lines().all(|line| line.len() <= HINT_BYTES_MAX) && !text.contains('<'), "{text}");
        }
    }
}
