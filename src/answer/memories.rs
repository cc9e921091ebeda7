//! The answers about memories.

use serde::{Deserialize, Serialize};

use super::Text;

/// A memory in a list, without its content.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Row {
    pub id: Text,
    pub title: Text,
    #[serde(rename = "type")]
    pub kind: Text,
    /// Empty for what is personal.
    pub project: Text,
    /// `project` or `personal`.
    pub scope: Text,
    /// Counts from 1.
    pub revision: u32,
    pub pinned: bool,
    /// Who wrote this revision.
    pub agent: Text,
    pub topic_key: Option<Text>,
    /// When this revision was written.
    pub updated_at: Text,
    pub deleted_at: Option<Text>,
    pub archived_at: Option<Text>,
    /// What its text, which reads like an instruction, seems to try.
    pub flag: Option<Text>,
}

/// What to know about a memory before its text is believed. What does not apply is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Marks {
    /// It was so until an earlier date.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// The memory that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Text>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// What its text, which reads like an instruction, seems to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<Text>,
    /// Memories that take its place, or contradict it, as a chat model claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<Text>,
    /// A later memory of the same title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Text>,
    /// How the code that it speaks of differs where the asker works, such as `changed src/a.rs:f`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<Text>,
}

impl Marks {
    /// Those that apply, the most important first: the name of each and its words, safe to show.
    pub fn named(&self) -> Vec<(&'static str, Vec<String>)> {
        let yes = |is: bool| is.then(Vec::new);
        let one = |text: &Option<Text>| text.as_ref().map(|text| vec![text.line()]);
        let all = |ids: &[Text]| (!ids.is_empty()).then(|| ids.iter().map(Text::line).collect());
        let marks = [
            ("flag", one(&self.flag)),
            ("stale", one(&self.stale)),
            ("old", one(&self.old)),
            ("expired", yes(self.expired)),
            ("archived", yes(self.archived)),
            ("superseded_by", all(&self.superseded_by)),
            ("conflicts_with", all(&self.conflicts_with)),
            ("newer", one(&self.newer)),
        ];
        marks.into_iter().filter_map(|(name, words)| Some((name, words?))).collect()
    }
}

/// `op_list`: the memories that meet conditions, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Listed {
    pub memories: Vec<Row>,
    /// Where the list goes on.
    pub next_cursor: Option<Text>,
    /// How many meet the conditions; `None` if each memory had to be read to say so.
    pub total: Option<u64>,
    /// The asker's project.
    pub project: Text,
    /// If the asker's project has no memories: the former projects of its folder that have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Former>,
}

/// A former project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Former {
    pub project: Text,
    pub memories: u64,
}

/// `op_browse`: a page of memories at any depth, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Page {
    pub memories: Vec<Browsed>,
    /// How many there are on all pages.
    pub total: u64,
}

/// A memory with its marks. The flag is the row's.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Browsed {
    #[serde(flatten)]
    pub row: Row,
    /// How its text came in.
    pub origin: Text,
    #[serde(flatten)]
    pub marks: Marks,
}

/// `op_resolve`: what has an id that begins as was asked, at most ten of each kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resolved {
    pub ids: Vec<Named>,
}

/// An id and what it is called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Named {
    pub id: Text,
    pub title: Text,
}

/// `op_restore`, `op_pin`, `op_unpin`, `op_archive` and `op_unarchive`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Changed {
    pub id: Text,
    /// What was done, such as `pinned`, or `unchanged`.
    pub outcome: Text,
    pub title: Text,
    /// For a memory that was unarchived or restored: another one that had this text and no longer says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<Gone>,
}

/// `mem_save` and `mem_update`. What does not apply is left out.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Saved {
    pub id: Text,
    /// `created`, `updated`, `duplicate` or `unchanged`.
    pub outcome: Text,
    pub revision: u32,
    /// Its project, or `personal`.
    pub project: Text,
    pub topic_key: Option<Text>,
    /// What its text, which reads like an instruction, seems to try.
    pub flags: Vec<Text>,
    /// The text of another agent that it replaced.
    pub replaced: Option<Replaced>,
    /// Another memory that had this text and was deleted, corrected or superseded.
    pub noted: Option<Gone>,
    /// The memories whose place it took.
    pub superseded: Vec<Text>,
    pub similar: Vec<Named>,
    /// Whether its project is new, and known projects of a like name.
    pub new_project: bool,
    pub near: Vec<Text>,
    /// How many secrets and private texts were left out.
    pub redacted: Option<u64>,
    /// What was ignored of the arguments, such as texts that Cerebro had shown.
    pub ignored: Vec<Text>,
}

/// A text that was replaced.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replaced {
    pub title: Text,
    pub agent: Text,
    pub at: Text,
}

/// A memory whose text no longer holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Gone {
    pub id: Text,
    /// What was done to it, such as `deleted`.
    pub why: Text,
    pub at: Text,
}

/// `mem_delete`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deleted {
    pub id: Text,
    /// `deleted`, `purged` or `unchanged`.
    pub outcome: Text,
    /// For a purged memory: those that were merged into it and still say the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<Text>,
    /// For a deleted memory: those in the archive that still say the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<Text>,
    /// For a purged memory: prompts that still contain its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Text>,
}

/// `mem_context`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Context {
    pub project: Text,
    /// What an agent reads at its start.
    pub text: Text,
    /// How many of each are in the text.
    pub sessions: u64,
    pub prompts: u64,
    pub memories: u64,
    /// Whether there was more than fits.
    pub truncated: bool,
}

/// `op_known`: which of the ids that were asked about are here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Known {
    pub ids: Vec<Text>,
}

/// `op_note`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Noted {
    /// `created`, `updated`, `duplicate` or `unchanged`.
    pub outcome: Text,
    /// Its memory; none if it is new and nothing was written.
    pub id: Option<Text>,
    pub revision: Option<u32>,
}

/// `op_types`: the types that live memories have, the most frequent first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Types {
    pub types: Vec<Type>,
}

/// A type and how many memories have it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Type {
    #[serde(rename = "type")]
    pub name: Text,
    pub memories: u64,
}

/// `op_spelling`: words of a question that no title has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spelling {
    pub words: Vec<Misspelt>,
}

/// A word, and those of titles that are spelt like it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Misspelt {
    pub word: Text,
    pub near: Vec<Text>,
}

/// `op_activity`: the days (UTC) on which something was written, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Activity {
    pub days: Vec<Day>,
}

/// How many texts were written on a day.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Day {
    pub date: Text,
    pub saves: u64,
}

/// `op_pairs`: memories that contradict each other or say nearly the same, the strongest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pairs {
    pub pairs: Vec<Pair>,
    /// `true` if there are more.
    pub more: Option<bool>,
}

/// Two memories and what relates them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pair {
    /// How the first is related to the second.
    pub kind: Text,
    /// How strongly: above 0, at most 1.
    pub weight: f64,
    pub evidence: Option<Text>,
    /// The model that found it.
    pub model: Option<Text>,
    pub from: Side,
    pub to: Side,
}

/// A memory of a pair.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Side {
    #[serde(flatten)]
    pub row: Row,
    /// At most 1,200 bytes of its text.
    pub content: Text,
}

/// `mem_feedback`: what became of an agent's verdict.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// The memory.
    pub id: Text,
    /// `noted`; or `unchanged` if no search of the session showed it, or it was said already.
    pub outcome: Text,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_flag_of_a_row_is_no_mark() {
        let row = json!({
            "id": "k", "title": "T", "type": "bugfix", "project": "", "scope": "personal", "revision": 2,
            "pinned": true, "agent": "codex", "topic_key": null, "updated_at": "t", "deleted_at": null,
            "archived_at": "t", "flag": "override", "origin": "tool", "expired": true, "old": "l",
            "archived": true, "superseded_by": ["m", "n"], "stale": "changed a.rs",
        });
        let read: Browsed = serde_json::from_value(row.clone()).unwrap();
        assert_eq!(json!(read).to_string(), row.to_string());
        assert_eq!((&read.row.flag, &read.marks.flag), (&Some("override".into()), &None));
        let names: Vec<&str> = read.marks.named().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["stale", "old", "expired", "archived", "superseded_by"]);
    }
}
