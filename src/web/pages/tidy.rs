//! Consolidation: making a plan, carrying it out, undoing it, and the list of earlier ones.

use std::time::Duration;

use super::prelude::*;
use super::{
    FACT_BYTES_MAX,
    tabs::{self, Tab},
};
use crate::answer::{
    Text,
    consolidation::{self, Cycle},
    line,
};
use crate::web::background::Progress;
use cerebro_core::operation::Operation;

/// Most consolidations that are listed.
const CYCLES: usize = 30;
/// How long a page waits for a plan. In a large store, making one takes up to a minute.
const PLAN_WAIT: Duration = Duration::from_secs(2);
/// Size of the changes on a page, and of the HTML around each, in bytes.
const STEPS_BYTES: usize = 48_000;
const AROUND_BYTES: usize = 220;
/// Size of a link to a memory on which an insight rests, in bytes.
const SOURCE_BYTES: usize = 70;

/// A consolidation in the list.
struct Line {
    href: String,
    id: String,
    state: String,
    by: String,
    when: When,
    /// Its changes, and their results.
    changes: String,
    outcome: String,
}

impl Line {
    fn of(cycle: &Cycle, locale: &Locale) -> Self {
        let listed = |parts: &[(u64, &str)]| {
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let parts = parts.map(|(count, words)| format!("{} {words}", locale.count(*count)));
            parts.collect::<Vec<_>>().join(", ")
        };
        let changes = listed(&[
            (cycle.merge, "to merge"),
            (cycle.compact, "to compact"),
            (cycle.archive, "to archive"),
            (cycle.derive, "to add as insights"),
        ]);
        Self {
            href: link::cycle(&cycle.id.line()),
            id: cycle.id.line(),
            state: cycle.state.line(),
            by: cycle.by.line(),
            when: locale.moment(cycle.at.moment()),
            changes: if changes.is_empty() { "Nothing to change".to_owned() } else { changes },
            outcome: listed(&[
                (cycle.done, "done"),
                (cycle.skipped, "skipped"),
                (cycle.undone, "undone"),
                (cycle.left, "left as they are"),
            ]),
        }
    }
}

/// A change of a plan.
struct Step {
    action: String,
    title: String,
    href: String,
    /// The memory that stays in its place.
    into: String,
    into_href: String,
    why: String,
    /// The full text of a proposed insight, and the memories on which it rests.
    insight: String,
    sources: Vec<(String, String)>,
    outcome: String,
}

impl Step {
    fn of(step: &consolidation::Step) -> Self {
        let into = line(step.into.as_ref());
        let insight = step.waiting().map(|(text, _)| text.line()).unwrap_or_default();
        let sources = step.insight.iter().flat_map(|insight| &insight.sources).map(Text::raw);
        Self {
            action: step.action.line(),
            title: super::titled(&line(step.title.as_ref())),
            // A proposed insight is not a memory yet.
            href: if insight.is_empty() { link::memory(&step.id.line()) } else { String::new() },
            into_href: if into.is_empty() { String::new() } else { link::memory(&into) },
            into: if into.is_empty() {
                String::new()
            } else {
                super::titled(&line(step.into_title.as_ref()))
            },
            why: byte_budget::cut(&step.why.line(), FACT_BYTES_MAX).into_owned(),
            insight,
            sources: sources.map(|id| (link::memory(id), id.to_owned())).collect(),
            outcome: line(step.outcome.as_ref()),
        }
    }

    fn weight(&self) -> usize {
        let texts = [&self.title, &self.into, &self.why, &self.insight].map(|text| byte_budget::weight(text));
        texts.iter().sum::<usize>() + self.sources.len() * SOURCE_BYTES + AROUND_BYTES
    }
}

#[derive(Template)]
#[template(path = "tidy.html")]
struct ListPage {
    shell: Shell,
    tabs: [Tab; tabs::COUNT],
    is_planning: bool,
    /// Why the last plan was not made.
    problem: Option<String>,
    cycles: Vec<Line>,
}

#[derive(Template)]
#[template(path = "cycle.html")]
struct CyclePage {
    shell: Shell,
    line: Line,
    steps: Vec<Step>,
    pager: Pager,
    /// Whether it waits to be carried out; otherwise it can be undone.
    is_planned: bool,
    is_applied: bool,
}

pub(in crate::web) async fn list(Asked { shared, locale, parts }: Asked) -> Page {
    // Read before the list, so that a plan that becomes ready at this moment is in the list.
    let progress = shared.planning.progress();
    let answer = shared.backend.read(of::CycleLog, json!({ "limit": CYCLES })).await?;
    Ok(shell::ok(&ListPage {
        shell: Shell::titled("Consolidation", tabs::PLACE)
            .done(parts.get("done"))
            .token(shared.access.token()),
        tabs: tabs::at("/tidy"),
        is_planning: progress == Progress::UnderWay,
        problem: match progress {
            Progress::Failed(failure) => Some(failure.words().to_owned()),
            Progress::Idle | Progress::UnderWay => None,
        },
        cycles: answer.cycles.iter().flatten().map(|cycle| Line::of(cycle, &locale)).collect(),
    }))
}

/// Makes a plan, which changes nothing. Shows it if it is ready soon; otherwise the list says that it is under way.
pub(in crate::web) async fn plan(State(shared): State<Shared>, _: Posted) -> Page {
    let backend = shared.backend.clone();
    let making = async move { backend.change_and_read(of::CyclePlan, json!({})).await };
    let place = match shared.planning.start(making, PLAN_WAIT).await? {
        Some(answer) => {
            let asking = if answer.asking == Some(true) { "asking" } else { "" };
            link::with_query(&link::cycle(&answer.cycle.id.line()), &[("done", asking)])
        }
        None => "/tidy".to_owned(),
    };
    Ok(Redirect::to(&place).into_response())
}

pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let from: usize = super::from(&parts)?;
    let answer = shared.backend.read(of::CycleLog, json!({ "id": id })).await.map_err(Failure::absent)?;
    let report = answer.one.ok_or_else(Failure::nothing)?;
    let line = Line::of(&report.cycle, &locale);
    let steps = ByteBudget(STEPS_BYTES).fill(report.steps.iter().skip(from).map(Step::of), Step::weight);
    let next = from + steps.len();
    let more = next < report.steps.len();
    Ok(shell::ok(&CyclePage {
        shell: Shell::titled("A consolidation", tabs::PLACE)
            .done(parts.get("done"))
            .token(shared.access.token()),
        is_planned: line.state == "planned",
        is_applied: line.state == "applied",
        pager: Pager::of("plan")
            .first("First", (from > 0).then(|| line.href.clone()))
            .next("More", more.then(|| link::onward(&line.href, next))),
        line,
        steps,
    }))
}

/// Carries out a plan, or undoes it.
pub(in crate::web) async fn carry_out(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    form: Posted,
) -> Page {
    let (operation, done) = match form.field("do").as_str() {
        "apply" => (Operation::CycleApply, "applied"),
        "undo" => (Operation::CycleUndo, "undone"),
        _ => return Err(Failure::nothing()),
    };
    shared.backend.change(operation, json!({ "id": id })).await?;
    Ok(returned(&link::cycle(&id), done))
}
