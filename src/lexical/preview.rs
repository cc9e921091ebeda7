//! The piece of a passage that a hit shows.

use std::collections::HashMap;

use super::passage::floor_char;
use crate::domain::limits::PREVIEW_CHARS_MAX;

/// Characters shown before the first word found, so that it stands in its sentence.
const LEAD_BYTES: usize = 40;

/// The stretch of at most [`PREVIEW_CHARS_MAX`] characters, cut at word borders and on one line, in
/// which the words found weigh most. `found` are places in `passage` in bytes, in order, each with the
/// number of a meaning and its weight; a meaning weighs once within a stretch.
pub fn preview(passage: &str, found: &[(usize, usize, f32)]) -> String {
    let from = best_start(passage, found);
    cut(&passage[from..])
}

fn best_start(passage: &str, found: &[(usize, usize, f32)]) -> usize {
    let mut best = (0.0, 0);
    for (i, (start, ..)) in found.iter().enumerate() {
        let mut meanings = HashMap::new();
        for (_, meaning, weight) in found[i..].iter().take_while(|f| f.0 < start + PREVIEW_CHARS_MAX - LEAD_BYTES) {
            meanings.insert(*meaning, *weight);
        }
        let weight: f32 = meanings.values().sum();
        if weight > best.0 + f32::EPSILON {
            best = (weight, *start);
        }
    }
    let lead = floor_char(passage, best.1.saturating_sub(LEAD_BYTES));
    if lead == 0 {
        return 0;
    }
    // On to the start of the next word, if there is one before the word found.
    let blank = passage[lead..best.1].find(char::is_whitespace);
    blank.map_or(best.1, |n| lead + n)
}

fn cut(text: &str) -> String {
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let blank = usize::from(!out.is_empty());
        if chars + blank + length > PREVIEW_CHARS_MAX {
            break;
        }
        if blank == 1 {
            out.push(' ');
        }
        out.push_str(word);
        chars += blank + length;
    }
    if out.is_empty() {
        // One endless word.
        out = text.trim_start().chars().take_while(|c| !c.is_whitespace()).take(PREVIEW_CHARS_MAX).collect();
    }
    out
}
