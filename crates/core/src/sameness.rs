//! When two texts say the same: case, blanks and the punctuation of prose are ignored, but never a difference in a
//! number, a version, a negation or an identifier.

mod containment;
mod reading;

pub use containment::{denies, says_all};
pub use reading::{Part, noted, parts, readings, says, says_nothing, set_apart};

use std::{borrow::Cow, collections::BTreeSet};

use unicode_normalization::UnicodeNormalization;

use crate::domain::Scope;
use crate::text::is_ignorable;

/// Length in words from which a content identifies a memory by itself.
const CONTENT_WORDS_MIN: usize = 8;
/// The same length for a content that repeats the subject of its title.
const NAMING_WORDS_MIN: usize = 5;

/// Where a text no longer holds.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// In a scope.
    In(&'a Scope),
    /// In some project, whichever it is.
    SomeProject,
}

/// What the key of a text is made from: the place, and the forms of the title and the content; without a title, it is the
/// content under any title.
pub fn keyed(place: Place<'_>, title: Option<&str>, content: &str) -> String {
    let place = match place {
        Place::In(scope) => format!("{}\u{1f}{}", scope.name().as_str(), scope.project_name()),
        Place::SomeProject => "some project\u{1f}".to_owned(),
    };
    match title {
        Some(title) => format!("{place}\u{1f}whole\u{1f}{title}\u{1f}{content}"),
        None => format!("{place}\u{1f}content\u{1f}{content}"),
    }
}

/// Whether a content says the same under any title: it is long, or repeats what the title says it is about. "It is
/// 5432." means something else under each title.
pub fn is_self_contained(title: &str, content: &str) -> bool {
    let (title, content) = (normal(title), noted(content));
    let words: BTreeSet<&str> = content.split(' ').collect();
    let count: usize = content.split(' ').map(length).sum();
    let named = title.split(' ').filter(|word| words.contains(word)).count();
    count >= CONTENT_WORDS_MIN || (count >= NAMING_WORDS_MIN && 2 * named >= title.split(' ').count())
}

/// How many words a run of letters is. Chinese and Japanese put no blanks between words, of about two letters; nor do Thai,
/// Burmese and Khmer, of about four.
fn length(word: &str) -> usize {
    let east =
        |c: &char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}');
    let south =
        |c: &char| matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    (word.chars().filter(east).count() / 2 + word.chars().filter(south).count() / 4).max(1)
}

/// The normal form of a text: texts that say the same have the same one. Compatibility forms and case are folded,
/// words are separated by one blank, and the punctuation of prose is removed. Significant signs stay: digits with
/// their points, signs and units, names with their joiners, comparisons and negations.
pub fn normal(text: &str) -> String {
    spelled(&with_one_case(&shown(&with_powers(text))), Signs::Now)
}

/// The form in which earlier versions noted a text: they counted fewer signs, read hyphens beyond ASCII as other dashes, and
/// only these hidden characters as nothing. None if it has neither such hyphens nor other hidden characters: what is plain in
/// the form of earlier versions may be another text in that of today.
fn former_normal(text: &str) -> Option<String> {
    let was_hidden = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}');
    let is_read_otherwise = |c: char| plain_hyphen(c) != c || is_ignorable(c) && !was_hidden(c);
    if text.is_ascii() || !text.nfkc().any(is_read_otherwise) {
        return None;
    }
    let chars: Vec<char> = text.nfkc().filter(is_shown(was_hidden)).flat_map(in_one_case).collect();
    Some(spelled(&chars, Signs::Before))
}

/// The normal form with the case as it is written. It tells texts apart whose normal forms are the same, such as `10 MB` and
/// `10 Mb`. No normal form begins like it.
pub fn cased(text: &str) -> String {
    format!("\u{1e}{}", spelled(&shown(&with_powers(text)), Signs::Now))
}

/// The characters of a text that are not left out.
fn shown(text: &str) -> Vec<char> {
    text.nfkc().filter(is_shown(is_ignorable)).map(plain_hyphen).collect()
}

/// Which characters are not left out.
fn is_shown(is_hidden: impl Fn(char) -> bool) -> impl Fn(&char) -> bool {
    move |c| c.is_whitespace() || !c.is_control() && !is_hidden(*c)
}

/// A character in one case, by way of upper case, which unites more letters: ß, final sigma.
fn in_one_case(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

/// The characters in one case, except the letter of a short option: `-d` is another one than `-D`.
fn with_one_case(chars: &[char]) -> Vec<char> {
    let mut folded = Vec::with_capacity(chars.len());
    for (at, c) in chars.iter().enumerate() {
        if at > 0 && is_short_option(chars, at - 1) {
            folded.push(*c);
        } else {
            folded.extend(in_one_case(*c));
        }
    }
    folded
}

/// Whether a dash and the one letter after it stand alone, as an option of a command.
fn is_short_option(chars: &[char], dash: usize) -> bool {
    let is_apart = |c: Option<&char>| c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_'));
    chars[dash] == '-'
        && chars.get(dash + 1).is_some_and(|c| c.is_alphabetic())
        && is_apart(chars.get(dash + 2))
        && (dash == 0 || is_apart(chars.get(dash - 1)))
}

/// A text whose raised digits are powers and whose fractions stay apart: `2³²` is not `232`, and `1½` not `11/2`.
fn with_powers(text: &str) -> Cow<'_, str> {
    let is_raised = |c: char| matches!(c, '²' | '³' | '¹' | '\u{2070}'..='\u{207e}');
    let is_fraction = |c: char| matches!(c, '¼'..='¾' | '\u{2150}'..='\u{215e}' | '\u{2189}');
    if !text.contains(|c| is_raised(c) || is_fraction(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = None;
    for c in text.chars() {
        if is_raised(c) && !before.is_some_and(is_raised) || is_fraction(c) {
            out.push('^');
        }
        out.push(c);
        before = Some(c);
    }
    Cow::Owned(out)
}

/// Which signs make a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signs {
    /// Those of today.
    Now,
    /// Fewer, as earlier versions did.
    Before,
}

/// Words separated by one blank, of characters that are folded.
fn spelled(chars: &[char], signs: Signs) -> String {
    let mut out = String::with_capacity(chars.len());
    let (mut has_gap, mut is_joined) = (false, false);
    let mut way = Preceding::default();
    for at in 0..chars.len() {
        let found = CharAt { chars, at, way, signs };
        match found.sort() {
            CharClass::Word => {
                if has_gap && !is_joined && !found.joins_before() && !out.is_empty() {
                    out.push(' ');
                }
                has_gap = false;
                is_joined = found.joins_after();
                out.push(chars[at]);
            }
            CharClass::Gap => has_gap = true,
            CharClass::Nothing => {}
        }
        way.pass(chars[at]);
    }
    out
}

/// How a character counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    /// A part of a word.
    Word,
    /// What separates words.
    Gap,
    /// Nothing: it is ignored.
    Nothing,
}

/// What precedes a character. It is updated on the way, because looking back for each character of a long run of
/// one sign would take quadratic time.
#[derive(Debug, Clone, Copy, Default)]
struct Preceding {
    /// The last character, and the one before the run of equal ones that it ends.
    last: Option<char>,
    before_run: Option<char>,
    /// The last one that is not a blank.
    shown: Option<char>,
    /// How the paragraph begins.
    opening: Option<char>,
    /// What the line contains so far, apart from blanks: nothing, one sign alone, or more.
    line: Line,
}

#[derive(Debug, Clone, Copy, Default)]
enum Line {
    #[default]
    Blank,
    Only(char),
    Text,
}

impl Preceding {
    fn pass(&mut self, c: char) {
        if self.last != Some(c) {
            self.before_run = self.last;
        }
        self.last = Some(c);
        if c == '\n' {
            if matches!(self.line, Line::Blank) {
                self.opening = None;
            }
            self.line = Line::Blank;
        } else if !c.is_whitespace() {
            self.shown = Some(c);
            self.opening = self.opening.or(Some(c));
            self.line = match self.line {
                Line::Blank => Line::Only(c),
                Line::Only(sign) if sign == c => self.line,
                _ => Line::Text,
            };
        }
    }
}

/// A character among its neighbours.
struct CharAt<'a> {
    chars: &'a [char],
    at: usize,
    way: Preceding,
    signs: Signs,
}

impl CharAt<'_> {
    fn after(&self) -> Option<char> {
        self.chars.get(self.at + 1).copied()
    }

    /// The next character that is no blank.
    fn shown_after(&self) -> Option<char> {
        self.chars[self.at + 1..].iter().copied().find(|c| !c.is_whitespace())
    }

    /// The character before the run of equal characters to which this one belongs.
    fn before_run(&self) -> Option<char> {
        if self.way.last == Some(self.chars[self.at]) { self.way.before_run } else { self.way.last }
    }

    /// Whether it is the unit of the number before it, with or without a blank between.
    fn joins_before(&self) -> bool {
        let c = self.chars[self.at];
        // `$HOME` and `%s` are no units; `°C` is.
        let is_alone = c == '°' || !self.after().is_some_and(char::is_alphanumeric);
        is_unit(c) && is_alone && self.way.shown.is_some_and(char::is_numeric)
    }

    /// Whether it is the unit of the number after it.
    fn joins_after(&self) -> bool {
        let c = self.chars[self.at];
        is_currency(c) && !self.joins_before() && self.shown_after().is_some_and(char::is_numeric)
    }

    fn sort(&self) -> CharClass {
        let c = self.chars[self.at];
        let is = |c: Option<char>, kind: fn(char) -> bool| c.is_some_and(kind);
        let (before, after) = (self.way.last, self.after());
        let (word_before, word_after) = (is(before, char::is_alphanumeric), is(after, char::is_alphanumeric));
        let (digit_before, digit_after) = (is(before, char::is_numeric), is(after, char::is_numeric));
        let is_word = match c {
            _ if c.is_alphanumeric() => true,
            _ if c.is_whitespace() => false,
            _ if self.signs == Signs::Now && self.is_sign_of_code() => true,
            '\'' | '’' | '‘' | 'ʼ' if word_before && word_after => return CharClass::Nothing,
            '.' => word_after && (word_before || digit_after),
            '_' | '\\' | '@' => word_before && word_after,
            '/' => word_after,
            '-' | '−' if digit_before || digit_after => word_after,
            // The dashes of a long option belong to it; other dashes separate words.
            '-' => {
                let opens = !is(self.before_run(), char::is_alphanumeric);
                opens && (before == Some('-') && word_after || after == Some('-') && before != Some('-'))
            }
            ':' => {
                digit_before && digit_after
                    || before == Some(':') && word_after
                    || after == Some(':') && word_before
            }
            ',' | '*' => digit_before && digit_after,
            '!' => after == Some('=') || word_after && !word_before,
            '<' | '=' => true,
            '+' if word_before || before == Some('+') || digit_after => true,
            '>' | '+' => !self.opens_line(),
            '&' | '|' => before == Some(c) || after == Some(c),
            '#' => word_before,
            _ if is_unit(c) => self.joins_before() || self.joins_after(),
            '~' | '^' => digit_after,
            _ => !c.is_ascii_punctuation() && !is_punctuation(c),
        };
        if is_word { CharClass::Word } else { CharClass::Gap }
    }

    /// Whether it is one of the signs of code, paths and figures that earlier versions left out: a short option, a name that
    /// begins with a dot, the home folder, a pattern, a variable, a reference, a thousandth or a prime, a shape that is no
    /// bullet.
    fn is_sign_of_code(&self) -> bool {
        let (before, after) = (self.way.last, self.after());
        let opens = before.is_none_or(|c| !c.is_alphanumeric());
        let word_after = after.is_some_and(char::is_alphanumeric);
        match self.chars[self.at] {
            '-' => is_short_option(self.chars, self.at),
            '.' => opens && before != Some('.') && after.is_some_and(char::is_alphabetic),
            '~' => opens && matches!(after, Some('/' | '>')),
            '/' => after == Some('*'),
            '*' => before == Some('/') || after == Some('.') && before != Some('*'),
            '$' => opens && after.is_some_and(char::is_alphabetic),
            '&' => opens && word_after,
            '‰' | '′' => before.is_some_and(|c| c.is_numeric() || c == '′'),
            '\u{25a0}'..='\u{25ff}' => !matches!(self.way.line, Line::Blank),
            _ => false,
        }
    }

    /// Whether it opens its line as the mark of a quote or of an item does, in Markdown: the text begins with it, or its
    /// paragraph does and the line goes on behind it. A sign between two words may also come first in a line, if only
    /// the line break differs.
    fn opens_line(&self) -> bool {
        let c = self.chars[self.at];
        let is_first = match self.way.line {
            Line::Blank => true,
            Line::Only(sign) => sign == c,
            Line::Text => false,
        };
        let rest = &self.chars[self.at + 1..];
        let goes_on = || rest.iter().find(|c| !c.is_whitespace() || **c == '\n').is_some_and(|c| *c != '\n');
        let is_opening = self.way.opening.is_none_or(|opening| opening == c);
        is_first && self.after() != Some('=') && (self.way.shown.is_none() || is_opening && goes_on())
    }
}

fn is_currency(c: char) -> bool {
    matches!(c, '$' | '€' | '£' | '¥')
}

/// A sign that is the unit of a number.
fn is_unit(c: char) -> bool {
    is_currency(c) || matches!(c, '%' | '°')
}

/// The hyphens of Unicode as the one of ASCII, and the dash of ranges: they join names and numbers as it does.
fn plain_hyphen(c: char) -> char {
    if matches!(c, '\u{2010}'..='\u{2013}') { '-' } else { c }
}

/// Punctuation beyond ASCII: quotation marks, dashes, bullets, and that of Chinese and Japanese.
fn is_punctuation(c: char) -> bool {
    matches!(c, '¡' | '¿' | '«' | '»' | '·' | '§' | '¶' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2500}'..='\u{25ff}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{301f}' | '\u{30fb}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Project;

    #[test]
    fn case_blanks_and_punctuation_make_no_difference() {
        let text = "The store's port is 5432, since v1.2.3 (see src/main.rs): don't use `cache_size`!";
        let same = [
            "the STORE'S port is 5432, since V1.2.3 (see SRC/MAIN.RS): don't use `CACHE_SIZE`!",
            "  The store’s port\n\nis 5432,\tsince v1.2.3 (see src/main.rs): don’t use `cache_size`!  ",
            "The store's port is 5432 since v1.2.3; see src/main.rs. Don't use cache_size",
            "**The store's port** is 5432 — since v1.2.3 [see \"src/main.rs\"] … don't use “cache_size”?",
            "The store's port is ５４３２, since v1.2.3 (see src/main.rs): don't\u{200b} use `cache_size`!",
            "The st\u{34f}ore's port is 5432, since v1.2.3 (see src/main.rs):\u{e0041} don't use `cache\u{3164}_size`!",
        ];
        for other in same {
            assert_eq!(normal(other), normal(text));
        }
        assert_eq!(normal(text), "the stores port is 5432 since v1.2.3 see src/main.rs dont use cache_size");
        assert_eq!(normal(" … "), "");
        for (one, other) in [
            ("on cdn\u{2011}7", "on cdn-7"),
            ("10–20 MB", "10-20 MB"),
            ("the cache – if on", "the cache if on"),
        ] {
            assert_eq!(normal(one), normal(other), "{one}");
        }
    }

    #[test]
    fn blanks_make_no_difference_whatever_stands_between_them() {
        let text = "If p95 > 5 ms + 2 % of $ 30 or 7 € at -3 °C, then a = b && c; see --all and x >= y";
        for between in ["  ", "\n", " \n ", "\n\n", "\t\r\n", "\u{a0}", "\u{200b} "] {
            assert_eq!(normal(&text.replace(' ', between)), normal(text), "{between:?}");
        }
        assert_eq!(normal("5 % of 10 €, $ 3"), normal("5% of 10€, $3"));
        assert_eq!(normal("Since 2026 $HOME is 5 %s"), normal("Since 2026, $HOME is 5: %s"));
        // As quoted, and as an item, in Markdown.
        for mark in [">", "> >", "+", "-", "*", "●", "▪"] {
            assert_eq!(
                normal(&format!("{mark} One\n{mark} two > 1\n\n{mark} three")),
                "one two > 1 three",
                "{mark}"
            );
        }
    }

    #[test]
    fn long_runs_of_one_character_are_compared_in_linear_time() {
        // Looking back for each of them would take minutes.
        for sign in [">", "-", "+", "$ ", "> ", "+\n", "%"] {
            let text = sign.repeat(256 * 1024 / sign.len());
            assert!(normal(&text).len() <= text.len(), "{sign}");
        }
    }

    #[test]
    fn letters_with_unusual_capitals_are_folded() {
        for text in ["Die Straße führt vorbei", "ο λόγος", "the ﬁle", "istanbul ve ISPARTA"] {
            assert_eq!(normal(&text.to_uppercase()), normal(text), "{text}");
        }
    }

    #[test]
    fn significant_differences_are_kept() {
        for (one, other) in [
            ("port 5432", "port 5433"),
            ("v1.2.3", "v1.23"),
            ("v1.2.3", "v1.2.3-beta"),
            ("up to 5", "up to -5"),
            ("0.5 s", "5 s"),
            ("1,000", "1.000"),
            ("at 12:30", "at 12 30"),
            ("5%", "5"),
            ("$5", "€5"),
            ("it is on", "it is not on"),
            ("it can", "it can't"),
            ("a != b", "a = b"),
            ("a < b", "a > b"),
            ("a >= 3", "a > 3"),
            ("if !done", "if done"),
            ("a && b", "a || b"),
            ("use --force", "use force"),
            ("cache_size", "cache size"),
            ("a::b", "a b"),
            ("src/main.rs", "src/main.rss"),
            ("/etc/hosts", "etc/hosts"),
            ("C++", "C"),
            ("C#", "C"),
            ("~1.2", "1.2"),
            ("^1.2", "1.2"),
            ("2026-11-21", "2026-11-22"),
            ("gpt-4", "gpt 4"),
            ("✅ done", "❌ done"),
            ("10²", "10"),
            ("10 %", "10"),
            ("+1", "1"),
            ("$ 5", "€ 5"),
            ("5 $", "5 €"),
            ("UTC + 2", "UTC - 2"),
            ("a + b", "a b"),
            ("git branch -D topic", "git branch -d topic"),
            ("grep -v x", "grep v x"),
            ("secrets in .env", "secrets in env"),
            ("~/app.toml", "/app.toml"),
            ("lint *.rs", "lint **/*.rs"),
            ("2³² rows", "232 rows"),
            ("10²", "102"),
            ("1½", "11 2"),
            ("½", "1/2"),
            ("10‰", "10"),
            ("5′", "5″"),
            ("trend ▲ 5", "trend ▼ 5"),
            ("~> 2", "> 2"),
            ("$HOME", "HOME"),
            ("&str", "str"),
        ] {
            assert_ne!(normal(one), normal(other), "{one} and {other}");
        }
    }

    #[test]
    fn the_cased_form_differs_in_case_alone() {
        assert_ne!(cased("at 10 MB/s"), cased("at 10 Mb/s"));
        assert_eq!(cased("At 10 MB, by “getUserById”."), cased("At 10  MB by getUserById"));
        assert_ne!(cased("at 10"), normal("at 10"));
    }

    #[test]
    fn two_hundred_pairs_that_differ_in_one_significant_word_differ() {
        let subjects = ["the cache", "Redis", "the worker", "src/store.rs", "`max_size`"];
        for n in 0..40_u32 {
            let subject = subjects[n as usize % subjects.len()];
            let base = format!("{subject} keeps {n} entries since v2.{n}.0 and is enabled on node-{n}.");
            for other in [
                base.replace(&format!("keeps {n} "), &format!("keeps {} ", n + 1)),
                base.replace(&format!("v2.{n}.0"), &format!("v2.{n}.1")),
                base.replace("is enabled", "is not enabled"),
                base.replace(&format!("node-{n}"), &format!("node-{}", n + 100)),
                base.replace("is enabled", "isn't enabled"),
            ] {
                assert_ne!(base, other);
                assert_ne!(normal(&base), normal(&other));
            }
        }
    }

    #[test]
    fn the_key_of_a_text_has_its_place_and_its_title() {
        let scope = Scope::Project(Project::general());
        let places = [Place::In(&scope), Place::In(&Scope::Personal), Place::SomeProject];
        let all: BTreeSet<String> = places
            .into_iter()
            .flat_map(|place| {
                [Some("port"), Some("another title"), None].map(|title| keyed(place, title, "it is 5432"))
            })
            .collect();
        assert_eq!(all.len(), 9, "{all:?}");
        // Keys made by earlier versions still match.
        assert!(all.contains("project\u{1f}general\u{1f}whole\u{1f}port\u{1f}it is 5432"));
        assert!(all.contains("personal\u{1f}\u{1f}content\u{1f}it is 5432"));
    }

    #[test]
    fn a_content_is_self_contained_if_it_is_long_or_names_its_subject() {
        for (title, content, want) in [
            ("Port", "The database listens on port 5432 of the first host.", true),
            ("Ledger port", "The ledger listens on port 5432.", true),
            ("Mascot", "The mascot is an ibis.", true),
            ("Ledger port", "It is 5432.", false),
            ("Ledger port", "It listens on number 5432.", false),
            ("Where the gateway service listens", "The ledger has port 5432.", false),
            ("Port", "Port 5432.", false),
            ("缓存策略", "我们决定使用内存缓存来存储用户会话，因为数据库太慢了。", true),
            ("端口", "它是五四三二。", false),
            ("Port", "What: It has port 5432.", false),
            ("Port", "", false),
        ] {
            assert_eq!(is_self_contained(title, content), want, "{title}: {content}");
        }
    }
}
