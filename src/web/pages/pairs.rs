//! Pairs of memories that contradict each other or are nearly the same, side by side. One click decides.

use serde_json::Value;

use super::prelude::*;
use super::{
    part,
    tabs::{self, Tab},
};
use crate::answer::{line, memories};
use crate::view::Row;
use cerebro_core::operation::Operation;

/// How many pairs a page shows.
const PAIRS: usize = 10;
/// Longest text of a memory, and longest text about a pair, in bytes.
const TEXT_BYTES_MAX: usize = 900;
const EVIDENCE_BYTES_MAX: usize = 300;

/// One memory of a pair.
struct Side {
    row: Row,
    /// Its name in forms, `first` or `second`.
    which: &'static str,
    href: String,
    title: String,
    project: String,
    agent: String,
    when: When,
    content: String,
    /// The other memory of the pair.
    other: String,
}

/// Two memories, and how they are related.
struct Pair {
    words: String,
    evidence: String,
    sides: [Side; 2],
    merge: String,
}

#[derive(Template)]
#[template(path = "pairs.html")]
struct PairsPage {
    shell: Shell,
    tabs: [Tab; tabs::COUNT],
    /// Whether the pair is nearly the same; otherwise there is a claim about it.
    is_twins: bool,
    /// The value in the form for returning to this page.
    back: &'static str,
    from: usize,
    pairs: Vec<Pair>,
    pager: Pager,
}

/// The address of a list of pairs.
fn place(is_twins: bool) -> &'static str {
    if is_twins { "/pairs?which=twins" } else { "/pairs" }
}

/// The address to which a form of a pair returns.
pub(super) fn back(form: &Posted) -> Option<String> {
    let place = match form.field("back").as_str() {
        "pairs" => place(false),
        "twins" => place(true),
        _ => return None,
    };
    let from = form.field("from").parse::<usize>().unwrap_or(0);
    Some(if from == 0 { place.to_owned() } else { link::onward(place, from) })
}

pub(in crate::web) async fn show(Asked { shared, locale, parts }: Asked) -> Page {
    let is_twins = match part(&parts, "which").as_str() {
        "" | "claims" => false,
        "twins" => true,
        other => return Err(Unread::new("which", other).into()),
    };
    let from: usize = super::from(&parts)?;
    let which = if is_twins { "twins" } else { "claims" };
    let question = json!({ "which": which, "offset": from, "limit": PAIRS });
    let answer = shared.backend.read(of::Pairs, question).await?;
    let pairs: Vec<Pair> = answer.pairs.iter().map(|one| pair(one, &locale)).collect();
    let title = if is_twins { "Duplicates" } else { "Conflicts" };
    Ok(shell::ok(&PairsPage {
        shell: Shell::titled(title, tabs::PLACE).done(parts.get("done")).token(shared.access.token()),
        tabs: tabs::at(place(is_twins)),
        is_twins,
        back: if is_twins { "twins" } else { "pairs" },
        from,
        pairs,
        pager: Pager::of("list")
            .first("First", (from > 0).then(|| place(is_twins).to_owned()))
            .next("More", (answer.more == Some(true)).then(|| link::onward(place(is_twins), from + PAIRS))),
    }))
}

fn pair(one: &memories::Pair, locale: &Locale) -> Pair {
    let words = match one.kind.raw() {
        "supersedes" => "A model says that the first takes the place of the second".to_owned(),
        "contradicts" => "A model says that they cannot both be true".to_owned(),
        _ => format!("Likeness {:.3}", one.weight),
    };
    let (first, second) = (one.from.row.id.line(), one.to.row.id.line());
    Pair {
        words,
        evidence: byte_budget::cut(&line(one.evidence.as_ref()), EVIDENCE_BYTES_MAX).into_owned(),
        merge: link::with_query("/pairs/merge", &[("first", &first), ("second", &second)]),
        sides: [side(&one.from, "first", second, locale), side(&one.to, "second", first, locale)],
    }
}

fn side(memory: &memories::Side, which: &'static str, other: String, locale: &Locale) -> Side {
    let row = Row::of(&memory.row);
    Side {
        href: link::memory(&row.id),
        which,
        title: super::titled(&row.title),
        project: super::named(&row.project),
        agent: super::named(&row.agent),
        when: locale.moment(row.at),
        content: byte_budget::cut(&memory.content.lines(), TEXT_BYTES_MAX).into_owned(),
        row,
        other,
    }
}

/// Records that both hold, in the revisions that the person read.
pub(in crate::web) async fn settle(State(shared): State<Shared>, form: Posted) -> Page {
    let names = ["first", "second", "first_revision", "second_revision"];
    let question: Value = names.iter().map(|name| ((*name).to_owned(), json!(form.field(name)))).collect();
    shared.backend.change(Operation::Settle, question).await?;
    Ok(decided(&form, "settled"))
}

/// Makes one memory supersede the other, because the person decided so. The text of the other stays.
pub(in crate::web) async fn replace(State(shared): State<Shared>, form: Posted) -> Page {
    let question = json!({ "id": form.field("newer"), "supersedes": [form.field("older")] });
    shared.backend.change(Operation::Update, question).await?;
    Ok(decided(&form, "replaced"))
}

fn decided(form: &Posted, done: &str) -> Response {
    returned(&back(form).unwrap_or_else(|| place(false).to_owned()), done)
}
