//! Proven facts: what an exchange of a past session proves by rules, without a model. Each fact follows from one
//! exchange alone, so the result does not depend on the steps in which a transcript was read. Facts that span
//! several exchanges are computed when somebody asks.

use serde::{Deserialize, Serialize};

use super::limits::{PROVEN_BYTES_MAX, PROVEN_TEXT_BYTES_MAX};
use crate::redact::RedactedText;

/// Most items of one list.
const ITEMS_MAX: usize = 64;

/// What one exchange proves, besides the files that it changed and the commands that it ran. `T` is the text type:
/// redacted inside this program, plain on its way in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proven<T = RedactedText> {
    /// Files that were read.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<T>,
    /// Commands that failed.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<PastFailure<T>>,
    /// Calls that the person refused.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<PastRefusal<T>>,
    /// Whether the person interrupted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Commits that were made.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<PastCommit<T>>,
    /// Addresses of pull requests.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub pull_requests: Vec<T>,
    /// Plans that were proposed.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<PastPlan<T>>,
    /// Questions that the person answered.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<PastAnswer<T>>,
    /// Changes of the to-do list; `None` where it was not touched.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub to_do: Option<PastToDo<T>>,
    /// The beginning of the agent's last words, if they are long enough to say what was done.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub reply: Option<T>,
    /// The beginning of the last summary of a compaction.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub summary: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

/// A command that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFailure<T = RedactedText> {
    /// Its first line.
    pub command: T,
    /// The line of its output that names the error.
    pub error: T,
    /// The error without its variable parts, by which repetitions are recognised.
    pub key: T,
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What made it succeed within the same exchange.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub fix: Option<PastFix<T>>,
}

/// A command of the same kind that succeeded afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFix<T = RedactedText> {
    pub command: T,
    /// Whether it is the same command, so that the fix lies in the edits between.
    #[serde(default)]
    pub same: bool,
    /// Files that were changed between the failure and the success.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<T>,
}

/// A call that the person refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRefusal<T = RedactedText> {
    /// The tool and its input, on one line.
    pub what: T,
    /// What the person said; empty if nothing.
    pub said: T,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastCommit<T = RedactedText> {
    /// Its short id, where Git printed it.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub id: Option<T>,
    /// The first line of its message.
    pub subject: T,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastPlan<T = RedactedText> {
    /// The plan.
    pub text: T,
    /// Whether the person accepted it; `None` if the transcript does not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<bool>,
}

/// What the person answered to questions with offered answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAnswer<T = RedactedText> {
    /// What was asked.
    pub asked: T,
    /// The answer, in the host's words.
    pub answer: T,
}

/// A change of the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastToDo<T = RedactedText> {
    /// Whether it is the whole list, and not only changed items.
    #[serde(default)]
    pub whole: bool,
    pub items: Vec<PastTask<T>>,
}

/// An item of the to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastTask<T = RedactedText> {
    /// The task; empty where only its status changed.
    pub text: T,
    /// The id by which later changes name it; empty without one.
    pub id: T,
    /// The agent's own word: pending, in_progress, completed …
    pub status: T,
}

impl<T> Default for Proven<T> {
    fn default() -> Self {
        Self {
            read: Vec::new(),
            failures: Vec::new(),
            refusals: Vec::new(),
            interrupted: false,
            commits: Vec::new(),
            pull_requests: Vec::new(),
            plans: Vec::new(),
            answers: Vec::new(),
            to_do: None,
            reply: None,
            summary: None,
        }
    }
}

impl<T> Proven<T> {
    /// Converts every text, and cuts each list to `most` items.
    pub fn map<U>(self, most: usize, mut text: impl FnMut(T) -> U) -> Proven<U> {
        let text = &mut text;
        Proven {
            read: list(self.read, most, &mut *text),
            failures: list(self.failures, most, |failure| PastFailure {
                command: text(failure.command),
                error: text(failure.error),
                key: text(failure.key),
                exit: failure.exit,
                fix: failure.fix.map(|fix| PastFix {
                    command: text(fix.command),
                    same: fix.same,
                    edited: list(fix.edited, most, &mut *text),
                }),
            }),
            refusals: list(self.refusals, most, |refusal| PastRefusal {
                what: text(refusal.what),
                said: text(refusal.said),
            }),
            interrupted: self.interrupted,
            commits: list(self.commits, most, |commit| PastCommit {
                id: commit.id.map(&mut *text),
                subject: text(commit.subject),
            }),
            pull_requests: list(self.pull_requests, most, &mut *text),
            plans: list(self.plans, most, |plan| PastPlan { text: text(plan.text), accepted: plan.accepted }),
            answers: list(self.answers, most, |answer| PastAnswer {
                asked: text(answer.asked),
                answer: text(answer.answer),
            }),
            to_do: self.to_do.map(|to_do| PastToDo {
                whole: to_do.whole,
                items: list(to_do.items, most, |item| PastTask {
                    text: text(item.text),
                    id: text(item.id),
                    status: text(item.status),
                }),
            }),
            reply: self.reply.map(&mut *text),
            summary: self.summary.map(text),
        }
    }
}

fn list<T, U>(items: Vec<T>, most: usize, of: impl FnMut(T) -> U) -> Vec<U> {
    items.into_iter().take(most).map(of).collect()
}

impl<T: PartialEq> Proven<T> {
    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Proven {
    /// The JSON that is stored.
    #[expect(clippy::missing_panics_doc, reason = "texts, numbers and lists of them are always JSON")]
    pub fn as_json(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and lists of them are JSON")
    }

    /// The same within [`PROVEN_BYTES_MAX`]: long texts are cut, and lists are halved until the whole fits.
    #[must_use]
    pub fn bounded(self) -> Self {
        let mut most = ITEMS_MAX;
        let mut proven = self.map(most, |text| text.cut_bytes(PROVEN_TEXT_BYTES_MAX));
        while most > 1 && proven.as_json().len() > PROVEN_BYTES_MAX {
            most /= 2;
            proven = proven.map(most, |text| text);
        }
        proven
    }

    /// Whether some text meets a condition.
    pub fn any(&self, mut holds: impl FnMut(&str) -> bool) -> bool {
        let mut found = false;
        // Reuses `map`, which visits every text: forgetting is rare, and a second visitor is not worth it.
        let _ = self.clone().map(usize::MAX, |text| found |= holds(&text));
        found
    }
}

/// The tasks that were still open after these exchanges of one session, in order. After weeks they are stale.
pub fn left_to_do<'a>(exchanges: impl IntoIterator<Item = &'a Proven>) -> Vec<RedactedText> {
    let mut items: Vec<PastTask> = Vec::new();
    for change in exchanges.into_iter().filter_map(|proven| proven.to_do.as_ref()) {
        if change.whole {
            items.clone_from(&change.items);
            continue;
        }
        for item in &change.items {
            match items.iter_mut().find(|known| !known.id.is_empty() && known.id == item.id) {
                Some(known) if !item.status.is_empty() => known.status = item.status.clone(),
                Some(_) => {}
                None => items.push(item.clone()),
            }
        }
    }
    let is_over = |status: &str| matches!(status, "completed" | "done" | "cancelled" | "deleted");
    let open = |item: &PastTask| !item.text.is_empty() && !is_over(&item.status);
    items.into_iter().filter(open).map(|item| item.text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::redact_text;

    fn clean(text: &str) -> RedactedText {
        redact_text(text).value
    }

    fn to_do(whole: bool, items: &[(&str, &str, &str)]) -> Proven {
        let item = |(text, id, status): &(&str, &str, &str)| PastTask {
            text: clean(text),
            id: clean(id),
            status: clean(status),
        };
        let items = items.iter().map(item).collect();
        Proven { to_do: Some(PastToDo { whole, items }), ..Proven::default() }
    }

    #[test]
    fn open_tasks_follow_lists_and_changes_over_exchanges() {
        let whole = to_do(true, &[("a", "", "completed"), ("b", "", "pending")]);
        assert_eq!(left_to_do([&to_do(true, &[("old", "", "pending")]), &whole]), ["b"]);
        let first = to_do(false, &[("first", "1", ""), ("second", "2", "")]);
        let then = to_do(false, &[("", "1", "completed"), ("", "2", "in_progress"), ("", "9", "pending")]);
        assert_eq!(left_to_do([&first, &Proven::default(), &then]), ["second"]);
    }

    #[test]
    fn it_comes_back_from_json_and_each_text_is_seen() {
        let fix = PastFix { command: clean("make"), same: true, edited: vec![clean("a.rs")] };
        let failure = PastFailure {
            command: clean("make"),
            error: clean("error: no rule"),
            key: clean("error: no rule"),
            exit: Some(2),
            fix: Some(fix),
        };
        let proven = Proven { failures: vec![failure], interrupted: true, ..to_do(true, &[("b", "", "")]) };
        let json = serde_json::to_string(&proven).unwrap();
        let back: Proven<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back.map(usize::MAX, |text| clean(&text)), proven);
        assert!(proven.any(|text| text == "a.rs") && !proven.any(|text| text == "b.rs"));
        assert_eq!(serde_json::to_string(&Proven::<String>::default()).unwrap(), "{}");
        assert!(<Proven>::default().is_empty() && !proven.is_empty());
        let long = PastFailure {
            error: clean(&"e ".repeat(5_000)),
            fix: Some(PastFix {
                command: clean("make"),
                same: true,
                edited: vec![clean(&"f".repeat(500)); 99],
            }),
            ..proven.failures[0].clone()
        };
        let most = Proven { failures: vec![long; 99], ..Proven::default() }.bounded();
        assert!(most.as_json().len() <= PROVEN_BYTES_MAX && !most.failures.is_empty());
        assert_eq!(most.failures[0].error.len(), PROVEN_TEXT_BYTES_MAX);
        assert_eq!(proven.clone().bounded(), proven);
    }
}
