//! The table of tokens that begin with a prefix of their issuer: `ghp_…`, `sk_live_…`.

use std::ops::Range;

use super::{
    before::Before,
    guard::{is_base64_url, is_letter_or_digit},
    value::{is_drawn_word, mixes_cases},
};

/// Tokens with one of these prefixes.
pub(super) struct Prefixed {
    /// The kind in the mark that replaces the token.
    pub kind: &'static str,
    /// The prefixes, separated by blanks.
    pub prefixes: &'static str,
    /// What follows a prefix, and at least how much of it.
    of: Of,
    least: usize,
}

/// The bytes behind a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Hex,
    /// Hexadecimal digits, and the `-` between them.
    Uuid,
    /// Letters and digits.
    Letters,
    /// Also `_` and `-`.
    Url,
    /// Also `.` between them.
    Parts,
    /// Also `+`, `/` and `=`, but no `.`.
    Base64,
}

const fn row(kind: &'static str, prefixes: &'static str, of: Of, least: usize) -> Prefixed {
    Prefixed { kind, prefixes, of, least }
}

/// Where two rows find the same text, the earlier one gives the kind.
pub(super) const PREFIXED: &[Prefixed] = &[
    row("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", Of::Letters, 36),
    row("github-token", "github_pat_", Of::Url, 40),
    row(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glft- glsoat- glcbt- glimt- gloas- glagent-",
        Of::Parts,
        20,
    ),
    row("gitlab-token", "glffct- GR1348941", Of::Url, 20),
    row("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_org_live_", Of::Letters, 16),
    row("stripe-key", "whsec_", Of::Base64, 24),
    row("anthropic-key", "sk-ant-", Of::Url, 20),
    row("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None- sk-or-v1- sk-lf-", Of::Url, 20),
    row("google-key", "AIza", Of::Url, 35),
    row("google-key", "ya29. GOCSPX-", Of::Parts, 20),
    row("google-key", "1//0 AQ.Ab8", Of::Url, 38),
    row("npm-token", "npm_", Of::Letters, 36),
    // The base64 of `pypi.org` and `test.pypi.org`, with which each token begins.
    row("pypi-token", "pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", Of::Url, 50),
    row("pypi-token", "pypi-", Of::Url, 100),
    row("crates-token", "cio", Of::Letters, 32),
    row("huggingface-token", "hf_ api_org_", Of::Letters, 30),
    row("twilio-key", "SK", Of::Hex, 32),
    row("sendgrid-key", "SG.", Of::Parts, 60),
    row("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", Of::Hex, 40),
    row("databricks-token", "dapi dose", Of::Hex, 32),
    row("shopify-token", "shpat_ shpca_ shppa_ shpss_", Of::Hex, 32),
    row("vault-token", "hvs. hvb. hvr.", Of::Url, 20),
    row("grafana-token", "glsa_ glc_ eyJrIjoi", Of::Base64, 32),
    row("linear-key", "lin_api_ lin_oauth_", Of::Letters, 32),
    row("sentry-token", "sntrys_ sntryu_ sntrya_ sntryi_", Of::Base64, 24),
    row("mailgun-key", "key-", Of::Hex, 32),
    row("api-key", "dckr_pat_ dckr_oat_ gsk_ xai- pplx- sbp_ sb_secret_ figd_ tskey-", Of::Url, 24),
    row("api-key", "rubygems_ NRAK- NRII- PMAK- ntn_ pscale_tkn_ pscale_pw_ pscale_oauth_", Of::Url, 24),
    row("api-key", "tvly- nvapi- HRKU- CCIPAT_ CCIPRJ_ lsv2_pt_ lsv2_sk_ CFPAT- fio-u- pcsk_", Of::Url, 24),
    row("api-key", "duffel_live_ duffel_test_ sgp_ shippo_live_ shippo_test_ tgp_v1_ tfp_", Of::Url, 24),
    row("api-key", "vercel_blob_rw_ dnkey- secret-live- secret-test- hcaik_ sha256~ AQVN", Of::Url, 24),
    row("api-key", "zpka_ FLWSECK- FLWSECK_TEST-", Of::Url, 24),
    row("api-key", "xkeysib- xsmtpsib- tk-us- live_", Of::Url, 40),
    row("api-key", "ATATT3 ATCTT3 fo1_ fm1r_ fm1a_ fm2_ ptr_ essu_ ABSK", Of::Base64, 32),
    row("api-key", "ATBB r8_ nfp_ pul- phx_ rnd_ bkua_ rpa_ sqp_ squ_", Of::Letters, 20),
    row("api-key", "sqa_ CLOJARS_ LTAI napi_", Of::Letters, 20),
    row("api-key", "API- fw_", Of::Letters, 24),
    row("api-key", "ico- csk- p8e- pnu_ pnb_ ddp_ rdme_ ramp_sec_ vcp_ vck_ apify_api_", Of::Letters, 32),
    row("api-key", "AVNS_ sq0atp- sq0csp- sq0idp-", Of::Url, 18),
    row("api-key", "rzp_live_ rzp_test_ npg_", Of::Letters, 12),
    row("api-key", "live_", Of::Letters, 35),
    row("api-key", "EZAK EZTK AKCp cmVmd oy2 ATTA secret_", Of::Letters, 38),
    row("api-key", "mfa. sl. EAAC EAAM", Of::Url, 80),
    row("api-key", "EAAA", Of::Url, 60),
    row("api-key", "dp.pt. dp.st. dp.ct. dp.sa.", Of::Parts, 40),
    row("api-key", "pat. sat.", Of::Parts, 60),
    row("api-key", "dt0 t1.", Of::Parts, 80),
    row("api-key", "sk.eyJ", Of::Parts, 36),
    row("api-key", "ops_eyJ", Of::Base64, 60),
    row("api-key", "fc- s-s4t2ud- amzn1.oa2-cs.v1.", Of::Hex, 32),
    row("api-key", "sk_", Of::Hex, 48),
    row("api-key", "sdk- api- pat-na1- pat-eu1- access-production- access-sandbox- amzn.mws.", Of::Uuid, 36),
];

/// What may come before a prefix: the middle of a word or of base64 is none.
const BEFORE: Before = Before::NoBase64;

/// The dashes in a UUID.
const UUID_DASHES: usize = 4;

impl Prefixed {
    /// The token whose prefix is at this anchor, and the position from which the next anchor of this row counts.
    pub fn secret(&self, text: &str, anchor: &Range<usize>) -> (Option<Range<usize>>, usize) {
        let is_prefix = self.prefixes.split(' ').any(|prefix| prefix == &text[anchor.clone()]);
        if !is_prefix || BEFORE.start(text, anchor.start).is_none() {
            return (None, anchor.end);
        }
        let rest = &text[anchor.end..];
        let len = |of: &dyn Fn(u8) -> bool| rest.bytes().take_while(|b| of(*b)).count();
        let mut run = len(&|b| self.of.has(b));
        if run < self.least {
            return (None, anchor.end);
        }
        let digits = rest[..run].bytes().filter(u8::is_ascii_hexdigit).count();
        let is_hex = matches!(self.of, Of::Hex | Of::Uuid);
        if is_hex {
            run = len(&|b| is_letter_or_digit(b) || b == b'-');
        }
        let token = rest[..run].trim_end_matches(['.', '-']);
        // `live_1080p60_h264_e2e` has no long part of letters and digits.
        let has_drawn_part = || token.split(|c: char| !c.is_ascii_alphanumeric()).any(is_drawn_word);
        let is_token =
            if is_hex { digits + UUID_DASHES >= self.least } else { mixes_cases(token) || has_drawn_part() };
        let range = anchor.start..anchor.end + token.len();
        (is_token.then_some(range), anchor.end + run)
    }

    /// How docs/redaction.md describes it.
    #[cfg(test)]
    pub fn form(&self) -> String {
        let letters = if matches!(self.of, Of::Hex | Of::Uuid) { "hexadecimal digits" } else { "letters" };
        format!("`{}` and {} {letters}", self.prefixes.replace(' ', "`, `"), self.least)
    }
}

impl Of {
    fn has(self, b: u8) -> bool {
        match self {
            Self::Hex => b.is_ascii_hexdigit(),
            Self::Uuid => b.is_ascii_hexdigit() || b == b'-',
            Self::Letters => is_letter_or_digit(b),
            Self::Url => is_base64_url(b),
            Self::Parts => is_base64_url(b) || b == b'.',
            Self::Base64 => is_base64_url(b) || matches!(b, b'+' | b'/' | b'='),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::{redact, tests::Draw};

    #[test]
    fn almost_all_drawn_tokens_with_a_prefix_are_redacted() {
        let mut draw = Draw(11);
        for row in PREFIXED {
            for prefix in row.prefixes.split(' ') {
                let mut taken = 0;
                for at in 0..100 {
                    let token = draw.letters(row.of.letters(), row.least.max(16));
                    let text =
                        ["use VALUE for it", "KEY=VALUE\n", "\"VALUE\",", "https://h.example/?a=%3DVALUE"]
                            [at % 4];
                    let text = text.replace("VALUE", &format!("{prefix}{token}"));
                    taken += usize::from(!redact(&text).text.contains(&token[..token.len() - 1]));
                }
                assert!(taken >= 95, "{prefix}: {taken} of 100");
            }
        }
    }

    #[test]
    fn names_with_such_a_prefix_stay() {
        for text in [
            "api-the-interface-of-the-project-and-more-words",
            "sdk-linux-x86-64-in-version-12-and-more-of-the-words",
            "secret_key_of_the_application_and_all_of_its_users_in_2024",
            "key----------------------------------------",
            "live_stream_of_the_camera_in_the_garden_number_12",
            "let api_org_settings_of_the_first_user = 1;",
            "re_exported_from_the_module_of_2024",
            "t1.column_of_the_first_table_that_is_joined_to_it",
            "pat.replace_all_of_the_patterns.in_the_text_of_it",
            "t1.i18n_key_of_the_customer_address_that_is_joined_to_it",
            "live_1080p60_h264_aac_320kbps_e2e_recording_of_the_garden",
            "ico-arrow-right-16x16-and-more-24x24-of-them",
            "cache-key-550e8400-e29b-41d4-a716-446655440000",
            "sk_d41d8cd98f00b204e9800998ecf8427e",
            "pypi-server-of-the-team-with-more-words-7d9f8b6c5d-x2k4q9z8",
            "pypi-AgEIcHlwaS5vcmc-and-then-fifty-letters-or-more-which-are-only-words",
        ] {
            assert_eq!(redact(text).text, text);
        }
    }

    impl Of {
        fn letters(self) -> &'static str {
            match self {
                Self::Hex | Self::Uuid => "0123456789abcdef",
                Self::Letters => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
                Self::Url | Self::Parts => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
                Self::Base64 => "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
            }
        }
    }
}
