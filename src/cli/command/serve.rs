//! `cerebro serve`: MCP over HTTP, while the command runs.

use clap::value_parser;

use super::endpoint::Endpoint;
use super::prelude::*;
use crate::answer::listeners::Http;
use crate::mcp::{HTTP_ADDRESS, HTTP_RATE, HTTP_RATE_MAX, HttpOptions};

/// Names the token, instead of the home's file.
const TOKEN_VARIABLE: &str = "CEREBRO_HTTP_TOKEN";

/// Serve MCP over HTTP, for agents on other machines
///
/// The daemon listens while this command runs. Callers send a token, `Authorization: Bearer …`: that of the variable
/// `CEREBRO_HTTP_TOKEN`, or the one in the home's file http.token, which is created on first use. Their project is the
/// call's `project`, otherwise the header `x-cerebro-project`, otherwise `general`. There is no TLS: put a proxy with TLS in
/// front where you do not trust the network.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    http: HttpArgs,
    /// Close the listener that another command opened
    #[arg(long, conflicts_with_all = ["http", "hosts", "origins", "rate", "no_token"])]
    stop: bool,
}

/// How to listen.
#[derive(Debug, Args)]
pub struct HttpArgs {
    /// Listen on this address and port [default: 127.0.0.1:8765]
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Also answer requests to this host name, in addition to localhost and the address; can be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Let web pages of this origin call, such as `https://app.example.org`; can be repeated
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Answer N requests per second on average, and bursts of four times as many
    #[arg(long, value_name = "N", default_value_t = HTTP_RATE,
          value_parser = value_parser!(u32).range(1..=i64::from(HTTP_RATE_MAX)))]
    rate: u32,
    /// Require no token; only on loopback
    #[arg(long)]
    no_token: bool,
}

impl HttpArgs {
    /// Whether an address was named.
    pub(super) fn is_given(&self) -> bool {
        self.http.is_some()
    }

    /// The same for the daemon, with the token of this process's environment.
    pub(super) fn options(&self) -> HttpOptions {
        HttpOptions {
            address: self.http.clone().unwrap_or_else(|| HTTP_ADDRESS.to_owned()),
            token: std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()),
            no_token: self.no_token,
            hosts: self.hosts.clone(),
            origins: self.origins.clone(),
            rate: self.rate,
        }
    }
}

const HTTP: Endpoint<of::HttpStatus, of::HttpClose> = Endpoint {
    status: of::HttpStatus,
    close: of::HttpClose,
    open: "open until this command is interrupted (Ctrl-C)",
    ended: "it was closed by `cerebro serve --stop`",
    closed: "HTTP is no longer served",
    none: "HTTP was not served",
};

pub async fn run(context: &CommandContext, args: ServeArgs) -> Result<()> {
    if args.stop {
        return HTTP.stop(context).await;
    }
    let options = args.http.options();
    if !is_loopback(&options.address) {
        context.output.warn(
            "other machines may reach this address, and nothing is encrypted: put a proxy with TLS in front of it if you do \
             not trust the network",
        );
    }
    let request = Request::new(of::HttpOpen).given(json!({
        "address": options.address, "token": options.token, "no_token": options.no_token,
        "hosts": options.hosts, "origins": options.origins, "rate": options.rate,
    }));
    HTTP.hold(context, request, |http| facts(http, options.no_token)).await
}

/// Whether only this machine reaches an address, or nobody: the daemon refuses one without a port.
fn is_loopback(address: &str) -> bool {
    let Some((host, _)) = address.rsplit_once(':') else { return true };
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn facts(http: &Http, no_token: bool) -> Vec<(&'static str, String)> {
    let token = match &http.token_file {
        Some(file) => format!("in {}", file.raw()),
        None if no_token => "none is required: every user of this machine may call".to_owned(),
        None => format!("that of {TOKEN_VARIABLE}"),
    };
    vec![
        ("MCP", shown(&http.url)),
        ("token", token),
        ("health", shown(&http.health)),
        ("metrics", shown(&http.metrics)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_distinguished_from_others() {
        for (address, is_own) in [
            ("127.0.0.1:8765", true),
            ("[::1]:8765", true),
            ("localhost:1", true),
            ("0.0.0.0:8765", false),
            ("192.168.1.2:8765", false),
            ("[::]:8765", false),
            ("8765", true),
        ] {
            assert_eq!(is_loopback(address), is_own, "{address}");
        }
    }
}
