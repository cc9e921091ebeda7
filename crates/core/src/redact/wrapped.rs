//! Line ends inside what may be one secret: a terminal or an editor wrapped it, or a shell's `\` continues it.

use std::ops::Range;

use super::value::{is_random, mixes_cases};

/// A line end between two runs of characters that may be parts of one secret.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Joint {
    /// The line end, with the blanks before it and the margin of the next line.
    pub range: Range<usize>,
    /// The line that it ends, the one before and the one after, as far as they are searched.
    pub around: Range<usize>,
    /// Whether the next run looks drawn at random.
    pub drawn: bool,
    /// What comes before looks so, too, or `\` continues it.
    pub continues_drawn: bool,
    /// What follows is not the first word of another line: it ends its line or what is in quotes, or is long.
    pub alone: bool,
}

/// Most bytes of a run that are examined.
const RUN_BYTES_MAX: usize = 256;
/// A run of at least so many bytes is not just the first word of a line.
const LONG_RUN_BYTES_MIN: usize = 12;
/// Most blanks on each side of a line end.
const BLANKS_MAX: usize = 64;
/// Most bytes of a line, on each side of its end, that are searched for the beginning and the end of a secret.
const LINE_BYTES_MAX: usize = 1024;
/// Most backslashes before an escaped line end.
const SLASHES_MAX: usize = 4;
/// The margins of the next line: the signs of quotes, comments, and frames around a text.
const MARGINS: [&str; 8] = ["|", "│", "┃", "║", ">", "#", "*", "//"];

/// The line ends at which a secret may be split, in order.
pub(super) fn joints(text: &str) -> Vec<Joint> {
    let mut joints: Vec<Joint> = Vec::new();
    let mut at = 0;
    while let Some(found) = text.as_bytes()[at..].iter().position(|b| matches!(b, b'\n' | b'\\')) {
        let begin = at + found;
        at = begin + 1;
        let Some(end) = line_end(text, begin) else { continue };
        at = end;
        joints.extend(joint(text, begin, end));
    }
    joints
}

/// Fewest bytes by which a line of base64 is known not to be a word or name.
const BASE64_LINE_BYTES: usize = 40;

/// Where the lines of base64 begin that end before the line of an anchor, if one of them is long.
pub(super) fn lines_of_base64(text: &str, at: usize) -> Option<usize> {
    let margin = |c: char| matches!(c, ' ' | '\t' | '\r' | '>' | '|' | '#' | '*');
    let is_base64 = |line: &str| line.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    let (mut rest, mut begin, mut has_long) = (text[..at].trim_end_matches(margin), None, false);
    while let Some(before) = rest.strip_suffix('\n') {
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before[start..].trim_matches(margin);
        if line.is_empty() || !is_base64(line) {
            break;
        }
        has_long |= line.len() >= BASE64_LINE_BYTES;
        begin = Some(start);
        rest = &before[..start];
    }
    begin.filter(|_| has_long)
}

/// Where the line end at `at` ends: a line break, one that is written as `\n`, or one that `\` continues.
fn line_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with('\n') {
        return Some(at + 1);
    }
    let slashes = rest.bytes().take(SLASHES_MAX).take_while(|b| *b == b'\\').count();
    let escaped = [r"r\\n", r"r\n", "n", "\r\n", "\n"];
    let found = escaped.into_iter().find(|end| rest[slashes..].starts_with(end))?;
    Some(at + slashes + found.len())
}

fn joint(text: &str, begin: usize, end: usize) -> Option<Joint> {
    let begin = without_margin(&text[..begin]).len();
    let end = text.len() - behind_margin(&text[end..]).len();
    let (head, tail) = (run_before(&text[..begin]), run_at(&text[end..]));
    let behind = &text[end + tail.len()..];
    if head.is_empty() || tail.is_empty() || is_name(tail, behind) || ends_with_port(head, tail) {
        return None;
    }
    // A shell continues a word only with a `\` directly before the line break.
    let continued = matches!(&text[begin..end], "\\\n" | "\\\r\n");
    let drawn = continued || is_drawn(tail.trim_end_matches('='));
    if !drawn && (head.ends_with(['=', ':']) || !is_drawn(head)) {
        return None;
    }
    let alone = continued || tail.len() >= LONG_RUN_BYTES_MIN || is_closed(behind);
    let from = text.ceil_char_boundary(begin.saturating_sub(LINE_BYTES_MAX));
    // The value's name may be in the line before.
    let from = text[from..begin].rmatch_indices('\n').nth(1).map_or(from, |(at, _)| from + at + 1);
    let to = text.floor_char_boundary(end + LINE_BYTES_MAX);
    let to = text[end..to].find('\n').map_or(to, |at| end + at);
    let continues_drawn = continued || is_drawn(head);
    Some(Joint { range: begin..end, around: from..to, drawn, continues_drawn, alone })
}

/// Whether a run may be a part of a drawn secret. Parts are short, so those of letters alone are judged by their capitals.
fn is_drawn(run: &str) -> bool {
    is_random(run) || mixes_cases(run)
}

/// Whether a run is a name followed by a value, as in `DEBUG=1` and `port: 5432`.
fn is_name(run: &str, behind: &str) -> bool {
    let value = behind.trim_start_matches(['"', '\'', '`', '\\']);
    let has_value = value.starts_with(|c: char| !c.is_whitespace() && !",;)]}.|".contains(c));
    let is_variable = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
            && name.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let assigns = run
        .trim_end_matches('=')
        .split_once('=')
        .is_some_and(|(name, _)| is_variable(name) && !is_random(name));
    run.ends_with(':') || assigns || run.ends_with('=') && has_value
}

/// Whether an address ends with its port. Then the next line is no password, unless it looks drawn and a host follows it.
fn ends_with_port(run: &str, tail: &str) -> bool {
    let is_password = tail.split_once('@').is_some_and(|(password, _)| is_drawn(password));
    let is_port =
        |(host, port): (&str, &str)| host.contains("://") && port.bytes().all(|b| b.is_ascii_digit());
    !is_password && run.rsplit_once(':').is_some_and(is_port)
}

/// Whether a run is followed by a quote, the end of an element, or the end of the line.
fn is_closed(behind: &str) -> bool {
    let behind = behind_blanks(behind);
    let is_quote = behind.trim_start_matches('\\').starts_with(['"', '\'', '`']);
    let rest = behind.trim_start_matches([' ', '\t', ',', ';', ')', ']', '}', '.', '|', '│', '┃', '║']);
    is_quote
        || behind.starts_with("</")
        || rest.is_empty()
        || rest.starts_with(['\n', '\r'])
        || line_end(rest, 0).is_some()
}

/// Whether a character may belong to a token, a password or an address with one.
fn is_part(c: char) -> bool {
    !(c.is_whitespace() || c.is_control() || "\"'`(){}[]<>,;|\\│┃║".contains(c))
}

fn run_at(text: &str) -> &str {
    let text = &text[..text.floor_char_boundary(RUN_BYTES_MAX)];
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

fn run_before(text: &str) -> &str {
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(RUN_BYTES_MAX))..];
    &text[text.len() - text.chars().rev().take_while(|c| is_part(*c)).map(char::len_utf8).sum::<usize>()..]
}

/// A line without the blanks at its end, and without the frame around it.
fn without_margin(line: &str) -> &str {
    let bare = without_blanks(line.strip_suffix('\r').unwrap_or(line));
    bare.strip_suffix(['│', '┃', '║']).map_or(bare, without_blanks)
}

fn without_blanks(line: &str) -> &str {
    let count = line.bytes().rev().take(BLANKS_MAX).take_while(|b| matches!(b, b' ' | b'\t')).count();
    &line[..line.len() - count]
}

/// A line without the blanks before its text, and without the sign of a quote, a comment or a frame.
fn behind_margin(line: &str) -> &str {
    let bare = behind_blanks(line);
    let margin = MARGINS
        .iter()
        .find_map(|margin| bare.strip_prefix(margin))
        .filter(|rest| rest.starts_with([' ', '\t']));
    margin.map_or(bare, behind_blanks)
}

fn behind_blanks(line: &str) -> &str {
    &line[line.bytes().take(BLANKS_MAX).take_while(|b| matches!(b, b' ' | b'\t')).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_end_splits_a_secret_where_what_is_beside_it_looks_drawn() {
        for (before, end, behind) in [
            ("use ghp_a7Xq9Bz3Kd5", "\n", "Rm1Tf8Wc2Yh6Lg4Pv0Ns"),
            ("use ghp_a7Xq9Bz3Kd5", "\r\n", "Rm1Tf8Wc2Yh6Lg4Pv0Ns and"),
            ("gh", "\n  ", "p_a7Xq9Bz3Kd5Rm1Tf8Wc2Yh6Lg4Pv0Ns"),
            ("│ ghp_a7Xq9Bz3Kd5", "  │\n│ ", "x9 │"),
            ("> a7Xq9Bz3Kd5", "\n> ", "Rm1Tf8Wc2Yh6"),
            ("curl -u a:a7Xq9Bz3", "\\\n", "Rm1Tf8Wc2Yh6 https://h"),
            (r#"{"a":"a7Xq9Bz3Kd5"#, r"\n", r#"Rm1Tf8Wc2Yh6"}"#),
            ("ghp_VZEJVLMUqxU", "\n", "xcymjuoCiDMABUoVEOBTlci"),
            ("postgres://bob:5", "\n", "PqBO0X3ark66q@db:5432/x"),
            ("curl -u admin:5W7Ht", "\\\n", "wuG9A6 https://x"),
            (r#"{"a":"a7Xq9Bz3Kd5"#, r"\\r\\n", r#"Rm1Tf8Wc2Yh6"}"#),
        ] {
            let text = format!("{before}{end}{behind}");
            let found = joints(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].range, before.len()..before.len() + end.len(), "{text}");
        }
        for text in [
            "let a = 1;\nlet b = 2;",
            "PASSWORD=a7Xq9Bz3Kd5\nTOKEN=Rm1Tf8Wc2Yh6",
            "password: a7Xq9Bz3Kd5\n  port: 5432",
            "password:\n  required",
            "a7Xq9Bz3Kd5\nPASSWORD=[REDACTED:password]",
            "a7Xq9Bz3Kd5\nPASSWORD=\"hunter2\"",
            "a7Xq9Bz3Kd5\n\na7Xq9Bz3Kd5",
            "plain words\nand more",
            "2026-02-01T10:00:00Z started\n2026-02-01T10:00:01Z ended",
            r"C:\new\a7Xq9Bz3Kd5",
        ] {
            assert_eq!(joints(text), [], "{text}");
        }
    }

    #[test]
    fn what_ends_a_line_or_a_quoted_text_or_is_long_is_alone() {
        for (behind, alone) in [
            ("", true),
            ("\nx", true),
            ("\",", true),
            (r#"\"}"#, true),
            (" and", false),
            (" │\n", true),
            ("9Bz3K and", true),
            ("</token>", true),
        ] {
            let text = format!("a7Xq9Bz3Kd5\nRm1Tf8Wc2{behind}");
            assert_eq!(joints(&text)[0].alone, alone, "{text}");
        }
    }
}
