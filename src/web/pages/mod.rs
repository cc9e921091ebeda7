//! The pages, one a file: each asks the daemon, puts the answer into words, and draws its template.

pub(super) mod change;
pub(super) mod edit;
pub(super) mod graph;
pub(super) mod health;
pub(super) mod history;
pub(super) mod live;
pub(super) mod memories;
pub(super) mod memory;
pub(super) mod overview;
pub(super) mod pairs;
pub(super) mod past;
pub(super) mod projects;
pub(super) mod sessions;
pub(super) mod work;

use std::collections::HashMap;

use super::view::{
    link,
    locale::{Locale, When},
};
use crate::view::Row;
use cerebro_core::text;

/// The parts of an address behind its `?`.
type Parts = axum::extract::Query<HashMap<String, String>>;

/// Longest title in a list, in characters.
const TITLE_CHARS_MAX: usize = 120;
/// Longest preview in a list.
const PREVIEW_CHARS_MAX: usize = 220;

/// A memory in a list.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    href: String,
    title: String,
    kind: String,
    project: String,
    agent: String,
    when: When,
    revision: u64,
    pinned: bool,
    deleted: bool,
    preview: String,
    /// Why a search found it.
    reasons: Vec<String>,
}

impl Item {
    fn of(row: &Row, locale: &Locale) -> Self {
        Self {
            href: link::memory(&row.id),
            title: titled(&row.title),
            kind: row.kind.clone(),
            project: row.project.clone(),
            agent: row.agent.clone(),
            when: locale.moment(row.at),
            revision: row.revision,
            pinned: row.pinned,
            deleted: row.deleted,
            preview: text::cut_chars(&row.preview, PREVIEW_CHARS_MAX).into_owned(),
            reasons: Vec::new(),
        }
    }
}

/// A title in a list; a link needs some words.
fn titled(title: &str) -> String {
    if title.trim().is_empty() {
        "(no title)".to_owned()
    } else {
        text::cut_chars(title, TITLE_CHARS_MAX).into_owned()
    }
}

/// A count with its noun.
fn counted(locale: &Locale, number: usize, one: &str, many: &str) -> String {
    format!("{} {}", locale.count(number as u64), if number == 1 { one } else { many })
}
