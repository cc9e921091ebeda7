//! Which signs of a text count, and which separate words.
//!
//! A letter or digit is always part of a word, and a blank never is. Every other character is a *sign*. [`CharAt::counts`] has
//! the rule for each: a sign that only punctuates or emphasises prose is ignored, and a sign that distinguishes a path, a
//! number, an operator or a name from another one counts. A rule reads only the neighbours of the sign, so it gives the same
//! result in a longer text and with other blanks between the words.

/// Words after which a dash before a number is a minus, and not a dash of prose: `at - 3 °C`.
const BEFORE_MINUS: [&str; 24] = [
    "at", "to", "of", "by", "from", "below", "above", "under", "over", "than", "is", "was", "until",
    "between", "about", "utc", "gmt", "=", "<", ">", "bei", "von", "bis", "auf",
];

/// The words of a text, separated by one blank.
pub(super) fn spelled(chars: &[char]) -> String {
    let mut out = String::with_capacity(chars.len());
    let (mut has_gap, mut is_joined) = (false, false);
    let mut word = 0;
    let emphasis = ['_', '*'].map(|sign| Emphasis::of(sign, chars));
    let mut way = Preceding { emphasis, ..Preceding::default() };
    for at in 0..chars.len() {
        let found = CharAt { chars, at, way, word: &out[word..] };
        match found.class() {
            CharClass::Word => {
                let begins = has_gap && !is_joined && !out.is_empty() && !found.joins_before();
                is_joined = found.joins_after();
                if begins {
                    out.push(' ');
                    word = out.len();
                }
                has_gap = false;
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
    /// It separates words.
    Gap,
    /// It is ignored.
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
    /// How the whole text uses underscores, and asterisks.
    emphasis: [Emphasis; 2],
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
    /// The last word before it.
    word: &'a str,
}

impl CharAt<'_> {
    fn class(&self) -> CharClass {
        let c = self.chars[self.at];
        if c.is_alphanumeric() {
            CharClass::Word
        } else if c.is_whitespace() {
            CharClass::Gap
        } else if self.is_apostrophe() || self.is_emphasis_without_blanks() {
            CharClass::Nothing
        } else if self.counts() {
            CharClass::Word
        } else {
            CharClass::Gap
        }
    }

    /// The apostrophe inside a word, whichever sign it is written with: `don't` is `dont`.
    fn is_apostrophe(&self) -> bool {
        let is_inside = self.is_inside();
        match self.chars[self.at] {
            '\'' | '’' | '‘' | 'ʼ' => is_inside,
            '`' | '′' => is_inside && !self.is_at_digit(),
            _ => false,
        }
    }

    /// An emphasis between letters of a script without blanks: `使用**缓存**策略`.
    fn is_emphasis_without_blanks(&self) -> bool {
        let beyond = if self.after(1) == Some('*') { self.after(2) } else { self.after(1) };
        let sides = [self.before_run(), beyond];
        self.chars[self.at] == '*'
            && sides.into_iter().all(is_word)
            && sides.into_iter().flatten().any(|c| !c.is_ascii())
    }

    /// Whether a sign counts. Each rule has an example of what it tells apart.
    fn counts(&self) -> bool {
        let c = self.chars[self.at];
        let (before, after) = (self.way.last, self.after(1));
        let (word_before, word_after) = (is_word(before), is_word(after));
        let digit_before = before.is_some_and(char::is_numeric);
        let digit_after = after.is_some_and(char::is_numeric);
        match c {
            // Paths, comparisons, operators, powers and units: `src/`, `a = b`, `a & b`, `a | b`, `^1.2`, `10 %`.
            '/' | '<' | '=' | '−' | '&' | '|' | '^' | '%' | '°' => true,
            // Numbers and names: `1.0`, `.env`, `../a`, `cache_size`, `_id`, `\d`, `@types`.
            '.' => {
                word_after && (word_before || digit_after)
                    || !word_before && before != Some('.') && after.is_some_and(char::is_alphabetic)
                    || self.is_dot_of_path()
            }
            '_' => self.is_of_name(0),
            '\\' | '@' => word_after,
            // Ratios, times and modules: `12:30` and `12 30`, `a::b`, `test:unit`.
            ':' => {
                digit_before && digit_after
                    || before == Some(':') && word_after
                    || after == Some(':') && word_before
                    || self.is_inside() && self.is_in_ascii()
            }
            // Options, negative numbers and arrows: `--all`, `-d`, `-name`, `-3`, `-.5`, `-$5`, `at - 3`, `->`.
            '-' => self.is_counting_hyphen(),
            // Figures and names: `1,000`, `2*3`, `1.2.*`, `*args`, `2 * 3`. A bullet or an emphasis is neither.
            ',' => digit_before && digit_after,
            '*' => {
                digit_before && digit_after
                    || before == Some('/')
                    || after == Some('.') && before != Some('*')
                    || self.is_of_name(1)
                    || self.is_any_version()
                    || self.is_between_operands()
            }
            // Negations: `!done`, `a != b`, `!(a && b)`, `!!x`.
            '!' => after == Some('=') || word_after && !word_before || self.is_not(),
            // `> ` and `+ ` at the beginning of lines are marks of Markdown.
            '>' => !self.opens_line() || digit_after,
            '+' => word_before || before == Some('+') || digit_after || !self.opens_line(),
            // Approximations, homes and languages: `~5`, `~/a`, `C#`.
            '~' => after.is_some_and(|c| !c.is_whitespace()) || self.joins_after(),
            '#' => word_before,
            // Parameters of an address: `/list?all` and `/list all`.
            '?' => word_after && self.is_in_ascii(),
            // Empty values: `[]`, `{}`.
            '[' => after == Some(']'),
            ']' => before == Some('['),
            '{' => after == Some('}'),
            '}' => before == Some('{'),
            // Variables: `$HOME`, `${HOME}`.
            '$' if !word_before
                && after.is_some_and(|c| c.is_alphabetic() || matches!(c, '{' | '(' | '_')) =>
            {
                true
            }
            // Units: `$ 5` and `€ 5`.
            _ if is_unit(c) => self.joins_before() || self.joins_after(),
            '′' if before.is_some_and(|c| c.is_numeric() || c == '′') => true,
            // Shapes that are no bullet: `▲ 5` and `▼ 5` inside a line.
            '\u{25a0}'..='\u{25ff}' if !matches!(self.way.line, Line::Blank) => true,
            _ => !c.is_ascii_punctuation() && !is_punctuation(c),
        }
    }

    fn is_counting_hyphen(&self) -> bool {
        let (before, after) = (self.way.last, self.after(1));
        let number_follows = || {
            matches!(after, Some(c) if c == '.' || is_currency(c))
                && self.after(2).is_some_and(char::is_numeric)
        };
        // The dashes of a long option belong to it; other dashes separate words.
        let opens_option = || after == Some('-') && before != Some('-');
        self.is_inside() && (self.is_at_digit() || self.word.starts_with('-'))
            || !is_word(before) && (is_word(after) || number_follows() || opens_option())
            || after == Some('>')
            || before == Some('<')
            || self.is_minus_apart()
            || self.is_between_operands()
    }

    /// Whether it is a minus between blanks: a number follows, and the word before it is one of [`BEFORE_MINUS`].
    fn is_minus_apart(&self) -> bool {
        self.chars[self.at] == '-'
            && self.stands_alone()
            && self.shown_after().is_some_and(|at| self.chars[at].is_numeric())
            && BEFORE_MINUS.contains(&self.word)
    }

    /// Whether it is an operator between two numbers or names of one letter, with blanks around: `x - y`, `2 * 3`.
    fn is_between_operands(&self) -> bool {
        let ends_operand = || {
            let mut back = self.word.chars().rev();
            let (last, before) = (back.next(), back.next());
            last.is_some_and(|c| c.is_numeric() || c.is_alphabetic() && before.is_none())
        };
        let is_operand = |at: usize| {
            self.chars[at].is_numeric()
                || self.chars[at].is_alphabetic() && !is_word(self.chars.get(at + 1).copied())
        };
        self.stands_alone()
            && self.shown_after().is_some_and(is_operand)
            && ends_operand()
            && !self.opens_line()
    }

    /// Whether a dot begins a path: `./a`, `../a`, or `..` alone.
    fn is_dot_of_path(&self) -> bool {
        let start = self.at - usize::from(self.way.last == Some('.'));
        let left = start.checked_sub(1).map(|at| self.chars[at]);
        let dots = self.chars[start..].iter().take(3).take_while(|c| **c == '.').count();
        let right = self.chars.get(start + dots).copied();
        let is_alone = || [left, right].into_iter().all(|c| c.is_none_or(char::is_whitespace));
        let opens = !is_word(left) && left != Some('.');
        opens && (dots <= 2 && matches!(right, Some('/' | '\\')) || dots == 2 && is_alone())
    }

    /// Whether a sign that may emphasise is inside a name, or begins one in a text in which it emphasises nothing.
    fn is_of_name(&self, emphasis: usize) -> bool {
        let (c, after) = (self.chars[self.at], self.after(1));
        let leads = is_word(after) || after == Some(c) && is_word(self.after(2));
        let emphasises = || self.way.emphasis[emphasis].closes || c == '*' && self.opens_line();
        leads && (is_word(self.before_run()) || !emphasises())
    }

    /// Whether an asterisk stands for any number in a version.
    fn is_any_version(&self) -> bool {
        let number = self.at.checked_sub(2).map(|at| self.chars[at]);
        self.way.last == Some('.') && number.is_some_and(char::is_numeric) && !self.way.emphasis[1].opens
    }

    /// Whether it is a negation before something that is not a word.
    fn is_not(&self) -> bool {
        let begins = |c: Option<char>| {
            c.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '`' | '"' | '=' | '&' | '|'))
        };
        let (before, after) = (self.way.last, self.after(1));
        let is_opening = |c: Option<char>| matches!(c, Some('(' | '[' | '{' | '_' | '$'));
        begins(before)
            && (is_opening(after)
                || after == Some('!') && (is_word(self.after(2)) || is_opening(self.after(2))))
            || before == Some('!') && begins(self.before_run()) && is_opening(after)
    }

    /// Whether it is the unit of the number before it, with or without a blank between.
    fn joins_before(&self) -> bool {
        let c = self.chars[self.at];
        // `$HOME` and `%s` are no units; `°C` is.
        let is_alone = c == '°' || !is_word(self.after(1));
        is_unit(c) && is_alone && self.way.shown.is_some_and(char::is_numeric)
    }

    /// Whether it is the unit or the sign of the number after it.
    fn joins_after(&self) -> bool {
        let c = self.chars[self.at];
        let number_follows = || self.shown_after().is_some_and(|at| self.chars[at].is_numeric());
        let is_sign = |c| c == '~' && self.way.last != Some('~') || c == '-' && self.is_minus_apart();
        (is_currency(c) && !self.joins_before() || is_sign(c)) && number_follows()
    }

    /// Whether it opens its line as the mark of a quote or of an item does, in Markdown: the text begins with it, or its
    /// paragraph does and more of the line follows. An operator may also come first in a line, where the line was broken
    /// before it.
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
        is_first && self.after(1) != Some('=') && (self.way.shown.is_none() || is_opening && goes_on())
    }

    fn after(&self, steps: usize) -> Option<char> {
        self.chars.get(self.at + steps).copied()
    }

    /// The position of the next character that is not a blank.
    fn shown_after(&self) -> Option<usize> {
        let rest = &self.chars[self.at + 1..];
        rest.iter().position(|c| !c.is_whitespace()).map(|blanks| self.at + 1 + blanks)
    }

    /// The character before the run of equal characters to which this one belongs.
    fn before_run(&self) -> Option<char> {
        if self.way.last == Some(self.chars[self.at]) { self.way.before_run } else { self.way.last }
    }

    /// Whether letters or digits are on both sides.
    fn is_inside(&self) -> bool {
        is_word(self.way.last) && is_word(self.after(1))
    }

    /// Whether both neighbours are of ASCII. Chinese puts no blank behind a colon or a question mark.
    fn is_in_ascii(&self) -> bool {
        [self.way.last, self.after(1)].into_iter().flatten().all(|c| c.is_ascii())
    }

    fn is_at_digit(&self) -> bool {
        [self.way.last, self.after(1)].into_iter().flatten().any(char::is_numeric)
    }

    /// Whether blanks are on both sides.
    fn stands_alone(&self) -> bool {
        [self.way.last, self.after(1)].into_iter().all(|c| c.is_some_and(char::is_whitespace))
    }
}

/// How a sign that may emphasise is used in a text.
#[derive(Debug, Clone, Copy, Default)]
struct Emphasis {
    /// Whether one begins a word, as in `_so.` and `_id`.
    opens: bool,
    /// Whether one follows a word or a sign and precedes none, as in `so._`.
    closes: bool,
}

impl Emphasis {
    fn of(sign: char, chars: &[char]) -> Self {
        let mut found = Self::default();
        let mut before = None;
        for (at, c) in chars.iter().enumerate() {
            if *c != sign {
                before = Some(*c);
                continue;
            }
            let after = chars.get(at + 1).copied();
            if after != Some(sign) {
                found.opens |= !is_word(before) && is_word(after);
                found.closes |= before.is_some_and(|c| !c.is_whitespace()) && !is_word(after);
            }
        }
        found
    }
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

/// A sign that is the unit of a number.
fn is_unit(c: char) -> bool {
    is_currency(c) || matches!(c, '%' | '°' | '‰')
}

pub(super) fn is_currency(c: char) -> bool {
    matches!(c, '$' | '€' | '£' | '¥')
}

/// Punctuation beyond ASCII: quotation marks, dashes, bullets, and that of Chinese, Japanese, Arabic and Hindi.
fn is_punctuation(c: char) -> bool {
    let is_of_east = |c| matches!(c, '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{301f}' | '\u{30fb}');
    matches!(c, '¡' | '¿' | '«' | '»' | '·' | '§' | '¶')
        || matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2500}'..='\u{25ff}')
        || matches!(c, '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{6d4}' | '\u{964}' | '\u{965}')
        || is_of_east(c)
}

#[cfg(test)]
mod tests {
    use super::super::normal;

    /// Pairs that say something else.
    const DIFFERENT: &[(&str, &str)] = &[
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
        ("src", "src/"),
        ("in /srv/a", "in /srv/a/"),
        ("run ./build", "run /build"),
        ("run ./build", "run ../build"),
        ("cd .. now", "cd now"),
        ("a/b", "b/a"),
        ("read / write", "read write"),
        ("a | b", "a b"),
        ("a | b", "a & b"),
        ("a & b", "a b"),
        ("AT&T", "AT T"),
        ("~5 rows", "5 rows"),
        ("~ 5 rows", "5 rows"),
        ("~half", "half"),
        ("~~so~~ it is", "so it is"),
        ("^main", "main"),
        (">=3", "3"),
        (">5 ms", "5 ms"),
        (">5 ms", "<5 ms"),
        ("<5 ms", "5 ms"),
        ("!(a && b)", "(a && b)"),
        ("!!x", "!x"),
        ("50%off", "50 off"),
        ("x % 2", "x 2"),
        ("%s", "s"),
        ("%PATH%", "PATH"),
        ("5 ‰", "5"),
        ("-.5", ".5"),
        ("-$5", "$5"),
        ("−5 °C", "5 °C"),
        ("at - 3 °C", "at 3 °C"),
        ("x - y", "x y"),
        ("x - y", "x * y"),
        ("x * y", "x / y"),
        ("2 * 3", "2 3"),
        ("5 - 3", "5 3"),
        ("a*b", "a b"),
        ("find -name x", "find name x"),
        ("java -jar", "java --jar"),
        ("a -> b", "a > b"),
        ("a <- b", "a < b"),
        ("_id", "id"),
        ("a__b", "a b"),
        ("f(*args)", "f(args)"),
        ("*args and **kwargs", "args and kwargs"),
        ("1.2.*", "1.2"),
        ("2**32", "2 32"),
        ("--dry-run", "--dry run"),
        ("@types/node", "types/node"),
        ("\\d rows", "d rows"),
        ("test:unit", "test unit"),
        ("${HOME}", "HOME"),
        ("$(pwd)", "pwd"),
        ("$_", "_"),
        ("/list?all", "/list all"),
        ("returns []", "returns {}"),
        ("returns []", "returns"),
        ("10 Mb", "10 MB"),
        ("10 Gbps", "10 GBps"),
        ("≠ 5", "= 5"),
        ("C++", "C#"),
        (".NET", "NET"),
        ("1.0", "10"),
        ("v1", "v2"),
        ("no longer", "longer"),
        ("läuft nicht", "läuft"),
        ("läuft kein Dienst", "läuft ein Dienst"),
        ("5 %", "5"),
        ("+5 GB", "5 GB"),
        ("-5 GB", "5 GB"),
        ("± 5", "5"),
    ];

    #[test]
    fn significant_differences_are_kept() {
        for (one, other) in DIFFERENT {
            let around = |text: &str| normal(&format!("the rule of it is {text} for all of them"));
            assert_ne!(normal(one), normal(other), "{one} and {other}");
            assert_ne!(around(one), around(other), "{one} and {other} inside");
        }
    }

    #[test]
    fn what_punctuates_and_emphasises_is_no_difference() {
        for (one, other) in [
            ("the cache – if on", "the cache if on"),
            ("the cache - if on -", "the cache, if on,"),
            ("limits - 3 per user", "limits: 3 per user"),
            ("- 3 per user\n- 5 per team", "3 per user, 5 per team"),
            ("- 3 per user\n- b", "3 per user\nb"),
            ("* 5\n* 3", "5, 3"),
            ("> 5 ms", "5 ms"),
            ("- One\n- two", " - One - two "),
            ("well-known", "well known"),
            ("10 – 20 MB", "10 - 20 MB"),
            ("up to −3", "up to -3"),
            ("up to – 3", "up to - 3"),
            ("Straße für é", "STRASSE FUR E"),
            ("naïve Ñandú", "naive nandu"),
            ("don’t, don`t, don´t, don′t", "dont dont dont dont"),
            ("_one_ and __two__", "one and two"),
            ("*one* and ***two***", "one and two"),
            ("*one and two", "one and two"),
            ("It is *2.* So it is.", "It is 2. So it is."),
            ("使用**缓存**策略", "使用缓存策略"),
            ("# One\n#two", "one two"),
            ("(one) [two] {three}", "one two three"),
            ("使用`cargo test`命令", "使用cargo test命令"),
            ("注意：我们，好吗？我们用它！", "注意 我们 好吗 我们用它"),
            ("ｖ１．２．３", "v1.2.3"),
            ("“one” ‘two’ „three“ «four» ‹five›", "one two three four five"),
            ("one … two... three", "one two three"),
            ("one؟ two، three। four", "one two three four"),
            ("one\u{2800}two\u{2028}three", "one two three"),
            ("~ 5", "~5"),
            ("10 mb", "10 MB"),
        ] {
            assert_eq!(normal(one), normal(other), "{one} and {other}");
        }
    }
}
