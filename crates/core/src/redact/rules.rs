//! The table of secrets that are recognised by their form.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use super::{
    before::Before,
    guard::{
        always, is_azure, is_base64_or_url, is_base64_url, is_bot_token, is_credential, is_digit, is_drawn,
        is_hex_digit, is_letter_or_digit, is_no_blank, is_no_example, is_odd_password, is_password,
        is_password_of_call, is_user_and_password,
    },
    prefixed::{PREFIXED, Prefixed},
    value::is_drawn_word,
};

/// One form of secret. docs/redaction.md describes each in a row.
pub(super) struct Rule {
    /// The kind in the mark that replaces the secret.
    kind: &'static str,
    /// Literals, one of which occurs in every such secret, in any case. One search finds those of all rules.
    anchors: &'static [&'static str],
    /// What may come before the anchor, and where the pattern begins.
    before: Before,
    /// The regular expression. The group `secret` is replaced.
    pattern: &'static str,
    /// Whether the match is a secret rather than a placeholder or prose.
    guard: fn(&str) -> bool,
}

/// A form ready for use.
pub(super) enum Matcher {
    Prefixed(&'static Prefixed),
    Rule(&'static Rule, Regex),
}

impl Matcher {
    /// The kind in the mark.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Prefixed(row) => row.kind,
            Self::Rule(rule, _) => rule.kind,
        }
    }

    /// Literals, one of which occurs in every such secret, in any case.
    pub fn anchors(&self) -> Vec<&'static str> {
        match self {
            Self::Prefixed(row) => row.prefixes.split(' ').collect(),
            Self::Rule(rule, _) => rule.anchors.to_vec(),
        }
    }

    /// The secret at an anchor, and the position from which the next anchor of this form counts: after
    /// the examined text, so that the work stays linear.
    pub fn secret(&self, text: &str, anchor: &Range<usize>) -> (Option<Range<usize>>, usize) {
        match self {
            Self::Prefixed(row) => row.secret(text, anchor),
            Self::Rule(rule, pattern) => rule.secret(pattern, text, anchor.start),
        }
    }
}

impl Rule {
    fn secret(&self, pattern: &Regex, text: &str, anchor: usize) -> (Option<Range<usize>>, usize) {
        let Some(start) = self.before.start(text, anchor) else { return (None, anchor) };
        let text_here = &text[start..];
        // `is_match` is several times cheaper than finding the captures.
        let matches = pattern.is_match(text_here);
        let found = if matches { pattern.captures(text_here) } else { None };
        let found = found.and_then(|found| found.name("secret"));
        let Some(found) = found else {
            let once_per_run = matches!(self.before, Before::NoBase64OncePerRun);
            let run =
                text.as_bytes()[anchor..].iter().take_while(|b| once_per_run && is_base64_url(**b)).count();
            return (None, anchor + run);
        };
        let range = start + found.start()..start + found.end();
        let end = range.end;
        ((self.guard)(found.as_str()).then_some(range), end)
    }
}

/// All forms, compiled at first use. The patterns are constants, and a test compiles each of them.
pub(super) static MATCHERS: LazyLock<Vec<Matcher>> = LazyLock::new(|| {
    let compiled = |rule: &'static Rule| {
        let pattern = Regex::new(&format!(r"\A(?:{})", rule.pattern)).ok()?;
        Some(Matcher::Rule(rule, pattern))
    };
    PREFIXED.iter().map(Matcher::Prefixed).chain(RULES.iter().filter_map(compiled)).collect()
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
    },
    Rule {
        kind: "private-key",
        anchors: &["-----END "],
        before: Before::LinesOfBase64,
        pattern: concat!(r"(?<secret>(?:[^-]|-{1,4}[^-])*-----END ", private_key!(), ")"),
        guard: always,
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
    },
    Rule {
        kind: "private-key",
        anchors: &["AGE-SECRET-KEY-1"],
        before: Before::Anything,
        pattern: "(?<secret>AGE-SECRET-KEY-1[0-9A-Z]{40}[A-Za-z0-9]*)",
        guard: always,
    },
    Rule {
        kind: "aws-key",
        anchors: &["AKIA", "ASIA"],
        before: Before::NoBase64,
        pattern: r"(?<secret>A[KS]IA[A-Z0-9]{16}[A-Za-z0-9]*)",
        guard: is_no_example,
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
    },
    Rule {
        kind: "slack-token",
        anchors: &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"],
        before: Before::Anything,
        pattern: "(?<secret>(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9-]{10,}(?:%[0-9A-F]{2}[A-Za-z0-9-]*)*)",
        guard: is_drawn,
    },
    Rule {
        kind: "slack-webhook",
        anchors: &["hooks.slack.com/"],
        before: Before::Anything,
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/(?<secret>[A-Za-z0-9/_+-]{20,})",
        guard: is_drawn,
    },
    Rule {
        kind: "webhook",
        anchors: &["webhook.office.com/", "hooks.zapier.com/"],
        before: Before::Anything,
        pattern: r"[a-z.]+/(?:webhookb2|hooks/catch)/(?<secret>[A-Za-z0-9/@-]{12,})",
        guard: is_drawn,
    },
    Rule {
        kind: "discord-webhook",
        anchors: &["discord.com/", "discordapp.com/"],
        before: Before::Anything,
        pattern: r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/(?<secret>[0-9]{10,}/[A-Za-z0-9_-]{20,})",
        guard: always,
    },
    Rule {
        kind: "openai-key",
        anchors: &["sk-"],
        before: Before::NoWord,
        pattern: "(?<secret>sk-[A-Za-z0-9]{20,}[A-Za-z0-9_-]*)",
        guard: is_drawn,
    },
    Rule {
        kind: "telegram-token",
        anchors: &[":AA"],
        before: Before::Run { of: is_digit, least: 8, most: 10, whole: false },
        pattern: "(?<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{32,})",
        guard: always,
    },
    Rule {
        kind: "azure-key",
        anchors: &["AccountKey", "SharedAccessKey"],
        before: Before::Anything,
        pattern: r"(?i:AccountKey|SharedAccessKey)\s?=\s?(?<secret>[A-Za-z0-9+/]{40,}={0,2})",
        guard: always,
    },
    Rule {
        kind: "azure-key",
        anchors: &["+ASt", "ACDb", "AzFu", "AzSe", "AzCa", "JQQJ99"],
        before: Before::Run { of: is_base64_or_url, least: 30, most: 76, whole: true },
        pattern: r"(?<secret>[A-Za-z0-9+/_-]{30,76}(?:\+ASt|ACDb|AzFu|AzSe|AzCa|JQQJ99)[A-Za-z0-9+/_-]{6,}={0,2})",
        guard: is_drawn,
    },
    Rule {
        kind: "azure-key",
        anchors: &["Q~"],
        before: Before::Run { of: is_azure, least: 4, most: 4, whole: false },
        pattern: "(?<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}[A-Za-z0-9_~-])",
        guard: always,
    },
    Rule {
        kind: "discord-token",
        anchors: &["."],
        before: Before::Run { of: is_base64_url, least: 23, most: 28, whole: true },
        // The first part is the base64 of the bot's number.
        pattern: r"(?<secret>[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
        guard: is_bot_token,
    },
    Rule {
        kind: "mailgun-key",
        anchors: &["-"],
        before: Before::Run { of: is_hex_digit, least: 32, most: 32, whole: true },
        pattern: r"(?<secret>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?:[^A-Za-z0-9-]|$)",
        guard: is_drawn,
    },
    Rule {
        kind: "cloudflare-key",
        anchors: &["v1.0-"],
        before: Before::NoWord,
        pattern: "(?<secret>v1\\.0-[0-9a-f]{24}-[0-9a-f]{100,}[A-Za-z0-9]*)",
        guard: always,
    },
    Rule {
        kind: "api-key",
        anchors: &["pat"],
        before: Before::NoWord,
        pattern: r"(?<secret>pat[A-Za-z0-9]{14}\.[0-9a-f]{64}[A-Za-z0-9]*)",
        guard: always,
    },
    Rule {
        kind: "api-key",
        anchors: &["-us"],
        before: Before::Run { of: is_hex_digit, least: 32, most: 32, whole: true },
        pattern: r"(?<secret>[0-9a-f]{32}-us[0-9]{1,2})(?:[^A-Za-z0-9]|$)",
        guard: always,
    },
    Rule {
        kind: "api-key",
        anchors: &["re_"],
        before: Before::NoWord,
        pattern: "(?<secret>re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24})",
        guard: is_drawn,
    },
    Rule {
        kind: "terraform-token",
        anchors: &[".atlasv1."],
        before: Before::Run { of: is_letter_or_digit, least: 14, most: 14, whole: true },
        pattern: r"(?<secret>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{32,})",
        guard: always,
    },
    Rule {
        kind: "url-password",
        anchors: &["://"],
        before: Before::Anything,
        pattern: r#"://[^\s/:"'<>`]*:(?<secret>[^\s/"'<>`]+)@"#,
        guard: is_password,
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
    },
    Rule {
        kind: "url-password",
        anchors: &["://"],
        before: Before::Anything,
        pattern: r"://(?<secret>[A-Za-z0-9_.~+=-]{20,})@[A-Za-z0-9\[]",
        guard: is_drawn_word,
    },
    Rule {
        kind: "url-password",
        anchors: &["jdbc:oracle:thin:", "sqlplus "],
        before: Before::Anything,
        pattern: r#"(?i:jdbc:oracle:thin:|sqlplus )[A-Za-z0-9_$#]+/(?<secret>[^\s/@"'<>`]{4,64})@"#,
        guard: is_password,
    },
    Rule {
        kind: "url-password",
        anchors: &["@tcp(", "@unix("],
        before: Before::Run { of: is_no_blank, least: 3, most: 96, whole: false },
        // No more than what `before` allows, so that the work stays linear.
        pattern: r#"(?:[!-9;-~]{0,96}["'`=])?[A-Za-z0-9_.-]{1,96}:(?<secret>[!\#-&(-_a-~]{1,96}?)@(?:tcp|unix)\("#,
        guard: is_password,
    },
    Rule {
        kind: "password",
        anchors: &[
            "mysqli_connect(", "mysql_connect(", "new mysqli(", "new PDO(", "getConnection(", ".login(",
        ],
        before: Before::Anything,
        pattern: concat!(
            r#"[A-Za-z_. ]{3,16}\((?:[^,()"'\n]*["'][^"'\n]*["']|[A-Za-z0-9_.$]+)(?:,\s*["'][^"'\n]*["'])?"#,
            r#",\s*["'](?<secret>[^"'\n]{6,64})["']"#,
        ),
        guard: is_password_of_call,
    },
    Rule {
        kind: "url-token",
        anchors: &["?key=", "&key=", "?sig=", "&sig=", "signature="],
        before: Before::Anything,
        pattern: r"[?&]?(?i:key|sig|signature)=(?<secret>[A-Za-z0-9_.~%+/-]{20,})",
        guard: is_drawn_word,
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
    },
    Rule {
        kind: "password",
        anchors: &[":5432:", ":5433:", ":6432:"],
        before: Before::Anything,
        pattern: r"(?m):[0-9]{4}:[^:\s]{1,63}:[^:\s]{1,63}:(?<secret>\S{4,200})[ \t\r]*$",
        guard: is_password,
    },
    Rule {
        kind: "secret",
        anchors: &["auth_key", "logged_in_key", "nonce_key", "auth_salt", "logged_in_salt", "nonce_salt"],
        before: Before::Anything,
        pattern: r"(?i:[a-z_]{8,14})['\x22]\s*,\s*['\x22](?<secret>[^'\x22\n]{64})['\x22]",
        guard: is_drawn,
    },
    Rule {
        kind: "password",
        anchors: &["ConvertTo-SecureString"],
        before: Before::Anything,
        pattern: r#"(?i:ConvertTo-SecureString)\s+(?:-\w+\s+)?["'](?<secret>[^"'\s$]{4,})["']"#,
        guard: is_password,
    },
    Rule {
        kind: "jwt",
        anchors: &["eyJ"],
        before: Before::NoBase64OncePerRun,
        pattern: r"(?<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){1,3})",
        guard: always,
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
    },
    Rule {
        kind: "bearer",
        anchors: &["bearer"],
        before: Before::Anything,
        pattern: r#"(?i:bearer)["'`]?[\s:=]{1,4}["'`]?(?<secret>[A-Za-z0-9._~+/=-]{20,})"#,
        guard: is_drawn,
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
    },
    Rule {
        kind: "basic",
        anchors: &["basic"],
        before: Before::NoWord,
        pattern: r"(?i:basic)\s{1,4}(?<secret>[A-Za-z0-9+/]{6,}={0,2})",
        guard: is_user_and_password,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../../../../docs/redaction.md");

    #[test]
    fn every_rule_compiles_and_is_documented() {
        assert_eq!(MATCHERS.len(), RULES.len() + PREFIXED.len());
        for matcher in MATCHERS.iter() {
            let kind = matcher.kind();
            match matcher {
                Matcher::Prefixed(row) => {
                    let row = format!("| `{kind}` | {} |", row.form());
                    assert!(DOCS.contains(&row), "docs/redaction.md lacks the row {row}");
                }
                Matcher::Rule(_, pattern) => {
                    assert!(pattern.capture_names().flatten().any(|name| name == "secret"), "{kind}");
                }
            }
            // A name of a kind may have a row of its own.
            let rows = DOCS.matches(&format!("\n| `{kind}` | ")).count();
            let forms = MATCHERS.iter().filter(|other| other.kind() == kind).count();
            assert!(rows == forms || rows == forms + 1, "{kind}: {rows} rows for {forms} forms");
        }
    }
}
