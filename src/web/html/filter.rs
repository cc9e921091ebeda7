//! The filter of a list of memories, as in its address.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    link,
    parameter::{self, Unread},
};

/// How many memories a page of the list shows.
pub const PAGE: usize = 50;
/// Highest position in the list that an address can name.
const FROM_MAX: usize = 10_000_000;

/// What an address of the list may say; `done` is what was just done.
const NAMES: [&str; 14] = [
    "q", "project", "type", "scope", "tags", "since", "until", "session", "agent", "deleted", "archived",
    "from", "cursor", "done",
];

/// The conditions of the list. Empty texts are no conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub query: String,
    pub project: String,
    pub kind: String,
    pub scope: String,
    /// Tags, separated by commas; a memory must have all of them.
    pub tags: String,
    /// When it was written, as a person says it: a date, or an age such as `7d`.
    pub since: String,
    pub until: String,
    /// The session that saved it first; the agent that wrote it last.
    pub session: String,
    pub agent: String,
    /// Deleted memories instead of live ones.
    pub deleted: bool,
    /// Only archived memories.
    pub archived: bool,
    /// How many memories come before the page.
    pub from: usize,
    /// The cursor of a search.
    pub cursor: String,
}

impl Filter {
    /// Reads the parameters of an address. Fails on one that the list does not have, or whose value cannot be read.
    pub fn read(parts: &HashMap<String, String>) -> Result<Self, Unread> {
        if let Some((name, value)) = parts.iter().find(|(name, _)| !NAMES.contains(&name.as_str())) {
            return Err(Unread::new(name, value));
        }
        let part = |name: &str| parameter::part(parts, name);
        Ok(Self {
            query: part("q"),
            project: part("project"),
            kind: part("type"),
            scope: part("scope"),
            tags: part("tags"),
            since: part("since"),
            until: part("until"),
            session: part("session"),
            agent: part("agent"),
            deleted: parameter::is_on(parts, "deleted")?,
            archived: parameter::is_on(parts, "archived")?,
            from: parameter::from::<usize>(parts)?.min(FROM_MAX),
            cursor: part("cursor"),
        })
    }

    /// Whether the list is a search. The agents' own search does not support deleted memories or authors.
    pub fn is_search(&self) -> bool {
        !self.query.is_empty() && !self.deleted && self.session.is_empty() && self.agent.is_empty()
    }

    /// Whether a condition is set that the form hides by default.
    pub fn is_fine(&self) -> bool {
        let texts = [&self.tags, &self.since, &self.until, &self.session, &self.agent];
        texts.iter().any(|text| !text.is_empty()) || self.deleted || self.archived
    }

    /// Whether there is any condition.
    pub fn is_narrowed(&self) -> bool {
        *self != Self { from: self.from, ..Self::default() }
    }

    /// The address of the same list from another position on.
    pub fn at(&self, from: usize, cursor: &str) -> String {
        let from = if from == 0 { String::new() } else { from.to_string() };
        let flag = |set| if set { "1" } else { "" };
        link::with_query(
            "/memories",
            &[
                [("q", self.query.as_str())].as_slice(),
                &self.texts(),
                &self.authors(),
                &[
                    ("deleted", flag(self.deleted)),
                    ("archived", flag(self.archived)),
                    ("from", &from),
                    ("cursor", cursor),
                ],
            ]
            .concat(),
        )
    }

    /// The conditions that a list and a search share, under the names that addresses and operations use.
    fn texts(&self) -> [(&'static str, &str); 6] {
        [
            ("project", &self.project),
            ("type", &self.kind),
            ("scope", &self.scope),
            ("tags", &self.tags),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }

    /// The conditions that only a list has.
    fn authors(&self) -> [(&'static str, &str); 2] {
        [("session", &self.session), ("agent", &self.agent)]
    }

    /// For `op_list`: the page of the list.
    pub fn list(&self) -> Value {
        let mut question = self.conditions();
        for (name, value) in self.authors() {
            if !value.is_empty() {
                question[name] = json!(value);
            }
        }
        question["deleted"] = json!(self.deleted);
        question["cursor"] = json!(self.from);
        question
    }

    /// For `mem_search`: the agent's own search, with the reasons of each hit.
    pub fn search(&self) -> Value {
        let mut question = self.conditions();
        question["query"] = json!(self.query);
        question["explain"] = json!(true);
        if !self.cursor.is_empty() {
            question["cursor"] = json!(self.cursor);
        }
        question
    }

    fn conditions(&self) -> Value {
        let mut conditions = json!({ "limit": PAGE });
        for (name, value) in self.texts() {
            if !value.is_empty() {
                conditions[name] = json!(value);
            }
        }
        if self.project.is_empty() {
            conditions["all_projects"] = json!(true);
        }
        if self.archived {
            conditions["archived"] = json!(true);
        }
        conditions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(parts: &[(&str, &str)]) -> Result<Filter, Unread> {
        Filter::read(&parts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn read(parts: &[(&str, &str)]) -> Filter {
        tried(parts).unwrap()
    }

    #[test]
    fn an_address_that_cannot_be_read_is_refused() {
        for (name, value) in [
            ("from", "-1"),
            ("from", "abc"),
            ("deleted", "yes"),
            ("archived", "2"),
            ("limit", "5"),
            ("as_of", ""),
        ] {
            assert_eq!(tried(&[("q", "x"), (name, value)]), Err(Unread::new(name, value)));
        }
        let empty = read(&[("from", ""), ("deleted", ""), ("done", "saved")]);
        assert_eq!(empty, Filter::default());
        assert_eq!(read(&[("project", "\0a\u{1b}[m")]).project, "a[m");
    }

    #[test]
    fn an_address_says_what_is_shown() {
        let filter = read(&[("q", " a&b "), ("project", "x/y"), ("from", "100"), ("deleted", "0")]);
        assert_eq!(filter.at(150, ""), "/memories?q=a%26b&project=x%2Fy&from=150");
        assert_eq!(filter.at(0, "5-f"), "/memories?q=a%26b&project=x%2Fy&cursor=5-f");
        assert!(filter.is_search() && filter.is_narrowed() && !filter.is_fine());
        assert!(!Filter::default().is_narrowed() && !read(&[("from", "50")]).is_narrowed());
        assert_eq!(read(&[("from", "99999999999")]).from, FROM_MAX);
        assert!(!read(&[("q", "x"), ("deleted", "1")]).is_search(), "only the living are searched");
        let fine = read(&[("tags", "a, b"), ("since", "7d"), ("agent", "codex"), ("archived", "1")]);
        assert_eq!(fine.at(0, ""), "/memories?tags=a%2C%20b&since=7d&agent=codex&archived=1");
        assert!(fine.is_fine() && read(&[("session", "s")]).is_fine());
    }

    #[test]
    fn a_search_without_a_project_is_one_in_all() {
        assert_eq!(read(&[("q", "x")]).search()["all_projects"], true);
        let within = read(&[("q", "x"), ("project", "p"), ("type", "bug"), ("tags", "t"), ("since", "7d")]);
        let asked = within.search();
        assert!(asked.get("all_projects").is_none() && asked["type"] == "bug", "{asked}");
        assert_eq!((&asked["tags"], &asked["since"]), (&json!("t"), &json!("7d")));
        assert_eq!(
            read(&[("from", "50"), ("agent", "codex")]).list(),
            json!({ "limit": PAGE, "all_projects": true, "agent": "codex", "deleted": false, "cursor": 50 })
        );
    }
}
