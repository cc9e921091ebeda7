//! A text in the form in which a part of it is looked for.

use unicode_normalization::UnicodeNormalization;

use super::is_ignorable;

/// A text in one case and one Unicode form, without hidden characters and Markdown's marks of emphasis and code, each run
/// of blanks and line breaks as one blank. So whoever names a part of a text finds it as they saw it.
pub fn comparable(text: &str) -> String {
    let chars = text.nfkc().filter(|c| !matches!(c, '*' | '`') && !is_ignorable(*c));
    let chars: String = chars.flat_map(char::to_lowercase).collect();
    let mut words = chars.split_whitespace();
    let mut out = String::with_capacity(chars.len());
    out.extend(words.next());
    for word in words {
        out.push(' ');
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_as_the_same_is_the_same() {
        for text in [
            "The QUOKKA café",
            " the\nquokka \t cafe\u{301} ",
            "The **quokka** `café`",
            "the quo\u{200b}kka\u{feff} café",
            "ｔｈｅ quokka café",
        ] {
            assert_eq!(comparable(text), "the quokka café", "{text:?}");
        }
        assert_eq!(comparable(" \u{200b}\n"), "");
        assert_ne!(comparable("cache_size"), comparable("cachesize"));
    }
}
