//! What distinguishes a secret of a known form from a placeholder, a name or prose of the same form.

use super::{
    name::Named,
    value::{Form, is_placeholder, is_secret, mixes_cases},
};

pub(super) fn always(_: &str) -> bool {
    true
}

pub(super) fn is_digit(b: u8) -> bool {
    b.is_ascii_digit()
}

pub(super) fn is_hex_digit(b: u8) -> bool {
    matches!(b, b'0'..=b'9' | b'a'..=b'f')
}

pub(super) fn is_letter_or_digit(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

pub(super) fn is_base64_url(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

pub(super) fn is_base64_or_url(b: u8) -> bool {
    is_base64_url(b) || matches!(b, b'+' | b'/')
}

pub(super) fn is_no_blank(b: u8) -> bool {
    b.is_ascii_graphic()
}

/// What the secret of an application of Azure consists of.
pub(super) fn is_azure(b: u8) -> bool {
    is_base64_url(b) || matches!(b, b'~' | b'.')
}

/// Not one of the keys in AWS's documentation, which end with EXAMPLE or EXAMPLEKEY.
pub(super) fn is_no_example(text: &str) -> bool {
    !text.contains("EXAMPLE")
}

/// Whether a token of a known form was drawn rather than written: it has a digit, or mixes capitals and small letters as
/// no word does.
pub(super) fn is_drawn(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) || mixes_cases(text)
}

/// Whether a text of three parts is the token of a bot: the first part begins as a number in base64 does, or capitals and
/// small letters are mixed as in no names.
pub(super) fn is_bot_token(text: &str) -> bool {
    let is_number = matches!(text.as_bytes().get(1), Some(b'D' | b'T' | b'j' | b'z'));
    is_number && is_drawn(text) || mixes_cases(text)
}

/// The password in the arguments of a call, where a label or a name may be as well.
pub(super) fn is_password_of_call(text: &str) -> bool {
    is_secret(Named::Password, text, Form::Prose)
}

/// Neither a placeholder, nor a port followed by text that happens to contain an `@`.
pub(super) fn is_password(text: &str) -> bool {
    let behind_port = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_port = (1..=5).contains(&(text.len() - behind_port.len()))
        && behind_port.starts_with(['?', '#', ',', ';', ')', ']', '}', '|', '&']);
    !(is_port || is_placeholder(text))
}

/// The same for a password with signs that usually end an address: the text before the first of them is not a port.
pub(super) fn is_odd_password(text: &str) -> bool {
    let head = text.split(['/', '"', '\'', '<', '>']).next().unwrap_or_default();
    let is_port = !head.is_empty() && head.bytes().all(|b| b.is_ascii_digit());
    !is_port && !is_placeholder(head) && is_password(text)
}

/// Words that follow a scheme in prose and examples, not in a header.
const PROSE: [&str; 16] = [
    "token", "tokens", "auth", "authentication", "authorization", "authorisation", "credential",
    "credentials", "header", "headers", "scheme", "schemes", "access", "access_token", "base64",
    "your-token",
];

/// After the name of its header, anything but prose and an uppercase placeholder is a credential.
pub(super) fn is_credential(text: &str) -> bool {
    let word = text.trim_end_matches(['.', '=', '-', '/', '~']).to_ascii_lowercase();
    let capitals = text.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'-' | b'.'));
    let blanked = text.bytes().all(|b| matches!(b, b'.' | b'x' | b'X' | b'-' | b'_'));
    !(capitals || blanked || PROSE.contains(&word.as_str()))
}

/// Whether the base64 decodes to printable text with a colon in it.
pub(super) fn is_user_and_password(base64: &str) -> bool {
    let Some(bytes) = decode_base64(base64) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    text.contains(':') && !text.contains(char::is_control)
}

/// Decodes standard base64 with optional padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0u32, 0);
    for b in text.trim_end_matches('=').bytes() {
        let value = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    (held < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded() {
        for (text, want) in [
            ("dTpw", Some("u:p")),
            ("dXNlcjpw", Some("user:p")),
            ("dTo=", Some("u:")),
            ("a", None),
            ("a-b", None),
        ] {
            assert_eq!(decode_base64(text), want.map(|text| text.as_bytes().to_vec()), "{text}");
        }
    }
}
