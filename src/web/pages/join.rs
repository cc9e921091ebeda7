//! Merges two memories into one text, which supersedes the other.

use axum::http::StatusCode;

use super::part;
use super::prelude::*;
use crate::view::{self, Memory, Stored};
use cerebro_core::operation::Operation;

/// Longest part of each text next to the form, in bytes.
const SHOWN_BYTES: usize = 8_000;

/// One of the two memories.
struct Side {
    /// Its name in the form's fields.
    which: &'static str,
    id: String,
    href: String,
    title: String,
    revision: u64,
    content: String,
}

#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage {
    shell: Shell,
    /// The memory that stays, and the one that it supersedes.
    sides: [Side; 2],
    /// The address of the same page with the two swapped.
    other_way: String,
    title: String,
    kind: String,
    tags: String,
    content: String,
    /// Why it was not saved.
    problem: Option<String>,
}

/// A memory of the form, complete.
async fn whole(shared: &Shared, id: &str) -> Result<Memory, Failure> {
    Ok(Memory::of(&shared.backend.read(of::GetObservation, view::whole(id)).await?))
}

async fn page(shared: &Shared, first: &str, second: &str) -> Result<JoinPage, Failure> {
    if first.trim() == second.trim() {
        let words = "Choose two different memories.";
        return Err(Failure::new(StatusCode::BAD_REQUEST, "That cannot be merged.", words));
    }
    let (first, second) = tokio::try_join!(whole(shared, first), whole(shared, second))?;
    let side = |which, memory: &Memory| Side {
        which,
        id: memory.row.id.clone(),
        href: link::memory(&memory.row.id),
        title: super::titled(&memory.row.title),
        revision: memory.row.revision,
        content: byte_budget::cut(&view::clean(&memory.content), SHOWN_BYTES).into_owned(),
    };
    let query = [("first", second.row.id.as_str()), ("second", first.row.id.as_str())];
    let Stored { title, kind, mut tags } = first.stored.clone();
    tags.extend(second.stored.tags.iter().filter(|tag| !first.stored.tags.contains(tag)).cloned());
    Ok(JoinPage {
        shell: Shell::titled("Merge two memories", super::tabs::PLACE).token(shared.access.token()),
        sides: [side("first", &first), side("second", &second)],
        other_way: link::with_query("/pairs/merge", &query),
        title,
        kind,
        tags: tags.join(", "),
        content: both(&first.content, &second.content),
        problem: None,
    })
}

/// A first version of the combined text, which the person edits.
fn both(first: &str, second: &str) -> String {
    match (first.trim(), second.trim()) {
        (first, second) if first.contains(second) => first.to_owned(),
        (first, second) if second.contains(first) => second.to_owned(),
        (first, second) => format!("{first}\n\n{second}"),
    }
}

pub(in crate::web) async fn show(Asked { shared, parts, .. }: Asked) -> Page {
    Ok(shell::ok(&page(&shared, &part(&parts, "first"), &part(&parts, "second")).await?))
}

/// Saves the text as the next revision of the first memory, which supersedes the second. If one of them was changed
/// meanwhile, saves nothing and shows the form with both in their present state, which the person has not read.
pub(in crate::web) async fn save(State(shared): State<Shared>, form: Posted) -> Page {
    let (first, second) = (form.field("first"), form.field("second"));
    let mut page = page(&shared, &first, &second).await?;
    let is_as_read = page.sides[1].revision.to_string() == form.field("second_revision");
    let tags: Vec<String> = form.field("tags").split(',').map(|tag| tag.trim().to_owned()).collect();
    let tags: Vec<&String> = tags.iter().filter(|tag| !tag.is_empty()).collect();
    let question = json!({
        "id": first, "title": form.field("title"), "type": form.field("type"), "tags": tags,
        "content": form.field("content"), "supersedes": [second], "expected_revision": form.field("first_revision"),
    });
    let (status, problem) = if is_as_read {
        match shared.backend.change(Operation::Update, question).await {
            Ok(_) => return Ok(returned(&link::memory(&first), "joined")),
            Err(refused) => (refused.status(), refused.words().to_owned()),
        }
    } else {
        (StatusCode::CONFLICT, "somebody changed the second meanwhile".to_owned())
    };
    page.problem = Some(problem);
    page.title = form.field("title");
    page.kind = form.field("type");
    page.tags = form.field("tags");
    page.content = form.field("content");
    Ok(shell::page(status, &page))
}

#[cfg(test)]
mod tests {
    use super::both;

    #[test]
    fn a_text_that_the_other_holds_is_not_shown_twice() {
        assert_eq!(both("a b", "b"), "a b");
        assert_eq!(both("b", "a b\n"), "a b");
        assert_eq!(both("a", "b"), "a\n\nb");
    }
}
