//! The earlier texts of a memory: each revision as a diff.

use super::prelude::*;
use super::value;
use crate::view::{self, Memory, Revision};
use crate::web::{heavy, html::diff::Diff};

/// How many revisions a page shows.
const PAGE: usize = 5;
/// Highest number of revisions that an address can skip.
const SKIPPED_MAX: usize = 1_000_000;
/// Size of all diffs on a page together, in bytes.
const DIFF_BYTES: usize = 45_000;

/// A revision and what it changed.
struct Step {
    number: u64,
    title: String,
    agent: String,
    when: When,
    /// The former title and type, if they were different.
    retitled: Option<String>,
    rekinded: Option<String>,
    diff: Diff,
    /// Whether it is the first text.
    is_first: bool,
    /// The address of the rest of the diff.
    rest: Option<String>,
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    shell: Shell,
    href: String,
    title: String,
    steps: Vec<Step>,
    /// The address of the list of revisions, if this page continues a single one.
    all: Option<String>,
    pager: Pager,
}

pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let number = |name: &str| Ok::<_, Failure>(value::<usize>(&parts, name)?.unwrap_or(0));
    // How many revisions before the present one to skip, and the line from which a single one is continued.
    let (skipped, line) = (number("skip")?.min(SKIPPED_MAX), number("line")?);
    let memory = Memory::of(&shared.backend.read(of::GetObservation, view::whole(&id)).await?);
    let mut texts: Vec<Revision> = Vec::new();
    if skipped == 0 {
        texts.push(present(&memory));
    }
    let (mut offset, mut follows) = (skipped.saturating_sub(1), true);
    // An answer may contain only one long text, and a step also needs the text before it.
    while follows && texts.len() < 2 {
        let mut question = view::history(&id);
        question["offset"] = json!(offset);
        let answer = shared.backend.read(of::GetObservation, question).await?;
        offset += answer.revisions.len();
        follows = answer.next_offset.is_some() && !answer.revisions.is_empty();
        texts.extend(answer.revisions.iter().map(Revision::of));
    }
    let href = link::memory(&id);
    let own = format!("{href}/history");
    let count = texts.len();
    let shown = if line > 0 { 1 } else { PAGE };
    let steps = heavy::done(move || {
        let step = |n: usize| step(texts.get(n)?, texts.get(n + 1), (line, DIFF_BYTES / shown), &locale);
        (0..shown).map_while(step).collect::<Vec<Step>>()
    });
    let mut steps = steps.await?;
    for (n, step) in steps.iter_mut().enumerate() {
        let (skip, next) = ((skipped + n).to_string(), step.diff.next.map(|next| next.to_string()));
        step.rest = next.map(|next| link::with_query(&own, &[("skip", &skip), ("line", &next)]));
    }
    // The last text has no earlier one to compare with. Its own step is on the next page, if there is one.
    let more = count > steps.len() + 1 || follows;
    let next = (skipped + steps.len()).to_string();
    let earlier =
        (more && !steps.is_empty() && line == 0).then(|| link::with_query(&own, &[("skip", &next)]));
    Ok(shell::ok(&HistoryPage {
        shell: Shell::titled(&format!("History of {}", memory.row.title), "/memories"),
        href,
        title: super::titled(&memory.row.title),
        steps,
        all: (line > 0).then_some(own),
        pager: Pager::of("history").next("Earlier", earlier),
    }))
}

/// The memory's present text as a revision.
fn present(memory: &Memory) -> Revision {
    Revision {
        number: memory.row.revision,
        title: memory.row.title.clone(),
        kind: memory.row.kind.clone(),
        agent: memory.row.agent.clone(),
        at: memory.row.at,
        content: memory.content.clone(),
    }
}

/// The diff between a revision and the one before, from a line on and within a number of bytes. `None` if the one
/// before is not available.
fn step(
    text: &Revision,
    before: Option<&Revision>,
    (line, bytes): (usize, usize),
    locale: &Locale,
) -> Option<Step> {
    let is_first = text.number <= 1;
    let old = match before {
        Some(before) => before.content.as_str(),
        None if is_first => "",
        // The earlier revisions were removed by the user's limit, or are on the next page.
        None => return None,
    };
    Some(Step {
        number: text.number,
        title: super::titled(&text.title),
        agent: text.agent.clone(),
        when: locale.moment(text.at),
        retitled: before
            .filter(|before| before.title != text.title)
            .map(|before| super::titled(&before.title)),
        rekinded: before.filter(|before| before.kind != text.kind).map(|before| before.kind.clone()),
        diff: Diff::between(old, &text.content, line, ByteBudget(bytes)),
        is_first,
        rest: None,
    })
}
