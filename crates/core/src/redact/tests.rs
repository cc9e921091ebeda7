//! What is redacted, what stays, and that redacting twice changes nothing more.

mod bars;
mod lines;
mod places;

pub(super) use bars::Draw;
use proptest::prelude::*;

use super::*;

/// Letters and digits that look random. Secrets are put together at run time, so that no
/// scanner finds one in this file.
fn letters(count: usize) -> String {
    "a7Xq9Bz3Kd5Rm1Tf8Wc2Yh6Lg4Pv0Ns".chars().cycle().take(count).collect()
}

fn hex(count: usize) -> String {
    "9f3a1c07b2e84d65".chars().cycle().take(count).collect()
}

fn capitals(count: usize) -> String {
    "Q7ZK3MWX5RTB2NDY".chars().cycle().take(count).collect()
}

/// Prefixed tokens: kind and secret.
fn tokens() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let mut add = |kind, prefix: &str, rest: String| all.push((kind, format!("{prefix}{rest}")));
    add("aws-key", "AKIA", capitals(16));
    add("aws-key", "ASIA", capitals(16));
    for prefix in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] {
        add("github-token", prefix, letters(36));
    }
    add("github-token", "github_pat_", letters(22) + "_" + letters(59).as_str());
    add("gitlab-token", "glpat-", letters(20));
    add("gitlab-token", "glrt-", letters(20));
    for prefix in ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"] {
        add("slack-token", prefix, format!("1-{}-{}", "123456789012", letters(24)));
    }
    for prefix in ["sk_live_", "rk_live_", "sk_test_", "whsec_"] {
        add("stripe-key", prefix, letters(24));
    }
    add("anthropic-key", "sk-ant-", "api03-".to_owned() + letters(90).as_str() + "-AA");
    add("openai-key", "sk-", letters(48));
    add("openai-key", "sk-proj-", letters(60) + "_-" + letters(20).as_str());
    add("openai-key", "sk-svcacct-", letters(60));
    add("google-key", "AIza", letters(35));
    add("google-key", "ya29.", "a0".to_owned() + letters(60).as_str());
    add("google-key", "GOCSPX-", letters(28));
    add("npm-token", "npm_", letters(36));
    add("pypi-token", "pypi-", "AgEIcHlwaS5vcmc".to_owned() + letters(100).as_str());
    add("pypi-token", "pypi-", "AgEIcHlwaS5vcmc".to_owned() + letters(50).as_str());
    add("pypi-token", "pypi-", "AgENdGVzdC5weXBpLm9yZw".to_owned() + letters(50).as_str());
    add("crates-token", "cio", letters(32));
    add("huggingface-token", "hf_", letters(34));
    add("twilio-key", "SK", hex(32));
    add("sendgrid-key", "SG.", letters(22) + "." + letters(43).as_str());
    add("digitalocean-token", "dop_v1_", hex(64));
    add("databricks-token", "dapi", hex(32));
    add("telegram-token", "1234567890", ":AA".to_owned() + letters(33).as_str());
    add("shopify-token", "shpat_", hex(32));
    add("vault-token", "hvs.", letters(24));
    add("grafana-token", "glsa_", letters(32) + "_" + hex(8).as_str());
    add("linear-key", "lin_api_", letters(40));
    for prefix in [
        "dckr_pat_", "gsk_", "xai-", "pplx-", "figd_", "rubygems_", "NRAK-", "ntn_", "nvapi-", "HRKU-",
        "CCIPAT_", "lsv2_pt_", "ATBB", "nfp_", "pul-", "phx_", "rnd_", "bkua_", "dp.pt.", "fm2_", "fo1_",
        "sq0atp-", "rpa_", "xkeysib-", "sqp_", "CLOJARS_",
    ] {
        add("api-key", prefix, letters(48));
    }
    add("api-key", "EAAA", letters(29) + "_" + letters(30).as_str());
    add("api-key", "dt0c01.", capitals(24) + "." + capitals(64).as_str());
    add("api-key", "sk.eyJ", letters(40) + "." + letters(22).as_str());
    add("api-key", "ops_eyJ", letters(200));
    add("azure-key", "aB38Q~", letters(20) + "_.~" + letters(11).as_str());
    add("google-key", "1//0", letters(50) + "-_" + letters(40).as_str());
    add("gitlab-token", "glagent-", letters(50));
    add("slack-token", "xoxc-", format!("123456789012-{}", hex(64)));
    add("sentry-token", "sntrys_", letters(60) + "+/_=" + letters(20).as_str());
    add("sentry-token", "sntryu_", hex(64));
    add("mailgun-key", "key-", hex(32));
    add("cloudflare-key", "v1.0-", hex(24) + "-" + hex(146).as_str());
    add("terraform-token", "", format!("{}.atlasv1.{}", letters(14), letters(67)));
    add("jwt", "eyJ", format!("{}.eyJ{}.{}", letters(17), letters(40), letters(43)));
    all
}

fn pem(name: &str, lines: usize, end: &str) -> String {
    let body = (letters(64) + "\n").repeat(lines);
    format!("-----BEGIN {name}-----\n{body}{end}")
}

/// Secrets that are recognised by their surroundings: kind, text before, secret, text after.
fn beside() -> Vec<(&'static str, String, String, String)> {
    let mut all = Vec::new();
    let mut add = |kind, before: &str, secret: String, behind: &str| {
        all.push((kind, before.to_owned(), secret, behind.to_owned()));
    };
    let aws = letters(19) + "/" + letters(20).as_str();
    add("aws-key", "aws_secret_access_key = ", aws.clone(), "\n");
    add("aws-key", "\"SecretAccessKey\": \"", aws.clone(), "\"");
    add("aws-key", "AWS_SECRET_KEY=", aws, "");
    add(
        "slack-webhook",
        "https://hooks.slack.com/services/",
        format!("T0{}/B0{}/{}", letters(8), letters(8), letters(24)),
        " x",
    );
    add(
        "discord-webhook",
        "https://discord.com/api/webhooks/",
        format!("1234567890123456/{}", letters(60)),
        "",
    );
    add("azure-key", "AccountName=a;AccountKey=", letters(86) + "==", ";EndpointSuffix=x");
    add("discord-token", "token ", format!("MTA{}.{}.{}", letters(21), letters(6), letters(38)), "\n");
    add("discord-token", "(", format!("OX{}.{}.{}", letters(22), letters(6), letters(27)), ")");
    add("api-key", "(", format!("pat{}.{}", letters(14), hex(64)), ")");
    add("api-key", "key ", format!("{}-us12", hex(32)), "\n");
    add("mailgun-key", "(", format!("{}-{}-{}", hex(32), hex(8), hex(8)), ")");
    add("url-password", &format!("https://{}:", hex(32)), letters(30), "@o1.ingest.sentry.io/2");
    add("password", "curl -u bob:", "hunter2".to_owned(), " https://h");
    add("password", "curl --user 'bob:", "p:w 9".to_owned(), "' https://h");
    add("password", "`curl -s \\\n -ubob:", "hunter2".to_owned(), "`");
    add("password", "password: \"", "a\\\"b c9".to_owned(), "\",");
    add("token", "{\\\"token\\\": \\\"", letters(20), "\\\"}");
    add("cookie", "Cookie: a=b; sid=", letters(20), "; c=d");
    for (before, secret, behind) in [
        ("postgres://admin:", "hunter2", "@db.example.com:5432/app"),
        ("redis://:", "p%40ss", "@localhost"),
        ("mysql+pymysql://root:", "p@ss:w#rd", "@host/db"),
        ("see https://user:", "пароль", "@host."),
        ("postgres://u:", "pa/ss", "@h/db"),
        ("postgres://u:", "pa\"ss<1>", "@h/db"),
        ("sqlplus scott/", "hunter2", "@//h:1521/x"),
        ("jdbc:oracle:thin:scott/", "hunter2", "@h:1521:x"),
    ] {
        add("url-password", before, secret.to_owned(), behind);
    }
    add("bearer", "Authorization: Bearer ", "abcdefgh".to_owned(), "\n");
    add("bearer", "authorization:bearer  ", "mF_9.B5f-4.1JqM".to_owned(), "");
    add("bearer", "{\"Authorization\": \"Bearer ", letters(30), "\"}");
    add("bearer", "-H 'Authorization: token ", hex(40), "'");
    add("bearer", "use bearer ", letters(24), ", then");
    add("bearer", "BEARER ", hex(20), "");
    add("basic", "Authorization: Basic ", "QWxhZGRpbjpv".to_owned() + "cGVuIHNlc2FtZQ==", "\n");
    add("basic", "Proxy-Authorization: basic ", "dXNlcjpw".to_owned() + "YXNz", "");
    add("basic", "with basic ", "QWxhZGRpbjpv".to_owned() + "cGVuIHNlc2FtZQ==", " as");
    all.extend(delimited());
    all
}

/// Secrets between marks of their own: kind, text before, secret, text after.
fn delimited() -> Vec<(&'static str, String, String, String)> {
    let mut all = Vec::new();
    let mut add = |kind, before: &str, secret: String, behind: &str| {
        all.push((kind, before.to_owned(), secret, behind.to_owned()));
    };
    for name in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        add("private-key", "key:\n", pem(name, 3, &format!("-----END {name}-----")), "\nafter");
    }
    add("private-key", "", pem("EC PRIVATE KEY", 2, "abc4"), "\n\nProse goes on here.");
    add(
        "private-key",
        "\"",
        pem("PRIVATE KEY", 2, "").replace('\n', "\\n") + "-----END PRIVATE KEY-----",
        "\\n\"",
    );
    let end = "-----END RSA PRIVATE KEY-----";
    let lines = (letters(64) + "\n").repeat(2);
    add("private-key", "… 12 lines …\n", format!("{lines}abc4\n{end}"), "\nafter");
    let headed = pem("RSA PRIVATE KEY", 2, "").replacen('\n', "\nProc-Type: 4,ENCRYPTED\n\n", 1);
    add("private-key", "", headed.trim_end().to_owned(), "");
    add("private-key", "age: ", format!("AGE-SECRET-KEY-1{}", capitals(58)), "\n");
    add("private", "a ", "<private>x y</private>".to_owned(), " b");
    add("private", "a ", "<PRIVATE why=\"z\">x\n\ny</ Private >".to_owned(), " b");
    add("private", "a ", "< private >x</private\n>".to_owned(), " b");
    add("private", "", "<private>a<private>b</private>c</private>".to_owned(), " </private>");
    add("private", "", "<private key>a</private>".to_owned(), "d");
    add("private", "Vec<Private> a", "<Private>x</private>".to_owned(), "d");
    add("private", "text in `<private>`: ", "<private>x y".to_owned(), "");
    add("private", "`", "<private>`x`</private>".to_owned(), "`");
    add("private", "`", "<private>` <private>x</private> y</private>".to_owned(), "z");
    add("private", "a ", "<private>unclosed <b> \n end".to_owned(), "");
    add("private", "a ", "<private><private>x</private> y".to_owned(), "");
    all
}

#[test]
fn secrets_become_marks() {
    for (kind, before, secret, behind) in beside() {
        let text = format!("{before}{secret}{behind}");
        let redacted = redact(&text);
        assert_eq!(redacted.text, format!("{before}[REDACTED:{kind}]{behind}"), "{text}");
        assert_eq!(redacted.count, 1, "{text}");
    }
    for (kind, token) in tokens() {
        for (before, behind) in [
            ("", ""),
            ("KEY=", "\n"),
            ("\"", "\","),
            ("是", "。"),
            ("`", "`."),
            ("(", ")"),
            ("x_", " y"),
            (r"a\n", r"\n"),
            (r"a\u003d", r"\u0026"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("+", "\n"),
        ] {
            let text = format!("{before}{token}{behind}");
            assert_eq!(redact(&text).text, format!("{before}[REDACTED:{kind}]{behind}"));
        }
    }
}

#[test]
fn a_secret_is_found_in_a_path_and_not_in_base64() {
    let secrets = [format!("AKIA{}", capitals(16)), format!("AIza{}", letters(35)), format!("SK{}", hex(32))];
    let token = format!("eyJhbGciOiJ9.{}.{}", letters(40), letters(43));
    for secret in secrets.iter().chain(&[format!("dapi{}", hex(32)), token]) {
        for folder in ["/", "/w/", "edit /home/me/my-app/src/", "C:/Users/Me/", "a/b2/"] {
            let redacted = redact(&format!("{folder}{secret}/a.rs")).text.into_owned();
            assert!(!redacted.contains(secret.as_str()) && redacted.ends_with("/a.rs"), "{redacted}");
        }
        let base64 = format!("iVBORw0KGgoAAAANSUhEUgAAAYQ/x8Kd3/{secret}");
        assert_eq!(redact(&base64).text, base64);
    }
    let sentence = format!("Use Cookie: sid={} for this", letters(24));
    assert_eq!(redact(&sentence).text, "Use Cookie: sid=[REDACTED:cookie] for this");
}

#[test]
fn both_halves_of_a_pair_of_keys_are_redacted() {
    for between in [":", "\n", ", ", " / ", " + ", " | "] {
        let (key, secret) = (format!("AKIA{}", capitals(16)), format!("{}/{}", letters(19), letters(20)));
        let done = redact(&format!("{key}{between}{secret}")).text.into_owned();
        assert!(
            !done.contains(&key) && !done.contains(&secret[..20]) && done.starts_with("[REDACTED:aws-key]"),
            "{done}"
        );
    }
}

#[test]
fn a_password_may_begin_as_an_anchor_of_yaml_does() {
    for text in ["password: &Xk29fjw0", "password: &Xk29fjw0\n", "password: &Xk29fjw0 # mine\n"] {
        assert_eq!(redact(text).text, text.replace("&Xk29fjw0", "[REDACTED:password]"));
    }
    let anchored = redact("password: &db2 hunter2x9\n");
    assert_eq!((anchored.text.as_ref(), anchored.count), ("password: &db2 [REDACTED:password]\n", 1));
}

#[test]
fn several_secrets_are_counted() {
    let (key, secret) = (format!("AKIA{}", capitals(16)), letters(40));
    let redacted = format!("{key}:{secret} <private>x</private> http://u:p@h");
    let redacted = redact(&redacted);
    assert_eq!(
        redacted.text,
        "[REDACTED:aws-key]:[REDACTED:aws-key] [REDACTED:private] http://u:[REDACTED:url-password]@h"
    );
    assert_eq!(redacted.count, 4);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn other_text_stays() {
    let image = format!("data:image/png;base64,{}==", letters(400));
    let public = pem("PUBLIC KEY", 3, "-----END PUBLIC KEY-----");
    let certificate = pem("CERTIFICATE", 3, "-----END CERTIFICATE-----");
    let shas = format!("{} {}", hex(40), hex(64));
    for text in [
        // private, private-key
        "<privateer>",
        "<private-key>x",
        "a </private> b",
        "<private/> b",
        "private",
        "&lt;private&gt;",
        "Give <private key> here",
        "static Local<Private> New(Isolate* isolate);",
        "PhantomData::<Private> and Vec<Private>",
        "text in `<private>` is removed",
        "-----BEGIN PRIVATE KEY-----",
        "it ends with\n\n-----END PRIVATE KEY-----",
        "key\n-----END PRIVATE KEY-----",
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w\n-----END CERTIFICATE-----",
        "the -----BEGIN RSA PRIVATE KEY----- line",
        "a PRIVATE KEY",
        "AGE-SECRET-KEY-1",
        &public,
        &certificate, // aws-key
        "AKIA",
        "AKIAEXAMPLE",
        "the AKIA and ASIA prefixes",
        "XAKIAQ7ZK3MWX5RTB2NDY",
        "aws_secret_access_key = ${SECRET}",
        "secret access key is needed",
        // github, gitlab, slack, stripe
        "ghp_short",
        "ghp_…",
        "ghp_xxxx",
        "github_pat_",
        "github_pattern_matching",
        "glpat-…",
        "glpat-your-token",
        "xoxb-your-bot-token-here",
        "xoxb-",
        "hooks.slack.com/services/",
        "https://hooks.slack.com/services/T/B/X",
        "sk_live_…",
        "sk_test_your_key",
        "risk_live_data",
        "discord.com/api/webhooks/ID/TOKEN",
        "ModuleNameOfLongPathNumber2.method.aVeryLongNameOfTheThirdPart27",
        "/webhooks/github",
        // openai, anthropic, google
        "sk-…",
        "sk-proj-…",
        "sk-your-api-key",
        "sk-ant-…",
        "sk-ant-api03-short",
        "task-runner1-for-everything-that-is-long",
        "disk-a7Xq9Bz3Kd5Rm1Tf8Wc2Yh6Lg4Pv",
        "sk-fading-circle-12-and-more",
        "AIza…",
        "AIzaShort",
        "ya29.…",
        "GOCSPX-…",
        // registries and clouds
        "npm_config_registry",
        "npm_package_version",
        "pypi-publish-workflow",
        "pypi-server-with-a-very-long-name-in-2024-and-more-words",
        "cioXY",
        "cio",
        "ciophilosophicallyandpsychologically",
        "hf_hub_download",
        "hf_…",
        "SK",
        "SKU-1234",
        "SG.",
        "MSG.a.b",
        "SG.x.y",
        "dop_v1_…",
        "dop_v1_x",
        "dapi",
        "dapifunction",
        "12:AA",
        "12345678:AAB",
        "AccountKey=",
        "AccountKey=…;",
        "shpat_…",
        "shpat_12",
        "hvs.…",
        "hvs.short",
        "glsa_…",
        "glsa_short",
        "lin_api_…",
        "lin_api_key",
        "gsk_…",
        "nvapi-your-key-here",
        "rnd_generate_a_long_name_for_2_of_them",
        "pul-request-number-1234567890-of-this-repository",
        "x.atlasv1.short",
        "https://host/nfp_abcdefghijklmnopqrstuvwxyz",
        "xai-org",
        "r8_short",
        "ntn_x",
        // url-password
        "user@host",
        "git@github.com:owner/repo.git",
        "http://host:8080/a@b",
        "postgres://localhost/db",
        "http://host:8080",
        "https://user@host/x",
        "ssh://git@host:22/x",
        "postgres://u:${DB_PASSWORD}@h",
        "postgres://u:$PW@h",
        "http://u:***@h",
        "{\"u\":\"http://localhost:3000\",\"e\":\"a@b.c\"}",
        "http://localhost:3000?mail=a@b.c",
        "http://u:{{pw}}@h",
        "://:@", // bearer, basic, jwt
        "bearer token authentication",
        "Bearer of bad news",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer YOUR_API_KEY",
        "Authorization: Bearer tokens.",
        "bearer internationalization-and-more",
        "the authorization header",
        "basic understanding",
        "Basic authentication",
        "basic auth",
        "BASIC 10",
        "Authorization: Basic …",
        "Basic dXNlcg==",
        "eyJ",
        "eyJhbGci",
        "eyJhbGciOiJIUzI1NiJ9.short",
        "eyJ.eyJ.x",
        "a.b.c", // and what looks random
        &shas,
        &image,
        "123e4567-e89b-12d3-a456-426614174000",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "fn main() { println!(\"{}\", a::b); }",
        "[REDACTED:jwt]",
        "",
    ] {
        let redacted = redact(text);
        assert_eq!(redacted.text, text);
        assert_eq!(redacted.count, 0);
        assert!(matches!(redacted.text, Cow::Borrowed(_)));
    }
}

#[test]
fn invisible_characters_hide_no_secret() {
    for sign in ["\u{200b}", "\u{ad}", "\u{2060}\u{feff}", "\u{fe0f}"] {
        for (kind, token) in tokens() {
            let hidden = format!("{}{sign}{}", &token[..8], &token[8..]);
            let text = format!("a{sign} {sign}{hidden}{sign} b{sign}");
            let want = format!("a{sign} {sign}[REDACTED:{kind}]{sign} b{sign}");
            assert_eq!(redact(&text).text, want, "{token}");
        }
        let text = format!("pass{sign}word = \"hun{sign}ter2\"");
        assert_eq!(redact(&text).text, format!("pass{sign}word = \"[REDACTED:password]\""));
        let emoji = format!("👩{sign}👧 é{sign}");
        assert!(matches!(redact(&emoji).text, Cow::Borrowed(_)));
    }
}

#[test]
fn a_token_needs_no_digit_and_a_name_is_no_token() {
    let drawn = "cvSqPUbXfDSIQnsqiAlbTyKwZeRo";
    for prefix in [
        "glpat-", "sk_live_", "GOCSPX-", "hvs.", "xoxb-", "sk-", "sk-proj-", "gsk_", "nvapi-", "pul-", "r8_",
        "Bearer ",
    ] {
        let text = format!("use {prefix}{drawn} now");
        assert!(!redact(&text).text.contains(drawn), "{text}");
    }
    assert!(!redact(&format!("glpat-{}", &drawn[..20])).text.contains(&drawn[..20]));
    for text in [
        "glpat-your-personal-access-token",
        "glpat-PersonalAccessTokenOfTheProject",
        "sk-ThisIsWhereTheSecretKeyGoes",
        "sk-proj-the-key-of-the-project-here",
        "sk_live_paymentsOfTheCustomer",
        "bearer AuthenticationFilterConfiguration",
        "pul-plugins-directory-configuration",
        "xoxb-workspace-token-of-the-bot",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn context_is_used_only_if_the_settings_ask_for_it() {
    let text = format!("password: hunter2, ghp_{} and <private>x</private>", letters(36));
    let known = Redaction { context: false }.redact(&text);
    assert_eq!(known.text, "password: hunter2, [REDACTED:github-token] and [REDACTED:private]");
    assert_eq!(known.count, 2);
    assert_eq!(redact(&text).count, 3);
}

/// Pieces that begin, end, break and join secrets.
#[expect(clippy::too_many_lines, reason = "a table of pieces")]
fn pieces() -> impl Strategy<Value = String> {
    let mut pieces: Vec<String> = [
        "<private>",
        "</private>",
        "<private",
        "<private key>",
        "<Private>",
        "`",
        "<private a=1>",
        ">",
        "/",
        "@",
        ":",
        "://",
        "://u:",
        "@h",
        " ",
        "\n",
        "_",
        "-",
        ".",
        "=",
        "é",
        "[REDACTED:jwt]",
        "[REDACTED:",
        "]",
        "eyJ",
        "Bearer ",
        "Basic ",
        "Authorization: ",
        "aws_secret_access_key=",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "AKIA",
        "sk-",
        "SG.",
        "cio",
        "dapi",
        "SK",
        "\\n",
        "x",
        "7",
        "Q",
        "\"",
        "token",
        "12345678:AA",
        "https://hooks.slack.com/services/",
        "AccountKey=",
        "password",
        "password: ",
        "DB_PASS=",
        "--token ",
        "API_KEY",
        "hunter2",
        "curl -u a:",
        "mysql -p",
        "Cookie: ",
        "sid=",
        "; ",
        "{",
        ",",
        "(",
        "'",
        "\\",
        "<",
        "name: SECRET\n value: ",
        "login u password ",
        "\nuser,password\nbob,",
        "\n| token | x |\n|---|---|\n| ",
        "\nkind: Secret\ndata:\n  a: ",
        "aHVudGVyMg==",
        "\u{200b}",
    ]
    .map(str::to_owned)
    .into();
    pieces.extend([letters(20), letters(40), hex(32), capitals(16), letters(3)]);
    pieces.extend(tokens().into_iter().map(|(_, token)| token));
    pieces.extend(
        beside().into_iter().map(|(_, before, secret, behind)| before + secret.as_str() + behind.as_str()),
    );
    prop::collection::vec(prop::sample::select(pieces), 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn redacting_twice_is_redacting_once(text in pieces()) {
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert_eq!(twice.count, 0);
        prop_assert_eq!(once.count == 0, once.text == text.as_str());
    }

    #[test]
    fn no_text_makes_redaction_panic(text in ".*") {
        let once = redact(&text);
        prop_assert_eq!(redact(&once.text).count, 0);
    }

    #[test]
    fn prose_is_borrowed(text in "[a-z ,.é是]{0,300}") {
        prop_assert!(matches!(redact(&text).text, Cow::Borrowed(_)));
    }

    #[test]
    fn no_planted_token_survives(
        token in prop::sample::select(tokens()), before in "(.{0,40}[^A-Za-z0-9+/])?", behind in "([^A-Za-z0-9_].{0,40})?",
    ) {
        let text = format!("{before}{}{behind}", token.1);
        prop_assert!(!redact(&text).text.contains(&token.1));
    }

    #[test]
    fn no_planted_secret_survives(
        planted in prop::sample::select(beside()), before in "(.{0,40}[ \n\"(])?", behind in "([ \n\",;].{0,40})?",
    ) {
        let (_, lead, secret, trail) = planted;
        let text = format!("{before}{lead}{secret}{trail}{behind}");
        prop_assert!(!redact(&text).text.contains(&secret));
    }
}
