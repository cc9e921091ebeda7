//! Access control: only the browser that opens the link first is admitted.
//!
//! The browser exchanges the link's key once for a cookie, which scripts cannot read and which requests from other
//! sites do not carry. Browsers send a cookie to every port of a machine, so each form must also carry a token that only
//! Cerebro's pages contain. Host and origin were checked before ([`cerebro_net::Guard`]).

use std::{collections::HashMap, sync::Mutex};

use axum::{
    Form,
    extract::{FromRequest, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use subtle::ConstantTimeEq as _;

use super::{Shared, failure::Failure};
use cerebro_core::sync::lock;
use cerebro_store::secret;

/// The field of a form that holds the token.
const TOKEN: &str = "token";
/// The headers of every answer. Nothing is loaded from other hosts, no script or style in a text runs, no other page
/// can frame it, and it is not cached. Requests from Cerebro's pages name their source, because forms need `Origin`.
static HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The secrets of an open page. Nothing prints them.
pub(super) struct Access {
    /// The key of the latest link, until it is used.
    key: Mutex<Option<String>>,
    /// The name of the cookie, which includes the port.
    name: String,
    cookie: String,
    token: String,
}

/// Compares two secrets in constant time.
fn same(given: &str, own: &str) -> bool {
    given.as_bytes().ct_eq(own.as_bytes()).into()
}

impl Access {
    /// New secrets, without a key.
    pub(super) fn new(port: u16) -> Self {
        Self { key: Mutex::default(), name: format!("cerebro_{port}"), cookie: secret(), token: secret() }
    }

    /// A key for one more browser. It replaces an earlier key that was not used.
    pub(super) fn new_key(&self) -> String {
        let key = secret();
        *lock(&self.key) = Some(key.clone());
        key
    }

    /// The token of the page's forms.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Whether the key is right. Each key works only once.
    fn unlock(&self, key: &str) -> bool {
        let mut held = lock(&self.key);
        let fits = held.as_deref().is_some_and(|own| same(key, own));
        if fits {
            *held = None;
        }
        fits
    }

    /// Whether a request carries the cookie.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.name && same(value, &self.cookie))
    }

    fn set_cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.name, self.cookie)
    }
}

/// The key in a link.
fn key_of(request: &Request) -> Option<String> {
    let query =
        request.uri().query().filter(|_| request.uri().path() == "/" && request.method() == Method::GET)?;
    query.split('&').find_map(|part| part.strip_prefix("key=")).map(str::to_owned)
}

/// Admits the browser that has the key or the cookie.
pub(super) async fn admit(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let access = &shared.access;
    if let Some(key) = key_of(&request) {
        if access.unlock(&key) {
            return ([(header::SET_COOKIE, access.set_cookie())], Redirect::to("/")).into_response();
        }
        // A browser that was admitted before opened the link again.
        if access.knows(request.headers()) {
            return Redirect::to("/").into_response();
        }
        return Failure::used_link().into_response();
    }
    if !access.knows(request.headers()) {
        return Failure::no_cookie().into_response();
    }
    next.run(request).await
}

/// Adds the headers of every answer.
pub(super) async fn seal(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in &HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The fields of a form. There is no other access to a form's fields, so none is read without a check of its token.
pub(super) struct Posted(HashMap<String, String>);

impl Posted {
    /// A field, with the line ends of this machine; empty if it is missing.
    pub(super) fn field(&self, name: &str) -> String {
        self.0.get(name).map(|value| value.replace("\r\n", "\n")).unwrap_or_default()
    }
}

impl FromRequest<Shared> for Posted {
    type Rejection = Failure;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Failure> {
        let form = Form::<HashMap<String, String>>::from_request(request, shared).await;
        let Form(fields) = form.map_err(|error| {
            Failure::new(error.status(), "This form could not be read.", error.body_text())
        })?;
        let own = fields.get(TOKEN).is_some_and(|token| same(token, shared.access.token()));
        if own {
            return Ok(Self(fields));
        }
        let words = "It was not sent by this page, or the page was closed and opened again in between.";
        Err(Failure::new(StatusCode::FORBIDDEN, "This form was not accepted.", words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_fits_once() {
        let access = Access::new(1);
        assert!(!access.unlock(""), "there is no key yet");
        let unused = access.new_key();
        let key = access.new_key();
        assert!(!access.unlock("") && !access.unlock(&key[1..]) && !access.unlock(&unused));
        assert!(access.unlock(&key));
        assert!(!access.unlock(&key));
        assert!(access.unlock(&access.new_key()));
    }

    #[test]
    fn only_its_own_cookie_is_known() {
        let access = Access::new(4317);
        let knows = |cookie: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, cookie.parse().unwrap());
            access.knows(&headers)
        };
        let own = format!("cerebro_4317={}", access.cookie);
        assert!(knows(&own) && knows(&format!("a=b; {own}; c=d")));
        for other in
            ["", "cerebro_4317=", "cerebro_4317", &format!("cerebro_1={}", access.cookie), &own[..20]]
        {
            assert!(!knows(other), "{other}");
        }
        assert!(!access.knows(&HeaderMap::new()));
    }

    #[test]
    fn secrets_differ_from_each_other() {
        let access = Access::new(1);
        let key = access.new_key();
        assert!(access.token != key && access.cookie != key && access.cookie != access.token);
        assert_ne!(access.cookie, Access::new(1).cookie);
    }
}
