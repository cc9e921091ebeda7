//! The frame of every page: its title, the links to other pages, a note about a finished change.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use sha2::{Digest as _, Sha256};

use super::failure::Failure;
use cerebro_core::text;

/// The menu on every page: path and name of each entry.
const PLACES: [(&str, &str); 10] = [
    ("/", "Overview"),
    ("/memories", "Memories"),
    ("/sessions", "Sessions"),
    ("/history", "History"),
    ("/documents", "Documents"),
    ("/work", "Work"),
    ("/graph", "Graph"),
    ("/live", "Live"),
    ("/pairs", "Review"),
    ("/projects", "Projects"),
];

/// The notes about finished changes, by the word in the address.
const DONE: [(&str, &str); 22] = [
    ("updated", "The memory is changed. The earlier text stays as a revision."),
    (
        "updated-without",
        "It is saved without what Cerebro itself had shown: text between cerebro-context marks is stored already.",
    ),
    ("unchanged", "Nothing was changed."),
    ("pinned", "The memory is pinned: agents read it first."),
    ("unpinned", "The memory is no longer pinned."),
    ("deleted", "The memory is deleted. It can be restored."),
    ("restored", "The memory is restored."),
    ("archived", "The memory is archived: it stays complete, and searches find it only in the archive."),
    ("unarchived", "The memory is taken out of the archive."),
    ("settled", "Both stay valid. They are shown again when one of them is revised."),
    ("replaced", "The memory supersedes the other, whose text stays."),
    ("joined", "The memory has the text of both and supersedes the other."),
    ("merged", "The project is merged into the other."),
    ("renamed", "The project has another name."),
    ("accepted", "It is a memory now."),
    ("rejected", "It is rejected and will not be proposed again."),
    ("forgotten", "The document is forgotten. Its file is untouched."),
    (
        "asking",
        "The plan is made. A chat model is asked for insights, which are added to it: look again in a minute.",
    ),
    ("applied", "The plan is carried out. It can be undone."),
    ("undone", "The plan is undone."),
    ("retried", "The jobs that were given up are retried."),
    ("worker", "The worker is notified."),
];

static STYLE: &str = include_str!("assets/style.css");
static SCRIPT: &str = include_str!("assets/script.js");
static ICON: &str = include_str!("assets/icon.svg");

/// A link to another page.
pub(super) struct NavLink {
    pub path: &'static str,
    pub name: &'static str,
    pub is_here: bool,
}

/// The frame of a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Shell {
    pub title: String,
    /// The path of the menu entry to which the page belongs.
    place: &'static str,
    /// A note about a finished change.
    pub done: Option<&'static str>,
    /// The token of the page's forms.
    pub token: String,
    /// Whether the browser is not admitted.
    pub is_locked: bool,
}

impl Shell {
    /// A page with a title, which belongs to a menu entry.
    pub(super) fn titled(title: &str, place: &'static str) -> Self {
        Self { title: title.to_owned(), place, ..Self::default() }
    }

    /// Drops the links to other pages, for a browser that is not admitted.
    pub(super) fn locked(mut self, is_locked: bool) -> Self {
        self.is_locked = is_locked;
        self
    }

    /// Sets the note by the word in the address. The address cannot contain the text itself.
    pub(super) fn done(mut self, done: Option<&String>) -> Self {
        self.done = done.and_then(|done| DONE.iter().find(|(word, _)| word == done).map(|(_, words)| *words));
        self
    }

    /// Gives the page's forms their token.
    pub(super) fn token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    pub(super) fn places(&self) -> Vec<NavLink> {
        PLACES.iter().map(|&(path, name)| NavLink { path, name, is_here: path == self.place }).collect()
    }

    /// The address of the stylesheet, which changes with its contents.
    pub(super) fn style(&self) -> &'static str {
        &STYLE_PATH
    }

    pub(super) fn script(&self) -> &'static str {
        &SCRIPT_PATH
    }
}

/// The rendered page, or an error if it cannot be rendered.
pub(super) fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page cannot be rendered");
            (StatusCode::INTERNAL_SERVER_ERROR, "this page cannot be rendered").into_response()
        }
    }
}

/// A page that is found.
pub(super) fn ok(template: &impl Template) -> Response {
    page(StatusCode::OK, template)
}

static STYLE_PATH: LazyLock<String> = LazyLock::new(|| path_of("style", STYLE, "css"));
static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| path_of("script", SCRIPT, "js"));

fn path_of(name: &str, content: &str, ending: &str) -> String {
    format!("/assets/{name}-{}.{ending}", text::hex(&Sha256::digest(content)[..6]))
}

/// The files that pages load. They are not secret, and never change under the same address.
pub(super) async fn asset(path: axum::extract::Path<String>) -> Result<Response, Failure> {
    let path = format!("/assets/{}", path.as_str());
    let (content_type, content) = match path.as_str() {
        known if known == *STYLE_PATH => ("text/css; charset=utf-8", STYLE),
        known if known == *SCRIPT_PATH => ("text/javascript; charset=utf-8", SCRIPT),
        "/assets/icon.svg" => ("image/svg+xml", ICON),
        _ => return Err(Failure::nothing()),
    };
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, content).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_chooses_words_and_writes_none() {
        let done = |word: &str| Shell::titled("x", "/").done(Some(&word.to_owned())).done;
        assert!(done("deleted").is_some());
        assert_eq!(done("<script>"), None);
    }
}
