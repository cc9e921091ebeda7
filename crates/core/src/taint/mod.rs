//! Flags text that reads like an instruction to an agent, and names what it tries.
//!
//! Whoever can write into a memory can speak to every later session. The main signal is where a text comes from
//! ([`Origin`]); the rules here are an additional hint. They are small and pure, and can be evaded: a text without
//! a flag is not thereby safe. A flagged text is stored and found like any other. It is marked wherever it is
//! shown, and no hook puts more than its title before an agent that did not ask.
//!
//! A text is flagged by one strong rule or by two rules of any weight. If no agent or person of this home wrote it,
//! any one rule is enough.

mod origin;
mod rules;
mod script;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

pub use origin::{Flag, Origin, Taint};

/// Most bytes of a text that are searched; a longer text is a document.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The flags of a text, given its origin, in the order of [`Flag::ALL`]. Nearly always empty.
///
/// The time grows with the length of the text, whatever it says; of a text [`TEXT_BYTES_MAX`] are looked at.
pub fn flags(text: &str, origin: Origin) -> Vec<Flag> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let unseen = script::unseen(text);
    // Invisible characters and look-alike letters must not hide the rest from a rule.
    let plain = script::plain(text);
    let mut points = unseen;
    let mut found: Vec<Flag> = (unseen > 0).then_some(Flag::Hidden).into_iter().collect();
    for rule in rules::matching(&plain) {
        points += rule.points;
        found.push(rule.flag);
    }
    if points < if origin.is_chosen() { 2 } else { 1 } {
        return Vec::new();
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The flags that keep a memory's title from an agent that did not ask. For a flagged memory, any match counts.
pub fn flags_of_title(title: &str, taint: &Taint) -> Vec<Flag> {
    flags(title, if taint.flags.is_empty() { taint.origin } else { Origin::Import })
}

/// A text for an agent that did not ask: each line that would be flagged is replaced by a note of its flags.
pub fn screened(text: &str) -> Cow<'_, str> {
    let is_flagged = |line: &str| !flags(line, Origin::Agent).is_empty();
    if !text.lines().any(is_flagged) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<String> =
        text.split('\n').map(|line| left_out(line).unwrap_or_else(|| line.to_owned())).collect();
    Cow::Owned(lines.join("\n"))
}

/// The note that replaces a text that would be flagged; `None` for any other text.
pub fn left_out(text: &str) -> Option<String> {
    flags(text, Origin::Agent).first().map(|flag| format!("(left out: flag {flag})"))
}

/// The taint of a memory with this title and content.
pub fn of(title: &str, content: &str, origin: Origin) -> Taint {
    Taint { origin, flags: flags(&format!("{title}\n{content}"), origin) }
}
