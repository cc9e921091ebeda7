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
}

/// Literals, one of which occurs in every command of the table.
pub(super) const ANCHORS: &[&str] = &[
    "curl", "mysql", "mariadb", "mongo", "sshpass", "docker", "podman", "redis-cli", "ldap", "sqlcmd", "zip",
    "7z", "smbclient", "echo", "printf",
];

type Flags = &'static [(&'static str, Takes)];

/// The flags of a program, by the name under which it is called.
fn flags(program: &str) -> Option<Flags> {
    use Takes::{After, Cookie, Joined, Password};
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
        "sshpass" | "docker" | "podman" => &[("-p", Password)],
        "redis-cli" => &[("-a", Password)],
        "ldapsearch" | "ldapadd" | "ldapmodify" | "ldapwhoami" | "ldapdelete" => &[("-w", Password)],
        "sqlcmd" | "zip" | "unzip" => &[("-P", Password)],
        "7z" | "7za" => &[("-p", Joined)],
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
    if matches!(program, "docker" | "podman") && words.next().is_none_or(|word| &text[word] != "login") {
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
        let Some((flag, takes)) = flags.iter().find(|(flag, _)| is_given(given, flag)) else { continue };
        let value = match (given.len() - flag.len(), takes) {
            (0, Takes::Joined) => continue,
            (0, _) => words.next(),
            _ => Some(joined(text, word.start + flag.len()..word.end)),
        };
        let Some(value) = value else { break };
        if *takes == Takes::Cookie {
            found.extend(cookie::values(text, value));
            continue;
        }
        let sign = if let Takes::After(sign) = takes { Some(*sign) } else { None };
        let start = match sign.map(|sign| text[value.clone()].find(sign)) {
            None => value.start,
            Some(Some(at)) => value.start + at + 1,
            Some(None) => continue,
        };
        if is_secret(Named::Password, &text[start..value.end], Form::Data) {
            found.push(start..value.end);
        }
    }
    (found, words.at)
}

/// What reads a password from its standard input.
const READERS: &[&str] = &["sudo -S", "sudo --stdin", "--password-stdin", "passwd --stdin"];

/// The password in `echo password | sudo -S …`.
fn piped(text: &str, mut words: Words<'_>) -> Option<Range<usize>> {
    let word = words.find(|word| !text[word.clone()].starts_with('-'))?;
    if words.next().is_some() {
        return None;
    }
    let behind = text[word.end..words.text.len()].split(['\n', ';']).next()?;
    let (_, reader) = behind.split_once('|')?;
    let is_read = READERS.iter().any(|known| reader.contains(known));
    (is_read && is_secret(Named::Password, &text[word.clone()], Form::Data)).then_some(word)
}

/// Whether this word is the flag, alone or with its value; a long flag and its value are joined by `=` only.
fn is_given(word: &str, flag: &str) -> bool {
    word.strip_prefix(flag)
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
            let end = inner.find([' ', '\t', '\n', '\r', '`', ';', '|']).unwrap_or(inner.len());
            inner[..end].trim_end_matches(['"', '\'']).len().max(1)
        });
        self.at = start + len + usize::from(closed.is_some());
        Some(start..start + len)
    }
}
