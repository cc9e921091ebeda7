//! Ingested documents: the list, the passages of one, and forgetting it.

use super::prelude::*;
use super::{FACT_BYTES_MAX, about, counted, known_projects, named, part};
use crate::answer::{
    Text,
    documents::{self, Document},
};

/// How many documents a page shows.
const PAGE: usize = 40;
/// Size of the passages on a page, and of the HTML around each one, in bytes.
const PASSAGES_BYTES: usize = 45_000;
const AROUND_BYTES: usize = 200;

/// A document in a list.
struct Line {
    href: String,
    title: String,
    path: String,
    project: String,
    format: String,
    passages: String,
    size: String,
    /// Whether its file is gone.
    removed: bool,
    /// Whether it was cut short.
    cut: bool,
    when: When,
}

impl Line {
    fn of(document: &Document, locale: &Locale) -> Self {
        let (title, path) = (document.title.line(), document.path.line());
        Self {
            href: link::document(&document.id.line()),
            title: super::titled(if title.is_empty() { &path } else { &title }),
            path: byte_budget::cut(&path, FACT_BYTES_MAX).into_owned(),
            project: named(&document.project.line()),
            format: document.format.line(),
            passages: counted(locale, document.chunks, "passage", "passages"),
            size: locale.bytes(document.bytes),
            removed: document.removed,
            cut: document.cut,
            when: locale.moment(document.at.moment()),
        }
    }
}

#[derive(Template)]
#[template(path = "documents.html")]
struct ListPage {
    shell: Shell,
    project: String,
    projects: Vec<String>,
    documents: Vec<Line>,
    pager: Pager,
}

struct Passage {
    id: String,
    heading: String,
    page: String,
    /// Its flags, if it reads like an instruction.
    flags: String,
    text: String,
}

#[derive(Template)]
#[template(path = "document.html")]
struct DocumentPage {
    shell: Shell,
    line: Line,
    passages: Vec<Passage>,
    pager: Pager,
}

#[derive(Template)]
#[template(path = "forget.html")]
struct ForgetPage {
    shell: Shell,
    line: Line,
}

pub(in crate::web) async fn list(Asked { shared, locale, parts }: Asked) -> Page {
    let (project, from) = (part(&parts, "project"), super::from::<usize>(&parts)?);
    let question = about(&project, json!({ "offset": from }));
    let answer = shared.backend.read(of::Documents, question).await?;
    let documents: Vec<Line> = answer.documents.iter().take(PAGE).map(|one| Line::of(one, &locale)).collect();
    let counts = shared.backend.counts().await;
    let at = |from: &str| link::with_query("/documents", &[("project", &project), ("from", from)]);
    let more = answer.documents.len() > PAGE;
    let pager = Pager::of("list")
        .first("First", (from > 0).then(|| at("")))
        .next("More", more.then(|| at(&(from + PAGE).to_string())));
    Ok(shell::ok(&ListPage {
        shell: Shell::titled("Documents", "/documents").done(parts.get("done")),
        projects: known_projects(&counts),
        documents,
        pager,
        project,
    }))
}

pub(in crate::web) async fn show(Path(id): Path<String>, Asked { shared, locale, parts }: Asked) -> Page {
    let from: usize = super::from(&parts)?;
    let question = json!({ "id": id, "offset": from });
    let answer = shared.backend.read(of::DocumentShow, question).await.map_err(Failure::absent)?;
    let line = Line::of(&answer.document, &locale);
    let weight = |passage: &Passage| {
        byte_budget::weight(&passage.text) + byte_budget::weight(&passage.heading) + AROUND_BYTES
    };
    let passages = ByteBudget(PASSAGES_BYTES).fill(answer.passages.iter().map(passage), weight);
    let next = from + passages.len();
    let more = next < usize::try_from(answer.document.chunks).unwrap_or(0);
    let pager = Pager::of("document")
        .first("First", (from > 0).then(|| line.href.clone()))
        .next("More", (more && !passages.is_empty()).then(|| link::onward(&line.href, next)));
    Ok(shell::ok(&DocumentPage { shell: Shell::titled(&line.title, "/documents"), line, passages, pager }))
}

fn passage(one: &documents::Passage) -> Passage {
    let flags: Vec<String> = one.flags.iter().map(Text::line).collect();
    Passage {
        id: one.id.line(),
        heading: super::titled(&one.heading.line()),
        page: one.page.map(|page| page.to_string()).unwrap_or_default(),
        flags: flags.join(", "),
        text: byte_budget::cut(&one.text.lines(), PASSAGES_BYTES / 2).into_owned(),
    }
}

/// Asks for confirmation before a document is purged.
pub(in crate::web) async fn ask(Path(id): Path<String>, Asked { shared, locale, .. }: Asked) -> Page {
    let answer = shared.backend.read(of::DocumentShow, json!({ "id": id })).await.map_err(Failure::absent)?;
    Ok(shell::ok(&ForgetPage {
        shell: Shell::titled("Forget a document", "/documents").token(shared.access.token()),
        line: Line::of(&answer.document, &locale),
    }))
}

pub(in crate::web) async fn forget(State(shared): State<Shared>, Path(id): Path<String>, _: Posted) -> Page {
    shared.backend.change_and_read(of::DocumentForget, json!({ "id": id })).await.map_err(Failure::absent)?;
    Ok(returned("/documents", "forgotten"))
}
