//! Downloads a pinned file.
//!
//! Redirections are followed only here: hubs refer to other servers for their files, no key is sent, and the
//! download is checked against its hash.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::catalogue::{FileSource, Source};
use super::hub::{HubModel, is_commit};
use super::manifest::{Fingerprint, head};
use crate::provider::{ProviderError, causes};

/// The public package index.
pub const INDEX: &str = "https://pypi.org/simple";
/// The public hub of models.
pub const HUB: &str = "https://huggingface.co";

/// How long a server may take to accept a connection, and to send the next piece.
const CONNECT_MAX: Duration = Duration::from_secs(20);
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// The longest page of a package index that is read.
const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The addresses of the servers; mirrors work as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The simple API of a Python package index.
    pub index: String,
    /// A Hugging Face hub.
    pub hub: String,
}

/// A file of a model's repository.
pub struct HubFile<'a> {
    /// The model, at a commit.
    pub model: &'a HubModel,
    /// The path in its repository.
    pub path: &'a str,
    /// Most bytes that it may have.
    pub bytes_max: u64,
}

/// Fetches files.
pub struct Fetcher {
    client: Client,
    addresses: Addresses,
}

/// The progress of a download: the file, and the bytes since the last report.
pub type Watch<'a> = dyn FnMut(&str, u64) + Send + 'a;

impl Fetcher {
    /// A fetcher for these addresses.
    ///
    /// # Errors
    /// The system's certificates cannot be used.
    pub fn new(addresses: Addresses) -> Result<Self, ProviderError> {
        let client = Client::builder()
            .connect_timeout(CONNECT_MAX)
            .read_timeout(SILENCE_MAX)
            .user_agent(concat!("cerebro/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| ProviderError::unusable(format!("cannot use the network: {}", causes(error))))?;
        Ok(Self { client, addresses })
    }

    /// Downloads the file of a source to `path`.
    ///
    /// # Errors
    /// No server has it, its bytes are not the pinned ones, or the disk does not take it.
    pub async fn fetch(
        &self,
        source: &Source,
        path: &Path,
        watch: &mut Watch<'_>,
    ) -> Result<(), ProviderError> {
        let (name, url) = self.locate(&source.location).await?;
        let response = self.get(url, name).await?;
        let Fingerprint { bytes, sha256 } = take(response, name, source.bytes, path, watch).await?;
        if bytes == source.bytes && sha256 == source.sha256 {
            return Ok(());
        }
        let difference = if bytes == source.bytes {
            format!("SHA-256 {} instead of {}", head(&sha256), head(source.sha256))
        } else {
            format!("{bytes} bytes or more instead of {}", source.bytes)
        };
        Err(ProviderError::unusable(format!(
            "what the server has as {name} is not the file that Cerebro knows: {difference}; nothing was installed"
        )))
    }

    /// The model at the commit to which its revision refers now, so that all its files are of one commit.
    ///
    /// # Errors
    /// The hub does not know it.
    pub async fn pinned(&self, wanted: &HubModel) -> Result<HubModel, ProviderError> {
        if wanted.is_commit() {
            return Ok(wanted.clone());
        }
        let HubModel { repository, revision, .. } = wanted;
        let url = address(&format!("{}/api/models/{repository}/revision/{revision}", self.hub()))?;
        let text = read_page(self.get(url, repository).await?, repository).await?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let commit = answer["sha"].as_str().filter(|commit| is_commit(commit)).ok_or_else(|| {
            ProviderError::unusable(format!(
                "the hub does not say which commit {revision} of {repository} is"
            ))
        })?;
        Ok(HubModel { revision: commit.to_owned(), ..wanted.clone() })
    }

    /// Downloads a file of a model's repository to `path`. Returns whether it exists.
    ///
    /// # Errors
    /// No server has it, it is longer than its bound, or the disk does not take it.
    pub async fn fetch_of_hub(
        &self,
        file: &HubFile<'_>,
        path: &Path,
        watch: &mut Watch<'_>,
    ) -> Result<bool, ProviderError> {
        let (model, name) = (file.model, file.path);
        let url = format!("{}/{}/resolve/{}/{name}", self.hub(), model.repository, model.revision);
        let response = self.send(address(&url)?, name).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        let response = sound(response, name)?;
        let found = take(response, name, file.bytes_max, path, watch).await?;
        if found.bytes > file.bytes_max {
            return Err(ProviderError::unusable(format!("{name} is longer than {} bytes", file.bytes_max)));
        }
        Ok(true)
    }

    fn hub(&self) -> &str {
        self.addresses.hub.trim_end_matches('/')
    }

    /// The name and address of a file.
    async fn locate(&self, location: &FileSource) -> Result<(&'static str, Url), ProviderError> {
        match *location {
            FileSource::Wheel { project, file } => {
                let page = address(&format!("{}/{project}/", self.addresses.index.trim_end_matches('/')))?;
                let response = self.get(page, project).await?;
                // Relative links are resolved against the final address after redirections.
                let base = response.url().clone();
                let text = read_page(response, project).await?;
                let link = link(&text, file).and_then(|link| base.join(&link).ok());
                let missing =
                    || ProviderError::unusable(format!("the package index has no file {file} of {project}"));
                Ok((file, link.ok_or_else(missing)?))
            }
            FileSource::Hub { repository, revision, path } => {
                let hub = self.hub();
                let name = path.rsplit('/').next().unwrap_or(path);
                Ok((name, address(&format!("{hub}/{repository}/resolve/{revision}/{path}"))?))
            }
        }
    }

    async fn get(&self, url: Url, what: &str) -> Result<Response, ProviderError> {
        sound(self.send(url, what).await?, what)
    }

    async fn send(&self, url: Url, what: &str) -> Result<Response, ProviderError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let sent = self.client.get(url).header("accept", "text/html, */*;q=0.5").send().await;
        sent.map_err(|error| unreachable(what, &host, error))
    }
}

/// The response, unless it is a refusal.
fn sound(response: Response, what: &str) -> Result<Response, ProviderError> {
    let host = response.url().host_str().unwrap_or_default().to_owned();
    response.error_for_status().map_err(|error| unreachable(what, &host, error))
}

fn unreachable(what: &str, host: &str, error: reqwest::Error) -> ProviderError {
    ProviderError::unusable(format!("cannot get {what} from {host}: {}", causes(error)))
}

/// Writes a response into `path` until it ends or exceeds `bytes_max`. Returns the fingerprint of what was written.
async fn take(
    mut response: Response,
    name: &str,
    bytes_max: u64,
    path: &Path,
    watch: &mut Watch<'_>,
) -> Result<Fingerprint, ProviderError> {
    let unwritable = |error: io::Error| unwritable(path, &error);
    let mut file = File::create(path).map_err(unwritable)?;
    let mut hash = Sha256::new();
    let mut bytes = 0;
    let broken =
        |error| ProviderError::unusable(format!("the download of {name} broke off: {}", causes(error)));
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        bytes += piece.len() as u64;
        if bytes > bytes_max {
            break;
        }
        hash.update(&piece);
        file.write_all(&piece).map_err(unwritable)?;
        watch(name, piece.len() as u64);
    }
    file.sync_all().map_err(unwritable)?;
    Ok(Fingerprint { bytes, sha256: cerebro_core::text::hex(&hash.finalize()) })
}

fn address(text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.ok_or_else(|| {
        ProviderError::unusable("the server's address is not one that begins http:// or https://")
    })
}

async fn read_page(mut response: Response, what: &str) -> Result<String, ProviderError> {
    let mut page = Vec::new();
    let broken =
        |error| ProviderError::unusable(format!("the list of {what}'s files broke off: {}", causes(error)));
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        page.extend_from_slice(&piece);
        if page.len() > PAGE_BYTES_MAX {
            return Err(ProviderError::unusable(format!("the list of {what}'s files is too long")));
        }
    }
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The link to a file on a page of a package index, by the file's name and without its fragment.
fn link(page: &str, file: &str) -> Option<String> {
    let links = Regex::new(r#"href\s*=\s*["']([^"'#]+)"#).ok()?;
    let hrefs = links.captures_iter(page).filter_map(|found| found.get(1));
    let names = |href: &str| href.rsplit('/').next().is_some_and(|name| name.split('?').next() == Some(file));
    hrefs.map(|href| href.as_str().replace("&amp;", "&")).find(|href| names(href))
}

fn unwritable(path: &Path, error: &io::Error) -> ProviderError {
    ProviderError::unusable(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_on_pages_of_every_index() {
        let page = r#"<a href="https://f.example/a/x-1.0.tar.gz#sha256=0">x</a>
            <a data-requires-python="&gt;=3" href="../../packages/x-1.0.whl#sha256=1" >x-1.0.whl</a>
            <a href='x-2.0.whl?t=1&amp;u=2'>x</a> <a href="not-x-1.0.whl">x</a>"#;
        assert_eq!(link(page, "x-1.0.whl").unwrap(), "../../packages/x-1.0.whl");
        assert_eq!(link(page, "x-2.0.whl").unwrap(), "x-2.0.whl?t=1&u=2");
        assert_eq!(link(page, "x-3.0.whl"), None);
    }

    #[test]
    fn an_address_is_one_of_the_web() {
        for bad in ["", "x", "file:///etc/passwd", "/simple"] {
            assert!(address(bad).is_err(), "{bad}");
        }
        assert!(address("http://127.0.0.1:1/simple").is_ok());
    }
}
