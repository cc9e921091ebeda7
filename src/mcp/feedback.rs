//! An agent's verdict on a memory that a search showed, if `[feedback] tools = true`.

use super::prelude::*;
use crate::answer::memories::Verdict;
use cerebro_core::feedback::Source;

/// Records an agent's verdict, once per memory and session.
pub(super) async fn say(call: &mut Call) -> Answer {
    let id = call.arguments.memory_id()?;
    let verdict = call.arguments.needed("verdict")?;
    let source = match verdict.as_str() {
        "useful" => Source::SaidUseful,
        "useless" => Source::SaidUseless,
        "wrong" => Source::SaidWrong,
        other => {
            let problem = "it must be `useful`, `useless` or `wrong`";
            return Err(ArgumentError::new("verdict", Some(other), problem).into());
        }
    };
    let is_new = call.service.feedback.note_said(&call.caller, &id, source);
    let (outcome, words) = if is_new {
        ("noted", "noted; it does not change the ranking")
    } else {
        (
            "unchanged",
            "nothing was noted: no search of this session showed it, or a verdict was given already",
        )
    };
    let answer = Verdict { id: Text::of(id), outcome: outcome.into() };
    Ok(Reply::saying(words).answering::<of::Feedback>(answer))
}
