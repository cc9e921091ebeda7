//! Who speaks: the first words of a text, and the persons that a question is about.
//!
//! Notes and logs put the speaker or the subject first ("Ann: …", "I prefer …", "[api] …"). A name in the
//! question, or its first person, that opens a memory tells whose memory it is.

use super::{fold::fold, query::is_stop_word};

/// Words of an opening. Dates and numbers before them do not count.
const WORDS: usize = 3;
/// Bytes in which the opening is looked for.
const BYTES_MAX: usize = 200;
/// What a person says for themselves.
const FIRST_PERSON: [&str; 3] = ["i", "me", "my"];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with(char::is_alphabetic))
}

/// The words that open a text, folded.
pub fn opening(text: &str) -> impl Iterator<Item = String> {
    let end = super::passage::floor_char(text, BYTES_MAX);
    words(&text[..end]).take(WORDS).map(fold)
}

/// The persons, and other names, of a question: what is written with a capital, and the first person as a
/// whole.
pub fn persons(question: &str) -> Vec<String> {
    let mut persons: Vec<String> = Vec::new();
    for word in words(question) {
        let folded = fold(word);
        if FIRST_PERSON.contains(&folded.as_str()) {
            persons.extend(FIRST_PERSON.map(str::to_owned));
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

    #[test]
    fn the_opening_is_behind_dates_and_numbers() {
        let words = |text| opening(text).collect::<Vec<_>>().join(" ");
        assert_eq!(words("2023-05-08 13:56 Ann: Hey Bob! It is me"), "ann hey bob");
        assert_eq!(words("[api] I'm for tabs"), "api i m");
        assert_eq!(words("…"), "");
        assert_eq!(words(&"é".repeat(300)), "e".repeat(BYTES_MAX / 2));
    }

    #[test]
    fn persons_are_names_and_the_first_person() {
        assert_eq!(persons("When did Ann's brother meet Bob?"), ["ann", "bob"]);
        assert_eq!(persons("what is my editor"), FIRST_PERSON);
        assert_eq!(persons("The quick fox"), [""; 0]);
    }
}
