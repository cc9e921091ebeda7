//! A provider's server, as configured.

use std::{path::Path, time::Duration};

use super::http::KeyHeader;

/// A server, described by the configuration and the kind of provider.
#[derive(Debug, Clone, Copy)]
pub struct Server<'a> {
    /// The name of the provider.
    pub provider: &'static str,
    /// The model's name at its provider.
    pub model: &'a str,
    /// The table of the configuration, for messages.
    pub table: &'static str,
    /// The address of the provider's public service, or of this machine's own server.
    pub public_url: &'static str,
    /// `base_url`: a server of the user's own instead; empty if none.
    pub base_url: &'a str,
    /// The variable that conventionally holds the key of the public service; `None` where it needs no key.
    pub key_variable: Option<&'static str>,
    /// How the key is sent.
    pub key_header: KeyHeader,
    /// `api_key_env`: the variable named for the key; empty if none is named.
    pub api_key_env: &'a str,
    /// `api_key_file`: the file named for it.
    pub api_key_file: Option<&'a Path>,
    /// How long a whole exchange may take.
    pub timeout: Duration,
    /// The longest answer that is read.
    pub answer_bytes_max: usize,
}

impl Server<'_> {
    /// Whether it is a server of the user's own instead of the public one.
    pub(super) fn is_own(&self) -> bool {
        !self.base_url.is_empty()
    }
}
