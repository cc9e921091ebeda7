//! Finds the speaker of a text, from its first words, and the persons that a question is about.
//!
//! Notes and logs begin with the speaker or the subject ("Ann: …", "I prefer …", "[api] …"). If a name in the
//! question, or its first person, opens a memory, that shows whose memory it is. Speech begins after a colon, where
//! a name is of the person addressed ("Ann: Hey Bob!" is Ann's). After a colon only the first person counts,
//! because a colon may also follow a label ("Note: I prefer …").

use super::{fold::fold, query::is_stop_word};

/// Words of an opening. Dates and numbers before them do not count.
const WORDS: usize = 3;
/// Bytes in which the opening is looked for.
const BYTES_MAX: usize = 200;
/// First person words.
const FIRST_PERSON: [&str; 3] = ["i", "me", "my"];
/// The names that chat logs give to the person who asks.
const ASKER: [&str; 2] = ["user", "human"];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with(char::is_alphabetic))
}

/// Where the head of a text ends: at the first colon between a word and a blank (which excludes times, dates and
/// paths), or at the end of the text.
fn head_end(text: &str) -> usize {
    let is_behind_word = |at: usize| {
        let before = text[..at].trim_end_matches(|c: char| !c.is_alphanumeric());
        let word = before.rsplit(|c: char| !c.is_alphanumeric()).next();
        word.is_some_and(|word| word.starts_with(char::is_alphabetic))
    };
    let colons = text.match_indices(':').map(|(at, _)| at);
    let mut ends = colons.filter(|at| text[at + 1..].starts_with(char::is_whitespace));
    ends.find(|at| is_behind_word(*at)).unwrap_or(text.len())
}

/// The words that open a text, folded: all those of its head, and after it only the first person.
pub fn opening(text: &str) -> impl Iterator<Item = String> {
    let text = &text[..text.floor_char_boundary(BYTES_MAX)];
    let (head, rest) = text.split_at(head_end(text));
    let room = WORDS.saturating_sub(words(head).count());
    let first_person = |word: &String| FIRST_PERSON.contains(&word.as_str());
    words(head).take(WORDS).map(fold).chain(words(rest).take(room).map(fold).filter(first_person))
}

/// The persons and other names in a question: capitalised words, and the first person, which is the asker.
pub fn persons(question: &str) -> Vec<String> {
    let mut persons: Vec<String> = Vec::new();
    for word in words(question) {
        let folded = fold(word);
        if FIRST_PERSON.contains(&folded.as_str()) {
            persons.extend(FIRST_PERSON.into_iter().chain(ASKER).map(str::to_owned));
        } else if word.starts_with(char::is_uppercase) && !is_stop_word(word) {
            persons.push(folded);
        }
    }
    persons.sort_unstable();
    persons.dedup();
    persons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(text: &str) -> String {
        opening(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn dates_and_numbers_before_an_opening_are_skipped() {
        assert_eq!(opened("2023-05-08 13:56 Ann and Bob met"), "ann and bob");
        assert_eq!(opened("[api] I'm for tabs"), "api i m");
        assert_eq!(opened("…"), "");
        assert_eq!(opened(&"é".repeat(300)), "e".repeat(BYTES_MAX / 2));
    }

    #[test]
    fn after_the_colon_only_the_first_person_counts() {
        assert_eq!(opened("2023-05-08T13:56:00 Ann: Hey Bob! It is me"), "ann");
        assert_eq!(opened("8:30: **Ann**: Bob says: no"), "ann");
        assert_eq!(opened("Note: I told Bob"), "note i");
        assert_eq!(opened("March-15-2024 user:\nMy plan is mine"), "march user my");
        assert_eq!(opened("Ann and Bob agreed on this: I"), "ann and bob");
        assert_eq!(opened("std::fs or C:\\tmp"), "std fs or");
        assert_eq!(opened(": Ann:"), "ann");
    }

    #[test]
    fn persons_are_names_and_the_first_person() {
        assert_eq!(persons("When did Ann's brother meet Bob?"), ["ann", "bob"]);
        assert_eq!(persons("what is my editor"), ["human", "i", "me", "my", "user"]);
        assert_eq!(persons("where is a user kept"), [""; 0]);
        assert_eq!(persons("The quick fox"), [""; 0]);
    }
}
