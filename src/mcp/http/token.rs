//! The token of clients that speak MCP over HTTP.

use std::{fs, io, path::Path};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::platform;
use cerebro_durable as durable;
use cerebro_store::secret;

/// Shortest token, in characters.
const CHARS_MIN: usize = 16;
/// Longest token, in characters.
const CHARS_MAX: usize = 512;

/// The digest of the expected token. Nothing prints it.
#[derive(Clone)]
pub(super) struct Token([u8; 32]);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    /// It is too short, too long, or not valid in a header.
    #[error(
        "a token has {CHARS_MIN} to {CHARS_MAX} ASCII letters, digits or punctuation marks, and no blanks"
    )]
    Unfit,
    /// Its file cannot be read or created.
    #[error("cannot read or create the token's file: {0}")]
    File(#[from] io::Error),
}

impl Token {
    /// The token that was given.
    pub(super) fn new(token: &str) -> Result<Self, TokenError> {
        let fits =
            (CHARS_MIN..=CHARS_MAX).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(digest(token.as_bytes()))) } else { Err(TokenError::Unfit) }
    }

    /// The token in a file that only its owner can read. At first use, creates the file with a random token.
    pub(super) fn of_file(path: &Path) -> Result<Self, TokenError> {
        let Some(text) = platform::if_there(fs::read_to_string(path))? else {
            let token = secret();
            durable::write(path, durable::Kind::Own, format!("{token}\n").as_bytes())?;
            return Self::new(&token);
        };
        platform::close_file_to_others(path)?;
        Self::new(text.trim())
    }

    /// Whether an `Authorization` header has this token. The comparison takes constant time.
    pub(super) fn is_in(&self, authorization: &[u8]) -> bool {
        let Some((scheme, token)) = authorization.split_at_checked("Bearer ".len()) else { return false };
        let is_bearer = scheme.eq_ignore_ascii_case(b"Bearer ");
        let is_same: bool = digest(token.trim_ascii()).ct_eq(&self.0).into();
        is_bearer && is_same
    }
}

fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_let_in() {
        let token = Token::new("abcdefghijklmnop").unwrap();
        for good in ["Bearer abcdefghijklmnop", "bearer abcdefghijklmnop", "BEARER  abcdefghijklmnop "] {
            assert!(token.is_in(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer abcdefghijklmno",
            "Bearer abcdefghijklmnopq",
            "Bearer ABCDEFGHIJKLMNOP",
            "Basic abcdefghijklmnop",
            "abcdefghijklmnop",
        ] {
            assert!(!token.is_in(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn weak_tokens_are_refused() {
        for bad in ["", "short", "has a blank in its middle", "ünïcödé-is-not-in-headers", &"x".repeat(513)]
        {
            assert!(Token::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_made_once_and_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("http.token");
        Token::of_file(&file).unwrap();
        let made = fs::read_to_string(&file).unwrap();
        assert!(Token::of_file(&file).unwrap().is_in(format!("Bearer {}", made.trim()).as_bytes()));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        Token::of_file(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&file, "short\n").unwrap();
        assert!(Token::of_file(&file).is_err());
    }
}
