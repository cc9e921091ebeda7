//! Made-up secrets of thirty kinds, in transcripts as Claude Code writes them: in prompts, arguments, outputs and paths,
//! and with a line end somewhere inside. The same every time.

use std::fs;
use std::path::Path;

use anyhow::Result;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

/// How many are planted.
pub const SECRETS: usize = 200;

/// How secrets look. `{A20}` are 20 letters and digits, `{H…}` hexadecimal digits, `{N…}` digits; `«»` encloses what
/// must not be kept, if that is not all.
const KINDS: [(&str, &str); 30] = [
    ("aws key", "AKIA{U16}"),
    ("aws secret", "aws_secret_access_key = «{A40}»"),
    ("github", "ghp_{A36}"),
    ("github, fine", "github_pat_{A82}"),
    ("gitlab", "glpat-{A20}"),
    ("slack", "xoxb-{N12}-{N12}-{A24}"),
    ("slack webhook", "https://hooks.slack.com/services/«T{U9}/B{U9}/{A24}»"),
    ("stripe", "sk_live_{A24}"),
    ("anthropic", "sk-ant-api03-{A93}AA"),
    ("openai", "sk-proj-{A64}"),
    ("google", "AIza{A35}"),
    ("npm", "npm_{A36}"),
    ("pypi", "pypi-{A160}"),
    ("hugging face", "hf_{A34}"),
    ("twilio", "SK{H32}"),
    ("sendgrid", "SG.{A22}.{A43}"),
    ("digitalocean", "dop_v1_{H64}"),
    ("databricks", "dapi{H32}"),
    ("shopify", "shpat_{H32}"),
    ("vault", "hvs.{A28}"),
    ("grafana", "glsa_{A32}_{H8}"),
    ("linear", "lin_api_{A40}"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{A20}.{A43}"),
    ("bearer", "Authorization: Bearer «{A40}»"),
    ("password", "DB_PASSWORD=«{A9}7x{A9}»"),
    ("json password", "\"password\": \"«{A9}4k{A9}»\""),
    ("url password", "postgres://app:«{A18}»@db.acme.dev/app"),
    ("flag", "curl -u deploy:«{A8}5z{A8}» https://ci.acme.dev"),
    ("cookie", "Cookie: sid=«{A32}»"),
    ("private key", "-----BEGIN PRIVATE KEY-----\n«{A60}»\n{A60}\n-----END PRIVATE KEY-----"),
];
/// How a line ends inside of a secret: as a terminal or an editor wraps it, continued, or written as an escape.
const ENDS: [&str; 5] = ["\n", "\n    ", "\\\n", "\r\n", r"\n"];
/// A shorter part of a split secret may be kept.
const PART_BYTES_MIN: usize = 12;
const PLACES: [&str; 5] = ["a prompt", "an argument", "an output", "a path", "over the ends of lines"];

/// One secret.
pub struct Planted {
    pub kind: &'static str,
    pub place: &'static str,
    /// What must not be kept: the secret, and the parts of one that is split.
    secret: Vec<String>,
}

impl Planted {
    /// Whether something of it is in a text that must not be.
    pub fn is_in(&self, text: &str) -> bool {
        self.secret.iter().any(|part| text.contains(part))
    }
}

fn drawn(rng: &mut StdRng, form: &str) -> String {
    let (letters, count) = form.split_at(1);
    let letters: &[u8] = match letters {
        "A" => b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "H" => b"0123456789abcdef",
        _ => b"0123456789",
    };
    let count: usize = count.parse().unwrap_or_default();
    (0..count).map(|_| char::from(letters[rng.random_range(0..letters.len())])).collect()
}

/// A secret as it is written, and the part that must not be kept.
fn written(rng: &mut StdRng, pattern: &str) -> (String, String) {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let (form, behind) = after.split_once('}').unwrap_or((after, ""));
        text.push_str(before);
        text.push_str(&drawn(rng, form));
        rest = behind;
    }
    text.push_str(rest);
    let inner = text.split_once('«').and_then(|(_, rest)| Some(rest.split_once('»')?.0.to_owned()));
    let plain = text.replace(['«', '»'], "");
    let secret = inner.unwrap_or_else(|| plain.clone());
    (plain, secret)
}

/// Writes a session with the secrets, and says where each is.
pub fn plant(file: &Path) -> Result<Vec<Planted>> {
    let mut rng = StdRng::seed_from_u64(14);
    let (mut lines, mut planted) = (Vec::new(), Vec::new());
    for n in 0..SECRETS {
        let (kind, pattern) = KINDS[n % KINDS.len()];
        let (text, secret) = written(&mut rng, pattern);
        // A name in a path has no `/`, so a URL cannot be one.
        let place = match PLACES[(n / KINDS.len() + n) % PLACES.len()] {
            "a path" if text.contains("://") => "an argument",
            place => place,
        };
        let at = rng.random_range(1..secret.len());
        let (head, tail) = secret.split_at(at);
        let split = text.replacen(&secret, &format!("{head}{}{tail}", ENDS[n % ENDS.len()]), 1);
        let parts = [head, tail].into_iter().filter(|part| part.len() >= PART_BYTES_MIN).map(str::to_owned);
        let parts: Vec<String> = parts.filter(|_| place == PLACES[4]).chain([secret.clone()]).collect();
        planted.push(Planted { kind, place, secret: parts });
        let (mut prompt, mut command, mut output, mut path) =
            (format!("Look at number {n}"), "make".to_owned(), "done".to_owned(), "/w/a.rs".to_owned());
        match place {
            "a prompt" => prompt = format!("Use {text} for number {n}"),
            "an argument" => command = format!("deploy --with '{text}'"),
            "an output" => output = format!("the server said\n{text}\nand no more"),
            "a path" => path = format!("/w/{}/a.rs", text.replace('/', "_").replace('\n', " ")),
            _ if n % 3 == 0 => prompt = format!("Use {split} for number {n}"),
            _ if n % 3 == 1 => command = format!("deploy --with '{split}'"),
            _ => output = format!("config:\n  first: 1\n{split}\n  last: 2"),
        }
        lines.push(line(n, 0, "user", &json!(prompt)));
        for (at, (tool, input)) in [
            ("Bash", json!({ "command": command })),
            ("Edit", json!({ "file_path": path, "old_string": "a", "new_string": "b" })),
        ]
        .into_iter()
        .enumerate()
        {
            let id = format!("call-{n}-{at}");
            let call = json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]);
            let answer = json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]);
            lines.push(line(n, 1 + 2 * at, "assistant", &call));
            lines.push(line(n, 2 + 2 * at, "user", &answer));
        }
        lines.push(line(n, 9, "assistant", &json!([{ "type": "text", "text": "That is all of it." }])));
    }
    fs::write(file, lines.concat())?;
    Ok(planted)
}

fn line(n: usize, at: usize, kind: &str, content: &Value) -> String {
    let line = json!({
        "type": kind, "uuid": format!("{n}-{at}"), "sessionId": "planted", "cwd": "/w", "version": "2.1.39",
        "timestamp": format!("2026-10-01T{:02}:{:02}:{:02}.001Z", n / 60, n % 60, at),
        "message": { "role": kind, "id": format!("m-{n}-{at}"), "content": content },
    });
    format!("{line}\n")
}
