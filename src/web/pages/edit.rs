//! Edits a memory. A change is saved only if it is based on the present revision.

use axum::http::StatusCode;
use jiff::Timestamp;
use serde_json::Value;

use super::prelude::*;
use crate::view::{self, Memory, Stored};
use cerebro_core::domain::{Kind, Nature, ScopeName};

#[derive(Template)]
#[template(path = "edit.html")]
struct EditPage {
    shell: Shell,
    href: String,
    kinds: &'static [&'static str],
    natures: Vec<Choice>,
    scopes: Vec<Choice>,
    draft: Draft,
    /// Why it was not saved.
    problem: Option<String>,
    /// The present memory, if another client changed it meanwhile.
    present: Option<Draft>,
}

/// A choice of the form.
struct Choice {
    value: &'static str,
    is_chosen: bool,
}

/// A memory in the fields of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Draft {
    title: String,
    kind: String,
    tags: String,
    content: String,
    project: String,
    scope: String,
    topic_key: String,
    nature: String,
    valid_from: String,
    valid_until: String,
    /// The revision on which it is based.
    revision: String,
}

impl Draft {
    fn of(memory: Memory) -> Self {
        let Stored { title, kind, tags } = memory.stored;
        let is_personal = memory.scope == ScopeName::Personal.as_str();
        Self {
            title,
            kind,
            tags: tags.join(", "),
            content: memory.content,
            project: if is_personal { String::new() } else { memory.row.project },
            scope: memory.scope,
            topic_key: memory.topic_key,
            nature: memory.nature,
            valid_from: day(memory.valid_from, "00:00:00"),
            valid_until: day(memory.valid_until, "23:59:59"),
            revision: memory.row.revision.to_string(),
        }
    }

    fn read(form: &Posted) -> Self {
        Self {
            title: form.field("title"),
            kind: form.field("type"),
            tags: form.field("tags"),
            content: form.field("content"),
            project: form.field("project"),
            scope: form.field("scope"),
            topic_key: form.field("topic_key"),
            nature: form.field("kind"),
            valid_from: form.field("valid_from"),
            valid_until: form.field("valid_until"),
            revision: form.field("revision"),
        }
    }

    /// The arguments of `mem_update`. Fields other than the text are sent only if they were changed: sending the kind
    /// would turn one that follows from the type into one that a person chose.
    fn question(&self, id: &str, present: &Self) -> Value {
        let tags: Vec<&str> = self.tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
        let mut question = json!({
            "id": id, "title": self.title, "type": self.kind, "content": self.content, "tags": tags,
            "expected_revision": self.revision,
        });
        let beside = [
            ("project", &self.project, &present.project),
            ("scope", &self.scope, &present.scope),
            ("topic_key", &self.topic_key, &present.topic_key),
            ("kind", &self.nature, &present.nature),
            ("valid_from", &self.valid_from, &present.valid_from),
            ("valid_until", &self.valid_until, &present.valid_until),
        ];
        for (name, own, present) in beside {
            // Every memory has a project, a scope and a kind, so an empty field changes nothing.
            let can_be_none = !matches!(name, "project" | "scope" | "kind");
            if own.trim() != present && (can_be_none || !own.trim().is_empty()) {
                question[name] = json!(own.trim());
            }
        }
        question
    }
}

/// A moment as a person writes it: only the day if it is at the start or end of the day.
fn day(at: Option<Timestamp>, border: &str) -> String {
    let Some(at) = at else { return String::new() };
    let text = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    text.strip_suffix(&format!("T{border}Z")).map_or(text.clone(), str::to_owned)
}

impl EditPage {
    fn of(shared: &Shared, id: &str, draft: Draft) -> Self {
        let shell = Shell::titled(&format!("Edit {}", draft.title), "/memories").token(shared.access.token());
        let choice = |value: &'static str, chosen: &str| Choice { value, is_chosen: value == chosen };
        Self {
            shell,
            href: link::memory(id),
            kinds: &Kind::KNOWN,
            natures: Nature::NAMES.iter().map(|&name| choice(name, &draft.nature)).collect(),
            scopes: [ScopeName::Project, ScopeName::Personal]
                .iter()
                .map(|scope| choice(scope.as_str(), &draft.scope))
                .collect(),
            draft,
            problem: None,
            present: None,
        }
    }
}

async fn present(shared: &Shared, id: &str) -> Result<Draft, Failure> {
    let answer = shared.backend.read(of::GetObservation, view::whole(id)).await?;
    Ok(Draft::of(Memory::of(&answer)))
}

pub(in crate::web) async fn show(State(shared): State<Shared>, Path(id): Path<String>) -> Page {
    Ok(shell::ok(&EditPage::of(&shared, &id, present(&shared, &id).await?)))
}

/// Saves the memory. If that fails, shows the form again with the person's text. If another client changed the memory
/// meanwhile, the form also shows that text and is based on its revision. Saving again then replaces that text.
pub(in crate::web) async fn save(State(shared): State<Shared>, Path(id): Path<String>, form: Posted) -> Page {
    let draft = Draft::read(&form);
    let before = present(&shared, &id).await?;
    let question = draft.question(&id, &before);
    let refused = match shared.backend.change_and_read(of::Update, question).await {
        Ok(answer) => {
            let is_whole = answer.ignored.is_empty();
            let done = if is_whole { answer.outcome.line() } else { "updated-without".to_owned() };
            return Ok(returned(&link::memory(&id), &done));
        }
        Err(refused) => refused,
    };
    let mut page = EditPage::of(&shared, &id, draft);
    page.problem = Some(refused.words().to_owned());
    if !refused.is_late() {
        return Ok(shell::page(refused.status(), &page));
    }
    let present = present(&shared, &id).await?;
    page.draft.revision.clone_from(&present.revision);
    page.present = Some(present);
    Ok(shell::page(StatusCode::CONFLICT, &page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_changed_is_said_anew() {
        let memory = json!({
            "id": "kbbbbbbbbbbb", "title": "T", "type": "decision", "content": "text", "project": "demo",
            "scope": "project", "kind": "semantic", "revision": 3,
            "valid": { "from": "2026-11-20T00:00:00Z", "until": "2026-11-21T23:59:59Z" },
        });
        let before = Draft::of(Memory::of(&serde_json::from_value(memory).unwrap()));
        assert_eq!((before.valid_from.as_str(), before.valid_until.as_str()), ("2026-11-20", "2026-11-21"));
        let same = before.question("k", &before);
        for name in ["project", "scope", "topic_key", "kind", "valid_from", "valid_until"] {
            assert!(same.get(name).is_none(), "{name}");
        }
        let draft = Draft { valid_until: String::new(), topic_key: "a/b".to_owned(), ..before.clone() };
        let asked = draft.question("k", &before);
        assert_eq!((&asked["valid_until"], &asked["topic_key"]), (&json!(""), &json!("a/b")));
        assert_eq!(asked["expected_revision"], "3");
        assert_eq!(day("2026-11-20T08:00:00Z".parse().ok(), "00:00:00"), "2026-11-20T08:00:00Z");
    }
}
