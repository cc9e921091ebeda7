//! The health of the memory: the part of `mem_stats`, and all figures of `cerebro health`.

use std::{collections::BTreeMap, time::Duration};

use super::prelude::*;
use super::{freshness, worker_ops};
use crate::answer::health::{Health, Report, Signs, Stale, Strength};
use cerebro_core::domain::Project;
use cerebro_core::feedback::Source;
use cerebro_service::Health as Figures;

/// How long `mem_stats` may check memories against the code in the caller's folder. After that it reports no verdicts.
const STATS_LOOK_MAX: Duration = Duration::from_millis(200);

/// The figures of a project, or of all, as in `mem_stats`, and in one line.
pub(super) async fn block(call: &Call, project: Option<&Project>) -> Result<(Health, String), Fault> {
    let figures = call.service.recall.health(project).await?;
    let stale = stale(call, project, STATS_LOOK_MAX).await?;
    Ok((health_of(&figures, stale), line(&figures)))
}

/// The verdicts on code. The caller's folder has only the code of its own project.
async fn stale(call: &Call, project: Option<&Project>, bound: Duration) -> Result<Option<Stale>, Fault> {
    match project {
        Some(other) if other != call.connection.project() => Ok(None),
        _ => freshness::tally(call, bound).await,
    }
}

/// All figures, computed now, with the verdicts on code and the state of the worker.
pub(super) async fn health(call: &mut Call) -> AnswerTo<of::Health> {
    let project = call.arguments.project()?;
    let figures = call.service.recall.examine_health(project.as_ref()).await?;
    let stale = stale(call, project.as_ref(), freshness::TALLY_MAX).await?;
    let worker = worker_ops::facts(&call.service).await?;
    Ok(Report { project: project.map(Text::of), health: health_of(&figures, stale), worker })
}

/// Rounds to a thousandth.
fn rounded(share: f64) -> f64 {
    (share * 1_000.0).round() / 1_000.0
}

fn health_of(figures: &Figures, stale: Option<Stale>) -> Health {
    let (vitals, beside) = (&figures.vitals, &figures.beside);
    let strength = vitals.average().zip(vitals.weakest);
    let counted = |counts: &BTreeMap<&str, u64>| {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let signs = |source: Source| figures.feedback.get(&source).copied();
    Health {
        at: moment(figures.at).into(),
        total: vitals.live + figures.deleted,
        live: vitals.live,
        nodes: figures.nodes(),
        edges: beside.edges,
        documents: beside.documents,
        kinds: counted(&vitals.kinds),
        scopes: counted(&vitals.scopes),
        faded: vitals.faded,
        due: vitals.due,
        expired: vitals.expired,
        flagged: vitals.flagged,
        twins: figures.twins as u64,
        review: figures.claims as u64,
        feedback: Signs {
            read: signs(Source::Read),
            answer: signs(Source::Answer),
            corrected: signs(Source::Corrected),
            asked_again: signs(Source::AskedAgain),
            said_useful: signs(Source::SaidUseful),
            said_useless: signs(Source::SaidUseless),
            said_wrong: signs(Source::SaidWrong),
        },
        watched: figures.watched,
        strength: strength
            .map(|(average, weakest)| Strength { average: rounded(average), weakest: rounded(weakest) }),
        last_consolidation: beside.consolidated_at.map(|at| moment(at).into()),
        insights: (beside.insights > 0).then_some(beside.insights),
        stale,
    }
}

/// The most important figures in one line.
fn line(figures: &Figures) -> String {
    let vitals = &figures.vitals;
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
    let pairs = [(figures.twins, "nearly the same"), (figures.claims, "at odds")];
    let nonzero = pairs.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(nonzero.map(|(count, what)| format!("{} {what}", text::counted(count, "pair"))));
    format!("health: {}", if parts.is_empty() { "nothing is stored".to_owned() } else { parts.join(", ") })
}
