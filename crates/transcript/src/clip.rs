//! Keeps a bounded part of a text: its head and its tail, where agents and compilers say what matters.
//!
//! Callers redact what is kept. But a secret may be known only by what stands before it (`password: …`), and half a secret is not
//! recognised as one. So the text around a cut is redacted before it is cut, and a cut never goes through a word, a private
//! element or a key in armour: it leaves them out whole.

use cerebro_core::redact::{has_private_tag, redact};

const GAP: &str = "\n…\n";
/// How much of what is left out is redacted with what stays beside it: more than a name and its value.
const AROUND_BYTES: usize = 2 << 10;
/// Of that, what is farthest from the cut: it may itself be half a secret, and is never kept.
const EDGE_BYTES: usize = 1 << 10;

/// At most `max` bytes of a text, whole characters, with a mark where something was left out.
pub fn clipped(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let around = max + AROUND_BYTES;
    if text.len() <= 2 * around || has_private_tag(text) {
        let text = redact(text).text;
        return if text.len() <= max { text.into_owned() } else { joined(&text, &text, max) };
    }
    let (head, tail) = (whole_start(text, around), whole_end(text, around));
    // What a long word at the cut left out already counts as edge.
    let edge = |whole: &str| EDGE_BYTES.saturating_sub(around.saturating_sub(whole.len()));
    let (begin, end) = (redact(head).text, redact(tail).text);
    let (begin_max, end_min) =
        (floor(&begin, begin.len().saturating_sub(edge(head))), ceil(&end, edge(tail)));
    joined(&begin[..begin_max], &end[end_min..], max)
}

/// A part of the beginning of a text and a part of its end, together at most `max` bytes.
fn joined(begin: &str, end: &str, max: usize) -> String {
    let room = max.saturating_sub(GAP.len());
    let head = whole_start(begin, room * 2 / 3);
    let tail = whole_end(end, room - head.len());
    format!("{head}{GAP}{tail}")
}

/// What begins and ends something that must not be halved; an end may itself have a further end.
const BRACKETS: [(&str, &str, &str); 2] =
    [("<private>", "</private>", ""), ("-----BEGIN ", "-----END ", "-----")];

/// Where something that is open at the beginning of a text ends.
fn closing(text: &str, close: &str, end: &str) -> Option<usize> {
    let after = text.find(close)? + close.len();
    Some(after + text[after..].find(end)? + end.len())
}

/// At most `max` bytes from the beginning of a text, without half a word or half of something in brackets.
pub(crate) fn whole_start(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let head = start(text, max);
    let mut end = head.rfind(is_between_words).unwrap_or(0);
    for (open, close, last) in BRACKETS {
        if let Some(at) = head[..end].rfind(open)
            && closing(&head[at..end], close, last).is_none()
        {
            end = at;
        }
    }
    head[..end].trim_end()
}

/// The same from the end.
fn whole_end(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let tail = &text[ceil(text, text.len() - max.min(text.len()))..];
    let mut begin = tail.find(is_between_words).unwrap_or(tail.len());
    for (open, close, last) in BRACKETS {
        if let (Some(at), Some(end)) = (tail.find(close), closing(tail, close, last))
            && !tail[..at].contains(open)
        {
            begin = begin.max(end);
        }
    }
    tail[begin..].trim_start()
}

/// Whether a character separates what could be keys, tokens and addresses.
fn is_between_words(c: char) -> bool {
    c.is_whitespace() || ",;\"'(){}[]<>|".contains(c)
}

/// At most `max` bytes from the beginning of a text, whole characters.
pub(crate) fn start(text: &str, max: usize) -> &str {
    &text[..floor(text, max)]
}

/// The first line of a text that has anything in it.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_head_and_tail_within_the_bound() {
        for max in 0..64 {
            let cut = clipped(&"aé z€".repeat(20), max);
            assert!(cut.len() <= max.max(GAP.len()), "{max}: {cut}");
        }
        assert_eq!(clipped("short", 5), "short");
        let cut = clipped(&format!("HEAD {} TAIL", "x".repeat(100)), 40);
        assert!(cut.starts_with("HEAD") && cut.ends_with("TAIL") && cut.contains('…'), "{cut}");
        let cut = clipped(&format!("HEAD {} TAIL", "x".repeat(100_000)), 40);
        assert!(
            cut.starts_with("HEAD") && cut.ends_with("TAIL"),
            "a word longer than what is looked at: {cut}"
        );
        assert_eq!((start("aé", 2), start("aé", 3)), ("a", "aé"));
    }

    #[test]
    fn a_cut_halves_no_secret() {
        let secrets = [
            "sk-proj-SECRETSECRETSECRETSECRETSECRETSECRET",
            "<private>SECRET and more SECRET words, all SECRET</private>",
            "<PRIVATE id=\"1\">SECRET and more SECRET words, all SECRET</PRIVATE>",
            "-----BEGIN RSA PRIVATE KEY-----\nSECRET\nSECRET\nSECRET\n-----END RSA PRIVATE KEY-----",
        ];
        for secret in secrets {
            for before in 0..200 {
                let text = format!("{} {secret} {}", "word ".repeat(before), "tail ".repeat(60));
                let cut = clipped(&text, 240);
                assert!(cut.len() <= 240);
                let parts = redact(&cut.replace(secret, "")).text.into_owned();
                assert!(!parts.contains("SECRET"), "{before}: {cut}");
                assert!(!parts.contains("-----BEGIN"), "{before}: {cut}");
            }
        }
    }

    #[test]
    fn a_secret_that_is_known_by_what_stands_before_it_is_not_left_alone() {
        let secrets = [
            "password: 3xQ9SECRETzz",
            "\"client_secret\": \"3xQ9SECRETzz81\"",
            "Authorization: Basic c2VjcmV0OnSECRETlY3JldA==",
            "export DB_PASSWORD='3xQ9SECRETzz'",
            "curl -u admin:3xQ9SECRETzz https://example.org",
        ];
        for secret in secrets {
            assert!(!redact(secret).text.contains("SECRET"), "{secret}");
            for lines in [60, 4_000] {
                for before in 0..120 {
                    let text = format!("{}{secret} {}", "word ".repeat(before), "a tail; ".repeat(lines));
                    assert!(!redact(&clipped(&text, 400)).text.contains("SECRET"), "{before} {lines}");
                    let text = format!("{}{secret} {}", "a head; ".repeat(lines), "word ".repeat(before));
                    let cut = clipped(&text, 400);
                    assert!(
                        cut.len() <= 400 && !redact(&cut).text.contains("SECRET"),
                        "{before} {lines}: {cut}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_private_to_the_end_is_not_kept_as_a_tail() {
        let text = format!("{}<Private> {}", "a head; ".repeat(2_000), "SECRET words; ".repeat(4_000));
        let cut = clipped(&text, 2_000);
        assert!(cut.starts_with("a head") && !redact(&cut).text.contains("SECRET"), "{cut}");
    }
}
