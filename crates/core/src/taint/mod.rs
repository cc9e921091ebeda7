//! Text that reads like an instruction to an agent, not like a note: who may have planted it, and what it tries.
//!
//! Whoever can write into a memory can speak to every later session. Where a text comes from is the signal
//! ([`Origin`]); the rules here are a hint on top of it. They are small, pure and can be evaded: a text without a flag
//! is not a safe one. A flagged text is stored and found like any other. It is marked wherever it is shown, and no
//! hook puts more than its title before an agent that did not ask.
//!
//! A text is flagged by one strong rule, or by two of any. Of a text that no agent and no person of this home wrote,
//! any rule is enough.

mod rules;
mod script;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::domain::{Flag, Origin, Taint};
use rules::Weight;

/// Most of a text that is looked at, in bytes: what is longer is a document.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The flags of a text by where it comes from, in the order of [`Flag::ALL`]; none of nearly all texts.
///
/// A rule looks at each place of the text once; of a text [`TEXT_BYTES_MAX`] are looked at.
pub fn flags(text: &str, origin: Origin) -> Vec<Flag> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let unseen = script::unseen(text);
    // What is hidden or written in another script's letters must not keep a rule from seeing the rest.
    let plain = script::plain(text);
    let mut points = unseen;
    let mut found: Vec<Flag> = (unseen > 0).then_some(Flag::Hidden).into_iter().collect();
    for rule in rules::matching(&plain) {
        points += if rule.weight == Weight::Strong { 2 } else { 1 };
        found.push(rule.flag);
    }
    if points < if origin.is_chosen() { 2 } else { 1 } {
        return Vec::new();
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// What of a memory's title keeps it from being put before an agent that did not ask. Of a flagged memory any sign does.
pub fn flags_of_title(title: &str, taint: &Taint) -> Vec<Flag> {
    flags(title, if taint.flags.is_empty() { taint.origin } else { Origin::Import })
}

/// A text that is put before an agent that did not ask: in the place of each line that would be flagged stands for what.
pub fn screened(text: &str) -> Cow<'_, str> {
    let is_flagged = |line: &str| !flags(line, Origin::Agent).is_empty();
    if !text.lines().any(is_flagged) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<String> =
        text.split('\n').map(|line| left_out(line).unwrap_or_else(|| line.to_owned())).collect();
    Cow::Owned(lines.join("\n"))
}

/// What stands in the place of a text that would be flagged; none of any other.
pub fn left_out(text: &str) -> Option<String> {
    flags(text, Origin::Agent).first().map(|flag| format!("(left out: flag {flag})"))
}

/// The taint of a memory with this title and content.
pub fn of(title: &str, content: &str, origin: Origin) -> Taint {
    Taint { origin, flags: flags(&format!("{title}\n{content}"), origin) }
}
