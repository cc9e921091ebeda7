//! Changing a memory's text: saved over the revision that was read, or not at all.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use serde_json::json;

use crate::view::{self, Memory};
use crate::web::{
    Shared,
    door::Posted,
    failure::Failure,
    shell::{self, Shell},
    view::link,
};
use cerebro_core::domain::Kind;
use cerebro_core::operation::Operation;

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    shell: Shell,
    href: String,
    kinds: &'static [&'static str],
    draft: Draft,
    /// Why the text was not saved.
    problem: Option<String>,
}

/// A text as it stands in the form.
struct Draft {
    title: String,
    kind: String,
    tags: String,
    content: String,
    /// The revision that it was made from.
    revision: String,
}

impl EditPage {
    fn of(shared: &Shared, id: &str, draft: Draft, problem: Option<String>) -> Self {
        let shell = Shell::titled(&format!("Edit {}", draft.title), "/memories").token(shared.door.token());
        Self { shell, href: link::memory(id), kinds: &Kind::KNOWN, draft, problem }
    }
}

pub(in crate::web) async fn show(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let answer = shared.desk.ask(Operation::GetObservation, view::whole(&id)).await?;
    let memory = Memory::read(&answer);
    let (title, kind, tags) = memory.raw;
    let revision = memory.row.revision.to_string();
    let draft = Draft { title, kind, tags: tags.join(", "), content: memory.content, revision };
    Ok(shell::ok(&EditPage::of(&shared, &id, draft, None)))
}

/// Saves the text. When it cannot be saved, the form comes back with the person's text in it.
pub(in crate::web) async fn save(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    form: Posted,
) -> Result<Response, Failure> {
    let field = |name: &str| form.field(name);
    let draft = Draft {
        title: field("title"),
        kind: field("type"),
        tags: field("tags"),
        content: field("content"),
        revision: field("revision"),
    };
    let tags: Vec<&str> = draft.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
    let question = json!({
        "id": id, "title": draft.title, "type": draft.kind, "content": draft.content, "tags": tags,
        "expected_revision": draft.revision,
    });
    match shared.desk.change(Operation::Update, question).await {
        Ok(answer) => {
            let done = view::text(&answer, "outcome");
            Ok(Redirect::to(&link::with_query(&link::memory(&id), &[("done", &done)])).into_response())
        }
        Err(failure) => {
            let problem = Some(failure.words().to_owned());
            Ok(shell::page(StatusCode::CONFLICT, &EditPage::of(&shared, &id, draft, problem)))
        }
    }
}
