//! The secrets that are known by their form: one table.

use std::sync::LazyLock;

use regex::Regex;

/// One form of secret.
pub(super) struct Rule {
    /// Stands in the mark that replaces the secret.
    pub kind: &'static str,
    /// A literal, or alternatives of literals, that every such text contains: cheap to look for.
    gate: &'static str,
    /// What is searched; the group `secret` is what is replaced.
    pattern: &'static str,
    /// Whether what was found is a secret rather than a placeholder or prose.
    guard: fn(&str) -> bool,
    /// What it looks like, for people.
    #[cfg_attr(not(test), allow(dead_code))]
    form: &'static str,
}

/// A rule ready for use.
pub(super) struct Matcher {
    pub rule: &'static Rule,
    gate: Regex,
    pattern: Regex,
}

impl Matcher {
    /// Whether the text may hold such a secret.
    pub fn may_match(&self, text: &str) -> bool {
        self.gate.is_match(text)
    }

    /// The bytes of each secret in the text, in order. The search goes on behind the secret, not
    /// behind the whole match, so that what follows one secret can lead in the next.
    pub fn secrets<'a>(&'a self, text: &'a str) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
        let mut at = 0;
        std::iter::from_fn(move || {
            loop {
                let found = self.pattern.captures_at(text, at)?.name("secret")?;
                at = found.end();
                if (self.rule.guard)(found.as_str()) {
                    return Some(found.range());
                }
            }
        })
    }
}

/// All rules, compiled at first use. The patterns are constants, and a test compiles every one.
pub(super) static MATCHERS: LazyLock<Vec<Matcher>> = LazyLock::new(|| {
    let compiled = |rule: &'static Rule| {
        let (gate, pattern) = (Regex::new(rule.gate).ok()?, Regex::new(rule.pattern).ok()?);
        Some(Matcher { rule, gate, pattern })
    };
    RULES.iter().filter_map(compiled).collect()
});

/// Where two rules find the same text, the earlier one names it. Patterns begin with
/// `(?:^|[^A-Za-z0-9])` where their first letters could be the middle of a word or of base64, and
/// take every letter and digit that follows, so that nothing is left over that would match alone.
/// Word borders are those of ASCII: a token may stand right behind a letter of another script.
const RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        gate: "PRIVATE KEY",
        pattern: concat!(
            r"(?<secret>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:",
            // Closed.
            r"(?:[^-]|-{1,4}[^-])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
            // Unclosed: header lines, long lines of base64 (the line ends may be escaped), a last one.
            r#"|(?:(?:\s|\\[nrt]|[>|#*"'+,])+(?:[A-Za-z0-9-]+: [^\r\n\\]*|[A-Za-z0-9+/=]{20,}))+"#,
            r#"(?:(?:\r?\n|\\n)[ \t>|#]*[A-Za-z0-9+/]{1,76}={0,2}(?-u:\b{end-half}))?=*"#,
            r"))",
        ),
        guard: always,
        form: "a PEM, OpenSSH or PGP block, closed or not",
    },
    Rule {
        kind: "private-key",
        gate: "AGE-SECRET-KEY-1",
        pattern: "(?<secret>AGE-SECRET-KEY-1[0-9A-Z]{40}[A-Za-z0-9]*)",
        guard: always,
        form: "AGE-SECRET-KEY-1 and 58 letters",
    },
    Rule {
        kind: "aws-key",
        gate: "AKIA|ASIA",
        pattern: r"(?:^|[^A-Za-z0-9+/])(?<secret>A[KS]IA[A-Z0-9]{16}[A-Za-z0-9]*)",
        guard: always,
        form: "AKIA or ASIA and 16 letters",
    },
    Rule {
        kind: "aws-key",
        gate: "AKIA|ASIA",
        pattern: concat!(
            r"A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9+/]{1,8}",
            r"(?<secret>[A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        ),
        guard: always,
        form: "40 letters of base64 beside an access key id",
    },
    Rule {
        kind: "aws-key",
        gate: "(?i:access[_ .-]?key|aws[_ .-]?secret)",
        pattern: concat!(
            r"(?i:secret[_ .-]?access[_ .-]?key|aws[_ .-]?secret(?:[_ .-]?key)?)",
            r#"["'`]?\s{0,4}(?:[:=]|:=|=>|\bis\b)?\s{0,4}["'`]?"#,
            r"(?<secret>[A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        ),
        guard: always,
        form: "aws_secret_access_key = 40 letters of base64",
    },
    Rule {
        kind: "github-token",
        gate: "gh[pousr]_",
        pattern: "(?<secret>gh[pousr]_[A-Za-z0-9]{36,})",
        guard: always,
        form: "ghp_ (gho_, ghu_, ghs_, ghr_) and 36 letters",
    },
    Rule {
        kind: "github-token",
        gate: "github_pat_",
        pattern: "(?<secret>github_pat_[A-Za-z0-9_]{40,})",
        guard: has_digit,
        form: "github_pat_ and 82 letters",
    },
    Rule {
        kind: "gitlab-token",
        gate: "gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|oas)-",
        pattern: r"(?<secret>gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|oas)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*)",
        guard: has_digit,
        form: "glpat- and 20 letters",
    },
    Rule {
        kind: "slack-token",
        gate: "xox[abeoprs]-|xapp-",
        pattern: "(?<secret>(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,})",
        guard: has_digit,
        form: "xoxb- (xoxa-, xoxp-, …, xapp-) and groups of letters",
    },
    Rule {
        kind: "slack-webhook",
        gate: r"hooks\.slack\.com/",
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/(?<secret>[A-Za-z0-9/_+-]{20,})",
        guard: has_digit,
        form: "https://hooks.slack.com/services/ and a path",
    },
    Rule {
        kind: "discord-webhook",
        gate: "/webhooks/",
        pattern: r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/(?<secret>[0-9]{10,}/[A-Za-z0-9_-]{20,})",
        guard: always,
        form: "https://discord.com/api/webhooks/ and a number and a path",
    },
    Rule {
        kind: "stripe-key",
        gate: "[sr]k_(?:live|test)_|whsec_",
        pattern: "(?<secret>(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,})",
        guard: has_digit,
        form: "sk_live_ (rk_live_, sk_test_, whsec_) and 24 letters",
    },
    Rule {
        kind: "anthropic-key",
        gate: "sk-ant-",
        pattern: "(?<secret>sk-ant-[A-Za-z0-9_-]{20,})",
        guard: has_digit,
        form: "sk-ant-api03- and 95 letters",
    },
    Rule {
        kind: "openai-key",
        gate: "sk-",
        pattern: concat!(
            r"(?:^|[^A-Za-z0-9])(?<secret>sk-",
            r"(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20,}[A-Za-z0-9_-]*))",
        ),
        guard: has_digit,
        form: "sk- or sk-proj- and 48 letters or more",
    },
    Rule {
        kind: "google-key",
        gate: "AIza",
        pattern: "(?:^|[^A-Za-z0-9+/])(?<secret>AIza[A-Za-z0-9_-]{35,})",
        guard: always,
        form: "AIza and 35 letters",
    },
    Rule {
        kind: "google-key",
        gate: r"ya29\.|GOCSPX-",
        pattern: r"(?<secret>(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*)",
        guard: has_digit,
        form: "ya29. (an OAuth token) or GOCSPX- (a client's secret)",
    },
    Rule {
        kind: "npm-token",
        gate: "npm_",
        pattern: "(?<secret>npm_[A-Za-z0-9]{36,})",
        guard: always,
        form: "npm_ and 36 letters",
    },
    Rule {
        kind: "pypi-token",
        gate: "pypi-",
        pattern: "(?<secret>pypi-[A-Za-z0-9_-]{40,})",
        guard: has_digit_and_capital,
        form: "pypi- and 150 letters or more",
    },
    Rule {
        kind: "crates-token",
        gate: "cio",
        pattern: r"(?:^|[^A-Za-z0-9+/])(?<secret>cio[A-Za-z0-9]{32,})",
        guard: has_digit,
        form: "cio and 32 letters",
    },
    Rule {
        kind: "huggingface-token",
        gate: "hf_|api_org_",
        pattern: "(?<secret>(?:hf|api_org)_[A-Za-z0-9]{30,})",
        guard: always,
        form: "hf_ and 34 letters",
    },
    Rule {
        kind: "twilio-key",
        gate: "SK",
        pattern: r"(?:^|[^A-Za-z0-9+/])(?<secret>SK[0-9a-f]{32}[A-Za-z0-9]*)",
        guard: has_digit,
        form: "SK and 32 hexadecimal digits",
    },
    Rule {
        kind: "sendgrid-key",
        gate: r"SG\.",
        pattern: r"(?:^|[^A-Za-z0-9])(?<secret>SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
        guard: has_digit,
        form: "SG. and two parts of 22 and 43 letters",
    },
    Rule {
        kind: "digitalocean-token",
        gate: "do[opr]_v1_",
        pattern: "(?<secret>do[opr]_v1_[A-Fa-f0-9]{40}[A-Za-z0-9]*)",
        guard: always,
        form: "dop_v1_ and 64 hexadecimal digits",
    },
    Rule {
        kind: "databricks-token",
        gate: "dapi",
        pattern: r"(?:^|[^A-Za-z0-9+/])(?<secret>dapi[0-9a-f]{32}[A-Za-z0-9]*(?:-[0-9]+)?)",
        guard: has_digit,
        form: "dapi and 32 hexadecimal digits",
    },
    Rule {
        kind: "telegram-token",
        gate: ":AA",
        pattern: "(?<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{32,})",
        guard: always,
        form: "the bot's number, a colon, AA and 33 letters",
    },
    Rule {
        kind: "azure-key",
        gate: "(?i:AccountKey|SharedAccessKey)",
        pattern: r"(?i:AccountKey|SharedAccessKey)\s?=\s?(?<secret>[A-Za-z0-9+/]{40,}={0,2})",
        guard: always,
        form: "AccountKey= and 88 letters of base64",
    },
    Rule {
        kind: "shopify-token",
        gate: "shp(?:at|ca|pa|ss)_",
        pattern: "(?<secret>shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}[A-Za-z0-9]*)",
        guard: always,
        form: "shpat_ and 32 hexadecimal digits",
    },
    Rule {
        kind: "vault-token",
        gate: r"hv[sbr]\.",
        pattern: r"(?:^|[^A-Za-z0-9])(?<secret>hv[sbr]\.[A-Za-z0-9_-]{20,})",
        guard: has_digit,
        form: "hvs. and 24 letters or more",
    },
    Rule {
        kind: "grafana-token",
        gate: "gl(?:sa|c)_",
        pattern: "(?<secret>gl(?:sa|c)_[A-Za-z0-9_+/=]{32,})",
        guard: has_digit,
        form: "glsa_ and 41 letters",
    },
    Rule {
        kind: "linear-key",
        gate: "lin_(?:api|oauth)_",
        pattern: "(?<secret>lin_(?:api|oauth)_[A-Za-z0-9]{32,})",
        guard: always,
        form: "lin_api_ and 40 letters",
    },
    Rule {
        kind: "api-key",
        gate: "dckr_|gsk_|xai-|pplx-|r8_|sbp_|sntry|figd_|tskey-|rubygems_|NRAK-|ATATT3|PMAK-|ntn_|pscale_|tvly-|nvapi-|HRKU-|CCIPAT_|lsv2_",
        pattern: concat!(
            r"(?:^|[^A-Za-z0-9+/])(?<secret>(?:dckr_[po]at_|gsk_|xai-|pplx-|r8_|sbp_|sntry[su]_|figd_|",
            r"tskey-(?:api|auth|client)-|rubygems_|NRAK-|ATATT3|PMAK-|ntn_|pscale_tkn_|tvly-|nvapi-|HRKU-|CCIPAT_|",
            r"lsv2_(?:pt|sk)_)",
            r"[A-Za-z0-9_=-]{24,})",
        ),
        guard: has_digit,
        form: "the prefixed keys of Docker, Groq, xAI, Perplexity, Replicate, Supabase, Sentry, Figma, …",
    },
    Rule {
        kind: "api-key",
        gate: r"ATBB|nfp_|pul-|phx_|rnd_|bkua_|dp\.(?:pt|st|ct|sa)\.|fm2_|sq0(?:atp|csp)-",
        // Letters only at first: what goes on with `_` or `-` is more often a name.
        pattern: concat!(
            r"(?:^|[^A-Za-z0-9+/])(?<secret>(?:ATBB|nfp_|pul-|phx_|rnd_|bkua_|dp\.(?:pt|st|ct|sa)\.|fm2_|",
            r"sq0(?:atp|csp)-)[A-Za-z0-9]{20,}[A-Za-z0-9+/_=-]*)",
        ),
        guard: has_digit,
        form: "the prefixed keys of Bitbucket, Netlify, Pulumi, PostHog, Render, Buildkite, Doppler, Fly, Square",
    },
    Rule {
        kind: "terraform-token",
        gate: r"\.atlasv1\.",
        pattern: r"(?:^|[^A-Za-z0-9])(?<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{32,})",
        guard: always,
        form: "14 letters, .atlasv1. and 67 letters",
    },
    Rule {
        kind: "url-password",
        gate: "://",
        pattern: r#"://[^\s/:"'<>`]*:(?<secret>[^\s/"'<>`]+)@"#,
        guard: is_password,
        form: "scheme://user:password@host",
    },
    Rule {
        kind: "jwt",
        gate: "eyJ",
        pattern: concat!(
            r"(?:^|[^A-Za-z0-9+/])",
            r"(?<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){1,3})",
        ),
        guard: always,
        form: "three parts of base64url, the first of which is a JSON object",
    },
    Rule {
        kind: "bearer",
        gate: "(?i:authorization)",
        pattern: concat!(
            r#"(?i:authorization)["'`]?\s{0,4}[:=,]\s{0,4}["'`]?(?i:bearer|token)\s{1,4}"#,
            r"(?<secret>[A-Za-z0-9._~+/=-]{4,})",
        ),
        guard: is_credential,
        form: "Authorization: Bearer and a token",
    },
    Rule {
        kind: "bearer",
        gate: "(?i:bearer)",
        pattern: r#"(?i:bearer)["'`]?[\s:=]{1,4}["'`]?(?<secret>[A-Za-z0-9._~+/=-]{20,})"#,
        guard: has_digit,
        form: "bearer and 20 letters of a token or more",
    },
    Rule {
        kind: "basic",
        gate: "(?i:authorization)",
        pattern: concat!(
            r#"(?i:authorization)["'`]?\s{0,4}[:=,]\s{0,4}["'`]?(?i:basic)\s{1,4}"#,
            r"(?<secret>[A-Za-z0-9+/=_-]{4,})",
        ),
        guard: is_credential,
        form: "Authorization: Basic and base64",
    },
    Rule {
        kind: "basic",
        gate: "(?i:basic)",
        pattern: r"(?:^|[^A-Za-z0-9])(?i:basic)\s{1,4}(?<secret>[A-Za-z0-9+/]{6,}={0,2})",
        guard: is_user_and_password,
        form: "basic and the base64 of user:password",
    },
];

fn always(_: &str) -> bool {
    true
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit())
}

fn has_digit_and_capital(text: &str) -> bool {
    has_digit(text) && text.bytes().any(|b| b.is_ascii_uppercase())
}

/// Not a variable (`$PW`, `${PW}`, `{{pw}}`, `%s`), a row of stars, or a port before other text
/// that happens to hold an `@`.
fn is_password(text: &str) -> bool {
    let blanked = text.chars().all(|c| matches!(c, '*' | '.' | '•' | '…' | 'x' | 'X'));
    let name = text.strip_prefix('$').unwrap_or(text);
    let braced = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let variable = braced.is_some_and(|name| !name.is_empty() && !name.contains('@'))
        || (name.len() < text.len() && !name.is_empty() && is_name(name))
        || text == "%s";
    let behind_port = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_port = (1..=5).contains(&(text.len() - behind_port.len()))
        && behind_port.starts_with(['?', '#', ',', ';', ')', ']', '}', '|', '&']);
    !(blanked || variable || is_port)
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

/// Words that follow a scheme in prose and examples rather than in a header.
const PROSE: [&str; 16] = [
    "token", "tokens", "auth", "authentication", "authorization", "authorisation", "credential",
    "credentials", "header", "headers", "scheme", "schemes", "access", "access_token", "base64",
    "your-token",
];

/// Behind the name of its header, anything is a credential but prose and a placeholder in capitals.
fn is_credential(text: &str) -> bool {
    let word = text.trim_end_matches(['.', '=', '-', '/', '~']).to_ascii_lowercase();
    let capitals = text.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'-' | b'.'));
    let blanked = text.bytes().all(|b| matches!(b, b'.' | b'x' | b'X' | b'-' | b'_'));
    !(capitals || blanked || PROSE.contains(&word.as_str()))
}

/// Whether base64 stands for printable text with a colon in it.
fn is_user_and_password(base64: &str) -> bool {
    let Some(bytes) = decode_base64(base64) else { return false };
    let Ok(text) = String::from_utf8(bytes) else { return false };
    text.contains(':') && !text.contains(char::is_control)
}

/// The bytes that standard base64 stands for, its padding optional.
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
    fn every_rule_compiles_and_is_told() {
        assert_eq!(MATCHERS.len(), RULES.len());
        for matcher in MATCHERS.iter() {
            assert!(
                matcher.pattern.capture_names().flatten().any(|name| name == "secret"),
                "{}",
                matcher.rule.kind
            );
            assert!(!matcher.rule.form.is_empty());
        }
    }

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
