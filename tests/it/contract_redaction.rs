//! Private and secret text: never in a reply, a file, a log or an export.

use std::fs;
use std::path::Path;

use crate::support::{Agent, Home, Reply, json};

/// Kind, the text around the secret, and the part that must never be seen again. The secrets are
/// put together here so that no scanner takes this file for a leak.
pub fn secrets() -> Vec<(&'static str, String, String)> {
    let letters = |n: usize| "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC".chars().cycle().take(n).collect::<String>();
    let upper = |n: usize| letters(n).to_uppercase();
    let key_body = format!("MIIEow{}", letters(58));
    let jwt_body = format!("eyJzdWIiOiIxMjM0NTY3ODkwIn0.{}", letters(43));
    vec![
        ("private tag", format!("before <private>{}</private> after", letters(20)), letters(20)),
        ("private tag in capitals", format!("<PRIVATE>line one\n{}\n</Private>", letters(21)), letters(21)),
        ("unclosed private tag", format!("shown <private>{} and all the rest", letters(22)), letters(22)),
        (
            "private key",
            format!("-----BEGIN RSA {0}-----\n{key_body}\n-----END RSA {0}-----", "PRIVATE KEY"),
            key_body,
        ),
        ("github token", format!("use ghp_{} here", letters(36)), letters(36)),
        ("fine-grained github token", format!("github_pat_{}_{}", letters(22), letters(59)), letters(59)),
        ("openai key", format!("OPENAI_API_KEY=sk-proj-{}", letters(48)), letters(48)),
        ("anthropic key", format!("key: sk-ant-api03-{}-AA", letters(93)), letters(93)),
        ("aws key id", format!("AKIA{}", upper(16)), upper(16)),
        ("google key", format!("AIza{}", letters(35)), letters(35)),
        ("slack token", format!("xoxb-{}-{}-{}", "123456789012", "123456789012", letters(24)), letters(24)),
        ("stripe key", format!("sk_live_{}", letters(24)), letters(24)),
        ("gitlab token", format!("glpat-{}", letters(20)), letters(20)),
        ("npm token", format!("npm_{}", letters(36)), letters(36)),
        ("hugging face token", format!("hf_{}", letters(34)), letters(34)),
        (
            "password in a url",
            "postgres://admin:Tr0ub4dor-and-3@db.example.org:5432/app".into(),
            "Tr0ub4dor-and-3".into(),
        ),
        ("bearer", format!("Authorization: Bearer {}", letters(40)), letters(40)),
        (
            "basic",
            "Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1lMTIzNDU=".into(),
            "YWxhZGRpbjpvcGVuc2VzYW1lMTIzNDU".into(),
        ),
        ("a password by its name", "db:\n  password: Tr0ub4dor-and-5\n".into(), "Tr0ub4dor-and-5".into()),
        ("a variable", format!("export SERVICE_TOKEN={}", letters(28)), letters(28)),
        ("Markdown", "- **Password:** Tr0ub4dor-and-7\n".into(), "Tr0ub4dor-and-7".into()),
        ("a table", "\n| password | Tr0ub4dor-and-8 |\n".into(), "Tr0ub4dor-and-8".into()),
        ("SQL", "CREATE USER bob IDENTIFIED BY 'Tr0ub4dor-and-9';".into(), "Tr0ub4dor-and-9".into()),
        ("PHP", "define('DB_PASSWORD', 'Tr0ub4dor-and-0');".into(), "Tr0ub4dor-and-0".into()),
        ("curl", "curl -u bob:Tr0ub4dor-and-6 https://example.org".into(), "Tr0ub4dor-and-6".into()),
        ("a slash in a url", "postgres://u:pa/ss-word9@h/db".into(), "pa/ss-word9".into()),
        ("split by what is not shown", format!("ghp_{}\u{200b}{}", letters(9), letters(29)), letters(29)),
        ("jwt", format!("eyJhbGciOiJIUzI1NiJ9.{jwt_body}"), jwt_body),
    ]
}

fn assert_hidden(reply: &Reply, secret: &str, what: &str) {
    let whole = format!("{}{}", reply.structured, reply.text);
    assert!(!whole.contains(secret), "{what} is in {reply:?}");
}

/// Every file below `folder` that holds `secret`, by its raw bytes.
pub fn files_with(folder: &Path, secret: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, secret));
        } else if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let bytes = fs::read(&path).unwrap_or_default();
            if bytes.windows(secret.len()).any(|window| window == secret.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn every_kind_is_hidden_and_counted() {
    let home = Home::new();
    let mut agent = home.agent();
    for (n, (what, text, secret)) in secrets().into_iter().enumerate() {
        let arguments = json!({"title": format!("Secret number {n}"), "content": format!("Before. {text}")});
        let saved = agent.ok("mem_save", arguments);
        assert_eq!(saved["redacted"], 1, "{what}: {saved:?}");
        assert!(saved.text.contains("redacted"), "{what}: the text half is silent: {saved:?}");
        let whole = agent.get(saved.str("id"));
        assert_hidden(&whole, &secret, what);
        let content = whole.str("content");
        assert!(content.starts_with("Before.") && content.contains("[REDACTED:"), "{what}: {content}");
    }
    let clean = agent
        .ok("mem_save", json!({"title": "Clean", "content": "Nothing secret: see https://example.org/a:b"}));
    assert!(clean["redacted"].is_null(), "{clean:?}");
}

#[test]
fn no_file_and_no_export_holds_a_secret() {
    let home = Home::new();
    let mut agent = home.agent();
    for (n, (_, text, _)) in secrets().into_iter().enumerate() {
        agent.save(&format!("Secret number {n}"), &text);
        agent.ok("mem_save_prompt", json!({"content": text}));
        agent.call("mem_search", json!({"query": text}));
    }
    let marker = agent.save("A marker", "The marker word is quetzalcoatlus.");
    assert_eq!(agent.search("quetzalcoatlus"), [marker]);
    let export = home.export_text();
    home.run(&["daemon", "stop"]).success();
    for (what, _, secret) in secrets() {
        assert!(!export.contains(&secret), "{what} is in the export");
        assert_eq!(files_with(home.data(), &secret), Vec::<String>::new(), "{what}");
    }
}

/// Puts the secret into every text field of every tool that writes.
fn everywhere(agent: &mut Agent, secret: &str) -> Vec<(&'static str, Reply)> {
    let saved = agent.save("A plain title", "Plain content.");
    let calls = [
        ("title", "mem_save", json!({"title": format!("Title {secret}"), "content": "Text one."})),
        ("tags", "mem_save", json!({"title": "Tagged", "content": "Text two.", "tags": [secret]})),
        ("why", "mem_save", json!({"title": "Whys", "what": "Text three.", "why": secret})),
        ("topic_key", "mem_save", json!({"title": "Keyed", "content": "Text four.", "topic_key": secret})),
        ("update of content", "mem_update", json!({"id": saved, "content": format!("Now {secret}")})),
        ("update of title", "mem_update", json!({"id": saved, "title": format!("Now {secret}")})),
        ("prompt", "mem_save_prompt", json!({"content": format!("Use {secret}")})),
        ("summary", "mem_session_summary", json!({"content": format!("Used {secret}")})),
        ("parts of a summary", "mem_session_summary", json!({"goal": "g", "next_steps": [secret]})),
        ("summary at the end", "mem_session_end", json!({"summary": format!("Used {secret} again")})),
        ("directory", "mem_session_start", json!({"id": "s9", "directory": format!("/srv/{secret}")})),
        ("suggestion", "mem_suggest_topic_key", json!({"title": format!("Use {secret}")})),
        ("error", "mem_get_observation", json!({"id": secret})),
    ];
    calls.into_iter().map(|(what, tool, arguments)| (what, agent.call(tool, arguments))).collect()
}

#[test]
fn every_field_of_every_tool_is_cleaned() {
    let home = Home::new();
    let mut agent = home.agent();
    let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d");
    for (what, reply) in everywhere(&mut agent, &secret) {
        assert_hidden(&reply, &secret, what);
        if !["topic_key", "directory", "suggestion", "error"].contains(&what) {
            assert_eq!(reply["redacted"], 1, "{what}: {reply:?}");
        }
    }
    let context = agent.ok("mem_context", json!({"max_bytes": 65_536, "limit": 50}));
    assert_hidden(&context, &secret, "context");
    let export = home.export_text();
    assert!(!export.contains(&secret) && !export.contains(&secret.to_lowercase()), "the export holds it");
    home.run(&["daemon", "stop"]).success();
    assert_eq!(files_with(home.data(), &secret), Vec::<String>::new());
    assert_eq!(files_with(home.data(), &secret.to_lowercase()), Vec::<String>::new());
}

#[test]
fn no_error_repeats_a_secret() {
    let home = Home::new();
    let mut agent = home.agent();
    let id = agent.save("A plain title", "Plain content.");
    let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d");
    let long = format!("{secret} {}", "x".repeat(300));
    for (tool, arguments) in [
        ("mem_save", json!({"title": long, "content": "c"})),
        ("mem_save", json!({"title": {"a": secret}, "content": "c"})),
        ("mem_save", json!({"title": "t", "content": "c", "tags": [long]})),
        ("mem_save", json!({"title": "t", "content": "c", "scope": secret})),
        ("mem_save", json!({"title": "t", "content": "c", "topic_key": long})),
        ("mem_session_start", json!({"directory": format!("/srv\n/{secret}")})),
        ("mem_timeline", json!({"id": id, "within": secret})),
        ("mem_delete", json!({"id": id, "hard": secret})),
        ("mem_search", json!({"query": "x", "cursor": secret})),
        ("mem_search", json!({"query": "x", "limit": secret})),
        ("mem_search", json!({"query": "x", "since": secret})),
    ] {
        let refused = agent.call(tool, arguments.clone());
        assert!(refused.is_error, "{tool} {arguments}: {refused:?}");
        assert_hidden(&refused, &secret, tool);
        assert_hidden(&refused, &secret.to_lowercase(), tool);
    }
    assert!(!home.log_tail().contains(&secret), "the log holds it");
}

#[test]
fn a_secret_that_spans_items_of_a_list_is_redacted_and_counted() {
    let home = Home::new();
    let mut agent = home.agent();
    let private = json!(["<private>the first half", "the second half</private>", "seen"]);
    let tagged = agent.ok("mem_save", json!({"title": "Tagged", "content": "c", "tags": private}));
    assert_eq!((tagged["redacted"].as_u64(), tagged.is_error), (Some(1), false), "{tagged:?}");
    let tags = agent.get(tagged.str("id"))["tags"].clone();
    assert_eq!(tags, json!(["[REDACTED:private]", "seen"]));
    let commas = json!({"title": "Commas", "content": "c", "tags": "<private>the first half,the second half</private>,seen"});
    let tagged = agent.ok("mem_save", commas);
    assert_eq!(agent.get(tagged.str("id"))["tags"], json!(["[REDACTED:private]", "seen"]));
    let folded = agent.ok("mem_save", json!({"title": "Folded", "content": "Text.", "learned": private}));
    assert_eq!(folded["redacted"], 1, "{folded:?}");
    let content = agent.get(folded.str("id")).str("content").to_owned();
    assert_eq!(content, "Text.\n\n## Learned\n- [REDACTED:private]\n- seen");
}

#[test]
fn text_that_only_looks_secret_stays() {
    let home = Home::new();
    let mut agent = home.agent();
    for text in [
        "commit 3f2504e04f8911d39a0c0305e82c3301deadbeef fixed it",
        "id 550e8400-e29b-41d4-a716-446655440000 in the log",
        "the bearer of bad news, basic arithmetic, a private matter",
        "https://example.org:8080/path?next=a:b and git@github.com:owner/repo.git",
        "sk-learn, hf_hub_download, npm_config_cache and AKIA are names",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "the password is stored in the vault; password = get_password(); password: String",
        "DB_PASSWORD=${DB_PASSWORD} and token = request.token, api_key: your-key, --password <PASSWORD>",
        "postgres://user:password@localhost and AKIAIOSFODNN7EXAMPLE are examples",
    ] {
        let saved = agent.ok("mem_save", json!({"title": text, "content": text}));
        assert!(saved["redacted"].is_null(), "{text}: {saved:?}");
        assert_eq!(agent.get(saved.str("id"))["content"], text);
    }
}

#[test]
fn saving_a_secret_again_is_a_repetition() {
    let home = Home::new();
    let mut agent = home.agent();
    let arguments = json!({"title": "Login", "content": "<private>one</private> is the word"});
    let first = agent.ok("mem_save", arguments.clone());
    let again = agent.ok("mem_save", arguments);
    assert_eq!(again["outcome"], "duplicate", "{again:?}");
    let other =
        agent.ok("mem_save", json!({"title": "Login", "content": "<private>two</private> is the word"}));
    assert_eq!(other["id"], first["id"], "equal after redaction: {other:?}");
}

#[test]
fn context_is_ignored_if_the_settings_say_so() {
    let home = Home::with_config("[redaction]\ncontext = false\n");
    let mut agent = home.agent();
    let token = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d");
    let content = format!("password: hunter2 and {token}");
    let saved = agent.ok("mem_save", json!({"title": "Login", "content": content}));
    assert_eq!(saved["redacted"], 1, "{saved:?}");
    assert_eq!(agent.get(saved.str("id"))["content"], "password: hunter2 and [REDACTED:github-token]");
}

/// A made-up token of a known kind.
fn token() -> String {
    ["ghp_", &"aB3d".repeat(9)].concat()
}

#[test]
fn secrets_are_redacted_at_every_entry() {
    let home = Home::new();
    let token = token();
    let folder = home.work().join(&token);
    std::fs::create_dir_all(&folder).unwrap();
    let mut agent = home.pump().cwd(&folder).env("CLAUDE_CODE_SESSION_ID", format!("env {token}")).start();
    agent.save("In a folder with a secret name", "And a session of such an id.");
    let key = ["-----BEGIN RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA", "-----END RSA PRIVATE KEY-----"];
    let meta = json!({"sessionId": format!("meta {token}")});
    let saved =
        agent.ok_with_meta("mem_save", json!({"title": "Tagged", "content": "Text.", "tags": key}), meta);
    assert_eq!(saved.number("redacted"), 1, "{saved:?}");
    let private = json!(["<private>hidden one", "hidden two</private>", "seen"]);
    agent.ok("mem_session_summary", json!({"goal": "g", "files": private}));
    let split = format!("{}\u{0}{}", &token[..12], &token[12..]);
    let saved = agent.ok("mem_save", json!({"title": "Split", "content": split, "project": split}));
    assert_eq!(saved.number("redacted"), 2, "{saved:?}");
    agent.ok("mem_save", json!({"title": "Renamed", "content": "x", "project": "renamed"}));
    home.run(&["projects", "rename", "renamed", &token]).success();
    let refused = agent.request("tools/call", json!({"name": token, "arguments": {}})).unwrap_err();
    assert!(!format!("{refused:?}").contains(&token), "{refused:?}");

    let all = format!("{}{}", home.export_text(), home.log_tail());
    for secret in [&token, &token.to_lowercase(), "MIIEow", "hidden two"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    assert!(all.contains("seen"));
}
