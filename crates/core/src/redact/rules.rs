//! The table of secrets that are recognised by their form.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    value::{is_placeholder, mixes_cases},
    wrapped::lines_of_base64,
};

/// One form of secret.
pub(super) struct Rule {
    /// The kind in the mark that replaces the secret.
    pub kind: &'static str,
    /// Literals, one of which occurs in every such secret, in any case. One search finds those of all rules.
    pub anchors: &'static [&'static str],
    /// What may come before the anchor, and where the pattern begins.
    before: Before,
    /// The regular expression. The group `secret` is replaced.
    pattern: &'static str,
    /// Whether the match is a secret rather than a placeholder or prose.
    guard: fn(&str) -> bool,
    /// An example of the form, for people; docs/redaction.md repeats it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the documentation is tested against it"))]
    form: &'static str,
}

/// What may come before an anchor. Only ASCII counts: a token may follow a letter of another script.
enum Before {
    Anything,
    /// No letter or digit.
    NoWord,
    /// No letter, digit, `+` or `/`, so that the anchor is not the middle of base64. The `/` of a path may.
    NoBase64,
    /// As `NoBase64`. The pattern begins with a run of any length, so a failed match is not tried again inside that
    /// run.
    NoBase64OncePerRun,
    /// Lines of base64, at least one of them long, up to the line of the anchor. The pattern begins with the first line.
    LinesOfBase64,
    /// `least` to `most` bytes that belong to the secret. A longer run is refused if these must be the `whole` run.
    Run {
        of: fn(u8) -> bool,
        least: usize,
        most: usize,
        whole: bool,
    },
}

impl Before {
    /// Where the pattern begins, if the text before the anchor at `at` is allowed.
    fn start(&self, text: &str, at: usize) -> Option<usize> {
        let last = text.as_bytes()[..at].last();
        match self {
            Self::Anything => Some(at),
            Self::NoWord | Self::NoBase64 | Self::NoBase64OncePerRun if ends_with_escape(&text[..at]) => {
                Some(at)
            }
            Self::NoWord => (!last.is_some_and(u8::is_ascii_alphanumeric)).then_some(at),
            Self::NoBase64 | Self::NoBase64OncePerRun => {
                let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
                (!last.is_some_and(is_base64) || ends_a_path(&text[..at])).then_some(at)
            }
            Self::LinesOfBase64 => lines_of_base64(text, at),
            Self::Run { of, least, most, whole } => {
                let bytes = text.as_bytes()[..at].iter().rev();
                let count = bytes.take(most + 1).take_while(|b| of(**b)).count();
                let is_escape = count > 0 && ends_with_escape(&text[..=at - count]);
                let count = count - usize::from(is_escape);
                (count >= *least && !(*whole && count > *most)).then(|| at - count.min(*most))
            }
        }
    }
}

/// Whether a text ends with a line end or a tab that is written as an escape: its letter belongs to no word.
fn ends_with_escape(text: &str) -> bool {
    [r"\n", r"\r", r"\t"].iter().any(|escape| text.ends_with(escape))
}

/// Most bytes before an anchor that are read to distinguish a path from base64.
const PATH_BYTES_MAX: usize = 64;

/// Whether a text ends with the `/` of a path, as in `/srv/demo/`, and not with one of base64: each of its names is a word,
/// not a mixture of capitals, small letters and digits.
fn ends_a_path(text: &str) -> bool {
    let Some(before) = text.strip_suffix('/') else { return false };
    let before = before.as_bytes();
    let before = &before[before.len().saturating_sub(PATH_BYTES_MAX)..];
    let begin = before.iter().rposition(|b| !is_letter_or_digit(*b) && *b != b'/').map_or(0, |at| at + 1);
    before[begin..].split(|b| *b == b'/').all(|name| {
        let has = |of: fn(&u8) -> bool| name.iter().any(of);
        !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit))
    })
}

/// A rule ready for use.
pub(super) struct Matcher {
    pub rule: &'static Rule,
    pattern: Regex,
}

impl Matcher {
    /// The secret at an anchor of the rule, and the position from which the next anchor of this rule counts: after
    /// the examined text, so that the work stays linear.
    pub fn secret(&self, text: &str, anchor: usize) -> (Option<Range<usize>>, usize) {
        let Some(start) = self.rule.before.start(text, anchor) else { return (None, anchor) };
        let text_here = &text[start..];
        // `is_match` is several times cheaper than finding the captures.
        let matches = self.pattern.is_match(text_here);
        let found = if matches { self.pattern.captures(text_here) } else { None };
        let found = found.and_then(|found| found.name("secret"));
        let Some(found) = found else {
            let once_per_run = matches!(self.rule.before, Before::NoBase64OncePerRun);
            let run =
                text.as_bytes()[anchor..].iter().take_while(|b| once_per_run && is_base64_url(**b)).count();
            return (None, anchor + run);
        };
        let range = start + found.start()..start + found.end();
        let end = range.end;
        ((self.rule.guard)(found.as_str()).then_some(range), end)
    }
}

/// All rules, compiled at first use. The patterns are constants, and a test compiles each of them.
pub(super) static MATCHERS: LazyLock<Vec<Matcher>> = LazyLock::new(|| {
    let compiled = |rule: &'static Rule| {
        let pattern = Regex::new(&format!(r"\A(?:{})", rule.pattern)).ok()?;
        Some(Matcher { rule, pattern })
    };
    RULES.iter().filter_map(compiled).collect()
});

/// What a line of armour around a private key says, wherever that line was wrapped.
macro_rules! private_key {
    () => {
        concat!(
            r"[A-Z0-9\s]{0,40}?P\s*R\s*I\s*V\s*A\s*T\s*E\s*K\s*E\s*Y(?:\s*B\s*L\s*O\s*C\s*K)?",
            r"\s*(?:-\s*){4}-",
        )
    };
}

/// Where two rules find the same text, the earlier one gives the kind.
const RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        anchors: &["-----BEGIN "],
        before: Before::Anything,
        pattern: concat!(
            r"(?<secret>-----BEGIN ",
            private_key!(),
            "(?:",
            // Closed.
            r"(?:[^-]|-{1,4}[^-])*-----END ",
            private_key!(),
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
        anchors: &["-----END "],
        before: Before::LinesOfBase64,
        pattern: concat!(r"(?<secret>(?:[^-]|-{1,4}[^-])*-----END ", private_key!(), ")"),
        guard: always,
        form: "the end of such a block, with its lines of base64",
    },
    Rule {
        kind: "private-key",
        anchors: &["AGE-SECRET-KEY-1"],
        before: Before::Anything,
        pattern: "(?<secret>AGE-SECRET-KEY-1[0-9A-Z]{40}[A-Za-z0-9]*)",
        guard: always,
        form: "AGE-SECRET-KEY-1 and 58 letters",
    },
    Rule {
        kind: "aws-key",
        anchors: &["AKIA", "ASIA"],
        before: Before::NoBase64,
        pattern: r"(?<secret>A[KS]IA[A-Z0-9]{16}[A-Za-z0-9]*)",
        guard: is_no_example,
        form: "AKIA or ASIA and 16 letters",
    },
    Rule {
        kind: "aws-key",
        anchors: &["AKIA", "ASIA"],
        before: Before::Anything,
        pattern: concat!(
            r"A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9+/]{1,8}",
            r"(?<secret>[A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        ),
        guard: is_no_example,
        form: "40 letters of base64 beside an access key id",
    },
    Rule {
        kind: "aws-key",
        anchors: &["secret", "aws_secret", "aws-secret", "aws.secret", "aws secret", "awssecret"],
        before: Before::Anything,
        pattern: concat!(
            r"(?i:secret[_ .-]?access[_ .-]?key|aws[_ .-]?secret(?:[_ .-]?key)?)",
            r#"["'`]?\s{0,4}(?:[:=]|:=|=>|\bis\b)?\s{0,4}["'`]?"#,
            r"(?<secret>[A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        ),
        guard: is_no_example,
        form: "aws_secret_access_key = 40 letters of base64",
    },
    Rule {
        kind: "github-token",
        anchors: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        before: Before::Anything,
        pattern: "(?<secret>gh[pousr]_[A-Za-z0-9]{36,})",
        guard: always,
        form: "ghp_ (gho_, ghu_, ghs_, ghr_) and 36 letters",
    },
    Rule {
        kind: "github-token",
        anchors: &["github_pat_"],
        before: Before::Anything,
        pattern: "(?<secret>github_pat_[A-Za-z0-9_]{40,})",
        guard: is_drawn,
        form: "github_pat_ and 82 letters",
    },
    Rule {
        kind: "gitlab-token",
        anchors: &["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "gloas-"],
        before: Before::Anything,
        pattern: r"(?<secret>gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|oas)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*)",
        guard: is_drawn,
        form: "glpat- and 20 letters",
    },
    Rule {
        kind: "slack-token",
        anchors: &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        before: Before::Anything,
        pattern: "(?<secret>(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,})",
        guard: is_drawn,
        form: "xoxb- (xoxa-, xoxp-, …, xapp-) and groups of letters",
    },
    Rule {
        kind: "slack-webhook",
        anchors: &["hooks.slack.com/"],
        before: Before::Anything,
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/(?<secret>[A-Za-z0-9/_+-]{20,})",
        guard: is_drawn,
        form: "https://hooks.slack.com/services/ and a path",
    },
    Rule {
        kind: "discord-webhook",
        anchors: &["discord.com/", "discordapp.com/"],
        before: Before::Anything,
        pattern: r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/(?<secret>[0-9]{10,}/[A-Za-z0-9_-]{20,})",
        guard: always,
        form: "https://discord.com/api/webhooks/ and a number and a path",
    },
    Rule {
        kind: "stripe-key",
        anchors: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        before: Before::Anything,
        pattern: "(?<secret>(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,})",
        guard: is_drawn,
        form: "sk_live_ (rk_live_, sk_test_, whsec_) and 24 letters",
    },
    Rule {
        kind: "anthropic-key",
        anchors: &["sk-ant-"],
        before: Before::Anything,
        pattern: "(?<secret>sk-ant-[A-Za-z0-9_-]{20,})",
        guard: is_drawn,
        form: "sk-ant-api03- and 95 letters",
    },
    Rule {
        kind: "openai-key",
        anchors: &["sk-"],
        before: Before::NoWord,
        pattern: concat!(
            r"(?<secret>sk-",
            r"(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{20,}|[A-Za-z0-9]{20,}[A-Za-z0-9_-]*))",
        ),
        guard: is_drawn,
        form: "sk- or sk-proj- and 48 letters or more",
    },
    Rule {
        kind: "google-key",
        anchors: &["AIza"],
        before: Before::NoBase64,
        pattern: "(?<secret>AIza[A-Za-z0-9_-]{35,})",
        guard: always,
        form: "AIza and 35 letters",
    },
    Rule {
        kind: "google-key",
        anchors: &["ya29.", "GOCSPX-"],
        before: Before::Anything,
        pattern: r"(?<secret>(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*)",
        guard: is_drawn,
        form: "ya29. (an OAuth token) or GOCSPX- (a client's secret)",
    },
    Rule {
        kind: "npm-token",
        anchors: &["npm_"],
        before: Before::Anything,
        pattern: "(?<secret>npm_[A-Za-z0-9]{36,})",
        guard: always,
        form: "npm_ and 36 letters",
    },
    Rule {
        kind: "pypi-token",
        anchors: &["pypi-"],
        before: Before::Anything,
        pattern: "(?<secret>pypi-[A-Za-z0-9_-]{40,})",
        guard: is_drawn_with_capital,
        form: "pypi- and 150 letters or more",
    },
    Rule {
        kind: "crates-token",
        anchors: &["cio"],
        before: Before::NoBase64,
        pattern: r"(?<secret>cio[A-Za-z0-9]{32,})",
        guard: is_drawn,
        form: "cio and 32 letters",
    },
    Rule {
        kind: "huggingface-token",
        anchors: &["hf_", "api_org_"],
        before: Before::Anything,
        pattern: "(?<secret>(?:hf|api_org)_[A-Za-z0-9]{30,})",
        guard: always,
        form: "hf_ and 34 letters",
    },
    Rule {
        kind: "twilio-key",
        anchors: &["SK"],
        before: Before::NoBase64,
        pattern: r"(?<secret>SK[0-9a-f]{32}[A-Za-z0-9]*)",
        guard: is_drawn,
        form: "SK and 32 hexadecimal digits",
    },
    Rule {
        kind: "sendgrid-key",
        anchors: &["SG."],
        before: Before::NoWord,
        pattern: r"(?<secret>SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
        guard: is_drawn,
        form: "SG. and two parts of 22 and 43 letters",
    },
    Rule {
        kind: "digitalocean-token",
        anchors: &["dop_v1_", "doo_v1_", "dor_v1_"],
        before: Before::Anything,
        pattern: "(?<secret>do[opr]_v1_[A-Fa-f0-9]{40}[A-Za-z0-9]*)",
        guard: always,
        form: "dop_v1_ and 64 hexadecimal digits",
    },
    Rule {
        kind: "databricks-token",
        anchors: &["dapi"],
        before: Before::NoBase64,
        pattern: r"(?<secret>dapi[0-9a-f]{32}[A-Za-z0-9]*(?:-[0-9]+)?)",
        guard: is_drawn,
        form: "dapi and 32 hexadecimal digits",
    },
    Rule {
        kind: "telegram-token",
        anchors: &[":AA"],
        before: Before::Run { of: is_digit, least: 8, most: 10, whole: false },
        pattern: "(?<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{32,})",
        guard: always,
        form: "the bot's number, a colon, AA and 33 letters",
    },
    Rule {
        kind: "azure-key",
        anchors: &["AccountKey", "SharedAccessKey"],
        before: Before::Anything,
        pattern: r"(?i:AccountKey|SharedAccessKey)\s?=\s?(?<secret>[A-Za-z0-9+/]{40,}={0,2})",
        guard: always,
        form: "AccountKey= and 88 letters of base64",
    },
    Rule {
        kind: "shopify-token",
        anchors: &["shpat_", "shpca_", "shppa_", "shpss_"],
        before: Before::Anything,
        pattern: "(?<secret>shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}[A-Za-z0-9]*)",
        guard: always,
        form: "shpat_ and 32 hexadecimal digits",
    },
    Rule {
        kind: "vault-token",
        anchors: &["hvs.", "hvb.", "hvr."],
        before: Before::NoWord,
        pattern: r"(?<secret>hv[sbr]\.[A-Za-z0-9_-]{20,})",
        guard: is_drawn,
        form: "hvs. and 24 letters or more",
    },
    Rule {
        kind: "grafana-token",
        anchors: &["glsa_", "glc_"],
        before: Before::Anything,
        pattern: "(?<secret>gl(?:sa|c)_[A-Za-z0-9_+/=]{32,})",
        guard: is_drawn,
        form: "glsa_ and 41 letters",
    },
    Rule {
        kind: "linear-key",
        anchors: &["lin_api_", "lin_oauth_"],
        before: Before::Anything,
        pattern: "(?<secret>lin_(?:api|oauth)_[A-Za-z0-9]{32,})",
        guard: always,
        form: "lin_api_ and 40 letters",
    },
    Rule {
        kind: "sentry-token",
        anchors: &["sntrys_", "sntryu_", "sntrya_", "sntryi_"],
        before: Before::NoBase64,
        pattern: "(?<secret>sntry[suai]_[A-Za-z0-9_+/=-]{24,})",
        guard: is_drawn,
        form: "sntrys_ (sntryu_, …) and 64 letters or more",
    },
    Rule {
        kind: "discord-token",
        anchors: &["."],
        before: Before::Run { of: is_base64_url, least: 23, most: 28, whole: true },
        // The first part is the base64 of the bot's number.
        pattern: r"(?<secret>[MNO][DTjz][A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
        guard: is_drawn,
        form: "three parts of 24, 6 and 27 letters or more, the first of which is a number in base64",
    },
    Rule {
        kind: "mailgun-key",
        anchors: &["key-"],
        before: Before::NoWord,
        pattern: "(?<secret>key-[0-9a-f]{32}[A-Za-z0-9]*)",
        guard: is_drawn,
        form: "key- and 32 hexadecimal digits",
    },
    Rule {
        kind: "mailgun-key",
        anchors: &["-"],
        before: Before::Run { of: is_hex_digit, least: 32, most: 32, whole: true },
        pattern: r"(?<secret>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?:[^A-Za-z0-9-]|$)",
        guard: is_drawn,
        form: "32, 8 and 8 hexadecimal digits",
    },
    Rule {
        kind: "cloudflare-key",
        anchors: &["v1.0-"],
        before: Before::NoWord,
        pattern: "(?<secret>v1\\.0-[0-9a-f]{24}-[0-9a-f]{100,}[A-Za-z0-9]*)",
        guard: always,
        form: "v1.0- and 24 and 146 hexadecimal digits (an origin CA key)",
    },
    Rule {
        kind: "api-key",
        anchors: &[
            "dckr_pat_", "dckr_oat_", "gsk_", "xai-", "pplx-", "sbp_", "figd_", "tskey-", "rubygems_",
            "NRAK-", "ATATT3", "PMAK-", "ntn_", "pscale_tkn_", "tvly-", "nvapi-", "HRKU-", "CCIPAT_",
            "lsv2_",
        ],
        before: Before::NoBase64,
        pattern: concat!(
            r"(?<secret>(?:dckr_[po]at_|gsk_|xai-|pplx-|sbp_|figd_|",
            r"tskey-(?:api|auth|client)-|rubygems_|NRAK-|ATATT3|PMAK-|ntn_|pscale_tkn_|tvly-|nvapi-|HRKU-|CCIPAT_|",
            r"lsv2_(?:pt|sk)_)",
            r"[A-Za-z0-9_=-]{24,})",
        ),
        guard: is_drawn,
        form: "the prefixed keys of Docker, Groq, xAI, Perplexity, Supabase, Figma, …",
    },
    Rule {
        kind: "api-key",
        anchors: &[
            "ATBB", "r8_", "nfp_", "pul-", "phx_", "rnd_", "bkua_", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.",
            "fm2_", "sq0atp-", "sq0csp-",
        ],
        before: Before::NoBase64,
        // Begins with letters only: a `_` or `-` after them is more often part of a name.
        pattern: concat!(
            r"(?<secret>(?:ATBB|r8_|nfp_|pul-|phx_|rnd_|bkua_|dp\.(?:pt|st|ct|sa)\.|fm2_|",
            r"sq0(?:atp|csp)-)[A-Za-z0-9]{20,}[A-Za-z0-9+/_=-]*)",
        ),
        guard: is_drawn,
        form: "the prefixed keys of Bitbucket, Replicate, Netlify, Pulumi, PostHog, Render, Buildkite, Doppler, Fly, Square",
    },
    Rule {
        kind: "terraform-token",
        anchors: &[".atlasv1."],
        before: Before::Run { of: is_letter_or_digit, least: 14, most: 14, whole: true },
        pattern: r"(?<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{32,})",
        guard: always,
        form: "14 letters, .atlasv1. and 67 letters",
    },
    Rule {
        kind: "url-password",
        anchors: &["://"],
        before: Before::Anything,
        pattern: r#"://[^\s/:"'<>`]*:(?<secret>[^\s/"'<>`]+)@"#,
        guard: is_password,
        form: "scheme://user:password@host",
    },
    Rule {
        kind: "url-password",
        anchors: &["://"],
        before: Before::Anything,
        pattern: concat!(
            r#"://[^\s/:@"'<>`\[]*:(?<secret>[^\s/:@"'<>`?\#]{0,64}[/"'<>][^\s@,;(){}|]{0,128})@"#,
            r"(?:[A-Za-z0-9\[]|$)",
        ),
        guard: is_odd_password,
        form: "the same with `/`, quotes or angle brackets in the password",
    },
    Rule {
        kind: "jwt",
        anchors: &["eyJ"],
        before: Before::NoBase64OncePerRun,
        pattern: r"(?<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){1,3})",
        guard: always,
        form: "three parts of base64url, the first of which is a JSON object",
    },
    Rule {
        kind: "bearer",
        anchors: &["authorization"],
        before: Before::Anything,
        pattern: concat!(
            r#"(?i:authorization)["'`]?\s{0,4}[:=,]\s{0,4}["'`]?(?i:bearer|token)\s{1,4}"#,
            r"(?<secret>[A-Za-z0-9._~+/=-]{4,})",
        ),
        guard: is_credential,
        form: "Authorization: Bearer and a token",
    },
    Rule {
        kind: "bearer",
        anchors: &["bearer"],
        before: Before::Anything,
        pattern: r#"(?i:bearer)["'`]?[\s:=]{1,4}["'`]?(?<secret>[A-Za-z0-9._~+/=-]{20,})"#,
        guard: is_drawn,
        form: "bearer and 20 letters of a token or more",
    },
    Rule {
        kind: "basic",
        anchors: &["authorization"],
        before: Before::Anything,
        pattern: concat!(
            r#"(?i:authorization)["'`]?\s{0,4}[:=,]\s{0,4}["'`]?(?i:basic)\s{1,4}"#,
            r"(?<secret>[A-Za-z0-9+/=_-]{4,})",
        ),
        guard: is_credential,
        form: "Authorization: Basic and base64",
    },
    Rule {
        kind: "basic",
        anchors: &["basic"],
        before: Before::NoWord,
        pattern: r"(?i:basic)\s{1,4}(?<secret>[A-Za-z0-9+/]{6,}={0,2})",
        guard: is_user_and_password,
        form: "basic and the base64 of user:password",
    },
];

fn always(_: &str) -> bool {
    true
}

fn is_digit(b: u8) -> bool {
    b.is_ascii_digit()
}

fn is_hex_digit(b: u8) -> bool {
    matches!(b, b'0'..=b'9' | b'a'..=b'f')
}

fn is_letter_or_digit(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

fn is_base64_url(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// Not one of the keys in AWS's documentation, which end with EXAMPLE or EXAMPLEKEY.
fn is_no_example(text: &str) -> bool {
    !text.contains("EXAMPLE")
}

/// Whether a token of a known form was drawn rather than written: it has a digit, or mixes capitals and small letters as
/// no word does.
fn is_drawn(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_digit()) || mixes_cases(text)
}

fn is_drawn_with_capital(text: &str) -> bool {
    is_drawn(text) && text.bytes().any(|b| b.is_ascii_uppercase())
}

/// Neither a placeholder, nor a port followed by text that happens to contain an `@`.
fn is_password(text: &str) -> bool {
    let behind_port = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_port = (1..=5).contains(&(text.len() - behind_port.len()))
        && behind_port.starts_with(['?', '#', ',', ';', ')', ']', '}', '|', '&']);
    !(is_port || is_placeholder(text))
}

/// The same for a password with signs that usually end an address: the text before the first of them is not a port.
fn is_odd_password(text: &str) -> bool {
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
fn is_credential(text: &str) -> bool {
    let word = text.trim_end_matches(['.', '=', '-', '/', '~']).to_ascii_lowercase();
    let capitals = text.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'-' | b'.'));
    let blanked = text.bytes().all(|b| matches!(b, b'.' | b'x' | b'X' | b'-' | b'_'));
    !(capitals || blanked || PROSE.contains(&word.as_str()))
}

/// Whether the base64 decodes to printable text with a colon in it.
fn is_user_and_password(base64: &str) -> bool {
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

    const DOCS: &str = include_str!("../../../../docs/redaction.md");

    #[test]
    fn every_rule_compiles_and_is_documented() {
        assert_eq!(MATCHERS.len(), RULES.len());
        for matcher in MATCHERS.iter() {
            assert!(
                matcher.pattern.capture_names().flatten().any(|name| name == "secret"),
                "{}",
                matcher.rule.kind
            );
            let row = format!("| `{}` | {} |", matcher.rule.kind, matcher.rule.form);
            assert!(DOCS.contains(&row), "docs/redaction.md lacks the row {row}");
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
