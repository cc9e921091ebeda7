//! Whether a value after a secret's name is a secret: not a placeholder, not code, not prose.

use super::name::Named;

/// How a value follows its name, which says how literally it can be meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Where only data can be: a flag, a header, a variable of the environment, a connection string.
    Data,
    /// Between quotes: data, or the words of a program.
    Quoted,
    /// The rest of a line that begins with the name: a settings file, or an assignment.
    Line,
    /// Anywhere else, as in the arguments of a call.
    Inline,
    /// In a sentence or a line of a log.
    Prose,
    /// Beside a user's name.
    Pair,
}

const PASSWORD_CHARS_MIN: usize = 4;
const BARE_PASSWORD_CHARS_MIN: usize = 6;
const WORD_PASSWORD_CHARS_MIN: usize = 8;
const TOKEN_CHARS_MIN: usize = 8;
/// Length from which a value of letters alone may be a token; fewer do not look drawn at random.
const LETTERS_CHARS_MIN: usize = 16;

/// Whether `value`, which follows a name of this kind in this form, is a secret.
pub(super) fn is_secret(named: Named, value: &str, form: Form) -> bool {
    let bare = matches!(form, Form::Line | Form::Inline | Form::Prose | Form::Pair);
    let is_call = value.ends_with(')') && value.contains('(') && value.starts_with(char::is_alphabetic);
    let is_program = if bare { is_code(value, form) } else { form == Form::Data && is_call };
    if is_program || is_placeholder(value) || is_reference(value) {
        return false;
    }
    match named {
        Named::Password if bare => is_bare_password(value, form),
        Named::Password => value.chars().count() >= PASSWORD_CHARS_MIN && !is_prose(value),
        Named::Secret if form == Form::Quoted || form == Form::Data => {
            is_random(value) || is_one_long_word(value)
        }
        Named::Short if bare => {
            is_strong(value)
                && is_bare_password(value, form)
                && !value.contains(['/', '.'])
                && (form == Form::Line || !is_wordy(value))
        }
        Named::Short => value.chars().count() >= PASSWORD_CHARS_MIN && is_strong(value),
        Named::Secret | Named::Token | Named::Key => is_random(value),
    }
}

/// The beginnings of values that name what is done with a password: `bcrypt12`, `sha256-crypt`, `hash_v2`.
const HASHES: &[&str] = &["argon2", "bcrypt", "hash", "md5", "pbkdf2", "scrypt", "sha1", "sha2", "sha5"];

fn is_bare_password(value: &str, form: Form) -> bool {
    let chars = value.chars().count();
    let lower = value.to_lowercase();
    if HASHES.iter().any(|hash| lower.starts_with(hash)) {
        return false;
    }
    if value.bytes().all(|b| b.is_ascii_digit()) {
        return !matches!(form, Form::Prose | Form::Pair) && chars >= PASSWORD_CHARS_MIN;
    }
    if value.chars().all(char::is_alphabetic) {
        let is_word = form == Form::Line && !is_prose(value);
        return chars >= WORD_PASSWORD_CHARS_MIN && (is_word || mixes_cases(value));
    }
    let has_letter = value.contains(char::is_alphabetic);
    let has_sign = value.contains(['!', '@', '#', '$', '%', '^', '*', '+', '~', '?'])
        && !matches!(form, Form::Prose | Form::Pair);
    chars >= BARE_PASSWORD_CHARS_MIN && has_letter && (has_sign || is_strong(value)) && !is_prose(value)
}

/// Letters and digits, letters as in no word, or a chain of words: `not-set` is prose, `correct-horse-battery-staple` a secret.
fn is_strong(value: &str) -> bool {
    is_mixed(value) || mixes_cases(value) || value.split('-').filter(|word| word.len() > 2).count() >= 4
}

/// A stand-in for a secret, as in examples and templates.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    is_template(value) || is_blanked(value) || is_example(value)
}

/// `$PW`, `${PW}`, `$(pass show x)`, `%PW%`, `%s`, `{{ pw }}`, `{pw}`, `#{pw}`, `<password>`, `[password]`, `@PW@`.
fn is_template(value: &str) -> bool {
    let wrapped =
        |open: char, close: char| value.len() > 1 && value.starts_with(open) && value.ends_with(close);
    if wrapped('<', '>') || wrapped('[', ']') || wrapped('{', '}') || wrapped('%', '%') || wrapped('@', '@') {
        return true;
    }
    let is_filled = ["%(", "%s"].iter().any(|sign| value.contains(sign)) && !is_random(value);
    if is_filled || ["${", "$(", "{{", "#{", "<%"].iter().any(|sign| value.contains(sign)) {
        return true;
    }
    let is_conversion =
        value.starts_with('%') && (2..=3).contains(&value.len()) && value.ends_with(['s', 'd', 'v', 'q']);
    is_conversion || value.strip_prefix('$').is_some_and(|name| name.starts_with("env:") || is_variable(name))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && (name.len() == 1 || !name.starts_with(|c: char| c.is_ascii_digit()))
        && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// `****`, `xxxx`, `...`, `----`, `0000`, `•••`: the same sign repeated.
fn is_blanked(value: &str) -> bool {
    let blank = |c: char| matches!(c, '*' | '.' | '•' | '…' | 'x' | 'X' | '-' | '_' | '?' | '#' | '█' | '●');
    let mut chars = value.chars();
    let first = chars.next();
    let same = value.chars().count() >= 3 && chars.all(|c| Some(c) == first);
    same || value.chars().all(blank) || value.contains("***") || value.contains("...") || value.contains('…')
}

/// Any of these makes a value an example.
const EXAMPLE_PARTS: &[&str] = &[
    "changeme", "change_me", "change-me", "changeit", "yourpass", "yourtoken", "yoursecret", "yourkey",
    "your_", "your-", "placeholder", "example", "redacted", "xxxx", "not-real", "notreal", "dummy",
    "replace",
];

/// A value that consists of these words, and at most one digit, is an example.
const EXAMPLE_WORDS: &[&str] = &[
    "a", "abc", "access", "account", "admin", "an", "any", "api", "app", "apikey", "auth", "bar", "basic",
    "baz", "bearer", "bot", "change", "client", "code", "credential", "credentials", "csrf", "custom",
    "database", "db", "default", "demo", "dev", "empty", "enter", "env", "fake", "false", "field", "file",
    "foo", "from", "github", "goes", "guest", "hash", "hashed", "her", "here", "hidden", "id", "input",
    "insert", "invalid", "jeton", "jwt", "kennwort", "key", "local", "login", "long", "masked", "me", "mine",
    "mock", "my", "name", "new", "nil", "no", "none", "null", "of", "oauth", "old", "omitted", "or", "pass",
    "passphrase", "passwd", "passwort", "password", "port", "postgres", "private", "prompt", "public", "pw",
    "pwd", "qux", "random", "real", "refresh", "removed", "root", "salt", "sample", "secret", "secrets",
    "senha", "session", "set", "some", "sso", "stdin", "string", "super", "temp", "test", "testing", "text",
    "the", "this", "to", "todo", "token", "tokens", "top", "true", "undefined", "user", "value", "your",
];

fn is_example(value: &str) -> bool {
    let lower = value.to_lowercase();
    if EXAMPLE_PARTS.iter().any(|part| lower.contains(part)) {
        return true;
    }
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let known = |word: &str| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        word.len() - letters.len() <= 1 && (letters.is_empty() || EXAMPLE_WORDS.contains(&letters))
    };
    let signs = value.contains(['!', '$', '%', '^', '&', '#', '@']);
    !signs
        && words.clone().next().is_some()
        && words.into_iter().all(|word| known(word) || is_two_known(word))
}

/// `secretkey`, `mypassword`, `testtoken`: two of the words joined.
fn is_two_known(word: &str) -> bool {
    let known = |part: &str| EXAMPLE_WORDS.contains(&part);
    word.is_ascii() && word.len() <= 24 && (2..word.len()).any(|at| known(&word[..at]) && known(&word[at..]))
}

/// A reference to where the secret is: an address, a path, a YAML tag.
fn is_reference(value: &str) -> bool {
    let scheme = value
        .find("://")
        .is_some_and(|at| value[..at].bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+'));
    let path = ["/", "./", "../", "~/", "file:", "env:", "vault:", "arn:", "secretref:", "ssm:", "enc["];
    let lower = value.get(..10).unwrap_or(value).to_ascii_lowercase();
    let is_path = path.iter().any(|start| lower.starts_with(start)) && value.len() > 1;
    let is_tag = value
        .strip_prefix('!')
        .is_some_and(|tag| tag.len() > 2 && tag.bytes().all(|b| b.is_ascii_alphabetic()));
    scheme || is_path || is_tag
}

/// An expression: `get_password()`, `request.token`, `&str`, `Option<String>`, `self.key[0]`, `token2`.
fn is_code(value: &str, form: Form) -> bool {
    let value = without_padding(value);
    let signs = ['(', '[', '{', '<', '|', '=', '\\', '`'];
    if ["::", "->", "=>", "\\"].iter().any(|sign| value.contains(sign)) {
        return true;
    }
    if let Some(at) = value.find(signs) {
        // `get(x)`, `*get(x)`, `list[0]`, `a=b`, but not `V2b=+C3=SP`.
        let name = value[..at].trim_start_matches(['&', '*', '-', '!']);
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c));
        let opens = value[at..].starts_with(['(', '[', '{', '<']);
        return is_name && opens || value.split(|c: char| !c.is_alphanumeric()).all(is_wordy);
    }
    let value = value.trim_start_matches(['&', '*', '-', '!']);
    let value = value.strip_prefix('$').unwrap_or(value);
    let parts: Vec<&str> = value.split(['.', '?', ':']).filter(|part| !part.is_empty()).collect();
    let identifier = |part: &&str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    if parts.len() != 1 {
        // `user?.password`, but not `y6Xx?fr9wQ`.
        return parts.iter().all(|part| identifier(part) && (!value.contains('?') || is_wordy(part)));
    }
    // A variable may end with a number; a whole line is more likely a setting.
    form == Form::Inline && identifier(&value) && is_wordy(value)
}

/// A value without the `=` that end base64, where it may be that.
fn without_padding(value: &str) -> &str {
    let head = value.trim_end_matches('=');
    let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-');
    let is_whole = value.len().is_multiple_of(4) && head.len() >= TOKEN_CHARS_MIN;
    if (is_whole || head.len() >= LETTERS_CHARS_MIN) && head.bytes().all(is_base64) { head } else { value }
}

/// Words, short numbers and separators, as in names of variables and files.
fn is_wordy(value: &str) -> bool {
    let word = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = part.len() - letters.len();
        match letters.len() {
            0 => digits <= 4,
            1 => digits <= 2,
            _ => digits <= 3 && letters.chars().all(char::is_alphabetic) && !mixes_cases(letters),
        }
    };
    value.split(['_', '-', '.', '/', ':', ' ', '@']).all(word)
}

/// Letters and digits.
fn is_mixed(value: &str) -> bool {
    value.contains(|c: char| c.is_ascii_digit()) && value.contains(char::is_alphabetic)
}

/// Long enough, without blanks, and of characters that look drawn rather than written.
pub(super) fn is_random(value: &str) -> bool {
    if value.chars().count() < TOKEN_CHARS_MIN || value.contains(char::is_whitespace) || is_version(value) {
        return false;
    }
    if value.contains(|c: char| c.is_ascii_digit()) {
        return is_mixed(value) && !is_wordy(value);
    }
    value.len() >= LETTERS_CHARS_MIN && mixes_cases(value)
}

/// Whether a word of a sentence was drawn rather than written: letters and digits that are no word and number.
pub(super) fn is_drawn_word(value: &str) -> bool {
    let assigns = without_padding(value).contains(['=', ':']);
    let is_long = value.chars().count() >= TOKEN_CHARS_MIN;
    is_long && is_mixed(value) && !assigns && !is_wordy(value) && !is_version(value)
}

/// Words of two letters in names such as `getUserIdByGroupId`.
const SHORT_WORDS: &[&str] = &[
    "An", "As", "At", "Be", "By", "Db", "Do", "Go", "Id", "If", "In", "Io", "Ip", "Is", "It", "Me", "My",
    "No", "Of", "Ok", "On", "Or", "To", "Ui", "Up", "We",
];

/// Whether capitals and small letters are mixed as in no word: in `accessToken`, `HTTPServer` and `APIs`, at most one small
/// letter stands alone or one capital follows another; in `xKqLmPzR`, more.
pub(super) fn mixes_cases(value: &str) -> bool {
    let is_odd = |run: &&[u8]| match run {
        [one] => one.is_ascii_lowercase(),
        [first, ..] => first.is_ascii_uppercase(),
        [] => false,
    };
    let mixes = |part: &str| {
        let same = |a: &u8, b: &u8| a.is_ascii_lowercase() == b.is_ascii_lowercase();
        let part = part.strip_suffix('s').unwrap_or(part);
        let mut end = 0;
        let is_odd = |run: &&[u8]| {
            end += run.len();
            is_odd(run) && !SHORT_WORDS.iter().any(|word| part[..end].ends_with(word))
        };
        part.as_bytes().chunk_by(same).filter(is_odd).nth(1).is_some()
    };
    value.split(|c: char| !c.is_ascii_alphabetic()).any(mixes)
}

/// `1.2.3-rc4`, `2024-05-01T10:00:00Z`, `v10.0.1`, `10.0.0.1:8080`.
fn is_version(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    letters <= 3 && digits + letters < value.len() && value.len() < 40
}

/// `keyboardcat`: a word that somebody typed as an application's secret.
fn is_one_long_word(value: &str) -> bool {
    value.len() >= 10 && value.bytes().all(|b| b.is_ascii_lowercase()) && !is_prose(value)
}

/// Words that describe a secret, or name its type or state.
const PROSE_WORDS: &[&str] = &[
    "absent", "account", "array", "asked", "at", "available", "be", "blank", "bool", "boolean", "buffer",
    "bytes", "cannot", "char", "characters", "contains", "data", "deny", "disabled", "does", "also",
    "argument", "email", "enable", "enabled", "encrypted", "error", "expired", "explicit", "fail", "failed",
    "failure", "final", "flag", "for", "forgot", "forgotten", "function", "generate", "given", "has", "if",
    "ignore", "in", "instead", "parameter", "then", "when", "incorrect", "int", "is", "it", "keep",
    "keyring", "length", "less", "like", "mandatory", "manual", "matches", "may", "mismatch", "missing",
    "must", "needed", "not", "number", "object", "okay", "on", "only", "optional", "option", "params",
    "please", "present", "props", "received", "required", "reset", "same", "security", "self", "sent",
    "should", "skip", "state", "str", "strong", "success", "system", "that", "type", "unknown", "unset",
    "username", "valid", "variable", "weak", "will", "with", "wrong",
];

const PROSE_ENDINGS: &[&str] =
    &["ed", "ing", "tion", "tions", "able", "ment", "ible", "ally", "edly", "ness", "ful", "ication"];

/// A sentence, a label or a word about a secret, rather than one.
fn is_prose(value: &str) -> bool {
    let known = |word: &str| {
        let one = word.strip_suffix('s').unwrap_or(word);
        [word, one].iter().any(|word| PROSE_WORDS.contains(word) || EXAMPLE_WORDS.contains(word))
    };
    let lower = value.trim_matches(['.', ':', '?', '!', ',', ' ']).to_lowercase();
    let words: Vec<&str> = lower.split([' ', '-', '_', '.']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] => true,
        [word] if word.chars().all(char::is_alphabetic) => {
            known(word)
                || PROSE_ENDINGS.iter().any(|end| word.len() > end.len() + 3 && word.ends_with(end))
                || ["password", "passwort", "kennwort", "passwd", "secret", "token"]
                    .iter()
                    .any(|name| word.contains(name))
        }
        [_] => false,
        [first, ..] => {
            let spaced = value.trim().contains(' ');
            let known_words = words.iter().filter(|word| known(word)).count();
            if spaced {
                known_words > 0 || value.ends_with(['.', ':', '?', '!'])
            } else {
                known_words * 2 > words.len() || *first == "not"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_distinguished_from_secrets() {
        for value in [
            "changeme", "CHANGE_ME", "xxx", "xxxxxxxx", "<password>", "<your token>", "${DB_PASSWORD}",
            "$PW", "$1", "$(pass show db)", "{{ password }}", "{password}", "%s", "%(pw)s", "%PW%", "****",
            "...", "your-password", "YOUR_API_KEY", "password", "secret", "mypassword", "my-secret-token",
            "test_token_1", "[password]", "example-key", "AKIAIOSFODNN7EXAMPLE", "#{pw}", "000000", "",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in
            ["hunter2", "Tr0ub4dor&3", "swordfish", "p@ss", "$2y$10$abc", "пароль", "p%40ss", "a7Xq9Bz3"]
        {
            assert!(!is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn the_form_decides_whether_a_value_is_literal() {
        for (named, form, value) in [
            (Named::Password, Form::Data, "swordfish"),
            (Named::Password, Form::Quoted, "correct horse battery staple"),
            (Named::Password, Form::Line, "hunter2"),
            (Named::Password, Form::Line, "swordfish"),
            (Named::Password, Form::Inline, "Tr0ub4dor&3"),
            (Named::Password, Form::Prose, "hunter2"),
            (Named::Secret, Form::Quoted, "keyboardcat"),
            (Named::Token, Form::Line, "a8f3k2m9x1"),
            (Named::Key, Form::Data, "550e8400-e29b-41d4-a716-446655440000"),
        ] {
            assert!(is_secret(named, value, form), "{value}");
        }
        for (named, form, value) in [
            (Named::Password, Form::Line, "String"),
            (Named::Password, Form::Line, "required"),
            (Named::Password, Form::Line, "get_password()"),
            (Named::Password, Form::Line, "config.auth.password"),
            (Named::Password, Form::Inline, "password2"),
            (Named::Password, Form::Inline, "swordfish"),
            (Named::Password, Form::Quoted, "Enter your password"),
            (Named::Password, Form::Quoted, "Passwort"),
            (Named::Password, Form::Prose, "stored"),
            (Named::Password, Form::Data, "/run/secrets/db"),
            (Named::Token, Form::Line, "request.token"),
            (Named::Token, Form::Quoted, "session-token-2"),
            (Named::Token, Form::Quoted, "https://a.b/c1"),
            (Named::Token, Form::Line, "expired"),
            (Named::Key, Form::Data, "2024-05-01T10:00:00Z"),
        ] {
            assert!(!is_secret(named, value, form), "{value}");
        }
    }
}
