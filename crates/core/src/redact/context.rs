//! Secrets that are recognised by their surroundings: the value after `password:`, `--token`, `API_KEY=`.

use std::ops::Range;

use super::{
    column,
    cursor::{BLANKS_MAX, Cursor, QUOTES, VALUE_BYTES_MAX},
    name::{self, NAME_BYTES_MAX, Named},
    value::{Form, is_drawn_word, is_secret},
};

/// What a sentence says between a name and its verb: `the password for the staging database is …`, `password for x: …`.
const OBJECT_BYTES_MAX: usize = 48;
/// The block of a variable in HCL that is searched for its default, and that of a property in C#.
const BLOCK_BYTES_MAX: usize = 256;
/// A word of so many letters and digits directly behind a name is no word of the sentence.
const LONG_BYTES_MIN: usize = 20;
/// A shorter one is, where nothing says that it is the value.
const WORD_BYTES_MIN: usize = 8;

/// What joins a name and its value in a sentence.
const VERBS: &[&str] = &[
    "is: ", "is now ", "ist jetzt ", "is ", "was changed to ", "was set to ", "was ", "lautet: ", "lautet ",
    "ist ", "est ", "es ", "é ", "è ", "= ", "-> ", "→ ", "— ", "– ",
];
/// What begins the rest of a name in a sentence.
const OF: &[&str] =
    &["for ", "FOR ", "of ", "on ", "to ", "für ", "von ", "pour ", "de ", "du ", "d'", "para ", "del "];
/// The words before a name that its value may follow directly: `log in with user bob and password …`.
const BEFORE_NAME: &[&str] = &[
    "the", "and", "with", "use", "using", "my", "our", "new", "temporary", "und", "mit", "das", "dem", "et",
    "avec", "le", "y", "con", "la", "/", "&",
];
/// Names that a qualifier follows, and these.
const KEYS_BEFORE: &[&str] = &["clé", "clef", "clave"];
const QUALIFIERS: &[&str] = &[" API", " api", " d'API", " secrète", " secrete", " secreta"];
/// Names of a user's name and password together: `credentials: bob / …`.
const PAIRS: &[&str] = &["login", "credentials", "creds", "zugangsdaten", "identifiants", "credenciales"];
/// The words of a statement that sets a password.
const STATEMENT: &[&str] = &["user", "role", "login"];
/// The words with which such a statement begins.
const STATEMENT_VERBS: &[&str] = &["grant", "alter", "create"];
/// The words before a name whose value `to` introduces: `set the password to x`, but not `convert the password to base64`.
const SETS: &[&str] =
    &["set", "sets", "setting", "change", "changes", "changed", "reset", "update", "updated", "rotated"];

/// The secrets whose name is at this anchor, their kind, and where the next name may begin.
pub(super) fn secrets(text: &str, anchor: Range<usize>) -> (Vec<Range<usize>>, &'static str, usize) {
    let Some(name) = Name::around(text, &anchor) else { return (Vec::new(), "", anchor.end) };
    if let Some((value, named)) = name.secret() {
        let next = value.end;
        return (vec![value], named.kind(), next);
    }
    let line = || name.line_start();
    let is_kind = text[name.range.clone()] == *"Secret"
        && text[line()..name.range.start].trim_start_matches(' ').trim_start_matches("- ") == "kind: ";
    let below =
        if is_kind { column::data(text, line()) } else { column::below(text, &name.range, || name.read()) };
    let kind = if below.is_empty() { None } else { name.read().map(Named::kind) };
    (below, kind.unwrap_or_default(), name.range.end)
}

/// A name in a text.
struct Name<'a> {
    text: &'a str,
    range: Range<usize>,
    /// The number of dashes before it, if it is a command's flag.
    dashes: usize,
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

impl<'a> Name<'a> {
    /// The name around this anchor; `None` if it is too long.
    fn around(text: &'a str, anchor: &Range<usize>) -> Option<Self> {
        let head = &text[text.ceil_char_boundary(anchor.start.saturating_sub(NAME_BYTES_MAX))..anchor.start];
        let tail = &text[anchor.end..text.floor_char_boundary(anchor.end + NAME_BYTES_MAX)];
        let before = head.len() - head.trim_end_matches(is_part).len();
        let behind = tail.len() - tail.trim_start_matches(is_part).len();
        if before + behind > NAME_BYTES_MAX {
            return None;
        }
        let mut range = anchor.start - before..anchor.end + behind;
        let given = &text[range.clone()];
        let dashes = given.len() - given.trim_start_matches('-').len();
        range.start += dashes;
        range.end -= given.len() - given.trim_end_matches('-').len();
        // The `n` of an escaped line end does not belong to the name, nor does the `D` of `java -DapiKey=…`.
        let is_escape =
            text[..range.start].ends_with('\\') && text[range.clone()].starts_with(['n', 't', 'r']);
        let defines = usize::from(dashes == 1 && text[range.clone()].starts_with('D'));
        range.start += usize::from(is_escape) + defines;
        // `clé API`: the qualifier is the second word.
        if range.start < range.end
            && KEYS_BEFORE.iter().any(|key| text[range.clone()].eq_ignore_ascii_case(key))
        {
            let rest = &text[range.end..];
            range.end += QUALIFIERS.iter().find(|word| rest.starts_with(**word)).map_or(0, |word| word.len());
        }
        (range.start < range.end).then_some(Self { text, range, dashes: dashes + defines })
    }

    /// What the name suggests.
    fn read(&self) -> Option<Named> {
        name::read(&self.text[self.range.clone()], &self.text[self.line_start()..self.range.start])
    }

    /// The secret that belongs to the name, in the same place.
    fn secret(&self) -> Option<(Range<usize>, Named)> {
        // Most names are in prose and code without a value; this is a quick exit.
        let (value, form) = self.value()?;
        // What stands beside a user's name is a password, whatever both are called together.
        let named = if form == Form::Pair { Named::Password } else { self.read()? };
        let credential =
            if self.is("authorization") { behind_scheme(self.text, value.clone()) } else { None };
        let (value, form) = credential.map_or((value, form), |credential| (credential, Form::Data));
        let is_one = !value.is_empty() && is_secret(named, &self.text[value.clone()], form);
        is_one.then_some((value, named))
    }

    fn is(&self, name: &str) -> bool {
        let given = &self.text[self.range.clone()];
        given.len() >= name.len()
            && given[given.floor_char_boundary(given.len() - name.len())..].eq_ignore_ascii_case(name)
    }

    fn before(&self) -> &'a str {
        &self.text[..self.range.start - self.dashes.min(self.range.start)]
    }

    /// The beginning of the line, within the bound of the search.
    fn line_start(&self) -> usize {
        let from = self.text.ceil_char_boundary(self.range.start.saturating_sub(2 * NAME_BYTES_MAX));
        self.text[from..self.range.start].rfind(['\n', '\r']).map_or(from, |at| from + at + 1)
    }

    /// The value that belongs to the name, and its form.
    fn value(&self) -> Option<(Range<usize>, Form)> {
        let mut cursor = Cursor { text: self.text, at: self.range.end };
        // In `${PASSWORD:?not set}` the name is a variable, and the rest is what the shell reports.
        if self.before().ends_with("${") {
            let has_default = cursor.eat(":-") || cursor.eat("-");
            return has_default.then(|| (cursor.run(&['}', '"', '\'', '\n', '\r']), Form::Data));
        }
        cursor.emphasis();
        cursor.dimension();
        let closed = cursor.quote().is_some();
        if closed {
            cursor.eat("]");
            cursor.emphasis();
        }
        if let Some(value) = cursor.alternative() {
            return Some((value, Form::Quoted));
        }
        if cursor.element() {
            return self.content(&cursor, closed);
        }
        if !closed && cursor.eat("(") {
            return self.argument(&cursor);
        }
        let begin = cursor.at;
        cursor.blanks();
        let gap = cursor.at - begin;
        if cursor.rest().starts_with("::") || cursor.rest().starts_with("://") {
            return None;
        }
        if ["===", "=="].iter().any(|sign| cursor.eat(sign)) {
            cursor.blanks();
            return cursor.quoted().map(|value| (value, Form::Quoted));
        }
        // `Password (staging): x`.
        cursor.remark();
        let signs = [":=", "=>", "?=", "<-", "=", ":"];
        let Some(sign) = signs.into_iter().find(|sign| cursor.eat(sign)) else {
            return self.value_without_sign(cursor, closed, gap);
        };
        cursor.emphasis();
        let tight = !cursor.blanks() && gap == 0;
        if let Some(value) = cursor.quoted() {
            return Some((value, Form::Quoted));
        }
        if let Some(value) = self.value_of_pair_of_names(&cursor, sign) {
            return Some((value, Form::Pair));
        }
        // What gets its value by `<-` is a variable.
        if sign == "<-" {
            return None;
        }
        if sign == ":"
            && let Some((value, is_block)) = cursor.next_line()
        {
            let is_value = is_block || is_drawn_word(&self.text[value.clone()]);
            return is_value.then_some((value, Form::Line));
        }
        if sign == ":"
            && let Some(value) = cursor.behind_type()
        {
            return Some((value, Form::Quoted));
        }
        if sign == ":"
            && let Some(found) = self.value_behind_property(&cursor)
        {
            return Some(found);
        }
        Some(self.bare(&cursor, sign, tight))
    }

    /// `<password>x</password>`, `<property name="password">x</property>`, but not `<label for="password">x</label>`.
    fn content(&self, cursor: &Cursor<'a>, closed: bool) -> Option<(Range<usize>, Form)> {
        let value = cursor.run(&['<', '\n']);
        let before = self.before();
        let is_attribute = || {
            let before = before.trim_end_matches(|c| is_part(c) || c == '.').trim_end_matches(QUOTES);
            ["name=", "key="].iter().any(|name| before.trim_end_matches('\\').ends_with(name))
        };
        let is_element = closed && is_attribute() || before.ends_with('<') || before.ends_with("<key>");
        (is_element && self.text[value.end..].starts_with("</")).then_some((value, Form::Data))
    }

    /// `auth('bob', 'x')`, `.password("x")`, `set_password("x")`.
    fn argument(&self, cursor: &Cursor<'a>) -> Option<(Range<usize>, Form)> {
        let is_pair = ["auth", "credential", "credentials"].iter().any(|name| self.is(name));
        if is_pair && let Some(value) = cursor.second_of_pair() {
            return Some((value, Form::Pair));
        }
        let name = &self.text[self.range.clone()];
        // `PASSWORD('x')` is a function of MySQL; `PASSWORD("x")` may be one of the values of a type.
        let sets = self.before().ends_with('.')
            || name == "PASSWORD" && cursor.rest().starts_with('\'')
            || ["set", "with"].iter().any(|verb| name.starts_with(verb));
        if sets { cursor.quoted().map(|value| (value, Form::Quoted)) } else { None }
    }

    /// `&first x`, `!!str x`: what is behind an anchor or a tag of YAML.
    fn value_behind_property(&self, cursor: &Cursor<'a>) -> Option<(Range<usize>, Form)> {
        let behind = cursor.behind_property()?;
        if let Some(value) = behind.quoted() {
            return Some((value, Form::Quoted));
        }
        let value = behind.run(&[' ', '\t', '\n', '\r']);
        let rest = self.text[value.end..].trim_start_matches([' ', '\t']);
        let ends_line = rest.is_empty() || rest.starts_with(['\n', '\r', '#', '\\']);
        // A password may itself begin with such a sign: the line ends then, or a comment follows, or the rest of a sentence. The
        // text ends also where a value was redacted before.
        let is_other = behind.rest().starts_with(['\n', '\r', '#']);
        (ends_line && !is_other).then_some((value, Form::Prose))
    }

    /// `credentials: bob / x`, `auth=('bob', 'x')`.
    fn value_of_pair_of_names(&self, cursor: &Cursor<'a>, sign: &str) -> Option<Range<usize>> {
        if sign == ":" && PAIRS.iter().any(|name| self.is(name)) {
            return cursor.behind_user();
        }
        let mut behind = Cursor { text: self.text, at: cursor.at };
        if self.is("auth") && behind.eat("(") { behind.second_of_pair() } else { None }
    }

    /// `--password x`, `login u password x`, `WITH PASSWORD 'x'`, `password is x`, `name: PASSWORD, value: x`.
    fn value_without_sign(
        &self,
        mut cursor: Cursor<'a>,
        closed: bool,
        gap: usize,
    ) -> Option<(Range<usize>, Form)> {
        if let Some(value) = self.value_of_pair(&mut cursor) {
            return Some((value, Form::Quoted));
        }
        let line = &self.text[self.line_start()..self.range.start];
        // A row of a table, or a line of a record as psql shows it.
        let is_row = || line.trim_start().starts_with(['|', '│']) || gap > 0 && self.starts_line();
        if cursor.rest().starts_with(['|', '│']) && is_row() && (cursor.eat("|") || cursor.eat("│")) {
            return Some((cursor.cell(), Form::Prose));
        }
        if let Some(value) = self.next_argument(&cursor, closed) {
            return Some((value, Form::Data));
        }
        if closed {
            // Set `DB_PASSWORD` to `x`.
            if cursor.eat("to ") || cursor.eat("is ") {
                return cursor.quoted().map(|value| (value, Form::Prose));
            }
            let value = self.default_of_variable(&cursor).map(|value| (value, Form::Quoted));
            return value.or_else(|| self.value_of_call(cursor));
        }
        if gap == 0 {
            return None;
        }
        // `--password`, `--spring.datasource.password`. More blanks than one are those of a table of flags.
        let flag = line.rsplit([' ', '\t', '[', '(', '"', '\'', '`']).next().unwrap_or_default();
        if gap == 1 && flag.starts_with('-') && flag.chars().all(|c| is_part(c) || c == '.') {
            let value = cursor
                .quoted()
                .unwrap_or_else(|| cursor.run(&[' ', '\t', '\n', '\r', '"', '\'', '`', ';', '|', ')', ']']));
            let is_flag = self.text[value.clone()].starts_with('-');
            return (!is_flag).then_some((value, Form::Data));
        }
        if self.is_login() {
            return Some((cursor.run(&[' ', '\t', '\n', '\r']), Form::Data));
        }
        if matches!(line.trim(), "ENV" | "setenv" | "setx" | "SetEnv" | "set -x" | "set -gx" | "set -Ux") {
            let value = cursor.quoted().unwrap_or_else(|| cursor.run(&[' ', '\t', '\n', '\r']));
            return Some((value, Form::Data));
        }
        if line.trim() == "#define" {
            return cursor.quoted().map(|value| (value, Form::Quoted));
        }
        // `public string Password { get; set; } = "x"`.
        if cursor.rest().starts_with("{ get;") {
            let rest = &cursor.rest()[..cursor.rest().floor_char_boundary(BLOCK_BYTES_MAX)];
            cursor.at += rest.find('}').map_or(0, |end| end + 1);
        }
        let declares = matches!(line.split_whitespace().next(), Some("var" | "const" | "public" | "Dim"));
        if declares && let Some(value) = cursor.behind_type() {
            return Some((value, Form::Quoted));
        }
        self.value_of_statement(line, cursor.at).or_else(|| self.value_of_sentence(line, cursor))
    }

    /// `["--password", "x"]`, and a list of YAML in which `- x` follows `- --password`.
    fn next_argument(&self, cursor: &Cursor<'a>, closed: bool) -> Option<Range<usize>> {
        if self.dashes < 2 {
            return None;
        }
        let mut behind = Cursor { text: self.text, at: cursor.at };
        let has_comma = closed && behind.eat(",");
        let rest = behind.rest();
        let gap = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        behind.at += gap.min(2 * BLANKS_MAX);
        let is_item = !has_comma && rest[..gap].contains('\n') && behind.eat("- ");
        // The next item may be a sentence or another flag.
        let is_word = |value: &Range<usize>| is_item && !self.text[value.clone()].contains(' ');
        let quoted = behind.quoted().filter(|_| has_comma || is_item);
        let value = quoted.or_else(|| Some(behind.run(&['\n', '\r'])).filter(is_word))?;
        (!self.text[value.clone()].starts_with('-')).then_some(value)
    }

    /// `define('DB_PASSWORD', 'x')`, `.put("password", "x")`, a pair of a list.
    fn value_of_call(&self, mut cursor: Cursor<'a>) -> Option<(Range<usize>, Form)> {
        // `db.password` is one name.
        let before = self.before().trim_end_matches(|c| is_part(c) || c == '.');
        let before = before.trim_end_matches(QUOTES).trim_end_matches(['\\', ' ']);
        if !(before.ends_with('(') && cursor.eat(",")) {
            return None;
        }
        cursor.blanks();
        // What else two texts side by side may be: a list of names, or labels.
        cursor.quoted().map(|value| (value, Form::Prose))
    }

    /// `WITH PASSWORD 'x'`, `ALTER ROLE bob PASSWORD 'x'`, `CREATE USER bob IDENTIFIED BY 'x'`.
    fn value_of_statement(&self, line: &str, at: usize) -> Option<(Range<usize>, Form)> {
        let mut cursor = Cursor { text: self.text, at };
        let says_by = cursor.eat("BY ") || cursor.eat("by ") || self.is("identified by");
        let may_open: &[char] = if says_by { &['\'', '"'] } else { &['\''] };
        let is_quoted = cursor.rest().starts_with(may_open);
        if !is_quoted && !says_by {
            return None;
        }
        let verb = line.split_whitespace().next_back().unwrap_or_default();
        let sets =
            ["WITH", "ENCRYPTED", "SET", "BY", "USER"].iter().any(|word| verb.eq_ignore_ascii_case(word));
        let has = |words: &[&str]| {
            line.split_whitespace().any(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
        };
        if is_quoted {
            let is_statement = (sets && !says_by) || has(STATEMENT) || has(STATEMENT_VERBS);
            return if is_statement { cursor.quoted().map(|value| (value, Form::Quoted)) } else { None };
        }
        // In a sentence, a user is identified by something as well.
        has(STATEMENT_VERBS).then(|| (cursor.run(&[' ', '\t', '\n', '\r', ';']), Form::Prose))
    }

    /// `password is x`, `the password for staging is x`, `with the password x`.
    fn value_of_sentence(&self, line: &str, mut cursor: Cursor<'a>) -> Option<(Range<usize>, Form)> {
        if self.is("identified by") {
            return None;
        }
        let mut says = false;
        if OF.iter().any(|word| cursor.rest().starts_with(word)) {
            let rest = &cursor.rest()[..cursor.rest().floor_char_boundary(OBJECT_BYTES_MAX)];
            let rest = rest.split(['\n', '\r', ',', ';']).next().unwrap_or_default();
            let rest = rest.split(". ").next().unwrap_or_default();
            let is_verb = |at: &usize| VERBS.iter().any(|word| rest[*at..].starts_with(word));
            let verb = rest.match_indices(' ').map(|(at, _)| at + 1).find(is_verb);
            // In `the password for staging: it is x`, a word of the sentence follows the colon.
            let is_word = |colon: &usize| {
                let word = rest[colon + 2..].split(' ').next().unwrap_or_default();
                word.len() < LONG_BYTES_MIN && word.chars().all(char::is_alphabetic)
            };
            let colon = rest.find(": ").filter(|colon| verb.is_none() || !is_word(colon));
            let found = verb.into_iter().chain(colon).min();
            let sets = |word: &str| SETS.iter().any(|known| known.eq_ignore_ascii_case(word));
            says = found.is_none() && rest.starts_with("to ") && line.split_whitespace().any(sets);
            cursor.at += if says { "to ".len() } else { found? };
        }
        says |= cursor.eat(": ") || VERBS.iter().any(|word| cursor.eat(word));
        if says && let Some(value) = cursor.quoted() {
            return Some((value, Form::Quoted));
        }
        let ends = [' ', '\t', '\n', '\r', ',', ';', ')', '"', '\'', '`'];
        let value = cursor.quoted().unwrap_or_else(|| cursor.run(&ends));
        let words = self.text[value.clone()].trim_end_matches(['.', '!', '?', ':']);
        let value = value.start..value.start + words.len();
        let follows = || {
            let is_known = |word: &str| BEFORE_NAME.iter().any(|known| known.eq_ignore_ascii_case(word));
            let mut before = line.split_whitespace().rev().take(2);
            self.is("pw") || line.trim_end().ends_with(',') || before.any(is_known)
        };
        let is_alone = || {
            self.starts_line() && {
                let behind = self.text[value.end..].trim_start_matches(' ');
                behind.is_empty() || behind.starts_with(['\n', '\r'])
            }
        };
        let is_password = || self.read() == Some(Named::Password);
        let is_value = if is_drawn_word(words) {
            words.len() >= LONG_BYTES_MIN || follows() || is_password()
        } else {
            words.len() >= WORD_BYTES_MIN && (follows() || is_alone()) && is_password()
        };
        (says || is_value).then_some((value, Form::Prose))
    }

    /// The default in `variable "db_password" { default = "x" }`.
    fn default_of_variable(&self, cursor: &Cursor<'a>) -> Option<Range<usize>> {
        let before = self.before().trim_end_matches(|c| is_part(c) || c == '.').strip_suffix('"')?;
        if !before.ends_with("variable ") {
            return None;
        }
        let rest = &cursor.rest()[..cursor.rest().floor_char_boundary(BLOCK_BYTES_MAX)];
        let at = rest.split('}').next()?.find("default")?;
        let mut behind = Cursor { text: self.text, at: cursor.at + at + "default".len() };
        behind.blanks();
        if !behind.eat("=") {
            return None;
        }
        behind.blanks();
        behind.quoted()
    }

    /// A pair such as `name: DB_PASSWORD` followed by `value: x`, as in descriptions of containers.
    fn value_of_pair(&self, cursor: &mut Cursor<'a>) -> Option<Range<usize>> {
        // What follows is read first: it parts names, so that no long one is read back again and again.
        let rest = cursor.rest();
        let gap = rest.len() - rest.trim_start_matches([',', ' ', '\t', '\n', '\r', '"']).len();
        if gap > 2 * BLANKS_MAX || !rest[gap..].starts_with("value") {
            return None;
        }
        let before = self.before().trim_end_matches(|c| is_part(c) || c == '.').trim_end_matches(QUOTES);
        let before =
            before.trim_end_matches(['\\', ' ', ':', '=']).trim_end_matches(QUOTES).trim_end_matches('\\');
        if !(before.ends_with("name") || before.ends_with("key")) {
            return None;
        }
        let mut behind = Cursor { text: self.text, at: cursor.at + gap + "value".len() };
        behind.quote();
        behind.blanks();
        if !(behind.eat(":") || behind.eat("=")) {
            return None;
        }
        behind.blanks();
        Some(behind.quoted().unwrap_or_else(|| behind.run(&[' ', '\t', '\n', '\r', '"', '\'', ',', '}'])))
    }

    /// Whether this is the password of a `.netrc`: `machine h login u password p`, on one line or several.
    fn is_login(&self) -> bool {
        let from = self.text.ceil_char_boundary(self.range.start.saturating_sub(2 * NAME_BYTES_MAX));
        let mut words = self.text[from..self.range.start].split_whitespace().rev();
        self.text[self.range.clone()] == *"password"
            && words.nth(1).is_some_and(|word| matches!(word, "login" | "machine"))
    }

    /// A value without quotes behind a sign.
    fn bare(&self, cursor: &Cursor<'a>, sign: &str, tight: bool) -> (Range<usize>, Form) {
        if let Some(value) = cursor.only_argument() {
            return (value, Form::Prose);
        }
        let name = &self.text[self.range.clone()];
        let before = self.before();
        let assigned = tight && sign == "=";
        let ends = [' ', '\t', '\n', '\r', '"', '\'', '`', '<', '>', ';', ',', ')', '}', ']', '&', '|'];
        // `PASS: TestSessionID` and `PASS: basic12` are results of tests.
        if name == "PASS" && sign == ":" {
            let value = cursor.run(&ends);
            let word = &self.text[value.clone()];
            let is_test = word.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("test"));
            let is_value = !is_test && is_drawn_word(word);
            return (if is_value { value } else { value.start..value.start }, Form::Prose);
        }
        if assigned && before.ends_with(['?', '&']) {
            return (
                cursor.run(&[' ', '\t', '\n', '\r', '"', '\'', '`', '<', '>', '&', '#', ')', ']', ';']),
                Form::Data,
            );
        }
        // `//registry/:_password=x` of npm.
        let of_registry = before.ends_with("/:");
        if assigned && (before.ends_with(';') || of_registry || self.follows_assignment()) {
            return (cursor.run(&[' ', '\t', '\n', '\r', '"', '\'', '`', ';']), Form::Data);
        }
        let line = cursor.run(&[' ', '\t', '\n', '\r']);
        let behind = self.text[line.end..].trim_start_matches([' ', '\t']);
        let ends_line = behind.is_empty() || behind.starts_with(['\n', '\r', '#']);
        let is_line = self.starts_line() && ends_line;
        let begins_form = assigned
            && self.text[line.clone()].split('&').nth(1).is_some_and(|next| {
                next.split_once('=').is_some_and(|(name, _)| name.chars().all(is_part) && !name.is_empty())
            });
        if begins_form && name.contains(char::is_lowercase) {
            return (cursor.run(&[' ', '\t', '\n', '\r', '&', '"', '\'', '`']), Form::Data);
        }
        let is_variable = assigned && !name.contains(char::is_lowercase);
        let is_flag = assigned && self.dashes > 0;
        let is_header = sign == ":" && name.contains('-');
        if is_variable || is_flag || is_header {
            let run = if is_line || is_flag {
                cursor.run(&[' ', '\t', '\n', '\r', '"', '\'', '`'])
            } else {
                cursor.run(&ends)
            };
            return (run, Form::Data);
        }
        let whole = &self.text[line.clone()];
        let bare = whole.trim_end_matches(QUOTES);
        if is_line && !bare.ends_with([',', ';']) && !bare.contains(QUOTES) {
            return (line.start..line.start + bare.len(), Form::Line);
        }
        let run = cursor.run(&ends);
        let value = self.text[run.clone()].trim_end_matches('.');
        // In `request(…)` or `list[0]`, the next sign shows that this is not a value.
        let run = run.start..run.start + value.len();
        if self.text[run.end..].starts_with(['(', '[', '{', '<']) {
            return (run.start..run.start, Form::Inline);
        }
        let in_brackets = self.text[self.line_start()..self.range.start].contains(['(', '{']);
        (run, if in_brackets { Form::Inline } else { Form::Prose })
    }

    /// Whether `key=value` comes directly before, as in `host=h user=u password=p`.
    fn follows_assignment(&self) -> bool {
        let line = &self.text[self.line_start()..self.range.start];
        let word =
            line.strip_suffix(' ').and_then(|line| line.rsplit([' ', '\t']).next()).unwrap_or_default();
        word.contains('=') && !word.ends_with([',', '(', '{', '=']) && !word.contains('(')
    }

    /// Whether only blanks, signs of lists and comments, and other parts of the name come before it on the line.
    fn starts_line(&self) -> bool {
        let line = &self.text[self.line_start()..self.range.start];
        let line = line.trim_end_matches(|c: char| {
            is_part(c) || matches!(c, '.' | '[' | ']' | '"' | '\'' | '\\' | '$' | '@')
        });
        let line = line.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, '-' | '#' | '*' | '>' | '+' | '/' | '|')
        });
        line.is_empty()
            || matches!(line.trim_end(), "export" | "set" | "ENV" | "ARG" | "env" | "setenv" | "export const")
    }
}

/// The part after the scheme of an `Authorization` header, where it names a scheme.
fn behind_scheme(text: &str, value: Range<usize>) -> Option<Range<usize>> {
    let limit = text.floor_char_boundary(value.start + VALUE_BYTES_MAX);
    let line = text[value.start..limit].split(['\n', '\r', '"', '\'', '`']).next()?;
    let (scheme, credential) = line.split_once(' ')?;
    let is_scheme = scheme.len() <= 24 && scheme.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    let credential = credential.split([' ', '\t', ',', ';', '\\']).next()?;
    let start = value.start + scheme.len() + 1;
    is_scheme.then(|| start..start + credential.len())
}
