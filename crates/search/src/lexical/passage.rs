//! Cuts long contents into passages that are scored one by one.

/// Largest passage in bytes: about 200 English words.
const BYTES_MAX: usize = 1_200;
/// Fewest bytes of a passage before a border is looked for.
const BYTES_MIN: usize = 600;

/// Cuts a content into adjacent passages of at most [`BYTES_MAX`] bytes, preferably between paragraphs, else lines,
/// sentences, words or characters. An empty content gives one empty passage.
pub fn passages(content: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = content.trim();
    while rest.len() > BYTES_MAX {
        let (passage, tail) = rest.split_at(border(rest));
        out.push(passage.trim_end());
        rest = tail.trim_start();
    }
    if !rest.is_empty() || out.is_empty() {
        out.push(rest);
    }
    out
}

/// Where the first passage of a text longer than [`BYTES_MAX`] ends.
fn border(text: &str) -> usize {
    let (from, to) = (text.floor_char_boundary(BYTES_MIN), text.floor_char_boundary(BYTES_MAX));
    let window = &text[from..to];
    for mark in ["\n\n", "\n", ". ", "? ", "! ", "。", "; "] {
        if let Some(at) = window.rfind(mark) {
            return from + at + mark.len();
        }
    }
    window.rfind(char::is_whitespace).map_or(to, |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_contents_stay_whole() {
        assert_eq!(passages(" a short note\n"), ["a short note"]);
        assert_eq!(passages(""), [""]);
    }

    #[test]
    fn paragraphs_are_preferred_borders() {
        let (one, two) = ("a. ".repeat(250), "b. ".repeat(250));
        assert_eq!(passages(&format!("{one}\n\n{two}")), [one.trim(), two.trim()]);
    }

    #[test]
    fn an_endless_word_is_cut_between_characters() {
        let word = "é".repeat(128 * 1024);
        assert!(passages(&word).iter().all(|p| p.len() <= BYTES_MAX));
        assert_eq!(passages(&word).concat(), word);
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_but_blanks(content in "(\\PC|\n){0,3000}") {
            let solid = |text: &str| text.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(solid(&passages(&content).concat()), solid(&content));
            proptest::prop_assert!(passages(&content).iter().all(|p| p.len() <= BYTES_MAX));
        }
    }
}
