//! The address of a provider.

use std::fmt;

use reqwest::Url;

use super::ProviderError;

/// Names of this machine that are never resolved over a network.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The address of a server: `http://` or `https://`, a host, and the beginning of the path.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Without a trailing slash.
    text: String,
    url: Url,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`ProviderError::Unusable`] when it is not a web address. The error does not repeat the address, which may
    /// contain a password.
    pub fn parse(text: &str) -> Result<Self, ProviderError> {
        let text = text.trim().trim_end_matches('/');
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.filter(Url::has_host).ok_or_else(|| {
            ProviderError::unusable("`base_url` is no address that begins with http:// or https://")
        })?;
        Ok(Self { text: text.to_owned(), url })
    }

    /// The address of a path below it; `path` begins with a slash.
    pub fn below(&self, path: &str) -> String {
        format!("{}{path}", self.text)
    }

    /// The address itself, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, without a port.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Whether it is this machine: nothing crosses a network, and calls are free.
    pub fn is_this_machine(&self) -> bool {
        LOOPBACK.contains(&self.host())
    }

    /// Whether nobody can read requests on the way: they are encrypted, or do not leave the machine.
    pub fn is_confidential(&self) -> bool {
        self.url.scheme() == "https" || self.is_this_machine()
    }

    /// Whether the address itself contains a password.
    pub fn has_password(&self) -> bool {
        self.url.password().is_some()
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.url.scheme(), self.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_the_web() {
        for bad in ["", "x", "ftp://x", "file:///etc/passwd", "/v1", "127.0.0.1:8000", "http://"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
        let address = Address::parse(" https://user:secret@api.example.org/v1/ ").unwrap();
        assert_eq!(address.below("/embeddings"), "https://user:secret@api.example.org/v1/embeddings");
        assert_eq!((address.host(), address.has_password()), ("api.example.org", true));
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn only_this_machine_and_encryption_are_confidential() {
        for (text, here, confidential) in [
            ("http://127.0.0.1:8000/v1", true, true),
            ("http://localhost/v1", true, true),
            ("http://LOCALHOST/v1", true, true),
            ("http://[::1]:11434", true, true),
            ("https://api.openai.com/v1", false, true),
            ("http://10.0.0.1/v1", false, false),
            ("http://localhost.example/", false, false),
            ("http://127.0.0.1.example/", false, false),
            ("http://localhost@10.0.0.1/", false, false),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(
                (address.is_this_machine(), address.is_confidential()),
                (here, confidential),
                "{text}"
            );
        }
    }
}
