//! Folds different spellings of a word into one, ignoring case, accents and compatibility forms.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Lowercases a word and drops what people leave out when they type: accents on Latin and Greek letters,
/// apostrophes, the two dots of `ё`. Marks of other scripts stay, because there they are letters.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        let mut word = word.to_ascii_lowercase();
        word.retain(|c| c != '\'');
        return word;
    }
    let mut out = String::with_capacity(word.len());
    let mut strip = false;
    for c in word.nfkd().flat_map(char::to_lowercase) {
        if is_combining_mark(c) && strip {
            continue;
        }
        strip = is_latin_or_greek(c);
        match c {
            '\'' | '’' => {}
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'ø' => out.push('o'),
            'ł' => out.push('l'),
            'đ' | 'ð' => out.push('d'),
            'ı' => out.push('i'),
            'ς' => out.push('σ'),
            c => out.push(c),
        }
    }
    out.nfc().map(|c| if c == 'ё' { 'е' } else { c }).collect()
}

fn is_latin_or_greek(c: char) -> bool {
    c.is_ascii_alphabetic()
        || matches!(c, '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}')
}

/// The normal form in which names are compared as a whole: folded words, separated by one blank.
pub fn normal_name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c) && c != '\'' && c != '’')
    {
        let word = fold(word);
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_case_and_apostrophes_go() {
        for (word, want) in [
            ("Don't", "dont"),
            ("CAFÉ", "cafe"),
            ("cafe\u{301}\u{323}", "cafe"),
            ("Straße", "strasse"),
            ("Łódź", "lodz"),
            ("Ёлка", "елка"),
            ("Край", "край"),
            ("ά", "α"),
            ("が", "が"),
            ("한국", "한국"),
            ("ﬁ", "fi"),
        ] {
            assert_eq!(fold(word), want, "{word}");
        }
    }

    #[test]
    fn names_compare_by_their_words() {
        assert_eq!(normal_name("  Auth: the *Müller* flow!"), "auth the muller flow");
        assert_eq!(normal_name("auth/the-muller_flow"), "auth the muller flow");
        assert_eq!(normal_name("?!"), "");
    }
}
