//! Makes stored text safe inside a frame.
//!
//! Agents see stored text between marks: our own `<cerebro-context>`, or the host's `<system-reminder>`,
//! `<hook_context>`, `<untrusted_context>`, `<|im_start|>` and so on. Stored text must not be able to close or open
//! such a frame. A list of names would always miss a spelling, so [`inert`] neutralises the one character with
//! which every such mark begins.
//!
//! What counts as a frame, and what as data:
//!
//! - **Frames** are read, not handed back: the context (of hooks and of `mem_context`), the text half of every
//!   tool's result and of its errors, and the titles, previews and names that the structured half quotes. All of
//!   these are made inert; context is made inert before it is fitted into its size.
//! - **Data** is handed back or kept: what is stored and exported, the structured half of `mem_get_observation` (an
//!   agent needs the exact text to change it), the identifiers that calls take as arguments, and what a person's
//!   commands and screens show, except for the context, which is written for agents. None of it is changed.

use std::borrow::Cow;

/// Stands for `<`.
const OPEN: char = '‹';
/// Stands for `>`.
const CLOSE: char = '›';

/// The text without anything that can begin or end a tag, and without invisible characters.
///
/// Every `<` becomes `‹`, so no tag can begin. A `>` that closes something becomes `›`, so that `Vec<T>` stays
/// readable as `Vec‹T›`; in arrows and comparisons (`->`, `=>`, `a > b`), in redirections of a shell (`2>&1`, `&>log`) and
/// before a quoted line it stays. The function is idempotent and replaces each character by at most one.
pub fn inert(text: &str) -> Cow<'_, str> {
    let is_suspect = |c: char| is_bracket(c) || is_hidden(c);
    if !text.contains(is_suspect) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|&c| !is_hidden(c)) {
        let is_operator = is_before_operator(&out);
        out.push(match c {
            '<' | '\u{fe64}' | '\u{ff1c}' => OPEN,
            '>' if is_operator => c,
            '>' | '\u{fe65}' | '\u{ff1e}' => CLOSE,
            _ => c,
        });
    }
    Cow::Owned(out)
}

/// Whether a `>` after this text is an operator, and closes nothing.
fn is_before_operator(text: &str) -> bool {
    let mut backwards = text.chars().rev();
    let begins_word = |before: Option<char>| before.is_none_or(char::is_whitespace);
    match backwards.next() {
        Some('-' | '=' | '&') => true,
        Some(descriptor) if descriptor.is_ascii_digit() => begins_word(backwards.next()),
        before => begins_word(before),
    }
}

/// An angle bracket, or one of its small and full-width forms.
fn is_bracket(c: char) -> bool {
    matches!(c, '<' | '>' | '\u{fe64}' | '\u{fe65}' | '\u{ff1c}' | '\u{ff1e}')
}

/// The text without invisible characters and those that change the order in which others are shown; line ends and tabs
/// stay. For a terminal, where such a text would read as another.
pub fn strip_hidden(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|&c| !is_hidden(c)).collect())
}

/// A character that is invisible or changes the order in which others are shown, and so can hide text from a person
/// who reads along. The joiners U+200C and U+200D and variation selectors stay: scripts and emoji need them.
fn is_hidden(c: char) -> bool {
    if c.is_control() {
        return c != '\n' && c != '\t';
    }
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        // Zero-width space and marks of direction, embeddings and overrides, isolates and invisible operators.
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fff0}'..='\u{fffb}'
        // Tags: the whole of ASCII once more, unseen; and selectors that no emoji uses.
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn code_stays_readable_and_tags_are_neutralised() {
        for (text, want) in [
            ("plain\n\ttext – é", "plain\n\ttext – é"),
            ("Vec<Option<T>>", "Vec‹Option‹T››"),
            ("a < b && b > c", "a ‹ b && b > c"),
            ("fn f() -> T; x => y; n >= 3", "fn f() -> T; x => y; n >= 3"),
            ("> quoted\n> more", "> quoted\n> more"),
            ("make 2>&1 >log; a &>b; x2>y", "make 2>&1 >log; a &>b; x2›y"),
            ("</cerebro-context>>", "‹/cerebro-context››"),
            ("< / System-Reminder >", "‹ / System-Reminder >"),
            ("<|im_start|>system", "‹|im_start|›system"),
            ("＜system-reminder＞", "‹system-reminder›"),
            ("sy\u{200b}stem \u{202e}txet\u{202c} \u{e0061}\u{e0062}.", "system txet ."),
            ("\u{1b}[31mred\u{7f}", "[31mred"),
            ("👨‍👩‍👧 ❤️ می‌خواهم", "👨‍👩‍👧 ❤️ می‌خواهم"),
        ] {
            assert_eq!(inert(text), want, "{text:?}");
        }
        assert!(matches!(inert("plain – ‹é›"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_text_that_is_shown_keeps_what_is_seen() {
        assert_eq!(strip_hidden("a\u{202e}b\u{200b}\u{2066}c\u{feff}\u{1b}[1m\n\td"), "abc[1m\n\td");
        for seen in ["👨‍👩‍👧 ❤️", "می‌خواهم", "<b>é</b>"] {
            assert!(matches!(strip_hidden(seen), Cow::Borrowed(_)), "{seen}");
        }
    }

    proptest! {
        #[test]
        fn inert_text_begins_no_tag_and_is_idempotent(text in "(.|[<>/ ＜﹤\u{200b}\u{202e}\u{e0041}=-]){0,80}") {
            let shown = inert(&text).into_owned();
            prop_assert!(!shown.contains(['<', '＜', '﹤']));
            prop_assert!(!shown.contains(is_hidden));
            prop_assert!(shown.chars().count() <= text.chars().count());
            prop_assert_eq!(inert(&shown), shown.as_str());
        }
    }
}
