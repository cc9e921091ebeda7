//! The table of secrets that are recognised by their form.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    before::Before,
    guard::{
        always, is_azure, is_base64_url, is_credential, is_digit, is_drawn, is_drawn_with_capital,
        is_hex_digit, is_letter_or_digit, is_no_example, is_odd_password, is_password, is_user_and_password,
    },
    value::is_drawn_word,
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
        anchors: &["LS0tLS1CRUdJTi"],
        before: Before::NoBase64,
        // `-----BEGIN PRIVATE KEY`, and the same of RSA, EC, DSA, OpenSSH, PGP and of an encrypted key.
        pattern: concat!(
            "(?<secret>LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFU|BFQyBQUklWQVRF|BEU0EgUFJJVkFU|BPUEVOU1NIIFBSSVZB",
            "|BQR1AgUFJJVkFU|BFTkNSWVBURUQgUFJJ)[A-Za-z0-9+/]{20,}={0,2})",
        ),
        guard: always,
        form: "such a block in base64",
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
            r"A[KS]IA[A-Z0-9]{16}(?:[^A-Za-z0-9+/]{1,8}|\s[+/]\s)",
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
        anchors: &[
            "glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "gloas-",
            "glagent-",
        ],
        before: Before::Anything,
        pattern: r"(?<secret>gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|oas|agent)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]+)*)",
        guard: is_drawn,
        form: "glpat- and 20 letters",
    },
    Rule {
        kind: "slack-token",
        anchors: &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"],
        before: Before::Anything,
        pattern: "(?<secret>(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9-]{10,}(?:%[0-9A-F]{2}[A-Za-z0-9-]*)*)",
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
        kind: "google-key",
        anchors: &["1//0"],
        before: Before::NoBase64,
        pattern: "(?<secret>1//0[A-Za-z0-9_-]{38,})",
        guard: is_drawn,
        form: "1//0 and 40 letters or more (a token that refreshes others)",
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
        kind: "azure-key",
        anchors: &["Q~"],
        before: Before::Run { of: is_azure, least: 4, most: 4, whole: false },
        pattern: "(?<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}[A-Za-z0-9_~-])",
        guard: always,
        form: "4 letters, Q~ and 34 letters (the secret of an application)",
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
            "rpa_", "xkeysib-", "sqp_", "squ_", "sqa_", "CLOJARS_",
        ],
        before: Before::NoBase64,
        // Begins with letters only: a `_` or `-` after them is more often part of a name.
        pattern: concat!(
            r"(?<secret>(?:ATBB|r8_|nfp_|pul-|phx_|rnd_|bkua_|dp\.(?:pt|st|ct|sa)\.|rpa_|xkeysib-|",
            r"sq[aup]_|CLOJARS_)[A-Za-z0-9]{20,}[A-Za-z0-9+/_=-]*)",
        ),
        guard: is_drawn,
        form: "the prefixed keys of Bitbucket, Replicate, Netlify, Pulumi, PostHog, Render, Buildkite, Doppler, Sonar, …",
    },
    Rule {
        kind: "api-key",
        anchors: &["fo1_", "fm1r_", "fm1a_", "fm2_"],
        before: Before::NoBase64,
        pattern: r"(?<secret>(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/_=-]{32,})",
        guard: is_drawn,
        form: "fo1_ (fm1r_, fm2_) and 43 letters or more (Fly)",
    },
    Rule {
        kind: "api-key",
        anchors: &["sq0atp-", "sq0csp-", "sq0idp-"],
        before: Before::NoBase64,
        pattern: r"(?<secret>sq0[a-z]{3}-[A-Za-z0-9_-]{22,})",
        guard: is_drawn,
        form: "sq0atp- (sq0csp-) and 22 letters (Square)",
    },
    Rule {
        kind: "api-key",
        anchors: &["EAAA"],
        before: Before::NoBase64,
        pattern: r"(?<secret>EAAA[A-Za-z0-9_-]{60,})",
        guard: is_drawn,
        form: "EAAA and 60 letters (Square)",
    },
    Rule {
        kind: "api-key",
        anchors: &["pat"],
        before: Before::NoWord,
        pattern: r"(?<secret>pat[A-Za-z0-9]{14}\.[0-9a-f]{64}[A-Za-z0-9]*)",
        guard: always,
        form: "pat, 14 letters, a dot and 64 hexadecimal digits (Airtable)",
    },
    Rule {
        kind: "api-key",
        anchors: &["-us"],
        before: Before::Run { of: is_hex_digit, least: 32, most: 32, whole: true },
        pattern: r"(?<secret>[0-9a-f]{32}-us[0-9]{1,2})(?:[^A-Za-z0-9]|$)",
        guard: always,
        form: "32 hexadecimal digits, -us and a number (Mailchimp)",
    },
    Rule {
        kind: "api-key",
        anchors: &["dt0"],
        before: Before::NoWord,
        pattern: r"(?<secret>dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{60,})",
        guard: always,
        form: "dt0c01. and two parts of 24 and 64 letters (Dynatrace)",
    },
    Rule {
        kind: "api-key",
        anchors: &["sk.eyJ", "ops_eyJ"],
        before: Before::NoWord,
        pattern: r"(?<secret>(?:sk\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|ops_eyJ[A-Za-z0-9_-]{60,}=*))",
        guard: always,
        form: "sk. or ops_ and JSON in base64url (Mapbox, 1Password)",
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
        kind: "url-password",
        anchors: &["://"],
        before: Before::Anything,
        pattern: r"://(?<secret>[A-Za-z0-9_.~+=-]{20,})@[A-Za-z0-9\[]",
        guard: is_drawn_word,
        form: "scheme://token@host, where the token has 20 letters or more",
    },
    Rule {
        kind: "url-password",
        anchors: &["jdbc:oracle:thin:", "sqlplus "],
        before: Before::Anything,
        pattern: r#"(?i:jdbc:oracle:thin:|sqlplus )[A-Za-z0-9_$#]+/(?<secret>[^\s/@"'<>`]{4,64})@"#,
        guard: is_password,
        form: "jdbc:oracle:thin:user/password@host, sqlplus user/password@host",
    },
    Rule {
        kind: "url-token",
        anchors: &["?key=", "&key=", "?sig=", "&sig=", "signature="],
        before: Before::Anything,
        pattern: r"[?&]?(?i:key|sig|signature)=(?<secret>[A-Za-z0-9_.~%+/-]{20,})",
        guard: is_drawn_word,
        form: "key= or signature= in the query of an address, and 20 letters or more",
    },
    Rule {
        kind: "password-hash",
        anchors: &[
            "$2a$", "$2b$", "$2y$", "$1$", "$5$", "$6$", "$apr1$", "$argon2", "$y$", "$gy$", "$7$", "{SHA",
            "{SSHA",
        ],
        before: Before::Anything,
        pattern: concat!(
            r"(?<secret>\$(?:2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}",
            r"|(?:[156]|apr1)\$(?:rounds=[0-9]{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,86}",
            r"|g?y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}",
            r"|7\$[./A-Za-z0-9]{11,97}\$[./A-Za-z0-9]{43}",
            r"|argon2[id]{1,2}\$v=[0-9]{1,3}\$[a-z0-9=,]{1,40}\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,})",
            // A whole digest: `{SHA}/src/main.rs` is the rest of an address.
            r"|\{SHA(?:\}[A-Za-z0-9+/]{27}=|256\}[A-Za-z0-9+/]{43}=|384\}[A-Za-z0-9+/]{64}|512\}[A-Za-z0-9+/]{86}==)",
            r"|\{SSHA(?:256|384|512)?\}[A-Za-z0-9+/]{26,}={0,2})",
        ),
        guard: always,
        form: "the hash of a password: bcrypt, SHA-crypt, apr1, Argon2, yescrypt, scrypt, {SHA}",
    },
    Rule {
        kind: "password",
        anchors: &[":5432:", ":5433:", ":6432:"],
        before: Before::Anything,
        pattern: r"(?m):[0-9]{4}:[^:\s]{1,63}:[^:\s]{1,63}:(?<secret>\S{4,200})[ \t\r]*$",
        guard: is_password,
        form: "host:5432:database:user:password (`.pgpass`)",
    },
    Rule {
        kind: "secret",
        anchors: &["auth_key", "logged_in_key", "nonce_key", "auth_salt", "logged_in_salt", "nonce_salt"],
        before: Before::Anything,
        pattern: r"(?i:[a-z_]{8,14})['\x22]\s*,\s*['\x22](?<secret>[^'\x22\n]{64})['\x22]",
        guard: is_drawn,
        form: "the keys and salts of WordPress, of 64 signs",
    },
    Rule {
        kind: "password",
        anchors: &["ConvertTo-SecureString"],
        before: Before::Anything,
        pattern: r#"(?i:ConvertTo-SecureString)\s+(?:-\w+\s+)?["'](?<secret>[^"'\s$]{4,})["']"#,
        guard: is_password,
        form: "ConvertTo-SecureString and a text in quotes",
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
}
