//! Secrets that a line end splits, and lines that follow a secret.

use super::bars::Draw;
use super::{beside, capitals, hex, letters, pem, tokens};
use crate::redact::redact;

/// A part of a split secret that is shorter may stay.
const PART_BYTES_MIN: usize = 12;

#[test]
fn a_line_end_hides_no_secret() {
    let named = beside().into_iter().filter(|(kind, _, secret, _)| {
        !kind.starts_with("private")
            && *kind != "basic"
            && secret.len() >= 2 * PART_BYTES_MIN
            && !secret.contains(char::is_whitespace)
    });
    let named = named.map(|(_, before, secret, behind)| (before, secret, behind));
    let known = tokens().into_iter().map(|(_, token)| ("use ".to_owned(), token, "\nand go on".to_owned()));
    for (before, secret, behind) in named.chain(known) {
        for end in ["\n", "\r\n  ", "\\\n", r"\n", "\n> ", " │\n│ "] {
            for at in 1..secret.len() {
                let (head, tail) = secret.split_at(at);
                let text = format!("{before}{head}{end}{tail}{behind}");
                let done = redact(&text).text.into_owned();
                let kept = [head, tail]
                    .into_iter()
                    .find(|part| part.len() >= PART_BYTES_MIN && done.contains(*part));
                assert_eq!(kept, None, "{text}: {done}");
                assert_eq!(redact(&done).count, 0, "{text}: {done}");
            }
        }
    }
}

#[test]
fn a_line_end_in_what_names_a_secret_or_before_it_hides_none() {
    let secret = format!("T{}/B{}/{}", capitals(9), capitals(9), letters(24));
    let address = "https://hooks.slack.com/services/";
    for at in "https://".len()..address.len() {
        let (head, tail) = address.split_at(at);
        let done = redact(&format!("post to {head}\n{tail}{secret} then")).text.into_owned();
        assert!(!done.contains(&secret), "{done}");
    }
    let token = format!("SK{}", hex(32));
    for at in 1..token.len() {
        let (head, tail) = token.split_at(at);
        let done = redact(&format!("config:\n  first: 1\n{head}\n{tail}\n  last: 2")).text.into_owned();
        let kept = [head, tail].into_iter().find(|part| part.len() >= PART_BYTES_MIN && done.contains(*part));
        assert_eq!(kept, None, "{done}");
    }
}

#[test]
fn a_key_is_found_wherever_the_lines_of_its_armour_end() {
    let key = pem("RSA PRIVATE KEY", 2, "-----END RSA PRIVATE KEY-----");
    for at in "-----BEGIN ".len()..key.len() - "-----".len() {
        let (head, tail) = key.split_at(at);
        let done = redact(&format!("{head}\n{tail}\n")).text.into_owned();
        assert!(!done.contains(&letters(20)), "{head}|{tail}: {done}");
    }
}

#[test]
fn what_follows_a_secret_on_the_next_line_stays() {
    let token = format!("ghp_{}", letters(36));
    for (text, want) in [
        (format!("use {token}\nThen go on"), "use [REDACTED:github-token]\nThen go on"),
        (format!("{token}\nDEBUG=1"), "[REDACTED:github-token]\nDEBUG=1"),
        ("DB_PASSWORD=hunter2!x\nmake run".to_owned(), "DB_PASSWORD=[REDACTED:password]\nmake run"),
        ("password: hunter2\nport: 5432".to_owned(), "password: [REDACTED:password]\nport: 5432"),
    ] {
        assert_eq!(redact(&text).text, want);
    }
    for text in [
        "1f3c5a7e9b Rename token: new\n9f8e7d6c5b auth: rotate\n3f2504e04f Keep the secret",
        "Listening at http://localhost:3000\nbob@vm1:~/app$ ls",
        "http://localhost:3000/a\nbob2x9k4q7@host.example",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const NO_DIGITS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const HEX: &str = "0123456789abcdef";

/// Text before the secret, its letters and their number, text after it.
const DRAWN: [(&str, &str, usize, &str); 22] = [
    ("ghp_", LETTERS, 36, ""),
    ("glpat-", LETTERS, 20, ""),
    ("glpat-", NO_DIGITS, 20, ""),
    ("hf_", NO_DIGITS, 34, ""),
    ("sk_live_", LETTERS, 24, ""),
    ("sk_live_", NO_DIGITS, 24, ""),
    ("sk-ant-api03-", LETTERS, 95, ""),
    ("sk-proj-", LETTERS, 48, ""),
    ("npm_", LETTERS, 36, ""),
    ("SK", HEX, 32, ""),
    ("dapi", HEX, 32, ""),
    ("hvs.", LETTERS, 28, ""),
    ("hvs.", NO_DIGITS, 28, ""),
    ("https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/", LETTERS, 24, ""),
    ("xoxb-680400331532-112843851302-", LETTERS, 24, ""),
    ("Authorization: Bearer ", LETTERS, 40, ""),
    ("DB_PASSWORD=", LETTERS, 18, ""),
    ("\"password\": \"", LETTERS, 18, "\""),
    ("postgres://app:", LETTERS, 18, "@db.acme.dev/app"),
    ("curl -u deploy:", LETTERS, 18, " https://ci.acme.dev"),
    ("Cookie: sid=", LETTERS, 32, ""),
    ("api_key = \"", LETTERS, 32, "\""),
];
/// One of so many drawn secrets may be kept, because some parts look like words by chance (more of those of letters alone).
const DRAWN_FOR_ONE_KEPT: usize = 100;
const NO_DIGITS_FOR_ONE_KEPT: usize = 10;

#[test]
fn a_line_end_anywhere_hides_almost_no_drawn_secret() {
    let mut draw = Draw(14);
    for (before, of, count, behind) in DRAWN {
        let (mut all, mut kept) = (0, Vec::new());
        for end in ["\n", "\n    ", "\r\n", "\\\n", r"\n"] {
            for at in 0..20 * count {
                let secret = draw.letters(of, count);
                let (head, tail) = secret.split_at(1 + at % (count - 1));
                let text = format!("use {before}{head}{end}{tail}{behind}");
                let done = redact(&text).text.into_owned();
                all += 1;
                if [head, tail].iter().any(|part| part.len() >= PART_BYTES_MIN && done.contains(part)) {
                    kept.push(done);
                }
            }
        }
        let for_one = if of == NO_DIGITS { NO_DIGITS_FOR_ONE_KEPT } else { DRAWN_FOR_ONE_KEPT };
        assert!(kept.len() * for_one <= all, "{before}: {} of {all}: {kept:#?}", kept.len());
    }
}
