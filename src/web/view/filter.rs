//! Which memories a list shows, as its address says it.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::link;

/// Memories of a page of the list.
pub const PAGE: usize = 50;
/// The farthest place in the list that an address may name.
const FROM_MAX: usize = 10_000_000;

/// What the list is narrowed to. Empty texts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub query: String,
    pub project: String,
    pub kind: String,
    pub scope: String,
    pub deleted: bool,
    /// How many memories come before the page.
    pub from: usize,
    /// Where a search goes on.
    pub cursor: String,
}

impl Filter {
    /// From the parts of an address.
    pub fn read(parts: &HashMap<String, String>) -> Self {
        let part = |name: &str| parts.get(name).map(|value| value.trim().to_owned()).unwrap_or_default();
        Self {
            query: part("q"),
            project: part("project"),
            kind: part("type"),
            scope: part("scope"),
            deleted: part("deleted") == "1",
            from: part("from").parse().map_or(0, |from: usize| from.min(FROM_MAX)),
            cursor: part("cursor"),
        }
    }

    /// Whether the list is a search: only live memories are searched.
    pub fn is_search(&self) -> bool {
        !self.query.is_empty() && !self.deleted
    }

    /// The address of the same list from another place on.
    pub fn at(&self, from: usize, cursor: &str) -> String {
        let from = if from == 0 { String::new() } else { from.to_string() };
        let deleted = if self.deleted { "1" } else { "" };
        link::with_query(
            "/memories",
            &[
                ("q", &self.query),
                ("project", &self.project),
                ("type", &self.kind),
                ("scope", &self.scope),
                ("deleted", deleted),
                ("from", &from),
                ("cursor", cursor),
            ],
        )
    }

    /// For `op_browse`: the page of the list.
    pub fn browse(&self) -> Value {
        let mut question = self.conditions();
        question["deleted"] = json!(self.deleted);
        question["offset"] = json!(self.from);
        question["limit"] = json!(PAGE);
        question
    }

    /// For `mem_search`: the agent's own search, with the reasons of each hit.
    pub fn search(&self) -> Value {
        let mut question = self.conditions();
        question["query"] = json!(self.query);
        question["limit"] = json!(PAGE);
        question["explain"] = json!(true);
        if self.project.is_empty() {
            question["all_projects"] = json!(true);
        }
        if !self.cursor.is_empty() {
            question["cursor"] = json!(self.cursor);
        }
        question
    }

    fn conditions(&self) -> Value {
        let mut conditions = json!({});
        for (name, value) in [("project", &self.project), ("type", &self.kind), ("scope", &self.scope)] {
            if !value.is_empty() {
                conditions[name] = json!(value);
            }
        }
        conditions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[(&str, &str)]) -> Filter {
        Filter::read(&parts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn an_address_says_what_is_shown_and_odd_ones_show_all() {
        let filter = read(&[("q", " a&b "), ("project", "x/y"), ("from", "100"), ("deleted", "0")]);
        assert_eq!(filter.at(150, ""), "/memories?q=a%26b&project=x%2Fy&from=150");
        assert_eq!(filter.at(0, "5-f"), "/memories?q=a%26b&project=x%2Fy&cursor=5-f");
        assert!(filter.is_search());
        let odd = read(&[("from", "-1"), ("deleted", "yes"), ("else", "x")]);
        assert_eq!(odd, Filter::default());
        assert_eq!(read(&[("from", "99999999999")]).from, FROM_MAX);
        assert!(!read(&[("q", "x"), ("deleted", "1")]).is_search(), "only the living are searched");
    }

    #[test]
    fn a_search_without_a_project_is_one_in_all() {
        assert_eq!(read(&[("q", "x")]).search()["all_projects"], true);
        let within = read(&[("q", "x"), ("project", "p"), ("type", "bug")]);
        assert!(within.search().get("all_projects").is_none() && within.search()["type"] == "bug");
        assert_eq!(
            read(&[("from", "50")]).browse(),
            json!({ "deleted": false, "offset": 50, "limit": PAGE })
        );
    }
}
