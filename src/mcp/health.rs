//! The health of the memory: the part of `mem_stats`, and all figures of `cerebro health`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    call::{Answer, Call},
    fault::Fault,
    freshness,
    reply::{Reply, moment},
    worker,
};
use cerebro_core::domain::Project;
use cerebro_core::text;
use cerebro_service::Health;

/// How long `mem_stats` may check memories against the code in the caller's folder. After that it reports no verdicts.
const STATS_LOOK_MAX: Duration = Duration::from_millis(200);

/// The figures of a project, or of all, as in `mem_stats`, and in one line.
pub(super) async fn block(call: &Call, project: Option<&Project>) -> Result<(Value, String), Fault> {
    let health = call.service.recall.health(project).await?;
    let mut facts = facts(&health);
    add_stale(&mut facts, call, project, STATS_LOOK_MAX).await?;
    Ok((facts, line(&health)))
}

/// Adds the verdicts on code, for the caller's own project, because its folder has no other code.
async fn add_stale(
    facts: &mut Value,
    call: &Call,
    project: Option<&Project>,
    bound: Duration,
) -> Result<(), Fault> {
    if project.is_none_or(|project| project == call.connection.project())
        && let Some(tally) = freshness::tally(call, bound).await?
    {
        facts["stale"] = json!({ "memories": tally.stale, "of": tally.known, "ids": tally.ids });
    }
    Ok(())
}

/// All figures, computed now, with the verdicts on code and the state of the worker.
pub(super) async fn health(call: &mut Call) -> Answer {
    let project = call.arguments.project()?;
    let health = call.service.recall.examine_health(project.as_ref()).await?;
    let mut facts = facts(&health);
    add_stale(&mut facts, call, project.as_ref(), freshness::TALLY_MAX).await?;
    let worker = worker::facts(&call.service).await?;
    Ok(Reply::saying(line(&health))
        .line(worker::line(&worker))
        .fact("project", project.map(|project| project.as_str().to_owned()))
        .fact("health", facts)
        .fact("worker", worker))
}

/// Rounds to a thousandth.
fn rounded(share: f64) -> f64 {
    (share * 1_000.0).round() / 1_000.0
}

fn facts(health: &Health) -> Value {
    let vitals = &health.vitals;
    let feedback: Map<String, Value> =
        health.feedback.iter().map(|(source, count)| (source.as_str().to_owned(), json!(count))).collect();
    let mut facts = json!({
        "at": moment(health.at),
        "total": vitals.live + health.deleted,
        "live": vitals.live,
        "nodes": health.nodes(),
        "edges": health.beside.edges,
        "documents": health.beside.documents,
        "kinds": vitals.kinds,
        "scopes": vitals.scopes,
        "faded": vitals.faded,
        "due": vitals.due,
        "expired": vitals.expired,
        "flagged": vitals.flagged,
        "twins": health.twins,
        "review": health.claims,
        "feedback": feedback,
        "watched": {
            "shown": health.watched.shown, "used": health.watched.used,
            "corrected": health.watched.corrected, "ignored": health.watched.ignored,
        },
    });
    if let (Some(average), Some(weakest)) = (vitals.average(), vitals.weakest) {
        facts["strength"] = json!({ "average": rounded(average), "weakest": rounded(weakest) });
    }
    if let Some(at) = health.beside.consolidated_at {
        facts["last_consolidation"] = json!(moment(at));
    }
    facts
}

/// The most important figures in one line.
fn line(health: &Health) -> String {
    let vitals = &health.vitals;
    let mut parts = Vec::new();
    if let (Some(average), Some(weakest)) = (vitals.average(), vitals.weakest) {
        parts.push(format!("strength {average:.2} on average, {weakest:.2} at least"));
    }
    let counted = [
        (vitals.due, "due"),
        (vitals.expired, "expired"),
        (vitals.flagged, "flagged"),
        (vitals.faded, "faded"),
    ];
    parts.extend(
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
    );
    let pairs = [(health.twins, "nearly the same"), (health.claims, "at odds")];
    let nonzero = pairs.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(nonzero.map(|(count, what)| format!("{} {what}", text::counted(count, "pair"))));
    format!("health: {}", if parts.is_empty() { "nothing is stored".to_owned() } else { parts.join(", ") })
}
