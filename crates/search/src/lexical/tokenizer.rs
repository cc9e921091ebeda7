//! Cuts text into tokens.
//!
//! A *run* is a stretch of letters and digits with the joiners that code uses inside names, as in
//! `src/store/mod.rs`, `foo::bar`, `--no-verify`, `HNSW_CACHE_SIZE`. It gives
//! - *words*: the pieces between joiners, with camel case and digits split
//!   (`parseHTTPHeader` → `parse`, `http`, `header` and the whole), stemmed as English or Russian by their script;
//! - *names*, if it is more than a plain word: the whole run as written (folded), its tails after
//!   each `/`, `.`, `:` and the names between them, never stemmed.
//!
//! Scripts written without blanks (Han, Kana, Hangul, Thai and related ones) give pairs of characters, and in a stored
//! text each character as well, so that a query of one character finds it.

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_normalization::char::is_combining_mark;

use super::fold::fold;

/// Longest word or name in characters; the rest is ignored.
const TOKEN_CHARS_MAX: usize = 100;
/// Longest run that counts as a name, in bytes.
const NAME_BYTES_MAX: usize = 256;
/// Most names that one run gives.
const NAMES_PER_RUN_MAX: usize = 16;
/// Characters of a commit hash that people quote.
const SHORT_HASH_CHARS: usize = 7;

/// The name of [`words_analyzer`] in the schema.
pub const WORDS: &str = "words";

/// The analyser of stored prose: the words of every run.
pub fn words_analyzer() -> TextAnalyzer {
    TextAnalyzer::from(Words { singles: true })
}

/// The same for a query, in which a character of a dense script counts only when it stands alone: pairs say more.
pub fn query_analyzer() -> TextAnalyzer {
    TextAnalyzer::from(Words { singles: false })
}

/// A word without its endings in English and in Russian, which changes no word in ASCII.
fn stemmed(word: &str) -> String {
    let english = Stemmer::new(Algorithm::English).stem(word);
    if english.is_ascii() {
        return english.into_owned();
    }
    Stemmer::new(Algorithm::Russian).stem(&english).into_owned()
}

/// The exact names in a text, in order.
pub fn names(text: &str) -> impl Iterator<Item = String> {
    runs(text).flat_map(|run| run.names())
}

/// Cuts every run of a text into words.
#[derive(Clone, Copy)]
struct Words {
    /// Whether pairs of a dense script are followed by their characters.
    singles: bool,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Tokens;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Tokens {
        let mut tokens = Vec::new();
        for run in runs(text) {
            self.cut_words(&run, &mut tokens);
        }
        Tokens { tokens, next: 0 }
    }
}

struct Tokens {
    tokens: Vec<Token>,
    /// One past the current token.
    next: usize,
}

impl TokenStream for Tokens {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.next - 1]
    }
}

/// A stretch of word characters and joiners, without joiners at its ends.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    pub text: &'a str,
    /// Where it begins in the whole text, in bytes.
    pub start: usize,
}

fn is_joiner(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | '\\' | ':' | '@' | '\'' | '’')
}

/// Joiners between the members of a path, as opposed to those within a word.
fn is_path_joiner(c: char) -> bool {
    matches!(c, '.' | '/' | '\\' | ':' | '@')
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || !c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c) || is_pictograph(c))
}

/// Whether a run has symbols and emoji only.
pub fn is_decoration(run: &str) -> bool {
    run.chars().all(|c| is_pictograph(c) || is_combining_mark(c))
}

/// Whether it is a symbol or an emoji, by which people mark commits and titles.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{1f300}'..='\u{1faff}')
}

/// Whether a script has no blanks between words, or too many endings on them; pictographs are one.
fn is_dense(c: char) -> bool {
    is_pictograph(c)
        || matches!(c,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{323af}')
}

/// The runs of a text, in order.
pub fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        loop {
            let start = rest + text[rest..].find(is_word)?;
            let end = text[start..].find(|c| !is_word(c) && !is_joiner(c)).map_or(text.len(), |n| start + n);
            rest = end;
            let run = text[start..end].trim_end_matches(is_joiner);
            if !run.is_empty() {
                return Some(Run { text: run, start });
            }
        }
    })
}

impl<'a> Run<'a> {
    /// The pieces between characters that are `border`, with their positions in the whole text.
    fn pieces(&self, border: fn(char) -> bool) -> impl Iterator<Item = Run<'a>> {
        let (base, text) = (self.start, self.text);
        text.split(border).filter(|piece| !piece.is_empty()).map(move |piece| Run {
            text: piece,
            start: base + (piece.as_ptr() as usize - text.as_ptr() as usize),
        })
    }

    fn part(&self, from: usize, to: usize) -> Run<'a> {
        Run { text: &self.text[from..to], start: self.start + from }
    }

    /// The name that the run is as a whole, folded; `None` for a plain word.
    pub fn name(&self) -> Option<String> {
        let long = self.text.len() > NAME_BYTES_MAX;
        if long || is_plain(self.text) || self.text.chars().any(is_dense) {
            return None;
        }
        let joined = self.text.chars().any(|c| is_joiner(c) && !is_apostrophe(c));
        let digits = self.text.chars().any(char::is_numeric) && self.text.chars().any(char::is_alphabetic);
        (joined || digits || humps(self.text).count() > 1).then(|| bounded(fold(self.text)))
    }

    /// The whole name, its tails after each border of a path, and the names between those borders.
    pub fn names(&self) -> Vec<String> {
        let Some(whole) = self.name() else { return Vec::new() };
        let mut names = vec![whole];
        let borders = self.text.char_indices().filter(|(_, c)| is_path_joiner(*c));
        let tails = borders.map(|(at, c)| self.part(at + c.len_utf8(), self.text.len()));
        let members = self.pieces(is_path_joiner);
        for part in tails.filter(|tail| !tail.text.starts_with(is_joiner)).chain(members) {
            names.extend(short_hash(part.text));
            names.extend(part.name().filter(|_| names.len() < NAMES_PER_RUN_MAX));
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Whether a word has only small English letters, or a capital before them. Most words do, and have neither humps nor a name.
fn is_plain(word: &str) -> bool {
    let rest = word.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(word);
    rest.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Cuts between the humps of camel case and between letters and digits, and returns the ranges of the parts.
/// `E0502` and `v2` stay whole, because one letter is not a word.
fn humps(word: &str) -> impl Iterator<Item = (usize, usize)> {
    let longest = if is_plain(word) { 0 } else { NAME_BYTES_MAX };
    let chars: Vec<(usize, char)> = word.char_indices().take(longest).collect();
    let letters_first = chars.iter().take_while(|(_, c)| c.is_alphabetic()).count();
    let mut cuts = vec![0];
    for i in 1..chars.len() {
        let (before, here) = (chars[i - 1].1, chars[i].1);
        let after = chars.get(i + 1).map(|c| c.1);
        let hump = here.is_uppercase()
            && (before.is_lowercase() || (before.is_uppercase() && after.is_some_and(char::is_lowercase)));
        let digits =
            before.is_alphabetic() && here.is_numeric() || before.is_numeric() && here.is_alphabetic();
        if hump || (digits && letters_first > 1) {
            cuts.push(chars[i].0);
        }
    }
    cuts.push(word.len());
    (1..cuts.len()).map(move |i| (cuts[i - 1], cuts[i]))
}

fn bounded(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(TOKEN_CHARS_MAX) {
        text.truncate(end);
    }
    text
}

fn push(tokens: &mut Vec<Token>, run: Run<'_>, text: String) {
    let text = bounded(text);
    if text.is_empty() {
        return;
    }
    let text = stemmed(&text);
    let position = tokens.len();
    let (offset_from, offset_to) = (run.start, run.start + run.text.len());
    tokens.push(Token { offset_from, offset_to, position, text, position_length: 1 });
}

impl Words {
    fn cut_words(self, run: &Run<'_>, tokens: &mut Vec<Token>) {
        for piece in run.pieces(|c| is_joiner(c) && !is_apostrophe(c)) {
            if piece.text.chars().any(is_dense) {
                self.cut_dense(&piece, tokens);
                continue;
            }
            push(tokens, piece, fold(without_possessive(piece.text)));
            let parts: Vec<_> = humps(piece.text).collect();
            if parts.len() > 1 {
                for (from, to) in parts {
                    let part = piece.part(from, to);
                    push(tokens, part, fold(part.text));
                }
            }
        }
    }

    /// The pairs of neighbouring characters of a dense script, and its single characters. Other letters between them
    /// stay words.
    fn cut_dense(self, piece: &Run<'_>, tokens: &mut Vec<Token>) {
        let mut at = 0;
        while let Some(first) = piece.text[at..].chars().next() {
            let dense = is_dense(first);
            let end = piece.text[at..].find(|c| is_dense(c) != dense).map_or(piece.text.len(), |n| at + n);
            let part = piece.part(at, end);
            at = end;
            if !dense {
                // What selects the form of an emoji is no word.
                if !part.text.chars().all(is_combining_mark) {
                    push(tokens, part, fold(part.text));
                }
                continue;
            }
            let starts: Vec<usize> =
                part.text.char_indices().map(|(i, _)| i).chain([part.text.len()]).collect();
            let alone = starts.len() == 2;
            let mut push_each = |width: usize| {
                for ends in starts.windows(width + 1) {
                    let characters = part.part(ends[0], ends[width]);
                    push(tokens, characters, fold(characters.text));
                }
            };
            if !alone {
                push_each(2);
            }
            if alone || self.singles {
                push_each(1);
            }
        }
    }
}

fn without_possessive(word: &str) -> &str {
    ["'s", "’s", "'S", "’S"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
}

/// The start of a likely commit hash, by which its short and long forms match.
pub fn short_hash(word: &str) -> Option<String> {
    let hex = word.len() > SHORT_HASH_CHARS
        && word.bytes().all(|b| b.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_alphabetic());
    hex.then(|| word[..SHORT_HASH_CHARS].to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        analyzer.token_stream(text).process(&mut |token| tokens.push(token.text.clone()));
        tokens
    }

    fn words(text: &str) -> Vec<String> {
        tokens(&mut words_analyzer(), text)
    }

    #[test]
    fn words_are_split_and_stemmed() {
        for (text, want) in [
            ("parseHTTPHeader", "parsehttphead pars http header"),
            ("HNSW_CACHE_SIZE", "hnsw cach size"),
            ("src/store/mod.rs", "src store mod rs"),
            ("E0502 v2", "e0502 v2"),
            ("python3", "python3 python 3"),
            ("--no-verify", "no verifi"),
            ("Caroline's don't", "carolin dont"),
            ("Crème BRÛLÉE naïve", "creme brule naiv"),
            ("cafe\u{301}", "cafe"),
            ("книги книга", "книг книг"),
            ("数据库", "数据 据库 数 据 库"),
            ("カ", "カ"),
            ("🐛 fix⚠️ v2", "🐛 fix ⚠ v2"),
            ("...---'''", ""),
        ] {
            assert_eq!(words(text).join(" "), want, "{text}");
        }
    }

    #[test]
    fn a_query_has_single_characters_only_where_they_stand_alone() {
        for (text, want) in [("数据库", "数据 据库"), ("库", "库"), ("库 v2", "库 v2"), ("the 库", "the 库")]
        {
            assert_eq!(tokens(&mut query_analyzer(), text).join(" "), want, "{text}");
        }
    }

    #[test]
    fn names_are_found_whole_and_by_their_parts() {
        for (text, want) in [
            ("plain words", ""),
            ("HNSW_CACHE_SIZE", "hnsw_cache_size"),
            ("src/store/mod.rs", "mod.rs src/store/mod.rs store/mod.rs"),
            ("foo::bar::Baz", "bar::baz foo::bar::baz"),
            ("a.b.c()", "a.b.c b.c"),
            ("user@host", "user@host"),
            ("--no-verify", "no-verify"),
            ("3.3.5", "3.3.5 3.5"),
            ("E0502", "e0502"),
            ("4f2a9c1d", "4f2a9c1 4f2a9c1d"),
        ] {
            assert_eq!(names(text).collect::<Vec<_>>().join(" "), want, "{text}");
        }
    }

    #[test]
    fn an_endless_word_is_bounded() {
        let word = "x".repeat(256 * 1024);
        assert_eq!(words(&word), ["x".repeat(TOKEN_CHARS_MAX)]);
        assert_eq!(names(&word).count(), 0);
        assert!(words(&"aB".repeat(128 * 1024)).len() <= 2 * NAME_BYTES_MAX);
    }

    proptest::proptest! {
        #[test]
        fn the_russian_stemmer_changes_no_word_in_ascii(word in "[!-~]{0,40}") {
            let stem = Stemmer::new(Algorithm::Russian).stem(&word);
            proptest::prop_assert_eq!(&*stem, word.as_str());
        }

        #[test]
        fn any_text_gives_bounded_tokens(text in "\\PC{0,200}|[a-zA-Z0-9_./:@'-]{0,200}|.{0,200}") {
            let words = words(&text);
            let names: Vec<String> = names(&text).collect();
            proptest::prop_assert!(words.len() <= 2 * text.chars().count());
            proptest::prop_assert!(names.len() <= text.chars().count() * 2);
            for token in words.iter().chain(&names) {
                // Folding may spell one character with several.
                proptest::prop_assert!(!token.is_empty() && token.chars().count() <= TOKEN_CHARS_MAX);
            }
        }
    }
}
