//! The part of a passage that a hit shows.

use cerebro_core::domain::limits::PREVIEW_CHARS_MAX;

/// Characters shown before the first matching word, as context.
const LEAD_BYTES: usize = 40;

/// The stretch of at most [`PREVIEW_CHARS_MAX`] characters whose matching words have the highest total weight, cut
/// at word borders and put on one line. `found` are byte positions in `passage`, in order, each with the number of
/// a concept (below 64) and its weight; a concept counts once per stretch.
pub fn preview(passage: &str, found: &[(usize, usize, f32)]) -> String {
    let from = best_start(passage, found);
    cut(&passage[from..])
}

fn best_start(passage: &str, found: &[(usize, usize, f32)]) -> usize {
    let mut best = (0.0, 0);
    for (i, (start, ..)) in found.iter().enumerate() {
        let (mut held, mut weight) = (0u64, 0.0);
        for (_, concept, more) in
            found[i..].iter().take_while(|f| f.0 < start + PREVIEW_CHARS_MAX - LEAD_BYTES)
        {
            if held >> concept & 1 == 0 {
                held |= 1 << concept;
                weight += more;
            }
        }
        if weight > best.0 + f32::EPSILON {
            best = (weight, *start);
        }
    }
    let lead = passage.floor_char_boundary(best.1.saturating_sub(LEAD_BYTES));
    if lead == 0 {
        return 0;
    }
    // Moves on to the start of the next word, if there is one before the match.
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
        // A single endless word.
        out = text.trim_start().chars().take_while(|c| !c.is_whitespace()).take(PREVIEW_CHARS_MAX).collect();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_stretch_is_shown_in_whole_words() {
        let passage = format!("{}the needle lies near the thread {}", "hay ".repeat(200), "hay ".repeat(200));
        let at = |word| passage.find(word).unwrap();
        let shown = preview(&passage, &[(at("needle"), 0, 2.0), (at("thread"), 1, 1.0)]);
        assert!(shown.contains("needle lies near the thread"), "{shown}");
        assert!(shown.chars().count() <= PREVIEW_CHARS_MAX);
        assert!(shown.split(' ').all(|word| passage.split(' ').any(|other| other == word)), "{shown}");
    }

    #[test]
    fn an_endless_word_is_cut_between_characters() {
        assert_eq!(preview(&"é".repeat(900), &[]), "é".repeat(PREVIEW_CHARS_MAX));
        assert_eq!(preview("", &[]), "");
    }

    proptest::proptest! {
        #[test]
        fn any_match_gives_a_bounded_preview(passage in "(\\PC| ){0,600}", at in 0usize..600) {
            let at = passage.floor_char_boundary(at);
            let shown = preview(&passage, &[(at, 0, 1.0)]);
            proptest::prop_assert!(shown.chars().count() <= PREVIEW_CHARS_MAX);
        }
    }
}
