//! The answers about what the daemon listens on while a command holds it open.

use std::ops::Not;

use serde::{Deserialize, Serialize};

use super::Text;

/// `op_studio_open`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Studio {
    #[serde(flatten)]
    pub access: Access,
    /// The path of the file that contains the access while the endpoint is open.
    pub file: Text,
}

/// How to connect to the live endpoint.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Access {
    /// The address for Surrealist, and for other clients.
    pub endpoint: Text,
    pub rpc: Text,
    pub namespace: Text,
    pub database: Text,
    pub user: Text,
    /// A new one each time.
    pub password: Text,
}

/// `op_http_open`: its addresses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Http {
    pub url: Text,
    pub health: Text,
    pub metrics: Text,
    /// The path of the file with the token; none if the caller gave a token, or none is needed.
    pub token_file: Option<Text>,
}

/// `op_web_open`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Web {
    pub address: Text,
    /// It works once.
    pub link: Text,
    /// Whether another command had opened the page, with which it closes.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub already_open: bool,
}

/// `op_studio_status`, `op_http_status` and `op_web_status`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Status {
    /// Whether what this connection opened is open.
    pub open: bool,
}

/// `op_studio_close`, `op_http_close` and `op_web_close`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Closed {
    /// Whether it was open.
    pub closed: bool,
}
