//! Passwords in the arguments of programs whose flags do not say so by name: `curl -u user:password`.

use std::ops::Range;

use super::{
    cookie,
    name::Named,
    value::{Form, is_secret},
};

/// How a flag takes its password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `-p password`, `-ppassword` or `-p=password`.
    Password,
    /// Only `-ppassword`: a separate word after it is something else.
    Joined,
    /// `-u user:password`, `-U user%password`: the part after this sign.
    After(char),
    /// `-b 'name=value; …'`: the values of cookies.
    Cookie,
    /// `-b file user password`: the last word of the command. Other flags may follow in the same word.
    Last,
    /// Only `-k password`: `-key` is another flag.
    Apart,
}

/// Literals, one of which occurs in every command of the table.
pub(super) const ANCHORS: &[&str] = &[
    "curl", "mysql", "mariadb", "mongo", "sshpass", "docker", "podman", "az login", "redis-cli", "ldap",
    "sqlcmd", "zip", "unzip", "7z", "smbclient", "htpasswd", "openssl", "echo", "printf",
];

type Flags = &'static [(&'static str, Takes)];

/// The flags of a program, by the name under which it is called.
fn flags(program: &str) -> Option<Flags> {
    use Takes::{After, Apart, Cookie, Joined, Last, Password};
    Some(match program {
        "curl" => &[
            ("-u", After(':')),
            ("--user", After(':')),
            ("-U", After(':')),
            ("--proxy-user", After(':')),
            ("-b", Cookie),
        ],
        "mysql" | "mysqldump" | "mysqladmin" | "mysqlimport" | "mysqlsh" | "mariadb" | "mariadb-dump" => {
            &[("-p", Joined)]
        }
        "mongo" | "mongosh" | "mongodump" | "mongorestore" | "mongoexport" | "mongoimport" => {
            &[("-p", Password)]
        }
        "sshpass" | "docker" | "podman" | "az" => &[("-p", Password)],
        "redis-cli" => &[("-a", Password)],
        "ldapsearch" | "ldapadd" | "ldapmodify" | "ldapwhoami" | "ldapdelete" => &[("-w", Password)],
        "sqlcmd" | "zip" | "unzip" => &[("-P", Password)],
        "7z" | "7za" => &[("-p", Joined)],
        "htpasswd" => &[("-b", Last)],
        "openssl" => &[("-k", Apart)],
        "smbclient" => &[("-U", After('%')), ("--user", After('%'))],
        "echo" | "printf" => &[],
        _ => return None,
    })
}

/// Most bytes and words of one command that are looked at.
const COMMAND_BYTES_MAX: usize = 2048;
const WORDS_MAX: usize = 100;

/// The passwords in the command that runs this program, and where the command ends.
pub(super) fn secrets(text: &str, anchor: Range<usize>) -> (Vec<Range<usize>>, usize) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let program = &text[anchor.start..];
    let program = &program[..program.find(|c: char| !is_part(c)).unwrap_or(program.len())];
    let end = anchor.start + program.len();
    let is_whole_word = !text[..anchor.start].ends_with(|c: char| is_part(c) || c == '.');
    let Some(flags) = flags(program).filter(|_| is_whole_word) else { return (Vec::new(), anchor.end) };
    let limit = text.floor_char_boundary(end + COMMAND_BYTES_MAX);
    let mut words = Words { text: &text[..limit], at: end };
    // `docker run -p` takes ports.
    if matches!(program, "docker" | "podman" | "az") && words.next().is_none_or(|word| &text[word] != "login")
    {
        return (Vec::new(), end);
    }
    if matches!(program, "echo" | "printf") {
        let found = piped(text, words);
        let next = found.as_ref().map_or(end, |found| found.end);
        return (found.into_iter().collect(), next);
    }
    let mut found = Vec::new();
    for _ in 0..WORDS_MAX {
        let Some(word) = words.next() else { break };
        let given = &text[word.clone()];
        if self::flags(given).is_some() {
            return (found, word.start);
        }
        let Some((flag, takes)) = flags.iter().find(|(flag, takes)| is_given(given, flag, *takes)) else {
            continue;
        };
        let value = match takes {
            Takes::Last => last_argument(text, given, &mut words),
            _ if given.starts_with(flag) && given.len() > flag.len() => {
                Some(joined(text, word.start + flag.len()..word.end))
            }
            Takes::Joined => continue,
            _ => words.next(),
        };
        let Some(value) = value else { break };
        if *takes == Takes::Cookie {
            found.extend(cookie::values(text, value));
            continue;
        }
        let (named, secret) = match takes {
            Takes::After(sign) => match text[value.clone()].find(*sign).map(|at| value.start + at) {
                // `curl -u token:`.
                Some(at) if at + 1 == value.end => (Named::Token, value.start..at),
                Some(at) => (Named::Password, at + 1..value.end),
                None => continue,
            },
            _ => (Named::Password, value),
        };
        if is_secret(named, &text[secret.clone()], Form::Data) {
            found.push(secret);
        }
    }
    (found, words.at)
}

/// Most words behind a flag of which the last is a password. More are those of a sentence.
const ARGUMENTS_MAX: usize = 5;

/// The last word of a command, without where its output goes: the password after a file, unless `-n` is given, and a user. After
/// its redaction, the user is the last.
fn last_argument(text: &str, flags: &str, words: &mut Words<'_>) -> Option<Range<usize>> {
    let arguments = words.take_while(|word| !text[word.clone()].starts_with('>'));
    let mut arguments: Vec<Range<usize>> = arguments.collect();
    let least = if flags.contains('n') { 2 } else { 3 };
    if (least..=ARGUMENTS_MAX).contains(&arguments.len()) { arguments.pop() } else { None }
}

/// What reads a password from its standard input.
const READERS: &[&str] = &["sudo -S", "sudo --stdin", "--password-stdin", "passwd --stdin", "chpasswd"];

/// The password in `echo password | sudo -S …`.
fn piped(text: &str, mut words: Words<'_>) -> Option<Range<usize>> {
    let word = words.find(|word| !text[word.clone()].starts_with('-'))?;
    if words.next().is_some() {
        return None;
    }
    let behind = text[word.end..words.text.len()].split(['\n', ';']).next()?;
    let (_, reader) = behind.split_once('|')?;
    let known = READERS.iter().find(|known| reader.contains(**known))?;
    let user = if *known == "chpasswd" { text[word.clone()].find(':')? + 1 } else { 0 };
    let secret = word.start + user..word.end;
    is_secret(Named::Password, &text[secret.clone()], Form::Data).then_some(secret)
}

/// Whether this word is the flag, alone or with its value; a long flag and its value are joined by `=` only. A flag of a
/// user and a password may be the last of several, `-su`, and one of words after it any of them, `-nbB`.
fn is_given(word: &str, flag: &str, takes: Takes) -> bool {
    let is_letters = |flags: &str| flags.bytes().all(|b| b.is_ascii_alphabetic());
    let is_several =
        flag.len() == 2 && (3..6).contains(&word.len()) && word.strip_prefix('-').is_some_and(is_letters);
    let is_one = match takes {
        Takes::After(_) => is_several && word.ends_with(&flag[1..]),
        Takes::Last => is_several && word.contains(&flag[1..]),
        _ => false,
    };
    if takes == Takes::Apart || takes == Takes::Last {
        return is_one || word == flag;
    }
    is_one
        || word
            .strip_prefix(flag)
            .is_some_and(|rest| rest.is_empty() || !flag.starts_with("--") || rest.starts_with('='))
}

/// The value in one word with its flag, without `=` and quotes.
fn joined(text: &str, range: Range<usize>) -> Range<usize> {
    let given = &text[range.clone()];
    let value = given.strip_prefix('=').unwrap_or(given);
    let value = value.trim_start_matches(['"', '\'']);
    let start = range.end - value.len();
    start..start + value.trim_end_matches(['"', '\'']).len()
}

/// The words of one command of a shell, without quotes around them.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let rest = &self.text[self.at..];
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let next_line = ["\\\n", "\\\r\n", "\\n"].iter().find(|sign| rest[blanks..].starts_with(**sign));
            self.at += blanks + next_line.map_or(0, |sign| sign.len());
            if next_line.is_none() {
                break;
            }
        }
        let rest = &self.text[self.at..];
        let first =
            rest.chars().next().filter(|c| !matches!(c, '\n' | '\r' | ';' | '|' | '&' | '`' | ')'))?;
        let quote = matches!(first, '"' | '\'').then_some(first);
        let start = self.at + quote.map_or(0, char::len_utf8);
        let inner = &self.text[start..];
        if inner.is_empty() {
            return None;
        }
        let closed =
            quote.and_then(|quote| inner.find([quote, '\n'])).filter(|at| !inner[*at..].starts_with('\n'));
        let len = closed.unwrap_or_else(|| {
            let ends = [' ', '\t', '\n', '\r', '`', ';', '|'];
            let mut end = inner.find(ends).unwrap_or(inner.len());
            // `-p'…'`.
            let opens = inner[..end].find(['"', '\'']).filter(|_| first == '-');
            if let Some((at, quote)) = opens.and_then(|at| Some((at, inner[at..].chars().next()?))) {
                let close = inner[at + 1..].find([quote, '\n']).map(|len| at + 1 + len);
                end = close.filter(|close| inner[*close..].starts_with(quote)).map_or(end, |close| close + 1);
            }
            inner[..end].trim_end_matches(['"', '\'']).len().max(1)
        });
        self.at = start + len + usize::from(closed.is_some());
        Some(start..start + len)
    }
}
