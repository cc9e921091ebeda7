//! `cerebro upgrade --check`: compares this program with a release that the user points to.

use std::path::Path;
use std::time::Duration;

use reqwest::{Client, header::LOCATION, redirect};
use semver::Version;

use super::super::prelude::*;
use super::super::{bounded_text, text_of};
use super::installation::Installation;
use crate::daemon::VERSION;
use crate::platform;
use cerebro_models::provider::{Address, causes};

/// The longest announcement that is read.
const BYTES_MAX: u64 = 1024 * 1024;
/// Longest address of a redirection that is shown.
const PLACE_CHARS_MAX: usize = 300;
/// How long a server may take for it.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// Check for a newer version, at a file or address that you name
///
/// The network is used only if `--from` names an address. Nothing is sent but the request, and nothing is installed.
/// The exit code is 1 if there is a newer version, and 0 otherwise.
#[derive(Debug, Args)]
pub struct UpgradeArgs {
    /// Only check; this program does not replace itself
    #[arg(long, required = true)]
    check: bool,
    /// A file or an https address that names a version: `server.json`, a forge's release, a package's page at npm or
    /// PyPI, or a bare version
    #[arg(long, value_name = "FILE|URL", required = true)]
    from: String,
}

pub async fn run(context: &CommandContext, args: UpgradeArgs) -> Result<()> {
    let is_address = ["http://", "https://"].iter().any(|scheme| args.from.starts_with(scheme));
    let text = if is_address { fetch(&args.from).await? } else { text_of(Path::new(&args.from), BYTES_MAX)? };
    let newest = version_in(&text).ok_or_else(|| {
        Error::user(format!("{} names no version", args.from))
            .hint("`cerebro upgrade --help` says where a version may be")
    })?;
    let own = version(VERSION).ok_or_else(|| Error::internal(format!("`{VERSION}` is not a version")))?;
    let is_newer = newest > own;
    let program = platform::own_program().unwrap_or_default();
    let renewal = is_newer.then(|| Installation::of(&program).renewal());
    let answer = json!({
        "version": own.to_string(), "newest": newest.to_string(), "is_newer": is_newer, "renewal": renewal,
    });
    context.output.json(&answer)?;
    let own = own.to_string();
    context.output.facts(&[("this version", own), ("newest", newest.to_string())])?;
    match renewal {
        Some(renewal) => context.output.note(&format!("there is a newer version: {renewal}")),
        None => context.output.note("no newer version is announced there"),
    }
    done_if(!is_newer)
}

/// Asks the server that was named, and no other: a redirection is not followed. Beyond this machine only what is
/// encrypted is believed.
async fn fetch(url: &str) -> Result<String> {
    let address = Address::parse(url)?;
    if !address.is_confidential() {
        return Err(Error::user(format!("{url} is not encrypted: anybody on the way could answer"))
            .hint("name an https address"));
    }
    let fault = |error| Error::user(format!("{url} did not answer: {}", causes(error)));
    let mut client = Client::builder()
        .timeout(ANSWER_MAX)
        .user_agent(concat!("cerebro/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .https_only(!address.is_this_machine());
    if address.is_this_machine() {
        client = client.no_proxy();
    }
    let asked = client.build().map_err(fault)?.get(url).send().await.map_err(fault)?;
    let mut response = asked.error_for_status().map_err(fault)?;
    if response.status().is_redirection() {
        let elsewhere = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let place = text::one_line(elsewhere.unwrap_or("an address that it does not name"));
        return Err(Error::user(format!(
            "{url} redirects to {}, which you did not name",
            text::cut_chars(&place, PLACE_CHARS_MAX)
        ))
        .hint("name that address with `--from`, if you trust it"));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(fault)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() as u64 > BYTES_MAX {
            break;
        }
    }
    bounded_text(bytes, BYTES_MAX, url)
}

/// The version in an announcement: a customary field of JSON, or a plain text.
fn version_in(text: &str) -> Option<Version> {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return version(text) };
    // In this order: `server.json` and one version at npm, PyPI, a forge's release, a package at npm, a bare version.
    let (pypi, npm) = (&value["info"]["version"], &value["dist-tags"]["latest"]);
    let places = [&value["version"], pypi, &value["tag_name"], npm, &value];
    places.into_iter().find_map(|place| version(place.as_str()?))
}

/// A version, perhaps with the `v` of a tag before it.
fn version(text: &str) -> Option<Version> {
    let text = text::one_line(text);
    Version::parse(text.strip_prefix('v').unwrap_or(&text)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_what_registries_and_forges_tell() {
        for text in [
            "1.2.3\n",
            "v1.2.3",
            "\"1.2.3\"",
            r#"{"name": "x", "version": "1.2.3"}"#,
            r#"{"info": {"version": "1.2.3"}}"#,
            r#"{"tag_name": "v1.2.3", "name": "A release"}"#,
            r#"{"name": "x", "dist-tags": {"beta": "1.3.0", "latest": "1.2.3"}}"#,
        ] {
            assert_eq!(version_in(text), Version::parse("1.2.3").ok(), "{text}");
        }
        for text in ["", "newest", "{}", r#"{"version": 3}"#, "[1, 2]", "1.2", "<html>1.2.3</html>"] {
            assert_eq!(version_in(text), None, "{text}");
        }
        assert!(version("1.0.0-rc.1") < version("1.0.0") && version("0.10.0") > version("0.9.0"));
    }
}
